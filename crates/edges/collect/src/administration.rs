//! A connection to `PostgreSQL` for whoever prepares a database and cleans it up: plain SQL, plain texts.

use crate::address::Address;
use crate::drivers::postgresql::{self, Endpoint};
use crate::{Failure, OpenError};
use std::path::PathBuf;

/// A connection of somebody who may change tables.
pub struct Administration {
    client: postgres::Client,
    endpoint: Endpoint,
}

impl std::fmt::Debug for Administration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Administration").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

impl Administration {
    /// Connects to the `PostgreSQL` of an address.
    pub fn open(url: &str) -> Result<Self, OpenError> {
        let address = Address::parse(url)?;
        if !matches!(address.scheme.as_str(), "postgres" | "postgresql") {
            let known = "postgres:, postgresql:".to_owned();
            return Err(OpenError::UnknownScheme { scheme: address.scheme, known });
        }
        let (client, endpoint) = postgresql::administrate(&address)?;
        Ok(Self { client, endpoint })
    }

    /// Runs statements.
    pub fn run(&mut self, sql: &str) -> Result<(), Failure> {
        self.client.batch_execute(sql).map_err(|it| postgresql::failure(&it))
    }

    /// The rows of a query, as texts.
    pub fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, Failure> {
        let messages = self.client.simple_query(sql).map_err(|it| postgresql::failure(&it))?;
        let row = |it: &postgres::SimpleQueryMessage| match it {
            postgres::SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|nth| row.get(nth).map(str::to_owned)).collect())
            }
            _ => None,
        };
        Ok(messages.iter().filter_map(row).collect())
    }

    /// Makes sure that nobody else does the same in this database, as long as this connection lives.
    pub fn claim(&mut self) -> Result<(), Failure> {
        let rows = self.rows("SELECT pg_try_advisory_lock(x'69736f7265636f72'::bigint)")?;
        if rows.first().is_some_and(|it| it.first().cloned().flatten().as_deref() == Some("t")) {
            return Ok(());
        }
        Err(Failure::broken(format!("somebody else records {} already", self.endpoint.place)))
    }

    /// Version and place of the database, without credentials.
    pub fn describe(&self) -> String {
        format!("PostgreSQL {} at {}", self.endpoint.version, self.endpoint.place)
    }

    /// The host.
    pub fn host(&self) -> &str {
        &self.endpoint.host
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.endpoint.port
    }

    /// The file of the local socket, if it is one.
    pub fn socket(&self) -> Option<PathBuf> {
        let is_folder = self.endpoint.host.starts_with('/');
        is_folder.then(|| PathBuf::from(format!("{}/.s.PGSQL.{}", self.endpoint.host, self.endpoint.port)))
    }
}
