//! [`SatSolver`] in Rust alone, for targets that no C++ compiler knows.
//!
//! Conflict-driven clause learning: decide, propagate, and when a clause is false, learn a clause that says why, and
//! go back to where it would have said more. Nothing is simplified beforehand, so it is some times slower than
//! `CaDiCaL` on large formulas, and as fast on small ones.
//!
//! Source: Eén & Sörensson 2003, "An Extensible SAT-solver", for the frame and for assumptions; Audemard & Simon 2009 for
//! the glue by which clauses are kept. We differ: a theory is asked after each propagation, and what is learned can be
//! traced with what it follows from.

mod analyze;
mod clauses;
mod ranking;
mod restarts;
#[cfg(test)]
mod tests;

use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::fmt;
use std::rc::Rc;

use crate::resolution::Trace;
use crate::sat::{Lit, SatResult, SatSolver, SatStatistics, Var};
use crate::theory::Theory;
use clauses::{ClauseBase, ClauseRef, GIVEN};
use ranking::Ranking;
use restarts::Restarts;

/// The caller reads a clock; it is asked once in so many steps.
const STEPS_PER_QUESTION: u32 = 32;
/// Learned clauses are thinned out when there are so many, and then ever later.
const FIRST_LEARNED: usize = 3000;
const MORE_LEARNED: usize = 500;
/// Clauses of so little glue are kept.
const LITTLE_GLUE: u32 = 2;

/// A SAT solver in Rust alone.
pub struct Portable {
    clauses: ClauseBase,
    /// The clauses that watch a literal, by literal.
    watches: Vec<Vec<Watch>>,
    /// By literal: true, false or open.
    values: Vec<Option<bool>>,
    levels: Vec<u32>,
    reasons: Vec<Option<ClauseRef>>,
    /// What a variable was last, or should be first.
    phases: Vec<bool>,
    /// Whether somebody said what a variable should be.
    is_preferred: Vec<bool>,
    first_phase: bool,
    ranking: Ranking,
    trail: Vec<Lit>,
    /// The length of the trail at the start of each level above the root.
    starts: Vec<usize>,
    n_propagated: usize,
    restarts: Restarts,
    max_learned: usize,
    /// The clauses alone have no model.
    is_refuted: bool,
    is_seen: Vec<bool>,
    theory: Option<Rc<RefCell<dyn Theory>>>,
    /// So much of the trail the theory has heard.
    n_told: usize,
    halted: Rc<Cell<bool>>,
    trace: Option<Tracing>,
    model: Vec<bool>,
    failed: Vec<Lit>,
    statistics: SatStatistics,
}

/// A clause that must be looked at when a literal becomes false, unless the blocker is true.
#[derive(Debug, Clone, Copy)]
struct Watch {
    clause: ClauseRef,
    blocker: Lit,
    is_binary: bool,
}

/// Who hears what is derived, and the clauses of one literal by variable.
struct Tracing {
    trace: Rc<RefCell<Trace>>,
    n_clauses: u32,
    units: Vec<i64>,
}

/// What a decision led to.
enum Step {
    Decided,
    Done(SatResult),
}

#[allow(dead_code, reason = "solvers have one face, and engines use one of them")]
impl Portable {
    /// A solver without variables and clauses.
    pub fn new() -> Self {
        Self {
            clauses: ClauseBase::default(),
            watches: Vec::new(),
            values: Vec::new(),
            levels: Vec::new(),
            reasons: Vec::new(),
            phases: Vec::new(),
            is_preferred: Vec::new(),
            first_phase: true,
            ranking: Ranking::default(),
            trail: Vec::new(),
            starts: Vec::new(),
            n_propagated: 0,
            restarts: Restarts::default(),
            max_learned: FIRST_LEARNED,
            is_refuted: false,
            is_seen: Vec::new(),
            theory: None,
            n_told: 0,
            halted: Rc::default(),
            trace: None,
            model: Vec::new(),
            failed: Vec::new(),
            statistics: SatStatistics::default(),
        }
    }

    /// A solver for many short calls.
    pub fn for_short_calls() -> Self {
        Self::new()
    }

    /// A solver for short calls whose models have few true variables.
    pub fn for_small_models() -> Self {
        Self { first_phase: false, ..Self::new() }
    }

    /// A solver whose search is followed by `theory`.
    pub(crate) fn with_theory<T: Theory + 'static>(theory: Rc<RefCell<T>>) -> Self {
        Self { theory: Some(theory), ..Self::new() }
    }

    /// A solver that tells all that it derives.
    pub(crate) fn traced(trace: Rc<RefCell<Trace>>) -> Self {
        Self { trace: Some(Tracing { trace, n_clauses: 0, units: Vec::new() }), ..Self::new() }
    }

    /// A theory hears of all variables here.
    #[expect(clippy::unused_self, reason = "solvers that are told which variables matter have the same face")]
    pub(crate) fn observe(&mut self, _var: Var) {}

    /// Makes decisions of the solver itself on the variable of `lit` choose `lit`.
    pub fn prefer(&mut self, lit: Lit) {
        self.phases[lit.var().index()] = !lit.is_negative();
        self.is_preferred[lit.var().index()] = true;
    }

    /// A flag that ends the running search with [`SatResult::Stopped`] when set; it is cleared before each search.
    pub(crate) fn halt_flag(&self) -> Rc<Cell<bool>> {
        Rc::clone(&self.halted)
    }

    fn level(&self) -> u32 {
        self.starts.len() as u32
    }

    fn value_of(&self, lit: Lit) -> Option<bool> {
        self.values[lit.index()]
    }

    fn open_level(&mut self) {
        self.starts.push(self.trail.len());
        if let Some(theory) = &self.theory {
            theory.borrow_mut().open_level();
        }
    }

    fn assign(&mut self, lit: Lit, reason: Option<ClauseRef>) {
        debug_assert!(self.value_of(lit).is_none(), "a variable is assigned once");
        let var = lit.var().index();
        self.values[lit.index()] = Some(true);
        self.values[(!lit).index()] = Some(false);
        self.levels[var] = self.level();
        self.reasons[var] = reason;
        self.trail.push(lit);
        if self.starts.is_empty() {
            self.trace_unit(lit, reason);
        }
    }

    fn backtrack(&mut self, level: u32) {
        if self.level() <= level {
            return;
        }
        let start = self.starts[level as usize];
        self.starts.truncate(level as usize);
        for lit in self.trail.drain(start..) {
            self.values[lit.index()] = None;
            self.values[(!lit).index()] = None;
            if !self.is_preferred[lit.var().index()] {
                self.phases[lit.var().index()] = !lit.is_negative();
            }
            self.ranking.insert(lit.var());
        }
        self.n_propagated = self.n_propagated.min(start);
        self.n_told = self.n_told.min(start);
        if let Some(theory) = &self.theory {
            theory.borrow_mut().backtrack(level as usize);
        }
    }

    /// Assigns what clauses force. Returns a clause that is false, if there is one.
    fn propagate(&mut self) -> Option<ClauseRef> {
        while let Some(&lit) = self.trail.get(self.n_propagated) {
            self.n_propagated += 1;
            self.statistics.n_propagations += 1;
            let is_false = !lit;
            let mut watches = std::mem::take(&mut self.watches[is_false.index()]);
            let conflict = self.visit(is_false, &mut watches);
            self.watches[is_false.index()] = watches;
            if conflict.is_some() {
                self.n_propagated = self.trail.len();
                return conflict;
            }
        }
        None
    }

    /// Goes through the clauses that watch a literal which is false now; those that find another one leave.
    fn visit(&mut self, is_false: Lit, watches: &mut Vec<Watch>) -> Option<ClauseRef> {
        let (mut kept, mut conflict) = (0, None);
        for idx in 0..watches.len() {
            let watch = watches[idx];
            watches[kept] = watch;
            kept += 1;
            let blocker = self.value_of(watch.blocker);
            if conflict.is_some() || blocker == Some(true) {
                continue;
            }
            let other = if watch.is_binary { watch.blocker } else { self.other_watch(watch.clause, is_false) };
            if !watch.is_binary {
                watches[kept - 1].blocker = other;
                if self.value_of(other) == Some(true) {
                    continue;
                }
                if self.move_watch(watch.clause, other) {
                    kept -= 1;
                    continue;
                }
            }
            match self.value_of(other) {
                Some(_) => conflict = Some(watch.clause),
                None => self.assign(other, Some(watch.clause)),
            }
        }
        watches.truncate(kept);
        conflict
    }

    /// Makes the literal that is false the second one of its clause, and returns the first.
    fn other_watch(&mut self, clause: ClauseRef, is_false: Lit) -> Lit {
        if self.clauses.lit(clause, 0) == is_false {
            self.clauses.swap(clause, 0, 1);
        }
        self.clauses.lit(clause, 0)
    }

    /// Lets a clause watch a literal that is not false in place of its second one, if it has one.
    fn move_watch(&mut self, clause: ClauseRef, other: Lit) -> bool {
        for idx in 2..self.clauses.n_lits(clause) {
            let lit = self.clauses.lit(clause, idx);
            if self.value_of(lit) != Some(false) {
                self.clauses.swap(clause, 1, idx);
                self.watches[lit.index()].push(Watch { clause, blocker: other, is_binary: false });
                return true;
            }
        }
        false
    }

    fn watch(&mut self, clause: ClauseRef) {
        let (first, second) = (self.clauses.lit(clause, 0), self.clauses.lit(clause, 1));
        let is_binary = self.clauses.n_lits(clause) == 2;
        self.watches[first.index()].push(Watch { clause, blocker: second, is_binary });
        self.watches[second.index()].push(Watch { clause, blocker: first, is_binary });
    }

    /// Propagates, and asks the theory, until nothing follows. Returns a clause that is false, if there is one.
    fn follow(&mut self) -> Option<ClauseRef> {
        loop {
            if let Some(conflict) = self.propagate() {
                return Some(conflict);
            }
            let objection = self.objection()?;
            if let Some(conflict) = self.take_objection(objection) {
                return Some(conflict);
            }
            if self.is_refuted {
                return None;
            }
        }
    }

    /// A clause of the theory that is false now.
    fn objection(&mut self) -> Option<Vec<Lit>> {
        let mut theory = self.theory.as_ref()?.borrow_mut();
        for lit in &self.trail[self.n_told..] {
            theory.assign(*lit);
        }
        self.n_told = self.trail.len();
        let mut clause = Vec::new();
        theory.conflict(&mut clause).then_some(clause)
    }

    /// Goes back to where the clause was not yet false or became so, and adds it.
    fn take_objection(&mut self, mut clause: Vec<Lit>) -> Option<ClauseRef> {
        debug_assert!(clause.iter().all(|it| self.value_of(*it) == Some(false)), "an objection is false");
        clause.sort_by_key(|it| Reverse(self.levels[it.var().index()]));
        let level_of = |idx: usize| clause.get(idx).map_or(0, |it: &Lit| self.levels[it.var().index()]);
        let (highest, second) = (level_of(0), level_of(1));
        if highest == 0 {
            self.is_refuted = true;
            return None;
        }
        let is_forcing = second < highest;
        let glue = self.glue(&clause);
        self.backtrack(if is_forcing { second } else { highest });
        let added = self.clauses.add(&clause, glue, 0);
        if clause.len() > 1 {
            self.watch(added);
        }
        if is_forcing {
            self.assign(clause[0], Some(added));
            return None;
        }
        Some(added)
    }

    fn search(&mut self, assumptions: &[Lit], stop: &mut dyn FnMut() -> bool) -> SatResult {
        let mut n_steps = 0;
        loop {
            let conflict = self.follow();
            if self.is_refuted {
                return SatResult::Unsatisfiable;
            }
            if let Some(conflict) = conflict {
                self.statistics.n_conflicts += 1;
                if self.starts.is_empty() {
                    self.refute(conflict);
                    return SatResult::Unsatisfiable;
                }
                self.learn(conflict);
                continue;
            }
            n_steps = (n_steps + 1) % STEPS_PER_QUESTION;
            if self.halted.get() || (n_steps == 1 && stop()) {
                return SatResult::Stopped;
            }
            if self.restarts.is_due() {
                self.backtrack(self.level().min(assumptions.len() as u32));
            }
            if self.clauses.n_learned() >= self.max_learned {
                self.forget();
            }
            if let Step::Done(result) = self.decide(assumptions) {
                return result;
            }
        }
    }

    fn decide(&mut self, assumptions: &[Lit]) -> Step {
        while let Some(&assumed) = assumptions.get(self.starts.len()) {
            match self.value_of(assumed) {
                Some(true) => self.open_level(),
                Some(false) => {
                    self.failed = self.why_failed(assumed);
                    return Step::Done(SatResult::Unsatisfiable);
                }
                None => {
                    self.open_level();
                    self.assign(assumed, None);
                    return Step::Decided;
                }
            }
        }
        if self.trail.len() == self.phases.len() {
            if let Some(theory) = &self.theory {
                theory.borrow_mut().accept();
            }
            self.model = (0..self.phases.len()).map(|idx| self.values[2 * idx] == Some(true)).collect();
            return Step::Done(SatResult::Satisfiable);
        }
        let wanted = self.theory.as_ref().and_then(|it| it.borrow_mut().decide());
        if self.halted.get() {
            return Step::Done(SatResult::Stopped);
        }
        let lit = wanted.unwrap_or_else(|| self.most_active());
        self.statistics.n_decisions += 1;
        self.open_level();
        self.assign(lit, None);
        Step::Decided
    }

    fn most_active(&mut self) -> Lit {
        loop {
            let var = self.ranking.pop().expect("a variable without a value is in the ranking");
            if self.value_of(var.positive()).is_none() {
                return var.literal(self.phases[var.index()]);
            }
        }
    }

    /// Forgets half of the learned clauses that have much glue, and all clauses that are true for good.
    fn forget(&mut self) {
        self.max_learned += MORE_LEARNED;
        let mut worst: Vec<ClauseRef> = self.clauses.all().collect();
        worst.retain(|it| self.clauses.glue(*it) > LITTLE_GLUE && self.clauses.n_lits(*it) > 2);
        // Equal ones are forgotten in the order of their age.
        worst.sort_by_key(|it| Reverse(self.clauses.glue(*it)));
        worst.truncate(worst.len() / 2);
        let mut unwanted: FxHashSet<ClauseRef> = worst.into_iter().collect();
        let is_true = |lit: Lit| self.value_of(lit) == Some(true) && self.levels[lit.var().index()] == 0;
        unwanted.extend(self.clauses.all().filter(|it| self.clauses.lits(*it).any(is_true)));
        for lit in &self.trail {
            self.reasons[lit.var().index()].map(|it| unwanted.remove(&it));
        }
        let moved = self.clauses.retain(|it| !unwanted.contains(&it));
        self.rewatch(&moved);
    }

    /// Clauses stand elsewhere now.
    fn rewatch(&mut self, moved: &[(ClauseRef, ClauseRef)]) {
        self.watches.iter_mut().for_each(Vec::clear);
        let places: FxHashMap<ClauseRef, ClauseRef> = moved.iter().copied().collect();
        for lit in &self.trail {
            let reason = &mut self.reasons[lit.var().index()];
            *reason = reason.map(|it| places[&it]);
        }
        for (_, clause) in moved {
            if self.clauses.n_lits(*clause) > 1 {
                self.watch(*clause);
            }
        }
    }

    /// Adds a clause on the root level. It watches literals that are not false.
    fn add_given(&mut self, mut clause: Vec<Lit>, id: u32) {
        clause.sort_by_key(|it| self.value_of(*it) == Some(false));
        let n_open = clause.iter().filter(|it| self.value_of(**it) != Some(false)).count();
        let added = self.clauses.add(&clause, GIVEN, id);
        if clause.len() > 1 {
            self.watch(added);
        }
        match (n_open, clause.first()) {
            (0, _) => self.refute(added),
            (1, Some(first)) if self.value_of(*first).is_none() => self.assign(*first, Some(added)),
            _ => {}
        }
    }
}

impl SatSolver for Portable {
    fn new_var(&mut self) -> Var {
        let var = Var::new(self.phases.len());
        self.watches.extend([Vec::new(), Vec::new()]);
        self.values.extend([None, None]);
        self.levels.push(0);
        self.reasons.push(None);
        self.phases.push(self.first_phase);
        self.is_preferred.push(false);
        self.is_seen.push(false);
        self.ranking.add(var);
        self.trace.iter_mut().for_each(|it| it.units.push(0));
        self.statistics.n_variables += 1;
        var
    }

    fn add_clause(&mut self, clause: &[Lit]) {
        self.statistics.n_clauses += 1;
        let id = self.trace_given();
        let mut lits = clause.to_vec();
        lits.sort_unstable();
        lits.dedup();
        let is_always_true = lits.windows(2).any(|it| it[0] == !it[1]);
        if !is_always_true && !self.is_refuted {
            self.add_given(lits, id);
        }
    }

    fn solve(&mut self, assumptions: &[Lit], stop: &mut dyn FnMut() -> bool) -> SatResult {
        self.failed.clear();
        self.halted.set(false);
        if self.is_refuted {
            return SatResult::Unsatisfiable;
        }
        let result = self.search(assumptions, stop);
        self.backtrack(0);
        self.failed.sort_unstable();
        result
    }

    fn is_refuted_at_once(&mut self, assumptions: &[Lit]) -> bool {
        let is_refuted_already = self.is_refuted || self.propagate().map(|it| self.refute(it)).is_some();
        if is_refuted_already {
            return true;
        }
        self.open_level();
        let mut is_refuted = false;
        for &lit in assumptions {
            match self.value_of(lit) {
                Some(value) => is_refuted |= !value,
                None => self.assign(lit, None),
            }
        }
        is_refuted = is_refuted || self.propagate().is_some();
        self.backtrack(0);
        is_refuted
    }

    fn value(&self, lit: Lit) -> bool {
        self.model.get(lit.var().index()).copied().unwrap_or(false) != lit.is_negative()
    }

    fn is_failed(&self, assumption: Lit) -> bool {
        self.failed.binary_search(&assumption).is_ok()
    }

    fn statistics(&self) -> SatStatistics {
        self.statistics
    }
}

impl Default for Portable {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Portable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Portable").field("statistics", &self.statistics()).finish_non_exhaustive()
    }
}
