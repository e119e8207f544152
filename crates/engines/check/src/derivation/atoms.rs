//! The atoms of a derivation, numbered as they come up.

use crate::rule::{Events, Node};
use iso_evidence::{Atom, Event, Literal};
use rustc_hash::FxHashMap;

#[derive(Debug, Default)]
pub(super) struct Atoms {
    pub(super) list: Vec<Atom>,
    places: FxHashMap<Atom, u32>,
}

impl Atoms {
    pub(super) fn literal(&mut self, atom: Atom) -> Literal {
        let next = self.list.len() as u32;
        let place = *self.places.entry(atom).or_insert(next);
        if place == next {
            self.list.push(atom);
        }
        Literal::new(place, true)
    }

    /// One event comes before the other: the negation says that the other one does.
    pub(super) fn before(&mut self, first: Event, second: Event) -> Literal {
        if first < second {
            self.literal(Atom::Before(first, second))
        } else {
            self.literal(Atom::Before(second, first)).negated()
        }
    }
}

/// The event of a node that is not on the time axis.
pub(super) fn event(events: Events, node: Node) -> Event {
    let txn = events.txn(node);
    if node == events.commit(txn) { Event::Commit(txn) } else { Event::Snapshot(txn) }
}
