//! Lists with several meanings: an element that several transactions may have appended, a reader that may have aborted.
//!
//! What is certain is judged first: without the open list reads, the history says less, and what is forbidden then is
//! forbidden anyway. Otherwise one open read is taken apart into cases, each with fewer of them, until one is allowed or
//! all are forbidden; the core is then what forbids each of them.
//! Cost: a decision for each case, so exponential in what is open; the budget ends it.

use crate::decide::decide;
use crate::decision::Decision;
use crate::local::refute_by_one_read;
use crate::mixed::decide_mixed;
use iso_evidence::{Budget, StopReason};
use iso_history::{Facts, History, OpId, Projection, TxnId};
use iso_spec::Level;
use std::collections::BTreeSet;

/// Decides a level of a history with list reads that have several meanings; none if each has one.
pub(crate) fn decide_cases(
    facts: &Facts<'_>,
    level: Level,
    budget: &Budget<'_>,
) -> Option<Result<Decision, StopReason>> {
    if level == Level::ReadUncommitted && !facts.history().mixed_lists().is_empty() {
        return Some(decide_mixed(facts, budget));
    }
    facts.ambiguous_list().map(|read| decide_open(facts, read, level, budget))
}

fn decide_open(facts: &Facts<'_>, read: OpId, level: Level, budget: &Budget<'_>) -> Result<Decision, StopReason> {
    if let Some(core) = forbidden_without(facts, &facts.ambiguous_lists(), level, budget)? {
        return Ok(Decision::Forbidden(core));
    }
    let mut core: BTreeSet<TxnId> = facts.involved_in(read).into_iter().collect();
    for case in facts.cases() {
        budget.check()?;
        match decide_case(&case, level, budget)? {
            Decision::Forbidden(txns) => core.extend(txns),
            allowed @ Decision::Allowed(_) => return Ok(allowed),
        }
    }
    Ok(Decision::Forbidden(core.into_iter().collect()))
}

/// A core that needs none of these reads, if there is one.
pub(crate) fn forbidden_without(
    facts: &Facts<'_>,
    reads: &[OpId],
    level: Level,
    budget: &Budget<'_>,
) -> Result<Option<Vec<TxnId>>, StopReason> {
    let txns: Vec<TxnId> = facts.txns().collect();
    let rest = Projection::new(facts, &txns, &reads.iter().copied().collect());
    match decide_case(&rest.history, level, budget)? {
        Decision::Allowed(_) => Ok(None),
        Decision::Forbidden(core) => {
            let mut core: Vec<TxnId> = core.iter().map(|it| rest.txns[it.index()]).collect();
            core.sort_unstable();
            Ok(Some(core))
        }
    }
}

/// Decides a history that may have a read that nothing explains.
pub(crate) fn decide_case(history: &History, level: Level, budget: &Budget<'_>) -> Result<Decision, StopReason> {
    let facts = Facts::new(history);
    match refute_by_one_read(&facts, level) {
        Some(refutation) => Ok(Decision::Forbidden(refutation.txns)),
        None => decide(&facts, level, budget),
    }
}
