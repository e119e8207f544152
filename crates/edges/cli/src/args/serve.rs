//! The arguments of `isoscope serve`.

use super::RunCheckArgs;
use crate::commands::store::parse_sessions;
use crate::output::Overwrite;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// Be a PostgreSQL that answers an application as a weak level allows, and record what it was shown.
///
/// The application connects to --listen, and is not changed. Behind it is a throw-away PostgreSQL of its own, which
/// executes all SQL, and a store that chooses for each read one of the versions that the level allows. Ctrl-C ends the run; so
/// does the end of COMMAND, if there is one.
#[derive(Debug, Args)]
#[allow(clippy::doc_markdown, reason = "it is the help, which shows everything as it is")]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
pub(crate) struct ServeArgs {
    /// What reads and writes may do: rc, ra, cc, pc, psi, si or ser, as papers define them, which is weaker than what
    /// databases of these names do; or postgres.rc or postgres.rr, as PostgreSQL does it
    #[arg(long, short = 'l', value_name = "LEVEL")]
    pub(crate) level: String,

    /// Where the application connects
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:5433")]
    pub(crate) listen: String,

    /// A file with SQL that makes the tables and their first rows
    #[arg(long, value_name = "FILE.sql")]
    pub(crate) schema: Option<PathBuf>,

    /// Which of the allowed versions are served: latest, random or adversarial
    #[arg(long, value_name = "POLICY", default_value = "random")]
    pub(crate) policy: String,

    /// The seed of all choices
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// So many sessions run at once. Then the seed also says who is next, and the same seed gives the same history
    #[arg(long, value_name = "N", value_parser = parse_sessions)]
    pub(crate) sessions: Option<usize>,

    /// How long a session may be silent in the middle of a transaction before others go on
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 300)]
    pub(crate) patience: u64,

    /// Begin when the application says SET isoscope.run = 'start'. What it does before is setup, and not recorded
    #[arg(long)]
    pub(crate) after_setup: bool,

    /// What UPDATE, DELETE and FOR UPDATE act on: newest, as in databases, or weak, any version that the level allows, as
    /// papers read and write
    #[arg(long, value_name = "WHAT", default_value = "newest")]
    pub(crate) updates: String,

    /// Serve statements that execute functions of the database or DO from the newest state. What they read is not seen, so
    /// what holds of the history is then not known
    #[arg(long)]
    pub(crate) allow_opaque: bool,

    /// Run along this history, as predict -o saves it: reads see what it says, and sessions take turns in its order
    #[arg(long, value_name = "FILE", conflicts_with_all = ["policy", "sessions"])]
    pub(crate) replay: Option<PathBuf>,

    /// Use this PostgreSQL as the engine, and not a throw-away one. Its user must be a superuser
    #[arg(long, value_name = "URL")]
    pub(crate) engine: Option<String>,

    /// Where to record the history; - is standard output, and then the answer goes to standard error
    #[arg(long, short = 'o', visible_alias = "record", value_name = "FILE.jsonl")]
    pub(crate) output: Option<PathBuf>,

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
