//! The document of `predict`: runs that could have happened instead of the observed one, and that should not.

use crate::document::{Certified, Counts, Defect, Evidence, Excerpt, LevelName, Place, TxnRef, certificate};
use crate::mark::{Mark, Sign};
use crate::search::Effort;
use crate::value::Value;
use serde::{Deserialize, Serialize};

/// What `predict` found out about one observed history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PredictReport {
    /// The file of the observed history.
    pub inputs: Vec<String>,
    /// What was wrong with it.
    pub defects: Vec<Defect>,
    /// Its size; none if it was not read to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<Counts>,
    /// The level that forbids what is predicted.
    pub target: LevelName,
    /// What may differ from the observed run.
    pub boundary: Boundary,
    /// How sure a "none" is.
    pub precision: Precision,
    /// One answer a level, weaker levels first.
    pub levels: Vec<PredictedLevel>,
    /// The short names of the levels with a prediction of which no stronger one has any, if all levels were tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strongest: Option<Vec<String>>,
    /// What people should know besides.
    pub notes: Vec<String>,
    /// What of the answer has no certificate by nature, as a clause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_certified: Option<String>,
    /// What it took.
    #[serde(flatten)]
    pub effort: Effort,
}

/// What of the observed run is repeated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Boundary {
    /// A session ends with the first read that has another writer.
    #[default]
    Strict,
    /// A session ends with the first transaction of which reads have other writers.
    Relaxed,
    /// Strict, and relaxed where that has none.
    Either,
    /// As strict, but others may see what a transaction wrote before the read that has another writer.
    #[serde(rename = "strict-events")]
    StrictEvents,
}

/// How sure a "none" is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// Every prediction is found.
    #[default]
    Exact,
    /// Some may be missed, so "none" is never said.
    Approximate,
}

/// The answer for one level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PredictedLevel {
    /// The level that allows what is predicted.
    #[serde(flatten)]
    pub level: LevelName,
    /// The answer.
    #[serde(flatten)]
    pub verdict: PredictVerdict,
    /// The boundary with which the runs were found, if two were tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boundary: Option<Boundary>,
}

/// Could a run have happened that the target forbids?
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "lowercase")]
pub enum PredictVerdict {
    /// These.
    Predicted {
        /// At least one; several differ in the shape of their cycles.
        #[serde(rename = "predictions")]
        runs: Vec<PredictedRun>,
        /// Why there are no more, as a clause, if all were asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ended: Option<String>,
    },
    /// None at all.
    None,
    /// Nobody knows.
    Unknown {
        /// What ran out.
        reason: String,
    },
}

/// A run that could have happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PredictedRun {
    /// The predicted history in our notation, ready to be checked.
    pub history: String,
    /// Its size.
    pub size: Counts,
    /// The reads whose writer is another one than observed; nothing if the observed run itself is the answer.
    #[serde(rename = "changed_reads")]
    pub changed: Vec<ChangedRead>,
    /// The last transactions of sessions that end early.
    pub cuts: Vec<Cut>,
    /// How many transactions of the observed run are left out as a whole.
    #[serde(rename = "transactions_left_out")]
    pub n_left_out: u64,
    /// Why the level allows the run.
    pub allowed: AllowedRun,
    /// Why the target forbids it.
    pub forbidden: ForbiddenRun,
    /// The transactions of the observed run that are of interest.
    pub observed: Excerpt,
    /// Does the excerpt of the predicted run have all of its transactions and operations?
    #[serde(rename = "whole")]
    pub is_whole: bool,
    /// Transactions whose names differ: in the predicted run, and in the observed one.
    pub renamed: Vec<(String, String)>,
    /// Would the level forbid the run with the writes that a strict boundary left out?
    #[serde(default)]
    pub hides_conflict: bool,
    /// What became of it when the application ran along it, if that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<Validation>,
}

/// Why a level allows a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllowedRun {
    /// How it may have happened.
    pub evidence: Evidence,
    /// Was that checked?
    #[serde(flatten, with = "certificate")]
    pub certified: Certified,
}

/// Why the target forbids a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForbiddenRun {
    /// What the field calls it, the most telling name first.
    pub anomalies: Vec<String>,
    /// The kinds of the cycle's dependencies: `rw-rw`.
    pub shape: String,
    /// The transactions of the predicted run that are of interest, with the cycle.
    pub evidence: Excerpt,
    /// Was that checked?
    #[serde(flatten, with = "certificate")]
    pub certified: Certified,
}

/// A read whose writer is another one than observed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedRead {
    /// The transaction that reads, in the predicted run.
    pub transaction: String,
    /// Its session.
    pub session: String,
    /// Where it stands in the input, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// The key.
    pub key: Value,
    /// What was read.
    pub observed: Version,
    /// What is read instead.
    pub predicted: Version,
    /// The place of the read among the transaction's operations, from 0, in the observed excerpt and in the predicted one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<usize>,
}

/// A value, and who wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// The value.
    pub value: Value,
    /// Who wrote it.
    pub writer: TxnRef,
    /// Where the writer stands in the input, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
}

/// The last transaction of a session that ends early.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// The transaction, in the predicted run.
    pub transaction: String,
    /// Its session.
    pub session: String,
    /// Where it stands in the input, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// How many of its reads have another writer.
    #[serde(rename = "changed_reads")]
    pub n_changed: u64,
    /// How many of its operations are left out at its end.
    #[serde(rename = "dropped_operations")]
    pub n_dropped: u64,
    /// How many of those are writes.
    #[serde(rename = "dropped_writes")]
    pub n_dropped_writes: u64,
}

/// What became of a prediction when the application ran along it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validation {
    /// The application.
    pub application: String,
    /// The transactions of the predicted run, each with what it is: `SendPayment(1,3,20)`.
    pub calls: Vec<(String, String)>,
    /// Is there such a run indeed?
    #[serde(flatten)]
    pub verdict: ValidationVerdict,
    /// Where the application did something else than predicted.
    pub divergences: Vec<String>,
    /// Assertions of the application that were false after the run.
    #[serde(rename = "failed_assertions")]
    pub failed: Vec<String>,
    /// The history of the run in our notation.
    pub history: String,
}

/// Did the application show what was predicted?
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum ValidationVerdict {
    /// The level allows its run, and the target forbids it.
    Validated,
    /// Not so.
    NotValidated {
        /// Why, as a clause.
        reason: String,
    },
}

impl Boundary {
    /// The word in JSON, and on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Relaxed => "relaxed",
            Self::Either => "either",
            Self::StrictEvents => "strict-events",
        }
    }
}

impl Precision {
    /// The word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Approximate => "approximate",
        }
    }
}

impl PredictVerdict {
    /// The word in JSON.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Predicted { .. } => "predicted",
            Self::None => "none",
            Self::Unknown { .. } => "unknown",
        }
    }

    /// The predicted runs.
    pub fn runs(&self) -> &[PredictedRun] {
        match self {
            Self::Predicted { runs, .. } => runs,
            Self::None | Self::Unknown { .. } => &[],
        }
    }
}

impl ValidationVerdict {
    /// The word in JSON.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Validated => "validated",
            Self::NotValidated { .. } => "not-validated",
        }
    }
}

impl PredictReport {
    /// The boundary with which the runs of a level were found.
    pub(crate) fn boundary_of(&self, level: &LevelName) -> Boundary {
        let answer = self.levels.iter().find(|it| it.level == *level);
        answer.and_then(|it| it.boundary).unwrap_or(self.boundary)
    }

    /// The answer of all levels together: a prediction is a fact, whatever else is unknown.
    pub fn verdict(&self) -> &'static str {
        let has = |word: &str| self.levels.iter().any(|it| it.verdict.word() == word);
        match (has("predicted"), has("unknown") || self.levels.is_empty()) {
            (true, _) => "predicted",
            (false, true) => "unknown",
            (false, false) => "none",
        }
    }

    /// The levels whose runs renderings show: of all levels the strongest ones with a prediction, or each if only some
    /// were asked.
    ///
    /// What a stronger level allows a weaker one allows, too, so the others say less.
    pub(crate) fn shown(&self) -> Vec<&PredictedLevel> {
        let is_shown = |it: &&PredictedLevel| match &self.strongest {
            Some(names) => names.contains(&it.level.short),
            None => true,
        };
        self.levels.iter().filter(|it| !it.verdict.runs().is_empty()).filter(is_shown).collect()
    }

    /// The runs that are shown, each with its level; the one that says most is the first of the strongest level, and
    /// comes first.
    pub fn runs(&self) -> Vec<(&LevelName, &PredictedRun)> {
        self.shown()
            .into_iter()
            .rev()
            .flat_map(|it| it.verdict.runs().iter().map(move |run| (&it.level, run)))
            .collect()
    }
}

impl PredictedRun {
    /// The transactions of the predicted run that are of interest, with the cycle for which the target forbids it.
    pub(crate) fn predicted(&self) -> &Excerpt {
        &self.forbidden.evidence
    }

    /// What the field calls it, the most telling name first.
    pub fn anomalies(&self) -> &[String] {
        &self.forbidden.anomalies
    }

    /// The name in the observed run of a transaction of the predicted one.
    pub(crate) fn observed_name<'a>(&'a self, predicted: &'a str) -> &'a str {
        self.renamed.iter().find(|it| it.0 == predicted).map_or(predicted, |it| it.1.as_str())
    }

    /// The name in the predicted run of a transaction of the observed one, if it has one there.
    fn predicted_name<'a>(&'a self, observed: &'a str) -> Option<&'a str> {
        let name = self.renamed.iter().find(|it| it.1 == observed).map_or(observed, |it| it.0.as_str());
        (self.observed_name(name) == observed).then_some(name)
    }

    /// What to mark in the observed excerpt: reads that change, and what is left out.
    pub(crate) fn observed_marks(&self) -> Vec<Mark> {
        let changed = self.changed.iter().filter_map(|it| {
            let sign = Sign::Changed(format!("becomes r({},{})", it.key, it.predicted.value));
            Some(Mark { transaction: self.observed_name(&it.transaction).to_owned(), op: it.op?, sign })
        });
        let mut marks: Vec<Mark> = changed.collect();
        for txn in &self.observed.transactions {
            let n_kept = self.predicted_name(&txn.id).map_or(0, |name| self.n_predicted_ops(name));
            let dropped = n_kept..txn.ops.len();
            marks.extend(dropped.map(|op| Mark { transaction: txn.id.clone(), op, sign: Sign::Dropped }));
        }
        marks
    }

    fn n_predicted_ops(&self, name: &str) -> usize {
        self.predicted().transactions.iter().find(|it| it.id == name).map_or(0, |it| it.ops.len())
    }

    /// What to mark in the predicted excerpt: reads that changed.
    pub(crate) fn predicted_marks(&self) -> Vec<Mark> {
        let changed = self.changed.iter().filter_map(|it| {
            let sign = Sign::Changed(format!("was r({},{})", it.key, it.observed.value));
            Some(Mark { transaction: it.transaction.clone(), op: it.op?, sign })
        });
        changed.collect()
    }

    /// What the application calls the transactions that matter, if that is known.
    pub(crate) fn calls(&self) -> Vec<&(String, String)> {
        self.validation.iter().flat_map(|it| &it.calls).filter(|it| self.matters(&it.0)).collect()
    }

    /// The transactions that matter and that have another name in the observed run.
    pub(crate) fn renamed_that_matter(&self) -> Vec<&(String, String)> {
        self.renamed.iter().filter(|it| self.matters(&it.0)).collect()
    }

    /// Does a transaction read something else, or is it excerpt of the cycle?
    fn matters(&self, name: &str) -> bool {
        let is_read_from = |it: &ChangedRead| it.transaction == name || it.predicted.writer.is(name);
        self.changed.iter().any(is_read_from)
            || self.predicted().cycle.iter().any(|it| it.from.is(name) || it.to.is(name))
    }

    /// Every certificate with what it is about.
    pub(crate) fn certificates(&self) -> [(&'static str, &Certified); 2] {
        [
            ("that the level allows it", &self.allowed.certified),
            ("that the target forbids it", &self.forbidden.certified),
        ]
    }
}
