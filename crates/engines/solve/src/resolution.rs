//! Why clauses are unsatisfiable: resolvents that lead to the empty clause, each with what it follows from.
//!
//! The SAT solver tells all that it derives, and of that only what the empty clause rests on is kept.

use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::rc::Rc;

use crate::Solver;
use crate::sat::{Lit, SatResult, SatSolver, Var};

/// A clause that follows from others by unit propagation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolvent {
    /// Its literals; none in the last one.
    pub clause: Vec<Lit>,
    /// What it follows from, in the order of propagation: given clauses by their number, resolvents from there on.
    pub antecedents: Vec<u32>,
}

/// Derives the empty clause from `clauses` over the variables below `n_variables`.
///
/// Nothing if they have a model, or if `stop` returned true before the answer.
pub fn resolve(n_variables: usize, clauses: &[Vec<Lit>], stop: &mut dyn FnMut() -> bool) -> Option<Vec<Resolvent>> {
    if let Some(empty) = clauses.iter().position(Vec::is_empty) {
        return Some(vec![Resolvent { clause: Vec::new(), antecedents: vec![empty as u32] }]);
    }
    let trace = Rc::new(RefCell::new(Trace::default()));
    resolve_with(Solver::traced(Rc::clone(&trace)), &trace, n_variables, clauses, stop)
}

/// The same by a solver that tells all that it derives.
pub(crate) fn resolve_with(
    mut solver: impl SatSolver,
    trace: &RefCell<Trace>,
    n_variables: usize,
    clauses: &[Vec<Lit>],
    stop: &mut dyn FnMut() -> bool,
) -> Option<Vec<Resolvent>> {
    for _ in 0..n_variables {
        solver.new_var();
    }
    for clause in clauses {
        solver.add_clause(clause);
    }
    if solver.solve(&[], stop) != SatResult::Unsatisfiable {
        return None;
    }
    drop(solver);
    trace.take().trimmed(clauses.len())
}

/// Variables are made by the solver; this is the one with a number, for clauses that are written down before.
pub fn variable(number: u32) -> Var {
    Var::new(number as usize)
}

/// What the solver told.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    n_given: u32,
    /// The numbers of clauses, by the solver's.
    numbers: FxHashMap<i64, Told>,
    derived: Vec<(Vec<Lit>, Vec<i64>)>,
    empty: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
enum Told {
    Given(u32),
    Derived(usize),
}

impl Trace {
    pub(crate) fn given(&mut self, id: i64) {
        self.numbers.insert(id, Told::Given(self.n_given));
        self.n_given += 1;
    }

    pub(crate) fn derived(&mut self, id: i64, clause: Vec<Lit>, antecedents: &[i64]) {
        if self.empty.is_some() {
            return;
        }
        if clause.is_empty() {
            self.empty = Some(self.derived.len());
        }
        self.numbers.insert(id, Told::Derived(self.derived.len()));
        self.derived.push((clause, antecedents.to_vec()));
    }

    /// What the empty clause rests on. Nothing if the solver did not say what one of its clauses follows from.
    fn trimmed(mut self, n_given: usize) -> Option<Vec<Resolvent>> {
        let empty = self.empty?;
        let mut is_needed = vec![false; empty + 1];
        is_needed[empty] = true;
        for idx in (0..=empty).rev() {
            let is_needed_here = is_needed[idx];
            for antecedent in self.derived[idx].1.iter().take_while(|_| is_needed_here) {
                if let Told::Derived(needed) = self.numbers.get(antecedent)? {
                    is_needed[*needed] = true;
                }
            }
        }
        let mut places = vec![0; empty + 1];
        let mut resolvents = Vec::new();
        for idx in (0..=empty).filter(|it| is_needed[*it]) {
            let (clause, antecedents) = std::mem::take(&mut self.derived[idx]);
            let number = |it: &i64| match self.numbers[it] {
                Told::Given(given) => given,
                Told::Derived(derived) => places[derived],
            };
            let antecedents = antecedents.iter().map(number).collect();
            places[idx] = (n_given + resolvents.len()) as u32;
            resolvents.push(Resolvent { clause, antecedents });
        }
        Some(resolvents)
    }
}
