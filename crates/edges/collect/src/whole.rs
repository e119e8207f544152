//! Transactions of databases that take them in one piece: planned first, sent at once, and told afterwards.
//!
//! Such a transaction must not depend on what it reads. It is run against a planner that notes its operations, and when the
//! database has answered, once more against what it answered, so that it is recorded as all others are.

use crate::{Client, Failure, Inserts, Transaction, Uncommitted, Value};
use std::collections::VecDeque;

/// A session whose transactions are taken in one piece.
pub trait WholeTxns {
    /// Runs a transaction, and says what each operation answered.
    fn run_whole(&mut self, ops: &[WholeOp]) -> Result<Vec<WholeAnswer>, Failure>;
}

/// An operation of a whole transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WholeOp {
    /// Reads a row.
    Get {
        /// The table.
        table: String,
        /// The key of the row.
        row: String,
    },
    /// Writes a row.
    Put {
        /// The table.
        table: String,
        /// The key of the row.
        row: String,
        /// The new value.
        value: Value,
    },
    /// Removes a row.
    Delete {
        /// The table.
        table: String,
        /// The key of the row.
        row: String,
    },
    /// Appends to the list in a row.
    Append {
        /// The table.
        table: String,
        /// The key of the row.
        row: String,
        /// What is appended.
        element: i64,
    },
    /// Reads the rows whose keys begin with a prefix.
    Scan {
        /// The table.
        table: String,
        /// What the keys begin with.
        prefix: String,
    },
}

/// What an operation of a whole transaction answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WholeAnswer {
    /// It was done.
    Done,
    /// What was read.
    Value(Option<Value>),
    /// The rows that were read.
    Rows(Vec<(String, Value)>),
}

/// The operations of a transaction.
pub(crate) fn plan(transaction: &dyn Transaction) -> Result<Vec<WholeOp>, Failure> {
    let mut planner = Planner::default();
    match transaction.run(&mut planner) {
        Ok(()) => Ok(planner.ops),
        Err(failure) => Err(Failure::broken(format!(
            "{transaction} depends on what it reads, and the database takes transactions in one piece: {failure}"
        ))),
    }
}

#[derive(Debug, Default)]
struct Planner {
    ops: Vec<WholeOp>,
}

impl Client for Planner {
    fn begin(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn get(&mut self, table: &str, row: &str) -> Result<Option<Value>, Failure> {
        self.ops.push(WholeOp::Get { table: table.to_owned(), row: row.to_owned() });
        Ok(None)
    }

    fn put(&mut self, table: &str, row: &str, value: Value) -> Result<(), Failure> {
        self.ops.push(WholeOp::Put { table: table.to_owned(), row: row.to_owned(), value });
        Ok(())
    }

    fn insert(&mut self, table: &str, row: &str, value: Value) -> Result<(), Failure> {
        self.put(table, row, value)
    }

    fn delete(&mut self, table: &str, row: &str) -> Result<(), Failure> {
        self.ops.push(WholeOp::Delete { table: table.to_owned(), row: row.to_owned() });
        Ok(())
    }

    fn scan(&mut self, table: &str, prefix: &str) -> Result<Vec<(String, Value)>, Failure> {
        self.ops.push(WholeOp::Scan { table: table.to_owned(), prefix: prefix.to_owned() });
        Ok(Vec::new())
    }

    fn append(&mut self, table: &str, row: &str, element: i64) -> Result<(), Failure> {
        self.ops.push(WholeOp::Append { table: table.to_owned(), row: row.to_owned(), element });
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn abort(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// Answers as the database did.
#[derive(Debug)]
pub(crate) struct Told {
    answers: VecDeque<WholeAnswer>,
}

impl Told {
    pub(crate) fn new(answers: Vec<WholeAnswer>) -> Self {
        Self { answers: answers.into() }
    }

    fn next(&mut self) -> Result<WholeAnswer, Failure> {
        self.answers.pop_front().ok_or_else(|| Failure::broken("the transaction depends on what it reads"))
    }
}

impl Client for Told {
    fn begin(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn get(&mut self, _table: &str, _row: &str) -> Result<Option<Value>, Failure> {
        match self.next()? {
            WholeAnswer::Value(value) => Ok(value),
            _ => Err(Failure::broken("the transaction depends on what it reads")),
        }
    }

    fn put(&mut self, _table: &str, _row: &str, _value: Value) -> Result<(), Failure> {
        self.next().map(drop)
    }

    fn insert(&mut self, table: &str, row: &str, value: Value) -> Result<(), Failure> {
        self.put(table, row, value)
    }

    fn delete(&mut self, _table: &str, _row: &str) -> Result<(), Failure> {
        self.next().map(drop)
    }

    fn scan(&mut self, _table: &str, _prefix: &str) -> Result<Vec<(String, Value)>, Failure> {
        match self.next()? {
            WholeAnswer::Rows(rows) => Ok(rows),
            _ => Err(Failure::broken("the transaction depends on what it reads")),
        }
    }

    fn append(&mut self, _table: &str, _row: &str, _element: i64) -> Result<(), Failure> {
        self.next().map(drop)
    }

    fn commit(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn abort(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn inserts(&self) -> Inserts {
        Inserts::Blind
    }

    fn uncommitted_writes(&self) -> Uncommitted {
        // It is noted at once with the commit.
        Uncommitted::Hidden
    }
}
