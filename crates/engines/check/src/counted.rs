//! Who counts only because of who read from it: a part of the history must keep such readers.

use iso_history::{Facts, Outcome, TxnId};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// These transactions (ascending) with readers because of whom the indeterminate ones among them must have committed.
///
/// ```text
/// a? w x=1        without the reader, nobody knows whether x=1 took place
/// b  r x=1
/// ```
pub(crate) fn with_readers(facts: &Facts<'_>, txns: Vec<TxnId>) -> Vec<TxnId> {
    let mut all: BTreeSet<TxnId> = txns.iter().copied().collect();
    for read in reads_that_show(facts, txns) {
        let candidates = facts.candidates(read).iter().copied();
        all.extend(candidates.chain([facts.reads()[read].reader]).filter(|it| !it.is_initial()));
    }
    all.into_iter().collect()
}

/// Reads because of which the indeterminate ones among these transactions must have committed.
pub(crate) fn reads_that_show(facts: &Facts<'_>, txns: impl IntoIterator<Item = TxnId>) -> Vec<usize> {
    let is_indeterminate = |it: &TxnId| facts.history().outcome(*it) == Outcome::Indeterminate;
    let mut pending: Vec<TxnId> = txns.into_iter().filter(is_indeterminate).collect();
    if pending.is_empty() {
        return Vec::new();
    }
    let shown_by = shown_by(facts);
    let mut followed: BTreeSet<TxnId> = pending.iter().copied().collect();
    let mut reads = Vec::new();
    while let Some(writer) = pending.pop() {
        let Some(read) = shown_by.get(&writer) else { continue };
        reads.push(*read);
        let candidates = facts.candidates(*read).iter().copied();
        let involved = candidates.chain([facts.reads()[*read].reader]).filter(is_indeterminate);
        pending.extend(involved.filter(|it| followed.insert(*it)));
    }
    reads
}

/// For indeterminate transactions, a read that can have seen no other, by somebody who counts without it.
fn shown_by(facts: &Facts<'_>) -> FxHashMap<TxnId, usize> {
    let is_indeterminate = |it: &TxnId| facts.history().outcome(*it) == Outcome::Indeterminate;
    let mut shown_by = FxHashMap::default();
    let mut pending: Vec<TxnId> = facts.txns().filter(|it| !is_indeterminate(it)).collect();
    while let Some(reader) = pending.pop() {
        for read in facts.reads_of(reader) {
            let [source] = facts.candidates(read) else { continue };
            // A list shows all versions up to its own.
            let line = facts.recovered_order(facts.reads()[read].key).map_or(&[][..], |it| &it.writers);
            let n_shown = line.iter().position(|it| it == source).unwrap_or(0);
            for writer in line[..n_shown].iter().chain([source]).filter(|it| is_indeterminate(it)) {
                if !shown_by.contains_key(writer) {
                    shown_by.insert(*writer, read);
                    pending.push(*writer);
                }
            }
        }
    }
    shown_by
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_store::history;

    fn all(lines: &[&str], txns: &[usize]) -> Vec<usize> {
        let history = history(lines);
        let txns = txns.iter().map(|it| TxnId::from_index(*it)).collect();
        with_readers(&Facts::new(&history), txns).iter().map(|it| it.index()).collect()
    }

    #[test]
    fn one_reader_is_enough() {
        assert_eq!(all(&["a? wx1", "b rx1", "c rx1"], &[1]), [1, 3]);
        assert_eq!(all(&["a wx1", "b rx1", "c rx1"], &[1]), [1]);
    }

    #[test]
    fn a_reader_of_indeterminate_outcome_needs_one_itself() {
        assert_eq!(all(&["a? wx1", "b? rx1 wy1", "c ry1", "d wz1"], &[1]), [1, 2, 3]);
    }

    #[test]
    fn a_list_shows_those_before_its_last_version() {
        assert_eq!(all(&["a? ax1", "b ax2", "c lx12", "d ax3"], &[1]), [1, 2, 3]);
    }
}
