//! Version orders that reads of whole lists have shown, as edges.

use iso_history::{Facts, KeyId, OpId, TxnId};

/// `earlier`'s version of a list is right before `later`'s, or is the last one that was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RecoveredEdge {
    pub(crate) later: TxnId,
    pub(crate) earlier: TxnId,
    pub(crate) key: KeyId,
    pub(crate) shown_by: OpId,
}

impl RecoveredEdge {
    /// The reader of the list that shows the edge, and whose version it read.
    pub(crate) fn who_shows(&self, facts: &Facts<'_>) -> impl Iterator<Item = TxnId> {
        let last = facts.recovered_order(self.key).and_then(|it| it.writers.last().copied());
        [facts.history().txn_of(self.shown_by)].into_iter().chain(last)
    }
}

/// Neighbours in each recovered version order, and its last version before each one that nobody saw; by key.
pub(crate) fn recovered_edges(facts: &Facts<'_>) -> Vec<RecoveredEdge> {
    let mut edges = Vec::new();
    for recovered in facts.history().keys().filter_map(|it| facts.recovered_order(it)) {
        let (key, shown_by) = (recovered.key, recovered.shown_by);
        let edge = |earlier: TxnId, later: TxnId| RecoveredEdge { later, earlier, key, shown_by };
        edges.extend(recovered.writers.windows(2).map(|it| edge(it[0], it[1])));
        let Some(last) = recovered.writers.last() else { continue };
        let mut seen = recovered.writers.clone();
        seen.sort_unstable();
        let unseen = facts.writers_of(key).iter().filter(|it| seen.binary_search(it).is_err());
        edges.extend(unseen.map(|later| edge(*last, *later)));
    }
    edges
}
