//! Read committed and read atomic: whoever reads from a transaction sees all that it wrote.
//!
//! Under read committed that binds the reads that follow; under read atomic all reads, and what the session wrote
//! before is seen as well.

use super::Reads;
use crate::past::{KeyIdx, Past, Pos};
use rustc_hash::{FxHashMap, FxHashSet};

/// Transactions that write more than this are looked up by key, and not copied.
const MAX_COPIED: usize = 64;

#[derive(Clone, Debug)]
pub(crate) struct Atomic {
    scope: Scope,
    /// It has seen everything up to here.
    since: Pos,
    sources: FxHashSet<Pos>,
    /// By key, the last of the sources that wrote it.
    floors: FxHashMap<KeyIdx, Pos>,
    /// Sources with too many keys to note them.
    large: Vec<Pos>,
}

/// Which reads a source binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// Those that follow.
    Later,
    /// All of the transaction, which belongs to this session.
    Txn(u32),
}

impl Atomic {
    pub(crate) fn by_read(past: &Past) -> Self {
        Self::new(Scope::Later, past.floor())
    }

    pub(crate) fn by_txn(session: u32, past: &Past) -> Self {
        Self::new(Scope::Txn(session), past.floor())
    }

    fn new(scope: Scope, since: Pos) -> Self {
        Self { scope, since, sources: FxHashSet::default(), floors: FxHashMap::default(), large: Vec::new() }
    }

    pub(crate) fn span(&self, past: &Past, key: KeyIdx) -> (u32, u32) {
        let entry = past.key(key);
        let noted = self.floors.get(&key).copied().and_then(|it| entry.written_at(it));
        let of_large = self.large.iter().filter_map(|it| entry.written_at(*it)).max();
        let own = match self.scope {
            Scope::Later => None,
            Scope::Txn(session) => entry.of_session(session).last().copied(),
        };
        let bound = noted.max(of_large).max(own).unwrap_or(0);
        (bound.max(entry.at(self.since)), entry.newest())
    }

    pub(crate) fn allows(&self, past: &Past, reads: &Reads, source: Pos) -> bool {
        if self.scope == Scope::Later || source <= self.since || self.sources.contains(&source) {
            return true;
        }
        let is_older = |key: KeyIdx, version: u32| past.key(key).pos(version) < source;
        let written = past.written_by(source);
        if written.len() <= reads.list().len() {
            !written.iter().any(|key| reads.get(*key).is_some_and(|version| is_older(*key, version)))
        } else {
            let overwrites = |(key, version): &(KeyIdx, u32)| {
                is_older(*key, *version) && past.key(*key).written_at(source).is_some()
            };
            !reads.list().iter().any(overwrites)
        }
    }

    pub(crate) fn take(&mut self, past: &Past, source: Pos) {
        if source <= self.since || !self.sources.insert(source) {
            return;
        }
        let written = past.written_by(source);
        if written.len() > MAX_COPIED {
            self.large.push(source);
            return;
        }
        for key in written {
            let floor = self.floors.entry(*key).or_default();
            *floor = source.max(*floor);
        }
    }
}
