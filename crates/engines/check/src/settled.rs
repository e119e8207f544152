//! Weak levels of histories whose reads have one possible writer each: one derivation, one test for cycles.
//!
//! If it is known who read from whom, then whom a reader must see is known, too, at every level below prefix
//! consistency. Where S read x from T and must see another writer L of x, the edge L -> T is inferred, and the level
//! allows the history iff these edges, session order and reads-from are acyclic together; any topological order is a
//! witness. Nothing is derived from what was derived, so there is no fixpoint to wait for.
//!
//! Source: Biswas & Enea 2019, sections 2 and 4; AWDIT (PLDI 2025) for the costs. We differ: the order that session order
//! and reads-from have without inferred edges is tried first. If a replay of it explains every read, no edge needs to
//! be derived at all. Where there may be many, only those are derived that the order does not meet, and it is repaired
//! a few times, before all are.
//! Causal consistency takes sessions in blocks (see `causal`), so that no transaction has a whole clock.
//!
//! Everything here reads [`Facts`] directly. Histories with ambiguous reads or open outcomes are left to saturation
//! and search, and so is the explanation of what is found: here only a core is extracted.
//! Cost: linear for what a replay explains; else that of the level's derivation, and linear in what it derived.

mod causal;
mod cycle;
mod direct;
mod links;
mod parallel;
mod sessions;
#[cfg(test)]
mod tests;
mod walk_back;

use crate::decision::Decision;
use crate::recovered::{RecoveredEdge, recovered_edges};
use crate::rule::Events;
use crate::witness;
use cycle::core_of_cycle;
use iso_evidence::{Budget, Note, Quantity, Sources, Stage, StopReason};
use iso_history::{Facts, Standing, TxnId};
use iso_spec::Level;
use links::{Edges, Links};
use std::sync::Arc;

/// Decides a level below prefix consistency, or says that the history is not of the kind that this module decides.
pub(crate) fn decide_settled(
    facts: &Facts<'_>,
    level: Level,
    budget: &Budget<'_>,
) -> Result<Option<Decision>, StopReason> {
    if !is_weak(level) || facts.txns().any(|it| facts.standing(it) == Standing::Optional) {
        return Ok(None);
    }
    let sources = if level == Level::ReadUncommitted { Some(Arc::default()) } else { facts.sources() };
    let (Some(sources), Some(recovered)) = (sources, recovered(facts)) else { return Ok(None) };
    budget.check()?;
    let links = Links::new(facts, sources.writers(), &recovered);
    budget.note(Note::Begins(Stage::Order));
    budget.note(Note::Counted(Quantity::KnownEdges, (sources.len() + recovered.len() + facts.txns().count()) as u64));
    let order = match links.order(budget)? {
        Ok(order) => order,
        Err(cycle) => {
            return core_of_cycle(&links, level, None, &cycle, budget).map(|it| Some(Decision::Forbidden(it)));
        }
    };
    if level == Level::ReadUncommitted {
        return Ok(Some(allowed(&order, sources)));
    }
    let base = order;
    match settle(links, level, &base, max_rounds(level), budget)? {
        Ok(order) => Ok(Some(allowed(order.as_ref().unwrap_or(&base), sources))),
        Err(core) => Ok(Some(Decision::Forbidden(core))),
    }
}

/// Infers edges until an order meets them all, or there is none and a core is extracted. The order is the given one if
/// none is returned. After so many rounds, all edges are inferred.
fn settle(
    mut links: Links<'_>,
    level: Level,
    base: &[TxnId],
    max_rounds: usize,
    budget: &Budget<'_>,
) -> Result<Result<Option<Vec<TxnId>>, Vec<TxnId>>, StopReason> {
    let mut order: Option<Vec<TxnId>> = None;
    let mut inferred = Edges::default();
    for round in 0.. {
        let current = order.as_deref().unwrap_or(base);
        let replay = Replay::new(&links, current);
        if replay.is_serial {
            break;
        }
        let asked = if round < max_rounds { Asked::Unmet } else { Asked::All };
        budget.note(Note::Begins(Stage::Inference));
        let derived = derive(&links, level, asked, &replay, budget)?;
        budget.note(Note::Counted(Quantity::KnownEdges, derived.len() as u64));
        budget.note(Note::Begins(Stage::Order));
        if derived.iter().all(|(older, newer)| replay.is_before(older, newer)) {
            break;
        }
        inferred.extend(derived);
        links.set_inferred(&inferred);
        match links.order(budget)? {
            Ok(found) => order = Some(found),
            Err(cycle) => return core_of_cycle(&links, level, Some(base), &cycle, budget).map(Err),
        }
        if asked == Asked::All {
            break;
        }
    }
    Ok(Ok(order))
}

/// Which edges to infer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// At least the latest of each read that the current order does not meet.
    Unmet,
    /// Enough for any order: all others follow.
    All,
}

/// How often an order is repaired before all edges are inferred: the more of them there may be, the longer.
fn max_rounds(level: Level) -> usize {
    match level {
        Level::ReadCommitted | Level::ReadYourWrites | Level::ReadAtomic => 1,
        Level::WritesFollowReads => 30,
        _ => 2,
    }
}

/// Edges L -> T of a level: some reader of T's version must see L.
fn derive(
    links: &Links<'_>,
    level: Level,
    asked: Asked,
    replay: &Replay<'_>,
    budget: &Budget<'_>,
) -> Result<Edges, StopReason> {
    match level {
        Level::ReadCommitted => direct::read_committed(links, asked, replay, budget),
        Level::ReadAtomic => direct::read_atomic(links, asked, replay, budget),
        Level::CausalConsistency => causal::causal(links, asked, replay, budget),
        _ => sessions::session_guarantee(links, level, asked, replay, budget),
    }
}

/// An order, with what happens if transactions run one after the other in it.
struct Replay<'o> {
    order: &'o [TxnId],
    /// Where each transaction stands.
    place: Vec<u32>,
    /// Which transactions find what they read overwritten. The reads of all others miss nobody.
    is_stale: Vec<bool>,
    /// Is nobody a stale reader?
    is_serial: bool,
}

impl<'o> Replay<'o> {
    fn new(links: &Links<'_>, order: &'o [TxnId]) -> Self {
        let facts = links.facts;
        let mut is_stale = vec![false; links.previous.len()];
        let mut last_writer = vec![TxnId::INITIAL; facts.history().n_keys()];
        for txn in order {
            is_stale[txn.index()] = links.reads(*txn).any(|(key, source)| last_writer[key.index()] != source);
            for key in facts.written_keys(*txn) {
                last_writer[key.index()] = *txn;
            }
        }
        let is_serial = !is_stale.contains(&true);
        Self { order, place: places(facts, order), is_stale, is_serial }
    }

    fn is_before(&self, earlier: TxnId, later: TxnId) -> bool {
        self.place[earlier.index()] < self.place[later.index()]
    }

    /// Must this reader be looked at?
    fn concerns(&self, reader: TxnId, asked: Asked) -> bool {
        asked == Asked::All || self.is_stale[reader.index()]
    }
}

/// Is this a level that only asks whom a reader sees by session order and reads-from?
fn is_weak(level: Level) -> bool {
    matches!(
        level,
        Level::ReadUncommitted
            | Level::ReadCommitted
            | Level::ReadYourWrites
            | Level::MonotonicReads
            | Level::MonotonicWrites
            | Level::WritesFollowReads
            | Level::ReadAtomic
            | Level::CausalConsistency
    )
}

/// Recovered version orders; none if somebody in them need not have committed.
fn recovered(facts: &Facts<'_>) -> Option<Edges> {
    let mut edges = Edges::default();
    for RecoveredEdge { earlier, later, .. } in recovered_edges(facts) {
        if [earlier, later].iter().any(|it| facts.standing(*it) != Standing::Counted) {
            return None;
        }
        edges.push(earlier, later);
    }
    Some(edges)
}

/// Where each transaction stands in an order.
fn places(facts: &Facts<'_>, order: &[TxnId]) -> Vec<u32> {
    let mut place = vec![0; facts.history().n_txns()];
    for (idx, txn) in (0..).zip(order) {
        place[txn.index()] = idx;
    }
    place
}

fn allowed(order: &[TxnId], sources: Arc<Sources>) -> Decision {
    let nodes = order.iter().map(|it| Events::One.commit(*it));
    Decision::Allowed(witness::witness(Events::One, nodes, sources))
}
