//! The form of a spec that search wants: one order of transactions, from which the rest of the witness follows.
//!
//! - An `order` is that order.
//! - `versions` follow from an order if the spec asks that some relation that contains them has no cycle: a history
//!   has version orders with an acyclic R exactly if it has an order o that contains R, and then o restricted to the
//!   writers of a key is its version order. So "acyclic(R)" becomes "R in o".
//! - A `relation` that the formula only ever asks to be larger by rules ("whenever this, the pair is in"), and else only
//!   asks to be small, may be taken as the least one that the rules force. Such rules are definite Horn clauses, which
//!   have a least model; Cerone's visibility is of this kind in every level of the catalogue.
//!
//! What does not have this form stays free, and search goes through candidates.

use crate::initial::never_leads_there;
use crate::polarity;
use crate::signed::{Signed, conjuncts};
use iso_spec::{Elem, Formula, Given, Relation, Set, Spec, Variable, WitnessKind};
use std::sync::Arc;

/// A spec, taken apart.
#[derive(Debug)]
pub struct Form<'s> {
    /// The spec.
    pub spec: &'s Spec,
    /// Everything that must be true, but for the rules of least relations: those are true of them.
    pub conjuncts: Vec<Conjunct>,
    /// The rules of least relations.
    pub rules: Vec<Signed>,
    /// Where each thing that must exist comes from.
    pub witnesses: Vec<Source>,
    /// Is the order of transactions one of the witnesses, or do the versions follow from it?
    pub has_order: bool,
    /// Does the order contain session order in every witness?
    pub orders_sessions: bool,
    /// Does it contain who reads from whom?
    pub orders_reads: bool,
}

/// Something that must be true.
#[derive(Debug)]
pub enum Conjunct {
    /// A formula, or its negation.
    Formula(Signed),
    /// This relation is within the order of transactions.
    InOrder(Arc<Relation>),
}

/// Where a thing that must exist comes from.
#[derive(Debug)]
pub enum Source {
    /// It is the order of transactions.
    Order,
    /// An order of its own.
    OtherOrder,
    /// The order of transactions, restricted to the writers of a key.
    VersionsOfOrder,
    /// Version orders of their own.
    Versions,
    /// The least relation that contains what the rules say.
    Least(Vec<Rule>),
    /// Any relation. The rules still say what it must contain.
    Relation(Vec<Rule>),
}

/// What a relation must contain.
#[derive(Clone, Debug)]
pub enum Rule {
    /// All pairs of this relation.
    Contains(Arc<Relation>),
    /// Two steps of it.
    Transitive,
    /// A step of the order, then one of it.
    Prefix,
    /// A step of this relation, then one of it.
    After(Arc<Relation>),
    /// A step of it, then one of this relation.
    Before(Arc<Relation>),
    /// The pair of the two variables, whenever the conjuncts hold.
    Whenever(Vec<Variable>, Arc<Formula>, Elem, Elem),
}

impl<'s> Form<'s> {
    /// Takes a spec apart.
    pub fn new(spec: &'s Spec) -> Self {
        let mut signed = Vec::new();
        for requirement in spec.requirements() {
            conjuncts(requirement, true, &mut signed);
        }
        conjuncts(spec.formula(), true, &mut signed);
        let order = spec.witnesses().iter().position(|it| it.kind == WitnessKind::Order);
        let versions = spec.witnesses().iter().position(|it| it.kind == WitnessKind::Versions);
        // With an order of its own a spec may relate versions to it in any way.
        let (acyclic, extracted) = match (order, versions) {
            (None, Some(versions)) => acyclic_relation(spec, &signed, versions),
            _ => (None, None),
        };
        let mut kept = vec![true; signed.len()];
        let sources: Vec<Source> = (0..spec.witnesses().len())
            .map(|idx| source(spec, &signed, idx, order, versions.filter(|_| extracted.is_some()), &mut kept))
            .collect();
        let (mut conjuncts, mut rules) = (Vec::new(), Vec::new());
        conjuncts.extend(extracted.clone().map(Conjunct::InOrder));
        for (idx, it) in signed.iter().cloned().enumerate() {
            // That a relation within an order has no cycle need not be said again.
            let is_said = acyclic == Some(idx) && matches!(&*it.formula, Formula::Acyclic(_));
            if !kept[idx] {
                rules.push(it);
            } else if !is_said {
                conjuncts.push(Conjunct::Formula(it));
            }
        }
        let mut form = Self {
            spec,
            conjuncts,
            rules,
            witnesses: sources,
            has_order: order.is_some() || extracted.is_some(),
            orders_sessions: false,
            orders_reads: false,
        };
        let within = form.within_order(&signed);
        form.orders_sessions = within.contains(&Given::SessionOrder);
        form.orders_reads = within.contains(&Given::WriteRead);
        form
    }

    /// Is the whole witness known once the order is?
    pub fn follows_from_order(&self) -> bool {
        let follows = |it: &Source| matches!(it, Source::Order | Source::VersionsOfOrder | Source::Least(_));
        self.has_order && self.witnesses.iter().all(follows)
    }

    /// The relations of histories that are in the order, because the text says so.
    fn within_order(&self, all: &[Signed]) -> Vec<Given> {
        let mut within: Vec<Given> = (0..self.witnesses.len())
            .filter(|it| matches!(self.witnesses[*it], Source::Order))
            .map(Given::Witness)
            .collect();
        for conjunct in &self.conjuncts {
            if let Conjunct::InOrder(relation) = conjunct {
                union_members(relation, &mut within);
            }
        }
        loop {
            let before = within.len();
            for conjunct in all {
                if conjunct.is_true
                    && let Formula::Within(left, right) = &*conjunct.formula
                    && matches!(&**right, Relation::Given(given) if within.contains(given))
                {
                    union_members(left, &mut within);
                }
            }
            if within.len() == before {
                return within;
            }
        }
    }
}

/// Does a level look at recorded times?
pub fn mentions_real_time(spec: &Spec) -> bool {
    mentions(spec, Given::RealTime)
}

/// Does any conjunct of the spec speak of this relation?
pub fn mentions(spec: &Spec, given: Given) -> bool {
    let mut all = spec.requirements().iter().chain([spec.formula()]);
    all.any(|it| !polarity::of_formula(it, given).is_absent())
}

/// The given relations whose union this is, or is part of.
fn union_members(relation: &Relation, members: &mut Vec<Given>) {
    match relation {
        Relation::Given(given) if !members.contains(given) => members.push(*given),
        Relation::Union(left, right) => {
            union_members(left, members);
            union_members(right, members);
        }
        // One step or more contains one step.
        Relation::Closure(of) => union_members(of, members),
        Relation::Composition(left, right) if matches!(**right, Relation::Reflexive(_)) => union_members(left, members),
        _ => {}
    }
}

/// A relation that contains the versions and may have no cycle, and the conjunct that says so alone, if there is one.
///
/// A relation that is irreflexive and transitive has no cycle, and one that is part of the witness often contains more.
fn acyclic_relation(spec: &Spec, conjuncts: &[Signed], versions: usize) -> (Option<usize>, Option<Arc<Relation>>) {
    for idx in (0..spec.witnesses().len()).filter(|it| spec.witnesses()[*it].kind == WitnessKind::Relation) {
        let own = Relation::Given(Given::Witness(idx));
        let asks = |wanted: &dyn Fn(&Formula) -> bool| conjuncts.iter().any(|it| it.is_true && wanted(&it.formula));
        let is_strict = asks(&|it| matches!(it, Formula::Irreflexive(of) if **of == own));
        let is_transitive = asks(&|it| match it {
            Formula::Transitive(of) => **of == own,
            Formula::Within(left, right) => {
                matches!(&**left, Relation::Composition(a, b) if **a == own && **b == own) && **right == own
            }
            _ => false,
        });
        let contains = asks(&|it| match it {
            Formula::Within(left, right) if **right == own => {
                let mut members = Vec::new();
                union_members(left, &mut members);
                members.contains(&Given::Witness(versions))
            }
            _ => false,
        });
        if is_strict && is_transitive && contains && covers_initial(conjuncts, &own) {
            return (None, Some(Arc::new(own)));
        }
    }
    // The initial transaction comes first in every order, so nothing may lead there.
    let kinds: Vec<WitnessKind> = spec.witnesses().iter().map(|it| it.kind).collect();
    let found = |it: &Signed| acyclic_with(it, versions).filter(|it| never_leads_there(it, &kinds));
    let at = conjuncts.iter().position(|it| found(it).is_some());
    (at, at.and_then(|it| found(&conjuncts[it])))
}

/// Does the initial transaction come before all others in this relation? Then nothing can come before it.
fn covers_initial(conjuncts: &[Signed], own: &Relation) -> bool {
    conjuncts.iter().any(|it| match &*it.formula {
        Formula::Within(left, right) if it.is_true && **right == *own => match &**left {
            Relation::Composition(on, so) => {
                matches!(&**on, Relation::On(set) if **set == Set::Initial)
                    && **so == Relation::Given(Given::SessionOrder)
            }
            other => *other == Relation::Given(Given::SessionOrder),
        },
        _ => false,
    })
}

/// The relation that this conjunct wants to be acyclic, if the versions are in it.
fn acyclic_with(conjunct: &Signed, versions: usize) -> Option<Arc<Relation>> {
    if !conjunct.is_true {
        return None;
    }
    let relation = match &*conjunct.formula {
        Formula::Acyclic(of) => of,
        Formula::Irreflexive(of) => match &**of {
            Relation::Closure(of) => of,
            Relation::Composition(left, right) => match (&**left, &**right) {
                (Relation::Closure(of), Relation::Reflexive(_)) => of,
                _ => return None,
            },
            _ => return None,
        },
        _ => return None,
    };
    let mut members = Vec::new();
    union_members(relation, &mut members);
    members.contains(&Given::Witness(versions)).then(|| Arc::clone(relation))
}

fn source(
    spec: &Spec,
    conjuncts: &[Signed],
    idx: usize,
    order: Option<usize>,
    extracted: Option<usize>,
    kept: &mut [bool],
) -> Source {
    match spec.witnesses()[idx].kind {
        WitnessKind::Order if order == Some(idx) => Source::Order,
        WitnessKind::Order => Source::OtherOrder,
        WitnessKind::Versions if extracted == Some(idx) => Source::VersionsOfOrder,
        WitnessKind::Versions => Source::Versions,
        WitnessKind::Relation => relation_source(spec, conjuncts, idx, order, kept),
    }
}

fn relation_source(spec: &Spec, conjuncts: &[Signed], idx: usize, order: Option<usize>, kept: &mut [bool]) -> Source {
    let mut rules = Vec::new();
    let mut told = Vec::new();
    let mut is_least = true;
    let others: Vec<usize> = (0..spec.witnesses().len())
        .filter(|it| *it != idx && spec.witnesses()[*it].kind == WitnessKind::Relation)
        .collect();
    for (conjunct_idx, conjunct) in conjuncts.iter().enumerate() {
        let dependence = polarity::of_formula(&conjunct.formula, Given::Witness(idx));
        let is_antitone = if conjunct.is_true { dependence.is_antitone() } else { dependence.is_monotone() };
        let mentions_other =
            others.iter().any(|it| !polarity::of_formula(&conjunct.formula, Given::Witness(*it)).is_absent());
        match rule(conjunct, idx, order).filter(|_| !mentions_other) {
            Some(rule) => {
                rules.push(rule);
                told.push(conjunct_idx);
            }
            None => is_least &= is_antitone && (dependence.is_absent() || !mentions_other),
        }
    }
    let n_recursive = rules.iter().filter(|it| is_recursive(it, idx)).count();
    let n_known = rules
        .iter()
        .filter(|it| matches!(it, Rule::Transitive | Rule::Prefix | Rule::After(_) | Rule::Before(_)))
        .count();
    if !is_least || n_recursive != n_known {
        return Source::Relation(rules);
    }
    for conjunct_idx in told {
        kept[conjunct_idx] = false;
    }
    Source::Least(rules)
}

/// Does what the rule adds depend on what is in already?
fn is_recursive(rule: &Rule, idx: usize) -> bool {
    match rule {
        Rule::Transitive | Rule::Prefix | Rule::After(_) | Rule::Before(_) => true,
        Rule::Contains(of) => !polarity::of_relation(of, Given::Witness(idx)).is_absent(),
        Rule::Whenever(_, premise, ..) => !polarity::of_formula(premise, Given::Witness(idx)).is_absent(),
    }
}

fn rule(conjunct: &Signed, idx: usize, order: Option<usize>) -> Option<Rule> {
    let is_it = |relation: &Relation| *relation == Relation::Given(Given::Witness(idx));
    if !conjunct.is_true {
        return None;
    }
    match &*conjunct.formula {
        Formula::Transitive(of) if is_it(of) => Some(Rule::Transitive),
        Formula::Within(left, right) if is_it(right) => contains_rule(left, idx, order),
        Formula::Forall(variables, body) => {
            let Formula::Implies(premise, conclusion) = &**body else { return None };
            let Formula::Related(of, left, right) = &**conclusion else { return None };
            let is_rule = is_it(of) && polarity::of_formula(premise, Given::Witness(idx)).is_monotone();
            is_rule.then(|| Rule::Whenever(variables.clone(), Arc::clone(premise), *left, *right))
        }
        _ => None,
    }
}

fn contains_rule(left: &Arc<Relation>, idx: usize, order: Option<usize>) -> Option<Rule> {
    let is_it = |relation: &Relation| *relation == Relation::Given(Given::Witness(idx));
    let is_other = |relation: &Relation| polarity::of_relation(relation, Given::Witness(idx)).is_absent();
    if let Relation::Composition(first, second) = &**left {
        match (is_it(first), is_it(second)) {
            (true, true) => return Some(Rule::Transitive),
            (false, true) if order.is_some_and(|it| **first == Relation::Given(Given::Witness(it))) => {
                return Some(Rule::Prefix);
            }
            (false, true) if is_other(first) => return Some(Rule::After(Arc::clone(first))),
            (true, false) if is_other(second) => return Some(Rule::Before(Arc::clone(second))),
            _ => {}
        }
    }
    polarity::of_relation(left, Given::Witness(idx)).is_monotone().then(|| Rule::Contains(Arc::clone(left)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iso_spec::{Catalogue, parse};

    fn spec(text: &str) -> Spec {
        let module = parse(text, "mine.spec", &mut |_| Err("no files".to_owned())).expect("a spec");
        module.levels().last().expect("a level").clone()
    }

    #[test]
    fn witnesses_of_the_catalogue_follow_from_an_order_but_for_start_orders() {
        for spec in Catalogue::builtin().levels() {
            let form = Form::new(spec);
            assert!(form.has_order, "{}", spec.name());
            assert_eq!(form.follows_from_order(), spec.framework() != "adya_si", "{}", spec.name());
        }
    }

    #[test]
    fn what_the_order_contains_is_read_from_the_text() {
        let catalogue = Catalogue::builtin();
        for (name, sessions, reads) in [
            ("biswas.rc", true, true),
            ("cerone.ra", true, true),
            ("cerone.si_nosession", false, true),
            ("adya.pl2", false, true),
            ("adya.ser_so", true, true),
            ("adya.psi_so", true, true),
            ("adya.gsi_so", true, true),
            ("crooks.ser_so", true, false),
        ] {
            let form = Form::new(catalogue.find(name).expect("a level"));
            assert_eq!((form.orders_sessions, form.orders_reads), (sessions, reads), "{name}");
        }
    }

    #[test]
    fn versions_do_not_follow_from_an_order_if_something_may_lead_to_the_initial_transaction() {
        let level = "import adya\nlevel mine in adya = acyclic(adya.ww | (so^-1 ; so^-1))";
        assert!(!Form::new(&spec(level)).has_order);
    }

    #[test]
    fn a_users_rules_are_recognised_in_both_notations() {
        for rules in [
            "so in vis and wr in vis and transitive(vis)",
            "(forall s, t: (so | wr)(s, t) implies vis(s, t)) and vis ; vis in vis",
            "so | wr in vis and ar ; vis in vis",
            "so | wr in vis and so ; vis in vis and vis ; so in vis",
        ] {
            let level = format!("import cerone\nlevel mine in cerone = {rules} and irreflexive(vis ; ar)");
            assert!(Form::new(&spec(&level)).follows_from_order(), "{rules}");
        }
    }

    #[test]
    fn a_relation_that_may_have_to_shrink_and_grow_stays_free() {
        for rules in [
            "not transitive(vis)",
            "(forall s, t: ar(s, t) implies vis(s, t) or wr(s, t))",
            "(exists s, t: vis(s, t) and not init(s))",
            "so ; vis ; so in vis",
        ] {
            let level = format!("import cerone\nlevel mine in cerone = {rules}");
            assert!(!Form::new(&spec(&level)).follows_from_order(), "{rules}");
        }
    }
}
