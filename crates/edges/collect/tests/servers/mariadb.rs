//! `MariaDB`: repeatable reads that are not snapshot isolation, and writes that leave no trace.

use crate::embedded::{check_one_run_at_a_time, check_refusals, check_rows};
use crate::judge::{check_password_file, lost_update, opened, play, verdicts, write_skew};
use crate::server;
use iso_collect::script::Script;
use iso_collect::{Database, Failure, Table, open};
use iso_servers::{Kind, Server};
use iso_spec::Level::{
    PrefixConsistency, ReadAtomic, ReadUncommitted, Serializable, SnapshotIsolation, StrictSerializable,
    TransactionSnapshot,
};

#[test]
fn mariadb_isolates_less_than_it_says() {
    let Some(mut server) = server(Kind::MariaDb, &["loose-innodb-snapshot-isolation=OFF"]) else { return };
    let database = opened(&server.url());
    assert!(database.describe().starts_with("MariaDB 1") && !format!("{database:?}").contains(iso_servers::PASSWORD));
    check_rows(&*database);
    check_one_run_at_a_time(&*database, &*opened(&server.url()));
    check_password_file(&server.url());
    check_refusals(&*opened(&server.url_of_socket()));

    let played = play(&*database, &lost_update("repeatable-read"), &[]);
    assert_eq!(verdicts(&played, &[PrefixConsistency, SnapshotIsolation]), "pc holds; si violated: lost-update");
    let as_documented: Script = documented(0, "repeatable-read", "repeatable-read").parse().unwrap();
    assert_eq!(as_documented, lost_update("repeatable-read").parse().unwrap());
    let played = play(&*database, &write_skew("repeatable-read"), &[]);
    assert_eq!(verdicts(&played, &[SnapshotIsolation, Serializable]), "si holds; ser violated: write-skew");
    // Both hold a shared lock, so this is a deadlock, and the second one gives way.
    let played = play(&*database, &lost_update("serializable"), &[7]);
    assert_eq!((&played.blocked[..], played.answers.len()), (&[4][..], 8));
    assert_eq!(verdicts(&played, &[Serializable, StrictSerializable]), "ser holds; sser holds");
    let played = play(&*database, &same_value_read("repeatable-read"), &[]);
    assert_eq!(verdicts(&played, &[ReadUncommitted]), "ru violated: internal");
    let played = play(&*database, &documented(3, "repeatable-read", "repeatable-read"), &[]);
    let levels = [TransactionSnapshot, ReadAtomic];
    assert_eq!(verdicts(&played, &levels), "mysql.rr holds; ra violated: phantom", "an update finds a row");
    if database.isolations().contains(&"snapshot-isolation") {
        conflicts_are_found_where_versions_are_made(&*database);
    }
    let wrong = open(&server.url_with(iso_servers::USER, "wrong-one")).unwrap_err().to_string();
    assert!(wrong.contains("Access denied") && !wrong.contains("wrong-one"), "{wrong}");
    connections_are_lost_with_their_server(&*database, &mut server);
}

/// With `innodb_snapshot_isolation`, whoever overwrites a version that it does not see is refused. A write that makes no
/// version still is not.
fn conflicts_are_found_where_versions_are_made(database: &dyn Database) {
    let played = play(database, &lost_update("snapshot-isolation"), &[7]);
    assert_eq!(verdicts(&played, &[SnapshotIsolation]), "si holds");
    let played = play(database, &same_value_read("snapshot-isolation"), &[6]);
    assert_eq!(verdicts(&played, &[SnapshotIsolation]), "si holds");
    let played = play(database, &same_value_write("snapshot-isolation"), &[]);
    assert_eq!(verdicts(&played, &[PrefixConsistency, SnapshotIsolation]), "pc holds; si violated: g-single");
}

fn connections_are_lost_with_their_server(database: &dyn Database, server: &mut Server) {
    database.set_up(&[Table::of_ints("account")]).unwrap();
    database.load(&[("account".to_owned(), "x".to_owned(), 1.into())]).unwrap();
    let mut client = database.connect("repeatable-read").unwrap();
    client.begin().unwrap();
    client.put("account", "x", 2.into()).unwrap();
    server.kill().unwrap();
    assert!(matches!(client.commit(), Err(Failure::Lost { .. })));
    assert!(matches!(database.connect("repeatable-read"), Err(Failure::Lost { .. })));
    server.restart().unwrap();
    let mut client = database.connect("repeatable-read").unwrap();
    client.begin().unwrap();
    assert_eq!(client.get("account", "x").unwrap(), Some(1.into()), "what was not asked to commit never was");
    client.commit().unwrap();
}

/// The last but one script of the page: an update to the value that the row has already makes no version, so the
/// transaction does not see its own write.
fn same_value_read(isolation: &str) -> String {
    documented(1, "repeatable-read", isolation)
}

/// The last script of the page: a write that makes no version is in conflict with nothing.
fn same_value_write(isolation: &str) -> String {
    documented(2, "snapshot-isolation", isolation)
}

/// A script of the page on databases, with another isolation level.
fn documented(nth: usize, written: &str, isolation: &str) -> String {
    let page = include_str!("../../../../../docs/databases.md");
    let script = page.split("```text\n").nth(nth + 1).unwrap().split("```").next().unwrap();
    assert!(script.contains(&format!("begin {written}\n")), "{script}");
    script.replace(&format!("begin {written}"), &format!("begin {isolation}"))
}
