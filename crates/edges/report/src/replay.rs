//! The document of `replay`: what each step of a script answered, and whether the anomaly showed again.

use crate::check_phrases::titled;
use crate::document::{CheckReport, LevelName};
use crate::json::headed;
use crate::words::counted;
use serde::{Deserialize, Serialize};

/// What `replay` found out about a script.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplayReport {
    /// The file of the script.
    pub script: String,
    /// The database, without credentials.
    pub database: String,
    /// The isolation levels of its transactions, as the database calls them.
    pub isolation: Vec<String>,
    /// The level that the script should break.
    #[serde(flatten, with = "crate::hunt::expected")]
    pub expect: LevelName,
    /// Why that level.
    pub expect_because: String,
    /// How often it was played.
    pub tries: u64,
    /// And how often the level forbids what happened.
    pub shown: u64,
    /// Why something was not decided; the first reason.
    pub reason: Option<String>,
    /// What the field calls what was shown.
    pub anomalies: Vec<String>,
    /// The steps in the order of the script, of the first time that it was shown, or else of the last time.
    pub steps: Vec<ReplayStep>,
    /// What was recorded then, in our notation.
    pub history: String,
    /// How long everything took.
    pub seconds: f64,
    /// The file with the history, if it was saved.
    pub output: Option<String>,
    /// What `check` says about that history, if it is forbidden.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "headed_check")]
    pub check: Option<Box<CheckReport>>,
}

#[allow(clippy::ref_option, reason = "serde hands over the member as it is")]
fn headed_check<S: serde::Serializer>(of: &Option<Box<CheckReport>>, serializer: S) -> Result<S::Ok, S::Error> {
    match of {
        Some(check) => headed(&**check, serializer),
        None => serializer.serialize_none(),
    }
}

/// A step that was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayStep {
    /// Its number, from 1.
    pub nth: u64,
    /// Its line in the script, from 1.
    pub line: u64,
    /// The session.
    pub session: String,
    /// What it does: `get kv x`.
    pub step: String,
    /// What it answered.
    pub answer: String,
    /// Did it wait for a lock?
    pub waited: bool,
    /// What the script says that it answered, with its waiting; none if it says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<String>,
    /// Is that the same?
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same: Option<bool>,
}

impl ReplayStep {
    /// What it answered, with its waiting.
    pub(crate) fn said(&self) -> String {
        let waits = if self.waited { "waits, then " } else { "" };
        format!("{waits}{}", self.answer)
    }

    /// What is another answer than the script has.
    pub(crate) fn difference(&self) -> Option<String> {
        let recorded = self.recorded.as_ref().filter(|_| self.same == Some(false))?;
        Some(format!("the script has: {recorded}"))
    }
}

impl ReplayReport {
    /// The word in JSON: `shown`, `not-shown` or `unknown`.
    pub fn verdict(&self) -> &'static str {
        match (self.shown, &self.reason) {
            (0, Some(_)) => "unknown",
            (0, None) => "not-shown",
            _ => "shown",
        }
    }

    /// The answer in a sentence.
    pub(crate) fn headline(&self) -> String {
        let (database, isolation) = (&self.database, self.isolation.join(" and "));
        let (level, tries) = (titled(&self.expect), counted(self.tries, "try").replace("trys", "tries"));
        match self.verdict() {
            "shown" => {
                let names = self.anomalies.join(", ");
                let names = if names.is_empty() { String::new() } else { format!(": {names}") };
                let rate = format!("in {} of {tries}", self.shown);
                format!("SHOWN AGAIN: {database} under {isolation} is not {level}{names}, {rate}.")
            }
            "not-shown" => format!("Not shown: all that {database} did under {isolation} is {level}, in {tries}."),
            _ => format!("Unknown: whether what {database} did under {isolation} is {level} was not decided."),
        }
    }

    /// What people should know besides, a sentence each.
    pub(crate) fn notes(&self) -> Vec<String> {
        let reason = self.reason.as_ref().map(|it| format!("Not decided: {it}."));
        [format!("{}.", self.expect_because)].into_iter().chain(reason).collect()
    }

    /// How the answers compare with those of the script.
    pub(crate) fn compared(&self) -> String {
        let n_said = self.steps.iter().filter(|it| it.same.is_some()).count();
        let n_other = self.steps.iter().filter(|it| it.same == Some(false)).count();
        match (n_said, n_other) {
            (0, _) => "The script does not say what its steps answered.".to_owned(),
            (_, 0) => "Every step answered what the script says.".to_owned(),
            (_, n) => format!("{} answered something else than the script says.", counted(n as u64, "step")),
        }
    }
}
