//! The arguments of `isoscope driver`.

use crate::units::parse_duration;
use clap::{Args, Subcommand};
use std::time::Duration;

/// Check drivers of your own, for databases that isoscope does not know.
///
/// A driver is a program that reads requests from its standard input and writes answers to its standard output, as JSON, one a
/// line. collect, hunt and replay take it as command:./driver ARGUMENTS; docs/drivers.md has the protocol.
#[derive(Debug, Args)]
pub(crate) struct DriverArgs {
    #[command(subcommand)]
    pub(crate) what: DriverVerb,
}

#[derive(Debug, Subcommand)]
#[command(disable_help_subcommand = true)]
pub(crate) enum DriverVerb {
    Check(DriverCheckArgs),
}

/// Play every request of the protocol against a driver, and say line by line what is wrong.
///
/// It looks at the driver, not at the isolation of the database. What a driver need not support is told as such.
#[derive(Debug, Args)]
pub(crate) struct DriverCheckArgs {
    /// The driver: command:./driver ARGUMENTS, in quotes
    #[arg(value_name = "COMMAND")]
    pub(crate) url: String,

    /// How long the driver may take for an answer
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration, allow_hyphen_values = true)]
    pub(crate) driver_timeout: Duration,
}
