//! Moves a writer that was told long after it took effect back to where all of its versions fit.
//!
//! Who writes without reading says nothing about its place. Others do, when they read what it would have overwritten. By then
//! there may be many versions behind its place, of each of its keys: exchanging neighbours does not get there. So the
//! gaps between versions are looked at from the new ones to the old, of all its keys at once, for the latest one that nobody reads across.
//! Cost: the versions that are passed, with their readers.

use super::super::chains::{Chains, NONE};
use super::super::order::{Graph, RealTime};
use super::Strong;
use iso_history::KeyId;

/// So many gaps are looked at.
const MAX_GAPS: usize = 1 << 12;

/// Where a version may go: between two neighbours.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor {
    /// What goes there, if it is in the chain already.
    own: u32,
    at: u32,
    next: u32,
}

impl Strong {
    /// Moves a writer with all its versions to somewhere before an event, so that everything fits that fitted before.
    pub(super) fn move_back(&mut self, writer: u32, before: u32) -> bool {
        let (start, commit) = (Chains::start(writer), self.chains.commit(writer));
        let (from, to) = (self.order.position(start), self.order.position(before));
        if from == 0 || to == 0 || to >= from || before >> 1 == writer {
            return false;
        }
        let owned = self.chains.ops_of(writer).map(|it| self.chains.op(it)).filter(|it| it.is_write);
        let owned: Vec<u32> = owned.map(|it| it.version).collect();
        if !self.pinned.is_empty() || owned.iter().any(|it| *it == NONE || self.chains.version(*it).previous == NONE) {
            return false;
        }
        let cursor = |own: &u32| {
            let it = self.chains.version(*own);
            Cursor { own: *own, at: it.previous, next: it.next }
        };
        let mut cursors: Vec<Cursor> = owned.iter().map(cursor).collect();
        let low = self.latest_read(writer);
        let Some(place) = self.gap(writer, &mut cursors, before, low) else { return false };
        if !self.readers_fit(&cursors) || !self.keeps_real_time(writer, place) {
            return false;
        }
        for version in &owned {
            self.chains.take_out(*version);
        }
        let events = [start, commit];
        self.order.move_before(if start == commit { &events[..1] } else { &events }, place);
        for cursor in cursors {
            self.chains.insert(cursor.own, cursor.at);
        }
        true
    }

    /// A writer of these keys that has no versions yet: a place before the event at which its commit can be, for all of them.
    pub(super) fn gap_for(&mut self, writer: u32, keys: impl Iterator<Item = KeyId>, before: u32) -> Option<u32> {
        let newest = keys.map(|it| Cursor { own: NONE, at: self.chains.newest(it), next: NONE });
        let mut cursors: Vec<Cursor> = newest.collect();
        let low = self.latest_read(writer);
        self.gap(writer, &mut cursors, before, low)
    }

    /// The position of the last event that a transaction must see: the one before in its session, and its sources.
    fn latest_read(&self, txn: u32) -> u64 {
        let before = self.chains.txn(txn).before;
        let session = if before == NONE { 0 } else { self.order.position(self.chains.commit(before)) };
        let reads =
            self.chains.ops_of(txn).map(|it| self.chains.op(it)).filter(|it| !it.is_write && it.version != NONE);
        let writers = reads.map(|it| self.chains.version(it.version).writer).filter(|it| *it != NONE);
        writers.map(|it| self.order.position(self.chains.commit(it))).max().unwrap_or(0).max(session)
    }

    /// The event before which all the versions fit, the latest one; nothing if there is none behind `low`.
    fn gap(&self, writer: u32, cursors: &mut [Cursor], before: u32, low: u64) -> Option<u32> {
        let order = &self.order;
        let mut place = before;
        for _ in 0..MAX_GAPS {
            let position = order.position(place);
            if position <= low {
                return None;
            }
            let mut earliest = (position, place);
            for cursor in cursors.iter_mut() {
                let event = self.obstacle(writer, cursor, position)?;
                let at = event.map_or(u64::MAX, |it| order.position(it));
                if at == 0 {
                    return None;
                }
                if let Some(event) = event
                    && at < earliest.0
                {
                    earliest = (at, event);
                }
            }
            if earliest.1 == place {
                return Some(place);
            }
            place = earliest.1;
        }
        None
    }

    /// Moves to the gap of a key at this position. If a version cannot be there, the event before which it must be; nothing
    /// at all if that has left.
    #[allow(clippy::option_option, reason = "nowhere, here, or further back")]
    fn obstacle(&self, writer: u32, cursor: &mut Cursor, position: u64) -> Option<Option<u32>> {
        let (chains, order) = (&self.chains, &self.order);
        loop {
            let it = chains.version(cursor.at);
            let is_before = it.writer == NONE || order.position(chains.commit(it.writer)) < position;
            if cursor.at != cursor.own && it.writer != writer && is_before {
                break;
            }
            if cursor.at != cursor.own && it.writer != writer {
                cursor.next = cursor.at;
            }
            cursor.at = it.previous;
            if cursor.at == NONE {
                return None;
            }
        }
        if cursor.next != NONE {
            let overwriter = chains.successor_of_version(chains.version(cursor.next).writer);
            if order.position(overwriter) < position {
                return Some(Some(overwriter));
            }
        }
        let mut readers = chains.readers(cursor.at).filter(|it| *it != writer);
        if readers.any(|it| order.position(Chains::start(it)) >= position) {
            return match chains.version(cursor.at).writer {
                NONE => None,
                older => Some(Some(chains.successor_of_version(older))),
            };
        }
        Some(None)
    }

    /// Does nobody who read one of the versions come after what overwrites it then?
    fn readers_fit(&self, cursors: &[Cursor]) -> bool {
        cursors.iter().filter(|it| it.next != NONE).all(|it| {
            let overwriter = self.chains.version(it.next).writer;
            let at = self.order.position(self.chains.commit(overwriter));
            let mut readers = self.chains.readers(it.own).filter(|it| *it != overwriter);
            readers.all(|it| self.order.position(Chains::start(it)) < at)
        })
    }

    /// Did nobody whom it passes end before it began?
    fn keeps_real_time(&self, writer: u32, place: u32) -> bool {
        if self.real_time == RealTime::Ignored {
            return true;
        }
        let Some(begin) = self.chains.txn(writer).begin else { return true };
        let has_ended = |it: u32| self.chains.times(it).1.is_some_and(|end| end < begin);
        self.order.back_from(Chains::start(writer)).take_while(|it| *it != place).all(|it| !has_ended(it))
            && !has_ended(place)
    }
}
