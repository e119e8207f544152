//! The arguments of `isoscope store`.

use crate::args::LimitArgs;
use crate::commands::store::{parse_sessions, parse_txns};
use crate::output::Overwrite;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Run applications on a store that is as weak as a level allows, and record what happens.
///
/// The store answers each read with any value that its level allows, so that one run shows an application what a real
/// database shows once in a million. After the run, the application's assertions are checked.
#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    #[command(subcommand)]
    pub(crate) what: StoreVerb,
}

#[derive(Debug, Subcommand)]
#[command(disable_help_subcommand = true)]
pub(crate) enum StoreVerb {
    Run(StoreRunArgs),
    Apps(StoreAppsArgs),
}

/// Run an application, and check its assertions.
///
/// One transaction runs at a time, in an order that the seed decides; the weakness is in what reads return. The same
/// options give the same run, byte for byte.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "a flag is a word on the command line")]
pub(crate) struct StoreRunArgs {
    /// The application; `isoscope store apps` lists them
    #[arg(value_name = "APP")]
    pub(crate) application: String,

    /// What the store promises
    #[arg(long, short = 'l', value_name = "LEVEL", default_value = "cc")]
    pub(crate) level: String,

    /// Which of the allowed values a read returns
    #[arg(long, value_name = "latest|random|adversarial", default_value = "random")]
    pub(crate) policy: String,

    /// Number of sessions
    #[arg(long, value_name = "N", default_value = "3", value_parser = parse_sessions, allow_hyphen_values = true)]
    pub(crate) sessions: usize,

    /// Transactions per session
    #[arg(long, value_name = "N", default_value = "8", value_parser = parse_txns, allow_hyphen_values = true)]
    pub(crate) txns: usize,

    /// Seed: decides which transactions run, in which order, and what reads return
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,

    /// Retry transactions that the store aborts because of a conflict
    #[arg(long)]
    pub(crate) retry: bool,

    /// Save the history; - is standard output, and then the answer goes to standard error
    #[arg(long, short = 'o', value_name = "FILE.jsonl")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) overwrite: Overwrite,

    /// Save scans as scans, and not as reads of each row; not at rc. Such a history has no --validate
    #[arg(long, requires = "output")]
    pub(crate) scans: bool,

    /// Also list the transactions in the order in which they ran
    #[arg(long)]
    pub(crate) list: bool,

    /// Print the answer as JSON, on one line
    #[arg(long)]
    pub(crate) json: bool,

    /// Also write a report; the ending says which kind: .html .svg .json .txt .xml (JUnit) .sarif
    #[arg(long = "report", value_name = "FILE")]
    pub(crate) reports: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

/// List the applications.
#[derive(Debug, Args)]
pub(crate) struct StoreAppsArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
