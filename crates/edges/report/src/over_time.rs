//! How a recording was checked while it was read: verdicts, speed, lag, window and memory over time.

use serde::{Deserialize, Serialize};

/// A check over time: a column for each number, since there are many moments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OverTime {
    /// The moments, in seconds since the beginning.
    pub seconds: Vec<f64>,
    /// How many transactions were read so far.
    pub transactions: Vec<u64>,
    /// How many of them could still be ordered in another way.
    pub window: Vec<u64>,
    /// Memory in use, in bytes; empty if the system does not tell.
    pub memory: Vec<u64>,
    /// How far the check was behind the writer, in seconds; empty if nobody writes meanwhile.
    pub lag: Vec<f64>,
    /// When verdicts changed.
    pub changes: Vec<StandingChange>,
}

/// A level stands in another way from now on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StandingChange {
    /// When, in seconds since the beginning.
    pub seconds: f64,
    /// The level.
    pub level: String,
    /// How it stands.
    pub standing: StreamStanding,
    /// The line of the recording that was read last.
    pub line: u64,
}

/// How a level stands while a recording is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StreamStanding {
    /// An order explains what was read so far.
    Holds,
    /// Some transactions fit no order, and nobody knows why.
    Suspects,
    /// It is violated.
    Violated,
}

impl OverTime {
    /// Are there enough moments to be drawn?
    pub(crate) fn is_drawn(&self) -> bool {
        self.seconds.len() >= 3
    }

    /// The levels, in the order in which they were first heard of.
    pub(crate) fn levels(&self) -> Vec<&str> {
        let mut levels: Vec<&str> = Vec::new();
        for change in &self.changes {
            if !levels.contains(&change.level.as_str()) {
                levels.push(&change.level);
            }
        }
        levels
    }

    /// The last moment.
    pub(crate) fn end(&self) -> f64 {
        self.seconds.last().copied().unwrap_or(0.0)
    }
}
