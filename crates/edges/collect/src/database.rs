//! Databases that histories can be collected from, and how one is opened from its address.

use crate::address::{Address, known_schemes};
use crate::answered::RowNames;
use crate::cluster;
use crate::drivers;
use crate::endpoints::{self, Endpoints};
use crate::environment::Environment;
use crate::faults::Faulty;
use crate::opening::Opening;
use crate::{Client, Dialect, Failure, Inserts, Rows, Value, Workload};
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

    /// As [`Self::connect`], for the session of this number, which decides its node where there are several.
    fn connect_as(&self, isolation: &str, session: usize) -> Result<Box<dyn Client + Send>, Failure> {
        let _ = session;
        self.connect(isolation)
    }

    /// The nodes that it has, where there are several.
    fn nodes(&self) -> Vec<String> {
        Vec::new()
    }

    /// The node of each session, in turns.
    fn placement(&self) -> Vec<usize> {
        (0..self.nodes().len()).collect()
    }

    /// The node of the session of this number, from 0.
    fn node_of(&self, session: usize) -> usize {
        let _ = session;
        0
    }

    /// How far its log is, for nodes that follow it.
    fn position(&self) -> Result<Option<String>, Failure> {
        Ok(None)
    }

    /// Does this node have everything that another one had when it was so far?
    fn has_reached(&self, position: Option<&str>) -> Result<bool, Failure> {
        let _ = position;
        Ok(true)
    }

    /// Why it cannot be asked any more, if that is known: a driver has ended, or has answered nonsense.
    fn gone(&self) -> Option<Failure> {
        None
    }

    /// What can be done to its nodes, where they were started for the run.
    fn faults(&self) -> Option<&dyn Faulty> {
        None
    }

    /// As [`Self::connect`], for a session that only reads.
    fn connect_to_read(&self, isolation: &str) -> Result<Box<dyn Client + Send>, Failure> {
        self.connect(isolation)
    }

    /// Which database it is, for what it promises: name, version and settings, without isolation levels. None if it has
    /// no name that anybody knows.
    fn identity(&self) -> Option<RecordedDatabase> {
        None
    }

    /// The language that it speaks.
    fn dialect(&self) -> Dialect;

    /// What an insert that is done has seen.
    fn inserts(&self) -> Inserts {
        self.dialect().inserts()
    }

    /// Why lists that only grow cannot be kept in it, where that is so.
    fn no_lists(&self) -> Option<String> {
        None
    }

    /// Why scans of it cannot be recorded, where that is so.
    fn no_scans(&self) -> Option<String> {
        None
    }

    /// Why transactions cannot be run step by step, where that is so.
    fn whole_transactions(&self) -> Option<String> {
        None
    }

    /// Asks whether a run with these tables and so many sessions can begin, and says what it would do. Changes nothing.
    fn inspect(&self, tables: &[Table], sessions: usize) -> Result<Preview, Failure> {
        let _ = (tables, sessions);
        Ok(Preview::default())
    }

    /// Somebody who knows which sessions wait for a lock, where the database tells.
    fn watcher(&self) -> Option<Box<dyn Watcher>> {
        None
    }
}

/// What a run is about to do to a database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preview {
    /// Tables that an earlier run has left; they go first.
    pub removed: Vec<String>,
    /// The statements that make the tables.
    pub created: Vec<String>,
    /// What keeps a second run away; none where nothing is locked.
    pub lock: Option<String>,
    /// How many connections the run has open at once, and how many more the server would take, if it tells.
    pub connections: Option<(usize, Option<u64>)>,
    /// How a session connects: encrypted, through a pooler.
    pub remarks: Vec<String>,
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
    let not_whole = database.whole_transactions().filter(|_| !workload.is_fixed());
    match no_lists.or(no_scans).or(not_whole) {
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
    /// A setting of the address, of a file or of a variable has a value that it cannot have.
    #[error("{origin} cannot be `{value}`; it is {expected}")]
    BadSetting {
        /// Which setting, and where it is.
        origin: String,
        /// What was found.
        value: String,
        /// What it may be.
        expected: String,
    },
    /// A variable asks for what this program cannot do.
    #[error("the variable `{variable}` asks for what isoscope cannot do; unset it")]
    NotKept {
        /// Its name.
        variable: String,
    },
    /// The address has several hosts.
    #[error("the address has several hosts; a run needs one host, so that all sessions meet")]
    SeveralHosts,
    /// There is no such service.
    #[error("there is no service `{name}` in {files}")]
    NoService {
        /// What was asked for.
        name: String,
        /// Where it could be.
        files: String,
    },
    /// A connection cannot be encrypted as the address asks.
    #[error("{message}")]
    Encryption {
        /// Why, and what to do.
        message: String,
    },
    /// A file that the address or a variable names cannot be read.
    #[error("cannot read the {what} in {file}: {reason}")]
    File {
        /// What is in it.
        what: &'static str,
        /// The file.
        file: String,
        /// Why.
        reason: String,
    },
    /// The file of the password cannot be read.
    #[error("cannot read the password from {file}: {reason}")]
    PasswordFile {
        /// The file.
        file: String,
        /// Why.
        reason: String,
    },
    /// There are no schemas.
    #[error("`{scheme}:` has no schemas; a schema is for PostgreSQL, and names the database of MySQL and MariaDB")]
    NoSchemas {
        /// What the address begins with.
        scheme: String,
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
/// - `store:LEVEL`, the weak store in this process; `policy=latest|random|adversarial`, `seed=7`;
/// - `galera:3`, `mariadb:1`, `postgres:1` or `postgres:1+1` (with a standby): servers that are started for the run;
/// - `command:./driver ARGUMENTS`, a program that speaks the protocol of `docs/drivers.md`.
///
/// What an address of a server leaves out comes from where the database's own clients look: files such as `~/.pgpass` and
/// `~/.my.cnf`, and variables such as `PGHOST` and `MYSQL_PWD`.
pub fn open(url: &str) -> Result<Box<dyn Database>, OpenError> {
    open_with(url, &Opening::default())
}

/// As [`open`], with what is said beside the address.
pub fn open_with(url: &str, opening: &Opening) -> Result<Box<dyn Database>, OpenError> {
    let url = url.trim();
    if let Some(command) = url.strip_prefix(drivers::command::SCHEME) {
        return Ok(Box::new(drivers::command::open(command, opening)?));
    }
    if let Some(started) = cluster::open(url, opening) {
        return Ok(Box::new(started?));
    }
    let nodes = endpoints::split(url);
    if nodes.is_empty() {
        return open_one(url, opening);
    }
    let (urls, names): (Vec<String>, Vec<String>) = nodes.into_iter().unzip();
    let nodes = urls.iter().map(|it| open_one(it, opening)).collect::<Result<Vec<_>, _>>()?;
    Ok(Box::new(Endpoints::new(nodes, names, opening)?))
}

fn open_one(url: &str, opening: &Opening) -> Result<Box<dyn Database>, OpenError> {
    match &opening.schema {
        Some(schema) => open_in(url, schema),
        None => open_address(&Address::parse(url)?),
    }
}

/// As [`open`], with the tables in a schema of `PostgreSQL`, or in another database of `MySQL`.
pub fn open_in(url: &str, schema: &str) -> Result<Box<dyn Database>, OpenError> {
    let mut address = Address::parse(url)?;
    if !["postgres", "postgresql", "mysql", "mariadb"].contains(&address.scheme.as_str()) {
        return Err(OpenError::NoSchemas { scheme: address.scheme });
    }
    address.schema = Some(schema.to_owned());
    open_address(&address)
}

#[allow(unused_variables, reason = "databases inside the tool look at no variables")]
fn open_address(address: &Address) -> Result<Box<dyn Database>, OpenError> {
    let environment = Environment::of_process();
    Ok(match address.scheme.as_str() {
        #[cfg(feature = "postgres")]
        "postgres" | "postgresql" => Box::new(drivers::postgresql::open(address, &environment)?),
        #[cfg(feature = "mysql")]
        "mysql" | "mariadb" => Box::new(drivers::mysql::open(address, &environment)?),
        #[cfg(feature = "sqlite")]
        "sqlite" => Box::new(drivers::sqlite::open(address)?),
        "store" => Box::new(drivers::weak_store::open(address)?),
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
