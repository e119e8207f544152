//! Why a history could not be generated.

use std::io;
use thiserror::Error;

/// Why a history could not be generated.
#[derive(Debug, Error)]
pub enum GenerateError {
    /// Nothing would happen.
    #[error("there must be at least one session, one key, and one operation in a transaction")]
    Empty,
    /// More reads than operations.
    #[error("{percent} % of the operations cannot be reads")]
    TooManyReads {
        /// What was asked for.
        percent: usize,
    },
    /// Nothing could be written.
    #[error("a key must have at least one value")]
    NoValues,
    /// It would not fit.
    #[error("that is too large: at most {txns} transactions and {keys} keys can be generated")]
    TooLarge {
        /// The most transactions.
        txns: usize,
        /// The most keys.
        keys: usize,
    },
    /// The anomaly does not fit in.
    #[error("{injection} needs at least {txns} transactions, {sessions} sessions and {keys} keys")]
    NoRoom {
        /// The anomaly.
        injection: &'static str,
        /// The fewest transactions.
        txns: usize,
        /// The fewest sessions.
        sessions: usize,
        /// The fewest keys.
        keys: usize,
    },
    /// The store has that anomaly by itself.
    #[error("a snapshot store has write-skew without injection; take the serializable store")]
    OwnAnomaly,
    /// The store has most anomalies by itself.
    #[error("{injection} cannot be injected into a causal store; take the serializable store")]
    NoInjection {
        /// The anomaly.
        injection: &'static str,
    },
    /// The anomaly would not show.
    #[error("{injection} can be seen only by times, which are left out")]
    NeedsTimes {
        /// The anomaly.
        injection: &'static str,
    },
    /// The format knows reads and writes only.
    #[error("a dbcop file has no statements; leave --to dbcop out, or take another workload")]
    NoStatements,
    /// Anomalies are made of reads and writes.
    #[error("{injection} cannot be injected into a workload of statements; take another workload")]
    OnlyReadsAndWrites {
        /// The anomaly.
        injection: &'static str,
    },
    /// There were too few transactions.
    #[error("the history ended before the anomaly was complete; take more transactions")]
    Unfinished,
    /// The history could not be written.
    #[error("cannot write the history: {0}")]
    Write(#[from] io::Error),
}
