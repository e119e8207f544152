//! Constructions to try, simple ones first.

use iso_evidence::{Construction, Theory, written_formula, written_relation};
use iso_form::{Form, Rule, Source, relation_variables};
use iso_spec::{Elem, Sort, Spec, WitnessKind};
use std::collections::BTreeSet;

/// What both levels have to offer and to ask for.
pub(crate) struct Shape {
    /// Orders, closures, relations and prefixes of the stronger level, as texts.
    orders: Vec<String>,
    closures: Vec<String>,
    relations: Vec<String>,
    versions: Option<String>,
    prefixes: Vec<String>,
    asked_prefixes: Vec<Vec<Sort>>,
}

impl Shape {
    pub(crate) fn new(stronger: &Spec, weaker: &Spec) -> Result<Self, String> {
        let anything = Construction {
            made: weaker.witnesses().iter().map(|_| "so".to_owned()).collect(),
            ..Construction::default()
        };
        let theory = Theory::new(stronger, weaker, &anything)?;
        let named = |kind: WitnessKind| {
            let witnesses = stronger.witnesses().iter().filter(move |it| it.kind == kind);
            witnesses.map(|it| it.name.clone()).collect::<Vec<String>>()
        };
        Ok(Self {
            orders: named(WitnessKind::Order),
            closures: (1..=theory.n_closures()[0]).map(|it| format!("closure_{it}")).collect(),
            relations: named(WitnessKind::Relation),
            versions: named(WitnessKind::Versions).into_iter().next(),
            prefixes: theory.own_prefixes(),
            asked_prefixes: theory.asked_prefixes().to_vec(),
        })
    }

    /// Relations that may contain a closure.
    pub(crate) fn transitive_relations(
        &self,
        construction: &Construction,
        closure: usize,
        effort: Simple,
    ) -> Vec<String> {
        let own = format!("closure_{}", closure + 1);
        let made_order = construction.orders.first().map(|_| first_fixed());
        match effort {
            Simple::Names => {
                let mut all: Vec<String> = self.orders.iter().cloned().chain(made_order).collect();
                all.extend(self.relations.iter().cloned());
                all.extend(self.closures.iter().filter(|it| **it != own).cloned());
                all
            }
            Simple::Unions => {
                let mut all: Vec<String> = self.closures.iter().map(|it| with_initial(it)).collect();
                // Versions speak of a key, and closures are bounds of others, not of themselves.
                let is_other = |it: &&String| !it.contains("x)") && !it.ends_with('+') && it.contains(' ');
                all.extend(construction.made.iter().filter(is_other).cloned());
                all
            }
            Simple::Snapshots => {
                let orders = self.orders.iter().cloned().chain(made_order);
                orders.flat_map(|order| BASES.map(|it| seen(&order, it))).collect()
            }
        }
    }
}

/// How simple a relation is that may contain a closure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Simple {
    Names,
    Unions,
    Snapshots,
}

/// What is in a snapshot that must have this.
fn seen(order: &str, base: &str) -> String {
    format!("({order})? ; ({})", base.replace("ORDER", &format!("({order})")))
}

/// What a snapshot must have.
const BASES: [&str; 4] = [
    "so | wr | (conflict & ORDER)",
    "wr | ([init] ; so) | (conflict & ORDER)",
    "so | wr | rt | (conflict & ORDER)",
    "so | wr",
];

/// The order that was made, with the initial transaction first.
fn first_fixed() -> String {
    "{ s, t | t != t0 and (s = t0 or order_1(s, t)) }".to_owned()
}

/// All constructions to try.
pub(crate) struct Candidates {
    all: std::vec::IntoIter<Construction>,
}

impl Iterator for Candidates {
    type Item = Construction;

    fn next(&mut self) -> Option<Construction> {
        self.all.next()
    }
}

impl Candidates {
    pub(crate) fn new(stronger: &Spec, weaker: &Spec, shape: &Shape) -> Self {
        let mut all = Vec::new();
        let form = Form::new(weaker);
        for (orders, order) in orders(stronger, shape) {
            let choices: Vec<Vec<String>> = (0..weaker.witnesses().len())
                .map(|idx| match weaker.witnesses()[idx].kind {
                    WitnessKind::Order => vec![order.clone()],
                    WitnessKind::Versions => versions(shape, &order),
                    WitnessKind::Relation => relations(&form, idx, shape, &order),
                })
                .collect();
            for made in product(&choices) {
                for prefixes in prefixes(shape, &order) {
                    all.push(Construction { orders: orders.clone(), made: made.clone(), prefixes, bounds: Vec::new() });
                }
            }
        }
        Self { all: all.into_iter() }
    }
}

/// Orders of transactions: those of the stronger level, or one that extends something.
fn orders(stronger: &Spec, shape: &Shape) -> Vec<(Vec<String>, String)> {
    let mut all: Vec<(Vec<String>, String)> = shape.orders.iter().map(|it| (Vec::new(), it.clone())).collect();
    let mut extended: Vec<String> = shape.closures.clone();
    for relation in &shape.relations {
        extended.push(format!("{{ a, b | exists c: {relation}(a, c) and not {relation}(b, c) }}"));
        extended.push(relation.clone());
    }
    if stronger.witnesses().iter().any(|it| it.kind == WitnessKind::Order) {
        return all;
    }
    all.extend(extended.into_iter().map(|it| (vec![it], first_fixed())));
    if all.is_empty() {
        all.push((vec!["so".to_owned()], first_fixed()));
    }
    all
}

fn versions(shape: &Shape, order: &str) -> Vec<String> {
    let own = shape.versions.iter().map(|it| format!("{it}[x]"));
    let restricted = format!("{{ s, t | writes(s, x) and writes(t, x) and ({order})(s, t) }}");
    own.chain([restricted]).collect()
}

/// A relation of the weaker level: the least one that its rules ask for, or one of the stronger level's.
fn relations(form: &Form<'_>, idx: usize, shape: &Shape, order: &str) -> Vec<String> {
    let mut all = Vec::new();
    if let Source::Least(rules) = &form.witnesses[idx] {
        all.extend(least(form, rules, shape, order));
    }
    all.extend(shape.relations.iter().cloned());
    if !matches!(form.witnesses[idx], Source::Least(_)) {
        // What more is asked for is often that it is like a snapshot.
        all.extend(BASES.map(|it| seen(order, it)));
    }
    all.extend(shape.prefixes.iter().map(|it| format!("{{ u, t | t != t0 and {it}(u, t) }}")));
    all.push(order.to_owned());
    all.extend(shape.closures.iter().cloned());
    all.extend(shape.closures.iter().map(|it| with_initial(it)));
    all
}

/// The relation, and that the initial transaction is before all others.
fn with_initial(relation: &str) -> String {
    format!("{relation} | ([init] ; so)")
}

/// The least relation that the rules ask for, if it can be written down.
fn least(form: &Form<'_>, rules: &[Rule], shape: &Shape, order: &str) -> Option<String> {
    let witnesses = form.spec.witnesses();
    let unwritten = std::cell::Cell::new(false);
    let witness = |idx: usize| match witnesses[idx].kind {
        WitnessKind::Order => format!("({order})"),
        WitnessKind::Versions => shape.versions.clone().unwrap_or_else(|| format!("(conflict & ({order}))")),
        WitnessKind::Relation => {
            unwritten.set(true);
            String::new()
        }
    };
    let mut parts = Vec::new();
    let (mut is_transitive, mut is_prefix) = (false, false);
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for rule in rules {
        match rule {
            Rule::Transitive => is_transitive = true,
            Rule::Prefix => is_prefix = true,
            Rule::After(of) => after.push(written_relation(of, &witness)),
            Rule::Before(of) => before.push(written_relation(of, &witness)),
            Rule::Contains(of) => {
                let mut free = BTreeSet::new();
                relation_variables(of, &mut free);
                unwritten.set(unwritten.get() || !free.is_empty());
                parts.push(format!("({})", written_relation(of, &witness)));
            }
            Rule::Whenever(variables, premise, left, right) => {
                let (Elem::Var(from), Elem::Var(to)) = (left, right) else { return None };
                let others: Vec<String> = variables
                    .iter()
                    .filter(|it| it.id != *from && it.id != *to)
                    .map(|it| format!("v_{}: {}", it.id, it.sort.name()))
                    .collect();
                let some = if others.is_empty() { String::new() } else { format!("exists {}: ", others.join(", ")) };
                let premise = written_formula(premise, &witness);
                parts.push(format!("{{ v_{from}: txn, v_{to}: txn | {some}{premise} }}"));
            }
        }
    }
    if parts.is_empty() || unwritten.get() {
        return None;
    }
    let mut text = parts.join(" | ");
    if !after.is_empty() {
        text = format!("(({})+)? ; ({text})", after.join(" | "));
    }
    if !before.is_empty() {
        text = format!("({text}) ; (({})+)?", before.join(" | "));
    }
    if is_prefix {
        text = format!("({order})? ; ({text})");
    }
    Some(if is_transitive { format!("({text})+") } else { text })
}

/// Prefixes that the weaker level asks for: one that depends on a transaction is what that sees, in some sense; one that
/// depends on more ends with one of them. Or all are known by their last elements.
fn prefixes(shape: &Shape, order: &str) -> Vec<Vec<Option<String>>> {
    let asked = &shape.asked_prefixes;
    if asked.is_empty() {
        return vec![Vec::new()];
    }
    let mut texts = vec![format!("({order})(v, a)")];
    let visible = shape.relations.iter().chain(&shape.prefixes).map(|it| format!("v = t0 or {it}(v, a)"));
    texts.extend(visible);
    texts.extend(BASES.iter().map(|it| format!("v = t0 or ({})(v, a)", seen(order, it))));
    if !asked.contains(&vec![Sort::Txn]) {
        texts.truncate(1);
    }
    let mut all = Vec::new();
    for text in texts {
        let made = |sorts: &Vec<Sort>| if *sorts == [Sort::Txn] { Some(text.clone()) } else { ends(sorts, order) };
        all.push(asked.iter().map(made).collect());
    }
    all.push(asked.iter().map(|_| None).collect());
    all
}

/// The prefix that ends with the source of a read, or with another transaction that comes later.
fn ends(sorts: &[Sort], order: &str) -> Option<String> {
    let txns: Vec<char> = ('a'..='z').zip(sorts).filter(|it| *it.1 == Sort::Txn).map(|it| it.0).collect();
    match txns[..] {
        [source, _] => Some(format!("({order})?(v, {source})")),
        [source, _, .., other] => Some(format!("({order})?(v, {source}) or ({order})?(v, {other})")),
        _ => None,
    }
}

fn product(choices: &[Vec<String>]) -> Vec<Vec<String>> {
    choices.iter().fold(vec![Vec::new()], |all, options| {
        all.iter()
            .flat_map(|made: &Vec<String>| {
                options.iter().map(move |option| made.iter().chain([option]).cloned().collect())
            })
            .collect()
    })
}
