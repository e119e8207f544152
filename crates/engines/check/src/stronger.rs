//! A stronger level is tried, for a while, where it costs less: if it holds, so does the level that was asked for.
//!
//! With several possible writers of a read, weak levels need a search over sources, where stronger levels search only
//! orders. Parallel snapshot isolation and update atomic have no short cut like that of snapshot isolation at all.

use crate::decision::{Decision, allowed_within};
use crate::local::is_about_orders;
use crate::order::decide_by_order;
use crate::rule::Rule;
use crate::simple::decide_by_search;
use crate::witness::weaken;
use iso_evidence::{Budget, Note, Stage, StopReason, Witness};
use iso_history::Facts;
use iso_spec::Level;

/// How long each stronger level is tried. One that is hard must not keep us from one that is easy, so all of them are
/// tried for a short while first.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Patience {
    Short,
    Long,
}

/// A witness of the level that is one of a stronger level, if one is found soon.
pub(crate) fn allowed_by_stronger(
    facts: &Facts<'_>,
    level: Level,
    patience: Patience,
    budget: &Budget<'_>,
) -> Option<Witness> {
    let max_steps = match patience {
        Patience::Short => 100,
        Patience::Long => 20_000,
    };
    let witness = stronger(facts, level).iter().find_map(|stronger| {
        let is_open = is_about_orders(facts, *stronger);
        is_open.then(|| allowed_within(max_steps, budget, |budget| decide_strong(facts, *stronger, budget)))?
    })?;
    Some(weaken(facts, &witness, level))
}

/// The levels to try, none of which is asked here itself.
fn stronger(facts: &Facts<'_>, level: Level) -> &'static [Level] {
    match level {
        Level::ParallelSnapshotIsolation | Level::UpdateAtomic => &[Level::Serializable, Level::SnapshotIsolation],
        // Weak levels whose reads have one possible writer each are cheap themselves.
        _ if level == Level::ReadUncommitted || level.implies(Level::PrefixConsistency) => &[],
        _ if !facts.has_ambiguous_reads() => &[],
        _ => &[Level::Serializable, Level::SnapshotIsolation, Level::PrefixConsistency],
    }
}

/// Prefix consistency and above.
fn decide_strong(facts: &Facts<'_>, level: Level, budget: &Budget<'_>) -> Result<Decision, StopReason> {
    budget.note(Note::Begins(Stage::Order));
    match decide_by_order(facts, Rule::of(level), budget)? {
        Some(decision) => Ok(decision),
        None => decide_by_search(facts, level, budget),
    }
}
