//! How far a run is, and how it is stopped: shared by its sessions and whoever waits for it.

use crate::Cause;
use iso_history::Outcome;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// So long a session sleeps before it looks whether it may go on.
const NAP: Duration = Duration::from_millis(2);

/// Counts what sessions do, and tells them to stop.
#[derive(Debug, Default)]
pub struct Control {
    stop: AtomicBool,
    /// Sessions begin nothing for now.
    is_held: AtomicBool,
    pub(crate) tally: Counters,
}

/// Every session counts here after each transaction, and looks at whether the run is stopped before each operation: in
/// the same line of a processor's cache, each count would make all the others' looks slow.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Counters {
    pub(crate) committed: AtomicU64,
    pub(crate) aborted: AtomicU64,
    pub(crate) conflicts: AtomicU64,
    pub(crate) unknown: AtomicU64,
    pub(crate) operations: AtomicU64,
    pub(crate) reconnects: AtomicU64,
    /// By [`Cause`].
    aborts: [AtomicU64; Cause::ALL.len()],
    left: AtomicU64,
}

/// How many attempts ended in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Committed.
    pub committed: u64,
    /// Aborted by the workload, or never asked to commit.
    pub aborted: u64,
    /// Aborted by the database.
    pub conflicts: u64,
    /// Nobody knows.
    pub unknown: u64,
    /// Operations that are recorded.
    pub operations: u64,
    /// How often a lost connection was replaced.
    pub reconnects: u64,
    /// What was aborted, whoever wanted it, by its cause.
    pub aborts: Aborts,
    /// How many sessions did not end in time when the run was stopped.
    pub left: u64,
}

/// How many attempts were aborted for which cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Aborts([u64; Cause::ALL.len()]);

impl Aborts {
    /// How many for this cause.
    pub fn of(&self, cause: Cause) -> u64 {
        self.0[cause as usize]
    }
}

impl Counters {
    /// An attempt was aborted.
    pub(crate) fn count_abort(&self, cause: Cause) {
        self.aborts[cause as usize].fetch_add(1, Ordering::Relaxed);
    }
}

impl Tally {
    /// Attempts.
    pub fn transactions(&self) -> u64 {
        self.committed + self.aborted + self.conflicts + self.unknown
    }
}

impl Control {
    /// A control for one run.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sessions end as soon as they can; what they are in the middle of is recorded.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Was the run stopped?
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Holds sessions back before their next transactions, or lets them go on: somebody who reads along is far behind.
    pub fn hold(&self, is_held: bool) {
        self.is_held.store(is_held, Ordering::Relaxed);
    }

    /// Returns when a session may begin its next transaction.
    pub(crate) fn wait_while_held(&self) {
        while self.is_held.load(Ordering::Relaxed) && !self.is_stopped() {
            thread::sleep(NAP);
        }
    }

    /// The counts so far.
    pub fn tally(&self) -> Tally {
        let Counters { committed, aborted, conflicts, unknown, operations, reconnects, aborts, left } = &self.tally;
        let count = |it: &AtomicU64| it.load(Ordering::Relaxed);
        Tally {
            committed: count(committed),
            aborted: count(aborted),
            conflicts: count(conflicts),
            unknown: count(unknown),
            operations: count(operations),
            reconnects: count(reconnects),
            aborts: Aborts(std::array::from_fn(|idx| count(&aborts[idx]))),
            left: count(left),
        }
    }

    /// A transaction was left in the middle.
    pub(crate) fn left(&self, outcome: Outcome) {
        if outcome == Outcome::Indeterminate {
            self.tally.unknown.fetch_add(1, Ordering::Relaxed);
        } else {
            self.tally.aborted.fetch_add(1, Ordering::Relaxed);
            self.tally.count_abort(Cause::Other);
        }
        self.tally.left.fetch_add(1, Ordering::Relaxed);
    }
}
