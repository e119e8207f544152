//! Witnesses of a spec for a sketched history: free, derived from an order, or known.

use crate::matrix::Matrix;
use crate::plan::Plans;
use crate::sketch::Sketch;
use crate::translate::{KeyRange, Translator, WitnessValue};
use iso_form::{Conjunct, Form, Rule, Signed, Source};
use iso_solve::{Circuit, Wire};
use iso_spec::{Elem, Formula, HiddenRows, Variable};
use std::rc::Rc;
use std::sync::Arc;

/// Where circuits grow.
#[derive(Debug)]
pub(crate) struct Board {
    pub(crate) circuit: Circuit,
    pub(crate) sketch: Sketch,
    pub(crate) plans: Plans,
}

/// A witness of a spec.
#[derive(Clone, Debug)]
pub(crate) struct SpecWitness {
    /// The order of transactions, if the spec has one.
    pub(crate) order: Option<Rc<Matrix>>,
    pub(crate) values: Vec<WitnessValue>,
    /// What makes orders among the values orders; true of all that are derived.
    pub(crate) laws: Vec<Wire>,
}

/// How many ways there are to guess a relation from an order.
pub(crate) const N_GUESSES: usize = 3;

/// What to put where a witness does not follow from the order of transactions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rest<'w> {
    /// Anything: new inputs.
    Free,
    /// Something made of the order, in one of several ways.
    Guess(usize),
    /// What another witness of the same spec has.
    Known(&'w [WitnessValue]),
}

impl Board {
    /// A witness with this order of transactions, or with any if none is given.
    pub(crate) fn witness(&mut self, form: &Form<'_>, order: Option<Rc<Matrix>>, rest: Rest<'_>) -> SpecWitness {
        let mut laws = Vec::new();
        let order = match order {
            None if form.has_order => Some(self.free_order(&mut laws)),
            order => order,
        };
        let n = self.sketch.n_txns;
        let mut values = vec![WitnessValue::Binary(Rc::new(Matrix::empty(n, n))); form.witnesses.len()];
        for (idx, source) in form.witnesses.iter().enumerate() {
            match (source, &order) {
                (Source::Order, Some(order)) => values[idx] = WitnessValue::Binary(Rc::clone(order)),
                (Source::VersionsOfOrder, Some(order)) => {
                    values[idx] = self.versions_of(vec![Rc::clone(order); self.sketch.n_keys]);
                }
                (Source::Least(_) | Source::Relation(_), _) => {}
                (Source::OtherOrder, order) => values[idx] = self.other_order(idx, order.as_ref(), rest, &mut laws),
                (_, order) => values[idx] = self.other_versions(idx, order.as_ref(), rest, &mut laws),
            }
        }
        for (idx, source) in form.witnesses.iter().enumerate() {
            if let Source::Least(rules) | Source::Relation(rules) = source {
                let is_least = matches!(source, Source::Least(_));
                values[idx] = match rest {
                    _ if is_least => self.least(rules, order.as_deref(), &values),
                    Rest::Free => WitnessValue::Binary(Rc::new(self.free_relation())),
                    Rest::Known(known) => known[idx].clone(),
                    Rest::Guess(way) => self.guess(way, rules, order.as_deref(), &values),
                };
            }
        }
        SpecWitness { order, values, laws }
    }

    /// Does this witness explain the history?
    pub(crate) fn holds(&mut self, form: &Form<'_>, witness: &SpecWitness) -> Wire {
        let mut all = witness.laws.clone();
        let Self { circuit, sketch, plans } = self;
        if form.spec.hidden_rows() == HiddenRows::Forbidden {
            all.push(!sketch.any_lost(circuit));
        }
        let mut translator = Translator::new(circuit, sketch, plans, &witness.values);
        for part in &form.conjuncts {
            let wire = match (part, &witness.order) {
                (Conjunct::Formula(signed), _) => {
                    let wire = translator.formula(&signed.formula);
                    if signed.is_true { wire } else { !wire }
                }
                (Conjunct::InOrder(relation), Some(order)) => within(&mut translator, relation, order),
                (Conjunct::InOrder(_), None) => unreachable!("such a conjunct is made with an order"),
            };
            if wire == Wire::FALSE {
                return wire;
            }
            all.push(wire);
        }
        circuit.and(all)
    }

    /// Does this witness, which need not be made for the spec, explain the history?
    pub(crate) fn holds_with_rules(&mut self, form: &Form<'_>, witness: &SpecWitness) -> Wire {
        let mut all = vec![self.holds(form, witness)];
        let Self { circuit, sketch, plans } = self;
        let mut translator = Translator::new(circuit, sketch, plans, &witness.values);
        for signed in &form.rules {
            let wire = translator.formula(&signed.formula);
            all.push(if signed.is_true { wire } else { !wire });
        }
        circuit.and(all)
    }

    /// The ways in which this witness can fail to explain the history: one of these is true, or it does explain it.
    pub(crate) fn failures(&mut self, form: &Form<'_>, witness: &SpecWitness, keys: KeyRange) -> Vec<Wire> {
        let mut failures: Vec<Wire> = witness.laws.iter().map(|it| !*it).collect();
        let Self { circuit, sketch, plans } = self;
        if form.spec.hidden_rows() == HiddenRows::Forbidden {
            let lost = sketch.any_lost(circuit);
            alternatives(circuit, lost, &mut failures);
        }
        let mut translator = Translator::new(circuit, sketch, plans, &witness.values);
        for part in &form.conjuncts {
            match (part, &witness.order) {
                (Conjunct::Formula(signed), _) => failures_of(&mut translator, signed, keys, &mut failures),
                (Conjunct::InOrder(relation), Some(order)) => {
                    let within = within(&mut translator, relation, order);
                    alternatives(translator.circuit, !within, &mut failures);
                }
                (Conjunct::InOrder(_), None) => unreachable!("such a conjunct is made with an order"),
            }
        }
        failures
    }

    fn free_order(&mut self, laws: &mut Vec<Wire>) -> Rc<Matrix> {
        let (n, circuit) = (self.sketch.n_txns, &mut self.circuit);
        let mut order = Matrix::empty(n, n);
        for b in 1..n {
            order.set(0, b, Wire::TRUE);
            for a in 1..b {
                let before = circuit.input();
                order.set(a, b, before);
                order.set(b, a, !before);
            }
        }
        // Each cycle of three, once in each direction; without one a tournament has no cycle at all.
        for a in 1..n {
            for b in a + 1..n {
                for c in b + 1..n {
                    let (ab, bc, ca) = (order.at(a, b), order.at(b, c), order.at(c, a));
                    laws.push(!circuit.and([ab, bc, ca]));
                    laws.push(!circuit.and([!ab, !bc, !ca]));
                }
            }
        }
        Rc::new(order)
    }

    fn free_relation(&mut self) -> Matrix {
        let n = self.sketch.n_txns;
        Matrix::from_fn(n, n, |_, _| self.circuit.input())
    }

    /// The orders of all transactions, one a key, restricted to the writers of the key.
    fn versions_of(&mut self, orders: Vec<Rc<Matrix>>) -> WitnessValue {
        let (circuit, sketch) = (&mut self.circuit, &self.sketch);
        let mut by_key = Vec::new();
        for (key, order) in orders.iter().enumerate() {
            by_key.push(Matrix::from_fn(sketch.n_txns, sketch.n_txns, |a, b| {
                let writes = [sketch.writes.at(a, key), sketch.writes.at(b, key)];
                circuit.and([order.at(a, b), writes[0], writes[1]])
            }));
        }
        WitnessValue::Versions { by_key: Rc::new(by_key), orders: Rc::new(orders) }
    }

    fn other_order(
        &mut self,
        idx: usize,
        order: Option<&Rc<Matrix>>,
        rest: Rest<'_>,
        laws: &mut Vec<Wire>,
    ) -> WitnessValue {
        match (rest, order) {
            (Rest::Known(known), _) => known[idx].clone(),
            (Rest::Guess(_), Some(order)) => WitnessValue::Binary(Rc::clone(order)),
            _ => WitnessValue::Binary(self.free_order(laws)),
        }
    }

    fn other_versions(
        &mut self,
        idx: usize,
        order: Option<&Rc<Matrix>>,
        rest: Rest<'_>,
        laws: &mut Vec<Wire>,
    ) -> WitnessValue {
        let n_keys = self.sketch.n_keys;
        let orders = match (rest, order) {
            (Rest::Known(known), _) => match &known[idx] {
                WitnessValue::Versions { orders, .. } => (**orders).clone(),
                WitnessValue::Binary(_) => unreachable!("versions stay versions"),
            },
            (Rest::Guess(_), Some(order)) => vec![Rc::clone(order); n_keys],
            _ => (0..n_keys).map(|_| self.free_order(laws)).collect(),
        };
        self.versions_of(orders)
    }

    /// The least relation that the rules allow: what they force at once, with any steps before and after it.
    fn least(&mut self, rules: &[Rule], order: Option<&Matrix>, values: &[WitnessValue]) -> WitnessValue {
        let mut least = self.forced(rules, values);
        let order = order.filter(|_| rules.iter().any(|it| matches!(it, Rule::Prefix)));
        let (after, before) = (self.beside(rules, values, true), self.beside(rules, values, false));
        least = match (order, after) {
            (None, None) => least,
            (Some(order), None) => order.reflexive().compose(&least, &mut self.circuit),
            (order, Some(mut steps)) => {
                if let Some(order) = order {
                    steps = steps.union(order, &mut self.circuit);
                }
                steps.closure(&mut self.circuit).reflexive().compose(&least, &mut self.circuit)
            }
        };
        if let Some(steps) = before {
            let steps = steps.closure(&mut self.circuit).reflexive();
            least = least.compose(&steps, &mut self.circuit);
        }
        if rules.iter().any(|it| matches!(it, Rule::Transitive)) {
            least = least.closure(&mut self.circuit);
        }
        WitnessValue::Binary(Rc::new(least))
    }

    /// The relations whose steps may stand before a pair, or after it, if there are any.
    fn beside(&mut self, rules: &[Rule], values: &[WitnessValue], is_after: bool) -> Option<Matrix> {
        let Self { circuit, sketch, plans } = self;
        let mut steps: Option<Matrix> = None;
        for rule in rules {
            let relation = match rule {
                Rule::After(relation) if is_after => relation,
                Rule::Before(relation) if !is_after => relation,
                _ => continue,
            };
            let more = (*Translator::new(circuit, sketch, plans, values).matrix(relation)).clone();
            steps = Some(steps.map_or_else(|| more.clone(), |it| it.union(&more, circuit)));
        }
        steps
    }

    /// What the rules force at once.
    fn forced(&mut self, rules: &[Rule], values: &[WitnessValue]) -> Matrix {
        let n = self.sketch.n_txns;
        let Self { circuit, sketch, plans } = self;
        let mut forced = Matrix::empty(n, n);
        for rule in rules {
            let mut translator = Translator::new(circuit, sketch, plans, values);
            let more = match rule {
                Rule::Contains(relation) => (*translator.matrix(relation)).clone(),
                Rule::Whenever(variables, premise, left, right) => {
                    whenever(&mut translator, variables, premise, *left, *right)
                }
                Rule::Transitive | Rule::Prefix | Rule::After(_) | Rule::Before(_) => continue,
            };
            forced = forced.union(&more, circuit);
        }
        forced
    }

    /// A relation that may do: the least one, the least one with everything before it, or the order.
    fn guess(&mut self, way: usize, rules: &[Rule], order: Option<&Matrix>, values: &[WitnessValue]) -> WitnessValue {
        match (way, order) {
            (1, Some(order)) => {
                let forced = self.forced(rules, values);
                WitnessValue::Binary(Rc::new(order.reflexive().compose(&forced, &mut self.circuit)))
            }
            (2, Some(order)) => WitnessValue::Binary(Rc::new(order.clone())),
            _ => self.least(rules, order, values),
        }
    }

    /// The transactions by what comes after them in a relation, the one with more first; what has the same in the given
    /// order. Also what must be true for that to be an order.
    ///
    /// If the relation says who ended before whom began, this is the order of the ends.
    pub(crate) fn order_by_ends(&mut self, relation: &Matrix, order: &Matrix) -> (Rc<Matrix>, Vec<Wire>) {
        let (n, circuit) = (self.sketch.n_txns, &mut self.circuit);
        let more = Matrix::from_fn(n, n, |a, b| {
            let cases: Vec<Wire> = (1..n).map(|it| circuit.both(relation.at(a, it), !relation.at(b, it))).collect();
            circuit.or(cases)
        });
        let by_ends = Matrix::from_fn(n, n, |a, b| {
            if a == b || a == 0 || b == 0 {
                return Wire::constant(a == 0 && b != 0);
            }
            let tie = circuit.both(!more.at(b, a), order.at(a, b));
            circuit.either(more.at(a, b), tie)
        });
        let mut laws = Vec::new();
        for a in 1..n {
            for b in (1..n).filter(|it| *it != a) {
                laws.push(circuit.either(!by_ends.at(a, b), !by_ends.at(b, a)));
                laws.push(circuit.either(by_ends.at(a, b), by_ends.at(b, a)));
                for c in (1..n).filter(|it| *it != a && *it != b) {
                    let path = circuit.both(by_ends.at(a, b), by_ends.at(b, c));
                    laws.push(circuit.either(!path, by_ends.at(a, c)));
                }
            }
        }
        (Rc::new(by_ends), laws)
    }

    /// The transactions by what the order puts before those that they saw or overwrote: the order of snapshots.
    pub(crate) fn order_by_starts(&mut self, order: &Matrix) -> Rc<Matrix> {
        let Self { circuit, sketch, .. } = self;
        let n = sketch.n_txns;
        let seen = sketch.so.union(&sketch.wr, circuit);
        let overwritten = Matrix::from_fn(n, n, |a, b| {
            let keys: Vec<Wire> =
                (0..sketch.n_keys).map(|it| circuit.both(sketch.writes.at(a, it), sketch.writes.at(b, it))).collect();
            let any = circuit.or(keys);
            circuit.both(any, order.at(a, b))
        });
        let before = order.reflexive().compose(&seen.union(&overwritten, circuit), circuit);
        let fewer = Matrix::from_fn(n, n, |a, b| {
            let cases: Vec<Wire> = (0..n).map(|it| circuit.both(before.at(it, b), !before.at(it, a))).collect();
            circuit.or(cases)
        });
        Rc::new(Matrix::from_fn(n, n, |a, b| {
            let tie = circuit.both(!fewer.at(b, a), order.at(a, b));
            if a == b { Wire::FALSE } else { circuit.either(fewer.at(a, b), tie) }
        }))
    }

    /// Updates in the given order; each read-only transaction right after what the order puts before those that it saw.
    ///
    /// A history of snapshots is often serializable in this order where it is not in the order of commits.
    pub(crate) fn snapshot_order(&mut self, order: &Matrix) -> Rc<Matrix> {
        let n = self.sketch.n_txns;
        let Self { circuit, sketch, .. } = self;
        let seen = sketch.so.union(&sketch.wr, circuit);
        let before = order.reflexive().compose(&seen, circuit);
        let updates: Vec<Wire> =
            (0..n).map(|txn| circuit.or((0..sketch.n_keys).map(|key| sketch.writes.at(txn, key)))).collect();
        Rc::new(Matrix::from_fn(n, n, |a, b| {
            if a == b || a == 0 || b == 0 {
                return Wire::constant(a == 0 && b != 0);
            }
            let mut cases = vec![
                circuit.and([updates[a], updates[b], order.at(a, b)]),
                circuit.and([updates[a], !updates[b], before.at(a, b)]),
                circuit.and([!updates[a], updates[b], !before.at(b, a)]),
            ];
            let mut more = |fewer: usize, most: usize| {
                let cases: Vec<Wire> =
                    (1..n).map(|it| circuit.and([updates[it], before.at(it, most), !before.at(it, fewer)])).collect();
                circuit.or(cases)
            };
            let (less, greater) = (more(a, b), more(b, a));
            let tie = circuit.and([!greater, order.at(a, b)]);
            let first = circuit.either(less, tie);
            cases.push(circuit.and([!updates[a], !updates[b], first]));
            circuit.or(cases)
        }))
    }
}

fn failures_of(translator: &mut Translator<'_>, part: &Signed, keys: KeyRange, failures: &mut Vec<Wire>) {
    match (&*part.formula, part.is_true) {
        (Formula::Forall(variables, body), true) | (Formula::Exists(variables, body), false) => {
            translator.each_case(variables, body, !part.is_true, keys, &mut |_, case| failures.push(case));
        }
        (formula, is_true) => {
            let wire = translator.formula(formula);
            alternatives(translator.circuit, if is_true { !wire } else { wire }, failures);
        }
    }
}

/// The parts of a disjunction.
fn alternatives(circuit: &Circuit, wire: Wire, all: &mut Vec<Wire>) {
    let conjuncts = circuit.conjuncts(wire.gate());
    if wire.is_negated() && !conjuncts.is_empty() {
        for conjunct in conjuncts {
            alternatives(circuit, !*conjunct, all);
        }
    } else if wire != Wire::FALSE {
        all.push(wire);
    }
}

fn within(translator: &mut Translator<'_>, relation: &Arc<iso_spec::Relation>, order: &Matrix) -> Wire {
    let matrix = translator.matrix(relation);
    let mut all = Vec::new();
    for row in 0..matrix.n_rows() {
        for col in 0..matrix.n_cols() {
            all.push(translator.circuit.either(!matrix.at(row, col), order.at(row, col)));
        }
    }
    translator.circuit.and(all)
}

fn whenever(
    translator: &mut Translator<'_>,
    variables: &[Variable],
    premise: &Arc<Formula>,
    left: Elem,
    right: Elem,
) -> Matrix {
    let n = translator.sketch.n_txns;
    let mut cases: Vec<Vec<Wire>> = vec![Vec::new(); n * n];
    let place = |elem: Elem, values: &[usize]| match elem {
        Elem::Initial => 0,
        Elem::Var(id) => values[id as usize],
    };
    translator.each_case(variables, premise, true, KeyRange::All, &mut |values, case| {
        cases[place(left, values) * n + place(right, values)].push(case);
    });
    Matrix::from_fn(n, n, |a, b| translator.circuit.or(cases[a * n + b].iter().copied()))
}
