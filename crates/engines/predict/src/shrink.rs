//! The smallest part of a run that a level still forbids, with as few changes as possible.
//!
//! First only what the judge's reasons speak of and its past, then without each transaction that nobody reads from, then
//! with each changed read as it was observed. What the weaker level allows stays allowed in a part of the run.

use crate::frame::Frame;
use crate::judge::{Judge, Opinion};
use crate::level::Case;
use crate::run::{Role, Run, Writes};
use crate::trace::{INITIAL, Read, Trace, TxnIdx};
use iso_evidence::{Budget, StopReason};
use iso_solve::Lit;
use rustc_hash::FxHashSet;

/// Makes a forbidden run small.
pub(crate) struct Shrink<'a> {
    pub(crate) trace: &'a Trace,
    pub(crate) frame: &'a Frame,
    /// Of the level that must go on to allow the run, with these writes.
    pub(crate) allows: &'a mut Judge,
    pub(crate) writes: Writes,
    /// Of the level that must go on to forbid it.
    pub(crate) forbids: &'a mut Judge,
    pub(crate) budget: &'a Budget<'a>,
}

impl Shrink<'_> {
    /// A smaller run; `reasons` are literals of it that are forbidden together.
    pub(crate) fn smallest(&mut self, run: &Run, reasons: &FxHashSet<Lit>) -> Result<Run, StopReason> {
        let mut run = self.speaking(run, reasons);
        while let Some(smaller) = self.without_one(&run)? {
            run = smaller;
        }
        self.with_observed_reads(run)
    }

    /// Only the transactions that the literals speak of, and their past.
    fn speaking(&self, run: &Run, reasons: &FxHashSet<Lit>) -> Run {
        let speaks = |txn: &TxnIdx| run.literals_of(self.frame, *txn).iter().any(|it| reasons.contains(it));
        self.part(run, self.trace.txns().filter(speaks))
    }

    /// The run without one transaction that it does not need.
    fn without_one(&mut self, run: &Run) -> Result<Option<Run>, StopReason> {
        let tops: Vec<TxnIdx> = self.trace.txns().filter(|it| run.is_in(*it) && self.is_unread(run, *it)).collect();
        for top in tops.into_iter().rev() {
            let rest = self.part(run, self.trace.txns().filter(|it| *it != top && run.is_in(*it)));
            if let Some(reasons) = self.is_forbidden(&rest)? {
                return Ok(Some(self.speaking(&rest, &reasons)));
            }
        }
        Ok(None)
    }

    fn is_unread(&self, run: &Run, txn: TxnIdx) -> bool {
        let is_last = self.trace.after_in_session(txn).is_none_or(|it| !run.is_in(it));
        is_last && !run.reads.iter().flatten().any(|it| it.source == txn)
    }

    /// Turns changed reads back, where the run stays allowed and forbidden.
    fn with_observed_reads(&mut self, mut run: Run) -> Result<Run, StopReason> {
        for (txn, nth) in changed(self.trace, &run) {
            let Some(turned) = self.turned_back(&run, txn, nth) else { continue };
            let run_of_level = turned.with(self.trace, self.frame, self.writes);
            let case = Case { trace: self.trace, frame: self.frame, run: &run_of_level };
            let is_allowed = matches!(self.allows.decide(&case, self.budget)?, Opinion::Allowed);
            if is_allowed && self.is_forbidden(&turned)?.is_some() {
                run = turned;
            }
        }
        Ok(run)
    }

    /// The run with one read as it was observed. A transaction without a changed read is complete; nothing if it cannot
    /// be, because somebody that it read from is not.
    fn turned_back(&self, run: &Run, txn: TxnIdx, nth: usize) -> Option<Run> {
        let is_there = |it: &Read| it.source == INITIAL || run.roles[it.source as usize] == Role::Complete;
        let reads = &self.trace.reads[txn as usize];
        let mut literals: FxHashSet<Lit> = run.literals(self.frame, self.trace).into_iter().collect();
        if changed(self.trace, run).iter().filter(|it| it.0 == txn).count() == 1 {
            for lit in run.literals_of(self.frame, txn) {
                literals.remove(&lit);
            }
            literals.insert(self.frame.complete[txn as usize]);
            return reads.iter().all(is_there).then(|| self.of_literals(&literals));
        }
        let choices = &self.frame.spots[txn as usize][nth].choices;
        let observed = choices.iter().find(|it| it.writer == reads[nth].source)?;
        for choice in choices {
            literals.remove(&choice.lit);
        }
        literals.insert(observed.lit);
        is_there(&reads[nth]).then(|| self.of_literals(&literals))
    }

    fn of_literals(&self, literals: &FxHashSet<Lit>) -> Run {
        Run::of_literals(self.trace, self.frame, Writes::Kept, literals)
    }

    fn is_forbidden(&mut self, run: &Run) -> Result<Option<FxHashSet<Lit>>, StopReason> {
        let case = Case { trace: self.trace, frame: self.frame, run };
        Ok(match self.forbids.decide(&case, self.budget)? {
            Opinion::Allowed => None,
            Opinion::Forbidden(reasons) => Some(reasons),
        })
    }

    /// The transactions as they are in the run, with their past.
    fn part(&self, run: &Run, roots: impl Iterator<Item = TxnIdx>) -> Run {
        let mut literals = FxHashSet::default();
        let mut tops = Vec::new();
        for root in roots {
            literals.extend(run.literals_of(self.frame, root));
            tops.extend(run.reads[root as usize].iter().map(|it| it.source).filter(|it| *it != INITIAL));
            tops.extend(self.trace.before_in_session(root));
            tops.extend((run.roles[root as usize] == Role::Complete).then_some(root));
        }
        let is_needed = |txn: &TxnIdx| tops.iter().any(|it| self.trace.is_in_past(*txn, *it));
        literals.extend(self.trace.txns().filter(is_needed).map(|it| self.frame.complete[it as usize]));
        Run::of_literals(self.trace, self.frame, Writes::Kept, &literals)
    }
}

/// The reads of a run whose writer is not the observed one.
pub(crate) fn changed(trace: &Trace, run: &Run) -> Vec<(TxnIdx, usize)> {
    let mut changed = Vec::new();
    for txn in trace.txns() {
        let reads = run.reads[txn as usize].iter();
        let differs = reads.filter(|it| it.source != trace.reads[txn as usize][it.nth].source);
        changed.extend(differs.map(|it| (txn, it.nth)));
    }
    changed
}
