//! Whole executions of stores with few values, found without looking at the order of the input.

use super::{Aim, Merit, Program, Reading, Run, Taste, is_stuck, run, run_in_step};
use crate::order::{self, Frame};
use crate::rule::Rule;
use crate::test_store::few_values::{STORES, small, some};
use crate::test_store::{Sight, history};
use iso_evidence::{Budget, StopReason};
use iso_history::Facts;
use iso_spec::{Catalogue, Level, Steps, evaluate};

const N_KEYS: usize = 4;

const MERITS: [Merit; 6] = [
    Merit::Progress(Reading::OneByOne),
    Merit::Progress(Reading::AtBegin),
    Merit::AllWays(Reading::OneByOne),
    Merit::AllWays(Reading::AtBegin),
    Merit::Told,
    Merit::Share,
];

fn aim(width: usize, taste: Taste) -> Aim {
    Aim { width, slack: None, taste }
}

/// How many executions each taste finds to the end; each that is found explains the history.
#[test]
fn executions_that_are_found_are_right_and_most_are_found() {
    for (sight, level) in STORES {
        let mut n_found = [0; Taste::ALL.len()];
        for seed in 0..20 {
            let history = some(sight, N_KEYS, seed);
            let facts = Facts::new(&history);
            let frame = Frame::new(&facts, Rule::of(level));
            let program = Program::new(&frame).unwrap();
            for (taste, count) in Taste::ALL.into_iter().zip(&mut n_found) {
                let Run::Whole(commits) = run(&program, aim(500, taste), &Budget::unlimited()).unwrap() else {
                    continue;
                };
                assert_eq!(commits.len(), facts.txns().count());
                assert!(order::explains(&frame, &commits), "{level}, seed {seed}, {taste:?}");
                *count += 1;
            }
        }
        assert!(n_found.iter().all(|it| *it >= 15), "{level}: {n_found:?} of 20");
    }
}

#[test]
fn sessions_in_step_are_found_to_the_end_with_enough_states() {
    for (sight, level) in STORES {
        let mut n_found = [0; MERITS.len()];
        for seed in 0..20 {
            let history = some(sight, N_KEYS, seed);
            let facts = Facts::new(&history);
            let frame = Frame::new(&facts, Rule::of(level));
            let program = Program::new(&frame).unwrap();
            for (merit, count) in MERITS.into_iter().zip(&mut n_found) {
                let found = || run_in_step(&program, merit, 200, &Budget::unlimited()).unwrap();
                let Run::Whole(commits) = found() else { continue };
                assert!(order::explains(&frame, &commits), "{level}, seed {seed}, {merit:?}");
                assert!(matches!(found(), Run::Whole(again) if again == commits), "{level}, seed {seed}, {merit:?}");
                *count += 1;
            }
        }
        assert!(n_found.iter().all(|it| *it >= 15), "{level}: {n_found:?} of 20");
    }
}

/// Whether an execution exists is known by trying all orders of a few transactions.
#[test]
fn if_all_states_were_tried_and_none_came_to_the_end_there_is_no_execution() {
    let mut n_stuck = 0;
    for (sight, level) in STORES {
        for seed in 0..60 {
            let history = small(sight, seed);
            let facts = Facts::new(&history);
            let frame = Frame::new(&facts, Rule::of(level));
            let evaluated = evaluate(&facts, Catalogue::builtin().of(level), &mut Steps::new(1 << 20));
            let is_stuck = is_stuck(&frame, &Budget::unlimited()).unwrap();
            assert_eq!(Some(!is_stuck), evaluated.is_allowed(), "{level}, seed {seed}");
            n_stuck += usize::from(is_stuck);
        }
    }
    assert!((30..150).contains(&n_stuck), "{n_stuck} of 180");
}

/// Two transactions of each session are alike, but the first session aborted six of them first: the other one is done by then.
#[test]
fn what_aborted_took_time() {
    let lines =
        ["a! wy1", "a! wy1", "a! wy1", "a! wy1", "a! wy1", "a! wy1", "a wx1", "a wx2", "b wx3", "b wx4", "c rx4"];
    let history = history(&lines);
    let facts = Facts::new(&history);
    let program = Program::new(&Frame::new(&facts, Rule::of(Level::Serializable))).unwrap();
    let order: Vec<usize> = program.side_by_side().iter().map(|it| it.index()).collect();
    assert_eq!(order, [9, 11, 10, 7, 8]);
}

#[test]
fn executions_that_keep_to_times_are_found_with_few_states() {
    for (sight, level) in
        [(Sight::Serial, Level::StrictSerializable), (Sight::Snapshot, Level::StrongSnapshotIsolation)]
    {
        let mut n_found = 0;
        for seed in 0..20 {
            let history = some(sight, N_KEYS, seed);
            let facts = Facts::new(&history);
            let frame = Frame::new(&facts, Rule::of(level));
            let program = Program::new(&frame).unwrap();
            let aim = Aim { slack: Some(0), ..aim(64, Taste::Likely) };
            if let Run::Whole(commits) = run(&program, aim, &Budget::unlimited()).unwrap() {
                assert!(order::explains(&frame, &commits), "{level}, seed {seed}");
                n_found += 1;
            }
        }
        assert_eq!(n_found, 20, "{level}");
    }
}

#[test]
fn a_budget_that_ends_is_said() {
    let history = some(Sight::Serial, N_KEYS, 1);
    let facts = Facts::new(&history);
    let program = Program::new(&Frame::new(&facts, Rule::of(Level::Serializable))).unwrap();
    let stop = || Some(StopReason::Timeout);
    let ran = run(&program, aim(10, Taste::Likely), &Budget::new(&stop));
    assert!(matches!(ran, Err(StopReason::Timeout)));
    let ran = run_in_step(&program, MERITS[0], 10, &Budget::new(&stop));
    assert!(matches!(ran, Err(StopReason::Timeout)));
}
