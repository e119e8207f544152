//! From sentences to clauses: what exists gets a name, and the rest becomes disjunctions that hold for all elements.
//!
//! A history may have no keys and no reads. So "for all keys" is "there is no key, or ..", and what exists says that there
//! is one: a name for an element that is not there then does no harm.

use super::sentence::{Node, Point};
use super::term::{Clause, Function, Open, Predicate, Says};
use iso_spec::Sort;
use std::collections::BTreeMap;

/// A sentence with more clauses is not used.
const MAX_CLAUSES: usize = 3000;

/// The clauses of a sentence; nothing if there are too many.
pub(super) fn clauses(node: &Node, functions: &mut Vec<Function>, origin: usize) -> Option<Vec<Clause>> {
    let mut naming = Naming { functions, universal: BTreeMap::new(), named: BTreeMap::new(), sorts: Vec::new() };
    let named = naming.name(node);
    let sorts = std::mem::take(&mut naming.sorts);
    let mut found: Vec<Clause> = Vec::new();
    for literals in named.disjunctions()? {
        let clause = numbered(literals, &sorts, origin);
        if !found.contains(&clause) {
            found.push(clause);
        }
    }
    Some(found)
}

/// A formula without quantifiers.
enum Plain {
    Literal(Says<Open>),
    All(Vec<Plain>),
    Any(Vec<Plain>),
}

struct Naming<'f> {
    functions: &'f mut Vec<Function>,
    /// Variables that stand for all elements, and those that got a name.
    universal: BTreeMap<u32, usize>,
    named: BTreeMap<u32, Open>,
    sorts: Vec<Sort>,
}

impl Naming<'_> {
    fn name(&mut self, node: &Node) -> Plain {
        match node {
            Node::Literal(predicate, points, is_true) => {
                let arguments = points.iter().map(|it| self.open(*it)).collect();
                Plain::Literal(Says { predicate: *predicate, arguments, is_true: *is_true })
            }
            Node::All(nodes) => Plain::All(nodes.iter().map(|it| self.name(it)).collect()),
            Node::Any(nodes) => Plain::Any(nodes.iter().map(|it| self.name(it)).collect()),
            Node::Forall(id, sort, of) => {
                self.universal.insert(*id, self.sorts.len());
                self.sorts.push(*sort);
                let body = self.name(of);
                if *sort == Sort::Txn { body } else { Plain::Any(vec![some(*sort, false), body]) }
            }
            Node::Exists(id, sort, name, of) => {
                let needs: Vec<usize> = self.needs(of, *id);
                let function = Function {
                    name: self.unused(name),
                    parameters: needs.iter().map(|it| self.sorts[*it]).collect(),
                    sort: *sort,
                };
                let arguments = needs.into_iter().map(Open::Variable).collect();
                self.functions.push(function);
                self.named.insert(*id, Open::Apply(self.functions.len() - 1, arguments));
                let body = self.name(of);
                if *sort == Sort::Txn { body } else { Plain::All(vec![some(*sort, true), body]) }
            }
        }
    }

    /// The variables on which an element depends that exists: those that its formula speaks of, itself or by names.
    fn needs(&self, of: &Node, id: u32) -> Vec<usize> {
        let mut needs = Vec::new();
        for free in of.free().into_iter().filter(|it| *it != id) {
            match (self.universal.get(&free), self.named.get(&free)) {
                (Some(variable), _) => needs.push(*variable),
                (None, Some(open)) => variables(open, &mut needs),
                (None, None) => unreachable!("every variable is bound"),
            }
        }
        needs.sort_unstable();
        needs.dedup();
        needs
    }

    fn open(&self, point: Point) -> Open {
        match point {
            Point::Initial => Open::Apply(0, Vec::new()),
            Point::Bound(id) => match self.universal.get(&id) {
                Some(variable) => Open::Variable(*variable),
                None => self.named[&id].clone(),
            },
        }
    }

    fn unused(&self, name: &str) -> String {
        let mut tried = name.to_owned();
        let mut number = 1;
        while self.functions.iter().any(|it| it.name == tried) {
            number += 1;
            tried = format!("{name}{number}");
        }
        tried
    }
}

fn some(sort: Sort, is_true: bool) -> Plain {
    Plain::Literal(Says { predicate: Predicate::Some(sort), arguments: Vec::new(), is_true })
}

fn variables(open: &Open, found: &mut Vec<usize>) {
    match open {
        Open::Variable(number) => found.push(*number),
        Open::Apply(_, arguments) => arguments.iter().for_each(|it| variables(it, found)),
    }
}

type Disjunction = Vec<Says<Open>>;

impl Plain {
    fn disjunctions(&self) -> Option<Vec<Disjunction>> {
        match self {
            Self::Literal(literal) => Some(vec![vec![literal.clone()]]),
            Self::All(parts) => {
                let mut all = Vec::new();
                for part in parts {
                    all.extend(part.disjunctions()?);
                    if all.len() > MAX_CLAUSES {
                        return None;
                    }
                }
                Some(all)
            }
            Self::Any(parts) => {
                let mut all: Vec<Disjunction> = vec![Vec::new()];
                for part in parts {
                    let others = part.disjunctions()?;
                    if all.len() * others.len() > MAX_CLAUSES {
                        return None;
                    }
                    all = all.iter().flat_map(|one| others.iter().filter_map(|other| joined(one, other))).collect();
                }
                Some(all)
            }
        }
    }
}

/// Both, unless that says nothing.
fn joined(one: &Disjunction, other: &Disjunction) -> Option<Disjunction> {
    let mut all = one.clone();
    for literal in other {
        if all.iter().any(|it| {
            it.predicate == literal.predicate && it.arguments == literal.arguments && it.is_true != literal.is_true
        }) {
            return None;
        }
        if !all.contains(literal) {
            all.push(literal.clone());
        }
    }
    Some(all)
}

/// A clause that has only the variables that it speaks of.
fn numbered(literals: Disjunction, sorts: &[Sort], origin: usize) -> Clause {
    let mut used = Vec::new();
    for literal in &literals {
        literal.arguments.iter().for_each(|it| variables(it, &mut used));
    }
    let mut order: Vec<usize> = Vec::new();
    for variable in used {
        if !order.contains(&variable) {
            order.push(variable);
        }
    }
    let literals = literals.into_iter().map(|it| Says {
        arguments: it.arguments.iter().map(|it| renumbered(it, &order)).collect(),
        ..it
    });
    Clause { variables: order.iter().map(|it| sorts[*it]).collect(), literals: literals.collect(), origin }
}

fn renumbered(open: &Open, order: &[usize]) -> Open {
    match open {
        Open::Variable(number) => {
            Open::Variable(order.iter().position(|it| it == number).expect("the variable is used"))
        }
        Open::Apply(function, arguments) => {
            Open::Apply(*function, arguments.iter().map(|it| renumbered(it, order)).collect())
        }
    }
}
