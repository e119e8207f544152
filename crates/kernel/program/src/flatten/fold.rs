//! Makes expressions, and computes at once what constants decide.
//!
//! An operand that cannot be evaluated is dropped, so that no expression mentions a read that was dropped with it.

use crate::error::Span;
use crate::program::{Arith, Expr};
use crate::value::Value;

pub(super) const TRUE: Expr = Expr::Const(Value::Bool(true));
pub(super) const FALSE: Expr = Expr::Const(Value::Bool(false));

pub(super) fn not(of: Expr) -> Expr {
    match of {
        Expr::Const(Value::Bool(truth)) => Expr::Const(Value::Bool(!truth)),
        Expr::Not(inner) => *inner,
        _ => Expr::Not(Box::new(of)),
    }
}

pub(super) fn and(parts: impl IntoIterator<Item = Expr>) -> Expr {
    join(parts, &TRUE, &FALSE, Expr::And)
}

pub(super) fn or(parts: impl IntoIterator<Item = Expr>) -> Expr {
    join(parts, &FALSE, &TRUE, Expr::Or)
}

/// Parts up to the first that decides; those that say nothing are left out.
fn join(parts: impl IntoIterator<Item = Expr>, neutral: &Expr, deciding: &Expr, make: fn(Vec<Expr>) -> Expr) -> Expr {
    let mut kept = Vec::new();
    for part in parts {
        if part == *deciding {
            kept.push(part);
            break;
        }
        if part != *neutral {
            kept.push(part);
        }
    }
    match kept.len() {
        0 => neutral.clone(),
        1 => kept.swap_remove(0),
        _ => make(kept),
    }
}

pub(super) fn implies(premise: Expr, conclusion: Expr) -> Expr {
    or([not(premise), conclusion])
}

pub(super) fn equal(left: Expr, right: Expr) -> Expr {
    match (&left, &right) {
        (Expr::Const(a), Expr::Const(b)) => Expr::Const(Value::Bool(a == b)),
        _ => Expr::Equal(Box::new(left), Box::new(right)),
    }
}

pub(super) fn less(left: Expr, right: Expr) -> Expr {
    match (&left, &right) {
        (Expr::Const(a), Expr::Const(b)) => Expr::Const(Value::Bool(a.code() < b.code())),
        _ => Expr::Less(Box::new(left), Box::new(right)),
    }
}

pub(super) fn choose(condition: Expr, then: Expr, otherwise: Expr) -> Expr {
    match condition {
        Expr::Const(Value::Bool(true)) => then,
        Expr::Const(Value::Bool(false)) => otherwise,
        _ => Expr::If(Box::new(condition), Box::new(then), Box::new(otherwise)),
    }
}

/// Arithmetic; constants that overflow stay as they are, since only a run that comes there is wrong.
pub(super) fn arith(op: Arith, left: Expr, right: Expr, span: Span, (low, high): (i64, i64)) -> Expr {
    if let (Expr::Const(a), Expr::Const(b)) = (&left, &right) {
        let result = op.apply(a.code(), b.code()).filter(|it| (low..=high).contains(it));
        if let Some(result) = result {
            return Expr::Const(Value::Int(result));
        }
    }
    Expr::Arith { op, left: Box::new(left), right: Box::new(right), span }
}
