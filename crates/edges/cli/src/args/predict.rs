//! The arguments of `isoscope predict`.

use super::{AnswerArgs, ReadingArgs};
use crate::output::Overwrite;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Predict what could have happened instead: from one observed run, a run that a weaker level allows and that is not
/// serializable.
///
/// Each session repeats its transactions up to a boundary, where reads may see other writers than they did. Without
/// --level, every level that predict knows is tried, and the prediction at the strongest one is shown. Independent code
/// first checks that the level allows it and that the target forbids it.
#[derive(Debug, Args)]
pub(crate) struct PredictArgs {
    /// The observed history: a file, a Cobra directory, or - for standard input; .gz and .zst are unpacked
    #[arg(value_name = "INPUT")]
    pub(crate) input: String,

    /// Try only these levels; repeat it, or separate names with commas
    #[arg(long = "level", short = 'l', value_name = "LEVEL", value_delimiter = ',')]
    pub(crate) levels: Vec<String>,

    /// The database that SQL names of --level belong to: `--database postgres --level "read committed"`
    #[arg(long, value_name = "DATABASE", requires = "levels")]
    pub(crate) database: Option<String>,

    /// The stronger level that must forbid what is predicted
    #[arg(long, value_name = "LEVEL", default_value = "ser")]
    pub(crate) target: String,

    /// What may differ: strict ends a session with the first read that has another writer; relaxed keeps the rest of
    /// that transaction as it was observed, and its other reads may have other writers, too; strict-events is strict,
    /// but others may see what such a transaction wrote before that read; if not given, strict, and relaxed where
    /// strict has none
    #[arg(long, value_name = "BOUNDARY", hide_possible_values = true)]
    pub(crate) boundary: Option<BoundaryName>,

    /// Precision and boundary in one word, as in the paper: exact-strict, exact-relaxed, approx-strict or
    /// approx-relaxed; an approximate search that finds nothing ends with unknown
    #[arg(long, value_name = "STRATEGY", hide_possible_values = true, conflicts_with = "boundary")]
    pub(crate) strategy: Option<Strategy>,

    /// Find one prediction for each shape of cycle, not only one
    #[arg(long)]
    pub(crate) all: bool,

    /// Run this application on the weak store along each prediction, to see whether it really happens. The observed
    /// history must come from the same application
    #[arg(long, value_name = "APP")]
    pub(crate) validate: Option<String>,

    /// Run this command on a served database along each prediction, to see whether it really happens. The observed history
    /// must come from `isoscope record` or `isoscope serve` with the same command
    #[cfg(feature = "record")]
    #[arg(long, value_name = "COMMAND", conflicts_with = "validate")]
    pub(crate) validate_command: Option<String>,

    /// With --validate-command: SQL that makes the tables and the rows that the observed run began with. Without it, the
    /// command makes them itself, and then says SET isoscope.run = 'start'
    #[cfg(feature = "record")]
    #[arg(long, value_name = "FILE.sql", requires = "validate_command")]
    pub(crate) schema: Option<PathBuf>,

    /// With --validate: the seed of the observed run, if the recording does not name it
    #[arg(long, value_name = "N", requires = "validate")]
    pub(crate) seed: Option<u64>,

    /// Save the predicted history (the first one, if there are several); - is standard output, and then the answer
    /// goes to standard error
    #[arg(long, short = 'o', value_name = "FILE.history")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) overwrite: Overwrite,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,

    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

/// A boundary by name.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum BoundaryName {
    Strict,
    Relaxed,
    StrictEvents,
}

/// A precision and a boundary by one name.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Strategy {
    ExactStrict,
    ExactRelaxed,
    ApproxStrict,
    ApproxRelaxed,
}
