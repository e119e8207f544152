//! Values of quantified variables for which a formula is true or false, the variable with the fewest values first.

use crate::matrix::Rel;
use crate::view::{Outcome, View, is_closed};
use iso_form::{Signed, conjuncts, formula_variables};
use iso_spec::{Elem, Formula, Given, Relation, Sort, Variable};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

/// One variable after the other, each with where its values come from and what must then be true.
pub(crate) struct Plan {
    first: Vec<Check>,
    steps: Vec<Step>,
    /// Parts that depend on the order, where those are left out.
    pub(crate) moving: Vec<Signed>,
}

struct Step {
    variable: u32,
    sort: Sort,
    sources: Vec<Values>,
    checks: Vec<Check>,
}

enum Check {
    Pair(Rc<Rel>, Elem, Elem, bool),
    Equal(Elem, Elem, bool),
    Other(Signed),
}

/// Where values come from.
enum Values {
    Row(Rc<Rel>, Elem),
    /// Readers of a version of a key, or whom a reader of it reads from.
    Readers(Elem, Elem),
    Sources(Elem, Elem),
    WritersOf(Elem),
    ReadersOf(Elem),
    WrittenBy(Elem),
    ReadBy(Elem),
    Same(Elem),
}

/// Which parts of a formula are looked at?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Parts {
    All,
    /// Only those that are the same in every order.
    Constant,
    /// All, and some variables have values already.
    Rest,
}

impl View<'_> {
    pub(crate) fn exists(&mut self, variables: &[Variable], body: &Arc<Formula>, is_true: bool) -> Outcome<bool> {
        let plan = self.plan(variables, body, is_true, Parts::All)?;
        let mut any = false;
        self.run(&plan, &mut |_| {
            any = true;
            Ok(false)
        })?;
        Ok(any)
    }

    pub(crate) fn collect(
        &mut self,
        left: &Variable,
        right: &Variable,
        body: &Arc<Formula>,
    ) -> Outcome<Vec<(u32, u32)>> {
        let plan = self.plan(&[left.clone(), right.clone()], body, true, Parts::All)?;
        let mut pairs = Vec::new();
        let ends = (Elem::Var(left.id), Elem::Var(right.id));
        self.run(&plan, &mut |view| {
            pairs.push((view.value(ends.0), view.value(ends.1)));
            Ok(true)
        })?;
        Ok(pairs)
    }

    /// Calls `found` for each choice of values, which are set then, until that says that it is enough.
    pub(crate) fn run(&mut self, plan: &Plan, found: &mut dyn FnMut(&mut Self) -> Outcome<bool>) -> Outcome<bool> {
        if !self.are_true(&plan.first)? {
            return Ok(true);
        }
        let before: Vec<Option<u32>> = plan.steps.iter().map(|it| self.values.get(&it.variable).copied()).collect();
        let goes_on = self.bind(&plan.steps, found)?;
        for (step, before) in plan.steps.iter().zip(before) {
            self.restore(step.variable, before);
        }
        Ok(goes_on)
    }

    fn bind(&mut self, steps: &[Step], found: &mut dyn FnMut(&mut Self) -> Outcome<bool>) -> Outcome<bool> {
        let Some((step, rest)) = steps.split_first() else { return found(self) };
        for value in self.choices(step) {
            self.step()?;
            self.values.insert(step.variable, value);
            if self.are_true(&step.checks)? && !self.bind(rest, found)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn are_true(&mut self, checks: &[Check]) -> Outcome<bool> {
        for check in checks {
            let is_so = match check {
                Check::Pair(table, left, right, wanted) => table.has(self.value(*left), self.value(*right)) == *wanted,
                Check::Equal(left, right, wanted) => (self.value(*left) == self.value(*right)) == *wanted,
                Check::Other(signed) => self.truth(&signed.formula)? == signed.is_true,
            };
            if !is_so {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The values of the source with the fewest; checks see to the others.
    fn choices(&self, step: &Step) -> Vec<u32> {
        let mut fewest: Option<Vec<u32>> = None;
        for source in &step.sources {
            let values = self.values_of(source);
            if fewest.as_ref().is_none_or(|it| values.len() < it.len()) {
                fewest = Some(values);
            }
        }
        fewest.unwrap_or_else(|| (0..self.ground.size(step.sort) as u32).collect())
    }

    fn values_of(&self, source: &Values) -> Vec<u32> {
        let ground = self.ground;
        match source {
            Values::Row(table, elem) => table.cols(self.value(*elem)),
            Values::Readers(key, writer) => second(&ground.wr_at[self.value(*key) as usize], self.value(*writer)),
            Values::Sources(key, reader) => second(&ground.rw_at[self.value(*key) as usize], self.value(*reader)),
            Values::WritersOf(key) => ground.writers[self.value(*key) as usize].clone(),
            Values::ReadersOf(key) => {
                let mut readers: Vec<u32> = ground.rw_at[self.value(*key) as usize].iter().map(|it| it.0).collect();
                readers.dedup();
                readers
            }
            Values::WrittenBy(txn) => ground.written[self.value(*txn) as usize].clone(),
            Values::ReadBy(txn) => {
                let txn = self.value(*txn);
                let start = ground.reads.partition_point(|it| it.0 < txn);
                let own = ground.reads[start..].iter().take_while(|it| it.0 == txn);
                let mut keys: Vec<u32> = own.map(|it| it.1).collect();
                keys.sort_unstable();
                keys.dedup();
                keys
            }
            Values::Same(elem) => vec![self.value(*elem)],
        }
    }

    pub(crate) fn plan(
        &mut self,
        variables: &[Variable],
        body: &Arc<Formula>,
        is_true: bool,
        wanted: Parts,
    ) -> Outcome<Rc<Plan>> {
        let address = (Arc::as_ptr(body) as usize, is_true, wanted);
        if let Some(plan) = self.plans.get(&address) {
            return Ok(Rc::clone(plan));
        }
        let (mut waiting, mut parts) = (variables.to_vec(), Vec::new());
        gather(body, is_true, &mut waiting, &mut parts);
        let mut moving = Vec::new();
        if wanted == Parts::Constant {
            (parts, moving) = parts.into_iter().partition(|it| self.is_constant_formula(&it.formula));
        }
        let mut unknown: BTreeSet<u32> = waiting.iter().map(|it| it.id).collect();
        let first = self.checks(&mut parts, &unknown)?;
        let mut steps = Vec::new();
        while !waiting.is_empty() {
            let mut best: Option<(usize, usize, Vec<Values>)> = None;
            for (idx, variable) in waiting.iter().enumerate() {
                let sources = self.sources(&parts, variable.id, &unknown)?;
                let n_values = sources.iter().map(|it| self.estimate(it));
                let n_values = n_values.fold(average(self.ground.size(variable.sort), 1), usize::min);
                if best.as_ref().is_none_or(|it| n_values < it.0) {
                    best = Some((n_values, idx, sources));
                }
            }
            let Some((_, idx, sources)) = best else { break };
            let Variable { id, sort, .. } = waiting.remove(idx);
            unknown.remove(&id);
            let checks = self.checks(&mut parts, &unknown)?;
            steps.push(Step { variable: id, sort, sources, checks });
        }
        let plan = Rc::new(Plan { first, steps, moving });
        self.plans.insert(address, Rc::clone(&plan));
        Ok(plan)
    }

    /// Takes out the parts that can be checked now.
    fn checks(&mut self, parts: &mut Vec<Signed>, unknown: &BTreeSet<u32>) -> Outcome<Vec<Check>> {
        let is_ready = |it: &mut Signed| {
            let mut free = BTreeSet::new();
            formula_variables(&it.formula, &mut free);
            free.is_disjoint(unknown)
        };
        let ready: Vec<Signed> = parts.extract_if(.., is_ready).collect();
        let mut checks = Vec::new();
        for part in ready {
            checks.push(match &*part.formula {
                Formula::Equal(left, right) => Check::Equal(*left, *right, part.is_true),
                Formula::Related(of, left, right) if is_closed(of) => {
                    Check::Pair(self.table(of)?, *left, *right, part.is_true)
                }
                _ => Check::Other(part),
            });
        }
        checks.sort_by_key(|it| match it {
            Check::Equal(..) => 0,
            Check::Pair(..) => 1,
            Check::Other(part) => 2 + u8::from(!matches!(&*part.formula, Formula::Related(..))),
        });
        Ok(checks)
    }

    fn sources(&mut self, parts: &[Signed], variable: u32, unknown: &BTreeSet<u32>) -> Outcome<Vec<Values>> {
        let own = Elem::Var(variable);
        let is_known = |elem: Elem| !matches!(elem, Elem::Var(id) if unknown.contains(&id));
        let mut sources = Vec::new();
        for part in parts.iter().filter(|it| it.is_true) {
            match &*part.formula {
                Formula::Equal(left, right) if *left == own && is_known(*right) => sources.push(Values::Same(*right)),
                Formula::Equal(left, right) if *right == own && is_known(*left) => sources.push(Values::Same(*left)),
                Formula::Related(of, left, right) => match &**of {
                    Relation::At(given, key) => {
                        at_sources(*given, (*key, *left, *right), own, &is_known, &mut sources);
                    }
                    _ if !is_closed(of) => {}
                    _ if *right == own && is_known(*left) => sources.push(Values::Row(self.table(of)?, *left)),
                    _ if *left == own && is_known(*right) => sources.push(Values::Row(self.inverse(of)?, *right)),
                    _ => {}
                },
                _ => {}
            }
        }
        Ok(sources)
    }

    /// How many values there are on average.
    fn estimate(&self, source: &Values) -> usize {
        let (n_txns, n_keys, n_reads) = (self.ground.n_txns(), self.ground.keys.len(), self.ground.reads.len());
        let n_writes = self.ground.written.iter().map(Vec::len).sum();
        match source {
            Values::Row(table, _) => average(table.n_pairs(), table.n_rows()),
            Values::Readers(..) => average(n_reads, n_writes),
            Values::Sources(..) | Values::Same(_) => average(1, 1),
            Values::WritersOf(_) => average(n_writes, n_keys),
            Values::ReadersOf(_) => average(n_reads, n_keys),
            Values::WrittenBy(_) => average(n_writes, n_txns),
            Values::ReadBy(_) => average(n_reads, n_txns),
        }
    }
}

/// An average that is comparable with others.
fn average(n_all: usize, n_rows: usize) -> usize {
    n_all * 16 / n_rows.max(1)
}

/// What the part of a relation that concerns a key says about values, if only this one is not known.
fn at_sources(
    given: Given,
    (key, left, right): (Elem, Elem, Elem),
    own: Elem,
    is_known: &dyn Fn(Elem) -> bool,
    sources: &mut Vec<Values>,
) {
    let is_read = given == Given::WriteRead;
    if is_known(key) {
        match (left == own, right == own) {
            (true, false) if is_read && is_known(right) => sources.push(Values::Sources(key, right)),
            (false, true) if is_read && is_known(left) => sources.push(Values::Readers(key, left)),
            (false, true) if is_read => sources.push(Values::ReadersOf(key)),
            (true, false) | (false, true) => sources.push(Values::WritersOf(key)),
            _ => {}
        }
    } else if key == own {
        if is_known(left) {
            sources.push(Values::WrittenBy(left));
        }
        if is_known(right) {
            sources.push(if is_read { Values::ReadBy(right) } else { Values::WrittenBy(right) });
        }
    }
}

/// The second members of the pairs with this first one.
fn second(pairs: &[(u32, u32)], first: u32) -> Vec<u32> {
    let start = pairs.partition_point(|it| it.0 < first);
    pairs[start..].iter().take_while(|it| it.0 == first).map(|it| it.1).collect()
}

/// The parts of a conjunction; what exists in it is looked for together with the rest.
fn gather(body: &Arc<Formula>, is_true: bool, variables: &mut Vec<Variable>, parts: &mut Vec<Signed>) {
    let mut own = Vec::new();
    conjuncts(body, is_true, &mut own);
    for part in own {
        match &*part.formula {
            Formula::Exists(more, body) if part.is_true => {
                variables.extend(more.iter().cloned());
                gather(body, true, variables, parts);
            }
            Formula::Forall(more, body) if !part.is_true => {
                variables.extend(more.iter().cloned());
                gather(body, false, variables, parts);
            }
            _ => parts.push(part),
        }
    }
}
