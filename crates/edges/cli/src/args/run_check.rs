//! What `isoscope serve` and `isoscope record` find out about the run.

use clap::Args;
use std::path::PathBuf;

/// How the run is judged.
#[derive(Debug, Args)]
pub(crate) struct RunCheckArgs {
    /// Judge the run at this level, while it runs and at its end; repeat it, or separate names with commas
    #[arg(long, value_name = "LEVEL", value_delimiter = ',', requires = "output")]
    pub(crate) check: Vec<String>,

    /// End the run when what is recorded violates a level of --check
    #[arg(long, requires = "check")]
    pub(crate) stop_on_violation: bool,

    /// Write a report of the run with its SQL to this file: .html, .svg, .dot, .json or .txt; repeat it for several
    #[arg(long = "report", value_name = "FILE", requires = "output")]
    pub(crate) reports: Vec<PathBuf>,
}
