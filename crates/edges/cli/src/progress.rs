//! A line on standard error that says what a long run is doing.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::lock;
use iso_formats::Watch;

/// Runs that take less than this show nothing on a terminal.
const PATIENCE: Duration = Duration::from_millis(400);
/// Where nobody asked for progress and nobody may be watching, a long run still says that it is alive.
const SIGN_OF_LIFE: Duration = Duration::from_secs(60);

/// News wait so long to be told: mostly the answer comes before.
const NEWS: Duration = Duration::from_secs(1);

/// How often a painter looks.
const TICK: Duration = Duration::from_millis(50);

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
    /// None if nobody is to see it.
    started: Option<Instant>,
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
        Self { style, started: Some(started), state: Mutex::default() }
    }

    /// For whoever asks from within a program: nothing is painted.
    pub(crate) fn silent() -> Self {
        Self { style: Style::SignsOfLife, started: None, state: Mutex::default() }
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
        let Some(started) = self.started else { return };
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
        let is_too_early = started.elapsed() < patience || state.last.is_some_and(|it| it.elapsed() < pause);
        if is_too_early || state.stage.is_empty() {
            return;
        }
        let line = state.line(started.elapsed());
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

/// Paints a progress that nobody else paints, until it is dropped: for work without limits to watch.
#[derive(Debug)]
pub(crate) struct Painter {
    progress: Arc<Progress>,
    is_over: Arc<AtomicBool>,
}

impl Painter {
    /// Starts to paint. Without the thread only the line is missing; that is no reason not to work.
    pub(crate) fn start(stage: &str, started: Instant) -> Self {
        let progress = Arc::new(Progress::new(false, started));
        progress.stage(stage);
        let is_over = Arc::new(AtomicBool::new(false));
        let (shown, ends) = (Arc::clone(&progress), Arc::clone(&is_over));
        let paint = move || {
            while !ends.load(Ordering::Relaxed) {
                thread::sleep(TICK);
                shown.paint();
            }
        };
        thread::Builder::new().name("progress".to_owned()).spawn(paint).ok();
        Self { progress, is_over }
    }

    /// The work does something else now.
    pub(crate) fn stage(&self, stage: impl Into<String>) {
        self.progress.stage(stage);
    }
}

impl Watch for Painter {
    fn progress(&self, bytes: u64, of: Option<u64>) {
        self.progress.bytes(bytes, of);
    }
}

impl Drop for Painter {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // Nothing is painted after this: there is no stage any more.
        self.progress.stage("");
        self.progress.clear();
    }
}

/// A writer that says how much was written.
#[derive(Debug)]
pub(crate) struct Counting<'p, W> {
    writer: W,
    painter: &'p Painter,
    what: String,
    n_bytes: u64,
    n_shown: u64,
}

/// So many bytes more are worth another line.
const WORTH_IT: u64 = 1 << 20;

impl<'p, W: Write> Counting<'p, W> {
    /// Nothing is written yet.
    pub(crate) fn new(writer: W, painter: &'p Painter, what: &str) -> Self {
        Self { writer, painter, what: what.to_owned(), n_bytes: 0, n_shown: 0 }
    }
}

impl<W: Write> Write for Counting<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n_written = self.writer.write(bytes)?;
        self.n_bytes += n_written as u64;
        if self.n_bytes - self.n_shown > WORTH_IT {
            self.n_shown = self.n_bytes;
            self.painter.stage(format!("{}, {} MiB written", self.what, self.n_bytes >> 20));
        }
        Ok(n_written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
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
    fn a_painter_says_how_much_is_written() {
        let painter = Painter::start("generating", Instant::now());
        let mut writer = Counting::new(Vec::new(), &painter, "generating");
        writer.write_all(&vec![0; 3 << 20]).unwrap();
        assert_eq!(lock(&painter.progress.state).stage, "generating, 3 MiB written");
    }

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
