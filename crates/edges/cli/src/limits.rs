//! Time and memory limits, and Ctrl-C: a thread watches them, asks the work to stop, and stops it itself if that takes too long.
//!
//! The work asks [`Alarm::reason`] wherever it can. Some stages cannot ask often enough, so behind each limit there is
//! a short grace, after which the watching thread ends the run with the words that it was given.

use crate::interrupt::on_interrupt;
use crate::memory;
use crate::progress::Progress;
use iso_evidence::StopReason;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often the thread looks. Memory grows by a few MiB in this time.
const TICK: Duration = Duration::from_millis(5);
/// The work gets this part of the time limit to answer after it.
const GRACE: f64 = 0.04;
const LONGEST_GRACE: Duration = Duration::from_secs(2);
const MEMORY_GRACE: Duration = Duration::from_millis(500);
/// Whatever a person can follow is found in less.
const LONGEST_EXPLANATION: Duration = Duration::from_secs(10);
/// An explanation takes this part of the time limit at most.
const EXPLANATIONS_PER_TIMEOUT: u32 = 10;
/// Somebody waits at the keyboard.
const INTERRUPT_GRACE: Duration = Duration::from_secs(1);
/// Beyond this part of the memory limit there is no grace.
const MEMORY_SLACK: f64 = 0.05;

/// What a run may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// From the start of the process.
    pub(crate) timeout: Option<Duration>,
    /// Resident memory of the process.
    pub(crate) memory: u64,
}

impl Limits {
    /// The limits that were asked for; without a memory limit three quarters of the machine, so that the system does not
    /// kill the process before it can say why it ends.
    pub(crate) fn new(timeout: Option<Duration>, memory: Option<u64>) -> Self {
        let default = || memory::machine().map_or(iso_formats::DEFAULT_MEMORY_LIMIT, |it| it / 4 * 3);
        Self { timeout, memory: memory.unwrap_or_else(default) }
    }

    /// How long a violation may be explained: the verdict is known, and other levels wait for theirs.
    pub(crate) fn longest_explanation(&self) -> Duration {
        self.timeout.map_or(LONGEST_EXPLANATION, |it| (it / EXPLANATIONS_PER_TIMEOUT).min(LONGEST_EXPLANATION))
    }

    /// What is left for a reader: the limit without what is in use already.
    pub(crate) fn left_for_reading(&self) -> u64 {
        self.memory.saturating_sub(memory::resident().unwrap_or(0)).max(1 << 20)
    }
}

/// Rings once, with the reason.
#[derive(Debug, Default)]
pub(crate) struct Alarm(AtomicU8);

impl Alarm {
    /// Why to stop, if it is time to.
    pub(crate) fn reason(&self) -> Option<StopReason> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            1 => Some(StopReason::Timeout),
            2 => Some(StopReason::Interrupted),
            _ => Some(StopReason::Memory),
        }
    }

    /// Says that it is time to stop.
    pub(crate) fn ring(&self, reason: &StopReason) {
        let code = match reason {
            StopReason::Timeout => 1,
            StopReason::Interrupted => 2,
            _ => 3,
        };
        self.0.store(code, Ordering::Relaxed);
    }
}

/// What Ctrl-C does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interrupts {
    /// It rings the alarm, as a limit does.
    Stop,
    /// The work listens itself.
    LeftToTheWork,
    /// It ends the process: there is nothing to say yet.
    LeftToTheSystem,
}

/// Starts the thread. `take_over` is called if the work does not stop by itself; it must end the process.
pub(crate) fn watch(
    limits: Limits,
    started: Instant,
    progress: Arc<Progress>,
    interrupts: Interrupts,
    take_over: impl FnOnce(StopReason) + Send + 'static,
) -> Arc<Alarm> {
    let alarm = Arc::new(Alarm::default());
    let shared = Arc::clone(&alarm);
    // Without the thread only the limits that the work itself notices are gone; that is no reason not to run.
    let is_interrupted = if interrupts == Interrupts::Stop { on_interrupt().ok() } else { None };
    let watcher = Watcher { limits, started, alarm: shared, progress, is_interrupted };
    thread::Builder::new().name("limits".to_owned()).spawn(move || take_over(watcher.run())).ok();
    alarm
}

struct Watcher {
    limits: Limits,
    started: Instant,
    alarm: Arc<Alarm>,
    progress: Arc<Progress>,
    is_interrupted: Option<Arc<AtomicBool>>,
}

impl Watcher {
    /// Returns when the work is overdue.
    fn run(self) -> StopReason {
        let mut last_moment = None;
        loop {
            thread::sleep(self.tick());
            self.progress.paint();
            let resident = memory::resident().unwrap_or(0);
            if resident > with_slack(self.limits.memory) {
                return StopReason::Memory;
            }
            match (last_moment, self.alarm.reason()) {
                (Some(moment), Some(reason)) if Instant::now() >= moment => return reason,
                (None, _) => last_moment = self.look(resident),
                _ => {}
            }
        }
    }

    fn tick(&self) -> Duration {
        match self.limits.timeout {
            Some(timeout) => timeout.saturating_sub(self.started.elapsed()).clamp(Duration::from_millis(1), TICK),
            None => TICK,
        }
    }

    /// Rings if a limit is reached, and says until when the work must have answered.
    fn look(&self, resident: u64) -> Option<Instant> {
        if self.is_interrupted.as_ref().is_some_and(|it| it.load(Ordering::Relaxed)) {
            self.alarm.ring(&StopReason::Interrupted);
            return Some(Instant::now() + INTERRUPT_GRACE);
        }
        let elapsed = self.started.elapsed();
        if let Some(timeout) = self.limits.timeout.filter(|it| elapsed >= *it) {
            self.alarm.ring(&StopReason::Timeout);
            return Some(self.started + timeout + timeout.mul_f64(GRACE).min(LONGEST_GRACE));
        }
        if resident > self.limits.memory {
            self.alarm.ring(&StopReason::Memory);
            return Some(Instant::now() + MEMORY_GRACE);
        }
        None
    }
}

#[allow(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a limit needs no more than a few digits and is positive"
)]
fn with_slack(limit: u64) -> u64 {
    (limit as f64 * (1.0 + MEMORY_SLACK)) as u64
}
