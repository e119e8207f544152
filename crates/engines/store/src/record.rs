//! What happened, as a history.

use crate::Rows;
use crate::past::{ABSENT, KeyIdx, Past, Pos, ValueIdx};
use iso_evidence::{Event, Schedule, Source, Witness};
use iso_history::{
    Column, Datum, History, HistoryBuilder, KeyId, OpId, Outcome, Place, Predicate, SessionId, TxnId, ValueId,
};
use iso_spec::Level;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// How values are spelled in a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// As they were written; a row that is not there is null. Several writes of a key may look alike.
    AsWritten,
    /// What is written to a key again is numbered, as in `5#2`; so are deleted rows (`deleted`), and a row that was
    /// never there is null. Each read then has one possible writer.
    Distinct,
}

/// An operation that was served.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Recorded {
    /// A read of another transaction's version.
    Read {
        key: KeyIdx,
        value: ValueIdx,
        source: Pos,
    },
    /// A read of what the transaction itself wrote.
    ReadOwn {
        key: KeyIdx,
        value: ValueIdx,
    },
    Write {
        key: KeyIdx,
        value: ValueIdx,
    },
    /// A scan, by its number; its reads are the next so many operations.
    Scan {
        scan: u32,
        n_reads: u32,
    },
}

/// Everything that transactions that have ended did.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    txns: Vec<Ended>,
    ops: Vec<Recorded>,
    scans: Vec<(u32, Rows)>,
}

/// A transaction that has ended.
#[derive(Clone, Copy, Debug)]
struct Ended {
    session: u32,
    outcome: Outcome,
    /// Its place in the log, if it wrote and committed; else 0.
    pos: Pos,
    /// It has seen the log up to this place, at levels with snapshots.
    snapshot: Pos,
    ops_start: u32,
}

impl Record {
    pub(crate) fn add_scan(&mut self, table: u32, rows: Rows) -> u32 {
        self.scans.push((table, rows));
        self.scans.len() as u32 - 1
    }

    /// A transaction commits, at a place of the log if it wrote.
    pub(crate) fn commit(&mut self, session: u32, snapshot: Pos, pos: Option<Pos>, ops: &[Recorded]) {
        let ops_start = self.ops.len() as u32;
        self.txns.push(Ended { session, outcome: Outcome::Committed, pos: pos.unwrap_or(0), snapshot, ops_start });
        self.ops.extend_from_slice(ops);
    }

    pub(crate) fn abort(&mut self, session: u32, ops: &[Recorded]) {
        let ops_start = self.ops.len() as u32;
        self.txns.push(Ended { session, outcome: Outcome::Aborted, pos: 0, snapshot: 0, ops_start });
        self.ops.extend_from_slice(ops);
    }

    pub(crate) fn n_ops(&self) -> usize {
        self.ops.len()
    }

    fn ops_of(&self, txn_idx: usize) -> &[Recorded] {
        let end = self.txns.get(txn_idx + 1).map_or(self.ops.len(), |it| it.ops_start as usize);
        &self.ops[self.txns[txn_idx].ops_start as usize..end]
    }

    /// The transactions that have ended, in the order in which they did.
    pub(crate) fn history(&self, past: &Past, sessions: &[Arc<str>], values: Values) -> History {
        let mut writing = Writing::new(past, sessions, values);
        self.for_each(past, &mut |session, outcome, ops| {
            writing.builder.begin(SessionId::from_index(session as usize), Place::default());
            for op in ops {
                writing.write_down(*op);
            }
            writing.builder.end(outcome);
        });
        match writing.builder.finish() {
            Ok(history) => history,
            Err(defects) => unreachable!("transactions are ended and keys are registers: {defects:?}"),
        }
    }

    /// The same transactions, where scans are scans: rows that they did not return are not mentioned. Rows are called
    /// `table/row`, values are as they were written, and a row that is not there is null.
    pub(crate) fn history_with_scans(&self, past: &Past, sessions: &[Arc<str>]) -> History {
        let mut writing = WritingScans { past, builder: HistoryBuilder::new(), keys: vec![None; past.n_keys()] };
        for session in sessions {
            writing.builder.session(session);
        }
        for (idx, ended) in self.txns.iter().enumerate() {
            writing.builder.begin(SessionId::from_index(ended.session as usize), Place::default());
            let mut left = self.ops_of(idx);
            while let [first, rest @ ..] = left {
                left = rest;
                if let Recorded::Scan { scan, n_reads } = first {
                    let (reads, rest) = left.split_at(*n_reads as usize);
                    let (table, rows) = &self.scans[*scan as usize];
                    writing.scan(*table, rows, reads);
                    left = rest;
                } else {
                    writing.write_down(*first);
                }
            }
            writing.builder.end(ended.outcome);
        }
        match writing.builder.finish() {
            Ok(history) => history,
            Err(defects) => unreachable!("transactions are ended and keys are rows: {defects:?}"),
        }
    }

    /// For each external read of the history, whose version it saw.
    pub(crate) fn sources(&self, past: &Past) -> Vec<Source> {
        self.sources_of(past, |_| true)
    }

    fn sources_of(&self, past: &Past, is_wanted: impl Fn(Outcome) -> bool) -> Vec<Source> {
        let mut writers: FxHashMap<Pos, TxnId> = FxHashMap::default();
        writers.insert(0, TxnId::INITIAL);
        for (idx, ended) in self.txns.iter().enumerate().filter(|it| it.1.pos != 0) {
            writers.insert(ended.pos, TxnId::from_index(idx + 1));
        }
        let (mut n_ops, mut sources) = (0, Vec::new());
        self.for_each(past, &mut |_, outcome, ops| {
            for op in ops {
                if let Recorded::Read { source, .. } = op
                    && is_wanted(outcome)
                {
                    sources.push(Source { read: OpId::from_index(n_ops), writer: writers[source] });
                }
                n_ops += 1;
            }
        });
        sources
    }

    /// How the history came to be, which shows that the level allows it.
    pub(crate) fn witness(&self, past: &Past, level: Level) -> Witness {
        let is_committed = |txn: TxnId| self.txns[txn.index() - 1].outcome == Outcome::Committed;
        let txns = (1..=self.txns.len()).map(TxnId::from_index).filter(|it| is_committed(*it));
        let schedule = match level {
            Level::PrefixConsistency | Level::SnapshotIsolation => Schedule::Events(self.events(txns)),
            Level::Serializable => {
                let is_commit = |it: Event| match it {
                    Event::Commit(txn) => Some(txn),
                    Event::Snapshot(_) => None,
                };
                Schedule::Order(self.events(txns).into_iter().filter_map(is_commit).collect())
            }
            _ => Schedule::Order(txns.collect()),
        };
        Witness { schedule, sources: self.sources_of(past, |it| it == Outcome::Committed).into() }
    }

    /// Snapshots and commits in the order of the log. Who only reads commits right after its snapshot.
    fn events(&self, txns: impl Iterator<Item = TxnId>) -> Vec<Event> {
        let mut events = Vec::new();
        for txn in txns {
            let Ended { pos, snapshot, .. } = self.txns[txn.index() - 1];
            events.push(((snapshot, 1, txn), Event::Snapshot(txn)));
            let at = if pos == 0 { (snapshot, 1, txn) } else { (pos, 0, txn) };
            events.push((at, Event::Commit(txn)));
        }
        // A snapshot was pushed before its commit, and the sort is stable.
        events.sort_by_key(|it| it.0);
        events.into_iter().map(|it| it.1).collect()
    }

    /// Calls with each transaction and its operations; scans are reads of all their rows, later ones included.
    fn for_each(&self, past: &Past, call: &mut dyn FnMut(u32, Outcome, &[Recorded])) {
        let mut ops = Vec::new();
        for (idx, ended) in self.txns.iter().enumerate() {
            ops.clear();
            let mut left = self.ops_of(idx);
            while let [first, rest @ ..] = left {
                left = rest;
                if let Recorded::Scan { scan, n_reads } = first {
                    let (reads, rest) = left.split_at(*n_reads as usize);
                    self.expand_scan(past, *scan, reads, &mut ops);
                    left = rest;
                } else {
                    ops.push(*first);
                }
            }
            call(ended.session, ended.outcome, &ops);
        }
    }

    /// The reads of a scan, and those of rows that were not there yet.
    fn expand_scan(&self, past: &Past, scan: u32, reads: &[Recorded], ops: &mut Vec<Recorded>) {
        let (table, rows) = &self.scans[scan as usize];
        let key_of = |it: &Recorded| match it {
            Recorded::Read { key, .. } | Recorded::ReadOwn { key, .. } => *key,
            Recorded::Write { .. } | Recorded::Scan { .. } => unreachable!("a scan has reads only"),
        };
        let known: FxHashSet<KeyIdx> = reads.iter().map(key_of).collect();
        ops.extend_from_slice(reads);
        let is_later = |it: &KeyIdx| !known.contains(it);
        let later = past.rows(*table, rows).into_iter().filter(is_later);
        ops.extend(later.map(|key| Recorded::Read { key, value: ABSENT, source: 0 }));
    }
}

/// A history that is being written down.
struct Writing<'s> {
    past: &'s Past,
    values: Values,
    builder: HistoryBuilder,
    keys: Vec<Option<KeyId>>,
    /// By value, how it is spelled.
    spelled: FxHashMap<ValueIdx, ValueId>,
    used: FxHashSet<(KeyIdx, ValueId)>,
    /// By key and plain value, how many more there were.
    n_again: FxHashMap<(KeyIdx, ValueId), u32>,
}

impl<'s> Writing<'s> {
    fn new(past: &'s Past, sessions: &[Arc<str>], values: Values) -> Self {
        let mut builder = HistoryBuilder::new();
        for session in sessions {
            builder.session(session);
        }
        Self {
            past,
            values,
            builder,
            keys: vec![None; past.n_keys()],
            spelled: FxHashMap::default(),
            used: FxHashSet::default(),
            n_again: FxHashMap::default(),
        }
    }

    fn write_down(&mut self, op: Recorded) {
        match op {
            Recorded::Read { key, value, .. } | Recorded::ReadOwn { key, value } => {
                let (key_id, value) = (self.key(key), self.spelling(value));
                self.builder.read(key_id, value);
            }
            Recorded::Write { key, value } => {
                let key_id = self.key(key);
                let value_id = self.spell(key, value);
                self.builder.write(key_id, value_id);
            }
            Recorded::Scan { .. } => unreachable!("scans are written down as reads"),
        }
    }

    /// The key, with its initial value told.
    fn key(&mut self, key: KeyIdx) -> KeyId {
        if let Some(id) = self.keys[key as usize] {
            return id;
        }
        let entry = self.past.key(key);
        let id = self.builder.key(Datum::text(entry.key.to_string()));
        self.keys[key as usize] = Some(id);
        let initial = self.spell(key, entry.versions[0].value);
        self.builder.initial(id, initial, Place::default());
        id
    }

    fn spelling(&mut self, value: ValueIdx) -> ValueId {
        // Whoever is read from ended before, so its values are spelled.
        match self.spelled.get(&value) {
            Some(spelled) => *spelled,
            None => self.builder.value(Datum::Null),
        }
    }

    /// Chooses how a write's value is spelled.
    fn spell(&mut self, key: KeyIdx, value: ValueIdx) -> ValueId {
        let datum = self.past.value(value);
        let plain = match (datum, self.values) {
            (Some(datum), _) => datum.clone(),
            (None, Values::Distinct) if value != ABSENT => Datum::text("deleted"),
            (None, _) => Datum::Null,
        };
        let mut id = self.builder.value_named(plain.as_name());
        if self.values == Values::Distinct {
            let plain_id = id;
            while !self.used.insert((key, id)) {
                let n_again = self.n_again.entry((key, plain_id)).or_insert(1);
                *n_again += 1;
                id = self.builder.value(again(&plain, *n_again));
            }
        }
        self.spelled.insert(value, id);
        id
    }
}

/// A history with scans that is being written down.
struct WritingScans<'s> {
    past: &'s Past,
    builder: HistoryBuilder,
    keys: Vec<Option<KeyId>>,
}

impl WritingScans<'_> {
    fn scan(&mut self, table: u32, rows: &Rows, reads: &[Recorded]) {
        let mut returned = Vec::new();
        for read in reads {
            if let Recorded::Read { key, value, .. } | Recorded::ReadOwn { key, value } = *read
                && self.past.value(value).is_some()
            {
                returned.push((self.key(key), self.value(value)));
            }
        }
        // Names of rows are compared as texts here and as numbers there, so a part of a table is a list of its rows.
        let predicate = match rows {
            Rows::All => Predicate::All,
            Rows::Prefix(prefix) if prefix.is_empty() => Predicate::All,
            _ => {
                let row = |it: &KeyIdx| {
                    let name = &*self.past.key(*it).key.row;
                    name.parse::<i64>().ok().filter(|it| it.to_string() == *name).map_or(Datum::text(name), Datum::Int)
                };
                Predicate::OneOf(Column::Key, self.past.rows(table, rows).iter().map(row).collect())
            }
        };
        let name = self.past.table_name(table).to_owned();
        self.builder.scan(&name, predicate, returned);
    }

    fn write_down(&mut self, op: Recorded) {
        match op {
            Recorded::Read { key, value, .. } | Recorded::ReadOwn { key, value } => {
                let (key, value) = (self.key(key), self.value(value));
                self.builder.read(key, value);
            }
            Recorded::Write { key, value } => {
                let (key, value) = (self.key(key), self.value(value));
                self.builder.write(key, value);
            }
            Recorded::Scan { .. } => unreachable!("scans come with their reads"),
        }
    }

    fn key(&mut self, key: KeyIdx) -> KeyId {
        if let Some(id) = self.keys[key as usize] {
            return id;
        }
        let entry = self.past.key(key);
        let id = self.builder.key(Datum::text(format!("{}/{}", entry.key.table, entry.key.row)));
        self.keys[key as usize] = Some(id);
        let initial = self.value(entry.versions[0].value);
        self.builder.initial(id, initial, Place::default());
        id
    }

    fn value(&mut self, value: ValueIdx) -> ValueId {
        self.builder.value(self.past.value(value).cloned().unwrap_or(Datum::Null))
    }
}

/// How a value is spelled when it is written for the nth time.
fn again(plain: &Datum, nth: u32) -> Datum {
    Datum::text(match plain {
        Datum::Null => format!("null#{nth}"),
        Datum::Int(number) => format!("{number}#{nth}"),
        Datum::Number(text) | Datum::Text(text) | Datum::Record(text) => format!("{text}#{nth}"),
    })
}
