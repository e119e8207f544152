//! Which history do some levels allow and others forbid? Found by an engine, and then certified.
//!
//! That a level allows the history is checked on the execution that the engine gives. That one forbids it is checked by
//! the reference evaluator, and for a level that `check` decides also by a certified refutation. That none is smaller
//! rests on the search.

use crate::certified::Withheld;
use crate::check::{self, check_facts};
use crate::reference::evaluate_within;
use crate::{Certification, Searched, WrongEvidence};
use iso_evidence::{Budget, Note, Refutation, Stage, StopReason};
use iso_history::{Facts, History, TxnId};
use iso_separate::Found;
use iso_spec::{Catalogue, Evaluation, Execution, Level, Prepared, Spec, holds, holds_with_session_order};

pub use iso_separate::{
    Aspects, BlindWrites, Effort, Explanation, Failure, Lists, Method, Question, Rereads, Scope, Sessions, Size,
    Statements, StatementsWanted, explain,
};

/// The reference evaluator takes seconds for so many.
const MAX_STEPS: u64 = 1 << 17;

/// The answer to a question, and what it took.
#[derive(Clone, Debug)]
pub struct Separation {
    /// The answer.
    pub answer: Answer,
    /// What was varied.
    pub aspects: Aspects,
    /// What it took.
    pub effort: Effort,
}

/// Is there such a history?
#[derive(Clone, Debug)]
pub enum Answer {
    /// Yes, this one.
    Found(Box<Separating>),
    /// Not within the scope.
    None(Searched<Scope>),
    /// A limit was reached first.
    Undecided(StopReason),
    /// The engine has a history whose evidence is wrong: a bug.
    Refused(WrongEvidence),
}

impl Answer {
    /// The history, if there is one.
    pub fn found(self) -> Option<Box<Separating>> {
        match self {
            Self::Found(found) => Some(found),
            Self::None(_) | Self::Undecided(_) | Self::Refused(_) => None,
        }
    }
}

/// A history that all of some levels allow and all of others forbid.
#[derive(Clone, Debug)]
pub struct Separating {
    found: Found,
    forbidden: Vec<Forbidding>,
}

/// That a level forbids a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forbidding {
    refutation: Option<Refutation>,
    certification: Certification,
}

impl Separating {
    /// The history.
    pub fn history(&self) -> &History {
        &self.found.history
    }

    /// Session order, if it is no union of chains; then the sessions of the history do not say it.
    pub fn session_order(&self) -> Option<&[(TxnId, TxnId)]> {
        self.found.session_order.as_deref()
    }

    /// How each level that allows it explains it, in the order of the question; certified.
    pub fn executions(&self) -> &[Execution] {
        &self.found.executions
    }

    /// What is known of each level that forbids it, in the order of the question.
    pub fn forbidden(&self) -> &[Forbidding] {
        &self.forbidden
    }

    /// Transactions, without the initial one.
    pub fn n_txns(&self) -> usize {
        self.found.n_txns()
    }

    /// Was all of it checked?
    pub fn certification(&self) -> &Certification {
        let missing = self.forbidden.iter().map(Forbidding::certification).find(|it| !it.is_certified());
        missing.unwrap_or(&Certification::Certified)
    }
}

impl Forbidding {
    /// What `check` has against the history, if it decides the level; certified.
    pub fn refutation(&self) -> Option<&Refutation> {
        self.refutation.as_ref()
    }

    /// Was it checked that the level forbids the history?
    pub fn certification(&self) -> &Certification {
        &self.certification
    }
}

/// Looks for a history that all of some levels allow and all of others forbid, and certifies that.
///
/// ```
/// use iso_answer::separate::{Answer, Method, Question, Scope, separate};
/// use iso_evidence::Budget;
/// use iso_spec::Catalogue;
/// let level = |name| Catalogue::builtin().find(name).unwrap();
/// let ask = |allowed, forbidden| {
///     let (allowed, forbidden) = (vec![level(allowed)], vec![level(forbidden)]);
///     let question = Question { allowed, forbidden, scope: Scope::up_to(3, 2, 3), method: Method::default() };
///     separate(&question, &Budget::unlimited()).answer
/// };
/// let skew = ask("si", "ser").found().expect("write skew");
/// assert!(skew.n_txns() == 2 && skew.certification().is_certified());
/// // That there is none rests on the search, and the type says where it looked.
/// let Answer::None(searched) = ask("ser", "si") else { panic!("there is none") };
/// assert_eq!(searched.bounds().txns, 3);
/// ```
pub fn separate(question: &Question<'_>, budget: &Budget<'_>) -> Separation {
    let separation = iso_separate::separate(question, budget);
    let answer = match separation.answer {
        iso_separate::Answer::None => Answer::None(Searched::new(question.scope)),
        iso_separate::Answer::Unknown(reason) => Answer::Undecided(reason),
        iso_separate::Answer::Found(found) => answer(certified(*found, &question.allowed, &question.forbidden, budget)),
    };
    Separation { answer, aspects: separation.aspects, effort: separation.effort }
}

fn answer(checked: Result<Separating, Withheld>) -> Answer {
    match checked {
        Ok(separating) => Answer::Found(Box::new(separating)),
        Err(Withheld::Stopped(reason)) => Answer::Undecided(reason),
        Err(Withheld::Wrong(wrong)) => Answer::Refused(wrong),
    }
}

/// All histories for a question, and what they took.
#[derive(Clone, Debug)]
pub struct Separations {
    /// Histories that contain no smaller one, smallest first.
    pub found: Vec<Separating>,
    /// Why there are no more.
    pub ended: Ended,
    /// What was varied.
    pub aspects: Aspects,
    /// What it took.
    pub effort: Effort,
}

/// Why a search for all histories ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// There are no others within the scope.
    Complete(Searched<Scope>),
    /// There were as many as wanted.
    Enough,
    /// A limit was reached.
    Stopped(StopReason),
    /// The engine has a history whose evidence is wrong: a bug.
    Refused(WrongEvidence),
}

/// Looks for all histories that all of some levels allow and all of others forbid, and that contain no smaller one; it
/// ends after so many, if that is limited. Each is certified.
pub fn separate_all(question: &Question<'_>, limit: Option<usize>, budget: &Budget<'_>) -> Separations {
    let all = iso_separate::separate_all(question, limit, budget);
    let mut ended = match all.stopped {
        Some(reason) => Ended::Stopped(reason),
        None if all.is_complete => Ended::Complete(Searched::new(question.scope)),
        None => Ended::Enough,
    };
    let mut found = Vec::new();
    for one in all.found {
        match certified(one, &question.allowed, &question.forbidden, budget) {
            Ok(separating) => found.push(separating),
            Err(Withheld::Stopped(reason)) => {
                ended = Ended::Stopped(reason);
                break;
            }
            Err(Withheld::Wrong(wrong)) => {
                ended = Ended::Refused(wrong);
                break;
            }
        }
    }
    Separations { found, ended, aspects: all.aspects, effort: all.effort }
}

/// Checks that the levels allow and forbid the history.
pub(crate) fn certified(
    found: Found,
    allowed: &[&Spec],
    forbidden: &[&Spec],
    budget: &Budget<'_>,
) -> Result<Separating, Withheld> {
    budget.note(Note::Begins(Stage::Certification));
    let forbidden = {
        let facts = Facts::new(&found.history);
        check_executions(&found, &facts, allowed)?;
        let order = found.session_order.as_deref();
        let prepared = match order {
            Some(pairs) => Prepared::with_session_order(&facts, pairs),
            None => Prepared::new(&facts),
        };
        let forbids = |spec: &&Spec| forbidding(&facts, &prepared, order.is_none(), spec, budget);
        forbidden.iter().map(forbids).collect::<Result<Vec<_>, _>>()?
    };
    Ok(Separating { found, forbidden })
}

/// Each level that is said to allow the history must have an execution that explains it.
fn check_executions(found: &Found, facts: &Facts<'_>, allowed: &[&Spec]) -> Result<(), Withheld> {
    for (idx, spec) in allowed.iter().enumerate() {
        let is_right = match (found.executions.get(idx), found.session_order.as_deref()) {
            (None, _) => false,
            (Some(execution), Some(pairs)) => holds_with_session_order(facts, spec, execution, pairs),
            (Some(execution), None) => holds(facts, spec, execution),
        };
        if !is_right {
            return Err(Withheld::wrong(&spec.name(), &"the witness does not explain the history"));
        }
    }
    Ok(())
}

/// Does the level forbid the history? `check` knows of session order only what the sessions of the history say.
fn forbidding(
    facts: &Facts<'_>,
    prepared: &Prepared<'_, '_>,
    sessions_say_it: bool,
    spec: &Spec,
    budget: &Budget<'_>,
) -> Result<Forbidding, Withheld> {
    let is_evaluated = match evaluate_within(prepared, spec, MAX_STEPS, budget)? {
        Evaluation::Forbidden => true,
        Evaluation::OutOfSteps | Evaluation::TooLarge => false,
        Evaluation::Allowed(_) => {
            return Err(Withheld::wrong(&spec.name(), &"the reference evaluator does not forbid the history"));
        }
    };
    let refutation = match level_of(spec).filter(|_| sessions_say_it) {
        Some(level) => refutation(facts, level, spec, budget)?,
        None => None,
    };
    let certification = if is_evaluated || refutation.is_some() {
        Certification::Certified
    } else {
        Certification::NotCertified { why: "it is too large for the reference evaluator".to_owned() }
    };
    Ok(Forbidding { refutation, certification })
}

/// The level that `check` decides by this very definition, and not by one of the same name.
fn level_of(spec: &Spec) -> Option<Level> {
    Level::ALL.into_iter().find(|it| std::ptr::eq(Catalogue::builtin().of(*it), spec))
}

/// What `check` has against the history, if it comes to an end.
fn refutation(
    facts: &Facts<'_>,
    level: Level,
    spec: &Spec,
    budget: &Budget<'_>,
) -> Result<Option<Refutation>, Withheld> {
    let answer = check_facts(facts, level, budget);
    // What was hurried by a limit may be named worse, and equal questions have equal answers.
    budget.check()?;
    match answer {
        check::Answer::Forbidden(refutation) => Ok(Some(refutation.into_inner())),
        check::Answer::Allowed(_) => Err(Withheld::wrong(&spec.name(), &"check allows the history")),
        check::Answer::NotCertified { .. } | check::Answer::Undecided(_) => Ok(None),
        check::Answer::Refused(wrong) => Err(Withheld::wrong(&spec.name(), &wrong.why)),
    }
}
