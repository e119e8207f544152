//! What a verdict must be, as the history's making tells.

use crate::measure::End;
use iso_generate::{Injection, Store, Workload};
use std::fmt;

/// The levels that are measured, weak ones first.
pub(crate) const LEVELS: [&str; 10] = ["rc", "ra", "cc", "psi", "pc", "si", "ser", "ssi", "sser", "postgres.rc"];

/// Whether a level can be asked only of histories with statements.
pub(crate) fn needs_statements(level: &str) -> bool {
    level.contains('.')
}

/// Whether a level can be asked only of histories with times.
pub(crate) fn needs_times(level: &str) -> bool {
    matches!(level, "ssi" | "sser")
}

/// What the binary answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Holds,
    Violated,
    /// The time was over.
    Unknown,
    /// No answer, by its own fault.
    Failed,
}

impl From<End> for Verdict {
    fn from(end: End) -> Self {
        match end {
            End::Code(0) => Self::Holds,
            End::Code(1) => Self::Violated,
            End::Code(3) | End::Overdue => Self::Unknown,
            End::Code(_) | End::Signal => Self::Failed,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Holds => "holds",
            Self::Violated => "violated",
            Self::Unknown => "unknown",
            Self::Failed => "failed",
        })
    }
}

/// How a history was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Making {
    /// Not known for some that were recorded.
    pub(crate) store: Option<Store>,
    pub(crate) injection: Option<Injection>,
}

impl Making {
    pub(crate) fn of(workload: &Workload) -> Self {
        Self { store: Some(workload.store), injection: workload.injection }
    }

    /// What the verdict must be; nothing where both can happen.
    pub(crate) fn expected(self, level: &str) -> Option<Verdict> {
        if self.injection.is_some_and(|it| it.forbidden_by().contains(&level)) {
            return Some(Verdict::Violated);
        }
        // Two stores respect real time: commits are instants, and snapshots are fresh.
        let is_promised = match self.store? {
            Store::Serializable => true,
            Store::Snapshot => !matches!(level, "ser" | "sser"),
            Store::Causal => matches!(level, "rc" | "ra" | "cc"),
        };
        is_promised.then_some(Verdict::Holds)
    }

    /// Whether an answer contradicts the making. Running out of time does not.
    pub(crate) fn is_contradicted(self, level: &str, verdict: Verdict) -> bool {
        let is_other = self.expected(level).is_some_and(|it| it != verdict);
        verdict == Verdict::Failed || (verdict != Verdict::Unknown && is_other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_promise_levels_and_injections_break_them() {
        let clean = Making { store: Some(Store::Serializable), injection: None };
        assert!(LEVELS.iter().all(|it| clean.expected(it) == Some(Verdict::Holds)));
        let snapshot = Making { store: Some(Store::Snapshot), ..clean };
        assert_eq!(snapshot.expected("si"), Some(Verdict::Holds));
        assert_eq!(snapshot.expected("ser"), None);
        let causal = Making { store: Some(Store::Causal), ..clean };
        assert_eq!((causal.expected("cc"), causal.expected("psi")), (Some(Verdict::Holds), None));
        assert_eq!(Making { store: None, ..clean }.expected("rc"), None);
        let skewed = Making { injection: Some(Injection::WriteSkew), ..clean };
        assert_eq!(skewed.expected("ser"), Some(Verdict::Violated));
        assert_eq!(skewed.expected("si"), Some(Verdict::Holds));
    }

    #[test]
    fn a_wrong_answer_is_told_from_no_answer() {
        let clean = Making { store: Some(Store::Serializable), injection: None };
        assert!(clean.is_contradicted("ser", Verdict::Violated));
        assert!(clean.is_contradicted("ser", Verdict::Failed));
        assert!(!clean.is_contradicted("ser", Verdict::Unknown));
        let snapshot = Making { store: Some(Store::Snapshot), ..clean };
        assert!(!snapshot.is_contradicted("ser", Verdict::Violated));
        assert!(snapshot.is_contradicted("ser", Verdict::Failed));
    }
}
