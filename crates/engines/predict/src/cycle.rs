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

use crate::Boundary;
use crate::frame::Frame;
use crate::line::{Chain, Line, Node, When, any, both, stands_after};
use crate::trace::{INITIAL, Key, Trace, TxnIdx};
use iso_solve::{Lit, SatSolver};
use iso_spec::Level;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// An order of all versions of all runs.
#[derive(Clone, Debug)]
pub(crate) struct VersionOrder {
    /// By transaction, its place if it is complete.
    pub(crate) places: Vec<u32>,
    /// After how many complete versions of the key a blind write on the boundary stands; at the end if not said.
    pub(crate) blind: FxHashMap<(TxnIdx, Key), usize>,
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

/// A step of the cycle.
#[derive(Clone, Copy, Debug)]
struct CycleStep {
    /// Where it leads.
    then: Lit,
    /// It is no step if the transaction also does this.
    unless: Option<When>,
}

/// Steps by their reasons.
type CycleSteps = BTreeMap<When, Vec<CycleStep>>;

struct Demand<'a> {
    trace: &'a Trace,
    frame: &'a Frame,
    shape: Shape,
    /// By transaction, whether its snapshot is on the cycle. The same as `ends` if it is one node.
    starts: Vec<Lit>,
    /// By transaction, whether its commit is.
    ends: Vec<Lit>,
    /// By transaction, what may follow its snapshot, and what its commit.
    after_start: Vec<CycleSteps>,
    after_end: Vec<CycleSteps>,
    /// By node and reason, that the node is on the cycle and the reason holds. Nodes are taken apart by their reasons, so
    /// that what cannot lead back is seen without search.
    entries: FxHashMap<(Lit, Lit), (Lit, When)>,
}

impl<'a> Demand<'a> {
    fn new(trace: &'a Trace, frame: &'a Frame, shape: Shape, solver: &mut impl SatSolver) -> Self {
        let starts: Vec<Lit> = trace.txns().map(|_| solver.new_var().positive()).collect();
        let ends = match shape {
            Shape::Plain => starts.clone(),
            _ => trace.txns().map(|_| solver.new_var().positive()).collect(),
        };
        let none = vec![CycleSteps::new(); trace.n_txns()];
        Self {
            trace,
            frame,
            shape,
            starts,
            ends,
            after_start: none.clone(),
            after_end: none,
            entries: FxHashMap::default(),
        }
    }

    fn start(&self, txn: TxnIdx) -> Node {
        Node { txn, lit: self.starts[txn as usize] }
    }

    fn end(&self, txn: TxnIdx) -> Node {
        Node { txn, lit: self.ends[txn as usize] }
    }

    /// True only if the node is on the cycle and the reason holds.
    fn entry(&mut self, node: Node, when: When, solver: &mut impl SatSolver) -> Option<Lit> {
        let because = when.literal(self.frame, node.txn)?;
        let known = self.entries.entry((node.lit, because));
        Some(known.or_insert_with(|| (both(because, node.lit, solver), when)).0)
    }

    fn add_causes(&mut self, solver: &mut impl SatSolver) {
        let (trace, frame) = (self.trace, self.frame);
        for txn in trace.txns() {
            if let Some(next) = trace.after_in_session(txn) {
                let then = self.starts[next as usize];
                self.add_step_after_end(txn, When::Complete, then);
            }
            for (nth, (read, spot)) in trace.reads[txn as usize].iter().zip(&frame.spots[txn as usize]).enumerate() {
                self.add_read(read.source, txn, When::Complete, solver);
                if spot.kept.is_some() {
                    self.add_read(read.source, txn, When::Reached(nth + 1), solver);
                }
                for (choice, it) in spot.choices.iter().enumerate() {
                    self.add_read(it.writer, txn, When::Choice(nth, choice), solver);
                }
            }
        }
    }

    fn add_read(&mut self, writer: TxnIdx, reader: TxnIdx, when: When, solver: &mut impl SatSolver) {
        if writer != INITIAL
            && let Some(then) = self.entry(self.start(reader), when, solver)
        {
            self.add_step_after_end(writer, When::Complete, then);
        }
    }

    fn add_step_after_start(&mut self, txn: TxnIdx, when: When, step: CycleStep) {
        self.after_start[txn as usize].entry(when).or_default().push(step);
    }

    fn add_step_after_end(&mut self, txn: TxnIdx, when: When, then: Lit) {
        let steps = if self.shape == Shape::Plain { &mut self.after_start } else { &mut self.after_end };
        steps[txn as usize].entry(when).or_default().push(CycleStep { then, unless: None });
    }

    /// Steps to who overwrites, for one key.
    fn add_key(&mut self, key: Key, order: &VersionOrder, solver: &mut impl SatSolver) {
        let line = Line::new(self.trace, self.frame, key, order);
        let for_readers = self.chain(&line, Self::end, solver);
        let for_writers = match self.shape {
            Shape::Snapshots => self.chain(&line, Self::start, solver),
            Shape::Plain | Shape::Prefixes => for_readers.clone(),
        };
        for (nth, writer) in line.writers.iter().enumerate() {
            if let Some(then) = for_writers.after(nth + 1) {
                self.add_step_after_end(*writer, When::Complete, then);
            }
        }
        for (group, members) in line.updates.iter().enumerate() {
            for (nth, member) in members.iter().enumerate() {
                if let Some(then) = for_readers.after_update(self.trace, &line, group, nth, solver) {
                    self.add_step_after_start(member.txn, member.when, CycleStep { then, unless: None });
                }
                if self.shape != Shape::Plain
                    && let Some(then) = for_writers.after_update(self.trace, &line, group, nth, solver)
                {
                    self.add_step_after_end(member.txn, member.when, then);
                }
            }
        }
        for (group, members) in line.blind.iter().enumerate() {
            for (nth, member) in members.iter().enumerate() {
                if let Some(then) = for_writers.after_blind(group, nth, solver) {
                    self.add_step_after_end(member.txn, member.when, then);
                }
            }
        }
        for txn in self.trace.txns() {
            self.add_reads(key, txn, &line, &for_readers, solver);
        }
    }

    fn chain<S: SatSolver>(&mut self, line: &Line, node: fn(&Self, TxnIdx) -> Node, solver: &mut S) -> Chain {
        let mut entry = |txn, when, solver: &mut S| {
            let node = node(self, txn);
            self.entry(node, when, solver).expect("what is in line may be there")
        };
        Chain::new(line, &mut entry, solver)
    }

    /// Steps from a transaction's reads of the key to who overwrites what they saw.
    fn add_reads(&mut self, key: Key, txn: TxnIdx, line: &Line, chain: &Chain, solver: &mut impl SatSolver) {
        let (trace, frame) = (self.trace, self.frame);
        let stands = stands_after(trace, frame, key, txn);
        let reads = trace.reads[txn as usize].iter().zip(&frame.spots[txn as usize]).enumerate();
        for (nth, (read, spot)) in reads.filter(|it| it.1.0.key == Some(key)) {
            if let Some(then) = chain.after_complete_read(line, line.group_of(read.source), txn, solver) {
                self.add_step_after_start(txn, When::Complete, CycleStep { then, unless: None });
            }
            let kept = spot.kept.map(|_| (When::Reached(nth + 1), read.source));
            let choices = spot.choices.iter().enumerate();
            for (when, writer) in choices.map(|(at, it)| (When::Choice(nth, at), it.writer)).chain(kept) {
                // Where it also writes the key right after that version, it has the step of that write.
                let unless = stands.iter().find(|it| it.0 == writer).map(|it| it.1);
                if unless != Some(when)
                    && let Some(then) = chain.after_cut_read(trace, line, line.group_of(writer), txn, solver)
                {
                    self.add_step_after_start(txn, when, CycleStep { then, unless });
                }
            }
        }
    }

    fn finish(mut self, solver: &mut impl SatSolver) {
        for txn in self.trace.txns() {
            let steps = std::mem::take(&mut self.after_start[txn as usize]);
            let end = (self.shape != Shape::Plain).then(|| self.ends[txn as usize]);
            self.finish_node(self.start(txn), &steps, end, solver);
            if self.shape != Shape::Plain {
                let steps = std::mem::take(&mut self.after_end[txn as usize]);
                self.finish_node(self.end(txn), &steps, None, solver);
            }
        }
        solver.add_clause(&self.ends);
    }

    /// Whoever is on the cycle is there for a reason, and has a next step for the same reason.
    fn finish_node(&mut self, node: Node, steps: &CycleSteps, always: Option<Lit>, solver: &mut impl SatSolver) {
        let complete = self.entry(node, When::Complete, solver).expect("any transaction may be complete");
        let mut clause = vec![!complete];
        clause.extend(steps.get(&When::Complete).into_iter().flatten().map(|it| it.then).chain(always));
        solver.add_clause(&clause);
        let spots = &self.frame.spots[node.txn as usize];
        let mut entries: Vec<Vec<Lit>> = Vec::new();
        for (nth, spot) in spots.iter().enumerate() {
            let choices = (0..spot.choices.len()).map(|it| When::Choice(nth, it));
            entries.push(choices.filter_map(|it| self.entry(node, it, solver)).collect());
        }
        match self.frame.boundary() {
            Boundary::Strict | Boundary::StrictEvents => {
                self.finish_strict(node, complete, steps, always, &entries, solver);
            }
            Boundary::Relaxed => self.finish_relaxed(node, complete, steps, always, &entries, solver),
        }
    }

    fn finish_strict(
        &self,
        node: Node,
        complete: Lit,
        steps: &CycleSteps,
        always: Option<Lit>,
        entries: &[Vec<Lit>],
        solver: &mut impl SatSolver,
    ) {
        let mut somehow = vec![!node.lit, complete];
        somehow.extend(entries.iter().flatten());
        solver.add_clause(&somehow);
        for (nth, choices) in entries.iter().enumerate() {
            let holds = |when: &When| matches!(when, When::Reached(from) if *from <= nth);
            let before = steps.iter().filter(|it| holds(it.0)).flat_map(|it| it.1);
            let before: Vec<Lit> =
                before.filter(|it| !it.unless.is_some_and(|it| holds(&it))).map(|it| it.then).chain(always).collect();
            for (choice, entry) in choices.iter().enumerate() {
                let mut clause = vec![!*entry];
                clause.extend(steps.get(&When::Choice(nth, choice)).into_iter().flatten().map(|it| it.then));
                clause.extend(&before);
                solver.add_clause(&clause);
            }
        }
        // Entered because it was cut late enough: it was cut somewhere there.
        for nth in 0..entries.len() {
            let Some(entry) = self.entered(node, When::Reached(nth)) else { continue };
            let mut clause = vec![!entry];
            clause.extend(entries[nth..].iter().flatten());
            solver.add_clause(&clause);
        }
    }

    fn finish_relaxed(
        &self,
        node: Node,
        complete: Lit,
        steps: &CycleSteps,
        always: Option<Lit>,
        entries: &[Vec<Lit>],
        solver: &mut impl SatSolver,
    ) {
        let own = |when| steps.get(&when).into_iter().flatten();
        let blind: Vec<Lit> = own(When::Reached(0)).map(|it| it.then).chain(always).collect();
        let mut by_choice: Vec<Vec<Vec<Lit>>> = Vec::new();
        let mut by_read = Vec::new();
        for (nth, choices) in entries.iter().enumerate() {
            let mut followers = Vec::new();
            let mut leaving = Vec::new();
            for (choice, entry) in choices.iter().enumerate() {
                let then: Vec<Lit> =
                    own(When::Choice(nth, choice)).map(|it| self.conditional(node.txn, it, solver)).collect();
                leaving.extend(any(&then, solver).map(|it| both(*entry, it, solver)));
                followers.push(then);
            }
            by_choice.push(followers);
            by_read.push(any(&leaving, solver));
        }
        let cut = self.entered(node, When::Reached(0));
        for (nth, choices) in entries.iter().enumerate().filter(|it| !it.1.is_empty()) {
            for entered in [vec![!node.lit, complete]].into_iter().chain(cut.map(|it| vec![!it])) {
                let mut clause = entered;
                clause.extend(choices);
                solver.add_clause(&clause);
            }
            let others: Vec<Lit> = by_read.iter().enumerate().filter(|it| it.0 != nth).filter_map(|it| *it.1).collect();
            let elsewhere = any(&others, solver);
            for (entry, followers) in choices.iter().zip(&by_choice[nth]) {
                let mut clause = vec![!*entry];
                clause.extend(followers.iter().chain(&blind).copied().chain(elsewhere));
                solver.add_clause(&clause);
            }
        }
        if entries.iter().all(Vec::is_empty) {
            solver.add_clause(&[!node.lit, complete]);
        }
    }

    /// The step, if it is one.
    fn conditional(&self, txn: TxnIdx, step: &CycleStep, solver: &mut impl SatSolver) -> Lit {
        match step.unless.and_then(|it| it.literal(self.frame, txn)) {
            Some(unless) => both(!unless, step.then, solver),
            None => step.then,
        }
    }

    /// The literal of an entry that somebody uses.
    fn entered(&self, node: Node, when: When) -> Option<Lit> {
        let because = when.literal(self.frame, node.txn)?;
        self.entries.get(&(node.lit, because)).filter(|it| matches!(it.1, When::Reached(_))).map(|it| it.0)
    }
}
