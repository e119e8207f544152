//! What an application needs of a database: one small trait, for the weak store and for real ones alike.
//!
//! A table has rows with a text as key and a number or a text as value, so that any database can hold one as
//! `(key text primary key, value text)`. Applications talk through the typed helpers of `dyn Client`.

use crate::answered::{is_match, only_row};
use crate::{Record, Value, WholeTxns};
use iso_history::{Locking, Predicate};
use std::fmt::Display;
use thiserror::Error;

/// One session of a database. Everything but [`Client::begin`] happens inside a transaction, and a call that fails with
/// [`Failure::Conflict`] has ended it. After [`Failure::Lost`] every call fails.
pub trait Client {
    /// Begins a transaction.
    fn begin(&mut self) -> Result<(), Failure>;

    /// The value of a row, if there is one.
    fn get(&mut self, table: &str, row: &str) -> Result<Option<Value>, Failure>;

    /// Puts a value into a row, which is made if there is none.
    fn put(&mut self, table: &str, row: &str, value: Value) -> Result<(), Failure>;

    /// Makes a row of which the application believes that it is not there. A database may refuse if it is.
    fn insert(&mut self, table: &str, row: &str, value: Value) -> Result<(), Failure>;

    /// Removes a row.
    fn delete(&mut self, table: &str, row: &str) -> Result<(), Failure>;

    /// The rows whose keys begin with a prefix, in the order of their keys.
    fn scan(&mut self, table: &str, prefix: &str) -> Result<Vec<(String, Value)>, Failure>;

    /// Appends an element to the list in a row, which is made if there is none. A list is a text, as in `1,2,3`, and
    /// [`list_of`] reads it.
    ///
    /// Databases append in one statement. This default reads and then writes, so that a session loses what others
    /// appended unless the level forbids lost updates.
    fn append(&mut self, table: &str, row: &str, element: i64) -> Result<(), Failure> {
        let list = match self.get(table, row)? {
            Some(list) if !list.to_string().is_empty() => format!("{list},{element}"),
            _ => element.to_string(),
        };
        self.put(table, row, Value::Text(list))
    }

    /// The rows that match a predicate, in the order of their keys. They are locked where that is asked for and the
    /// database can.
    ///
    /// This default, and those of the statements that follow, take several steps where a database takes one.
    fn select(
        &mut self,
        table: &str,
        predicate: &Predicate,
        _locking: Locking,
    ) -> Result<Vec<(String, Value)>, Failure> {
        select_by_steps(self, table, predicate)
    }

    /// Makes a row unless there is one, and does to that one what is said: `INSERT .. ON CONFLICT`. Says whether a row was
    /// made or changed.
    ///
    /// This default looks first.
    fn insert_or(&mut self, table: &str, row: &str, value: Value, conflict: &OnConflict) -> Result<bool, Failure> {
        let key = Predicate::Compare(iso_history::Column::Key, iso_history::Comparison::Equal, row.into());
        let found = self.select(table, &key, Locking::ForUpdate)?;
        match (found.first(), conflict) {
            (None, _) => self.insert(table, row, value)?,
            (Some(_), OnConflict::Nothing) => return Ok(false),
            (Some((_, old)), OnConflict::Add(by)) => {
                let number = int_of(table, row, old)?;
                self.put(table, row, Value::Int(number.wrapping_add(*by)))?;
            }
            (Some(_), OnConflict::Set(new)) => self.put(table, row, new.clone())?,
        }
        Ok(true)
    }

    /// Changes what is in a row, if there is one, and says what was in it and what is now: `UPDATE .. SET .. WHERE` its key.
    ///
    /// This default reads and then writes.
    fn update(&mut self, table: &str, row: &str, change: &mut Changing<'_>) -> Result<Option<(Value, Value)>, Failure> {
        let Some(old) = self.get(table, row)? else { return Ok(None) };
        let new = change(&old)?;
        self.put(table, row, new.clone())?;
        Ok(Some((old, new)))
    }

    /// Does [`Client::update`] act on the newest version of the row, in one statement?
    fn updates(&self) -> Updates {
        Updates::ReadAndWrite
    }

    /// Adds to the number in each row that matches a predicate, and says which these were, with what was in them.
    fn increase(&mut self, table: &str, predicate: &Predicate, by: i64) -> Result<Vec<(String, Value)>, Failure> {
        increase_by_steps(self, table, predicate, by)
    }

    /// Removes the rows that match a predicate, and says which these were, with what was in them.
    fn delete_where(&mut self, table: &str, predicate: &Predicate) -> Result<Vec<(String, Value)>, Failure> {
        delete_by_steps(self, table, predicate)
    }

    /// Ends the transaction. If that fails, it is as if it never was, except where the connection was lost: then nobody
    /// knows.
    fn commit(&mut self) -> Result<(), Failure>;

    /// Ends the transaction as if it never was.
    fn abort(&mut self) -> Result<(), Failure>;

    /// The same session, if its database takes transactions in one piece only.
    fn whole(&mut self) -> Option<&mut dyn WholeTxns> {
        None
    }

    /// What [`crate::Watcher`] calls this session.
    fn process(&self) -> Option<u64> {
        None
    }

    /// Does an insert look whether there is a row?
    fn inserts(&self) -> Inserts {
        Inserts::Checked
    }

    /// Can others see what a transaction writes before it commits? Of a database that is put to the test, nobody knows.
    fn uncommitted_writes(&self) -> Uncommitted {
        Uncommitted::MayBeSeen
    }
}

pub(crate) fn select_by_steps<C: Client + ?Sized>(
    client: &mut C,
    table: &str,
    predicate: &Predicate,
) -> Result<Vec<(String, Value)>, Failure> {
    if let Some(row) = only_row(predicate) {
        return Ok(client.get(table, &row)?.map(|value| (row, value)).into_iter().collect());
    }
    let mut rows = client.scan(table, "")?;
    rows.retain(|(row, value)| is_match(predicate, row, value));
    Ok(rows)
}

pub(crate) fn increase_by_steps<C: Client + ?Sized>(
    client: &mut C,
    table: &str,
    predicate: &Predicate,
    by: i64,
) -> Result<Vec<(String, Value)>, Failure> {
    let rows = client.select(table, predicate, Locking::ForUpdate)?;
    for (row, value) in &rows {
        let number = int_of(table, row, value)?;
        client.put(table, row, Value::Int(number.wrapping_add(by)))?;
    }
    Ok(rows)
}

pub(crate) fn delete_by_steps<C: Client + ?Sized>(
    client: &mut C,
    table: &str,
    predicate: &Predicate,
) -> Result<Vec<(String, Value)>, Failure> {
    let rows = client.select(table, predicate, Locking::ForUpdate)?;
    for (row, _) in &rows {
        client.delete(table, row)?;
    }
    Ok(rows)
}

/// What an update makes of a value.
pub type Changing<'c> = dyn FnMut(&Value) -> Result<Value, Failure> + 'c;

/// What happens to a row that is there where one was to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnConflict {
    /// Nothing.
    Nothing,
    /// This is added to its number.
    Add(i64),
    /// It gets this value.
    Set(Value),
}

/// What an update is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Updates {
    /// One statement, which nothing comes between.
    Atomic,
    /// A read and a write.
    ReadAndWrite,
}

/// What an insert that is done has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserts {
    /// That there was no row: keys are unique, and it would have failed.
    Checked,
    /// Nothing: it writes, whatever is there.
    Blind,
}

/// What others see of a transaction that has not committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uncommitted {
    /// Perhaps its writes.
    MayBeSeen,
    /// Surely nothing.
    Hidden,
}

/// What kind of reason a transaction was aborted for, as the codes of databases tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It does not fit together with others: a serialization failure, or a row that changed since the snapshot.
    Serialization,
    /// Transactions waited for each other.
    Deadlock,
    /// A lock was not granted in time.
    LockTimeout,
    /// A statement took too long, or somebody cancelled it.
    StatementTimeout,
    /// A constraint: a row that is there already.
    Constraint,
    /// The application wanted it, because of what it read.
    Application,
    /// Anything else: a connection that was lost before the commit, a run that was stopped.
    Other,
}

impl Cause {
    /// Every cause, in the order of their counts.
    pub const ALL: [Self; 7] = [
        Self::Serialization,
        Self::Deadlock,
        Self::LockTimeout,
        Self::StatementTimeout,
        Self::Constraint,
        Self::Application,
        Self::Other,
    ];
}

/// Why a transaction did not commit.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Failure {
    /// The database aborted it; another try may succeed.
    #[error("the database aborted the transaction: {reason}")]
    Conflict {
        /// What the database says.
        reason: String,
        /// Of which kind that is.
        cause: Cause,
    },
    /// The application aborted it, because of what it read.
    #[error("{reason}")]
    Aborted {
        /// What was wrong.
        reason: String,
        /// Of which kind that is.
        cause: Cause,
    },
    /// The connection is gone. A transaction that was not asked to commit never was; of one that was, nobody knows.
    #[error("the connection is lost: {message}")]
    Lost {
        /// What was seen of it.
        message: String,
    },
    /// Something else is wrong: a database that refuses, a row that is no record.
    #[error("{message}")]
    Broken {
        /// What is wrong.
        message: String,
    },
}

impl Failure {
    /// The application aborts.
    pub fn aborted(reason: impl Into<String>) -> Self {
        Self::Aborted { reason: reason.into(), cause: Cause::Application }
    }

    /// A constraint of the database is broken, such as a row that is there already.
    pub fn constraint(reason: impl Into<String>) -> Self {
        Self::Aborted { reason: reason.into(), cause: Cause::Constraint }
    }

    /// The database aborts, because transactions do not fit together.
    pub fn conflict(reason: impl Into<String>) -> Self {
        Self::conflict_by(Cause::Serialization, reason)
    }

    /// The database aborts for a cause.
    pub fn conflict_by(cause: Cause, reason: impl Into<String>) -> Self {
        Self::Conflict { reason: reason.into(), cause }
    }

    /// The connection is gone.
    pub fn lost(message: impl Into<String>) -> Self {
        Self::Lost { message: message.into() }
    }

    /// Something else is wrong.
    pub fn broken(message: impl Into<String>) -> Self {
        Self::Broken { message: message.into() }
    }
}

impl dyn Client + '_ {
    /// The number in a row. An application that misses a row aborts.
    pub fn int(&mut self, table: &str, row: impl Display) -> Result<i64, Failure> {
        let row = row.to_string();
        match self.get(table, &row)? {
            Some(value) => int_of(table, &row, &value),
            None => Err(missing(table, &row)),
        }
    }

    /// The record in a row. An application that misses a row aborts.
    pub fn record(&mut self, table: &str, row: impl Display) -> Result<Record, Failure> {
        let row = row.to_string();
        self.find(table, &row)?.ok_or_else(|| missing(table, &row))
    }

    /// The record in a row that may be missing.
    pub fn find(&mut self, table: &str, row: impl Display) -> Result<Option<Record>, Failure> {
        self.get(table, &row.to_string())?.map(|it| Record::parse(&it.to_string())).transpose()
    }

    /// The numbers in the rows whose keys begin with a prefix.
    pub fn ints(&mut self, table: &str, prefix: impl Display) -> Result<Vec<(String, i64)>, Failure> {
        let rows = self.scan(table, &prefix.to_string())?;
        rows.into_iter().map(|(row, value)| Ok((row.clone(), int_of(table, &row, &value)?))).collect()
    }

    /// The records in the rows whose keys begin with a prefix.
    pub fn records(&mut self, table: &str, prefix: impl Display) -> Result<Vec<(String, Record)>, Failure> {
        let rows = self.scan(table, &prefix.to_string())?;
        rows.into_iter().map(|(row, value)| Ok((row, Record::parse(&value.to_string())?))).collect()
    }

    /// Puts a number or a record into a row.
    pub fn write(&mut self, table: &str, row: impl Display, value: impl Into<Value>) -> Result<(), Failure> {
        self.put(table, &row.to_string(), value.into())
    }

    /// Adds to the number in a row by an `UPDATE` of the application, which has seen the row before. Where that is no single
    /// statement, it writes back what it has seen and computed.
    pub fn increase_from(&mut self, table: &str, row: impl Display, seen: i64, by: i64) -> Result<(), Failure> {
        if self.updates() == Updates::ReadAndWrite {
            return self.write(table, row, seen + by);
        }
        let row = row.to_string();
        let mut change = |old: &Value| int_of(table, &row, old).map(|it| Value::Int(it + by));
        self.update(table, &row, &mut change).map(|_| ())
    }

    /// Changes columns of a row by an `UPDATE` of the application, which has seen the row before, and says what the row is
    /// then. Where that is no single statement, it writes back what it has seen and changed.
    pub fn change_from(
        &mut self,
        table: &str,
        row: impl Display,
        seen: Record,
        change: impl Fn(&mut Record) -> Result<(), Failure>,
    ) -> Result<Record, Failure> {
        let changed = |mut record: Record| change(&mut record).map(|()| record);
        if self.updates() == Updates::ReadAndWrite {
            let new = changed(seen)?;
            self.write(table, row, new.clone())?;
            return Ok(new);
        }
        let mut update = |old: &Value| Ok(Value::from(changed(Record::parse(&old.to_string())?)?));
        match self.update(table, &row.to_string(), &mut update)? {
            Some((_, new)) => Record::parse(&new.to_string()),
            // An update of a row that is gone changes nothing.
            None => changed(seen),
        }
    }

    /// Makes a row with a number or a record.
    pub fn add(&mut self, table: &str, row: impl Display, value: impl Into<Value>) -> Result<(), Failure> {
        self.insert(table, &row.to_string(), value.into())
    }

    /// Removes a row.
    pub fn remove(&mut self, table: &str, row: impl Display) -> Result<(), Failure> {
        self.delete(table, &row.to_string())
    }
}

/// The elements of a list as [`Client::get`] has it. A row that is missing is an empty list.
pub fn list_of(value: Option<&Value>) -> Result<Vec<i64>, Failure> {
    let text = value.map(Value::to_string).unwrap_or_default();
    let elements = text.split(',').filter(|_| !text.is_empty()).map(str::parse);
    elements.collect::<Result<_, _>>().map_err(|_| Failure::broken(format!("`{text}` is no list of numbers")))
}

fn int_of(table: &str, row: &str, value: &Value) -> Result<i64, Failure> {
    match value {
        Value::Int(number) => Ok(*number),
        Value::Text(text) => text.parse().map_err(|_| Failure::broken(format!("{table}/{row} is no number: `{text}`"))),
    }
}

fn missing(table: &str, row: &str) -> Failure {
    Failure::aborted(format!("there is no row {table}/{row}"))
}
