//! Is this history allowed by this isolation level?
//!
//! [`check`] answers for one level, [`check_levels`] for several at once, sharing what one answer says about others.
//! Saturation comes first: what must come before what in every order; a cycle in it is the answer. Then a search
//! starts from an order and repairs what it violates. Every answer carries its evidence: a schedule, or a core:
//! a minimal part of the history that is forbidden by itself.

mod counted;
mod decide;
mod explain;
mod graph;
mod known;
mod lattice;
mod local;
mod name;
mod order;
mod problem;
mod prove;
mod recovered;
mod rule;
mod search;
mod settled;
mod shrink;
#[cfg(test)]
mod test_store;
mod weak;

pub use lattice::{Answer, check_levels};

use decide::{Decision, decide};
use iso_evidence::{Budget, Note, Refutation, Stage, StopReason, Verdict, Witness};
use iso_history::{Facts, History, LocalAnomaly, OpId, TxnId};
use iso_spec::Level;
use std::cell::Cell;

/// Decides whether `level` allows `history`.
///
/// ```
/// use iso_history::{HistoryBuilder, Outcome, Place};
/// use iso_evidence::{Budget, Verdict};
/// use iso_spec::Level;
/// // Two sessions read x=0, and both overwrite it: a lost update.
/// let mut builder = HistoryBuilder::new();
/// let x = builder.key("x".into());
/// let values = [0, 1, 2].map(|it| builder.value(it.into()));
/// builder.default_initial(values[0]);
/// for (name, written) in [("s1", values[1]), ("s2", values[2])] {
///     let session = builder.session(name);
///     builder.begin(session, Place::default());
///     builder.read(x, values[0]);
///     builder.write(x, written);
///     builder.end(Outcome::Committed);
/// }
/// let history = builder.finish().unwrap();
/// let check = |level| iso_check::check(&history, level, &Budget::unlimited());
/// assert!(matches!(check(Level::PrefixConsistency), Verdict::Allowed(_)));
/// assert!(matches!(check(Level::SnapshotIsolation), Verdict::Forbidden(_)));
/// ```
pub fn check(history: &History, level: Level, budget: &Budget<'_>) -> Verdict {
    check_facts(&Facts::new(history), level, budget)
}

/// As [`check`], for facts that are derived already.
pub fn check_facts(facts: &Facts<'_>, level: Level, budget: &Budget<'_>) -> Verdict {
    // Whoever read from an indeterminate transaction may have read dirty, where the level allows it.
    if level == Level::ReadUncommitted
        && let Some(history) = facts.history().with_indeterminate_aborted()
    {
        return check_facts(&Facts::new(&history), level, budget);
    }
    if let Some(refutation) = refute_by_one_read(facts, level) {
        return Verdict::Forbidden(refutation);
    }
    if let Some(op) = facts.ambiguous_list() {
        return Verdict::Unknown(StopReason::Unsupported(ambiguous_list(facts, op)));
    }
    match decide(facts, level, budget) {
        Ok(Decision::Allowed(witness)) => Verdict::Allowed(witness),
        Ok(Decision::Forbidden(extracted)) => Verdict::Forbidden(refute(facts, level, extracted, budget)),
        Err(reason) => Verdict::Unknown(reason),
    }
}

/// A stronger level is tried, for a while, where it costs less: if it holds, so does this one.
///
/// With several possible writers of a read, weak levels need a search over sources, where stronger levels search only
/// orders. Parallel snapshot isolation and update atomic have no short cut like that of snapshot isolation at all.
fn allowed_by_stronger(facts: &Facts<'_>, level: Level, budget: &Budget<'_>) -> Option<Witness> {
    // All of them for a short while first: one that is hard must not keep us from one that is easy.
    const STEPS: [u32; 2] = [500, 20_000];
    let stronger: &[Level] = match level {
        Level::ParallelSnapshotIsolation | Level::UpdateAtomic => &[Level::Serializable, Level::SnapshotIsolation],
        // Weak levels whose reads have one possible writer each are cheap themselves.
        _ if level == Level::ReadUncommitted || level.implies(Level::PrefixConsistency) => return None,
        _ if !facts.has_ambiguous_reads() => return None,
        _ => &[Level::Serializable, Level::SnapshotIsolation, Level::PrefixConsistency],
    };
    let mut tries = STEPS.iter().flat_map(|steps| stronger.iter().map(move |level| (*level, *steps)));
    let witness = tries.find_map(|(level, steps)| allowed_for_a_while(facts, level, budget, steps))?;
    Some(lattice::weaken(facts, &witness, level))
}

/// The witness of a level, if that is found in so many steps.
fn allowed_for_a_while(facts: &Facts<'_>, level: Level, budget: &Budget<'_>, max_steps: u32) -> Option<Witness> {
    if refute_by_one_read(facts, level).is_some() || facts.ambiguous_list().is_some() {
        return None;
    }
    let n_steps = Cell::new(0);
    let stop = || {
        n_steps.set(n_steps.get() + 1);
        if n_steps.get() > max_steps { Some(StopReason::Steps) } else { budget.check().err() }
    };
    match decide(facts, level, &budget.with_stop(&stop)) {
        Ok(Decision::Allowed(witness)) => Some(witness),
        _ => None,
    }
}

fn refute_by_one_read(facts: &Facts<'_>, level: Level) -> Option<Refutation> {
    let breaks = |it: &&LocalAnomaly| level != Level::ReadUncommitted || it.kind.breaks_read_uncommitted();
    let anomaly = facts.local().iter().find(breaks);
    let unrepeatable = || facts.unrepeatable().first().filter(|_| level.implies(Level::ReadAtomic));
    anomaly.or_else(unrepeatable).map(|it| local::refute_locally(facts, *it))
}

fn ambiguous_list(facts: &Facts<'_>, op: OpId) -> String {
    let history = facts.history();
    let reader = history.txn_of(op);
    format!(
        "{} of {} has several meanings: an element was appended to that list twice, or the outcome of the reader is \
         unknown and somebody may have read from it; such lists are not decided",
        history.render_op(op),
        history.label(reader)
    )
}

/// Makes the core around `extracted` minimal, explains it and names it.
fn refute(facts: &Facts<'_>, level: Level, extracted: Vec<TxnId>, budget: &Budget<'_>) -> Refutation {
    budget.note(Note::Begins(Stage::Explanation));
    let budget = &budget.silent();
    let core = shrink::shrink(facts, level, extracted, budget);
    let projection = core.project(facts);
    let cycle = explain::explain(&projection, level);
    let (txns, ops) = (core.txns, projection.ops.clone());
    let refutation = Refutation { anomalies: Vec::new(), txns, ops, local: None, cycle, proof: None };
    let proved = prove::prove(facts, level, &projection, refutation, budget);
    let anomaly = name::name(&projection, level, &proved.cycle, budget);
    Refutation { anomalies: vec![anomaly], ..proved }
}
