//! The sources that a witness names, by transaction.

use super::uncertified::Uncertified;
use crate::Source;
use iso_history::{History, OpId, TxnId};

/// Named sources. Operations of a transaction have neighbouring numbers, and so have their sources.
pub(super) struct Sources<'w> {
    all: &'w [Source],
    /// For each transaction, where its sources begin.
    starts: Vec<u32>,
}

impl<'w> Sources<'w> {
    pub(super) fn new(history: &History, all: &'w [Source]) -> Result<Self, Uncertified> {
        if !all.is_sorted_by(|a, b| a.read < b.read) {
            return Err(Uncertified::new("the sources of a witness are not in ascending order"));
        }
        let mut starts = Vec::with_capacity(history.n_txns() + 1);
        let mut start = 0;
        for txn in [TxnId::INITIAL].into_iter().chain(history.txns()) {
            starts.push(start as u32);
            if let Some(last) = history.ops(txn).next_back() {
                start += all[start..].iter().take_while(|it| it.read <= last).count();
            }
        }
        starts.push(start as u32);
        Ok(Self { all, starts })
    }

    /// A way to ask for the sources of a transaction's reads, in program order.
    pub(super) fn of(&self, txn: TxnId) -> SourcesOf<'w> {
        let (start, end) = (self.starts[txn.index()], self.starts[txn.index() + 1]);
        SourcesOf { rest: &self.all[start as usize..end as usize] }
    }
}

/// The sources of one transaction from some operation on.
pub(super) struct SourcesOf<'w> {
    rest: &'w [Source],
}

impl SourcesOf<'_> {
    /// Whose write a read saw, by the witness. Later reads must be asked for later.
    pub(super) fn next(&mut self, read: OpId) -> Option<TxnId> {
        while let Some((first, rest)) = self.rest.split_first() {
            if first.read > read {
                return None;
            }
            self.rest = rest;
            if first.read == read {
                return Some(first.writer);
            }
        }
        None
    }
}
