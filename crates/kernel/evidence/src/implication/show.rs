//! Formulas, clauses and elements as texts in the language of levels.

use super::sentence::Side;
use super::term::{Open, Predicate, Says, Term};
use super::theory::Theory;
use iso_spec::{Elem, Formula, Given, Relation, Set, Spec, Variable, WitnessKind};

/// The names that texts use.
#[derive(Debug)]
pub(super) struct Shown {
    own: Vec<String>,
    others: Vec<String>,
    /// Names beyond those of the witnesses.
    pub(super) extra: Vec<String>,
}

impl Shown {
    pub(super) fn new(stronger: &Spec, weaker: &Spec) -> Self {
        let names = |spec: &Spec| spec.witnesses().iter().map(|it| it.name.clone()).collect();
        Self { own: names(stronger), others: names(weaker), extra: Vec::new() }
    }

    pub(super) fn kind(kind: WitnessKind) -> &'static str {
        match kind {
            WitnessKind::Order => "an order",
            WitnessKind::Relation => "a relation",
            WitnessKind::Versions => "an order of versions",
        }
    }

    fn witness(&self, idx: usize, side: Side) -> String {
        let names = if side == Side::Stronger { &self.own } else { &self.others };
        let beyond = || self.extra.get(idx.saturating_sub(names.len()));
        names.get(idx).or_else(beyond).cloned().unwrap_or_default()
    }

    pub(super) fn formula(&self, formula: &Formula, side: Side) -> String {
        let name = |idx: usize| self.witness(idx, side);
        Writer { witness: &name, variables: VariableNames::AsWritten }.formula(formula)
    }

    pub(super) fn relation(&self, relation: &Relation, side: Side) -> String {
        let name = |idx: usize| self.witness(idx, side);
        Writer { witness: &name, variables: VariableNames::AsWritten }.relation(relation)
    }
}

/// A relation as a text in the language of levels, with other texts in the place of witnesses.
///
/// Of versions, the text is that for the key `x` where the relation names a key.
pub fn written_relation(relation: &Relation, witness: &dyn Fn(usize) -> String) -> String {
    Writer { witness, variables: VariableNames::Numbered }.relation(relation)
}

/// The same for a formula.
pub fn written_formula(formula: &Formula, witness: &dyn Fn(usize) -> String) -> String {
    Writer { witness, variables: VariableNames::Numbered }.formula(formula)
}

enum VariableNames {
    AsWritten,
    /// No two variables have the same name.
    Numbered,
}

struct Writer<'w> {
    witness: &'w dyn Fn(usize) -> String,
    variables: VariableNames,
}

impl Writer<'_> {
    fn variable(&self, id: u32, name: &str) -> String {
        match self.variables {
            VariableNames::AsWritten => name.to_owned(),
            VariableNames::Numbered => format!("v_{id}"),
        }
    }

    fn binders(&self, variables: &[Variable]) -> String {
        let shown = |it: &Variable| match self.variables {
            VariableNames::AsWritten => it.name.to_string(),
            VariableNames::Numbered => format!("v_{}: {}", it.id, it.sort.name()),
        };
        variables.iter().map(shown).collect::<Vec<_>>().join(", ")
    }

    fn formula(&self, formula: &Formula) -> String {
        self.named(formula, &mut Vec::new())
    }

    fn relation(&self, relation: &Relation) -> String {
        self.named_relation(relation, &mut Vec::new())
    }

    fn elem(elem: Elem, names: &[(u32, String)]) -> String {
        match elem {
            Elem::Initial => "t0".to_owned(),
            Elem::Var(id) => {
                names.iter().rev().find(|it| it.0 == id).map_or_else(|| format!("v_{id}"), |it| it.1.clone())
            }
        }
    }

    fn named(&self, formula: &Formula, names: &mut Vec<(u32, String)>) -> String {
        let mut two = |word: &str, left: &Formula, right: &Formula| {
            format!("({} {word} {})", self.named(left, names), self.named(right, names))
        };
        match formula {
            Formula::Truth(truth) => truth.to_string(),
            Formula::Not(of) => format!("not {}", self.named(of, names)),
            Formula::And(left, right) => two("and", left, right),
            Formula::Or(left, right) => two("or", left, right),
            Formula::Implies(left, right) => two("implies", left, right),
            Formula::Iff(left, right) => two("iff", left, right),
            Formula::Exists(variables, body) => self.quantified("exists", variables, body, names),
            Formula::Forall(variables, body) => self.quantified("forall", variables, body, names),
            Formula::Equal(left, right) => format!("{} = {}", Self::elem(*left, names), Self::elem(*right, names)),
            Formula::Member(elem, set) => format!("{} in {}", Self::elem(*elem, names), self.set(set, names)),
            Formula::Related(of, left, right) => {
                let of = self.named_relation(of, names);
                format!("{}({}, {})", closed(of), Self::elem(*left, names), Self::elem(*right, names))
            }
            Formula::SetWithin(left, right) => format!("{} in {}", self.set(left, names), self.set(right, names)),
            Formula::Within(left, right) => {
                format!("{} in {}", self.named_relation(left, names), self.named_relation(right, names))
            }
            Formula::SetEmpty(set) => format!("empty({})", self.set(set, names)),
            Formula::Empty(of) => format!("empty({})", self.named_relation(of, names)),
            Formula::Acyclic(of) => format!("acyclic({})", self.named_relation(of, names)),
            Formula::Irreflexive(of) => format!("irreflexive({})", self.named_relation(of, names)),
            Formula::Total(of) => format!("total({})", self.named_relation(of, names)),
            Formula::Transitive(of) => format!("transitive({})", self.named_relation(of, names)),
        }
    }

    fn quantified(&self, word: &str, bound: &[Variable], body: &Formula, names: &mut Vec<(u32, String)>) -> String {
        let mark = names.len();
        names.extend(bound.iter().map(|it| (it.id, self.variable(it.id, &it.name))));
        let text = format!("({word} {}: {})", self.binders(bound), self.named(body, names));
        names.truncate(mark);
        text
    }

    fn set(&self, set: &Set, names: &mut Vec<(u32, String)>) -> String {
        let mut two = |sign: &str, left: &Set, right: &Set| {
            format!("({} {sign} {})", self.set(left, names), self.set(right, names))
        };
        match set {
            Set::Initial => "init".to_owned(),
            Set::Union(left, right) => two("|", left, right),
            Set::Intersection(left, right) => two("&", left, right),
            Set::Difference(left, right) => two("-", left, right),
            Set::Such(variable, body) => {
                names.push((variable.id, self.variable(variable.id, &variable.name)));
                let text =
                    format!("{{ {} | {} }}", self.binders(std::slice::from_ref(variable)), self.named(body, names));
                names.pop();
                text
            }
        }
    }

    fn named_relation(&self, relation: &Relation, names: &mut Vec<(u32, String)>) -> String {
        let mut two = |sign: &str, left: &Relation, right: &Relation| {
            let (left, right) = (self.named_relation(left, names), self.named_relation(right, names));
            format!("{} {sign} {}", closed(left), closed(right))
        };
        match relation {
            Relation::Given(Given::Witness(idx)) => (self.witness)(*idx),
            Relation::Given(given) => given.name().to_owned(),
            Relation::At(Given::Witness(idx), key) => format!("{}[{}]", (self.witness)(*idx), Self::elem(*key, names)),
            Relation::At(given, key) => format!("{}[{}]", given.name(), Self::elem(*key, names)),
            Relation::Union(left, right) => two("|", left, right),
            Relation::Intersection(left, right) => two("&", left, right),
            Relation::Difference(left, right) => two("-", left, right),
            Relation::Composition(left, right) => two(";", left, right),
            Relation::Inverse(of) => format!("{}^-1", closed(self.named_relation(of, names))),
            Relation::Closure(of) => format!("{}+", closed(self.named_relation(of, names))),
            Relation::Reflexive(of) => format!("{}?", closed(self.named_relation(of, names))),
            Relation::On(set) => format!("[{}]", self.set(set, names)),
            Relation::Such(row, col, body) => {
                let bound = [row.clone(), col.clone()];
                let mark = names.len();
                names.extend(bound.iter().map(|it| (it.id, self.variable(it.id, &it.name))));
                let text = format!("{{ {} | {} }}", self.binders(&bound), self.named(body, names));
                names.truncate(mark);
                text
            }
        }
    }
}

/// In parentheses, unless the text is one word.
fn closed(text: String) -> String {
    let is_word = |it: char| it.is_alphanumeric() || matches!(it, '_' | '[' | ']');
    let is_one =
        text.chars().all(is_word) || (text.starts_with('{') && text.ends_with('}') && !text[1..].contains('{'));
    if is_one { text } else { format!("({text})") }
}

impl Theory {
    /// An element as a text.
    pub fn show_term(&self, term: &Term) -> String {
        let name = &self.functions[term.function].name;
        if term.arguments.is_empty() {
            return name.clone();
        }
        let arguments: Vec<String> = term.arguments.iter().map(|it| self.show_term(it)).collect();
        format!("{name}({})", arguments.join(", "))
    }

    /// The element that a text names.
    pub fn read_term(&self, text: &str) -> Option<Term> {
        let text = text.trim();
        let (name, rest) = text.split_once('(').map_or((text, None), |(name, rest)| (name, Some(rest)));
        let function = self.functions.iter().position(|it| it.name == name)?;
        let mut arguments = Vec::new();
        if let Some(rest) = rest {
            let inner = rest.strip_suffix(')')?;
            let (mut depth, mut start) = (0_usize, 0);
            for (at, sign) in inner.char_indices() {
                match sign {
                    '(' => depth += 1,
                    ')' => depth = depth.checked_sub(1)?,
                    ',' if depth == 0 => {
                        arguments.push(self.read_term(&inner[start..at])?);
                        start = at + 1;
                    }
                    _ => {}
                }
            }
            arguments.push(self.read_term(&inner[start..])?);
        }
        Some(Term { function, arguments })
    }

    /// What a clause says of some elements: premises and conclusions.
    pub fn show_instance(&self, clause: usize, values: &[Term]) -> String {
        let literals = &self.clauses[clause].literals;
        let side = |is_true: bool| {
            let shown = literals.iter().filter(|it| it.is_true == is_true);
            shown.filter_map(|it| self.show_atom(it, values)).collect::<Vec<String>>()
        };
        let (premises, conclusions) = (side(false), side(true));
        let conclusion = if conclusions.is_empty() { "false".to_owned() } else { conclusions.join(" or ") };
        if premises.is_empty() { conclusion } else { format!("{} implies {conclusion}", premises.join(" and ")) }
    }

    fn show_atom(&self, literal: &Says<Open>, values: &[Term]) -> Option<String> {
        let terms: Vec<String> = literal.arguments.iter().map(|it| self.show_term(&it.filled(values))).collect();
        let pair = |name: &str| format!("{name}({})", terms.join(", "));
        Some(match literal.predicate {
            Predicate::Equal(_) => format!("{} = {}", terms[0], terms[1]),
            // That there is a key or a read goes without saying.
            Predicate::Some(_) => return None,
            Predicate::Given(Given::Witness(idx)) => pair(&self.names.witness(idx, Side::Stronger)),
            Predicate::Given(given) => pair(given.name()),
            Predicate::At(given) => {
                let name = match given {
                    Given::Witness(idx) => self.names.witness(idx, Side::Stronger),
                    _ => given.name().to_owned(),
                };
                format!("{name}[{}]({}, {})", terms[0], terms[1], terms[2])
            }
            Predicate::Closure(number) => pair(&format!("closure_{}", number + 1)),
            Predicate::Order(number) => pair(&format!("order_{}", number + 1)),
            Predicate::Prefix(number) => pair(&format!("prefix_{}", number + 1)),
            Predicate::Case(number) => pair(&format!("case_{}", number + 1)),
        })
    }
}
