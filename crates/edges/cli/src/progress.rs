//! A line on standard error that says what a long run is doing.

use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::lock;

/// Runs that take less than this show nothing.
const PATIENCE: Duration = Duration::from_millis(400);

/// How to show progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Off,
    /// One line that is painted again and again.
    Repainted,
    /// A line now and then, for logs.
    Lines,
}

/// What the run is doing, told by the work and painted by the thread that watches the limits.
#[derive(Debug)]
pub(crate) struct Progress {
    style: Style,
    started: Instant,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    stage: String,
    percent: Option<u64>,
    painted: String,
    last: Option<Instant>,
}

impl Progress {
    /// On a terminal, or if asked for.
    pub(crate) fn new(is_asked_for: bool, started: Instant) -> Self {
        let style = match (io::stderr().is_terminal(), is_asked_for) {
            (true, _) => Style::Repainted,
            (false, true) => Style::Lines,
            (false, false) => Style::Off,
        };
        Self { style, started, state: Mutex::default() }
    }

    /// The work does something else now.
    pub(crate) fn stage(&self, stage: impl Into<String>) {
        if self.style != Style::Off {
            let mut state = lock(&self.state);
            state.stage = stage.into();
            state.percent = None;
        }
    }

    /// So many bytes of a file were read.
    pub(crate) fn bytes(&self, read: u64, of: Option<u64>) {
        if self.style != Style::Off {
            lock(&self.state).percent = of.filter(|it| *it > 0).map(|it| (read.saturating_mul(100) / it).min(100));
        }
    }

    /// Shows the state, unless that was done a moment ago.
    pub(crate) fn paint(&self) {
        let (is_lines, pause) = match self.style {
            Style::Off => return,
            Style::Repainted => (false, Duration::from_millis(100)),
            Style::Lines => (true, Duration::from_secs(1)),
        };
        let mut state = lock(&self.state);
        let is_too_early = !is_lines && self.started.elapsed() < PATIENCE;
        if is_too_early || state.stage.is_empty() || state.last.is_some_and(|it| it.elapsed() < pause) {
            return;
        }
        let percent = state.percent.map(|it| format!(" {it} %")).unwrap_or_default();
        let line = format!("{}{percent}, {:.0} s", state.stage, self.started.elapsed().as_secs_f64());
        state.last = Some(Instant::now());
        if line != state.painted {
            let (before, after) = if is_lines { ("isoscope: ", "\n") } else { ("\r\u{1b}[2K", "") };
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
