//! Core extraction: the transactions that a contradiction rests on, found by following its reasons back.
//!
//! Each engine knows what its conclusions were derived from, in its own terms. What they share is here: a conclusion is
//! followed once (or again, if more was known later), and whoever is named on the way is in the core.

use iso_history::TxnId;
use std::collections::{BTreeMap, BTreeSet};

/// Something that an engine concluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Conclusion {
    /// An edge of its graph.
    Edge(u32),
    /// Whose version a read saw.
    Source(u32),
}

/// When something was concluded: it rests only on what the engine knew before.
pub(crate) type Before = u32;

/// A core that is being collected.
#[derive(Debug, Default)]
pub(crate) struct CoreExtraction {
    txns: BTreeSet<TxnId>,
    followed: BTreeMap<Conclusion, Before>,
    pending: Vec<(Conclusion, Before)>,
}

impl CoreExtraction {
    /// These transactions are in the core.
    pub(crate) fn name(&mut self, txns: impl IntoIterator<Item = TxnId>) {
        self.txns.extend(txns);
    }

    /// Everything that a conclusion rests on is in the core.
    pub(crate) fn follow(&mut self, conclusion: Conclusion, before: Before) {
        if self.followed.get(&conclusion).is_none_or(|it| *it < before) {
            self.followed.insert(conclusion, before);
            self.pending.push((conclusion, before));
        }
    }

    /// Follows all conclusions back: `reasons` names transactions, and further conclusions to follow, for each.
    pub(crate) fn run(&mut self, mut reasons: impl FnMut(&mut Self, Conclusion, Before)) {
        while let Some((conclusion, before)) = self.pending.pop() {
            reasons(self, conclusion, before);
        }
    }

    /// Everybody who was named.
    pub(crate) fn named(self) -> BTreeSet<TxnId> {
        debug_assert!(self.pending.is_empty(), "everything was followed back");
        self.txns
    }

    /// The transactions of the core, ascending: the initial one is in none.
    pub(crate) fn txns(self) -> Vec<TxnId> {
        self.named().into_iter().filter(|it| !it.is_initial()).collect()
    }
}
