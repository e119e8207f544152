//! The doors of real servers, as people on a command line find them: variables, files, dry runs, refusals.

use crate::tool::{Folder, Said, said, tool};
use iso_servers::{Kind, PASSWORD, Server, StartError, USER};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

/// A server, or none where it is not installed, which is said.
#[allow(clippy::print_stderr, reason = "a test that is skipped says so")]
fn server(kind: Kind, settings: &[&str]) -> Option<Server> {
    match Server::start(kind, settings) {
        Ok(server) => Some(server),
        Err(error @ StartError::Missing { .. }) if std::env::var_os("ISOSCOPE_SERVERS").is_none() => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Runs with variables, and with the folder as home. No output ever has the password.
#[track_caller]
fn run(folder: &Folder, variables: &[(&str, &str)], arguments: &[&str]) -> Said {
    let mut command = tool(&folder.path("."));
    command.env("HOME", folder.path("."));
    let said = said(command.args(arguments).envs(variables.iter().copied()));
    assert!(!format!("{} {}", said.out, said.err).contains(PASSWORD), "{said:#?}");
    said
}

fn private(folder: &Folder, name: &str, text: &str) {
    folder.write(name, text);
    fs::set_permissions(folder.path(name), Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn postgresql_is_found_by_variables_services_and_password_files() {
    let Some(server) = server(Kind::PostgreSql, &["max_connections=20"]) else { return };
    let folder = Folder::new();
    let port = server.port().to_string();
    let place = [("PGHOST", "127.0.0.1"), ("PGPORT", port.as_str()), ("PGUSER", USER), ("PGDATABASE", "postgres")];
    let collect = ["collect", "postgres:", "-i", "serializable", "--sessions", "3", "--txns", "20", "-o", "h.jsonl"];

    run(&folder, &place, &collect).ends(2).complains("PGPASSWORD or a line of ~/.pgpass");
    let dry =
        run(&folder, &[&place[..], &[("PGPASSWORD", PASSWORD)]].concat(), &[&collect[..], &["--dry-run"]].concat());
    let dry = dry.ends(0).says("BEGIN ISOLATION LEVEL SERIALIZABLE").says("CREATE TABLE isoscope_owner");
    dry.says("4 at once, for 3 sessions; the server takes ").says("Nothing was changed.");
    assert!(!folder.path("h.jsonl").exists(), "nothing is written, either");

    private(&folder, ".pgpass", &format!("127.0.0.1:*:*:{USER}:{PASSWORD}\n"));
    let answer = run(&folder, &place, &[&collect[..], &["--json"]].concat()).ends(0).json().remove(0);
    let aborts: u64 = answer["aborts"].as_object().unwrap().values().map(|it| it.as_u64().unwrap()).sum();
    assert_eq!(answer["history"]["aborted"].as_u64(), Some(aborts), "{answer}");
    assert!(!folder.read("h.jsonl").contains(PASSWORD));

    run(&folder, &place, &collect).ends(2).complains("h.jsonl exists; overwrite it with --force");
    run(&folder, &place, &[&collect[..], &["--force"]].concat()).ends(0);
    fs::set_permissions(folder.path(".pgpass"), Permissions::from_mode(0o644)).unwrap();
    run(&folder, &place, &[&collect[..], &["--force"]].concat()).ends(2).complains("chmod 600");
    fs::remove_file(folder.path(".pgpass")).unwrap();

    let service = format!("[mine]\nhost=127.0.0.1\nport={port}\nuser={USER}\npassword={PASSWORD}\ndbname=postgres\n");
    private(&folder, "services", &service);
    let variables = [("PGSERVICE", "mine"), ("PGSERVICEFILE", "services"), ("PGUSER", "nobody")];
    run(&folder, &variables, &[&collect[..], &["--force"]].concat()).ends(0);
    let hunt = ["hunt", "postgres:", "-i", "read-committed", "--expect", "si", "-w", "probes"];
    run(&folder, &variables, &[&hunt[..], &["--dry-run"]].concat())
        .ends(0)
        .says("14 scripts")
        .says("Nothing was changed.");
    let wrong = [&place[..], &[("PGPASSWORD", "wrong"), ("PGSSLMODE", "on")]].concat();
    run(&folder, &wrong, &[&collect[..], &["--force"]].concat())
        .ends(2)
        .complains("the variable `PGSSLMODE` cannot be `on`");

    let many = ["collect", "postgres:", "--sessions", "100", "-o", "many.jsonl"];
    let many = run(&folder, &variables, &many).ends(2);
    many.complains("100 sessions need 101").complains("or fewer, or raise max_connections");
    assert!(!folder.path("many.jsonl").exists());
}

#[test]
fn mariadb_is_found_by_option_files_and_variables() {
    let Some(server) = server(Kind::MariaDb, &[]) else { return };
    let folder = Folder::new();
    let port = server.port().to_string();
    let collect =
        ["collect", "mysql:", "--sessions", "3", "--txns", "20", "-w", "updates", "--keys", "2", "-o", "h.jsonl"];
    private(
        &folder,
        ".my.cnf",
        &format!("[client]\nuser={USER}\nhost=127.0.0.1\ndatabase=isoscope\npassword=\"{PASSWORD}\"\n"),
    );
    let variables = [("MYSQL_TCP_PORT", port.as_str())];
    run(&folder, &variables, &[&collect[..], &["--dry-run"]].concat()).ends(0).says("GET_LOCK").says("ENGINE=InnoDB");
    run(&folder, &variables, &collect).ends(0);
    fs::remove_file(folder.path(".my.cnf")).unwrap();
    let url = format!("mysql://{USER}@127.0.0.1:{port}/isoscope");
    let wrong = ["collect", &url, "-o", "h.jsonl", "--force"];
    run(&folder, &[("MYSQL_PWD", "wrong")], &wrong).ends(2).complains("Access denied");
    run(&folder, &[("MYSQL_PWD", PASSWORD)], &[&wrong[..], &["--txns", "5", "--schema", "isoscope"]].concat()).ends(0);
    run(&folder, &[("MYSQL_PWD", PASSWORD)], &[&wrong[..], &["--schema", "gone"]].concat())
        .ends(2)
        .complains("CREATE DATABASE `gone`;");
}

#[test]
fn a_dry_run_makes_no_file_and_other_databases_have_no_schemas() {
    let folder = Folder::new();
    let run = ["collect", "sqlite:new.db?journal=wal", "-o", "h.jsonl"];
    folder
        .run(&[&run[..], &["--dry-run"]].concat())
        .ends(0)
        .says("CREATE TABLE isoscope_register")
        .says("Nothing was changed.");
    assert!(!folder.path("new.db").exists() && !folder.path("h.jsonl").exists());
    folder.run(&[&run[..], &["--schema", "x"]].concat()).ends(2).complains("`sqlite:` has no schemas");
    folder.run(&["collect", "store:si", "-o", "h.jsonl", "--dry-run"]).ends(0).says("the workload rw");
    folder.run(&["collect", "store:si", "--dry-run"]).ends(0).says("the workload rw");
    folder.run(&["collect", "store:si"]).ends(2).complains("--output <FILE.jsonl>");
}

#[test]
fn isolation_levels_have_short_names() {
    let folder = Folder::new();
    for name in ["ser", "SERIALIZABLE", "serializable"] {
        folder.run(&["collect", "sqlite:", "-i", name, "--dry-run"]).ends(0).says("serializable: BEGIN DEFERRED");
    }
    folder.run(&["collect", "sqlite:", "-i", "rr", "--dry-run"]).ends(2).complains("has no isolation level `rr`");
}

#[test]
fn a_history_that_is_there_is_kept_without_force() {
    let folder = Folder::with_histories();
    let before = "not to be lost";
    let verbs: [&[&str]; 5] = [
        &["collect", "store:ser", "--txns", "2", "-o", "h.jsonl"],
        &["store", "run", "voter", "--level", "cc", "-o", "h.jsonl"],
        &["generate", "blindw-rw", "--txns", "20", "-o", "h.jsonl"],
        &["separate", "--allow", "cc", "--forbid", "pc", "-o", "h.history"],
        &["convert", "skew.history", "h.jsonl"],
    ];
    for verb in verbs {
        let file = *verb.last().unwrap();
        folder.write(file, before);
        folder.run(verb).ends(2).complains(&format!("{file} exists; overwrite it with --force"));
        assert_eq!(folder.read(file), before, "{verb:?}");
        let said = folder.run(&[verb, &["--force"]].concat());
        assert!(said.code < 2 && folder.read(file) != before, "{verb:?}: {said:?}");
    }
}
