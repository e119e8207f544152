//! Databases that histories can be collected from, and how one is opened from its address.

use crate::address::{Address, known_schemes};
use crate::answered::RowNames;
use crate::drivers;
use crate::{Client, Dialect, Failure, Rows, Value, Workload};
use iso_formats::RecordedDatabase;
use std::fmt::Debug;
use thiserror::Error;

/// A database that histories can be collected from.
pub trait Database: Send + Sync + Debug {
    /// What it is and where, as in `PostgreSQL 15.8 at localhost:5432/test`, without credentials.
    fn describe(&self) -> String;

    /// The names of the isolation levels that it takes; the first one is its default.
    fn isolations(&self) -> &'static [&'static str];

    /// Makes these tables, empty. Tables of an earlier set-up go; other people's tables of the same names are left, and
    /// the set-up fails.
    fn set_up(&self, tables: &[Table]) -> Result<(), Failure>;

    /// Puts rows of the initial state into tables that were just made, before any transaction.
    fn load(&self, rows: &[(String, String, Value)]) -> Result<(), Failure> {
        let mut client = self.connect(self.isolations()[0])?;
        client.begin()?;
        for (table, row, value) in rows {
            client.insert(table, row, value.clone())?;
        }
        client.commit()
    }

    /// Removes the tables that the last set-up made.
    fn tear_down(&self) -> Result<(), Failure>;

    /// A connection, which is a session, whose transactions have this isolation level.
    fn connect(&self, isolation: &str) -> Result<Box<dyn Client + Send>, Failure>;

    /// Which database it is, for what it promises: name, version and settings, without isolation levels. None if it has
    /// no name that anybody knows.
    fn identity(&self) -> Option<RecordedDatabase> {
        None
    }

    /// The language that it speaks.
    fn dialect(&self) -> Dialect;

    /// Why lists that only grow cannot be kept in it, where that is so.
    fn no_lists(&self) -> Option<String> {
        None
    }

    /// Why scans of it cannot be recorded, where that is so.
    fn no_scans(&self) -> Option<String> {
        None
    }

    /// Somebody who knows which sessions wait for a lock, where the database tells.
    fn watcher(&self) -> Option<Box<dyn Watcher>> {
        None
    }
}

/// Knows which sessions wait for a lock.
pub trait Watcher: Debug {
    /// The sessions that wait now, as [`Client::process`] names them; there may be other people's.
    fn waiting(&mut self) -> Result<Vec<u64>, Failure>;
}

/// Fails if a database cannot run a workload, and says why.
pub fn check_workload(database: &dyn Database, workload: &dyn Workload) -> Result<(), Failure> {
    let no_lists = database.no_lists().filter(|_| workload.rows_are() == Rows::Lists);
    let no_scans = database.no_scans().filter(|_| workload.row_names() == RowNames::WithTable);
    match no_lists.or(no_scans) {
        Some(why) => Err(Failure::broken(format!("the workload {} cannot run there: {why}", workload.name()))),
        None => Ok(()),
    }
}

/// A table to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name: letters, digits and `_`. A database has it with a prefix.
    pub name: String,
    /// What its rows hold.
    pub values: Values,
    /// What its rows are called.
    pub ids: Values,
}

impl Table {
    /// A table whose rows hold numbers.
    pub fn of_ints(name: impl Into<String>) -> Self {
        Self { name: name.into(), values: Values::Int, ids: Values::Text }
    }

    /// A table whose rows hold texts, such as lists.
    pub fn of_texts(name: impl Into<String>) -> Self {
        Self { name: name.into(), values: Values::Text, ids: Values::Text }
    }

    /// The same table, whose rows have numbers for names, and are in their order.
    #[must_use]
    pub fn numbered(self) -> Self {
        Self { ids: Values::Int, ..self }
    }
}

/// What the rows of a table hold or are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Whole numbers.
    Int,
    /// Texts.
    Text,
}

/// Why a database cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OpenError {
    /// The address does not say what kind of database it is of.
    #[error("the address of the database begins with none of {known}")]
    NoScheme {
        /// What it may begin with.
        known: String,
    },
    /// There is no driver for this kind of database.
    #[error("there is no driver for `{scheme}:`; the address of a database begins with one of {known}")]
    UnknownScheme {
        /// What it begins with.
        scheme: String,
        /// What it may begin with.
        known: String,
    },
    /// The driver was left out when this program was built.
    #[error("this program was built without the driver for `{scheme}:`; build it with the feature `{feature}`")]
    NoDriver {
        /// What the address begins with.
        scheme: String,
        /// The feature of the package that adds the driver.
        feature: &'static str,
    },
    /// The port is no number.
    #[error("`{port}` is no port in the address of the database")]
    BadPort {
        /// What was found.
        port: String,
    },
    /// An escape is wrong.
    #[error("a `%` in the address of the database is not followed by two hexadecimal digits of a UTF-8 text")]
    BadEscape,
    /// An option means nothing to this database.
    #[error("the option `{option}` of the address is not known; known: {known}")]
    UnknownOption {
        /// Its name.
        option: String,
        /// The known ones.
        known: String,
    },
    /// An option has a value that it cannot have.
    #[error("the option `{option}` of the address cannot be `{value}`; it is {expected}")]
    BadOption {
        /// Its name.
        option: String,
        /// What was found.
        value: String,
        /// What it may be.
        expected: String,
    },
    /// The address asks for encryption.
    #[error("`{option}`: encrypted connections are not supported; use a loopback address or a tunnel")]
    Encryption {
        /// The option that asks.
        option: String,
    },
    /// The file of the password cannot be read.
    #[error("cannot read the password from {file}: {reason}")]
    PasswordFile {
        /// The file.
        file: String,
        /// Why.
        reason: String,
    },
    /// There is nothing of that kind, as in `store:xyz`.
    #[error("{message}")]
    NoSuchDatabase {
        /// What is missing, and what there is.
        message: String,
    },
    /// The database does not answer, or refuses.
    #[error("cannot connect to {place}: {reason}")]
    Unreachable {
        /// What was tried, without credentials.
        place: String,
        /// What it says.
        reason: String,
    },
}

/// Opens the database at an address, which must answer:
///
/// - `postgres://user@host:5432/name`, with `host=/folder` for a local socket, and `passfile=FILE`;
/// - `mysql://user@host:3306/name` or `mariadb://..`, with `socket=/file`, and `passfile=FILE`;
/// - `sqlite:FILE`, or `sqlite:` for a temporary one; `journal=wal` or `journal=delete`;
/// - `store:LEVEL`, the weak store in this process; `policy=latest|random|adversarial`, `seed=7`.
///
/// A password comes from the address, from the file, or from `PGPASSWORD` or `MYSQL_PWD`.
pub fn open(url: &str) -> Result<Box<dyn Database>, OpenError> {
    let address = Address::parse(url)?;
    Ok(match address.scheme.as_str() {
        #[cfg(feature = "postgres")]
        "postgres" | "postgresql" => Box::new(drivers::postgresql::open(&address)?),
        #[cfg(feature = "mysql")]
        "mysql" | "mariadb" => Box::new(drivers::mysql::open(&address)?),
        #[cfg(feature = "sqlite")]
        "sqlite" => Box::new(drivers::sqlite::open(&address)?),
        "store" => Box::new(drivers::weak_store::open(&address)?),
        scheme => return Err(no_driver(scheme)),
    })
}

/// Why an address of this scheme cannot be opened.
fn no_driver(scheme: &str) -> OpenError {
    let feature = match scheme {
        "postgres" | "postgresql" => "postgres",
        "mysql" | "mariadb" => "mysql",
        "sqlite" => "sqlite",
        _ => return OpenError::UnknownScheme { scheme: scheme.to_owned(), known: known_schemes() },
    };
    OpenError::NoDriver { scheme: scheme.to_owned(), feature }
}

/// The isolation level of this name among those of a database, or a failure that lists them.
pub(crate) fn isolation_of(database: &dyn Database, name: &str) -> Result<&'static str, Failure> {
    database.isolations().iter().copied().find(|it| *it == name).ok_or_else(|| {
        let known = database.isolations().join(", ");
        Failure::broken(format!("{} has no isolation level `{name}`; it has {known}", database.describe()))
    })
}
