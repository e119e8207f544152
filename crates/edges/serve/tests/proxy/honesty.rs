//! What clients wrote down by themselves is what was recorded: nothing is missing, and nothing is invented.

use crate::stage::{Stage, client, psql, said, server};
use iso_answer::check as decide;
use iso_answer::check::Answer;
use iso_evidence::Budget;
use iso_serve::Start;
use iso_spec::Level;
use serde_json::{Value, json};
use std::path::Path;

/// Debian's, which knows Debian's packages.
pub(crate) const PYTHON: &str = "/usr/bin/python3";

/// Is the driver installed? If not, that is said; `cargo xtask test` installs it where it can, and then asks for it.
pub(crate) fn has_psycopg() -> bool {
    let output = std::process::Command::new(PYTHON).args(["-c", "import psycopg"]).output();
    let is_there = output.is_ok_and(|it| it.status.success());
    assert!(is_there || std::env::var_os("ISOSCOPE_SERVERS").is_none(), "python3-psycopg is not installed");
    if !is_there {
        eprintln!("skipped: python3-psycopg is not installed");
    }
    is_there
}

#[test]
fn what_clients_saw_is_what_was_recorded() {
    let Some(server) = server() else { return };
    if !has_psycopg() {
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/proxy/honesty.py");
    let levels = [
        ("read-committed", Level::StatementSnapshots),
        ("repeatable-read", Level::SnapshotIsolation),
        ("serializable", Level::Serializable),
    ];
    for (seed, (name, level)) in levels.into_iter().enumerate() {
        psql(
            server.port(),
            "DROP TABLE IF EXISTS accounts; CREATE TABLE accounts (id int PRIMARY KEY, owner text, balance bigint);
             INSERT INTO accounts SELECT n, CASE n % 2 WHEN 0 THEN 'ann' ELSE 'bob' END, 100 FROM generate_series(0, 5) n",
        );
        let stage = Stage::new(&server, Start::AtOnce);
        let arguments = [script.to_str().unwrap(), name, &seed.to_string()];
        let logs = said(client(PYTHON, stage.port(), &arguments));
        let (recorded, lines, history) = stage.end();
        assert_eq!((recorded.tally.n_missing(), recorded.tally.outside), (0, 0), "{:?}", recorded.tally);
        for (nth, log) in logs.lines().enumerate() {
            compare(&serde_json::from_str(log).unwrap(), &lines, &format!("s{}", nth + 1));
        }
        assert!(recorded.tally.committed > 40 && recorded.tally.aborted > 5, "{:?}", recorded.tally);
        let answer = decide(&history, level, &Budget::unlimited());
        assert!(matches!(answer, Answer::Allowed(_)), "{name}: {answer:?}");
    }
}

/// Compares what a client wrote down with the lines of its session.
pub(crate) fn compare(log: &Value, lines: &str, session: &str) {
    let is_of_session = |it: &Value| it["s"] == session;
    let recorded: Vec<Value> =
        lines.lines().map(|it| serde_json::from_str(it).unwrap()).filter(is_of_session).collect();
    let expected: Vec<&Value> = log.as_array().unwrap().iter().filter(|it| it["ops"] != json!([])).collect();
    assert_eq!(recorded.len(), expected.len(), "{session}\n{recorded:?}\n{expected:?}");
    for (recorded, expected) in recorded.iter().zip(expected) {
        assert_eq!(recorded["status"], expected["status"], "{recorded}");
        let seen: Vec<Value> = recorded["ops"].as_array().unwrap().iter().map(simplified).collect();
        let ops = expected["ops"].as_array().unwrap();
        assert_eq!(seen.len(), ops.len(), "{recorded}\n{expected}");
        for (seen, op) in seen.iter().zip(ops) {
            if let Some(rows) = seen.as_array().filter(|it| it[0] == "looked at").map(|it| &it[1]) {
                compare_rows(rows, op);
                continue;
            }
            // A client that adds up sees how many there were and the sum.
            let as_total = || {
                let rows = seen[1].as_array().unwrap();
                let sum: i64 = rows.iter().map(|it| it[1]["balance"].as_i64().unwrap()).sum();
                json!(["total", rows.len(), sum])
            };
            // A statement that found nothing to delete looks like any scan.
            if (op, seen) == (&json!(["deleted", []]), &json!(["scan", []])) {
                continue;
            }
            let shown = if op[0] == "total" { as_total() } else { seen.clone() };
            assert_eq!(sorted(shown), sorted(op.clone()), "{recorded}\n{expected}");
        }
    }
}

/// Where all rows are recorded that a statement looked at, those that the client saw are among them.
fn compare_rows(rows: &Value, op: &Value) {
    let rows: Vec<&Value> = rows.as_array().unwrap().iter().filter(|it| !it[2].is_null()).collect();
    if op[0] == "total" {
        let sum: i64 = rows.iter().map(|it| it[2]["balance"].as_i64().unwrap()).sum();
        assert_eq!(*op, json!(["total", rows.len(), sum]));
        return;
    }
    for row in op[1].as_array().unwrap() {
        assert!(rows.iter().any(|it| it[1] == row[0] && it[2] == row[1]), "{row}");
    }
}

/// The order of the rows of a scan says nothing.
fn sorted(mut op: Value) -> Value {
    if op[0] == "scan"
        && let Some(rows) = op[1].as_array_mut()
    {
        rows.sort_by_key(|it| it[0].as_str().map(str::to_owned));
    }
    op
}

/// An operation of the history in the words of the client.
fn simplified(op: &Value) -> Value {
    match op[0].as_str().unwrap() {
        "u" => json!(["w", op[1], op[3]]),
        "scan" => json!(["scan", op[3]]),
        "stmt" => {
            let inner = op[1].as_array().unwrap();
            // An update as papers read it.
            if let [read, write] = inner.as_slice()
                && (&read[0], &write[0], &read[1]) == (&json!("r"), &json!("w"), &write[1])
            {
                return simplified(write);
            }
            if inner.len() > 1 && inner.iter().all(|it| it[0] == "r") {
                return json!(["looked at", inner]);
            }
            let is_delete = inner[0][0] == "scan";
            if is_delete {
                let mut keys: Vec<&str> = inner[1..].iter().map(|it| it[1].as_str().unwrap()).collect();
                keys.sort_unstable();
                return json!(["deleted", keys]);
            }
            simplified(&inner[0])
        }
        _ => op.clone(),
    }
}
