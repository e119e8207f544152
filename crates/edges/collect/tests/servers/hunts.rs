//! Hunts on real servers: what they find, and how small it is.

use crate::server;
use iso_collect::hunt::{Finding, Hunt, Hunted, Probes, Until, hunt};
use iso_collect::script::Script;
use iso_collect::{Control, Database, open};
use iso_servers::Kind;
use iso_spec::Level;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

fn hunted(url: &str, isolation: &str, expect: Level, until: Until) -> Hunted {
    let database: Arc<dyn Database> = Arc::from(open(url).unwrap());
    let asked = Hunt {
        isolation: isolation.to_owned(),
        expect,
        duration: Duration::from_secs(12),
        seed: 1,
        probes: Probes::Yes,
        workloads: Vec::new(),
        until,
        faults: None,
    };
    hunt(&database, &asked, &Arc::new(Control::new()), &mut |_| {}).unwrap()
}

/// The finding of this name, whose script shows it every time with so many transactions.
fn finding<'h>(hunted: &'h Hunted, anomaly: &str, n_txns: usize) -> &'h Finding {
    let found = hunted.findings.iter().find(|it| it.anomalies() == [anomaly]);
    let found = found.unwrap_or_else(|| panic!("no {anomaly} in {:?}", hunted.findings));
    let reproduction = found.reproduction.as_ref().unwrap();
    assert_eq!((reproduction.tries, reproduction.shown), (5, 5), "{}", reproduction.script);
    assert_eq!(reproduction.played.history.n_txns() - 1, n_txns, "{}", reproduction.script);
    found
}

#[test]
fn mariadb_loses_updates_and_does_not_see_its_own_writes() {
    let Some(server) = server(Kind::MariaDb, &["loose-innodb-snapshot-isolation=OFF"]) else { return };
    let found = hunted(&server.url(), "repeatable-read", Level::SnapshotIsolation, Until::TimeIsOver);
    finding(&found, "lost-update", 2);
    // An update finds a row that the snapshot does not have.
    let found = hunted(&server.url(), "repeatable-read", Level::ReadAtomic, Until::TimeIsOver);
    let script = finding(&found, "phantom", 2).reproduction.as_ref().unwrap().script.to_string();
    assert!(script.contains("s1 scan kv\n") && script.contains("s1 add kv 1 where all\n"), "{script}");
    // MDEV-26642: even a level that promises next to nothing forbids that.
    let found = hunted(&server.url(), "repeatable-read", Level::ReadCommitted, Until::FirstFound);
    let reproduction = finding(&found, "internal", 2).reproduction.as_ref().unwrap();
    let sql = reproduction.script.sql_with_answers(iso_collect::Dialect::MySql, &reproduction.played).unwrap();
    assert!(sql.contains("/* 6 */ UPDATE isoscope_kv SET value = 1 WHERE id = 'x'; -- ok\n"), "{sql}");
    assert!(sql.contains("/* 7 */ SELECT value FROM isoscope_kv WHERE id = 'x'; -- 0\n"), "{sql}");
}

#[test]
fn mariadb_keeps_its_other_levels() {
    let Some(server) = server(Kind::MariaDb, &[]) else { return };
    for (isolation, level) in [("read-committed", Level::StatementSnapshots), ("serializable", Level::Serializable)] {
        let quiet = hunted(&server.url(), isolation, level, Until::FirstFound);
        assert!(quiet.findings.is_empty() && quiet.tally.scripts >= 10, "{quiet:?}");
    }
}

#[test]
fn postgresql_is_serializable_where_it_says_so_and_a_snapshot_below() {
    let Some(server) = server(Kind::PostgreSql, &[]) else { return };
    let found = hunted(&server.url(), "repeatable-read", Level::Serializable, Until::FirstFound);
    finding(&found, "write-skew", 2);
    let found = hunted(&server.url(), "read-committed", Level::SnapshotIsolation, Until::FirstFound);
    finding(&found, "lost-update", 2);
    // Two sessions scan, and each inserts what the other one would have seen.
    let found = hunted(&server.url(), "repeatable-read", Level::Serializable, Until::TimeIsOver);
    let script = finding(&found, "g2", 2).reproduction.as_ref().unwrap().script.to_string();
    assert_eq!((script.matches(" scan ").count(), script.matches(" insert ").count()), (2, 2), "{script}");
    for (isolation, level) in [
        ("read-committed", Level::StatementSnapshots),
        ("repeatable-read", Level::SnapshotIsolation),
        ("serializable", Level::Serializable),
    ] {
        let quiet = hunted(&server.url(), isolation, level, Until::FirstFound);
        assert!(quiet.findings.is_empty() && quiet.tally.scripts >= 10, "{quiet:?}");
    }
}

#[test]
fn servers_say_who_waits_for_a_lock() {
    let script = "table kv int\nrow kv x 0\ns1 begin read-committed\ns2 begin read-committed\ns1 put kv x 1\n\
                  s2 put kv x 2\ns1 get kv x\ns1 commit\ns2 commit";
    let script: Script = script.parse().unwrap();
    for kind in [Kind::PostgreSql, Kind::MariaDb] {
        let Some(server) = server(kind, &[]) else { continue };
        let database = open(&server.url()).unwrap();
        let mut watcher = database.watcher().unwrap();
        assert!(watcher.waiting().unwrap().is_empty(), "{kind}");
        let played = thread::scope(|scope| {
            let plays = scope.spawn(|| script.play(&*database).unwrap());
            let mut seen = 0;
            while !plays.is_finished() {
                seen = seen.max(watcher.waiting().unwrap().len());
            }
            assert_eq!(seen, 1, "{kind}");
            plays.join().unwrap()
        });
        assert_eq!(played.blocked, [3], "{kind}: {:?}", played.answers);
        assert!(played.conflicts().is_empty(), "{kind}: {:?}", played.answers);
    }
}
