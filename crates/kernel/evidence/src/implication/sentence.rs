//! From the text of a level to sentences: relations become formulas about elements, negation stands at atoms only.
//!
//! Three things are not first-order, and get a symbol of their own that means exactly what the text says:
//! a transitive closure; an order that extends a relation; and the prefix of a total order that ends with an element of
//! which only is said what comes after it. "Some element is such" and "some prefix is such" are then the same, because a
//! finite prefix that has the initial transaction has a last element.

use super::term::Predicate;
use iso_spec::{Elem, Formula, Given, Relation, Sort, Variable, WitnessKind};
use std::sync::Arc;

/// An element: a variable, or the initial transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Point {
    Bound(u32),
    Initial,
}

/// A formula whose negations stand at atoms.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Literal(Predicate, Vec<Point>, bool),
    All(Vec<Node>),
    Any(Vec<Node>),
    Exists(u32, Sort, Arc<str>, Box<Node>),
    Forall(u32, Sort, Box<Node>),
}

impl Node {
    /// All of them, or one of them.
    pub(super) fn joined(nodes: Vec<Self>, are_all: bool) -> Self {
        if are_all { Self::All(nodes) } else { Self::Any(nodes) }
    }

    /// The variables that are bound outside, in the order of their quantifiers.
    pub(super) fn free(&self) -> Vec<u32> {
        let (mut used, mut bound) = (Vec::new(), Vec::new());
        self.collect(&mut used, &mut bound);
        used.retain(|it| !bound.contains(it));
        used.sort_unstable();
        used.dedup();
        used
    }

    fn collect(&self, used: &mut Vec<u32>, bound: &mut Vec<u32>) {
        match self {
            Self::Literal(_, points, _) => {
                used.extend(points.iter().filter_map(|it| if let Point::Bound(id) = it { Some(*id) } else { None }));
            }
            Self::All(nodes) | Self::Any(nodes) => nodes.iter().for_each(|it| it.collect(used, bound)),
            Self::Exists(id, _, _, of) | Self::Forall(id, _, of) => {
                bound.push(*id);
                of.collect(used, bound);
            }
        }
    }
}

/// Whose words a text is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The stronger level, and everything that is made from its witness.
    Stronger,
    /// The weaker level: its witness is made.
    Weaker,
}

/// A relation of the weaker level's witness in the words of the stronger one.
#[derive(Clone, Debug)]
pub(super) struct Made {
    /// Of versions, the key.
    pub(super) key: Option<u32>,
    pub(super) relation: Arc<Relation>,
}

/// A prefix in the words of the stronger level: whom it has, and of whom it depends.
#[derive(Clone, Debug)]
pub(super) struct MadePrefix {
    pub(super) parameters: Vec<Variable>,
    pub(super) body: Arc<Formula>,
}

/// Something that exists in a text, and of which only is said what comes after it.
#[derive(Clone, Debug)]
pub(super) struct PrefixSite {
    /// The place of the formula in memory; formulas stay where they are as long as their level does.
    at: usize,
    pub(super) parameters: Vec<Sort>,
}

/// A transitive closure of some text.
#[derive(Clone, Debug)]
pub(super) struct ClosureOf {
    pub(super) side: Side,
    pub(super) relation: Arc<Relation>,
}

#[derive(Clone, Debug)]
pub(super) enum Binding {
    Point(Point),
    /// Stands for the last element of a prefix of this order.
    Last {
        order: usize,
        prefix: Prefix,
    },
    /// A read of which only its key, its source and its transaction matter.
    Read {
        key: Point,
        source: Point,
        reader: Point,
    },
}

#[derive(Clone, Debug)]
pub(super) enum Prefix {
    /// Tries whether the text has the form.
    Unknown,
    Named(usize, Vec<Point>),
    Made(usize, Vec<Point>),
}

pub(super) type Env = Vec<(u32, Binding)>;

/// Why a text is no sentence that a proof can use.
pub(super) type Unsaid = String;

/// Translates texts, and remembers the symbols that they need.
#[derive(Debug, Default)]
pub(super) struct Translator {
    /// Kinds of the witnesses of the stronger and of the weaker level.
    pub(super) own: Vec<WitnessKind>,
    pub(super) others: Vec<WitnessKind>,
    /// What names beyond the stronger level's witnesses mean.
    pub(super) extra: Vec<Predicate>,
    pub(super) made: Vec<Made>,
    pub(super) made_prefixes: Vec<Option<MadePrefix>>,
    pub(super) closures: Vec<ClosureOf>,
    /// Prefixes of the stronger level, and those that the weaker one asks for.
    pub(super) prefixes: Vec<PrefixSite>,
    pub(super) asked_prefixes: Vec<PrefixSite>,
    /// The sorts of all variables so far.
    sorts: Vec<Sort>,
    /// Has every read a source, so that it may be told by that, its key and its transaction?
    pub(super) are_reads_triples: bool,
    /// Inside of what was made, nothing is a prefix.
    is_inside: bool,
    /// The sign of what the text says, as opposed to its negation.
    said: bool,
}

impl Translator {
    /// For a stronger and a weaker level with witnesses of these kinds.
    pub(super) fn new(own: Vec<WitnessKind>, others: Vec<WitnessKind>) -> Self {
        Self { own, others, ..Self::default() }
    }

    /// What a text says, or that it is not so.
    pub(super) fn sentence(&mut self, formula: &Formula, side: Side, said: bool) -> Result<Node, Unsaid> {
        self.said = said;
        self.formula(formula, said, side, &mut Vec::new())
    }

    /// That a relation between two points holds, or not.
    pub(super) fn pair(&mut self, of: &Relation, side: Side, ends: [Point; 2], sign: bool) -> Result<Node, Unsaid> {
        let [left, right] = ends.map(Binding::Point);
        self.inside(|it| it.relation(of, &left, &right, sign, side, &mut Vec::new()))
    }

    pub(super) fn inside(&mut self, of: impl FnOnce(&mut Self) -> Result<Node, Unsaid>) -> Result<Node, Unsaid> {
        let was_inside = std::mem::replace(&mut self.is_inside, true);
        let node = of(self);
        self.is_inside = was_inside;
        node
    }

    pub(super) fn fresh(&mut self, sort: Sort) -> u32 {
        self.sorts.push(sort);
        self.sorts.len() as u32 - 1
    }

    #[expect(clippy::too_many_lines, reason = "an arm for each kind of formula")]
    pub(super) fn formula(&mut self, formula: &Formula, sign: bool, side: Side, env: &mut Env) -> Result<Node, Unsaid> {
        Ok(match formula {
            Formula::Truth(truth) => Node::joined(Vec::new(), *truth == sign),
            Formula::Not(of) => self.formula(of, !sign, side, env)?,
            Formula::And(left, right) => {
                Node::joined(vec![self.formula(left, sign, side, env)?, self.formula(right, sign, side, env)?], sign)
            }
            Formula::Or(left, right) => {
                Node::joined(vec![self.formula(left, sign, side, env)?, self.formula(right, sign, side, env)?], !sign)
            }
            Formula::Implies(left, right) => {
                Node::joined(vec![self.formula(left, !sign, side, env)?, self.formula(right, sign, side, env)?], !sign)
            }
            Formula::Iff(left, right) => {
                let one = vec![self.formula(left, !sign, side, env)?, self.formula(right, sign, side, env)?];
                let other = vec![self.formula(left, sign, side, env)?, self.formula(right, !sign, side, env)?];
                Node::joined(vec![Node::joined(one, !sign), Node::joined(other, !sign)], sign)
            }
            Formula::Exists(variables, body) => match self.prefix(formula, variables, body, sign, side, env)? {
                Some(node) => node,
                None => self.quantified(variables, sign, env, &mut |it, env| it.formula(body, sign, side, env))?,
            },
            Formula::Forall(variables, body) => {
                self.quantified(variables, !sign, env, &mut |it, env| it.formula(body, sign, side, env))?
            }
            Formula::Equal(left, right) => {
                let points = vec![point(&elem(*left, env)?)?, point(&elem(*right, env)?)?];
                Node::Literal(Predicate::Equal(self.sort_of(&points)), points, sign)
            }
            Formula::Member(member, set) => {
                let member = elem(*member, env)?;
                self.set(set, &member, sign, side, env)?
            }
            Formula::Related(relation, left, right) => {
                let (left, right) = (elem(*left, env)?, elem(*right, env)?);
                self.relation(relation, &left, &right, sign, side, env)?
            }
            Formula::SetWithin(left, right) => self.for_all(&[left.sort()], sign, |it, points| {
                let of = &points[0];
                let parts = vec![it.set(left, of, !sign, side, env)?, it.set(right, of, sign, side, env)?];
                Ok(Node::joined(parts, !sign))
            })?,
            Formula::Within(left, right) => {
                let (rows, cols) = left.sorts();
                self.for_all(&[rows, cols], sign, |it, points| {
                    let (a, b) = (&points[0], &points[1]);
                    let premise = it.relation(left, a, b, !sign, side, env)?;
                    Ok(Node::joined(vec![premise, it.relation(right, a, b, sign, side, env)?], !sign))
                })?
            }
            Formula::SetEmpty(set) => {
                self.for_all(&[set.sort()], sign, |it, points| it.set(set, &points[0], !sign, side, env))?
            }
            Formula::Empty(of) => {
                let (rows, cols) = of.sorts();
                self.for_all(&[rows, cols], sign, |it, at| it.relation(of, &at[0], &at[1], !sign, side, env))?
            }
            Formula::Acyclic(of) => {
                let closure = Relation::Closure(Arc::clone(of));
                let sort = of.sorts().0;
                self.for_all(&[sort], sign, |it, at| it.relation(&closure, &at[0], &at[0], !sign, side, env))?
            }
            Formula::Irreflexive(of) => {
                self.for_all(&[of.sorts().0], sign, |it, at| it.relation(of, &at[0], &at[0], !sign, side, env))?
            }
            Formula::Total(of) => {
                let sort = of.sorts().0;
                self.for_all(&[sort, sort], sign, |it, at| {
                    let same = Node::Literal(Predicate::Equal(sort), vec![point(&at[0])?, point(&at[1])?], sign);
                    let here = it.relation(of, &at[0], &at[1], sign, side, env)?;
                    Ok(Node::joined(vec![same, here, it.relation(of, &at[1], &at[0], sign, side, env)?], !sign))
                })?
            }
            Formula::Transitive(of) => {
                let sort = of.sorts().0;
                self.for_all(&[sort; 3], sign, |it, at| {
                    let first = it.relation(of, &at[0], &at[1], !sign, side, env)?;
                    let second = it.relation(of, &at[1], &at[2], !sign, side, env)?;
                    Ok(Node::joined(vec![first, second, it.relation(of, &at[0], &at[2], sign, side, env)?], !sign))
                })?
            }
        })
    }

    /// A formula for all, if the sign is true, or its negation for some elements of these sorts.
    pub(super) fn for_all(
        &mut self,
        sorts: &[Sort],
        sign: bool,
        mut body: impl FnMut(&mut Self, &[Binding]) -> Result<Node, Unsaid>,
    ) -> Result<Node, Unsaid> {
        let ids: Vec<u32> = sorts.iter().map(|it| self.fresh(*it)).collect();
        let points: Vec<Binding> = ids.iter().map(|it| Binding::Point(Point::Bound(*it))).collect();
        let mut node = body(self, &points)?;
        for (id, sort) in ids.iter().zip(sorts).rev() {
            node = bound(*id, *sort, &Arc::from(letter(*sort)), !sign, node);
        }
        Ok(node)
    }

    pub(super) fn quantified(
        &mut self,
        variables: &[Variable],
        is_some: bool,
        env: &mut Env,
        body: &mut dyn FnMut(&mut Self, &mut Env) -> Result<Node, Unsaid>,
    ) -> Result<Node, Unsaid> {
        if self.are_reads_triples
            && variables.iter().any(|it| it.sort == Sort::Read)
            && let Ok(node) = self.told_by_sources(variables, is_some, env, body)
        {
            return Ok(node);
        }
        let mark = env.len();
        let ids: Vec<u32> = variables.iter().map(|it| self.fresh(it.sort)).collect();
        env.extend(variables.iter().zip(&ids).map(|it| (it.0.id, Binding::Point(Point::Bound(*it.1)))));
        let node = body(self, env);
        env.truncate(mark);
        let mut node = node?;
        for (variable, id) in variables.iter().zip(&ids).rev() {
            node = bound(*id, variable.sort, &variable.name, is_some, node);
        }
        Ok(node)
    }

    /// The same, with a key, a source and a reader in the place of each read.
    ///
    /// Every read has one of each, and who reads what from whom is what reads say; so this is the same, if the text asks
    /// nothing else of reads.
    fn told_by_sources(
        &mut self,
        variables: &[Variable],
        is_some: bool,
        env: &mut Env,
        body: &mut dyn FnMut(&mut Self, &mut Env) -> Result<Node, Unsaid>,
    ) -> Result<Node, Unsaid> {
        let mark = env.len();
        let (mut bounds, mut reads) = (Vec::new(), Vec::new());
        for variable in variables {
            if variable.sort == Sort::Read {
                let ids = [Sort::Key, Sort::Txn, Sort::Txn].map(|it| self.fresh(it));
                let [key, source, reader] = ids.map(Point::Bound);
                for (id, name) in ids.into_iter().zip(["x", "s", "t"]) {
                    bounds.push((id, Arc::from(name)));
                }
                reads.push(Node::Literal(Predicate::At(Given::WriteRead), vec![key, source, reader], is_some));
                env.push((variable.id, Binding::Read { key, source, reader }));
            } else {
                let id = self.fresh(variable.sort);
                bounds.push((id, Arc::clone(&variable.name)));
                env.push((variable.id, Binding::Point(Point::Bound(id))));
            }
        }
        let node = body(self, env);
        env.truncate(mark);
        reads.push(node?);
        let node = Node::joined(reads, is_some);
        Ok(bounds.iter().rev().fold(node, |body, (id, name)| bound(*id, self.sorts[*id as usize], name, is_some, body)))
    }

    /// The sort of two points that are compared; both have the same.
    fn sort_of(&self, points: &[Point]) -> Sort {
        let bound = points.iter().find_map(|it| if let Point::Bound(id) = it { Some(*id) } else { None });
        bound.map_or(Sort::Txn, |it| self.sorts[it as usize])
    }

    pub(super) fn kinds(&self, side: Side) -> &[WitnessKind] {
        if side == Side::Stronger { &self.own } else { &self.others }
    }

    /// Something that exists as the last element of a prefix, if the text says no more of it than what comes after it.
    fn prefix(
        &mut self,
        whole: &Formula,
        variables: &[Variable],
        body: &Formula,
        sign: bool,
        side: Side,
        env: &mut Env,
    ) -> Result<Option<Node>, Unsaid> {
        let [variable] = variables else { return Ok(None) };
        // A prefix may be named where it is supposed, and has to be made where it is to be shown.
        if self.said != (side == Side::Stronger) || self.is_inside || sign != self.said || variable.sort != Sort::Txn {
            return Ok(None);
        }
        let kinds = self.kinds(side);
        let orders: Vec<usize> = (0..kinds.len()).filter(|it| kinds[*it] == WitnessKind::Order).collect();
        for order in orders {
            let mut within = |it: &mut Self, prefix: Prefix| {
                env.push((variable.id, Binding::Last { order, prefix }));
                let node = it.formula(body, sign, side, env);
                env.pop();
                node
            };
            let Ok(tried) = within(self, Prefix::Unknown) else { continue };
            let free = tried.free();
            let parameters: Vec<Sort> = free.iter().map(|it| self.sorts[*it as usize]).collect();
            let points: Vec<Point> = free.iter().map(|it| Point::Bound(*it)).collect();
            let site = PrefixSite { at: std::ptr::from_ref(whole).addr(), parameters };
            let prefix = match side {
                Side::Stronger => Prefix::Named(position(&mut self.prefixes, site), points),
                Side::Weaker => {
                    let asked = position(&mut self.asked_prefixes, site);
                    if !matches!(self.made_prefixes.get(asked), Some(Some(_))) {
                        return Ok(None);
                    }
                    Prefix::Made(asked, points)
                }
            };
            let body = within(self, prefix.clone())?;
            let holds_initial = self.in_prefix(&prefix, Point::Initial, sign)?;
            let [earlier, later] = [self.fresh(Sort::Txn), self.fresh(Sort::Txn)];
            let before = self.witness(order, side, [Point::Bound(earlier), Point::Bound(later)], !sign)?;
            let has_later = self.in_prefix(&prefix, Point::Bound(later), !sign)?;
            let has_earlier = self.in_prefix(&prefix, Point::Bound(earlier), sign)?;
            let closed = Node::joined(vec![before, has_later, has_earlier], !sign);
            let name: Arc<str> = Arc::from("t");
            let closed = bound(later, Sort::Txn, &name, !sign, closed);
            let closed = bound(earlier, Sort::Txn, &name, !sign, closed);
            return Ok(Some(Node::joined(vec![holds_initial, closed, body], sign)));
        }
        Ok(None)
    }

    pub(super) fn in_prefix(&mut self, prefix: &Prefix, of: Point, sign: bool) -> Result<Node, Unsaid> {
        match prefix {
            Prefix::Unknown => Ok(Node::Literal(Predicate::Prefix(usize::MAX), vec![of], sign)),
            Prefix::Named(number, points) => {
                let points = std::iter::once(of).chain(points.iter().copied()).collect();
                Ok(Node::Literal(Predicate::Prefix(*number), points, sign))
            }
            Prefix::Made(asked, points) => {
                let Some(Some(made)) = self.made_prefixes.get(*asked).cloned() else {
                    return Err("a prefix is not made".to_owned());
                };
                if made.parameters.len() != points.len() + 1 {
                    return Err("a prefix depends on other things".to_owned());
                }
                let values = std::iter::once(of).chain(points.iter().copied());
                let mut env: Env = made.parameters.iter().map(|it| it.id).zip(values.map(Binding::Point)).collect();
                self.inside(|it| it.formula(&made.body, sign, Side::Stronger, &mut env))
            }
        }
    }
}

fn position(sites: &mut Vec<PrefixSite>, site: PrefixSite) -> usize {
    sites.iter().position(|it| it.at == site.at).unwrap_or_else(|| {
        sites.push(site);
        sites.len() - 1
    })
}

pub(super) fn letter(sort: Sort) -> &'static str {
    match sort {
        Sort::Txn => "t",
        Sort::Key => "x",
        Sort::Read => "r",
    }
}

pub(super) fn bound(id: u32, sort: Sort, name: &Arc<str>, is_some: bool, body: Node) -> Node {
    let body = Box::new(body);
    if is_some { Node::Exists(id, sort, Arc::clone(name), body) } else { Node::Forall(id, sort, body) }
}

pub(super) fn elem(elem: Elem, env: &Env) -> Result<Binding, Unsaid> {
    match elem {
        Elem::Initial => Ok(Binding::Point(Point::Initial)),
        Elem::Var(id) => env
            .iter()
            .rev()
            .find(|it| it.0 == id)
            .map(|it| it.1.clone())
            .ok_or_else(|| "a closure speaks of elements from outside".to_owned()),
    }
}

pub(super) fn point(binding: &Binding) -> Result<Point, Unsaid> {
    match binding {
        Binding::Point(point) => Ok(*point),
        Binding::Last { .. } => Err("more is said than what comes after it".to_owned()),
        Binding::Read { .. } => Err("more is said of a read than what it read from whom".to_owned()),
    }
}
