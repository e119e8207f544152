//! The arguments as they stand on the command line; each verb resolves its own.

use crate::units::{parse_duration, parse_size};
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use std::time::Duration;

/// Everything about transaction isolation: does a recorded history satisfy an isolation level, and if not, why not?
#[derive(Debug, Parser)]
#[command(name = "isoscope", version, arg_required_else_help = true, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Check(CheckArgs),
    Levels(LevelsArgs),
    Convert(ConvertArgs),
    Report(ReportArgs),
    Demo(DemoArgs),
}

/// Decide whether recorded histories satisfy isolation levels, and explain what breaks them.
///
/// Without --level every level is decided, and the answer is the strongest levels that hold and the anomalies that
/// break the next ones. Every answer carries evidence, and the evidence is checked by independent code before it is
/// shown.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Histories: files, Cobra directories, or - for standard input; .gz and .zst are read as they are
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<String>,

    /// Decide only these levels; repeat it, or separate names with commas
    #[arg(long = "level", short = 'l', value_name = "LEVEL", value_delimiter = ',')]
    pub(crate) levels: Vec<String>,

    /// Levels of your own: without --level all levels of the file are decided
    #[arg(long, value_name = "FILE.spec")]
    pub(crate) spec: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,

    /// Print one JSON document for each input, one a line
    #[arg(long)]
    pub(crate) json: bool,

    /// Write a report, too, rendered by the file's ending: .html .svg .dot .json .txt
    #[arg(long = "report", value_name = "FILE")]
    pub(crate) reports: Vec<PathBuf>,

    /// Do not check the evidence
    #[arg(long)]
    pub(crate) no_certify: bool,

    /// Print on standard error what each stage took, and what the search was about: edges known, pairs left, variables,
    /// conflicts
    #[arg(long)]
    pub(crate) stats: bool,
}

/// List the definitions of isolation levels, show one, or check your own.
#[derive(Debug, Args)]
pub(crate) struct LevelsArgs {
    /// Print a definition with its source and the choices that were made
    #[arg(long, value_name = "NAME", conflicts_with = "check")]
    pub(crate) show: Option<String>,

    /// Check a spec file, and list the levels that it defines
    #[arg(long, value_name = "FILE.spec")]
    pub(crate) check: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Write a history in another format.
///
/// What the other format cannot express is an error; nothing is left out silently.
#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// The history: a file, a Cobra directory, or - for standard input
    #[arg(value_name = "IN")]
    pub(crate) input: String,

    /// Where to write it: a file (compressed if it ends in .gz or .zst), or - for standard output
    #[arg(value_name = "OUT")]
    pub(crate) output: String,

    /// The format to write, if the ending of OUT does not tell
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: Option<String>,

    /// Overwrite OUT if it exists
    #[arg(long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

/// Render a saved result again, as a page, a picture, a graph or text.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Results of `isoscope check --json`, or - for standard input
    #[arg(value_name = "RESULT.json")]
    pub(crate) input: String,

    /// Where to write it, rendered by the ending: .html .svg .dot .json .txt; text on standard output if not given
    #[arg(long = "output", short = 'o', value_name = "FILE")]
    pub(crate) outputs: Vec<PathBuf>,
}

/// Meet three anomalies: what happened, which levels forbid it, and why.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// The folder for the page and the pictures
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) out: PathBuf,
}

/// How to read histories.
#[derive(Clone, Debug, Args)]
pub(crate) struct ReadingArgs {
    /// The format of the input, if its content does not tell
    #[arg(long, value_name = "FORMAT", visible_alias = "from")]
    pub(crate) format: Option<String>,

    /// What identifies a version in Cobra logs; decided by looking if not given
    #[arg(long, value_name = "values|writers")]
    pub(crate) cobra_identity: Option<String>,
}

/// What a run may take.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct LimitArgs {
    /// Stop after this time, as in 500ms, 60s, 5m
    #[arg(long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true)]
    pub(crate) timeout: Option<Duration>,

    /// Stop at this much memory, as in 8GiB; three quarters of the machine if not given
    #[arg(long, value_name = "SIZE", value_parser = parse_size, allow_hyphen_values = true)]
    pub(crate) memory: Option<u64>,

    /// Show progress on standard error even if it is no terminal
    #[arg(long)]
    pub(crate) progress: bool,
}
