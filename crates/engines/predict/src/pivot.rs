//! Without a pivot, what snapshot isolation or prefix consistency allows is serializable.
//!
//! Take an order of versions with which the level allows a run. A cycle of dependencies in it has a transaction that is
//! entered at its commit (somebody read what it overwrites; under prefix consistency, somebody wrote that, too) and left
//! at its snapshot (it read what another one overwrites): without one, the cycle would be one of snapshots and commits,
//! which the level forbids. Whoever also writes the key that it read is none: either the other one comes later, and it
//! can be left at its commit, or it comes in between, which is a lost update. So in runs where whoever writes reads
//! only what it writes, there is nothing to predict, and no cycle has to be looked at.
//!
//! Source: Fekete et al. 2005 (dangerous structures). We differ: a pivot is any transaction that may be one in some run.
//! Cost: reads times writers of their keys.

use crate::Boundary;
use crate::frame::Frame;
use crate::trace::{INITIAL, Key, Read, Trace, TxnIdx};
use iso_solve::Lit;
use iso_spec::Level;

/// Literals of which one is true in every run that the level allows and serializability forbids. Nothing if the level is
/// not one of those that need a pivot.
pub(crate) fn pivots(trace: &Trace, frame: &Frame, level: Level) -> Option<Vec<Lit>> {
    let updates = match level {
        Level::SnapshotIsolation => Updates::AreNeverLost,
        Level::PrefixConsistency => Updates::MayBeLost,
        _ => return None,
    };
    let pivots = Pivots { trace, frame, updates };
    let complete = trace.txns().filter(|it| pivots.may_be_complete(*it)).map(|it| frame.complete[it as usize]);
    let cut = trace.txns().filter_map(|it| pivots.on_boundary(it));
    Some(complete.chain(cut).collect())
}

/// Whether two may overwrite the same version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Updates {
    AreNeverLost,
    MayBeLost,
}

struct Pivots<'a> {
    trace: &'a Trace,
    frame: &'a Frame,
    updates: Updates,
}

impl Pivots<'_> {
    /// May the transaction be a pivot if it is complete?
    fn may_be_complete(&self, txn: TxnIdx) -> bool {
        let mut reads = self.trace.reads[txn as usize].iter();
        !self.trace.writes[txn as usize].is_empty() && reads.any(|it| self.is_overwritten(txn, it))
    }

    /// May somebody overwrite what a complete transaction read, whom it has not seen and does not come before?
    fn is_overwritten(&self, txn: TxnIdx, read: &Read) -> bool {
        let Some(key) = read.key else { return false };
        let is_update = self.trace.write(txn, key).is_some();
        let is_left_at_commit = |other: TxnIdx| match self.updates {
            Updates::AreNeverLost => is_update,
            Updates::MayBeLost => is_update && self.comes_later(txn, other, key),
        };
        let mut others = self.trace.writers[key as usize].iter().copied();
        others.any(|it| !self.trace.is_in_past(it, txn) && !is_left_at_commit(it))
    }

    /// Is the other one later in every order of the key's versions? On the boundary, it may have seen less than observed.
    fn comes_later(&self, txn: TxnIdx, other: TxnIdx, key: Key) -> bool {
        self.trace.happens_before(txn, other) && self.frame.kept_write(self.trace, other, key).is_none()
    }

    /// If the transaction may be a pivot on the boundary, the literal that says that it is there with a write.
    fn on_boundary(&self, txn: TxnIdx) -> Option<Lit> {
        let writes = &self.trace.writes[txn as usize];
        let from = writes.iter().filter_map(|it| self.frame.kept_write(self.trace, txn, it.key)).min()?;
        let is_possible = match self.frame.boundary() {
            // The read at its end is of a key that it has not written.
            Boundary::Strict | Boundary::StrictEvents => true,
            Boundary::Relaxed => self.trace.reads[txn as usize].iter().any(|it| self.may_leave(txn, it)),
        };
        is_possible.then(|| self.frame.reached(txn, from)).flatten()
    }

    /// May a read of a transaction that is kept whole make it a pivot?
    fn may_leave(&self, txn: TxnIdx, read: &Read) -> bool {
        debug_assert!(read.source == INITIAL || read.source < txn);
        let is_update = read.key.is_some_and(|it| self.trace.write(txn, it).is_some());
        read.key.is_some() && !(is_update && self.updates == Updates::AreNeverLost)
    }
}
