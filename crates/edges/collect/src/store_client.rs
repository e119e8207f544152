//! A session of the weak store as a client.

use crate::{Cause, Changing, Client, Failure, Memory, Updates, Value};
use iso_store::{Change, Error, Key, Rows, SessionId, Store};

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

    fn update(&mut self, table: &str, row: &str, change: &mut Changing<'_>) -> Result<Option<(Value, Value)>, Failure> {
        let (key, mut done) = (Key::new(table, row), Ok(None));
        store_update(self.store, self.session, &key, change, &mut done).map_err(failure)?;
        if let Ok(Some((_, new))) = &done {
            self.writes.push((key, Some(new.clone())));
        }
        done
    }

    fn updates(&self) -> Updates {
        // Databases update in one statement; at levels of papers applications read and write.
        if self.store.level().is_of_databases() { Updates::Atomic } else { Updates::ReadAndWrite }
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

/// Changes what is in the newest version of a row, if there is one. What was done, or why not, is put into `done`.
pub(crate) fn store_update(
    store: &mut Store,
    session: SessionId,
    key: &Key,
    change: &mut Changing<'_>,
    done: &mut Result<Option<(Value, Value)>, Failure>,
) -> Result<(), Error> {
    let answer = store.update(session, key, |old| {
        *done = old.map_or(Ok(None), |old| {
            let old = Value::try_from(old)?;
            let new = change(&old)?;
            Ok(Some((old, new)))
        });
        match done {
            Ok(Some((_, new))) => Change::Put(new.clone().into()),
            _ => Change::Keep,
        }
    });
    answer.map(|_| ())
}

pub(crate) fn failure(error: Error) -> Failure {
    match error {
        Error::Conflict(conflict) => {
            let cause = match conflict.cause {
                iso_store::Cause::Changed => Cause::Serialization,
                iso_store::Cause::Deadlock => Cause::Deadlock,
            };
            Failure::conflict_by(cause, conflict.to_string())
        }
        Error::Exists { .. } => Failure::constraint(error.to_string()),
        other => Failure::broken(other.to_string()),
    }
}
