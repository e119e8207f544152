//! A brute-force oracle: every history of a small scope, once up to names, and the levels that allow it.
//!
//! A test takes it with `mod oracle;`. [`classify`] asks the reference evaluator about each history that [`each`] finds;
//! [`Classified`] then says whether levels are separated, by how small a history, and by which irreducible ones.
//! [`Abstract::from_history`] brings an engine's answer here, to be looked up by its canonical form.
//! Cost: the number of histories, which grows with every transaction and key by two orders of magnitude, times the
//! levels, at a few microseconds each.
#![allow(dead_code, unused_imports, reason = "each test that takes the oracle uses its part")]

mod abstract_history;
mod classify;
mod enumerate;
mod orders;
mod problems;

pub(crate) use abstract_history::{Abstract, Read, ReadOrder, Write};
pub(crate) use classify::{Classified, allowed_by, classify};
pub(crate) use enumerate::{arrangements, each, each_shape};
pub(crate) use orders::{Order, interval_orders, is_union_of_chains, permutations};
pub(crate) use problems::{Expected, Problem, paper_problems};

/// Which histories there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scope {
    /// Exactly so many transactions, each with an operation.
    pub(crate) n_txns: usize,
    /// At most so many keys, each read or written by somebody.
    pub(crate) n_keys: usize,
    /// At most so many versions of each key, the initial one included.
    pub(crate) n_versions: usize,
    pub(crate) sessions: Sessions,
    pub(crate) blind_writes: BlindWrites,
    pub(crate) reads: Reads,
    pub(crate) times: Times,
}

/// What session order may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sessions {
    /// At most so many chains, as in recorded histories.
    Chains { at_most: usize },
    /// Any strict partial order.
    PartialOrder,
}

/// May a transaction write a key that it does not read?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlindWrites {
    Allowed,
    Excluded,
}

/// How transactions read. Reads come before writes, so all of them see somebody else's write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reads {
    /// Each key at most once; reads stand in the order of the keys. Enough for levels that do not speak of `po`.
    Unordered,
    /// Each key at most once, in every order.
    Ordered,
    /// Each key at most twice, then from different writers; the order is left out, as in `Unordered`.
    RepeatedUnordered,
    /// Each key at most twice, then from different writers, in every order.
    Repeated,
}

impl Reads {
    /// How often a transaction may read a key.
    pub(crate) fn n_most(self) -> usize {
        if matches!(self, Self::Unordered | Self::Ordered) { 1 } else { 2 }
    }
}

/// Is it known when transactions began and ended?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Times {
    /// No. Enough for levels that do not speak of `rt`.
    None,
    /// Yes, in every way in which sessions run one transaction after the other.
    Intervals,
}

impl Scope {
    /// Everything is allowed but reading twice: chains, blind writes, as many versions as there are writers.
    pub(crate) fn new(n_txns: usize, n_keys: usize) -> Self {
        Self {
            n_txns,
            n_keys,
            n_versions: n_txns + 1,
            sessions: Sessions::Chains { at_most: n_txns },
            blind_writes: BlindWrites::Allowed,
            reads: Reads::Unordered,
            times: Times::None,
        }
    }

    /// The setting of Isolde: session order is any partial order, and who writes a key reads it.
    pub(crate) fn of_the_paper(n_txns: usize, n_keys: usize) -> Self {
        Self { blind_writes: BlindWrites::Excluded, ..Self::with_partial_orders(n_txns, n_keys) }
    }

    pub(crate) fn with_partial_orders(n_txns: usize, n_keys: usize) -> Self {
        Self { sessions: Sessions::PartialOrder, ..Self::new(n_txns, n_keys) }
    }

    /// The same for all numbers of transactions up to this one.
    pub(crate) fn and_smaller(self) -> Vec<Self> {
        (1..=self.n_txns).map(|n_txns| Self { n_txns, ..self }).collect()
    }

    pub(crate) fn read_order(self) -> ReadOrder {
        match self.reads {
            Reads::Unordered | Reads::RepeatedUnordered => ReadOrder::Ignored,
            Reads::Ordered | Reads::Repeated => ReadOrder::Kept,
        }
    }

    /// Is this one of the scope's histories, leaving aside whether it has times and the order of reads?
    pub(crate) fn has(self, history: &Abstract) -> bool {
        let (n, k) = (history.n as u8, history.k as u8);
        let writes = |txn: u8, key: u8| history.writes.contains(&Write { txn, key });
        let n_reads = |txn: u8, key: u8| history.reads.iter().filter(|it| it.txn == txn && it.key == key).count();
        let is_sourced = |it: &Read| it.source.is_none_or(|source| source != it.txn && writes(source, it.key));
        let is_read_first = |it: &Write| self.blind_writes == BlindWrites::Allowed || n_reads(it.txn, it.key) > 0;
        let is_touched = |txn: u8, key: u8| writes(txn, key) || n_reads(txn, key) > 0;
        let n_versions = |key: u8| 1 + (0..n).filter(|txn| writes(*txn, key)).count();
        history.n == self.n_txns
            && history.k <= self.n_keys
            && self.has_order(history.n, &history.so)
            && history.reads.iter().all(is_sourced)
            && history.writes.iter().all(is_read_first)
            && (0..n).all(|txn| (0..k).all(|key| n_reads(txn, key) <= self.reads.n_most()))
            && (0..n).all(|txn| (0..k).any(|key| is_touched(txn, key)))
            && (0..k).all(|key| (0..n).any(|txn| is_touched(txn, key)) && n_versions(key) <= self.n_versions)
    }

    pub(crate) fn has_order(self, n_txns: usize, so: &[(u8, u8)]) -> bool {
        match self.sessions {
            Sessions::PartialOrder => true,
            Sessions::Chains { at_most } => {
                let is_first = |txn: &usize| so.iter().all(|it| usize::from(it.1) != *txn);
                is_union_of_chains(so) && (0..n_txns).filter(is_first).count() <= at_most
            }
        }
    }
}
