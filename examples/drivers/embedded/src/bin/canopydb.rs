//! A driver for canopydb: concurrent transactions have snapshot isolation, exclusive ones are serializable.

use canopydb::{Database, Error, WriteTransaction};
use isoscope_embedded_drivers::{Engine, Refused, Txn, folder, serve};
use serde_json::{Value, json};

struct Canopy(Database);
struct CanopyTxn(WriteTransaction);

fn words(error: Error) -> String {
    error.to_string()
}

impl Engine for Canopy {
    fn hello(&self) -> Value {
        json!({"name": "canopydb", "version": "0.2", "levels": ["concurrent", "exclusive"],
               "promises": {"concurrent": "si", "exclusive": "ser"}})
    }

    fn begin(&self, level: &str) -> Result<Box<dyn Txn + '_>, String> {
        Ok(Box::new(CanopyTxn(self.0.begin_write_with(level == "concurrent").map_err(words)?)))
    }
}

impl Txn for CanopyTxn {
    fn get(&mut self, key: &str) -> Result<Option<Vec<u8>>, String> {
        let tree = self.0.get_or_create_tree(b"kv").map_err(words)?;
        Ok(tree.get(key.as_bytes()).map_err(words)?.map(|it| it.to_vec()))
    }

    fn put(&mut self, key: &str, value: &[u8]) -> Result<(), String> {
        self.0.get_or_create_tree(b"kv").and_then(|mut it| it.insert(key.as_bytes(), value)).map_err(words)
    }

    fn delete(&mut self, key: &str) -> Result<(), String> {
        self.0.get_or_create_tree(b"kv").and_then(|mut it| it.delete(key.as_bytes())).map(drop).map_err(words)
    }

    fn scan(&mut self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, String> {
        let tree = self.0.get_or_create_tree(b"kv").map_err(words)?;
        let rows = tree.prefix(&prefix).map_err(words)?;
        rows.map(|row| row.map(|(key, value)| (String::from_utf8_lossy(&key).into_owned(), value.to_vec())))
            .map(|it| it.map_err(words))
            .collect()
    }

    fn commit(self: Box<Self>) -> Result<(), Refused> {
        match self.0.commit() {
            Ok(_) => Ok(()),
            Err(Error::WriteConflict) => Err(Refused::Conflict("another transaction wrote it".to_owned())),
            Err(error) => Err(Refused::Broken(words(error))),
        }
    }
}

fn main() {
    let db = Database::new(folder()).expect("the database opens");
    let first = db.begin_write().expect("it begins");
    drop(first.get_or_create_tree(b"kv").expect("there is room for a tree"));
    first.commit().expect("it commits");
    serve(Canopy(db));
}
