//! Decides one level of a history whose reads all have possible writers, by the first engine that has an answer.
//!
//! Where it is open who took part, `outcomes` judges what is certain, and guesses the rest. Then come, in turn:
//!
//! 1. `settled`: weak levels whose reads have one possible writer each, by inferred edges and one test for cycles.
//! 2. `order`: update atomic, parallel snapshot isolation, prefix consistency and above, by an order that is run and
//!    repaired.
//! 3. `stronger`: if a stronger level that is easier to search for holds, so does this one.
//! 4. `replicas`: causal consistency and below, by an execution in which each session sees no more than it must.
//! 5. `views`: causal consistency, parallel snapshot isolation and below, by choosing what each transaction sees.
//! 6. `simple`: saturation and search, for all that is left. Where reads have several possible writers, it takes turns
//!    with `views` and `replicas`: it refutes, and they find executions.

use crate::ambiguous::decide_cases;
use crate::counted::with_readers;
use crate::decision::{Decision, within};
use crate::order::decide_by_order;
use crate::outcomes::decide_outcomes;
use crate::pieces::decide_pieces;
use crate::replicas::allowed_on_replicas;
use crate::rule::Rule;
use crate::settled::decide_settled;
use crate::simple::decide_by_search;
use crate::stronger::{Patience, allowed_by_stronger};
use crate::views::allowed_by_views;
use iso_evidence::{Budget, Note, Stage, StopReason, Witness};
use iso_history::Facts;
use iso_spec::Level;

/// So many transactions, and each of them once, may be executed on replicas before anything else is tried, but none more often than
/// that: where few transactions do not fit, a search says so at once.
const FEW_EXECUTIONS: usize = 3_000;
const FEW_TIMES: usize = 16;

/// How often each transaction may be executed on replicas after a search.
const MANY_TIMES: u32 = 400;

/// What a search may take before it gives way for a while: at first, and later.
const FIRST_SEARCH_STEPS: u32 = 100;
const SEARCH_STEPS: u32 = 20_000;

/// What a search for views may take.
const VIEW_STEPS: u32 = 600_000;

/// Decides a level.
pub(crate) fn decide(facts: &Facts<'_>, level: Level, budget: &Budget<'_>) -> Result<Decision, StopReason> {
    if let Some(decision) = decide_cases(facts, level, budget) {
        return decision;
    }
    let decision = match decide_outcomes(facts, level, budget)? {
        Some(decision) => decision,
        None => match decide_pieces(facts, level, budget) {
            Some(decision) => return decision,
            None => first_answer(facts, level, budget)?,
        },
    };
    Ok(match decision {
        Decision::Forbidden(core) => Decision::Forbidden(with_readers(facts, core)),
        allowed @ Decision::Allowed(_) => allowed,
    })
}

fn first_answer(facts: &Facts<'_>, level: Level, budget: &Budget<'_>) -> Result<Decision, StopReason> {
    budget.note(Note::Begins(Stage::Inference));
    if let Some(decision) = decide_settled(facts, level, budget)? {
        return Ok(decision);
    }
    budget.note(Note::Begins(Stage::Order));
    if let Some(decision) = decide_by_order(facts, Rule::of(level), budget)? {
        return Ok(decision);
    }
    if let Some(witness) = allowed_soon(facts, level, budget)? {
        return Ok(Decision::Allowed(witness));
    }
    let search = |budget: &Budget<'_>| decide_by_search(facts, level, budget);
    if facts.has_ambiguous_reads()
        && let Some(decision) = within(FIRST_SEARCH_STEPS, budget, search)?
    {
        return Ok(decision);
    }
    // A store that keeps more is known by that, and views say nothing of it.
    if !facts.history().has_real_time()
        && let Some(witness) = allowed_by_stronger(facts, level, Patience::Long, budget)
    {
        return Ok(Decision::Allowed(witness));
    }
    if facts.has_ambiguous_reads() {
        if let Some(witness) = allowed_by_views(facts, level, VIEW_STEPS, budget)? {
            return Ok(Decision::Allowed(witness));
        }
        if let Some(decision) = within(SEARCH_STEPS, budget, search)? {
            return Ok(decision);
        }
        if let Some(witness) = allowed_on_replicas(facts, level, MANY_TIMES, budget)? {
            return Ok(Decision::Allowed(witness));
        }
    }
    search(budget)
}

/// A witness that is found without a search of the level's own.
fn allowed_soon(facts: &Facts<'_>, level: Level, budget: &Budget<'_>) -> Result<Option<Witness>, StopReason> {
    if let Some(witness) = allowed_by_stronger(facts, level, Patience::Short, budget) {
        return Ok(Some(witness));
    }
    // Recorded times make stronger levels easy, and replicas know nothing of them.
    if facts.history().has_real_time() {
        return Ok(allowed_by_stronger(facts, level, Patience::Long, budget));
    }
    let n_times = (1 + FEW_EXECUTIONS / facts.history().n_txns()).min(FEW_TIMES);
    allowed_on_replicas(facts, level, n_times as u32, budget)
}
