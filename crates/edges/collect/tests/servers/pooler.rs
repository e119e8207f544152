//! `PgBouncer` in transaction mode: everything works, and nothing is left behind in the connections that it shares out.

use crate::embedded::{check_one_run_at_a_time, check_refusals, check_rows};
use crate::judge::{lost_update, opened, play, verdicts, write_skew};
use crate::{server, there};
use iso_check::check;
use iso_collect::{Control, Database, FinalRead, Parameters, Plan, Retries, collect_history, open, workload};
use iso_evidence::{Budget, Verdict};
use iso_servers::{Kind, Pooler, Server};
use iso_spec::Level::{Serializable, SnapshotIsolation};
use std::sync::Arc;

#[test]
fn a_pooler_in_transaction_mode_changes_nothing() {
    let Some(server) = server(Kind::PostgreSql, &["deadlock_timeout=100ms"]) else { return };
    // One refuses settings of a start, the other one ignores them.
    for ignored in ["ignore_startup_parameters=extra_float_digits", "ignore_startup_parameters=options"] {
        let settings = ["pool_mode=transaction", "default_pool_size=8", ignored];
        let Some(pooler) = there(Pooler::start(&server, &settings)) else { return };
        let database = opened(&pooler.url());
        assert!(database.describe().ends_with(", through a pooler"), "{}", database.describe());
        check_rows(&*database);
        check_one_run_at_a_time(&*database, &*opened(&pooler.url()));
        check_one_run_at_a_time(&*database, &*opened(&server.url()));
        check_refusals(&*opened(&pooler.url()));

        let played = play(&*database, &lost_update("repeatable-read"), &[7]);
        assert_eq!(verdicts(&played, &[SnapshotIsolation]), "si holds");
        let played = play(&*database, &write_skew("repeatable-read"), &[]);
        assert_eq!(verdicts(&played, &[SnapshotIsolation, Serializable]), "si holds; ser violated: write-skew");
        let played = play(&*database, &write_skew("serializable"), &[10]);
        assert_eq!(verdicts(&played, &[Serializable]), "ser holds");

        let database: Arc<dyn Database> = Arc::from(database);
        for name in ["rw", "updates", "append", "ranges", "smallbank"] {
            more_sessions_than_connections(&database, name);
        }
        nothing_is_left(&server, &pooler);
    }
}

/// Twelve sessions share eight connections.
fn more_sessions_than_connections(database: &Arc<dyn Database>, name: &str) {
    let parameters = Parameters { sessions: 12, keys: 8, max_ops: 5, ..Parameters::default() };
    let plan = Plan {
        workload: workload(name, &parameters).unwrap(),
        isolations: vec!["serializable".to_owned(); parameters.sessions],
        txns: Some(15),
        duration: None,
        seed: 1,
        retries: Retries::None,
        final_read: FinalRead::Yes,
        faults: None,
        pause: std::time::Duration::ZERO,
        origin: "{}".to_owned(),
    };
    let (history, collected) = collect_history(database, &plan, &Arc::new(Control::new())).unwrap();
    assert_eq!(collected.failure, None, "{name}");
    assert!(collected.counts.committed > 20, "{name}: {collected:?}");
    let verdict = check(&history, Serializable, &Budget::unlimited());
    assert!(matches!(verdict, Verdict::Allowed(_)), "{name}: {verdict:?}");
}

/// No lock, no table, no statement and no setting is left in the connections of the pooler.
fn nothing_is_left(server: &Server, pooler: &Pooler) {
    let mut direct = postgres::Client::connect(&server.url(), postgres::NoTls).unwrap();
    let mut count = |sql: &str| direct.query_one(sql, &[]).unwrap().get::<_, i64>(0);
    assert_eq!(count("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"), 0, "locks");
    assert_eq!(count("SELECT count(*) FROM pg_class WHERE relname LIKE 'isoscope%'"), 0, "tables");
    // As many clients at once as there are connections, so that each of them is seen.
    let mut clients: Vec<postgres::Client> =
        (0..8).map(|_| postgres::Client::connect(&pooler.url(), postgres::NoTls).unwrap()).collect();
    for client in &mut clients {
        client.batch_execute("BEGIN").unwrap();
        let sql = "SELECT (SELECT count(*) FROM pg_prepared_statements WHERE statement <> '') , \
                   current_setting('lock_timeout'), current_setting('statement_timeout'), current_setting('search_path')";
        let row = client.query_typed(sql, &[]).unwrap().remove(0);
        assert_eq!(row.get::<_, String>(1), "0", "lock_timeout");
        assert_eq!(row.get::<_, String>(2), "0", "statement_timeout");
        assert_eq!(row.get::<_, String>(3), "\"$user\", public", "search_path");
        assert!(row.get::<_, i64>(0) <= 1, "statements: the one that asks, at most");
    }
}

#[test]
fn a_pooler_that_takes_no_transactions_or_options_is_refused() {
    let Some(server) = server(Kind::PostgreSql, &[]) else { return };
    let Some(pooler) = there(Pooler::start(&server, &["pool_mode=statement"])) else { return };
    let database = opened(&pooler.url());
    let failure = database.inspect(&[], 2).unwrap_err().to_string();
    assert!(failure.contains("it needs pool_mode=transaction or session"), "{failure}");
    let error = open(&format!("{}?options=-c%20work_mem%3D1MB", pooler.url())).unwrap_err().to_string();
    assert!(error.contains("takes no `options`"), "{error}");
}
