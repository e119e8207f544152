//! `SQLite`: a file, or a temporary one.
//!
//! Readers see a snapshot and there is one writer, if the journal is a write-ahead log, which is what new files get.

use super::claim::in_use;
use super::sql::{self, Connection, SqlClient};
use super::{LOCK_TIMEOUT, STATEMENT_TIMEOUT};
use crate::address::Address;
use crate::database::isolation_of;
use crate::dialect::Statement;
use crate::{Cause, Client, Database, Dialect, Failure, OpenError, Preview, Table, Value};
use iso_formats::RecordedDatabase;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Error, ErrorCode, ToSql};
use std::fmt;
use std::fs::{self, File, TryLockError};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use tempfile::TempDir;

/// A file.
#[derive(Debug)]
pub(crate) struct Sqlite {
    file: PathBuf,
    /// Goes with its file in the end.
    temporary: Option<TempDir>,
    claim: Mutex<Option<Claim>>,
}

/// A lock, so that two runs do not drop each other's tables. It is a file of its own: a second handle on the database's
/// file would end the database's locks when it is closed.
#[derive(Debug)]
struct Claim {
    path: PathBuf,
    /// Locked until it is closed.
    _file: File,
}

impl Drop for Claim {
    fn drop(&mut self) {
        // A lock file that stays is in nobody's way.
        fs::remove_file(&self.path).ok();
    }
}

/// Opens or makes the file.
pub(crate) fn open(address: &Address) -> Result<Sqlite, OpenError> {
    address.expect_options(&["journal"])?;
    let place = if address.path.is_empty() { "a temporary file".to_owned() } else { address.path.clone() };
    let unreachable = |reason: String| OpenError::Unreachable { place: format!("SQLite at {place}"), reason };
    let sqlite = match address.path.as_str() {
        ":memory:" => {
            let message = "a SQLite database in memory has one connection only; `sqlite:` is a temporary file";
            return Err(OpenError::NoSuchDatabase { message: message.to_owned() });
        }
        "" => {
            let folder = TempDir::with_prefix("isoscope-").map_err(|it| unreachable(it.to_string()))?;
            Sqlite { file: folder.path().join("isoscope.db"), temporary: Some(folder), claim: Mutex::default() }
        }
        path => Sqlite { file: path.into(), temporary: None, claim: Mutex::default() },
    };
    let is_new = sqlite.file.metadata().map_or(true, |it| it.len() == 0);
    let journal = match address.option("journal").map(str::to_ascii_lowercase) {
        None if is_new => Some("wal".to_owned()),
        None => None,
        Some(journal) if ["wal", "delete"].contains(&journal.as_str()) => Some(journal),
        Some(value) => {
            let (option, expected) = ("journal".to_owned(), "wal or delete".to_owned());
            return Err(OpenError::BadOption { option, value, expected });
        }
    };
    let connection = sqlite.connection().map_err(|it| unreachable(it.to_string()))?;
    // Also finds out that a file is no database.
    let probe = match journal {
        Some(journal) => format!("PRAGMA journal_mode = {journal}; BEGIN IMMEDIATE; ROLLBACK"),
        None => "BEGIN IMMEDIATE; ROLLBACK".to_owned(),
    };
    connection.0.execute_batch(&probe).map_err(|it| unreachable(failure(&it).to_string()))?;
    // SQLite opens what it cannot write for reading, and begins every transaction on it.
    if connection.0.is_readonly("main").map_err(|it| unreachable(it.to_string()))? {
        return Err(unreachable("the file cannot be written".to_owned()));
    }
    Ok(sqlite)
}

impl Sqlite {
    fn connection(&self) -> Result<SqliteConnection, Failure> {
        let connection = rusqlite::Connection::open(&self.file).map_err(|it| failure(&it))?;
        connection.busy_timeout(LOCK_TIMEOUT.min(STATEMENT_TIMEOUT)).map_err(|it| failure(&it))?;
        if self.temporary.is_some() {
            // Nobody reads the file after this process.
            connection.pragma_update(None, "synchronous", "OFF").map_err(|it| failure(&it))?;
        }
        Ok(SqliteConnection(connection))
    }

    /// Makes sure that no other run uses the file.
    fn claim(&self) -> Result<(), Failure> {
        let mut claim = self.claim.lock().unwrap_or_else(PoisonError::into_inner);
        if claim.is_some() || self.temporary.is_some() {
            return Ok(());
        }
        let mut path = self.file.clone().into_os_string();
        path.push(".isoscope-lock");
        let cannot = |why: &dyn fmt::Display| Failure::broken(format!("cannot lock {}: {why}", path.display()));
        let file = File::create(&path).map_err(|it| cannot(&it))?;
        match file.try_lock() {
            Ok(()) => *claim = Some(Claim { path: path.into(), _file: file }),
            Err(TryLockError::WouldBlock) => return Err(in_use(&self.file.display().to_string())),
            Err(TryLockError::Error(error)) => return Err(cannot(&error)),
        }
        Ok(())
    }

    /// Does something with the tables of ours that there are, as a whole.
    fn change(&self, act: impl FnOnce(&mut SqliteConnection, &[String]) -> Result<(), Failure>) -> Result<(), Failure> {
        let mut connection = self.connection()?;
        connection.command("BEGIN IMMEDIATE")?;
        let existing = existing(&mut connection)?;
        act(&mut connection, &existing)?;
        connection.command("COMMIT")
    }
}

impl Database for Sqlite {
    fn identity(&self) -> Option<RecordedDatabase> {
        let mode = |it: SqliteConnection| it.0.query_row("PRAGMA journal_mode", [], |row| row.get::<_, String>(0)).ok();
        let mode = self.connection().ok().and_then(mode);
        Some(RecordedDatabase {
            name: "sqlite".to_owned(),
            version: Some(rusqlite::version().to_owned()),
            isolations: Vec::new(),
            settings: mode.map(|it| ("journal_mode".to_owned(), it)).into_iter().collect(),
        })
    }

    fn describe(&self) -> String {
        let place = match &self.temporary {
            Some(_) => "in a temporary file".to_owned(),
            None => format!("at {}", self.file.display()),
        };
        format!("SQLite {} {place}", rusqlite::version())
    }

    fn isolations(&self) -> &'static [&'static str] {
        &["serializable", "serializable-immediate"]
    }

    fn set_up(&self, tables: &[Table]) -> Result<(), Failure> {
        self.claim()?;
        self.change(|connection, existing| sql::set_up(connection, Dialect::Sqlite, existing, tables))
    }

    fn inspect(&self, tables: &[Table], sessions: usize) -> Result<Preview, Failure> {
        let mut connection = self.connection()?;
        let existing = existing(&mut connection)?;
        Ok(Preview {
            removed: sql::removable(&mut connection, &existing, tables)?,
            created: sql::creation(Dialect::Sqlite, tables)?,
            lock: Some("a file beside the database, which is removed at the end".to_owned()),
            connections: Some((sessions, None)),
            remarks: Vec::new(),
        })
    }

    fn tear_down(&self) -> Result<(), Failure> {
        self.change(sql::tear_down)?;
        *self.claim.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }

    fn connect(&self, isolation: &str) -> Result<Box<dyn Client + Send>, Failure> {
        let begin = Dialect::Sqlite.begin(isolation_of(self, isolation)?).join("; ");
        Ok(Box::new(SqlClient::new(self.connection()?, Dialect::Sqlite, begin)))
    }

    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }
}

/// The tables of ours that there are.
fn existing(connection: &mut SqliteConnection) -> Result<Vec<String>, Failure> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'isoscope\\_%' ESCAPE '\\'";
    let existing = connection.rows(&Statement { sql: sql.to_owned(), values: Vec::new() })?;
    Ok(existing.into_iter().flatten().map(|it| it.to_string()).collect())
}

#[derive(Debug)]
struct SqliteConnection(rusqlite::Connection);

impl Connection for SqliteConnection {
    fn run(&mut self, statement: &Statement) -> Result<u64, Failure> {
        let mut prepared = self.0.prepare_cached(&statement.sql).map_err(|it| failure(&it))?;
        let n_rows = prepared.execute(rusqlite::params_from_iter(&statement.values)).map_err(|it| failure(&it))?;
        Ok(n_rows as u64)
    }

    fn rows(&mut self, statement: &Statement) -> Result<Vec<Vec<Value>>, Failure> {
        let mut prepared = self.0.prepare_cached(&statement.sql).map_err(|it| failure(&it))?;
        let n_columns = prepared.column_count();
        let mut rows = prepared.query(rusqlite::params_from_iter(&statement.values)).map_err(|it| failure(&it))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next().map_err(|it| failure(&it))? {
            let value = |idx| row.get_ref(idx).map_err(|it| failure(&it)).and_then(value_of);
            found.push((0..n_columns).map(value).collect::<Result<_, _>>()?);
        }
        Ok(found)
    }

    fn command(&mut self, sql: &str) -> Result<(), Failure> {
        if sql == "ROLLBACK" && self.0.is_autocommit() {
            // SQLite has rolled back by itself.
            return Ok(());
        }
        self.0.execute_batch(sql).map_err(|it| failure(&it))
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Int(number) => (*number).into(),
            Self::Text(text) => text.as_str().into(),
        })
    }
}

fn value_of(value: ValueRef<'_>) -> Result<Value, Failure> {
    match value {
        ValueRef::Integer(number) => Ok(Value::Int(number)),
        ValueRef::Text(text) => Ok(Value::Text(String::from_utf8_lossy(text).into_owned())),
        other => {
            Err(Failure::broken(format!("a row holds {:?}, which is neither a number nor a text", other.data_type())))
        }
    }
}

fn failure(error: &Error) -> Failure {
    let message = error.to_string();
    match error.sqlite_error() {
        Some(it) if it.extended_code == rusqlite::ffi::SQLITE_BUSY_SNAPSHOT => {
            Failure::conflict(format!("{message} (SQLITE_BUSY_SNAPSHOT: others have written since the first read)"))
        }
        Some(it) if matches!(it.code, ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Failure::conflict_by(Cause::LockTimeout, message)
        }
        Some(it) if it.extended_code == rusqlite::ffi::SQLITE_CONSTRAINT_PRIMARYKEY => Failure::constraint(message),
        _ => Failure::broken(message),
    }
}
