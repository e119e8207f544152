//! What the engines of this crate answer, before it is explained.

use iso_evidence::{Budget, StopReason, Witness};
use iso_history::TxnId;
use std::cell::Cell;

/// Allowed or not.
#[derive(Debug)]
pub(crate) enum Decision {
    /// Allowed, and this is how it may have happened.
    Allowed(Witness),
    /// Forbidden; these transactions (ascending) are a core, or nearly one: by themselves they probably show it.
    Forbidden(Vec<TxnId>),
}

/// The witness, if the answer is "allowed" and comes within so many steps.
pub(crate) fn allowed_within(
    max_steps: u32,
    budget: &Budget<'_>,
    decide: impl FnOnce(&Budget<'_>) -> Result<Decision, StopReason>,
) -> Option<Witness> {
    let n_steps = Cell::new(0);
    let stop = || {
        n_steps.set(n_steps.get() + 1);
        if n_steps.get() > max_steps { Some(StopReason::Steps) } else { budget.check().err() }
    };
    match decide(&budget.with_stop(&stop)) {
        Ok(Decision::Allowed(witness)) => Some(witness),
        _ => None,
    }
}
