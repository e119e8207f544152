//! A driver for surrealkv 0.9.3, which promises snapshot isolation and loses updates.

use isoscope_embedded_drivers::{Engine, Refused, Txn, after, folder, serve};
use serde_json::{Value, json};
use surrealkv_0_9::{Options, Store, Transaction};

struct Kv(Store);
struct KvTxn(Transaction);

impl Engine for Kv {
    fn hello(&self) -> Value {
        json!({"name": "surrealkv", "version": "0.9.3", "levels": ["snapshot"], "promises": {"snapshot": "si"}})
    }

    fn begin(&self, _level: &str) -> Result<Box<dyn Txn + '_>, String> {
        Ok(Box::new(KvTxn(self.0.begin().map_err(|it| it.to_string())?)))
    }
}

impl Txn for KvTxn {
    fn get(&mut self, key: &str) -> Result<Option<Vec<u8>>, String> {
        self.0.get(key.as_bytes()).map_err(|it| it.to_string())
    }

    fn put(&mut self, key: &str, value: &[u8]) -> Result<(), String> {
        self.0.set(key.as_bytes(), value).map_err(|it| it.to_string())
    }

    fn delete(&mut self, key: &str) -> Result<(), String> {
        self.0.delete(key.as_bytes()).map_err(|it| it.to_string())
    }

    fn scan(&mut self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, String> {
        let end = after(prefix);
        let rows = self.0.scan(prefix.as_bytes()..end.as_bytes(), None);
        let row = |(key, value, _): (&[u8], Vec<u8>, u64)| (String::from_utf8_lossy(key).into_owned(), value);
        rows.map(|it| it.map(row).map_err(|it| it.to_string())).collect()
    }

    fn commit(mut self: Box<Self>) -> Result<(), Refused> {
        self.0.commit().map_err(|error| {
            let words = error.to_string();
            if words.to_lowercase().contains("conflict") { Refused::Conflict(words) } else { Refused::Broken(words) }
        })
    }
}

fn main() {
    let mut options = Options::new();
    options.dir = folder();
    serve(Kv(Store::new(options).expect("the store opens")));
}
