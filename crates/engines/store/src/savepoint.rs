//! Savepoints: a transaction takes back what it wrote since, and goes on.
//!
//! What it read stays read, but for its own writes that are taken back. What its view knows stays known as well, so that a
//! write that is taken back may still be in conflict with another transaction.

use crate::open::Open;
use crate::past::{Past, ValueIdx};
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
            let values = open.undo_since(&store.past, n_ops, undone);
            if store.record.keeps_nothing() {
                for value in values {
                    store.past.drop_value(value);
                }
            }
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
    /// Answers which values are taken back.
    fn undo_since(&mut self, past: &Past, n_ops: usize, undone: Undone) -> Vec<ValueIdx> {
        let tail = self.ops.split_off(n_ops);
        let values: FxHashSet<ValueIdx> = tail.iter().filter_map(Recorded::written).map(|it| it.1).collect();
        let mut has_written = false;
        for unit in units(&tail) {
            // Scans that lock do not tell which rows of the transaction itself they did not find.
            let may_miss = has_written && undone == Undone::KeepsLocks;
            has_written |= unit.body().iter().any(|it| it.written().is_some());
            self.keep_reads(past, &unit, &values, undone, may_miss);
        }
        self.own.clear();
        self.own_keys.clear();
        for (key, value) in self.ops.iter().filter_map(Recorded::written) {
            if self.own.insert(key, value).is_none() {
                self.own_keys.push(key);
            }
        }
        self.made.retain(|it| self.own.contains_key(it));
        let mut values: Vec<ValueIdx> = values.into_iter().collect();
        values.sort_unstable();
        values
    }

    /// Records what is left of a statement, or of a call that is none.
    fn keep_reads(
        &mut self,
        past: &Past,
        unit: &Units<'_>,
        undone: &FxHashSet<ValueIdx>,
        left: Undone,
        may_miss: bool,
    ) {
        let (body, statement) = match *unit {
            Units::Statement { body, locking, moment, locked } => (body, Some((locking, moment, locked))),
            Units::Alone(body) => (body, None),
        };
        let is_updated = |read: &Recorded| body.iter().filter_map(Recorded::written).any(|it| Some(it.0) == read.key());
        let sees_undone = |it: &Recorded| matches!(it, Recorded::ReadOwn { value, .. } if undone.contains(value));
        let is_intact = !may_miss && !body.iter().any(|it| it.written().is_some() || sees_undone(it));
        let mut kept = Vec::new();
        let mut locked = Vec::new();
        for op in body {
            match op {
                Recorded::Write { .. } => {}
                // A scan that returned what is taken back says nothing of the rows that it did not return.
                Recorded::Scan { .. } if !is_intact => {}
                _ if sees_undone(op) => {}
                Recorded::Read { value, .. } if left == Undone::KeepsLocks && is_updated(op) => {
                    // An insert looked for a row only to make it.
                    locked.extend(past.value(*value).map(|_| *op));
                }
                _ => kept.push(*op),
            }
        }
        let Some((locking, moment, locked_at)) = statement else {
            self.ops.append(&mut kept);
            return;
        };
        if !kept.is_empty() {
            self.ops.push(Recorded::Statement { n_ops: kept.len() as u32, locking, moment, locked: locked_at });
            self.ops.append(&mut kept);
        }
        for read in locked {
            self.ops.push(Recorded::Statement { n_ops: 1, locking: Locking::ForUpdate, moment, locked: locked_at });
            self.ops.push(read);
        }
    }
}
