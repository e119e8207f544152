//! All versions of a key in one order, and the literals that somebody later in it is on the cycle.

use crate::Boundary;
use crate::cycle::VersionOrder;
use crate::frame::Frame;
use crate::trace::{INITIAL, Key, Trace, TxnIdx};
use iso_solve::{Lit, SatSolver};
use rustc_hash::FxHashMap;

/// What makes a transaction do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum When {
    /// It is complete.
    Complete,
    /// The read at the first place reads from its choice at the second.
    Choice(usize, usize),
    /// Strictly: it is cut at the read at that place or later. Relaxed: it is on the boundary.
    Reached(usize),
}

impl When {
    /// What says so; nothing if it never holds.
    pub(crate) fn literal(self, frame: &Frame, txn: TxnIdx) -> Option<Lit> {
        let idx = txn as usize;
        match self {
            Self::Complete => Some(frame.complete[idx]),
            Self::Choice(nth, choice) => Some(frame.spots[idx][nth].choices[choice].lit),
            Self::Reached(nth) => frame.reached(txn, nth),
        }
    }
}

/// A transaction's node: all of it, its snapshot or its commit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) txn: TxnIdx,
    /// Whether it is on the cycle.
    pub(crate) lit: Lit,
}

/// A write on the boundary, or of a complete transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) txn: TxnIdx,
    pub(crate) when: When,
}

/// Where a transaction on the boundary that reads and writes a key may stand: right after the version that it read first.
/// Each with the reason why it stands there.
pub(crate) fn stands_after(trace: &Trace, frame: &Frame, key: Key, txn: TxnIdx) -> Vec<(TxnIdx, When)> {
    let read = trace.reads[txn as usize].iter().position(|it| it.key == Some(key));
    match (read, frame.kept_write(trace, txn, key), frame.boundary()) {
        (None, _, _) | (_, None, _) => Vec::new(),
        (Some(nth), Some(from), Boundary::Strict | Boundary::StrictEvents) => {
            vec![(trace.reads[txn as usize][nth].source, When::Reached(from))]
        }
        (Some(nth), Some(_), Boundary::Relaxed) => {
            let choices = frame.spots[txn as usize][nth].choices.iter().enumerate();
            choices.map(|(choice, it)| (it.writer, When::Choice(nth, choice))).collect()
        }
    }
}

/// All versions of a key in their order: what was there before, then each complete version, and after each of them a
/// group: first the updates of that version on the boundary, in no order, then blind writes, one after the other.
pub(crate) struct Line {
    /// Complete versions; the one at a place is followed by the group of the next place.
    pub(crate) writers: Vec<TxnIdx>,
    slots: FxHashMap<TxnIdx, usize>,
    pub(crate) updates: Vec<Vec<Member>>,
    pub(crate) blind: Vec<Vec<Member>>,
}

impl Line {
    pub(crate) fn new(trace: &Trace, frame: &Frame, key: Key, order: &VersionOrder) -> Self {
        let mut writers = trace.writers[key as usize].clone();
        writers.sort_unstable_by_key(|it| order.places[*it as usize]);
        let slots = writers.iter().enumerate().map(|(slot, txn)| (*txn, slot)).collect();
        let n_groups = writers.len() + 1;
        let mut line = Self { writers, slots, updates: vec![Vec::new(); n_groups], blind: vec![Vec::new(); n_groups] };
        for txn in &trace.writers[key as usize] {
            let Some(from) = frame.kept_write(trace, *txn, key) else { continue };
            let stands = stands_after(trace, frame, key, *txn);
            for (writer, when) in &stands {
                let group = line.group_of(*writer);
                line.updates[group].push(Member { txn: *txn, when: *when });
            }
            if stands.is_empty() {
                let group = order.blind.get(&(*txn, key)).copied().unwrap_or(n_groups - 1);
                line.blind[group].push(Member { txn: *txn, when: When::Reached(from) });
            }
        }
        line
    }

    /// The group after a version.
    pub(crate) fn group_of(&self, writer: TxnIdx) -> usize {
        if writer == INITIAL { 0 } else { self.slots[&writer] + 1 }
    }
}

/// Literals that say that somebody later in a line is on the cycle, by one of their nodes.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    /// By group and blind write, that it or a later one of the group is on the cycle; one more at the end, nothing.
    blind: Vec<Vec<Option<Lit>>>,
    /// By group, that its complete version after the group is on the cycle.
    next: Vec<Option<Lit>>,
    /// By group, that something after the next complete version is.
    rest: Vec<Option<Lit>>,
    /// By group, that one of its updates is.
    any_update: Vec<Option<Lit>>,
    /// By group, that something in it or after it is.
    all: Vec<Option<Lit>>,
    /// By group and update, that one before it in its group is, and that one after it is.
    around: Vec<Vec<[Option<Lit>; 2]>>,
}

impl Chain {
    /// `entry` gives the literal that a transaction is on the cycle for a reason.
    pub(crate) fn new<S: SatSolver>(
        line: &Line,
        entry: &mut impl FnMut(TxnIdx, When, &mut S) -> Lit,
        solver: &mut S,
    ) -> Self {
        let n_groups = line.updates.len();
        let mut member = |it: &Member, solver: &mut S| entry(it.txn, it.when, solver);
        let mut chain = Self {
            blind: Vec::new(),
            next: Vec::new(),
            rest: vec![None; n_groups],
            any_update: Vec::new(),
            all: vec![None; n_groups],
            around: Vec::new(),
        };
        for group in 0..n_groups {
            let updates: Vec<Lit> = line.updates[group].iter().map(|it| member(it, solver)).collect();
            chain.any_update.push(any(&updates, solver));
            chain.around.push(around(&updates, solver));
            let mut blind = vec![None; line.blind[group].len() + 1];
            for (nth, it) in line.blind[group].iter().enumerate().rev() {
                let here = member(it, solver);
                blind[nth] = any_of(&[Some(here), blind[nth + 1]], solver);
            }
            chain.blind.push(blind);
            let complete = |txn: &TxnIdx| Member { txn: *txn, when: When::Complete };
            chain.next.push(line.writers.get(group).map(complete).map(|it| member(&it, solver)));
        }
        for group in (0..n_groups).rev() {
            chain.rest[group] = chain.all.get(group + 1).copied().flatten();
            let parts = [chain.any_update[group], chain.blind[group][0], chain.next[group], chain.rest[group]];
            chain.all[group] = any_of(&parts, solver);
        }
        chain
    }

    /// Somebody after the version that the group follows.
    pub(crate) fn after(&self, group: usize) -> Option<Lit> {
        self.all[group]
    }

    /// Somebody after an update of the group; other updates of the same version are before and after it.
    pub(crate) fn after_update(
        &self,
        trace: &Trace,
        line: &Line,
        group: usize,
        nth: usize,
        solver: &mut impl SatSolver,
    ) -> Option<Lit> {
        let [before, after] = self.around[group][nth];
        let mut parts = vec![before, after, self.blind[group][0]];
        self.add_later(trace, line, group, line.updates[group][nth].txn, &mut parts);
        any_of(&parts, solver)
    }

    /// Somebody after the version that a transaction on the boundary read.
    pub(crate) fn after_cut_read(
        &self,
        trace: &Trace,
        line: &Line,
        group: usize,
        reader: TxnIdx,
        solver: &mut impl SatSolver,
    ) -> Option<Lit> {
        let mut parts = vec![self.any_update[group], self.blind[group][0]];
        self.add_later(trace, line, group, reader, &mut parts);
        any_of(&parts, solver)
    }

    /// Somebody after a group. Whoever was observed after a transaction on the boundary is not there with it.
    fn add_later(&self, trace: &Trace, line: &Line, group: usize, cut: TxnIdx, parts: &mut Vec<Option<Lit>>) {
        let mut slot = group;
        while line.writers.get(slot).is_some_and(|it| trace.is_in_past(cut, *it)) {
            slot += 1;
            parts.push(self.blind[slot][0]);
        }
        parts.extend([self.next[slot], self.rest[slot]]);
    }

    /// Somebody after a blind write of the group.
    pub(crate) fn after_blind(&self, group: usize, nth: usize, solver: &mut impl SatSolver) -> Option<Lit> {
        any_of(&[self.blind[group][nth + 1], self.next[group], self.rest[group]], solver)
    }

    /// Somebody after the version that a complete transaction read. What follows its own version is a step of that, and
    /// it is not on the boundary itself.
    pub(crate) fn after_complete_read(
        &self,
        line: &Line,
        group: usize,
        reader: TxnIdx,
        solver: &mut impl SatSolver,
    ) -> Option<Lit> {
        let own = line.slots.get(&reader).copied();
        let Some(own) = own.filter(|it| *it >= group) else { return self.all[group] };
        let mut parts = Vec::new();
        for between in group..=own {
            match line.updates[between].iter().position(|it| it.txn == reader) {
                Some(nth) => parts.extend(self.around[between][nth]),
                None => parts.push(self.any_update[between]),
            }
            parts.push(self.blind[between][0]);
            parts.extend((between < own).then_some(self.next[between]));
        }
        any_of(&parts, solver)
    }
}

fn any_of(parts: &[Option<Lit>], solver: &mut impl SatSolver) -> Option<Lit> {
    let lits: Vec<Lit> = parts.iter().copied().flatten().collect();
    any(&lits, solver)
}

/// For each, that one before it is true, and that one after it is.
fn around(lits: &[Lit], solver: &mut impl SatSolver) -> Vec<[Option<Lit>; 2]> {
    let mut around = vec![[None; 2]; lits.len()];
    for nth in 1..lits.len() {
        around[nth][0] = any_of(&[around[nth - 1][0], Some(lits[nth - 1])], solver);
    }
    for nth in (0..lits.len().saturating_sub(1)).rev() {
        around[nth][1] = any_of(&[around[nth + 1][1], Some(lits[nth + 1])], solver);
    }
    around
}

/// True only if both are.
pub(crate) fn both(condition: Lit, then: Lit, solver: &mut impl SatSolver) -> Lit {
    let both = solver.new_var().positive();
    solver.add_clause(&[!both, condition]);
    solver.add_clause(&[!both, then]);
    both
}

/// True only if one is. Nothing if there are none.
pub(crate) fn any(lits: &[Lit], solver: &mut impl SatSolver) -> Option<Lit> {
    match lits {
        [] => None,
        [one] => Some(*one),
        _ => {
            let any = solver.new_var().positive();
            let mut clause = vec![!any];
            clause.extend(lits);
            solver.add_clause(&clause);
            Some(any)
        }
    }
}
