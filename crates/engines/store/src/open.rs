//! An open transaction: what it read and wrote so far.

use crate::adversary::Ancestors;
use crate::past::{KeyIdx, Past, Pos, ValueIdx};
use crate::record::Recorded;
use crate::savepoint::OpenSavepoint;
use crate::view::{Reads, View};
use crate::{Key, Rows, Writer};
use iso_history::Locking;
use rustc_hash::FxHashMap;

/// A transaction that was begun and has not ended.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    pub(crate) nth: u32,
    /// How many transactions had begun or ended.
    pub(crate) begun_at: i64,
    /// Everything up to here was seen when it began.
    pub(crate) floor: Pos,
    pub(crate) view: View,
    /// What each key was when it was read from others; not kept by levels at which it may change.
    pub(crate) reads: Reads,
    pub(crate) own: FxHashMap<KeyIdx, ValueIdx>,
    /// The keys of `own` in the order of their first writes.
    pub(crate) own_keys: Vec<KeyIdx>,
    pub(crate) ops: Vec<Recorded>,
    pub(crate) scans: Vec<OpenScan>,
    pub(crate) n_calls: usize,
    /// Where the open statement begins among the operations.
    pub(crate) statement: Option<usize>,
    /// Whether the statement asks for locks.
    pub(crate) locking: Locking,
    /// The rows that it has locked.
    pub(crate) locked: Vec<KeyIdx>,
    /// The rows that it made by inserts before it did anything else to them.
    pub(crate) made: Vec<KeyIdx>,
    pub(crate) savepoints: Vec<OpenSavepoint>,
    pub(crate) n_savepoints: u32,
    pub(crate) mood: Mood,
    /// What is left of the plan.
    pub(crate) planned: Vec<(Key, Writer)>,
    /// Versions of others that it has read, for an adversary.
    pub(crate) taken: Vec<(KeyIdx, u32)>,
    pub(crate) ancestors: Ancestors,
}

/// Which versions a transaction is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    /// What the policy says.
    Free,
    /// The newest ones, so that a second try succeeds.
    Careful,
}

/// A scan whose transaction has not ended: rows that come later were read, too, as missing.
#[derive(Clone, Debug)]
pub(crate) struct OpenScan {
    pub(crate) table: u32,
    pub(crate) rows: Rows,
    /// Rows that the transaction itself had written before.
    pub(crate) own: Vec<KeyIdx>,
    /// So many later rows of the table are known.
    pub(crate) n_born: usize,
}

impl Open {
    /// A statement begins, which may have a snapshot of its own.
    pub(crate) fn renew(&mut self) {
        if self.view.begin_statement() {
            self.reads.clear();
            self.scans.clear();
        }
    }

    /// Takes in what others committed since the last operation.
    pub(crate) fn refresh(&mut self, past: &Past) {
        // Before later rows are noted, as their writers may come after the first one who changed what was read.
        self.view.refresh(past, &self.reads);
        for scan in &mut self.scans {
            let born = &past.table(scan.table).born;
            for key in &born[scan.n_born..] {
                let is_missed = scan.rows.contains(&past.key(*key).key.row) && !scan.own.contains(key);
                if is_missed && self.reads.get(*key).is_none() {
                    self.reads.insert(*key, 0);
                    self.view.missed(past, *key);
                }
            }
            scan.n_born = born.len();
        }
    }

    /// What is planned for the next read of a key; from then on, it is not.
    pub(crate) fn take_planned(&mut self, key: &Key) -> Option<Writer> {
        let at = self.planned.iter().position(|it| it.0 == *key)?;
        Some(self.planned.remove(at).1)
    }
}
