//! What a store refuses.

use crate::{Key, TxnName, Writer};
use iso_history::SessionId;
use iso_spec::Level;

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

/// Two transactions of which the level lets only one commit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{txn} is aborted: {key} was changed by {other}, which it does not see")]
pub struct Conflict {
    /// The transaction that was aborted.
    pub txn: TxnName,
    /// A key that it wrote or read.
    pub key: Key,
    /// Who else wrote that key, and committed.
    pub other: TxnName,
}

impl Error {
    /// The conflict, if it is one: the caller may try the transaction again.
    pub fn conflict(&self) -> Option<&Conflict> {
        match self {
            Self::Conflict(conflict) => Some(conflict),
            _ => None,
        }
    }
}
