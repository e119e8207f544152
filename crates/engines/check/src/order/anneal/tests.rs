//! Changes are counted rightly, and orders that are found explain histories.

use super::board::{Board, Node};
use super::{Heat, Random, anneal};
use crate::forward::Program;
use crate::order::{self, Frame};
use crate::rule::Rule;
use crate::test_store::Sight;
use crate::test_store::few_values::{STORES, some};
use iso_evidence::{Budget, StopReason};
use iso_history::Facts;
use iso_spec::Level;

const N_KEYS: usize = 6;

#[test]
fn what_a_move_changes_is_what_counting_anew_says() {
    for (sight, level) in STORES {
        for seed in 0..5 {
            let history = some(sight, N_KEYS, seed);
            let facts = Facts::new(&history);
            let frame = Frame::new(&facts, Rule::of(level));
            let program = Program::new(&frame).unwrap();
            let mut board = Board::new(&program, &program.side_by_side());
            let mut random = Random(seed);
            let mut n_changed = 0;
            for _ in 0..2_000 {
                let node = random.below(board.n_nodes() as u64) as Node;
                let (first, last) = board.room(node);
                let place = first + random.below(u64::from(last - first) + 1) as u32;
                if place == board.place(node) {
                    continue;
                }
                let change = board.change(node, place);
                board.apply(node, place, change);
                assert_eq!(board.n_misfits(), board.recount(), "{level}, seed {seed}");
                n_changed += usize::from(change != 0);
            }
            assert!(n_changed > 100, "{level}, seed {seed}: {n_changed}");
        }
    }
}

#[test]
fn orders_that_are_found_are_right_and_most_are_found() {
    for (sight, level) in STORES {
        let mut n_found = 0;
        for seed in 0..20 {
            let history = some(sight, N_KEYS, seed);
            let facts = Facts::new(&history);
            let frame = Frame::new(&facts, Rule::of(level));
            let program = Program::new(&frame).unwrap();
            let board = Board::new(&program, &program.side_by_side());
            let board = anneal(&board, Heat::High, 500, &Budget::unlimited()).unwrap();
            let board = anneal(&board, Heat::Low, 500, &Budget::unlimited()).unwrap();
            let commits = board.commits();
            assert_eq!(commits.len(), facts.txns().count());
            if board.n_misfits() == 0 {
                assert!(order::explains(&frame, &commits), "{level}, seed {seed}");
                n_found += 1;
            }
        }
        assert!(n_found >= 10, "{level}: {n_found} of 20");
    }
}

#[test]
fn the_same_order_comes_out_each_time() {
    let history = some(Sight::Snapshot, N_KEYS, 3);
    let facts = Facts::new(&history);
    let program = Program::new(&Frame::new(&facts, Rule::of(Level::SnapshotIsolation))).unwrap();
    let board = Board::new(&program, &program.side_by_side());
    let commits = || anneal(&board, Heat::High, 100, &Budget::unlimited()).unwrap().commits();
    let first = commits();
    assert!((0..20).all(|_| commits() == first));
}

#[test]
fn a_budget_that_ends_is_said() {
    let history = some(Sight::Serial, N_KEYS, 1);
    let facts = Facts::new(&history);
    let program = Program::new(&Frame::new(&facts, Rule::of(Level::Serializable))).unwrap();
    let stop = || Some(StopReason::Timeout);
    let board = Board::new(&program, &program.side_by_side());
    let annealed = anneal(&board, Heat::High, 10, &Budget::new(&stop));
    assert!(matches!(annealed, Err(StopReason::Timeout)));
}
