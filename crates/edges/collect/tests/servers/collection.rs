//! Histories of real servers, from many sessions at once: each level holds that the server promises, even if it dies.

use crate::server;
use iso_check::check;
use iso_collect::{
    Collected, Control, Database, FinalRead, Parameters, Plan, Retries, collect_history, open, shares, workload,
};
use iso_evidence::{Anomaly, Budget, Verdict};
use iso_history::History;
use iso_servers::Kind;
use iso_spec::Level;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

fn plan(name: &str, isolation: &str) -> Plan {
    let parameters = Parameters { sessions: 4, keys: 8, max_ops: 5, ..Parameters::default() };
    Plan {
        workload: workload(name, &parameters).unwrap(),
        isolations: vec![isolation.to_owned(); parameters.sessions],
        txns: Some(25),
        duration: None,
        seed: 1,
        retries: Retries::UpTo(3),
        final_read: FinalRead::Yes,
        faults: None,
        pause: Duration::ZERO,
        origin: "{}".to_owned(),
    }
}

fn run(database: &Arc<dyn Database>, plan: &Plan) -> (History, Collected) {
    let (history, collected) = collect_history(database, plan, &Arc::new(Control::new())).unwrap();
    assert_eq!(collected.failure, None, "{plan:?}");
    (history, collected)
}

#[track_caller]
fn holds(history: &History, level: Level, what: &str) {
    let verdict = check(history, level, &Budget::unlimited());
    assert!(matches!(verdict, Verdict::Allowed(_)), "{what} at {level}: {verdict:?}");
}

fn every_workload_is_serializable(database: &Arc<dyn Database>) {
    for name in
        ["rw", "rmw", "updates", "append", "duplicates", "bank", "ranges", "unique", "smallbank", "voter", "courseware"]
    {
        let (history, collected) = run(database, &plan(name, "serializable"));
        assert!(collected.counts.committed > 20, "{name}: {collected:?}");
        assert!(collected.assertions.iter().all(|it| it.holds), "{name}: {:?}", collected.assertions);
        holds(&history, Level::Serializable, name);
    }
}

fn a_mix_is_as_weak_as_its_weakest(database: &Arc<dyn Database>) {
    let mut plan = plan("rmw", "serializable");
    plan.isolations = shares(&[("read-committed".to_owned(), 0.5), ("serializable".to_owned(), 0.5)], 4);
    let (history, _) = run(database, &plan);
    holds(&history, Level::ReadCommitted, "a mix");
}

/// At READ COMMITTED, `UPDATE .. SET value = value + 1` loses nothing.
fn updates_are_lost_where_a_statement_reads_and_another_one_writes(database: &Arc<dyn Database>) {
    let contended = |name: &str, max_ops: usize| {
        let parameters = Parameters { sessions: 4, keys: 2, max_ops, reads: 0.1, ..Parameters::default() };
        Plan { workload: workload(name, &parameters).unwrap(), txns: Some(100), ..plan(name, "read-committed") }
    };
    for name in ["updates", "ranges", "unique", "bank"] {
        let (history, collected) = run(database, &contended(name, 3));
        assert!(history.has_statements() && collected.counts.committed > 100, "{collected:?}");
        holds(&history, Level::StatementSnapshots, name);
    }
    let (history, _) = run(database, &contended("updates", 1));
    holds(&history, Level::Serializable, "one update is a transaction");
    let (history, _) = run(database, &contended("rmw", 1));
    holds(&history, Level::StatementSnapshots, "rmw");
    let verdict = check(&history, Level::SnapshotIsolation, &Budget::unlimited());
    let Verdict::Forbidden(refutation) = verdict else { panic!("some update is lost: {verdict:?}") };
    assert_eq!(refutation.anomalies, [Anomaly::LostUpdate]);
}

#[test]
fn postgresql_keeps_its_levels_with_many_sessions() {
    let Some(mut server) = server(Kind::PostgreSql, &["deadlock_timeout=100ms"]) else { return };
    let database: Arc<dyn Database> = Arc::from(open(&server.url()).unwrap());
    every_workload_is_serializable(&database);
    a_mix_is_as_weak_as_its_weakest(&database);
    for (isolation, level) in [("read-committed", Level::ReadCommitted), ("repeatable-read", Level::SnapshotIsolation)]
    {
        let (history, _) = run(&database, &plan("rmw", isolation));
        holds(&history, level, isolation);
    }
    updates_are_lost_where_a_statement_reads_and_another_one_writes(&database);

    let mut long = plan("rw", "serializable");
    (long.txns, long.duration) = (None, Some(Duration::from_secs(4)));
    let collector = thread::spawn(move || run(&database, &long));
    thread::sleep(Duration::from_millis(1500));
    server.kill().unwrap();
    server.restart().unwrap();
    let (history, collected) = collector.join().unwrap();
    assert!(collected.counts.reconnects >= 4, "{collected:?}");
    assert!(history.n_sessions() > 5, "{collected:?}");
    holds(&history, Level::Serializable, "a server that died");
}

#[test]
fn mariadb_keeps_its_levels_with_many_sessions() {
    let Some(server) = server(Kind::MariaDb, &[]) else { return };
    let database: Arc<dyn Database> = Arc::from(open(&server.url()).unwrap());
    every_workload_is_serializable(&database);
    a_mix_is_as_weak_as_its_weakest(&database);
}
