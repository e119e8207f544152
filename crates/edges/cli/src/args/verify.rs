//! The arguments of `isoscope verify`.

use super::AnswerArgs;
use clap::Args;
use std::path::PathBuf;

/// Decide whether a program of transactions keeps its invariants under isolation levels.
///
/// A program is a text: tables, transactions, which of them run, and what must hold in the end. The answer covers every
/// run that a level allows. If one of them breaks an invariant, that run is shown. An independent interpreter replays it
/// first, step by step, and checks that the level allows its history.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The program
    #[arg(value_name = "FILE.txn")]
    pub(crate) input: PathBuf,

    /// Decide only these levels; repeat it, or separate names with commas
    #[arg(long = "level", short = 'l', value_name = "LEVEL", value_delimiter = ',')]
    pub(crate) levels: Vec<String>,

    /// Decide the levels of this database, as it means them: postgres, mysql, mariadb or sqlite
    #[arg(long, value_name = "DATABASE", conflicts_with = "levels")]
    pub(crate) database: Option<String>,

    /// Name the weakest level that holds; the default without --level
    #[arg(long)]
    pub(crate) weakest: bool,

    /// Suggest repairs: reads to lock, statements to make one, or a stronger level. For each violated level of --level or
    /// --database, or for the strongest violated one
    #[arg(long)]
    pub(crate) repair: bool,

    /// Also run the program on this database, as SQL, in many interleavings of its statements (addresses as for collect).
    /// The level is decided as that database means it
    #[arg(long, value_name = "URL", conflicts_with_all = ["levels", "database"])]
    pub(crate) run: Option<String>,

    /// With --run, the isolation level of all transactions, in the database's words; by default the database's own default
    #[arg(long, short = 'i', value_name = "LEVEL", requires = "run")]
    pub(crate) isolation: Option<String>,

    /// With --run, how many interleavings are tried
    #[arg(long, value_name = "N", default_value_t = 100, requires = "run")]
    pub(crate) interleavings: usize,

    /// With --run, chooses interleavings and open values
    #[arg(long, value_name = "N", default_value_t = 1, requires = "run")]
    pub(crate) seed: u64,

    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}
