//! The sources that a witness names, by transaction.

use super::uncertified::Uncertified;
use crate::{Source, Sources};
use iso_history::{History, OpId, TxnId};
use std::ops::Range;

/// Named sources. Operations of a transaction have neighbouring numbers, and so have their sources.
pub(super) struct NamedSources<'w> {
    all: &'w Sources,
    /// For each transaction, where its sources begin.
    starts: Vec<u32>,
}

impl<'w> NamedSources<'w> {
    pub(super) fn new(history: &History, all: &'w Sources) -> Result<Self, Uncertified> {
        if !all.iter().is_sorted_by(|a, b| a.read < b.read) {
            return Err(Uncertified::new("the sources of a witness are not in ascending order"));
        }
        let mut starts = Vec::with_capacity(history.n_txns() + 1);
        let mut start = 0;
        for txn in [TxnId::INITIAL].into_iter().chain(history.txns()) {
            starts.push(start as u32);
            if let Some(last) = history.ops(txn).next_back() {
                start += (start..all.len()).take_while(|it| all.at(*it).read <= last).count();
            }
        }
        starts.push(start as u32);
        Ok(Self { all, starts })
    }

    /// A way to ask for the sources of a transaction's reads, in program order.
    pub(super) fn of(&self, txn: TxnId) -> SourcesOf<'w> {
        let (start, end) = (self.starts[txn.index()], self.starts[txn.index() + 1]);
        SourcesOf { all: self.all, rest: start as usize..end as usize }
    }
}

/// The sources of one transaction from some operation on.
pub(super) struct SourcesOf<'w> {
    all: &'w Sources,
    rest: Range<usize>,
}

impl SourcesOf<'_> {
    /// Whose write a read saw, by the witness. Later reads must be asked for later.
    pub(super) fn next(&mut self, read: OpId) -> Option<TxnId> {
        while let Some(first) = self.rest.clone().next() {
            let Source { read: at, writer } = self.all.at(first);
            if at > read {
                return None;
            }
            self.rest.start += 1;
            if at == read {
                return Some(writer);
            }
        }
        None
    }
}
