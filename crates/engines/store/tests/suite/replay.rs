//! Runs that follow a plan, and say where they cannot.

use crate::dice::Dice;
use crate::run::{Shape, run};
use crate::setting;
use iso_spec::Level;
use iso_store::{Divergence, Key, LEVELS, Plan, Policy, Rows, Store, TxnName, Values, Why, Writer};

fn key(row: &str) -> Key {
    Key::new("t", row)
}

fn txn(session: &str, nth: usize) -> TxnName {
    TxnName::new(session, nth)
}

/// Session s2 writes x and y one after the other, and s1 reads both, x first.
fn run_planned(level: Level, plan: Plan) -> Store {
    let mut store = Store::new(level, Policy::Replay(plan), 0).unwrap();
    let (one, two) = (store.session("s1"), store.session("s2"));
    for row in ["x", "y"] {
        store.begin(two).unwrap();
        store.put(two, &key(row), 1.into()).unwrap();
        store.commit(two).unwrap();
    }
    store.begin(one).unwrap();
    store.get(one, &key("free")).unwrap();
    store.get(one, &key("x")).unwrap();
    store.get(one, &key("y")).unwrap();
    store.commit(one).unwrap();
    store
}

fn plan(x: Writer, y: Writer) -> Plan {
    let mut plan = Plan::new();
    plan.read(txn("s1", 0), key("x"), x);
    plan.read(txn("s1", 0), key("y"), y);
    plan
}

#[test]
fn a_plan_that_the_level_allows_is_followed() {
    for level in LEVELS {
        let store = run_planned(level, plan(Writer::Initial, Writer::Initial));
        assert_eq!(store.divergences(), []);
        let writers: Vec<bool> = store.sources().iter().map(|it| it.writer.is_initial()).collect();
        assert_eq!(writers, [true, true, true], "{level}");
    }
}

#[test]
fn a_plan_that_the_level_forbids_is_left_for_the_newest_version() {
    let store = run_planned(Level::CausalConsistency, plan(Writer::Initial, Writer::Txn(txn("s2", 1))));
    let expected = Divergence {
        txn: txn("s1", 0),
        position: 2,
        key: key("y"),
        planned: Writer::Txn(txn("s2", 1)),
        took: Writer::Initial,
        why: Why::NotAllowed,
    };
    assert_eq!(store.divergences(), [expected]);
    let text = "s1.1, operation 3: t:y was to be read from s2.2, which the level forbids, and was read from init";
    assert_eq!(store.divergences()[0].to_string(), text);
    let store = run_planned(Level::ReadAtomic, plan(Writer::Initial, Writer::Txn(txn("s2", 1))));
    assert_eq!(store.divergences(), []);
}

#[test]
fn a_writer_that_did_not_write_the_key_cannot_be_followed() {
    for writer in [txn("s2", 1), txn("s2", 5), txn("s9", 0)] {
        let store = run_planned(Level::ReadCommitted, plan(Writer::Txn(writer), Writer::Initial));
        let found: Vec<_> = store.divergences().iter().map(|it| (&it.took, it.why)).collect();
        assert_eq!(found, [(&Writer::Txn(txn("s2", 0)), Why::NotWritten)]);
    }
}

#[test]
fn a_row_that_a_scan_was_to_find_and_did_not_is_a_divergence() {
    let mut plan = Plan::new();
    plan.read(txn("s1", 0), key("a"), Writer::Txn(txn("s2", 0)));
    plan.read(txn("s1", 0), key("b"), Writer::Initial);
    plan.read(txn("s1", 0), key("b"), Writer::Initial);
    let mut store = Store::new(Level::ReadCommitted, Policy::Replay(plan), 0).unwrap();
    let one = store.session("s1");
    store.begin(one).unwrap();
    assert_eq!(store.scan(one, "t", &Rows::All).unwrap(), []);
    store.get(one, &key("b")).unwrap();
    let found: Vec<_> = store.divergences().iter().map(|it| (it.key.to_string(), it.position, it.why)).collect();
    assert_eq!(found, [("t:a".to_owned(), 0, Why::NotWritten)]);
}

/// The same calls again, each read told to read what it read.
#[test]
fn every_run_can_be_replayed() {
    let seed = setting("ISOSCOPE_SEED", 0).wrapping_mul(1_000_003);
    for case in 0..setting("ISOSCOPE_CASES", 300) / 3 {
        for level in LEVELS {
            let again = |policy: Policy| {
                let mut dice = Dice::new(seed.wrapping_add(case));
                // Without conflicts of the first run that depend on what follows, calls are the same.
                let shape = Shape::small(&mut dice);
                run(&mut dice, &shape, level, policy, seed + case)
            };
            let first = again(Policy::Random);
            let history = first.history(Values::Distinct);
            let second = again(Policy::Replay(Plan::of_history(&history).unwrap()));
            if history.txns().all(|it| history.outcome(it) == iso_history::Outcome::Committed) {
                assert_eq!(second.divergences(), [], "case {case} {level}");
                assert_eq!(second.history(Values::Distinct), history, "case {case} {level}");
            }
        }
    }
}
