//! What branches have decided about values that do not change: parameters, and names that were bound.
//!
//! A transaction that has gone one way because `amount > 0` does not go another way later because `amount <= 0`. Every decided
//! comparison is a bound on the difference of two values, and what follows from the bounds is known: the shortest path between
//! the two. Fields of rows are not looked at, since others may change them in between.

use super::walk::Walk;
use super::{Constant, RowKey};
use crate::syntax::{Binary, Expr, ExprKind};

/// Comparisons that were decided.
#[derive(Clone, Debug, Default)]
pub(super) struct Compared {
    /// The first is at most so much above the second.
    bounds: Vec<(Node, Node, i64)>,
    /// Values that are true or false.
    truths: Vec<(RowKey, bool)>,
}

/// A value, or nothing, from which numbers are counted.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Zero,
    Value(RowKey),
}

impl Compared {
    /// The first is below the second, or it is not.
    pub(super) fn decide_less(&mut self, left: &RowKey, right: &RowKey, truth: bool) {
        let ((left, a), (right, b)) = (node(left), node(right));
        // left + a < right + b, or right + b <= left + a
        if truth {
            self.bounds.push((left, right, b - a - 1));
        } else {
            self.bounds.push((right, left, a - b));
        }
    }

    /// Both are the same number.
    pub(super) fn decide_equal(&mut self, left: &RowKey, right: &RowKey) {
        self.decide_less(left, right, false);
        self.decide_less(right, left, false);
    }

    pub(super) fn decide_truth(&mut self, value: &RowKey, truth: bool) {
        self.truths.push((value.clone(), truth));
    }

    /// Is the first below the second, as far as is known?
    pub(super) fn is_less(&self, left: &RowKey, right: &RowKey) -> Option<bool> {
        let ((left, a), (right, b)) = (node(left), node(right));
        if self.most(&left, &right).is_some_and(|it| it + a < b) {
            return Some(true);
        }
        self.most(&right, &left).is_some_and(|it| it + b <= a).then_some(false)
    }

    pub(super) fn truth(&self, value: &RowKey) -> Option<bool> {
        self.truths.iter().find(|it| it.0 == *value).map(|it| it.1)
    }

    /// How much the first can be above the second, at most: the shortest path, in as many rounds as there are bounds.
    fn most(&self, from: &Node, to: &Node) -> Option<i64> {
        let mut reached: Vec<(&Node, i64)> = vec![(from, 0)];
        for _ in 0..=self.bounds.len() {
            for (left, right, bound) in &self.bounds {
                let Some(so_far) = reached.iter().find(|it| it.0 == left).map(|it| it.1) else { continue };
                let through = so_far.saturating_add(*bound);
                match reached.iter_mut().find(|it| it.0 == right) {
                    Some(known) => known.1 = known.1.min(through),
                    None => reached.push((right, through)),
                }
            }
        }
        reached.iter().find(|it| it.0 == to).map(|it| it.1)
    }
}

impl Walk<'_, '_> {
    /// The truth of a condition, if what was decided about values that do not change says it. Rows are not looked at: others may
    /// change them while the condition is evaluated.
    pub(super) fn known_value(&self, condition: &Expr) -> Option<bool> {
        match &condition.kind {
            ExprKind::Bool(truth) => Some(*truth),
            ExprKind::Not(inner) => self.known_value(inner).map(|it| !it),
            ExprKind::Name(_) => self.compared.truth(&self.plain_key(condition)?),
            ExprKind::Binary(Binary::And, left, right) => match (self.known_value(left), self.known_value(right)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            ExprKind::Binary(Binary::Or, left, right) => match (self.known_value(left), self.known_value(right)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
            ExprKind::Binary(op, left, right) => {
                let (left, right) = (self.plain_key(left)?, self.plain_key(right)?);
                match op {
                    Binary::Less => self.compared.is_less(&left, &right),
                    Binary::Greater => self.compared.is_less(&right, &left),
                    Binary::LessEqual => self.compared.is_less(&right, &left).map(|it| !it),
                    Binary::GreaterEqual => self.compared.is_less(&left, &right).map(|it| !it),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// A number is so much above zero.
fn node(key: &RowKey) -> (Node, i64) {
    match key {
        RowKey::Constant(Constant::Int(number)) => (Node::Zero, *number),
        other => (Node::Value(other.clone()), 0),
    }
}
