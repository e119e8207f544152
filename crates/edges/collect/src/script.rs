//! Scripts: transactions of several sessions, step by step in one order, on any database.
//!
//! Each session has a thread and a connection. A step must answer before the next one is taken, unless it waits for a
//! lock: then it is left waiting, and the steps of the other sessions go on. So a script shows the same anomaly on every run, and can
//! be pasted into a bug report as SQL. Steps that are `together` are sent at the same time, for what only a race shows.

//!
//! ```
//! use iso_collect::{open, script::Script};
//! let script: Script = "
//!     table account int
//!     row account x 0
//!     s1 begin serializable
//!     s1 get account x
//!     s1 put account x 1
//!     s1 commit
//! ".parse().unwrap();
//! let played = script.play(&*open("sqlite:").unwrap())?;
//! assert!(played.blocked.is_empty());
//! assert_eq!(played.history.n_txns(), 2);
//! # Ok::<(), iso_collect::Failure>(())
//! ```

mod again;
mod history;
mod play;
mod saved;
mod sql;
mod sql_text;
mod text;

pub use again::{PlayedAgain, play_again};
pub use play::{Answer, Interrupted, Played};
pub use saved::{SavedScript, expectation_line};
pub use text::NotAScript;

use crate::answered::only_row;
use crate::{Failure, Table, Value, Values};
use iso_history::{Column, Comparison, Datum, Locking, Predicate};

/// What several sessions do, in one order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// The tables.
    pub tables: Vec<Table>,
    /// The rows of the initial state: table, key and value.
    pub rows: Vec<(String, String, Value)>,
    /// What is done.
    pub steps: Vec<ScriptStep>,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptStep {
    /// The name of the session, as in `s1`.
    pub session: String,
    /// What it does.
    pub action: Action,
    /// Steps that follow each other and have the same number here are sent at the same time.
    pub together: Option<usize>,
}

impl ScriptStep {
    /// A step that is sent alone.
    pub fn alone(session: impl Into<String>, action: Action) -> Self {
        Self { session: session.into(), action, together: None }
    }
}

/// What a session does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Begins a transaction.
    Begin {
        /// One of the isolation levels of the database.
        isolation: String,
    },
    /// Reads a row.
    Get {
        /// The table.
        table: String,
        /// The key of the row.
        row: String,
    },
    /// Writes a row.
    Put {
        /// The table.
        table: String,
        /// The key of the row.
        row: String,
        /// The new value.
        value: Value,
    },
    /// Appends to the list in a row.
    Append {
        /// The table.
        table: String,
        /// The key of the row.
        row: String,
        /// What is appended.
        element: i64,
    },
    /// Makes a row.
    Insert {
        /// The table.
        table: String,
        /// The key of the row.
        row: String,
        /// Its value.
        value: Value,
    },
    /// Reads the rows that match a predicate.
    Scan {
        /// The table.
        table: String,
        /// Which rows.
        predicate: Predicate,
        /// Are they locked?
        locking: Locking,
    },
    /// Adds to the numbers in the rows that match a predicate, in one statement.
    Add {
        /// The table.
        table: String,
        /// Which rows.
        predicate: Predicate,
        /// How much.
        by: i64,
    },
    /// Removes the rows that match a predicate, in one statement.
    Delete {
        /// The table.
        table: String,
        /// Which rows.
        predicate: Predicate,
    },
    /// Commits the transaction.
    Commit,
    /// Aborts the transaction.
    Abort,
}

impl Script {
    /// The sessions, in the order of their first steps.
    pub fn sessions(&self) -> Vec<&str> {
        let mut sessions: Vec<&str> = Vec::new();
        for step in &self.steps {
            if !sessions.contains(&step.session.as_str()) {
                sessions.push(&step.session);
            }
        }
        sessions
    }

    /// Are there steps that are sent at the same time? What they show may not show each time.
    pub fn has_together(&self) -> bool {
        self.steps.windows(2).any(|it| it[0].together.is_some() && it[0].together == it[1].together)
    }

    /// By step, whether it is sent with the one before it.
    pub(crate) fn joins(&self, idx: usize) -> bool {
        idx > 0 && self.steps[idx].together.is_some() && self.steps[idx].together == self.steps[idx - 1].together
    }

    /// Fails if the database would not evaluate a predicate as we do.
    fn check_predicates(&self) -> Result<(), Failure> {
        for step in &self.steps {
            if let Some((table, predicate)) = step.action.predicate()
                && let Some(table) = self.tables.iter().find(|it| it.name == table)
                && !is_comparable(table, predicate)
            {
                let (name, step) = (&table.name, step.to_string());
                return Err(Failure::broken(format!(
                    "`{step}`: values are compared in a table of numbers only, and keys if it is `numbered`, which {name} \
                     is not"
                )));
            }
        }
        Ok(())
    }

    /// Is the row of a table a list? Those of a table are alike.
    fn has_lists(&self, table: &str) -> bool {
        self.steps.iter().any(|it| matches!(&it.action, Action::Append { table: other, .. } if other == table))
    }
}

impl Action {
    /// Its table, if it has one.
    pub(crate) fn table(&self) -> Option<&str> {
        match self {
            Self::Get { table, .. }
            | Self::Put { table, .. }
            | Self::Insert { table, .. }
            | Self::Append { table, .. } => Some(table),
            _ => self.predicate().map(|it| it.0),
        }
    }

    /// Its table and predicate, if it has one.
    pub(crate) fn predicate(&self) -> Option<(&str, &Predicate)> {
        match self {
            Self::Scan { table, predicate, .. }
            | Self::Add { table, predicate, .. }
            | Self::Delete { table, predicate } => Some((table, predicate)),
            _ => None,
        }
    }

    /// The row that it is about, if that is one.
    pub(crate) fn row(&self) -> Option<(&str, String)> {
        match self {
            Self::Get { table, row }
            | Self::Put { table, row, .. }
            | Self::Insert { table, row, .. }
            | Self::Append { table, row, .. } => Some((table, row.clone())),
            _ => self.predicate().and_then(|(table, predicate)| Some((table, only_row(predicate)?))),
        }
    }

    /// Does it change rows?
    pub(crate) fn is_write(&self) -> bool {
        match self {
            Self::Put { .. } | Self::Insert { .. } | Self::Append { .. } | Self::Add { .. } | Self::Delete { .. } => {
                true
            }
            Self::Scan { locking, .. } => *locking == Locking::ForUpdate,
            Self::Begin { .. } | Self::Get { .. } | Self::Commit | Self::Abort => false,
        }
    }
}

/// Does every database compare the rows of a table as the predicate says?
fn is_comparable(table: &Table, predicate: &Predicate) -> bool {
    let is_number = |it: &Datum| matches!(it, Datum::Int(_));
    let of = |column: &Column| if *column == Column::Key { table.ids } else { table.values };
    match predicate {
        Predicate::All
        | Predicate::Compare(Column::Key, Comparison::Equal | Comparison::Different, _)
        | Predicate::OneOf(Column::Key, _) => true,
        Predicate::Compare(column, _, constant) => of(column) == Values::Int && is_number(constant),
        Predicate::Between(column, low, high) => of(column) == Values::Int && is_number(low) && is_number(high),
        Predicate::OneOf(column, constants) => of(column) == Values::Int && constants.iter().all(is_number),
        Predicate::Remainder { column, divisor, .. } => of(column) == Values::Int && *divisor > 0,
        Predicate::Foreign(_) => false,
        Predicate::Not(inner) => is_comparable(table, inner),
        Predicate::And(parts) | Predicate::Or(parts) => parts.iter().all(|it| is_comparable(table, it)),
    }
}
