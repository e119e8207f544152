//! The arguments of `isoscope hunt`.

use crate::dry_run::DatabaseArgs;
use crate::units::{parse_duration, parse_size};
use crate::voice::VoiceArgs;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

pub(super) const DATABASE: &str = "The database: postgres://user@host/name, mysql://user@host/name, sqlite:FILE, store:LEVEL for the weak store, galera:3 or \
     postgres:1+1 for servers that are started, or \"command:./driver\" for a driver of your own";

/// Look for violations of an isolation level in a database, and write a script that reproduces them.
///
/// Scripts of known anomalies come first, then short runs of contended workloads. Each history is checked at the expected
/// level. A violation is shrunk to the smallest script that reproduces it on the database, as SQL for each session. Ctrl-C
/// ends the hunt and shows what it found.
#[derive(Debug, Args)]
#[allow(clippy::doc_markdown, reason = "it is the help, which shows everything as it is")]
pub(crate) struct HuntArgs {
    #[arg(value_name = "URL", help = DATABASE)]
    pub(crate) url: String,

    /// The isolation level of all sessions, in the database's words; by default the database's own default
    #[arg(long, short = 'i', value_name = "NAME")]
    pub(crate) isolation: Option<String>,

    /// The level that the database should provide: whatever it forbids is a finding. By default, what the database promises
    /// at its isolation level
    #[arg(long, short = 'e', value_name = "LEVEL")]
    pub(crate) expect: Option<String>,

    /// How long to hunt, such as 30s or 5m; shrinking a finding may take some seconds more
    #[arg(long = "for", value_name = "TIME", default_value = "1m", value_parser = parse_duration, allow_hyphen_values = true)]
    pub(crate) duration: Duration,

    /// Seed: decides what is run
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Use all of the time, and show one finding for each kind of anomaly
    #[arg(long)]
    pub(crate) all: bool,

    /// Run only these: probes for the scripts, or workloads; repeat it, or separate names with commas
    #[arg(long = "workload", short = 'w', value_name = "WORKLOAD", value_delimiter = ',')]
    pub(crate) workloads: Vec<String>,

    /// Save the history of the finding, and with --all those of the others in FILE-2.history and so on; what was recorded
    /// last, if the hunt ends early; - is standard output, and then the answer goes to standard error
    #[arg(long, short = 'o', value_name = "FILE.history")]
    pub(crate) output: Option<PathBuf>,

    /// Save the script of the finding, for replay, and with --all those of the others in FILE-2 and so on
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) faults: super::FaultArgs,

    #[command(flatten)]
    pub(crate) database: DatabaseArgs,

    #[command(flatten)]
    pub(crate) voice: VoiceArgs,

    /// Also write a report of the hunt and its findings; the ending says which kind: .html .svg .dot .json .txt .xml (JUnit) .sarif
    #[arg(long = "report", value_name = "FILE")]
    pub(crate) reports: Vec<PathBuf>,

    /// Stop at this much memory, such as 8GiB; by default three quarters of the machine
    #[arg(long, value_name = "SIZE", value_parser = parse_size, allow_hyphen_values = true)]
    pub(crate) memory: Option<u64>,

    /// Show progress on standard error even when it is not a terminal
    #[arg(long)]
    pub(crate) progress: bool,
}
