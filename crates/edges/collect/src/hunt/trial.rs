//! One history of a hunt: what ran, when, and what the expected level says about it.

use super::Origin;
use iso_history::{History, Outcome};
use std::time::Duration;

/// A script that was played or a workload that was run, once.
#[derive(Clone, Debug)]
pub struct Trial {
    /// What ran.
    pub origin: Origin,
    /// When it began, since the start of the hunt.
    pub began: Duration,
    /// How long it ran; judging it is not in it.
    pub took: Duration,
    /// Transactions that committed.
    pub committed: u64,
    /// Transactions that aborted, whoever wanted it.
    pub aborted: u64,
    /// Transactions whose end nobody knows.
    pub unknown: u64,
    /// What the expected level says.
    pub judged: Judged,
}

/// What the expected level says about a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// It allows it.
    Allowed,
    /// It forbids it.
    Forbidden {
        /// The place of the finding among all of them.
        finding: usize,
    },
    /// Nobody knows.
    Undecided,
    /// There is an answer whose evidence is wrong: a bug of ours.
    Refused,
}

impl Trial {
    /// What ran between two points in time, as it is before it is judged.
    pub(super) fn between(began: Duration, ended: Duration, origin: &Origin, history: &History) -> Self {
        let count = |wanted: Outcome| {
            let txns = history.txns().filter(|it| !it.is_initial());
            txns.filter(|it| history.outcome(*it) == wanted).count() as u64
        };
        Self {
            origin: origin.clone(),
            began,
            took: ended.saturating_sub(began),
            committed: count(Outcome::Committed),
            aborted: count(Outcome::Aborted),
            unknown: count(Outcome::Indeterminate),
            judged: Judged::Allowed,
        }
    }
}
