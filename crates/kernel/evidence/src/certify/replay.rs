//! Replays a schedule on an empty store and compares what each read returned. Cost: linear in operations.

use super::own::OwnWrites;
use super::sources::NamedSources;
use super::uncertified::{Uncertified, wrong};
use crate::Event;
use iso_history::{History, KeyId, Op, OpId, TxnId, ValueId};

/// May two transactions that overlap write the same key?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writers {
    Free,
    FirstCommitterWins,
    /// The second one must not, unless it makes a row that is not there.
    FirstUpdaterWins,
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
pub(super) fn is_serial(history: &History, order: &[TxnId], sources: &NamedSources<'_>) -> bool {
    let mut store = Store::new(history);
    let mut last_writer = vec![TxnId::INITIAL; history.n_keys()];
    order.iter().all(|txn| {
        let mut named = sources.of(*txn);
        let is_last = |op: OpId, key: KeyId| named.next(op) == Some(last_writer[key.index()]);
        let is_right = store.read_if(*txn, is_last).is_ok();
        store.write(*txn);
        for op in history.ops(*txn) {
            if let Op::Write { key, .. } | Op::Append { key, .. } = history.op(op) {
                last_writer[key.index()] = *txn;
            }
        }
        is_right
    })
}

/// Runs snapshots and commits. All reads of a transaction happen at its snapshot.
pub(super) fn replay_snapshots(history: &History, events: &[Event], writers: Writers) -> Result<(), Uncertified> {
    let mut store = Store::new(history);
    let mut snapshot_at = vec![0; history.n_txns()];
    for event in events {
        match *event {
            Event::Snapshot(txn) => {
                match writers {
                    Writers::Free | Writers::FirstCommitterWins => store.read(txn)?,
                    Writers::FirstUpdaterWins => store.read_but_inserts(txn)?,
                }
                snapshot_at[txn.index()] = store.n_commits;
            }
            Event::Commit(txn) => {
                if writers != Writers::Free {
                    store.check_unchanged_since(txn, snapshot_at[txn.index()], writers)?;
                }
                if writers == Writers::FirstUpdaterWins {
                    store.check_inserts(txn)?;
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
    changed_at: Vec<u32>,
    n_commits: u32,
    /// What the transaction being replayed wrote itself.
    own: OwnWrites,
}

impl<'h> Store<'h> {
    fn new(history: &'h History) -> Self {
        Self {
            history,
            registers: history.keys().map(|it| history.initial_value(it)).collect(),
            lists: vec![Vec::new(); history.n_keys()],
            changed_at: vec![0; history.n_keys()],
            n_commits: 0,
            own: OwnWrites::new(history),
        }
    }

    fn read(&mut self, txn: TxnId) -> Result<(), Uncertified> {
        self.read_if(txn, |_, _| true)
    }

    /// Compares each read with the store; those of what others wrote must satisfy the question, too.
    fn read_if(&mut self, txn: TxnId, is_right: impl FnMut(OpId, KeyId) -> bool) -> Result<(), Uncertified> {
        self.read_some(txn, &[], is_right)
    }

    /// Leaves out inserts, which look at the row when the transaction commits.
    fn read_but_inserts(&mut self, txn: TxnId) -> Result<(), Uncertified> {
        let history = self.history;
        let inserts: Vec<OpId> = history.ops(txn).filter(|it| history.is_insert(*it)).collect();
        self.read_some(txn, &inserts, |_, _| true)
    }

    /// No row is there that the transaction inserts, unless it was there before in its own sight.
    fn check_inserts(&mut self, txn: TxnId) -> Result<(), Uncertified> {
        let history = self.history;
        let mut written: Vec<KeyId> = Vec::new();
        for op in history.ops(txn) {
            match history.op(op) {
                Op::Write { key, .. } => written.push(key),
                Op::Read { key, value }
                    if history.is_insert(op) && !written.contains(&key) && self.registers[key.index()] != value =>
                {
                    return Err(wrong(history, txn, "inserts a row that is there when it commits"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// As [`Store::read_if`], but for reads of the last state that look at it later.
    fn read_some(
        &mut self,
        txn: TxnId,
        at_commit: &[OpId],
        mut is_right: impl FnMut(OpId, KeyId) -> bool,
    ) -> Result<(), Uncertified> {
        self.own.start(txn);
        for op in self.history.ops(txn) {
            let is_same = match self.history.op(op) {
                Op::Write { key, value } => {
                    self.own.write(key, value);
                    true
                }
                Op::Append { key, value } => {
                    self.own.append(key, value);
                    true
                }
                Op::Read { key, value } => match self.own.last(key) {
                    Some(own) => own == value,
                    None if at_commit.contains(&op) => true,
                    None => self.registers[key.index()] == value && is_right(op, key),
                },
                Op::Omit { key, scan } => {
                    let (seen, is_own) =
                        self.own.last(key).map_or((self.registers[key.index()], false), |it| (it, true));
                    !self.history.matches(scan, key, seen) && (is_own || is_right(op, key))
                }
                Op::ReadList { key, values } => {
                    let elements = self.lists[key.index()].iter().chain(self.own.elements(key));
                    elements.eq(values.iter()) && is_right(op, key)
                }
            };
            if !is_same {
                let what = format!("does not see {} when the schedule is replayed", self.history.render_op(op));
                return Err(wrong(self.history, txn, &what));
            }
        }
        Ok(())
    }

    fn write(&mut self, txn: TxnId) {
        self.n_commits += 1;
        for op in self.history.ops(txn) {
            let key = match self.history.op(op) {
                Op::Write { key, value } => {
                    self.registers[key.index()] = value;
                    key
                }
                Op::Append { key, value } => {
                    self.lists[key.index()].push(value);
                    key
                }
                Op::Read { .. } | Op::ReadList { .. } | Op::Omit { .. } => continue,
            };
            self.changed_at[key.index()] = self.n_commits;
        }
    }

    fn check_unchanged_since(&self, txn: TxnId, snapshot: u32, writers: Writers) -> Result<(), Uncertified> {
        let is_made =
            |it: OpId| writers == Writers::FirstUpdaterWins && self.history.makes(txn, self.history.op(it).key());
        let mut writes = self.history.ops(txn).filter(|it| self.history.op(*it).is_write() && !is_made(*it));
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
