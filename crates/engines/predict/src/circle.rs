//! "There is a cycle whatever we do", for one order of versions, as clauses.
//!
//! A run is forbidden if every order of versions makes a cycle. Each order that we meet gives one such constraint: some
//! set of transactions is not empty, and each of them has a successor in it. No ranks are needed: a finite set in which
//! everybody has a successor has a cycle. The constraint speaks of all runs at once: complete transactions stand in the
//! order; a transaction on the boundary that updates a key stands right after the version that it read, which is where
//! it must stand in every order that explains it; one that writes blindly has a place of its own.
//! Cost: clauses in proportion to choices and writes.
//!
//! Too many edges only make a constraint weaker, too few would make "none" wrong.

use crate::frame::Frame;
use crate::trace::{INITIAL, Key, Trace, Txn};
use iso_solve::{Lit, SatSolver};
use iso_spec::Level;
use rustc_hash::FxHashMap;

/// An order of all versions of all runs.
#[derive(Clone, Debug)]
pub(crate) struct VersionOrder {
    /// By transaction, its place if it is complete.
    pub(crate) places: Vec<u32>,
    /// After how many complete versions of the key a blind write on the boundary stands; at the end if not said.
    pub(crate) blind: FxHashMap<(Txn, Key), usize>,
}

impl VersionOrder {
    /// The order of the observed run.
    pub(crate) fn observed(trace: &Trace) -> Self {
        Self { places: trace.txns().collect(), blind: FxHashMap::default() }
    }
}

/// Adds the clauses that the run has a cycle that the target forbids, if versions are in that order.
///
/// For targets other than serializability, snapshot isolation and prefix consistency, it is any cycle.
pub(crate) fn demand(trace: &Trace, frame: &Frame, target: Level, order: &VersionOrder, solver: &mut impl SatSolver) {
    let shape = match target {
        Level::SnapshotIsolation => Shape::Snapshots,
        Level::PrefixConsistency => Shape::Prefixes,
        _ => Shape::Plain,
    };
    let mut demand = Demand::new(trace, frame, shape, solver);
    for key in 0..trace.writers.len() {
        if !trace.writers[key].is_empty() {
            demand.add_key(key as Key, order, solver);
        }
    }
    demand.add_causes(solver);
    demand.finish(solver);
}

/// What a transaction is in the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// One node.
    Plain,
    /// A snapshot and a commit; a version is committed before the snapshot of who overwrites it.
    Snapshots,
    /// A snapshot and a commit; a version is committed before the commit of who overwrites it.
    Prefixes,
}

struct Demand<'a> {
    trace: &'a Trace,
    frame: &'a Frame,
    shape: Shape,
    /// By transaction, whether its snapshot is on the cycle. The same as `ends` if it is one node.
    starts: Vec<Lit>,
    /// By transaction, whether its commit is.
    ends: Vec<Lit>,
    /// By transaction, what may follow its snapshot, and what its commit.
    after_start: Vec<Vec<Lit>>,
    after_end: Vec<Vec<Lit>>,
}

impl<'a> Demand<'a> {
    fn new(trace: &'a Trace, frame: &'a Frame, shape: Shape, solver: &mut impl SatSolver) -> Self {
        let starts: Vec<Lit> = trace.txns().map(|_| solver.new_var().positive()).collect();
        let ends = match shape {
            Shape::Plain => starts.clone(),
            _ => trace.txns().map(|_| solver.new_var().positive()).collect(),
        };
        let none = vec![Vec::new(); trace.n_txns()];
        Self { trace, frame, shape, starts, ends, after_start: none.clone(), after_end: none }
    }

    /// True only if both are.
    fn both(condition: Lit, then: Lit, solver: &mut impl SatSolver) -> Lit {
        let both = solver.new_var().positive();
        solver.add_clause(&[!both, condition]);
        solver.add_clause(&[!both, then]);
        both
    }

    /// True only if one is. Nothing if there are none.
    fn any(lits: &[Lit], solver: &mut impl SatSolver) -> Option<Lit> {
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

    fn add_causes(&mut self, solver: &mut impl SatSolver) {
        for txn in self.trace.txns() {
            if let Some(next) = self.trace.after_in_session(txn) {
                self.after_end[txn as usize].push(self.starts[next as usize]);
            }
            for (read, spot) in self.trace.reads[txn as usize].iter().zip(&self.frame.spots[txn as usize]) {
                if read.source != INITIAL {
                    let observed = std::iter::once(self.frame.complete[txn as usize]).chain(spot.kept);
                    for because in observed {
                        self.add_read(read.source, txn, because, solver);
                    }
                }
                for choice in spot.choices.iter().filter(|it| it.writer != INITIAL) {
                    self.add_read(choice.writer, txn, choice.lit, solver);
                }
            }
        }
    }

    fn add_read(&mut self, writer: Txn, reader: Txn, because: Lit, solver: &mut impl SatSolver) {
        let edge = Self::both(because, self.starts[reader as usize], solver);
        self.after_end[writer as usize].push(edge);
    }

    /// Edges to who overwrites, for one key.
    fn add_key(&mut self, key: Key, order: &VersionOrder, solver: &mut impl SatSolver) {
        let line = Line::new(self, key, order);
        let ends = self.ends.clone();
        let for_readers = Chain::new(self, &line, &ends, solver);
        let for_writers = match self.shape {
            Shape::Snapshots => {
                let starts = self.starts.clone();
                Chain::new(self, &line, &starts, solver)
            }
            Shape::Plain | Shape::Prefixes => for_readers.clone(),
        };
        for (nth, writer) in line.writers.iter().enumerate() {
            if let Some(then) = for_writers.after(nth + 1, solver) {
                let edge = Self::both(self.frame.complete[*writer as usize], then, solver);
                self.after_end[*writer as usize].push(edge);
            }
        }
        for (group, members) in line.updates.iter().enumerate() {
            for (nth, member) in members.iter().enumerate() {
                for (chain, is_read) in [(&for_readers, true), (&for_writers, false)] {
                    let Some(then) = chain.after_update(group, nth, solver) else { continue };
                    let edge = Self::both(member.because, then, solver);
                    let list = if is_read { &mut self.after_start } else { &mut self.after_end };
                    list[member.txn as usize].push(edge);
                }
            }
        }
        for (group, members) in line.blind.iter().enumerate() {
            for (nth, member) in members.iter().enumerate() {
                let Some(then) = for_writers.after_blind(group, nth, solver) else { continue };
                let edge = Self::both(member.because, then, solver);
                self.after_end[member.txn as usize].push(edge);
            }
        }
        for txn in self.trace.txns() {
            self.add_reads(key, txn, &line, &for_readers, solver);
        }
    }

    /// Edges from a transaction's reads of the key to who overwrites what they saw.
    fn add_reads(&mut self, key: Key, txn: Txn, line: &Line, chain: &Chain, solver: &mut impl SatSolver) {
        let updating = Frame::updating_read(self.trace, txn, key).filter(|_| self.trace.write(txn, key).is_some());
        let cut_write = self.frame.cut_write(self.trace, txn, key);
        let reads = self.trace.reads[txn as usize].iter().zip(&self.frame.spots[txn as usize]).enumerate();
        for (nth, (read, spot)) in reads.filter(|it| it.1.0.key == Some(key)) {
            let group = line.group_of(read.source);
            if let Some(then) = chain.after_complete_read(group, line.slots.get(&txn).copied(), solver) {
                let edge = Self::both(self.frame.complete[txn as usize], then, solver);
                self.after_start[txn as usize].push(edge);
            }
            let is_updating = updating == Some(nth);
            if let Some(kept) = spot.kept
                && let Some(then) = chain.after(group, solver)
            {
                let edge = Self::both(kept, then, solver);
                // Where the write is kept as well, it stands in the line and has an edge of its own.
                if let Some(write) = cut_write.filter(|_| is_updating) {
                    solver.add_clause(&[!edge, !write]);
                }
                self.after_start[txn as usize].push(edge);
            }
            for choice in &spot.choices {
                let is_in_line = is_updating && cut_write.is_some() && spot.kept.is_none() && self.is_relaxed();
                if is_in_line {
                    continue;
                }
                if let Some(then) = chain.after(line.group_of(choice.writer), solver) {
                    let edge = Self::both(choice.lit, then, solver);
                    self.after_start[txn as usize].push(edge);
                }
            }
        }
    }

    fn is_relaxed(&self) -> bool {
        self.frame.boundary() == crate::Boundary::Relaxed
    }

    fn finish(self, solver: &mut impl SatSolver) {
        for txn in self.trace.txns() {
            let idx = txn as usize;
            let mut is_there = vec![!self.starts[idx], self.frame.complete[idx]];
            is_there.extend(self.frame.cut[idx]);
            solver.add_clause(&is_there);
            if self.shape == Shape::Plain {
                let mut follows = vec![!self.starts[idx]];
                follows.extend(&self.after_start[idx]);
                follows.extend(&self.after_end[idx]);
                solver.add_clause(&follows);
            } else {
                is_there[0] = !self.ends[idx];
                solver.add_clause(&is_there);
                let mut follows = vec![!self.starts[idx], self.ends[idx]];
                follows.extend(&self.after_start[idx]);
                solver.add_clause(&follows);
                let mut follows = vec![!self.ends[idx]];
                follows.extend(&self.after_end[idx]);
                solver.add_clause(&follows);
            }
        }
        solver.add_clause(&self.ends);
    }
}

/// A write on the boundary.
#[derive(Clone, Copy, Debug)]
struct Member {
    txn: Txn,
    because: Lit,
}

/// All versions of a key in their order: what was there before, then each complete version, and after each of them a
/// group: first the updates of that version on the boundary, in no order, then blind writes, one after the other.
struct Line {
    /// Complete versions; the one at a place is followed by the group of the next place.
    writers: Vec<Txn>,
    slots: FxHashMap<Txn, usize>,
    updates: Vec<Vec<Member>>,
    blind: Vec<Vec<Member>>,
}

impl Line {
    fn new(demand: &Demand<'_>, key: Key, order: &VersionOrder) -> Self {
        let (trace, frame) = (demand.trace, demand.frame);
        let mut writers = trace.writers[key as usize].clone();
        writers.sort_unstable_by_key(|it| order.places[*it as usize]);
        let slots = writers.iter().enumerate().map(|(slot, txn)| (*txn, slot)).collect();
        let n_groups = writers.len() + 1;
        let mut line = Self { writers, slots, updates: vec![Vec::new(); n_groups], blind: vec![Vec::new(); n_groups] };
        for txn in &trace.writers[key as usize] {
            let Some(because) = frame.cut_write(trace, *txn, key) else { continue };
            match Frame::updating_read(trace, *txn, key) {
                None => {
                    let group = order.blind.get(&(*txn, key)).copied().unwrap_or(n_groups - 1);
                    line.blind[group].push(Member { txn: *txn, because });
                }
                Some(_) if !demand.is_relaxed() => {
                    let read = Frame::updating_read(trace, *txn, key).map(|nth| trace.reads[*txn as usize][nth]);
                    let group = line.group_of(read.map_or(INITIAL, |it| it.source));
                    line.updates[group].push(Member { txn: *txn, because });
                }
                Some(nth) => {
                    for choice in &frame.spots[*txn as usize][nth].choices {
                        let group = line.group_of(choice.writer);
                        line.updates[group].push(Member { txn: *txn, because: choice.lit });
                    }
                }
            }
        }
        line
    }

    /// The group after a version.
    fn group_of(&self, writer: Txn) -> usize {
        if writer == INITIAL { 0 } else { self.slots[&writer] + 1 }
    }
}

/// Literals that say that somebody later in a line is on the cycle, by one of their nodes.
#[derive(Clone, Debug)]
struct Chain {
    /// By group, its updates, each with the literal that it is there and on the cycle.
    updates: Vec<Vec<Lit>>,
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
    fn new(demand: &Demand<'_>, line: &Line, nodes: &[Lit], solver: &mut impl SatSolver) -> Self {
        let n_groups = line.updates.len();
        let member = |it: &Member, solver: &mut _| Demand::both(it.because, nodes[it.txn as usize], solver);
        let mut chain = Self {
            updates: Vec::new(),
            blind: Vec::new(),
            next: Vec::new(),
            rest: vec![None; n_groups],
            any_update: Vec::new(),
            all: vec![None; n_groups],
            around: Vec::new(),
        };
        for group in 0..n_groups {
            let updates: Vec<Lit> = line.updates[group].iter().map(|it| member(it, solver)).collect();
            chain.any_update.push(Demand::any(&updates, solver));
            chain.around.push(around(&updates, solver));
            chain.updates.push(updates);
            let mut blind = vec![None; line.blind[group].len() + 1];
            for (nth, it) in line.blind[group].iter().enumerate().rev() {
                let here = member(it, solver);
                let lits: Vec<Lit> = std::iter::once(here).chain(blind[nth + 1]).collect();
                blind[nth] = Demand::any(&lits, solver);
            }
            chain.blind.push(blind);
            let complete = |txn: &Txn| Member { txn: *txn, because: demand.frame.complete[*txn as usize] };
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
    fn after(&self, group: usize, _solver: &mut impl SatSolver) -> Option<Lit> {
        self.all[group]
    }

    /// Somebody after an update of the group; other updates of the same version are before and after it.
    fn after_update(&self, group: usize, nth: usize, solver: &mut impl SatSolver) -> Option<Lit> {
        let [before, after] = self.around[group][nth];
        any_of(&[before, after, self.blind[group][0], self.next[group], self.rest[group]], solver)
    }

    /// Somebody after a blind write of the group.
    fn after_blind(&self, group: usize, nth: usize, solver: &mut impl SatSolver) -> Option<Lit> {
        any_of(&[self.blind[group][nth + 1], self.next[group], self.rest[group]], solver)
    }

    /// Somebody after the version that a complete transaction read. What follows its own version is an edge of that.
    fn after_complete_read(&self, group: usize, own: Option<usize>, solver: &mut impl SatSolver) -> Option<Lit> {
        let Some(own) = own.filter(|it| *it >= group) else { return self.all[group] };
        let mut parts = Vec::new();
        for between in group..=own {
            parts.extend([self.any_update[between], self.blind[between][0]]);
            parts.extend((between < own).then_some(self.next[between]));
        }
        any_of(&parts, solver)
    }
}

fn any_of(parts: &[Option<Lit>], solver: &mut impl SatSolver) -> Option<Lit> {
    let lits: Vec<Lit> = parts.iter().copied().flatten().collect();
    Demand::any(&lits, solver)
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
