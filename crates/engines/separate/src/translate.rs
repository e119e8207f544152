//! From a spec's formula to a wire, for a sketched history and a witness that may be sketched, derived or known.

use crate::matrix::Matrix;
use crate::plan::{Plan, Plans};
use crate::sketch::Sketch;
use iso_form::Signed;
use iso_solve::{Circuit, Wire};
use iso_spec::{Elem, Formula, Given, Relation, Set, Sort, Variable};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use std::sync::Arc;

/// One thing that must exist, by what it relates.
#[derive(Clone, Debug)]
pub(crate) enum WitnessValue {
    /// An order or a relation of transactions.
    Binary(Rc<Matrix>),
    /// By key an order of its writers.
    Versions {
        /// The orders of the writers.
        by_key: Rc<Vec<Matrix>>,
        /// Orders of all transactions, by key, of which those are parts.
        orders: Rc<Vec<Rc<Matrix>>>,
    },
}

/// Which keys the variables of a quantifier go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyRange {
    All,
    /// The first one only the first key, the second one the first two, and so on: as if keys were numbered as they are
    /// mentioned.
    AsMentioned,
}

/// Translates formulas of one spec for one witness.
pub(crate) struct Translator<'c> {
    pub(crate) circuit: &'c mut Circuit,
    pub(crate) sketch: &'c Sketch,
    plans: &'c mut Plans,
    witness: &'c [WitnessValue],
    /// Values of variables by their number.
    values: Vec<usize>,
    /// Relations without free variables, by address.
    matrices: FxHashMap<usize, Rc<Matrix>>,
}

impl<'c> Translator<'c> {
    pub(crate) fn new(
        circuit: &'c mut Circuit,
        sketch: &'c Sketch,
        plans: &'c mut Plans,
        witness: &'c [WitnessValue],
    ) -> Self {
        Self { circuit, sketch, plans, witness, values: Vec::new(), matrices: FxHashMap::default() }
    }

    /// Is the formula true?
    pub(crate) fn formula(&mut self, formula: &Formula) -> Wire {
        match formula {
            Formula::Truth(truth) => Wire::constant(*truth),
            Formula::Not(of) => !self.formula(of),
            Formula::And(left, right) => match self.formula(left) {
                Wire::FALSE => Wire::FALSE,
                left => {
                    let right = self.formula(right);
                    self.circuit.both(left, right)
                }
            },
            Formula::Or(left, right) => self.either(left, true, right),
            Formula::Implies(left, right) => self.either(left, false, right),
            Formula::Iff(left, right) => {
                let (left, right) = (self.formula(left), self.formula(right));
                self.circuit.same(left, right)
            }
            Formula::Exists(variables, body) => self.exists(variables, body, true),
            Formula::Forall(variables, body) => !self.exists(variables, body, false),
            Formula::Equal(left, right) => Wire::constant(self.value(*left) == self.value(*right)),
            Formula::Member(elem, set) => {
                let elem = self.value(*elem);
                self.member(set, elem)
            }
            Formula::Related(relation, left, right) => {
                let (left, right) = (self.value(*left), self.value(*right));
                self.related(relation, left, right)
            }
            Formula::SetWithin(left, right) => self.set_within(left, Some(right)),
            Formula::SetEmpty(set) => self.set_within(set, None),
            Formula::Within(left, right) => self.within(left, Some(right)),
            Formula::Empty(of) => self.within(of, None),
            Formula::Irreflexive(of) => {
                let n = self.size(of.sorts().0);
                let loops: Vec<Wire> = (0..n).map(|it| !self.pair(of, it, it)).collect();
                self.circuit.and(loops)
            }
            Formula::Acyclic(of) => {
                let closed = self.matrix(of).closure(self.circuit);
                self.circuit.and((0..closed.n_rows()).map(|it| !closed.at(it, it)))
            }
            Formula::Total(of) => self.total(of),
            Formula::Transitive(of) => self.transitive(of),
        }
    }

    /// The left side, negated unless it must be true, or the right side.
    fn either(&mut self, left: &Formula, is_true: bool, right: &Formula) -> Wire {
        let left = self.formula(left);
        let left = if is_true { left } else { !left };
        if left == Wire::TRUE {
            return left;
        }
        let right = self.formula(right);
        self.circuit.either(left, right)
    }

    /// Are there values for which the body is true, or false?
    fn exists(&mut self, variables: &[Variable], body: &Arc<Formula>, is_true: bool) -> Wire {
        let mut cases = Vec::new();
        self.each_case(variables, body, is_true, KeyRange::All, &mut |_, case| cases.push(case));
        self.circuit.or(cases)
    }

    /// Tells for which values of the variables the body may be true, or false, and the wire that says it is.
    pub(crate) fn each_case(
        &mut self,
        variables: &[Variable],
        body: &Arc<Formula>,
        is_true: bool,
        keys: KeyRange,
        tell: &mut dyn FnMut(&[usize], Wire),
    ) {
        let plan = self.plans.plan(variables, body, is_true);
        let last = variables.iter().map(|it| it.id as usize + 1).max().unwrap_or(0);
        if self.values.len() < last {
            self.values.resize(last, usize::MAX);
        }
        let mut so_far = Vec::new();
        if self.all(&plan.first, &mut so_far) {
            self.descend(&plan, 0, keys, &mut so_far, tell);
        }
    }

    fn descend(
        &mut self,
        plan: &Plan,
        depth: usize,
        keys: KeyRange,
        so_far: &mut Vec<Wire>,
        tell: &mut dyn FnMut(&[usize], Wire),
    ) {
        let Some(step) = plan.steps.get(depth) else {
            let case = self.circuit.and(so_far.iter().copied());
            if case != Wire::FALSE {
                tell(&self.values, case);
            }
            return;
        };
        let before = so_far.len();
        let n_values = match (step.sort, keys) {
            (Sort::Key, KeyRange::AsMentioned) => self.sketch.n_keys.min(step.n_keys_before + 1),
            _ => self.size(step.sort),
        };
        for value in 0..n_values {
            self.values[step.variable as usize] = value;
            if step.is_guarded {
                so_far.push(self.is_there(step.sort, value));
            }
            if so_far.last() != Some(&Wire::FALSE) && self.all(&step.parts, so_far) {
                self.descend(plan, depth + 1, keys, so_far, tell);
            }
            so_far.truncate(before);
        }
    }

    /// Adds what must be true of the parts; false if one of them is surely not.
    fn all(&mut self, parts: &[Signed], so_far: &mut Vec<Wire>) -> bool {
        for part in parts {
            let wire = self.formula(&part.formula);
            match if part.is_true { wire } else { !wire } {
                Wire::FALSE => return false,
                Wire::TRUE => {}
                wire => so_far.push(wire),
            }
        }
        true
    }

    fn value(&self, elem: Elem) -> usize {
        match elem {
            Elem::Initial => 0,
            Elem::Var(id) => self.values[id as usize],
        }
    }

    fn size(&self, sort: Sort) -> usize {
        match sort {
            Sort::Txn => self.sketch.n_txns,
            Sort::Key => self.sketch.n_keys,
            Sort::Read => self.sketch.slots.len(),
        }
    }

    /// Is there such an element in the history?
    fn is_there(&self, sort: Sort, elem: usize) -> Wire {
        match sort {
            Sort::Txn => Wire::TRUE,
            Sort::Key => self.sketch.used[elem],
            Sort::Read => self.sketch.active[elem],
        }
    }

    fn member(&mut self, set: &Set, elem: usize) -> Wire {
        match set {
            Set::Initial => Wire::constant(elem == 0),
            Set::Union(left, right) => {
                let (left, right) = (self.member(left, elem), self.member(right, elem));
                self.circuit.either(left, right)
            }
            Set::Intersection(left, right) => {
                let (left, right) = (self.member(left, elem), self.member(right, elem));
                self.circuit.both(left, right)
            }
            Set::Difference(left, right) => {
                let (left, right) = (self.member(left, elem), self.member(right, elem));
                self.circuit.both(left, !right)
            }
            Set::Such(variable, body) => {
                self.bind(variable, elem);
                let is_true = self.formula(body);
                self.circuit.both(is_true, self.is_there(variable.sort, elem))
            }
        }
    }

    fn bind(&mut self, variable: &Variable, value: usize) {
        let place = variable.id as usize;
        if self.values.len() <= place {
            self.values.resize(place + 1, usize::MAX);
        }
        self.values[place] = value;
    }

    fn set_within(&mut self, left: &Set, right: Option<&Set>) -> Wire {
        let mut all = Vec::new();
        for elem in 0..self.size(left.sort()) {
            let inside = self.member(left, elem);
            let allowed = right.map_or(Wire::FALSE, |it| self.member(it, elem));
            all.push(self.circuit.either(!inside, allowed));
        }
        self.circuit.and(all)
    }

    fn within(&mut self, left: &Arc<Relation>, right: Option<&Arc<Relation>>) -> Wire {
        let left = self.matrix(left);
        let right = right.map(|it| self.matrix(it));
        let mut all = Vec::new();
        for row in 0..left.n_rows() {
            for col in 0..left.n_cols() {
                let allowed = right.as_ref().map_or(Wire::FALSE, |it| it.at(row, col));
                all.push(self.circuit.either(!left.at(row, col), allowed));
            }
        }
        self.circuit.and(all)
    }

    fn total(&mut self, of: &Arc<Relation>) -> Wire {
        let (matrix, sort) = (self.matrix(of), of.sorts().0);
        let mut all = Vec::new();
        for a in 0..matrix.n_rows() {
            for b in 0..a {
                let both_there = self.circuit.both(self.is_there(sort, a), self.is_there(sort, b));
                all.push(self.circuit.or([!both_there, matrix.at(a, b), matrix.at(b, a)]));
            }
        }
        self.circuit.and(all)
    }

    fn transitive(&mut self, of: &Arc<Relation>) -> Wire {
        let matrix = self.matrix(of);
        let n = matrix.n_rows();
        let mut all = Vec::new();
        for a in 0..n {
            for b in (0..n).filter(|b| matrix.at(a, *b) != Wire::FALSE) {
                for c in 0..n {
                    let path = self.circuit.both(matrix.at(a, b), matrix.at(b, c));
                    all.push(self.circuit.either(!path, matrix.at(a, c)));
                }
            }
        }
        self.circuit.and(all)
    }

    fn related(&mut self, relation: &Arc<Relation>, left: usize, right: usize) -> Wire {
        match &**relation {
            Relation::Given(_) | Relation::At(..) => self.pair(relation, left, right),
            _ if self.plans.is_closed(relation) => self.matrix(relation).at(left, right),
            _ => self.pair(relation, left, right),
        }
    }

    /// The relation as a matrix; computed once if it depends on no variable.
    pub(crate) fn matrix(&mut self, relation: &Arc<Relation>) -> Rc<Matrix> {
        let address = Arc::as_ptr(relation) as usize;
        if let Some(known) = self.matrices.get(&address) {
            return Rc::clone(known);
        }
        let is_closed = self.plans.is_closed(relation);
        let matrix = Rc::new(self.new_matrix(relation));
        if is_closed {
            self.matrices.insert(address, Rc::clone(&matrix));
        }
        matrix
    }

    fn new_matrix(&mut self, relation: &Arc<Relation>) -> Matrix {
        match &**relation {
            Relation::Composition(left, right) => {
                let (left, right) = (self.matrix(left), self.matrix(right));
                left.compose(&right, self.circuit)
            }
            Relation::Inverse(of) => self.matrix(of).inverse(),
            Relation::Closure(of) => self.matrix(of).closure(self.circuit),
            Relation::Reflexive(of) if of.sorts().0 == Sort::Txn => self.matrix(of).reflexive(),
            Relation::Union(left, right) => {
                let (left, right) = (self.matrix(left), self.matrix(right));
                left.union(&right, self.circuit)
            }
            _ => {
                let sorts = relation.sorts();
                let (n_rows, n_cols) = (self.size(sorts.0), self.size(sorts.1));
                Matrix::from_fn(n_rows, n_cols, |row, col| self.pair(relation, row, col))
            }
        }
    }

    /// Is this pair in the relation?
    fn pair(&mut self, relation: &Arc<Relation>, row: usize, col: usize) -> Wire {
        match &**relation {
            Relation::Given(given) => self.given(*given, row, col),
            Relation::At(given, key) => self.given_at(*given, self.value(*key), row, col),
            Relation::Union(left, right) => {
                let (left, right) = (self.related(left, row, col), self.related(right, row, col));
                self.circuit.either(left, right)
            }
            Relation::Intersection(left, right) => {
                let (left, right) = (self.related(left, row, col), self.related(right, row, col));
                self.circuit.both(left, right)
            }
            Relation::Difference(left, right) => {
                let (left, right) = (self.related(left, row, col), self.related(right, row, col));
                self.circuit.both(left, !right)
            }
            Relation::Composition(left, right) => {
                let (left, right) = (self.matrix(left), self.matrix(right));
                left.step(&right, row, col, self.circuit)
            }
            Relation::Inverse(of) => self.related(of, col, row),
            Relation::Closure(_) => self.matrix(relation).at(row, col),
            Relation::Reflexive(of) if row != col => self.related(of, row, col),
            Relation::Reflexive(of) => self.is_there(of.sorts().0, row),
            Relation::On(set) if row == col => self.member(set, row),
            Relation::On(_) => Wire::FALSE,
            Relation::Such(left, right, body) => {
                self.bind(left, row);
                self.bind(right, col);
                let is_true = self.formula(body);
                let there = [self.is_there(left.sort, row), self.is_there(right.sort, col)];
                self.circuit.and([is_true, there[0], there[1]])
            }
        }
    }

    fn given(&mut self, given: Given, row: usize, col: usize) -> Wire {
        let sketch = self.sketch;
        match given {
            Given::SessionOrder => sketch.so.at(row, col),
            Given::WriteRead => sketch.wr.at(row, col),
            Given::RealTime => sketch.rt.at(row, col),
            Given::Writes => sketch.writes.at(row, col),
            Given::Reads => sketch.reads.at(row, col),
            Given::ProgramOrder => {
                let both_there = self.circuit.both(sketch.active[row], sketch.active[col]);
                self.circuit.both(both_there, sketch.po.at(row, col))
            }
            Given::Of => self.circuit.both(sketch.active[row], Wire::constant(sketch.slots[row].txn == col)),
            Given::From => sketch.from.at(row, col),
            Given::KeyOf => self.circuit.both(sketch.active[row], Wire::constant(sketch.slots[row].key == col)),
            Given::Omits => self.circuit.both(sketch.omitted[row], Wire::constant(sketch.slots[row].key == col)),
            Given::Listed => self.circuit.or(sketch.lists.listed.iter().map(|it| it.at(row, col))),
            Given::Statement if row == col => Wire::TRUE,
            Given::Statement => sketch.statements.same.at(row, col),
            Given::Newest | Given::Inserts | Given::Locks if sketch.slots[row].key != col => Wire::FALSE,
            Given::Newest => sketch.statements.newest[row],
            Given::Inserts => sketch.statements.inserts[row],
            Given::Locks => self.circuit.both(sketch.statements.newest[row], !sketch.omitted[row]),
            Given::Makes => sketch.statements.makes.at(row, col),
            Given::Identity => Wire::constant(row == col),
            Given::Witness(idx) => match &self.witness[idx] {
                WitnessValue::Binary(matrix) => matrix.at(row, col),
                WitnessValue::Versions { by_key, .. } => {
                    let by_key = Rc::clone(by_key);
                    self.circuit.or(by_key.iter().map(|it| it.at(row, col)))
                }
            },
        }
    }

    fn given_at(&mut self, given: Given, key: usize, row: usize, col: usize) -> Wire {
        match given {
            Given::WriteRead => self.sketch.wr_at[key].at(row, col),
            Given::Listed => self.sketch.lists.listed[key].at(row, col),
            Given::Witness(idx) => match &self.witness[idx] {
                WitnessValue::Versions { by_key, .. } => by_key[key].at(row, col),
                WitnessValue::Binary(_) => unreachable!("only versions have keys"),
            },
            _ => Wire::FALSE,
        }
    }
}
