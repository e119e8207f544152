//! What follows by cases, and only so, is derived and certified.

use super::{Known, Saturation};
use crate::derivation::derive;
use crate::problem::Problem;
use crate::rule::Rule;
use crate::test_store::history;
use iso_evidence::{Budget, certify_derivation};
use iso_history::Facts;
use iso_spec::Level;

const LEVELS: [Level; 3] = [Level::PrefixConsistency, Level::SnapshotIsolation, Level::Serializable];

/// How many edges saturation knows, without cases and with them; none where it finds a contradiction.
fn n_known(lines: &[&str], level: Level) -> [Option<usize>; 2] {
    let history = history(lines);
    let facts = Facts::new(&history);
    let problem = Problem::new(&facts, Rule::of(level).read_detail());
    [false, true].map(|by_cases| {
        let mut known = Known::new(&problem, Rule::of(level));
        let budget = Budget::unlimited();
        let saturated = if by_cases { known.saturate_by_cases(&budget) } else { known.saturate(&budget) };
        matches!(saturated, Ok(Saturation::Stable(_))).then_some(known.graph.edges.len())
    })
}

#[test]
fn what_comes_before_all_possible_writers_comes_before_the_reader() {
    // Both writers of x=1 saw y=1, which is newer than both versions y=2: whoever reads x=1 cannot read y=2.
    let lines = ["s wy2", "t wy2 wz1", "s rz1 wy1", "a ry1 wx1", "b ry1 wx1", "r rx1 ry2"];
    for level in LEVELS {
        let [without, with] = n_known(&lines, level);
        assert!(without.is_some() && with.is_none(), "{level}: {without:?}, {with:?}");
        let history = history(&lines);
        let facts = Facts::new(&history);
        let derivation = derive(&facts, level, &Budget::unlimited()).expect("it is forbidden");
        assert_eq!(certify_derivation(&facts, level, &derivation), Ok(()), "{level}");
    }
    // If one of them did not, nothing follows.
    for level in LEVELS {
        let lines = ["s wy2", "t wy2 wz1", "s rz1 wy1", "a ry1 wx1", "b wx1", "r rx1 ry2"];
        let [without, with] = n_known(&lines, level);
        assert!(without.is_some() && with.is_some(), "{level}");
    }
}

#[test]
fn who_is_newer_than_all_possible_writers_was_not_seen() {
    for level in LEVELS {
        let [without, with] = n_known(&["a wx1 wu1", "b wx1 wv1", "o ru1 rv1 wx2", "r rx1"], level);
        assert_eq!(with, without.map(|it| it + 1), "{level}");
    }
}
