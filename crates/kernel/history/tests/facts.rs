//! What a history says at once: candidates, who counts, external reads, lists, and reads that nothing explains.

mod common;

use common::{Random, Shape, history, show};
use iso_history::{Facts, LocalKind, Op, OpId, Outcome, Standing, TxnId};

fn txn(number: usize) -> TxnId {
    TxnId::from_index(number)
}

fn txns<const N: usize>(numbers: [usize; N]) -> Vec<TxnId> {
    numbers.into_iter().map(txn).collect()
}

/// The standing of each transaction but the initial one: counted, may count, out.
fn standing(text: &str) -> String {
    let history = history(text);
    let facts = Facts::new(&history);
    let letter = |it: TxnId| match facts.standing(it) {
        Standing::Counted => 'c',
        Standing::Optional => '?',
        Standing::Out => '-',
    };
    history.txns().map(letter).collect()
}

/// The kinds of the local anomalies, each with its operation.
fn local(text: &str) -> Vec<(usize, LocalKind)> {
    let history = history(text);
    Facts::new(&history).local().iter().map(|it| (it.op.index(), it.kind)).collect()
}

fn candidates(text: &str) -> Vec<Vec<TxnId>> {
    let history = history(text);
    let facts = Facts::new(&history);
    (0..facts.reads().len()).map(|it| facts.candidates(it).to_vec()).collect()
}

#[test]
fn candidates_are_all_final_writers_of_the_value_but_the_reader() {
    assert_eq!(candidates("a: w(x,1)\n b: w(x,1)\n c: r(x,1) w(x,1)"), [txns([1, 2])]);
    assert_eq!(candidates("a: w(x,0)\n b: r(x,0)"), [txns([0, 1])]);
    assert_eq!(candidates("a: w(x,1) w(x,2)\n b: w(x,1)\n c: r(x,1)"), [txns([2])]);
    assert_eq!(candidates("a aborted: w(x,1)\n b: w(x,1)\n c: r(x,1)"), [txns([2])]);
    assert_eq!(candidates("a: w(y,1)\n b: r(x,0)"), [txns([0])]);
}

#[test]
fn external_reads_are_those_before_the_own_write() {
    let history = history("a: r(x,0) r(x,0) w(x,1) r(x,1) l(y,1) l(y)1");
    let facts = Facts::new(&history);
    let ops: Vec<usize> = facts.reads().iter().map(|it| it.op.index()).collect();
    assert_eq!(ops, [0, 1, 5]);
    assert_eq!(facts.reads_of(txn(1)), 0..3);
    assert_eq!(facts.reads_of(TxnId::INITIAL), 0..0);
    assert_eq!(facts.candidates(2), txns([0]));
}

#[test]
fn final_writes_and_writers() {
    let history = history("a: w(x,1) w(y,1) w(x,2)\n b: w(x,3)\n c aborted: w(x,4)\n d unknown: w(x,5)");
    let facts = Facts::new(&history);
    let [x, y] = [0, 1].map(|it| history.keys().nth(it).unwrap());
    let last = |number: usize| facts.final_writes(txn(number)).iter().map(|it| history.value(it.1).to_string());
    assert_eq!(last(1).collect::<Vec<_>>(), ["2", "1"]);
    assert_eq!(facts.writers_of(x), txns([1, 2]));
    assert_eq!(facts.writers_of(y), txns([1]));
    assert!(facts.writes(txn(1), y) && facts.writes(txn(0), y) && !facts.writes(txn(2), y));
    assert!(last(3).next().is_none() && last(4).next().is_none());
}

#[test]
fn unknown_outcomes_count_if_they_were_surely_read() {
    assert_eq!(standing("a unknown: w(x,1)\n b: r(x,1)"), "cc");
    assert_eq!(standing("a unknown: w(x,1)\n b: r(x,0)"), "-c");
    assert_eq!(standing("a unknown: w(x,1)\n b unknown: r(x,1) w(y,1)\n c: r(y,1)"), "ccc");
    assert_eq!(standing("a unknown: w(x,1)\n b unknown: r(x,1)"), "--");
    assert_eq!(standing("a aborted: w(x,1)\n b unknown: w(x,2)\n c: w(y,1)"), "--c");
}

#[test]
fn unknown_outcomes_are_optional_if_they_may_have_been_read() {
    let history = history("a: w(x,1)\n b unknown: w(x,1)\n c: r(x,1)\n d unknown: w(x,2)");
    let facts = Facts::new(&history);
    let found: Vec<Standing> = history.txns().map(|it| facts.standing(it)).collect();
    assert_eq!(found, [Standing::Counted, Standing::Optional, Standing::Counted, Standing::Out]);
    assert_eq!(facts.txns().collect::<Vec<_>>(), txns([1, 2, 3]));
    assert!(facts.has_ambiguous_reads());
}

#[test]
fn an_unknown_outcome_with_an_unexplained_read_did_not_commit() {
    // b read what nobody wrote, so that c read from a.
    let text = "a: w(x,1)\n b unknown: r(y,9) w(x,1)\n c: r(x,1)";
    assert_eq!(candidates(text), [txns([1])]);
    assert!(local(text).is_empty());
    // Nor did d, which can only have read from b.
    let text = "a: w(x,1)\n b unknown: r(y,9) w(z,1)\n d unknown: r(z,1) w(x,1)\n c: r(x,1)";
    assert_eq!(candidates(text), [txns([1])]);
    assert!(local(text).is_empty());
    // If nobody else can have written it, its own read is the anomaly.
    assert_eq!(local("b unknown: r(y,9) w(x,1)\n c: r(x,1)"), [(0, LocalKind::ThinAir)]);
}

#[test]
fn each_kind_of_register_anomaly() {
    assert_eq!(local("a: r(x,7)"), [(0, LocalKind::ThinAir)]);
    assert_eq!(local("a: r(x,1) w(x,1)"), [(0, LocalKind::Future)]);
    assert_eq!(local("a aborted: w(x,1)\n b: r(x,1)"), [(1, LocalKind::Aborted { writer: txn(1) })]);
    assert_eq!(local("a: w(x,1) w(x,2)\n b: r(x,1)"), [(2, LocalKind::Intermediate { writer: txn(1) })]);
    assert!(matches!(local("a: w(x,1) r(x,0)")[..], [(1, LocalKind::Internal { .. })]));
    assert!(local("a: w(x,1) r(x,1) w(x,2) r(x,2)\n b: r(x,2)").is_empty());
    assert!(local("a aborted: r(x,7)").is_empty());
}

#[test]
fn each_kind_of_list_anomaly() {
    let [a, b] = [txn(1), txn(2)];
    assert_eq!(local("a: l(x)7"), [(0, LocalKind::ThinAir)]);
    assert_eq!(local("a: l(x)1 l(x,1)"), [(0, LocalKind::Future)]);
    assert_eq!(local("a aborted: l(x,1)\n b: l(x)1"), [(1, LocalKind::Aborted { writer: a })]);
    assert_eq!(local("a: l(x,1) l(x,2)\n b: l(x)1"), [(2, LocalKind::Intermediate { writer: a })]);
    let turned = LocalKind::Interleaved { torn: a, between: a };
    assert_eq!(local("a: l(x,1) l(x,2)\n b: l(x)2"), [(2, turned)]);
    assert_eq!(local("a: l(x,1) l(x,2)\n b: l(x)2.1"), [(2, turned)]);
    let torn = LocalKind::Interleaved { torn: a, between: b };
    assert_eq!(local("a: l(x,1) l(x,2)\n b: l(x,3)\n c: l(x)1.3.2"), [(3, torn)]);
    assert!(matches!(local("a: l(x,1) l(x)")[..], [(1, LocalKind::Internal { .. })]));
    let found = local("a: l(x,1)\n b: l(x,2)\n c: l(x)1.2\n d: l(x)2.1");
    assert!(matches!(found[..], [(_, LocalKind::Incompatible { .. })]), "{found:?}");
    assert!(local("a: l(x,1) l(x,2)\n b: l(x,3)\n c: l(x)3.1.2\n d: l(x)3").is_empty());
}

#[test]
fn two_versions_in_one_transaction_are_unrepeatable_and_not_local() {
    let history = history("a: w(x,1)\n b: r(x,0) r(x,0) r(x,1)\n c aborted: r(x,0) r(x,1)");
    let facts = Facts::new(&history);
    assert!(facts.local().is_empty());
    let found: Vec<(OpId, LocalKind)> = facts.unrepeatable().iter().map(|it| (it.op, it.kind)).collect();
    assert_eq!(found, [(OpId::from_index(3), LocalKind::Unrepeatable { earlier: OpId::from_index(1) })]);
}

#[test]
fn the_longest_list_read_is_the_chain() {
    let history = history("a: l(x,1) l(x,2)\n b: l(x,3)\n c: l(x,4)\n d: l(x)1.2\n e: l(x)1.2.3");
    let facts = Facts::new(&history);
    let key = history.keys().next().unwrap();
    let chain = facts.recovered_order(key).expect("somebody read it");
    assert_eq!((chain.writers.clone(), chain.shown_by), (txns([1, 2]), OpId::from_index(5)));
    let unread = common::history("a: l(x,1)\n b: l(x)");
    assert_eq!(Facts::new(&unread).recovered_order(key), None);
}

#[test]
fn an_element_that_was_appended_twice_is_ambiguous_if_somebody_read_it() {
    let twice = history("a: l(x,1)\n b: l(x,1)\n c: l(x)1");
    assert_eq!(Facts::new(&twice).ambiguous_list(), Some(OpId::from_index(2)));
    let unread = history("a: l(x,1)\n b: l(x,1)\n c: l(x)");
    assert_eq!(Facts::new(&unread).ambiguous_list(), None);
}

#[test]
fn candidates_agree_with_the_operations() {
    let mut random = Random::new(8);
    let mut n_reads = 0;
    for _ in 0..2000 {
        let history = random.history(Shape { indeterminate: 0, lists: 0, ..Shape::MIXED });
        let facts = Facts::new(&history);
        for (idx, read) in facts.reads().iter().enumerate() {
            let Op::Read { key, value } = history.op(read.op) else { panic!("no lists here") };
            let wrote = |it: &TxnId| {
                let mut writes = history.ops(*it).rev().map(|op| history.op(op));
                let last = writes.find(|op| op.is_write() && op.key() == key);
                history.outcome(*it) == Outcome::Committed && last == Some(Op::Write { key, value })
            };
            let initial = Some(TxnId::INITIAL).filter(|_| history.initial_value(key) == value);
            let others = history.txns().filter(|it| *it != read.reader && wrote(it));
            let expected: Vec<TxnId> = initial.into_iter().chain(others).collect();
            assert_eq!(facts.candidates(idx), expected, "{}", show(&history));
            let is_blamed = facts.local().iter().any(|it| it.op == read.op);
            assert_eq!(is_blamed, expected.is_empty(), "{}", show(&history));
            n_reads += 1;
        }
    }
    assert!(n_reads > 3000, "{n_reads}");
}
