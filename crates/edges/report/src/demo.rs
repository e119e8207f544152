//! The document of `demo`: the same work on several databases, and what `check` says of each.

use crate::document::CheckReport;
use crate::json::headed;
use serde::{Deserialize, Serialize};

/// Databases, one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DemoReport {
    /// What it is about.
    pub title: String,
    /// How to read it.
    pub lead: String,
    /// The databases.
    pub acts: Vec<DemoAct>,
}

/// One database.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DemoAct {
    /// Its name.
    pub title: String,
    /// What is done.
    pub before: String,
    /// What was recorded.
    pub ran: String,
    /// What that teaches.
    pub after: String,
    /// What `check` says.
    #[serde(serialize_with = "headed")]
    pub check: CheckReport,
}
