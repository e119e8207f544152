//! How to go through the values of quantified variables: each part of the body is looked at as soon as its variables
//! have values, so that most combinations end early.

use iso_form::{Signed, conjuncts, formula_variables, relation_variables};
use iso_spec::{Elem, Formula, Given, Relation, Sort, Variable};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

/// One variable after the other, each with what can be decided once it has a value.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Parts without any of the variables.
    pub(crate) first: Vec<Signed>,
    pub(crate) steps: Vec<PlanStep>,
}

#[derive(Debug)]
pub(crate) struct PlanStep {
    pub(crate) variable: u32,
    pub(crate) sort: Sort,
    /// How many keys there are before it, if it is one.
    pub(crate) n_keys_before: usize,
    /// Must it be asked whether there is such an element, or do the parts imply it?
    pub(crate) is_guarded: bool,
    pub(crate) parts: Vec<Signed>,
}

/// Plans and free variables, found once for each formula of the specs of a question.
///
/// Formulas are identified by their addresses, so they must outlive this.
#[derive(Debug, Default)]
pub(crate) struct Plans {
    plans: FxHashMap<(usize, bool), Rc<Plan>>,
    closed: FxHashMap<usize, bool>,
}

impl Plans {
    /// The plan for "these variables have values such that the body is true", or false.
    pub(crate) fn plan(&mut self, variables: &[Variable], body: &Arc<Formula>, is_true: bool) -> Rc<Plan> {
        let key = (Arc::as_ptr(body) as usize, is_true);
        Rc::clone(self.plans.entry(key).or_insert_with(|| Rc::new(new_plan(variables, body, is_true))))
    }

    /// Does the relation depend on no variable?
    pub(crate) fn is_closed(&mut self, relation: &Arc<Relation>) -> bool {
        let free = || {
            let mut free = BTreeSet::new();
            relation_variables(relation, &mut free);
            free.is_empty()
        };
        *self.closed.entry(Arc::as_ptr(relation) as usize).or_insert_with(free)
    }
}

fn new_plan(variables: &[Variable], body: &Arc<Formula>, is_true: bool) -> Plan {
    let mut parts = Vec::new();
    conjuncts(body, is_true, &mut parts);
    parts.sort_by_key(cost);
    let is_guarded = |it: &Variable| match it.sort {
        Sort::Txn => false,
        Sort::Read => true,
        Sort::Key => !parts.iter().any(|part| implies_key(part, it.id)),
    };
    let n_keys_before = |idx: usize| variables[..idx].iter().filter(|it| it.sort == Sort::Key).count();
    let step = |(idx, it): (usize, &Variable)| PlanStep {
        variable: it.id,
        sort: it.sort,
        n_keys_before: n_keys_before(idx),
        is_guarded: is_guarded(it),
        parts: Vec::new(),
    };
    let mut plan = Plan { first: Vec::new(), steps: variables.iter().enumerate().map(step).collect() };
    for part in parts {
        let mut free = BTreeSet::new();
        formula_variables(&part.formula, &mut free);
        match plan.steps.iter().rposition(|it| free.contains(&it.variable)) {
            Some(last) => plan.steps[last].parts.push(part),
            None => plan.first.push(part),
        }
    }
    plan
}

fn cost(part: &Signed) -> u32 {
    match &*part.formula {
        Formula::Truth(_) | Formula::Equal(..) => 0,
        Formula::Related(of, ..) => match **of {
            Relation::Given(_) | Relation::At(..) => 1,
            _ => 2,
        },
        Formula::Member(..) => 2,
        Formula::Exists(..) | Formula::Forall(..) => 4,
        _ => 3,
    }
}

/// Can this part only be true of a key that exists?
fn implies_key(part: &Signed, key: u32) -> bool {
    let Formula::Related(relation, _, right) = &*part.formula else { return false };
    part.is_true
        && match &**relation {
            Relation::At(_, of) => *of == Elem::Var(key),
            Relation::Given(Given::Writes | Given::Reads | Given::KeyOf) => *right == Elem::Var(key),
            _ => false,
        }
}
