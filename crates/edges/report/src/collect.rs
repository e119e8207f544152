//! The document of `collect`: what was run on a database, what came of it, and how it went over time.

use crate::series::Series;

/// What `collect` did.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectReport {
    /// The database, without credentials.
    pub database: String,
    /// The isolation level of the sessions, or levels with their shares.
    pub isolation: String,
    /// The name of the workload.
    pub workload: String,
    /// Decided which transactions ran.
    pub seed: u64,
    /// What the workload was like.
    pub parameters: WorkloadParameters,
    /// How many transactions ended in which way.
    pub outcomes: Outcomes,
    /// Committed transactions a second.
    pub throughput: f64,
    /// From the first transaction to the end of the last, without set-up and final read.
    pub seconds: f64,
    /// The size of the recorded history.
    pub bytes: u64,
    /// Was it stopped before its time?
    pub was_stopped: bool,
    /// Why the run ended early, if it did by itself.
    pub failure: Option<String>,
    /// What must hold at the end.
    pub assertions: Vec<Asserted>,
    /// The file of the history; none if it went to standard output.
    pub output: Option<String>,
    /// How it went over time, without the final read.
    pub series: Series,
}

/// What a workload was like, and how long it was to run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkloadParameters {
    /// Sessions.
    pub sessions: u64,
    /// So many transactions a session, if that was the end of it.
    pub txns: Option<u64>,
    /// So many seconds, if that was.
    pub duration: Option<f64>,
    /// Keys.
    pub keys: u64,
    /// The fewest and the most operations of a transaction.
    pub ops: (u64, u64),
    /// The share of operations that read.
    pub reads: f64,
    /// How keys were drawn: `uniform`.
    pub keys_like: String,
    /// How often a transaction was tried again that the database had aborted.
    pub retries: u64,
}

/// How many transactions ended in which way, the final read included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Sessions of the history.
    pub sessions: u64,
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
    /// Lost connections that were replaced.
    pub reconnects: u64,
}

/// Something that must hold at the end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asserted {
    /// What must hold.
    pub name: String,
    /// Did it?
    pub holds: bool,
    /// What was found instead.
    pub detail: String,
}

impl Outcomes {
    /// Attempts.
    pub fn transactions(&self) -> u64 {
        self.committed + self.all_aborted() + self.unknown
    }

    /// Those that did not take effect, whoever wanted it.
    pub(crate) fn all_aborted(&self) -> u64 {
        self.aborted + self.conflicts
    }
}

impl CollectReport {
    /// What did not hold.
    pub(crate) fn failed(&self) -> impl Iterator<Item = &Asserted> {
        self.assertions.iter().filter(|it| !it.holds)
    }
}
