//! What a history says of the reads of one statement, at levels of databases.

use crate::interpret::{Source, TxnStep};
use crate::program::{Instance, ReadMode};

/// How a database looks for the rows that a statement changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looks {
    /// In the snapshot of the statement, and then at the newest versions of those that fit (`PostgreSQL`).
    Snapshot,
    /// At the newest version of one row after the other; what does not fit is not locked (`InnoDB`, READ COMMITTED).
    Newest,
    /// The same, and a row that is named by its key stays locked (`InnoDB`, REPEATABLE READ).
    NewestLocked,
}

/// What a history says of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Showing {
    /// Nothing.
    Hidden,
    /// That it read a snapshot.
    Plain,
    /// That it read the newest version, and locked it if there is one.
    Newest,
}

/// What a history says of a read among the steps of its statement. Writes are always shown.
///
/// A statement that looks for rows and then changes some of them reads those twice, and a history has one read of a
/// row in a statement: the one before the write. Where a row did not fit any more when it was read again, that is the first one.
pub fn showing(instance: &Instance, of_statement: &[TxnStep], step: &TxnStep, looks: Looks) -> Showing {
    let TxnStep::Read { read, unit, value, mode, source } = step else { return Showing::Newest };
    if *source == Source::Itself {
        return Showing::Hidden;
    }
    let is_written = of_statement.iter().any(|it| matches!(it, TxnStep::Write { unit: it, .. } if it == unit));
    let is_again = instance.read(*read).again.is_some();
    match mode {
        ReadMode::ForUpdate => Showing::Newest,
        ReadMode::Search if looks != Looks::Snapshot || is_written => Showing::Hidden,
        ReadMode::Update | ReadMode::Check if is_again && !is_written => Showing::Hidden,
        // A row that is not there is not locked; but it was looked for among the newest.
        ReadMode::Update | ReadMode::Check if is_written || !value.exists() => Showing::Newest,
        ReadMode::Check if looks == Looks::NewestLocked => Showing::Newest,
        ReadMode::Plain | ReadMode::Search | ReadMode::Update | ReadMode::Check => Showing::Plain,
    }
}
