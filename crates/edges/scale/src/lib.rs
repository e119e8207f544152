//! Histories that are larger than one machine: an SQL engine replays an order that is guessed from recorded times, key by key,
//! and what does not fit is decided here.
//!
//! An answer "holds" is an order, and checking a given order is one query: for each key, in that order, each read must see
//! the last write before it ([`Queries`]). The engine returns what does not fit. The part of the history around that is
//! small; the library decides it, and certifies ([`decide`]). Either the part is forbidden, and so is the whole, because a
//! level that allows a history allows each part of it that has some keys and everything that was done to them. Or another
//! order explains the part, and the engine replays that. An order that fits is never taken for granted before the engine has
//! replayed all of it.

mod decide;
mod order;
mod queries;
mod script;
mod snapshots;

pub use decide::{Decision, Engine, Part, Replay, decide};
pub use order::{Moved, Order};
pub use queries::{Earlier, Moves, Queries, Question};
pub use script::{Address, Memory, Scripted};

use thiserror::Error;

/// Why an engine could not be asked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ScaleError {
    /// The level is none that a replay of an order decides.
    #[error("--engine decides ser, sser and si, not {level}; leave --engine out for other levels")]
    Level {
        /// Its name.
        level: &'static str,
    },
    /// The data set lacks a column that only queries need.
    #[error("{path}: there is no column `{column}`, which an SQL engine needs: it does not know the order of rows")]
    Column {
        /// The data set.
        path: String,
        /// The column.
        column: &'static str,
    },
    /// There is something in it that the queries do not replay.
    #[error("{path}: {what}; leave --engine out")]
    Unsupported {
        /// The data set.
        path: String,
        /// What it is.
        what: String,
    },
    /// The engine is not installed.
    #[error("{engine} is not there: `{tried}` fails ({why}); {cure}")]
    Missing {
        /// Its name.
        engine: &'static str,
        /// The command that was to show it.
        tried: String,
        /// What it said.
        why: String,
        /// What installs it.
        cure: String,
    },
    /// The engine failed.
    #[error("{engine} did not finish: {why}")]
    Engine {
        /// Its name.
        engine: String,
        /// The end of what it said.
        why: String,
    },
    /// Files that pass between us and the engine.
    #[error("cannot write or read {path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The history could not be read.
    #[error(transparent)]
    Read(#[from] iso_formats::ReadError),
}
