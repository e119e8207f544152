//! The arguments of `isoscope generate`.

use crate::commands::generate::{parse_number, parse_values};
use crate::output::Overwrite;
use clap::Args;
use clap::builder::PossibleValuesParser;
use iso_generate::{Injection, PRESETS, Store, Values};
use std::path::PathBuf;

/// Generate a history of a chosen kind and size, with an anomaly in it or without.
///
/// A store in memory makes it: sessions take turns at random, one operation at a time. The same options give the same
/// history, byte for byte.
#[derive(Debug, Args)]
pub(crate) struct GenerateArgs {
    /// What transactions do; --help lists the workloads
    #[arg(value_name = "WORKLOAD", hide_possible_values = true)]
    #[arg(value_parser = PossibleValuesParser::new(PRESETS.iter().map(|it| it.name)))]
    pub(crate) workload: String,

    /// Where to write the history; - is standard output, and then the answer goes to standard error
    #[arg(long, short = 'o', value_name = "FILE")]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) overwrite: Overwrite,

    /// Transactions that commit
    #[arg(long, value_name = "N", value_parser = parse_number)]
    pub(crate) txns: Option<usize>,

    /// Number of sessions
    #[arg(long, value_name = "N", value_parser = parse_number)]
    pub(crate) sessions: Option<usize>,

    /// Number of keys at the beginning; tpcc-like, twitter-like and rubis-like add more
    #[arg(long, value_name = "N", value_parser = parse_number)]
    pub(crate) keys: Option<usize>,

    /// Operations per transaction; tpcc-like, twitter-like and rubis-like have their own
    #[arg(long, value_name = "N", value_parser = parse_number)]
    pub(crate) ops: Option<usize>,

    /// Percentage of operations that read; the others write without reading
    #[arg(long, value_name = "PERCENT", value_parser = parse_number)]
    pub(crate) reads: Option<usize>,

    /// Choose the k-th key k times less often than the first
    #[arg(long)]
    pub(crate) zipf_keys: bool,

    /// Number of values per key, all equally often or by Zipf's law; or no value twice
    #[arg(long, value_name = "N|zipf:N|unique", value_parser = parse_values)]
    pub(crate) values: Option<Values>,

    /// The level that the store provides
    #[arg(long, value_name = "ser|si|cc", default_value = "ser", hide_possible_values = true)]
    #[arg(value_parser = PossibleValuesParser::new(Store::ALL.map(Store::name)))]
    pub(crate) store: String,

    /// Put one anomaly into the middle of the history
    #[arg(long, value_name = "ANOMALY", value_parser = PossibleValuesParser::new(Injection::ALL.map(Injection::name)))]
    pub(crate) inject: Option<String>,

    /// Seed: another one gives another history of the same kind
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,

    /// The format to write; isoscope convert writes the others
    #[arg(long, value_name = "FORMAT", default_value = "jsonl", value_parser = ["jsonl", "dbcop"])]
    pub(crate) to: String,

    /// Leave out begin and end
    #[arg(long)]
    pub(crate) no_times: bool,

    /// Write one session after the other, without begin and end; dbcop files are always so
    #[arg(long)]
    pub(crate) by_session: bool,
}
