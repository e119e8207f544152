//! From a found history to its document: every piece of its evidence is checked before, and explained.
//!
//! That a level allows the history is checked on the execution that the engine gives; that one forbids it, by the
//! reference evaluator, or by certify on the refutation that `check` gives, if the history is too large for that.

use crate::judge::uncertified;
use crate::output;
use crate::reference::evaluate_within;
use iso_evidence::{Budget, Refutation, StopReason, Verdict, certify_facts};
use iso_history::Facts;
use iso_report::{AllowedBy, Certified, Failure, ForbiddenBy};
use iso_separate::{Found, explain};
use iso_spec::{Catalogue, Evaluation, Level, Prepared, Spec, holds, holds_with_session_order};

/// The reference evaluator takes seconds for so many.
const MAX_STEPS: u64 = 1 << 17;
/// More reasons than these are not read by anybody.
const MAX_FAILURES: usize = 6;

/// A history with evidence that was checked.
#[derive(Debug)]
pub(crate) struct Shown {
    /// Its document.
    pub(crate) document: iso_report::Found,
    /// What people should know about it besides.
    pub(crate) notes: Vec<String>,
}

/// Why a found history is not shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Withheld {
    /// A limit was reached before the evidence was checked.
    Stopped(StopReason),
    /// The evidence is wrong.
    Wrong {
        /// The level that it is about.
        level: String,
        /// What is wrong.
        why: String,
    },
}

impl Withheld {
    /// Complains if it is our fault.
    pub(crate) fn complain(&self) {
        if let Self::Wrong { level, why } = self {
            output::complain(&uncertified(level, why));
        }
    }

    /// What the report says instead of an answer.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Stopped(reason) => reason.to_string(),
            Self::Wrong { .. } => crate::judge::WRONG_EVIDENCE.to_owned(),
        }
    }
}

/// Checks that the levels allow and forbid the history, and says why.
pub(crate) fn shown(
    found: &Found,
    allowed: &[&Spec],
    forbidden: &[&Spec],
    budget: &Budget<'_>,
) -> Result<Shown, Withheld> {
    let facts = Facts::new(&found.history);
    let order = found.session_order.as_deref();
    let mut allowing = Vec::new();
    for (spec, execution) in allowed.iter().zip(&found.executions) {
        let is_right = match order {
            Some(pairs) => holds_with_session_order(&facts, spec, execution, pairs),
            None => holds(&facts, spec, execution),
        };
        if !is_right {
            return Err(wrong(spec, "the witness does not explain the history".to_owned()));
        }
        allowing.push(AllowedBy { spec, execution, certified: Some(Ok(())) });
    }
    let prepared = match order {
        Some(pairs) => Prepared::with_session_order(&facts, pairs),
        None => Prepared::new(&facts),
    };
    let mut refuted = Vec::new();
    for spec in forbidden {
        refuted.push(Refuted::new(found, &facts, &prepared, spec, budget)?);
    }
    let forbidding: Vec<ForbiddenBy<'_>> = refuted.iter().map(Refuted::forbidden_by).collect();
    let notes = refuted.iter().filter(|it| it.certified.is_none()).map(|it| too_large(it.spec)).collect();
    Ok(Shown { document: iso_report::Found::new(&found.history, order, &allowing, &forbidding), notes })
}

fn too_large(spec: &Spec) -> String {
    format!("Not certified: that {} forbids the history; it is too large for the reference evaluator.", spec.name())
}

fn wrong(spec: &Spec, why: String) -> Withheld {
    Withheld::Wrong { level: spec.name().to_owned(), why }
}

/// That a level forbids a history, and why.
struct Refuted<'s> {
    spec: &'s Spec,
    refutation: Option<Refutation>,
    failures: Vec<Failure>,
    n_omitted: usize,
    is_exhaustive: bool,
    certified: Certified,
}

impl<'s> Refuted<'s> {
    fn new(
        found: &Found,
        facts: &Facts<'_>,
        prepared: &Prepared<'_, '_>,
        spec: &'s Spec,
        budget: &Budget<'_>,
    ) -> Result<Self, Withheld> {
        let evaluated = evaluate_within(prepared, spec, MAX_STEPS, budget).map_err(Withheld::Stopped)?;
        let is_evaluated = match evaluated {
            Evaluation::Forbidden => true,
            Evaluation::OutOfSteps | Evaluation::TooLarge => false,
            Evaluation::Allowed(_) | Evaluation::AmbiguousList(_) => {
                return Err(wrong(spec, "the reference evaluator does not forbid the history".to_owned()));
            }
        };
        // What `check` knows of session order is the sessions of the history.
        let refutation = match level_of(spec).filter(|_| found.session_order.is_none()) {
            Some(level) => refute(facts, level, spec, budget)?,
            None => None,
        };
        let certified = (is_evaluated || refutation.is_some()).then_some(Ok(()));
        let mut refuted =
            Self { spec, refutation, failures: Vec::new(), n_omitted: 0, is_exhaustive: false, certified };
        if refuted.refutation.as_ref().is_none_or(|it| it.cycle.is_empty() && it.local.is_none()) {
            refuted.explain(found);
        }
        Ok(refuted)
    }

    /// Says what fails for witnesses that one could try.
    fn explain(&mut self, found: &Found) {
        let explanation = explain(&found.history, found.session_order.as_deref(), self.spec, MAX_FAILURES);
        let n_alike: usize = explanation.failures.iter().map(|it| it.n_alike).sum();
        self.n_omitted = explanation.n_omitted + n_alike;
        self.is_exhaustive = explanation.is_exhaustive;
        let failure =
            |it: &iso_separate::Failure| Failure::new(&found.history, self.spec, &it.execution, it.because.clone());
        self.failures = explanation.failures.iter().map(failure).collect();
    }

    fn forbidden_by(&self) -> ForbiddenBy<'_> {
        ForbiddenBy {
            spec: self.spec,
            refutation: self.refutation.as_ref(),
            failures: self.failures.clone(),
            omitted: self.n_omitted,
            is_exhaustive: self.is_exhaustive,
            certified: self.certified.clone(),
        }
    }
}

/// The level that `check` decides by this very definition, and not by one of the same name.
fn level_of(spec: &Spec) -> Option<Level> {
    Level::ALL.into_iter().find(|it| std::ptr::eq(Catalogue::builtin().of(*it), spec))
}

/// What `check` has against the history, if it comes to an end; certified.
fn refute(facts: &Facts<'_>, level: Level, spec: &Spec, budget: &Budget<'_>) -> Result<Option<Refutation>, Withheld> {
    let verdict = iso_check::check_facts(facts, level, budget);
    // What was hurried by a limit may be named worse, and equal questions have equal answers.
    budget.check().map_err(Withheld::Stopped)?;
    match certify_facts(facts, level, &verdict) {
        Err(why) if !why.is_too_large => return Err(wrong(spec, why.to_string())),
        Err(_) => return Ok(None),
        Ok(()) => {}
    }
    match verdict {
        Verdict::Forbidden(refutation) => Ok(Some(refutation)),
        Verdict::Allowed(_) => Err(wrong(spec, "check allows the history".to_owned())),
        Verdict::Unknown(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iso_separate::{Method, Question, Scope, separate};

    fn spec(name: &str) -> &'static Spec {
        Catalogue::builtin().find(name).unwrap()
    }

    /// Write skew: snapshot isolation allows it, and serializability does not.
    fn write_skew() -> Found {
        let (allowed, forbidden) = (vec![spec("si")], vec![spec("ser")]);
        let question = Question { allowed, forbidden, scope: Scope::default(), method: Method::default() };
        *separate(&question, &Budget::unlimited()).answer.found().unwrap()
    }

    #[test]
    fn right_evidence_is_shown_as_certified() {
        let shown = shown(&write_skew(), &[spec("si")], &[spec("ser")], &Budget::unlimited()).unwrap();
        assert_eq!(shown.document.witnesses[0].certified, Some(Ok(())));
        assert_eq!(shown.document.refutations[0].certified, Some(Ok(())));
        assert_eq!(shown.document.refutations[0].anomalies, ["write-skew"]);
        assert!(shown.notes.is_empty());
    }

    #[test]
    fn a_history_with_wrong_evidence_is_not_shown() {
        let found = write_skew();
        let level_of = |allowed: &str, forbidden: &str| match shown(
            &found,
            &[spec(allowed)],
            &[spec(forbidden)],
            &Budget::unlimited(),
        ) {
            Err(Withheld::Wrong { level, .. }) => level,
            other => panic!("{other:?}"),
        };
        assert_eq!(level_of("ser", "ser"), "biswas.ser");
        assert_eq!(level_of("si", "pc"), "biswas.pc");
        assert_eq!(level_of("si", "cerone.si"), "cerone.si");
    }

    #[test]
    fn a_limit_while_certifying_leaves_no_answer() {
        let stop = || Some(StopReason::Timeout);
        let answer = shown(&write_skew(), &[spec("si")], &[spec("ser")], &Budget::new(&stop));
        assert_eq!(answer.unwrap_err(), Withheld::Stopped(StopReason::Timeout));
    }
}
