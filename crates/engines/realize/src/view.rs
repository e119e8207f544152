//! What the text of a level says of one order: every relation as a table, every formula true or false.

use crate::ground::Ground;
use crate::join::{Parts, Plan};
use crate::least::Forced;
use crate::matrix::{Matrix, Rel};
use iso_evidence::{Budget, StopReason};
use iso_form::{Form, Source, of_formula, of_relation, relation_variables};
use iso_spec::{Elem, Formula, Given, Relation, Set};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

pub(crate) type Outcome<T> = Result<T, StopReason>;

/// After so many values of variables the budget is asked.
const STEPS_BETWEEN_QUESTIONS: u64 = 1 << 18;

/// Tables that no order changes, by the address of their formula: kept from one order to the next.
pub(crate) type Constants = FxHashMap<usize, Rc<Rel>>;

/// A level and a history, seen with one order.
pub(crate) struct View<'a> {
    pub(crate) form: &'a Form<'a>,
    pub(crate) ground: &'a Ground<'a, 'a>,
    pub(crate) order: Rc<Rel>,
    /// By transaction, its place in the order.
    pub(crate) position: Vec<u32>,
    pub(crate) constants: &'a mut Constants,
    tables: FxHashMap<usize, Rc<Rel>>,
    inverses: FxHashMap<usize, Rc<Rel>>,
    pub(crate) witnesses: FxHashMap<usize, Rc<Rel>>,
    /// What the rules of least relations force, by the address of the rules.
    pub(crate) forced: FxHashMap<usize, Rc<Forced>>,
    pub(crate) plans: FxHashMap<(usize, bool, Parts), Rc<Plan>>,
    /// The values of variables, by number.
    pub(crate) values: FxHashMap<u32, u32>,
    n_steps: u64,
    budget: &'a Budget<'a>,
}

impl<'a> View<'a> {
    /// The order is a sequence of places, the initial transaction first.
    pub(crate) fn new(
        form: &'a Form<'a>,
        ground: &'a Ground<'a, 'a>,
        order: &[u32],
        constants: &'a mut Constants,
        budget: &'a Budget<'a>,
    ) -> Self {
        let mut position = vec![0; order.len()];
        (0u32..).zip(order).for_each(|(nth, txn)| position[*txn as usize] = nth);
        let mut matrix = Matrix::empty(order.len());
        for pair in order.windows(2).rev() {
            matrix.set(pair[0], pair[1]);
            matrix.add_own_row(pair[0], pair[1]);
        }
        Self {
            form,
            ground,
            order: Rc::new(Rel::Bits(matrix)),
            position,
            constants,
            tables: FxHashMap::default(),
            inverses: FxHashMap::default(),
            witnesses: FxHashMap::default(),
            forced: FxHashMap::default(),
            plans: FxHashMap::default(),
            values: FxHashMap::default(),
            n_steps: 0,
            budget,
        }
    }

    pub(crate) fn step(&mut self) -> Outcome<()> {
        self.n_steps += 1;
        if self.n_steps.is_multiple_of(STEPS_BETWEEN_QUESTIONS) { self.budget.check() } else { Ok(()) }
    }

    pub(crate) fn value(&self, elem: Elem) -> u32 {
        match elem {
            Elem::Var(id) => self.values.get(&id).copied().unwrap_or(0),
            Elem::Initial => 0,
        }
    }

    fn witness_givens(&self) -> impl Iterator<Item = Given> + use<> {
        (0..self.form.witnesses.len()).map(Given::Witness)
    }

    /// Is the relation the same in every order?
    pub(crate) fn is_constant(&self, relation: &Relation) -> bool {
        self.witness_givens().all(|it| of_relation(relation, it).is_absent())
    }

    /// Is the formula as true in every order?
    pub(crate) fn is_constant_formula(&self, formula: &Formula) -> bool {
        self.witness_givens().all(|it| of_formula(formula, it).is_absent())
    }

    pub(crate) fn truth(&mut self, formula: &Formula) -> Outcome<bool> {
        Ok(match formula {
            Formula::Truth(truth) => *truth,
            Formula::Not(of) => !self.truth(of)?,
            Formula::And(left, right) => self.truth(left)? && self.truth(right)?,
            Formula::Or(left, right) => self.truth(left)? || self.truth(right)?,
            Formula::Implies(left, right) => !self.truth(left)? || self.truth(right)?,
            Formula::Iff(left, right) => self.truth(left)? == self.truth(right)?,
            Formula::Exists(variables, body) => self.exists(variables, body, true)?,
            Formula::Forall(variables, body) => !self.exists(variables, body, false)?,
            Formula::Equal(left, right) => self.value(*left) == self.value(*right),
            Formula::Member(elem, set) => self.is_member(self.value(*elem), set)?,
            Formula::Related(of, left, right) => self.relates(of, self.value(*left), self.value(*right))?,
            Formula::SetWithin(left, right) => {
                let right = self.members(right)?;
                self.members(left)?.iter().all(|it| right.binary_search(it).is_ok())
            }
            Formula::SetEmpty(set) => self.members(set)?.is_empty(),
            _ => self.first_failure(formula)?.is_none(),
        })
    }

    /// For a formula about whole relations: pairs that show that it is false, with what they are not in.
    pub(crate) fn first_failure(&mut self, formula: &Formula) -> Outcome<Option<Failure>> {
        let mut found = None;
        self.failures(formula, &mut |it| {
            found = Some(it);
            false
        })?;
        Ok(found)
    }

    /// Calls `visit` for each way in which such a formula is false, until that says that it is enough.
    pub(crate) fn failures(&mut self, formula: &Formula, visit: &mut dyn FnMut(Failure) -> bool) -> Outcome<()> {
        match formula {
            Formula::Within(left, right) => {
                let (left, right) = (self.table(left)?, self.table(right)?);
                visit_pairs(&left, |a, b| right.has(a, b) || visit(Failure::Outside(a, b)));
            }
            Formula::Empty(of) => visit_pairs(&*self.table(of)?, |a, b| visit(Failure::Pair(a, b))),
            Formula::Irreflexive(of) => {
                let table = self.table(of)?;
                let mut loops = (0..table.n_rows() as u32).filter(|it| table.has(*it, *it));
                loops.all(|it| visit(Failure::Pair(it, it)));
            }
            Formula::Total(of) => {
                let table = self.table(of)?;
                let n = table.n_rows() as u32;
                let open = |a: u32, b: u32| !table.has(a, b) && !table.has(b, a);
                let mut pairs = (0..n).flat_map(|a| (0..a).map(move |b| (a, b))).filter(|it| open(it.0, it.1));
                pairs.all(|(a, b)| visit(Failure::Neither(a, b)));
            }
            Formula::Transitive(of) => {
                let table = self.table(of)?;
                visit_pairs(&table.compose(&table, true), |a, c| table.has(a, c) || visit(Failure::Gap(a, c)));
            }
            Formula::Acyclic(of) => self.cycles(of, visit)?,
            _ => {}
        }
        Ok(())
    }

    /// A cycle through each pair that goes against the order, as far as they are short to find.
    fn cycles(&mut self, of: &Arc<Relation>, visit: &mut dyn FnMut(Failure) -> bool) -> Outcome<()> {
        let table = self.table(of)?;
        let closed = match &*table {
            Rel::Bits(matrix) => matrix.closure(),
            Rel::Lists(..) => return Err(unsupported("a cycle of reads or keys")),
        };
        let is_back = |a: u32, b: u32| closed.has(b, a) && self.position[a as usize] >= self.position[b as usize];
        visit_pairs(&table, |a, b| !is_back(a, b) || visit(Failure::Cycle(a, b)));
        Ok(())
    }

    pub(crate) fn is_member(&mut self, elem: u32, set: &Set) -> Outcome<bool> {
        Ok(match set {
            Set::Initial => elem == 0,
            Set::Union(left, right) => self.is_member(elem, left)? || self.is_member(elem, right)?,
            Set::Intersection(left, right) => self.is_member(elem, left)? && self.is_member(elem, right)?,
            Set::Difference(left, right) => self.is_member(elem, left)? && !self.is_member(elem, right)?,
            Set::Such(variable, body) => {
                let before = self.values.insert(variable.id, elem);
                let truth = self.truth(body)?;
                self.restore(variable.id, before);
                truth
            }
        })
    }

    pub(crate) fn restore(&mut self, id: u32, before: Option<u32>) {
        match before {
            Some(value) => _ = self.values.insert(id, value),
            None => _ = self.values.remove(&id),
        }
    }

    fn members(&mut self, set: &Set) -> Outcome<Vec<u32>> {
        let mut members = Vec::new();
        for elem in 0..self.ground.size(set.sort()) as u32 {
            if self.is_member(elem, set)? {
                members.push(elem);
            }
        }
        Ok(members)
    }

    pub(crate) fn relates(&mut self, relation: &Arc<Relation>, a: u32, b: u32) -> Outcome<bool> {
        if is_closed(relation) {
            return Ok(self.table(relation)?.has(a, b));
        }
        Ok(match &**relation {
            Relation::At(given, key) => self.relates_at(*given, self.value(*key), a, b),
            Relation::Union(left, right) => self.relates(left, a, b)? || self.relates(right, a, b)?,
            Relation::Intersection(left, right) => self.relates(left, a, b)? && self.relates(right, a, b)?,
            Relation::Difference(left, right) => self.relates(left, a, b)? && !self.relates(right, a, b)?,
            Relation::Inverse(of) => self.relates(of, b, a)?,
            Relation::Reflexive(of) => a == b || self.relates(of, a, b)?,
            Relation::On(set) => a == b && self.is_member(a, set)?,
            Relation::Such(left, right, body) => {
                let before = (self.values.insert(left.id, a), self.values.insert(right.id, b));
                let truth = self.truth(body)?;
                self.restore(left.id, before.0);
                self.restore(right.id, before.1);
                truth
            }
            _ => self.table(relation)?.has(a, b),
        })
    }

    pub(crate) fn relates_at(&self, given: Given, key: u32, a: u32, b: u32) -> bool {
        let has = |pairs: &[Vec<(u32, u32)>]| pairs[key as usize].binary_search(&(a, b)).is_ok();
        match given {
            Given::WriteRead => has(&self.ground.wr_at),
            Given::Listed => has(&self.ground.listed_at),
            _ => self.order.has(a, b) && self.ground.writes(a, key) && self.ground.writes(b, key),
        }
    }

    /// A relation as a table, for the values that its free variables have now.
    pub(crate) fn table(&mut self, relation: &Arc<Relation>) -> Outcome<Rc<Rel>> {
        if !is_closed(relation) {
            return self.compute(relation);
        }
        let address = Arc::as_ptr(relation) as usize;
        if let Some(table) = self.constants.get(&address).or_else(|| self.tables.get(&address)) {
            return Ok(Rc::clone(table));
        }
        let table = self.compute(relation)?;
        let tables = if self.is_constant(relation) { &mut *self.constants } else { &mut self.tables };
        tables.insert(address, Rc::clone(&table));
        self.budget.check()?;
        Ok(table)
    }

    /// A closed relation, backwards.
    pub(crate) fn inverse(&mut self, relation: &Arc<Relation>) -> Outcome<Rc<Rel>> {
        let address = Arc::as_ptr(relation) as usize;
        if let Some(table) = self.inverses.get(&address) {
            return Ok(Rc::clone(table));
        }
        let table = Rc::new(self.table(relation)?.inverse());
        self.inverses.insert(address, Rc::clone(&table));
        Ok(table)
    }

    fn compute(&mut self, relation: &Arc<Relation>) -> Outcome<Rc<Rel>> {
        let sorts = relation.sorts();
        let is_between_txns = matches!(self.ground.empty(sorts), Rel::Bits(_));
        Ok(Rc::new(match &**relation {
            Relation::Given(Given::Witness(idx)) => return self.witness(*idx),
            Relation::Given(given) => self.ground.given(*given),
            Relation::At(given, key) => {
                let key = self.value(*key);
                Rel::of_pairs(self.ground.empty(sorts), self.pairs_at(*given, key))
            }
            Relation::Union(left, right) => self.table(left)?.combine(&*self.table(right)?, |a, b| a | b),
            Relation::Intersection(left, right) => self.table(left)?.combine(&*self.table(right)?, |a, b| a & b),
            Relation::Difference(left, right) => self.table(left)?.combine(&*self.table(right)?, |a, b| a & !b),
            Relation::Composition(left, right) => self.table(left)?.compose(&*self.table(right)?, is_between_txns),
            Relation::Inverse(of) => self.table(of)?.inverse(),
            Relation::Closure(of) => match &*self.table(of)? {
                Rel::Bits(matrix) => Rel::Bits(matrix.closure()),
                Rel::Lists(..) => return Err(unsupported("a closure of reads or keys")),
            },
            Relation::Reflexive(of) => {
                let table = self.table(of)?;
                let own = (0..table.n_rows() as u32).map(|it| (it, it));
                table.combine(&Rel::of_pairs(self.ground.empty(sorts), own), |a, b| a | b)
            }
            Relation::On(set) => {
                let members = self.members(set)?;
                Rel::of_pairs(self.ground.empty(sorts), members.into_iter().map(|it| (it, it)))
            }
            Relation::Such(left, right, body) => {
                let pairs = self.collect(left, right, body)?;
                Rel::of_pairs(self.ground.empty(sorts), pairs)
            }
        }))
    }

    fn pairs_at(&self, given: Given, key: u32) -> Vec<(u32, u32)> {
        match given {
            Given::WriteRead => self.ground.wr_at[key as usize].clone(),
            Given::Listed => self.ground.listed_at[key as usize].clone(),
            _ => {
                let writers = &self.ground.writers[key as usize];
                let later = |a: u32| writers.iter().filter(move |b| self.order.has(a, **b)).map(move |b| (a, *b));
                writers.iter().flat_map(|a| later(*a)).collect()
            }
        }
    }

    pub(crate) fn witness(&mut self, idx: usize) -> Outcome<Rc<Rel>> {
        if let Some(table) = self.witnesses.get(&idx) {
            return Ok(Rc::clone(table));
        }
        let form = self.form;
        let table = match &form.witnesses[idx] {
            Source::Order => Rc::clone(&self.order),
            Source::VersionsOfOrder => {
                let keys = 0..self.ground.keys.len() as u32;
                let pairs: Vec<(u32, u32)> = keys.flat_map(|key| self.pairs_at(Given::Witness(idx), key)).collect();
                Rc::new(Rel::of_pairs(Rel::Bits(Matrix::empty(self.ground.n_txns())), pairs))
            }
            Source::Least(rules) => self.least(rules)?,
            Source::OtherOrder | Source::Versions | Source::Relation(_) => {
                return Err(unsupported("a witness that does not follow from the order"));
            }
        };
        self.witnesses.insert(idx, Rc::clone(&table));
        Ok(table)
    }
}

/// A way in which a formula about whole relations is false.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Failure {
    /// The first relation has this pair, the second has not.
    Outside(u32, u32),
    /// The relation has this pair.
    Pair(u32, u32),
    /// It has it neither way.
    Neither(u32, u32),
    /// It has two steps between them, and not the one.
    Gap(u32, u32),
    /// It has this pair, and a way back.
    Cycle(u32, u32),
}

pub(crate) fn unsupported(what: &str) -> StopReason {
    StopReason::Unsupported(format!("the search does not know what to do with {what}"))
}

/// Has the relation no free variable?
pub(crate) fn is_closed(relation: &Relation) -> bool {
    let mut free = BTreeSet::new();
    relation_variables(relation, &mut free);
    free.is_empty()
}

/// Visits pairs until `visit` says that it is enough.
fn visit_pairs(table: &Rel, mut visit: impl FnMut(u32, u32) -> bool) {
    for row in 0..table.n_rows() as u32 {
        let mut goes_on = true;
        table.each(row, |col| goes_on = goes_on && visit(row, col));
        if !goes_on {
            return;
        }
    }
}
