//! Savepoints: a transaction takes back what it wrote since, and goes on.
//!
//! What it read stays read, but for its own writes that are taken back. What its view knows stays known as well, so that a
//! write that is taken back may still be in conflict with another transaction.

use crate::open::Open;
use crate::past::ValueIdx;
use crate::record::{Recorded, Units, units};
use crate::{Error, Store};
use iso_history::{Locking, SessionId};
use rustc_hash::FxHashSet;

/// A place in an open transaction to which it can go back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Savepoint {
    /// Of its transaction, from 0: no number is given twice.
    number: u32,
}

/// A savepoint of an open transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenSavepoint {
    number: u32,
    /// So many operations come before.
    n_ops: usize,
}

impl Store {
    /// Marks where the session's transaction is now. An open statement ends.
    pub fn savepoint(&mut self, session: SessionId) -> Result<Savepoint, Error> {
        self.serve(session, |_, open| {
            open.end_statement(Locking::Free);
            let number = open.n_savepoints;
            open.n_savepoints += 1;
            open.savepoints.push(OpenSavepoint { number, n_ops: open.ops.len() });
            Ok(Savepoint { number })
        })
    }

    /// Takes back what the transaction wrote since a savepoint, which stays; later ones are gone. An open statement ends.
    ///
    /// Reads of what is taken back are taken back, too.
    pub fn rollback_to(&mut self, session: SessionId, savepoint: Savepoint) -> Result<(), Error> {
        let nth = self.nth_savepoint(session, savepoint)?;
        self.serve(session, |store, open| {
            open.end_statement(Locking::Free);
            open.savepoints.truncate(nth + 1);
            let n_ops = open.savepoints[nth].n_ops;
            let undone = if store.level.is_of_databases() { Undone::KeepsLocks } else { Undone::Forgets };
            open.undo_since(n_ops, undone);
            Ok(())
        })
    }

    /// Forgets a savepoint and those after it. What was written stays. An open statement ends.
    pub fn release(&mut self, session: SessionId, savepoint: Savepoint) -> Result<(), Error> {
        let nth = self.nth_savepoint(session, savepoint)?;
        self.serve(session, |_, open| {
            open.end_statement(Locking::Free);
            open.savepoints.truncate(nth);
            Ok(())
        })
    }

    fn nth_savepoint(&self, session: SessionId, savepoint: Savepoint) -> Result<usize, Error> {
        let open = self.open(session)?;
        let found = open.savepoints.iter().position(|it| it.number == savepoint.number);
        found.ok_or_else(|| Error::NoSavepoint { txn: self.name(session, open.nth) })
    }
}

/// What is left of an update that is taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Undone {
    /// A read.
    Forgets,
    /// A read of the newest version of the row, which stays locked.
    KeepsLocks,
}

impl Open {
    fn undo_since(&mut self, n_ops: usize, undone: Undone) {
        let tail = self.ops.split_off(n_ops);
        let values: FxHashSet<ValueIdx> = tail.iter().filter_map(Recorded::written).map(|it| it.1).collect();
        for unit in units(&tail) {
            self.keep_reads(&unit, &values, undone);
        }
        self.own.clear();
        self.own_keys.clear();
        for (key, value) in self.ops.iter().filter_map(Recorded::written) {
            if self.own.insert(key, value).is_none() {
                self.own_keys.push(key);
            }
        }
    }

    /// Records what is left of a statement, or of a call that is none.
    fn keep_reads(&mut self, unit: &Units<'_>, undone: &FxHashSet<ValueIdx>, left: Undone) {
        let (body, statement) = match *unit {
            Units::Statement { body, locking, moment } => (body, Some((locking, moment))),
            Units::Alone(body) => (body, None),
        };
        let is_updated = |read: &Recorded| body.iter().filter_map(Recorded::written).any(|it| Some(it.0) == read.key());
        let sees_undone = |it: &Recorded| matches!(it, Recorded::ReadOwn { value, .. } if undone.contains(value));
        let is_intact = !body.iter().any(|it| it.written().is_some() || sees_undone(it));
        let mut kept = Vec::new();
        let mut locked = Vec::new();
        for op in body {
            match op {
                Recorded::Write { .. } => {}
                // A scan that returned what is taken back says nothing of the rows that it did not return.
                Recorded::Scan { .. } if !is_intact => {}
                _ if sees_undone(op) => {}
                Recorded::Read { .. } if left == Undone::KeepsLocks && is_updated(op) => locked.push(*op),
                _ => kept.push(*op),
            }
        }
        let Some((locking, moment)) = statement else {
            self.ops.append(&mut kept);
            return;
        };
        if !kept.is_empty() {
            self.ops.push(Recorded::Statement { n_ops: kept.len() as u32, locking, moment });
            self.ops.append(&mut kept);
        }
        for read in locked {
            self.ops.push(Recorded::Statement { n_ops: 1, locking: Locking::ForUpdate, moment });
            self.ops.push(read);
        }
    }
}
