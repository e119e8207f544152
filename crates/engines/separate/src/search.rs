//! The search at one number of transactions: candidates that the allowed specs explain and the forbidden ones may not.
//!
//! A spec forbids a history if it fails for every witness. So it fails for each witness that can be computed from the
//! history and from an order that an allowed spec has anyway; these instances are asked for first, and mostly nothing
//! is left to do. Otherwise each candidate is given to a checker, and the witness that it finds becomes an instance
//! (counterexample-guided synthesis, as in Isolde). We differ: what is learned is an order, with the rest of the witness
//! derived from it for each history, so one instance excludes many candidates.

use crate::draft::Draft;
use crate::matrix::Matrix;
use crate::plan::Plans;
use crate::question::{Aspects, Method, Scope};
use crate::sketch::{Numbering, Sketch};
use crate::translate::{KeyRange, WitnessValue};
use crate::witness::{Board, N_GUESSES, Rest, SpecWitness};
use iso_evidence::{Budget, Note, Quantity, StopReason};
use iso_form::{Form, Source};
use iso_solve::{Circuit, Clauses, Probing, SatResult, SatSolver, Solver, Values, Wire};
use iso_spec::Spec;
use std::rc::Rc;

/// What a search took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Histories that were looked at.
    pub candidates: u64,
    /// Witnesses for which the forbidden specs had to fail.
    pub instances: u64,
    /// Variables of all solvers.
    pub variables: u64,
    /// Clauses of all solvers.
    pub clauses: u64,
    /// Conflicts of all solvers.
    pub conflicts: u64,
}

impl Effort {
    /// Adds what another search took.
    pub fn add(&mut self, other: &Self) {
        self.candidates += other.candidates;
        self.instances += other.instances;
        self.variables += other.variables;
        self.clauses += other.clauses;
        self.conflicts += other.conflicts;
    }

    fn add_solver(&mut self, solver: &Solver) {
        let statistics = solver.statistics();
        self.variables += statistics.n_variables;
        self.clauses += statistics.n_clauses;
        self.conflicts += statistics.n_conflicts;
    }
}

/// A history that separates, with the witness of each allowed spec.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) draft: Draft,
    values: Values,
}

impl Model {
    /// Is this input in?
    pub(crate) fn has(&self, input: Wire) -> bool {
        self.values.of(input)
    }
}

/// All histories with one number of transactions.
pub(crate) struct CandidateSearch<'q, 's> {
    budget: &'q Budget<'q>,
    board: Board,
    solver: Solver,
    clauses: Clauses,
    allowed: Vec<(&'q Form<'s>, SpecWitness)>,
    rivals: Vec<Rival<'q, 's>>,
    method: Method,
    effort: Effort,
}

/// A spec that must forbid the history.
struct Rival<'q, 's> {
    form: &'q Form<'s>,
    checker: Option<Checker>,
    /// Were the further derived witnesses asked for?
    is_wide: bool,
}

/// Looks for a witness that explains a candidate.
struct Checker {
    solver: Solver,
    clauses: Clauses,
    witness: SpecWitness,
}

impl<'q, 's> CandidateSearch<'q, 's> {
    pub(crate) fn new(
        forms: &'q Forms<'s>,
        scope: &Scope,
        n_txns: usize,
        aspects: Aspects,
        method: Method,
        budget: &'q Budget<'q>,
    ) -> Self {
        let mut circuit = Circuit::new();
        let fixed = if method.fixed_order { forms.fixed } else { None };
        let numbering = Numbering {
            orders_reads: fixed.is_some_and(|it| forms.allowed[it].orders_reads),
            orders_sessions: fixed.is_some_and(|it| forms.allowed[it].orders_sessions),
        };
        let sketch = Sketch::new(&mut circuit, scope, n_txns, aspects, numbering);
        let mut search = Self {
            budget,
            board: Board { circuit, sketch, plans: Plans::default() },
            solver: Solver::new(),
            clauses: Clauses::new(),
            allowed: Vec::new(),
            rivals: Vec::new(),
            method,
            effort: Effort::default(),
        };
        for law in search.board.sketch.laws.clone() {
            search.assert(law);
        }
        for (idx, form) in forms.allowed.iter().enumerate() {
            let order = (fixed == Some(idx)).then(|| Rc::new(in_sequence(n_txns + 1)));
            let witness = search.board.witness(form, order, Rest::Free);
            let holds = search.board.holds(form, &witness);
            search.assert(holds);
            search.allowed.push((form, witness));
        }
        search.rivals.extend(forms.forbidden.iter().map(|form| Rival { form, checker: None, is_wide: false }));
        search
    }

    /// Asks that the forbidden specs fail wherever that can be said before the first candidate.
    pub(crate) fn begin(&mut self) {
        for idx in 0..self.rivals.len() {
            self.begin_with(self.rivals[idx].form);
        }
    }

    pub(crate) fn sketch(&self) -> &Sketch {
        &self.board.sketch
    }

    /// The sketch, and the circuit to say more about it.
    pub(crate) fn parts(&mut self) -> (&Sketch, &mut Circuit) {
        (&self.board.sketch, &mut self.board.circuit)
    }

    /// Makes a wire true from now on.
    pub(crate) fn assert(&mut self, wire: Wire) {
        self.clauses.assert(&mut self.solver, &self.board.circuit, wire);
    }

    /// What it took so far.
    pub(crate) fn effort(&self) -> Effort {
        let mut effort = self.effort;
        effort.add_solver(&self.solver);
        for checker in self.rivals.iter().filter_map(|it| it.checker.as_ref()) {
            effort.add_solver(&checker.solver);
        }
        effort
    }

    /// A history that separates, for which all of the wires are true; none if there is no such history.
    pub(crate) fn find(&mut self, assumed: &[Wire]) -> Result<Option<Model>, StopReason> {
        loop {
            self.budget.check()?;
            let assumed: Vec<_> =
                assumed.iter().map(|it| self.clauses.literal(&mut self.solver, &self.board.circuit, *it)).collect();
            match solve(&mut self.solver, &assumed, self.budget)? {
                SatResult::Satisfiable => {}
                _ => return Ok(None),
            }
            let values = self.board.circuit.evaluate(|it| self.clauses.value(&self.solver, it));
            self.effort.candidates += 1;
            self.budget.note(Note::Counted(Quantity::Candidates, 1));
            if !self.refute(&values)? {
                return Ok(Some(Model { draft: Draft::new(&self.board.sketch, &values), values }));
            }
        }
    }

    /// Does a forbidden spec explain the candidate? Then it is excluded from now on.
    fn refute(&mut self, candidate: &Values) -> Result<bool, StopReason> {
        for idx in 0..self.rivals.len() {
            let Some(found) = self.check(idx, candidate)? else { continue };
            if self.method.derived_witnesses && !self.rivals[idx].is_wide {
                self.rivals[idx].is_wide = true;
                self.widen(self.rivals[idx].form);
            }
            self.learn(self.rivals[idx].form, &found, candidate);
            return Ok(true);
        }
        Ok(false)
    }

    /// A witness of a forbidden spec for the candidate, if there is one.
    fn check(&mut self, idx: usize, candidate: &Values) -> Result<Option<SpecWitness>, StopReason> {
        let form = self.rivals[idx].form;
        if self.rivals[idx].checker.is_none() {
            let witness = self.board.witness(form, None, Rest::Free);
            let holds = self.board.holds(form, &witness);
            let mut checker = Checker { solver: Solver::for_short_calls(), clauses: Clauses::new(), witness };
            checker.clauses.assert(&mut checker.solver, &self.board.circuit, holds);
            self.rivals[idx].checker = Some(checker);
        }
        let Some(checker) = &mut self.rivals[idx].checker else { return Ok(None) };
        let circuit = &self.board.circuit;
        let assumed: Vec<_> = self
            .board
            .sketch
            .inputs
            .iter()
            .map(|it| if candidate.of(*it) { *it } else { !*it })
            .map(|it| checker.clauses.literal(&mut checker.solver, circuit, it))
            .collect();
        match solve(&mut checker.solver, &assumed, self.budget)? {
            SatResult::Satisfiable => {}
            _ => return Ok(None),
        }
        let values = circuit.evaluate(|it| checker.clauses.value(&checker.solver, it));
        Ok(Some(known(&checker.witness, &values)))
    }

    /// The spec must fail for what this witness makes of any history. Many are learned, so they are not probed.
    fn learn(&mut self, form: &Form<'_>, found: &SpecWitness, candidate: &Values) {
        let order = found.order.clone();
        let failures = self.forbid(form, order.clone(), Rest::Known(&found.values), &[], Probing::None);
        // The failures are younger than the candidate, but their inputs are not.
        let values = self.board.circuit.evaluate(|it| candidate.has(it) && candidate.of(it));
        let is_excluded = failures.iter().all(|it| !values.of(*it));
        assert!(is_excluded, "{}: a witness must exclude the candidate that it explains", form.spec.name());
        if !form.follows_from_order() && self.method.derived_witnesses {
            for way in 0..N_GUESSES {
                self.forbid(form, order.clone(), Rest::Guess(way), &[], Probing::None);
            }
        }
    }

    /// The spec must fail for this witness, in one of the ways that are returned; or the laws of its order do.
    fn forbid(
        &mut self,
        form: &Form<'_>,
        order: Option<Rc<Matrix>>,
        rest: Rest<'_>,
        laws: &[Wire],
        probing: Probing,
    ) -> Vec<Wire> {
        let mut witness = self.board.witness(form, order, rest);
        witness.laws.extend_from_slice(laws);
        // Keys have no names yet: the first failure that is asked for may as well be about the first ones.
        let is_first = self.effort.instances == 0 && self.method.derived_witnesses;
        let keys = if is_first { KeyRange::AsMentioned } else { KeyRange::All };
        let failures = self.board.failures(form, &witness, keys);
        self.clauses.assert_any(&mut self.solver, &self.board.circuit, &failures, probing);
        self.effort.instances += 1;
        failures
    }

    /// What can be asked before the first candidate.
    fn begin_with(&mut self, form: &'q Form<'s>) {
        if self.method.derived_witnesses {
            for order in self.orders() {
                self.derive(form, &order, &[]);
            }
            self.merge(form);
            return;
        }
        let same = self.allowed.iter().find(|it| it.0.spec.witnesses() == form.spec.witnesses());
        let witness = match same.filter(|_| self.method.merging) {
            // What has the same names and kinds can be a witness of either.
            Some((_, witness)) if witness.order.is_some() || !form.has_order => witness.clone(),
            _ => self.board.witness(form, None, Rest::Free),
        };
        let fails = !self.board.holds_with_rules(form, &SpecWitness { laws: Vec::new(), ..witness.clone() });
        for law in witness.laws {
            self.assert(law);
        }
        self.assert(fails);
        self.effort.instances += 1;
    }

    /// The orders that exist anyway. If there is none, any will do.
    fn orders(&self) -> Vec<Rc<Matrix>> {
        let mut orders: Vec<Rc<Matrix>> = self.allowed.iter().filter_map(|it| it.1.order.clone()).collect();
        if orders.is_empty() {
            orders.push(Rc::new(in_sequence(self.board.sketch.n_txns)));
        }
        orders
    }

    fn derive(&mut self, form: &Form<'_>, order: &Rc<Matrix>, laws: &[Wire]) {
        let n_ways = if form.follows_from_order() { 1 } else { N_GUESSES };
        for way in 0..n_ways {
            self.forbid(form, Some(Rc::clone(order)), Rest::Guess(way), laws, Probing::Each);
        }
    }

    /// What does not follow from an order may be as in an allowed spec with the same kinds of things.
    fn merge(&mut self, form: &Form<'_>) {
        if form.follows_from_order() {
            return;
        }
        let kinds = |it: &Form<'_>| it.spec.witnesses().iter().map(|it| it.kind).collect::<Vec<_>>();
        let is_same = |it: &&(&Form<'_>, SpecWitness)| kinds(it.0) == kinds(form);
        let same: Vec<SpecWitness> = self.allowed.iter().filter(is_same).map(|it| it.1.clone()).collect();
        for witness in same {
            self.forbid(form, witness.order, Rest::Known(&witness.values), &[], Probing::Each);
        }
    }

    /// Derived witnesses that cost more, asked for once the first ones were not enough.
    fn widen(&mut self, form: &Form<'_>) {
        for order in self.orders() {
            let by_starts = self.board.order_by_starts(&order);
            for order in [self.board.snapshot_order(&order), by_starts] {
                self.derive(form, &order, &[]);
            }
        }
        for (relation, order) in self.free_relations() {
            let (order, laws) = self.board.order_by_ends(&relation, &order);
            self.derive(form, &order, &laws);
        }
    }

    /// Relations of allowed specs that do not follow from an order, each with the order beside it.
    fn free_relations(&self) -> Vec<(Rc<Matrix>, Rc<Matrix>)> {
        let mut relations = Vec::new();
        for (form, witness) in &self.allowed {
            for (source, value) in form.witnesses.iter().zip(&witness.values) {
                if let (Source::Relation(_), WitnessValue::Binary(of), Some(order)) = (source, value, &witness.order) {
                    relations.push((Rc::clone(of), Rc::clone(order)));
                }
            }
        }
        relations
    }

    /// The witness of each allowed spec, with all choices made.
    pub(crate) fn witnesses(&self, model: &Model) -> Vec<(&'s Spec, SpecWitness)> {
        self.allowed.iter().map(|it| (it.0.spec, known(&it.1, &model.values))).collect()
    }
}

/// The specs of a question, taken apart once for all sizes.
pub(crate) struct Forms<'s> {
    pub(crate) allowed: Vec<Form<'s>>,
    pub(crate) forbidden: Vec<Form<'s>>,
    /// The allowed spec by whose order transactions are numbered.
    pub(crate) fixed: Option<usize>,
}

impl<'s> Forms<'s> {
    pub(crate) fn new(allowed: &[&'s Spec], forbidden: &[&'s Spec]) -> Self {
        let allowed: Vec<Form<'s>> = allowed.iter().map(|it| Form::new(it)).collect();
        let forbidden = forbidden.iter().map(|it| Form::new(it)).collect();
        let worth = |it: &Form<'_>| 1 + usize::from(it.orders_reads) + usize::from(it.orders_sessions);
        let ordered = (0..allowed.len()).filter(|it| allowed[*it].has_order);
        let fixed = ordered.max_by_key(|it| (worth(&allowed[*it]), usize::MAX - it));
        Self { allowed, forbidden, fixed }
    }
}

fn in_sequence(n: usize) -> Matrix {
    Matrix::of_places(&(0..n).collect::<Vec<_>>())
}

fn solve(solver: &mut Solver, assumed: &[iso_solve::Lit], budget: &Budget<'_>) -> Result<SatResult, StopReason> {
    let result = solver.solve(assumed, &mut || budget.check().is_err());
    if result == SatResult::Stopped {
        budget.check()?;
        return Err(StopReason::Steps);
    }
    Ok(result)
}

/// The witness with its wires replaced by what they are.
fn known(witness: &SpecWitness, values: &Values) -> SpecWitness {
    let matrix = |of: &Matrix| Matrix::from_fn(of.n_rows(), of.n_cols(), |a, b| Wire::constant(values.of(of.at(a, b))));
    let value = |of: &WitnessValue| match of {
        WitnessValue::Binary(of) => WitnessValue::Binary(Rc::new(matrix(of))),
        WitnessValue::Versions { by_key, orders } => WitnessValue::Versions {
            by_key: Rc::new(by_key.iter().map(matrix).collect()),
            orders: Rc::new(orders.iter().map(|it| Rc::new(matrix(it))).collect()),
        },
    };
    SpecWitness {
        order: witness.order.as_ref().map(|it| Rc::new(matrix(it))),
        values: witness.values.iter().map(value).collect(),
        laws: Vec::new(),
    }
}
