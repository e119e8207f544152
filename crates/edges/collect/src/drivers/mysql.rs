//! `MySQL` and `MariaDB`.

mod grants;
mod relay;

use super::claim::Claim;
use super::errors;
use super::option_files::Login;
use super::sql::{self, Connection, Seen, SqlClient};
use super::tls::{Encryption, Mode, check_key, is_handshake};
use super::{LOCK_TIMEOUT, STATEMENT_TIMEOUT};
use crate::address::{Address, Secret};
use crate::database::isolation_of;
use crate::dialect::Statement;
use crate::environment::Environment;
use crate::{Client, Database, Dialect, Failure, OpenError, Preview, Table, Value, Watcher};
use grants::Grants;
use iso_formats::RecordedDatabase;
use mysql::consts::CapabilityFlags;
use mysql::prelude::Queryable;
use mysql::{ClientIdentity, Conn, DriverError, Error, Opts, OptsBuilder, Params, Row, SslOpts};
use relay::{Relay, Route};
use std::fmt;
use std::io::ErrorKind;

/// A database of a server.
pub(crate) struct MySql {
    options: Opts,
    /// How to encrypt where the driver does not look at certificates as we do.
    relayed: Option<Route>,
    encryption: Encryption,
    host: String,
    /// The name of the database.
    name: String,
    place: String,
    version: String,
    /// Can transactions be aborted that would overwrite what they do not see?
    has_snapshots: bool,
    /// Is it a node of Galera?
    is_galera: bool,
    /// Settings that decide what is promised.
    settings: Vec<(String, String)>,
    claim: Claim<MySqlConnection>,
}

/// The options have the password.
impl fmt::Debug for MySql {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MySql").field("place", &self.place).field("version", &self.version).finish_non_exhaustive()
    }
}

/// Asks for a lock. Locks belong to the server, and their names are short.
const CLAIM: &str = "SELECT GET_LOCK(CONCAT('isoscope.', MD5(DATABASE())), 0)";

/// Connects once, for the version.
pub(crate) fn open(address: &Address, environment: &Environment) -> Result<MySql, OpenError> {
    let login = Login::of(address, environment)?;
    let options = OptsBuilder::new()
        .user(Some(&login.user))
        .pass(login.password.as_ref().map(Secret::reveal))
        .db_name(Some(&login.database))
        .ip_or_hostname(Some(&login.host))
        .tcp_port(login.port)
        .socket(login.socket.as_ref())
        .prefer_socket(login.socket.is_some())
        .tcp_connect_timeout(Some(login.connect_timeout))
        .read_timeout(Some(STATEMENT_TIMEOUT))
        .write_timeout(Some(STATEMENT_TIMEOUT))
        // An update that finds a row with the same value has found it.
        .additional_capabilities(CapabilityFlags::CLIENT_FOUND_ROWS);
    let plain: Opts = options.clone().into();
    let (options, relayed) = match login.encryption.mode {
        Mode::Disable => (plain.clone(), None),
        Mode::VerifyCa | Mode::VerifyFull => {
            let (host, port, timeout) = (login.host.clone(), login.port, login.connect_timeout);
            (plain.clone(), Some(Route { host, port, timeout, config: login.encryption.config()? }))
        }
        Mode::Allow | Mode::Prefer | Mode::Require => {
            (options.ssl_opts(Some(encrypted(&login.encryption)?)).into(), None)
        }
    };
    let mut database = MySql {
        options,
        relayed,
        place: login.place(),
        encryption: login.encryption,
        host: login.host,
        name: login.database,
        version: String::new(),
        has_snapshots: false,
        is_galera: false,
        settings: Vec::new(),
        claim: Claim::default(),
    };
    if database.encryption.mode == Mode::Prefer && database.cannot_encrypt() {
        database.options = plain;
    }
    database.ask().map_err(|failure| {
        let reason = match failure {
            Failure::Lost { message } | Failure::Broken { message } => message,
            other => other.to_string(),
        };
        let kind = if address.scheme == "mariadb" { "MariaDB" } else { "MySQL" };
        OpenError::Unreachable { place: format!("{kind} at {}", database.place), reason }
    })?;
    Ok(database)
}

/// What the driver needs to encrypt for whoever is there.
fn encrypted(encryption: &Encryption) -> Result<SslOpts, OpenError> {
    let identity = encryption.identity.clone();
    if let Some((_, key)) = &identity {
        check_key(key)?;
    }
    // Read here, so that a file that cannot be read is named; the driver reads it again.
    encryption.config()?;
    Ok(SslOpts::default()
        .with_client_identity(identity.map(|(certificate, key)| ClientIdentity::new(certificate, key)))
        .with_danger_accept_invalid_certs(true))
}

impl MySql {
    /// Does the server take no encrypted connections, or none that we could make?
    fn cannot_encrypt(&self) -> bool {
        match Conn::new(self.options.clone()) {
            Err(Error::DriverError(DriverError::TlsNotSupported)) => true,
            Err(error) => is_handshake(inner(&error)),
            Ok(_) => false,
        }
    }

    /// Why there is no connection, and what to do.
    fn explained(&self, error: Error) -> Failure {
        let of_server = |code: u16| match code {
            1040 | 1203 | 1226 => Some("use fewer --sessions, or raise max_connections".to_owned()),
            1044 => Some(format!("somebody who may can allow it: {}", Grants::cure(&self.name, "USER@HOST"))),
            1049 => Some(format!("CREATE DATABASE `{}`; makes it", self.name)),
            1045 if self.encryption.mode == Mode::Disable => {
                Some("if the server wants an encrypted connection, leave out ssl-mode=DISABLED".to_owned())
            }
            _ => None,
        };
        let cure = match &error {
            Error::MySqlError(said) => of_server(said.code),
            Error::DriverError(DriverError::TlsNotSupported) => {
                Some("the server encrypts nothing; take ssl-mode=PREFERRED if that need not be".to_owned())
            }
            error => self.encryption.cure(inner(error), &self.host),
        };
        match (failure(error), cure) {
            (Failure::Lost { message }, Some(cure)) => Failure::lost(format!("{message}; {cure}")),
            (Failure::Broken { message }, Some(cure)) => Failure::broken(format!("{message}; {cure}")),
            (failure, _) => failure,
        }
    }

    /// Asks the server who it is.
    fn ask(&mut self) -> Result<(), Failure> {
        let mut connection = self.connection()?;
        let version = connection.rows(&query("SELECT VERSION()"))?;
        let version = version.into_iter().flatten().next().map(|it| it.to_string()).unwrap_or_default();
        let kind = if version.contains("MariaDB") { "MariaDB" } else { "MySQL" };
        self.version = format!("{kind} {}", version.split('-').next().unwrap_or_default());
        let settings = connection.rows(&query("SHOW VARIABLES LIKE 'innodb_snapshot_isolation'"))?;
        self.has_snapshots = !settings.is_empty();
        let galera = connection.rows(&query("SHOW VARIABLES LIKE 'wsrep_on'"))?;
        self.is_galera = value_in(&galera, "wsrep_on").is_some_and(|it| it.eq_ignore_ascii_case("on"));
        let setting = |row: Vec<Value>| Some((row.first()?.to_string(), row.get(1)?.to_string().to_ascii_lowercase()));
        self.settings = settings.into_iter().filter_map(setting).collect();
        Ok(())
    }

    fn connection(&self) -> Result<MySqlConnection, Failure> {
        let conn = match &self.relayed {
            None => Conn::new(self.options.clone()).map_err(|it| self.explained(it))?,
            Some(route) => self.relayed_by(&Relay::start(route).map_err(|it| Failure::lost(it.to_string()))?)?,
        };
        let mut connection = MySqlConnection { conn, returns_deleted: self.version.starts_with("MariaDB") };
        connection.command(&format!("SET SESSION innodb_lock_wait_timeout = {}", LOCK_TIMEOUT.as_secs()))?;
        connection.command(&format!("SET SESSION lock_wait_timeout = {}", LOCK_TIMEOUT.as_secs()))?;
        Ok(connection)
    }

    fn relayed_by(&self, relay: &Relay) -> Result<Conn, Failure> {
        let socket = Some(relay.socket().display().to_string());
        let options = OptsBuilder::from_opts(self.options.clone()).socket(socket).prefer_socket(true);
        Conn::new(options).map_err(|error| match relay.failure() {
            // The driver has only seen that the relay went away.
            Some(failure) if failure.kind() == ErrorKind::Unsupported => {
                self.explained(Error::DriverError(DriverError::TlsNotSupported))
            }
            Some(failure) => self.explained(Error::IoError(failure)),
            None => self.explained(error),
        })
    }

    /// Does something with the tables of ours that there are. Each statement that changes tables commits.
    fn change(&self, act: impl FnOnce(&mut MySqlConnection, &[String]) -> Result<(), Failure>) -> Result<(), Failure> {
        let mut connection = self.connection()?;
        let existing = existing(&mut connection)?;
        act(&mut connection, &existing)
    }

    /// Refuses a server or a user who cannot write, and says how many more connections there may be.
    fn check(&self, connection: &mut MySqlConnection, needed: usize) -> Result<Option<u64>, Failure> {
        let place = &self.place;
        let settings = connection.rows(&query(
            "SHOW VARIABLES WHERE Variable_name IN ('read_only', 'super_read_only', 'tx_read_only', \
             'transaction_read_only', 'max_connections')",
        ))?;
        let is_on = |name: &str| value_in(&settings, name).is_some_and(|it| it == "ON" || it == "1");
        let grants = Grants::of(&connection.rows(&query("SHOW GRANTS"))?, &self.name);
        if is_on("super_read_only") || is_on("read_only") && !grants.may_write_anyway() {
            let cure = "a run writes tables, so give the address of the primary, or set read_only to OFF";
            return Err(Failure::broken(format!("the server at {place} only reads (read_only is ON): {cure}")));
        }
        if is_on("tx_read_only") || is_on("transaction_read_only") {
            let cure = "set transaction_read_only to OFF, or take another server";
            return Err(Failure::broken(format!("transactions of the server at {place} only read: {cure}")));
        }
        if let Some(missing) = grants.missing() {
            let user = connection.rows(&query("SELECT CURRENT_USER()"))?;
            let user = user.into_iter().flatten().next().map(|it| it.to_string()).unwrap_or_default();
            return Err(Failure::broken(format!(
                "user {user} may not {missing} in database {}; somebody who may can allow it: {}",
                self.name,
                Grants::cure(&self.name, &user)
            )));
        }
        let used = connection.rows(&query("SHOW GLOBAL STATUS LIKE 'Threads_connected'"))?;
        let number = |rows: &[Vec<Value>], name: &str| value_in(rows, name).and_then(|it| it.parse::<u64>().ok());
        let (Some(most), Some(used)) = (number(&settings, "max_connections"), number(&used, "Threads_connected"))
        else {
            return Ok(None);
        };
        // The connection that asks is among those in use, and ends now.
        let used = used.saturating_sub(1);
        let free = most.saturating_sub(used);
        if needed as u64 > free {
            return Err(Failure::broken(format!(
                "the server at {place} takes {free} more connections ({most} at most, {used} in use), and {} sessions need \
                 {needed}, with the one that holds the lock: use --sessions {} or fewer, or raise max_connections",
                needed - 1,
                free.saturating_sub(1)
            )));
        }
        Ok(Some(free))
    }
}

/// The error behind the driver's, which does not name it as its cause.
fn inner(error: &Error) -> &(dyn std::error::Error + 'static) {
    match error {
        Error::IoError(error) => error,
        Error::CodecError(error) => error,
        Error::TlsError(error) => error,
        other => other,
    }
}

/// The tables of ours that there are.
fn existing(connection: &mut MySqlConnection) -> Result<Vec<String>, Failure> {
    let existing = connection.rows(&query("SHOW TABLES LIKE 'isoscope\\_%'"))?;
    Ok(existing.into_iter().flatten().map(|it| it.to_string()).collect())
}

fn query(sql: &str) -> Statement {
    Statement { sql: sql.to_owned(), values: Vec::new() }
}

/// What stands beside a name.
fn value_in(rows: &[Vec<Value>], name: &str) -> Option<String> {
    let row = rows.iter().find(|it| it.first().is_some_and(|it| it.to_string().eq_ignore_ascii_case(name)))?;
    row.get(1).map(ToString::to_string)
}

impl Database for MySql {
    fn describe(&self) -> String {
        format!("{} at {}", self.version, self.place)
    }

    fn isolations(&self) -> &'static [&'static str] {
        let all = &["repeatable-read", "read-committed", "read-uncommitted", "serializable", "snapshot-isolation"];
        if self.has_snapshots { all } else { &all[..4] }
    }

    fn inspect(&self, tables: &[Table], sessions: usize) -> Result<Preview, Failure> {
        let mut connection = self.connection()?;
        let needed = sessions + 1;
        let free = self.check(&mut connection, needed)?;
        let existing = existing(&mut connection)?;
        Ok(Preview {
            removed: sql::removable(&mut connection, &existing, tables)?,
            created: sql::creation(Dialect::MySql, tables)?,
            lock: Some("a lock by name (GET_LOCK), for the time of the run".to_owned()),
            connections: Some((needed, free)),
            remarks: Vec::new(),
        })
    }

    fn set_up(&self, tables: &[Table]) -> Result<(), Failure> {
        self.claim.hold(CLAIM, &self.place, || self.connection())?;
        self.change(|connection, existing| sql::set_up(connection, Dialect::MySql, existing, tables))
    }

    fn tear_down(&self) -> Result<(), Failure> {
        self.change(sql::tear_down)?;
        self.claim.release(None);
        Ok(())
    }

    fn connect(&self, isolation: &str) -> Result<Box<dyn Client + Send>, Failure> {
        let mut statements = Dialect::MySql.begin(isolation_of(self, isolation)?);
        let begin = statements.pop().expect("the last one begins the transaction");
        let mut connection = self.connection()?;
        for setting in statements {
            connection.command(&setting)?;
        }
        if self.is_galera {
            // A node without a quorum takes settings and no statements.
            connection.command("DO 1")?;
        }
        let seen = if isolation_of(self, isolation)? == "read-uncommitted" { Seen::AtOnce } else { Seen::Committed };
        Ok(Box::new(SqlClient::new(connection, Dialect::MySql, begin).seen(seen)))
    }

    fn dialect(&self) -> Dialect {
        Dialect::MySql
    }

    /// A node of Galera that is asked to waits until it has what others have committed.
    fn has_reached(&self, _position: Option<&str>) -> Result<bool, Failure> {
        let mut connection = self.connection()?;
        if self.is_galera {
            connection.command("SET SESSION wsrep_sync_wait = 15")?;
        }
        existing(&mut connection).map(|_| true)
    }

    fn identity(&self) -> Option<RecordedDatabase> {
        let (title, version) = self.version.split_once(' ')?;
        Some(RecordedDatabase {
            name: title.to_ascii_lowercase(),
            version: Some(version.to_owned()),
            isolations: Vec::new(),
            settings: self.settings.clone(),
        })
    }

    fn watcher(&self) -> Option<Box<dyn Watcher>> {
        Some(Box::new(MySqlWatcher(self.connection().ok()?)))
    }
}

#[derive(Debug)]
struct MySqlConnection {
    conn: Conn,
    /// Only `MariaDB` returns what it deletes.
    returns_deleted: bool,
}

impl Connection for MySqlConnection {
    fn run(&mut self, statement: &Statement) -> Result<u64, Failure> {
        self.conn.exec_drop(&statement.sql, bound(&statement.values)).map_err(failure)?;
        Ok(self.conn.affected_rows())
    }

    fn rows(&mut self, statement: &Statement) -> Result<Vec<Vec<Value>>, Failure> {
        let rows: Vec<Row> = self.conn.exec(&statement.sql, bound(&statement.values)).map_err(failure)?;
        rows.into_iter().map(|row| row.unwrap().into_iter().map(value_of).collect()).collect()
    }

    fn command(&mut self, sql: &str) -> Result<(), Failure> {
        self.conn.query_drop(sql).map_err(failure)
    }

    fn returns_deleted(&self) -> bool {
        self.returns_deleted
    }

    fn process(&self) -> Option<u64> {
        Some(self.conn.connection_id().into())
    }
}

/// Reads what the storage engine says of its transactions. Its tables of them are only now and then up to date.
#[derive(Debug)]
struct MySqlWatcher(MySqlConnection);

impl Watcher for MySqlWatcher {
    fn waiting(&mut self) -> Result<Vec<u64>, Failure> {
        let status = self.0.rows(&query("SHOW ENGINE INNODB STATUS"))?;
        Ok(status.iter().flatten().flat_map(|it| waiting_in(&it.to_string())).collect())
    }
}

/// The sessions that wait for a lock, in the words of the storage engine.
fn waiting_in(status: &str) -> Vec<u64> {
    // A deadlock of earlier times is told as well, with other marks.
    let txns = status.split("\n---TRANSACTION").skip(1);
    let waiting = txns.filter(|it| it.lines().any(|line| line.starts_with("LOCK WAIT")));
    let thread = |txn: &str| txn.split("thread id ").nth(1)?.split(',').next()?.trim().parse().ok();
    waiting.filter_map(thread).collect()
}

fn bound(values: &[Value]) -> Params {
    let bind = |value: &Value| match value {
        Value::Int(number) => mysql::Value::from(*number),
        Value::Text(text) => mysql::Value::from(text),
    };
    if values.is_empty() { Params::Empty } else { Params::Positional(values.iter().map(bind).collect()) }
}

fn value_of(value: mysql::Value) -> Result<Value, Failure> {
    match value {
        mysql::Value::Int(number) => Ok(Value::Int(number)),
        mysql::Value::Bytes(bytes) => Ok(Value::Text(String::from_utf8_lossy(&bytes).into_owned())),
        _ => Err(Failure::broken("a row holds what is neither a number nor a text")),
    }
}

fn failure(error: Error) -> Failure {
    match error {
        Error::MySqlError(said) => {
            let message = format!("{} ({})", said.message, said.code);
            errors::mysql(said.code, message)
        }
        Error::IoError(error) => Failure::lost(error.to_string()),
        Error::CodecError(error) => Failure::lost(error.to_string()),
        Error::DriverError(error) => match error {
            DriverError::CouldNotConnect(cause) => {
                let cause = cause.map(|(_, why, _)| why).unwrap_or_default();
                Failure::lost(format!("no connection: {cause}"))
            }
            DriverError::ConnectTimeout | DriverError::Timeout | DriverError::UnexpectedPacket => {
                Failure::lost(error.to_string())
            }
            other => Failure::broken(other.to_string()),
        },
        other => Failure::broken(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_is_told_from_who_waited_in_a_deadlock() {
        let status = "LATEST DETECTED DEADLOCK\n*** (1) TRANSACTION:\nTRANSACTION 30, ACTIVE 0 sec\n\
            LOCK WAIT 4 lock struct(s)\nMariaDB thread id 2, OS thread handle 1, query id 9 Updating\n\
            TRANSACTIONS\n------------\nLIST OF TRANSACTIONS FOR EACH SESSION:\n\
            ---TRANSACTION 43, ACTIVE 1 sec starting index read\nmysql tables in use 1, locked 1\n\
            LOCK WAIT 2 lock struct(s), heap size 1128, 1 row lock(s)\n\
            MariaDB thread id 7, OS thread handle 2, query id 99 127.0.0.1 isoscope Updating\n\
            ---TRANSACTION 42, ACTIVE 2 sec\n2 lock struct(s)\nMariaDB thread id 8, OS thread handle 3\n";
        assert_eq!(waiting_in(status), [7]);
    }
}
