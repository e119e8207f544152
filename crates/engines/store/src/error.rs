//! What a store refuses.

use crate::{Key, TxnName, Writer};
use iso_history::SessionId;
use iso_spec::Level;
use std::fmt;

/// Why a call has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The level cannot let this transaction commit, whatever follows. It has been aborted.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// The store does not know this level.
    #[error("a store cannot have the level {level}")]
    UnknownLevel {
        /// The level that was asked for.
        level: Level,
    },
    /// The session is none of this store's.
    #[error("there is no session {}", session.index())]
    UnknownSession {
        /// The session that was named.
        session: SessionId,
    },
    /// The session has no open transaction: none was begun, or a conflict has aborted it.
    #[error("session {session} has no open transaction")]
    NoTransaction {
        /// The name of the session.
        session: String,
    },
    /// The session's transaction was begun and has not ended.
    #[error("session {session} has an open transaction already")]
    AlreadyOpen {
        /// The name of the session.
        session: String,
    },
    /// The initial state cannot have this row any more: a transaction has written it, or has seen that it is not there.
    #[error("{key} is loaded after a transaction has read or written it")]
    LoadedLate {
        /// The key.
        key: Key,
    },
    /// Another transaction has locked the row. This one is still open: the call can be made again once that one has ended.
    #[error("{txn} waits for {key}, which {holder} has locked")]
    Locked {
        /// Who waits.
        txn: TxnName,
        /// What for.
        key: Key,
        /// Who has it.
        holder: TxnName,
    },
    /// The row is there already. The transaction is still open; databases would have it aborted.
    #[error("there is a row {key} already")]
    Exists {
        /// The row.
        key: Key,
    },
    /// The savepoint is none of the transaction's, or is gone.
    #[error("{txn} has no such savepoint")]
    NoSavepoint {
        /// The open transaction.
        txn: TxnName,
    },
    /// A statement was begun and has not ended.
    #[error("{txn} has an open statement already")]
    StatementOpen {
        /// The open transaction.
        txn: TxnName,
    },
    /// No statement was begun.
    #[error("{txn} has no open statement")]
    NoStatement {
        /// The open transaction.
        txn: TxnName,
    },
    /// The reader was to read a version that its level does not let it read, or that does not exist.
    #[error("{reader} cannot read {key} from {writer}")]
    NotReadable {
        /// Who reads.
        reader: TxnName,
        /// What.
        key: Key,
        /// Whose version was asked for.
        writer: Writer,
    },
}

/// Two transactions of which only one can commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The transaction that was aborted.
    pub txn: TxnName,
    /// A key that it wrote or read, or was to.
    pub key: Key,
    /// Who else wrote that key, and committed, or has it locked.
    pub other: TxnName,
    /// What keeps them apart.
    pub cause: Cause,
}

/// Why only one of two transactions can commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The level: one of them does not see what the other one changed.
    Changed,
    /// Each waits for a row that the other one has locked.
    Deadlock,
}

/// As in `s1.2 is aborted: t:x was changed by s2.1, which it does not see`.
impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { txn, key, other, cause } = self;
        match cause {
            Cause::Changed => write!(f, "{txn} is aborted: {key} was changed by {other}, which it does not see"),
            Cause::Deadlock => write!(f, "{txn} is aborted: {key} is locked by {other}, which waits for {txn}"),
        }
    }
}

impl std::error::Error for Conflict {}

impl Error {
    /// The conflict, if it is one: the caller may try the transaction again.
    pub fn conflict(&self) -> Option<&Conflict> {
        match self {
            Self::Conflict(conflict) => Some(conflict),
            _ => None,
        }
    }
}
