//! From a certified history that separates levels to its document, with what fails for those that forbid it.

use iso_answer::Certification;
use iso_answer::separate::{Forbidding, Separating, explain};
use iso_report::{AllowedBy, Failure, ForbiddenBy};
use iso_spec::Spec;

/// More reasons than these are not read by anybody.
const MAX_FAILURES: usize = 6;

/// A history as the report shows it.
#[derive(Debug)]
pub(crate) struct Shown {
    /// Its document.
    pub(crate) document: iso_report::Found,
    /// What people should know about it besides.
    pub(crate) notes: Vec<String>,
}

/// The document of a history that these levels allow and those forbid.
pub(crate) fn shown(found: &Separating, allowed: &[&Spec], forbidden: &[&Spec]) -> Shown {
    let allowing = allowed.iter().zip(found.executions());
    let allowing: Vec<AllowedBy<'_>> =
        allowing.map(|(spec, execution)| AllowedBy { spec, execution, certified: Some(Ok(())) }).collect();
    let refuted = || forbidden.iter().zip(found.forbidden());
    let forbidding: Vec<ForbiddenBy<'_>> = refuted().map(|(spec, it)| forbidden_by(found, spec, it)).collect();
    let notes = refuted().filter_map(|(spec, it)| not_certified(spec, it.certification())).collect();
    let document = iso_report::Found::new(found.history(), found.session_order(), &allowing, &forbidding);
    Shown { document, notes }
}

fn not_certified(spec: &Spec, certification: &Certification) -> Option<String> {
    let Certification::NotCertified { why } = certification else { return None };
    Some(format!("Not certified: that {} forbids the history; {why}.", spec.name()))
}

/// Where no cycle and no single read says why, what fails for witnesses that one could try does.
fn forbidden_by<'a>(found: &'a Separating, spec: &'a Spec, forbidding: &'a Forbidding) -> ForbiddenBy<'a> {
    let refutation = forbidding.refutation();
    let certified = forbidding.certification().is_certified().then_some(Ok(()));
    let by = ForbiddenBy { spec, refutation, failures: Vec::new(), omitted: 0, is_exhaustive: false, certified };
    if refutation.is_some_and(|it| !it.cycle.is_empty() || it.local.is_some()) {
        return by;
    }
    let explanation = explain(found.history(), found.session_order(), spec, MAX_FAILURES);
    let n_alike: usize = explanation.failures.iter().map(|it| it.n_alike).sum();
    let failures = explanation.failures.into_iter();
    ForbiddenBy {
        failures: failures.map(|it| Failure::new(found.history(), spec, &it.execution, it.because)).collect(),
        omitted: explanation.n_omitted + n_alike,
        is_exhaustive: explanation.is_exhaustive,
        ..by
    }
}
