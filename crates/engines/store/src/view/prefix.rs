//! Prefix consistency, snapshot isolation and serializability: a transaction sees the log up to some place.
//!
//! Which place is left open as long as it can be: each read narrows the interval. A transaction that only reads takes
//! place right where its snapshot is.

use super::{Blocked, Reads};
use crate::past::{KeyIdx, Past, Pos};

#[derive(Clone, Debug)]
pub(crate) struct Prefix {
    writes: Writes,
    /// The snapshot has at least this place of the log.
    lo: Pos,
    /// And no later one than this, as the next one changed a key that was read.
    hi: Pos,
    /// That key.
    changed: KeyIdx,
    /// The interval knows the log up to here.
    checked: Pos,
    is_updating: bool,
}

/// What the snapshot of a writer must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writes {
    /// Nothing.
    Free,
    /// The last version of what it writes.
    Seen,
    /// Everything.
    AtTheEnd,
}

const OPEN: Pos = Pos::MAX;

impl Prefix {
    pub(crate) fn new(writes: Writes, seen: Pos, past: &Past) -> Self {
        Self { writes, lo: seen, hi: OPEN, changed: 0, checked: past.end(), is_updating: false }
    }

    /// A snapshot of somebody whose writes do not matter to it.
    pub(crate) fn reading(since: Pos, past: &Past) -> Self {
        Self::new(Writes::Free, since, past)
    }

    /// The earliest place that the snapshot can have.
    pub(crate) fn first(&self) -> Pos {
        self.lo
    }

    pub(crate) fn refresh(&mut self, past: &Past, reads: &Reads) {
        let end = past.end();
        // What was committed later is behind an upper bound anyway.
        if self.hi != OPEN || self.checked == end {
            return;
        }
        let first = self.checked + 1;
        if past.written_since(first, end).len() <= reads.list().len() {
            let change =
                |pos: Pos| past.written_by(pos).iter().find(|it| reads.get(**it).is_some()).map(|key| (pos, *key));
            if let Some((pos, key)) = (first..=end).find_map(change) {
                self.end_before(pos, key);
            }
        } else {
            for (key, version) in reads.list() {
                self.end_before_next(past, *key, *version);
            }
        }
        self.checked = end;
    }

    fn end_before_next(&mut self, past: &Past, key: KeyIdx, version: u32) {
        if let Some(next) = past.key(key).after(version).first() {
            self.end_before(next.pos, key);
        }
    }

    fn end_before(&mut self, pos: Pos, key: KeyIdx) {
        if pos - 1 < self.hi {
            (self.hi, self.changed) = (pos - 1, key);
        }
    }

    /// The snapshot has nothing that comes after this place.
    pub(crate) fn end_at(&mut self, last: Pos) {
        self.hi = self.hi.min(last);
    }

    pub(crate) fn blocked(&self) -> Option<Blocked> {
        let is_blocked = self.is_updating && self.hi != OPEN;
        is_blocked.then(|| Blocked { key: self.changed, by: self.hi + 1 })
    }

    pub(crate) fn span(&self, past: &Past, key: KeyIdx) -> (u32, u32) {
        let entry = past.key(key);
        let last = entry.at(self.hi);
        (if self.is_updating { last } else { entry.at(self.lo) }, last)
    }

    pub(crate) fn take(&mut self, past: &Past, key: KeyIdx, version: u32) {
        self.lo = self.lo.max(past.key(key).pos(version));
        self.end_before_next(past, key, version);
    }

    pub(crate) fn write(&mut self, past: &Past, key: KeyIdx) -> Result<(), Blocked> {
        match self.writes {
            Writes::Free => Ok(()),
            Writes::Seen => {
                let last = past.key(key).pos(past.key(key).newest());
                self.lo = self.lo.max(last);
                if self.lo > self.hi { Err(Blocked { key, by: last }) } else { Ok(()) }
            }
            Writes::AtTheEnd => {
                self.is_updating = true;
                self.blocked().map_or(Ok(()), Err)
            }
        }
    }
}
