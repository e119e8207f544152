//! The document of `store run`: what an application did on the weak store, and what of its assertions is left.

use crate::amounts::many;
use crate::collect::Asserted;
use crate::document::{Counts, LevelName};
use serde::{Deserialize, Serialize};

/// What `store run` did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreReport {
    /// The application.
    pub application: String,
    /// What the store promises.
    #[serde(flatten)]
    pub level: LevelName,
    /// What reads are served: `random`.
    pub policy: String,
    /// Sessions.
    pub sessions: u64,
    /// Transactions of each session.
    pub txns: u64,
    /// Decided what ran and what was served.
    pub seed: u64,
    /// Were transactions tried again that the store aborted?
    pub retries: bool,
    /// How many transactions committed.
    pub committed: u64,
    /// How many the application aborted.
    pub aborted: u64,
    /// How many the store aborted.
    pub conflicts: u64,
    /// The size of the history.
    pub history: Counts,
    /// What must hold at the end.
    pub assertions: Vec<Asserted>,
    /// The transactions, in the order in which they ran.
    pub transactions: Vec<StoreStep>,
    /// The file of the history, or `-` for standard output, if it was saved.
    pub output: Option<String>,
    /// What to ask next: commands.
    pub next: Vec<String>,
}

/// A transaction of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreStep {
    /// Its name in the history.
    pub txn: String,
    /// What the application called: `Amalgamate(1, 2)`.
    pub call: String,
    /// How it ended.
    pub ending: Ending,
    /// Why it did not commit.
    pub reason: Option<String>,
}

/// How a transaction of a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    /// It committed.
    Committed,
    /// The application aborted it.
    Aborted,
    /// The store aborted it.
    Conflict,
}

impl Ending {
    /// The word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Committed => "committed",
            Self::Aborted => "aborted",
            Self::Conflict => "conflict",
        }
    }
}

impl StoreReport {
    /// What did not hold.
    pub(crate) fn n_failed(&self) -> usize {
        self.assertions.iter().filter(|it| !it.holds).count()
    }

    /// The answer in a sentence.
    pub(crate) fn headline(&self) -> String {
        let (app, level) = (&self.application, crate::check_phrases::titled(&self.level));
        match (self.n_failed(), self.assertions.len()) {
            (0, 0) => format!("{app} ran under {level}."),
            (0, _) => format!("{app} under {level}: all that must hold does, in this run."),
            (1, 1) => format!("{app} under {level}: “{}” does not hold.", self.assertions[0].name),
            (1, all) => format!("{app} under {level}: 1 of {all} assertions does not hold."),
            (failed, all) => format!("{app} under {level}: {failed} of {all} assertions do not hold."),
        }
    }

    /// What ran, each fact with its name.
    pub(crate) fn facts(&self) -> Vec<(&'static str, String)> {
        let retried = if self.retries { ", tried again" } else { "" };
        vec![
            ("application", self.application.clone()),
            ("store", format!("{}, {} reads", crate::check_phrases::titled(&self.level), self.policy)),
            ("ran", format!("{} of {}", many(self.sessions, "session"), many(self.txns, "transaction"))),
            ("seed", self.seed.to_string()),
            ("committed", self.committed.to_string()),
            ("aborted", format!("{} by the application, {} by the store{retried}", self.aborted, self.conflicts)),
            ("history", crate::text::size(&self.history)),
        ]
    }
}
