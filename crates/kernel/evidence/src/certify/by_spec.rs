//! Levels that only the reference evaluator knows.

use super::forbidden::steps_of_a_second;
use super::uncertified::Uncertified;
use crate::{Budget, Schedule, Verdict, Witness};
use iso_history::Facts;
use iso_spec::{Evaluation, Prepared, Spec, Steps, holds};

/// Checks a verdict about a level that only the reference evaluator knows.
///
/// An execution is checked against the text of the level. That there is none is found out once more, as long as the
/// budget lasts, since the text may speak of anything, and a part of the history then says nothing about the whole.
pub fn certify_spec(facts: &Facts<'_>, spec: &Spec, verdict: &Verdict, budget: &Budget<'_>) -> Result<(), Uncertified> {
    match verdict {
        Verdict::Allowed(Witness { schedule: Schedule::Execution(execution), .. }) => {
            let is_right = holds(facts, spec, execution);
            if is_right { Ok(()) } else { Err(Uncertified::new(format!("the witness is none of {}", spec.name()))) }
        }
        Verdict::Allowed(_) => {
            Err(Uncertified::new(format!("the witness of {} has the wrong kind of schedule", spec.name())))
        }
        Verdict::Forbidden(_) => check_spec_forbids(facts, spec, budget),
        Verdict::Unknown(_) => Ok(()),
    }
}

/// Evaluates the whole history, in tries of about a second and then twice as long each, between which the budget is
/// asked.
fn check_spec_forbids(facts: &Facts<'_>, spec: &Spec, budget: &Budget<'_>) -> Result<(), Uncertified> {
    let unchecked = |why: &str| {
        Uncertified::too_large(format!(
            "{} was not evaluated once more: {why}; nothing says that it is wrong",
            spec.name()
        ))
    };
    let prepared = Prepared::new(facts);
    let mut n_steps = steps_of_a_second(facts.history());
    loop {
        budget.check().map_err(|it| unchecked(&it.to_string()))?;
        match prepared.evaluate(spec, &mut Steps::new(n_steps)) {
            Evaluation::Forbidden => return Ok(()),
            Evaluation::OutOfSteps => n_steps = n_steps.saturating_mul(2),
            Evaluation::TooLarge => return Err(unchecked("the history is too large")),
            Evaluation::AmbiguousList(_) => return Err(unchecked("a list read has several meanings")),
            Evaluation::Allowed(_) => {
                return Err(Uncertified::new(format!("{} does not forbid the history", spec.name())));
            }
        }
    }
}
