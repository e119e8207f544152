//! Choices that the known graph settles, in small histories, and the core of a conflict.

use crate::order::frame::Frame;
use crate::order::graph::{Choice, Graph, Outlook};
use crate::order::place::place;
use crate::rule::Rule;
use crate::test_store::{history, txns};
use iso_history::{Facts, TxnId};
use iso_spec::Level;

/// What became of each choice in turn, or the core of the first conflict.
fn settle(level: Level, lines: &[&str], commits: &[usize], choices: &[Choice]) -> Result<Vec<Outlook>, Vec<usize>> {
    let history = history(lines);
    let facts = Facts::new(&history);
    let frame = Frame::new(&facts, Rule::of(level));
    let commits = txns(commits);
    let snapshots = place(&frame, &commits).snapshots;
    let mut graph = Graph::new(&frame, &commits, &snapshots);
    let settle = |choice: &Choice| match graph.settle(*choice) {
        Ok(outlook) => {
            assert!(outlook == Outlook::Open || graph.is_kept(*choice), "what is settled is kept");
            Ok(outlook)
        }
        Err(conflict) => Err(conflict.core.iter().map(|it| it.index()).collect()),
    };
    choices.iter().map(settle).collect()
}

/// The initial transaction.
const INITIAL: usize = 0;

fn read(read: u32, source: usize, other: usize) -> Choice {
    Choice::Read { read, source: TxnId::from_index(source), other: TxnId::from_index(other) }
}

fn writers(one: usize, other: usize) -> Choice {
    Choice::Writers { one: TxnId::from_index(one), other: TxnId::from_index(other) }
}

#[test]
fn what_nothing_speaks_about_is_open() {
    let lines = ["a wx1", "b wx2", "c rx1"];
    assert_eq!(settle(Level::Serializable, &lines, &[1, 2, 3], &[read(0, 1, 2)]), Ok(vec![Outlook::Open]));
}

#[test]
fn whoever_overwrote_the_source_comes_after_the_reader() {
    let lines = ["a wx1", "a wx2", "c rx1"];
    for level in [Level::Serializable, Level::SnapshotIsolation, Level::PrefixConsistency] {
        assert_eq!(settle(level, &lines, &[1, 2, 3], &[read(0, 1, 2)]), Ok(vec![Outlook::Settled]));
    }
}

#[test]
fn whoever_is_seen_is_older_than_the_source() {
    let lines = ["a wx1", "b wx2", "b rx1"];
    for level in [Level::Serializable, Level::SnapshotIsolation, Level::PrefixConsistency] {
        assert_eq!(settle(level, &lines, &[1, 2, 3], &[read(0, 1, 2)]), Ok(vec![Outlook::Settled]));
    }
}

#[test]
fn the_core_of_a_conflict_has_neither_bystanders_nor_those_inside_a_session() {
    let lines = ["a wx1", "a wz5", "d wz6", "a wx2 wy2", "c wz7", "c rx1 ry2"];
    let core = settle(Level::PrefixConsistency, &lines, &[1, 2, 3, 4, 5, 6], &[read(0, 1, 4)]);
    assert_eq!(core, Err(vec![1, 4, 6]));
}

#[test]
fn nothing_comes_before_the_initial_transaction() {
    let lines = ["a wx1", "b rx0", "a rx0"];
    let choices = [read(0, INITIAL, 1), read(1, INITIAL, 1)];
    assert_eq!(settle(Level::Serializable, &lines, &[1, 2, 3], &choices[..1]), Ok(vec![Outlook::Settled]));
    assert_eq!(settle(Level::Serializable, &lines, &[1, 2, 3], &choices), Err(vec![1, 3]));
}

#[test]
fn the_core_of_a_conflict_has_those_whom_derived_edges_rest_on() {
    // c saw x=1 and then x=2, so x=1 is older; d saw x=2, and then x=1.
    let lines = ["a wx1", "b wx2", "c rx1", "c rx2", "d rx2", "d rx1"];
    let choices = [read(1, 2, 1), read(3, 1, 2)];
    assert_eq!(settle(Level::Serializable, &lines, &[1, 2, 3, 4, 5, 6], &choices), Err(vec![1, 2, 3, 4, 5, 6]));
}

#[test]
fn of_two_that_read_and_write_a_key_one_must_have_seen_the_other() {
    let lines = ["a rx0 wx1", "b rx0 wx2", "c wx3"];
    let choices = [writers(1, 2), read(0, INITIAL, 2), read(1, INITIAL, 1)];
    let expected = [Outlook::Open, Outlook::Settled, Outlook::Settled];
    let commits = [1, 2, 3];
    assert_eq!(settle(Level::SnapshotIsolation, &lines, &commits, &choices), Ok(expected.to_vec()));
    let again = [choices[1], choices[2], choices[0]];
    assert_eq!(settle(Level::SnapshotIsolation, &lines, &commits, &again), Err(vec![1, 2]));
}

#[test]
fn real_time_is_an_edge_where_it_counts() {
    let lines = ["a wx1 @0-1", "c wz1 @0-9", "b rx0 @2-3"];
    let choice = [read(0, INITIAL, 1)];
    assert_eq!(settle(Level::Serializable, &lines, &[1, 2, 3], &choice), Ok(vec![Outlook::Settled]));
    assert_eq!(settle(Level::StrictSerializable, &lines, &[1, 3, 2], &choice), Err(vec![1, 3]));
    assert_eq!(settle(Level::StrongSnapshotIsolation, &lines, &[1, 3, 2], &choice), Err(vec![1, 3]));
}

#[test]
fn the_core_of_a_conflict_over_a_list_has_who_has_shown_its_order() {
    // t3 shows that t1 appended before t2; t4 saw t2, but read y as it was before t1.
    let lines = ["a ax1 wy1", "b ax2 wz2", "c lx12", "d rz2 ry0"];
    for level in [Level::Serializable, Level::SnapshotIsolation] {
        let facts = history(&lines);
        let reads: Vec<usize> = Facts::new(&facts).reads().iter().map(|it| it.reader.index()).collect();
        assert_eq!(reads, [3, 4, 4]);
        assert_eq!(settle(level, &lines, &[1, 2, 3, 4], &[read(2, INITIAL, 1)]), Err(vec![1, 2, 3, 4]));
    }
}
