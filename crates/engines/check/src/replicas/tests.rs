//! Executions on replicas explain histories of stores with few values, and nothing that causal consistency forbids.

use super::allowed_on_replicas;
use crate::test_store::{self, Clock, Input, Manner, Random, Sight, Values};
use iso_evidence::{Budget, StopReason, Verdict, certify_facts};
use iso_history::{Facts, History};
use iso_spec::Level;

const WEAK: [Level; 3] = [Level::CausalConsistency, Level::ReadAtomic, Level::ReadCommitted];

fn some(sight: Sight, n_mistakes: usize, seed: u64) -> History {
    let manner = Manner {
        n_txns: 60,
        n_sessions: 5,
        n_keys: 4,
        max_ops: 4,
        sight,
        n_mistakes,
        writes: 50,
        values: Values::Few(3),
        clock: Clock::Exact,
        input: Input::Sessions,
        ..Manner::default()
    };
    test_store::run(&mut Random::new(seed), manner)
}

/// Is an execution found? It must be a witness of the level then.
fn is_found(history: &History, level: Level, what: &str) -> bool {
    let facts = Facts::new(history);
    let found = allowed_on_replicas(&facts, level, 40, &Budget::unlimited()).unwrap();
    let Some(witness) = found else { return false };
    assert_eq!(certify_facts(&facts, level, &Verdict::Allowed(witness)), Ok(()), "{level} of {what}");
    true
}

#[test]
fn executions_that_are_found_are_right_and_most_are_found() {
    for sight in [Sight::Serial, Sight::Careless, Sight::Replicas] {
        for level in WEAK {
            let is_found = |seed: &u64| is_found(&some(sight, 0, *seed), level, &format!("{sight:?}, seed {seed}"));
            let n_found = (0..20).filter(is_found).count();
            assert!(n_found >= 15, "{level} of {sight:?}: {n_found} of 20");
        }
    }
}

#[test]
fn mistakes_of_a_store_are_found_only_where_they_do_not_matter() {
    for seed in 0..40 {
        is_found(&some(Sight::Serial, 4, seed), Level::CausalConsistency, &format!("seed {seed}"));
    }
}

/// Two sessions see two writes in opposite orders: neither needs to know of the other one.
#[test]
fn replicas_may_miss_what_others_did() {
    let lines = ["a wx1", "b wy1", "c rx1 ry0", "c wx1", "d ry1 rx0"];
    assert!(is_found(&test_store::history(&lines), Level::CausalConsistency, "a long fork"));
}

#[test]
fn an_effect_without_its_cause_is_not_explained() {
    let lines = ["a wx1", "b rx1 wy1", "c ry1 rx0", "d wz2", "e wz2", "f rz2"];
    assert!(!is_found(&test_store::history(&lines), Level::CausalConsistency, "a causality violation"));
}

#[test]
fn a_budget_that_ends_is_said() {
    let history = some(Sight::Serial, 0, 1);
    let stop = || Some(StopReason::Timeout);
    let found = allowed_on_replicas(&Facts::new(&history), Level::ReadAtomic, 10, &Budget::new(&stop));
    assert_eq!(found.err(), Some(StopReason::Timeout));
}
