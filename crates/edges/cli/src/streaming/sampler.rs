//! Looks at a check now and then, for charts over time.

use iso_answer::stream::{Standing, StreamCheck};
use iso_report::{OverTime, StandingChange, StreamStanding};
use std::time::{Duration, Instant};

/// How often to look at first; with many moments, half of them are dropped and it is twice as long.
const STEP: Duration = Duration::from_millis(20);
const MAX_MOMENTS: usize = 240;
/// With fewer there is nothing to draw.
const MIN_MOMENTS: usize = 3;

/// What was seen so far.
pub(super) struct Sampler {
    started: Instant,
    step: Duration,
    next: Instant,
    seen: OverTime,
}

impl Sampler {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self { started: now, step: STEP, next: now, seen: OverTime::default() }
    }

    /// Is it time to look again?
    pub(super) fn is_due(&self) -> bool {
        Instant::now() >= self.next
    }

    /// A moment: how the check stands, how far it is behind in seconds, and how much memory is in use.
    pub(super) fn look(&mut self, check: &StreamCheck, lag: Option<f64>, memory: Option<u64>, line: u64) {
        self.next = Instant::now() + self.step;
        let seconds = self.started.elapsed().as_secs_f64();
        let seen = &mut self.seen;
        seen.seconds.push(seconds);
        seen.transactions.push(check.n_txns());
        let window = check.standings().map(|it| check.progress(it.0).n_window).max().unwrap_or(0);
        seen.window.push(window as u64);
        seen.memory.extend(memory);
        seen.lag.extend(lag);
        self.hear(check, line);
        if self.seen.seconds.len() > MAX_MOMENTS {
            self.thin();
        }
    }

    /// Notes which levels stand in another way than before.
    pub(super) fn hear(&mut self, check: &StreamCheck, line: u64) {
        let seconds = self.started.elapsed().as_secs_f64();
        for (level, standing) in check.standings() {
            let standing = match standing {
                Standing::Holds => StreamStanding::Holds,
                Standing::Undecided | Standing::Refused(_) => StreamStanding::Suspects,
                Standing::Violated(_) => StreamStanding::Violated,
            };
            let level = level.to_string();
            let last = self.seen.changes.iter().rev().find(|it| it.level == level);
            if last.is_none_or(|it| it.standing != standing) {
                self.seen.changes.push(StandingChange { seconds, level, standing, line });
            }
        }
    }

    fn thin(&mut self) {
        fn every_second<T>(column: &mut Vec<T>) {
            let mut nth = 0;
            column.retain(|_| {
                nth += 1;
                nth % 2 == 1
            });
        }
        every_second(&mut self.seen.seconds);
        every_second(&mut self.seen.transactions);
        every_second(&mut self.seen.window);
        every_second(&mut self.seen.memory);
        every_second(&mut self.seen.lag);
        self.step *= 2;
    }

    /// Everything; nothing if that is too little for a chart.
    pub(super) fn finish(self) -> Option<OverTime> {
        let n = self.seen.seconds.len();
        let mut seen = self.seen;
        // A column that was not there at every moment says nothing.
        if seen.memory.len() != n {
            seen.memory.clear();
        }
        if seen.lag.len() != n {
            seen.lag.clear();
        }
        (n >= MIN_MOMENTS).then_some(seen)
    }
}
