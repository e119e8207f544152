//! `PostgreSQL`.

use super::claim::Claim;
use super::sql::{self, Connection, SqlClient};
use super::{CONNECT_TIMEOUT, LOCK_TIMEOUT, STATEMENT_TIMEOUT};
use crate::address::Address;
use crate::database::isolation_of;
use crate::dialect::Statement;
use crate::{Client, Database, Dialect, Failure, OpenError, Table, Value, Watcher};
use postgres::error::SqlState;
use postgres::types::{ToSql, Type};
use postgres::{Config, Error, NoTls, Row};
use std::collections::HashMap;
use std::fmt::{self, Write};

/// A database of a server.
#[derive(Debug)]
pub(crate) struct PostgreSql {
    config: Config,
    place: String,
    version: String,
    claim: Claim<PgConnection>,
}

/// Asks for a lock of the database. Its number is ours: the letters `isoscope`.
const CLAIM: &str = "SELECT pg_try_advisory_lock(x'69736f73636f7065'::bigint)::int::bigint";

/// Where a server is, and what it is.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Host, port and name of the database.
    pub(crate) place: String,
    pub(crate) version: String,
}

/// Connects for statements of any kind.
pub(crate) fn administrate(address: &Address) -> Result<(postgres::Client, Endpoint), OpenError> {
    let database = open(address)?;
    let PostgreSql { config, place, version, .. } = database;
    let unreachable =
        |error: Error| OpenError::Unreachable { place: format!("PostgreSQL at {place}"), reason: with_causes(&error) };
    let client = config.connect(NoTls).map_err(unreachable)?;
    let (host, port) = host_and_port(address);
    Ok((client, Endpoint { host, port, place, version }))
}

fn host_and_port(address: &Address) -> (String, u16) {
    let host = address.option("host").map(str::to_owned).or_else(|| address.host.clone());
    (host.unwrap_or_else(|| "localhost".to_owned()), address.port.unwrap_or(5432))
}

/// Connects once, for the version.
pub(crate) fn open(address: &Address) -> Result<PostgreSql, OpenError> {
    address.expect_options(&["host", "sslmode", "passfile"])?;
    address.expect_plain("sslmode", &["disable", "allow", "prefer"])?;
    let user = address.user.clone().or_else(|| std::env::var("PGUSER").ok()).unwrap_or_else(|| "postgres".to_owned());
    let name = if address.path.is_empty() { user.clone() } else { address.path.clone() };
    let (host, port) = host_and_port(address);
    let mut config = Config::new();
    config.user(&user).dbname(&name).host(&host).port(port);
    config.connect_timeout(CONNECT_TIMEOUT).tcp_user_timeout(STATEMENT_TIMEOUT).application_name("isoscope");
    if let Some(password) = address.password("PGPASSWORD")? {
        config.password(password.reveal());
    }
    let database =
        PostgreSql { config, place: format!("{host}:{port}/{name}"), version: String::new(), claim: Claim::default() };
    let show = Statement { sql: "SHOW server_version".to_owned(), values: Vec::new() };
    let version = database.connection().and_then(|mut it| it.rows(&show)).map_err(|failure| {
        let reason = match failure {
            Failure::Lost { message } | Failure::Broken { message } => message,
            other => other.to_string(),
        };
        OpenError::Unreachable { place: format!("PostgreSQL at {}", database.place), reason }
    })?;
    let version = version.into_iter().flatten().next().map(|it| it.to_string()).unwrap_or_default();
    // Debian's has a remark after the number.
    let version = version.split(' ').next().unwrap_or_default().to_owned();
    Ok(PostgreSql { version, ..database })
}

impl PostgreSql {
    fn connection(&self) -> Result<PgConnection, Failure> {
        let client = self.config.connect(NoTls).map_err(|it| failure(&it))?;
        let mut connection = PgConnection { client, prepared: HashMap::new(), process: None };
        let (lock, statement) = (LOCK_TIMEOUT.as_millis(), STATEMENT_TIMEOUT.as_millis());
        connection.command(&format!("SET lock_timeout = {lock}; SET statement_timeout = {statement}"))?;
        Ok(connection)
    }

    /// Does something with the tables of ours that there are, as a whole.
    fn change(&self, act: impl FnOnce(&mut PgConnection, &[String]) -> Result<(), Failure>) -> Result<(), Failure> {
        let mut connection = self.connection()?;
        connection.command("SET client_min_messages = warning; BEGIN")?;
        let sql = "SELECT relname::text FROM pg_class WHERE relname LIKE 'isoscope\\_%' AND pg_table_is_visible(oid)";
        let existing = connection.rows(&Statement { sql: sql.to_owned(), values: Vec::new() })?;
        let existing: Vec<String> = existing.into_iter().flatten().map(|it| it.to_string()).collect();
        act(&mut connection, &existing)?;
        connection.command("COMMIT")
    }
}

impl Database for PostgreSql {
    fn describe(&self) -> String {
        format!("PostgreSQL {} at {}", self.version, self.place)
    }

    fn isolations(&self) -> &'static [&'static str] {
        &["read-committed", "repeatable-read", "serializable"]
    }

    fn set_up(&self, tables: &[Table]) -> Result<(), Failure> {
        self.claim.hold(CLAIM, &self.place, || self.connection())?;
        self.change(|connection, existing| sql::set_up(connection, Dialect::PostgreSql, existing, tables))
    }

    fn tear_down(&self) -> Result<(), Failure> {
        self.change(sql::tear_down)?;
        self.claim.release();
        Ok(())
    }

    fn connect(&self, isolation: &str) -> Result<Box<dyn Client + Send>, Failure> {
        let begin = Dialect::PostgreSql.begin(isolation_of(self, isolation)?).join("; ");
        let mut connection = self.connection()?;
        connection.process = connection.numbers("SELECT pg_backend_pid()::bigint")?.first().copied();
        Ok(Box::new(SqlClient::new(connection, Dialect::PostgreSql, begin)))
    }

    fn watcher(&self) -> Option<Box<dyn Watcher>> {
        Some(Box::new(PgWatcher(self.connection().ok()?)))
    }

    fn dialect(&self) -> Dialect {
        Dialect::PostgreSql
    }
}

struct PgConnection {
    client: postgres::Client,
    prepared: HashMap<String, postgres::Statement>,
    process: Option<u64>,
}

/// Reads who waits for whose lock. A session whose lock was just granted waits no more, even if it does not know yet.
#[derive(Debug)]
struct PgWatcher(PgConnection);

impl Watcher for PgWatcher {
    fn waiting(&mut self) -> Result<Vec<u64>, Failure> {
        self.0.numbers(
            "SELECT pid::bigint FROM pg_stat_activity \
             WHERE wait_event_type = 'Lock' AND cardinality(pg_blocking_pids(pid)) > 0",
        )
    }
}

impl fmt::Debug for PgConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PgConnection").finish_non_exhaustive()
    }
}

impl PgConnection {
    fn prepare(&mut self, sql: &str) -> Result<postgres::Statement, Failure> {
        if let Some(prepared) = self.prepared.get(sql) {
            return Ok(prepared.clone());
        }
        let prepared = self.client.prepare(sql).map_err(|it| failure(&it))?;
        self.prepared.insert(sql.to_owned(), prepared.clone());
        Ok(prepared)
    }

    /// The numbers that a query finds.
    fn numbers(&mut self, sql: &str) -> Result<Vec<u64>, Failure> {
        let rows = self.rows(&Statement { sql: sql.to_owned(), values: Vec::new() })?;
        let number = |it: Value| if let Value::Int(number) = it { u64::try_from(number).ok() } else { None };
        Ok(rows.into_iter().flatten().filter_map(number).collect())
    }
}

impl Connection for PgConnection {
    fn run(&mut self, statement: &Statement) -> Result<u64, Failure> {
        let prepared = self.prepare(&statement.sql)?;
        let values = bound(&prepared, &statement.values)?;
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|it| &**it).collect();
        self.client.execute(&prepared, &values).map_err(|it| failure(&it))
    }

    fn rows(&mut self, statement: &Statement) -> Result<Vec<Vec<Value>>, Failure> {
        let prepared = self.prepare(&statement.sql)?;
        let values = bound(&prepared, &statement.values)?;
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|it| &**it).collect();
        let rows = self.client.query(&prepared, &values).map_err(|it| failure(&it))?;
        rows.iter().map(|row| (0..row.len()).map(|idx| value_of(row, idx)).collect()).collect()
    }

    fn command(&mut self, sql: &str) -> Result<(), Failure> {
        self.client.batch_execute(sql).map_err(|it| failure(&it))
    }

    fn process(&self) -> Option<u64> {
        self.process
    }
}

/// Values as the statement's types want them.
fn bound(prepared: &postgres::Statement, values: &[Value]) -> Result<Vec<Box<dyn ToSql + Sync>>, Failure> {
    let bind = |(value, kind): (&Value, &Type)| -> Result<Box<dyn ToSql + Sync>, Failure> {
        match value {
            Value::Int(number) if *kind == Type::INT8 => Ok(Box::new(*number)),
            Value::Text(text) if *kind == Type::INT8 => {
                let number = text.parse::<i64>();
                let number = number.map_err(|_| Failure::broken(format!("`{text}` is no number, as the table wants")));
                Ok(Box::new(number?))
            }
            value => Ok(Box::new(value.to_string())),
        }
    };
    values.iter().zip(prepared.params()).map(bind).collect()
}

fn value_of(row: &Row, idx: usize) -> Result<Value, Failure> {
    match *row.columns()[idx].type_() {
        Type::INT8 => row.try_get(idx).map(Value::Int),
        _ => row.try_get(idx).map(Value::Text),
    }
    .map_err(|it| failure(&it))
}

pub(crate) fn failure(error: &Error) -> Failure {
    let Some(said) = error.as_db_error() else {
        let message = with_causes(error);
        let is_io = std::error::Error::source(error).is_some_and(<dyn std::error::Error>::is::<std::io::Error>);
        return if error.is_closed() || is_io { Failure::lost(message) } else { Failure::broken(message) };
    };
    let message = format!("{} ({})", said.message(), said.code().code());
    let code = said.code();
    let conflicts = [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::LOCK_NOT_AVAILABLE,
        SqlState::QUERY_CANCELED,
    ];
    let losses = [SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN, SqlState::CANNOT_CONNECT_NOW];
    if conflicts.contains(code) {
        Failure::conflict(message)
    } else if *code == SqlState::UNIQUE_VIOLATION {
        Failure::aborted(message)
    } else if losses.contains(code) || code.code().starts_with("08") {
        Failure::lost(message)
    } else {
        Failure::broken(message)
    }
}

/// The driver's words are few; what happened is in its causes.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !text.contains(&words) {
            write!(text, ": {words}").expect("a text takes every text");
        }
        cause = error.source();
    }
    text
}
