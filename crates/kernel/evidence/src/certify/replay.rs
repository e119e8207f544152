//! Replays a schedule on an empty store and compares what each read returned.

use super::Uncertified;
use super::schedule::wrong;
use crate::{Event, Source};
use iso_history::{History, KeyId, Op, OpId, TxnId, ValueId};

/// May two transactions that overlap write the same key?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writers {
    Free,
    FirstCommitterWins,
}

/// Runs one transaction after the other.
pub(super) fn replay_serially(history: &History, order: &[TxnId]) -> Result<(), Uncertified> {
    let mut store = Store::new(history);
    for txn in order {
        store.read(*txn)?;
        store.write(*txn);
    }
    Ok(())
}

/// Does running one transaction after the other give what each read returned, from exactly these sources?
pub(super) fn is_serial(history: &History, order: &[TxnId], sources: &[Source]) -> bool {
    let mut store = Store::new(history);
    let mut writer = vec![TxnId::INITIAL; history.n_keys()];
    let is_sorted = sources.is_sorted_by(|a, b| a.read < b.read);
    is_sorted
        && order.iter().all(|txn| {
            let is_right = store.read(*txn).is_ok() && has_sources(history, *txn, &writer, sources);
            store.write(*txn);
            for op in history.ops(*txn).filter(|it| history.op(*it).is_write()) {
                writer[history.op(op).key().index()] = *txn;
            }
            is_right
        })
}

/// Does each read of what others wrote name the last writer of its key?
fn has_sources(history: &History, txn: TxnId, writer: &[TxnId], sources: &[Source]) -> bool {
    let mut own: Vec<KeyId> = Vec::new();
    history.ops(txn).all(|op| {
        let key = history.op(op).key();
        let is_external = match history.op(op) {
            Op::Write { .. } => {
                own.push(key);
                false
            }
            Op::Append { .. } => false,
            Op::Read { .. } => !own.contains(&key),
            Op::ReadList { .. } => true,
        };
        let named = sources.binary_search_by_key(&op, |it| it.read).map(|it| sources[it].writer);
        !is_external || named == Ok(writer[key.index()])
    })
}

/// Runs snapshots and commits. All reads of a transaction happen at its snapshot.
pub(super) fn replay_snapshots(history: &History, events: &[Event], writers: Writers) -> Result<(), Uncertified> {
    let mut store = Store::new(history);
    let mut snapshot_at = vec![0; history.n_txns()];
    for event in events {
        match *event {
            Event::Snapshot(txn) => {
                store.read(txn)?;
                snapshot_at[txn.index()] = store.n_commits;
            }
            Event::Commit(txn) => {
                if writers == Writers::FirstCommitterWins {
                    store.check_unchanged_since(txn, snapshot_at[txn.index()])?;
                }
                store.write(txn);
            }
        }
    }
    Ok(())
}

/// What a store holds: the last value of each register, the elements of each list.
struct Store<'h> {
    history: &'h History,
    registers: Vec<ValueId>,
    lists: Vec<Vec<ValueId>>,
    changed_at: Vec<usize>,
    n_commits: usize,
    /// What the transaction being replayed wrote itself: per key, the last value or the first own element's place.
    own: Vec<(KeyId, ValueId)>,
}

impl<'h> Store<'h> {
    fn new(history: &'h History) -> Self {
        Self {
            history,
            registers: history.keys().map(|it| history.initial_value(it)).collect(),
            lists: vec![Vec::new(); history.n_keys()],
            changed_at: vec![0; history.n_keys()],
            n_commits: 0,
            own: Vec::new(),
        }
    }

    fn read(&mut self, txn: TxnId) -> Result<(), Uncertified> {
        self.own.clear();
        for op in self.history.ops(txn) {
            match self.history.op(op) {
                Op::Write { key, value } | Op::Append { key, value } => self.own.push((key, value)),
                Op::Read { key, value } => {
                    let own = self.own.iter().rev().find(|it| it.0 == key).map(|it| it.1);
                    self.compare(txn, op, own.unwrap_or(self.registers[key.index()]) == value)?;
                }
                Op::ReadList { key, values } => {
                    let own = self.own.iter().filter(|it| it.0 == key).map(|it| &it.1);
                    let is_same = self.lists[key.index()].iter().chain(own).eq(values.iter());
                    self.compare(txn, op, is_same)?;
                }
            }
        }
        Ok(())
    }

    fn compare(&self, txn: TxnId, op: OpId, is_same: bool) -> Result<(), Uncertified> {
        if is_same {
            return Ok(());
        }
        let what = format!("does not see {} when the schedule is replayed", self.history.render_op(op));
        Err(wrong(self.history, txn, &what))
    }

    fn write(&mut self, txn: TxnId) {
        self.n_commits += 1;
        for op in self.history.ops(txn) {
            match self.history.op(op) {
                Op::Write { key, value } => self.registers[key.index()] = value,
                Op::Append { key, value } => self.lists[key.index()].push(value),
                Op::Read { .. } | Op::ReadList { .. } => continue,
            }
            self.changed_at[self.history.op(op).key().index()] = self.n_commits;
        }
    }

    fn check_unchanged_since(&self, txn: TxnId, snapshot: usize) -> Result<(), Uncertified> {
        let mut writes = self.history.ops(txn).filter(|it| self.history.op(*it).is_write());
        match writes.find(|it| self.changed_at[self.history.op(*it).key().index()] > snapshot) {
            None => Ok(()),
            Some(op) => {
                let what =
                    format!("commits {} although somebody else did since its snapshot", self.history.render_op(op));
                Err(wrong(self.history, txn, &what))
            }
        }
    }
}
