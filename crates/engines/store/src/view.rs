//! What an open transaction may still read, given what it has read: one kind of view for each family of levels.
//!
//! The order of the log is the witness: a level's relation of arbitration or commit order. So what is legal needs no
//! search. A view narrows with each read and never gets empty: the oldest version of its span is always legal.

mod atomic;
mod causal;
mod moments;
mod prefix;

use crate::past::{KeyIdx, Past, Pos};
use atomic::Atomic;
use causal::Causal;
use iso_spec::Level;
use moments::Moments;
use prefix::Prefix;
use rustc_hash::FxHashMap;

/// By key, which version a transaction has read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reads {
    by_key: FxHashMap<KeyIdx, u32>,
    list: Vec<(KeyIdx, u32)>,
}

impl Reads {
    pub(crate) fn get(&self, key: KeyIdx) -> Option<u32> {
        self.by_key.get(&key).copied()
    }

    pub(crate) fn clear(&mut self) {
        self.by_key.clear();
        self.list.clear();
    }

    pub(crate) fn insert(&mut self, key: KeyIdx, version: u32) {
        self.by_key.insert(key, version);
        self.list.push((key, version));
    }

    /// Each key with its version, in the order in which they were read.
    pub(crate) fn list(&self) -> &[(KeyIdx, u32)] {
        &self.list
    }
}

/// What a session's transactions have seen, which its next one must see, too.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// By session, how many of its transactions.
    clock: Vec<u32>,
    /// Everything up to this place.
    until: Pos,
}

/// What an open transaction may still read.
#[derive(Clone, Debug)]
pub(crate) enum View {
    /// Read committed and read atomic.
    Atomic(Atomic),
    /// Causal consistency and parallel snapshot isolation.
    Causal(Causal),
    /// Prefix consistency, snapshot isolation and serializability.
    Prefix(Prefix),
    /// Levels of databases whose locks act on the newest version.
    Moments(Moments),
}

/// A transaction can never commit: another one changed the key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blocked {
    pub(crate) key: KeyIdx,
    pub(crate) by: Pos,
}

impl View {
    /// The view at the beginning of a session's next transaction; none for a level without views.
    pub(crate) fn new(level: Level, session: u32, seen: &Seen, past: &Past) -> Option<Self> {
        let until = seen.until.max(past.floor());
        if let Some(snapshots) = level.snapshots() {
            return Some(Self::Moments(Moments::new(snapshots, until)));
        }
        Some(match level {
            Level::ReadCommitted => Self::Atomic(Atomic::by_read(past)),
            Level::ReadAtomic => Self::Atomic(Atomic::by_txn(session, past)),
            Level::CausalConsistency => Self::Causal(Causal::new(causal::Writes::Free, &seen.clock, past)),
            Level::ParallelSnapshotIsolation => Self::Causal(Causal::new(causal::Writes::Seen, &seen.clock, past)),
            Level::PrefixConsistency => Self::Prefix(Prefix::new(prefix::Writes::Free, until, past)),
            Level::SnapshotIsolation | Level::RowSnapshots => {
                Self::Prefix(Prefix::new(prefix::Writes::Seen, until, past))
            }
            Level::Serializable => Self::Prefix(Prefix::new(prefix::Writes::AtTheEnd, until, past)),
            // What ended before it began is seen.
            Level::StrictSerializable => Self::Prefix(Prefix::new(prefix::Writes::AtTheEnd, past.end(), past)),
            _ => return None,
        })
    }

    /// Takes in what was committed since the transaction looked last.
    pub(crate) fn refresh(&mut self, past: &Past, reads: &Reads) {
        match self {
            Self::Atomic(_) => {}
            Self::Causal(view) => view.refresh(past, reads),
            Self::Prefix(view) => view.refresh(past, reads),
            Self::Moments(view) => view.refresh(past, reads),
        }
    }

    /// Can the transaction not go on?
    pub(crate) fn blocked(&self) -> Option<Blocked> {
        match self {
            Self::Prefix(view) => view.blocked(),
            _ => None,
        }
    }

    /// The oldest version of a key that may be read, and the newest one that there may be.
    pub(crate) fn span(&self, past: &Past, key: KeyIdx) -> (u32, u32) {
        match self {
            Self::Atomic(view) => view.span(past, key),
            Self::Causal(view) => view.span(past, key),
            Self::Prefix(view) => view.span(past, key),
            Self::Moments(view) => view.span(past, key),
        }
    }

    /// May this version, which is in the span, be read?
    pub(crate) fn allows(&self, past: &Past, reads: &Reads, key: KeyIdx, version: u32) -> bool {
        match self {
            Self::Atomic(view) => view.allows(past, reads, past.key(key).pos(version)),
            Self::Causal(view) => view.allows(past, past.key(key).pos(version)),
            Self::Prefix(_) | Self::Moments(_) => true,
        }
    }

    /// The transaction reads this version.
    pub(crate) fn take(&mut self, past: &Past, key: KeyIdx, version: u32) {
        match self {
            Self::Atomic(view) => view.take(past, past.key(key).pos(version)),
            Self::Causal(view) => view.take(past, key, version),
            Self::Prefix(view) => view.take(past, key, version),
            Self::Moments(view) => view.take(past, key, version),
        }
    }

    /// The transaction has seen before that there was no such row, which now there is.
    pub(crate) fn missed(&mut self, past: &Past, key: KeyIdx) {
        match self {
            Self::Atomic(_) => {}
            Self::Causal(view) => view.take(past, key, 0),
            Self::Prefix(view) => view.take(past, key, 0),
            Self::Moments(view) => view.take(past, key, 0),
        }
    }

    /// The transaction is to write this key after its last version.
    pub(crate) fn write(&mut self, past: &Past, key: KeyIdx) -> Result<(), Blocked> {
        match self {
            Self::Atomic(_) | Self::Moments(_) => Ok(()),
            Self::Causal(view) => view.write(past, key),
            Self::Prefix(view) => view.write(past, key),
        }
    }

    /// A statement begins. Answers whether it forgets what was read before.
    pub(crate) fn begin_statement(&mut self) -> bool {
        match self {
            Self::Moments(view) => view.begin_statement(),
            _ => false,
        }
    }

    /// A row is locked that was free from this place on.
    pub(crate) fn lock(&mut self, free_since: Pos) {
        if let Self::Moments(view) = self {
            view.lock(free_since);
        }
    }

    /// A snapshot that was taken has nothing that comes after this place.
    pub(crate) fn end_snapshot(&mut self, last: Pos) {
        if let Self::Moments(view) = self {
            view.end_snapshot(last);
        }
    }

    /// What comes next is not earlier than this place, where statements have moments.
    pub(crate) fn since(&self) -> Pos {
        match self {
            Self::Moments(view) => view.first(),
            _ => 0,
        }
    }

    /// The clock that the transaction has in the log.
    pub(crate) fn clock(&mut self, session: u32, nth: u32) -> Box<[u32]> {
        match self {
            Self::Causal(view) => view.clock(session, nth),
            _ => Box::default(),
        }
    }

    /// The snapshot, as early as can be; 0 where there are none.
    pub(crate) fn snapshot(&self) -> Pos {
        match self {
            Self::Prefix(view) => view.first(),
            Self::Moments(view) => view.snapshot(),
            _ => 0,
        }
    }

    /// What the session has seen once the transaction committed, at a place of the log if it wrote.
    pub(crate) fn into_seen(self, pos: Option<Pos>) -> Seen {
        match self {
            Self::Atomic(_) => Seen::default(),
            Self::Causal(view) => Seen { clock: view.into_seen(), until: 0 },
            // Who only reads takes place where its snapshot is, as early as can be.
            Self::Prefix(view) => Seen { clock: Vec::new(), until: pos.unwrap_or(view.first()) },
            Self::Moments(view) => Seen { clock: Vec::new(), until: pos.unwrap_or(view.first()) },
        }
    }
}
