//! What has been committed: a log of transactions, and the versions of each key in its order.
//!
//! What everybody who begins has seen is one state, the *floor*: of each key its newest version there. Once no open transaction
//! began before, what led to it can be forgotten ([`Past::forget`]).

use crate::{Key, Rows};
use iso_history::Datum;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// A place in the log. The initial state is at 0.
pub(crate) type Pos = u64;
/// A key by its number.
pub(crate) type KeyIdx = u32;
/// One value of one write, by its number; no two writes that are remembered share one.
pub(crate) type ValueIdx = u32;

/// The session of the initial state.
const NOBODY: u32 = u32::MAX;

/// The value of a row that was never there.
pub(crate) const ABSENT: ValueIdx = 0;

/// Everything that was committed.
#[derive(Clone, Debug)]
pub(crate) struct Past {
    key_ids: FxHashMap<Key, KeyIdx>,
    keys: Vec<KeyPast>,
    table_ids: FxHashMap<Arc<str>, u32>,
    tables: Vec<Table>,
    /// Stands for the initial state, and for all that is forgotten.
    initial: Commit,
    /// What comes after what is forgotten.
    log: Vec<Commit>,
    /// The keys that each transaction of the log wrote, one after the other.
    written: Vec<KeyIdx>,
    /// So many others wrote that are forgotten.
    n_written_forgotten: u64,
    /// Whoever begins has seen everything up to here.
    floor: Pos,
    /// By session, how many of its transactions that is.
    floor_clock: Vec<u32>,
    /// The log begins after this place.
    forgotten: Pos,
    /// No value is a deleted or never existing row.
    values: Vec<Option<Datum>>,
    /// Numbers of values that are forgotten.
    free_values: Vec<ValueIdx>,
}

/// A key with its versions, old ones first: the initial one and all others, or those that are remembered.
#[derive(Clone, Debug)]
pub(crate) struct KeyPast {
    pub(crate) key: Key,
    pub(crate) table: u32,
    versions: Vec<Version>,
    /// So many came before them.
    n_forgotten: u32,
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
    writes_start: u64,
    /// What it saw and itself, for levels that ask about causes: by session how many transactions.
    pub(crate) clock: Box<[u32]>,
}

impl Past {
    pub(crate) fn new() -> Self {
        let initial = Commit { session: NOBODY, nth: 0, writes_start: 0, clock: Box::default() };
        Self {
            key_ids: FxHashMap::default(),
            keys: Vec::new(),
            table_ids: FxHashMap::default(),
            tables: Vec::new(),
            initial,
            log: Vec::new(),
            written: Vec::new(),
            n_written_forgotten: 0,
            floor: 0,
            floor_clock: Vec::new(),
            forgotten: 0,
            values: vec![None],
            free_values: Vec::new(),
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
            n_forgotten: 0,
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
        if let Some(idx) = self.free_values.pop() {
            self.values[idx as usize] = value;
            return idx;
        }
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

    /// Who committed there; for what is forgotten, nobody.
    pub(crate) fn commit_at(&self, pos: Pos) -> &Commit {
        match pos.checked_sub(self.forgotten + 1) {
            Some(idx) => &self.log[idx as usize],
            None => &self.initial,
        }
    }

    /// The place of the last commit.
    pub(crate) fn end(&self) -> Pos {
        self.forgotten + self.log.len() as Pos
    }

    /// Whoever begins now has seen everything up to here.
    pub(crate) fn floor(&self) -> Pos {
        self.floor
    }

    /// By session, how many transactions whoever begins now has seen.
    pub(crate) fn floor_clock(&self) -> &[u32] {
        &self.floor_clock
    }

    /// Whoever begins from now on has seen everything up to here.
    pub(crate) fn raise_floor(&mut self, floor: Pos) {
        for pos in self.floor + 1..=floor {
            let Commit { session, nth, .. } = *self.commit_at(pos);
            let session = session as usize;
            if self.floor_clock.len() <= session {
                self.floor_clock.resize(session + 1, 0);
            }
            self.floor_clock[session] = nth + 1;
        }
        self.floor = floor;
    }

    /// Forgets how the state at a place came to be, which is below the floor of everybody. `version_gone` hears of each version.
    pub(crate) fn forget(&mut self, until: Pos, mut version_gone: impl FnMut(KeyIdx, u32)) {
        let first = self.forgotten + 1;
        if until < first {
            return;
        }
        // Whatever was overwritten up to there has a writer up to there.
        let n_written = self.written_since(first, until).len();
        let n_free = self.free_values.len();
        for key in &self.written[..n_written] {
            let entry = &mut self.keys[*key as usize];
            let n_gone = entry.n_before(until);
            for (version, gone) in (entry.n_forgotten..).zip(&entry.versions[..n_gone]) {
                version_gone(*key, version);
                if gone.value != ABSENT {
                    self.values[gone.value as usize] = None;
                    self.free_values.push(gone.value);
                }
            }
            entry.forget(n_gone);
        }
        // The last one is taken first: what comes together then stands together, and memory brings it at once.
        self.free_values[n_free..].sort_unstable_by(|one, other| other.cmp(one));
        self.written.drain(..n_written);
        self.n_written_forgotten += n_written as u64;
        self.log.drain(..(until - self.forgotten) as usize);
        self.forgotten = until;
    }

    /// Nobody will ask for a value that was written.
    pub(crate) fn drop_value(&mut self, value: ValueIdx) {
        self.values[value as usize] = None;
        self.free_values.push(value);
    }

    /// The keys that a transaction wrote; none for the initial state, which wrote all.
    pub(crate) fn written_by(&self, pos: Pos) -> &[KeyIdx] {
        self.written_since(pos, pos)
    }

    /// The keys that the transactions from one place to another wrote.
    pub(crate) fn written_since(&self, first: Pos, last: Pos) -> &[KeyIdx] {
        let start_of = |pos: Pos| {
            let commit =
                pos.checked_sub(self.forgotten + 1).map_or(Some(&self.initial), |it| self.log.get(it as usize));
            let start = |it: &Commit| it.writes_start.saturating_sub(self.n_written_forgotten) as usize;
            commit.map_or(self.written.len(), start)
        };
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
        let pos = self.end() + 1;
        let writes_start = self.n_written_forgotten + self.written.len() as u64;
        self.log.push(Commit { session, nth, writes_start, clock });
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

impl Commit {
    /// Is it the initial state, or forgotten?
    pub(crate) fn is_nobodys(&self) -> bool {
        self.session == NOBODY
    }
}

impl KeyPast {
    fn push_version(&mut self, session: u32, version: Version) {
        let idx = self.newest() + 1;
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
        self.n_forgotten + self.versions.len() as u32 - 1
    }

    /// The first version that is remembered, by its number.
    pub(crate) fn oldest(&self) -> u32 {
        self.n_forgotten
    }

    /// A version by its number.
    pub(crate) fn version(&self, version: u32) -> Version {
        self.versions[(version - self.n_forgotten) as usize]
    }

    /// The value of the initial version, where nothing is forgotten.
    pub(crate) fn initial(&self) -> ValueIdx {
        self.versions[0].value
    }

    /// The versions after this one, old ones first.
    pub(crate) fn after(&self, version: u32) -> &[Version] {
        self.versions.get((version - self.n_forgotten) as usize + 1..).unwrap_or(&[])
    }

    /// The place of a version's writer.
    pub(crate) fn pos(&self, version: u32) -> Pos {
        self.version(version).pos
    }

    /// The last version that was there at a place of the log.
    pub(crate) fn at(&self, pos: Pos) -> u32 {
        self.n_forgotten + self.versions.partition_point(|it| it.pos <= pos).saturating_sub(1) as u32
    }

    /// The version that the transaction at this place wrote.
    pub(crate) fn written_at(&self, pos: Pos) -> Option<u32> {
        let found = self.versions.binary_search_by_key(&pos, |it| it.pos);
        found.ok().map(|it| self.n_forgotten + it as u32)
    }

    /// How many versions that are remembered were overwritten at a place of the log.
    fn n_before(&self, pos: Pos) -> usize {
        self.versions.partition_point(|it| it.pos <= pos).saturating_sub(1)
    }

    /// Forgets the oldest versions.
    fn forget(&mut self, n_gone: usize) {
        if n_gone == 0 {
            return;
        }
        self.versions.drain(..n_gone);
        self.n_forgotten += n_gone as u32;
        for (_, versions) in &mut self.by_session {
            let n_gone = versions.partition_point(|it| *it < self.n_forgotten);
            versions.drain(..n_gone);
        }
        self.by_session.retain(|it| !it.1.is_empty());
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
