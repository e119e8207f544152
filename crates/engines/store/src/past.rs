//! What has been committed: a log of transactions, and the versions of each key in its order.

use crate::{Key, Rows};
use iso_history::Datum;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// A place in the log. The initial state is at 0.
pub(crate) type Pos = u32;
/// A key by its number.
pub(crate) type KeyIdx = u32;
/// One value of one write, by its number; no two writes share one.
pub(crate) type ValueIdx = u32;

/// The value of a row that was never there.
pub(crate) const ABSENT: ValueIdx = 0;

/// Everything that was committed.
#[derive(Clone, Debug)]
pub(crate) struct Past {
    key_ids: FxHashMap<Key, KeyIdx>,
    keys: Vec<KeyPast>,
    table_ids: FxHashMap<Arc<str>, u32>,
    tables: Vec<Table>,
    log: Vec<Commit>,
    /// The keys that each transaction of the log wrote, one after the other.
    written: Vec<KeyIdx>,
    /// No value is a deleted or never existing row.
    values: Vec<Option<Datum>>,
}

/// A key with all its versions, the initial one first.
#[derive(Clone, Debug)]
pub(crate) struct KeyPast {
    pub(crate) key: Key,
    pub(crate) table: u32,
    pub(crate) versions: Vec<Version>,
    /// By session in ascending order: which versions are its own.
    by_session: Vec<(u32, Vec<u32>)>,
    is_row: bool,
    /// Who had it locked last, committed here.
    free_since: Pos,
    /// Has somebody read or written it?
    is_touched: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Version {
    pub(crate) pos: Pos,
    pub(crate) value: ValueIdx,
}

/// The rows of a table that have ever been there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    rows: BTreeMap<Arc<str>, KeyIdx>,
    /// Those that are not of the initial state, in the order in which they came.
    pub(crate) born: Vec<KeyIdx>,
    /// Which rows were asked for by scans.
    scanned: FxHashSet<Rows>,
}

/// A transaction that wrote something.
#[derive(Clone, Debug)]
pub(crate) struct Commit {
    pub(crate) session: u32,
    pub(crate) nth: u32,
    writes_start: u32,
    /// What it saw and itself, for levels that ask about causes: by session how many transactions.
    pub(crate) clock: Box<[u32]>,
}

impl Past {
    pub(crate) fn new() -> Self {
        let initial = Commit { session: u32::MAX, nth: 0, writes_start: 0, clock: Box::default() };
        Self {
            key_ids: FxHashMap::default(),
            keys: Vec::new(),
            table_ids: FxHashMap::default(),
            tables: Vec::new(),
            log: vec![initial],
            written: Vec::new(),
            values: vec![None],
        }
    }

    /// The number of a key, made at its first mention.
    pub(crate) fn intern(&mut self, key: &Key) -> KeyIdx {
        if let Some(idx) = self.key_ids.get(key) {
            return *idx;
        }
        let idx = self.keys.len() as KeyIdx;
        let table = self.intern_table(&key.table);
        let versions = vec![Version { pos: 0, value: ABSENT }];
        self.keys.push(KeyPast {
            key: key.clone(),
            table,
            versions,
            by_session: Vec::new(),
            is_row: false,
            free_since: 0,
            is_touched: false,
        });
        self.key_ids.insert(key.clone(), idx);
        idx
    }

    pub(crate) fn intern_table(&mut self, name: &str) -> u32 {
        if let Some(idx) = self.table_ids.get(name) {
            return *idx;
        }
        let idx = self.tables.len() as u32;
        self.tables.push(Table::default());
        self.table_ids.insert(name.into(), idx);
        idx
    }

    /// What a table is called.
    pub(crate) fn table_name(&self, table: u32) -> &str {
        self.table_ids.iter().find(|it| *it.1 == table).map_or("", |it| &**it.0)
    }

    pub(crate) fn n_keys(&self) -> usize {
        self.keys.len()
    }

    pub(crate) fn add_value(&mut self, value: Option<Datum>) -> ValueIdx {
        self.values.push(value);
        self.values.len() as ValueIdx - 1
    }

    pub(crate) fn value(&self, value: ValueIdx) -> Option<&Datum> {
        self.values[value as usize].as_ref()
    }

    pub(crate) fn key(&self, key: KeyIdx) -> &KeyPast {
        &self.keys[key as usize]
    }

    pub(crate) fn table(&self, table: u32) -> &Table {
        &self.tables[table as usize]
    }

    pub(crate) fn commit_at(&self, pos: Pos) -> &Commit {
        &self.log[pos as usize]
    }

    /// The place of the last commit.
    pub(crate) fn end(&self) -> Pos {
        self.log.len() as Pos - 1
    }

    /// The keys that a transaction wrote; none for the initial state, which wrote all.
    pub(crate) fn written_by(&self, pos: Pos) -> &[KeyIdx] {
        self.written_since(pos, pos)
    }

    /// The keys that the transactions from one place to another wrote.
    pub(crate) fn written_since(&self, first: Pos, last: Pos) -> &[KeyIdx] {
        let start_of = |pos: Pos| self.log.get(pos as usize).map_or(self.written.len(), |it| it.writes_start as usize);
        &self.written[start_of(first)..start_of(last + 1)]
    }

    /// Somebody reads or writes a key.
    pub(crate) fn touch(&mut self, key: KeyIdx) {
        self.keys[key as usize].is_touched = true;
    }

    /// Whoever had a key locked commits here.
    pub(crate) fn set_free(&mut self, key: KeyIdx, since: Pos) {
        self.keys[key as usize].free_since = since;
    }

    /// A scan reads these rows of a table, missing ones included.
    pub(crate) fn note_scan(&mut self, table: u32, rows: &Rows) {
        let scanned = &mut self.tables[table as usize].scanned;
        if !scanned.contains(rows) {
            scanned.insert(rows.clone());
        }
    }

    /// Has somebody read or written a key?
    pub(crate) fn is_touched(&self, key: KeyIdx) -> bool {
        let entry = self.key(key);
        let scanned = &self.tables[entry.table as usize].scanned;
        entry.is_touched || scanned.iter().any(|it| it.contains(&entry.key.row))
    }

    /// Sets the initial value of a key.
    pub(crate) fn load(&mut self, key: KeyIdx, value: Datum) {
        let value = self.add_value(Some(value));
        self.keys[key as usize].versions[0].value = value;
        self.make_row(key);
    }

    /// Appends a transaction to the log.
    pub(crate) fn commit(&mut self, session: u32, nth: u32, clock: Box<[u32]>, writes: &[(KeyIdx, ValueIdx)]) -> Pos {
        let pos = self.log.len() as Pos;
        self.log.push(Commit { session, nth, writes_start: self.written.len() as u32, clock });
        for (key, value) in writes {
            self.written.push(*key);
            self.keys[*key as usize].push_version(session, Version { pos, value: *value });
            if self.make_row(*key) {
                let table = self.keys[*key as usize].table;
                self.tables[table as usize].born.push(*key);
            }
        }
        pos
    }

    /// From now on the key is a row of its table. Answers whether it was none.
    fn make_row(&mut self, key: KeyIdx) -> bool {
        let entry = &mut self.keys[key as usize];
        if entry.is_row {
            return false;
        }
        entry.is_row = true;
        self.tables[entry.table as usize].rows.insert(entry.key.row.clone(), key);
        true
    }

    /// The rows of a table that have ever been there and that a scan reads, in order.
    pub(crate) fn rows(&self, table: u32, rows: &Rows) -> Vec<KeyIdx> {
        let range = (Bound::Included(rows.start()), Bound::Unbounded);
        let found = self.tables[table as usize].rows.range::<str, _>(range);
        found.take_while(|it| rows.contains(it.0)).map(|it| *it.1).collect()
    }
}

impl KeyPast {
    fn push_version(&mut self, session: u32, version: Version) {
        let idx = self.versions.len() as u32;
        self.versions.push(version);
        match self.by_session.binary_search_by_key(&session, |it| it.0) {
            Ok(at) => self.by_session[at].1.push(idx),
            Err(at) => self.by_session.insert(at, (session, vec![idx])),
        }
    }

    /// Nobody has had it locked since this place of the log.
    pub(crate) fn free_since(&self) -> Pos {
        self.free_since
    }

    /// Is it a row of its table: loaded, or written by somebody who committed?
    pub(crate) fn is_row(&self) -> bool {
        self.is_row
    }

    /// The last version by its number.
    pub(crate) fn newest(&self) -> u32 {
        self.versions.len() as u32 - 1
    }

    /// The place of a version's writer.
    pub(crate) fn pos(&self, version: u32) -> Pos {
        self.versions[version as usize].pos
    }

    /// The last version that was there at a place of the log.
    pub(crate) fn at(&self, pos: Pos) -> u32 {
        self.versions.partition_point(|it| it.pos <= pos) as u32 - 1
    }

    /// The version that the transaction at this place wrote.
    pub(crate) fn written_at(&self, pos: Pos) -> Option<u32> {
        self.versions.binary_search_by_key(&pos, |it| it.pos).ok().map(|it| it as u32)
    }

    /// The versions that a session wrote.
    pub(crate) fn of_session(&self, session: u32) -> &[u32] {
        match self.by_session.binary_search_by_key(&session, |it| it.0) {
            Ok(at) => &self.by_session[at].1,
            Err(_) => &[],
        }
    }

    /// Each session that wrote the key, with its versions.
    pub(crate) fn sessions(&self) -> &[(u32, Vec<u32>)] {
        &self.by_session
    }
}
