//! The fast path against the simple one, on histories of hundreds of transactions, violated and holding.
//!
//! Each history comes from a store with some notion of what a transaction sees; then a few reads are exchanged. Every
//! answer is certified, and each core is forbidden without the rest.

use super::links::{Edges, Links};
use super::walk_back::unmet_in_recent_past;
use super::{Asked, Replay, causal, decide_settled, derive, settle};
use crate::check_facts;
use crate::decision::Decision;
use crate::simple::decide_by_search;
use crate::test_store::{self, Manner, Random, Sight};
use iso_evidence::{Budget, StopReason, Verdict, certify_facts};
use iso_history::{Facts, History, HistoryBuilder, Outcome, Place, Projection, TxnId};
use iso_spec::Level;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

const LEVELS: [Level; 8] = [
    Level::ReadUncommitted,
    Level::ReadCommitted,
    Level::ReadYourWrites,
    Level::MonotonicReads,
    Level::MonotonicWrites,
    Level::WritesFollowReads,
    Level::ReadAtomic,
    Level::CausalConsistency,
];

/// How often a level allowed and forbade.
type Tally = BTreeMap<Level, [usize; 2]>;

/// Is a history refuted at a level before the engines are asked?
fn is_refuted_by_one_read(facts: &Facts<'_>, level: Level) -> bool {
    let is_unrepeatable = level.implies(Level::ReadAtomic) && !facts.unrepeatable().is_empty();
    is_unrepeatable || !facts.local().is_empty()
}

fn compare(history: &History, level: Level, what: &str, tally: &mut Tally) {
    let facts = Facts::new(history);
    if is_refuted_by_one_read(&facts, level) {
        return;
    }
    let budget = Budget::unlimited();
    let fast = decide_settled(&facts, level, &budget).unwrap().expect("reads have one possible writer each");
    let simple = decide_by_search(&facts, level, &budget).unwrap();
    let is_allowed = matches!(fast, Decision::Allowed(_));
    assert_eq!(is_allowed, matches!(simple, Decision::Allowed(_)), "{level} of {what}");
    tally.entry(level).or_default()[usize::from(!is_allowed)] += 1;
    match fast {
        Decision::Allowed(witness) => {
            assert_eq!(certify_facts(&facts, level, &Verdict::Allowed(witness)), Ok(()), "{level} of {what}");
        }
        Decision::Forbidden(core) => {
            assert!(is_forbidden_alone(&facts, level, &core), "{level} of {what}: {core:?}");
            let verdict = check_facts(&facts, level, &budget);
            assert!(matches!(verdict, Verdict::Forbidden(_)), "{level} of {what}");
            assert_eq!(certify_facts(&facts, level, &verdict), Ok(()), "{level} of {what}");
        }
    }
}

fn is_forbidden_alone(facts: &Facts<'_>, level: Level, core: &[TxnId]) -> bool {
    let part = Projection::new(facts, core, &BTreeSet::new());
    let part = Facts::new(&part.history);
    matches!(decide_by_search(&part, level, &Budget::unlimited()), Ok(Decision::Forbidden(_)))
}

fn compare_many(n_histories: usize, seed: u64, manner: impl Fn(&mut Random) -> Manner) -> Tally {
    let mut tally = Tally::new();
    for case in 0..n_histories {
        let mut random = Random::new(seed + case as u64);
        let manner = manner(&mut random);
        let what = format!("seed {} {manner:?}", seed + case as u64);
        let history = test_store::run(&mut random, manner);
        for level in LEVELS {
            compare(&history, level, &what, &mut tally);
        }
    }
    tally
}

fn assert_both_sides(tally: &Tally, at_least: usize) {
    for level in LEVELS.into_iter().filter(|it| *it != Level::ReadUncommitted) {
        let counts = tally.get(&level).copied().unwrap_or_default();
        assert!(counts.iter().all(|it| *it >= at_least), "{level}: {counts:?} allowed and forbidden");
    }
}

#[test]
fn registers_are_decided_as_by_saturation() {
    let tally = compare_many(80, 1, |random| {
        let sights = [Sight::Serial, Sight::Snapshot, Sight::Replicas, Sight::Statements, Sight::Torn];
        Manner {
            n_txns: random.pick(&[60, 150, 400]),
            n_sessions: random.pick(&[3, 10, 40, 300]),
            n_keys: random.pick(&[4, 20, 60]),
            max_ops: random.pick(&[3, 8, 20]),
            n_mistakes: random.pick(&[0, 0, 1, 3]),
            sight: random.pick(&sights),
            rereads: random.below(2) == 0,
            ..Manner::default()
        }
    });
    assert_both_sides(&tally, 5);
}

#[test]
fn lists_are_decided_as_by_saturation() {
    let tally = compare_many(60, 1_000, |random| Manner {
        n_txns: random.pick(&[40, 120]),
        n_sessions: random.pick(&[3, 10, 60]),
        n_keys: 12,
        n_lists: random.pick(&[3, 12]),
        max_ops: 6,
        n_mistakes: random.pick(&[0, 1, 2]),
        sight: random.pick(&[Sight::Snapshot, Sight::Replicas, Sight::Statements, Sight::Torn]),
        rereads: random.below(2) == 0,
        ..Manner::default()
    });
    assert_both_sides(&tally, 2);
}

#[test]
fn thousands_of_transactions_are_decided_as_by_saturation() {
    let tally = compare_many(6, 2_000, |random| Manner {
        n_txns: 3_000,
        n_sessions: random.pick(&[3, 30, 300]),
        n_keys: 400,
        max_ops: 8,
        n_mistakes: random.pick(&[0, 1]),
        sight: random.pick(&[Sight::Snapshot, Sight::Replicas]),
        rereads: random.below(2) == 0,
        ..Manner::default()
    });
    assert!(tally.values().map(|it| it[0]).sum::<usize>() > 10);
}

#[test]
fn few_mistakes_in_many_transactions_have_small_cores() {
    let mut n_forbidden = 0;
    for seed in 0..6 {
        let mut random = Random::new(3_000 + seed);
        let manner = Manner {
            n_txns: 30_000,
            n_sessions: 50,
            n_keys: 3_000,
            max_ops: 8,
            n_mistakes: 6,
            sight: if seed % 2 == 0 { Sight::Serial } else { Sight::Snapshot },
            rereads: random.below(2) == 0,
            ..Manner::default()
        };
        let history = test_store::run(&mut random, manner);
        let facts = Facts::new(&history);
        for level in LEVELS.into_iter().filter(|it| !is_refuted_by_one_read(&facts, *it)) {
            match decide_settled(&facts, level, &Budget::unlimited()).unwrap() {
                Some(Decision::Allowed(witness)) => {
                    assert_eq!(certify_facts(&facts, level, &Verdict::Allowed(witness)), Ok(()), "{level}, {seed}");
                }
                Some(Decision::Forbidden(core)) => {
                    n_forbidden += 1;
                    assert!(core.len() < 40, "{level}, seed {seed}: {core:?}");
                    assert!(is_forbidden_alone(&facts, level, &core), "{level}, seed {seed}: {core:?}");
                }
                None => panic!("{level}, seed {seed}: not decided"),
            }
        }
    }
    assert!(n_forbidden > 5, "{n_forbidden}");
}

/// Does an order meet what was derived?
fn is_met(replay: &Replay<'_>, derived: &Edges) -> bool {
    derived.iter().all(|(older, newer)| replay.is_before(older, newer))
}

#[test]
fn it_does_not_matter_which_edges_are_inferred_first() {
    let budget = Budget::unlimited();
    let mut n_unmet = 0;
    for seed in 5_000..5_060 {
        let mut random = Random::new(seed);
        let manner = Manner {
            n_txns: random.pick(&[30, 100, 300]),
            n_sessions: random.pick(&[3, 12, 70]),
            n_keys: random.pick(&[4, 30]),
            max_ops: 6,
            n_mistakes: random.pick(&[0, 2]),
            sight: random.pick(&[Sight::Snapshot, Sight::Replicas, Sight::Statements, Sight::Torn]),
            rereads: false,
            ..Manner::default()
        };
        let history = test_store::run(&mut random, manner);
        let facts = Facts::new(&history);
        let (Some(sources), true) = (facts.sources(), facts.local().is_empty()) else { continue };
        let links = || Links::new(&facts, sources.writers(), &Edges::default());
        let base = links().order(&budget).unwrap().unwrap();
        let links_of_base = links();
        let replay = Replay::new(&links_of_base, &base);
        for level in LEVELS.into_iter().filter(|it| *it != Level::ReadUncommitted) {
            let all = derive(&links_of_base, level, Asked::All, &replay, &budget).unwrap();
            let unmet = derive(&links_of_base, level, Asked::Unmet, &replay, &budget).unwrap();
            assert_eq!(is_met(&replay, &all), is_met(&replay, &unmet), "{level}, seed {seed}");
            n_unmet += usize::from(!is_met(&replay, &all));
            let by_rounds = [0, 1, 100].map(|it| settle(links(), level, &base, it, &budget).unwrap().is_ok());
            assert!(by_rounds.iter().all(|it| *it == by_rounds[0]), "{level}, seed {seed}: {by_rounds:?}");
        }
        let by_blocks = causal::by_blocks(&links_of_base, Asked::Unmet, &replay, &budget).unwrap();
        if let Some(recent) = unmet_in_recent_past(&links_of_base, &replay, &budget).unwrap() {
            assert_eq!(is_met(&replay, &recent), is_met(&replay, &by_blocks), "seed {seed}");
        }
    }
    assert!(n_unmet > 50, "{n_unmet}");
}

/// A session too long for one chain of counters, and a reader that saw its end, or did not.
#[test]
fn sessions_may_be_longer_than_a_counter_counts() {
    const LENGTH: i64 = 70_000;
    for (x, y, is_allowed) in [(LENGTH - 2, LENGTH - 3, true), (LENGTH - 2, LENGTH - 5, false), (10, 9, true)] {
        let mut builder = HistoryBuilder::new();
        let keys = [builder.key("x".into()), builder.key("y".into())];
        let sessions = [builder.session("writer"), builder.session("reader")];
        for nth in 0..LENGTH {
            let value = builder.value(nth.into());
            builder.begin(sessions[0], Place::default());
            builder.write(keys[usize::from(nth % 2 == 1)], value);
            builder.end(Outcome::Committed);
        }
        let values = [builder.value(x.into()), builder.value(y.into())];
        builder.begin(sessions[1], Place::default());
        builder.read(keys[0], values[0]);
        builder.read(keys[1], values[1]);
        builder.end(Outcome::Committed);
        let history = builder.finish().unwrap();
        let verdict = check_facts(&Facts::new(&history), Level::CausalConsistency, &Budget::unlimited());
        assert_eq!(matches!(verdict, Verdict::Allowed(_)), is_allowed, "{x} {y}");
        assert_eq!(certify_facts(&Facts::new(&history), Level::CausalConsistency, &verdict), Ok(()));
    }
}

#[test]
fn a_budget_that_runs_out_stops_every_stage() {
    let mut random = Random::new(4_000);
    let manner = Manner {
        n_txns: 25_000,
        n_sessions: 40,
        n_keys: 500,
        max_ops: 8,
        n_mistakes: 0,
        sight: Sight::Replicas,
        rereads: true,
        ..Manner::default()
    };
    let history = test_store::run(&mut random, manner);
    let facts = Facts::new(&history);
    for level in LEVELS {
        for max_questions in 0..4 {
            let n_questions = Cell::new(0);
            let stop = || {
                n_questions.set(n_questions.get() + 1);
                (n_questions.get() > max_questions).then_some(StopReason::Steps)
            };
            let result = decide_settled(&facts, level, &Budget::new(&stop));
            let has_stopped = n_questions.get() > max_questions;
            assert_eq!(result.is_err(), has_stopped, "{level} {max_questions}");
        }
    }
}
