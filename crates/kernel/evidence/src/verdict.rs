//! The contract of every engine: an answer with what proves it.

use crate::{Anomaly, Grounds, Proof};
use iso_history::{KeyId, LocalAnomaly, OpId, PieceKind, TxnId};
pub use iso_history::{Source, Sources};
use iso_spec::Execution;
use std::fmt;
use std::sync::Arc;

/// The answer to one question about one history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The level allows the history, and here is how it may have happened.
    Allowed(Witness),
    /// The level forbids the history, and here is the core that cannot have happened.
    Forbidden(Refutation),
    /// The engine stopped before it knew.
    Unknown(StopReason),
}

/// How a history may have happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// When each transaction that counts took place.
    pub schedule: Schedule,
    /// For each external read of those transactions, whose write it saw; ascending by read. Witnesses of several levels
    /// often share them.
    pub sources: Arc<Sources>,
}

/// An order in which transactions took place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// Transactions in commit order, without the initial one. Enough for every level but those with snapshots.
    Order(Vec<TxnId>),
    /// Snapshots and commits in one order: snapshot isolation, prefix consistency, strong snapshot isolation.
    Events(Vec<Event>),
    /// Pieces of transactions, one after the other: levels whose statements have snapshots of their own.
    Pieces(Vec<(TxnId, PieceKind)>),
    /// Everything that the text of a level says must exist: for levels that only the reference evaluator knows.
    Execution(Execution),
}

/// An event of a transaction that reads from a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Event {
    /// Its reads happen: they see everything that was committed before.
    Snapshot(TxnId),
    /// Its writes happen.
    Commit(TxnId),
}

/// Why a history cannot have happened: a core, that is a part of it that is forbidden by itself already.
///
/// The core of a cycle or a case split is minimal at the weakest level that forbids it, if there was time: without any of
/// its operations it would be allowed there. Two kinds of cores have more: that of one read has what makes the read
/// strange, and with less of it, the read may be strange for another reason; and where an element was rolled back and
/// appended again, everybody who appended it is in the core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refutation {
    /// What the field calls this.
    pub anomalies: Vec<Anomaly>,
    /// The transactions of the core, ascending, without the initial one.
    pub txns: Vec<TxnId>,
    /// The operations of the core, ascending.
    pub ops: Vec<OpId>,
    /// The read that nothing explains, if one is enough.
    pub local: Option<LocalAnomaly>,
    /// A cycle of dependencies: each edge starts where the one before ended. Empty if `local` says it all, or if the
    /// core needs a case split and no single cycle explains it.
    pub cycle: Vec<Edge>,
    /// The cycle, or the case split, with everything that it follows from; none if none was found that a person
    /// could follow.
    pub proof: Option<Box<Proof>>,
    /// Why the core is forbidden, for a checker that does not search; none if the core is small or `local` says it all.
    pub grounds: Option<Arc<Grounds>>,
}

/// A dependency between two transactions, which always says why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The transaction that comes first.
    pub from: TxnId,
    /// The transaction that comes after it.
    pub to: TxnId,
    /// Why.
    pub because: Reason,
}

/// Why one transaction comes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Same session, earlier; or the initial transaction, which is before all (so).
    Session,
    /// It ended before the other began (rt).
    RealTime,
    /// The other read what it wrote (wr).
    ReadFrom {
        /// The read, of the later transaction.
        read: OpId,
    },
    /// Both write the key, and its version is the older one (ww).
    VersionOrder {
        /// The key.
        key: KeyId,
        /// A read that proves it: a list read that shows both versions, or a read of the later version by a
        /// transaction that comes after the earlier writer and would otherwise have seen it. None if the initial
        /// version is concerned.
        shown_by: Option<OpId>,
    },
    /// Both write the key, and its snapshot is from before the other's commit, so that it must have committed before
    /// the other's snapshot (ww): the first committer wins.
    FirstCommitter {
        /// The key.
        key: KeyId,
    },
    /// It read a version of the key that the other one overwrote (rw).
    AntiDependency {
        /// The key.
        key: KeyId,
        /// The read, of the earlier transaction.
        read: OpId,
    },
}

impl Reason {
    /// The field's two letters for this kind of dependency.
    pub fn short_name(self) -> &'static str {
        match self {
            Self::Session => "so",
            Self::RealTime => "rt",
            Self::ReadFrom { .. } => "wr",
            Self::VersionOrder { .. } | Self::FirstCommitter { .. } => "ww",
            Self::AntiDependency { .. } => "rw",
        }
    }
}

/// Why an engine stopped without an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The time limit was reached.
    Timeout,
    /// The memory limit was reached.
    Memory,
    /// The step limit was reached.
    Steps,
    /// The user ended the run.
    Interrupted,
    /// The question is outside of what the engine decides; the text says what is.
    Unsupported(String),
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout => f.write_str("the time limit was reached"),
            Self::Memory => f.write_str("the memory limit was reached"),
            Self::Steps => f.write_str("the step limit was reached"),
            Self::Interrupted => f.write_str("the run was interrupted"),
            Self::Unsupported(what) => f.write_str(what),
        }
    }
}
