//! The store: sessions begin transactions, read, write, and end them.

use crate::adversary::{Adversary, Ancestors};
use crate::choose;
use crate::open::{Mood, Open, OpenScan};
use crate::past::{KeyIdx, Past, Pos, ValueIdx};
use crate::random::Random;
use crate::record::{Record, Recorded};
use crate::view::{Blocked, Reads, Seen, View};
use crate::{Conflict, Divergence, Error, Key, LEVELS, Plan, Rows, Source, TxnName, Values, Why, Writer};
use iso_evidence::Witness;
use iso_history::{Datum, History, SessionId};
use iso_spec::Level;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Which of the versions that the level allows a read gets.
///
/// After a conflict, the session's next transaction reads the newest ones, so that a second try succeeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The newest one.
    Latest,
    /// Each is as likely as any other.
    Random,
    /// One that is likely to break serializability.
    Adversarial,
    /// The one that a plan says, and the newest one where it says nothing or cannot be followed.
    Replay(Plan),
}

/// A transactional store of rows; see the crate's documentation.
///
/// Several sessions may have open transactions at once. A transaction sees what others committed, and its own writes.
/// The same calls with the same seed give the same answers.
#[derive(Clone, Debug)]
pub struct Store {
    level: Level,
    policy: Policy,
    random: Random,
    past: Past,
    sessions: Vec<Session>,
    session_ids: FxHashMap<Arc<str>, SessionId>,
    record: Record,
    divergences: Vec<Divergence>,
    /// Only with that policy.
    adversary: Option<Adversary>,
}

#[derive(Clone, Debug)]
struct Session {
    name: Arc<str>,
    n_begun: u32,
    seen: Seen,
    open: Option<Open>,
    mood: Mood,
}

/// A transaction that was committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// The transaction.
    pub txn: TxnName,
    /// Its place in the commit order of those that write, from 1; none if it wrote nothing.
    pub position: Option<usize>,
}

impl Store {
    /// An empty store of one of the [`LEVELS`].
    pub fn new(level: Level, policy: Policy, seed: u64) -> Result<Self, Error> {
        if !LEVELS.contains(&level) {
            return Err(Error::UnknownLevel { level });
        }
        let adversary = (policy == Policy::Adversarial).then(Adversary::default);
        Ok(Self {
            level,
            adversary,
            policy,
            random: Random::new(seed),
            past: Past::new(),
            sessions: Vec::new(),
            session_ids: FxHashMap::default(),
            record: Record::default(),
            divergences: Vec::new(),
        })
    }

    /// The level.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Sets a row of the initial state, before any transaction begins.
    pub fn load(&mut self, key: &Key, value: Datum) -> Result<(), Error> {
        if self.sessions.iter().any(|it| it.n_begun > 0) {
            return Err(Error::LoadedLate { key: key.clone() });
        }
        let key = self.past.intern(key);
        self.past.load(key, value);
        Ok(())
    }

    /// The session of that name, made at its first mention.
    pub fn session(&mut self, name: &str) -> SessionId {
        if let Some(session) = self.session_ids.get(name) {
            return *session;
        }
        let session = SessionId::from_index(self.sessions.len());
        let name: Arc<str> = name.into();
        self.session_ids.insert(name.clone(), session);
        self.sessions.push(Session { name, n_begun: 0, seen: Seen::default(), open: None, mood: Mood::Free });
        session
    }

    /// Begins the session's next transaction.
    pub fn begin(&mut self, session: SessionId) -> Result<TxnName, Error> {
        let entry = self.sessions.get_mut(session.index()).ok_or(Error::UnknownSession { session })?;
        if entry.open.is_some() {
            return Err(Error::AlreadyOpen { session: entry.name.to_string() });
        }
        let view = View::new(self.level, session.raw(), &entry.seen, &self.past)
            .ok_or(Error::UnknownLevel { level: self.level })?;
        let txn = TxnName { session: entry.name.clone(), nth: entry.n_begun as usize };
        let planned = match &self.policy {
            Policy::Replay(plan) => plan.of_txn(&txn).to_vec(),
            _ => Vec::new(),
        };
        entry.open = Some(Open {
            nth: entry.n_begun,
            view,
            reads: Reads::default(),
            own: FxHashMap::default(),
            own_keys: Vec::new(),
            ops: Vec::new(),
            scans: Vec::new(),
            n_calls: 0,
            mood: std::mem::replace(&mut entry.mood, Mood::Free),
            planned,
            taken: Vec::new(),
            ancestors: self.adversary.as_ref().map_or_else(Ancestors::default, |it| it.begin(session.raw())),
        });
        entry.n_begun += 1;
        Ok(txn)
    }

    /// Reads a row; none if it is not there.
    pub fn get(&mut self, session: SessionId, key: &Key) -> Result<Option<Datum>, Error> {
        self.serve(session, |store, open| {
            let key = store.past.intern(key);
            store.start_call(open)?;
            let value = store.read(session, open, key, None);
            Ok(store.past.value(value).cloned())
        })
    }

    /// Reads a row as `writer` left it, if the level allows that: a choice that the policy has no part in.
    ///
    /// A row that the transaction itself has written is read as that.
    pub fn get_from(&mut self, session: SessionId, key: &Key, writer: &Writer) -> Result<Option<Datum>, Error> {
        if !self.legal(session, key)?.contains(writer) {
            let open = self.open(session)?;
            let reader = self.name(session, open.nth);
            return Err(Error::NotReadable { reader, key: key.clone(), writer: writer.clone() });
        }
        self.serve(session, |store, open| {
            let key = store.past.intern(key);
            store.start_call(open)?;
            let version = store.version_of(key, writer);
            let value = store.read(session, open, key, version);
            Ok(store.past.value(value).cloned())
        })
    }

    /// Whose versions of a row the session's transaction may read now, old ones first. Only itself, if it wrote the row.
    pub fn legal(&mut self, session: SessionId, key: &Key) -> Result<Vec<Writer>, Error> {
        self.serve(session, |store, open| {
            let key = store.past.intern(key);
            open.refresh(&store.past);
            if open.own.contains_key(&key) {
                return Ok(vec![Writer::Txn(store.name(session, open.nth))]);
            }
            let versions = match store.repeated(open, key) {
                Some(version) => vec![version],
                None => choose::legal(&store.past, open, key),
            };
            Ok(versions.iter().map(|it| store.writer(store.past.key(key).pos(*it))).collect())
        })
    }

    /// Reads every row of a table that is asked for and that is there, in the order of their names.
    ///
    /// This reads missing rows as well: whoever inserts one later comes after this read.
    pub fn scan(&mut self, session: SessionId, table: &str, rows: &Rows) -> Result<Vec<(Key, Datum)>, Error> {
        self.serve(session, |store, open| {
            let table = store.past.intern_table(table);
            store.start_call(open)?;
            let keys = store.rows_for(open, table, rows);
            let scan = store.record.add_scan(table, rows.clone());
            open.ops.push(Recorded::Scan { scan, n_reads: keys.len() as u32 });
            let mut found = Vec::new();
            for key in &keys {
                let value = store.read(session, open, *key, None);
                if let Some(datum) = store.past.value(value) {
                    found.push((store.past.key(*key).key.clone(), datum.clone()));
                }
            }
            let own = keys.into_iter().filter(|it| open.own.contains_key(it)).collect();
            let n_born = store.past.table(table).born.len();
            store.note_missing(session, open, table, rows);
            if store.level != Level::ReadCommitted {
                open.scans.push(OpenScan { table, rows: rows.clone(), own, n_born });
            }
            Ok(found)
        })
    }

    /// As [`Store::scan`], but the newest version of each row is read: a state that was there all at once.
    pub fn scan_newest(&mut self, session: SessionId, table: &str, rows: &Rows) -> Result<Vec<(Key, Datum)>, Error> {
        let entry = self.sessions.get_mut(session.index()).ok_or(Error::UnknownSession { session })?;
        let before = entry.open.as_mut().map(|it| std::mem::replace(&mut it.mood, Mood::Careful));
        let found = self.scan(session, table, rows);
        if let (Some(mood), Some(open)) = (before, &mut self.sessions[session.index()].open) {
            open.mood = mood;
        }
        found
    }

    /// Writes a row.
    pub fn put(&mut self, session: SessionId, key: &Key, value: Datum) -> Result<(), Error> {
        self.write(session, key, Some(value))
    }

    /// Writes a row that is new: the same as [`Store::put`]. Whether it was there is asked by a read.
    pub fn insert(&mut self, session: SessionId, key: &Key, value: Datum) -> Result<(), Error> {
        self.write(session, key, Some(value))
    }

    /// Removes a row, which is a write as well.
    pub fn delete(&mut self, session: SessionId, key: &Key) -> Result<(), Error> {
        self.write(session, key, None)
    }

    /// Ends the session's transaction, and shows its writes to others.
    pub fn commit(&mut self, session: SessionId) -> Result<Committed, Error> {
        self.serve(session, Self::start_commit)?;
        let mut open = self.close(session)?;
        let writes: Vec<(KeyIdx, ValueIdx)> = open.own_keys.iter().map(|key| (*key, open.own[key])).collect();
        let pos = (!writes.is_empty()).then(|| {
            let clock = open.view.clock(session.raw(), open.nth);
            self.past.commit(session.raw(), open.nth, clock, &writes)
        });
        if let Some(adversary) = &mut self.adversary {
            adversary.commit(&self.past, session.raw(), &open, pos);
        }
        self.record.commit(session.raw(), open.view.snapshot(), pos, &open.ops);
        let txn = self.name(session, open.nth);
        self.sessions[session.index()].seen = open.view.into_seen(pos);
        Ok(Committed { txn, position: pos.map(|it| it as usize) })
    }

    /// Ends the session's transaction, and forgets its writes.
    pub fn abort(&mut self, session: SessionId) -> Result<(), Error> {
        let open = self.close(session)?;
        self.record.abort(session.raw(), &open.ops);
        Ok(())
    }

    /// What happened: the transactions that have ended, in the order in which they did.
    ///
    /// A scan is a read of each row that it asks for and that is there at any time.
    pub fn history(&self, values: Values) -> History {
        let sessions: Vec<Arc<str>> = self.sessions.iter().map(|it| it.name.clone()).collect();
        self.record.history(&self.past, &sessions, values)
    }

    /// What happened, where a scan is a scan, and a row that it did not return is not mentioned: for levels from read atomic
    /// up, where the order of reads does not matter.
    pub fn history_with_scans(&self) -> History {
        let sessions: Vec<Arc<str>> = self.sessions.iter().map(|it| it.name.clone()).collect();
        self.record.history_with_scans(&self.past, &sessions)
    }

    /// For each read of the history that saw another transaction's version, whose; in the order of the history.
    pub fn sources(&self) -> Vec<Source> {
        self.record.sources(&self.past)
    }

    /// How the history came to be: evidence that the level allows it.
    pub fn witness(&self) -> Witness {
        self.record.witness(&self.past, self.level)
    }

    /// Where the run could not follow its plan.
    pub fn divergences(&self) -> &[Divergence] {
        &self.divergences
    }

    /// How many operations the transactions that have ended made; a scan is one more than its rows.
    pub fn n_ops(&self) -> usize {
        self.record.n_ops()
    }

    fn open(&self, session: SessionId) -> Result<&Open, Error> {
        let entry = self.sessions.get(session.index()).ok_or(Error::UnknownSession { session })?;
        entry.open.as_ref().ok_or_else(|| Error::NoTransaction { session: entry.name.to_string() })
    }

    fn close(&mut self, session: SessionId) -> Result<Open, Error> {
        let entry = self.sessions.get_mut(session.index()).ok_or(Error::UnknownSession { session })?;
        entry.open.take().ok_or_else(|| Error::NoTransaction { session: entry.name.to_string() })
    }

    /// Makes one call of an open transaction. A conflict aborts it.
    fn serve<T>(
        &mut self,
        session: SessionId,
        call: impl FnOnce(&mut Self, &mut Open) -> Result<T, Blocked>,
    ) -> Result<T, Error> {
        let mut open = self.close(session)?;
        let answer = call(self, &mut open);
        let nth = open.nth;
        self.sessions[session.index()].open = Some(open);
        answer.map_err(|blocked| self.conflict(session, nth, blocked))
    }

    fn conflict(&mut self, session: SessionId, nth: u32, blocked: Blocked) -> Error {
        let commit = self.past.commit_at(blocked.by);
        let other = self.name(SessionId::from_index(commit.session as usize), commit.nth);
        let key = self.past.key(blocked.key).key.clone();
        self.sessions[session.index()].mood = Mood::Careful;
        match self.abort(session) {
            Ok(()) => Conflict { txn: self.name(session, nth), key, other }.into(),
            Err(error) => error,
        }
    }

    fn start_call(&mut self, open: &mut Open) -> Result<(), Blocked> {
        open.n_calls += 1;
        open.refresh(&self.past);
        open.view.blocked().map_or(Ok(()), Err)
    }

    fn start_commit(&mut self, open: &mut Open) -> Result<(), Blocked> {
        self.start_call(open)?;
        open.own_keys.iter().try_for_each(|key| open.view.write(&self.past, *key))
    }

    fn write(&mut self, session: SessionId, key: &Key, value: Option<Datum>) -> Result<(), Error> {
        self.serve(session, |store, open| {
            let key = store.past.intern(key);
            store.start_call(open)?;
            open.view.write(&store.past, key)?;
            let value = store.past.add_value(value);
            if open.own.insert(key, value).is_none() {
                open.own_keys.push(key);
                if let Some(adversary) = &store.adversary {
                    adversary.note_write(&store.past, &mut open.ancestors, key);
                }
            }
            open.ops.push(Recorded::Write { key, value });
            Ok(())
        })
    }

    /// Reads this version, or the one that the policy chooses.
    fn read(&mut self, session: SessionId, open: &mut Open, key: KeyIdx, version: Option<u32>) -> ValueIdx {
        if let Some(value) = open.own.get(&key) {
            open.ops.push(Recorded::ReadOwn { key, value: *value });
            return *value;
        }
        let version = version.unwrap_or_else(|| self.choose(session, open, key));
        if self.repeated(open, key).is_none() {
            open.view.take(&self.past, key, version);
            if self.level != Level::ReadCommitted {
                open.reads.insert(key, version);
            }
        }
        let chosen = self.past.key(key).versions[version as usize];
        if let Some(adversary) = &self.adversary {
            open.taken.push((key, version));
            adversary.note_read(&mut open.ancestors, chosen.pos);
        }
        open.ops.push(Recorded::Read { key, value: chosen.value, source: chosen.pos });
        chosen.value
    }

    /// The version that was read before, at levels at which a second read sees the same.
    fn repeated(&self, open: &Open, key: KeyIdx) -> Option<u32> {
        open.reads.get(key).filter(|_| self.level != Level::ReadCommitted)
    }

    fn choose(&mut self, session: SessionId, open: &mut Open, key: KeyIdx) -> u32 {
        let repeated = self.repeated(open, key);
        let newest = |store: &Self, open: &Open| repeated.unwrap_or_else(|| choose::newest(&store.past, open, key));
        match &self.policy {
            Policy::Replay(_) => match open.take_planned(&self.past.key(key).key) {
                None => newest(self, open),
                Some(planned) => self.follow(session, open, key, &planned),
            },
            _ if repeated.is_some() => newest(self, open),
            Policy::Latest => newest(self, open),
            _ if open.mood == Mood::Careful => newest(self, open),
            Policy::Random => choose::any(&self.past, open, key, &mut self.random),
            Policy::Adversarial => match &self.adversary {
                Some(adversary) => adversary.choose(&self.past, open, key, &mut self.random),
                None => newest(self, open),
            },
        }
    }

    /// The planned version if it can be read, else the newest one that can.
    fn follow(&mut self, session: SessionId, open: &Open, key: KeyIdx, planned: &Writer) -> u32 {
        let repeated = self.repeated(open, key);
        let is_legal = |version: u32| {
            let (oldest, newest) = open.view.span(&self.past, key);
            let is_free =
                (oldest..=newest).contains(&version) && open.view.allows(&self.past, &open.reads, key, version);
            repeated.map_or(is_free, |it| it == version)
        };
        let version = self.version_of(key, planned);
        if let Some(version) = version.filter(|it| is_legal(*it)) {
            return version;
        }
        let took = repeated.unwrap_or_else(|| choose::newest(&self.past, open, key));
        let why = if version.is_none() { Why::NotWritten } else { Why::NotAllowed };
        self.diverge(session, open, key, planned, self.past.key(key).pos(took), why);
        took
    }

    fn diverge(&mut self, session: SessionId, open: &Open, key: KeyIdx, planned: &Writer, took: Pos, why: Why) {
        self.divergences.push(Divergence {
            txn: self.name(session, open.nth),
            position: open.n_calls - 1,
            key: self.past.key(key).key.clone(),
            planned: planned.clone(),
            took: self.writer(took),
            why,
        });
    }

    /// The rows that a scan reads: those that have ever been there, and its transaction's own.
    fn rows_for(&self, open: &Open, table: u32, rows: &Rows) -> Vec<KeyIdx> {
        let mut keys = self.past.rows(table, rows);
        let n_rows = keys.len();
        let is_new = |key: &KeyIdx| {
            let entry = self.past.key(*key);
            entry.table == table && rows.contains(&entry.key.row) && !entry.is_row()
        };
        keys.extend(open.own_keys.iter().copied().filter(is_new));
        if keys.len() > n_rows {
            keys.sort_by(|left, right| self.past.key(*left).key.row.cmp(&self.past.key(*right).key.row));
        }
        keys
    }

    /// Notes which planned rows a scan did not find, as nobody has written them yet.
    fn note_missing(&mut self, session: SessionId, open: &mut Open, table: u32, rows: &Rows) {
        let keys: BTreeSet<Key> = open.planned.iter().map(|it| it.0.clone()).collect();
        for key in keys {
            let idx = self.past.intern(&key);
            let entry = self.past.key(idx);
            let is_missing = entry.table == table && rows.contains(&key.row) && !entry.is_row();
            if !is_missing || open.own.contains_key(&idx) {
                continue;
            }
            if let Some(planned @ Writer::Txn(_)) = open.take_planned(&key) {
                self.diverge(session, open, idx, &planned, 0, Why::NotWritten);
            }
        }
    }

    fn name(&self, session: SessionId, nth: u32) -> TxnName {
        TxnName { session: self.sessions[session.index()].name.clone(), nth: nth as usize }
    }

    fn writer(&self, pos: Pos) -> Writer {
        let commit = self.past.commit_at(pos);
        if pos == 0 {
            return Writer::Initial;
        }
        Writer::Txn(self.name(SessionId::from_index(commit.session as usize), commit.nth))
    }

    /// The version of a key that somebody wrote, if there is one.
    fn version_of(&self, key: KeyIdx, writer: &Writer) -> Option<u32> {
        let Writer::Txn(txn) = writer else { return Some(0) };
        let session = self.session_ids.get(&txn.session)?;
        let entry = self.past.key(key);
        let is_it = |it: &&u32| self.past.commit_at(entry.pos(**it)).nth as usize == txn.nth;
        entry.of_session(session.raw()).iter().find(is_it).copied()
    }
}
