//! What is asked before a run: who cannot write, or has too few connections, is told so before anything is changed.

use crate::judge::opened;
use crate::server;
use iso_collect::{
    Control, Database, FinalRead, Parameters, Plan, Preview, Retries, Table, collect_history, open_in, workload,
};
use iso_servers::{Kind, PASSWORD};
use mysql::prelude::Queryable;
use std::sync::Arc;

#[track_caller]
fn refused(database: &dyn Database, sessions: usize, words: &[&str]) {
    let failure = database.inspect(&[Table::of_ints("account")], sessions).unwrap_err().to_string();
    assert!(words.iter().all(|it| failure.contains(it)), "{failure}");
}

fn preview(database: &dyn Database) -> Preview {
    database.inspect(&[Table::of_ints("account")], 4).unwrap()
}

/// A run of more sessions than there are connections.
fn too_many(database: Box<dyn Database>, sessions: usize) -> String {
    let parameters = Parameters { sessions, ..Parameters::default() };
    let plan = Plan {
        workload: workload("rw", &parameters).unwrap(),
        isolations: vec![database.isolations()[0].to_owned(); sessions],
        txns: Some(1),
        duration: None,
        seed: 1,
        retries: Retries::None,
        final_read: FinalRead::Yes,
        faults: None,
        pause: std::time::Duration::ZERO,
        origin: "{}".to_owned(),
    };
    collect_history(&Arc::from(database), &plan, &Arc::new(Control::new())).unwrap_err().to_string()
}

#[test]
fn postgresql_says_what_is_missing_before_anything_is_changed() {
    let settings = ["max_connections=20", "superuser_reserved_connections=3"];
    let Some(server) = server(Kind::PostgreSql, &settings) else { return };
    let mut admin = postgres::Client::connect(&server.url(), postgres::NoTls).unwrap();
    let sql = format!(
        "CREATE USER reader PASSWORD '{PASSWORD}'; CREATE USER writer PASSWORD '{PASSWORD}'; \
         CREATE SCHEMA \"My bench\" AUTHORIZATION writer; \
         ALTER USER reader SET default_transaction_read_only = on; CREATE USER plain PASSWORD '{PASSWORD}'"
    );
    admin.batch_execute(&sql).unwrap();
    let tables = |admin: &mut postgres::Client| {
        let sql = "SELECT count(*) FROM pg_class WHERE relname LIKE 'isoscope%'";
        admin.query_one(sql, &[]).unwrap().get::<_, i64>(0)
    };
    let as_user = |user: &str| opened(&server.url_with(user, PASSWORD));
    refused(&*as_user("reader"), 1, &["only read", "default_transaction_read_only"]);
    let words = ["user \"plain\" may not make tables", "GRANT USAGE, CREATE ON SCHEMA \"public\" TO \"plain\";"];
    refused(&*as_user("plain"), 1, &words);

    let url = server.url_with("writer", PASSWORD);
    let gone = open_in(&url, "gone").unwrap();
    refused(&*gone, 1, &["no schema \"gone\"", "CREATE SCHEMA \"gone\" AUTHORIZATION \"writer\";"]);
    let own = open_in(&url, "My bench").unwrap();
    assert!(own.describe().ends_with(", schema \"My bench\""), "{}", own.describe());
    // The administrator has one connection, which leaves 16 of those that are not reserved.
    let found = preview(&*own);
    assert_eq!(found.connections, Some((5, Some(16))));
    assert_eq!((found.created.len(), found.removed.len()), (3, 0), "{found:?}");
    let words = ["takes 16 more connections (17 at most for this user, 1 in use)", "use --sessions 15 or fewer"];
    refused(&*own, 100, &words);
    assert!(too_many(own, 16).contains("16 sessions need 17"));
    assert_eq!(tables(&mut admin), 0, "nothing was made");

    let own = open_in(&url, "My bench").unwrap();
    own.set_up(&[Table::of_ints("account")]).unwrap();
    let sql = "SELECT count(*) FROM pg_tables WHERE schemaname = 'My bench'";
    assert_eq!(admin.query_one(sql, &[]).unwrap().get::<_, i64>(0), 2);
    assert_eq!(preview(&*own).removed, ["isoscope_account", "isoscope_owner"]);
    own.tear_down().unwrap();
    assert_eq!(tables(&mut admin), 0);
}

/// Connections that nobody foresaw: others take them between the question and the run.
#[test]
fn tables_go_when_connections_run_out() {
    let settings = ["max_connections=12", "superuser_reserved_connections=0"];
    let Some(server) = server(Kind::PostgreSql, &settings) else { return };
    let database = opened(&server.url());
    database.set_up(&[Table::of_ints("account")]).unwrap();
    let mut clients = Vec::new();
    let failure = loop {
        match database.connect("serializable") {
            Ok(client) => clients.push(client),
            Err(failure) => break failure.to_string(),
        }
    };
    assert!(failure.contains("use fewer --sessions, or raise max_connections"), "{failure}");
    drop(clients);
    database.tear_down().unwrap();
    let mut admin = postgres::Client::connect(&server.url(), postgres::NoTls).unwrap();
    let sql = "SELECT count(*) FROM pg_class WHERE relname LIKE 'isoscope%'";
    assert_eq!(admin.query_one(sql, &[]).unwrap().get::<_, i64>(0), 0);
}

#[test]
fn mariadb_says_what_is_missing_before_anything_is_changed() {
    let Some(server) = server(Kind::MariaDb, &["max-connections=20"]) else { return };
    let options = mysql::Opts::from_url(&server.url().replace("mariadb:", "mysql:")).unwrap();
    let mut admin = mysql::Conn::new(options).unwrap();
    for (user, privileges) in [("reader", "SELECT"), ("writer", "ALL"), ("nobody", "USAGE")] {
        let target = if privileges == "USAGE" { "*" } else { "isoscope" };
        admin.query_drop(format!("CREATE USER '{user}'@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'")).unwrap();
        admin.query_drop(format!("GRANT {privileges} ON {target}.* TO '{user}'@'127.0.0.1'")).unwrap();
    }
    admin.query_drop("CREATE DATABASE bench").unwrap();
    let as_user = |user: &str| opened(&server.url_with(user, PASSWORD));
    let words = [
        "user reader@127.0.0.1 may not INSERT, UPDATE, DELETE, CREATE, DROP",
        "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP ON `isoscope`.* TO 'reader'@'127.0.0.1';",
    ];
    refused(&*as_user("reader"), 1, &words);
    let denied = iso_collect::open(&server.url_with("nobody", PASSWORD)).unwrap_err().to_string();
    assert!(denied.contains("Access denied") && denied.contains("ON `isoscope`.*"), "{denied}");
    let missing = open_in(&server.url(), "gone").unwrap_err().to_string();
    assert!(missing.contains("CREATE DATABASE `gone`;"), "{missing}");

    let found = preview(&*as_user("writer"));
    assert_eq!(found.connections.map(|it| it.0), Some(5));
    refused(&*as_user("writer"), 100, &["20 at most", "100 sessions need 101", "--sessions "]);
    assert!(too_many(as_user("writer"), 30).contains("30 sessions need 31"));

    let bench = open_in(&server.url(), "bench").unwrap();
    bench.set_up(&[Table::of_ints("account")]).unwrap();
    let names: Vec<String> = admin.query("SHOW TABLES IN bench").unwrap();
    assert_eq!(names, ["isoscope_account", "isoscope_owner"]);
    bench.tear_down().unwrap();

    let writer = as_user("writer");
    admin.query_drop("SET GLOBAL read_only = ON").unwrap();
    refused(&*writer, 1, &["read_only is ON", "primary"]);
    admin.query_drop("SET GLOBAL read_only = OFF").unwrap();
    let names: Vec<String> = admin.query("SHOW TABLES IN isoscope").unwrap();
    assert!(names.is_empty(), "{names:?}");
}

#[test]
fn a_hot_standby_is_refused() {
    let Some(server) = server(Kind::PostgreSql, &[]) else { return };
    let standby = server.standby().unwrap();
    refused(&*opened(&standby.url()), 1, &["is a hot standby, which only reads", "the primary"]);
}
