//! One possible run, read from a model: who is there, what was read, and the literals that say so.

use crate::Boundary;
use crate::frame::Frame;
use crate::trace::{INITIAL, Key, Trace, TxnIdx};
use iso_solve::{Lit, SatSolver};
use rustc_hash::FxHashSet;

/// How much of a transaction is in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Out,
    Complete,
    /// On the boundary, up to and with that read.
    Cut(usize),
}

/// Which writes of a transaction on the boundary count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writes {
    /// Those before the cut.
    Kept,
    /// All that were observed: it will go on to write something like them.
    All,
}

/// A read of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) nth: usize,
    pub(crate) key: Key,
    pub(crate) source: TxnIdx,
    /// What says so.
    pub(crate) because: Lit,
}

/// A write of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    pub(crate) key: Key,
    /// What says so.
    pub(crate) because: Lit,
}

/// A possible run.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) roles: Vec<Role>,
    /// By transaction, in program order.
    pub(crate) reads: Vec<Vec<Seen>>,
    /// By transaction, by key.
    pub(crate) writes: Vec<Vec<Done>>,
    /// By key, who writes it, and what says so.
    pub(crate) writers: Vec<Vec<(TxnIdx, Lit)>>,
    is_strict: bool,
}

impl Run {
    /// The run of the solver's model.
    pub(crate) fn of_model(trace: &Trace, frame: &Frame, writes: Writes, solver: &impl SatSolver) -> Self {
        Self::new(trace, frame, writes, |lit| solver.value(lit))
    }

    /// The run in which exactly these literals of the frame are true.
    pub(crate) fn of_literals(trace: &Trace, frame: &Frame, writes: Writes, literals: &FxHashSet<Lit>) -> Self {
        Self::new(trace, frame, writes, |lit| literals.contains(&lit))
    }

    /// The same run with other writes.
    pub(crate) fn with(&self, trace: &Trace, frame: &Frame, writes: Writes) -> Self {
        let literals = self.literals(frame, trace).into_iter().collect();
        Self::of_literals(trace, frame, writes, &literals)
    }

    fn new(trace: &Trace, frame: &Frame, writes: Writes, is_true: impl Fn(Lit) -> bool) -> Self {
        let mut run = Self {
            roles: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            writers: vec![Vec::new(); trace.writers.len()],
            is_strict: frame.boundary() == Boundary::Strict,
        };
        for txn in trace.txns() {
            let idx = txn as usize;
            let role = role(frame, txn, &is_true);
            run.roles.push(role);
            run.reads.push(match role {
                Role::Out => Vec::new(),
                Role::Complete => observed(trace, txn, frame.complete[idx]),
                Role::Cut(_) => chosen(trace, frame, txn, &is_true),
            });
            let because = |key| match role {
                Role::Out => None,
                Role::Complete => Some(frame.complete[idx]),
                Role::Cut(_) if writes == Writes::All => frame.cut[idx],
                Role::Cut(_) => frame.cut_write(trace, txn, key).filter(|it| is_true(*it)),
            };
            let done = trace.writes[idx].iter();
            let done: Vec<Done> = done.filter_map(|it| Some(Done { key: it.key, because: because(it.key)? })).collect();
            for write in &done {
                run.writers[write.key as usize].push((txn, write.because));
            }
            run.writes.push(done);
        }
        run
    }

    pub(crate) fn is_in(&self, txn: TxnIdx) -> bool {
        self.roles[txn as usize] != Role::Out
    }

    /// If operations at the end of the transaction may be missing: its last read.
    pub(crate) fn last_read(&self, txn: TxnIdx) -> Option<usize> {
        match self.roles[txn as usize] {
            Role::Cut(nth) if self.is_strict => Some(nth),
            _ => None,
        }
    }

    /// The literal that says that the transaction is there.
    pub(crate) fn presence(&self, frame: &Frame, txn: TxnIdx) -> Option<Lit> {
        match self.roles[txn as usize] {
            Role::Out => None,
            Role::Complete => Some(frame.complete[txn as usize]),
            Role::Cut(_) => frame.cut[txn as usize],
        }
    }

    /// Everything that says which run it is.
    pub(crate) fn literals(&self, frame: &Frame, trace: &Trace) -> Vec<Lit> {
        let mut literals: Vec<Lit> = trace.txns().flat_map(|it| self.literals_of(frame, it)).collect();
        literals.sort_unstable();
        literals.dedup();
        literals
    }

    /// Everything that says how much of the transaction is there, and what it read.
    pub(crate) fn literals_of(&self, frame: &Frame, txn: TxnIdx) -> Vec<Lit> {
        let mut literals: Vec<Lit> = self.presence(frame, txn).into_iter().collect();
        if let Role::Cut(_) = self.roles[txn as usize] {
            literals.extend(self.reads[txn as usize].iter().map(|it| it.because));
            literals.extend(self.writes[txn as usize].iter().map(|it| it.because));
        }
        literals
    }
}

fn role(frame: &Frame, txn: TxnIdx, is_true: &impl Fn(Lit) -> bool) -> Role {
    let idx = txn as usize;
    if is_true(frame.complete[idx]) {
        return Role::Complete;
    }
    if !frame.cut[idx].is_some_and(is_true) {
        return Role::Out;
    }
    let spots = &frame.spots[idx];
    let last = spots.iter().rposition(|it| it.choices.iter().any(|it| is_true(it.lit)));
    Role::Cut(last.unwrap_or(0))
}

fn observed(trace: &Trace, txn: TxnIdx, because: Lit) -> Vec<Seen> {
    let reads = trace.reads[txn as usize].iter().enumerate();
    reads.filter_map(|(nth, it)| Some(Seen { nth, key: it.key?, source: it.source, because })).collect()
}

fn chosen(trace: &Trace, frame: &Frame, txn: TxnIdx, is_true: &impl Fn(Lit) -> bool) -> Vec<Seen> {
    let reads = trace.reads[txn as usize].iter().zip(&frame.spots[txn as usize]).enumerate();
    reads
        .filter_map(|(nth, (read, spot))| {
            let key = spot.key?;
            let choice = spot.choices.iter().find(|it| is_true(it.lit)).map(|it| (it.writer, it.lit));
            let kept = spot.kept.filter(|it| is_true(*it)).map(|it| (read.source, it));
            let (source, because) = choice.or(kept)?;
            debug_assert!(source == INITIAL || is_true(frame.complete[source as usize]), "writers are complete");
            Some(Seen { nth, key, source, because })
        })
        .collect()
}
