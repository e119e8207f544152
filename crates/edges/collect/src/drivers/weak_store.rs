//! The weak store as a database: one store of this process, for all connections.

use crate::address::Address;
use crate::answered::only_row;
use crate::client::{delete_by_steps, increase_by_steps, select_by_steps};
use crate::database::isolation_of;
use crate::drive::session_name;
use crate::store_client::{failure, store_update};
use crate::{
    Cause, Changing, Choice, Client, Database, Dialect, Failure, Inserts, OpenError, Table, Uncommitted, Updates, Value,
};
use iso_formats::RecordedDatabase;
use iso_history::{Datum, Locking, Predicate};
use iso_spec::Level;
use iso_store::{Change, Condition, DATABASE_LEVELS, Key, LEVELS, Rows, SessionId, Store};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A store that connections share.
#[derive(Debug)]
pub(crate) struct WeakStore {
    level: Level,
    policy: Choice,
    seed: u64,
    shared: Arc<Door>,
}

/// The store, and a bell that rings whenever a transaction has ended.
#[derive(Debug)]
struct Door {
    shared: Mutex<Shared>,
    ended: Condvar,
}

#[derive(Debug)]
struct Shared {
    store: Store,
    n_sessions: usize,
    /// How many times it was set up: connections end with the store that they were made for.
    generation: usize,
}

/// Makes an empty store.
pub(crate) fn open(address: &Address) -> Result<WeakStore, OpenError> {
    address.expect_options(&["policy", "seed"])?;
    let is_known = |it: &Level| LEVELS.contains(it) || DATABASE_LEVELS.contains(it);
    let level = Level::from_name(&address.path).filter(is_known).ok_or_else(|| {
        let known: Vec<&str> = LEVELS.iter().chain(&DATABASE_LEVELS).map(|it| store_level_name(*it)).collect();
        let known = known.join(", ");
        OpenError::NoSuchDatabase {
            message: format!("there is no store `{}`; its level is one of {known}", address.path),
        }
    })?;
    let wrong = |option: &str, expected: &str| OpenError::BadOption {
        option: option.to_owned(),
        value: address.option(option).unwrap_or_default().to_owned(),
        expected: expected.to_owned(),
    };
    let policy = address.option("policy").map_or(Some(Choice::Random), Choice::from_name);
    let policy = policy.ok_or_else(|| wrong("policy", "latest, random or adversarial"))?;
    let seed = address.option("seed").map_or(Ok(1), str::parse).map_err(|_| wrong("seed", "a whole number"))?;
    let store = Store::new(level, policy.of_store(), seed).expect("the level is one of a store").unrecorded();
    let shared = Mutex::new(Shared { store, n_sessions: 0, generation: 0 });
    let shared = Arc::new(Door { shared, ended: Condvar::new() });
    Ok(WeakStore { level, policy, seed, shared })
}

impl WeakStore {
    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn client(&self, isolation: &str) -> Result<SharedClient, Failure> {
        isolation_of(self, isolation)?;
        let mut shared = self.shared();
        let name = session_name(shared.n_sessions);
        shared.n_sessions += 1;
        let session = shared.store.session(&name);
        Ok(SharedClient { shared: self.shared.clone(), session, generation: shared.generation, level: self.level })
    }
}

impl Database for WeakStore {
    fn identity(&self) -> Option<RecordedDatabase> {
        Some(RecordedDatabase { name: "store".to_owned(), ..RecordedDatabase::default() })
    }

    fn describe(&self) -> String {
        format!("the weak store at level {}, policy {}, seed {}", store_level_name(self.level), self.policy, self.seed)
    }

    fn isolations(&self) -> &'static [&'static str] {
        match self.level {
            Level::ReadCommitted => &["rc", "read-committed"],
            Level::ReadAtomic => &["ra", "read-atomic"],
            Level::CausalConsistency => &["cc", "causal-consistency"],
            Level::PrefixConsistency => &["pc", "prefix-consistency"],
            Level::ParallelSnapshotIsolation => &["psi", "parallel-snapshot-isolation"],
            Level::SnapshotIsolation => &["si", "snapshot-isolation"],
            Level::StatementSnapshots => &["postgres.rc", "read-committed"],
            Level::RowSnapshots => &["postgres.rr", "repeatable-read"],
            Level::TransactionSnapshot => &["mysql.rr", "repeatable-read"],
            Level::StrictSerializable => &["sqlite.ser", "serializable"],
            _ => &["ser", "serializable"],
        }
    }

    fn set_up(&self, _tables: &[Table]) -> Result<(), Failure> {
        let store = Store::new(self.level, self.policy.of_store(), self.seed).map_err(failure)?.unrecorded();
        let mut shared = self.shared();
        let generation = shared.generation + 1;
        *shared = Shared { store, n_sessions: 0, generation };
        self.shared.ended.notify_all();
        Ok(())
    }

    fn load(&self, rows: &[(String, String, Value)]) -> Result<(), Failure> {
        let mut shared = self.shared();
        for (table, row, value) in rows {
            shared.store.load(&Key::new(table.as_str(), row.as_str()), value.clone().into()).map_err(failure)?;
        }
        Ok(())
    }

    fn tear_down(&self) -> Result<(), Failure> {
        self.set_up(&[])
    }

    fn connect(&self, isolation: &str) -> Result<Box<dyn Client + Send>, Failure> {
        Ok(Box::new(self.client(isolation)?))
    }

    /// A new session may be served any old state that the store remembers. What is read at the end is to say what has come of
    /// it, so the first transaction reads the newest rows, which all levels allow.
    fn connect_to_read(&self, isolation: &str) -> Result<Box<dyn Client + Send>, Failure> {
        let client = self.client(isolation)?;
        client.with(Store::catch_up)?;
        Ok(Box::new(client))
    }

    fn dialect(&self) -> Dialect {
        Dialect::Store
    }

    fn inserts(&self) -> Inserts {
        if self.level.is_of_databases() { Inserts::Checked } else { Inserts::Blind }
    }

    /// At levels of papers the store has no statement that appends: that is a read and a write, and only a level that forbids
    /// lost updates keeps what others appended in between.
    fn no_lists(&self) -> Option<String> {
        let keeps = [Level::ParallelSnapshotIsolation, Level::SnapshotIsolation, Level::Serializable];
        if keeps.contains(&self.level) || DATABASE_LEVELS.contains(&self.level) {
            return None;
        }
        Some(format!(
            "the weak store appends to a list by a read and a write, which at {} lose what others append in between; \
             its levels that keep lists are {}",
            self.level.short_name(),
            keeps.map(Level::short_name).join(", ")
        ))
    }
}

/// What a level of the store is called: as databases do, where no paper has it.
fn store_level_name(level: Level) -> &'static str {
    if level == Level::StrictSerializable { "sqlite.ser" } else { level.short_name() }
}

#[derive(Debug)]
struct SharedClient {
    shared: Arc<Door>,
    session: SessionId,
    generation: usize,
    level: Level,
}

impl SharedClient {
    /// Does something while no other session can; what needs nobody else's is best done before. Whoever needs a locked row
    /// waits until somebody has ended, and tries again.
    fn with<T>(&self, mut act: impl FnMut(&mut Store, SessionId) -> Result<T, iso_store::Error>) -> Result<T, Failure> {
        let mut shared = self.shared.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let began = Instant::now();
        loop {
            if shared.generation != self.generation {
                return Err(Failure::lost("the store was set up again"));
            }
            match act(&mut shared.store, self.session) {
                Err(iso_store::Error::Locked { .. }) if began.elapsed() < LOCK_TIMEOUT => {
                    let waited = self.shared.ended.wait_timeout(shared, LOCK_TIMEOUT);
                    shared = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                Err(error @ iso_store::Error::Locked { .. }) => {
                    shared.store.abort(self.session).map_err(failure)?;
                    self.shared.ended.notify_all();
                    return Err(Failure::conflict_by(Cause::LockTimeout, error.to_string()));
                }
                Err(error) => {
                    if error.conflict().is_some() {
                        self.shared.ended.notify_all();
                    }
                    return Err(failure(error));
                }
                Ok(answer) => return Ok(answer),
            }
        }
    }

    /// Ends the transaction.
    fn end<T>(&self, act: impl FnMut(&mut Store, SessionId) -> Result<T, iso_store::Error>) -> Result<(), Failure> {
        let ended = self.with(act);
        self.shared.ended.notify_all();
        ended.map(|_| ())
    }

    /// Does the store act as databases do: does it lock, look before it inserts, and update in one statement?
    fn is_database(&self) -> bool {
        self.level.is_of_databases()
    }

    /// Reads and changes the rows that match a predicate in one statement, where the store can.
    fn change_where(
        &self,
        table: &str,
        predicate: &Predicate,
        change: impl Fn(&Datum) -> Change,
    ) -> Option<Result<Vec<(String, Value)>, Failure>> {
        let condition = Condition::new(predicate.clone()).filter(|_| self.is_database())?;
        let found = match only_row(predicate) {
            Some(row) => {
                let key = Key::new(table, row);
                let keep = |old: Option<&Datum>| old.map_or(Change::Keep, &change);
                self.with(|store, session| store.update(session, &key, keep))
                    .map(|old| old.map(|it| (key, it)).into_iter().collect())
            }
            None => self.with(|store, session| {
                store.update_where(session, table, &Rows::All, &condition, |_, old| change(old))
            }),
        };
        Some(found.and_then(|it| values(&it)))
    }
}

/// So long a session waits for a row.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

fn values(rows: &[(Key, Datum)]) -> Result<Vec<(String, Value)>, Failure> {
    rows.iter().map(|(key, datum)| Ok((key.row.to_string(), Value::try_from(datum)?))).collect()
}

impl Client for SharedClient {
    fn begin(&mut self) -> Result<(), Failure> {
        self.with(|store, session| store.begin(session).map(|_| ()))
    }

    fn get(&mut self, table: &str, row: &str) -> Result<Option<Value>, Failure> {
        let key = Key::new(table, row);
        let found = self.with(|store, session| store.get(session, &key))?;
        found.as_ref().map(Value::try_from).transpose()
    }

    fn put(&mut self, table: &str, row: &str, value: Value) -> Result<(), Failure> {
        let key = Key::new(table, row);
        self.with(|store, session| store.put(session, &key, value.clone().into()))
    }

    fn insert(&mut self, table: &str, row: &str, value: Value) -> Result<(), Failure> {
        let key = Key::new(table, row);
        self.with(|store, session| store.insert(session, &key, value.clone().into()))
    }

    fn delete(&mut self, table: &str, row: &str) -> Result<(), Failure> {
        let key = Key::new(table, row);
        self.with(|store, session| store.delete(session, &key))
    }

    fn scan(&mut self, table: &str, prefix: &str) -> Result<Vec<(String, Value)>, Failure> {
        let rows = self.with(|store, session| match store.level() {
            // The order of reads matters there, and a recorded scan does not say in which order it looked at rows.
            Level::ReadCommitted => store.scan_newest(session, table, &Rows::prefix(prefix)),
            _ => store.scan(session, table, &Rows::prefix(prefix)),
        })?;
        values(&rows)
    }

    fn select(
        &mut self,
        table: &str,
        predicate: &Predicate,
        locking: Locking,
    ) -> Result<Vec<(String, Value)>, Failure> {
        let locked = match locking {
            Locking::ForUpdate => self.change_where(table, predicate, |_| Change::Keep),
            Locking::Free => None,
        };
        if let Some(rows) = locked {
            return rows;
        }
        select_by_steps(self, table, predicate)
    }

    fn increase(&mut self, table: &str, predicate: &Predicate, by: i64) -> Result<Vec<(String, Value)>, Failure> {
        let add = |old: &Datum| match old {
            Datum::Int(number) => Change::Put(number.wrapping_add(by).into()),
            _ => Change::Keep,
        };
        match self.change_where(table, predicate, add) {
            Some(rows) => rows,
            None => increase_by_steps(self, table, predicate, by),
        }
    }

    fn delete_where(&mut self, table: &str, predicate: &Predicate) -> Result<Vec<(String, Value)>, Failure> {
        match self.change_where(table, predicate, |_| Change::Delete) {
            Some(rows) => rows,
            None => delete_by_steps(self, table, predicate),
        }
    }

    fn append(&mut self, table: &str, row: &str, element: i64) -> Result<(), Failure> {
        let key = Key::new(table, row);
        let longer = |old: Option<&Datum>| match old.and_then(|it| Value::try_from(it).ok()).map(|it| it.to_string()) {
            Some(list) if !list.is_empty() => format!("{list},{element}"),
            _ => element.to_string(),
        };
        if self.is_database() {
            return self
                .with(|store, session| store.update(session, &key, |old| Change::Put(Datum::text(longer(old)))))
                .map(|_| ());
        }
        let list = self.with(|store, session| store.get(session, &key))?;
        self.put(table, row, Value::Text(longer(list.as_ref())))
    }

    fn update(&mut self, table: &str, row: &str, change: &mut Changing<'_>) -> Result<Option<(Value, Value)>, Failure> {
        let key = Key::new(table, row);
        let mut done = Ok(None);
        self.with(|store, session| {
            done = Ok(None);
            store_update(store, session, &key, change, &mut done)
        })?;
        done
    }

    fn updates(&self) -> Updates {
        if self.is_database() { Updates::Atomic } else { Updates::ReadAndWrite }
    }

    fn commit(&mut self) -> Result<(), Failure> {
        self.end(Store::commit)
    }

    fn abort(&mut self) -> Result<(), Failure> {
        self.end(Store::abort)
    }

    fn inserts(&self) -> Inserts {
        if self.is_database() { Inserts::Checked } else { Inserts::Blind }
    }

    fn uncommitted_writes(&self) -> Uncommitted {
        Uncommitted::Hidden
    }
}
