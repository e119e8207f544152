//! Runs for which the numbers or the tables of a program are too small: wrong, or not looked at.

use super::Suspect;
use crate::execute::FailureKind;

/// What it means that a number leaves its width, or that a row is inserted that the program does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limits {
    /// It is wrong, as a false invariant is.
    Wrong,
    /// Such runs are not looked at.
    Assumed,
}

impl Suspect {
    /// Is it that the program's numbers or tables are too small for this run?
    pub(super) fn is_beyond_limits(self) -> bool {
        let kind = match self {
            Self::Invariant(_) | Self::Observer(_) => return false,
            Self::Inside { kind, .. } | Self::Claim { kind, .. } => kind,
        };
        matches!(kind, FailureKind::Overflow | FailureKind::NoSuchRow)
    }
}
