//! Acknowledged writes that are gone at the end: what no isolation level looks at.
//!
//! Some sessions of a history may be *final*: they read when all others have ended and every node is up again. A database
//! that keeps what it acknowledged shows them each committed write, or what overwrote it. So a write is lost if a final
//! read returned what is certainly older:
//!
//! ```text
//! # final: end
//! init x=0
//! s1: { w(x,1) } @[1,2] { w(x,2) } @[3,4]
//! end: { r(x,1) } @[9,10]
//! ```
//!
//! Here `w(x,2)` is lost: whoever wrote 1 had ended before it began. Writes that overlap say nothing, because either may be
//! the newer one. A list only grows, so that an element that is not in it at the end is lost.

use iso_history::{History, KeyId, Name, Op, OpId, Outcome, Predicate, SessionId, TxnId, ValueId};
use std::collections::{BTreeMap, BTreeSet};

/// A write that was acknowledged and is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostWrite {
    /// The write, of a transaction that committed.
    pub write: OpId,
    /// The read of a final session that should have seen it, or what overwrote it.
    pub read: OpId,
}

/// The committed writes that final sessions show to be lost, in the order of the history.
pub fn lost_writes(history: &History, is_final: impl Fn(SessionId) -> bool) -> Vec<LostWrite> {
    let is_final = |txn: TxnId| history.session_of(txn).is_some_and(&is_final);
    let writes = Writes::of(history, &is_final);
    let mut lost: BTreeMap<OpId, OpId> = BTreeMap::new();
    for reader in history.txns().filter(|it| is_final(*it) && history.outcome(*it) == Outcome::Committed) {
        for read in history.ops(reader) {
            for write in writes.missed_by(read) {
                lost.entry(write).or_insert(read);
            }
        }
    }
    lost.into_iter().map(|(write, read)| LostWrite { write, read }).collect()
}

/// Who wrote a key, apart from final sessions.
struct Writes<'h> {
    history: &'h History,
    /// The last write of each transaction that did not abort.
    of_key: BTreeMap<KeyId, Vec<OpId>>,
    /// Every element that a committed transaction appended.
    appended: BTreeMap<KeyId, Vec<OpId>>,
}

impl<'h> Writes<'h> {
    fn of(history: &'h History, is_final: &impl Fn(TxnId) -> bool) -> Self {
        let mut writes = Self { history, of_key: BTreeMap::new(), appended: BTreeMap::new() };
        for txn in history.txns().filter(|it| !it.is_initial() && !is_final(*it)) {
            if history.outcome(txn) == Outcome::Aborted {
                continue;
            }
            let mut last: BTreeMap<KeyId, OpId> = BTreeMap::new();
            for op in history.ops(txn) {
                match history.op(op) {
                    Op::Write { key, .. } => drop(last.insert(key, op)),
                    Op::Append { key, .. } if history.outcome(txn) == Outcome::Committed => {
                        writes.appended.entry(key).or_default().push(op);
                    }
                    _ => {}
                }
            }
            for (key, op) in last {
                writes.of_key.entry(key).or_default().push(op);
            }
        }
        writes
    }

    /// The committed writes that a final read proves to be lost.
    fn missed_by(&self, read: OpId) -> Vec<OpId> {
        match self.history.op(read) {
            Op::ReadList { key, values } => {
                let seen: BTreeSet<ValueId> = values.iter().copied().collect();
                let appended = self.appended.get(&key).into_iter().flatten().copied();
                appended.filter(|it| self.value_of(*it).is_some_and(|it| !seen.contains(&it))).collect()
            }
            Op::Read { key, value } => self.missed(key, |it| it == value),
            // A row that a scan did not return is as if nothing were written.
            Op::Omit { key, scan } if *self.history.scan(scan).predicate == Predicate::All => {
                self.missed(key, |it| self.history.value(it) == Name::Null)
            }
            Op::Omit { .. } | Op::Write { .. } | Op::Append { .. } => Vec::new(),
        }
    }

    /// The committed writes of a key that are certainly newer than whatever was read, if that is what `is_read` says.
    fn missed(&self, key: KeyId, is_read: impl Fn(ValueId) -> bool) -> Vec<OpId> {
        let history = self.history;
        let writes = self.of_key.get(&key).map_or(&[][..], Vec::as_slice);
        let is_candidate = |it: &&OpId| self.value_of(**it).is_some_and(&is_read);
        let candidates: Vec<TxnId> = writes.iter().filter(is_candidate).map(|it| history.txn_of(*it)).collect();
        let may_be_initial = !history.is_list(key) && is_read(history.initial_value(key));
        if candidates.is_empty() && !may_be_initial {
            // Nobody wrote what was read; that is another anomaly.
            return Vec::new();
        }
        let is_older = |older: TxnId, newer: TxnId| {
            history.is_real_time_ordered(older, newer) || history.is_session_ordered(older, newer)
        };
        let is_lost = |write: &OpId| {
            let writer = history.txn_of(*write);
            history.outcome(writer) == Outcome::Committed && candidates.iter().all(|it| is_older(*it, writer))
        };
        writes.iter().copied().filter(is_lost).collect()
    }

    fn value_of(&self, write: OpId) -> Option<ValueId> {
        match self.history.op(write) {
            Op::Write { value, .. } | Op::Append { value, .. } => Some(value),
            _ => None,
        }
    }
}
