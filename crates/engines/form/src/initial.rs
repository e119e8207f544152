//! Which relations surely never lead to the initial transaction.

use iso_spec::{Elem, Formula, Given, Relation, WitnessKind};

/// Can no pair of the relation end in the initial transaction, whatever the history and a legal witness are?
pub(crate) fn never_leads_there(relation: &Relation, kinds: &[WitnessKind]) -> bool {
    let never = |it: &Relation| never_leads_there(it, kinds);
    match relation {
        Relation::Given(given) | Relation::At(given, _) => match given {
            Given::SessionOrder | Given::WriteRead | Given::RealTime | Given::Listed => true,
            Given::Witness(idx) => kinds[*idx] != WitnessKind::Relation,
            _ => false,
        },
        Relation::Union(left, right) => never(left) && never(right),
        Relation::Intersection(left, right) => never(left) || never(right),
        Relation::Difference(left, _) => never(left),
        Relation::Composition(left, right) => match &**right {
            Relation::Reflexive(of) => never(left) && never(of),
            _ => never(right),
        },
        Relation::Closure(of) => never(of),
        Relation::Inverse(_) | Relation::Reflexive(_) | Relation::On(_) => false,
        Relation::Such(_, right, body) => excludes(body, right.id, kinds),
    }
}

/// Is the formula false if the variable is the initial transaction?
fn excludes(formula: &Formula, variable: u32, kinds: &[WitnessKind]) -> bool {
    match formula {
        Formula::And(left, right) => excludes(left, variable, kinds) || excludes(right, variable, kinds),
        Formula::Or(left, right) => excludes(left, variable, kinds) && excludes(right, variable, kinds),
        Formula::Exists(_, body) => excludes(body, variable, kinds),
        Formula::Related(relation, _, right) => *right == Elem::Var(variable) && never_leads_there(relation, kinds),
        _ => false,
    }
}
