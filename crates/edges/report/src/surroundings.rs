//! What stands around the evidence in a history that is too large to be shown: neighbours, and a summary of everything.

use crate::document::{Place, Transaction};

/// The surroundings of what a report found. Everything in it is bounded, however large the history is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The neighbours of each forbidden part.
    pub near: Vec<Nearby>,
    /// The sessions of the parts and the longest ones, in the order of the input.
    pub sessions: Vec<SessionSummary>,
    /// How many more sessions there are.
    pub omitted_sessions: usize,
    /// The keys of the parts and the busiest ones, the busiest first.
    pub keys: Vec<KeySummary>,
    /// How many more keys there are.
    pub omitted_keys: usize,
    /// The transactions from the first to the last.
    pub course: Course,
}

/// The neighbours of one forbidden part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearby {
    /// The short names of the levels that forbid the part.
    pub levels: Vec<String>,
    /// The transactions of the part and those near them, in the order of the course.
    pub transactions: Vec<Neighbour>,
}

/// A transaction near a forbidden part, or of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// The transaction, with its first operations and those on keys of the part.
    pub transaction: Transaction,
    /// How many more operations it has.
    pub omitted_ops: usize,
    /// Its place in the course of all transactions, from 0.
    pub position: usize,
    /// Does it belong to the part?
    pub is_in_part: bool,
    /// What it has to do with the part, as clauses: `wrote x=1, which s2.1 read`.
    pub notes: Vec<String>,
}

/// A session in numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSummary {
    /// Its name.
    pub name: String,
    /// Its transactions that committed.
    pub committed: u64,
    /// Those that were rolled back.
    pub aborted: u64,
    /// Those whose client was never told.
    pub unknown: u64,
    /// The operations of all of them.
    pub operations: u64,
    /// Where the first transaction stands in the input, if that is known.
    pub first: Option<Place>,
    /// Where the last one does.
    pub last: Option<Place>,
}

/// A key in numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySummary {
    /// Its name, in our notation.
    pub key: String,
    /// Operations that read it.
    pub reads: u64,
    /// Operations that write it.
    pub writes: u64,
}

/// All transactions in their order, counted in stretches of equal length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Course {
    /// What the order is.
    pub by: CourseUnit,
    /// The first time or place.
    pub from: i64,
    /// The last one.
    pub to: i64,
    /// How many transactions of each stretch committed.
    pub committed: Vec<u64>,
    /// How many did not, as far as is known.
    pub others: Vec<u64>,
    /// The transactions of the parts, each with its stretch.
    pub marks: Vec<(String, usize)>,
}

/// What puts transactions in an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CourseUnit {
    /// When they began.
    Time,
    /// Where they stand in the input.
    #[default]
    Position,
}

impl SessionSummary {
    /// All of its transactions.
    pub fn transactions(&self) -> u64 {
        self.committed.saturating_add(self.aborted).saturating_add(self.unknown)
    }
}

impl CourseUnit {
    /// The word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Position => "position",
        }
    }
}
