//! What each level asks of an order of transactions.
//!
//! Every level here is one question: is there an order in which, for each read of x by S from T, each other writer of
//! x that S *must see* is older than T? Levels differ in whom a reader must see, and in where an order places reads
//! and writes: serializability has one event per transaction, snapshot levels have a start and a commit event (one
//! graph for all levels; the tests compare each row with the axioms of the catalogue).

use crate::problem::ReadDetail;
use iso_history::TxnId;
use iso_spec::Level;

/// How a level is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) visibility: Visibility,
    pub(crate) events: Events,
    /// Does the order respect recorded times?
    pub(crate) real_time: bool,
}

/// Whom a reader must see, apart from those that it read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visibility {
    /// Nobody.
    Nothing,
    /// Those that it read from by an earlier read (read committed).
    ReadEarlier,
    /// Its session's earlier transactions (read your writes).
    Session,
    /// Those that its session's earlier transactions read from (monotonic reads).
    SessionReads,
    /// The session predecessors of those that it read from (monotonic writes).
    WritersSessions,
    /// Those that the writers it read from, or their session predecessors, read from (writes follow reads).
    WritersReads,
    /// Its session's earlier transactions and those that it read from (read atomic).
    Direct,
    /// As `Direct`, and earlier writers of keys that it writes (update atomic).
    DirectAndConflicting,
    /// The transitive closure of `Direct` (causal consistency).
    Causal,
    /// The transitive closure of `DirectAndConflicting` (parallel snapshot isolation).
    CausalAndConflicting,
    /// Everybody before it (prefix consistency and above).
    Everything,
}

/// The events of a transaction in an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Events {
    /// One: reads and writes happen together.
    One,
    /// Two: it reads from a snapshot, and commits later.
    StartAndCommit,
    /// Two, and a writer of the same key commits before the snapshot or takes its own after the commit.
    FirstCommitterWins,
}

impl Events {
    /// Those that leave less to choose, the strongest last.
    pub(crate) fn stronger(self) -> &'static [Self] {
        match self {
            Self::One => &[],
            Self::FirstCommitterWins => &[Self::One],
            Self::StartAndCommit => &[Self::FirstCommitterWins, Self::One],
        }
    }
}

impl Rule {
    pub(crate) fn of(level: Level) -> Self {
        let (visibility, events) = match level {
            Level::ReadUncommitted | Level::AdyaReadUncommitted => (Visibility::Nothing, Events::One),
            Level::ReadCommitted => (Visibility::ReadEarlier, Events::One),
            Level::ReadYourWrites | Level::AdyaReadCommitted => (Visibility::Session, Events::One),
            Level::MonotonicReads => (Visibility::SessionReads, Events::One),
            Level::MonotonicWrites => (Visibility::WritersSessions, Events::One),
            Level::WritesFollowReads => (Visibility::WritersReads, Events::One),
            Level::ReadAtomic => (Visibility::Direct, Events::One),
            Level::UpdateAtomic => (Visibility::DirectAndConflicting, Events::One),
            Level::CausalConsistency => (Visibility::Causal, Events::One),
            Level::ParallelSnapshotIsolation | Level::ParallelSnapshotIsolationNoSession => {
                (Visibility::CausalAndConflicting, Events::One)
            }
            Level::PrefixConsistency => (Visibility::Everything, Events::StartAndCommit),
            Level::SnapshotIsolation | Level::SnapshotIsolationNoSession | Level::StrongSnapshotIsolation => {
                (Visibility::Everything, Events::FirstCommitterWins)
            }
            Level::Serializable | Level::SerializableNoSession | Level::StrictSerializable => {
                (Visibility::Everything, Events::One)
            }
            // Without rows that are made anew.
            Level::RowSnapshots => (Visibility::Everything, Events::FirstCommitterWins),
            // In pieces, these are serializability.
            Level::StatementSnapshots | Level::TransactionSnapshot => (Visibility::Everything, Events::One),
        };
        Self { visibility, events, real_time: level.needs_times() }
    }

    pub(crate) fn read_detail(self) -> ReadDetail {
        match self.visibility {
            // Session guarantees and read committed let a transaction see two versions of one key.
            Visibility::Nothing
            | Visibility::ReadEarlier
            | Visibility::Session
            | Visibility::SessionReads
            | Visibility::WritersSessions
            | Visibility::WritersReads => ReadDetail::EveryOperation,
            _ => ReadDetail::OncePerVersion,
        }
    }
}

/// An event in an order: a node of the graph, by the number that the solver knows it by.
pub(crate) type Node = u32;

impl Events {
    pub(crate) fn n_nodes(self, n_txns: usize) -> usize {
        if self == Self::One { n_txns } else { 2 * n_txns }
    }

    /// When a transaction reads.
    pub(crate) fn start(self, txn: TxnId) -> Node {
        if self == Self::One { txn.raw() } else { 2 * txn.raw() }
    }

    /// When its writes take place.
    pub(crate) fn commit(self, txn: TxnId) -> Node {
        if self == Self::One { txn.raw() } else { 2 * txn.raw() + 1 }
    }

    /// The transaction of a node.
    pub(crate) fn txn(self, node: Node) -> TxnId {
        TxnId::from_index(if self == Self::One { node } else { node / 2 } as usize)
    }

    /// `earlier` is seen by `later`: session order, reads from, real time.
    pub(crate) fn visibility(self, earlier: TxnId, later: TxnId) -> (Node, Node) {
        (self.commit(earlier), self.start(later))
    }

    /// The event that must come after the commit of an older writer of the same key.
    pub(crate) fn overwrite(self, txn: TxnId) -> Node {
        if self == Self::FirstCommitterWins { self.start(txn) } else { self.commit(txn) }
    }

    /// `older`'s version is older than `newer`'s.
    pub(crate) fn version_order(self, older: TxnId, newer: TxnId) -> (Node, Node) {
        (self.commit(older), self.overwrite(newer))
    }

    /// `reader` did not see `overwriter`.
    pub(crate) fn anti_dependency(self, reader: TxnId, overwriter: TxnId) -> (Node, Node) {
        (self.start(reader), self.commit(overwriter))
    }
}
