//! Formulas in words, with the names of a history in the place of variables.

use iso_spec::{Elem, Formula, Given, Relation, Set, Sort, Spec};
use std::sync::Arc;

/// What the variables of a formula stand for.
pub(crate) struct Namer<'n> {
    pub(crate) spec: &'n Spec,
    /// The name of an element of a sort.
    pub(crate) name: &'n dyn Fn(Sort, usize) -> String,
    /// The values of variables that have one: number, sort, element.
    pub(crate) values: Vec<(u32, Sort, usize)>,
}

/// Stands for a variable until the quantifier that binds it gives it its name.
fn placeholder(id: u32) -> String {
    format!("\u{2}{id}\u{3}")
}

/// Longer relations are cut: the text of the level has them.
const MAX_RELATION: usize = 60;

impl Namer<'_> {
    fn elem(&self, elem: Elem) -> String {
        match elem {
            Elem::Initial => "init".to_owned(),
            Elem::Var(id) => match self.values.iter().find(|it| it.0 == id) {
                Some((_, sort, value)) => (self.name)(*sort, *value),
                None => placeholder(id),
            },
        }
    }

    fn given(&self, given: Given) -> String {
        match given {
            Given::Witness(idx) => self.spec.witnesses()[idx].name.clone(),
            other => other.name().to_owned(),
        }
    }

    /// A relation as it is written in a spec, cut if it is long.
    pub(crate) fn relation(&self, relation: &Arc<Relation>) -> String {
        let text = self.whole_relation(relation);
        if text.chars().count() <= MAX_RELATION {
            return text;
        }
        text.chars().take(MAX_RELATION - 1).chain(['…']).collect()
    }

    fn whole_relation(&self, relation: &Arc<Relation>) -> String {
        if let Some(name) = self.spec.name_of_relation(relation) {
            return name.to_owned();
        }
        match &**relation {
            Relation::Given(given) => self.given(*given),
            Relation::At(given, key) => format!("{}[{}]", self.given(*given), self.elem(*key)),
            Relation::Union(left, right) => format!("{} | {}", self.operand(left, 0), self.operand(right, 0)),
            Relation::Difference(left, right) => format!("{} - {}", self.operand(left, 0), self.operand(right, 1)),
            Relation::Intersection(left, right) => format!("{} & {}", self.operand(left, 1), self.operand(right, 1)),
            Relation::Composition(left, right) => format!("{} ; {}", self.operand(left, 2), self.operand(right, 2)),
            Relation::Inverse(of) => format!("{}^-1", self.operand(of, 3)),
            Relation::Closure(of) => format!("{}+", self.operand(of, 3)),
            Relation::Reflexive(of) => format!("{}?", self.operand(of, 3)),
            Relation::On(set) => format!("[{}]", self.set(set)),
            Relation::Such(left, right, body) => {
                format!("{{ {}, {} | {} }}", left.name, right.name, self.inner(body, &[left, right]))
            }
        }
    }

    /// In parentheses if it binds less than what it stands in.
    fn operand(&self, relation: &Arc<Relation>, binding: u8) -> String {
        let own = match &**relation {
            _ if self.spec.name_of_relation(relation).is_some() => 3,
            Relation::Union(..) | Relation::Difference(..) => 0,
            Relation::Intersection(..) => 1,
            Relation::Composition(..) => 2,
            _ => 3,
        };
        let text = self.whole_relation(relation);
        if own < binding || (own == 0 && binding > 0) { format!("({text})") } else { text }
    }

    fn set(&self, set: &Set) -> String {
        match set {
            Set::Initial => "init".to_owned(),
            Set::Union(left, right) => format!("{} | {}", self.set(left), self.set(right)),
            Set::Intersection(left, right) => format!("{} & {}", self.set(left), self.set(right)),
            Set::Difference(left, right) => format!("{} - {}", self.set(left), self.set(right)),
            Set::Such(variable, body) => format!("{{ {} | {} }}", variable.name, self.inner(body, &[variable])),
        }
    }

    /// A formula within which some variables keep their names.
    fn inner(&self, formula: &Arc<Formula>, bound: &[&iso_spec::Variable]) -> String {
        let text = self.formula(formula);
        bound.iter().fold(text, |text, it| text.replace(&placeholder(it.id), &it.name))
    }

    /// A formula as it is written in a spec.
    pub(crate) fn formula(&self, formula: &Arc<Formula>) -> String {
        let pair = |relation: &Arc<Relation>, left, right| {
            let text = self.whole_relation(relation);
            let is_named = self.spec.name_of_relation(relation).is_some();
            let is_simple = is_named || matches!(**relation, Relation::Given(_) | Relation::At(..));
            let text = if is_simple { text } else { format!("({text})") };
            format!("{text}({}, {})", self.elem(left), self.elem(right))
        };
        if let Some((name, arguments)) = self.spec.name_of_formula(formula) {
            let arguments: Vec<String> = arguments.iter().map(|it| self.elem(*it)).collect();
            return if arguments.is_empty() { name.to_owned() } else { format!("{name}({})", arguments.join(", ")) };
        }
        match &**formula {
            Formula::Truth(truth) => truth.to_string(),
            Formula::Not(of) => format!("not ({})", self.formula(of)),
            Formula::And(left, right) => format!("{} and {}", self.formula(left), self.formula(right)),
            Formula::Or(left, right) => format!("({} or {})", self.formula(left), self.formula(right)),
            Formula::Implies(left, right) => format!("({} implies {})", self.formula(left), self.formula(right)),
            Formula::Iff(left, right) => format!("({} iff {})", self.formula(left), self.formula(right)),
            Formula::Exists(variables, body) | Formula::Forall(variables, body) => {
                let word = if matches!(**formula, Formula::Exists(..)) { "exists" } else { "forall" };
                let names: Vec<&str> = variables.iter().map(|it| &*it.name).collect();
                let bound: Vec<&iso_spec::Variable> = variables.iter().collect();
                format!("{word} {}: {}", names.join(", "), self.inner(body, &bound))
            }
            Formula::Equal(left, right) => format!("{} = {}", self.elem(*left), self.elem(*right)),
            Formula::Member(elem, set) => format!("{} in {}", self.elem(*elem), self.set(set)),
            Formula::Related(relation, left, right) => pair(relation, *left, *right),
            Formula::SetWithin(left, right) => format!("{} in {}", self.set(left), self.set(right)),
            Formula::Within(left, right) => format!("{} in {}", self.whole_relation(left), self.whole_relation(right)),
            Formula::SetEmpty(set) => format!("empty({})", self.set(set)),
            Formula::Empty(of) => format!("empty({})", self.whole_relation(of)),
            Formula::Acyclic(of) => format!("acyclic({})", self.whole_relation(of)),
            Formula::Irreflexive(of) => format!("irreflexive({})", self.whole_relation(of)),
            Formula::Total(of) => format!("total({})", self.whole_relation(of)),
            Formula::Transitive(of) => format!("transitive({})", self.whole_relation(of)),
        }
    }

    /// One thing that is so, or is not, as a clause of a sentence.
    pub(crate) fn clause(&self, formula: &Arc<Formula>, is_true: bool) -> Option<String> {
        match &**formula {
            // What is different, or is not the initial transaction, is seen from the names.
            Formula::Equal(..) => None,
            Formula::Member(_, set) if **set == Set::Initial => None,
            // The name of a read says these.
            Formula::Related(of, ..) if is_true && matches!(**of, Relation::Given(Given::Of | Given::KeyOf)) => None,
            Formula::Related(relation, left, right) => {
                let (left, right) = (self.elem(*left), self.elem(*right));
                Some(self.related(relation, &left, &right, is_true))
            }
            _ if is_true => Some(self.cut(formula)),
            Formula::Exists(..) if self.spec.name_of_formula(formula).is_none() => {
                Some(self.cut(formula).replacen("exists", "there is no", 1))
            }
            _ => Some(format!("not {}", self.cut(formula))),
        }
    }

    fn cut(&self, formula: &Arc<Formula>) -> String {
        let text = self.formula(formula);
        if text.chars().count() <= 2 * MAX_RELATION {
            return text;
        }
        text.chars().take(2 * MAX_RELATION - 1).chain(['…']).collect()
    }

    fn related(&self, relation: &Arc<Relation>, left: &str, right: &str, is_true: bool) -> String {
        let verb = |yes: &str, no: &str| if is_true { yes.to_owned() } else { no.to_owned() };
        match &**relation {
            Relation::At(Given::WriteRead, key) => {
                let key = self.elem(*key);
                format!("{right} {} {key} from {left}", verb("reads", "does not read"))
            }
            Relation::Given(Given::Writes) => format!("{left} {} {right}", verb("writes", "does not write")),
            Relation::Given(Given::From) => format!("{left} {} from {right}", verb("is", "is not")),
            Relation::Given(Given::Of) => format!("{left} {} of {right}", verb("is", "is not")),
            Relation::Given(Given::KeyOf) => format!("{left} {} of key {right}", verb("is", "is not")),
            Relation::Given(Given::ProgramOrder) => {
                format!("{left} {} before {right} in its transaction", verb("comes", "does not come"))
            }
            _ => format!("({left}, {right}) {} in {}", verb("is", "is not"), self.relation(relation)),
        }
    }
}
