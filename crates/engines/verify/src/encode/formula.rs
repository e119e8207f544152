//! Laws of a circuit in a solver of their own.

use iso_solve::{Circuit, Clauses, Lit, SatResult, SatSolver, SatStatistics, Solver, Values, Wire};

/// A solver that keeps the laws that it was made with.
pub(super) struct Formula {
    solver: Solver,
    clauses: Clauses,
}

impl Formula {
    pub(super) fn new(circuit: &Circuit, laws: &[&[Wire]]) -> Self {
        let (mut solver, mut clauses) = (Solver::new(), Clauses::new());
        for law in laws.iter().copied().flatten() {
            clauses.assert(&mut solver, circuit, *law);
        }
        Self { solver, clauses }
    }

    /// Can all of these be true as well?
    pub(super) fn solve(&mut self, circuit: &Circuit, assumed: &[Wire], stop: &mut dyn FnMut() -> bool) -> SatResult {
        let literal = |it: &Wire| self.clauses.literal(&mut self.solver, circuit, *it);
        let assumed: Vec<Lit> = assumed.iter().map(literal).collect();
        self.solver.solve(&assumed, stop)
    }

    /// What everything is in the last solution.
    pub(super) fn values(&self, circuit: &Circuit) -> Values {
        circuit.evaluate(|it| self.clauses.value(&self.solver, it))
    }

    pub(super) fn statistics(&self) -> SatStatistics {
        self.solver.statistics()
    }
}
