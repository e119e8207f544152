//! What a database promised, and whether a history shows that it kept it.

use crate::check_phrases::titled;
use crate::document::{CheckReport, Judgement, LevelName};
use iso_spec::Level;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the database promised whose history was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromiseReport {
    /// The database, for people: `PostgreSQL`.
    pub database: String,
    /// Its version, if that was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The isolation levels of its transactions, as recorded.
    pub isolation: Vec<String>,
    /// Settings that were recorded.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// What it promises, as the catalogue calls it: `postgres.rr`.
    pub promises: String,
    /// The same as a level of the report: `si`.
    #[serde(flatten)]
    pub level: LevelName,
    /// Was it kept?
    pub verdict: PromiseVerdict,
    /// Where its documentation says so.
    pub source: String,
    /// A stronger level, which one server alone is known to keep, although nobody promises it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_one_server: Option<LevelName>,
}

/// Was a promise kept?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PromiseVerdict {
    /// The history is as promised.
    Kept,
    /// It is not.
    Broken,
    /// Nobody knows.
    Unknown,
}

impl PromiseVerdict {
    /// The word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Broken => "broken",
            Self::Unknown => "unknown",
        }
    }
}

impl From<&Judgement> for PromiseVerdict {
    fn from(judgement: &Judgement) -> Self {
        match judgement {
            Judgement::Holds { .. } => Self::Kept,
            Judgement::Violated { .. } => Self::Broken,
            Judgement::Unknown { .. } => Self::Unknown,
        }
    }
}

impl PromiseReport {
    /// `PostgreSQL 15.18 at REPEATABLE READ promises postgres.rr (snapshot-isolation, si)`.
    pub fn words(&self) -> String {
        let version = self.version.as_ref().map(|it| format!(" {it}")).unwrap_or_default();
        let isolations: Vec<String> = self.isolation.iter().map(|it| spelled(it)).collect();
        let also = match (&self.level.short, &self.level.full) {
            (short, full) if *short == self.promises && short == full => String::new(),
            (short, full) if *short == self.promises => format!(" ({full})"),
            (short, full) if short == full => format!(" ({short})"),
            (short, full) => format!(" ({full}, {short})"),
        };
        format!("{}{version} at {} promises {}{also}", self.database, isolations.join(" and "), self.promises)
    }
}

/// An isolation level as SQL has it, where it is one: `READ COMMITTED`.
fn spelled(isolation: &str) -> String {
    if isolation.len() <= 3 { isolation.to_owned() } else { isolation.replace('-', " ").to_ascii_uppercase() }
}

/// The promise of a report, with the answer: `PostgreSQL 15.18 at READ COMMITTED promises postgres.rc: kept`.
pub(crate) fn answer(promise: &PromiseReport) -> String {
    format!("{}: {}", promise.words(), promise.verdict.word())
}

/// What is said about the stronger level of one server, if it was asked for and the promise was kept.
pub(crate) fn on_one_server(report: &CheckReport) -> Option<String> {
    let promise = report.promise.as_ref().filter(|it| it.verdict == PromiseVerdict::Kept)?;
    let level = promise.on_one_server.as_ref()?;
    let found = report.levels.iter().find(|it| it.level == *level)?;
    Some(match found.judgement {
        Judgement::Holds { .. } => {
            format!("It is even {}, as one server alone is, although nobody promises that.", titled(level))
        }
        Judgement::Violated { .. } => {
            format!("One server alone is known to be even {}, and this is not; nobody promises it.", titled(level))
        }
        Judgement::Unknown { .. } => return None,
    })
}

/// The levels that do not follow from the promise: those that hold, and those that do not with what breaks them.
pub(crate) fn beyond(report: &CheckReport) -> (Vec<&str>, Vec<String>) {
    let (mut holding, mut others) = (Vec::new(), Vec::new());
    let Some(promise) = &report.promise else { return (holding, others) };
    let level = |it: &LevelName| Level::from_name(&it.short);
    let follows = |it: &LevelName| {
        let implied = level(&promise.level).zip(level(it)).is_some_and(|(promised, it)| promised.implies(it));
        *it == promise.level || implied && promise.verdict == PromiseVerdict::Kept
    };
    for it in report.levels.iter().filter(|it| !follows(&it.level)) {
        match &it.judgement {
            Judgement::Holds { .. } => holding.push(it.level.short.as_str()),
            Judgement::Violated { anomalies, .. } => {
                let names = if anomalies.is_empty() { String::new() } else { format!(" ({})", anomalies.join(", ")) };
                others.push(format!("{}{names}", it.level.short));
            }
            Judgement::Unknown { .. } => others.push(format!("{} (unknown)", it.level.short)),
        }
    }
    (holding, others)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_in_words() {
        let mut promise = PromiseReport {
            database: "PostgreSQL".to_owned(),
            version: Some("15.18".to_owned()),
            isolation: vec!["repeatable-read".to_owned()],
            settings: BTreeMap::new(),
            promises: "postgres.rr".to_owned(),
            level: Level::SnapshotIsolation.into(),
            verdict: PromiseVerdict::Kept,
            source: "its manual".to_owned(),
            on_one_server: None,
        };
        assert_eq!(
            answer(&promise),
            "PostgreSQL 15.18 at REPEATABLE READ promises postgres.rr (snapshot-isolation, si): kept"
        );
        promise.version = None;
        promise.isolation = vec!["cc".to_owned(), "serializable".to_owned()];
        promise.promises = "cc".to_owned();
        promise.level = Level::CausalConsistency.into();
        assert_eq!(promise.words(), "PostgreSQL at cc and SERIALIZABLE promises cc (causal-consistency)");
    }
}
