//! Anomalies that a transaction shows by itself: no order of transactions explains them.

use crate::{OpId, TxnId, ValueId};

/// One read that no execution can explain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LocalAnomaly {
    /// The transaction that read.
    pub reader: TxnId,
    /// Its read.
    pub op: OpId,
    /// What is wrong with it.
    pub kind: LocalKind,
}

/// Why a read cannot be explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LocalKind {
    /// It contradicts the transaction's own writes before it.
    Internal {
        /// What the transaction itself had written last (for a list: its last own element).
        expected: ValueId,
    },
    /// It saw what nobody wrote.
    ThinAir,
    /// It saw what its own transaction wrote only later.
    Future,
    /// It saw the write of an aborted transaction (G1a).
    Aborted {
        /// The aborted transaction.
        writer: TxnId,
    },
    /// It saw a write that its transaction overwrote before it committed (G1b).
    Intermediate {
        /// The transaction that wrote it.
        writer: TxnId,
    },
    /// It saw a list in which one transaction's elements lie between another's (G0), or stand in another order than the
    /// one in which it appended them.
    Interleaved {
        /// The transaction whose elements are torn apart, or out of order.
        torn: TxnId,
        /// A transaction whose element lies between them; the same one if they are out of order.
        between: TxnId,
    },
    /// It saw another version of the key than an earlier read of the same transaction, which did not write it
    /// in between: two versions at once, which read committed allows and read atomic does not.
    Unrepeatable {
        /// The earlier read.
        earlier: OpId,
    },
    /// A scan did not return a row, although every version of it matches.
    Missed,
    /// A scan returned a row that does not match.
    Unmatched,
    /// It saw a list that is neither a prefix nor an extension of another one that was seen.
    Incompatible {
        /// The other read of the list.
        other: OpId,
    },
}

impl LocalKind {
    /// Does the anomaly break even read uncommitted, which lets transactions read aborted and intermediate writes?
    pub fn breaks_read_uncommitted(self) -> bool {
        !matches!(self, Self::Aborted { .. } | Self::Intermediate { .. } | Self::Unrepeatable { .. })
    }
}
