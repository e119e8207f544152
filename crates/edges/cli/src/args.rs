//! The arguments as they stand on the command line; each verb resolves its own.

mod allocate;
mod check;
mod completions;
mod driver;
mod faults;
mod generate;
mod hunt;
mod lsp;
mod opening;
mod playground;
mod predict;
#[cfg(feature = "record")]
mod record;
mod replay;
#[cfg(feature = "record")]
mod run_check;
mod saved;
#[cfg(feature = "record")]
mod serve;
mod store;

pub(crate) use allocate::AllocateArgs;
pub(crate) use check::CheckArgs;
#[cfg(feature = "parquet")]
pub(crate) use check::Emitted;
pub(crate) use completions::CompletionsArgs;
pub(crate) use driver::{DriverArgs, DriverCheckArgs, DriverVerb};
pub(crate) use faults::FaultArgs;
pub(crate) use generate::GenerateArgs;
pub(crate) use hunt::HuntArgs;
pub(crate) use lsp::LspArgs;
pub(crate) use opening::OpeningArgs;
pub(crate) use playground::PlaygroundArgs;
pub(crate) use predict::{BoundaryName, PredictArgs, Strategy};
#[cfg(feature = "record")]
pub(crate) use record::RecordArgs;
pub(crate) use replay::ReplayArgs;
#[cfg(feature = "record")]
pub(crate) use run_check::RunCheckArgs;
pub(crate) use saved::{CertifyArgs, ReportArgs};
#[cfg(feature = "record")]
pub(crate) use serve::ServeArgs;
pub(crate) use store::{StoreAppsArgs, StoreArgs, StoreRunArgs, StoreVerb};

use crate::commands::collect::{
    parse_keys as parse_collect_keys, parse_ops, parse_reads, parse_sessions as parse_collect_sessions,
    parse_txns as parse_collect_txns,
};
use crate::dry_run::DatabaseArgs;
use crate::output::Overwrite;
use crate::scope::{parse_keys, parse_limit, parse_scans, parse_sessions, parse_txns, parse_values};
use crate::units::{parse_duration, parse_size};
use crate::voice::VoiceArgs;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// Answers questions about transaction isolation. Does a recorded history satisfy a level, and if not, why not? Which
/// history separates two levels? Does a program keep its invariants under a level? What could have happened instead of
/// an observed run?
#[derive(Debug, Parser)]
#[command(name = "isoscope", version, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) verb: Verb,
    /// Use plain ASCII; the default on a terminal that is not set to UTF-8
    #[arg(long, global = true)]
    pub(crate) ascii: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Check(CheckArgs),
    Separate(SeparateArgs),
    Compare(CompareArgs),
    Lattice(LatticeArgs),
    Verify(VerifyArgs),
    Allocate(AllocateArgs),
    Predict(PredictArgs),
    Collect(CollectArgs),
    #[cfg(feature = "record")]
    Record(RecordArgs),
    #[cfg(feature = "record")]
    Serve(ServeArgs),
    Hunt(HuntArgs),
    Replay(ReplayArgs),
    Driver(DriverArgs),
    Store(StoreArgs),
    Levels(LevelsArgs),
    Convert(ConvertArgs),
    Generate(GenerateArgs),
    Report(ReportArgs),
    Certify(CertifyArgs),
    Playground(PlaygroundArgs),
    Lsp(LspArgs),
    Demo(DemoArgs),
    Completions(CompletionsArgs),
}

/// Find a history that some levels allow and others forbid.
///
/// The answer is the smallest such history within the scope. It says how the allowing levels explain the history, and why
/// the forbidding levels cannot. Independent code checks both before they are shown.
#[derive(Debug, Args)]
pub(crate) struct SeparateArgs {
    /// Levels that must all allow the history; optional
    #[arg(long, value_name = "LEVEL", value_delimiter = ',', num_args = 1..)]
    pub(crate) allow: Vec<String>,

    /// Levels that must all forbid it
    #[arg(long, value_name = "LEVEL", value_delimiter = ',', num_args = 1.., required = true)]
    pub(crate) forbid: Vec<String>,

    /// Find every history that contains no smaller one (up to renaming), not only the smallest
    #[arg(long, conflicts_with = "exact")]
    pub(crate) all: bool,

    /// With --all: stop after N histories
    #[arg(long, value_name = "N", requires = "all", value_parser = parse_limit, allow_hyphen_values = true)]
    pub(crate) limit: Option<usize>,

    /// Save the history, and with --all the others in FILE-2.history and so on; - is standard output, and then the
    /// answer goes to standard error
    #[arg(long, short = 'o', value_name = "FILE.history")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) overwrite: Overwrite,

    #[command(flatten)]
    pub(crate) search: SearchArgs,
}

/// Say how two levels relate: equivalent, stronger, weaker or incomparable, proved for every size where that can be.
///
/// Where one level allows what the other forbids, the smallest such history is shown. Independent code checks its
/// evidence first.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// One level
    #[arg(value_name = "LEVEL")]
    pub(crate) left: String,

    /// The other one
    #[arg(value_name = "OTHER")]
    pub(crate) right: String,

    /// Prove that the first level implies the other one with this construction: `def made_NAME = ..` for each thing that the
    /// other level wants to exist, in the words of the first one
    #[arg(long = "by", value_name = "FILE.spec")]
    pub(crate) by: Option<PathBuf>,

    /// Look for no proof: say what is so up to so many transactions
    #[arg(long, value_name = "N", value_parser = parse_txns, conflicts_with_all = ["txns", "by"])]
    pub(crate) bounded: Option<usize>,

    #[command(flatten)]
    pub(crate) search: SearchArgs,
}

/// Draw how levels relate: which coincide, which imply which, and a history for each step.
#[derive(Debug, Args)]
pub(crate) struct LatticeArgs {
    /// The levels; by default those that check knows by name, and those of --spec
    #[arg(value_name = "LEVEL", value_delimiter = ',')]
    pub(crate) levels: Vec<String>,

    /// All definitions of the catalogue
    #[arg(long, conflicts_with = "levels")]
    pub(crate) all: bool,

    /// Prove for every size what implies what
    #[arg(long)]
    pub(crate) prove: bool,

    #[command(flatten)]
    pub(crate) search: SearchArgs,
}

/// What verbs have in common that search for histories.
#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// Levels of your own, named `file.level` or `level`; repeat it for several files
    #[arg(long = "spec", value_name = "FILE.spec")]
    pub(crate) specs: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) answer: AnswerArgs,

    #[command(flatten)]
    pub(crate) scope: ScopeArgs,

    #[command(flatten)]
    pub(crate) method: MethodArgs,
}

/// What one answer may take, and where it goes.
#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    #[command(flatten)]
    pub(crate) limits: LimitArgs,

    #[command(flatten)]
    pub(crate) voice: VoiceArgs,

    /// Also write a report; the ending says which kind: .html .svg .dot .json .txt .xml (JUnit) .sarif
    #[arg(long = "report", value_name = "FILE")]
    pub(crate) reports: Vec<PathBuf>,
}

/// Decide whether a program of transactions keeps its invariants under isolation levels.
///
/// A program is a text: tables, transactions, which of them run, and what must hold in the end. The answer covers every
/// run that a level allows. If one of them breaks an invariant, that run is shown. An independent interpreter replays it
/// first, step by step, and checks that the level allows its history.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "a flag is a word on the command line")]
pub(crate) struct VerifyArgs {
    /// The program; in SQL if it ends in .sql
    #[arg(value_name = "FILE.txn")]
    pub(crate) input: PathBuf,

    /// Decide only these levels; repeat it, or separate names with commas
    #[arg(long = "level", short = 'l', value_name = "LEVEL", value_delimiter = ',')]
    pub(crate) levels: Vec<String>,

    /// Decide the levels of this database, as it means them: postgres, mysql, mariadb or sqlite
    #[arg(long, value_name = "DATABASE", conflicts_with = "levels")]
    pub(crate) database: Option<String>,

    /// Ask about any number of the program's transactions, with any arguments; `run` does not matter. The levels are
    /// postgres.rc, si and ser by default, and with --database postgres all of its own
    #[arg(long, conflicts_with_all = ["repair", "run"])]
    pub(crate) any_number: bool,

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

    /// Answer again whenever the program changes, until Ctrl-C
    #[arg(long)]
    pub(crate) watch: bool,

    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

/// Drive a database with a workload from many sessions at once, and record the history.
///
/// The file is written while the sessions run. Ctrl-C ends the run early; the history up to then is complete. The tables
/// that the run creates are removed at its end.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "a flag is a word on the command line")]
pub(crate) struct CollectArgs {
    /// The address of the database, such as sqlite:FILE or store:LEVEL; --help lists more
    #[arg(value_name = "URL")]
    pub(crate) url: String,

    /// The isolation level of all sessions, in the database's words; by default the database's own default
    #[arg(long, short = 'i', value_name = "NAME", conflicts_with = "mix")]
    pub(crate) isolation: Option<String>,

    /// Isolation levels and their shares of the sessions, such as read-committed:0.5,serializable:0.5
    #[arg(long, value_name = "NAME:SHARE,..")]
    pub(crate) mix: Option<String>,

    /// What sessions do
    #[arg(long, short = 'w', value_name = "WORKLOAD", default_value = "rw")]
    pub(crate) workload: String,

    /// Run the transactions of this program instead, with arguments that are drawn. Tables without rows get --keys of them
    #[arg(long, value_name = "FILE.txn", conflicts_with_all = ["workload", "mix"])]
    pub(crate) program: Option<PathBuf>,

    /// With --program, run each transaction at its own level: an answer of `isoscope allocate --json`
    #[arg(long, value_name = "FILE.json", requires = "program", conflicts_with = "isolation")]
    pub(crate) levels: Option<String>,

    /// Number of sessions, each with its own connection
    #[arg(long, value_name = "N", default_value = "10", value_parser = parse_collect_sessions, allow_hyphen_values = true)]
    pub(crate) sessions: usize,

    /// Transactions per session; 100 unless --duration is given
    #[arg(long, value_name = "N", value_parser = parse_collect_txns, allow_hyphen_values = true)]
    pub(crate) txns: Option<usize>,

    /// How long to run, such as 30s or 5m
    #[arg(long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true)]
    pub(crate) duration: Option<Duration>,

    /// Number of keys
    #[arg(long, value_name = "N", default_value = "100", value_parser = parse_collect_keys, allow_hyphen_values = true)]
    pub(crate) keys: usize,

    /// Operations per transaction
    #[arg(long, value_name = "N..M", default_value = "1..8", value_parser = parse_ops, allow_hyphen_values = true)]
    pub(crate) ops: (usize, usize),

    /// Share of the operations that are reads
    #[arg(long, value_name = "SHARE", default_value = "0.5", value_parser = parse_reads, allow_hyphen_values = true)]
    pub(crate) reads: f64,

    /// How keys are drawn
    #[arg(long, value_name = "uniform|zipf|hotset", default_value = "uniform")]
    pub(crate) keys_like: String,

    /// Retry transactions that the database aborts; each attempt is recorded
    #[arg(long)]
    pub(crate) retry: bool,

    /// Seed: decides which transactions run
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,

    /// Skip the read of all rows at the end
    #[arg(long)]
    pub(crate) no_final_read: bool,

    /// Where to record the history; - is standard output, and then the answer goes to standard error
    #[arg(long, short = 'o', value_name = "FILE.jsonl", required_unless_present = "dry_run")]
    pub(crate) output: Option<PathBuf>,

    /// Check these levels while the history is recorded; repeat it, or separate names with commas
    #[arg(long, value_name = "LEVEL", value_delimiter = ',')]
    pub(crate) check: Vec<String>,

    /// With --check: end the run at the first violation
    #[arg(long, requires = "check")]
    pub(crate) stop_on_violation: bool,

    #[command(flatten)]
    pub(crate) faults: FaultArgs,

    /// How long each session waits after a transaction, such as 10ms
    #[arg(long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true)]
    pub(crate) pause: Option<Duration>,

    #[command(flatten)]
    pub(crate) database: DatabaseArgs,

    /// Print the answer as JSON, on one line
    #[arg(long)]
    pub(crate) json: bool,

    /// Also write a report with a chart over time; the ending says which kind: .html .svg .json .txt .xml (JUnit) .sarif
    #[arg(long = "report", value_name = "FILE")]
    pub(crate) reports: Vec<PathBuf>,

    /// Show progress on standard error even when it is not a terminal
    #[arg(long)]
    pub(crate) progress: bool,
}

/// Which histories to look at. The defaults differ by verb; the help has them.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Scope")]
pub(crate) struct ScopeArgs {
    /// At most N transactions
    #[arg(long, value_name = "N", value_parser = parse_txns, allow_hyphen_values = true)]
    pub(crate) txns: Option<usize>,

    /// At most N keys
    #[arg(long, value_name = "N", value_parser = parse_keys, allow_hyphen_values = true)]
    pub(crate) keys: Option<usize>,

    /// At most N values per key, including the initial one
    #[arg(long, value_name = "N", value_parser = parse_values, allow_hyphen_values = true)]
    pub(crate) values: Option<usize>,

    /// Exactly as many transactions as --txns says, instead of at most
    #[arg(long)]
    pub(crate) exact: bool,

    /// Every transaction reads a key before it writes it
    #[arg(long)]
    pub(crate) no_blind_writes: bool,

    /// At most N sessions; by default as many as transactions
    #[arg(long, value_name = "N", value_parser = parse_sessions, allow_hyphen_values = true)]
    pub(crate) sessions: Option<usize>,

    /// Let session order be any partial order, instead of one chain per session
    #[arg(long, conflicts_with = "sessions")]
    pub(crate) partial_order_sessions: bool,

    /// Whether a transaction may read a key twice and see two versions; by default where a level allows it
    #[arg(long, value_name = "yes|no", hide_possible_values = true)]
    pub(crate) rereads: Option<YesNo>,

    /// At most N reads of rows that a scan did not return; by default 1 where a level tells them from other reads
    #[arg(long, value_name = "N", value_parser = parse_scans, allow_hyphen_values = true)]
    pub(crate) scans: Option<usize>,
}

/// An answer on the command line.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum YesNo {
    Yes,
    No,
}

/// How to search: every way gives the same answer, and these are for measuring what each idea brings.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Ways to search (the same answer, slower; for comparison)")]
#[allow(clippy::struct_field_names, reason = "the names are those of the options")]
pub(crate) struct MethodArgs {
    /// Do not forbid witnesses derived from the orders of levels that allow the history
    #[arg(long, hide_short_help = true)]
    pub(crate) no_derived_witnesses: bool,

    /// Do not number transactions by the order of the first level that allows the history
    #[arg(long, hide_short_help = true)]
    pub(crate) no_fixed_order: bool,

    /// Do not begin with a level failing for the witness of another one of its framework
    #[arg(long, hide_short_help = true)]
    pub(crate) no_merging: bool,
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

/// Write a history in another format, or a program in SQL as a .txn.
///
/// What the other format cannot express is an error; nothing is left out silently.
#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// The history: a file, a Cobra directory, or - for standard input; or a program that ends in .sql
    #[arg(value_name = "IN")]
    pub(crate) input: String,

    /// Where to write it: a file (compressed if it ends in .gz or .zst), or - for standard output
    #[arg(value_name = "OUT")]
    pub(crate) output: String,

    /// The format to write, if the ending of OUT does not say it
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

/// Run the same contended work on two built-in databases, one of them weak, and see which levels each keeps.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// The folder for the page and the recorded histories
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) out: PathBuf,
}

/// How to read histories.
#[derive(Clone, Debug, Args)]
pub(crate) struct ReadingArgs {
    /// The format of the input, if it is not recognised
    #[arg(long, value_name = "FORMAT")]
    pub(crate) from: Option<String>,

    /// What every register holds before its first write, as in 0; nothing, or what the input says, by default
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub(crate) initial: Option<String>,

    /// What identifies a version in Cobra logs; recognised by default
    #[arg(long, value_name = "values|writers")]
    pub(crate) cobra_identity: Option<String>,
}

/// What a run may take.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct LimitArgs {
    /// Stop after this time, such as 500ms, 60s or 5m
    #[arg(long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true)]
    pub(crate) timeout: Option<Duration>,

    /// Stop at this much memory, such as 8GiB; by default three quarters of the machine
    #[arg(long, value_name = "SIZE", value_parser = parse_size, allow_hyphen_values = true)]
    pub(crate) memory: Option<u64>,

    /// Show progress on standard error even when it is not a terminal
    #[arg(long)]
    pub(crate) progress: bool,
}
