//! Strong levels by their order: take a good order of commits, run it, and repair what does not fit.
//!
//! For prefix consistency and above, an order of commits (and snapshots) is a model of the whole history, and running
//! it is linear. Most recorded histories come with a nearly right order, so nothing else is needed. What does not fit
//! becomes a choice between two edges (`graph.rs`): where one of them is impossible the other is known, and where both
//! are, that is the refutation. What is left open goes to a search (`repair.rs`).
//! Unlike saturation (`known.rs`), nothing is derived that the order keeps anyway, and nothing depends on the number of
//! sessions. Cost: linear in operations for a right order; else that times rounds, plus searches in the stretches of
//! the order between what is out of order.

mod anneal;
mod exchange;
mod frame;
mod graph;
mod in_step;
mod near;
mod open;
mod parallel;
mod place;
mod repair;
mod sources;
mod start;
#[cfg(test)]
mod tests;
mod window;

use crate::decision::Decision;
use crate::rule::{Events, Rule, Visibility};
use crate::witness::{self, witness};
pub(crate) use frame::Frame;
use graph::Buckets;
use iso_evidence::{Budget, Note, Sources, Stage, StopReason, Witness};
use iso_history::{Facts, Standing, TxnId};
use open::decide_open;
use parallel::decide_parallel;
use place::{Placement, place};
use repair::{Repair, Repaired};
use sources::{NoWriter, settle_sources};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Decides a level by its order, or says that this is no question for it.
pub(crate) fn decide_by_order(
    facts: &Facts<'_>,
    rule: Rule,
    budget: &Budget<'_>,
) -> Result<Option<Decision>, StopReason> {
    let has_optional = facts.txns().any(|it| facts.standing(it) == Standing::Optional);
    let is_known = matches!(
        rule.visibility,
        Visibility::Everything | Visibility::CausalAndConflicting | Visibility::DirectAndConflicting
    );
    if !is_known || has_optional {
        return Ok(None);
    }
    let mut frame = Frame::new(facts, rule);
    // Whoever sees only its neighbours may read what somebody further away has overwritten.
    if rule.visibility == Visibility::DirectAndConflicting && frame.sources.is_open() {
        return Ok(None);
    }
    let mut orders = start::first_orders(&frame);
    if let (true, Ok([first, ..])) = (frame.sources.is_open(), orders.as_deref()) {
        budget.check()?;
        budget.note(Note::Begins(Stage::Sources));
        if let Err(NoWriter(core)) = settle_sources(&mut frame, first, budget)? {
            return Ok(Some(Decision::Forbidden(without_initial(&core))));
        }
        budget.note(Note::Begins(Stage::Order));
        orders = start::first_orders(&frame);
    }
    let frame = frame;
    let orders = match orders {
        Ok(orders) => orders,
        Err(cycle) => return Ok(Some(Decision::Forbidden(core_of_cycle(&frame, &cycle)))),
    };
    // Below prefix consistency, an order does not say who each read saw.
    if rule.visibility != Visibility::Everything && frame.sources.is_open() {
        return Ok(None);
    }
    budget.check()?;
    if let Some(commits) = serial_order(&frame, &orders) {
        return Ok(Some(Decision::Allowed(serial_witness(&frame, commits))));
    }
    let placed = orders.into_iter().map(|commits| {
        let placement = place(&frame, &commits);
        (commits, placement)
    });
    let Some((commits, placement)) = placed.min_by_key(|it| it.1.misfits.len()) else { return Ok(None) };
    if placement.misfits.is_empty() {
        return Ok(Some(Decision::Allowed(witness_of(&frame, &commits, &placement))));
    }
    budget.check()?;
    if frame.sources.is_open() {
        return decide_open(&frame, commits, placement, budget);
    }
    let (commits, placement) = better_order(&frame, commits, placement, budget)?;
    if placement.misfits.is_empty() {
        return Ok(Some(Decision::Allowed(witness_of(&frame, &commits, &placement))));
    }
    let repaired = if rule.visibility == Visibility::CausalAndConflicting {
        decide_parallel(&frame, commits, placement, budget)?
    } else {
        Repair::new(&frame, commits, placement).run(budget)?
    };
    Ok(decision_of(&frame, repaired))
}

/// An order in which snapshots can be right before their commits: to run it takes less time and memory than to look for
/// places of snapshots, and a history that is not serializable shows it early.
fn serial_order<'o>(frame: &Frame<'_>, orders: &'o [Vec<TxnId>]) -> Option<&'o [TxnId]> {
    let rule = frame.rule;
    let has_snapshots = rule.events != Events::One && rule.visibility == Visibility::Everything;
    let mut orders = orders.iter().filter(|_| has_snapshots && !frame.sources.is_open());
    orders.find(|it| place::is_serial(frame, it)).map(Vec::as_slice)
}

fn serial_witness(frame: &Frame<'_>, commits: &[TxnId]) -> Witness {
    let events = frame.rule.events;
    let nodes = commits.iter().flat_map(|it| [events.start(*it), events.commit(*it)]);
    let sources = frame.facts.sources().unwrap_or_else(|| witness::sources(frame.facts, |it| frame.source(it)));
    witness(events, nodes, sources)
}

/// The order of a window that goes along this one, if more fits into it.
fn better_order(
    frame: &Frame<'_>,
    commits: Vec<TxnId>,
    placement: Placement,
    budget: &Budget<'_>,
) -> Result<(Vec<TxnId>, Placement), StopReason> {
    if frame.rule.visibility == Visibility::Everything
        && window::is_worth_it(frame, placement.misfits.len())
        && let Some(order) = window::order_of_window(frame, &commits, budget)?
    {
        let placed = place(frame, &order);
        if placed.misfits.len() < placement.misfits.len() {
            return Ok((order, placed));
        }
    }
    Ok((commits, placement))
}

/// A witness by an order that begins like this one, if there is one.
pub(crate) fn witness_from(
    facts: &Facts<'_>,
    rule: Rule,
    order: &[TxnId],
    budget: &Budget<'_>,
) -> Result<Option<Witness>, StopReason> {
    let frame = Frame::new(facts, rule);
    let Ok(commits) = start::repair_order(&frame, order) else { return Ok(None) };
    let placement = place(&frame, &commits);
    if placement.misfits.is_empty() {
        return Ok(Some(witness_of(&frame, &commits, &placement)));
    }
    let repaired = Repair::new(&frame, commits, placement).run(budget)?;
    Ok(match decision_of(&frame, repaired) {
        Some(Decision::Allowed(witness)) => Some(witness),
        _ => None,
    })
}

fn decision_of(frame: &Frame<'_>, repaired: Repaired) -> Option<Decision> {
    match repaired {
        Repaired::Order(commits, placement) => Some(Decision::Allowed(witness_of(frame, &commits, &placement))),
        Repaired::Conflict(core) => Some(Decision::Forbidden(core)),
        Repaired::Nothing => None,
    }
}

/// Does everything fit into this order?
#[cfg(test)]
pub(crate) fn explains(frame: &Frame<'_>, commits: &[TxnId]) -> bool {
    place(frame, commits).misfits.is_empty()
}

/// The transactions of a cycle, and those that show its dependencies.
fn core_of_cycle(frame: &Frame<'_>, cycle: &[TxnId]) -> Vec<TxnId> {
    let mut core: BTreeSet<TxnId> = cycle.iter().copied().collect();
    for txn in cycle {
        let reads = frame.reads_of(*txn).filter(|it| frame.source(*it).is_some_and(|it| cycle.contains(&it)));
        core.extend(sources::core_of_reads(frame, reads.map(|it| it as u32)));
        for edge in frame.recovered_before(*txn).iter().filter(|it| cycle.contains(&it.earlier)) {
            core.extend(edge.who_shows(frame.facts));
        }
    }
    without_initial(&core)
}

fn without_initial(txns: &BTreeSet<TxnId>) -> Vec<TxnId> {
    txns.iter().copied().filter(|it| !it.is_initial()).collect()
}

fn witness_of(frame: &Frame<'_>, commits: &[TxnId], placement: &Placement) -> Witness {
    let events = frame.rule.events;
    let sources = sources_of(frame, commits, placement);
    if events == Events::One {
        return witness(events, commits.iter().map(|it| events.commit(*it)), sources);
    }
    let snapshots = Buckets::new(commits, &placement.snapshots);
    let starts = |n_commits: usize| snapshots.of(n_commits).iter().map(|it| events.start(*it));
    let after = |(idx, txn): (usize, &TxnId)| [events.commit(*txn)].into_iter().chain(starts(idx + 1));
    witness(events, starts(0).chain(commits.iter().enumerate().flat_map(after)), sources)
}

/// Who each read read from: the last committed writer of its key, where there are several possible ones.
fn sources_of(frame: &Frame<'_>, commits: &[TxnId], placement: &Placement) -> Arc<Sources> {
    // Where values say it of all, the list is there already.
    if let Some(sources) = frame.facts.sources() {
        return sources;
    }
    let fit = frame.sources.is_open().then(|| place::Fit::new(frame, commits));
    let last_writer = |fit: &place::Fit<'_>, read: usize| {
        let reader = frame.reader(read);
        let before = match placement.snapshots.get(reader.index()) {
            Some(snapshot) => *snapshot,
            None => fit.place[reader.index()] - 1,
        };
        fit.last_writer(frame.key(read), before)
    };
    let found = |read: usize| fit.as_ref().map(|fit| last_writer(fit, read));
    witness::sources(frame.facts, |read| frame.source(read).or_else(|| found(read)))
}
