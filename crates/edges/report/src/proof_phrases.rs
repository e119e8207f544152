//! Case distinctions and cycles in words, for every rendering.

use crate::document::{Case, Link, LinkKind, TxnRef};

/// Longer cycles are named by their first and last transactions.
const MAX_ROUND: usize = 8;

/// How a case begins: `Suppose that …`, or what is left if all others were impossible.
pub(crate) fn case_lead(case: &Case, idx: usize, n_cases: usize) -> String {
    let supposed = &case.supposed.because;
    match (idx, case.supposed.kind) {
        (0, _) => format!("Suppose that {supposed}."),
        (1, LinkKind::VersionOrder) => format!("So it is the other way round: {supposed}."),
        _ if idx + 1 == n_cases => format!("So only this is left: {supposed}."),
        _ => format!("Suppose instead that {supposed}."),
    }
}

/// How a cycle ends.
pub(crate) fn cycle_end(cycle: &[Link]) -> String {
    let first = cycle.first().map(|it| spoken(&it.from)).unwrap_or_default();
    format!("But then {first} would have to come before itself: {}. That cannot be.", round(cycle))
}

/// What follows from all cases.
pub(crate) const NOTHING_LEFT: &str = "No case is left, so this cannot have happened.";

/// `s1.1 → s2.1 → s1.1`.
pub(crate) fn round(cycle: &[Link]) -> String {
    let mut round: Vec<String> = cycle.iter().map(|it| spoken(&it.from)).collect();
    if round.len() > MAX_ROUND {
        let last = round.pop();
        round.truncate(MAX_ROUND - 2);
        round.push("…".to_owned());
        round.extend(last);
    }
    round.extend(cycle.first().map(|it| spoken(&it.from)));
    round.join(" → ")
}

/// A transaction in a sentence.
pub(crate) fn spoken(txn: &TxnRef) -> String {
    match txn {
        TxnRef::Initial => "the initial state".to_owned(),
        TxnRef::Txn(id) => id.clone(),
    }
}
