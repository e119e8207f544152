//! Paths of the known graph as an axiom knows them: from event to event, without the time axis and without those in the
//! middle of a session.

use super::atoms::event;
use crate::graph::Why;
use crate::known::Known;
use crate::rule::Node;
use iso_evidence::{Axiom, Event};

/// A step of a path: one event comes before the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hop<W> {
    pub(super) from: Event,
    pub(super) to: Event,
    pub(super) why: Kind<W>,
}

/// An edge of a path, before runs of the same kind are joined.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link<W> {
    pub(super) from: Node,
    pub(super) to: Node,
    pub(super) kind: Kind<W>,
}

/// Why an edge is there: runs of the first two kinds are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind<W> {
    /// Session order, or a start before its commit.
    Session,
    /// A step along the time axis.
    RealTime,
    /// None of these.
    Other(W),
}

impl<W> Hop<W> {
    /// The axiom that a hop rests on, if it rests on one alone.
    pub(super) fn axiom(&self) -> Option<Axiom> {
        let (earlier, later) = (txn_of(self.from), txn_of(self.to));
        match self.why {
            Kind::Session => Some(Axiom::Session { earlier, later }),
            Kind::RealTime => Some(Axiom::RealTime { earlier, later }),
            Kind::Other(_) => None,
        }
    }
}

/// The transaction of an event.
pub(super) fn txn_of(event: Event) -> iso_history::TxnId {
    match event {
        Event::Snapshot(txn) | Event::Commit(txn) => txn,
    }
}

/// The links of known edges.
pub(super) fn links(known: &Known<'_>, edges: &[u32]) -> Vec<Link<u32>> {
    let link = |edge_idx: &u32| {
        let edge = &known.graph.edges[*edge_idx as usize];
        let kind = match edge.why {
            Why::Session => Kind::Session,
            Why::RealTime => Kind::RealTime,
            _ => Kind::Other(*edge_idx),
        };
        Link { from: edge.from, to: edge.to, kind }
    };
    edges.iter().map(link).collect()
}

/// Turns a cycle so that no run of one kind goes over its end.
pub(super) fn turned<W: Copy + PartialEq>(mut cycle: Vec<Link<W>>) -> Vec<Link<W>> {
    let is_same = |a: &Link<W>, b: &Link<W>| {
        matches!((a.kind, b.kind), (Kind::Session, Kind::Session) | (Kind::RealTime, Kind::RealTime))
    };
    let n_links = cycle.len();
    let start = (0..n_links).find(|it| !is_same(&cycle[(*it + n_links - 1) % n_links], &cycle[*it]));
    cycle.rotate_left(start.unwrap_or(0));
    cycle
}

/// The hops of links that follow each other.
pub(super) fn hops<W: Copy + PartialEq>(known: &Known<'_>, links: &[Link<W>]) -> Vec<Hop<W>> {
    let events = known.rule.events;
    let is_same = |a: &Link<W>, b: &Link<W>| a.kind == b.kind && !matches!(a.kind, Kind::Other(_));
    let hop = |run: &[Link<W>]| {
        let (first, last) = (event(events, run[0].from), event(events, run[run.len() - 1].to));
        let joined = |why| {
            let (earlier, later) = (txn_of(first), txn_of(last));
            let to = event(events, events.start(later));
            (earlier != later).then_some(Hop { from: Event::Commit(earlier), to, why })
        };
        match run[0].kind {
            Kind::Session => joined(Kind::Session),
            Kind::RealTime => joined(Kind::RealTime),
            Kind::Other(why) => Some(Hop { from: first, to: last, why: Kind::Other(why) }),
        }
    };
    links.chunk_by(is_same).filter_map(hop).collect()
}

/// The events that hops lead through, one after the other.
pub(super) fn events_of<W>(hops: &[Hop<W>]) -> Vec<Event> {
    let mut events: Vec<Event> = hops.iter().flat_map(|it| [it.from, it.to]).collect();
    events.dedup();
    events
}
