//! How a database is opened, beside its address.

use std::time::Duration;

/// What the command line says beside the address of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// A schema of `PostgreSQL`, or another database of `MySQL`.
    pub schema: Option<String>,
    /// How many processes a driver of one's own has.
    pub driver_processes: DriverProcesses,
    /// How long such a driver may take for an answer.
    pub driver_timeout: Duration,
    /// On which node each session is, in turns, from 0; empty for one after the other.
    pub place: Vec<usize>,
    /// Settings of servers that are started, as in `fsync=off`.
    pub server_settings: Vec<String>,
}

/// How many processes a driver has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DriverProcesses {
    /// One for all sessions.
    #[default]
    One,
    /// One for each session.
    OneEach,
}

impl Default for Opening {
    fn default() -> Self {
        Self {
            schema: None,
            driver_processes: DriverProcesses::default(),
            driver_timeout: Duration::from_secs(30),
            place: Vec::new(),
            server_settings: Vec::new(),
        }
    }
}
