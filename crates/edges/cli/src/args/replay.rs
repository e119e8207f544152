//! The arguments of `isoscope replay`.

use crate::units::parse_size;
use crate::voice::VoiceArgs;
use clap::Args;
use std::path::PathBuf;

/// Play a script against a database step by step, and see whether it shows its anomaly again.
///
/// The script is what `isoscope hunt` printed or saved, as SQL or as steps. Each step is shown with what it answered, and
/// with what the script says if that is something else. The history is then checked at the level that the script should
/// break. The tables that the script makes are removed at its end.
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The script, or - for standard input
    #[arg(value_name = "SCRIPT")]
    pub(crate) script: PathBuf,

    #[arg(value_name = "URL", help = super::hunt::DATABASE)]
    pub(crate) url: String,

    /// The isolation level of all transactions, in the database's words; by default what the script says
    #[arg(long, short = 'i', value_name = "NAME")]
    pub(crate) isolation: Option<String>,

    /// The level that the script should break; by default what the script says, and else what the database promises
    #[arg(long, short = 'e', value_name = "LEVEL")]
    pub(crate) expect: Option<String>,

    /// Play it N times, and say how often it shows; by default once, and 30 times where steps are sent together
    #[arg(long, value_name = "N", value_parser = parse_times)]
    pub(crate) times: Option<usize>,

    #[command(flatten)]
    pub(crate) opening: super::OpeningArgs,

    /// Save the history that was recorded
    #[arg(long, short = 'o', value_name = "FILE.jsonl|FILE.history")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) voice: VoiceArgs,

    /// Also write a report; the ending says which kind: .html .svg .dot .json .txt .xml (JUnit) .sarif
    #[arg(long = "report", value_name = "FILE")]
    pub(crate) reports: Vec<PathBuf>,

    /// Stop at this much memory, such as 8GiB; by default three quarters of the machine
    #[arg(long, value_name = "SIZE", value_parser = parse_size, allow_hyphen_values = true)]
    pub(crate) memory: Option<u64>,

    /// Show progress on standard error even when it is not a terminal
    #[arg(long)]
    pub(crate) progress: bool,
}

fn parse_times(text: &str) -> Result<usize, String> {
    let number = text.trim().parse().ok().filter(|it| (1..=100_000).contains(it));
    number.ok_or_else(|| "write a number from 1 to 100000".to_owned())
}
