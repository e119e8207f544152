//! First orders of small histories.

use crate::order::frame::Frame;
use crate::order::place::place;
use crate::order::start::first_orders;
use crate::rule::Rule;
use crate::test_store::{history, txns};
use iso_history::{Facts, TxnId};
use iso_spec::Level;

/// The first orders, or a cycle from its smallest transaction on.
fn orders(level: Level, lines: &[&str]) -> Result<Vec<Vec<usize>>, Vec<usize>> {
    let history = history(lines);
    let facts = Facts::new(&history);
    let numbers = |txns: Vec<TxnId>| -> Vec<usize> { txns.into_iter().map(TxnId::index).collect() };
    let orders = first_orders(&Frame::new(&facts, Rule::of(level)));
    orders.map(|it| it.into_iter().map(numbers).collect()).map_err(|mut cycle| {
        cycle.sort_unstable();
        numbers(cycle)
    })
}

/// The one first order.
fn order(level: Level, lines: &[&str]) -> Vec<usize> {
    let mut orders = orders(level, lines).unwrap();
    assert_eq!(orders.len(), 1);
    orders.pop().unwrap()
}

#[test]
fn the_input_is_kept_where_nothing_speaks_against_it() {
    let lines = ["a wx1", "b wx2", "a wx3", "b rx0", "c wy1", "b wy2"];
    assert_eq!(order(Level::Serializable, &lines), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn sources_and_their_sessions_come_right_before_their_reader() {
    let lines = ["a rx2", "b wy1", "c wx1", "b wy2", "c wx2", "a wz1"];
    assert_eq!(order(Level::Serializable, &lines), [3, 5, 1, 2, 4, 6]);
}

#[test]
fn what_a_list_shows_comes_in_its_order() {
    let lines = ["a lx21", "b ax1", "c ax2", "d ax3", "a wy1", "b wy2"];
    assert_eq!(order(Level::PrefixConsistency, &lines), [3, 2, 1, 4, 5, 6]);
}

#[test]
fn ends_are_a_guess_of_commits() {
    // The session of t4 is in order, so t1 comes before it.
    let lines = ["a wx1 @0-9", "b wx2 @0-5", "c wx3 @0-7", "a wx4 @0-3"];
    assert_eq!(order(Level::SnapshotIsolation, &lines), [1, 4, 2, 3]);
}

#[test]
fn indeterminate_transactions_wait_for_their_reader_only_where_real_time_counts() {
    let lines = ["a? wx1 @0-1", "b wy1 @2-3", "c rx1 @0-5"];
    assert_eq!(order(Level::Serializable, &lines), [1, 2, 3]);
    assert_eq!(order(Level::StrictSerializable, &lines), [2, 1, 3]);
    // What begins after the end of the reader cannot be its source.
    let lines = ["a? wx1 @6-7", "b wy1 @2-3", "c rx1 @0-5"];
    assert_eq!(orders(Level::StrictSerializable, &lines), Err(vec![1, 3]));
}

#[test]
fn aborted_transactions_have_no_place() {
    assert_eq!(order(Level::Serializable, &["a! wx1", "b wx2", "a rx2", "b! rx0", "a wx3", "b rx3"]), [2, 3, 5, 6]);
}

#[test]
fn a_cycle_of_sources_is_found_without_those_beside_it() {
    let lines = ["d rx1", "a wx1 ry1", "b wz1 rx1", "b wz2", "c wy1 rz2", "d wu1"];
    assert_eq!(orders(Level::SnapshotIsolation, &lines), Err(vec![2, 3, 4, 5]));
}

#[test]
fn a_cycle_may_go_through_a_list() {
    let lines = ["a lx12", "b ax2 wy1", "c ry1 ax1", "a wz1"];
    assert_eq!(orders(Level::Serializable, &lines), Err(vec![2, 3]));
}

#[test]
fn who_read_from_the_future_is_a_cycle_only_where_real_time_counts() {
    let lines = ["a rx1 @0-1", "b wx1 @2-3"];
    assert_eq!(order(Level::Serializable, &lines), [2, 1]);
    for level in [Level::StrictSerializable, Level::StrongSnapshotIsolation] {
        assert_eq!(orders(level, &lines), Err(vec![1, 2]));
    }
    // An end that is a begin is not before it.
    assert_eq!(order(Level::StrictSerializable, &["a rx1 @0-2", "b wx1 @2-3"]), [2, 1]);
}

#[test]
fn a_cycle_of_real_time_may_go_through_others() {
    // t1 reads from t2, that from t3, which began after t1 had ended; t4 has nothing to do with it.
    let lines = ["a rx1 @0-1", "b wx1 ry1 @0-9", "c wy1 @3-4", "d wz1 @0-2"];
    assert_eq!(orders(Level::StrictSerializable, &lines), Err(vec![1, 2, 3]));
}

#[test]
fn sessions_one_after_the_other_are_brought_into_step() {
    let lines = ["a wx1", "a wx2", "a wx3", "b rx1 wy1", "b rx2 wy2", "b rx3 wy3", "c ry1", "c ry2", "c ry3"];
    let history = history(&lines);
    let facts = Facts::new(&history);
    let frame = Frame::new(&facts, Rule::of(Level::Serializable));
    let n_misfits = |order: &[TxnId]| place(&frame, order).misfits.len();
    assert!(n_misfits(&txns(&[1, 2, 3, 4, 5, 6, 7, 8, 9])) > 0);
    let orders = first_orders(&frame).unwrap();
    assert_eq!(orders.len(), 2);
    assert!(orders.iter().any(|it| n_misfits(it) == 0), "{orders:?}");
}
