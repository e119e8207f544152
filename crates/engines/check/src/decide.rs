//! Decides one level of a history whose reads all have possible writers, by the first engine that has an answer.
//!
//! 1. `settled`: weak levels whose reads have one possible writer each, by inferred edges and one test for cycles.
//! 2. `order`: update atomic, parallel snapshot isolation, prefix consistency and above, by an order that is run and
//!    repaired.
//! 3. `stronger`: if a stronger level that is easier to search for holds, so does this one.
//! 4. `simple`: saturation and search, for all that is left.

use crate::ambiguous::decide_cases;
use crate::counted::with_readers;
use crate::decision::Decision;
use crate::order::decide_by_order;
use crate::pieces::decide_pieces;
use crate::rule::Rule;
use crate::settled::decide_settled;
use crate::simple::decide_by_search;
use crate::stronger::allowed_by_stronger;
use iso_evidence::{Budget, Note, Stage, StopReason};
use iso_history::Facts;
use iso_spec::Level;

/// Decides a level.
pub(crate) fn decide(facts: &Facts<'_>, level: Level, budget: &Budget<'_>) -> Result<Decision, StopReason> {
    if let Some(decision) = decide_cases(facts, level, budget).or_else(|| decide_pieces(facts, level, budget)) {
        return decision;
    }
    Ok(match first_answer(facts, level, budget)? {
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
    if let Some(witness) = allowed_by_stronger(facts, level, budget) {
        return Ok(Decision::Allowed(witness));
    }
    decide_by_search(facts, level, budget)
}
