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
pub(crate) use classify::{Classified, classify};
pub(crate) use enumerate::each;
pub(crate) use orders::{is_union_of_chains, permutations};
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
    /// Each key at most twice, then from different writers, in every order.
    Repeated,
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
        if self.reads == Reads::Unordered { ReadOrder::Ignored } else { ReadOrder::Kept }
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
