//! Levels of users: an execution is compared with the text, and a core, or the whole history, is decided by it.

use super::forbidden::steps_of_a_second;
use super::mixed::has_mixed_reads;
use super::stands::{check_membership, check_none_aborted, check_reads_stand, project};
use super::uncertified::Uncertified;
use crate::{Budget, Refutation, Schedule, Verdict, Witness};
use iso_history::{Facts, History, LocalAnomaly, Projection};
use iso_spec::{DirtyReads, Evaluation, Prepared, Spec, Steps, holds_at_any_size};

/// Checks a verdict about a level that is given by its text only.
///
/// An execution is checked against the text of the level. A core stands for the whole history if the form of the text
/// says so ([`Spec::is_kept_by_parts`]), and the reference evaluator decides it. Otherwise, that there is no execution
/// is found out once more, as long as the budget lasts: the text may speak of anything, and a part of the history then
/// says nothing about the whole.
pub fn certify_spec(facts: &Facts<'_>, spec: &Spec, verdict: &Verdict, budget: &Budget<'_>) -> Result<(), Uncertified> {
    match verdict {
        Verdict::Allowed(Witness { schedule: Schedule::Execution(execution), .. }) => {
            match holds_at_any_size(facts, spec, execution, &mut || budget.check().is_err()) {
                Some(true) => Ok(()),
                Some(false) => Err(Uncertified::new(format!("the witness is none of {}", spec.name()))),
                None => Err(unchecked(spec, "there was no time to compare the execution with its text")),
            }
        }
        Verdict::Allowed(_) => {
            Err(Uncertified::new(format!("the witness of {} has the wrong kind of schedule", spec.name())))
        }
        Verdict::Forbidden(refutation) => match favourable(facts, spec) {
            Some(history) => check_forbidden(&Facts::new(&history), spec, refutation, budget),
            None => check_forbidden(facts, spec, refutation, budget),
        },
        Verdict::Unknown(_) => Ok(()),
    }
}

/// For a level that allows dirty reads, whoever is indeterminate may as well have aborted.
fn favourable(facts: &Facts<'_>, spec: &Spec) -> Option<History> {
    match spec.dirty_reads() {
        DirtyReads::Allowed => facts.history().favouring_dirty_reads(),
        DirtyReads::Forbidden => None,
    }
}

fn unchecked(spec: &Spec, why: &str) -> Uncertified {
    Uncertified::too_large(format!("{} was not evaluated once more: {why}; nothing says that it is wrong", spec.name()))
}

fn check_forbidden(
    facts: &Facts<'_>,
    spec: &Spec,
    refutation: &Refutation,
    budget: &Budget<'_>,
) -> Result<(), Uncertified> {
    match core_for_whole(facts, spec, refutation) {
        Some(core) => {
            let core = Facts::new(&core.history);
            check_spec_forbids(&core, spec, budget)
        }
        None => check_spec_forbids(facts, spec, budget),
    }
}

/// The core, if it is forbidden only where the whole history is.
fn core_for_whole(facts: &Facts<'_>, spec: &Spec, refutation: &Refutation) -> Option<Projection> {
    if refutation.local.is_some() || !spec.is_kept_by_parts() {
        return None;
    }
    if spec.dirty_reads() == DirtyReads::Allowed && has_mixed_reads(facts.history(), refutation) {
        return None;
    }
    check_membership(facts.history(), refutation).ok()?;
    check_none_aborted(facts.history(), refutation).ok()?;
    check_reads_stand(facts, refutation).ok()?;
    let core = project(facts, refutation).ok()?;
    // Which of two list reads is named may differ between whole and core.
    let is_broken =
        |it: &LocalAnomaly| spec.dirty_reads() == DirtyReads::Forbidden || it.kind.breaks_read_uncommitted();
    let has_broken = Facts::new(&core.history).local().iter().any(is_broken);
    (!has_broken).then_some(core)
}

/// Evaluates a history, in tries of about a second and then twice as long each, between which the budget is asked.
fn check_spec_forbids(facts: &Facts<'_>, spec: &Spec, budget: &Budget<'_>) -> Result<(), Uncertified> {
    let prepared = Prepared::new(facts);
    let mut n_steps = steps_of_a_second(facts.history());
    loop {
        budget.check().map_err(|it| unchecked(spec, &it.to_string()))?;
        match prepared.evaluate(spec, &mut Steps::new(n_steps)) {
            Evaluation::Forbidden => return Ok(()),
            Evaluation::OutOfSteps => n_steps = n_steps.saturating_mul(2),
            Evaluation::TooLarge => return Err(unchecked(spec, "the history is too large")),
            Evaluation::Allowed(_) => {
                return Err(Uncertified::new(format!("{} does not forbid the history", spec.name())));
            }
        }
    }
}
