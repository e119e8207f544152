//! A store that forgets: it answers as one that remembers the same time and keeps a record of everything, and that record
//! satisfies the level.

use crate::dice::Dice;
use crate::run::{Shape, run_on};
use crate::setting;
use iso_check::check;
use iso_evidence::{Budget, Verdict, certify};
use iso_spec::Level;
use iso_store::{DATABASE_LEVELS, Key, LEVELS, Policy, Store, Values};

const POLICIES: [Policy; 3] = [Policy::Latest, Policy::Random, Policy::Adversarial];

/// Runs on a store that remembers so many commits, once with a record and once without.
fn runs(n_cases: u64, n_remembered: u32, shape: fn(&mut Dice) -> Shape) {
    let seed = setting("ISOSCOPE_SEED", 0).wrapping_mul(1_000_003);
    for case in setting("ISOSCOPE_FIRST", 0)..n_cases {
        for level in LEVELS.into_iter().chain(DATABASE_LEVELS) {
            for policy in POLICIES {
                let about = || format!("case {case} {level} {policy:?} remembers {n_remembered}");
                let mut dice = Dice::new(seed.wrapping_add(case));
                let shape = shape(&mut dice);
                let new = || Store::new(level, policy.clone(), seed + case).unwrap().remembering(n_remembered);
                let (recorded, answers) = run_on(new(), &mut dice.clone(), &shape);
                let (_, same) = run_on(new().unrecorded(), &mut dice, &shape);
                assert_eq!(answers, same, "{}", about());
                let verdict = Verdict::Allowed(recorded.witness());
                let history = recorded.history(Values::Distinct);
                certify(&history, level, &verdict).unwrap_or_else(|it| panic!("{it}\n{}", about()));
                if LEVELS.contains(&level) && shape.n_txns < 20 {
                    let verdict = check(&history, level, &Budget::unlimited());
                    assert!(matches!(verdict, Verdict::Allowed(_)), "{}", about());
                }
            }
        }
    }
}

#[test]
fn what_is_forgotten_is_nothing_that_anybody_could_read() {
    for n_remembered in [1, 2, 3] {
        runs(setting("ISOSCOPE_CASES", 100), n_remembered, Shape::small);
        runs(setting("ISOSCOPE_CASES", 100), n_remembered, Shape::sql);
    }
}

#[test]
fn larger_runs_forget_all_the_time() {
    let deep = |dice: &mut Dice| Shape { n_txns: 600, n_rows: 5, aborts: 5, ..Shape::middle(dice) };
    let sql = |dice: &mut Dice| Shape { n_sessions: 5, n_txns: 300, n_rows: 6, ..Shape::sql(dice) };
    for n_remembered in [1, 8, 50] {
        runs(setting("ISOSCOPE_CASES", 100) / 25, n_remembered, deep);
        runs(setting("ISOSCOPE_CASES", 100) / 25, n_remembered, sql);
    }
}

/// How old the oldest of many reads was, in commits.
fn oldest_read(store: &mut Store, n_writes: i64) -> i64 {
    let (writer, key) = (store.session("writer"), Key::new("table", "row"));
    let mut oldest = 0;
    for nth in 1..=n_writes {
        store.begin(writer).unwrap();
        store.put(writer, &key, nth.into()).unwrap();
        store.commit(writer).unwrap();
        let reader = store.session(&format!("reader {}", nth % 7));
        store.begin(reader).unwrap();
        let read = store.get(reader, &key).unwrap();
        let read = read.map_or(0, |it| it.to_string().parse().unwrap());
        store.abort(reader).unwrap();
        oldest = oldest.max(nth - read);
    }
    oldest
}

#[test]
fn nobody_is_served_what_is_older_than_is_remembered() {
    for level in LEVELS.into_iter().chain(DATABASE_LEVELS).filter(|it| *it != Level::StrictSerializable) {
        let new = || Store::new(level, Policy::Random, 5).unwrap();
        let oldest = oldest_read(&mut new().remembering(100).unrecorded(), 2000);
        assert!((100..200).contains(&oldest), "{level}: {oldest}");
        assert!(oldest_read(&mut new(), 2000) > 1000, "{level}");
        // What is remembered without a number is more than most runs make.
        assert!(oldest_read(&mut new().unrecorded(), 2000) > 1000, "{level}");
    }
}

#[test]
fn an_open_transaction_keeps_what_it_may_read() {
    for level in LEVELS.into_iter().chain(DATABASE_LEVELS) {
        let mut store = Store::new(level, Policy::Latest, 1).unwrap().remembering(4).unrecorded();
        let (x, y) = (Key::new("table", "x"), Key::new("table", "y"));
        store.load(&x, 0.into()).unwrap();
        store.load(&y, 0.into()).unwrap();
        let (reader, writer) = (store.session("reader"), store.session("writer"));
        store.begin(reader).unwrap();
        assert_eq!(store.get(reader, &x).unwrap(), Some(0.into()));
        for nth in 1..=100 {
            store.begin(writer).unwrap();
            store.put(writer, &x, nth.into()).unwrap();
            store.put(writer, &y, nth.into()).unwrap();
            store.commit(writer).unwrap();
        }
        let sees_new = matches!(level, Level::ReadCommitted | Level::StatementSnapshots);
        let expected = if sees_new { 100 } else { 0 };
        assert_eq!(store.get(reader, &y).unwrap(), Some(expected.into()), "{level}");
    }
}
