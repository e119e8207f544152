//! Variables, literals, and the one trait through which engines speak to a SAT solver.

use std::ops::Not;

/// A boolean variable, numbered densely from zero by the solver that made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Var(u32);

/// A variable or its negation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lit(u32);

/// The answer to one call of [`SatSolver::solve`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SatResult {
    /// A model was found; [`SatSolver::value`] reads it.
    Satisfiable,
    /// No model satisfies the clauses and the assumptions; [`SatSolver::is_failed`] names the assumptions used.
    Unsatisfiable,
    /// The stop callback ended the search before an answer.
    Stopped,
}

/// Work done by a solver since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SatStatistics {
    /// Variables made by [`SatSolver::new_var`].
    pub n_variables: u64,
    /// Clauses given to [`SatSolver::add_clause`].
    pub n_clauses: u64,
    /// Conflicts met in search.
    pub n_conflicts: u64,
    /// Decisions taken in search.
    pub n_decisions: u64,
    /// Literals assigned by unit propagation in search.
    pub n_propagations: u64,
}

/// An incremental SAT solver: clauses only grow, assumptions hold for one call.
pub trait SatSolver {
    /// Makes a fresh variable.
    fn new_var(&mut self) -> Var;

    /// Adds the disjunction of `clause` for good. The empty clause makes the formula unsatisfiable.
    fn add_clause(&mut self, clause: &[Lit]);

    /// Looks for a model of all clauses in which every literal of `assumptions` is true.
    ///
    /// `stop` is asked now and then; once it returns true, the search ends with [`SatResult::Stopped`] and the solver
    /// stays usable.
    fn solve(&mut self, assumptions: &[Lit], stop: &mut dyn FnMut() -> bool) -> SatResult;

    /// Whether `assumptions` are refuted by unit propagation alone, without any search.
    fn is_refuted_at_once(&mut self, assumptions: &[Lit]) -> bool;

    /// The value of `lit` in the model of the last call of [`SatSolver::solve`] that answered
    /// [`SatResult::Satisfiable`]. It can be read while clauses are added. Variables made since then are false.
    fn value(&self, lit: Lit) -> bool;

    /// Whether `assumption` was used to refute the last call, which answered [`SatResult::Unsatisfiable`].
    fn is_failed(&self, assumption: Lit) -> bool;

    /// Work done so far.
    fn statistics(&self) -> SatStatistics;
}

impl Var {
    pub(crate) fn new(idx: usize) -> Self {
        let idx = u32::try_from(idx).ok().filter(|&idx| idx < u32::MAX / 4);
        Self(idx.expect("a solver runs out of memory before it runs out of variables"))
    }

    /// The literal that is true when this variable is.
    pub fn positive(self) -> Lit {
        Lit(self.0 << 1)
    }

    /// The literal that is true when this variable is false.
    pub fn negative(self) -> Lit {
        Lit(self.0 << 1 | 1)
    }

    /// The literal that is true when this variable has value `value`.
    pub fn literal(self, value: bool) -> Lit {
        Lit(self.0 << 1 | u32::from(!value))
    }

    /// The number of this variable, from zero.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Lit {
    /// The variable of this literal.
    pub fn var(self) -> Var {
        Var(self.0 >> 1)
    }

    /// Whether this literal is a negated variable.
    pub fn is_negative(self) -> bool {
        self.0 & 1 == 1
    }

    /// A dense number for tables indexed by literal: twice the variable, plus one if negated.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    pub(crate) fn tag(self) -> u32 {
        self.0
    }

    pub(crate) fn from_tag(tag: u32) -> Self {
        Self(tag)
    }
}

impl Not for Lit {
    type Output = Self;

    fn not(self) -> Self {
        Self(self.0 ^ 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negation_keeps_the_variable_and_flips_the_sign() {
        let var = Var::new(7);
        assert_eq!(!var.positive(), var.negative());
        assert_eq!(!!var.positive(), var.positive());
        assert_eq!(var.negative().var(), var);
        assert!(var.negative().is_negative() && !var.positive().is_negative());
        assert_eq!((var.literal(true), var.literal(false)), (var.positive(), var.negative()));
    }
}
