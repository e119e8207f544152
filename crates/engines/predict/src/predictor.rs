//! The search: propose a run that the level allows, ask whether the target allows it, learn from the order it gives.
//!
//! Prefixes of the run come first: what is predicted from a prefix is predicted from the whole. A proposal is a model of
//! three kinds of clauses: which runs are possible (`frame.rs`), what the level has against runs that were proposed
//! (`level.rs`), and for each order of versions that explained a proposal, that it must not explain the next one
//! (`cycle.rs`). The observed order is the first of them. No model of all transactions means that there is no
//! prediction.
//!
//! Source: Geng et al. 2024 (`IsoPredict`), sections 4 and 4.5. We differ: their exact condition is one quantified
//! formula; ours quantifies over the orders that matter.

use crate::cycle::{VersionOrder, demand};
use crate::early::Variants;
use crate::frame::Frame;
use crate::judge::{Judge, Opinion};
use crate::late::{causes, late_order, sorted};
use crate::level::{Case, Rules};
use crate::pivot::pivots;
use crate::record::{Statements, record};
use crate::run::{Role, Run, Writes};
use crate::saturate::forced;
use crate::shrink::{Shrink, changed};
use crate::trace::{INITIAL, Trace, TxnIdx};
use crate::{
    Answer, Boundary, DATABASE_LEVELS, Effort, LEVELS, Precision, Prediction, Question, Refused, TARGETS, Unknown,
};
use iso_evidence::{Budget, StopReason, Witness};
use iso_history::{Facts, History, Op, OpId, TxnId};
use iso_solve::{Lit, SatResult, SatSolver, Solver};
use iso_spec::Level;
use rustc_hash::{FxHashMap, FxHashSet};

/// How many transactions are looked at first.
const FIRST_PREFIX: usize = 25;
/// In how many of them predictions are looked for first whose transactions can go on.
const MAX_CAUTIOUS: usize = 50;

/// A read with another writer: transaction, position among its reads, writer.
type Change = (TxnIdx, usize, TxnIdx);

/// Predicts runs from an observed one.
#[derive(Debug)]
pub struct Predictor<'h> {
    history: &'h History,
    trace: Trace,
    question: Question,
    statements: Statements,
    stage: Stage,
    /// The changes of earlier predictions.
    found: Vec<Vec<Change>>,
    /// The same in the observed run: reads, and whom they see instead.
    told: Vec<Vec<(OpId, TxnId)>>,
    is_exhausted: bool,
    /// Runs in which transactions are cut that others may see; nothing if the boundary has none.
    variants: Option<Variants>,
    /// Of stages that are done.
    effort: Effort,
}

impl<'h> Predictor<'h> {
    /// Prepares a search.
    ///
    /// The witness says who wrote what each read saw, and one order of the transactions: the one that the target gives
    /// for the history if it allows it, else that of the level, which must allow it.
    pub fn new(facts: &Facts<'h>, witness: &Witness, question: Question) -> Result<Self, Refused> {
        let is_known = LEVELS.contains(&question.level) || DATABASE_LEVELS.contains(&question.level);
        let searched = if question.level == Level::RowSnapshots { Level::SnapshotIsolation } else { question.level };
        let is_stronger = question.target != searched && question.target.implies(question.level);
        if !is_known || !TARGETS.contains(&question.target) || !is_stronger {
            return Err(Refused::WrongLevels);
        }
        let statements = if question.level.is_of_databases() { Statements::Kept } else { Statements::Dropped };
        if let Some(scan) = scan_of(facts.history()).filter(|_| statements == Statements::Kept) {
            return Err(Refused::Scan(scan));
        }
        let trace = Trace::new(facts, witness)?;
        let variants = (question.boundary == Boundary::StrictEvents).then(|| Variants::of(&trace, facts.history()));
        let boundary = if variants.is_some() { Boundary::Strict } else { question.boundary };
        let question = Question { level: searched, boundary, ..question };
        let first = trace.prefix(trace.n_txns().min(FIRST_PREFIX));
        Ok(Self {
            history: facts.history(),
            stage: Stage::new(first, question, first_writes(question), &[]),
            trace,
            question,
            statements,
            found: Vec::new(),
            told: Vec::new(),
            is_exhausted: false,
            variants,
            effort: Effort::default(),
        })
    }

    /// The next prediction. None has all the changed reads of an earlier one.
    pub fn next(&mut self, budget: &Budget<'_>) -> Answer {
        match self.search(budget) {
            Ok(Some(prediction)) => Answer::Predicted(Box::new(prediction)),
            Ok(None) if self.question.precision == Precision::Exact => Answer::None,
            Ok(None) => Answer::Unknown(Unknown::Approximate),
            Err(reason) => Answer::Unknown(Unknown::Stopped(reason)),
        }
    }

    /// What the search took so far.
    pub fn effort(&self) -> Effort {
        let mut effort = self.effort;
        self.stage.add_effort(&mut effort);
        effort
    }

    fn search(&mut self, budget: &Budget<'_>) -> Result<Option<Prediction>, StopReason> {
        while !self.is_exhausted || self.begin_variant() {
            budget.check()?;
            if let Some(run) = self.stage.search(budget)? {
                let is_new = self.has_all_early(&run);
                let prediction = self.predict(&run, budget)?;
                if is_new {
                    return Ok(Some(prediction));
                }
                continue;
            }
            let (n_seen, n_txns) = (self.stage.trace.n_txns(), self.trace.n_txns());
            let next = match self.stage.writes {
                Writes::All if n_seen < n_txns.min(MAX_CAUTIOUS) => Some((n_seen * 2, Writes::All)),
                Writes::All => Some((FIRST_PREFIX, Writes::Kept)),
                Writes::Kept if n_seen < n_txns => Some((n_seen * 2, Writes::Kept)),
                Writes::Kept => None,
            };
            self.is_exhausted = next.is_none();
            if let Some((n_next, writes)) = next {
                self.stage.add_effort(&mut self.effort);
                self.stage = Stage::new(self.trace.prefix(n_txns.min(n_next)), self.question, writes, &self.found);
            }
        }
        Ok(None)
    }

    /// Goes on with the next run in which transactions are cut that others may see.
    fn begin_variant(&mut self) -> bool {
        while let Some(trace) = self.variants.as_mut().and_then(|it| it.next(self.history)) {
            let found: Vec<Vec<Change>> = self.told.iter().filter_map(|it| changes_in(&trace, it)).collect();
            if found.iter().any(Vec::is_empty) {
                continue;
            }
            self.stage.add_effort(&mut self.effort);
            let first = trace.prefix(trace.n_txns().min(FIRST_PREFIX));
            self.stage = Stage::new(first, self.question, first_writes(self.question), &found);
            (self.trace, self.found, self.is_exhausted) = (trace, found, false);
            return true;
        }
        false
    }

    /// Are all transactions seen that are cut early? If not, the run was found without that.
    fn has_all_early(&self, run: &Run) -> bool {
        let trace = &self.stage.trace;
        let is_read = |txn: TxnIdx| run.reads.iter().flatten().any(|it| it.source == txn);
        let is_needed = |it: TxnIdx| run.roles[it as usize] == Role::Complete && is_read(it);
        trace.early.iter().all(|cut| trace.txns().any(|it| trace.ids[it as usize] == cut.id && is_needed(it)))
    }

    fn predict(&mut self, run: &Run, budget: &Budget<'_>) -> Result<Prediction, StopReason> {
        let stage = &mut self.stage;
        let mut prediction = record(self.history, &stage.trace, run, self.statements);
        prediction.hides_conflict = stage.hides_conflict(run, budget)?;
        let changes = stage.changes(run);
        self.told.push(prediction.changed.iter().map(|it| (it.observed_op, it.to)).collect());
        self.is_exhausted = changes.is_empty();
        if self.is_exhausted && self.trace.early.is_empty() {
            // Whatever else there is changes more.
            self.variants = None;
        }
        stage.exclude(&changes);
        self.found.push(changes);
        Ok(prediction)
    }
}

/// Changes of an earlier prediction that are none of the early cuts of a run; nothing if that run cannot have them all.
fn changes_in(trace: &Trace, told: &[(OpId, TxnId)]) -> Option<Vec<Change>> {
    let is_early = |it: &&(OpId, TxnId)| trace.early.iter().any(|cut| (cut.read, cut.writer) == **it);
    let number = |id: TxnId| match id {
        TxnId::INITIAL => Some(INITIAL),
        _ => trace.txns().find(|it| trace.ids[*it as usize] == id),
    };
    let change = |(read, to): &(OpId, TxnId)| {
        let txn = trace.txns().find(|it| trace.reads[*it as usize].iter().any(|it| it.op == *read))?;
        let nth = trace.reads[txn as usize].iter().position(|it| it.op == *read)?;
        Some((txn, nth, number(*to)?))
    };
    told.iter().filter(|it| !is_early(it)).map(change).collect()
}

/// A row that a scan did not return: of which the history does not say what it saw.
fn scan_of(history: &History) -> Option<OpId> {
    let mut ops = history.txns().flat_map(|it| history.ops(it));
    ops.find(|it| matches!(history.op(*it), Op::Omit { .. }))
}

/// Under a level where writes conflict, a transaction that is cut should be able to go on: such predictions come first.
fn first_writes(question: Question) -> Writes {
    let conflicts = matches!(question.level, Level::SnapshotIsolation | Level::ParallelSnapshotIsolation);
    if conflicts && question.boundary == Boundary::Strict { Writes::All } else { Writes::Kept }
}

/// The search in a prefix of the run.
#[derive(Debug)]
struct Stage {
    trace: Trace,
    frame: Frame,
    question: Question,
    /// What the level must allow of transactions on the boundary.
    writes: Writes,
    proposer: Solver,
    rules: Rules,
    allows: Judge,
    forbids: Judge,
    n_candidates: u64,
    /// Runs that were proposed, by their literals.
    seen: FxHashSet<Vec<Lit>>,
}

impl Stage {
    fn new(trace: Trace, question: Question, writes: Writes, found: &[Vec<Change>]) -> Self {
        let mut proposer = Solver::for_short_calls();
        let frame = Frame::new(&trace, question.level, question.boundary, &mut proposer);
        let rules = Rules::new(&trace, &frame, question.level, &mut proposer);
        if question.target == Level::Serializable
            && let Some(pivots) = pivots(&trace, &frame, question.level)
        {
            proposer.add_clause(&pivots);
        }
        demand(&trace, &frame, question.target, &VersionOrder::observed(&trace), &mut proposer);
        let judge = |level| Judge::new(&trace, question.level, question.boundary, level);
        let (allows, forbids) = (judge(question.level), judge(question.target));
        let mut stage = Self {
            trace,
            frame,
            question,
            writes,
            proposer,
            rules,
            allows,
            forbids,
            n_candidates: 0,
            seen: FxHashSet::default(),
        };
        for changes in found {
            stage.exclude(changes);
        }
        stage
    }

    /// A small run that the level allows and the target forbids.
    fn search(&mut self, budget: &Budget<'_>) -> Result<Option<Run>, StopReason> {
        while let Some(run) = self.propose(budget)? {
            self.n_candidates += 1;
            let case = Case { trace: &self.trace, frame: &self.frame, run: &run };
            if self.question.precision == Precision::Approximate && forced(&case).is_some() {
                self.block(&run);
                continue;
            }
            match self.forbids.decide(&case, budget)? {
                Opinion::Forbidden(reasons) => {
                    let mut shrink = Shrink {
                        trace: &self.trace,
                        frame: &self.frame,
                        allows: &mut self.allows,
                        writes: self.writes,
                        forbids: &mut self.forbids,
                        budget,
                    };
                    return shrink.smallest(&run, &reasons).map(Some);
                }
                Opinion::Allowed => self.learn(&run),
            }
        }
        Ok(None)
    }

    /// A run that the level allows and that no learned order explains.
    fn propose(&mut self, budget: &Budget<'_>) -> Result<Option<Run>, StopReason> {
        loop {
            match self.proposer.solve(&[], &mut || budget.check().is_err()) {
                SatResult::Stopped => return Err(budget.check().err().unwrap_or(StopReason::Timeout)),
                SatResult::Unsatisfiable => return Ok(None),
                SatResult::Satisfiable => {}
            }
            let run = Run::of_model(&self.trace, &self.frame, self.writes, &self.proposer);
            let case = Case { trace: &self.trace, frame: &self.frame, run: &run };
            let objections = self.rules.objections(&case, |lit| self.proposer.value(lit));
            if objections.is_empty() {
                return Ok(Some(Run::of_model(&self.trace, &self.frame, Writes::Kept, &self.proposer)));
            }
            for clause in &objections {
                self.proposer.add_clause(clause);
            }
        }
    }

    /// Excludes the run, and all others that are explained in the same way.
    fn learn(&mut self, run: &Run) {
        let is_new = self.seen.insert(run.literals(&self.frame, &self.trace));
        let order = match self.question.target {
            Level::Serializable => {
                let case = Case { trace: &self.trace, frame: &self.frame, run };
                late_order(&case).or_else(|| self.explaining_order(run))
            }
            Level::SnapshotIsolation | Level::PrefixConsistency => self.explaining_order(run),
            // These allow runs that have a cycle in every order.
            _ => None,
        };
        match order {
            Some(order) if is_new => {
                demand(&self.trace, &self.frame, self.question.target, &order, &mut self.proposer);
            }
            // The order that explains it is none of those that the constraint can speak of.
            _ => self.block(run),
        }
    }

    /// Excludes all parts of a run that the target allows: it allows them, too.
    fn block(&mut self, run: &Run) {
        let mut clause = Vec::new();
        for txn in self.trace.txns() {
            let idx = txn as usize;
            let is_complete = run.roles[idx] == Role::Complete;
            if !is_complete {
                clause.push(self.frame.complete[idx]);
            }
            for (spot, read) in self.frame.spots[idx].iter().zip(&self.trace.reads[idx]) {
                let is_same = |writer| is_complete && writer == read.source;
                let others = spot.choices.iter().filter(|it| !is_same(it.writer)).map(|it| it.lit);
                let own = &run.literals_of(&self.frame, txn);
                clause.extend(others.filter(|it| !own.contains(it)));
            }
        }
        self.proposer.add_clause(&clause);
    }

    /// The order of versions by which the target's judge allowed the run, for all transactions.
    fn explaining_order(&self, run: &Run) -> Option<VersionOrder> {
        let trace = &self.trace;
        let is_complete = |txn: &&TxnIdx| run.roles[**txn as usize] == Role::Complete;
        let mut edges = causes(trace);
        for writers in &trace.writers {
            let writers: Vec<TxnIdx> = writers.iter().filter(is_complete).copied().collect();
            for (nth, later) in writers.iter().enumerate() {
                for earlier in &writers[..nth] {
                    let is_before = self.forbids.is_before(*earlier, *later)?;
                    edges.push(if is_before { (*earlier, *later) } else { (*later, *earlier) });
                }
            }
        }
        let places = sorted(trace.n_txns(), &edges, |it| it)?;
        let mut blind = FxHashMap::default();
        for (key, writers) in (0..).zip(&trace.writers) {
            let mut line: Vec<TxnIdx> = writers.clone();
            line.sort_unstable_by_key(|it| places[*it as usize]);
            for txn in writers.iter().filter(|it| matches!(run.roles[**it as usize], Role::Cut(_))) {
                let comes_after =
                    |other: &TxnIdx| is_complete(&other) && self.forbids.is_before(*txn, *other).is_some_and(|it| it);
                if let Some(slot) = line.iter().position(comes_after) {
                    blind.insert((*txn, key), slot);
                }
            }
        }
        Some(VersionOrder { places, blind })
    }

    /// Does the level forbid the run once its transactions on the boundary go on to write what they wrote?
    fn hides_conflict(&self, run: &Run, budget: &Budget<'_>) -> Result<bool, StopReason> {
        if self.writes == Writes::All || first_writes(self.question) == Writes::Kept {
            return Ok(false);
        }
        let Question { level, boundary, .. } = self.question;
        let run = run.with(&self.trace, &self.frame, Writes::All);
        let case = Case { trace: &self.trace, frame: &self.frame, run: &run };
        let opinion = Judge::new(&self.trace, level, boundary, level).decide(&case, budget)?;
        Ok(matches!(opinion, Opinion::Forbidden(_)))
    }

    /// The changed reads of a run.
    fn changes(&self, run: &Run) -> Vec<Change> {
        let source = |txn: TxnIdx, nth: usize| {
            let reads = run.reads[txn as usize].iter();
            reads.filter(|it| it.nth == nth).map(|it| (txn, nth, it.source)).next()
        };
        changed(&self.trace, run).into_iter().filter_map(|(txn, nth)| source(txn, nth)).collect()
    }

    /// Excludes runs with all of these changes.
    fn exclude(&mut self, changes: &[Change]) {
        let literal = |(txn, nth, writer): &Change| {
            let spot = self.frame.spots.get(*txn as usize)?.get(*nth)?;
            spot.choices.iter().find(|it| it.writer == *writer).map(|it| !it.lit)
        };
        let clause: Option<Vec<Lit>> = changes.iter().map(literal).collect();
        if let Some(clause) = clause {
            self.proposer.add_clause(&clause);
        }
    }

    fn add_effort(&self, effort: &mut Effort) {
        for it in [self.proposer.statistics(), self.allows.statistics(), self.forbids.statistics()] {
            effort.variables += it.n_variables;
            effort.clauses += it.n_clauses;
            effort.conflicts += it.n_conflicts;
        }
        effort.candidates += self.n_candidates;
        effort.transactions = self.trace.n_txns() as u64;
    }
}
