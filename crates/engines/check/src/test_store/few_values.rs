//! Histories of stores with few values and without times: many possible writers for each read.

use super::{Clock, Input, Manner, Random, Sight, Values, run};
use iso_history::History;
use iso_spec::Level;

/// What transactions see, and the level that this is.
pub(crate) const STORES: [(Sight, Level); 3] = [
    (Sight::Serial, Level::Serializable),
    (Sight::Snapshot, Level::SnapshotIsolation),
    (Sight::Careless, Level::PrefixConsistency),
];

/// One of these histories, written down session by session.
pub(crate) fn some(sight: Sight, n_keys: usize, seed: u64) -> History {
    let manner = Manner {
        n_txns: 60,
        n_sessions: 5,
        n_keys,
        max_ops: 4,
        sight,
        writes: 50,
        values: Values::Few(3),
        clock: Clock::Exact,
        input: Input::Sessions,
        ..Manner::default()
    };
    run(&mut Random::new(seed), manner)
}

/// A history of a few transactions that is nearly one of these.
pub(crate) fn small(sight: Sight, seed: u64) -> History {
    let manner = Manner {
        n_txns: 6,
        n_sessions: 3,
        n_keys: 2,
        max_ops: 4,
        n_mistakes: 1,
        n_exchanged: 1,
        sight,
        values: Values::Few(3),
        input: Input::Sessions,
        ..Manner::default()
    };
    run(&mut Random::new(seed), manner)
}

/// A history of one of these stores in which two reads were exchanged.
pub(crate) fn nearly(sight: Sight, seed: u64) -> History {
    let manner = Manner {
        n_txns: 60,
        n_sessions: 5,
        n_keys: 5,
        max_ops: 8,
        n_exchanged: 1,
        sight,
        values: Values::Few(5),
        input: Input::Sessions,
        ..Manner::default()
    };
    run(&mut Random::new(seed), manner)
}
