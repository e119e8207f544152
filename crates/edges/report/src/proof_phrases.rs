//! Case splits and cycles in words, for every rendering.

use crate::document::{Case, Link, TxnRef};

/// Longer cycles are named by their first and last transactions.
const MAX_ROUND: usize = 8;

/// How a case begins: `Case 1 of 2: suppose that …`.
pub(crate) fn case_lead(case: &Case, idx: usize, n_cases: usize) -> String {
    format!("Case {} of {n_cases}: suppose that {}.", idx + 1, case.supposed.because)
}

/// How a case begins that the reader did not expect.
pub(crate) fn excluded_lead(case: &Case) -> String {
    format!("Suppose instead that {}.", case.supposed.because)
}

/// How a cycle ends.
pub(crate) fn cycle_end(cycle: &[Link]) -> String {
    let first = cycle.first().map(|it| spoken(&it.from)).unwrap_or_default();
    format!("But then {first} would have to come before itself: {}. That is impossible.", round(cycle))
}

/// What follows from all cases.
pub(crate) const NOTHING_LEFT: &str = "Every case is impossible, so this cannot have happened.";

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
