//! `SQLite` and the weak store.

use crate::judge::{lost_update, opened, play, verdicts, write_skew};
use iso_collect::{Client, Database, Failure, Table, Value, list_of, open};
use iso_formats::predicate_of;
use iso_history::Locking;
use iso_spec::Level::{self, Serializable, StrictSerializable};
use std::fs;
use tempfile::TempDir;

#[test]
fn sqlite_is_strictly_serializable_under_scripts() {
    for url in ["sqlite:", "sqlite:?journal=delete"] {
        let database = opened(url);
        for script in [lost_update("serializable"), write_skew("serializable")] {
            let script: iso_collect::script::Script = script.parse().unwrap();
            let played = script.play(&*database).unwrap();
            assert!(!played.conflicts().is_empty(), "{url}: one of two must give way");
            assert_eq!(verdicts(&played, &[Serializable, StrictSerializable]), "ser holds; sser holds");
        }
    }
}

#[test]
fn an_immediate_transaction_of_sqlite_waits_for_the_one_before() {
    let script = "table account int
         row account x 0
         s1 begin serializable-immediate
         s1 get account x
         s2 begin serializable-immediate
         s1 put account x 1
         s1 commit
         s2 get account x
         s2 put account x 2
         s2 commit";
    let played = play(&*opened("sqlite:"), script, &[]);
    assert_eq!(played.blocked, [2]);
    assert_eq!(verdicts(&played, &[StrictSerializable]), "sser holds");
}

#[test]
fn the_store_is_a_database_with_the_level_of_its_address() {
    let played = play(&*opened("store:pc?policy=latest"), &lost_update("pc"), &[]);
    assert_eq!(
        verdicts(&played, &[Level::PrefixConsistency, Level::SnapshotIsolation]),
        "pc holds; si violated: lost-update"
    );
    play(&*opened("store:si?policy=latest"), &lost_update("si"), &[7]);
    let played = play(&*opened("store:si?policy=latest"), &write_skew("si"), &[]);
    assert_eq!(verdicts(&played, &[Level::SnapshotIsolation, Serializable]), "si holds; ser violated: write-skew");
}

#[test]
fn rows_lists_and_scans_are_alike_on_both() {
    for url in ["sqlite:", "store:ser"] {
        check_rows(&*opened(url));
    }
}

/// What every database must do with rows.
pub(crate) fn check_rows(database: &dyn Database) {
    let isolation = database.isolations()[0];
    database.set_up(&[Table::of_ints("n"), Table::of_texts("l")]).unwrap();
    let mut boxed = database.connect(isolation).unwrap();
    let client: &mut dyn Client = &mut *boxed;
    client.begin().unwrap();
    for (row, value) in [("1.2", 2), ("1.1", 1), ("2.1", 3), ("2.1", 4), ("2.1", 4)] {
        client.put("n", row, value.into()).unwrap();
    }
    client.append("l", "all", 7).unwrap();
    client.append("l", "all", -8).unwrap();
    client.put("l", "none", "".into()).unwrap();
    client.append("l", "none", 9).unwrap();
    assert_eq!(client.get("n", "9").unwrap(), None);
    client.commit().unwrap();
    client.begin().unwrap();
    let rows: Vec<(String, Value)> = vec![("1.1".into(), 1.into()), ("1.2".into(), 2.into())];
    assert_eq!(client.scan("n", "1.").unwrap(), rows);
    assert_eq!(client.scan("n", "").unwrap().len(), 3);
    assert_eq!(client.int("n", "2.1").unwrap(), 4);
    assert_eq!(list_of(client.get("l", "all").unwrap().as_ref()).unwrap(), [7, -8]);
    assert_eq!(list_of(client.get("l", "none").unwrap().as_ref()).unwrap(), [9]);
    client.delete("n", "2.1").unwrap();
    client.insert("n", "3", 5.into()).unwrap();
    client.abort().unwrap();
    client.begin().unwrap();
    assert_eq!(client.scan("n", "").unwrap().len(), 3, "an aborted transaction leaves nothing");
    client.commit().unwrap();
    drop(boxed);
    assert!(matches!(database.connect("chaos"), Err(Failure::Broken { message }) if message.contains(isolation)));
    database.tear_down().unwrap();
    check_statements(database);
}

/// What every database must do with predicates: what it finds is what we say that matches.
fn check_statements(database: &dyn Database) {
    database.set_up(&[Table::of_ints("n").numbered()]).unwrap();
    let rows = [(1, -3), (2, 0), (9, 5), (10, 8)];
    database.load(&rows.map(|(row, value)| ("n".to_owned(), row.to_string(), Value::Int(value)))).unwrap();
    let mut client = database.connect(database.isolations()[0]).unwrap();
    let shown = |mut found: Vec<(String, Value)>| {
        found.sort_by_key(|it| it.0.parse::<i64>().unwrap());
        found.iter().map(|(row, value)| format!("{row}={value}")).collect::<Vec<_>>().join(" ")
    };
    client.begin().unwrap();
    for (predicate, expected) in [
        ("all", "1=-3 2=0 9=5 10=8"),
        ("key in 2..10", "2=0 9=5 10=8"),
        ("key = 9 or value < 0", "1=-3 9=5"),
        ("value mod 2 = 1", "1=-3 9=5"),
        ("not (value in [0, 8] and key != 2)", "1=-3 2=0 9=5"),
        ("value > 8", ""),
    ] {
        let predicate = predicate_of(predicate).unwrap();
        for locking in [Locking::Free, Locking::ForUpdate] {
            assert_eq!(shown(client.select("n", &predicate, locking).unwrap()), expected, "{predicate}");
        }
    }
    let is = |text: &str| predicate_of(text).unwrap();
    assert_eq!(shown(client.increase("n", &is("value >= 0"), 2).unwrap()), "2=0 9=5 10=8");
    assert_eq!(shown(client.increase("n", &is("key = 1"), -1).unwrap()), "1=-3");
    assert_eq!(shown(client.increase("n", &is("key = 7"), 1).unwrap()), "");
    assert_eq!(shown(client.delete_where("n", &is("key in 3..9")).unwrap()), "9=7");
    assert_eq!(shown(client.delete_where("n", &is("key = 3")).unwrap()), "");
    client.insert("n", "3", 1.into()).unwrap();
    assert_eq!(shown(client.select("n", &is("all"), Locking::Free).unwrap()), "1=-4 2=2 3=1 10=10");
    client.commit().unwrap();
    drop(client);
    database.tear_down().unwrap();
}

#[test]
fn sqlite_refuses_and_goes_on() {
    check_refusals(&*opened("sqlite:"));
}

/// What every database that has types must do with a statement that it refuses.
pub(crate) fn check_refusals(database: &dyn Database) {
    database.set_up(&[Table::of_ints("n")]).unwrap();
    let mut client = database.connect(database.isolations()[0]).unwrap();
    client.begin().unwrap();
    assert!(matches!(client.begin(), Err(Failure::Broken { .. })), "a transaction is open");
    client.put("n", "x", 1.into()).unwrap();
    assert!(matches!(client.put("n", "x", "many".into()), Err(Failure::Broken { .. })));
    assert!(matches!(client.get("n", "x"), Err(Failure::Broken { .. })), "it must be aborted");
    assert!(matches!(client.commit(), Err(Failure::Broken { .. })), "half of it must not commit");
    client.begin().unwrap();
    assert_eq!(client.get("n", "x").unwrap(), None);
    client.insert("n", "x", 1.into()).unwrap();
    assert!(matches!(client.insert("n", "x", 1.into()), Err(Failure::Aborted { .. })), "it is there");
    client.abort().unwrap();
    assert!(matches!(client.get("n", "x"), Err(Failure::Broken { .. })), "no transaction is open");
    client.begin().unwrap();
    assert!(matches!(client.get("no_such_table", "x"), Err(Failure::Broken { .. })));
    client.abort().unwrap();
    database.tear_down().unwrap();
}

#[test]
fn tables_of_other_people_are_left_alone() {
    let folder = TempDir::new().unwrap();
    let url = format!("sqlite:{}", folder.path().join("theirs.db").display());
    let database = opened(&url);
    database.set_up(&[Table::of_ints("a"), Table::of_ints("b")]).unwrap();
    database.set_up(&[Table::of_ints("b")]).unwrap();
    database.load(&[("b".to_owned(), "x".to_owned(), 1.into())]).unwrap();
    database.tear_down().unwrap();
    database.tear_down().unwrap();
    // A table of the same name that no set-up made: its list is gone, so nobody knows whose it is.
    let theirs = rusqlite::Connection::open(folder.path().join("theirs.db")).unwrap();
    theirs.execute_batch("CREATE TABLE isoscope_b (x); INSERT INTO isoscope_b VALUES (1)").unwrap();
    database.set_up(&[Table::of_ints("a")]).unwrap();
    database.tear_down().unwrap();
    let refused = database.set_up(&[Table::of_ints("a"), Table::of_ints("b")]).unwrap_err().to_string();
    assert_eq!(refused, "there is a table isoscope_b that isoscope did not make; it is left as it is");
    let count = |sql: &str| theirs.query_row(sql, [], |it| it.get::<_, i64>(0)).unwrap();
    assert_eq!(count("SELECT count(*) FROM isoscope_b"), 1);
    assert_eq!(count("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'isoscope%'"), 1, "nothing else is left");
    theirs.execute_batch("CREATE TABLE isoscope_owner (theirs)").unwrap();
    let refused = database.set_up(&[Table::of_ints("a")]).unwrap_err().to_string();
    assert!(refused.contains("the table isoscope_owner is not isoscope's"), "{refused}");
}

#[test]
fn a_file_has_one_run_at_a_time() {
    let folder = TempDir::new().unwrap();
    let url = format!("sqlite:{}", folder.path().join("shared.db").display());
    check_one_run_at_a_time(&*opened(&url), &*opened(&url));
    let mut left: Vec<String> =
        fs::read_dir(&folder).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    left.sort();
    assert!(left.iter().all(|it| !it.contains("lock")), "{left:?}");
}

/// Two handles on one database: the second must not drop the first one's tables.
pub(crate) fn check_one_run_at_a_time(first: &dyn Database, second: &dyn Database) {
    let tables = [Table::of_ints("n")];
    first.set_up(&tables).unwrap();
    first.set_up(&tables).unwrap();
    first.load(&[("n".to_owned(), "x".to_owned(), 7.into())]).unwrap();
    let refused = second.set_up(&tables).unwrap_err().to_string();
    assert!(refused.starts_with("another run of isoscope is using ") && refused.contains("wait"), "{refused}");
    let mut client = first.connect(first.isolations()[0]).unwrap();
    client.begin().unwrap();
    assert_eq!(client.get("n", "x").unwrap().map(|it| it.to_string()), Some("7".to_owned()));
    client.commit().unwrap();
    drop(client);
    first.tear_down().unwrap();
    second.set_up(&tables).unwrap();
    assert!(first.set_up(&tables).is_err(), "now it is the other one's turn");
    second.tear_down().unwrap();
}

#[test]
fn a_file_that_cannot_be_written_is_refused() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("mine.db");
    let url = format!("sqlite:{}", file.display());
    opened(&url).set_up(&[Table::of_ints("n")]).unwrap();
    let mut permissions = file.metadata().unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&file, permissions).unwrap();
    if fs::OpenOptions::new().append(true).open(&file).is_ok() {
        eprintln!("skipped: the superuser may write every file");
        return;
    }
    let error = open(&url).unwrap_err().to_string();
    assert!(error.contains("the file cannot be written"), "{error}");
}

#[test]
fn an_address_that_cannot_be_opened_says_why() {
    let folder = TempDir::new().unwrap();
    let no_database = folder.path().join("text.db");
    fs::write(&no_database, "this is a long text and certainly no database of any kind").unwrap();
    let passfile = folder.path().join("gone");
    for (url, words) in [
        (
            "oracle://localhost/x".to_owned(),
            "no driver for `oracle:`; the address of a database begins with one of postgres:",
        ),
        ("test.db".to_owned(), "begins with none of postgres:"),
        ("store:xx".to_owned(), "its level is one of rc, ra, cc, pc, psi, si, ser"),
        ("store:si?policy=best".to_owned(), "latest, random or adversarial"),
        ("store:si?sed=1".to_owned(), "the option `sed` of the address is not known; known: policy, seed"),
        ("sqlite::memory:".to_owned(), "one connection only"),
        (format!("sqlite:{}/no/such/folder.db", folder.path().display()), "unable to open database file"),
        (format!("sqlite:{}", no_database.display()), "file is not a database"),
        ("postgres://me:hush@127.0.0.1:1/x".to_owned(), "cannot connect to PostgreSQL at 127.0.0.1:1/x: "),
        ("postgres://me:hush@127.0.0.1:1/x".to_owned(), "Connection refused"),
        ("mysql://me:hush@127.0.0.1:1/x".to_owned(), "Connection refused"),
        ("postgres://me:hush@host.invalid/x".to_owned(), "cannot connect to PostgreSQL at host.invalid:5432/x: "),
        ("mysql://me:hush@host.invalid/x".to_owned(), "cannot connect to MySQL at host.invalid:3306/x: "),
        ("mysql://me:hush@127.0.0.1".to_owned(), "names no database"),
        ("postgres://me@127.0.0.1:1/x?sslmode=on".to_owned(), "it is disable, allow, prefer, require"),
        ("postgres://me@127.0.0.1:1/x?sslmode=verify-ca".to_owned(), "give sslrootcert=FILE"),
        ("postgres://me@127.0.0.1:1/x?sslrootcert=system&sslmode=require".to_owned(), "take sslmode=verify-full"),
        ("postgres://me@127.0.0.1:1/x?sslmode=verify-full&sslrootcert=/no/file".to_owned(), "in /no/file: "),
        ("mysql://me@127.0.0.1:1/x?ssl-mode=VERIFY_CA".to_owned(), "take ssl-mode=VERIFY_IDENTITY"),
        ("mysql://me@127.0.0.1:1/x?ssl-mode=VERIFY_CA&ssl-ca=/no/file".to_owned(), "in /no/file: "),
        ("mysql://me@127.0.0.1:1/x?ssl-mode=REQUIRED&ssl-ca=/no/file".to_owned(), "in /no/file: "),
        (format!("postgres://me@127.0.0.1:1/x?passfile={}", passfile.display()), "cannot read the password from"),
    ] {
        let error = open(&url).unwrap_err();
        assert!(error.to_string().contains(words), "{url}: {error}");
        assert!(!format!("{error} {error:?}").contains("hush"), "{url}: {error}");
    }
}
