//! Lists at the strong levels: whoever appended right after another one follows it.
//!
//! At serializability and snapshot isolation, the version before the own one is what a writer would have read: writers of a
//! key do not overlap. So it is added as a read, which keeps everybody else from coming between both. At prefix consistency
//! writers may overlap; there a version is put right behind the other one, and pinned.

use super::super::chains::{NONE, Op, Shape};
use super::super::{Misfit, Why};
use super::Strong;
use iso_history::{KeyId, StreamedOp, StreamedTxn, StreamedValue};

impl Strong {
    /// A transaction that has just come appends what reads have shown already: it follows whom they say.
    pub(super) fn follow_shown(&mut self, slot: u32, txn: &StreamedTxn<'_>, misfits: &mut Vec<Misfit>) {
        for (key, last) in txn.writes().iter().filter(|it| self.lists.has(it.0)).cloned().collect::<Vec<_>>() {
            self.lists.append(key, txn);
            if self.chains.shape != Shape::Prefixes {
                self.follow(slot, key, &last, misfits);
            }
        }
    }

    /// Its reads show who follows whom.
    pub(super) fn show_lists(&mut self, slot: u32, txn: &StreamedTxn<'_>, misfits: &mut Vec<Misfit>) {
        if self.chains.shape == Shape::Prefixes {
            for (key, last) in txn.writes() {
                self.follow(slot, *key, last, misfits);
            }
        }
        for (key, elements) in txn.lists() {
            let Ok(new) = self.lists.show(key, elements) else {
                let id = self.chains.txn(slot).id;
                misfits.push(Misfit { id, keys: vec![key], why: Why::OtherOrder });
                continue;
            };
            for element in new {
                let writer = self.find(key, &element).map_or(NONE, |it| self.chains.version(it).writer);
                if writer != NONE {
                    self.follow(writer, key, &element, misfits);
                }
            }
        }
    }

    /// If it was shown, a transaction with this last element follows somebody.
    fn follow(&mut self, slot: u32, key: KeyId, last: &StreamedValue, misfits: &mut Vec<Misfit>) {
        self.chains.newest(key);
        let left = self.chains.before_window(key).clone();
        let Some(before) = self.lists.follows(key, last, &left) else { return };
        if self.chains.shape == Shape::Prefixes {
            return self.pin(slot, key, (last, &before), misfits);
        }
        let is_it = |it: Op| {
            let is_read = !it.is_write && it.key == key.raw() && it.version != NONE;
            is_read && self.chains.version(it.version).value == before
        };
        if self.chains.ops_of(slot).any(|it| is_it(self.chains.op(it))) {
            return;
        }
        self.lists.learn(slot, key, before.clone());
        self.read(slot, key, &before, misfits);
    }

    /// Puts a version right behind the one that it follows.
    fn pin(
        &mut self,
        slot: u32,
        key: KeyId,
        (last, before): (&StreamedValue, &StreamedValue),
        misfits: &mut Vec<Misfit>,
    ) {
        let (Some(version), Some(after)) = (self.find(key, last), self.find(key, before)) else { return };
        let was_after = self.chains.version(version).previous;
        if was_after != after {
            let next = self.chains.version(after).next;
            let is_free = !self.is_pinned(version) && !self.is_pinned(next);
            self.chains.take_out(version);
            self.chains.insert(version, after);
            if !is_free || self.fit_version(version).is_err() {
                self.chains.take_out(version);
                self.chains.insert(version, was_after);
                self.fit_version(version).ok();
                let id = self.chains.txn(slot).id;
                misfits.push(Misfit { id, keys: vec![key], why: Why::Cycle });
                return;
            }
        }
        self.pinned.insert(version);
    }

    /// Are there lists?
    pub(in super::super) fn has_lists(&self) -> bool {
        !self.lists.is_empty()
    }

    /// What is known of whom a transaction follows in lists, as reads.
    pub(in super::super) fn learned(&self, slot: u32) -> &[StreamedOp] {
        self.lists.learned(slot)
    }

    /// Does this version follow right after the one before it?
    #[inline]
    pub(super) fn is_pinned(&self, version: u32) -> bool {
        !self.pinned.is_empty() && self.pinned.contains(&version)
    }

    /// A version of a key with this value, the newest of those that are near.
    fn find(&mut self, key: KeyId, value: &StreamedValue) -> Option<u32> {
        let mut version = self.chains.newest(key);
        for _ in 0..super::MAX_SEEN {
            if version == NONE || self.chains.version(version).value == *value {
                return Some(version).filter(|it| *it != NONE);
            }
            version = self.chains.version(version).previous;
        }
        let mut found = Vec::new();
        self.chains.with_value(key, value, &mut found);
        found.first().copied()
    }

    /// A version leaves the window.
    pub(super) fn leave_list(&mut self, version: u32) {
        let it = self.chains.version(version);
        self.lists.leave(KeyId::from_index(it.key as usize), &it.value);
        self.pinned.remove(&version);
    }
}
