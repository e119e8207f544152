//! A client on any database that speaks SQL, and how such a database is set up.

use crate::client::{delete_by_steps, increase_by_steps};
use crate::dialect::{CHANGED, OWNED, OWNER, Statement, physical};
use crate::{Client, Dialect, Failure, OnConflict, Table, Value};
use iso_history::{Locking, Predicate};
use std::fmt::Debug;

/// A connection to a database that speaks SQL. Failures are classified here and nowhere else.
pub(super) trait Connection: Debug + Send {
    /// Runs a statement and says how many rows it found. A row that is there already is [`Failure::Aborted`].
    fn run(&mut self, statement: &Statement) -> Result<u64, Failure>;

    /// Runs a query.
    fn rows(&mut self, statement: &Statement) -> Result<Vec<Vec<Value>>, Failure>;

    /// Runs a statement without values and without an answer.
    fn command(&mut self, sql: &str) -> Result<(), Failure>;

    /// Do statements that delete rows return them?
    fn returns_deleted(&self) -> bool {
        true
    }

    /// What the server calls it.
    fn process(&self) -> Option<u64> {
        None
    }
}

/// A session.
#[derive(Debug)]
pub(super) struct SqlClient<C> {
    connection: C,
    dialect: Dialect,
    begin: String,
    state: State,
    seen: Seen,
}

/// When others see what a statement writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// When its transaction has committed.
    Committed,
    /// At once. A statement that changes several rows, and fails at one of them, has been seen by then, and nobody knows
    /// which rows it changed. So it locks them first, and changes one after the other.
    AtOnce,
}

/// Where a session is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Open,
    /// A statement of the transaction has failed, so it must not commit.
    Failed,
    /// The connection is gone.
    Lost(String),
}

impl<C: Connection> SqlClient<C> {
    pub(super) fn new(connection: C, dialect: Dialect, begin: impl Into<String>) -> Self {
        Self { connection, dialect, begin: begin.into(), state: State::Idle, seen: Seen::Committed }
    }

    /// The same, where others see what is written at this time.
    pub(super) fn seen(self, seen: Seen) -> Self {
        Self { seen, ..self }
    }

    fn run(&mut self, statement: Result<Statement, Failure>) -> Result<u64, Failure> {
        let statement = statement?;
        self.within(|connection| connection.run(&statement))
    }

    fn rows(&mut self, statement: Result<Statement, Failure>) -> Result<Vec<Vec<Value>>, Failure> {
        let statement = statement?;
        self.within(|connection| connection.rows(&statement))
    }

    /// The keys and values that a statement returns.
    fn pairs(&mut self, statement: Result<Statement, Failure>) -> Result<Vec<(String, Value)>, Failure> {
        let rows = self.rows(statement)?;
        let pair = |row: Vec<Value>| <[Value; 2]>::try_from(row).ok().map(|[id, value]| (id.to_string(), value));
        rows.into_iter().map(|it| pair(it).ok_or_else(|| Failure::broken("a row has not two columns"))).collect()
    }

    /// Adds to values on a database that does not return what it updates: a variable of the session has it.
    fn increase_noted(&mut self, table: &str, predicate: &Predicate, by: i64) -> Result<Vec<(String, Value)>, Failure> {
        self.within(|connection| connection.command(&format!("SET {CHANGED} = ''")))?;
        self.run(self.dialect.increase_noted(table, predicate, by))?;
        let ask = Statement { sql: format!("SELECT {CHANGED}"), values: Vec::new() };
        let noted = self.rows(Ok(ask))?.into_iter().flatten().map(|it| it.to_string()).collect::<String>();
        let pair = |text: &str| text.rsplit_once('=').and_then(|it| Some((it.0.to_owned(), it.1.parse().ok()?)));
        let rows = noted.split_whitespace().map(|it| pair(it).map(|(row, number)| (row, Value::Int(number))));
        rows.map(|it| it.ok_or_else(|| Failure::broken(format!("`{noted}` are no rows that were changed")))).collect()
    }

    /// Does something inside the transaction, and ends it where the database did.
    fn within<T>(&mut self, act: impl FnOnce(&mut C) -> Result<T, Failure>) -> Result<T, Failure> {
        match &self.state {
            State::Open => {}
            State::Idle => return Err(Failure::broken("no transaction is open")),
            State::Failed => return Err(Failure::broken("the transaction has failed and must be aborted")),
            State::Lost(message) => return Err(Failure::lost(message.clone())),
        }
        let done = act(&mut self.connection);
        if let Err(failure) = &done {
            self.fail(failure)?;
        }
        done
    }

    fn fail(&mut self, failure: &Failure) -> Result<(), Failure> {
        self.state = match failure {
            Failure::Lost { message } => State::Lost(message.clone()),
            Failure::Conflict { .. } => return self.roll_back(),
            Failure::Aborted { .. } | Failure::Broken { .. } => State::Failed,
        };
        Ok(())
    }

    fn roll_back(&mut self) -> Result<(), Failure> {
        self.state = State::Idle;
        let done = self.connection.command("ROLLBACK");
        if let Err(Failure::Lost { message }) = &done {
            self.state = State::Lost(message.clone());
        }
        done
    }

    /// Updates a row, or makes it where there is none.
    fn upsert(
        &mut self,
        update: Result<Statement, Failure>,
        insert: Result<Statement, Failure>,
    ) -> Result<(), Failure> {
        if self.run(update)? > 0 {
            return Ok(());
        }
        match self.run(insert) {
            Ok(_) => Ok(()),
            // Somebody else made the row in between.
            Err(Failure::Aborted { reason, cause }) => self.roll_back().and(Err(Failure::Conflict { reason, cause })),
            Err(failure) => Err(failure),
        }
    }
}

impl<C: Connection> Client for SqlClient<C> {
    fn begin(&mut self) -> Result<(), Failure> {
        match &self.state {
            State::Idle => {}
            State::Open | State::Failed => return Err(Failure::broken("a transaction is open")),
            State::Lost(message) => return Err(Failure::lost(message.clone())),
        }
        let done = self.connection.command(&self.begin);
        match &done {
            Ok(()) => self.state = State::Open,
            Err(Failure::Lost { message }) => self.state = State::Lost(message.clone()),
            Err(_) => {}
        }
        done
    }

    fn get(&mut self, table: &str, row: &str) -> Result<Option<Value>, Failure> {
        let rows = self.rows(self.dialect.get(table, row))?;
        Ok(rows.into_iter().next().and_then(|it| it.into_iter().next()))
    }

    fn put(&mut self, table: &str, row: &str, value: Value) -> Result<(), Failure> {
        let update = self.dialect.update(table, row, value.clone());
        self.upsert(update, self.dialect.insert(table, row, value))
    }

    fn insert(&mut self, table: &str, row: &str, value: Value) -> Result<(), Failure> {
        self.run(self.dialect.insert(table, row, value)).map(|_| ())
    }

    fn insert_or(&mut self, table: &str, row: &str, value: Value, conflict: &OnConflict) -> Result<bool, Failure> {
        Ok(self.run(self.dialect.insert_or(table, row, value, conflict))? > 0)
    }

    fn delete(&mut self, table: &str, row: &str) -> Result<(), Failure> {
        self.run(self.dialect.delete(table, row)).map(|_| ())
    }

    fn scan(&mut self, table: &str, prefix: &str) -> Result<Vec<(String, Value)>, Failure> {
        self.pairs(self.dialect.scan(table, prefix))
    }

    fn select(
        &mut self,
        table: &str,
        predicate: &Predicate,
        locking: Locking,
    ) -> Result<Vec<(String, Value)>, Failure> {
        self.pairs(self.dialect.select(table, predicate, locking))
    }

    fn increase(&mut self, table: &str, predicate: &Predicate, by: i64) -> Result<Vec<(String, Value)>, Failure> {
        if self.seen == Seen::AtOnce {
            return increase_by_steps(self, table, predicate, by);
        }
        if self.dialect == Dialect::MySql {
            return self.increase_noted(table, predicate, by);
        }
        let mut rows = self.pairs(self.dialect.increase(table, predicate, by))?;
        for (_, value) in &mut rows {
            if let Value::Int(number) = value {
                *number = number.wrapping_sub(by);
            }
        }
        Ok(rows)
    }

    fn delete_where(&mut self, table: &str, predicate: &Predicate) -> Result<Vec<(String, Value)>, Failure> {
        if self.connection.returns_deleted() && self.seen == Seen::Committed {
            return self.pairs(self.dialect.delete_where(table, predicate));
        }
        // Nobody changes a row between its lock and its end.
        delete_by_steps(self, table, predicate)
    }

    fn append(&mut self, table: &str, row: &str, element: i64) -> Result<(), Failure> {
        let append = self.dialect.append(table, row, element);
        self.upsert(append, self.dialect.insert(table, row, Value::Text(element.to_string())))
    }

    fn process(&self) -> Option<u64> {
        self.connection.process()
    }

    fn commit(&mut self) -> Result<(), Failure> {
        // PostgreSQL answers the commit of a failed transaction with success, and rolls it back.
        if self.state == State::Failed {
            self.roll_back()?;
            return Err(Failure::broken("the transaction has failed and cannot commit"));
        }
        self.within(|connection| connection.command("COMMIT"))?;
        self.state = State::Idle;
        Ok(())
    }

    fn abort(&mut self) -> Result<(), Failure> {
        match &self.state {
            State::Idle => Err(Failure::broken("no transaction is open")),
            State::Lost(message) => Err(Failure::lost(message.clone())),
            State::Open | State::Failed => self.roll_back(),
        }
    }
}

/// Makes tables, after those of an earlier set-up are gone.
///
/// `existing` are the names of all tables that begin as ours do.
pub(super) fn set_up(
    connection: &mut impl Connection,
    dialect: Dialect,
    existing: &[String],
    tables: &[Table],
) -> Result<(), Failure> {
    removable(connection, existing, tables)?;
    tear_down(connection, existing)?;
    for statement in creation(dialect, tables)? {
        connection.command(&statement)?;
    }
    Ok(())
}

/// The statements that make tables.
pub(super) fn creation(dialect: Dialect, tables: &[Table]) -> Result<Vec<String>, Failure> {
    let mut statements = vec![format!("CREATE TABLE {OWNER} ({OWNED} VARCHAR(190) PRIMARY KEY)")];
    for table in tables {
        // Listed first, so that a set-up that breaks in between can be torn down.
        statements.push(format!("INSERT INTO {OWNER} VALUES ('{}')", physical(&table.name)?));
        statements.push(dialect.create(table)?);
    }
    Ok(statements)
}

/// The tables that a set-up would remove, if it is free to make these ones.
pub(super) fn removable(
    connection: &mut impl Connection,
    existing: &[String],
    tables: &[Table],
) -> Result<Vec<String>, Failure> {
    let ours = owned(connection, existing)?;
    for table in tables {
        let name = physical(&table.name)?;
        if existing.contains(&name) && !ours.contains(&name) {
            return Err(Failure::broken(format!(
                "there is a table {name} that isoscope did not make; it is left as it is"
            )));
        }
    }
    let is_there = |it: &&String| **it == OWNER || ours.contains(it);
    Ok(existing.iter().filter(is_there).cloned().collect())
}

/// Removes the tables that a set-up made.
pub(super) fn tear_down(connection: &mut impl Connection, existing: &[String]) -> Result<(), Failure> {
    for name in owned(connection, existing)? {
        connection.command(&format!("DROP TABLE IF EXISTS {name}"))?;
    }
    connection.command(&format!("DROP TABLE IF EXISTS {OWNER}"))
}

/// The tables that an earlier set-up made.
fn owned(connection: &mut impl Connection, existing: &[String]) -> Result<Vec<String>, Failure> {
    if !existing.iter().any(|it| it == OWNER) {
        return Ok(Vec::new());
    }
    let list = Statement { sql: format!("SELECT {OWNED} FROM {OWNER}"), values: Vec::new() };
    let rows = connection.rows(&list).map_err(|failure| match failure {
        Failure::Broken { message } => Failure::broken(format!("the table {OWNER} is not isoscope's: {message}")),
        other => other,
    })?;
    Ok(rows.into_iter().flatten().map(|it| it.to_string()).collect())
}
