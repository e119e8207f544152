//! Drivers: one file a kind of database, and what those that speak SQL share.
//!
//! A driver is a `Connection`, which runs one statement; `SqlClient` makes a [`crate::Client`] of it.

mod claim;
pub(crate) mod command;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod errors;
#[cfg(feature = "postgres")]
mod libpq;
#[cfg(feature = "mysql")]
pub(crate) mod mysql;
#[cfg(feature = "mysql")]
mod option_files;
#[cfg(feature = "postgres")]
pub(crate) mod postgresql;
#[cfg(feature = "tls")]
mod section;
mod sql;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;
#[cfg(feature = "tls")]
mod tls;
#[cfg(feature = "postgres")]
mod tls_stream;
pub(crate) mod weak_store;

use std::time::Duration;

/// How long to wait for a server to take a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a statement waits for a lock; then it is a conflict.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a statement may take at all; after that the server is gone.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(30);
