//! Formulas taken apart: the parts of a conjunction, and the variables that a part speaks of.

use iso_spec::{Elem, Formula, Relation, Set};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A formula or its negation.
#[derive(Clone, Debug)]
pub struct Signed {
    /// What must be true or false.
    pub formula: Arc<Formula>,
    /// Which of both.
    pub is_true: bool,
}

/// The parts of a conjunction, or of a negated disjunction.
pub fn conjuncts(formula: &Arc<Formula>, is_true: bool, parts: &mut Vec<Signed>) {
    match (&**formula, is_true) {
        (Formula::Not(of), _) => conjuncts(of, !is_true, parts),
        (Formula::And(left, right), true) | (Formula::Or(left, right), false) => {
            conjuncts(left, is_true, parts);
            conjuncts(right, is_true, parts);
        }
        (Formula::Implies(left, right), false) => {
            conjuncts(left, true, parts);
            conjuncts(right, false, parts);
        }
        _ => parts.push(Signed { formula: Arc::clone(formula), is_true }),
    }
}

/// The free variables of a formula.
pub fn formula_variables(formula: &Formula, free: &mut BTreeSet<u32>) {
    match formula {
        Formula::Truth(_) => {}
        Formula::Not(of) => formula_variables(of, free),
        Formula::And(left, right)
        | Formula::Or(left, right)
        | Formula::Implies(left, right)
        | Formula::Iff(left, right) => {
            formula_variables(left, free);
            formula_variables(right, free);
        }
        Formula::Exists(bound, body) | Formula::Forall(bound, body) => {
            let mut inner = BTreeSet::new();
            formula_variables(body, &mut inner);
            free.extend(inner.into_iter().filter(|id| bound.iter().all(|it| it.id != *id)));
        }
        Formula::Equal(left, right) => free.extend([left, right].into_iter().filter_map(|it| variable(*it))),
        Formula::Member(elem, set) => {
            free.extend(variable(*elem));
            set_variables(set, free);
        }
        Formula::Related(relation, left, right) => {
            free.extend([left, right].into_iter().filter_map(|it| variable(*it)));
            relation_variables(relation, free);
        }
        Formula::SetWithin(left, right) => {
            set_variables(left, free);
            set_variables(right, free);
        }
        Formula::Within(left, right) => {
            relation_variables(left, free);
            relation_variables(right, free);
        }
        Formula::SetEmpty(set) => set_variables(set, free),
        Formula::Empty(of)
        | Formula::Acyclic(of)
        | Formula::Irreflexive(of)
        | Formula::Total(of)
        | Formula::Transitive(of) => relation_variables(of, free),
    }
}

fn variable(elem: Elem) -> Option<u32> {
    match elem {
        Elem::Var(id) => Some(id),
        Elem::Initial => None,
    }
}

fn set_variables(set: &Set, free: &mut BTreeSet<u32>) {
    match set {
        Set::Initial => {}
        Set::Union(left, right) | Set::Intersection(left, right) | Set::Difference(left, right) => {
            set_variables(left, free);
            set_variables(right, free);
        }
        Set::Such(bound, body) => {
            let mut inner = BTreeSet::new();
            formula_variables(body, &mut inner);
            free.extend(inner.into_iter().filter(|it| *it != bound.id));
        }
    }
}

/// The free variables of a relation.
pub fn relation_variables(relation: &Relation, free: &mut BTreeSet<u32>) {
    match relation {
        Relation::Given(_) => {}
        Relation::At(_, key) => free.extend(variable(*key)),
        Relation::Union(left, right)
        | Relation::Intersection(left, right)
        | Relation::Difference(left, right)
        | Relation::Composition(left, right) => {
            relation_variables(left, free);
            relation_variables(right, free);
        }
        Relation::Inverse(of) | Relation::Closure(of) | Relation::Reflexive(of) => relation_variables(of, free),
        Relation::On(set) => set_variables(set, free),
        Relation::Such(left, right, body) => {
            let mut inner = BTreeSet::new();
            formula_variables(body, &mut inner);
            free.extend(inner.into_iter().filter(|it| *it != left.id && *it != right.id));
        }
    }
}
