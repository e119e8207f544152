//! What SQL needs of a store: updates, savepoints, predicates, statements, and rows that are loaded late.

use iso_check::check;
use iso_evidence::{Budget, Verdict};
use iso_history::{Column, Comparison, Datum, Locking, Predicate};
use iso_spec::Level;
use iso_store::{Change, Condition, Error, Key, LEVELS, Policy, Rows, SessionId, Store, TxnName};

fn key(row: &str) -> Key {
    Key::new("t", row)
}

/// A store with rows x and y of value 0, and two sessions.
fn store(level: Level) -> (Store, SessionId, SessionId) {
    let mut store = Store::new(level, Policy::Latest, 0).unwrap();
    store.load(&key("x"), 0.into()).unwrap();
    store.load(&key("y"), 0.into()).unwrap();
    let (one, two) = (store.session("s1"), store.session("s2"));
    (store, one, two)
}

fn add(by: i64) -> impl FnOnce(Option<&Datum>) -> Change {
    move |old| match old {
        Some(Datum::Int(number)) => Change::Put((number + by).into()),
        _ => Change::Keep,
    }
}

fn overwrite(store: &mut Store, session: SessionId, row: &str, value: i64) {
    store.begin(session).unwrap();
    store.put(session, &key(row), value.into()).unwrap();
    store.commit(session).unwrap();
}

/// The transactions of a history with scans, one a line, with their statements.
fn lines(store: &Store) -> Vec<String> {
    let history = store.history_with_scans();
    let statements = |txn| {
        let mut parts: Vec<(iso_history::Statement, String)> = Vec::new();
        for op in history.ops(txn) {
            let (statement, text) = (history.statement_of(op), history.render_op(op));
            match parts.last_mut().filter(|it| it.0 == statement) {
                Some(last) => last.1 = format!("{} {text}", last.1),
                None => parts.push((statement, text)),
            }
        }
        parts.iter().map(|it| format!("[{}]", it.1)).collect::<Vec<_>>().join(" ")
    };
    history.txns().map(statements).collect()
}

#[test]
fn an_update_acts_on_the_newest_version_and_is_one_statement() {
    for level in LEVELS {
        let (mut store, one, two) = store(level);
        overwrite(&mut store, two, "x", 5);
        store.begin(one).unwrap();
        assert_eq!(store.update(one, &key("x"), add(2)).unwrap(), Some(5.into()), "{level}");
        assert_eq!(store.update(one, &key("x"), add(3)).unwrap(), Some(7.into()), "{level}");
        assert_eq!(store.update(one, &key("z"), add(3)).unwrap(), None, "{level}");
        assert_eq!(store.update(one, &key("y"), |_| Change::Delete).unwrap(), Some(0.into()), "{level}");
        store.commit(one).unwrap();
        let expected = "[r(t/x,5) w(t/x,7)] [r(t/x,7) w(t/x,10)] [r(t/z,-)] [r(t/y,0) w(t/y,-)]";
        assert_eq!(lines(&store)[1], expected, "{level}");
    }
}

#[test]
fn an_update_is_a_conflict_where_the_newest_version_cannot_be_read() {
    for level in LEVELS {
        let (mut store, one, two) = store(level);
        store.begin(one).unwrap();
        store.get(one, &key("x")).unwrap();
        overwrite(&mut store, two, "x", 5);
        let answer = store.update(one, &key("x"), add(1));
        if level == Level::ReadCommitted {
            assert_eq!(answer.unwrap(), Some(5.into()));
            continue;
        }
        let error = answer.unwrap_err();
        assert_eq!(error.conflict().unwrap().other, TxnName::new("s2", 0), "{level}");
        assert_eq!(store.commit(one), Err(Error::NoTransaction { session: "s1".to_owned() }), "{level}");
    }
}

#[test]
fn the_newest_version_can_be_read_and_is_said_to_be_locked() {
    let (mut store, one, two) = store(Level::CausalConsistency);
    overwrite(&mut store, two, "x", 5);
    store.begin(one).unwrap();
    assert_eq!(store.get_newest(one, &key("x")).unwrap(), Some(5.into()));
    store.commit(one).unwrap();
    assert_eq!(lines(&store)[1], "[r(t/x,5) for update]");
}

#[test]
fn a_rollback_takes_back_writes_and_reads_of_them_and_nothing_else() {
    for level in LEVELS {
        let (mut store, one, _) = store(level);
        store.begin(one).unwrap();
        store.put(one, &key("x"), 1.into()).unwrap();
        let first = store.savepoint(one).unwrap();
        store.put(one, &key("x"), 2.into()).unwrap();
        assert_eq!(store.get(one, &key("x")).unwrap(), Some(2.into()));
        assert_eq!(store.get(one, &key("y")).unwrap(), Some(0.into()));
        let second = store.savepoint(one).unwrap();
        store.put(one, &key("z"), 3.into()).unwrap();
        store.rollback_to(one, first).unwrap();
        assert_eq!(store.get(one, &key("x")).unwrap(), Some(1.into()), "{level}");
        assert_eq!(store.get(one, &key("z")).unwrap(), None, "{level}");
        assert_eq!(store.rollback_to(one, second).unwrap_err().to_string(), "s1.1 has no such savepoint");
        store.put(one, &key("z"), 4.into()).unwrap();
        store.rollback_to(one, first).unwrap();
        store.release(one, first).unwrap();
        assert!(matches!(store.rollback_to(one, first), Err(Error::NoSavepoint { .. })));
        store.commit(one).unwrap();
        assert_eq!(lines(&store), ["[w(t/x,1)] [r(t/y,0)] [r(t/x,1)] [r(t/z,-)]"], "{level}");
    }
}

#[test]
fn a_released_savepoint_keeps_what_was_written() {
    let (mut store, one, _) = store(Level::Serializable);
    store.begin(one).unwrap();
    let savepoint = store.savepoint(one).unwrap();
    store.put(one, &key("x"), 1.into()).unwrap();
    store.release(one, savepoint).unwrap();
    store.commit(one).unwrap();
    assert_eq!(lines(&store), ["[w(t/x,1)]"]);
}

#[test]
fn an_update_that_is_taken_back_leaves_its_read() {
    let (mut store, one, _) = store(Level::SnapshotIsolation);
    store.begin(one).unwrap();
    let savepoint = store.savepoint(one).unwrap();
    store.update(one, &key("x"), add(1)).unwrap();
    store.rollback_to(one, savepoint).unwrap();
    assert_eq!(store.commit(one).unwrap().position, None, "nothing was written");
    assert_eq!(lines(&store), ["[r(t/x,0)]"]);
}

#[test]
fn a_scan_that_saw_what_is_taken_back_is_no_scan_any_more() {
    let (mut store, one, _) = store(Level::SnapshotIsolation);
    store.begin(one).unwrap();
    let savepoint = store.savepoint(one).unwrap();
    store.put(one, &key("z"), 1.into()).unwrap();
    assert_eq!(store.scan(one, "t", &Rows::All).unwrap().len(), 3);
    store.rollback_to(one, savepoint).unwrap();
    assert_eq!(store.scan(one, "t", &Rows::All).unwrap().len(), 2);
    store.commit(one).unwrap();
    let history = store.history_with_scans();
    assert_eq!(history.scans().count(), 1);
    assert_eq!(lines(&store), ["[r(t/x,0)] [r(t/y,0)] [r(t/x,0) r(t/y,0)]"]);
}

#[test]
fn a_row_can_be_loaded_until_somebody_has_seen_or_written_it() {
    let (mut store, one, two) = store(Level::CausalConsistency);
    store.begin(one).unwrap();
    store.get(one, &key("x")).unwrap();
    store.load(&key("a"), 7.into()).unwrap();
    assert_eq!(store.get(one, &key("a")).unwrap(), Some(7.into()));
    let late = |store: &mut Store, row: &str| store.load(&key(row), 8.into()).unwrap_err().to_string();
    assert_eq!(late(&mut store, "a"), "t:a is loaded after a transaction has read or written it");
    store.scan(one, "t", &Rows::prefix("b")).unwrap();
    late(&mut store, "b1");
    store.load(&key("c"), 9.into()).unwrap();
    store.begin(two).unwrap();
    store.put(two, &key("d"), 1.into()).unwrap();
    late(&mut store, "d");
    store.commit(two).unwrap();
    assert_eq!(store.scan(one, "t", &Rows::prefix("c")).unwrap(), [(key("c"), 9.into())]);
    store.commit(one).unwrap();
}

/// Two sessions look for rows above 5, and each makes one: a phantom, whatever the predicate is written in.
#[test]
fn a_scan_by_predicate_is_recorded_as_such() {
    let above = Predicate::Compare(Column::Named("value".into()), Comparison::Greater, 5.into());
    let is_above = |_: &str, value: &Datum| matches!(value, Datum::Int(number) if *number > 5);
    for condition in [Condition::new(above.clone()).unwrap(), Condition::foreign("above 5", is_above)] {
        for level in LEVELS.into_iter().filter(|it| *it != Level::ReadCommitted) {
            let (mut store, one, two) = store(level);
            for session in [one, two] {
                store.begin(session).unwrap();
                assert_eq!(store.scan_where(session, "t", &Rows::All, &condition).unwrap(), []);
            }
            for (session, row) in [(one, "x"), (two, "y")] {
                let answer = store.put(session, &key(row), 6.into());
                drop(answer.and_then(|()| store.commit(session).map(|_| ())));
            }
            let history = store.history_with_scans();
            assert_eq!(history.scan(history.scans().next().unwrap()).predicate, condition.predicate());
            assert!(history.has_omissions(), "{level}");
            assert!(matches!(check(&history, level, &Budget::unlimited()), Verdict::Allowed(_)), "{level}");
            let verdict = check(&history, Level::Serializable, &Budget::unlimited());
            assert_eq!(matches!(verdict, Verdict::Allowed(_)), level == Level::Serializable, "{level}");
        }
    }
    let partly = Predicate::And(vec![above, Predicate::Foreign("more".into())]);
    assert!(Condition::new(partly).is_none(), "a foreign part cannot be evaluated");
}

#[test]
fn calls_between_the_ends_of_a_statement_are_one() {
    let (mut store, one, _) = store(Level::SnapshotIsolation);
    assert!(matches!(store.begin_statement(one), Err(Error::NoTransaction { .. })));
    store.begin(one).unwrap();
    assert!(matches!(store.end_statement(one, Locking::Free), Err(Error::NoStatement { .. })));
    store.begin_statement(one).unwrap();
    assert!(matches!(store.begin_statement(one), Err(Error::StatementOpen { .. })));
    store.get(one, &key("x")).unwrap();
    store.update(one, &key("y"), add(1)).unwrap();
    store.end_statement(one, Locking::Free).unwrap();
    store.begin_statement(one).unwrap();
    store.get(one, &key("x")).unwrap();
    store.end_statement(one, Locking::ForUpdate).unwrap();
    store.begin_statement(one).unwrap();
    store.put(one, &key("x"), 1.into()).unwrap();
    store.commit(one).unwrap();
    assert_eq!(lines(&store), ["[r(t/x,0) r(t/y,0) w(t/y,1)] [r(t/x,0) for update] [w(t/x,1)]"]);
}
