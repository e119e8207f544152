//! A level made ready to run: relations as numbered nodes, quantifiers as planned loops.
//!
//! Quantifiers become queries, that is conjunctions with variables: `forall x: a implies b` is "no x with a and not b".
//! A query binds its variables one after the other, each to the candidates that the relations already allow, and
//! checks every conjunct as soon as its variables are bound.

use crate::formula::{Elem, Formula, Given, Relation, Set, Sort, Variable, Witness, WitnessKind};
use crate::plan::plan;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Variables live in slots; a query deeper inside uses later ones.
pub(crate) const MAX_SLOTS: usize = 48;
/// Trees deeper than this are refused: compiling and running recurse over them.
const MAX_DEPTH: usize = 400;
/// A level of which compiling visits more nodes than this is a mistake.
const MAX_VISITS: usize = 50_000;

/// A compiled level.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) kinds: Vec<WitnessKind>,
    /// Operands stand before what is made of them.
    pub(crate) nodes: Vec<Node>,
    pub(crate) queries: Vec<Query>,
    /// What must be true, each by itself.
    pub(crate) conjuncts: Vec<Ir>,
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) op: NodeOp,
    /// None for a set, which is a single row.
    pub(crate) rows: Option<Sort>,
    pub(crate) cols: Sort,
    /// The slots of its free variables.
    pub(crate) free: u64,
    /// Does it depend on the witness?
    pub(crate) moving: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum NodeOp {
    Given(Given),
    /// An order or relation that is searched for.
    Witness(usize),
    /// The union of versions over all keys.
    AllVersions(usize),
    At(Given, Term),
    InitialSet,
    Union(usize, usize),
    Intersection(usize, usize),
    Difference(usize, usize),
    Composition(usize, usize),
    Inverse(usize),
    Closure(usize),
    Reflexive(usize),
    On(usize),
    /// What the query collects.
    Such(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Term {
    Slot(u8),
    Initial,
    /// The only row of a set.
    TheRow,
}

impl Term {
    pub(crate) fn slots(self) -> u64 {
        match self {
            Self::Slot(slot) => 1 << slot,
            _ => 0,
        }
    }
}

/// A formula; negation stands at the leaves.
#[derive(Clone, Debug)]
pub(crate) enum Ir {
    Truth(bool),
    Equal { left: Term, right: Term, negated: bool },
    Atom { node: usize, row: Term, col: Term, negated: bool },
    And(Vec<Ir>),
    Or(Vec<Ir>),
    Exists { query: usize, negated: bool },
    Within { left: usize, right: usize, negated: bool },
    Property { property: Property, node: usize, negated: bool },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Property {
    Irreflexive,
    Total,
    Empty,
}

/// A conjunction with variables.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) steps: Vec<QueryStep>,
    pub(crate) conjuncts: Vec<Ir>,
    /// Where a found assignment is collected.
    pub(crate) out: Option<(Term, Term)>,
    pub(crate) bound: u64,
    pub(crate) free: u64,
    pub(crate) moving: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum QueryStep {
    /// Binds a slot to each element that is in all these rows.
    Bind { slot: u8, sort: Sort, rows: Vec<(usize, Term)> },
    /// Checks the conjunct of that place.
    Check(usize),
}

impl Program {
    /// Compiles what must be true. The error says what is too large.
    pub(crate) fn compile(
        witnesses: &[Witness],
        required: &[Arc<Formula>],
        formula: &Arc<Formula>,
    ) -> Result<Self, String> {
        let kinds = witnesses.iter().map(|it| it.kind).collect();
        let program = Self { kinds, nodes: Vec::new(), queries: Vec::new(), conjuncts: Vec::new() };
        let mut compiler = Compiler {
            program,
            interned: FxHashMap::default(),
            by_tree: FxHashMap::default(),
            scope: Vec::new(),
            depth: 0,
            n_visits: 0,
        };
        let mut conjuncts = Vec::new();
        for part in required.iter().chain([formula]) {
            flatten(compiler.formula(part, false)?, &mut conjuncts);
        }
        conjuncts.sort_by_key(|it| compiler.program.cost(it));
        compiler.program.conjuncts = conjuncts;
        Ok(compiler.program)
    }

    /// The free slots of a formula.
    pub(crate) fn free(&self, ir: &Ir) -> u64 {
        match ir {
            Ir::Truth(_) => 0,
            Ir::Equal { left, right, .. } => left.slots() | right.slots(),
            Ir::Atom { node, row, col, .. } => self.nodes[*node].free | row.slots() | col.slots(),
            Ir::And(parts) | Ir::Or(parts) => parts.iter().fold(0, |all, it| all | self.free(it)),
            Ir::Exists { query, .. } => self.queries[*query].free,
            Ir::Within { left, right, .. } => self.nodes[*left].free | self.nodes[*right].free,
            Ir::Property { node, .. } => self.nodes[*node].free,
        }
    }

    pub(crate) fn moving(&self, ir: &Ir) -> bool {
        match ir {
            Ir::Truth(_) | Ir::Equal { .. } => false,
            Ir::Atom { node, .. } | Ir::Property { node, .. } => self.nodes[*node].moving,
            Ir::And(parts) | Ir::Or(parts) => parts.iter().any(|it| self.moving(it)),
            Ir::Exists { query, .. } => self.queries[*query].moving,
            Ir::Within { left, right, .. } => self.nodes[*left].moving || self.nodes[*right].moving,
        }
    }

    /// Cheap and constant things first.
    pub(crate) fn cost(&self, ir: &Ir) -> u32 {
        let moving = u32::from(self.moving(ir)) * 2;
        match ir {
            Ir::Truth(_) | Ir::Equal { .. } => 0,
            Ir::Atom { .. } => 1 + moving,
            Ir::Within { .. } | Ir::Property { .. } => 4 + moving,
            Ir::And(parts) | Ir::Or(parts) => 2 + moving + parts.iter().map(|it| self.cost(it)).sum::<u32>(),
            Ir::Exists { query, .. } => 20 + moving + 10 * self.queries[*query].steps.len() as u32,
        }
    }
}

struct Compiler {
    program: Program,
    interned: FxHashMap<NodeOp, usize>,
    by_tree: FxHashMap<*const Relation, usize>,
    /// The variables in scope; a variable's slot is its place here.
    scope: Vec<u32>,
    depth: usize,
    n_visits: usize,
}

type Compiled<T> = Result<T, String>;

/// Splits a conjunction into its parts.
pub(crate) fn flatten(ir: Ir, parts: &mut Vec<Ir>) {
    match ir {
        Ir::And(inner) => inner.into_iter().for_each(|it| flatten(it, parts)),
        Ir::Truth(true) => {}
        other => parts.push(other),
    }
}

fn both(left: Ir, right: Ir, is_and: bool) -> Ir {
    if is_and { Ir::And(vec![left, right]) } else { Ir::Or(vec![left, right]) }
}

impl Compiler {
    fn enter(&mut self) -> Compiled<()> {
        self.depth += 1;
        self.n_visits += 1;
        // Each side of `iff` is compiled twice, so that nested ones double.
        if self.n_visits > MAX_VISITS {
            return Err("the level is too large".to_owned());
        }
        if self.depth > MAX_DEPTH { Err("the level is nested too deeply".to_owned()) } else { Ok(()) }
    }

    fn term(&self, elem: Elem) -> Term {
        match elem {
            Elem::Initial => Term::Initial,
            Elem::Var(id) => {
                let slot = self.scope.iter().rposition(|it| *it == id).expect("variables are bound");
                Term::Slot(slot as u8)
            }
        }
    }

    fn formula(&mut self, formula: &Formula, negated: bool) -> Compiled<Ir> {
        self.enter()?;
        let ir = self.formula_inside(formula, negated)?;
        self.depth -= 1;
        Ok(ir)
    }

    fn formula_inside(&mut self, formula: &Formula, negated: bool) -> Compiled<Ir> {
        Ok(match formula {
            Formula::Truth(truth) => Ir::Truth(*truth != negated),
            Formula::Not(of) => self.formula(of, !negated)?,
            Formula::And(left, right) => both(self.formula(left, negated)?, self.formula(right, negated)?, !negated),
            Formula::Or(left, right) => both(self.formula(left, negated)?, self.formula(right, negated)?, negated),
            Formula::Implies(left, right) => {
                both(self.formula(left, !negated)?, self.formula(right, negated)?, negated)
            }
            Formula::Iff(left, right) => {
                let there = both(self.formula(left, true)?, self.formula(right, negated)?, false);
                let back = both(self.formula(left, false)?, self.formula(right, !negated)?, false);
                Ir::And(vec![there, back])
            }
            Formula::Exists(variables, body) => self.quantified(variables, body, false, negated)?,
            Formula::Forall(variables, body) => self.quantified(variables, body, true, !negated)?,
            Formula::Equal(left, right) => Ir::Equal { left: self.term(*left), right: self.term(*right), negated },
            Formula::Member(elem, set) => {
                let (node, col) = (self.set(set)?, self.term(*elem));
                Ir::Atom { node, row: Term::TheRow, col, negated }
            }
            Formula::Related(relation, left, right) => self.related(relation, *left, *right, negated)?,
            Formula::SetWithin(left, right) => Ir::Within { left: self.set(left)?, right: self.set(right)?, negated },
            Formula::Within(left, right) => self.within(left, right, negated)?,
            Formula::SetEmpty(set) => Ir::Property { property: Property::Empty, node: self.set(set)?, negated },
            Formula::Empty(of) => Ir::Property { property: Property::Empty, node: self.relation(of)?, negated },
            Formula::Irreflexive(of) => {
                Ir::Property { property: Property::Irreflexive, node: self.relation(of)?, negated }
            }
            Formula::Total(of) => Ir::Property { property: Property::Total, node: self.relation(of)?, negated },
            Formula::Acyclic(of) => {
                let of = self.relation(of)?;
                let node = self.node(NodeOp::Closure(of))?;
                Ir::Property { property: Property::Irreflexive, node, negated }
            }
            Formula::Transitive(of) => {
                let right = self.relation(of)?;
                let left = self.node(NodeOp::Composition(right, right))?;
                Ir::Within { left, right, negated }
            }
        })
    }

    /// A comparison of relations with free variables is one of their pairs, so that it can be searched by loops.
    fn within(&mut self, left: &Arc<Relation>, right: &Arc<Relation>, negated: bool) -> Compiled<Ir> {
        let (left_node, right_node) = (self.relation(left)?, self.relation(right)?);
        if self.program.nodes[left_node].free | self.program.nodes[right_node].free == 0 {
            return Ok(Ir::Within { left: left_node, right: right_node, negated });
        }
        let (rows, cols) = left.sorts();
        let (row, col) = (self.fresh_slot(u32::MAX)?, self.fresh_slot(u32::MAX)?);
        let pair = |node, negated| Ir::Atom { node, row, col, negated };
        let conjuncts = vec![pair(left_node, false), pair(right_node, true)];
        self.scope.truncate(self.scope.len() - 2);
        let query = self.query(&[(row, rows), (col, cols)], conjuncts, None);
        Ok(Ir::Exists { query, negated: !negated })
    }

    fn fresh_slot(&mut self, id: u32) -> Compiled<Term> {
        if self.scope.len() >= MAX_SLOTS {
            return Err("the level has too many variables inside each other".to_owned());
        }
        self.scope.push(id);
        Ok(Term::Slot(self.scope.len() as u8 - 1))
    }

    fn bind(&mut self, variables: &[Variable]) -> Compiled<Vec<(Term, Sort)>> {
        variables.iter().map(|it| Ok((self.fresh_slot(it.id)?, it.sort))).collect()
    }

    fn quantified(&mut self, variables: &[Variable], body: &Formula, negate_body: bool, negated: bool) -> Compiled<Ir> {
        let mark = self.scope.len();
        let mut bound = self.bind(variables)?;
        let body = self.formula(body, negate_body)?;
        self.scope.truncate(mark);
        let mut conjuncts = Vec::new();
        flatten(body, &mut conjuncts);
        self.absorb(&mut bound, &mut conjuncts);
        let query = self.query(&bound, conjuncts, None);
        Ok(Ir::Exists { query, negated })
    }

    /// Makes inner queries part of this one, where their slots do not collide.
    fn absorb(&mut self, bound: &mut Vec<(Term, Sort)>, conjuncts: &mut Vec<Ir>) {
        let mut idx = 0;
        while idx < conjuncts.len() {
            if let Ir::Exists { query, negated: false } = conjuncts[idx] {
                let inner = &self.program.queries[query];
                let mine = bound.iter().fold(0, |all, it| all | it.0.slots());
                if mine & inner.bound == 0 && inner.out.is_none() {
                    bound.extend(inner.steps.iter().filter_map(|it| match it {
                        QueryStep::Bind { slot, sort, .. } => Some((Term::Slot(*slot), *sort)),
                        QueryStep::Check(_) => None,
                    }));
                    let inner = inner.conjuncts.clone();
                    conjuncts.splice(idx..=idx, inner);
                    continue;
                }
            }
            idx += 1;
        }
    }

    fn query(&mut self, bound: &[(Term, Sort)], conjuncts: Vec<Ir>, out: Option<(Term, Term)>) -> usize {
        let slots = bound.iter().fold(0, |all, it| all | it.0.slots());
        let free = conjuncts.iter().fold(0, |all, it| all | self.program.free(it)) & !slots;
        let moving = conjuncts.iter().any(|it| self.program.moving(it));
        // A row of the inverse gives the candidates of an atom's first place.
        for conjunct in &conjuncts {
            if let Ir::Atom { node, row: Term::Slot(_), negated: false, .. } = conjunct
                && self.program.nodes[*node].free == 0
            {
                self.intern(NodeOp::Inverse(*node));
            }
        }
        let interned = &self.interned;
        let inverse = |node: usize| interned.get(&NodeOp::Inverse(node)).copied();
        let (steps, conjuncts) = plan(&self.program, bound, free, conjuncts, &inverse);
        self.program.queries.push(Query { steps, conjuncts, out, bound: slots, free, moving });
        self.program.queries.len() - 1
    }

    /// A pair of a relation. With free variables in it, the operators move into the formula.
    fn related(&mut self, relation: &Arc<Relation>, left: Elem, right: Elem, negated: bool) -> Compiled<Ir> {
        if let Relation::Reflexive(of) = &**relation {
            let same = Ir::Equal { left: self.term(left), right: self.term(right), negated };
            let step = self.related(of, left, right, negated)?;
            return Ok(both(same, step, negated));
        }
        let node = self.relation(relation)?;
        let (row, col) = (self.term(left), self.term(right));
        if self.program.nodes[node].free == 0 {
            return Ok(Ir::Atom { node, row, col, negated });
        }
        Ok(match &**relation {
            Relation::Union(a, b) => {
                both(self.related(a, left, right, negated)?, self.related(b, left, right, negated)?, negated)
            }
            Relation::Intersection(a, b) => {
                both(self.related(a, left, right, negated)?, self.related(b, left, right, negated)?, !negated)
            }
            Relation::Difference(a, b) => {
                both(self.related(a, left, right, negated)?, self.related(b, left, right, !negated)?, !negated)
            }
            Relation::Inverse(of) => self.related(of, right, left, negated)?,
            _ => Ir::Atom { node, row, col, negated },
        })
    }

    fn set(&mut self, set: &Set) -> Compiled<usize> {
        self.enter()?;
        let op = match set {
            Set::Initial => NodeOp::InitialSet,
            Set::Union(left, right) => NodeOp::Union(self.set(left)?, self.set(right)?),
            Set::Intersection(left, right) => NodeOp::Intersection(self.set(left)?, self.set(right)?),
            Set::Difference(left, right) => NodeOp::Difference(self.set(left)?, self.set(right)?),
            Set::Such(variable, body) => NodeOp::Such(self.such(std::slice::from_ref(variable), body)?),
        };
        self.depth -= 1;
        self.node(op)
    }

    fn relation(&mut self, relation: &Arc<Relation>) -> Compiled<usize> {
        let tree = Arc::as_ptr(relation);
        if let Some(node) = self.by_tree.get(&tree) {
            return Ok(*node);
        }
        self.enter()?;
        let op = self.operation(relation)?;
        self.depth -= 1;
        let node = self.node(op)?;
        if self.program.nodes[node].free == 0 {
            self.by_tree.insert(tree, node);
        }
        Ok(node)
    }

    fn operation(&mut self, relation: &Relation) -> Compiled<NodeOp> {
        Ok(match relation {
            Relation::Given(Given::Witness(idx)) => match self.program.kinds[*idx] {
                WitnessKind::Versions => NodeOp::AllVersions(*idx),
                _ => NodeOp::Witness(*idx),
            },
            Relation::Given(given) => NodeOp::Given(*given),
            Relation::At(given, key) => NodeOp::At(*given, self.term(*key)),
            Relation::Union(left, right) => NodeOp::Union(self.relation(left)?, self.relation(right)?),
            Relation::Intersection(left, right) => NodeOp::Intersection(self.relation(left)?, self.relation(right)?),
            Relation::Difference(left, right) => NodeOp::Difference(self.relation(left)?, self.relation(right)?),
            Relation::Composition(left, right) => NodeOp::Composition(self.relation(left)?, self.relation(right)?),
            Relation::Inverse(of) => NodeOp::Inverse(self.relation(of)?),
            Relation::Closure(of) => NodeOp::Closure(self.relation(of)?),
            Relation::Reflexive(of) => NodeOp::Reflexive(self.relation(of)?),
            Relation::On(set) => NodeOp::On(self.set(set)?),
            Relation::Such(left, right, body) => NodeOp::Such(self.such(&[left.clone(), right.clone()], body)?),
        })
    }

    /// The query that collects a set or relation.
    fn such(&mut self, variables: &[Variable], body: &Formula) -> Compiled<usize> {
        let mark = self.scope.len();
        let mut bound = self.bind(variables)?;
        let out = match bound[..] {
            [(col, _)] => (Term::TheRow, col),
            _ => (bound[0].0, bound[1].0),
        };
        let body = self.formula(body, false)?;
        self.scope.truncate(mark);
        let mut conjuncts = Vec::new();
        flatten(body, &mut conjuncts);
        self.absorb(&mut bound, &mut conjuncts);
        Ok(self.query(&bound, conjuncts, Some(out)))
    }

    fn node(&mut self, op: NodeOp) -> Compiled<usize> {
        if self.program.nodes.len() > 4096 {
            return Err("the level has too many relations".to_owned());
        }
        Ok(self.intern(op))
    }

    fn intern(&mut self, op: NodeOp) -> usize {
        if let Some(node) = self.interned.get(&op) {
            return *node;
        }
        let node = self.describe(op);
        self.program.nodes.push(node);
        self.interned.insert(op, self.program.nodes.len() - 1);
        self.program.nodes.len() - 1
    }

    fn describe(&self, op: NodeOp) -> Node {
        let of = |idx: usize| &self.program.nodes[idx];
        let txns = (Some(Sort::Txn), Sort::Txn);
        let ((rows, cols), free, moving) = match op {
            NodeOp::Given(given) => ((Some(given.sorts().0), given.sorts().1), 0, false),
            NodeOp::Witness(_) | NodeOp::AllVersions(_) => (txns, 0, true),
            NodeOp::At(given, term) => (txns, term.slots(), matches!(given, Given::Witness(_))),
            NodeOp::InitialSet => ((None, Sort::Txn), 0, false),
            NodeOp::Union(a, b) | NodeOp::Intersection(a, b) | NodeOp::Difference(a, b) => {
                ((of(a).rows, of(a).cols), of(a).free | of(b).free, of(a).moving || of(b).moving)
            }
            NodeOp::Composition(a, b) => {
                ((of(a).rows, of(b).cols), of(a).free | of(b).free, of(a).moving || of(b).moving)
            }
            NodeOp::Inverse(a) => ((Some(of(a).cols), of(a).rows.unwrap_or(Sort::Txn)), of(a).free, of(a).moving),
            NodeOp::Closure(a) | NodeOp::Reflexive(a) => ((of(a).rows, of(a).cols), of(a).free, of(a).moving),
            NodeOp::On(set) => ((Some(of(set).cols), of(set).cols), of(set).free, of(set).moving),
            NodeOp::Such(query) => {
                let found = &self.program.queries[query];
                (self.out_sorts(query), found.free, found.moving)
            }
        };
        Node { op, rows, cols, free, moving }
    }

    fn out_sorts(&self, query: usize) -> (Option<Sort>, Sort) {
        let found = &self.program.queries[query];
        let sort_of = |term: Term| {
            found.steps.iter().find_map(|it| match it {
                QueryStep::Bind { slot, sort, .. } if Term::Slot(*slot) == term => Some(*sort),
                _ => None,
            })
        };
        let (row, col) = found.out.expect("the query collects");
        (sort_of(row), sort_of(col).expect("every variable is bound"))
    }
}
