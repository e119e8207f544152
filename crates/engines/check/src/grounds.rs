//! Shows that a core is forbidden whatever its lists mean, so that `certify` can replay it at any size.
//!
//! As the verdict does, it looks first at what is certain, without the list reads of several meanings, and then at each
//! meaning of the first of them. What has one meaning is derived. Cost: a decision and a derivation for each meaning.

use crate::ambiguous::decide_case;
use crate::decision::{Decision, within};
use crate::derivation::derive;
use crate::local::refute_by_one_read;
use crate::pieces::pieces_of_counted;
use iso_evidence::{Budget, Derivation, Grounds, Refutation, Verdict, certify_facts};
use iso_history::{Facts, History, LocalKind, Projection, TxnId};
use iso_spec::Level;

/// A derivation is given up after so many questions to the budget, if there may be another way: a minute or two.
const MAX_QUESTIONS: u32 = 2_000_000;

/// Why these facts are forbidden; none if that was not found out in time, or if it does not take long to see.
pub(crate) fn grounds_for(
    facts: &Facts<'_>,
    level: Level,
    is_seen_without: impl FnOnce() -> bool,
    budget: &Budget<'_>,
) -> Option<Grounds> {
    let budget = budget.for_derivation();
    match within(MAX_QUESTIONS, &budget, |budget| Ok(grounds(facts, level, budget))) {
        Ok(Some(Some(grounds))) => Some(grounds),
        // Either there is none, or it takes longer.
        Ok(None) if !is_seen_without() => grounds(facts, level, &budget),
        _ => None,
    }
}

/// Does `certify` accept a refutation as it is?
pub(crate) fn is_certified(facts: &Facts<'_>, level: Level, refutation: &Refutation) -> bool {
    certify_facts(facts, level, &Verdict::Forbidden(refutation.clone())).is_ok()
}

/// A derivation within a while.
pub(crate) fn derive_soon(facts: &Facts<'_>, level: Level, budget: &Budget<'_>) -> Option<Derivation> {
    within(MAX_QUESTIONS, &budget.for_derivation(), |budget| Ok(derive_level(facts, level, budget))).ok().flatten()?
}

/// Why these facts are forbidden; none if time runs out.
pub(crate) fn grounds(facts: &Facts<'_>, level: Level, budget: &Budget<'_>) -> Option<Grounds> {
    if level == Level::ReadUncommitted && !facts.history().mixed_lists().is_empty() {
        return each(facts.history().mixed_cases()?, level, budget);
    }
    let local = refute_by_one_read(facts, level).and_then(|it| it.local);
    if local.is_some_and(|it| !matches!(it.kind, LocalKind::Unrepeatable { .. })) {
        return Some(Grounds::OneRead);
    }
    if facts.ambiguous_list().is_none() {
        return derive_level(facts, level, budget).map(Grounds::Derivation);
    }
    let txns: Vec<TxnId> = facts.txns().collect();
    let certain = Projection::new(facts, &txns, &facts.ambiguous_lists().into_iter().collect());
    if let Decision::Forbidden(_) = decide_case(&certain.history, level, budget).ok()? {
        let because = Box::new(grounds(&Facts::new(&certain.history), level, budget)?);
        return Some(Grounds::Part { txns, ops: certain.ops, because });
    }
    each(facts.cases(), level, budget)
}

/// Why each of these histories is forbidden.
fn each(cases: impl IntoIterator<Item = History>, level: Level, budget: &Budget<'_>) -> Option<Grounds> {
    let of_case = |it: History| grounds(&Facts::new(&it), level, budget);
    let cases: Vec<Grounds> = cases.into_iter().map(of_case).collect::<Option<_>>()?;
    (!cases.is_empty()).then_some(Grounds::Cases(cases))
}

/// A derivation for a level, or for the pieces that it is about. No inference knows what an insert is.
fn derive_level(facts: &Facts<'_>, level: Level, budget: &Budget<'_>) -> Option<Derivation> {
    if level == Level::RowSnapshots {
        return None;
    }
    match level.snapshots() {
        Some(snapshots) => {
            let pieces = pieces_of_counted(facts, snapshots)?;
            derive(&Facts::new(&pieces.history), Level::Serializable, budget)
        }
        None => derive(facts, level, budget),
    }
}
