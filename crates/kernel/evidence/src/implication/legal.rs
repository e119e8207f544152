//! What makes a witness legal, as formulas: what an order is, and what versions are.

use iso_spec::{Elem, Formula, Given, Relation, Sort, Variable, WitnessKind};
use std::sync::Arc;

/// What is true of a witness of this kind; of an order, that it is one comes first, and that the initial transaction
/// is the first comes last.
pub(super) fn legal(idx: usize, kind: WitnessKind) -> Vec<Arc<Formula>> {
    let parts = match kind {
        WitnessKind::Relation => Vec::new(),
        WitnessKind::Order => {
            let own = || Arc::new(Relation::Given(Given::Witness(idx)));
            let t = variable(0, Sort::Txn, "t");
            let is_first = Formula::Implies(
                Arc::new(Formula::Not(Arc::new(Formula::Equal(Elem::Var(t.id), Elem::Initial)))),
                Arc::new(Formula::Related(own(), Elem::Initial, Elem::Var(t.id))),
            );
            vec![
                Formula::Irreflexive(own()),
                Formula::Transitive(own()),
                Formula::Total(own()),
                Formula::Forall(vec![t], Arc::new(is_first)),
            ]
        }
        WitnessKind::Versions => versions(idx),
    };
    parts.into_iter().map(Arc::new).collect()
}

fn versions(idx: usize) -> Vec<Formula> {
    let x = variable(1, Sort::Key, "x");
    let (s, t) = (variable(2, Sort::Txn, "s"), variable(3, Sort::Txn, "t"));
    let own = Arc::new(Relation::At(Given::Witness(idx), Elem::Var(x.id)));
    let of_key = |it: Formula| Formula::Forall(vec![x.clone()], Arc::new(it));
    let writes = |it: Elem| Arc::new(Formula::Related(Arc::new(Relation::Given(Given::Writes)), it, Elem::Var(x.id)));
    let is = |a: Elem, b: Elem| Arc::new(Formula::Related(Arc::clone(&own), a, b));
    let same = |a: Elem, b: Elem| Arc::new(Formula::Equal(a, b));
    let (from, to) = (Elem::Var(s.id), Elem::Var(t.id));
    let for_all = |premise: Arc<Formula>, conclusion: Formula| {
        let variables = vec![x.clone(), s.clone(), t.clone()];
        Formula::Forall(variables, Arc::new(Formula::Implies(premise, Arc::new(conclusion))))
    };
    let both_write = Arc::new(Formula::And(writes(from), writes(to)));
    let is_ordered = Arc::new(Formula::Or(is(from, to), is(to, from)));
    vec![
        of_key(Formula::Irreflexive(Arc::clone(&own))),
        of_key(Formula::Transitive(Arc::clone(&own))),
        for_all(is(from, to), Formula::And(writes(from), writes(to))),
        for_all(both_write, Formula::Or(same(from, to), is_ordered)),
        for_all(writes(to), Formula::Or(same(to, Elem::Initial), is(Elem::Initial, to))),
    ]
}

/// Variables of texts have small numbers.
fn variable(nth: u32, sort: Sort, name: &str) -> Variable {
    Variable { id: u32::MAX - nth, sort, name: Arc::from(name) }
}
