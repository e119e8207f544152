//! The builder: what it refuses, and what a history keeps.

mod common;

use common::history;
use iso_history::{Datum, HistoryBuilder, Outcome, Place, PlaceUnit, Severity, TxnId};

fn begin(builder: &mut HistoryBuilder, at: u64) {
    let session = builder.session("s");
    builder.begin(session, Place { source: 0, at });
}

/// The defects of what `fill` builds, as a person sees them.
fn defects(fill: impl Fn(&mut HistoryBuilder)) -> Vec<String> {
    let mut builder = HistoryBuilder::new();
    builder.source("file", PlaceUnit::Line);
    fill(&mut builder);
    let found = builder.finish().expect_err("a defect");
    found.iter().map(ToString::to_string).collect()
}

#[test]
fn an_open_transaction_is_a_defect() {
    assert_eq!(defects(|it| begin(it, 3)), ["file: line 3: the input ends inside a transaction"]);
}

#[test]
fn a_transaction_that_ends_before_it_begins_is_a_defect() {
    let found = defects(|it| {
        begin(it, 4);
        it.times(Some(5), Some(2));
        it.end(Outcome::Committed);
    });
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("file: line 4: ") && found[0].contains("before it begins at 5"), "{found:?}");
}

#[test]
fn a_key_that_is_a_register_and_a_list_is_a_defect() {
    let found = defects(|it| {
        let (key, value) = (it.key("x".into()), it.value(1.into()));
        begin(it, 1);
        it.write(key, value);
        it.append(key, value);
        it.end(Outcome::Committed);
    });
    assert_eq!(found, ["file: key x is used as a register and as a list; a key must be one of them"]);
}

#[test]
fn two_initial_values_are_a_defect_unless_they_are_the_same() {
    let build = |second: i64| {
        let mut builder = HistoryBuilder::new();
        let key = builder.key("x".into());
        for number in [1, second] {
            let value = builder.value(number.into());
            builder.initial(key, value, Place::default());
        }
        builder.finish()
    };
    assert!(build(1).is_ok());
    let found = build(2).expect_err("two initial values");
    assert_eq!(found[0].message, "the initial value of x is given twice: 1 and 2");
}

#[test]
fn a_list_with_an_initial_value_is_a_defect_unless_it_is_null() {
    let build = |initial: Datum| {
        let mut builder = HistoryBuilder::new();
        let (key, one, initial) = (builder.key("x".into()), builder.value(1.into()), builder.value(initial));
        builder.initial(key, initial, Place::default());
        begin(&mut builder, 1);
        builder.append(key, one);
        builder.end(Outcome::Committed);
        builder.finish()
    };
    assert!(build(Datum::Null).is_ok());
    let found = build(3.into()).expect_err("an initial value");
    assert_eq!(found[0].message, "list x has an initial value; lists are empty at first");
}

#[test]
fn warnings_come_along_with_the_history() {
    let mut builder = HistoryBuilder::new();
    builder.defect(Severity::Warning, Place::default(), "odd");
    let (history, defects) = builder.finish_with_defects();
    assert!(history.is_some_and(|it| it.n_txns() == 1));
    assert_eq!(defects.len(), 1);
    let mut builder = HistoryBuilder::new();
    builder.defect(Severity::Error, Place::default(), "broken");
    assert!(builder.finish_with_defects().0.is_none());
}

#[test]
#[should_panic(expected = "an operation outside a transaction")]
fn an_operation_outside_a_transaction_is_a_bug() {
    let mut builder = HistoryBuilder::new();
    let (key, value) = (builder.key("x".into()), builder.value(1.into()));
    builder.write(key, value);
}

#[test]
fn transactions_are_laid_out_by_session() {
    let history = history("a: w(x,1)\n b 2-5: r(x,1)\n a aborted: w(x,2)");
    let txns = |nth: usize| history.session_txns(history.sessions().nth(nth).unwrap()).to_vec();
    let [init, a1, b, a2] = [0, 1, 2, 3].map(TxnId::from_index);
    assert_eq!((txns(0), txns(1)), (vec![a1, a2], vec![b]));
    assert_eq!([init, a1, b, a2].map(|it| history.label(it)), ["init", "a.1", "b.1", "a.2"]);
    assert!(history.is_session_ordered(init, b) && history.is_session_ordered(a1, a2));
    assert!(!history.is_session_ordered(a2, a1) && !history.is_session_ordered(a1, b));
    assert!(!history.is_session_ordered(b, init) && !history.is_session_ordered(a1, a1));
    assert_eq!((history.begin(b), history.end(b), history.begin(a1)), (Some(2), Some(5), None));
    assert_eq!(history.outcome(a2), Outcome::Aborted);
}

#[test]
fn real_time_needs_an_end_that_was_told_and_is_earlier() {
    let history = history("a 1-2: w(x,1)\n b 3-4: w(x,2)\n c 2-9: w(x,3)\n d unknown 1-2: w(x,4)\n e: w(x,5)");
    let [init, early, late, long, unknown, timeless] = [0, 1, 2, 3, 4, 5].map(TxnId::from_index);
    let is_ordered = |earlier, later| history.is_real_time_ordered(earlier, later);
    assert!(is_ordered(early, late) && is_ordered(init, timeless));
    assert!(!is_ordered(late, early) && !is_ordered(early, early) && !is_ordered(early, init));
    // Equal times overlap; an unknown outcome has no end; no times, no order.
    assert!(!is_ordered(early, long));
    assert!(!is_ordered(unknown, late));
    assert!(!is_ordered(timeless, late) && !is_ordered(early, timeless));
}

#[test]
fn histories_that_say_the_same_are_equal() {
    let text = "a: w(x,1) r(y,0)\n b unknown: l(z,1) l(z)1";
    assert_eq!(history(text), history(text));
    let others = [
        "a: w(x,1) r(y,0)\n b: l(z,1) l(z)1",
        "a: w(x,1) r(y,1)\n b unknown: l(z,1) l(z)1",
        "a: r(y,0) w(x,1)\n b unknown: l(z,1) l(z)1",
        "a: w(x,1) r(y,0)\n b unknown: l(z,1) l(z)",
        "a: w(x,1) r(y,0)\n c unknown: l(z,1) l(z)1",
        "a: w(x,1) r(y,0)\n a unknown: l(z,1) l(z)1",
        "a 1-2: w(x,1) r(y,0)\n b unknown: l(z,1) l(z)1",
        "a: w(x,1) r(y,0)",
    ];
    for other in others {
        assert_ne!(history(text), history(other), "{other}");
    }
}
