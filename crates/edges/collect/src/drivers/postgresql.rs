//! `PostgreSQL`, directly or through a pooler such as `PgBouncer`.
//!
//! A pooler in transaction mode gives a transaction whichever connection to the server is free. So nothing may be left
//! behind in one: settings are those of a transaction, statements have no names, and the lock that keeps other runs away
//! belongs to a transaction that lasts as long as the run. A direct connection has its settings from the start, which
//! poolers refuse or ignore: that tells them apart.

mod condition;
mod endpoint;
mod values;

pub(crate) use endpoint::{Endpoint, administrate};

use super::claim::Claim;
use super::errors;
use super::libpq::Login;
use super::sql::{self, Connection, SqlClient};
use super::tls::{Encryption, Mode, is_handshake};
use super::tls_stream::Connector;
use super::{LOCK_TIMEOUT, STATEMENT_TIMEOUT};
use crate::address::Address;
use crate::database::isolation_of;
use crate::dialect::Statement;
use crate::environment::Environment;
use crate::{Client, Database, Dialect, Failure, OpenError, Preview, Table, Value, Watcher};
use condition::Condition;
use iso_formats::RecordedDatabase;
use postgres::config::SslMode;
use postgres::error::SqlState;
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::{ToSql, Type};
use postgres::{Config, Error, NoTls, Row};
use std::collections::HashMap;
use std::fmt::{self, Write};
use std::thread;
use std::time::{Duration, Instant};
use values::{AsText, bound, values_of};

/// A database of a server.
#[derive(Debug)]
pub(crate) struct PostgreSql {
    config: Config,
    encryption: Encryption,
    /// None if nothing is encrypted.
    connector: Option<Connector>,
    link: Link,
    host: String,
    place: String,
    version: String,
    default_isolation: String,
    /// May sessions look for deadlocks earlier than the server does? An administrator may.
    may_hurry: bool,
    schema: Option<String>,
    /// Why there may be no password.
    remark: Option<String>,
    claim: Claim<PgConnection>,
}

/// What is at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    /// A server, for as long as the connection lives.
    Direct,
    /// Somebody who gives each transaction a connection to a server.
    Pooled,
}

/// What a server says of itself when it is asked first.
struct Server {
    link: Link,
    version: String,
    default_isolation: String,
    may_hurry: bool,
}

/// How long a session waits for a lock before it looks for a deadlock; a second by default, which is most of the time
/// of a contended run.
const DEADLOCK_TIMEOUT: Duration = Duration::from_millis(20);

/// The number of our lock: the letters `isoscope`.
const LOCK: &str = "x'69736f73636f7065'::bigint";

/// A server that has just lost its clients takes new ones a moment later.
const PATIENCE: Duration = Duration::from_secs(3);

/// Connects once, for the version, and to know who is there.
pub(crate) fn open(address: &Address, environment: &Environment) -> Result<PostgreSql, OpenError> {
    let login = Login::of(address, environment)?;
    let mut config = Config::new();
    config.user(&login.user).dbname(&login.database).host(&login.host).port(login.port);
    config.tcp_user_timeout(STATEMENT_TIMEOUT).application_name(&login.application);
    if let Some(timeout) = login.connect_timeout {
        config.connect_timeout(timeout);
    }
    if let Some(password) = &login.password {
        config.password(password.reveal());
    }
    let connector = match login.encryption.mode {
        Mode::Disable => None,
        _ => Some(Connector(login.encryption.config()?)),
    };
    let schema = address.schema.as_ref().map(|it| format!("\"{}\"", it.replace('"', "\"\"")));
    let mut direct = config.clone();
    direct.options(&start_options(login.options.as_deref(), schema.as_deref()));
    let database = PostgreSql {
        config: direct,
        connector,
        link: Link::Direct,
        place: login.place(),
        host: login.host,
        version: String::new(),
        default_isolation: String::new(),
        may_hurry: false,
        schema,
        remark: login.remark,
        claim: Claim::default(),
        encryption: login.encryption,
    };
    let unreachable = |failure: Failure| {
        let reason = match failure {
            Failure::Lost { message } | Failure::Broken { message } => message,
            other => other.to_string(),
        };
        OpenError::Unreachable { place: format!("PostgreSQL at {}", database.place), reason }
    };
    match database.connect_now() {
        Ok(client) => {
            let Server { link, version, default_isolation, may_hurry } =
                PostgreSql::ask(client).map_err(unreachable)?;
            if link == Link::Direct {
                return Ok(PostgreSql { version, default_isolation, may_hurry, ..database });
            }
        }
        Err(error) if is_refused_option(&error) => {}
        Err(error) => return Err(unreachable(database.explained(&error))),
    }
    if login.options.is_some() {
        let reason = "there is a pooler, which takes no `options`; give them to the role: ALTER ROLE .. SET ..";
        return Err(unreachable(Failure::broken(reason)));
    }
    let database = PostgreSql { config, link: Link::Pooled, ..database };
    let client = database.connect_now().map_err(|it| database.explained(&it));
    let asked = client.and_then(PostgreSql::ask);
    let asked = asked.map_err(|failure| OpenError::Unreachable {
        place: format!("PostgreSQL at {}", database.place),
        reason: failure.to_string(),
    })?;
    let Server { version, default_isolation, may_hurry, .. } = asked;
    Ok(PostgreSql { version, default_isolation, may_hurry, ..database })
}

/// The settings that a direct connection begins with, after those of the user.
fn start_options(of_user: Option<&str>, schema: Option<&str>) -> String {
    let (lock, statement) = (LOCK_TIMEOUT.as_millis(), STATEMENT_TIMEOUT.as_millis());
    let ours = format!("-c lock_timeout={lock} -c statement_timeout={statement}");
    let escaped = |it: &str| it.replace('\\', "\\\\").replace(' ', "\\ ");
    let schema = schema.map(|it| format!(" -c search_path={}", escaped(it))).unwrap_or_default();
    format!("{} {ours}{schema}", of_user.unwrap_or_default()).trim_start().to_owned()
}

/// `PgBouncer` does not know the settings of a start.
fn is_refused_option(error: &Error) -> bool {
    error.as_db_error().is_some_and(|it| it.message().contains("startup parameter"))
}

impl PostgreSql {
    fn connection(&self) -> Result<PgConnection, Failure> {
        let client = self.connect_now().map_err(|it| self.explained(&it))?;
        Ok(PgConnection { client, link: self.link, prepared: HashMap::new(), process: None })
    }

    /// Connects, encrypted or not as it is asked for.
    fn connect_now(&self) -> Result<postgres::Client, Error> {
        let plain = || self.config.clone().ssl_mode(SslMode::Disable).connect(NoTls);
        let Some(connector) = &self.connector else { return plain() };
        let encrypted = |mode: SslMode| self.config.clone().ssl_mode(mode).connect(connector.clone());
        let is_rejected = |error: &Error| error.code() == Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION);
        match self.encryption.mode {
            Mode::Disable => plain(),
            Mode::Allow => match plain() {
                Err(error) if is_rejected(&error) => encrypted(SslMode::Require),
                other => other,
            },
            Mode::Prefer => match encrypted(SslMode::Prefer) {
                Err(error) if is_handshake(&error) => plain(),
                // The server may want the one or the other; what it says first is the reason otherwise.
                Err(error) if is_rejected(&error) => plain().map_err(|_| error),
                other => other,
            },
            Mode::Require | Mode::VerifyCa | Mode::VerifyFull => encrypted(SslMode::Require),
        }
    }

    /// Why there is no connection, and what to do.
    fn explained(&self, error: &Error) -> Failure {
        let cure = self.encryption.cure(error, &self.host).or_else(|| self.cure(error));
        let also = [cure, self.remark.clone()].into_iter().flatten().collect::<Vec<_>>().join("; ");
        match failure(error) {
            failure if also.is_empty() => failure,
            Failure::Lost { message } => Failure::lost(format!("{message}; {also}")),
            Failure::Broken { message } => Failure::broken(format!("{message}; {also}")),
            other => other,
        }
    }

    /// What to do about a connection that is refused.
    fn cure(&self, error: &Error) -> Option<String> {
        let text = with_causes(error);
        if text.contains("server does not support TLS") {
            return Some("take sslmode=prefer if the connection need not be encrypted".to_owned());
        }
        if text.contains("password missing") {
            let places = "the address, `passfile=FILE`, PGPASSWORD or a line of ~/.pgpass";
            return Some(format!("give it in {places}"));
        }
        let code = error.code()?;
        if *code == SqlState::TOO_MANY_CONNECTIONS {
            return Some("use fewer --sessions, or raise max_connections".to_owned());
        }
        if text.contains("client certificate") {
            return Some("give sslcert=FILE and sslkey=FILE".to_owned());
        }
        let is_plain = text.contains("no encryption") && self.encryption.mode == Mode::Disable;
        is_plain.then(|| "the server may want it encrypted: leave out sslmode=disable".to_owned())
    }

    /// Asks who is there, and for the version.
    fn ask(client: postgres::Client) -> Result<Server, Failure> {
        let mut connection = PgConnection { client, link: Link::Pooled, prepared: HashMap::new(), process: None };
        let sql = "SELECT current_setting('server_version'), current_setting('lock_timeout'), \
             current_setting('default_transaction_isolation')";
        let answer = connection.rows(&Statement { sql: sql.to_owned(), values: Vec::new() })?;
        let mut answer = answer.into_iter().flatten().map(|it| it.to_string());
        let version = answer.next().unwrap_or_default();
        let took_options = answer.next() == Some(format!("{}s", LOCK_TIMEOUT.as_secs()));
        // Debian's has a remark after the number.
        let version = version.split(' ').next().unwrap_or_default().to_owned();
        let link = if took_options { Link::Direct } else { Link::Pooled };
        let default_isolation = answer.next().unwrap_or_default();
        let hurry = format!("BEGIN; SET LOCAL deadlock_timeout = {}", DEADLOCK_TIMEOUT.as_millis());
        let may_hurry = connection.command(&hurry).is_ok();
        // A pooler that takes no transactions has hung up by then, and is asked why later on.
        connection.command("ROLLBACK").ok();
        Ok(Server { link, version, default_isolation, may_hurry })
    }

    /// What a transaction sets for itself, where the connection has no settings.
    fn local_settings(&self) -> String {
        if self.link == Link::Direct {
            return String::new();
        }
        let (lock, statement) = (LOCK_TIMEOUT.as_millis(), STATEMENT_TIMEOUT.as_millis());
        let schema = self.schema.as_ref().map(|it| format!("; SET LOCAL search_path = {it}")).unwrap_or_default();
        let timeout = DEADLOCK_TIMEOUT.as_millis();
        let hurry = if self.may_hurry { format!("; SET LOCAL deadlock_timeout = {timeout}") } else { String::new() };
        format!("; SET LOCAL lock_timeout = {lock}; SET LOCAL statement_timeout = {statement}{hurry}{schema}")
    }

    /// Takes the lock that keeps other runs away.
    fn hold(&self) -> Result<(), Failure> {
        let scope = match self.link {
            Link::Direct => "",
            Link::Pooled => "_xact",
        };
        let question = format!("SELECT pg_try_advisory{scope}_lock({LOCK})::int::bigint");
        self.claim.hold(&question, &self.place, || {
            let mut connection = self.connection()?;
            if self.link == Link::Pooled {
                connection.command("BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0")?;
            }
            Ok(connection)
        })
    }

    /// Does something with the tables of ours that there are, as a whole.
    fn change(&self, act: impl FnOnce(&mut PgConnection, &[String]) -> Result<(), Failure>) -> Result<(), Failure> {
        let mut connection = self.connection()?;
        connection.command(&format!("BEGIN; SET LOCAL client_min_messages = warning{}", self.local_settings()))?;
        let existing = existing(&mut connection)?;
        act(&mut connection, &existing)?;
        connection.command("COMMIT")
    }

    /// A connection of a server that may still be busy with the end of others.
    fn patient_change(&self, act: impl Fn(&mut PgConnection, &[String]) -> Result<(), Failure>) -> Result<(), Failure> {
        let given_up = Instant::now() + PATIENCE;
        loop {
            match self.change(&act) {
                Err(Failure::Broken { message })
                    if message.contains(SqlState::TOO_MANY_CONNECTIONS.code()) && Instant::now() < given_up =>
                {
                    thread::sleep(Duration::from_millis(100));
                }
                other => return other,
            }
        }
    }
}

/// The tables of ours that there are.
fn existing(connection: &mut PgConnection) -> Result<Vec<String>, Failure> {
    let sql = "SELECT relname::text FROM pg_class WHERE relname LIKE 'isoscope\\_%' AND relkind IN ('r', 'p', 'v', 'm', 'f') \
               AND pg_table_is_visible(oid) ORDER BY relname";
    let existing = connection.rows(&Statement { sql: sql.to_owned(), values: Vec::new() })?;
    Ok(existing.into_iter().flatten().map(|it| it.to_string()).collect())
}

impl Database for PostgreSql {
    fn describe(&self) -> String {
        let schema = self.schema.as_ref().map(|it| format!(", schema {it}")).unwrap_or_default();
        let pooler = if self.link == Link::Pooled { ", through a pooler" } else { "" };
        format!("PostgreSQL {} at {}{schema}{pooler}", self.version, self.place)
    }

    fn isolations(&self) -> &'static [&'static str] {
        &["read-committed", "repeatable-read", "serializable", "read-uncommitted"]
    }

    fn inspect(&self, tables: &[Table], sessions: usize) -> Result<Preview, Failure> {
        let mut connection = self.connection()?;
        connection.command(&format!("BEGIN{}", self.local_settings())).map_err(|failure| match failure {
            Failure::Lost { message } if self.link == Link::Pooled => Failure::broken(format!(
                "the pooler at {} takes no transactions ({message}): it needs pool_mode=transaction or session",
                self.place
            )),
            other => other,
        })?;
        let found = Condition::ask(&mut connection)?;
        let place = &self.place;
        if found.is_standby {
            let cure = "a run writes tables, so give the address of the primary";
            return Err(Failure::broken(format!("PostgreSQL at {place} is a hot standby, which only reads: {cure}")));
        }
        if found.is_read_only {
            let cure = "set default_transaction_read_only to off for this user or database, or take another one";
            return Err(Failure::broken(format!("transactions of PostgreSQL at {place} only read: {cure}")));
        }
        let (user, database) = (quoted(&found.user), &found.database);
        if found.schema.is_empty() {
            let schema = self.schema.clone().unwrap_or_else(|| "isoscope".to_owned());
            let cure = format!("CREATE SCHEMA {schema} AUTHORIZATION {user};");
            return Err(Failure::broken(format!(
                "there is no schema {schema} in database {database}; this makes one: {cure}"
            )));
        }
        if !found.may_create {
            let schema = quoted(&found.schema);
            let cure = format!("GRANT USAGE, CREATE ON SCHEMA {schema} TO {user};");
            return Err(Failure::broken(format!(
                "user {user} may not make tables in schema {schema} of database {database}; its owner can allow it: {cure}"
            )));
        }
        // One for each session, and one that holds the lock.
        let needed = sessions + 1;
        let (most, used) = found.connections;
        // The connection that asks is among those in use, and ends now.
        let free = most.saturating_sub(used.saturating_sub(1));
        if self.link == Link::Direct && needed as u64 > free {
            return Err(Failure::broken(format!(
                "PostgreSQL at {place} takes {free} more connections ({most} at most for this user, {} in use), and {sessions} \
                 sessions need {needed}, with the one that holds the lock: use --sessions {} or fewer, or raise \
                 max_connections",
                used.saturating_sub(1),
                free.saturating_sub(1)
            )));
        }
        let existing = existing(&mut connection)?;
        let removed = sql::removable(&mut connection, &existing, tables)?;
        connection.command("ROLLBACK")?;
        let lock = match self.link {
            Link::Direct => "an advisory lock of the database, for the time of the run",
            Link::Pooled => "an advisory lock of a transaction that is open for the time of the run",
        };
        let mut remarks = Vec::new();
        if !self.may_hurry {
            remarks.push(
                "deadlocks are found after the server's deadlock_timeout, which takes time: this user may not set it, and \
                 an administrator could"
                    .to_owned(),
            );
        }
        if self.link == Link::Pooled {
            remarks.push("through a pooler: settings belong to transactions, and statements have no names".to_owned());
        }
        Ok(Preview {
            removed,
            created: sql::creation(Dialect::PostgreSql, tables)?,
            lock: Some(lock.to_owned()),
            connections: Some((needed, Some(free).filter(|_| self.link == Link::Direct))),
            remarks,
        })
    }

    fn set_up(&self, tables: &[Table]) -> Result<(), Failure> {
        self.hold()?;
        self.change(|connection, existing| sql::set_up(connection, Dialect::PostgreSql, existing, tables))
    }

    fn tear_down(&self) -> Result<(), Failure> {
        self.patient_change(sql::tear_down)?;
        self.claim.release(Some("ROLLBACK").filter(|_| self.link == Link::Pooled));
        Ok(())
    }

    fn connect(&self, isolation: &str) -> Result<Box<dyn Client + Send>, Failure> {
        let begin = Dialect::PostgreSql.begin(isolation_of(self, isolation)?).join("; ");
        let begin = begin + &self.local_settings();
        let mut connection = self.connection()?;
        if self.link == Link::Direct {
            if self.may_hurry {
                connection.command(&format!("SET deadlock_timeout = {}", DEADLOCK_TIMEOUT.as_millis()))?;
            }
            connection.process = connection.numbers("SELECT pg_backend_pid()::bigint")?.first().copied();
        }
        Ok(Box::new(SqlClient::new(connection, Dialect::PostgreSql, begin)))
    }

    fn position(&self) -> Result<Option<String>, Failure> {
        let mut connection = self.connection()?;
        let sql = "SELECT pg_current_wal_lsn()::text".to_owned();
        let rows = connection.rows(&Statement { sql, values: Vec::new() })?;
        Ok(rows.into_iter().flatten().next().map(|it| it.to_string()))
    }

    /// A standby tells how far it is; a server that is none has everything.
    fn has_reached(&self, position: Option<&str>) -> Result<bool, Failure> {
        let Some(position) = position.filter(|it| it.chars().all(|it| it.is_ascii_hexdigit() || it == '/')) else {
            return Ok(true);
        };
        let sql = format!(
            "SELECT CASE WHEN NOT pg_is_in_recovery() OR pg_last_wal_replay_lsn() >= '{position}'::pg_lsn \
             THEN 1 ELSE 0 END::bigint"
        );
        Ok(self.connection()?.numbers(&sql)? == [1])
    }

    fn identity(&self) -> Option<RecordedDatabase> {
        let default = self.default_isolation.replace(' ', "-");
        Some(RecordedDatabase {
            name: "postgres".to_owned(),
            version: Some(self.version.clone()),
            isolations: Vec::new(),
            settings: vec![("default_transaction_isolation".to_owned(), default)],
        })
    }

    /// Behind a pooler, nobody knows which process of the server has which session.
    fn watcher(&self) -> Option<Box<dyn Watcher>> {
        let is_direct = self.link == Link::Direct;
        if is_direct { Some(Box::new(PgWatcher(self.connection().ok()?))) } else { None }
    }

    fn dialect(&self) -> Dialect {
        Dialect::PostgreSql
    }
}

/// A name as SQL has it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

struct PgConnection {
    client: postgres::Client,
    link: Link,
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

    /// Runs a statement that leaves nothing behind in the server, and says how many rows it found.
    fn unnamed(&mut self, statement: &Statement) -> Result<(Vec<Row>, u64), Failure> {
        let values = statement.values.iter().map(|it| (AsText(it.to_string()), Type::UNKNOWN));
        let mut rows = self.client.query_typed_raw(&statement.sql, values).map_err(|it| failure(&it))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next().map_err(|it| failure(&it))? {
            found.push(row);
        }
        let n_rows = rows.rows_affected().unwrap_or_default();
        Ok((found, n_rows))
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
        if self.link == Link::Pooled {
            return self.unnamed(statement).map(|it| it.1);
        }
        let prepared = self.prepare(&statement.sql)?;
        let values = bound(&prepared, &statement.values)?;
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|it| &**it).collect();
        self.client.execute(&prepared, &values).map_err(|it| failure(&it))
    }

    fn rows(&mut self, statement: &Statement) -> Result<Vec<Vec<Value>>, Failure> {
        if self.link == Link::Pooled {
            return self.unnamed(statement)?.0.iter().map(values_of).collect();
        }
        let prepared = self.prepare(&statement.sql)?;
        let values = bound(&prepared, &statement.values)?;
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|it| &**it).collect();
        let rows = self.client.query(&prepared, &values).map_err(|it| failure(&it))?;
        rows.iter().map(values_of).collect()
    }

    fn command(&mut self, sql: &str) -> Result<(), Failure> {
        self.client.batch_execute(sql).map_err(|it| failure(&it))
    }

    fn process(&self) -> Option<u64> {
        self.process
    }
}

pub(crate) fn failure(error: &Error) -> Failure {
    let Some(said) = error.as_db_error() else {
        let message = with_causes(error);
        let is_io = std::error::Error::source(error).is_some_and(<dyn std::error::Error>::is::<std::io::Error>);
        return if error.is_closed() || is_io { Failure::lost(message) } else { Failure::broken(message) };
    };
    let message = format!("{} ({})", said.message(), said.code().code());
    errors::postgres(said.code().code(), message)
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
