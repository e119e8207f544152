//! The store: sessions begin transactions, read, write, and end them.

use crate::adversary::{Adversary, Ancestors};
use crate::choose;
use crate::locks::Stop;
use crate::open::{Mood, Open};
use crate::past::{KeyIdx, Past, Pos, ValueIdx};
use crate::random::Random;
use crate::record::{Record, Recorded};
use crate::statement::Grouping;
use crate::view::{Blocked, Reads, Seen, View};
use crate::{DATABASE_LEVELS, Divergence, Error, Key, LEVELS, Plan, Source, TxnName, Values, Writer};
use iso_evidence::Witness;
use iso_history::{Datum, History, Locking, SessionId};
use iso_spec::Level;
use rustc_hash::FxHashMap;
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
    pub(crate) level: Level,
    pub(crate) policy: Policy,
    pub(crate) random: Random,
    pub(crate) past: Past,
    pub(crate) sessions: Vec<Session>,
    pub(crate) session_ids: FxHashMap<Arc<str>, SessionId>,
    pub(crate) record: Record,
    pub(crate) divergences: Vec<Divergence>,
    /// Only with that policy.
    pub(crate) adversary: Option<Adversary>,
    /// Who has which row locked.
    pub(crate) locks: FxHashMap<KeyIdx, SessionId>,
    /// How many transactions have begun or ended: a clock for levels that look at times.
    n_events: i64,
    /// So many commits at least may be missed by whoever begins.
    remembered: Option<Pos>,
}

#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) name: Arc<str>,
    pub(crate) n_begun: u32,
    pub(crate) seen: Seen,
    pub(crate) open: Option<Open>,
    pub(crate) mood: Mood,
    /// The row that its last call would have had to wait for.
    pub(crate) waits_for: Option<KeyIdx>,
}

/// A transaction that was committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// The transaction.
    pub txn: TxnName,
    /// Its place in the commit order of those that write, from 1; none if it wrote nothing.
    pub position: Option<usize>,
}

/// A store that keeps no record remembers so many commits: many more than are made while a transaction is open, and few enough to
/// stay in tens of megabytes.
const REMEMBERED: Pos = 1 << 16;

impl Store {
    /// An empty store of one of the [`LEVELS`] or the [`DATABASE_LEVELS`].
    pub fn new(level: Level, policy: Policy, seed: u64) -> Result<Self, Error> {
        if !LEVELS.contains(&level) && !DATABASE_LEVELS.contains(&level) {
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
            locks: FxHashMap::default(),
            n_events: 0,
            remembered: None,
        })
    }

    /// The level.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Sets a row of the initial state. This may come late, as long as no transaction has read or written the row; a scan
    /// reads all rows that it asks for by name, missing ones included.
    pub fn load(&mut self, key: &Key, value: Datum) -> Result<(), Error> {
        let idx = self.past.intern(key);
        if self.past.is_touched(idx) {
            return Err(Error::LoadedLate { key: key.clone() });
        }
        self.past.load(idx, value);
        Ok(())
    }

    /// The same, but nothing is remembered of transactions that have ended, except what others may still read: [`Self::history`]
    /// and what else tells of them has none. For whoever writes down what happens.
    ///
    /// So that memory stays flat, it is a store that is [remembering](Self::remembering) some ten thousand commits, unless
    /// it was told how many. What is older was written by nobody: [`Self::legal`] calls it the initial state.
    #[must_use]
    pub fn unrecorded(self) -> Self {
        Self { record: Record::nothing(), remembered: self.remembered.or(Some(REMEMBERED)), ..self }
    }

    /// The same, but whoever begins a transaction has seen all commits but about the last `n_commits`: at least so many may be
    /// missed, and at most twice as many. Every level allows that. Otherwise a session may be served any old state.
    #[must_use]
    pub fn remembering(self, n_commits: u32) -> Self {
        Self { remembered: Some(Pos::from(n_commits.max(1))), ..self }
    }

    /// The next transaction of a session reads the newest versions, whatever the policy says.
    pub fn catch_up(&mut self, session: SessionId) -> Result<(), Error> {
        let entry = self.sessions.get_mut(session.index()).ok_or(Error::UnknownSession { session })?;
        entry.mood = Mood::Careful;
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
        self.sessions.push(Session {
            name,
            n_begun: 0,
            seen: Seen::default(),
            open: None,
            mood: Mood::Free,
            waits_for: None,
        });
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
            begun_at: self.n_events,
            floor: self.past.floor(),
            view,
            reads: Reads::default(),
            own: FxHashMap::default(),
            own_keys: Vec::new(),
            ops: Vec::new(),
            scans: Vec::new(),
            n_calls: 0,
            statement: None,
            locking: Locking::Free,
            locked: Vec::new(),
            made: Vec::new(),
            savepoints: Vec::new(),
            n_savepoints: 0,
            mood: std::mem::replace(&mut entry.mood, Mood::Free),
            planned,
            taken: Vec::new(),
            ancestors: self.adversary.as_ref().map_or_else(Ancestors::default, |it| it.begin(session.raw())),
        });
        entry.n_begun += 1;
        self.n_events += 1;
        Ok(txn)
    }

    /// Reads a row; none if it is not there.
    pub fn get(&mut self, session: SessionId, key: &Key) -> Result<Option<Datum>, Error> {
        self.call(session, Grouping::Alone, |store, open| {
            let key = store.past.intern(key);
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
        self.call(session, Grouping::Alone, |store, open| {
            let key = store.past.intern(key);
            let version = store.version_of(key, writer);
            let value = store.read(session, open, key, version);
            Ok(store.past.value(value).cloned())
        })
    }

    /// Whose versions of a row the session's transaction may read now, old ones first. Only itself, if it wrote the row.
    pub fn legal(&mut self, session: SessionId, key: &Key) -> Result<Vec<Writer>, Error> {
        self.serve(session, |store, open| {
            let key = store.past.intern(key);
            if open.statement.is_none() {
                open.renew();
            }
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

    /// Writes a row.
    pub fn put(&mut self, session: SessionId, key: &Key, value: Datum) -> Result<(), Error> {
        self.write(session, key, Some(value))
    }

    /// Writes a row that is new. At levels of papers this is the same as [`Store::put`], and whether it was there is asked by
    /// a read. Databases look at its newest version, and a row that is there is [`Error::Exists`].
    pub fn insert(&mut self, session: SessionId, key: &Key, value: Datum) -> Result<(), Error> {
        if !self.level.is_of_databases() {
            return self.write(session, key, Some(value));
        }
        self.call(session, Grouping::Statement, |store, open| {
            let key = store.past.intern(key);
            store.insert_row(session, open, key, value)
        })
    }

    /// Removes a row, which is a write as well.
    pub fn delete(&mut self, session: SessionId, key: &Key) -> Result<(), Error> {
        self.write(session, key, None)
    }

    /// Ends the session's transaction, and shows its writes to others.
    pub fn commit(&mut self, session: SessionId) -> Result<Committed, Error> {
        self.serve(session, Self::start_commit)?;
        let mut open = self.close(session)?;
        open.end_statement(Locking::Free);
        let writes: Vec<(KeyIdx, ValueIdx)> = open.own_keys.iter().map(|key| (*key, open.own[key])).collect();
        // Whoever had locked something has a place, too: others get the row from there on.
        let has_place = !writes.is_empty() || !open.locked.is_empty();
        let pos = has_place.then(|| {
            let clock = open.view.clock(session.raw(), open.nth);
            self.past.commit(session.raw(), open.nth, clock, &writes)
        });
        self.unlock(&open);
        if let Some(pos) = pos {
            open.locked.iter().for_each(|it| self.past.set_free(*it, pos));
        }
        if let Some(adversary) = &mut self.adversary {
            adversary.commit(&self.past, session.raw(), &open, pos);
        }
        let times = self.times_of(&open);
        self.record.commit(session.raw(), open.view.snapshot(), pos, &open.ops, times);
        let txn = self.name(session, open.nth);
        self.drop_values(&open);
        self.sessions[session.index()].seen = open.view.into_seen(pos);
        self.age();
        Ok(Committed { txn, position: pos.filter(|_| !writes.is_empty()).map(|it| it as usize) })
    }

    /// Ends the session's transaction, and forgets its writes.
    pub fn abort(&mut self, session: SessionId) -> Result<(), Error> {
        let mut open = self.close(session)?;
        self.sessions[session.index()].waits_for = None;
        open.end_statement(Locking::Free);
        self.unlock(&open);
        let times = self.times_of(&open);
        self.record.abort(session.raw(), &open.ops, times);
        open.own.clear();
        self.drop_values(&open);
        Ok(())
    }

    /// Drops what the transaction wrote and nobody can read, unless it is recorded.
    fn drop_values(&mut self, open: &Open) {
        if self.record.keeps_nothing() {
            let written = open.ops.iter().filter_map(Recorded::written);
            written.filter(|it| open.own.get(&it.0) != Some(&it.1)).for_each(|it| self.past.drop_value(it.1));
        }
    }

    /// Now and then, what was committed long ago becomes the state that whoever begins has seen, and what led to an earlier
    /// one is forgotten, unless it is recorded. An open transaction keeps the state with which it began.
    fn age(&mut self) {
        let (Some(remembered), floor, end) = (self.remembered, self.past.floor(), self.past.end()) else { return };
        if end < floor + 2 * remembered {
            return;
        }
        self.past.raise_floor(end - remembered);
        let open = self.sessions.iter().filter_map(|it| Some(it.open.as_ref()?.floor)).min();
        let until = open.unwrap_or(end - remembered);
        if let Some(adversary) = &mut self.adversary {
            adversary.forget(until);
        }
        if self.record.keeps_nothing() {
            self.past.forget(until, |key, version| {
                self.adversary.iter_mut().for_each(|it| it.forget_readers(key, version));
            });
        }
    }

    /// When a transaction that ends now began and ended, at levels that look at it.
    fn times_of(&mut self, open: &Open) -> Option<(i64, i64)> {
        self.n_events += 1;
        self.level.needs_times().then_some((open.begun_at, self.n_events))
    }

    /// What happened: the transactions that have ended, in the order in which they did.
    ///
    /// A scan is a read of each row that it asks for and that is there at any time.
    pub fn history(&self, values: Values) -> History {
        let sessions: Vec<Arc<str>> = self.sessions.iter().map(|it| it.name.clone()).collect();
        self.record.history(&self.past, &sessions, values, self.level)
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

    pub(crate) fn open(&self, session: SessionId) -> Result<&Open, Error> {
        let entry = self.sessions.get(session.index()).ok_or(Error::UnknownSession { session })?;
        entry.open.as_ref().ok_or_else(|| Error::NoTransaction { session: entry.name.to_string() })
    }

    pub(crate) fn close(&mut self, session: SessionId) -> Result<Open, Error> {
        let entry = self.sessions.get_mut(session.index()).ok_or(Error::UnknownSession { session })?;
        entry.open.take().ok_or_else(|| Error::NoTransaction { session: entry.name.to_string() })
    }

    /// Makes one call of an open transaction. A conflict aborts it.
    pub(crate) fn serve<T>(
        &mut self,
        session: SessionId,
        call: impl FnOnce(&mut Self, &mut Open) -> Result<T, Stop>,
    ) -> Result<T, Error> {
        let mut open = self.close(session)?;
        self.sessions[session.index()].waits_for = None;
        let answer = call(self, &mut open);
        let nth = open.nth;
        self.sessions[session.index()].open = Some(open);
        answer.map_err(|stop| self.stopped(session, nth, stop))
    }

    pub(crate) fn start_call(&mut self, open: &mut Open) -> Result<(), Blocked> {
        open.n_calls += 1;
        open.refresh(&self.past);
        open.view.blocked().map_or(Ok(()), Err)
    }

    fn start_commit(&mut self, open: &mut Open) -> Result<(), Stop> {
        self.start_call(open)?;
        let mut overwritten = open.own_keys.iter().filter(|it| !open.made.contains(it));
        overwritten.try_for_each(|key| open.view.write(&self.past, *key)).map_err(Stop::from)
    }

    fn write(&mut self, session: SessionId, key: &Key, value: Option<Datum>) -> Result<(), Error> {
        self.call(session, Grouping::Alone, |store, open| {
            let key = store.past.intern(key);
            store.check_free(session, key)?;
            store.part_from_reads(open, key);
            store.write_row(session, open, key, value)
        })
    }

    pub(crate) fn write_row(
        &mut self,
        session: SessionId,
        open: &mut Open,
        key: KeyIdx,
        value: Option<Datum>,
    ) -> Result<(), Stop> {
        self.lock(session, open, key)?;
        if !open.made.contains(&key) {
            open.view.write(&self.past, key)?;
        }
        self.past.touch(key);
        let value = self.past.add_value(value);
        if open.own.insert(key, value).is_none() {
            open.own_keys.push(key);
            if let Some(adversary) = &self.adversary {
                adversary.note_write(&self.past, &mut open.ancestors, key);
            }
        }
        open.ops.push(Recorded::Write { key, value });
        Ok(())
    }
}
