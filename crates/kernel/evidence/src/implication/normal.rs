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
/// A disjunction that would make more clauses names its parts first.
const MAX_PRODUCT: usize = 12;

/// More cases are left together.
const MAX_CASES: usize = 128;

/// The cases of a sentence, one of which holds if it does: disjunctions that are more than literals are taken apart.
pub(super) fn cases(node: &Node) -> Vec<Node> {
    let whole = without_known(node);
    let mut all = vec![whole.clone()];
    let mut next = 0;
    while let Some(node) = all.get(next) {
        match split(node) {
            Some(parts) => {
                all.splice(next..=next, parts);
            }
            None => next += 1,
        }
        if all.len() > MAX_CASES {
            return vec![whole];
        }
    }
    all
}

/// The parts of the first disjunction with parts that are no literals.
fn split(node: &Node) -> Option<Vec<Node>> {
    match node {
        Node::Literal(..) | Node::Forall(..) => None,
        Node::Exists(id, sort, name, of) => {
            let within = |it: Node| Node::Exists(*id, *sort, name.clone(), Box::new(it));
            Some(split(of)?.into_iter().map(within).collect())
        }
        Node::All(nodes) => {
            let (at, parts) = nodes.iter().enumerate().find_map(|(at, it)| Some((at, split(it)?)))?;
            let with = |part: Node| {
                let mut nodes = nodes.clone();
                nodes[at] = part;
                Node::All(nodes)
            };
            Some(parts.into_iter().map(with).collect())
        }
        Node::Any(nodes) => {
            let n_larger = nodes.iter().filter(|it| !matches!(it, Node::Literal(..))).count();
            (n_larger > 0).then(|| nodes.clone())
        }
    }
}

/// The clauses of a sentence; nothing if there are too many.
pub(super) fn clauses(
    node: &Node,
    functions: &mut Vec<Function>,
    n_cases: &mut usize,
    origin: usize,
) -> Option<Vec<Clause>> {
    let mut naming = Naming { functions, universal: BTreeMap::new(), named: BTreeMap::new(), sorts: Vec::new() };
    let named = naming.name(&without_known(node));
    let sorts = std::mem::take(&mut naming.sorts);
    let mut found: Vec<Clause> = Vec::new();
    let mut parts = Parts { n_cases, clauses: Vec::new() };
    let mut all = named.disjunctions(&mut parts)?;
    all.append(&mut parts.clauses);
    for literals in all {
        let clause = numbered(literals, &sorts, origin);
        if !found.contains(&clause) {
            found.push(clause);
        }
    }
    Some(found)
}

/// The same without variables that are known: "some a is b, and .." speaks of b, and so does "for all a that are b".
fn without_known(node: &Node) -> Node {
    match node {
        Node::Literal(..) => node.clone(),
        Node::All(nodes) => Node::All(flattened(nodes, true)),
        Node::Any(nodes) => Node::Any(flattened(nodes, false)),
        Node::Exists(id, sort, name, of) => {
            let of = without_known(of);
            match known(&of, *id, true) {
                Some(is) => without_known(&replaced(&of, *id, is)),
                None => Node::Exists(*id, *sort, name.clone(), Box::new(of)),
            }
        }
        Node::Forall(id, sort, of) => {
            let of = without_known(of);
            match known(&of, *id, false) {
                Some(is) => without_known(&replaced(&of, *id, is)),
                None => Node::Forall(*id, *sort, Box::new(of)),
            }
        }
    }
}

fn flattened(nodes: &[Node], are_all: bool) -> Vec<Node> {
    let mut flat = Vec::new();
    for node in nodes {
        match (without_known(node), are_all) {
            (Node::All(inner), true) | (Node::Any(inner), false) => flat.extend(inner),
            (other, _) => flat.push(other),
        }
    }
    flat
}

/// What the variable must be, or must not be so that the rest matters.
fn known(of: &Node, id: u32, is_some: bool) -> Option<Point> {
    let own = Point::Bound(id);
    match (of, is_some) {
        (Node::Literal(Predicate::Equal(_), points, sign), _) if *sign == is_some => match points[..] {
            [left, right] if left == own && right != own => Some(right),
            [left, right] if right == own && left != own => Some(left),
            _ => None,
        },
        (Node::All(nodes), true) | (Node::Any(nodes), false) => nodes.iter().find_map(|it| known(it, id, is_some)),
        (Node::Exists(_, _, _, inner), true) | (Node::Forall(_, _, inner), false) => {
            // What is bound inside is not known out here.
            let is = known(inner, id, is_some)?;
            (!binds(of, is)).then_some(is)
        }
        _ => None,
    }
}

fn binds(of: &Node, point: Point) -> bool {
    match of {
        Node::Exists(id, _, _, inner) | Node::Forall(id, _, inner) => point == Point::Bound(*id) || binds(inner, point),
        Node::All(nodes) | Node::Any(nodes) => nodes.iter().any(|it| binds(it, point)),
        Node::Literal(..) => false,
    }
}

fn replaced(of: &Node, id: u32, is: Point) -> Node {
    let own = Point::Bound(id);
    let all = |nodes: &[Node]| nodes.iter().map(|it| replaced(it, id, is)).collect();
    match of {
        Node::Literal(predicate, points, sign) => {
            let points: Vec<Point> = points.iter().map(|it| if *it == own { is } else { *it }).collect();
            match (predicate, &points[..]) {
                (Predicate::Equal(_), [left, right]) if left == right => Node::joined(Vec::new(), *sign),
                _ => Node::Literal(*predicate, points, *sign),
            }
        }
        Node::All(nodes) => Node::All(all(nodes)),
        Node::Any(nodes) => Node::Any(all(nodes)),
        Node::Exists(bound, sort, name, inner) => {
            Node::Exists(*bound, *sort, name.clone(), Box::new(replaced(inner, id, is)))
        }
        Node::Forall(bound, sort, inner) => Node::Forall(*bound, *sort, Box::new(replaced(inner, id, is))),
    }
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
        // There may be hundreds of the same name, which have the numbers up to how many they are.
        let is_numbered = |it: &&Function| {
            it.name.strip_prefix(name).is_some_and(|rest| rest.bytes().all(|digit| digit.is_ascii_digit()))
        };
        let mut number = self.functions.iter().filter(is_numbered).count() + 1;
        let mut tried = if number == 1 { name.to_owned() } else { format!("{name}{number}") };
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

/// Parts of a disjunction that got a number, and what follows from them.
struct Parts<'n> {
    n_cases: &'n mut usize,
    clauses: Vec<Disjunction>,
}

impl Parts<'_> {
    /// A literal that stands for the conjunction; whoever makes it true makes all of that true.
    fn case(&mut self, of: &[Disjunction]) -> Disjunction {
        let mut used = Vec::new();
        for literal in of.iter().flatten() {
            literal.arguments.iter().for_each(|it| variables(it, &mut used));
        }
        used.sort_unstable();
        used.dedup();
        let arguments: Vec<Open> = used.into_iter().map(Open::Variable).collect();
        let holds = |is_true| Says { predicate: Predicate::Case(*self.n_cases), arguments: arguments.clone(), is_true };
        self.clauses.extend(of.iter().filter_map(|it| joined(&vec![holds(false)], it)));
        let case = vec![holds(true)];
        *self.n_cases += 1;
        case
    }
}

impl Plain {
    fn disjunctions(&self, named: &mut Parts<'_>) -> Option<Vec<Disjunction>> {
        match self {
            Self::Literal(literal) => Some(vec![vec![literal.clone()]]),
            Self::All(parts) => {
                let mut all = Vec::new();
                for part in parts {
                    all.extend(part.disjunctions(named)?);
                    if all.len() > MAX_CLAUSES {
                        return None;
                    }
                }
                Some(all)
            }
            Self::Any(parts) => {
                let mut options = Vec::new();
                for part in parts {
                    options.push(part.disjunctions(named)?);
                }
                let n_all = options.iter().fold(1_usize, |n, it| n.saturating_mul(it.len()));
                if n_all > MAX_PRODUCT {
                    for option in options.iter_mut().filter(|it| it.len() > 1) {
                        *option = vec![named.case(option)];
                    }
                }
                let mut all: Vec<Disjunction> = vec![Vec::new()];
                for others in &options {
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
    let literals = literals
        .into_iter()
        .map(|it| Says { arguments: it.arguments.iter().map(|it| renumbered(it, &order)).collect(), ..it });
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
