//! A driver for the newest surrealkv, which promises snapshot isolation.

use isoscope_embedded_drivers::{Engine, Refused, Txn, after, folder, serve};
use serde_json::{Value, json};
use surrealkv::{LSMIterator, Transaction, Tree, TreeBuilder};
use tokio::runtime::Runtime;

struct Kv(Tree, Runtime);
struct KvTxn<'e>(Transaction, &'e Runtime);

impl Engine for Kv {
    fn hello(&self) -> Value {
        json!({"name": "surrealkv", "version": "1.2", "levels": ["snapshot"], "promises": {"snapshot": "si"}})
    }

    fn begin(&self, _level: &str) -> Result<Box<dyn Txn + '_>, String> {
        let _inside = self.1.enter();
        Ok(Box::new(KvTxn(self.0.begin().map_err(|it| it.to_string())?, &self.1)))
    }
}

impl Txn for KvTxn<'_> {
    fn get(&mut self, key: &str) -> Result<Option<Vec<u8>>, String> {
        Ok(self.0.get(key.as_bytes()).map_err(|it| it.to_string())?.map(|it| it.to_vec()))
    }

    fn put(&mut self, key: &str, value: &[u8]) -> Result<(), String> {
        self.0.set(key.as_bytes(), value).map_err(|it| it.to_string())
    }

    fn delete(&mut self, key: &str) -> Result<(), String> {
        self.0.delete(key.as_bytes()).map_err(|it| it.to_string())
    }

    fn scan(&mut self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, String> {
        let (words, end) = (|it: surrealkv::Error| it.to_string(), after(prefix));
        let mut rows = self.0.range(prefix.as_bytes(), end.as_bytes()).map_err(words)?;
        let mut found = Vec::new();
        let mut is_there = rows.seek_first().map_err(words)?;
        while is_there && rows.valid() {
            let key = String::from_utf8_lossy(rows.key().user_key()).into_owned();
            found.push((key, rows.value().map_err(words)?.to_vec()));
            is_there = rows.next().map_err(words)?;
        }
        Ok(found)
    }

    fn commit(mut self: Box<Self>) -> Result<(), Refused> {
        let runtime = self.1;
        runtime.block_on(self.0.commit()).map_err(|error| {
            let words = error.to_string();
            let is_conflict = ["conflict", "retry"].iter().any(|it| words.to_lowercase().contains(it));
            if is_conflict { Refused::Conflict(words) } else { Refused::Broken(words) }
        })
    }
}

fn main() {
    let runtime = Runtime::new().expect("there are threads");
    let tree = {
        let _inside = runtime.enter();
        TreeBuilder::new().with_path(folder()).build().expect("the tree opens")
    };
    serve(Kv(tree, runtime));
}
