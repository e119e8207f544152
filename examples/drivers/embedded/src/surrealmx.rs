//! What the drivers of all releases of surrealmx share: a store in memory with snapshot isolation and serializable snapshot isolation.

use super::VERSION;
use super::engine::{Database, Transaction};
use isoscope_embedded_drivers::{Engine, Refused, Txn, after, serve};
use serde_json::{Value, json};

struct Mx(Database);
struct MxTxn(Transaction);

impl Engine for Mx {
    fn hello(&self) -> Value {
        json!({"name": "surrealmx", "version": VERSION, "levels": ["snapshot", "serializable"],
               "promises": {"snapshot": "si", "serializable": "ser"}})
    }

    fn begin(&self, level: &str) -> Result<Box<dyn Txn + '_>, String> {
        let txn = self.0.transaction(true);
        let is_serializable = level == "serializable";
        Ok(Box::new(MxTxn(if is_serializable {
            txn.with_serializable_snapshot_isolation()
        } else {
            txn.with_snapshot_isolation()
        })))
    }
}

impl Drop for MxTxn {
    fn drop(&mut self) {
        if !self.0.closed() {
            self.0.cancel().ok();
        }
    }
}

impl Txn for MxTxn {
    fn get(&mut self, key: &str) -> Result<Option<Vec<u8>>, String> {
        Ok(self.0.get(key.to_owned()).map_err(|it| it.to_string())?.map(|it| it.to_vec()))
    }

    fn put(&mut self, key: &str, value: &[u8]) -> Result<(), String> {
        self.0.set(key.to_owned(), value.to_vec()).map_err(|it| it.to_string())
    }

    fn delete(&mut self, key: &str) -> Result<(), String> {
        self.0.del(key.to_owned()).map_err(|it| it.to_string())
    }

    fn scan(&mut self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, String> {
        let rows = self.0.scan(prefix.to_owned()..after(prefix), None, None).map_err(|it| it.to_string())?;
        Ok(rows.into_iter().map(|(key, value)| (String::from_utf8_lossy(&key).into_owned(), value.to_vec())).collect())
    }

    fn commit(mut self: Box<Self>) -> Result<(), Refused> {
        self.0.commit().map_err(|error| {
            let words = error.to_string();
            let is_conflict = ["conflict", "retr"].iter().any(|it| words.to_lowercase().contains(it));
            if is_conflict { Refused::Conflict(words) } else { Refused::Broken(words) }
        })
    }
}

/// Serves the engine.
pub fn main() {
    serve(Mx(Database::new()));
}
