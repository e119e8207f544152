//! Histories of chosen size and kind, from stores in memory whose sessions really interleave.
//!
//! A [`Workload`] says what transactions do, a store ([`executor`]) how they see each other, and a [`sink`] where the
//! history goes. Equal workloads give equal bytes.

pub(crate) mod command;
mod executor;
pub(crate) mod inject;
mod plan;
pub(crate) mod preset;
mod program;
pub(crate) mod sink;
mod versions;

#[cfg(test)]
mod tests;

use anyhow::{Result, bail};
pub(crate) use executor::generate;
use inject::Injection;

/// How the store isolates transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    /// Reads see what is committed; what was read must still be current at commit.
    Serializable,
    /// Reads see the state at begin; of two writers of a key, the first to commit wins.
    Snapshot,
}

impl Store {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Serializable => "ser",
            Self::Snapshot => "si",
        }
    }
}

/// What transactions do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Reads and blind writes of independent keys.
    Mix,
    /// An order entry system.
    Tpcc,
    /// A social network.
    Twitter,
    /// An auction site.
    Rubis,
}

/// How often each of some numbers is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    Uniform,
    Zipf,
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Values {
    /// Each write has its own value.
    Unique,
    /// Each key has so many values.
    Few(usize, Choice),
}

/// What to generate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workload {
    pub(crate) kind: Kind,
    pub(crate) store: Store,
    /// Transactions that commit.
    pub(crate) n_txns: usize,
    pub(crate) n_sessions: usize,
    /// Keys at the beginning; some kinds add more.
    pub(crate) n_keys: usize,
    /// Operations of a transaction of [`Kind::Mix`]; so are the next two.
    pub(crate) ops_per_txn: usize,
    pub(crate) reads_percent: usize,
    pub(crate) key_choice: Choice,
    pub(crate) values: Values,
    pub(crate) injection: Option<Injection>,
    pub(crate) seed: u64,
}

impl Workload {
    /// Says what is wrong with a workload, and how to make it right.
    pub(crate) fn check(&self) -> Result<()> {
        if self.n_sessions == 0 || self.n_keys == 0 || self.ops_per_txn == 0 {
            bail!("--sessions, --keys and --ops must be at least 1");
        }
        if self.reads_percent > 100 {
            bail!("--reads is a percentage; {} is more than 100", self.reads_percent);
        }
        if self.values == Values::Few(0, Choice::Uniform) || self.values == Values::Few(0, Choice::Zipf) {
            bail!("--values must be at least 1, or `unique`");
        }
        // Keys are u32, with room for those that are added.
        if self.n_keys > (1 << 30) || self.n_txns > (1 << 26) {
            bail!("--keys or --txns is too large");
        }
        match self.injection {
            Some(injection) => injection.check(self),
            None => Ok(()),
        }
    }
}
