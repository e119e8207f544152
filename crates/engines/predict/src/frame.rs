//! Which runs are possible at all, as clauses: where each session stops, and what reads on its boundary see.
//!
//! A transaction is complete, on the boundary, or out. Nothing that is kept reads from a transaction on the boundary, so
//! what happens before a complete transaction is what was observed, a constant. A prediction is therefore fixed by who
//! is complete and what each read on the boundary sees.

use crate::Boundary;
use crate::trace::{INITIAL, Key, Read, Sees, Trace, TxnIdx};
use iso_history::Snapshots;
use iso_solve::{Lit, SatSolver};
use iso_spec::Level;
use rustc_hash::FxHashMap;

/// The literals that say which run it is. Frames of one trace and question have the same literals in each new solver.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    boundary: Boundary,
    /// By transaction: all of it is there, as observed.
    pub(crate) complete: Vec<Lit>,
    /// By transaction: it is on the boundary. Nothing for those that have no read that may change.
    pub(crate) cut: Vec<Option<Lit>>,
    /// By transaction and read.
    pub(crate) spots: Vec<Vec<Spot>>,
    /// By choice.
    writers: FxHashMap<Lit, TxnIdx>,
}

/// A read in the frame.
#[derive(Clone, Debug)]
pub(crate) struct Spot {
    pub(crate) key: Option<Key>,
    /// Who it may read from, if its transaction is on the boundary; strictly, if it is cut right here, and never who it
    /// was observed to read from.
    pub(crate) choices: Vec<Choice>,
    /// Its transaction is on the boundary, and it reads what was observed because it is before the cut.
    /// Nothing under a relaxed boundary.
    pub(crate) kept: Option<Lit>,
}

/// A read may read from this transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    pub(crate) writer: TxnIdx,
    pub(crate) lit: Lit,
}

impl Frame {
    /// Makes the literals and their clauses in a new solver. Choices that the level forbids at once are left out.
    pub(crate) fn new(trace: &Trace, level: Level, boundary: Boundary, solver: &mut impl SatSolver) -> Self {
        let mut frame = Self {
            boundary,
            complete: trace.txns().map(|_| solver.new_var().positive()).collect(),
            cut: Vec::new(),
            spots: Vec::new(),
            writers: FxHashMap::default(),
        };
        for txn in trace.txns() {
            frame.add_cut(trace, level, txn, solver);
            frame.close(trace, txn, solver);
        }
        frame
    }

    fn add_cut(&mut self, trace: &Trace, level: Level, txn: TxnIdx, solver: &mut impl SatSolver) {
        let mut spots = Vec::new();
        for (nth, read) in trace.reads[txn as usize].iter().enumerate() {
            let mut writers = match read.key {
                None => Vec::new(),
                Some(key) => candidates(trace, level, self.boundary, txn, nth, key),
            };
            // A session ends because a read changed, or not at all: what it would do next is known as long as none has.
            writers.retain(|it| self.boundary == Boundary::Relaxed || *it != read.source);
            if level.snapshots().is_some() && read.sees == Sees::NoRow {
                // Who would find a row does not make one.
                writers.retain(|it| *it == read.source);
            }
            let choices = writers.into_iter().map(|writer| Choice { writer, lit: solver.new_var().positive() });
            spots.push(Spot { key: read.key, choices: choices.collect(), kept: None });
        }
        let changes = changes(trace, txn, &spots);
        let cut = (!changes.is_empty()).then(|| solver.new_var().positive());
        if let Some(cut) = cut {
            match self.boundary {
                Boundary::Strict | Boundary::StrictEvents => cut_at_one(&mut spots, cut, solver),
                Boundary::Relaxed => choose_everywhere(&spots, cut, &changes, solver),
            }
            self.close_cut(trace, txn, cut, &spots, solver);
        } else {
            for spot in &mut spots {
                spot.choices.clear();
            }
        }
        let choices = spots.iter().flat_map(|it| &it.choices).filter(|it| it.writer != INITIAL);
        self.writers.extend(choices.map(|it| (it.lit, it.writer)));
        self.cut.push(cut);
        self.spots.push(spots);
    }

    /// Whoever is read from is complete.
    fn close_cut(&self, trace: &Trace, txn: TxnIdx, cut: Lit, spots: &[Spot], solver: &mut impl SatSolver) {
        solver.add_clause(&[!cut, !self.complete[txn as usize]]);
        if let Some(before) = trace.before_in_session(txn) {
            solver.add_clause(&[!cut, self.complete[before as usize]]);
        }
        for (spot, read) in spots.iter().zip(&trace.reads[txn as usize]) {
            for choice in spot.choices.iter().filter(|it| it.writer != INITIAL) {
                solver.add_clause(&[!choice.lit, self.complete[choice.writer as usize]]);
            }
            if let Some(kept) = spot.kept.filter(|_| read.source != INITIAL) {
                solver.add_clause(&[!kept, self.complete[read.source as usize]]);
            }
        }
    }

    fn close(&self, trace: &Trace, txn: TxnIdx, solver: &mut impl SatSolver) {
        let sources = trace.reads[txn as usize].iter().map(|it| it.source).filter(|it| *it != INITIAL);
        let mut causes: Vec<TxnIdx> = sources.chain(trace.before_in_session(txn)).collect();
        causes.sort_unstable();
        causes.dedup();
        for cause in causes {
            solver.add_clause(&[!self.complete[txn as usize], self.complete[cause as usize]]);
        }
    }

    /// The transaction that is complete if the literal is true.
    pub(crate) fn complete_txn(&self, lit: Lit) -> Option<TxnIdx> {
        let idx = lit.var().index();
        (idx < self.complete.len() && !lit.is_negative()).then_some(idx as TxnIdx)
    }

    /// The transaction that a choice reads from.
    pub(crate) fn writer_of(&self, lit: Lit) -> Option<TxnIdx> {
        self.writers.get(&lit).copied()
    }

    pub(crate) fn boundary(&self) -> Boundary {
        self.boundary
    }

    /// True if the transaction is on the boundary and its writes of the key are kept; nothing if they never are.
    pub(crate) fn cut_write(&self, trace: &Trace, txn: TxnIdx, key: Key) -> Option<Lit> {
        self.reached(txn, self.kept_write(trace, txn, key)?)
    }

    /// The first read at which the transaction may be cut without losing its writes of the key; nothing if there is none.
    pub(crate) fn kept_write(&self, trace: &Trace, txn: TxnIdx, key: Key) -> Option<usize> {
        let write = trace.write(txn, key)?;
        let from = match self.boundary {
            Boundary::Relaxed => 0,
            Boundary::Strict | Boundary::StrictEvents => {
                trace.reads[txn as usize].partition_point(|it| it.op < write.op)
            }
        };
        self.reached(txn, from).map(|_| from)
    }

    /// Strictly: true if the transaction is cut at that read or later; nothing if it cannot. Relaxed, with 0: true if it
    /// is on the boundary.
    pub(crate) fn reached(&self, txn: TxnIdx, nth: usize) -> Option<Lit> {
        match nth.checked_sub(1) {
            None => self.cut[txn as usize],
            Some(before) => self.spots[txn as usize].get(before).and_then(|it| it.kept),
        }
    }
}

/// Exactly one choice is true if the transaction is on the boundary; reads before it are kept.
fn cut_at_one(spots: &mut [Spot], cut: Lit, solver: &mut impl SatSolver) {
    let mut later: Option<Lit> = None;
    for spot in spots.iter_mut().rev() {
        spot.kept = later;
        let mut here: Vec<Lit> = spot.choices.iter().map(|it| it.lit).collect();
        here.extend(later);
        if spot.choices.is_empty() {
            continue;
        }
        // From here on: one of these, and only one.
        let reached = solver.new_var().positive();
        exactly_one_if(reached, &here, solver);
        later = Some(reached);
    }
    match later {
        Some(reached) => {
            solver.add_clause(&[!reached, cut]);
            solver.add_clause(&[!cut, reached]);
        }
        None => solver.add_clause(&[!cut]),
    }
}

/// Each read has exactly one writer if the transaction is on the boundary, and one of them is another than observed.
fn choose_everywhere(spots: &[Spot], cut: Lit, changes: &[Lit], solver: &mut impl SatSolver) {
    let mut one_changes = vec![!cut];
    one_changes.extend(changes);
    solver.add_clause(&one_changes);
    for spot in spots.iter().filter(|it| it.key.is_some()) {
        let lits: Vec<Lit> = spot.choices.iter().map(|it| it.lit).collect();
        exactly_one_if(cut, &lits, solver);
    }
}

/// If `condition`, exactly one of `lits`, and none else.
fn exactly_one_if(condition: Lit, lits: &[Lit], solver: &mut impl SatSolver) {
    let mut some = vec![!condition];
    some.extend(lits);
    solver.add_clause(&some);
    for lit in lits {
        solver.add_clause(&[!*lit, condition]);
    }
    at_most_one(lits, solver);
}

/// Pairs if few, else a chain of "one of those before".
pub(crate) fn at_most_one(lits: &[Lit], solver: &mut impl SatSolver) {
    if lits.len() <= 5 {
        for (nth, left) in lits.iter().enumerate() {
            for right in &lits[nth + 1..] {
                solver.add_clause(&[!*left, !*right]);
            }
        }
        return;
    }
    let mut before = lits[0];
    for lit in &lits[1..] {
        let until = solver.new_var().positive();
        solver.add_clause(&[!*lit, !before]);
        solver.add_clause(&[!*lit, until]);
        solver.add_clause(&[!before, until]);
        before = until;
    }
}

/// The choices that differ from what was observed.
fn changes(trace: &Trace, txn: TxnIdx, spots: &[Spot]) -> Vec<Lit> {
    let reads = spots.iter().zip(&trace.reads[txn as usize]);
    let others = reads.flat_map(|(spot, read)| spot.choices.iter().filter(|it| it.writer != read.source));
    others.map(|it| it.lit).collect()
}

/// Who a read may read from, if it is on the boundary.
fn candidates(trace: &Trace, level: Level, boundary: Boundary, txn: TxnIdx, nth: usize, key: Key) -> Vec<TxnIdx> {
    let writers = &trace.writers[key as usize];
    let possible = writers.iter().copied().filter(|it| !trace.is_in_past(txn, *it));
    let past = Past { trace, level, boundary, txn, nth };
    std::iter::once(INITIAL).chain(possible).filter(|it| past.allows(key, *it)).collect()
}

/// What a transaction on the boundary has seen for sure when it comes to a read.
struct Past<'t> {
    trace: &'t Trace,
    level: Level,
    boundary: Boundary,
    txn: TxnIdx,
    nth: usize,
}

impl Past<'_> {
    /// Reads that are fixed before this one.
    fn fixed(&self) -> &[Read] {
        match self.boundary {
            Boundary::Strict | Boundary::StrictEvents => &self.trace.reads[self.txn as usize][..self.nth],
            Boundary::Relaxed => &[],
        }
    }

    /// Would a read from the writer contradict what was seen? Says no only if it is sure to.
    fn allows(&self, key: Key, writer: TxnIdx) -> bool {
        let later = |key: Key, than: TxnIdx| {
            let writers = self.trace.writers[key as usize].iter().copied();
            writers.filter(move |it| self.trace.happens_before(than, *it))
        };
        if later(key, writer).any(|it| self.sees(it)) {
            return false;
        }
        writer == INITIAL || self.level == Level::ReadCommitted || self.level.snapshots().is_some() || {
            let behind = |it: TxnIdx| self.is_shown_by(it, writer);
            !self.fixed().iter().any(|it| it.key.is_some_and(|key| later(key, it.source).any(behind)))
        }
    }

    fn sees(&self, other: TxnIdx) -> bool {
        let by_session = self.level != Level::ReadCommitted
            && self.trace.before_in_session(self.txn).is_some_and(|before| match self.level {
                Level::ReadAtomic => other == before || self.trace.is_session_ordered(other, before),
                _ => self.trace.is_in_past(other, before),
            });
        let bound = |it: &&Read| it.source != INITIAL && self.is_bound_by(it);
        by_session || self.fixed().iter().filter(bound).any(|it| self.is_shown_by(other, it.source))
    }

    /// Does an earlier read say what this one sees? What was locked says nothing of plain reads of the same statement, nor of a
    /// snapshot for all plain reads.
    fn is_bound_by(&self, earlier: &Read) -> bool {
        let Some(snapshots) = self.level.snapshots() else { return true };
        let read = &self.trace.reads[self.txn as usize][self.nth];
        let is_apart = snapshots == Snapshots::PerTransaction || earlier.statement == read.statement;
        earlier.sees == Sees::Snapshot || !(is_apart && read.sees == Sees::Snapshot)
    }

    /// Does who reads from `source` see `other`?
    fn is_shown_by(&self, other: TxnIdx, source: TxnIdx) -> bool {
        match self.level {
            Level::ReadCommitted | Level::ReadAtomic => other == source,
            _ => self.trace.is_in_past(other, source),
        }
    }
}
