//! How a database is opened, beside its address: what collect, hunt and replay have in common.

use crate::units::parse_duration;
use clap::{Args, ValueEnum};
use iso_collect::{DriverProcesses, Opening};
use std::time::Duration;

/// Where these stand in the help; others follow without it.
const HEADING: &str = "Drivers and nodes";

/// What is said beside the address of a database.
#[derive(Clone, Debug, Args)]
#[allow(clippy::doc_markdown, reason = "it is the help, which shows everything as it is")]
pub(crate) struct OpeningArgs {
    /// Of command:.., one process for all sessions, or one for each session
    #[arg(
        help_heading = HEADING,
        long,
        value_name = "one|each",
        default_value = "one",
        num_args = 0..=1,
        default_missing_value = "each",
        require_equals = true,
        hide_possible_values = true
    )]
    pub(crate) driver_processes: Processes,

    /// Of command:.., how long the driver may take for an answer
    #[arg(help_heading = HEADING, long, value_name = "TIME", default_value = "30s", value_parser = parse_duration, allow_hyphen_values = true)]
    pub(crate) driver_timeout: Duration,

    /// Where several nodes are, the node of each session, from 1, in turns: 1,1,2 for two of three on the first node
    #[arg(help_heading = HEADING, long, value_name = "NODE,..", value_delimiter = ',')]
    pub(crate) place: Vec<std::num::NonZeroUsize>,

    /// Of servers that are started, such as galera:3: a setting like innodb_flush_log_at_trx_commit=0; repeat it for more
    #[arg(help_heading = HEADING, long = "server-setting", value_name = "NAME=VALUE")]
    pub(crate) server_settings: Vec<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Processes {
    One,
    Each,
}

impl OpeningArgs {
    /// For the database.
    pub(crate) fn opening(&self, schema: Option<&str>) -> Opening {
        Opening {
            schema: schema.map(|it| it.trim().to_owned()),
            driver_processes: match self.driver_processes {
                Processes::One => DriverProcesses::One,
                Processes::Each => DriverProcesses::OneEach,
            },
            driver_timeout: self.driver_timeout,
            place: self.place.iter().map(|it| it.get() - 1).collect(),
            server_settings: self.server_settings.clone(),
        }
    }
}
