//! [`SatSolver`] on `CaDiCaL` (Biere et al. 2024), and the bridge from our [`Theory`] to its external propagator.
//!
//! Two traps are avoided here: chronological backtracking is off with a theory, because theories undo last-in
//! first-out; and a model is copied when found, because the solver forgets it at the next change.
#![expect(
    unsafe_code,
    reason = "the solver keeps callbacks for 'static, but a stop callback lives for one call of solve"
)]

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;

use cadical_sys::{CaDiCal, ExternalPropagator, ProofTracer, Status, Terminator};

use crate::resolution::Trace;
use crate::sat::{Lit, SatResult, SatSolver, SatStatistics, Var};
use crate::theory::Theory;

/// The SAT solver `CaDiCaL`.
pub struct Cadical {
    inner: CaDiCal,
    hook: Rc<StopHook>,
    n_variables: usize,
    n_clauses: u64,
    model: Vec<bool>,
    failed: Vec<Lit>,
    scratch: Vec<i32>,
}

#[allow(dead_code, reason = "solvers have one face, and engines use one of them")]
impl Cadical {
    /// A solver without variables and clauses.
    pub fn new() -> Self {
        let mut inner = CaDiCal::new();
        // Ask the hook at every chance; it is cheap, and asks the caller less often.
        inner.set("terminateint", 0);
        let hook = Rc::new(StopHook::default());
        inner.connect_terminator(HookTerminator(Rc::clone(&hook)));
        Self { inner, hook, n_variables: 0, n_clauses: 0, model: Vec::new(), failed: Vec::new(), scratch: Vec::new() }
    }

    /// A solver for many short calls: it does not try its luck or simplify at the beginning of each.
    pub fn for_short_calls() -> Self {
        let mut solver = Self::new();
        for option in ["lucky", "walk", "inprocessing"] {
            solver.inner.set(option, 0);
        }
        solver
    }

    /// A solver for short calls whose models have few true variables.
    pub fn for_small_models() -> Self {
        let mut solver = Self::for_short_calls();
        solver.inner.set("phase", 0);
        solver
    }

    /// A solver whose search is followed by `theory`.
    pub(crate) fn with_theory<T: Theory + 'static>(theory: Rc<RefCell<T>>) -> Self {
        let mut solver = Self::new();
        for option in ["chrono", "walk", "lucky"] {
            // Random walks and lucky guesses know nothing of the theory.
            solver.inner.set(option, 0);
        }
        solver.inner.connect_external_propagator(Bridge { theory, clause: Vec::new(), lits: Vec::new() });
        solver
    }

    /// A solver that tells all that it derives. Nothing that it derives needs variables of its own.
    pub(crate) fn traced(trace: Rc<RefCell<Trace>>) -> Self {
        let mut solver = Self::new();
        solver.inner.set("factor", 0);
        solver.inner.connect_proof_tracer1(Tracer(trace), true, false);
        solver
    }

    /// Reports assignments of `var` to the theory. Required for each variable in a clause or decision of the theory.
    pub(crate) fn observe(&mut self, var: Var) {
        self.inner.add_observed_var(to_dimacs(var.positive()));
    }

    /// Makes decisions of the solver itself on the variable of `lit` choose `lit`.
    pub fn prefer(&mut self, lit: Lit) {
        self.inner.phase(to_dimacs(lit));
    }

    /// A flag that ends the running search with [`SatResult::Stopped`] when set; it is cleared before each search.
    pub(crate) fn halt_flag(&self) -> Rc<Cell<bool>> {
        Rc::clone(&self.hook.halted)
    }

    fn statistic(&self, name: &str) -> u64 {
        u64::try_from(self.inner.get_statistic_value(name)).unwrap_or(0)
    }

    fn remember_model(&mut self) {
        self.model.clear();
        for idx in 0..self.n_variables {
            let dimacs = to_dimacs(Var::new(idx).positive());
            self.model.push(self.inner.val(dimacs) > 0);
        }
    }

    fn remember_failed(&mut self, assumptions: &[Lit]) {
        let inner = &mut self.inner;
        self.failed = assumptions.iter().copied().filter(|&lit| inner.failed(to_dimacs(lit))).collect();
        self.failed.sort_unstable();
    }
}

impl SatSolver for Cadical {
    fn new_var(&mut self) -> Var {
        let var = Var::new(self.n_variables);
        self.n_variables += 1;
        let declared = self.inner.declare_one_more_variable();
        assert_eq!(declared, to_dimacs(var.positive()), "the solver makes no variables of its own");
        var
    }

    fn add_clause(&mut self, clause: &[Lit]) {
        self.n_clauses += 1;
        self.scratch.clear();
        self.scratch.extend(clause.iter().map(|&lit| to_dimacs(lit)));
        self.inner.clause6(&self.scratch);
    }

    fn solve(&mut self, assumptions: &[Lit], stop: &mut dyn FnMut() -> bool) -> SatResult {
        self.failed.clear();
        for &lit in assumptions {
            self.inner.assume(to_dimacs(lit));
        }
        let armed = self.hook.arm(stop);
        let status = self.inner.solve();
        drop(armed);
        match status {
            Status::SATISFIABLE => {
                self.remember_model();
                SatResult::Satisfiable
            }
            Status::UNSATISFIABLE => {
                self.remember_failed(assumptions);
                SatResult::Unsatisfiable
            }
            Status::UNKNOWN => SatResult::Stopped,
        }
    }

    fn is_refuted_at_once(&mut self, assumptions: &[Lit]) -> bool {
        for &lit in assumptions {
            self.inner.assume(to_dimacs(lit));
        }
        self.inner.propagate() == Status::UNSATISFIABLE
    }

    fn value(&self, lit: Lit) -> bool {
        self.model.get(lit.var().index()).copied().unwrap_or(false) != lit.is_negative()
    }

    fn is_failed(&self, assumption: Lit) -> bool {
        self.failed.binary_search(&assumption).is_ok()
    }

    fn statistics(&self) -> SatStatistics {
        SatStatistics {
            n_variables: self.n_variables as u64,
            n_clauses: self.n_clauses,
            n_conflicts: self.statistic("conflicts"),
            n_decisions: self.statistic("decisions"),
            n_propagations: self.statistic("propagations"),
        }
    }
}

impl Default for Cadical {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Cadical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cadical").field("statistics", &self.statistics()).finish_non_exhaustive()
    }
}

fn to_dimacs(lit: Lit) -> i32 {
    let number = i32::try_from(lit.var().index() + 1).expect("Var::new keeps variables below i32::MAX");
    if lit.is_negative() { -number } else { number }
}

fn from_dimacs(dimacs: i32) -> Lit {
    Var::new(dimacs.unsigned_abs() as usize - 1).literal(dimacs > 0)
}

/// The solver asks many times per microsecond; a caller that reads a clock should not be asked each time.
const POLLS_PER_QUESTION: u32 = 32;

/// Where the solver asks whether to go on.
#[derive(Default)]
struct StopHook {
    /// The caller's question, present only while [`CaDiCal::solve`] runs.
    stop: Cell<Option<*mut dyn FnMut() -> bool>>,
    n_polls: Cell<u32>,
    halted: Rc<Cell<bool>>,
}

/// Removes the stop callback from its hook when dropped.
struct Armed<'hook>(&'hook StopHook);

impl StopHook {
    /// Lets the solver ask `stop` until the returned guard is dropped.
    fn arm<'hook>(&'hook self, stop: &'hook mut (dyn FnMut() -> bool + '_)) -> Armed<'hook> {
        // SAFETY: only the lifetime changes. The guard borrows `stop` for as long as the pointer is in the cell, and
        // removes it when dropped, so that no call can outlive `stop` or run beside another use of it.
        let stop: &'static mut dyn FnMut() -> bool = unsafe { std::mem::transmute(stop) };
        self.stop.set(Some(stop));
        self.n_polls.set(0);
        self.halted.set(false);
        Armed(self)
    }

    fn is_stopped(&self) -> bool {
        if self.halted.get() {
            return true;
        }
        let n_polls = self.n_polls.get();
        self.n_polls.set((n_polls + 1) % POLLS_PER_QUESTION);
        match self.stop.get() {
            // SAFETY: `arm` put the pointer here, and its guard is alive. The solver runs on this thread and asks one
            // question at a time, so the callback is not entered twice.
            Some(stop) if n_polls == 0 => unsafe { (*stop)() },
            _ => false,
        }
    }
}

impl Drop for Armed<'_> {
    fn drop(&mut self) {
        self.0.stop.set(None);
    }
}

struct HookTerminator(Rc<StopHook>);

impl Terminator for HookTerminator {
    fn terminated(&mut self) -> bool {
        self.0.is_stopped()
    }
}

/// Passes the solver's callbacks to a theory.
struct Bridge<T> {
    theory: Rc<RefCell<T>>,
    /// The clause being handed over, last literal first. It stays valid whatever happens in between, because a
    /// theory clause holds in every model.
    clause: Vec<i32>,
    lits: Vec<Lit>,
}

impl<T: Theory> Bridge<T> {
    fn has_clause(&mut self) -> bool {
        if self.clause.is_empty() && self.theory.borrow_mut().conflict(&mut self.lits) {
            self.clause.extend(self.lits.drain(..).map(to_dimacs));
        }
        !self.clause.is_empty()
    }
}

impl<T: Theory> ExternalPropagator for Bridge<T> {
    fn notify_assignment(&mut self, lits: &[i32]) {
        let mut theory = self.theory.borrow_mut();
        for &lit in lits {
            theory.assign(from_dimacs(lit));
        }
    }

    fn notify_new_decision_level(&mut self) {
        self.theory.borrow_mut().open_level();
    }

    fn notify_backtrack(&mut self, new_level: usize) {
        self.theory.borrow_mut().backtrack(new_level);
    }

    fn cb_check_found_model(&mut self, _model: &[i32]) -> bool {
        let is_model = !self.has_clause();
        if is_model {
            self.theory.borrow_mut().accept();
        }
        is_model
    }

    fn cb_decide(&mut self) -> i32 {
        self.theory.borrow_mut().decide().map_or(0, to_dimacs)
    }

    fn cb_has_external_clause(&mut self, is_forgettable: &mut bool) -> bool {
        *is_forgettable = true;
        self.has_clause()
    }

    fn cb_add_external_clause_lit(&mut self) -> i32 {
        self.clause.pop().unwrap_or(0)
    }
}

/// Passes what the solver derives to a trace.
struct Tracer(Rc<RefCell<Trace>>);

impl ProofTracer for Tracer {
    fn add_original_clause(&mut self, id: i64, _redundant: bool, _clause: &[i32], is_restored: bool) {
        if !is_restored {
            self.0.borrow_mut().given(id);
        }
    }

    fn add_derived_clause(&mut self, id: i64, _redundant: bool, _witness: i32, clause: &[i32], antecedents: &[i64]) {
        let clause = clause.iter().map(|it| from_dimacs(*it)).collect();
        self.0.borrow_mut().derived(id, clause, antecedents);
    }

    fn delete_clause(&mut self, _id: i64, _redundant: bool, _clause: &[i32]) {}
    fn weaken_minus(&mut self, _id: i64, _clause: &[i32]) {}
    fn strengthen(&mut self, _id: i64) {}
    fn finalize_clause(&mut self, _id: i64, _clause: &[i32]) {}
    fn add_assumption(&mut self, _lit: i32) {}
    fn add_constraint(&mut self, _clause: &[i32]) {}
    fn reset_assumptions(&mut self) {}
    fn add_assumption_clause(&mut self, _id: i64, _clause: &[i32], _antecedents: &[i64]) {}
    fn conclude_sat(&mut self, _conclusion_type: i32, _model: &[i32]) {}
    fn conclude_unsat(&mut self, _conclusion_type: i32, _clause_ids: &[i64]) {}
    fn conclude_unknown(&mut self, _trail: &[i32]) {}
}
