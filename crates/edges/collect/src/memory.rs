//! The simplest database: one session, everything in memory. What serial runs and final states are read from.

use crate::{Client, Failure, Value};
use std::collections::BTreeMap;

/// Rows by table and key.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    rows: BTreeMap<(String, String), Value>,
    /// As it was before the open transaction.
    before: Option<BTreeMap<(String, String), Value>>,
}

impl Memory {
    /// Without rows.
    pub fn new() -> Self {
        Self::default()
    }

    fn key(table: &str, row: &str) -> (String, String) {
        (table.to_owned(), row.to_owned())
    }
}

impl Client for Memory {
    fn begin(&mut self) -> Result<(), Failure> {
        if self.before.is_some() {
            return Err(Failure::broken("a transaction is open"));
        }
        self.before = Some(self.rows.clone());
        Ok(())
    }

    fn get(&mut self, table: &str, row: &str) -> Result<Option<Value>, Failure> {
        Ok(self.rows.get(&Self::key(table, row)).cloned())
    }

    fn put(&mut self, table: &str, row: &str, value: Value) -> Result<(), Failure> {
        self.rows.insert(Self::key(table, row), value);
        Ok(())
    }

    fn insert(&mut self, table: &str, row: &str, value: Value) -> Result<(), Failure> {
        match self.rows.insert(Self::key(table, row), value) {
            None => Ok(()),
            Some(_) => Err(Failure::constraint(format!("there is a row {table}/{row} already"))),
        }
    }

    fn delete(&mut self, table: &str, row: &str) -> Result<(), Failure> {
        self.rows.remove(&Self::key(table, row));
        Ok(())
    }

    fn scan(&mut self, table: &str, prefix: &str) -> Result<Vec<(String, Value)>, Failure> {
        let from = self.rows.range(Self::key(table, prefix)..);
        let fitting = from.take_while(|it| it.0.0 == table && it.0.1.starts_with(prefix));
        Ok(fitting.map(|((_, row), value)| (row.clone(), value.clone())).collect())
    }

    fn commit(&mut self) -> Result<(), Failure> {
        self.before.take().map(|_| ()).ok_or_else(|| Failure::broken("no transaction is open"))
    }

    fn abort(&mut self) -> Result<(), Failure> {
        self.rows = self.before.take().ok_or_else(|| Failure::broken("no transaction is open"))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_aborted_transaction_leaves_nothing() {
        let mut memory = Memory::new();
        memory.begin().unwrap();
        memory.put("a", "x", 1.into()).unwrap();
        memory.commit().unwrap();
        memory.begin().unwrap();
        memory.put("a", "x", 2.into()).unwrap();
        memory.insert("a", "y", 3.into()).unwrap();
        memory.abort().unwrap();
        assert_eq!(memory.scan("a", "").unwrap(), vec![("x".to_owned(), Value::Int(1))]);
        assert!(memory.commit().is_err());
    }

    #[test]
    fn a_scan_has_the_rows_of_its_table_and_prefix_in_order() {
        let mut memory = Memory::new();
        for (table, row) in [("a", "1.2"), ("b", "1.1"), ("a", "1.1"), ("a", "2.1"), ("aa", "1.3")] {
            memory.put(table, row, 0.into()).unwrap();
        }
        let rows: Vec<String> = memory.scan("a", "1.").unwrap().into_iter().map(|it| it.0).collect();
        assert_eq!(rows, ["1.1", "1.2"]);
    }
}
