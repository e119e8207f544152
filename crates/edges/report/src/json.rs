//! Documents as JSON, and back.

mod check;
mod collect;
mod demo;
mod found;
mod hunt;
mod members;
mod predict;
mod search;
mod store;
mod surroundings;
mod verify;

use members::Members;
use serde_json::Value;

/// The version of the document that is written, and the only one that is read.
const VERSION: u64 = 1;

/// How the JSON text is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JsonLayout {
    /// One line.
    #[default]
    Compact,
    /// A line a member, indented.
    Pretty,
}

/// Why a text is no report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// It is no JSON.
    #[error("a report is JSON, and this is not: {message}")]
    NotJson {
        /// What the parser says, with line and column.
        message: String,
    },
    /// Another version of the document.
    #[error("a report starts with \"isoscope\":{VERSION}, and this one has {found}")]
    Version {
        /// What was found instead.
        found: String,
    },
    /// Another verb's document.
    #[error("this is a report of {found:?}, and only those of {expected} are read here")]
    Verb {
        /// The other verb.
        found: String,
        /// The verbs whose documents are read.
        expected: &'static str,
    },
    /// A member is missing, or is something else than it should be.
    #[error("member {member:?} of the report should be {expected}")]
    Member {
        /// Its name.
        member: String,
        /// What it should be.
        expected: &'static str,
    },
}

/// A tree as text; equal trees give equal bytes.
fn laid_out(value: &Value, layout: JsonLayout) -> String {
    match layout {
        JsonLayout::Compact => value.to_string(),
        // Writing a tree of strings and numbers to memory cannot fail.
        JsonLayout::Pretty => serde_json::to_string_pretty(&value).unwrap_or_default(),
    }
}

/// What every document starts with.
fn document(verb: &str) -> Members {
    let mut members = Members::default();
    members.put("isoscope", VERSION);
    members.put("verb", verb);
    members
}

/// The tree of a document of our version.
pub(crate) fn tree(text: &str) -> Result<Value, ReadError> {
    let value: Value = serde_json::from_str(text).map_err(|it| ReadError::NotJson { message: it.to_string() })?;
    if value["isoscope"] != VERSION {
        return Err(ReadError::Version { found: value["isoscope"].to_string() });
    }
    Ok(value)
}

/// The verb of a document.
pub(crate) fn verb(value: &Value) -> &str {
    value["verb"].as_str().unwrap_or_default()
}
