//! The weak store as a database: one store of this process, for all connections.

use crate::address::Address;
use crate::database::isolation_of;
use crate::drive::session_name;
use crate::store_client::failure;
use crate::{Choice, Client, Database, Dialect, Failure, Inserts, OpenError, Table, Uncommitted, Value};
use iso_formats::RecordedDatabase;
use iso_spec::Level;
use iso_store::{Key, LEVELS, Rows, SessionId, Store};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A store that connections share.
#[derive(Debug)]
pub(crate) struct WeakStore {
    level: Level,
    policy: Choice,
    seed: u64,
    shared: Arc<Mutex<Shared>>,
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
    let level = Level::from_name(&address.path).filter(|it| LEVELS.contains(it)).ok_or_else(|| {
        let known = LEVELS.map(Level::short_name).join(", ");
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
    let store = Store::new(level, policy.of_store(), seed).expect("the level is one of a store");
    let shared = Arc::new(Mutex::new(Shared { store, n_sessions: 0, generation: 0 }));
    Ok(WeakStore { level, policy, seed, shared })
}

impl WeakStore {
    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Database for WeakStore {
    fn identity(&self) -> Option<RecordedDatabase> {
        Some(RecordedDatabase { name: "store".to_owned(), ..RecordedDatabase::default() })
    }

    fn describe(&self) -> String {
        format!("the weak store at level {}, policy {}, seed {}", self.level.short_name(), self.policy, self.seed)
    }

    fn isolations(&self) -> &'static [&'static str] {
        match self.level {
            Level::ReadCommitted => &["rc", "read-committed"],
            Level::ReadAtomic => &["ra", "read-atomic"],
            Level::CausalConsistency => &["cc", "causal-consistency"],
            Level::PrefixConsistency => &["pc", "prefix-consistency"],
            Level::ParallelSnapshotIsolation => &["psi", "parallel-snapshot-isolation"],
            Level::SnapshotIsolation => &["si", "snapshot-isolation"],
            _ => &["ser", "serializable"],
        }
    }

    fn set_up(&self, _tables: &[Table]) -> Result<(), Failure> {
        let store = Store::new(self.level, self.policy.of_store(), self.seed).map_err(failure)?;
        let mut shared = self.shared();
        let generation = shared.generation + 1;
        *shared = Shared { store, n_sessions: 0, generation };
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
        isolation_of(self, isolation)?;
        let mut shared = self.shared();
        let name = session_name(shared.n_sessions);
        shared.n_sessions += 1;
        let session = shared.store.session(&name);
        Ok(Box::new(SharedClient { shared: self.shared.clone(), session, generation: shared.generation }))
    }

    fn dialect(&self) -> Dialect {
        Dialect::Store
    }

    /// The store has no statement that appends: that is a read and a write, and only a level that forbids lost updates
    /// keeps what others appended in between.
    fn no_lists(&self) -> Option<String> {
        let keeps = [Level::ParallelSnapshotIsolation, Level::SnapshotIsolation, Level::Serializable];
        if keeps.contains(&self.level) {
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

#[derive(Debug)]
struct SharedClient {
    shared: Arc<Mutex<Shared>>,
    session: SessionId,
    generation: usize,
}

impl SharedClient {
    /// Does something while no other session can; what needs nobody else's is best done before.
    fn with<T>(&self, act: impl FnOnce(&mut Store, SessionId) -> Result<T, iso_store::Error>) -> Result<T, Failure> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.generation != self.generation {
            return Err(Failure::lost("the store was set up again"));
        }
        act(&mut shared.store, self.session).map_err(failure)
    }
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
        self.with(|store, session| store.put(session, &key, value.into()))
    }

    fn insert(&mut self, table: &str, row: &str, value: Value) -> Result<(), Failure> {
        let key = Key::new(table, row);
        self.with(|store, session| store.insert(session, &key, value.into()))
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
        rows.iter().map(|(key, datum)| Ok((key.row.to_string(), Value::try_from(datum)?))).collect()
    }

    fn commit(&mut self) -> Result<(), Failure> {
        self.with(|store, session| store.commit(session).map(|_| ()))
    }

    fn abort(&mut self) -> Result<(), Failure> {
        self.with(Store::abort)
    }

    fn inserts(&self) -> Inserts {
        Inserts::Blind
    }

    fn uncommitted_writes(&self) -> Uncommitted {
        Uncommitted::Hidden
    }
}
