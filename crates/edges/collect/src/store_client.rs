//! A session of the weak store as a client.

use crate::{Client, Failure, Memory, Value};
use iso_store::{Error, Key, Rows, SessionId, Store};

/// One session; keeps what its transaction writes, for the newest state.
#[derive(Debug)]
pub(crate) struct StoreClient<'s> {
    store: &'s mut Store,
    session: SessionId,
    /// With what is committed, the newest version of each row: the order of commits is the order of versions.
    newest: &'s mut Memory,
    /// No value where a row is removed.
    writes: Vec<(Key, Option<Value>)>,
}

impl<'s> StoreClient<'s> {
    pub(crate) fn new(store: &'s mut Store, session: SessionId, newest: &'s mut Memory) -> Self {
        Self { store, session, newest, writes: Vec::new() }
    }
}

impl Client for StoreClient<'_> {
    fn begin(&mut self) -> Result<(), Failure> {
        self.writes.clear();
        self.store.begin(self.session).map(|_| ()).map_err(failure)
    }

    fn get(&mut self, table: &str, row: &str) -> Result<Option<Value>, Failure> {
        let found = self.store.get(self.session, &Key::new(table, row)).map_err(failure)?;
        found.as_ref().map(Value::try_from).transpose()
    }

    fn put(&mut self, table: &str, row: &str, value: Value) -> Result<(), Failure> {
        let key = Key::new(table, row);
        self.store.put(self.session, &key, value.clone().into()).map_err(failure)?;
        self.writes.push((key, Some(value)));
        Ok(())
    }

    fn insert(&mut self, table: &str, row: &str, value: Value) -> Result<(), Failure> {
        let key = Key::new(table, row);
        self.store.insert(self.session, &key, value.clone().into()).map_err(failure)?;
        self.writes.push((key, Some(value)));
        Ok(())
    }

    fn delete(&mut self, table: &str, row: &str) -> Result<(), Failure> {
        let key = Key::new(table, row);
        self.store.delete(self.session, &key).map_err(failure)?;
        self.writes.push((key, None));
        Ok(())
    }

    fn scan(&mut self, table: &str, prefix: &str) -> Result<Vec<(String, Value)>, Failure> {
        let rows = self.store.scan(self.session, table, &Rows::prefix(prefix)).map_err(failure)?;
        rows.iter().map(|(key, datum)| Ok((key.row.to_string(), Value::try_from(datum)?))).collect()
    }

    fn commit(&mut self) -> Result<(), Failure> {
        self.store.commit(self.session).map_err(failure)?;
        for (key, value) in self.writes.drain(..) {
            match value {
                Some(value) => self.newest.put(&key.table, &key.row, value)?,
                None => self.newest.delete(&key.table, &key.row)?,
            }
        }
        Ok(())
    }

    fn abort(&mut self) -> Result<(), Failure> {
        self.writes.clear();
        self.store.abort(self.session).map_err(failure)
    }
}

pub(crate) fn failure(error: Error) -> Failure {
    match error {
        Error::Conflict(conflict) => Failure::conflict(conflict.to_string()),
        other => Failure::broken(other.to_string()),
    }
}
