//! The fast path against the simple one, on histories of hundreds of transactions, violated and holding.
//!
//! Each history comes from a store with some notion of what a transaction sees; then a few reads are exchanged. Every
//! answer is certified, and each core is forbidden without the rest.
//! `ISOSCOPE_SEED` chooses other histories, and `ISOSCOPE_CASES` says how many; without it, as many as the suite has
//! time for.

mod graph;
mod judge;
mod place;
mod start;

use crate::order::decide_by_order;
use crate::rule::Rule;
use crate::test_store::{self, Clock, Input, Keys, Manner, Random, Sight, Values};
use iso_evidence::{Budget, Stage};
use iso_history::Facts;
use judge::{LEVELS, judge_many, run_for};
use std::collections::BTreeSet;

/// The stores that keep some level more often.
const SIGHTS: [Sight; 10] = [
    Sight::Serial,
    Sight::Serial,
    Sight::Serial,
    Sight::Snapshot,
    Sight::Snapshot,
    Sight::Snapshot,
    Sight::Careless,
    Sight::Replicas,
    Sight::Statements,
    Sight::Torn,
];

/// Mostly what holds at some level, with a few mistakes.
fn some(random: &mut Random) -> Manner {
    Manner {
        n_txns: random.pick(&[30, 60, 150, 300]),
        n_sessions: random.pick(&[3, 10, 40, 300]),
        n_keys: random.pick(&[4, 20, 60]),
        max_ops: random.pick(&[3, 6, 12]),
        n_mistakes: random.pick(&[0, 0, 0, 1, 2]),
        sight: random.pick(&SIGHTS),
        rereads: random.percent(10),
        writes: random.pick(&[20, 50, 80]),
        aborted: random.pick(&[0, 0, 10]),
        n_lost: random.pick(&[0, 0, 0, 1]),
        n_exchanged: random.pick(&[0, 0, 0, 1, 2]),
        input: random.pick(&[Input::Commits, Input::Sessions, Input::Jittered(10)]),
        ..Manner::default()
    }
}

fn some_clock(random: &mut Random) -> Clock {
    random.pick(&[Clock::Exact, Clock::Slack(2), Clock::Slack(20), Clock::Wrong(3)])
}

fn maybe_clock(random: &mut Random) -> Clock {
    if random.percent(30) { some_clock(random) } else { Clock::None }
}

#[test]
fn registers_are_decided_as_by_saturation() {
    let tally = judge_many("registers", 80, 1, some);
    tally.assert_both_sides(5);
    tally.assert_stages(20);
}

#[test]
fn recorded_times_are_kept_as_by_saturation() {
    let tally = judge_many("times", 60, 2, |random| Manner {
        clock: some_clock(random),
        indeterminate: random.pick(&[0, 0, 10]),
        ..some(random)
    });
    tally.assert_both_sides(5);
    tally.assert_stages(20);
}

#[test]
fn hot_keys_are_decided_as_by_saturation() {
    let tally = judge_many("hot keys", 60, 3, |random| Manner {
        n_keys: 20,
        keys: Keys::Hot(random.pick(&[1, 2, 5])),
        clock: random.pick(&[Clock::None, Clock::Slack(20)]),
        ..some(random)
    });
    tally.assert_both_sides(5);
    tally.assert_stages(20);
}

#[test]
fn values_written_twice_are_decided_as_by_saturation() {
    let tally = judge_many("values written twice", 80, 4, |random| Manner {
        n_txns: random.pick(&[20, 40, 80]),
        keys: random.pick(&[Keys::Even, Keys::Skewed, Keys::Hot(2)]),
        values: random.pick(&[Values::Few(3), Values::Few(20), Values::Skewed(100)]),
        clock: maybe_clock(random),
        n_lists: random.pick(&[0, 0, 2]),
        ..some(random)
    });
    tally.assert_both_sides(1);
    tally.assert_stages(20);
    assert!(tally.n_open_searches >= 20, "{tally:?}");
}

#[test]
fn lists_are_decided_as_by_saturation() {
    let tally = judge_many("lists", 80, 5, |random| {
        let n_keys = random.pick(&[4, 12]);
        Manner {
            n_txns: random.pick(&[40, 120]),
            n_keys,
            n_lists: random.pick(&[2, n_keys]),
            clock: maybe_clock(random),
            indeterminate: random.pick(&[0, 0, 10]),
            ..some(random)
        }
    });
    tally.assert_both_sides(2);
    tally.assert_stages(5);
}

/// Whoever stops an engine gets no verdict from it, and whoever does not, gets one.
#[test]
fn a_budget_that_runs_out_stops_every_stage() {
    let mut stopped_in = BTreeSet::new();
    for seed in 0..20 {
        let mut random = Random::new(9_000_000 + seed);
        let manner = Manner {
            n_txns: 40,
            n_keys: 4,
            sight: random.pick(&[Sight::Serial, Sight::Careless]),
            input: Input::Sessions,
            values: random.pick(&[Values::Unique, Values::Skewed(40)]),
            clock: random.pick(&[Clock::None, Clock::Exact]),
            ..Manner::default()
        };
        let history = test_store::run(&mut random, manner);
        let facts = Facts::new(&history);
        for level in LEVELS {
            let decide = |budget: &Budget<'_>| decide_by_order(&facts, Rule::of(level), budget);
            for max_questions in (0..16).chain([50, 200, 1_000]) {
                let (result, work) = run_for(max_questions, decide);
                let has_stopped = work.n_questions > max_questions;
                assert_eq!(result.is_err(), has_stopped, "{level}, seed {seed}, {max_questions} questions");
                stopped_in.extend(work.stages.last().copied().filter(|_| has_stopped));
            }
        }
    }
    let stages = [Stage::Sources, Stage::Order, Stage::Repair, Stage::Search];
    assert!(stages.iter().all(|it| stopped_in.contains(it)), "{stopped_in:?}");
}
