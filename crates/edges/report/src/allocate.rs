//! The document of `allocate`: the weakest level for each transaction, and what is in the way of weaker ones.

use crate::document::LevelName;
use crate::search::Effort;
use crate::verify::{BadRun, CodePlace, some_with_history};
use crate::verify_phrases::titled;
use crate::words::counted;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What `allocate` found out about the transactions of a program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AllocateReport {
    /// The file.
    pub inputs: Vec<String>,
    /// Its text.
    pub program: String,
    /// By level: is every run of any number of the transactions serializable, if all are at it? Null if that is not known.
    pub robust: BTreeMap<String, Option<bool>>,
    /// By transaction, the short name of its level; null if none of those that were asked for is enough.
    pub allocation: BTreeMap<String, Option<String>>,
    /// The levels that were asked for, weaker ones first.
    pub levels: Vec<LevelName>,
    /// The transactions, in the order of the program.
    pub transactions: Vec<AllocatedTxn>,
    /// Why there is no answer, if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
    /// What was not certified, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_certified: Option<String>,
    /// What it took.
    #[serde(flatten)]
    pub effort: Effort,
}

/// What one transaction needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllocatedTxn {
    /// Its name.
    pub name: String,
    /// The weakest level that is enough.
    pub level: Option<LevelName>,
    /// What to say to the database before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<String>,
    /// Weaker levels, and why they are not enough.
    pub blocked: Vec<BlockedLevel>,
}

/// Why a level is not enough.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockedLevel {
    /// The level.
    #[serde(flatten)]
    pub level: LevelName,
    /// The transactions of the run; the first is interrupted, and the others run in between.
    pub members: Vec<String>,
    /// Each before the next, and the last before the first.
    pub cycle: Vec<BlockedEdge>,
    /// Such a run of the program; nothing if no values were found with which it does this.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "some_with_history")]
    pub counterexample: Option<Box<BadRun>>,
    /// Reads that make the level enough, if they lock what they read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<Vec<CodePlace>>,
}

/// Why one transaction comes before another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockedEdge {
    /// Who comes before.
    pub from: String,
    /// What it does there.
    pub before: CodePlace,
    /// Who comes after.
    pub to: String,
    /// What that one does.
    pub after: CodePlace,
}

impl AllocateReport {
    /// The word in JSON: `robust` if every transaction has a level, `not-robust` if a run shows that one has none, or
    /// `unknown`.
    pub fn verdict(&self) -> &'static str {
        let without = || self.transactions.iter().filter(|it| it.level.is_none());
        let is_shown = |it: &AllocatedTxn| it.blocked.last().is_some_and(|it| it.counterexample.is_some());
        if self.unknown.is_some() {
            "unknown"
        } else if without().next().is_none() {
            "robust"
        } else if without().any(is_shown) {
            "not-robust"
        } else {
            "unknown"
        }
    }

    /// The answer in a sentence.
    pub(crate) fn headline(&self) -> String {
        let n = counted(self.transactions.len() as u64, "transaction");
        let strongest = self.levels.last().map(titled).unwrap_or_default();
        let weakest = self.levels.first();
        let all_weakest = self.transactions.iter().all(|it| it.level.as_ref() == weakest);
        match self.verdict() {
            "robust" if all_weakest => {
                let level = weakest.map(titled).unwrap_or_default();
                format!("Robust: every run of any number of these {n} is serializable, with all of them at {level}.")
            }
            "robust" => {
                format!("Every run of any number of these {n} is serializable, if each is at its level:")
            }
            "not-robust" => format!("Not robust: at {strongest}, there are runs that are not serializable."),
            _ => match &self.unknown {
                Some(reason) => format!("Unknown: {reason}."),
                None => format!("Unknown: nothing shows that {strongest} is enough, and no run shows that it is not."),
            },
        }
    }

    /// By transaction that is not at the weakest level, the strongest level that is not enough for it: what is shown. The
    /// same run is shown once.
    pub(crate) fn shown(&self) -> Vec<(&AllocatedTxn, &BlockedLevel)> {
        let mut shown: Vec<(&AllocatedTxn, &BlockedLevel)> = Vec::new();
        for txn in &self.transactions {
            let Some(blocked) = txn.blocked.last() else { continue };
            let history = |it: &BlockedLevel| it.counterexample.as_ref().map(|it| it.excerpt.history.clone());
            let is_known = shown.iter().any(|it| history(it.1).is_some() && history(it.1) == history(blocked));
            if !is_known {
                shown.push((txn, blocked));
            }
        }
        shown
    }
}

/// Said of a run that no values are known for.
pub(crate) const NO_VALUES: &str = "No values were found with which the program does this; its branches may forbid it. So \
    nothing shows that the weaker level is enough, and no run shows that it is not.";

impl BlockedLevel {
    /// What is known of the level, after "this transaction at this level".
    pub(crate) fn finding(&self) -> &'static str {
        if self.counterexample.is_some() { "is not enough" } else { "is not known to be enough" }
    }

    /// What happens, in words.
    pub(crate) fn story(&self) -> String {
        let others = self.members[1..].join(", then ");
        match self.members.as_slice() {
            [one, other] if one == other => format!("{one} is interrupted, and another {one} runs in between."),
            [first, ..] => format!("{first} is interrupted, and in between runs {others}."),
            [] => String::new(),
        }
    }

    /// An edge of the cycle in words.
    pub(crate) fn edge_words(edge: &BlockedEdge) -> String {
        let place = |it: &CodePlace| {
            format!("`{}` (line {})", it.text.split_whitespace().collect::<Vec<_>>().join(" "), it.line)
        };
        format!("{} before {}: {}, then {}", edge.from, edge.to, place(&edge.before), place(&edge.after))
    }

    /// What would make the level enough.
    pub(crate) fn cure(&self) -> Option<String> {
        let places = self.lock.as_ref()?;
        let each: Vec<String> = places.iter().map(crate::verify_phrases::place_words).collect();
        Some(format!(
            "{} is enough if what is read is locked, with `for update`: {}",
            self.level.short,
            each.join(", and ")
        ))
    }
}
