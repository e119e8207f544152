//! Why nothing could be recorded or served.

use iso_collect::{Failure, OpenError};
use iso_servers::StartError;
use std::io;
use thiserror::Error;

/// Why nothing could be recorded or served. Messages are whole: none has a source that would have to be said, too.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The store has no such level.
    #[error("{level} cannot be served; choose one of {known}")]
    UnknownLevel {
        /// What was asked for.
        level: &'static str,
        /// What there is.
        known: String,
    },
    /// A database has no weak updates.
    #[error("at {level}, UPDATE and DELETE act on the newest version, as in the database; leave out --updates weak")]
    NewestOnly {
        /// The level.
        level: &'static str,
    },
    /// There is no engine, because it is not installed.
    #[error(
        "{0}: install it with `sudo apt-get install postgresql` (macOS: `brew install postgresql`), or name another \
         PostgreSQL with --engine"
    )]
    NoEngine(StartError),
    /// The engine does not start.
    #[error(transparent)]
    Engine(StartError),
    /// The address of the database is wrong, or nobody answers there.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The database does not let us prepare it.
    #[error("the database cannot be prepared: {0}")]
    Prepare(Failure),
    /// The schema is wrong.
    #[error("the schema does not work: {0}")]
    Schema(Failure),
    /// Nobody can connect.
    #[error("cannot listen at {place}: {reason}")]
    Listen {
        /// Where.
        place: String,
        /// Why.
        reason: io::Error,
    },
    /// The history cannot be written.
    #[error("the history cannot be written: {0}")]
    Write(io::Error),
}

impl From<Failure> for ServeError {
    fn from(failure: Failure) -> Self {
        Self::Prepare(failure)
    }
}

impl From<StartError> for ServeError {
    fn from(error: StartError) -> Self {
        match error {
            missing @ StartError::Missing { .. } => Self::NoEngine(missing),
            failed @ StartError::Failed { .. } => Self::Engine(failed),
        }
    }
}
