//! A driver for fjall, with optimistic transactions, which promise to be serializable.

use fjall::{KeyspaceCreateOptions, OptimisticTxDatabase, OptimisticTxKeyspace, OptimisticWriteTx, Readable};
use isoscope_embedded_drivers::{Engine, Refused, Txn, folder, serve};
use serde_json::{Value, json};

struct Fjall(OptimisticTxDatabase, OptimisticTxKeyspace);
struct FjallTxn<'e>(OptimisticWriteTx, &'e OptimisticTxKeyspace);

impl Engine for Fjall {
    fn hello(&self) -> Value {
        json!({"name": "fjall", "version": "3.1", "levels": ["serializable"], "promises": {"serializable": "ser"}})
    }

    fn begin(&self, _level: &str) -> Result<Box<dyn Txn + '_>, String> {
        Ok(Box::new(FjallTxn(self.0.write_tx().map_err(|it| it.to_string())?, &self.1)))
    }
}

impl Txn for FjallTxn<'_> {
    fn get(&mut self, key: &str) -> Result<Option<Vec<u8>>, String> {
        Ok(self.0.get(self.1, key).map_err(|it| it.to_string())?.map(|it| it.to_vec()))
    }

    fn put(&mut self, key: &str, value: &[u8]) -> Result<(), String> {
        self.0.insert(self.1, key, value);
        Ok(())
    }

    fn delete(&mut self, key: &str) -> Result<(), String> {
        self.0.remove(self.1, key);
        Ok(())
    }

    fn scan(&mut self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, String> {
        let rows = self.0.prefix(self.1, prefix).map(|it| it.into_inner().map_err(|it| it.to_string()));
        rows.map(|row| row.map(|(key, value)| (String::from_utf8_lossy(&key).into_owned(), value.to_vec()))).collect()
    }

    fn commit(self: Box<Self>) -> Result<(), Refused> {
        match self.0.commit() {
            Ok(Ok(())) => Ok(()),
            Ok(Err(conflict)) => Err(Refused::Conflict(conflict.to_string())),
            Err(error) => Err(Refused::Broken(error.to_string())),
        }
    }
}

fn main() {
    let db = OptimisticTxDatabase::builder(folder()).open().expect("the database opens");
    let keyspace = db.keyspace("kv", KeyspaceCreateOptions::default).expect("the keyspace opens");
    serve(Fjall(db, keyspace));
}
