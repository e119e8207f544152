//! How do two levels relate, up to a scope? Two separations, each with its own certificate.

use crate::separate::{Answer, Aspects, Effort, Method, Question, Scope, Separating, separate};
use crate::{Searched, WrongEvidence};
use iso_evidence::{Budget, StopReason};
use iso_spec::Spec;

/// How the left level relates to the right one, up to a scope.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// A smallest history that only the left one allows.
    pub left_only: Answer,
    /// A smallest history that only the right one allows.
    pub right_only: Answer,
    /// What was varied in either direction.
    pub aspects: Aspects,
    /// What it took.
    pub effort: Effort,
}

/// How one level relates to another. What says that there is no history in some direction rests on the search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Relation {
    /// They allow the same histories within the scope.
    Equivalent(Searched<Scope>),
    /// The left one allows fewer: a history shows that, and the search says that there is none the other way round.
    Stronger(Searched<Scope>),
    /// The left one allows more: a history shows that, and the search says that there is none the other way round.
    Weaker(Searched<Scope>),
    /// Each allows a history that the other one forbids.
    Incomparable,
    /// A limit was reached first.
    Undecided(StopReason),
    /// An engine's evidence is wrong: a bug.
    Refused(WrongEvidence),
}

impl Comparison {
    /// How they relate.
    pub fn relation(&self) -> Relation {
        match (&self.left_only, &self.right_only) {
            (Answer::Refused(wrong), _) | (_, Answer::Refused(wrong)) => Relation::Refused(wrong.clone()),
            (Answer::Undecided(reason), _) | (_, Answer::Undecided(reason)) => Relation::Undecided(reason.clone()),
            (Answer::Found(_), Answer::Found(_)) => Relation::Incomparable,
            (Answer::None(searched), Answer::None(_)) => Relation::Equivalent(*searched),
            (Answer::None(searched), Answer::Found(_)) => Relation::Stronger(*searched),
            (Answer::Found(_), Answer::None(searched)) => Relation::Weaker(*searched),
        }
    }

    /// The histories that tell the levels apart: one that only the left one allows, and one that only the right one does.
    pub fn histories(&self) -> [Option<&Separating>; 2] {
        [&self.left_only, &self.right_only].map(|it| if let Answer::Found(found) = it { Some(&**found) } else { None })
    }
}

/// Compares two levels.
///
/// ```
/// use iso_answer::compare::{Relation, compare};
/// use iso_answer::separate::{Method, Scope};
/// use iso_evidence::Budget;
/// use iso_spec::Catalogue;
/// let level = |name| Catalogue::builtin().find(name).unwrap();
/// let ask = |left, right| {
///     compare(level(left), level(right), &Scope::up_to(3, 2, 3), Method::default(), &Budget::unlimited()).relation()
/// };
/// assert!(matches!(ask("biswas.si", "cerone.si"), Relation::Equivalent(_)));
/// assert!(matches!(ask("ser", "si"), Relation::Stronger(_)));
/// ```
pub fn compare(left: &Spec, right: &Spec, scope: &Scope, method: Method, budget: &Budget<'_>) -> Comparison {
    let ask = |allowed, forbidden| {
        let question = Question { allowed: vec![allowed], forbidden: vec![forbidden], scope: *scope, method };
        separate(&question, budget)
    };
    let (here, there) = (ask(left, right), ask(right, left));
    let mut effort = here.effort;
    effort.add(&there.effort);
    let aspects = here.aspects.and(there.aspects);
    Comparison { left_only: here.answer, right_only: there.answer, aspects, effort }
}
