//! Views explain what stores with few values did, and on small histories they explain whatever can be explained.

use super::allowed_by_views;
use crate::decision::Decision;
use crate::simple::decide_by_search;
use crate::test_store::{self, Clock, Input, Manner, Random, Sight, Values};
use iso_evidence::{Budget, StopReason, Verdict, certify_facts};
use iso_history::{Facts, History};
use iso_spec::Level;

const N_STEPS: u32 = 100_000;

fn some(sight: Sight, clock: Clock, seed: u64) -> History {
    let manner = Manner {
        n_txns: 150,
        n_sessions: 6,
        n_keys: 8,
        max_ops: 6,
        sight,
        writes: 50,
        aborted: 10,
        values: Values::Few(3),
        clock,
        input: Input::Sessions,
        ..Manner::default()
    };
    test_store::run(&mut Random::new(seed), manner)
}

fn small(sight: Sight, seed: u64) -> History {
    let manner = Manner {
        n_txns: 9,
        n_sessions: 3,
        n_keys: 2,
        max_ops: 4,
        n_mistakes: 1,
        n_exchanged: 1,
        rereads: seed.is_multiple_of(3),
        sight,
        values: Values::Few(2),
        input: Input::Sessions,
        ..Manner::default()
    };
    test_store::run(&mut Random::new(seed), manner)
}

/// Is an execution found? It must be a witness of the level then.
fn is_found(history: &History, level: Level, what: &str) -> bool {
    let facts = Facts::new(history);
    let Some(witness) = allowed_by_views(&facts, level, N_STEPS, &Budget::unlimited()).unwrap() else { return false };
    assert_eq!(certify_facts(&facts, level, &Verdict::Allowed(witness)), Ok(()), "{level} of {what}");
    true
}

#[test]
fn executions_of_stores_are_found() {
    let stores = [
        (Sight::Replicas, Level::CausalConsistency),
        (Sight::Careless, Level::ReadAtomic),
        (Sight::Snapshot, Level::ParallelSnapshotIsolation),
        (Sight::Serial, Level::UpdateAtomic),
    ];
    for (sight, level) in stores {
        for (seed, clock) in [(1, Clock::None), (2, Clock::None), (3, Clock::Exact)] {
            let what = format!("{sight:?}, seed {seed}");
            assert!(is_found(&some(sight, clock, seed), level, &what), "{level} of {what}");
        }
    }
}

fn long(seed: u64) -> History {
    let manner = Manner {
        n_txns: 300,
        n_sessions: 6,
        n_keys: 30,
        max_ops: 6,
        sight: Sight::Replicas,
        writes: 50,
        values: Values::Few(3),
        clock: Clock::None,
        input: Input::Sessions,
        ..Manner::default()
    };
    test_store::run(&mut Random::new(seed), manner)
}

/// With many keys, who of two writers is the newer one is told long after both were seen.
#[test]
fn executions_of_most_long_stores_with_many_keys_are_found() {
    let seeds = 1..9;
    let n_found = seeds.filter(|it| is_found(&long(*it), Level::CausalConsistency, &format!("seed {it}"))).count();
    assert!(n_found >= 5, "{n_found} of 8");
}

/// Two threads look for an execution, and it does not matter which one is faster.
#[test]
fn what_is_found_is_the_same_each_time() {
    let history = long(1);
    let facts = Facts::new(&history);
    let found = || allowed_by_views(&facts, Level::CausalConsistency, N_STEPS, &Budget::unlimited()).unwrap();
    let first = found();
    assert!(first.is_some());
    assert!((0..4).all(|_| found() == first));
}

/// Nothing is far from anything in a short history, so that nothing is left out.
#[test]
fn of_small_histories_all_that_is_allowed_is_found() {
    let (mut n_found, mut n_asked) = (0, 0);
    for sight in [Sight::Serial, Sight::Careless, Sight::Replicas, Sight::Torn] {
        for seed in 0..150 {
            let history = small(sight, seed);
            let facts = Facts::new(&history);
            for level in [Level::CausalConsistency, Level::ParallelSnapshotIsolation] {
                if !facts.has_ambiguous_reads() || !crate::local::is_about_orders(&facts, level) {
                    continue;
                }
                let decision = decide_by_search(&facts, level, &Budget::unlimited()).unwrap();
                let is_allowed = matches!(decision, Decision::Allowed(_));
                let what = format!("{sight:?}, seed {seed}");
                assert_eq!(is_found(&history, level, &what), is_allowed, "{level} of {what}");
                n_found += usize::from(is_allowed);
                n_asked += 1;
            }
        }
    }
    assert!(n_found > 100 && n_asked - n_found > 20, "{n_found} of {n_asked}");
}

/// One session sees a later write first: its view has both, and the order decides.
#[test]
fn views_may_miss_what_others_did() {
    let lines = ["a wx1", "b wy1", "c rx1 ry0", "c wx1", "d ry1 rx0"];
    assert!(is_found(&test_store::history(&lines), Level::CausalConsistency, "a long fork"));
    assert!(!is_found(
        &test_store::history(&["a wx1", "b rx1 wy1", "c ry1 rx0", "d wz2", "e wz2", "f rz2"]),
        Level::CausalConsistency,
        "a causality violation"
    ));
}

#[test]
fn a_budget_that_ends_is_said() {
    let history = some(Sight::Replicas, Clock::None, 1);
    let stop = || Some(StopReason::Timeout);
    let found = allowed_by_views(&Facts::new(&history), Level::CausalConsistency, N_STEPS, &Budget::new(&stop));
    assert_eq!(found.err(), Some(StopReason::Timeout));
}
