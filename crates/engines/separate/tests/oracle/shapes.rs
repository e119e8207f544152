//! The oracle's histories: none is missing, none comes twice, and they can be found in each other.

use crate::naive;
use crate::oracle::{
    Abstract, BlindWrites, Read, ReadOrder, Reads, Scope, Sessions, Times, Write, each, interval_orders,
};
use std::collections::BTreeSet;

/// Asserts that the clever and the naive way find the same histories, each once, and how many.
fn check(scope: Scope, n_histories: usize) {
    let mut found = Vec::new();
    each(scope, &mut |history| found.push(history));
    let as_set: BTreeSet<Abstract> = found.iter().cloned().collect();
    assert_eq!(found.len(), as_set.len(), "some come twice in {scope:?}");
    assert!(as_set == naive::histories(scope), "the naive way finds others in {scope:?}");
    assert_eq!(found.len(), n_histories, "{scope:?}");
}

#[test]
fn every_history_is_found_once() {
    check(Scope::new(1, 1), 3);
    check(Scope::new(1, 2), 9);
    check(Scope::new(2, 1), 29);
    check(Scope::with_partial_orders(3, 1), 564);
    check(Scope { sessions: Sessions::Chains { at_most: 2 }, ..Scope::new(3, 1) }, 340);
    check(Scope { n_versions: 2, ..Scope::new(3, 1) }, 57);
    check(Scope::of_the_paper(3, 1), 254);
    check(Scope::new(2, 2), 471);
    check(Scope { reads: Reads::Ordered, ..Scope::of_the_paper(2, 2) }, 382);
    check(Scope { reads: Reads::Repeated, ..Scope::new(2, 1) }, 66);
    check(Scope { reads: Reads::RepeatedUnordered, ..Scope::new(2, 1) }, 46);
    check(Scope { times: Times::Intervals, ..Scope::new(2, 1) }, 47);
    check(
        Scope { times: Times::Intervals, reads: Reads::Repeated, n_versions: 2, ..Scope::with_partial_orders(2, 1) },
        43,
    );
    check(Scope { times: Times::Intervals, n_versions: 2, ..Scope::new(3, 1) }, 262);
    check(
        Scope { reads: Reads::Repeated, n_versions: 2, blind_writes: BlindWrites::Excluded, ..Scope::new(3, 1) },
        109,
    );
}

#[test]
fn a_history_is_found_again_from_what_the_evaluator_gets() {
    for scope in [
        Scope::with_partial_orders(3, 1),
        Scope { reads: Reads::Repeated, ..Scope::new(2, 2) },
        Scope { times: Times::Intervals, n_versions: 2, ..Scope::new(3, 1) },
    ] {
        each(scope, &mut |history| {
            let (written, pairs) = history.to_history();
            let again = Abstract::from_history(&written, pairs.as_deref(), scope.read_order());
            assert_eq!(again, history);
        });
    }
}

#[test]
fn interval_orders_are_counted() {
    // The labelled interval orders (OEIS A079144).
    let counts: Vec<usize> = (1..=4).map(|it| interval_orders(it, &Vec::new()).len()).collect();
    assert_eq!(counts, [1, 3, 19, 207]);
}

/// A history from words such as `r0x0`, transaction 0 reads x from the initial state; `r1x2` reads what 1 wrote if
/// counted from 0 (the initial state), and `w1y` is a write.
fn history(ops: &str, so: &[(u8, u8)], read_order: ReadOrder) -> Abstract {
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    for op in ops.split_whitespace().map(str::as_bytes) {
        let (txn, key) = (op[1] - b'0', op[2] - b'x');
        match op[0] {
            b'r' => reads.push(Read { txn, key, source: (op[3] - b'0').checked_sub(1) }),
            _ => writes.push(Write { txn, key }),
        }
    }
    let txns = reads.iter().map(|it| it.txn).chain(writes.iter().map(|it| it.txn));
    let keys = reads.iter().map(|it| it.key).chain(writes.iter().map(|it| it.key));
    let (n, k) = (1 + usize::from(txns.max().unwrap_or(0)), 1 + usize::from(keys.max().unwrap_or(0)));
    let mut history = Abstract { n, k, so: so.to_vec(), writes, reads, read_order, rt: None };
    history.sort();
    history
}

#[test]
fn a_history_contains_its_parts_under_any_names() {
    let unordered = |ops: &str, so: &[(u8, u8)]| history(ops, so, ReadOrder::Ignored);
    let whole = unordered("r0x0 w0y r1y1 w1x r2x2 r2y0", &[(0, 2)]);
    for (part, so) in [
        ("r0x0", &[][..]),
        ("r0x0 w1x", &[]),
        ("r0y0 w0x", &[]),
        ("w0x r1x1", &[]),
        ("r1x1 w0x w1y r2x0", &[]),
        ("r0x0 r1y0", &[(0, 1)]),
        ("r0x0 w0y r1y1 w1x r2x2 r2y0", &[(0, 2)]),
    ] {
        assert!(whole.contains(&unordered(part, so)), "{part} {so:?}");
    }
    for (part, so) in [
        ("r0x0 r0y0", &[][..]),
        ("r0x0 w0x", &[]),
        ("w0x w0y", &[]),
        ("w0x r1x1", &[(0, 1)]),
        ("r0x0 r1x0", &[]),
        ("r0x0 r1x1 w0x", &[]),
        ("r0x0 r1x0 r2x0 r3x0", &[]),
        ("r0x0 r0y0 r0z0", &[]),
    ] {
        assert!(!whole.contains(&unordered(part, so)), "{part} {so:?}");
    }
}

#[test]
fn the_order_of_reads_counts_if_it_is_kept() {
    let ordered = |ops: &str| history(ops, &[], ReadOrder::Kept);
    let whole = ordered("w0x r1y0 r1x0 r1x1");
    assert!(whole.contains(&ordered("w0x r1x0 r1x1")));
    assert!(whole.contains(&ordered("r1y0 r1x1 w0x")));
    assert!(!whole.contains(&ordered("w0x r1x1 r1x0")));
    assert!(!whole.contains(&ordered("r1x1 r1y0 w0x")));
    assert_ne!(ordered("w0x r1x1 r1x0").canonical(), ordered("w0x r1x0 r1x1").canonical());
    assert_eq!(ordered("w1y r0y2 r0x0").canonical(), ordered("w0x r1x1 r1y0").canonical());
}

#[test]
fn what_contains_each_other_is_the_same() {
    let mut all = Vec::new();
    each(Scope::with_partial_orders(2, 2), &mut |it| all.push(it));
    for one in &all {
        for other in &all {
            let is_both = one.contains(other) && other.contains(one);
            assert_eq!(is_both, one == other, "{} and {}", one.show(), other.show());
            assert!(!one.contains(other) || one == other || other.size() < one.size());
        }
    }
}
