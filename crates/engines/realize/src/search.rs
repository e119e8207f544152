//! Looks for an order of which everything is true, learning from each order why it is not the one.

use crate::ground::{Ground, World};
use crate::join::Parts;
use crate::least::path;
use crate::matrix::{Matrix, Rel};
use crate::view::{Constants, Outcome, View, unsupported};
use crate::why::Why;
use iso_evidence::{Budget, Note, Quantity, Stage};
use iso_form::{Conjunct, Form, Signed, Source};
use iso_history::{Facts, TxnId};
use iso_solve::{OrderResult, OrderSolver};
use iso_spec::{Execution, Formula, NamedOrder, NamedRows, Spec, Variable, WitnessKind};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// What became of a search.
pub(crate) enum Searched {
    /// The text is true of this execution.
    Execution(Execution),
    /// It is true of none; these transactions, ascending and without the initial one, were to blame.
    Blamed(Vec<TxnId>),
}

/// So many violated instances of a condition are learned from in one round.
const MAX_INSTANCES: usize = 10_000;

/// The execution with this order of transactions, if the whole witness follows from it.
pub fn execution(
    facts: &Facts<'_>,
    spec: &Spec,
    world: &World,
    order: &[TxnId],
    budget: &Budget<'_>,
) -> Outcome<Execution> {
    let form = Form::new(spec);
    if !form.follows_from_order() {
        return Err(unsupported("a witness that does not follow from one order"));
    }
    let ground = Ground::new(facts, world);
    let mut constants = Constants::default();
    View::new(&form, &ground, &places(&ground, order), &mut constants, budget).execution()
}

/// The places of the transactions of a world in this order; those that it does not name come last.
fn places(ground: &Ground<'_, '_>, order: &[TxnId]) -> Vec<u32> {
    let mut is_there = vec![false; ground.n_txns()];
    let named = order.iter().filter_map(|it| ground.txns.binary_search(it).ok());
    let mut places = Vec::with_capacity(ground.n_txns());
    for place in std::iter::once(0).chain(named).chain(0..ground.n_txns()) {
        if !std::mem::replace(&mut is_there[place], true) {
            places.push(place as u32);
        }
    }
    places
}

/// Looks for an execution of this world, starting from an order that may be wrong.
pub(crate) fn search(
    form: &Form<'_>,
    facts: &Facts<'_>,
    world: &World,
    hint: &[TxnId],
    budget: &Budget<'_>,
) -> Outcome<Searched> {
    let ground = Ground::new(facts, world);
    let mut constants = Constants::default();
    let mut learned = match Learned::new(form, &ground, places(&ground, hint)) {
        Ok(learned) => learned,
        Err(core) => return Ok(blamed(&ground, &core)),
    };
    budget.note(Note::Begins(Stage::Search));
    loop {
        budget.check()?;
        match learned.solver.solve(&mut || budget.check().is_err()) {
            OrderResult::Acyclic => {}
            OrderResult::Cyclic { touched } => return Ok(blamed(&ground, &learned.to_blame(&touched))),
            OrderResult::Stopped => return Err(budget.check().err().unwrap_or(iso_evidence::StopReason::Interrupted)),
        }
        let order = learned.solver.order();
        let mut view = View::new(form, &ground, &order, &mut constants, budget);
        let reasons = view.violations()?;
        if reasons.is_empty() {
            return Ok(Searched::Execution(view.execution()?));
        }
        budget.note(Note::Counted(Quantity::Conflicts, reasons.len() as u64));
        for reason in reasons {
            if let Err(core) = learned.learn(reason) {
                return Ok(blamed(&ground, &core));
            }
        }
    }
}

fn blamed(ground: &Ground<'_, '_>, core: &[u32]) -> Searched {
    let mut txns: Vec<TxnId> = core.iter().filter(|it| **it != 0).map(|it| ground.txns[*it as usize]).collect();
    txns.sort_unstable();
    txns.dedup();
    Searched::Blamed(txns)
}

/// What every order must respect, as far as it is known.
struct Learned {
    solver: OrderSolver,
    /// What the text puts into every order by itself, closed, and its steps.
    base: Matrix,
    base_steps: Rel,
    /// Edges that follow, and clauses of edges, each with who has a part in it.
    edges: FxHashMap<(u32, u32), Vec<u32>>,
    clauses: Vec<(Clause, Vec<u32>)>,
    known_clauses: FxHashSet<Clause>,
}

/// One of these edges is in every order.
type Clause = Vec<(u32, u32)>;

/// Those who show that there is no order.
type Contradiction = Vec<u32>;

impl Learned {
    fn new(form: &Form<'_>, ground: &Ground<'_, '_>, order: Vec<u32>) -> Result<Self, Contradiction> {
        let mut steps = Matrix::empty(ground.n_txns());
        let mut solver = OrderSolver::with_order(order);
        let mut add = |from: u32, to: u32| {
            steps.set(from, to);
            solver.add_known_edge(from, to).map_err(|it| it.into_iter().map(|edge| edge.0).collect::<Contradiction>())
        };
        for txn in 1..ground.n_txns() as u32 {
            add(0, txn)?;
        }
        if form.orders_sessions {
            for (earlier, later) in next_in_session(ground) {
                add(earlier, later)?;
            }
        }
        if form.orders_reads {
            for (writer, reader) in ground.wr_at.iter().flatten() {
                add(*writer, *reader)?;
            }
        }
        Ok(Self {
            solver,
            base: steps.closure(),
            base_steps: Rel::Bits(steps),
            edges: FxHashMap::default(),
            clauses: Vec::new(),
            known_clauses: FxHashSet::default(),
        })
    }

    /// Some pair of the reason must go the other way.
    fn learn(&mut self, reason: Why) -> Result<(), Contradiction> {
        let (pairs, mut txns) = reason.into_parts();
        let mut clause = Vec::new();
        for (first, second) in pairs {
            if self.base.has(first, second) {
                txns.extend(path(&self.base_steps, first, second).into_iter().flatten().map(|it| it.0));
            } else {
                clause.push((second, first));
            }
        }
        clause.sort_unstable();
        if !self.known_clauses.insert(clause.clone()) {
            return Ok(());
        }
        match clause[..] {
            [] => Err(txns),
            [(from, to)] => {
                self.edges.insert((from, to), txns);
                self.solver.add_known_edge(from, to).map_err(|cycle| {
                    let own = |it: &(u32, u32)| self.edges.get(it).cloned().unwrap_or_else(|| vec![it.0, it.1]);
                    cycle.iter().flat_map(own).collect()
                })
            }
            _ => {
                let lits: Vec<_> = clause.iter().map(|it| self.solver.edge_lit(it.0, it.1)).collect();
                self.solver.add_clause(&lits);
                self.clauses.push((clause, txns));
                Ok(())
            }
        }
    }

    /// Everybody who has a part in what was learned about these nodes.
    fn to_blame(&self, touched: &[u32]) -> Vec<u32> {
        let is_touched = |it: &(u32, u32)| touched.binary_search(&it.0).is_ok() && touched.binary_search(&it.1).is_ok();
        let edges = self.edges.iter().filter(|it| is_touched(it.0)).flat_map(|it| it.1);
        let clauses = self.clauses.iter().filter(|it| it.0.iter().any(is_touched)).flat_map(|it| &it.1);
        let mut blamed: Vec<u32> = touched.iter().chain(edges).chain(clauses).copied().collect();
        blamed.sort_unstable();
        blamed.dedup();
        blamed
    }
}

fn next_in_session(ground: &Ground<'_, '_>) -> Vec<(u32, u32)> {
    let history = ground.facts.history();
    let mut last: FxHashMap<_, u32> = FxHashMap::default();
    let mut places: Vec<u32> = (1..ground.n_txns() as u32).collect();
    places.sort_by_key(|it| history.nth_in_session(ground.txns[*it as usize]));
    let mut pairs = Vec::new();
    for place in places {
        if let Some(before) = last.insert(history.session_of(ground.txns[place as usize]), place) {
            pairs.push((before, place));
        }
    }
    pairs
}

impl View<'_> {
    /// Why this order is not the one: a reason for each violated instance.
    fn violations(&mut self) -> Outcome<Vec<Why>> {
        let form = self.form;
        let mut reasons = Vec::new();
        for conjunct in &form.conjuncts {
            match conjunct {
                Conjunct::InOrder(relation) => {
                    for pair in self.outside_order(relation)?.into_iter().take(MAX_INSTANCES) {
                        let mut why = Why::default();
                        self.why_outside_order(relation, pair, &mut why)?;
                        reasons.push(why);
                    }
                }
                Conjunct::Formula(signed) => self.violations_of(signed, &mut reasons)?,
            }
        }
        Ok(reasons)
    }

    fn violations_of(&mut self, signed: &Signed, reasons: &mut Vec<Why>) -> Outcome<()> {
        match (&*signed.formula, signed.is_true) {
            (Formula::Forall(variables, body), true) => self.instances(variables, body, false, reasons),
            (Formula::Exists(variables, body), false) => self.instances(variables, body, true, reasons),
            (
                Formula::Within(..)
                | Formula::Empty(_)
                | Formula::Irreflexive(_)
                | Formula::Total(_)
                | Formula::Transitive(_)
                | Formula::Acyclic(_),
                true,
            ) => {
                let mut failures = Vec::new();
                self.failures(&signed.formula, &mut |it| {
                    failures.push(it);
                    failures.len() < MAX_INSTANCES
                })?;
                for failure in failures {
                    let mut why = Why::default();
                    self.why_failure(&signed.formula, failure, &mut why)?;
                    reasons.push(why);
                }
                Ok(())
            }
            _ if self.truth(&signed.formula)? == signed.is_true => Ok(()),
            _ => {
                let mut why = Why::default();
                self.why(&signed.formula, !signed.is_true, &mut why)?;
                reasons.push(why);
                Ok(())
            }
        }
    }

    /// A reason for each choice of values for which the body has this truth.
    fn instances(
        &mut self,
        variables: &[Variable],
        body: &Arc<Formula>,
        is_true: bool,
        reasons: &mut Vec<Why>,
    ) -> Outcome<()> {
        let plan = self.plan(variables, body, is_true, Parts::All)?;
        let n_before = reasons.len();
        self.run(&plan, &mut |view| {
            let mut why = Why::default();
            view.involve_all(variables, &mut why);
            view.why(body, is_true, &mut why)?;
            reasons.push(why);
            Ok(reasons.len() - n_before < MAX_INSTANCES)
        })?;
        Ok(())
    }

    /// The execution that has this order.
    fn execution(&mut self) -> Outcome<Execution> {
        let (form, ground) = (self.form, self.ground);
        let mut execution = Execution::new(ground.txns.iter().copied(), self.who_was_read());
        for (idx, witness) in form.spec.witnesses().iter().enumerate() {
            let name = witness.name.clone();
            match (witness.kind, &form.witnesses[idx]) {
                (WitnessKind::Order, _) => {
                    let everyone: Vec<u32> = (0..ground.n_txns() as u32).collect();
                    execution.orders.push(NamedOrder { name, key: None, first_to_last: self.in_order(&everyone) });
                }
                (WitnessKind::Versions, _) => {
                    for (writers, key) in ground.writers.iter().zip(&ground.keys) {
                        let first_to_last = self.in_order(writers);
                        execution.orders.push(NamedOrder { name: name.clone(), key: Some(*key), first_to_last });
                    }
                }
                (WitnessKind::Relation, Source::Least(_)) => {
                    let rows = self.witness(idx)?.rows();
                    execution.rows.push(NamedRows { name, rows });
                }
                (WitnessKind::Relation, _) => {
                    return Err(unsupported("a relation that does not follow from the order"));
                }
            }
        }
        Ok(execution)
    }

    fn in_order(&self, places: &[u32]) -> Vec<TxnId> {
        let mut sorted: Vec<u32> = places.iter().copied().filter(|it| *it != 0).collect();
        sorted.sort_by_key(|it| self.position[*it as usize]);
        sorted.into_iter().map(|it| self.ground.txns[it as usize]).collect()
    }

    fn who_was_read(&self) -> Vec<(iso_history::OpId, TxnId)> {
        let facts = self.ground.facts;
        let ops = self.ground.txns.iter().flat_map(|it| facts.reads_of(*it)).map(|it| facts.reads()[it].op);
        let sources = self.ground.reads.iter().map(|it| it.2);
        ops.zip(sources).filter_map(|(op, source)| Some((op, self.ground.txns[source? as usize]))).collect()
    }
}
