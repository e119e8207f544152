//! How two specs relate, up to a scope.

use crate::question::{Aspects, Method, Question, Scope};
use crate::search::Effort;
use crate::separate::{Answer, Found, separate};
use iso_evidence::{Budget, StopReason};
use iso_spec::Spec;

/// How the left spec relates to the right one, up to a scope.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The answer.
    pub relation: Relation,
    /// A smallest history that only the left one allows.
    pub left_only: Option<Box<Found>>,
    /// A smallest history that only the right one allows.
    pub right_only: Option<Box<Found>>,
    /// What was varied in either direction.
    pub aspects: Aspects,
    /// What it took.
    pub effort: Effort,
}

/// How one spec relates to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Relation {
    /// They allow the same histories.
    Equivalent,
    /// The left one allows fewer.
    Stronger,
    /// The left one allows more.
    Weaker,
    /// Each allows some that the other forbids.
    Incomparable,
    /// The limit was reached first.
    Unknown(StopReason),
}

/// Compares two specs.
pub fn compare(left: &Spec, right: &Spec, scope: &Scope, method: Method, budget: &Budget<'_>) -> Comparison {
    let ask = |allowed, forbidden| {
        let question = Question { allowed: vec![allowed], forbidden: vec![forbidden], scope: *scope, method };
        separate(&question, budget)
    };
    let (here, there) = (ask(left, right), ask(right, left));
    let mut effort = here.effort;
    effort.add(&there.effort);
    let aspects = here.aspects.and(there.aspects);
    let relation = match (&here.answer, &there.answer) {
        (Answer::Found(_), Answer::Found(_)) => Relation::Incomparable,
        (Answer::Unknown(reason), _) | (_, Answer::Unknown(reason)) => Relation::Unknown(reason.clone()),
        (Answer::None, Answer::None) => Relation::Equivalent,
        (Answer::None, Answer::Found(_)) => Relation::Stronger,
        (Answer::Found(_), Answer::None) => Relation::Weaker,
    };
    Comparison { relation, left_only: here.answer.found(), right_only: there.answer.found(), aspects, effort }
}
