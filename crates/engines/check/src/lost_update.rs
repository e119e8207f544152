//! A lost update beside reads that were not repeatable.
//!
//! A read that was not repeatable breaks read atomic and all above it, and says nothing about updates. Whoever asks for a
//! level that keeps updates wants to know whether one was lost.

use iso_history::{Facts, KeyId, Outcome, TxnId};
use iso_spec::Level;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// Two transactions that overwrite a version which both read, with whoever wrote it, where reads that were not repeatable
/// would be told otherwise. Both read nothing else that one read alone refutes.
pub(crate) fn lost_update(facts: &Facts<'_>, level: Level) -> Option<Vec<TxnId>> {
    if !level.implies(Level::UpdateAtomic) || !facts.local().is_empty() || facts.unrepeatable().is_empty() {
        return None;
    }
    let history = facts.history();
    let strange: FxHashSet<TxnId> = facts.unrepeatable().iter().map(|it| it.reader).collect();
    let mut first_by_version: FxHashMap<(KeyId, TxnId), TxnId> = FxHashMap::default();
    for (idx, read) in facts.reads().iter().enumerate() {
        let &[writer] = facts.candidates(idx) else { continue };
        let is_certain = history.outcome(read.reader) == Outcome::Committed && !strange.contains(&read.reader);
        if !is_certain || !facts.writes(read.reader, read.key) {
            continue;
        }
        let first = *first_by_version.entry((read.key, writer)).or_insert(read.reader);
        if first != read.reader {
            let core = BTreeSet::from([first, read.reader, writer]);
            return Some(core.into_iter().filter(|it| !it.is_initial()).collect());
        }
    }
    None
}
