//! What the transaction being looked at has written itself so far.

use iso_history::{History, KeyId, TxnId, ValueId};
use rustc_hash::FxHashMap;

/// The writes of one transaction after the other, by key.
pub(super) struct OwnWrites {
    txn: TxnId,
    /// For each register, the last one who wrote it here, and what.
    last: Vec<(TxnId, ValueId)>,
    /// For each list that the transaction appended to, its elements.
    elements: FxHashMap<KeyId, Vec<ValueId>>,
}

impl OwnWrites {
    pub(super) fn new(history: &History) -> Self {
        let nothing = (TxnId::INITIAL, ValueId::from_index(0));
        Self { txn: TxnId::INITIAL, last: vec![nothing; history.n_keys()], elements: FxHashMap::default() }
    }

    /// Turns to another transaction, which has written nothing yet.
    pub(super) fn start(&mut self, txn: TxnId) {
        self.txn = txn;
        self.elements.clear();
    }

    pub(super) fn write(&mut self, key: KeyId, value: ValueId) {
        self.last[key.index()] = (self.txn, value);
    }

    pub(super) fn append(&mut self, key: KeyId, value: ValueId) {
        self.elements.entry(key).or_default().push(value);
    }

    /// What it last wrote to a register, if it did.
    pub(super) fn last(&self, key: KeyId) -> Option<ValueId> {
        let (txn, value) = self.last[key.index()];
        (txn == self.txn).then_some(value)
    }

    /// What it appended to a list.
    pub(super) fn elements(&self, key: KeyId) -> &[ValueId] {
        self.elements.get(&key).map_or(&[], Vec::as_slice)
    }
}
