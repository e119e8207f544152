//! The core of a cycle: a short one, with everybody that its inferred edges rest on.
//!
//! Derived edges carry no reason, which would cost memory for all of them. The few on the cycle are derived again: a
//! reader of the newer one's version that must see the older one, and what makes it see it.
//!
//! The cycle that a walk stumbles upon may be long. Every cycle has an edge that goes against the order of what was
//! known before, so shortest paths back are looked for from such edges, the nearest first.
//! Cost: a bounded number of searches between the ends of an edge, and linear for each derived edge of the cycle.

use super::links::{Cycle, Link, Links};
use super::places;
use crate::core_extraction::CoreExtraction;
use crate::recovered::{RecoveredEdge, recovered_edges};
use iso_evidence::{Budget, StopReason};
use iso_history::TxnId;
use iso_spec::Level;
use std::collections::VecDeque;

/// How many edges against the order are tried.
const MAX_TRIES: usize = 64;
/// How many transactions a search from one of them looks at.
const MAX_VISITED: usize = 20_000;

/// The transactions (ascending) of a core. `order` is one of what was known before.
pub(super) fn core_of_cycle(
    links: &Links<'_>,
    level: Level,
    order: Option<&[TxnId]>,
    cycle: &Cycle,
    budget: &Budget<'_>,
) -> Result<Vec<TxnId>, StopReason> {
    let cycle = short_cycle(links, order, cycle, budget)?;
    let mut core = CoreExtraction::default();
    for step in &cycle {
        budget.check()?;
        core.name([step.earlier, step.later]);
        match step.link {
            Link::Session | Link::ReadFrom(_) => {}
            Link::Recovered => {
                let is_it = |it: &RecoveredEdge| it.earlier == step.earlier && it.later == step.later;
                let edge = recovered_edges(links.facts).into_iter().find(is_it);
                core.name(edge.iter().flat_map(|it| it.who_shows(links.facts)));
            }
            Link::Inferred => core.name(premise(links, level, order.unwrap_or(&[]), step)),
        }
    }
    Ok(core.txns())
}

/// One edge of a cycle.
#[derive(Clone, Copy, Debug)]
struct CycleEdge {
    earlier: TxnId,
    later: TxnId,
    link: Link,
}

/// The edges that lead to a transaction.
fn edges_into<'a>(links: &'a Links<'_>, later: TxnId) -> impl Iterator<Item = CycleEdge> + use<'a> {
    (0..).map_while(move |nth| links.predecessor(later, nth)).map(move |(earlier, link)| CycleEdge {
        earlier,
        later,
        link,
    })
}

fn short_cycle(
    links: &Links<'_>,
    order: Option<&[TxnId]>,
    cycle: &Cycle,
    budget: &Budget<'_>,
) -> Result<Vec<CycleEdge>, StopReason> {
    let place = order.map(|it| places(links.facts, it));
    let mut search = CycleSearch::new(links, place.as_deref());
    let mut best: Option<Vec<CycleEdge>> = None;
    let in_cycle = search.edges_of(cycle);
    for edge in search.against_the_order().into_iter().chain(in_cycle.iter().copied().take(MAX_TRIES)) {
        budget.check()?;
        if best.as_ref().is_some_and(|it| it.len() == 2) {
            break;
        }
        let max_steps = best.as_ref().map_or(usize::MAX, |it| it.len() - 2);
        if let Some(path) = search.path_back(edge, max_steps, Scope::Between) {
            best = Some(path);
        }
    }
    let first = in_cycle[0];
    Ok(best.or_else(|| search.path_back(first, usize::MAX, Scope::Everywhere)).unwrap_or(in_cycle))
}

/// Where to look for a way back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// Between the ends of the edge, in the order before anything was derived, and not for long.
    Between,
    Everywhere,
}

/// Searches for short ways from the later end of an edge to its earlier end.
struct CycleSearch<'a> {
    links: &'a Links<'a>,
    /// Where each transaction stood before anything was derived, if there was such an order.
    place: Option<&'a [u32]>,
    /// By transaction: the search that reached it, and the next one on its way to the earlier end of the edge.
    reached: Vec<(u32, TxnId)>,
    n_searches: u32,
}

impl<'a> CycleSearch<'a> {
    fn new(links: &'a Links<'a>, place: Option<&'a [u32]>) -> Self {
        Self { links, place, reached: vec![(0, TxnId::INITIAL); links.previous.len()], n_searches: 0 }
    }

    /// Inferred edges that go against the order, those that go back least first.
    fn against_the_order(&self) -> Vec<CycleEdge> {
        let Some(place) = self.place else { return Vec::new() };
        let mut against: Vec<(u32, TxnId, TxnId)> = Vec::new();
        for (older, newer) in self.links.inferred() {
            if let Some(back @ 1..) = place[older.index()].checked_sub(place[newer.index()]) {
                against.push((back, older, newer));
            }
        }
        if against.len() > MAX_TRIES {
            against.select_nth_unstable(MAX_TRIES);
            against.truncate(MAX_TRIES);
        }
        against.sort_unstable();
        against.into_iter().map(|(_, earlier, later)| CycleEdge { earlier, later, link: Link::Inferred }).collect()
    }

    /// The edges of a cycle, those against the order first.
    fn edges_of(&self, cycle: &Cycle) -> Vec<CycleEdge> {
        let edge = |idx: usize| {
            let (earlier, later) = (cycle[idx], cycle[(idx + 1) % cycle.len()]);
            let mut steps = edges_into(self.links, later);
            steps.find(|it| it.earlier == earlier).expect("neighbours in a cycle are linked")
        };
        let mut edges: Vec<CycleEdge> = (0..cycle.len()).map(edge).collect();
        let goes_on =
            |it: &CycleEdge| self.place.is_some_and(|place| place[it.earlier.index()] < place[it.later.index()]);
        edges.sort_by_key(goes_on);
        edges
    }

    /// The edge, and a shortest way of at most `max_steps` from its later to its earlier end.
    fn path_back(&mut self, edge: CycleEdge, max_steps: usize, scope: Scope) -> Option<Vec<CycleEdge>> {
        self.n_searches += 1;
        let is_too_early = |txn: TxnId| {
            let is_before = |place: &[u32]| place[txn.index()] < place[edge.later.index()];
            scope == Scope::Between && self.place.is_some_and(is_before)
        };
        let mut pending = VecDeque::from([(edge.earlier, 0)]);
        let mut n_visited = 0;
        while let Some((later, n_steps)) = pending.pop_front() {
            n_visited += 1;
            if n_steps >= max_steps || (scope == Scope::Between && n_visited > MAX_VISITED) {
                return None;
            }
            for step in edges_into(self.links, later) {
                if self.reached[step.earlier.index()].0 == self.n_searches || is_too_early(step.earlier) {
                    continue;
                }
                self.reached[step.earlier.index()] = (self.n_searches, later);
                if step.earlier == edge.later {
                    return Some(self.walk(edge));
                }
                pending.push_back((step.earlier, n_steps + 1));
            }
        }
        None
    }

    fn walk(&self, edge: CycleEdge) -> Vec<CycleEdge> {
        let mut path = vec![edge];
        let mut earlier = edge.later;
        while earlier != edge.earlier {
            let later = self.reached[earlier.index()].1;
            path.extend(edges_into(self.links, later).find(|it| it.earlier == earlier));
            earlier = later;
        }
        path
    }
}

/// A reader of the later one's version that must see the earlier one, and those that make it see it: as few as possible.
fn premise(links: &Links<'_>, level: Level, order: &[TxnId], step: &CycleEdge) -> Vec<TxnId> {
    let facts = links.facts;
    let (other, source) = (step.earlier, step.later);
    let ways = if level == Level::CausalConsistency { Ways::from(links, order, other) } else { Ways::default() };
    let mut best: Option<Vec<TxnId>> = None;
    for (read, _) in links.sources.iter().enumerate().filter(|it| *it.1 == source) {
        let at = facts.reads()[read];
        let reader = at.reader;
        if reader == other || !facts.writes(other, at.key) {
            continue;
        }
        let max = best.as_ref().map_or(usize::MAX, Vec::len);
        let found = if level == Level::CausalConsistency {
            ways.to(reader, max)
        } else {
            how_seen(links, level, read, other).filter(|it| it.len() < max)
        };
        best = found.or(best);
        if best.as_ref().is_some_and(|it| it.len() == 1) {
            break;
        }
    }
    best.expect("an inferred edge has a reader")
}

/// The reader of a read, and those by whom it must see `other`, if it must, for levels that are not causal.
fn how_seen(links: &Links<'_>, level: Level, read: usize, other: TxnId) -> Option<Vec<TxnId>> {
    let reader = links.facts.reads()[read].reader;
    let read_from = |txn: TxnId, writer: TxnId| links.reads(txn).any(|it| it.1 == writer);
    let with = |more: &[TxnId]| Some([&[reader], more].concat());
    // The last session predecessor, from `txn` on backwards, that read from `other`.
    let reader_before = |txn: TxnId| {
        std::iter::successors(Some(txn), |it| Some(links.previous[it.index()]))
            .take_while(|it| !it.is_initial())
            .find(|it| read_from(*it, other))
    };
    match level {
        Level::ReadCommitted => {
            let earlier = links.read_range(reader).start..read;
            links.sources[earlier].contains(&other).then(|| vec![reader])
        }
        Level::ReadAtomic => {
            (links.is_session_ordered(other, reader) || read_from(reader, other)).then(|| vec![reader])
        }
        Level::ReadYourWrites => links.is_session_ordered(other, reader).then(|| vec![reader]),
        Level::MonotonicReads => with(&[reader_before(links.previous[reader.index()])?]),
        Level::MonotonicWrites => {
            with(&[links.reads(reader).find(|(_, writer)| links.is_session_ordered(other, *writer))?.1])
        }
        Level::WritesFollowReads => {
            let (writer, by) = links.reads(reader).find_map(|(_, it)| Some((it, reader_before(it)?)))?;
            with(&[writer, by])
        }
        _ => None,
    }
}

/// Shortest ways by session order and reads-from.
#[derive(Default)]
struct Ways {
    /// By transaction: how many steps from the start, and the one before.
    steps: Vec<(u32, TxnId)>,
}

impl Ways {
    fn from(links: &Links<'_>, order: &[TxnId], start: TxnId) -> Self {
        let mut steps = vec![(u32::MAX, TxnId::INITIAL); links.previous.len()];
        steps[start.index()].0 = 0;
        for txn in order.iter().copied().filter(|it| *it != start && !it.is_initial()) {
            let sources = links.reads(txn).map(|it| it.1);
            let nearest = sources.chain([links.previous[txn.index()]]).min_by_key(|it| steps[it.index()].0);
            if let Some(nearest) = nearest.filter(|it| steps[it.index()].0 != u32::MAX) {
                steps[txn.index()] = (steps[nearest.index()].0 + 1, nearest);
            }
        }
        Self { steps }
    }

    /// Those on the way to `end`, `end` included and the start not, if there is a way and they are fewer than `max`.
    fn to(&self, end: TxnId, max: usize) -> Option<Vec<TxnId>> {
        let n_steps = self.steps[end.index()].0;
        if n_steps == u32::MAX || n_steps as usize >= max {
            return None;
        }
        let way = std::iter::successors(Some(end), |it| Some(self.steps[it.index()].1));
        Some(way.take(n_steps as usize).collect())
    }
}
