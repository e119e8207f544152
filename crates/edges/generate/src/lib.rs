//! Histories of chosen size and kind, from stores in memory whose sessions really interleave.
//!
//! A [`Workload`] says what transactions do, a [`Store`] how they see each other, and a [`FileKind`] how the history is
//! written. An [`Injection`] puts one anomaly into its middle. Equal workloads give equal bytes.
//!
//! ```
//! use iso_generate::{FileKind, Injection, Times, Workload, preset, write};
//! let workload = preset("blindw-rw").unwrap().workload(500, Some(10));
//! let workload = Workload { injection: Some(Injection::LostUpdate), ..workload };
//! let mut bytes = Vec::new();
//! let tally = write(&workload, FileKind::Lines(Times::Kept), &mut bytes)?;
//! assert_eq!(tally.n_committed, 500);
//! # Ok::<(), iso_generate::GenerateError>(())
//! ```

mod error;
mod executor;
mod inject;
mod plan;
mod preset;
mod program;
mod random;
mod replicas;
mod sink;
mod versions;

#[cfg(test)]
mod tests;

pub use error::GenerateError;
pub use executor::Tally;
pub use inject::Injection;
pub use preset::{PRESETS, Preset, preset};
pub use sink::{Layout, Times};

use executor::generate;
use sink::{BySession, Frame, KeyNames, Lines};
use std::io::Write;

/// How a history is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Our JSON lines, one transaction a line, as they end.
    Lines(Times),
    /// One session after the other, without times; waits in memory until the last transaction.
    BySession(Layout),
}

/// Generates a history, and writes it.
pub fn write(workload: &Workload, kind: FileKind, out: impl Write) -> Result<Tally, GenerateError> {
    check(workload, kind)?;
    match kind {
        FileKind::Lines(times) => generate(workload, Lines::new(out, times, workload.frame())?),
        FileKind::BySession(layout) => generate(workload, BySession::new(out, layout, workload.frame())),
    }
}

/// Says what is wrong with a workload that is to be written so, before anything is generated.
pub fn check(workload: &Workload, kind: FileKind) -> Result<(), GenerateError> {
    if kind == FileKind::BySession(Layout::Dbcop) && workload.kind.has_statements() {
        return Err(GenerateError::NoStatements);
    }
    match workload.injection {
        Some(injection) if workload.kind.has_statements() => {
            Err(GenerateError::OnlyReadsAndWrites { injection: injection.name() })
        }
        Some(injection) if injection.needs_times() && kind != FileKind::Lines(Times::Kept) => {
            Err(GenerateError::NeedsTimes { injection: injection.name() })
        }
        _ if workload.n_txns > workload.n_txns_max(kind) => {
            Err(GenerateError::TooLarge { txns: workload.n_txns_max(kind), keys: N_KEYS_MAX })
        }
        _ => workload.check(),
    }
}

/// How the store isolates transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// Reads see what is committed; what was read must still be current at commit.
    Serializable,
    /// Reads see the state at begin; of two writers of a key, the first to commit wins.
    Snapshot,
    /// Reads see what the session's replica has heard of; nobody waits for others, and nobody loses.
    Causal,
}

impl Store {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Serializable, Self::Snapshot, Self::Causal];

    /// The level that it provides, as on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Serializable => "ser",
            Self::Snapshot => "si",
            Self::Causal => "cc",
        }
    }
}

/// What transactions do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Reads and blind writes of independent keys.
    Mix,
    /// Reads, and updates that are one statement each.
    Updates,
    /// Reads of a table by ranges of rows, and rows that come and go.
    Ranges,
    /// An order entry system.
    Tpcc,
    /// A social network.
    Twitter,
    /// An auction site.
    Rubis,
}

impl Kind {
    /// Does the history say which operations are one statement?
    pub fn has_statements(self) -> bool {
        matches!(self, Self::Updates | Self::Ranges)
    }
}

/// How often each of some numbers is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// All equally often.
    Uniform,
    /// The k-th one k times less often than the first.
    Zipf,
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Each write has its own value.
    Unique,
    /// Each key has so many values.
    Few(usize, Choice),
}

/// What to generate.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// What transactions do.
    pub kind: Kind,
    /// How they see each other.
    pub store: Store,
    /// Transactions that commit.
    pub n_txns: usize,
    /// Sessions that take turns.
    pub n_sessions: usize,
    /// Keys at the beginning; some kinds add more.
    pub n_keys: usize,
    /// Operations of a transaction of [`Kind::Mix`]; so are the next two.
    pub ops_per_txn: usize,
    /// How many of a hundred operations read; the others are blind writes.
    pub reads_percent: usize,
    /// Which keys are chosen how often.
    pub key_choice: Choice,
    /// What is written.
    pub values: Values,
    /// The anomaly in the middle.
    pub injection: Option<Injection>,
    /// Another one gives another history of the same kind.
    pub seed: u64,
}

/// Keys are 32 bits, with room for those that are added.
const N_KEYS_MAX: usize = 1 << 30;
/// Of what waits in memory, or adds keys.
const N_TXNS_KEPT: usize = 1 << 26;
/// Of what is written as it ends: commits have numbers of 32 bits.
const N_TXNS_WRITTEN: usize = 1 << 31;

impl Workload {
    fn frame(&self) -> Frame {
        let has_rows = self.kind == Kind::Ranges;
        Frame {
            names: if has_rows { KeyNames::Rows(self.n_keys as u32) } else { KeyNames::Numbers },
            // A row may be deleted more than once.
            is_unique: self.values == Values::Unique && !has_rows,
            n_sessions: self.n_sessions as u32,
        }
    }

    /// How many transactions can be written so.
    fn n_txns_max(&self, kind: FileKind) -> usize {
        let adds_keys = matches!(self.kind, Kind::Tpcc | Kind::Twitter | Kind::Rubis);
        let is_written_at_once = matches!(kind, FileKind::Lines(_)) && self.store != Store::Causal;
        if is_written_at_once && !adds_keys { N_TXNS_WRITTEN } else { N_TXNS_KEPT }
    }

    /// Says what is wrong with a workload.
    pub(crate) fn check(&self) -> Result<(), GenerateError> {
        if self.n_sessions == 0 || self.n_keys == 0 || self.ops_per_txn == 0 {
            return Err(GenerateError::Empty);
        }
        if self.reads_percent > 100 {
            return Err(GenerateError::TooManyReads { percent: self.reads_percent });
        }
        if matches!(self.values, Values::Few(0, _)) {
            return Err(GenerateError::NoValues);
        }
        if self.n_keys > N_KEYS_MAX || self.n_txns > N_TXNS_WRITTEN {
            return Err(GenerateError::TooLarge { txns: N_TXNS_WRITTEN, keys: N_KEYS_MAX });
        }
        self.injection.map_or(Ok(()), |it| it.check(self))
    }
}
