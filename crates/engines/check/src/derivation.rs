//! Derives that a core is forbidden, so that `certify` can replay it at any size.
//!
//! The verdict is known; here the core is refuted once more, and everything is written down. What saturation knows
//! (`known.rs`) is traced back to axioms (`facts.rs`). Where that is not enough, a search collects clauses and cycles
//! until they are contradictory (`search.rs`), and a SAT solver says how the contradiction follows (`assemble.rs`). Only
//! what the contradiction rests on is kept. The search of the verdict pays nothing for this.

mod assemble;
mod atoms;
mod clauses;
mod core;
mod facts;
mod hops;
mod search;
mod sight;
#[cfg(test)]
mod tests;

pub(crate) use self::core::core_of;
use crate::known::{Known, Saturation};
use crate::problem::Problem;
use crate::rule::Rule;
use assemble::{Assembly, Goal};
use iso_evidence::{Budget, Derivation, StopReason, certify_derivation};
use iso_history::Facts;
use iso_spec::Level;

/// A derivation about more transactions is for machines.
const MANY_TXNS: usize = 1_000;

/// What a derivation may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effort {
    /// What follows without a search.
    Saturation,
    /// Whatever is needed.
    Search,
}

/// A derivation that the level forbids the history of these facts; none if none was found in time.
pub(crate) fn derive(facts: &Facts<'_>, level: Level, budget: &Budget<'_>) -> Option<Derivation> {
    derive_with(Effort::Search, facts, level, budget)
}

/// As [`derive`], but none if that takes a search.
pub(crate) fn derive_without_search(facts: &Facts<'_>, level: Level, budget: &Budget<'_>) -> Option<Derivation> {
    derive_with(Effort::Saturation, facts, level, budget)
}

fn derive_with(effort: Effort, facts: &Facts<'_>, level: Level, budget: &Budget<'_>) -> Option<Derivation> {
    // A list with several meanings has no facts of its own.
    if facts.ambiguous_list().is_some() {
        return None;
    }
    let rule = Rule::of(level);
    let problem = Problem::new(facts, rule.read_detail());
    let mut known = Known::new(&problem, rule);
    let goal = match (saturate(&mut known, budget).ok()?, effort) {
        (Saturation::Cycle(cycle), _) => Goal::Cycle(cycle),
        (Saturation::NoWriter(read), _) => Goal::NoWriter(read),
        (Saturation::Stable(_), Effort::Saturation) => return None,
        (Saturation::Stable(order), Effort::Search) => Goal::Clauses(search::refute(&known, order, budget)?),
    };
    let derivation = Assembly::new(&known, level, budget).finish(goal)?;
    let accepted = certify_derivation(facts, level, &derivation);
    debug_assert!(accepted.is_ok(), "{accepted:?}");
    accepted.is_ok().then_some(derivation)
}

/// Derives what must hold in every order. What holds only if some transaction takes part is left to the search.
fn saturate(known: &mut Known<'_>, budget: &Budget<'_>) -> Result<Saturation, StopReason> {
    if !known.problem.has_optional() {
        // What follows without cases is easier to follow, but for so many transactions that nobody does.
        if known.problem.n_txns() > MANY_TXNS {
            return known.saturate_by_cases(budget);
        }
        return match known.saturate(budget)? {
            Saturation::Stable(_) => known.saturate_by_cases(budget),
            contradiction => Ok(contradiction),
        };
    }
    Ok(match known.graph.topological_order(&known.rank) {
        Ok(order) => Saturation::Stable(order),
        Err(cycle) => Saturation::Cycle(cycle),
    })
}
