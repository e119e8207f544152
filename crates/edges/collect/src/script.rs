//! Scripts: transactions of several sessions, step by step in one order, on any database.
//!
//! Each session has a thread and a connection. A step must answer before the next one is taken, unless it waits for a
//! lock: then it is left waiting, and the steps of the other sessions go on. So a script shows the same anomaly on every run, and can
//! be pasted into a bug report as SQL.
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

mod history;
mod play;
mod sql;
mod text;

pub use play::{Answer, Played};
pub use text::NotAScript;

use crate::{Table, Value};

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
    /// Reads the rows whose keys begin with a prefix.
    Scan {
        /// The table.
        table: String,
        /// The prefix.
        prefix: String,
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

    /// Is the row of a table a list? Those of a table are alike.
    fn has_lists(&self, table: &str) -> bool {
        self.steps.iter().any(|it| matches!(&it.action, Action::Append { table: other, .. } if other == table))
    }
}
