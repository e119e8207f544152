//! The arguments of `isoscope record`.

use super::RunCheckArgs;
use crate::output::Overwrite;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// Stand between an application and its PostgreSQL, and record what its transactions read and write.
///
/// The application connects to --listen instead of its database, and is not changed. While it is recorded, the database
/// has a schema `isoscope_recording` with triggers, which are removed at the end. Ctrl-C ends the recording; so does the end of
/// COMMAND, if there is one.
#[derive(Debug, Args)]
#[allow(clippy::doc_markdown, reason = "it is the help, which shows everything as it is")]
pub(crate) struct RecordArgs {
    /// The address of the database, as in postgres://me@localhost/test. Its user must own the tables
    #[arg(long, value_name = "URL")]
    pub(crate) to: String,

    /// Where the application connects
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:5433")]
    pub(crate) listen: String,

    /// Begin when the application says SET isoscope.run = 'start'. What it does before is setup, and not recorded
    #[arg(long)]
    pub(crate) after_setup: bool,

    /// Where to record the history; - is standard output, and then the answer goes to standard error
    #[arg(long, short = 'o', value_name = "FILE.jsonl")]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) judging: RunCheckArgs,

    #[command(flatten)]
    pub(crate) overwrite: Overwrite,

    /// Print the answer as JSON, on one line
    #[arg(long)]
    pub(crate) json: bool,

    /// Show progress on standard error even when it is not a terminal
    #[arg(long)]
    pub(crate) progress: bool,

    /// Run this command, and end with it. It finds PGHOST and PGPORT set to --listen
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}
