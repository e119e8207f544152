//! The arguments of `isoscope hunt`.

use crate::units::{parse_duration, parse_size};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

const DATABASE: &str =
    "The database: postgres://user@host/name, mysql://user@host/name, sqlite:FILE, or store:LEVEL for the weak store";

/// Hunt for what a database should not do at an isolation level, and make a script of what is found.
///
/// Known anomalies are tried first, as scripts of a few transactions, and then short runs of contended workloads. Each
/// history is checked at the level that is expected. What is forbidden is shrunk to the smallest script that shows it
/// again on the database, as SQL for each session. Ctrl-C ends the hunt with what was found.
#[derive(Debug, Args)]
#[allow(clippy::doc_markdown, reason = "it is the help, which shows everything as it is")]
pub(crate) struct HuntArgs {
    #[arg(value_name = "URL", help = DATABASE)]
    pub(crate) url: String,

    /// The isolation level of all sessions, as the database calls it; its default if not given
    #[arg(long, short = 'i', value_name = "NAME")]
    pub(crate) isolation: Option<String>,

    /// What that should be: whatever this level forbids is a finding
    #[arg(long, short = 'e', value_name = "LEVEL")]
    pub(crate) expect: String,

    /// How long to hunt, as in 30s, 5m; what is found may take some seconds more
    #[arg(long = "for", value_name = "TIME", default_value = "1m", value_parser = parse_duration, allow_hyphen_values = true)]
    pub(crate) duration: Duration,

    /// Decides what is run
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Hunt for all of that time, and show one finding for each kind of anomaly
    #[arg(long)]
    pub(crate) all: bool,

    /// Run only these: probes for the scripts, or workloads; repeat it, or separate names with commas
    #[arg(long = "workload", short = 'w', value_name = "WORKLOAD", value_delimiter = ',')]
    pub(crate) workloads: Vec<String>,

    /// Save the history of the first finding; with - it goes to standard output, and the answer to standard error
    #[arg(long, short = 'o', value_name = "FILE.history")]
    pub(crate) output: Option<PathBuf>,

    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,

    /// Write a report of the hunt and what it found, too, rendered by the file's ending: .html .svg .dot .json .txt
    #[arg(long = "report", value_name = "FILE")]
    pub(crate) reports: Vec<PathBuf>,

    /// Stop at this much memory, as in 8GiB; three quarters of the machine if not given
    #[arg(long, value_name = "SIZE", value_parser = parse_size, allow_hyphen_values = true)]
    pub(crate) memory: Option<u64>,

    /// Show progress on standard error even if it is no terminal
    #[arg(long)]
    pub(crate) progress: bool,
}
