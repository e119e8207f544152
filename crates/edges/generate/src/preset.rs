//! Workloads with names, and how large they are unless told otherwise.

use crate::{Choice, Kind, Store, Values, Workload};

/// How many keys a workload has.
#[derive(Clone, Copy, Debug)]
enum Keys {
    Fixed(usize),
    /// One for so many transactions, and not fewer than that.
    ForTxns(usize, usize),
    ForSession(usize),
}

/// A workload with a name.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// What it is like.
    pub about: &'static str,
    kind: Kind,
    n_txns: usize,
    n_sessions: usize,
    keys: Keys,
    ops_per_txn: usize,
    reads_percent: usize,
    values: Values,
}

/// What most workloads have.
const USUAL: Preset = Preset {
    name: "blindw-rw",
    about: "8 operations, half reads and half blind writes, a key for 5 transactions",
    kind: Kind::Mix,
    n_txns: 1_000_000,
    n_sessions: 50,
    keys: Keys::ForTxns(5, 2_000),
    ops_per_txn: 8,
    reads_percent: 50,
    values: Values::Unique,
};

/// Twenty operations, and values that come again.
const LONG: Preset = Preset {
    n_txns: 100_000,
    keys: Keys::ForTxns(2, 5_000),
    ops_per_txn: 20,
    values: Values::Few(100, Choice::Uniform),
    ..USUAL
};

/// Every workload with a name.
pub const PRESETS: &[Preset] = &[
    USUAL,
    Preset {
        name: "read-heavy",
        about: "20 operations, 95 % reads, 100 values a key, a key for 2 transactions",
        reads_percent: 95,
        ..LONG
    },
    Preset { name: "balanced", about: "the same with 50 % reads", ..LONG },
    Preset { name: "write-heavy", about: "the same with 30 % reads", reads_percent: 30, ..LONG },
    Preset {
        name: "high-dup",
        about: "8 operations, half reads, 10 values a key by Zipf's law",
        n_txns: 100_000,
        values: Values::Few(10, Choice::Zipf),
        ..USUAL
    },
    Preset {
        name: "hot-key",
        // Whoever reads loses more often: of what commits, nine of ten operations are blind writes.
        about: "8 operations on 20 keys; of what commits, 90 % are blind writes",
        n_txns: 10_000,
        n_sessions: 20,
        keys: Keys::Fixed(20),
        reads_percent: 19,
        ..USUAL
    },
    Preset {
        name: "many-session",
        about: "8 operations, half reads, 1,000 sessions and 20 keys for each",
        n_txns: 100_000,
        n_sessions: 1_000,
        keys: Keys::ForSession(20),
        ..USUAL
    },
    Preset {
        name: "updates",
        about: "8 operations, half reads and half updates, each one statement",
        kind: Kind::Updates,
        n_txns: 100_000,
        ..USUAL
    },
    Preset {
        name: "ranges",
        about: "a fifth scan 100 of 10,000 rows; the others read, update, make and delete rows",
        kind: Kind::Ranges,
        n_txns: 100_000,
        keys: Keys::Fixed(10_000),
        ops_per_txn: 4,
        ..USUAL
    },
    Preset {
        name: "tpcc-like",
        about: "order entry: new order, payment, order status, delivery, stock level",
        kind: Kind::Tpcc,
        n_txns: 100_000,
        keys: Keys::ForTxns(20, 10 * 511),
        ..USUAL
    },
    Preset {
        name: "twitter-like",
        about: "a social network: tweet, follow, timelines; Zipf's law for users",
        kind: Kind::Twitter,
        n_txns: 100_000,
        keys: Keys::ForTxns(5, 2_000),
        ..USUAL
    },
    Preset {
        name: "rubis-like",
        about: "auctions: browse, bid, buy, comment; Zipf's law for items",
        kind: Kind::Rubis,
        n_txns: 100_000,
        keys: Keys::ForTxns(5, 4_000),
        ..USUAL
    },
];

/// The preset of that name.
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|it| it.name == name)
}

impl Preset {
    /// How many transactions it has unless told otherwise.
    pub fn usual_size(&self) -> usize {
        self.n_txns
    }

    /// The workload at some size, in a serializable store.
    pub fn workload(&self, n_txns: usize, n_sessions: Option<usize>) -> Workload {
        let n_sessions = n_sessions.unwrap_or(self.n_sessions);
        let n_keys = match self.keys {
            Keys::Fixed(n_keys) => n_keys,
            Keys::ForTxns(n_txns_per_key, n_keys_min) => (n_txns / n_txns_per_key).max(n_keys_min),
            Keys::ForSession(n_keys) => n_sessions * n_keys,
        };
        Workload {
            kind: self.kind,
            store: Store::Serializable,
            n_txns,
            n_sessions,
            n_keys,
            ops_per_txn: self.ops_per_txn,
            reads_percent: self.reads_percent,
            key_choice: Choice::Uniform,
            values: self.values,
            injection: None,
            seed: 1,
        }
    }
}
