//! Where a version goes among those of its key.

use super::super::chains::{Chains, NONE, Shape, Version};
use super::super::order::Cycle;
use super::super::{Misfit, Why};
use super::{Attempt, MAX_TRIES, Strong};
use iso_history::{KeyId, StreamedOp, StreamedValue};

impl Strong {
    pub(super) fn write(&mut self, slot: u32, key: KeyId, value: &StreamedValue, misfits: &mut Vec<Misfit>) {
        let newest = self.chains.newest(key);
        let read = self.chains.ops_of(slot).map(|it| self.chains.op(it));
        let read =
            read.filter(|it| !it.is_write && it.key == key.raw() && it.version != NONE).map(|it| it.version).last();
        let op = self.chains.add_op(slot, key, true);
        // Whoever read a version and overwrites it comes right after it, unless updates may be lost.
        let is_update = read.is_some() && self.chains.shape != Shape::Prefixes;
        let mut after = read.filter(|_| is_update).unwrap_or(newest);
        let end = self.chains.txn(slot).end;
        if !is_update {
            after = self.begun_before(self.chains.successor_of_version(slot), newest);
            if after == newest {
                after = self.ended_before(newest, end);
            }
        }
        let first_place = after;
        let Err(attempt) = self.try_place(op, first_place, value) else { return };
        let n_more = if is_update { 0 } else { MAX_TRIES };
        let mut places = self.places(first_place, n_more, |it| it.previous);
        places.extend(self.places(first_place, n_more, |it| it.next));
        if places.into_iter().any(|it| self.try_place(op, it, value).is_ok()) {
            return;
        }
        let keys = attempt.keys_with(key);
        if !self.mend(attempt, |it| it.try_place(op, first_place, value)) {
            // It is in the chain all the same; unless the exact engine finds another order, nobody goes on with this one.
            let (version, newest) = (self.chains.op(op).version, self.chains.newest(key));
            self.chains.insert(version, newest);
            let id = self.chains.txn(slot).id;
            misfits.push(Misfit { id, keys, why: Why::NoPlace });
        }
    }

    /// The neighbours of a version on one side, so many at most.
    fn places(&self, version: u32, n: usize, next: impl Fn(&Version) -> u32) -> Vec<u32> {
        let next = |it: &u32| Some(next(self.chains.version(*it))).filter(|it| *it != NONE);
        std::iter::successors(next(&version), next).take(n).collect()
    }

    /// Whoever waits for a writer that comes late comes after it: that says where its versions belong. What is against it is
    /// found when the readers are linked.
    pub(super) fn precede_waiting(&mut self, slot: u32, writes: &[StreamedOp]) {
        let commit = self.chains.commit(slot);
        for (key, value) in writes {
            let Some(list) = self.waiting.get(&key.raw()) else { continue };
            let readers = list.iter().filter(|it| it.wanted.accepts(value)).map(|it| self.chains.op(it.op).txn);
            for reader in readers {
                self.order.ensure(&self.chains, commit, Chains::start(reader)).ok();
            }
        }
    }

    /// A writer that comes late, with its place given by others: it goes back to where nobody writes to any of its keys between
    /// snapshot and commit. All keys are looked at before the first of them gets its version.
    pub(super) fn avoid_writers(&mut self, slot: u32, writes: &[StreamedOp]) {
        let start = Chains::start(slot);
        let mut place = start;
        loop {
            let before = place;
            for (key, _) in writes {
                let newest = self.chains.newest(*key);
                let at = self.begun_before(place, newest);
                let next = self.chains.version(at).next;
                if next != NONE && self.chains.version(at).writer != slot {
                    let other = Chains::start(self.chains.version(next).writer);
                    let begun = self.order.position(other);
                    if begun > 0 && begun < self.order.position(place) {
                        place = other;
                    }
                }
            }
            if place == before {
                break;
            }
        }
        if place != start {
            let place = self.gap_for(slot, writes.iter().map(|it| it.0), place).unwrap_or(place);
            self.order.ensure(&self.chains, self.chains.commit(slot), place).ok();
        }
    }

    /// The newest version that comes before an event: what a writer read may have taken it far back.
    fn begun_before(&self, event: u32, newest: u32) -> u32 {
        let position = self.order.position(event);
        let mut version = newest;
        loop {
            let it = self.chains.version(version);
            if it.writer == NONE || self.order.position(self.chains.commit(it.writer)) < position {
                return version;
            }
            version = it.previous;
        }
    }

    /// The newest version whose writer ended before.
    fn ended_before(&self, newest: u32, end: Option<i64>) -> u32 {
        let Some(end) = end else { return newest };
        let mut version = newest;
        for _ in 0..MAX_TRIES {
            let it = self.chains.version(version);
            if it.writer == NONE || self.chains.txn(it.writer).end.is_none_or(|it| it <= end) {
                return version;
            }
            version = it.previous;
        }
        newest
    }

    fn try_place(&mut self, op: u32, after: u32, value: &StreamedValue) -> Result<(), Attempt> {
        if self.is_pinned(self.chains.version(after).next) {
            if self.chains.op(op).version == NONE {
                let version = self.chains.add_version(op, after, value.clone());
                self.chains.take_out(version);
            }
            return Err(Attempt { choices: Vec::new(), keys: Vec::new() });
        }
        let version = match self.chains.op(op).version {
            NONE => self.chains.add_version(op, after, value.clone()),
            version => {
                self.chains.insert(version, after);
                version
            }
        };
        self.fit_version(version).map_err(|cycle| {
            let attempt = Attempt { choices: self.choices(&cycle), keys: self.keys_on(&cycle) };
            self.chains.take_out(version);
            attempt
        })
    }

    /// What a version's place in its chain implies.
    pub(super) fn fit_version(&mut self, version: u32) -> Result<(), Cycle> {
        let mut edges = std::mem::take(&mut self.edges);
        edges.clear();
        self.edges_of(version, &mut edges);
        for (from, to) in &edges {
            // Returned from here, so that nothing of a cycle is moved where there is none, which is nearly always.
            if let Err(cycle) = self.order.ensure(&self.chains, *from, *to) {
                self.edges = edges;
                return Err(cycle);
            }
        }
        self.edges = edges;
        Ok(())
    }

    fn edges_of(&self, version: u32, edges: &mut Vec<(u32, u32)>) {
        let chains = &self.chains;
        let it = chains.version(version);
        let (writer, previous, next) = (it.writer, it.previous, it.next);
        if previous != NONE {
            let overwritten = chains.version(previous).writer;
            if overwritten != NONE {
                edges.push((chains.commit(overwritten), chains.successor_of_version(writer)));
            }
            let readers = chains.readers(previous).filter(|it| *it != writer);
            edges.extend(readers.map(|it| (Chains::start(it), chains.commit(writer))));
        }
        if next != NONE {
            let overwriter = chains.version(next).writer;
            edges.push((chains.commit(writer), chains.successor_of_version(overwriter)));
            let readers = chains.readers(version).filter(|it| *it != overwriter);
            edges.extend(readers.map(|it| (Chains::start(it), chains.commit(overwriter))));
        }
    }
}
