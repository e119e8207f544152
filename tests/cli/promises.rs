//! What databases promise: recordings say where they come from, and `check` says whether the promise was kept.

use crate::tool::{Folder, SERIAL, WRITE_SKEW};
use iso_servers::{Kind, Server, StartError};

/// Two sessions read the same version, and both overwrite it.
const LOST_UPDATE: &str = "init x=0\ns1: { r(x,0) w(x,1) }\ns2: { r(x,0) w(x,2) }\n";

fn recorded(database: &str, history: &str) -> String {
    format!("# database: {database}\n{history}")
}

/// A server, or none where it is not installed, which is said. `cargo xtask test` installs it where it can, and then
/// asks for it.
#[allow(clippy::print_stderr, reason = "a test that is skipped says so")]
pub(crate) fn server(kind: Kind, settings: &[&str]) -> Option<Server> {
    match Server::start(kind, settings) {
        Ok(server) => Some(server),
        Err(error @ StartError::Missing { .. }) if std::env::var_os("ISOSCOPE_SERVERS").is_none() => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_promise_that_is_kept_ends_with_0_whatever_else_is_violated() {
    let folder = Folder::new();
    folder.write("h.history", recorded("postgres 15.18 at read-committed", LOST_UPDATE));
    let said = folder.run(&["check", "h.history"]).ends(0);
    let said = said
        .says("PostgreSQL 15.18 at READ COMMITTED promises postgres.rc (postgres-read-committed): kept\n")
        .tells("Of the levels that nobody promised: hold rc, ryw,")
        .tells("si (lost-update)");
    assert!(!said.out.contains("The core"), "what nobody promised needs no reason: {}", said.out);
    let said = folder.run(&["check", "h.history", "--level", "si"]).ends(1).says("(si): violated (lost-update)");
    assert!(!said.out.contains("promises"), "{}", said.out);
}

#[test]
fn a_promise_that_is_broken_ends_with_1_and_says_why() {
    let folder = Folder::new();
    folder.write("h.history", recorded("postgres 15.18 at repeatable-read", LOST_UPDATE));
    let said = folder.run(&["check", "h.history", "--report", "why.html"]).ends(1);
    let words = "PostgreSQL 15.18 at REPEATABLE READ promises postgres.rr (postgres-repeatable-read): broken";
    said.says(words).says("lost-update, forbidden by").says("The core");
    assert!(folder.read("why.html").contains(&format!("<h1>{words}.</h1>")));
}

#[test]
fn the_document_has_the_promise_and_every_level() {
    let folder = Folder::new();
    folder.write("h.history", recorded("mariadb 11.8.1 at repeatable-read", WRITE_SKEW));
    let said = folder.run(&["check", "h.history", "--json"]).ends(0);
    let document = &said.json()[0];
    let promise = &document["promise"];
    assert_eq!((&promise["promises"], &promise["level"]), (&"mariadb.si".into(), &"si".into()));
    assert_eq!((&promise["verdict"], &promise["isolation"][0]), (&"kept".into(), &"repeatable-read".into()));
    let levels = document["levels"].as_array().unwrap();
    assert!(levels.len() > 8 && levels.iter().any(|it| it["level"] == "ser" && it["verdict"] == "violated"));
    folder.write("h.json", &said.out);
    folder.run(&["report", "h.json"]).ends(0).says("MariaDB 11.8.1 at REPEATABLE READ promises mariadb.si");
}

#[test]
fn what_one_server_keeps_besides_is_told_apart_from_the_promise() {
    let folder = Folder::new();
    let late = "init x=0\ns1: { w(x,1) } @[1,2]\ns2: { r(x,0) } @[3,4]\n";
    folder.write("late.history", recorded("postgres 15.18 at serializable", late));
    let said = folder.run(&["check", "late.history"]).ends(0);
    said.says("postgres.ser (serializable, ser): kept")
        .tells("One server alone is known to be even strict-serializable");
    folder.write("late.history", recorded("sqlite 3.54 at serializable", late));
    folder.run(&["check", "late.history"]).ends(1).says("promises sqlite.ser (strict-serializable, sser): broken");
}

#[test]
fn sessions_of_several_levels_are_judged_by_what_all_of_them_promise() {
    let folder = Folder::new();
    folder.write("h.history", recorded("postgres 15 at read-committed, serializable", LOST_UPDATE));
    folder.run(&["check", "h.history"]).ends(0).says("at READ COMMITTED and SERIALIZABLE promises postgres.rc");
}

#[test]
fn where_it_is_not_known_what_was_promised_that_is_said() {
    let folder = Folder::new();
    folder.write("open.history", recorded("mariadb at repeatable-read", LOST_UPDATE));
    let said = folder.run(&["check", "open.history"]).ends(1);
    said.says("violated")
        .tells("mysql.rr (innodb_snapshot_isolation = off) or mariadb.si (innodb_snapshot_isolation = on)");
    folder.write("db2.history", recorded("db2 at rr", SERIAL));
    folder.run(&["check", "db2.history"]).ends(0).tells("What db2 promises is not known here");
    folder.write("bad.history", recorded("postgres 15", SERIAL));
    folder.run(&["check", "bad.history"]).ends(0).says("warning: ").tells("the database has no isolation level");
}

#[test]
fn the_header_of_json_lines_has_the_database() {
    let folder = Folder::new();
    let lines =
        "{\"s\":1,\"ops\":[[\"r\",\"x\",0],[\"w\",\"x\",1]]}\n{\"s\":2,\"ops\":[[\"r\",\"x\",0],[\"w\",\"x\",2]]}\n";
    let with = |database: &str| format!("{{\"isoscope\":1,\"initial\":0,\"database\":{database}}}\n{lines}");
    let setting = "{\"name\":\"mariadb\",\"version\":\"10.11\",\"isolation\":\"REPEATABLE READ\",\
        \"settings\":{\"innodb_snapshot_isolation\":true}}";
    folder.write("h.jsonl", with(setting));
    folder.run(&["check", "h.jsonl"]).ends(1).says("MariaDB 10.11 at REPEATABLE READ promises mariadb.si");
    folder.run(&["convert", "h.jsonl", "h.history"]).ends(0);
    folder.run(&["check", "h.history"]).ends(1).says("promises mariadb.si");
    folder.run(&["convert", "h.history", "again.jsonl"]).ends(0);
    folder.run(&["check", "again.jsonl"]).ends(1).says("promises mariadb.si");
    folder.run(&["convert", "h.jsonl", "h.plume", "--to", "plume"]).ends(0).complains("no place for the database");
    for (database, words) in [
        ("\"postgres\"", "line 1: column 38: the member \"database\" is an object"),
        ("{\"isolation\":\"rc\"}", "the database has no name"),
        ("{\"name\":\"postgres\"}", "the database has no isolation level"),
    ] {
        folder.write("bad.jsonl", with(database));
        folder.run(&["check", "bad.jsonl"]).ends(2).complains(words);
    }
}

#[test]
fn a_recording_of_sqlite_says_where_it_comes_from() {
    let folder = Folder::new();
    folder.run(&["collect", "sqlite:", "--sessions", "3", "--txns", "10", "-o", "h.jsonl"]).ends(0);
    let header = folder.read("h.jsonl").lines().next().unwrap().to_owned();
    let header: serde_json::Value = serde_json::from_str(&header).unwrap();
    assert_eq!(header["database"]["name"], "sqlite");
    assert_eq!(header["database"]["isolation"], "serializable");
    assert_eq!(header["database"]["settings"]["journal_mode"], "wal");
    folder
        .run(&["check", "h.jsonl"])
        .ends(0)
        .says("at SERIALIZABLE promises sqlite.ser (strict-serializable, sser): kept");
}

#[test]
fn sql_names_mean_what_their_database_means_by_them() {
    let folder = Folder::new();
    folder.write("plain.history", WRITE_SKEW);
    let level =
        |name: &str, database: &str| folder.run(&["check", "plain.history", "--level", name, "--database", database]);
    level("repeatable read", "postgres").ends(0).says("postgres-repeatable-read (postgres.rr): holds");
    level("RR", "MySQL").ends(0).says("mysql-repeatable-read (mysql.rr): holds");
    level("serializable", "oracle").ends(0).says("(si): holds");
    level("serializable", "postgres").ends(1).says("(ser): violated");
    level("READ COMMITTED", "pg").ends(0).says("(postgres.rc): holds");
    level("si", "postgres").ends(0).says("(si): holds");
    level("repeatable read", "mariadb")
        .ends(2)
        .complains("depends on its version or settings")
        .complains("\n  mariadb.si");
    level("rr", "db2").ends(2).complains("there is no database `db2`; choose one of postgres, mysql");
    let said = folder.run(&["check", "plain.history", "--level", "repeatable-read"]).ends(2);
    let said = said.complains("databases mean different things by `repeatable-read`; name one with --database");
    for line in ["\n  postgres.rr  PostgreSQL", "\n  mysql.rr     MySQL", "\n  adya.pl299   SQL Server"] {
        assert!(said.err.contains(line), "{line:?} in {}", said.err);
    }
    folder.run(&["check", "plain.history", "--level", "snapshot"]).ends(0).says("(si): holds");
    folder.write("known.history", recorded("mariadb 10.11 at serializable", WRITE_SKEW));
    folder.run(&["check", "known.history", "--level", "repeatable read"]).ends(0).says("(mysql.rr): holds");
    folder.run(&["check", "known.history", "--level", "snapshot_isolation"]).ends(0).says("(si): holds");
}

#[test]
fn a_hunt_expects_what_the_database_promises() {
    let said = Folder::new().run(&["hunt", "sqlite:", "--for", "1s", "-w", "probes"]).ends(0);
    said.says("is strict-serializable (sser)")
        .tells("at SERIALIZABLE promises sqlite.ser (strict-serializable, sser) (SQLite");
    let said = Folder::new().run(&["hunt", "store:cc", "--for", "1s", "-w", "probes"]).ends(0);
    said.tells("The weak store at cc promises cc (causal-consistency)");
}

#[test]
fn postgresql_keeps_its_promises() {
    let Some(server) = server(Kind::PostgreSql, &[]) else { return };
    let folder = Folder::new();
    for (isolation, promise) in
        [("read-committed", "postgres.rc"), ("repeatable-read", "postgres.rr"), ("serializable", "postgres.ser")]
    {
        for workload in ["rmw", "updates"] {
            keeps(&folder, &server.url(), isolation, workload, promise);
        }
    }
    let folder = Folder::new();
    let url = server.url();
    let hunt = ["hunt", &url, "-i", "read-committed", "--expect", "si", "-w", "probes", "--script", "found.sql"];
    folder.run(&hunt).ends(1).says("-- expect: not si (").complains("isoscope replay plays it");
    let said = folder.run(&["replay", "found.sql", &url, "--times", "3"]).ends(1);
    said.says("SHOWN AGAIN: PostgreSQL ").tells("in 3 of 3 tries").tells("Every step answered what the script says.");
    let said = folder.run(&["replay", "found.sql", &url, "-i", "serializable"]).ends(0);
    said.says("Not shown: ").tells("the script has: ok");
}

#[test]
fn mariadb_keeps_its_promises_unless_a_write_changes_nothing() {
    let Some(server) = server(Kind::MariaDb, &["loose-innodb-snapshot-isolation=OFF"]) else { return };
    let folder = Folder::new();
    let levels = [
        ("read-uncommitted", "mysql.ru"),
        ("read-committed", "mysql.rc"),
        ("repeatable-read", "mysql.rr"),
        ("serializable", "mysql.ser"),
    ];
    for (isolation, promise) in levels {
        for workload in ["rmw", "updates"] {
            keeps(&folder, &server.url(), isolation, workload, promise);
        }
    }
    let (page, url) = (include_str!("../../docs/databases/mariadb.md"), server.url());
    let script = page.split("## `snapshot-isolation`").nth(1).unwrap().split("```sql\n").nth(1).unwrap();
    folder.write("same.sql", script.split("```").next().unwrap());
    let said = folder.run(&["replay", "same.sql", &url, "-o", "same.jsonl"]);
    if said.err.contains("has no isolation level `snapshot-isolation`") {
        return;
    }
    let said = said.ends(1).says("SHOWN AGAIN: MariaDB ").tells("Every step answered what the script says.");
    said.tells("at SNAPSHOT ISOLATION promises mariadb.si (snapshot-isolation, si)");
    folder.run(&["check", "same.jsonl"]).ends(1).says("promises mariadb.si (snapshot-isolation, si): broken");
}

#[track_caller]
fn keeps(folder: &Folder, url: &str, isolation: &str, workload: &str, promise: &str) {
    let sizes = ["--sessions", "4", "--txns", "40", "--keys", "6", "-o", "h.jsonl"];
    folder.run(&[&["collect", url, "-i", isolation, "-w", workload][..], &sizes].concat());
    let said = folder.run(&["check", "h.jsonl"]).ends(0);
    let first = said.out.lines().next().unwrap_or_default();
    assert!(first.contains(&format!("promises {promise}")) && first.ends_with(": kept"), "{}", said.out);
    std::fs::remove_file(folder.path("h.jsonl")).unwrap();
}
