//! What single calls answer: misuse, conflicts, phantoms, sessions.

use iso_check::check;
use iso_evidence::{Budget, Verdict, certify};
use iso_history::Datum;
use iso_spec::Level;
use iso_store::{DATABASE_LEVELS, Error, Key, LEVELS, Policy, Rows, SessionId, Store, TxnName, Values, Writer};
use std::sync::Mutex;

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

fn txn(session: &str, nth: usize) -> Writer {
    Writer::Txn(TxnName::new(session, nth))
}

/// A transaction that writes a row and commits.
fn overwrite(store: &mut Store, session: SessionId, row: &str, value: i64) {
    store.begin(session).unwrap();
    store.put(session, &key(row), value.into()).unwrap();
    store.commit(session).unwrap();
}

#[test]
fn misuse_is_told() {
    let (mut store, one, two) = store(Level::CausalConsistency);
    let none = Error::NoTransaction { session: "s1".to_owned() };
    assert_eq!(store.get(one, &key("x")), Err(none.clone()));
    assert_eq!(store.put(one, &key("x"), 1.into()), Err(none.clone()));
    assert_eq!(store.delete(one, &key("x")), Err(none.clone()));
    assert_eq!(store.scan(one, "t", &Rows::All), Err(none.clone()));
    assert_eq!(store.legal(one, &key("x")), Err(none.clone()));
    assert_eq!(store.commit(one), Err(none.clone()));
    assert_eq!(store.abort(one), Err(none));
    store.begin(one).unwrap();
    assert_eq!(store.begin(one), Err(Error::AlreadyOpen { session: "s1".to_owned() }));
    store.get(one, &key("z")).unwrap();
    assert_eq!(store.load(&key("z"), 1.into()), Err(Error::LoadedLate { key: key("z") }));
    let unknown = SessionId::from_index(7);
    assert_eq!(store.begin(unknown), Err(Error::UnknownSession { session: unknown }));
    assert_eq!(store.get(unknown, &key("x")), Err(Error::UnknownSession { session: unknown }));
    let missing = store.get_from(one, &key("x"), &txn("s2", 0));
    assert_eq!(missing.unwrap_err().to_string(), "s1.1 cannot read t:x from s2.1");
    store.begin(two).unwrap();
    for level in Level::ALL.into_iter().filter(|it| !LEVELS.contains(it) && !DATABASE_LEVELS.contains(it)) {
        assert_eq!(Store::new(level, Policy::Latest, 0).unwrap_err(), Error::UnknownLevel { level });
    }
}

#[test]
fn a_lost_update_is_a_conflict_from_parallel_snapshot_isolation_on() {
    for level in LEVELS {
        let (mut store, one, two) = store(level);
        store.begin(one).unwrap();
        store.get(one, &key("x")).unwrap();
        overwrite(&mut store, two, "x", 1);
        let answer = store.put(one, &key("x"), 2.into());
        if level.implies(Level::ParallelSnapshotIsolation) {
            let error = answer.unwrap_err();
            let conflict = error.conflict().unwrap();
            assert_eq!(conflict.other, TxnName::new("s2", 0));
            assert_eq!(error.to_string(), "s1.1 is aborted: t:x was changed by s2.1, which it does not see");
            assert_eq!(store.commit(one), Err(Error::NoTransaction { session: "s1".to_owned() }));
        } else {
            answer.unwrap();
            store.commit(one).unwrap();
        }
    }
}

#[test]
fn the_first_to_commit_wins() {
    for level in [Level::ParallelSnapshotIsolation, Level::SnapshotIsolation, Level::Serializable] {
        let (mut store, one, two) = store(level);
        for session in [one, two] {
            store.begin(session).unwrap();
            store.get(session, &key("x")).unwrap();
            store.put(session, &key("x"), 1.into()).unwrap();
        }
        store.commit(two).unwrap();
        let error = store.commit(one).unwrap_err();
        assert_eq!(error.conflict().unwrap().key, key("x"), "{level}");
    }
}

#[test]
fn blind_writers_of_a_key_do_not_conflict() {
    for level in LEVELS {
        let (mut store, one, two) = store(level);
        for session in [one, two] {
            store.begin(session).unwrap();
            store.put(session, &key("x"), 1.into()).unwrap();
        }
        store.commit(two).unwrap();
        assert_eq!(store.commit(one).unwrap().position, Some(2), "{level}");
    }
}

#[test]
fn write_skew_is_a_conflict_only_if_serializable() {
    for level in LEVELS {
        let (mut store, one, two) = store(level);
        for session in [one, two] {
            store.begin(session).unwrap();
            store.get(session, &key("x")).unwrap();
            store.get(session, &key("y")).unwrap();
        }
        store.put(one, &key("x"), 1.into()).unwrap();
        store.put(two, &key("y"), 1.into()).unwrap();
        store.commit(one).unwrap();
        assert_eq!(store.commit(two).is_err(), level == Level::Serializable, "{level}");
    }
}

#[test]
fn a_serializable_update_reads_on_only_while_nothing_it_read_changes() {
    let (mut store, one, two) = store(Level::Serializable);
    store.begin(one).unwrap();
    store.get(one, &key("x")).unwrap();
    store.put(one, &key("z"), 1.into()).unwrap();
    overwrite(&mut store, two, "x", 1);
    let error = store.get(one, &key("y")).unwrap_err();
    assert_eq!(error.conflict().unwrap().key, key("x"));
}

#[test]
fn a_serializable_update_reads_what_is_newest() {
    let (mut store, one, two) = store(Level::Serializable);
    overwrite(&mut store, two, "x", 1);
    store.begin(one).unwrap();
    assert_eq!(store.legal(one, &key("x")).unwrap().len(), 2);
    store.put(one, &key("y"), 1.into()).unwrap();
    assert_eq!(store.legal(one, &key("x")).unwrap(), [txn("s2", 0)]);
}

/// Two transactions look whether there is a vote, see none, and insert their own.
#[test]
fn phantom_votes_are_forbidden_only_if_serializable() {
    for level in LEVELS {
        let mut store = Store::new(level, Policy::Latest, 0).unwrap();
        let sessions = ["s1", "s2"].map(|it| store.session(it));
        for session in sessions {
            store.begin(session).unwrap();
            assert_eq!(store.scan(session, "votes", &Rows::prefix("555/")).unwrap(), []);
        }
        let mut n_committed = 0;
        for (session, row) in sessions.into_iter().zip(["555/1", "555/2"]) {
            let vote = store.insert(session, &Key::new("votes", row), 1.into());
            n_committed += usize::from(vote.is_ok() && store.commit(session).is_ok());
        }
        assert_eq!(n_committed, if level == Level::Serializable { 1 } else { 2 }, "{level}");
        let history = store.history(Values::Distinct);
        // Each scan read the rows of both as missing, as far as they came to be.
        assert_eq!(store.sources().len(), 2 * n_committed, "{level}");
        let verdict = check(&history, Level::Serializable, &Budget::unlimited());
        assert_eq!(matches!(verdict, Verdict::Allowed(_)), level == Level::Serializable, "{level}");
    }
}

#[test]
fn a_row_that_a_scan_missed_stays_missing_for_its_transaction() {
    for level in LEVELS.into_iter().filter(|it| *it != Level::ReadCommitted) {
        let (mut store, one, two) = store(level);
        store.begin(one).unwrap();
        assert_eq!(store.scan(one, "t", &Rows::prefix("a")).unwrap(), []);
        overwrite(&mut store, two, "a1", 1);
        assert_eq!(store.get(one, &key("a1")).unwrap(), None, "{level}");
        // What its writer wrote besides cannot be seen either.
        assert_eq!(store.legal(one, &key("a1")).unwrap(), [Writer::Initial]);
        store.commit(one).unwrap();
        let history = store.history(Values::Distinct);
        assert!(matches!(check(&history, level, &Budget::unlimited()), Verdict::Allowed(_)));
    }
}

#[test]
fn a_new_row_does_not_hide_an_earlier_change_of_another_one() {
    for level in [Level::ParallelSnapshotIsolation, Level::SnapshotIsolation, Level::Serializable] {
        let (mut store, one, two) = store(level);
        store.begin(one).unwrap();
        store.scan(one, "t", &Rows::All).unwrap();
        overwrite(&mut store, two, "x", 1);
        overwrite(&mut store, two, "a", 1);
        let error = store.put(one, &key("x"), 2.into()).unwrap_err();
        assert_eq!(error.conflict().unwrap().other, TxnName::new("s2", 0), "{level}");
    }
}

#[test]
fn scans_see_own_writes_and_not_what_was_deleted() {
    let (mut store, one, _) = store(Level::SnapshotIsolation);
    store.begin(one).unwrap();
    store.delete(one, &key("x")).unwrap();
    store.insert(one, &key("w"), 5.into()).unwrap();
    let rows: Vec<(String, Datum)> = vec![("t:w".to_owned(), 5.into()), ("t:y".to_owned(), 0.into())];
    let found = store.scan(one, "t", &Rows::All).unwrap();
    assert_eq!(found.into_iter().map(|(key, value)| (key.to_string(), value)).collect::<Vec<_>>(), rows);
    assert_eq!(store.get(one, &key("x")).unwrap(), None);
    assert_eq!(store.scan(one, "t", &Rows::range("w", "y")).unwrap(), [(key("w"), 5.into())]);
    assert_eq!(store.scan(one, "other", &Rows::All).unwrap(), []);
}

#[test]
fn a_session_never_goes_back_behind_a_transaction_that_only_read() {
    for level in [Level::CausalConsistency, Level::PrefixConsistency, Level::SnapshotIsolation, Level::Serializable] {
        let (mut store, one, two) = store(level);
        overwrite(&mut store, two, "x", 1);
        overwrite(&mut store, two, "y", 1);
        store.begin(one).unwrap();
        store.get_from(one, &key("y"), &txn("s2", 1)).unwrap();
        store.commit(one).unwrap();
        store.begin(one).unwrap();
        assert_eq!(store.legal(one, &key("x")).unwrap(), [txn("s2", 0)], "{level}");
    }
}

#[test]
fn a_session_that_was_away_for_long_knows_what_it_has_seen() {
    for level in LEVELS.into_iter().filter(|it| it.implies(Level::CausalConsistency)) {
        let (mut store, one, two) = store(level);
        let three = store.session("s3");
        overwrite(&mut store, one, "x", 1);
        overwrite(&mut store, two, "x", 2);
        store.begin(one).unwrap();
        store.get_from(one, &key("x"), &txn("s2", 0)).unwrap();
        store.commit(one).unwrap();
        for _ in 0..100 {
            overwrite(&mut store, two, "x", 3);
            overwrite(&mut store, three, "x", 4);
        }
        store.begin(one).unwrap();
        let legal = store.legal(one, &key("x")).unwrap();
        assert_eq!((&legal[0], legal.len()), (&txn("s2", 0), 201), "{level}");
    }
}

#[test]
fn a_transaction_that_only_reads_may_be_old_at_any_level() {
    for level in LEVELS {
        let (mut store, one, two) = store(level);
        overwrite(&mut store, two, "x", 1);
        store.begin(one).unwrap();
        assert_eq!(store.legal(one, &key("x")).unwrap(), [Writer::Initial, txn("s2", 0)], "{level}");
        assert_eq!(store.get_from(one, &key("x"), &Writer::Initial).unwrap(), Some(0.into()));
        store.commit(one).unwrap();
    }
}

#[test]
fn a_transaction_may_do_nothing() {
    for level in LEVELS {
        let (mut store, one, two) = store(level);
        overwrite(&mut store, two, "x", 1);
        store.begin(one).unwrap();
        assert_eq!(store.commit(one).unwrap().position, None);
        store.begin(two).unwrap();
        let history = store.history(Values::Distinct);
        assert_eq!(history.n_txns(), 3, "open transactions are left out");
        certify(&history, level, &Verdict::Allowed(store.witness())).unwrap();
    }
}

#[test]
fn a_store_can_be_shared_by_threads() {
    let store = Mutex::new(Store::new(Level::CausalConsistency, Policy::Random, 0).unwrap());
    std::thread::scope(|scope| {
        for name in ["s1", "s2"] {
            scope.spawn(|| {
                let session = store.lock().unwrap().session(name);
                store.lock().unwrap().begin(session).unwrap();
                store.lock().unwrap().put(session, &key("x"), 1.into()).unwrap();
                store.lock().unwrap().commit(session).unwrap();
            });
        }
    });
    assert_eq!(store.lock().unwrap().history(Values::AsWritten).n_txns(), 3);
}

#[test]
fn aborted_writes_are_never_seen() {
    for level in LEVELS {
        let (mut store, one, two) = store(level);
        store.begin(two).unwrap();
        store.put(two, &key("x"), 7.into()).unwrap();
        store.abort(two).unwrap();
        store.begin(one).unwrap();
        assert_eq!(store.legal(one, &key("x")).unwrap(), [Writer::Initial], "{level}");
    }
}

/// The operations of a history, one transaction a line.
fn lines(store: &Store, values: Values) -> Vec<String> {
    let history = store.history(values);
    let line = |it| history.ops(it).map(|op| history.render_op(op)).collect::<Vec<_>>().join(" ");
    history.txns().map(line).collect()
}

#[test]
fn values_that_are_written_again_are_told_apart() {
    let (mut store, one, _) = store(Level::Serializable);
    store.begin(one).unwrap();
    store.put(one, &key("x"), 0.into()).unwrap();
    store.put(one, &key("x"), 0.into()).unwrap();
    store.put(one, &key("y"), "0#2".into()).unwrap();
    store.put(one, &key("y"), 0.into()).unwrap();
    store.put(one, &key("z"), Datum::Null).unwrap();
    store.commit(one).unwrap();
    store.begin(one).unwrap();
    store.delete(one, &key("z")).unwrap();
    store.delete(one, &key("z")).unwrap();
    store.get(one, &key("z")).unwrap();
    store.get(one, &key("x")).unwrap();
    store.commit(one).unwrap();
    let distinct = [
        r#"w("t:x","0#2") w("t:x","0#3") w("t:y","0#2") w("t:y","0#3") w("t:z","null#2")"#,
        r#"w("t:z",deleted) w("t:z","deleted#2") r("t:z","deleted#2") r("t:x","0#3")"#,
    ];
    assert_eq!(lines(&store, Values::Distinct), distinct);
    let as_written = [
        r#"w("t:x",0) w("t:x",0) w("t:y","0#2") w("t:y",0) w("t:z",-)"#,
        r#"w("t:z",-) w("t:z",-) r("t:z",-) r("t:x",0)"#,
    ];
    assert_eq!(lines(&store, Values::AsWritten), as_written);
}

#[test]
fn scans_can_be_recorded_as_such() {
    for level in LEVELS.into_iter().filter(|it| *it != Level::ReadCommitted) {
        let mut store = Store::new(level, Policy::Latest, 1).unwrap();
        store.load(&Key::new("votes", "5/1"), 1.into()).unwrap();
        let sessions = ["s1", "s2"].map(|it| store.session(it));
        for session in sessions {
            store.begin(session).unwrap();
            assert_eq!(store.scan(session, "votes", &Rows::prefix("5/")).unwrap().len(), 1);
        }
        for (session, row) in sessions.into_iter().zip(["5/2", "5/3"]) {
            let vote = store.insert(session, &Key::new("votes", row), 1.into());
            drop(vote.and_then(|()| store.commit(session).map(|_| ())));
        }
        let history = store.history_with_scans();
        assert!(history.has_scans(), "{level}");
        assert!(matches!(check(&history, level, &Budget::unlimited()), Verdict::Allowed(_)), "{level}");
        let verdict = check(&history, Level::Serializable, &Budget::unlimited());
        assert_eq!(matches!(verdict, Verdict::Allowed(_)), level == Level::Serializable, "{level}");
    }
}

/// A store that serves any version that its level allows, after these many writes to a row.
fn overwritten(store: Store, n_writes: i64) -> (Store, SessionId) {
    let mut store = store;
    store.load(&key("x"), 0.into()).unwrap();
    let writer = store.session("s1");
    (1..=n_writes).for_each(|it| overwrite(&mut store, writer, "x", it));
    let reader = store.session("s2");
    (store, reader)
}

fn read(store: &mut Store, session: SessionId) -> Option<Datum> {
    store.begin(session).unwrap();
    let read = store.get(session, &key("x")).unwrap();
    store.commit(session).unwrap();
    read
}

#[test]
fn whoever_catches_up_reads_the_newest_versions() {
    for level in LEVELS.into_iter().chain(DATABASE_LEVELS) {
        for seed in 0..8 {
            let (mut store, reader) = overwritten(Store::new(level, Policy::Random, seed).unwrap(), 20);
            store.catch_up(reader).unwrap();
            assert_eq!(read(&mut store, reader), Some(20.into()), "{level}");
        }
    }
}

#[test]
fn a_store_without_a_record_answers_alike_and_has_no_history() {
    for seed in 0..8 {
        let new = || Store::new(Level::SnapshotIsolation, Policy::Random, seed).unwrap();
        let (mut recorded, reader) = overwritten(new(), 20);
        let (mut unrecorded, same) = overwritten(new().unrecorded(), 20);
        for _ in 0..5 {
            assert_eq!(read(&mut recorded, reader), read(&mut unrecorded, same));
        }
        assert_eq!(recorded.history(Values::Distinct).txns().count(), 25);
        assert_eq!(unrecorded.history(Values::Distinct).txns().count(), 0);
    }
}
