//! The document of `collect`: what was run on a database, what came of it, and how it went over time.

use crate::amounts::grouped;
use crate::durability::FaultMark;
use crate::over_time::OverTime;
use crate::series::Series;
use serde::{Deserialize, Serialize};

/// What `collect` did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    #[serde(flatten)]
    pub outcomes: Outcomes,
    /// Committed transactions a second.
    pub throughput: f64,
    /// From the first transaction to the end of the last, without set-up and final read.
    pub seconds: f64,
    /// The size of the recorded history.
    pub bytes: u64,
    /// Was it stopped before its time?
    #[serde(rename = "stopped")]
    pub was_stopped: bool,
    /// Why the run ended early, if it did by itself.
    pub failure: Option<String>,
    /// What must hold at the end.
    pub assertions: Vec<Asserted>,
    /// The file of the history; none if it went to standard output.
    pub output: Option<String>,
    /// By node, the sessions that began on it, where there are several nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeSessions>,
    /// What was done to nodes, in the order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultMark>,
    /// How it went over time, without the final read.
    pub series: Series,
    /// How the check beside it went, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Box<OverTime>>,
}

/// A node, and who is on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeSessions {
    /// The node.
    pub node: String,
    /// The sessions that began on it.
    pub sessions: Vec<String>,
}

/// What a workload was like, and how long it was to run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkloadParameters {
    /// Sessions.
    pub sessions: u64,
    /// So many transactions a session, if that was the end of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub txns: Option<u64>,
    /// So many seconds, if that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "OutcomeMembers", into = "OutcomeMembers")]
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
    /// What was aborted, whoever wanted it, by its cause.
    pub aborts: AbortCauses,
}

/// How many transactions were aborted for which cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbortCauses {
    /// Serialization failures, and rows that changed since the snapshot.
    pub serialization: u64,
    /// Transactions waited for each other.
    pub deadlock: u64,
    /// A lock was not granted in time.
    pub lock_timeout: u64,
    /// A statement took too long, or was cancelled.
    pub statement_timeout: u64,
    /// A row was there already.
    pub constraint: u64,
    /// The workload wanted it.
    pub application: u64,
    /// The connection was lost before the commit, or the run was stopped.
    pub other: u64,
}

impl AbortCauses {
    /// The causes in words, with their counts, without those that did not happen.
    pub(crate) fn in_words(&self) -> String {
        let Self { serialization, deadlock, lock_timeout, statement_timeout, constraint, application, other } = self;
        let causes = [
            (serialization, "serialization"),
            (deadlock, "deadlock"),
            (lock_timeout, "lock timeout"),
            (statement_timeout, "statement timeout"),
            (constraint, "constraint"),
            (application, "decided by the workload"),
            (other, "other"),
        ];
        let counted = causes.iter().filter(|it| *it.0 > 0).map(|(count, name)| format!("{} {name}", grouped(**count)));
        counted.collect::<Vec<_>>().join(", ")
    }
}

/// Outcomes in JSON: what the history has, and beside it what it does not say.
#[derive(Serialize, Deserialize)]
struct OutcomeMembers {
    history: HistoryMembers,
    conflicts: u64,
    reconnects: u64,
    #[serde(default)]
    aborts: AbortCauses,
}

#[derive(Serialize, Deserialize)]
struct HistoryMembers {
    sessions: u64,
    transactions: u64,
    committed: u64,
    /// Whoever wanted it.
    aborted: u64,
    unknown: u64,
    operations: u64,
}

impl From<Outcomes> for OutcomeMembers {
    fn from(of: Outcomes) -> Self {
        let history = HistoryMembers {
            sessions: of.sessions,
            transactions: of.transactions(),
            committed: of.committed,
            aborted: of.all_aborted(),
            unknown: of.unknown,
            operations: of.operations,
        };
        Self { history, conflicts: of.conflicts, reconnects: of.reconnects, aborts: of.aborts }
    }
}

impl TryFrom<OutcomeMembers> for Outcomes {
    type Error = &'static str;

    fn try_from(of: OutcomeMembers) -> Result<Self, Self::Error> {
        let OutcomeMembers { history, conflicts, reconnects, aborts } = of;
        let aborted = history.aborted.checked_sub(conflicts).ok_or("there are more conflicts than aborted")?;
        Ok(Self {
            sessions: history.sessions,
            committed: history.committed,
            aborted,
            conflicts,
            unknown: history.unknown,
            operations: history.operations,
            reconnects,
            aborts,
        })
    }
}

/// Something that must hold at the end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
