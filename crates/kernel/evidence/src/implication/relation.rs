//! Relations and sets as formulas about two elements, or one.

use super::sentence::{Binding, ClosureOf, Env, Node, Point, Side, Translator, Unsaid, bound, elem, letter, point};
use super::term::Predicate;
use iso_spec::{Given, Relation, Set, Sort, WitnessKind};
use std::sync::Arc;

impl Translator {
    pub(super) fn relation(
        &mut self,
        relation: &Relation,
        left: &Binding,
        right: &Binding,
        sign: bool,
        side: Side,
        env: &mut Env,
    ) -> Result<Node, Unsaid> {
        let mut both = |it: &mut Self, a: &Relation, b: &Relation, b_sign: bool, are_all: bool| {
            let parts =
                vec![it.relation(a, left, right, sign, side, env)?, it.relation(b, left, right, b_sign, side, env)?];
            Ok(Node::joined(parts, are_all))
        };
        match relation {
            Relation::Given(given) => self.given(*given, left, right, sign, side),
            Relation::At(given, key) => {
                let key = point(&elem(*key, env)?)?;
                self.at(*given, key, [point(left)?, point(right)?], sign, side)
            }
            Relation::Union(a, b) => both(self, a, b, sign, !sign),
            Relation::Intersection(a, b) => both(self, a, b, sign, sign),
            Relation::Difference(a, b) => both(self, a, b, !sign, sign),
            Relation::Composition(a, b) => self.composition([a, b], [left, right], sign, side, env),
            Relation::Inverse(of) => self.relation(of, right, left, sign, side, env),
            Relation::Closure(of) => {
                let ends = vec![point(left)?, point(right)?];
                Ok(Node::Literal(Predicate::Closure(self.closure(of, side)), ends, sign))
            }
            Relation::Reflexive(of) => self.reflexive(of, [left, right], sign, side, env),
            Relation::On(set) => {
                let same = same(set.sort(), left, right, sign)?;
                Ok(Node::joined(vec![same, self.set(set, left, sign, side, env)?], sign))
            }
            Relation::Such(row, col, body) => {
                let mark = env.len();
                env.extend([(row.id, left.clone()), (col.id, right.clone())]);
                let node = self.formula(body, sign, side, env);
                env.truncate(mark);
                node
            }
        }
    }

    pub(super) fn set(
        &mut self,
        set: &Set,
        of: &Binding,
        sign: bool,
        side: Side,
        env: &mut Env,
    ) -> Result<Node, Unsaid> {
        let mut both = |it: &mut Self, a: &Set, b: &Set, b_sign: bool, are_all: bool| {
            let parts = vec![it.set(a, of, sign, side, env)?, it.set(b, of, b_sign, side, env)?];
            Ok(Node::joined(parts, are_all))
        };
        match set {
            Set::Initial => same(Sort::Txn, of, &Binding::Point(Point::Initial), sign),
            Set::Union(a, b) => both(self, a, b, sign, !sign),
            Set::Intersection(a, b) => both(self, a, b, sign, sign),
            Set::Difference(a, b) => both(self, a, b, !sign, sign),
            Set::Such(variable, body) => {
                env.push((variable.id, of.clone()));
                let node = self.formula(body, sign, side, env);
                env.pop();
                node
            }
        }
    }

    /// A step of one and then of the other. Steps that stay in place need no element in between.
    fn composition(
        &mut self,
        [first, second]: [&Arc<Relation>; 2],
        [left, right]: [&Binding; 2],
        sign: bool,
        side: Side,
        env: &mut Env,
    ) -> Result<Node, Unsaid> {
        match (&**first, &**second) {
            (Relation::On(set), _) => {
                let parts =
                    vec![self.set(set, left, sign, side, env)?, self.relation(second, left, right, sign, side, env)?];
                Ok(Node::joined(parts, sign))
            }
            (_, Relation::On(set)) => {
                let parts =
                    vec![self.relation(first, left, right, sign, side, env)?, self.set(set, right, sign, side, env)?];
                Ok(Node::joined(parts, sign))
            }
            (Relation::Reflexive(of), _) => {
                let stays = self.relation(second, left, right, sign, side, env)?;
                let moves = self.composition([of, second], [left, right], sign, side, env)?;
                Ok(Node::joined(vec![stays, moves], !sign))
            }
            (_, Relation::Reflexive(of)) => {
                let stays = self.relation(first, left, right, sign, side, env)?;
                let moves = self.composition([first, of], [left, right], sign, side, env)?;
                Ok(Node::joined(vec![stays, moves], !sign))
            }
            _ => {
                let sort = first.sorts().1;
                let id = self.fresh(sort);
                let middle = Binding::Point(Point::Bound(id));
                let here = self.relation(first, left, &middle, sign, side, env)?;
                let there = self.relation(second, &middle, right, sign, side, env)?;
                Ok(bound(id, sort, &Arc::from(letter(sort)), sign, Node::joined(vec![here, there], sign)))
            }
        }
    }

    fn reflexive(
        &mut self,
        of: &Relation,
        [left, right]: [&Binding; 2],
        sign: bool,
        side: Side,
        env: &mut Env,
    ) -> Result<Node, Unsaid> {
        // Who comes before the last one of a prefix, or is it, is in the prefix.
        if let (Relation::Given(Given::Witness(idx)), Binding::Last { order, prefix }) = (of, right)
            && idx == order
        {
            return self.in_prefix(&prefix.clone(), point(left)?, sign);
        }
        let same = same(of.sorts().0, left, right, sign)?;
        Ok(Node::joined(vec![same, self.relation(of, left, right, sign, side, env)?], !sign))
    }

    fn given(&mut self, given: Given, left: &Binding, right: &Binding, sign: bool, side: Side) -> Result<Node, Unsaid> {
        // Who comes after the last one of a prefix is not in it.
        if let (Given::Witness(idx), Binding::Last { order, prefix }) = (given, left)
            && idx == *order
        {
            return self.in_prefix(&prefix.clone(), point(right)?, !sign);
        }
        if let Binding::Read { key, source, reader } = left {
            let (sort, is) = match given {
                Given::KeyOf => (Sort::Key, key),
                Given::From => (Sort::Txn, source),
                Given::Of => (Sort::Txn, reader),
                _ => return Err("more is said of a read than what it read from whom".to_owned()),
            };
            return Ok(Node::Literal(Predicate::Equal(sort), vec![point(right)?, *is], sign));
        }
        let ends = [point(left)?, point(right)?];
        match given {
            Given::Identity => Ok(Node::Literal(Predicate::Equal(Sort::Txn), ends.to_vec(), sign)),
            Given::WriteRead | Given::Listed => self.at_some_key(given, ends, sign, side),
            Given::Witness(idx) => self.witness(idx, side, ends, sign),
            _ => Ok(Node::Literal(Predicate::Given(given), ends.to_vec(), sign)),
        }
    }

    fn at_some_key(&mut self, given: Given, ends: [Point; 2], sign: bool, side: Side) -> Result<Node, Unsaid> {
        let key = self.fresh(Sort::Key);
        let node = self.at(given, Point::Bound(key), ends, sign, side)?;
        Ok(bound(key, Sort::Key, &Arc::from("x"), sign, node))
    }

    pub(super) fn witness(&mut self, idx: usize, side: Side, ends: [Point; 2], sign: bool) -> Result<Node, Unsaid> {
        if self.kinds(side).get(idx) == Some(&WitnessKind::Versions) {
            return self.at_some_key(Given::Witness(idx), ends, sign, side);
        }
        if side == Side::Weaker {
            let made = self.made.get(idx).cloned().ok_or("a part of the witness is not made")?;
            return self.pair(&made.relation, Side::Stronger, ends, sign);
        }
        let predicate = match idx.checked_sub(self.own.len()) {
            None => Predicate::Given(Given::Witness(idx)),
            Some(extra) => *self.extra.get(extra).ok_or("a name without a meaning")?,
        };
        Ok(Node::Literal(predicate, ends.to_vec(), sign))
    }

    /// The part of a relation that concerns one key.
    fn at(&mut self, given: Given, key: Point, ends: [Point; 2], sign: bool, side: Side) -> Result<Node, Unsaid> {
        if let (Given::Witness(idx), Side::Weaker) = (given, side) {
            let made = self.made.get(idx).cloned().ok_or("a part of the witness is not made")?;
            let of_key = made.key.ok_or("versions are made without a key")?;
            let mut env = vec![(of_key, Binding::Point(key))];
            let [left, right] = ends.map(Binding::Point);
            return self.inside(|it| it.relation(&made.relation, &left, &right, sign, Side::Stronger, &mut env));
        }
        Ok(Node::Literal(Predicate::At(given), vec![key, ends[0], ends[1]], sign))
    }

    /// The number of a closure; equal texts of one side have one.
    pub(super) fn closure(&mut self, of: &Arc<Relation>, side: Side) -> usize {
        let known = self.closures.iter().position(|it| it.side == side && it.relation == *of);
        known.unwrap_or_else(|| {
            self.closures.push(ClosureOf { side, relation: Arc::clone(of) });
            self.closures.len() - 1
        })
    }
}

fn same(sort: Sort, left: &Binding, right: &Binding, sign: bool) -> Result<Node, Unsaid> {
    Ok(Node::Literal(Predicate::Equal(sort), vec![point(left)?, point(right)?], sign))
}
