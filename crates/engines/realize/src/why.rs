//! Why something is true or false of an order: the pairs of the order that are enough for it.
//!
//! An order that has the same pairs has the same truth, so one of them must go the other way if something else is
//! wanted. Where there is a choice, the reason with the fewest pairs is taken. Whoever has a part in it is noted, too,
//! since a core needs them.

use crate::join::Parts;
use crate::least::path;
use crate::matrix::Rel;
use crate::view::{Failure, Outcome, View, is_closed, unsupported};
use iso_form::{Signed, Source};
use iso_spec::{Elem, Formula, Given, Relation, Set, Sort, Variable};
use std::sync::Arc;

/// A reason.
#[derive(Clone, Debug, Default)]
pub(crate) struct Why {
    /// The first is before the second.
    pairs: Vec<(u32, u32)>,
    /// Transactions that have a part in it.
    txns: Vec<u32>,
}

/// More pairs than this are no reason that a search could learn from.
const MAX_PAIRS: usize = 2_000;
/// So many ways are compared for the shortest.
const MAX_WAYS: usize = 8;

impl Why {
    pub(crate) fn before(&mut self, first: u32, second: u32) {
        self.pairs.push((first, second));
        self.involve(first);
        self.involve(second);
    }

    /// The order has this pair, or has it not.
    fn order(&mut self, (a, b): (u32, u32), is_in: bool) {
        if is_in {
            self.before(a, b);
        } else if a != b {
            self.before(b, a);
        }
    }

    pub(crate) fn involve(&mut self, txn: u32) {
        self.txns.push(txn);
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.pairs.extend(other.pairs);
        self.txns.extend(other.txns);
    }

    pub(crate) fn n_pairs(&self) -> usize {
        self.pairs.len()
    }

    /// The pairs and the transactions, each once.
    pub(crate) fn into_parts(mut self) -> (Vec<(u32, u32)>, Vec<u32>) {
        self.pairs.sort_unstable();
        self.pairs.dedup();
        self.txns.sort_unstable();
        self.txns.dedup();
        (self.pairs, self.txns)
    }
}

impl View<'_> {
    /// Why the formula has this truth, which it has.
    pub(crate) fn why(&mut self, formula: &Arc<Formula>, wanted: bool, why: &mut Why) -> Outcome<()> {
        if why.n_pairs() > MAX_PAIRS {
            return Err(unsupported("a condition that depends on most of the order at once"));
        }
        match &**formula {
            Formula::Truth(_) | Formula::Equal(..) => Ok(()),
            Formula::Not(of) => self.why(of, !wanted, why),
            Formula::And(left, right) => self.why_parts([(left, wanted), (right, wanted)], wanted, why),
            Formula::Or(left, right) => self.why_parts([(left, wanted), (right, wanted)], !wanted, why),
            Formula::Implies(left, right) => self.why_parts([(left, !wanted), (right, wanted)], !wanted, why),
            Formula::Iff(left, right) => {
                let truths = [self.truth(left)?, self.truth(right)?];
                self.why_parts([(left, truths[0]), (right, truths[1])], true, why)
            }
            Formula::Exists(variables, body) if wanted => self.why_some(variables, body, true, why),
            Formula::Exists(variables, body) => self.why_none(variables, body, true, why),
            Formula::Forall(variables, body) if wanted => self.why_none(variables, body, false, why),
            Formula::Forall(variables, body) => self.why_some(variables, body, false, why),
            Formula::Member(elem, set) => self.why_member(self.value(*elem), set, wanted, why),
            Formula::Related(of, left, right) => {
                self.why_pair(of, (self.value(*left), self.value(*right)), wanted, why)
            }
            _ if self.is_constant_formula(formula) => Ok(()),
            _ if wanted => Err(unsupported("a condition on a whole relation inside of another one")),
            _ => match self.first_failure(formula)? {
                Some(failure) => self.why_failure(formula, failure, why),
                None => Err(unsupported("a comparison of sets")),
            },
        }
    }

    /// All of the parts have these truths, or one of them has.
    fn why_parts(&mut self, parts: [(&Arc<Formula>, bool); 2], needs_all: bool, why: &mut Why) -> Outcome<()> {
        if needs_all {
            return parts.into_iter().try_for_each(|(it, wanted)| self.why(it, wanted, why));
        }
        let mut best: Option<Why> = None;
        for (part, wanted) in parts {
            if self.truth(part)? == wanted {
                let mut own = Why::default();
                self.why(part, wanted, &mut own)?;
                best = Some(shorter(best, own));
            }
        }
        why.add(best.unwrap_or_default());
        Ok(())
    }

    /// There are values for which the body has this truth.
    fn why_some(&mut self, variables: &[Variable], body: &Arc<Formula>, is_true: bool, why: &mut Why) -> Outcome<()> {
        let plan = self.plan(variables, body, is_true, Parts::All)?;
        let mut best: Option<Why> = None;
        let mut n_ways = 0;
        self.run(&plan, &mut |view| {
            let mut own = Why::default();
            view.involve_all(variables, &mut own);
            view.why(body, is_true, &mut own)?;
            best = Some(shorter(best.take(), own));
            n_ways += 1;
            Ok(n_ways < MAX_WAYS)
        })?;
        why.add(best.unwrap_or_default());
        Ok(())
    }

    pub(crate) fn involve_all(&mut self, variables: &[Variable], why: &mut Why) {
        for variable in variables {
            let value = self.value(Elem::Var(variable.id));
            self.involve(variable.sort, value, why);
        }
    }

    fn involve(&self, sort: Sort, elem: u32, why: &mut Why) {
        match sort {
            Sort::Txn => why.involve(elem),
            Sort::Read => {
                let (reader, _, source) = self.ground.reads[elem as usize];
                why.involve(reader);
                why.txns.extend(source);
            }
            Sort::Key => {}
        }
    }

    /// There are none: whatever fits as far as every order agrees fails by something that depends on this one.
    fn why_none(&mut self, variables: &[Variable], body: &Arc<Formula>, is_true: bool, why: &mut Why) -> Outcome<()> {
        let plan = self.plan(variables, body, is_true, Parts::Constant)?;
        self.run(&plan, &mut |view| {
            let mut best: Option<Why> = None;
            for Signed { formula, is_true } in &plan.moving {
                if view.truth(formula)? != *is_true {
                    let mut own = Why::default();
                    view.why(formula, !is_true, &mut own)?;
                    best = Some(shorter(best, own));
                }
            }
            why.add(best.unwrap_or_default());
            if why.n_pairs() > MAX_PAIRS {
                return Err(unsupported("a condition that depends on most of the order at once"));
            }
            Ok(true)
        })?;
        Ok(())
    }

    fn why_member(&mut self, elem: u32, set: &Set, wanted: bool, why: &mut Why) -> Outcome<()> {
        let mut sides = |view: &mut Self, left: (&Set, bool), right: (&Set, bool), needs_all: bool| -> Outcome<()> {
            for (side, wanted) in [left, right] {
                if view.is_member(elem, side)? == wanted {
                    view.why_member(elem, side, wanted, why)?;
                    if !needs_all {
                        break;
                    }
                }
            }
            Ok(())
        };
        match set {
            Set::Initial => Ok(()),
            Set::Union(left, right) => sides(self, (left, wanted), (right, wanted), !wanted),
            Set::Intersection(left, right) => sides(self, (left, wanted), (right, wanted), wanted),
            Set::Difference(left, right) => sides(self, (left, wanted), (right, !wanted), wanted),
            Set::Such(variable, body) => {
                let before = self.values.insert(variable.id, elem);
                self.why(body, wanted, why)?;
                self.restore(variable.id, before);
                Ok(())
            }
        }
    }

    /// Why a relation has a pair, or has it not.
    pub(crate) fn why_pair(
        &mut self,
        relation: &Arc<Relation>,
        (a, b): (u32, u32),
        wanted: bool,
        why: &mut Why,
    ) -> Outcome<()> {
        let sorts = relation.sorts();
        self.involve(sorts.0, a, why);
        self.involve(sorts.1, b, why);
        if !wanted && self.is_constant(relation) {
            return Ok(());
        }
        match &**relation {
            Relation::Given(Given::Witness(idx)) => self.why_witness(*idx, (a, b), wanted, why),
            Relation::At(Given::Witness(_), key) => {
                let key = self.value(*key);
                if self.ground.writes(a, key) && self.ground.writes(b, key) {
                    why.order((a, b), wanted);
                }
                Ok(())
            }
            Relation::Given(Given::Listed) | Relation::At(Given::Listed, _) => {
                self.involve_shown((a, b), why);
                Ok(())
            }
            Relation::Union(left, right) => self.why_sides([(left, wanted), (right, wanted)], (a, b), !wanted, why),
            Relation::Intersection(left, right) => {
                self.why_sides([(left, wanted), (right, wanted)], (a, b), wanted, why)
            }
            Relation::Difference(left, right) => {
                self.why_sides([(left, wanted), (right, !wanted)], (a, b), wanted, why)
            }
            Relation::Inverse(of) => self.why_pair(of, (b, a), wanted, why),
            Relation::Reflexive(of) if a != b => self.why_pair(of, (a, b), wanted, why),
            Relation::On(set) if a == b => self.why_member(a, set, wanted, why),
            Relation::Composition(left, right) => self.why_composed(left, right, (a, b), wanted, why),
            Relation::Closure(of) => self.why_closed(of, (a, b), wanted, why),
            Relation::Such(left, right, body) => {
                let before = (self.values.insert(left.id, a), self.values.insert(right.id, b));
                self.why(body, wanted, why)?;
                self.restore(left.id, before.0);
                self.restore(right.id, before.1);
                Ok(())
            }
            // What every order agrees on.
            Relation::Given(_) | Relation::At(..) | Relation::Reflexive(_) | Relation::On(_) => Ok(()),
        }
    }

    /// The order of a list's versions is known by a read that shows them.
    fn involve_shown(&self, pair: (u32, u32), why: &mut Why) {
        let keys = (0..self.ground.keys.len()).filter(|it| self.ground.listed_at[*it].binary_search(&pair).is_ok());
        for recovered in keys.filter_map(|it| self.ground.facts.recovered_order(self.ground.keys[it])) {
            let reader = self.ground.facts.history().txn_of(recovered.shown_by);
            let shown = recovered.writers.last().copied();
            let places =
                [Some(reader), shown].into_iter().flatten().filter_map(|it| self.ground.txns.binary_search(&it).ok());
            places.for_each(|it| why.involve(it as u32));
        }
    }

    fn why_witness(&mut self, idx: usize, pair: (u32, u32), wanted: bool, why: &mut Why) -> Outcome<()> {
        let form = self.form;
        match &form.witnesses[idx] {
            Source::Order => why.order(pair, wanted),
            Source::VersionsOfOrder => {
                let (a, b) = pair;
                if self.ground.written[a as usize].iter().any(|key| self.ground.writes(b, *key)) {
                    why.order(pair, wanted);
                }
            }
            Source::Least(rules) if wanted => return self.why_least(rules, pair.0, pair.1, why),
            _ => return Err(unsupported("a pair that a least relation has not")),
        }
        Ok(())
    }

    fn why_sides(
        &mut self,
        sides: [(&Arc<Relation>, bool); 2],
        (a, b): (u32, u32),
        needs_all: bool,
        why: &mut Why,
    ) -> Outcome<()> {
        if needs_all {
            return sides.into_iter().try_for_each(|(it, wanted)| self.why_pair(it, (a, b), wanted, why));
        }
        let mut best: Option<Why> = None;
        for (side, wanted) in sides {
            if self.relates(side, a, b)? == wanted {
                let mut own = Why::default();
                self.why_pair(side, (a, b), wanted, &mut own)?;
                best = Some(shorter(best, own));
            }
        }
        why.add(best.unwrap_or_default());
        Ok(())
    }

    fn why_composed(
        &mut self,
        left: &Arc<Relation>,
        right: &Arc<Relation>,
        (a, b): (u32, u32),
        wanted: bool,
        why: &mut Why,
    ) -> Outcome<()> {
        let mut best: Option<Why> = None;
        let mut n_ways = 0;
        for middle in self.middles(left, right, a, b)? {
            let truths = [self.relates(left, a, middle)?, self.relates(right, middle, b)?];
            let mut own = Why::default();
            if wanted && truths == [true, true] {
                self.why_pair(left, (a, middle), true, &mut own)?;
                self.why_pair(right, (middle, b), true, &mut own)?;
                best = Some(shorter(best, own));
                n_ways += 1;
                if n_ways == MAX_WAYS {
                    break;
                }
            } else if !wanted {
                if truths[0] {
                    self.why_pair(right, (middle, b), false, &mut own)?;
                } else {
                    self.why_pair(left, (a, middle), false, &mut own)?;
                }
                why.add(own);
                if why.n_pairs() > MAX_PAIRS {
                    return Err(unsupported("a step that depends on most of the order at once"));
                }
            }
        }
        why.add(best.unwrap_or_default());
        Ok(())
    }

    /// Who may stand between two elements, in some order.
    fn middles(&mut self, left: &Arc<Relation>, right: &Arc<Relation>, a: u32, b: u32) -> Outcome<Vec<u32>> {
        Ok(if is_closed(left) && self.is_constant(left) {
            self.table(left)?.cols(a)
        } else if is_closed(right) && self.is_constant(right) {
            self.inverse(right)?.cols(b)
        } else {
            (0..self.ground.size(left.sorts().1) as u32).collect()
        })
    }

    fn why_closed(&mut self, of: &Arc<Relation>, (a, b): (u32, u32), wanted: bool, why: &mut Why) -> Outcome<()> {
        if !wanted {
            return Err(unsupported("a closure that has not a pair"));
        }
        let table = self.table(of)?;
        let steps = path(&table, a, b).ok_or_else(|| unsupported("a way that is none"))?;
        steps.into_iter().try_for_each(|step| self.why_pair(of, step, true, why))
    }

    /// Why a formula about whole relations is false in this way.
    pub(crate) fn why_failure(&mut self, formula: &Formula, failure: Failure, why: &mut Why) -> Outcome<()> {
        match (formula, failure) {
            (Formula::Within(left, right), Failure::Outside(a, b)) => {
                self.why_pair(left, (a, b), true, why)?;
                self.why_pair(right, (a, b), false, why)
            }
            (Formula::Empty(of) | Formula::Irreflexive(of), Failure::Pair(a, b)) => {
                self.why_pair(of, (a, b), true, why)
            }
            (Formula::Total(of), Failure::Neither(a, b)) => {
                self.why_pair(of, (a, b), false, why)?;
                self.why_pair(of, (b, a), false, why)
            }
            (Formula::Transitive(of), Failure::Gap(a, c)) => {
                self.why_composed(of, of, (a, c), true, why)?;
                self.why_pair(of, (a, c), false, why)
            }
            (Formula::Acyclic(of), Failure::Cycle(a, b)) => {
                self.why_pair(of, (a, b), true, why)?;
                if a == b { Ok(()) } else { self.why_closed(of, (b, a), true, why) }
            }
            _ => Err(unsupported("such a condition")),
        }
    }

    /// Why the first relation is not within the order at this pair.
    pub(crate) fn why_outside_order(
        &mut self,
        relation: &Arc<Relation>,
        pair: (u32, u32),
        why: &mut Why,
    ) -> Outcome<()> {
        self.why_pair(relation, pair, true, why)?;
        why.order(pair, false);
        Ok(())
    }

    /// The relation as a table, and the order.
    pub(crate) fn outside_order(&mut self, relation: &Arc<Relation>) -> Outcome<Vec<(u32, u32)>> {
        let table = self.table(relation)?;
        let outside: Rel = table.combine(&self.order, |a, b| a & !b);
        Ok(outside.pairs())
    }
}

fn shorter(best: Option<Why>, other: Why) -> Why {
    best.filter(|it| it.n_pairs() <= other.n_pairs()).unwrap_or(other)
}
