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
    match within(max_steps, budget, decide) {
        Ok(Some(Decision::Allowed(witness))) => Some(witness),
        _ => None,
    }
}

/// What comes out within so many steps: nothing if they are used up. Where the budget itself ends, that is the answer.
pub(crate) fn within<T>(
    max_steps: u32,
    budget: &Budget<'_>,
    run: impl FnOnce(&Budget<'_>) -> Result<T, StopReason>,
) -> Result<Option<T>, StopReason> {
    let (n_steps, is_over) = (Cell::new(0), Cell::new(false));
    let stop = || {
        n_steps.set(n_steps.get() + 1);
        is_over.set(n_steps.get() > max_steps);
        if is_over.get() { Some(StopReason::Steps) } else { budget.check().err() }
    };
    match run(&budget.with_stop(&stop)) {
        Err(_) if is_over.get() => Ok(None),
        result => result.map(Some),
    }
}
