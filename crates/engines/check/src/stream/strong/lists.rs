//! What reads have shown of the lists in a window: in which order their elements were appended.
//!
//! A list is a register that holds its last element. A read of it also says which elements came before, so what was appended
//! last by one transaction follows right after what another one appended last. What has left the window is a number of
//! elements: whoever replays the schedule has them all, and compares.

use iso_history::{KeyId, StreamedOp, StreamedTxn, StreamedValue};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// The lists of a recording, as far as its window is about them.
#[derive(Clone, Debug, Default)]
pub(super) struct Lists {
    by_key: FxHashMap<u32, List>,
    /// By transaction of the window: what is known of whom it follows in lists.
    learned: FxHashMap<u32, Vec<StreamedOp>>,
}

#[derive(Clone, Debug, Default)]
struct List {
    /// How many elements have left the window.
    n_left: usize,
    /// The elements after these, as far as somebody read them.
    shown: VecDeque<StreamedValue>,
    /// Of those that were read before their writer came: where they are, counted from the first one of the list.
    expected: FxHashMap<StreamedValue, usize>,
    /// Last elements of transactions that appended several, with how many.
    groups: FxHashMap<StreamedValue, usize>,
}

/// A read shows another order than the reads before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Incompatible;

impl Lists {
    /// The key is a list, of which so many elements have left.
    pub(super) fn begin(&mut self, key: KeyId, n_left: usize) {
        self.by_key.insert(key.raw(), List { n_left, ..List::default() });
    }

    /// Are there no lists?
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Is the key a list?
    pub(super) fn has(&self, key: KeyId) -> bool {
        self.by_key.contains_key(&key.raw())
    }

    /// A read has shown this much of a list: the elements that nobody had shown before, each with where it is.
    pub(super) fn show(&mut self, key: KeyId, elements: &[StreamedValue]) -> Result<Vec<StreamedValue>, Incompatible> {
        let Some(list) = self.by_key.get_mut(&key.raw()) else { return Ok(Vec::new()) };
        let Some(here) = elements.get(list.n_left..) else { return Ok(Vec::new()) };
        if !here.iter().zip(&list.shown).all(|(mine, theirs)| mine == theirs) {
            return Err(Incompatible);
        }
        let new = here.get(list.shown.len()..).unwrap_or_default();
        for (nth, element) in new.iter().enumerate() {
            list.expected.insert(element.clone(), list.n_left + list.shown.len() + nth);
        }
        list.shown.extend(new.iter().cloned());
        Ok(new.to_vec())
    }

    /// A transaction has come that appends to a list.
    pub(super) fn append(&mut self, key: KeyId, txn: &StreamedTxn<'_>) {
        let Some(list) = self.by_key.get_mut(&key.raw()) else { return };
        let n = txn.appended(key).count();
        if let Some(last) = txn.appended(key).last().filter(|_| n > 1) {
            list.groups.insert(last.clone(), n);
        }
    }

    /// The transaction whose last element this is has come, and the element was shown: the last one of whom it follows, or
    /// nothing in a list if it is the first. Nothing if it was not shown.
    pub(super) fn follows(&mut self, key: KeyId, last: &StreamedValue, left: &StreamedValue) -> Option<StreamedValue> {
        let list = self.by_key.get_mut(&key.raw())?;
        let at = list.expected.remove(last)?;
        let n = list.groups.get(last).copied().unwrap_or(1);
        for nth in (at + 1).saturating_sub(n)..at {
            if let Some(own) = nth.checked_sub(list.n_left).and_then(|it| list.shown.get(it)) {
                list.expected.remove(own);
            }
        }
        // One after the element that it follows.
        let after = (at + 1).checked_sub(n)?;
        match after.checked_sub(list.n_left) {
            Some(0) => Some(left.clone()),
            Some(nth) => list.shown.get(nth - 1).cloned(),
            // A part of it has left without the rest.
            None => Some(StreamedValue::Null),
        }
    }

    /// A transaction leaves whose last element this is.
    pub(super) fn leave(&mut self, key: KeyId, last: &StreamedValue) {
        let Some(list) = self.by_key.get_mut(&key.raw()) else { return };
        let n = list.groups.remove(last).unwrap_or(1);
        list.n_left += n;
        list.shown.drain(..n.min(list.shown.len()));
    }

    /// It is known whom a transaction follows.
    pub(super) fn learn(&mut self, slot: u32, key: KeyId, value: StreamedValue) {
        self.learned.entry(slot).or_default().push((key, value));
    }

    /// What is known of whom it follows.
    pub(super) fn learned(&self, slot: u32) -> &[StreamedOp] {
        self.learned.get(&slot).map_or(&[], Vec::as_slice)
    }

    /// A transaction leaves.
    pub(super) fn forget(&mut self, slot: u32) {
        if !self.learned.is_empty() {
            self.learned.remove(&slot);
        }
    }
}
