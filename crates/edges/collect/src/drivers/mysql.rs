//! `MySQL` and `MariaDB`.

use super::claim::Claim;
use super::sql::{self, Connection, SqlClient};
use super::{CONNECT_TIMEOUT, LOCK_TIMEOUT, STATEMENT_TIMEOUT};
use crate::address::Address;
use crate::database::isolation_of;
use crate::dialect::Statement;
use crate::{Client, Database, Dialect, Failure, OpenError, Table, Value, Watcher};
use iso_formats::RecordedDatabase;
use mysql::consts::CapabilityFlags;
use mysql::prelude::Queryable;
use mysql::{Conn, DriverError, Error, Opts, OptsBuilder, Params, Row};
use std::fmt;

/// A database of a server.
pub(crate) struct MySql {
    options: Opts,
    place: String,
    version: String,
    /// Can transactions be aborted that would overwrite what they do not see?
    has_snapshots: bool,
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
pub(crate) fn open(address: &Address) -> Result<MySql, OpenError> {
    address.expect_options(&["socket", "ssl-mode", "passfile"])?;
    address.expect_plain("ssl-mode", &["disabled", "preferred"])?;
    if address.path.is_empty() {
        let message = format!("the address names no database: {}://HOST/NAME", address.scheme);
        return Err(OpenError::NoSuchDatabase { message });
    }
    let user = address.user.clone().unwrap_or_else(|| "root".to_owned());
    let (host, port) = (address.host.as_deref().unwrap_or("localhost"), address.port.unwrap_or(3306));
    let socket = address.option("socket");
    let password = address.password("MYSQL_PWD")?;
    let options = OptsBuilder::new()
        .user(Some(user))
        .pass(password.as_ref().map(crate::address::Secret::reveal))
        .db_name(Some(&address.path))
        .ip_or_hostname(Some(host))
        .tcp_port(port)
        .socket(socket)
        .prefer_socket(socket.is_some())
        .tcp_connect_timeout(Some(CONNECT_TIMEOUT))
        .read_timeout(Some(STATEMENT_TIMEOUT))
        .write_timeout(Some(STATEMENT_TIMEOUT))
        // An update that finds a row with the same value has found it.
        .additional_capabilities(CapabilityFlags::CLIENT_FOUND_ROWS);
    let place = match socket {
        Some(socket) => format!("{socket}/{}", address.path),
        None => format!("{host}:{port}/{}", address.path),
    };
    let (version, claim) = (String::new(), Claim::default());
    let mut database =
        MySql { options: options.into(), place, version, has_snapshots: false, settings: Vec::new(), claim };
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

impl MySql {
    /// Asks the server who it is.
    fn ask(&mut self) -> Result<(), Failure> {
        let mut connection = self.connection()?;
        let query = |sql: &str| Statement { sql: sql.to_owned(), values: Vec::new() };
        let version = connection.rows(&query("SELECT VERSION()"))?;
        let version = version.into_iter().flatten().next().map(|it| it.to_string()).unwrap_or_default();
        let kind = if version.contains("MariaDB") { "MariaDB" } else { "MySQL" };
        self.version = format!("{kind} {}", version.split('-').next().unwrap_or_default());
        let settings = connection.rows(&query("SHOW VARIABLES LIKE 'innodb_snapshot_isolation'"))?;
        self.has_snapshots = !settings.is_empty();
        let setting = |row: Vec<Value>| Some((row.first()?.to_string(), row.get(1)?.to_string().to_ascii_lowercase()));
        self.settings = settings.into_iter().filter_map(setting).collect();
        Ok(())
    }

    fn connection(&self) -> Result<MySqlConnection, Failure> {
        let conn = Conn::new(self.options.clone()).map_err(failure)?;
        let mut connection = MySqlConnection { conn, returns_deleted: self.version.starts_with("MariaDB") };
        connection.command(&format!("SET SESSION innodb_lock_wait_timeout = {}", LOCK_TIMEOUT.as_secs()))?;
        connection.command(&format!("SET SESSION lock_wait_timeout = {}", LOCK_TIMEOUT.as_secs()))?;
        Ok(connection)
    }

    /// Does something with the tables of ours that there are. Each statement that changes tables commits.
    fn change(&self, act: impl FnOnce(&mut MySqlConnection, &[String]) -> Result<(), Failure>) -> Result<(), Failure> {
        let mut connection = self.connection()?;
        let sql = "SHOW TABLES LIKE 'isoscope\\_%'";
        let existing = connection.rows(&Statement { sql: sql.to_owned(), values: Vec::new() })?;
        let existing: Vec<String> = existing.into_iter().flatten().map(|it| it.to_string()).collect();
        act(&mut connection, &existing)
    }
}

impl Database for MySql {
    fn describe(&self) -> String {
        format!("{} at {}", self.version, self.place)
    }

    fn isolations(&self) -> &'static [&'static str] {
        let all = &["repeatable-read", "read-committed", "read-uncommitted", "serializable", "snapshot-isolation"];
        if self.has_snapshots { all } else { &all[..4] }
    }

    fn set_up(&self, tables: &[Table]) -> Result<(), Failure> {
        self.claim.hold(CLAIM, &self.place, || self.connection())?;
        self.change(|connection, existing| sql::set_up(connection, Dialect::MySql, existing, tables))
    }

    fn tear_down(&self) -> Result<(), Failure> {
        self.change(sql::tear_down)?;
        self.claim.release();
        Ok(())
    }

    fn connect(&self, isolation: &str) -> Result<Box<dyn Client + Send>, Failure> {
        let mut statements = Dialect::MySql.begin(isolation_of(self, isolation)?);
        let begin = statements.pop().expect("the last one begins the transaction");
        let mut connection = self.connection()?;
        for setting in statements {
            connection.command(&setting)?;
        }
        Ok(Box::new(SqlClient::new(connection, Dialect::MySql, begin)))
    }

    fn dialect(&self) -> Dialect {
        Dialect::MySql
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
        let sql = "SHOW ENGINE INNODB STATUS".to_owned();
        let status = self.0.rows(&Statement { sql, values: Vec::new() })?;
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
            match said.code {
                // A record that changed since the snapshot, a lock not granted in time, a deadlock, a statement ended.
                1020 | 1205 | 1213 | 1317 | 3024 => Failure::conflict(message),
                1062 => Failure::aborted(message),
                // Shutting down, or the connection was ended by somebody.
                1053 | 1077 | 1079 | 1927 | 3169 | 4031 => Failure::lost(message),
                _ => Failure::broken(message),
            }
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
