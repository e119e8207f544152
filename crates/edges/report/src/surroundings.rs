//! What stands around the evidence in a history that is too large to be shown: neighbours, and a summary of everything.

use crate::document::{Place, Transaction, is_zero};
use crate::value::Value;
use serde::{Deserialize, Serialize};

/// The surroundings of what a report found. Everything in it is bounded, however large the history is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Surroundings {
    /// The neighbours of each core.
    pub near: Vec<Nearby>,
    /// The sessions of the cores and the longest ones, in the order of the input.
    pub sessions: Vec<SessionSummary>,
    /// How many more sessions there are.
    #[serde(rename = "sessions_omitted", default, skip_serializing_if = "is_zero")]
    pub omitted_sessions: usize,
    /// The keys of the cores and the busiest ones, the busiest first.
    pub keys: Vec<KeySummary>,
    /// How many more keys there are.
    #[serde(rename = "keys_omitted", default, skip_serializing_if = "is_zero")]
    pub omitted_keys: usize,
    /// The transactions from the first to the last.
    pub course: Course,
}

/// The neighbours of one core.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nearby {
    /// The short names of the levels that forbid the core.
    pub levels: Vec<String>,
    /// The transactions of the core and those near them, in the order of the course.
    pub transactions: Vec<Neighbour>,
}

/// A transaction near a core, or of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Neighbour {
    /// The transaction, with its first operations and those on keys of the core.
    #[serde(flatten)]
    pub transaction: Transaction,
    /// How many more operations it has.
    #[serde(rename = "ops_omitted", default, skip_serializing_if = "is_zero")]
    pub omitted_ops: usize,
    /// Its place in the course of all transactions, from 0.
    pub position: usize,
    /// Does it belong to the core?
    #[serde(rename = "in_core", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_in_core: bool,
    /// What it has to do with the core, as clauses: `wrote x=1, which s2.1 read`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A session in numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Place>,
    /// Where the last one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Place>,
}

/// A key in numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeySummary {
    /// The key.
    pub key: Value,
    /// Operations that read it.
    pub reads: u64,
    /// Operations that write it.
    pub writes: u64,
}

/// All transactions in their order, counted in stretches of equal length.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The transactions of the cores, each with its stretch.
    pub marks: Vec<(String, usize)>,
}

/// What puts transactions in an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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
