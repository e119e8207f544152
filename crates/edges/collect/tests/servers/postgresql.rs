//! `PostgreSQL`: what its isolation levels let through, and what it says when something is wrong.

use crate::embedded::{check_one_run_at_a_time, check_refusals, check_rows};
use crate::judge::{check_password_file, lost_update, opened, play, verdicts, write_skew};
use crate::server;
use iso_collect::{Failure, Table, open};
use iso_servers::{Kind, Server};
use iso_spec::Level::{PrefixConsistency, ReadCommitted, Serializable, SnapshotIsolation, StrictSerializable};

#[test]
fn postgresql_isolates_as_it_says() {
    let Some(mut server) = server(Kind::PostgreSql, &["deadlock_timeout=100ms"]) else { return };
    let database = opened(&server.url());
    assert!(database.describe().starts_with("PostgreSQL 1") && !database.describe().contains(iso_servers::PASSWORD));
    assert!(!format!("{database:?}").contains(iso_servers::PASSWORD));
    check_rows(&*database);
    check_one_run_at_a_time(&*database, &*opened(&server.url()));
    check_password_file(&server.url());
    check_refusals(&*opened(&server.url_of_socket()));

    let played = play(&*database, &lost_update("read-committed"), &[]);
    let levels = [ReadCommitted, PrefixConsistency, SnapshotIsolation];
    assert_eq!(verdicts(&played, &levels), "rc holds; pc holds; si violated: lost-update");
    let played = play(&*database, &lost_update("repeatable-read"), &[7]);
    assert_eq!(verdicts(&played, &[SnapshotIsolation, Serializable]), "si holds; ser holds");

    let played = play(&*database, &write_skew("repeatable-read"), &[]);
    assert_eq!(verdicts(&played, &[SnapshotIsolation, Serializable]), "si holds; ser violated: write-skew");
    let played = play(&*database, &write_skew("serializable"), &[10]);
    assert_eq!(verdicts(&played, &[Serializable, StrictSerializable]), "ser holds; sser holds");

    deadlocks_are_conflicts(&*database);
    let wrong = open(&server.url_with(iso_servers::USER, "wrong-one")).unwrap_err().to_string();
    assert!(wrong.contains("password authentication failed") && !wrong.contains("wrong-one"), "{wrong}");
    connections_are_lost_that_somebody_ends(&server);
    connections_are_lost_with_their_server(&mut server);
}

/// Each of two sessions waits for the other one.
fn deadlocks_are_conflicts(database: &dyn iso_collect::Database) {
    let script = "table account int
        row account x 0
        row account y 0
        s1 begin read-committed
        s2 begin read-committed
        s1 put account x 1
        s2 put account y 2
        s1 put account y 1
        s2 put account x 2
        s1 commit
        s2 commit";
    let script: iso_collect::script::Script = script.parse().unwrap();
    let played = script.play(database).unwrap();
    assert_eq!((played.blocked[0], played.conflicts().len()), (4, 1), "{:?}", played.answers);
    assert_eq!(verdicts(&played, &[Serializable]), "ser holds");
}

fn connections_are_lost_that_somebody_ends(server: &Server) {
    let database = opened(&server.url());
    database.set_up(&[Table::of_ints("account")]).unwrap();
    let mut client = database.connect("serializable").unwrap();
    client.begin().unwrap();
    client.put("account", "x", 1.into()).unwrap();
    let mut other = postgres::Client::connect(&server.url(), postgres::NoTls).unwrap();
    let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'isoscope'";
    other.batch_execute(sql).unwrap();
    assert!(matches!(client.get("account", "x"), Err(Failure::Lost { .. })));
    assert!(matches!(client.abort(), Err(Failure::Lost { .. })));
    database.tear_down().unwrap();
}

fn connections_are_lost_with_their_server(server: &mut Server) {
    let database = opened(&server.url());
    database.set_up(&[Table::of_ints("account")]).unwrap();
    database.load(&[("account".to_owned(), "x".to_owned(), 1.into())]).unwrap();
    let mut client = database.connect("serializable").unwrap();
    client.begin().unwrap();
    client.put("account", "x", 2.into()).unwrap();
    server.kill().unwrap();
    assert!(matches!(client.commit(), Err(Failure::Lost { .. })));
    assert!(matches!(client.begin(), Err(Failure::Lost { .. })));
    assert!(matches!(database.connect("serializable"), Err(Failure::Lost { .. })));
    server.restart().unwrap();
    let mut client = database.connect("serializable").unwrap();
    client.begin().unwrap();
    assert_eq!(client.get("account", "x").unwrap(), Some(1.into()), "what was not asked to commit never was");
    client.commit().unwrap();
}
