//! Looks for what the reader of a history was not told, and an answer suffers from.

use iso_history::{Facts, History, KeyId, LocalKind, Name, Op, ValueId};
use std::collections::{BTreeMap, BTreeSet};

/// What to try if registers seem to hold something before their first write.
///
/// That is so if nobody says what they hold, nobody read that they hold nothing, and on most of the keys that are read
/// somebody read the same value, which nobody wrote.
pub(crate) fn initial_value(facts: &Facts<'_>) -> Option<String> {
    let history = facts.history();
    let (value, keys) = most_common_thin_air(facts)?;
    let read = read_keys(history)?;
    if keys.len() * 2 < read.len() {
        return None;
    }
    let name = history.value(value).shown();
    let whose = match keys.len() {
        n if n == read.len() => "every key".to_owned(),
        n => format!("{n} keys of {}", read.len()),
    };
    Some(format!(
        "Reads of {whose} returned {name}, which nobody wrote: maybe the initial value is {name}; try --initial {name}."
    ))
}

/// The value that nobody wrote, and that was read on most keys.
fn most_common_thin_air(facts: &Facts<'_>) -> Option<(ValueId, BTreeSet<KeyId>)> {
    let mut keys: BTreeMap<ValueId, BTreeSet<KeyId>> = BTreeMap::new();
    for anomaly in facts.local().iter().filter(|it| it.kind == LocalKind::ThinAir) {
        if let Op::Read { key, value } = facts.history().op(anomaly.op) {
            keys.entry(value).or_default().insert(key);
        }
    }
    // The first of several, so that the answer does not depend on chance.
    keys.into_iter().rev().max_by_key(|it| it.1.len())
}

/// The registers that somebody read; none if one is known to begin with a value, or with nothing.
fn read_keys(history: &History) -> Option<BTreeSet<KeyId>> {
    let mut keys = BTreeSet::new();
    for op in history.txns().flat_map(|it| history.ops(it)) {
        let Op::Read { key, value } = history.op(op) else { continue };
        let initial = history.initial_value(key);
        if history.value(initial) != Name::Null || value == initial {
            return None;
        }
        keys.insert(key);
    }
    Some(keys)
}
