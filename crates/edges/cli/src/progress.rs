//! A line on standard error that says what a long run is doing.

use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::lock;

/// Runs that take less than this show nothing on a terminal.
const PATIENCE: Duration = Duration::from_millis(400);
/// Where nobody asked for progress and nobody may be watching, a long run still says that it is alive.
const SIGN_OF_LIFE: Duration = Duration::from_secs(60);

/// News wait so long to be told: mostly the answer comes before.
const NEWS: Duration = Duration::from_secs(1);

/// How to show progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// A line each minute.
    SignsOfLife,
    /// One line that is painted again and again.
    Repainted,
    /// A line now and then, for logs.
    Lines,
}

/// What the run is doing, set by the work and painted by the thread that watches the limits.
#[derive(Debug)]
pub(crate) struct Progress {
    style: Style,
    started: Instant,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    stage: String,
    /// What the engine does within the stage.
    detail: &'static str,
    percent: Option<u64>,
    /// What was found out within the stage, and since when it waits to be told.
    news: Option<(Instant, &'static str)>,
    painted: String,
    last: Option<Instant>,
}

impl Progress {
    /// On a terminal, or if asked for.
    pub(crate) fn new(is_asked_for: bool, started: Instant) -> Self {
        let style = match (io::stderr().is_terminal(), is_asked_for) {
            (true, _) => Style::Repainted,
            (false, true) => Style::Lines,
            (false, false) => Style::SignsOfLife,
        };
        Self { style, started, state: Mutex::default() }
    }

    /// The work does something else now.
    pub(crate) fn stage(&self, stage: impl Into<String>) {
        let mut state = lock(&self.state);
        state.stage = stage.into();
        state.detail = "";
        state.percent = None;
        state.news = None;
    }

    /// What the work does, as it was said last.
    pub(crate) fn last_stage(&self) -> String {
        lock(&self.state).stage.clone()
    }

    /// Something was found out. Where nobody sees what the run is doing, it is told once, unless the stage ends soon.
    pub(crate) fn news(&self, news: &'static str) {
        lock(&self.state).news.get_or_insert((Instant::now(), news));
    }

    /// An engine turns to something else within the stage.
    pub(crate) fn detail(&self, detail: &'static str) {
        lock(&self.state).detail = detail;
    }

    /// So many bytes of a file were read.
    pub(crate) fn bytes(&self, read: u64, of: Option<u64>) {
        lock(&self.state).percent = of.filter(|it| *it > 0).map(|it| (read.saturating_mul(100) / it).min(100));
    }

    /// Shows the state, unless that was done a moment ago.
    pub(crate) fn paint(&self) {
        let (patience, pause) = match self.style {
            Style::SignsOfLife => (SIGN_OF_LIFE, SIGN_OF_LIFE),
            Style::Repainted => (PATIENCE, Duration::from_millis(100)),
            Style::Lines => (Duration::ZERO, Duration::from_secs(1)),
        };
        let mut state = lock(&self.state);
        if self.style != Style::Repainted
            && let Some((since, news)) = state.news
            && since.elapsed() > NEWS
            && !news.is_empty()
        {
            writeln!(io::stderr(), "isoscope: {}: {news}", state.stage).ok();
            state.news = Some((since, ""));
        }
        let is_too_early = self.started.elapsed() < patience || state.last.is_some_and(|it| it.elapsed() < pause);
        if is_too_early || state.stage.is_empty() {
            return;
        }
        let line = state.line(self.started.elapsed());
        state.last = Some(Instant::now());
        if line != state.painted {
            let (before, after) =
                if self.style == Style::Repainted { ("\r\u{1b}[2K", "") } else { ("isoscope: ", "\n") };
            // Nobody reads a progress that cannot be written.
            write!(io::stderr(), "{before}{line}{after}").ok();
            state.painted = line;
        }
    }

    /// Removes the line, so that something else can be printed.
    pub(crate) fn clear(&self) {
        if self.style == Style::Repainted {
            let mut state = lock(&self.state);
            if !state.painted.is_empty() {
                write!(io::stderr(), "\r\u{1b}[2K").ok();
                state.painted.clear();
            }
            state.stage.clear();
        }
    }
}

impl State {
    /// `checking levels, 3 of 15 decided, rc holds (search), 12 s so far`.
    fn line(&self, elapsed: Duration) -> String {
        let detail = if self.detail.is_empty() { String::new() } else { format!(" ({})", self.detail) };
        let percent = self.percent.map(|it| format!(" {it} %")).unwrap_or_default();
        format!("{}{detail}{percent}, {:.0} s so far", self.stage, elapsed.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_is_done_and_for_how_long() {
        let mut state = State { stage: "checking serializable".to_owned(), ..State::default() };
        assert_eq!(state.line(Duration::from_secs(3)), "checking serializable, 3 s so far");
        state.detail = "search";
        assert_eq!(state.line(Duration::from_secs(12)), "checking serializable (search), 12 s so far");
        let reading = State { stage: "reading h.jsonl".to_owned(), percent: Some(40), ..State::default() };
        assert_eq!(reading.line(Duration::ZERO), "reading h.jsonl 40 %, 0 s so far");
    }
}
