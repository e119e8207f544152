//! Which histories are looked at: from options to the engine's scope, and from there to the report.

use crate::args::{MethodArgs, ScopeArgs, YesNo};
use anyhow::bail;
use iso_answer::separate::{Aspects, BlindWrites, Lists, Method, Rereads, Scope, Sessions, Size, Statements};
use iso_report::{Bound, SessionShape};
use std::ops::RangeInclusive;

/// Larger scopes are not searched in anybody's lifetime, or fit no reference evaluator.
const MAX_TXNS: usize = 30;
const MAX_KEYS: usize = 10;
/// Each transaction writes a value, and there is the initial one.
const MAX_VALUES: usize = MAX_TXNS + 1;
const MAX_HISTORIES: usize = 10_000;

/// The scope that was asked for; what was not said is as in `default`.
pub(crate) fn resolve(raw: &ScopeArgs, default: Scope) -> anyhow::Result<Scope> {
    let txns = raw.txns.unwrap_or(default.txns);
    if let Some(sessions) = raw.sessions.filter(|it| *it > txns) {
        bail!(
            "--sessions {sessions} is more than the {txns} transactions that there are, which limits nothing; leave it \
             out, or give more with --txns"
        );
    }
    Ok(Scope {
        txns,
        size: if raw.exact { Size::Exactly } else { default.size },
        keys: raw.keys.unwrap_or(default.keys),
        values: raw.values.unwrap_or(default.values),
        sessions: if raw.partial_order_sessions {
            Sessions::PartialOrder
        } else {
            Sessions::Chains { at_most: raw.sessions }
        },
        blind_writes: if raw.no_blind_writes { BlindWrites::Excluded } else { default.blind_writes },
        rereads: match raw.rereads {
            None => default.rereads,
            Some(YesNo::Yes) => Rereads::Yes,
            Some(YesNo::No) => Rereads::No,
        },
        scans: raw.scans,
        statements: default.statements,
        lists: default.lists,
    })
}

/// The method that was asked for.
pub(crate) fn method(raw: MethodArgs) -> Method {
    Method { derived_witnesses: !raw.no_derived_witnesses, fixed_order: !raw.no_fixed_order, merging: !raw.no_merging }
}

/// The scope as the report has it, with what the search found to matter.
pub(crate) fn document(scope: &Scope, aspects: Aspects) -> iso_report::Scope {
    iso_report::Scope {
        bound: match scope.size {
            Size::UpTo => Bound::UpTo,
            Size::Exactly => Bound::Exactly,
        },
        transactions: scope.txns as u64,
        keys: scope.keys as u64,
        values: Some(scope.values as u64),
        sessions: match scope.sessions {
            Sessions::Chains { at_most: None } => SessionShape::Chains,
            Sessions::Chains { at_most: Some(n) } => SessionShape::AtMostChains(n as u64),
            Sessions::PartialOrder => SessionShape::PartialOrder,
        },
        reads_per_key: if aspects.rereads || scope.rereads == Rereads::Yes { 2 } else { 1 },
        blind_writes: scope.blind_writes == BlindWrites::Allowed,
        real_time: aspects.real_time,
        read_order: aspects.read_order,
        scans: aspects.scans as u64,
        statements: statements(aspects.statements),
        lists: match scope.lists {
            Lists::Few(at_most) if aspects.lists => at_most.min(scope.txns) as u64,
            _ => 0,
        },
    }
}

/// What statements may do, in words.
fn statements(varied: Statements) -> Vec<String> {
    let words = [
        ("updates", varied.any()),
        ("locks", varied.locks),
        ("several reads", varied.several_reads),
        ("inserts and deletes", varied.absent_rows),
        ("hidden rows", varied.hidden_rows),
    ];
    words.into_iter().filter(|it| it.1).map(|it| it.0.to_owned()).collect()
}

pub(crate) fn parse_txns(text: &str) -> Result<usize, String> {
    number(text, 1..=MAX_TXNS, "without a transaction there is no history")
}

pub(crate) fn parse_keys(text: &str) -> Result<usize, String> {
    number(text, 1..=MAX_KEYS, "without a key there is nothing to read or write")
}

pub(crate) fn parse_values(text: &str) -> Result<usize, String> {
    number(text, 2..=MAX_VALUES, "the initial value is one of them, so no key could be written")
}

pub(crate) fn parse_sessions(text: &str) -> Result<usize, String> {
    number(text, 1..=MAX_TXNS, "without a session there is no transaction")
}

pub(crate) fn parse_scans(text: &str) -> Result<usize, String> {
    number(text, 0..=MAX_KEYS, "")
}

pub(crate) fn parse_limit(text: &str) -> Result<usize, String> {
    number(text, 1..=MAX_HISTORIES, "nothing would be searched")
}

/// A number of a range, or a message with the cure; `too_few` says what is wrong with less.
fn number(text: &str, range: RangeInclusive<usize>, too_few: &str) -> Result<usize, String> {
    let cure = format!("write a number from {} to {}", range.start(), range.end());
    match text.trim().parse::<usize>() {
        Ok(number) if range.contains(&number) => Ok(number),
        Ok(number) if number < *range.start() => Err(format!("{too_few}; {cure}")),
        Ok(_) => Err(format!("that is more than can be searched; {cure}")),
        Err(_) => Err(cure),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_out_of_range_say_the_range() {
        assert_eq!(parse_txns("30"), Ok(30));
        assert_eq!(parse_values("2"), Ok(2));
        for (wrong, words) in [("0", "no history"), ("31", "more than"), ("-1", "1 to 30"), ("many", "1 to 30")] {
            assert!(parse_txns(wrong).is_err_and(|it| it.contains(words)), "{wrong}");
        }
        assert!(parse_values("1").is_err_and(|it| it.contains("no key could be written; write a number from 2")));
    }
}
