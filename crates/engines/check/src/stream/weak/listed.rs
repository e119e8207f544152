//! Lists at the weak levels: appends come in the order that reads have shown, and whatever nobody has read comes after.

use super::super::{Misfit, Why};
use super::Weak;
use iso_history::{KeyId, StreamedTxn, StreamedValue};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

const NONE: u32 = u32::MAX;

/// The lists of a recording, as far as its window is about them.
#[derive(Clone, Debug, Default)]
pub(super) struct Orders {
    by_key: FxHashMap<u32, Appends>,
}

#[derive(Clone, Debug, Default)]
struct Appends {
    /// How many elements have left the window.
    n_left: usize,
    /// The elements after these, as far as somebody read them, each with its writer, if it has come.
    shown: VecDeque<(StreamedValue, u32)>,
    /// Those that have come, and whose elements nobody has read.
    hidden: Vec<(StreamedValue, u32)>,
}

impl Orders {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// The key is a list.
    pub(super) fn begin(&mut self, key: KeyId) {
        self.by_key.insert(key.raw(), Appends::default());
    }

    /// A writer leaves the window, with so many elements.
    fn leave(&mut self, key: u32, slot: u32) {
        let Some(list) = self.by_key.get_mut(&key) else { return };
        let n_shown = list.shown.iter().take_while(|it| it.1 == slot).count();
        let n_hidden = list.hidden.iter().filter(|it| it.1 == slot).count();
        list.n_left += n_shown + n_hidden;
        list.shown.drain(..n_shown);
        list.shown.iter_mut().filter(|it| it.1 == slot).for_each(|it| it.1 = NONE);
        list.hidden.retain(|it| it.1 != slot);
    }
}

impl Appends {
    /// A writer has come with an element.
    fn append(&mut self, element: &StreamedValue, slot: u32, edges: &mut Vec<(u32, u32)>) {
        let Some(at) = self.shown.iter().rposition(|it| it.0 == *element && it.1 == NONE) else {
            self.hidden.push((element.clone(), slot));
            edges.extend(self.shown.iter().rev().map(|it| it.1).find(|it| *it != NONE).map(|it| (it, slot)));
            return;
        };
        self.shown[at].1 = slot;
        let is_there = |it: &u32| *it != NONE;
        edges.extend(self.shown.range(..at).rev().map(|it| it.1).find(is_there).map(|it| (it, slot)));
        let next = self.shown.range(at + 1..).map(|it| it.1).find(is_there);
        edges.extend(next.map(|it| (slot, it)));
        if next.is_none() {
            edges.extend(self.hidden.iter().map(|it| (slot, it.1)));
        }
    }

    /// A read has shown the list up to some element. False if another one has shown another order.
    fn show(&mut self, elements: &[StreamedValue], edges: &mut Vec<(u32, u32)>) -> bool {
        let Some(here) = elements.get(self.n_left..) else { return true };
        if !here.iter().zip(&self.shown).all(|(mine, theirs)| *mine == theirs.0) {
            return false;
        }
        let Some(new) = here.get(self.shown.len()..).filter(|it| !it.is_empty()) else { return true };
        let mut last = self.shown.iter().rev().map(|it| it.1).find(|it| *it != NONE).unwrap_or(NONE);
        for element in new {
            let found = self.hidden.iter().position(|it| it.0 == *element);
            let slot = found.map_or(NONE, |it| self.hidden.remove(it).1);
            self.shown.push_back((element.clone(), slot));
            if slot != NONE {
                edges.extend((last != NONE).then_some((last, slot)));
                last = slot;
            }
        }
        if last != NONE {
            edges.extend(self.hidden.iter().map(|it| (last, it.1)));
        }
        true
    }
}

impl Weak {
    /// What a transaction appends and reads says who comes before whom.
    pub(super) fn order_lists(&mut self, slot: u32, txn: &StreamedTxn<'_>, misfits: &mut Vec<Misfit>) {
        let mut edges = Vec::new();
        for (key, _) in txn.writes() {
            if let Some(list) = self.lists.by_key.get_mut(&key.raw()) {
                txn.appended(*key).for_each(|it| list.append(it, slot, &mut edges));
                self.connect_all(&mut edges, *key, misfits);
            }
        }
        for (key, elements) in txn.lists() {
            let Some(list) = self.lists.by_key.get_mut(&key.raw()) else { continue };
            if !list.show(elements, &mut edges) {
                let id = self.graph.txns[slot as usize].id;
                misfits.push(Misfit { id, keys: vec![key], why: Why::OtherOrder });
            }
            self.connect_all(&mut edges, key, misfits);
        }
    }

    fn connect_all(&mut self, edges: &mut Vec<(u32, u32)>, key: KeyId, misfits: &mut Vec<Misfit>) {
        for (before, after) in edges.drain(..).filter(|it| it.0 != it.1) {
            if !self.connect(before, after) {
                self.misfit(after, &[key.raw()], Why::Cycle, misfits);
            }
        }
    }

    /// A transaction leaves the window.
    pub(super) fn leave_lists(&mut self, slot: u32) {
        for key in &self.graph.txns[slot as usize].writes {
            self.lists.leave(*key, slot);
        }
    }
}
