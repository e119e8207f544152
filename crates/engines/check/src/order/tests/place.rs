//! What fits into an order of commits, in small histories.

use crate::order::frame::Frame;
use crate::order::place::{Misfit, Placement, judge, place};
use crate::rule::Rule;
use crate::test_store::{history, txns};
use iso_history::{Facts, TxnId};
use iso_spec::Level;

fn placed(level: Level, lines: &[&str], commits: &[usize]) -> Placement {
    let history = history(lines);
    let facts = Facts::new(&history);
    place(&Frame::new(&facts, Rule::of(level)), &txns(commits))
}

/// What does not fit.
fn misfits(level: Level, lines: &[&str], commits: &[usize]) -> Vec<Misfit> {
    placed(level, lines, commits).misfits
}

/// There is no place for the snapshot of this transaction.
fn unplaced(txn: usize) -> Misfit {
    Misfit::Snapshot(TxnId::from_index(txn))
}

/// The snapshots of all transactions, the initial one left out, where everything fits.
fn snapshots(level: Level, lines: &[&str], commits: &[usize]) -> Vec<u32> {
    let placed = placed(level, lines, commits);
    assert_eq!(placed.misfits, []);
    placed.snapshots[1..].to_vec()
}

#[test]
fn with_one_event_a_read_finds_the_last_version() {
    let lines = ["a wx1", "b wx2", "c rx1 ry0", "c rx2"];
    let level = Level::Serializable;
    assert_eq!(misfits(level, &lines, &[1, 3, 2, 4]), []);
    assert_eq!(misfits(level, &lines, &[1, 2, 3, 4]), [Misfit::Read(0)]);
    assert_eq!(misfits(level, &lines, &[2, 1, 3, 4]), [Misfit::Read(2)]);
    assert_eq!(misfits(level, &lines, &[3, 1, 2, 4]), [Misfit::Read(0)]);
}

#[test]
fn own_writes_do_not_disturb_reads_before_them() {
    let lines = ["a rx0 wx1 rx1", "b rx1 wx2", "a rx2"];
    assert_eq!(misfits(Level::Serializable, &lines, &[1, 2, 3]), []);
    assert_eq!(snapshots(Level::SnapshotIsolation, &lines, &[1, 2, 3]), [0, 1, 2]);
}

#[test]
fn a_snapshot_is_as_late_as_its_reads_allow() {
    let lines = ["a wx1", "b wy1", "c rx1 ry0 wz1", "d wx2", "e rx1"];
    // t3 sees t1, but not t2; t5 commits last, and does not see t4.
    assert_eq!(snapshots(Level::PrefixConsistency, &lines, &[1, 2, 3, 4, 5]), [0, 1, 1, 3, 3]);
}

#[test]
fn write_skew_fits_with_snapshots_only() {
    let lines = ["a rx0 wy1", "b ry0 wx1"];
    assert_eq!(misfits(Level::Serializable, &lines, &[1, 2]), [Misfit::Read(1)]);
    assert_eq!(snapshots(Level::SnapshotIsolation, &lines, &[1, 2]), [0, 0]);
}

#[test]
fn a_lost_update_fits_unless_the_first_committer_wins() {
    let lines = ["a rx0 wx1", "b rx0 wx2"];
    assert_eq!(snapshots(Level::PrefixConsistency, &lines, &[1, 2]), [0, 0]);
    assert_eq!(misfits(Level::SnapshotIsolation, &lines, &[1, 2]), [unplaced(2)]);
    assert_eq!(misfits(Level::SnapshotIsolation, &lines, &[2, 1]), [unplaced(1)]);
}

#[test]
fn a_long_fork_fits_into_no_order() {
    let lines = ["a wx1", "b wy1", "c rx1 ry0", "d rx0 ry1"];
    for commits in [[1, 2, 3, 4], [2, 1, 3, 4], [1, 3, 2, 4], [2, 4, 1, 3]] {
        assert_eq!(misfits(Level::PrefixConsistency, &lines, &commits).len(), 1);
    }
}

#[test]
fn a_snapshot_comes_after_its_session() {
    let lines = ["a wx1", "b wy1", "b rx0"];
    assert_eq!(misfits(Level::PrefixConsistency, &lines, &[1, 2, 3]), [unplaced(3)]);
    assert_eq!(snapshots(Level::PrefixConsistency, &lines, &[2, 1, 3]), [1, 0, 1]);
}

#[test]
fn a_snapshot_comes_after_what_had_ended_where_real_time_counts() {
    let lines = ["a wx1 @0-1", "b rx0 @2-3"];
    assert_eq!(snapshots(Level::SnapshotIsolation, &lines, &[1, 2]), [0, 0]);
    assert_eq!(misfits(Level::StrongSnapshotIsolation, &lines, &[1, 2]), [unplaced(2)]);
    assert_eq!(snapshots(Level::StrongSnapshotIsolation, &["a wx1 @0-2", "b rx0 @2-3"], &[1, 2]), [0, 0]);
    // Nobody knows when an indeterminate one ended.
    let lines = ["a? wx1 @0-1", "b rx0 @2-3", "c rx1 @4-5"];
    assert_eq!(snapshots(Level::StrongSnapshotIsolation, &lines, &[1, 2, 3]), [0, 0, 2]);
}

#[test]
fn reads_with_several_possible_writers_find_one_of_them() {
    let lines = ["a wx1 wy1", "b wx2", "c wx1 wy2", "d rx1 ry1", "d rx1 ry2", "e wx3"];
    // t4 cannot see t3, whose x it may have seen, because of y; t5 must.
    assert_eq!(snapshots(Level::PrefixConsistency, &lines, &[1, 2, 4, 3, 5, 6]), [0, 1, 3, 1, 4, 5]);
    assert_eq!(misfits(Level::PrefixConsistency, &lines, &[2, 1, 3, 4, 5, 6]).len(), 0);
    assert_eq!(misfits(Level::Serializable, &lines, &[1, 2, 4, 3, 5, 6]), [Misfit::Read(0)]);
    assert_eq!(misfits(Level::Serializable, &lines, &[1, 4, 2, 3, 5, 6]), []);
}

#[test]
fn snapshots_that_are_given_are_judged_where_they_stand() {
    let history = history(&["a wx1", "b rx0 wy1", "c wy2"]);
    let facts = Facts::new(&history);
    let frame = Frame::new(&facts, Rule::of(Level::SnapshotIsolation));
    let judged = |snapshots: [u32; 4]| judge(&frame, &txns(&[1, 2, 3]), snapshots.to_vec()).misfits;
    assert_eq!(judged([0, 0, 0, 2]), []);
    assert_eq!(judged([0, 0, 1, 2]), [unplaced(2)]);
    assert_eq!(judged([0, 0, 0, 1]), [unplaced(3)]);
}
