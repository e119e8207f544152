//! From circuits to clauses, each gate only in the direction in which it is needed (Plaisted & Greenbaum 1986).

use crate::circuit::{Circuit, Wire};
use crate::sat::{Lit, SatSolver};

/// Which gates of one circuit one solver knows, and in which direction.
#[derive(Clone, Debug, Default)]
pub struct Clauses {
    /// By gate, its variable's positive literal.
    lits: Vec<Option<Lit>>,
    /// By gate: true needs its conjuncts (1), false needs one of them false (2).
    directions: Vec<u8>,
    stack: Vec<Wire>,
    clause: Vec<Lit>,
}

/// Is each part of a disjunction looked at by itself?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probing {
    /// No.
    None,
    /// Those that unit propagation refutes are dropped at once. It takes one propagation each, and often spares a search.
    Each,
}

const IF_TRUE: u8 = 1;
const IF_FALSE: u8 = 2;

impl Clauses {
    /// Nothing is known to the solver yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes the wire true from now on.
    pub fn assert(&mut self, solver: &mut impl SatSolver, circuit: &Circuit, wire: Wire) {
        match wire.as_constant() {
            Some(true) => return,
            Some(false) => return solver.add_clause(&[]),
            None => {}
        }
        let conjuncts = circuit.conjuncts(wire.gate());
        if conjuncts.is_empty() {
            let lit = self.literal(solver, circuit, wire);
            solver.add_clause(&[lit]);
        } else if wire.is_negated() {
            let clause: Vec<Lit> = conjuncts.iter().map(|it| self.literal(solver, circuit, !*it)).collect();
            solver.add_clause(&clause);
        } else {
            for conjunct in conjuncts {
                self.assert(solver, circuit, *conjunct);
            }
        }
    }

    /// Makes at least one of the wires true from now on.
    pub fn assert_any(&mut self, solver: &mut impl SatSolver, circuit: &Circuit, wires: &[Wire], probing: Probing) {
        let mut clause = Vec::new();
        for wire in wires {
            let lit = self.literal(solver, circuit, *wire);
            if probing == Probing::Each && solver.is_refuted_at_once(&[lit]) {
                solver.add_clause(&[!lit]);
            } else {
                clause.push(lit);
            }
        }
        solver.add_clause(&clause);
    }

    /// A literal that may only be true if the wire is: good for clauses and assumptions.
    pub fn literal(&mut self, solver: &mut impl SatSolver, circuit: &Circuit, wire: Wire) -> Lit {
        let lit = self.lit(solver, circuit, wire);
        self.stack.push(wire);
        while let Some(wire) = self.stack.pop() {
            self.define(solver, circuit, wire);
        }
        lit
    }

    /// The value of an input in the solver's last model; inputs that no clause mentions are false.
    pub fn value(&self, solver: &impl SatSolver, input: Wire) -> bool {
        if let Some(truth) = input.as_constant() {
            return truth;
        }
        let lit = self.lits.get(input.gate()).copied().flatten();
        lit.is_some_and(|it| solver.value(it)) != input.is_negated()
    }

    fn lit(&mut self, solver: &mut impl SatSolver, circuit: &Circuit, wire: Wire) -> Lit {
        if self.lits.len() < circuit.n_gates() {
            self.lits.resize(circuit.n_gates(), None);
            self.directions.resize(circuit.n_gates(), 0);
        }
        let slot = &mut self.lits[wire.gate()];
        let is_new = slot.is_none();
        let lit = *slot.get_or_insert_with(|| solver.new_var().positive());
        if is_new && wire.gate() == 0 {
            solver.add_clause(&[lit]);
        }
        if wire.is_negated() { !lit } else { lit }
    }

    /// Adds what must hold if the wire's literal is true.
    fn define(&mut self, solver: &mut impl SatSolver, circuit: &Circuit, wire: Wire) {
        let conjuncts = circuit.conjuncts(wire.gate());
        let direction = if wire.is_negated() { IF_FALSE } else { IF_TRUE };
        if conjuncts.is_empty() || self.directions[wire.gate()] & direction != 0 {
            return;
        }
        self.directions[wire.gate()] |= direction;
        let own = self.lit(solver, circuit, wire);
        let mut clause = std::mem::take(&mut self.clause);
        if wire.is_negated() {
            clause.clear();
            clause.push(!own);
            for conjunct in conjuncts {
                clause.push(self.lit(solver, circuit, !*conjunct));
                self.stack.push(!*conjunct);
            }
            solver.add_clause(&clause);
        } else {
            for conjunct in conjuncts {
                let lit = self.lit(solver, circuit, *conjunct);
                solver.add_clause(&[!own, lit]);
                self.stack.push(*conjunct);
            }
        }
        self.clause = clause;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SatResult, Solver};

    /// All values of three inputs that make the wire true, by the solver and by hand.
    #[test]
    fn models_of_the_clauses_are_those_of_the_circuit() {
        let mut circuit = Circuit::new();
        let inputs: Vec<Wire> = (0..3).map(|_| circuit.input()).collect();
        let (a, b, c) = (inputs[0], inputs[1], inputs[2]);
        let same = circuit.same(a, b);
        let either = circuit.either(same, !c);
        let formulas = [same, !same, either, !either, circuit.and([a, !b, c]), Wire::TRUE, Wire::FALSE];
        let expected: [&dyn Fn(bool, bool, bool) -> bool; 7] = [
            &|a, b, _| a == b,
            &|a, b, _| a != b,
            &|a, b, c| a == b || !c,
            &|a, b, c| a != b && c,
            &|a, b, c| a && !b && c,
            &|_, _, _| true,
            &|_, _, _| false,
        ];
        for (formula, expected) in formulas.into_iter().zip(expected) {
            let (mut solver, mut clauses) = (Solver::new(), Clauses::new());
            clauses.assert(&mut solver, &circuit, formula);
            for values in 0..8u32 {
                let bit = |idx: usize| values >> idx & 1 == 1;
                let assumed: Vec<Lit> = (0..3)
                    .map(|it| clauses.literal(&mut solver, &circuit, if bit(it) { inputs[it] } else { !inputs[it] }))
                    .collect();
                let is_model = solver.solve(&assumed, &mut || false) == SatResult::Satisfiable;
                assert_eq!(is_model, expected(bit(0), bit(1), bit(2)), "{formula:?} {values:03b}");
                if is_model {
                    assert!((0..3).all(|it| clauses.value(&solver, inputs[it]) == bit(it)));
                }
            }
        }
    }

    #[test]
    fn a_wire_can_be_used_both_ways() {
        let mut circuit = Circuit::new();
        let (a, b) = (circuit.input(), circuit.input());
        let both = circuit.and([a, b]);
        let (mut solver, mut clauses) = (Solver::new(), Clauses::new());
        let yes = clauses.literal(&mut solver, &circuit, both);
        let no = clauses.literal(&mut solver, &circuit, !both);
        let b_lit = clauses.literal(&mut solver, &circuit, b);
        assert_eq!(solver.solve(&[yes], &mut || false), SatResult::Satisfiable);
        assert!(clauses.value(&solver, a) && clauses.value(&solver, b));
        assert_eq!(solver.solve(&[no, b_lit], &mut || false), SatResult::Satisfiable);
        assert!(!clauses.value(&solver, a));
        assert_eq!(solver.solve(&[yes, !b_lit], &mut || false), SatResult::Unsatisfiable);
    }
}
