//! Does an execution explain a history, however large that is?

use crate::evaluate::{has_mixed_lists, local_answer, most_favourable, unsourced};
use crate::execution::Execution;
use crate::model::is_true;
use crate::scene::Scene;
use crate::session_order::SessionOrder;
use crate::spec::Spec;
use iso_history::Facts;

/// As [`holds`](crate::holds()), for histories of any size. Nothing if `stop`, which is asked now and then, ended it.
pub fn holds_at_any_size(
    facts: &Facts<'_>,
    spec: &Spec,
    execution: &Execution,
    stop: &mut dyn FnMut() -> bool,
) -> Option<bool> {
    if let Some(history) = most_favourable(facts, spec) {
        return holds_at_any_size(&Facts::new(&history), spec, execution, stop);
    }
    if has_mixed_lists(facts, spec) {
        let cases = facts.history().mixed_cases()?;
        let mut answers = cases.map(|it| holds_at_any_size(&Facts::new(&it), spec, execution, stop));
        return answers.find(|it| *it != Some(false)).unwrap_or(Some(false));
    }
    if local_answer(facts, spec).is_some() {
        return Some(false);
    }
    if facts.ambiguous_list().is_some() {
        let mut answers =
            facts.cases().into_iter().map(|it| holds_at_any_size(&Facts::new(&it), spec, execution, stop));
        return answers.find(|it| *it != Some(false)).unwrap_or(Some(false));
    }
    match Scene::new(facts, &SessionOrder::Recorded, execution, unsourced(spec)) {
        Some(scene) => is_true(spec, &scene, execution, stop).ok(),
        None => Some(false),
    }
}
