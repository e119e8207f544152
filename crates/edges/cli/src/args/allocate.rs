//! The arguments of `isoscope allocate`.

use super::AnswerArgs;
use clap::Args;
use std::path::PathBuf;

/// Find the weakest isolation level for each transaction of a program, such that every run of any number of them is
/// serializable.
///
/// A program needs nothing but tables and transactions, whose parameters stay open; what it runs and what must hold does not
/// matter. What is in the way of a weaker level is shown as a run, which an independent interpreter has executed, which the
/// level allows, and which is not serializable. Rows of tables that no transaction makes or removes are taken to exist.
#[derive(Debug, Args)]
pub(crate) struct AllocateArgs {
    /// The program
    #[arg(value_name = "FILE.txn")]
    pub(crate) input: PathBuf,

    /// The levels to choose from: rc, si and ser by default; with one, the question is whether it is enough for all
    #[arg(long, short = 'l', value_name = "LEVEL", value_delimiter = ',')]
    pub(crate) levels: Vec<String>,

    /// Answer in the words of this database, with the statement to put before each transaction: postgres
    #[arg(long, value_name = "DATABASE")]
    pub(crate) database: Option<String>,

    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}
