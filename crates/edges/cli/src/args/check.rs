//! Arguments of `isoscope check`.

use super::{LimitArgs, ReadingArgs};
use crate::commands::collect::parse_txns as parse_collect_txns;
use crate::units::{parse_duration, parse_spool};
use crate::voice::{Voice, VoiceArgs};
use clap::Args;
#[cfg(feature = "parquet")]
use clap::ValueEnum;
use std::path::PathBuf;
use std::time::Duration;

/// Decide whether recorded histories satisfy isolation levels, and explain what breaks them.
///
/// Without --level every level is decided, and the answer is the strongest levels that hold and the anomalies that
/// break the next ones. Where the history says which database it was recorded from, the first line says whether the
/// database kept what its isolation level promises, and the exit code is about that. Every answer carries evidence, and the evidence is checked by independent code before it is
/// shown.
#[derive(Clone, Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "a flag is a word on the command line")]
pub(crate) struct CheckArgs {
    /// Histories: files, directories of Cobra or Parquet, or - for standard input; .gz and .zst are unpacked
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<String>,

    /// Decide only these levels; repeat it, or separate names with commas
    #[arg(long = "level", short = 'l', value_name = "LEVEL", value_delimiter = ',')]
    pub(crate) levels: Vec<String>,

    /// The database whose SQL names --level has, such as "repeatable read"; what the history says, by default
    #[arg(long, value_name = "NAME", requires = "levels")]
    pub(crate) database: Option<String>,

    /// Levels of your own; of large histories, those whose witness follows from one order (see docs/reference/spec.md).
    /// Without --level, all levels of the file are decided
    #[arg(long, value_name = "FILE.spec")]
    pub(crate) spec: Option<PathBuf>,

    /// Let an engine replay a Parquet data set, and decide here what does not fit: datafusion, spark,
    /// spark://HOST:PORT or ballista://HOST:PORT; for ser, sser and si
    #[cfg(feature = "parquet")]
    #[arg(long, value_name = "ENGINE", requires = "levels", conflicts_with_all = ["database", "spec"])]
    pub(crate) engine: Option<String>,

    /// Print what --engine would ask, to run it elsewhere
    #[cfg(feature = "parquet")]
    #[arg(long, value_name = "WHAT", requires = "levels", conflicts_with_all = ["engine", "database", "spec"])]
    pub(crate) emit: Option<Emitted>,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,

    #[command(flatten)]
    pub(crate) voice: VoiceArgs,

    /// Print EDN with Elle's names of anomalies and models: one map per input, one per line
    #[arg(long, conflicts_with_all = ["json", "format"])]
    pub(crate) edn: bool,

    /// Also write a report; the ending says which kind: .html .svg .dot .json .txt .xml (JUnit) .sarif
    #[arg(long = "report", value_name = "FILE")]
    pub(crate) reports: Vec<PathBuf>,

    /// Answer again whenever an input or the spec file changes, until Ctrl-C
    #[arg(long)]
    pub(crate) watch: bool,

    /// Accept inputs without transactions, of which every level holds
    #[arg(long)]
    pub(crate) allow_empty: bool,

    /// Check a recording in JSON lines while it is read, in memory that does not grow with it; chosen by itself if the
    /// input would not fit --memory
    #[arg(long, help_heading = "Streams")]
    pub(crate) stream: bool,

    /// Check a recording that is still being written, until its last line, Ctrl-C, or --for
    #[arg(long, help_heading = "Streams")]
    pub(crate) follow: bool,

    /// With --follow: leave the recording after this time, such as 10m
    #[arg(long = "for", value_name = "TIME", requires = "follow", value_parser = parse_duration, allow_hyphen_values = true, help_heading = "Streams")]
    pub(crate) follow_for: Option<Duration>,

    /// With --stream or --follow: end at the first violation
    #[arg(long, help_heading = "Streams")]
    pub(crate) stop_on_violation: bool,

    /// With --stream or --follow: so many transactions may still be ordered in another way; 20000 by default
    #[arg(long, value_name = "N", value_parser = parse_collect_txns, allow_hyphen_values = true, help_heading = "Streams")]
    pub(crate) window: Option<usize>,

    /// With --stream and standard input: keep up to so much of what has passed in a temporary file, so that what does not fit
    /// can be looked at again; 2GiB by default, none for nothing
    #[arg(long, value_name = "SIZE", requires = "stream", value_parser = parse_spool, allow_hyphen_values = true, help_heading = "Streams")]
    pub(crate) spool: Option<u64>,

    /// With --stream or --follow, and one level: save the schedule as it is found, for certify --stream
    #[arg(long, value_name = "FILE", help_heading = "Streams")]
    pub(crate) certificate: Option<PathBuf>,

    /// With --certificate: go on after the schedule that is in the file already, of a check that was stopped or killed; the kernel
    /// replays it, and nothing in it is believed
    #[arg(long, requires = "certificate", help_heading = "Streams")]
    pub(crate) resume: bool,

    /// Skip the independent check of the evidence
    #[arg(long, conflicts_with_all = ["stream", "follow"])]
    pub(crate) no_certify: bool,

    /// Print on standard error how long each stage took and how large the search was
    #[arg(long)]
    pub(crate) stats: bool,
}

/// What `check --emit` prints.
#[cfg(feature = "parquet")]
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Emitted {
    Sql,
}

impl CheckArgs {
    /// How the answers are printed.
    pub(crate) fn voice(&self) -> Voice {
        if self.edn { Voice::Edn } else { self.voice.voice() }
    }
}
