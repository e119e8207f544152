//! Parts of a history: some transactions, some of their operations.
//!
//! If a history is allowed by a level, then so is each of its projections: every level of the catalogue is kept when
//! transactions that no remaining read reads from are taken away, and when reads and writes are taken away. A
//! forbidden projection therefore shows that the whole history is forbidden. What makes this true is that a read
//! stays only if everybody who may have written what it saw stays too.

use crate::lists::Appends;
use crate::{Facts, History, HistoryBuilder, KeyId, Locking, Matching, Op, OpId, Place, Statement, TxnId, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// A part of a history, with the way back to the whole.
#[derive(Clone, Debug)]
pub struct Projection {
    /// The part, a history of its own.
    pub history: History,
    /// For each transaction of the part, the initial one included, which one it is in the whole.
    pub txns: Vec<TxnId>,
    /// For each operation of the part, which one it is in the whole.
    pub ops: Vec<OpId>,
    /// For each key of the part, which one it is in the whole.
    pub keys: Vec<KeyId>,
}

impl Projection {
    /// The part with the transactions `keep` (ascending), without the operations `without`.
    ///
    /// Dropping the last write of a register, or any append to a list, drops all writes of that key by that
    /// transaction. Reads go that do not stand on their own without what was dropped, and so do overwritten writes and
    /// reads of a transaction's own writes: they say nothing about other transactions.
    pub fn new(facts: &Facts<'_>, keep: &[TxnId], without: &BTreeSet<OpId>) -> Self {
        let history = facts.history();
        let appends = Appends::new_of(history, keep);
        let dropped: BTreeSet<(TxnId, KeyId)> = without
            .iter()
            .map(|it| (*it, history.txn_of(*it), history.op(*it).key()))
            .filter(|(op, txn, key)| {
                history.op(*op).is_write() && (history.is_list(*key) || is_last_write(history, *txn, *op))
            })
            .map(|(_, txn, key)| (txn, key))
            .collect();
        let keeps_write = |txn: TxnId, key: KeyId| {
            txn.is_initial() || (keep.binary_search(&txn).is_ok() && !dropped.contains(&(txn, key)))
        };
        let stays = |op: OpId| {
            let txn = history.txn_of(op);
            let key = history.op(op).key();
            match history.op(op) {
                _ if without.contains(&op) => false,
                Op::Write { .. } => keeps_write(txn, key) && is_last_write(history, txn, op),
                Op::Append { .. } => keeps_write(txn, key),
                // Of an insert, the read means nothing without the write.
                Op::Read { .. } if history.makes_rows() && history.is_insert(op) && !keeps_write(txn, key) => false,
                Op::Read { .. } | Op::ReadList { .. } | Op::Omit { .. } => match position(facts, op) {
                    Some(read_idx) => {
                        let candidates = facts.candidates(read_idx);
                        !candidates.is_empty() && candidates.iter().all(|it| keeps_write(*it, key))
                    }
                    None => match facts.open_list(op) {
                        Some(possible) => possible.iter().all(|it| keeps_write(*it, key)),
                        None => facts.last_of_partial_list(op).is_some_and(|it| keeps_write(it, key)),
                    },
                },
            }
        };
        // An element of the reader's own stands at the end, and no other can be its own.
        let element_stays = |read: OpId, nth: usize, value: ValueId| {
            let (reader, key) = (history.txn_of(read), history.op(read).key());
            let is_own = nth >= n_external(history, read);
            let stays = |it: &(TxnId, u32)| (it.0 == reader) == is_own && keeps_write(it.0, key);
            appends.all(key, value).iter().any(stays)
        };
        Self::copy(history, keep, stays, element_stays)
    }

    /// The part with the transactions `txns` and those of their operations that `stays` names, as they are. It has them in the order
    /// of `txns`, in which those of a session are ascending.
    ///
    /// Only elements whose append does not stay are left out of list reads.
    pub fn verbatim(history: &History, txns: &[TxnId], stays: impl Fn(OpId) -> bool) -> Self {
        let appended = |op: OpId| match history.op(op) {
            Op::Append { key, value } => Some((key, value)),
            _ => None,
        };
        let all: FxHashSet<(KeyId, ValueId)> =
            history.txns().flat_map(|it| history.ops(it)).filter_map(appended).collect();
        let of_part = txns.iter().flat_map(|it| history.ops(*it)).filter(|it| stays(*it));
        let kept: FxHashSet<(KeyId, ValueId)> = of_part.filter_map(appended).collect();
        let element_stays = |read: OpId, _: usize, value: ValueId| {
            let key = history.op(read).key();
            kept.contains(&(key, value)) || !all.contains(&(key, value))
        };
        Self::copy(history, txns, stays, element_stays)
    }

    fn copy(
        history: &History,
        txns: &[TxnId],
        stays: impl Fn(OpId) -> bool,
        element_stays: impl Fn(OpId, usize, ValueId) -> bool,
    ) -> Self {
        let mut copy = Copy::new(history);
        for txn in txns.iter().filter(|it| !it.is_initial()) {
            copy.begin(*txn);
            for op in history.ops(*txn).filter(|it| stays(*it)) {
                copy.turn_to(op);
                copy.op(op, &element_stays);
                if history.sees_newest(op) {
                    copy.builder.lock_last_read();
                }
                if history.is_made_by(op) {
                    copy.builder.made_by_last_write();
                }
            }
            copy.end_statement();
            copy.builder.end(history.outcome(*txn));
        }
        copy.finish()
    }
}

fn is_last_write(history: &History, txn: TxnId, op: OpId) -> bool {
    let key = history.op(op).key();
    let last = history.ops(txn).rev().find(|it| history.op(*it).is_write() && history.op(*it).key() == key);
    last == Some(op)
}

/// How many elements of a list read are not the reader's own, if it ends in those.
pub(crate) fn n_external(history: &History, read: OpId) -> usize {
    let Op::ReadList { key, values } = history.op(read) else { return 0 };
    let is_own = |it: &OpId| matches!(history.op(*it), Op::Append { key: list, .. } if list == key);
    let n_own = history.ops(history.txn_of(read)).take_while(|it| *it < read).filter(is_own).count();
    values.len().saturating_sub(n_own)
}

fn position(facts: &Facts<'_>, op: OpId) -> Option<usize> {
    facts.reads().binary_search_by_key(&op, |it| it.op).ok()
}

impl Appends {
    /// Indexes the appends of some transactions only.
    fn new_of(history: &History, txns: &[TxnId]) -> Self {
        let mut appends = Self::default();
        for txn in txns {
            for op in history.ops(*txn) {
                if let Op::Append { key, value } = history.op(op) {
                    appends.add(*txn, key, value);
                }
            }
        }
        appends
    }
}

/// Copies operations into a builder, by name.
pub(crate) struct Copy<'h> {
    history: &'h History,
    pub(crate) builder: HistoryBuilder,
    txns: Vec<TxnId>,
    ops: Vec<OpId>,
    pub(crate) keys: Vec<KeyId>,
    values: FxHashMap<ValueId, ValueId>,
    taken: FxHashSet<ValueId>,
    statement: Option<Statement>,
}

impl<'h> Copy<'h> {
    pub(crate) fn new(history: &'h History) -> Self {
        let mut builder = HistoryBuilder::new();
        for (name, unit) in &history.sources {
            builder.source(name.clone(), *unit);
        }
        Self {
            history,
            builder,
            txns: vec![TxnId::INITIAL],
            ops: Vec::new(),
            keys: Vec::new(),
            values: FxHashMap::default(),
            taken: FxHashSet::default(),
            statement: None,
        }
    }

    pub(crate) fn begin(&mut self, txn: TxnId) {
        let session = self.history.session_of(txn).map_or("init", |it| self.history.session_name(it));
        self.begin_in(txn, session);
    }

    /// Begins a transaction in another session than its own.
    pub(crate) fn begin_in(&mut self, txn: TxnId, session: &str) {
        let session = self.builder.session(session);
        self.builder.begin(session, self.history.place(txn));
        self.builder.times(self.history.begin(txn), self.history.end(txn));
        self.txns.push(txn);
    }

    /// Opens the statement of an operation, unless it is open already.
    fn turn_to(&mut self, op: OpId) {
        if !self.history.has_statements() {
            return;
        }
        let statement = self.history.statement_of(op);
        if self.statement.is_some_and(|it| it != statement) {
            self.end_statement();
        }
        if self.statement.is_none() {
            self.statement = Some(statement);
            self.builder.begin_statement();
        }
    }

    fn end_statement(&mut self) {
        if self.statement.take().is_some() {
            // Which reads lock is said of each.
            self.builder.end_statement(Locking::Free);
        }
    }

    pub(crate) fn op(&mut self, op: OpId, element_stays: &impl Fn(OpId, usize, ValueId) -> bool) {
        self.ops.push(op);
        let key = self.key(self.history.op(op).key());
        match self.history.op(op) {
            Op::Read { value, .. } => {
                let value = self.value(value);
                match self.history.scan_of(op).map(|it| self.history.scan(it)) {
                    Some(scan) => self.builder.returned(scan.table, scan.predicate.clone(), key, value),
                    None => self.builder.read(key, value),
                }
            }
            Op::Write { value, .. } => {
                let value = self.value(value);
                self.builder.write(key, value);
            }
            Op::Append { value, .. } => {
                let value = self.value(value);
                self.builder.append(key, value);
            }
            Op::Omit { scan, .. } => {
                let scan = self.history.scan(scan);
                self.builder.omit(scan.table, scan.predicate.clone(), key);
            }
            Op::ReadList { values, .. } => {
                let kept = values.iter().enumerate().filter(|(nth, it)| element_stays(op, *nth, **it));
                let kept: Vec<ValueId> = kept.map(|(_, it)| self.value(*it)).collect();
                self.builder.read_list(key, kept);
            }
        }
    }

    fn key(&mut self, key: KeyId) -> KeyId {
        let copied = self.builder.key_named(self.history.key_name(key));
        if copied.index() == self.keys.len() {
            self.keys.push(key);
        }
        if !self.history.is_list(key) {
            let initial = self.value(self.history.initial_value(key));
            self.builder.initial(copied, initial, Place::default());
        }
        copied
    }

    /// The value of the same name; values that are told apart stay so.
    fn value(&mut self, value: ValueId) -> ValueId {
        if let Some(copied) = self.values.get(&value) {
            return *copied;
        }
        let named = self.builder.value_named(self.history.value(value));
        let copied = if self.taken.insert(named) { named } else { self.builder.value_again(named) };
        self.values.insert(value, copied);
        copied
    }

    /// Which of the versions match foreign predicates.
    fn copy_matching(&mut self) {
        let said = &self.history.sql.said;
        let kept = said.iter().filter(|it| self.keys.contains(&it.1) && self.values.contains_key(&it.2));
        for (foreign, key, value) in kept {
            let key = self.builder.key_named(self.history.key_name(*key));
            self.builder.matching(foreign, key, self.values[value], Matching::Matches, Place::default());
        }
    }

    pub(crate) fn finish(mut self) -> Projection {
        self.copy_matching();
        let history = self.builder.finish().expect("a part of a valid history is valid");
        Projection { history, txns: self.txns, ops: self.ops, keys: self.keys }
    }
}
