//! A small serializable database in memory whose connections break when a test wants them to.

use iso_collect::{Client, Database, Dialect, Failure, Memory, Table, Value};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What happens to a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Fine,
    /// It is made, but the connection is lost before the answer.
    LostAfter,
    /// The connection is lost, and it is not made.
    LostBefore,
    /// It does not come back for long.
    Hangs,
}

/// The database: a transaction conflicts if any other one was committed since it began.
#[derive(Debug)]
pub(crate) struct Faulty {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<(usize, Memory)>,
    n_commits: AtomicUsize,
    n_operations: AtomicUsize,
    fate: fn(usize) -> Fate,
    /// Which operations lose the connection.
    loses: fn(usize) -> bool,
}

impl Faulty {
    /// With the fate of each commit and operation, by its number.
    pub(crate) fn new(fate: fn(usize) -> Fate, loses: fn(usize) -> bool) -> Self {
        let shared = Shared {
            state: Mutex::default(),
            n_commits: AtomicUsize::new(0),
            n_operations: AtomicUsize::new(0),
            fate,
            loses,
        };
        Self { shared: Arc::new(shared) }
    }
}

impl Database for Faulty {
    fn describe(&self) -> String {
        "a database that fails".to_owned()
    }

    fn isolations(&self) -> &'static [&'static str] {
        &["serializable", "chaos"]
    }

    fn set_up(&self, _tables: &[Table]) -> Result<(), Failure> {
        *self.shared.state.lock().unwrap() = (0, Memory::new());
        Ok(())
    }

    fn load(&self, rows: &[(String, String, Value)]) -> Result<(), Failure> {
        let memory = &mut self.shared.state.lock().unwrap().1;
        rows.iter().try_for_each(|(table, row, value)| memory.put(table, row, value.clone()))
    }

    fn tear_down(&self) -> Result<(), Failure> {
        Ok(())
    }

    fn connect(&self, isolation: &str) -> Result<Box<dyn Client + Send>, Failure> {
        let serializable = isolation == "serializable";
        Ok(Box::new(Connection { shared: Arc::clone(&self.shared), serializable, open: None, is_lost: false }))
    }

    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }
}

/// A transaction: as of which commit, what it sees, and what it writes.
#[derive(Debug)]
struct Open {
    began: usize,
    seen: Memory,
    writes: Vec<(String, String, Value)>,
}

#[derive(Debug)]
struct Connection {
    shared: Arc<Shared>,
    serializable: bool,
    open: Option<Open>,
    is_lost: bool,
}

impl Connection {
    fn touch(&mut self) -> Result<&mut Open, Failure> {
        let nth = self.shared.n_operations.fetch_add(1, Ordering::Relaxed);
        if self.is_lost || (self.shared.loses)(nth) {
            self.is_lost = true;
            self.open = None;
            return Err(Failure::lost("the cable is cut"));
        }
        self.open.as_mut().ok_or_else(|| Failure::broken("no transaction is open"))
    }
}

impl Client for Connection {
    fn begin(&mut self) -> Result<(), Failure> {
        if self.is_lost {
            return Err(Failure::lost("the cable is cut"));
        }
        if self.open.is_some() {
            return Err(Failure::broken("a transaction is open"));
        }
        let state = self.shared.state.lock().unwrap();
        self.open = Some(Open { began: state.0, seen: state.1.clone(), writes: Vec::new() });
        Ok(())
    }

    fn get(&mut self, table: &str, row: &str) -> Result<Option<Value>, Failure> {
        self.touch()?.seen.get(table, row)
    }

    fn put(&mut self, table: &str, row: &str, value: Value) -> Result<(), Failure> {
        let open = self.touch()?;
        open.writes.push((table.to_owned(), row.to_owned(), value.clone()));
        open.seen.put(table, row, value)
    }

    fn insert(&mut self, table: &str, row: &str, value: Value) -> Result<(), Failure> {
        self.put(table, row, value)
    }

    fn delete(&mut self, _table: &str, _row: &str) -> Result<(), Failure> {
        Err(Failure::broken("rows stay"))
    }

    fn scan(&mut self, table: &str, prefix: &str) -> Result<Vec<(String, Value)>, Failure> {
        self.touch()?.seen.scan(table, prefix)
    }

    fn commit(&mut self) -> Result<(), Failure> {
        let Open { began, writes, .. } = self.open.take().ok_or_else(|| Failure::broken("no transaction is open"))?;
        let fate = (self.shared.fate)(self.shared.n_commits.fetch_add(1, Ordering::Relaxed));
        if fate == Fate::Hangs {
            thread::sleep(Duration::from_secs(20));
        }
        self.is_lost = fate != Fate::Fine;
        let mut state = self.shared.state.lock().unwrap();
        if fate == Fate::LostBefore {
            return Err(Failure::lost("the cable is cut"));
        }
        if self.serializable && began != state.0 {
            return if self.is_lost { Err(Failure::lost("the cable is cut")) } else { Err(Failure::conflict("busy")) };
        }
        state.0 += 1;
        for (table, row, value) in writes {
            state.1.put(&table, &row, value)?;
        }
        if self.is_lost { Err(Failure::lost("the cable is cut")) } else { Ok(()) }
    }

    fn abort(&mut self) -> Result<(), Failure> {
        self.open = None;
        Ok(())
    }
}
