//! What becomes of statements.

use crate::honesty::{PYTHON, has_psycopg};
use crate::stage::{Stage, client, psql, said, server, text_of};
use iso_serve::Start;
use iso_servers::Server;

const SCHEMA: &str = "
DROP TABLE IF EXISTS accounts, towns, notes;
CREATE TABLE towns (name text PRIMARY KEY, people int);
CREATE TABLE accounts (id int PRIMARY KEY, owner text, balance int);
CREATE TABLE notes (words text);
INSERT INTO accounts VALUES (1, 'ann', 5), (2, 'bob', 50), (3, 'cid', 500);
INSERT INTO towns VALUES ('Ulm', 7)";

/// Runs SQL through a recording, and gives the history and what is missing.
fn recorded(server: &Server, sql: &[&str]) -> (String, Vec<String>) {
    psql(server.port(), SCHEMA);
    let stage = Stage::new(server, Start::AtOnce);
    for one in sql {
        // What fails is part of some tests.
        client("psql", stage.port(), &["-XqAt", "-c", one]).output().unwrap();
    }
    let (recorded, _, history) = stage.end();
    assert_eq!(recorded.failure, None);
    let left = psql(server.port(), "SELECT count(*) FROM pg_namespace WHERE nspname = 'isoscope_recording'");
    assert_eq!(left.trim(), "0");
    let missing = recorded.tally.missing.iter().map(|(why, (n, _))| format!("{n} {why}"));
    (text_of(&history), missing.collect())
}

#[test]
fn statements_become_operations() {
    let Some(server) = server() else { return };
    for (sql, expected) in CASES {
        let (text, missing) = recorded(&server, sql);
        let lines: Vec<&str> = text.lines().filter(|it| !it.starts_with("init")).map(str::trim).collect();
        assert_eq!(lines, *expected, "{sql:?}\n{text}");
        assert!(missing.is_empty(), "{sql:?}: {missing:?}");
    }
}

#[test]
fn a_row_that_is_written_as_it_was_has_its_initial_value() {
    let Some(server) = server() else { return };
    let touch = "UPDATE accounts SET balance = balance WHERE id = 1";
    let (text, _) = recorded(&server, &[touch, touch, "UPDATE accounts SET owner = owner WHERE balance > 5"]);
    let inits = "init accounts/1={balance: 5, id: 1, owner: ann} accounts/2={balance: 50, id: 2, owner: bob} \
                 accounts/3={balance: 500, id: 3, owner: cid}";
    assert_eq!(text.lines().next(), Some(inits), "{text}");
}

/// What psql says, and what the history has.
const CASES: &[(&[&str], &[&str])] = &[
    (
        &["SELECT balance FROM accounts WHERE id = 1", "SELECT * FROM accounts WHERE 9 = id", "SELECT 1"],
        &["s1: { r(accounts/1,{balance: 5, id: 1, owner: ann}) }", "s2: { r(accounts/9,-) }"],
    ),
    (
        &["SELECT owner FROM accounts a WHERE a.balance < 60 AND NOT owner = 'bob'"],
        &["s1: { scan(accounts, balance < 60 and not owner = bob, {accounts/1={balance: 5, id: 1, owner: ann}}) }"],
    ),
    (
        &[
            "SELECT count(*) FROM accounts WHERE id IN (2, 7)",
            "SELECT DISTINCT owner FROM accounts WHERE balance > 5000",
        ],
        &[
            "s1: { scan(accounts, key in [2, 7], {accounts/2={balance: 50, id: 2, owner: bob}}) }",
            "s2: { scan(accounts, balance > 5000, {}) }",
        ],
    ),
    (
        &["UPDATE accounts SET balance = balance + 1 WHERE id = 1; DELETE FROM accounts WHERE id = 9"],
        &[
            "s1: { u(accounts/1,{balance: 5, id: 1, owner: ann},{balance: 6, id: 1, owner: ann}) r(accounts/9,-) for update }",
        ],
    ),
    (
        &["BEGIN; DELETE FROM accounts WHERE balance >= 50; SELECT owner FROM accounts; ROLLBACK"],
        &["s1: { [ scan(accounts, balance >= 50, {accounts/2={balance: 50, id: 2, owner: bob}, \
           accounts/3={balance: 500, id: 3, owner: cid}}) w(accounts/2,-) w(accounts/3,-) ] scan(accounts, all, \
           {accounts/1={balance: 5, id: 1, owner: ann}}) } abort"],
    ),
    (
        &[
            "BEGIN; SAVEPOINT a; UPDATE accounts SET balance = 0 WHERE id = 2; SELECT balance FROM accounts WHERE id = 2; \
           ROLLBACK TO a; SELECT balance FROM accounts WHERE id = 2 FOR UPDATE; COMMIT",
        ],
        &[
            "s1: { r(accounts/2,{balance: 50, id: 2, owner: bob}) r(accounts/2,{balance: 50, id: 2, owner: bob}) for update }",
        ],
    ),
    (
        &[
            "INSERT INTO accounts VALUES (4, 'dee', 1); INSERT INTO accounts VALUES (1, 'eve', 2)",
            "INSERT INTO towns VALUES ('a/b, \"c\"', NULL)",
        ],
        &[
            "s1: { w(accounts/4,{balance: 1, id: 4, owner: dee}) } abort",
            "s2: { w(\"towns/a/b, \\\"c\\\"\",{name: \"a/b, \\\"c\\\"\", people: -}) }",
        ],
    ),
    (
        &["INSERT INTO towns VALUES ('Ulm', 9) ON CONFLICT (name) DO UPDATE SET people = 8; TRUNCATE towns"],
        &["s1: { u(towns/Ulm,{name: Ulm, people: 7},{name: Ulm, people: 8}) u(towns/Ulm,{name: Ulm, people: 8},-) }"],
    ),
];

/// Where nothing was recorded, nobody has said an isolation level, and the file can be read all the same.
#[test]
fn a_recording_without_transactions_can_be_read() {
    let Some(server) = server() else { return };
    let (recorded, _, history) = Stage::new(&server, Start::AtOnce).end();
    assert_eq!((recorded.tally.committed, history.txns().count()), (0, 0));
}

#[test]
fn what_is_not_understood_is_counted_and_never_invented() {
    let Some(server) = server() else { return };
    let sql = [
        "SELECT owner FROM accounts WHERE owner LIKE 'a%'",
        "SELECT owner FROM accounts ORDER BY id LIMIT 1",
        "SELECT a.owner FROM accounts a JOIN towns t ON t.people = a.balance + 2",
        "SELECT 1 WHERE EXISTS (SELECT FROM accounts)",
        "INSERT INTO notes VALUES ('not seen')",
        "SELECT count(*) FROM notes",
    ];
    let (text, missing) = recorded(&server, &sql);
    let lines: Vec<&str> = text.lines().filter(|it| !it.starts_with("init")).map(str::trim).collect();
    let ann = "r(accounts/1,{balance: 5, id: 1, owner: ann})";
    assert_eq!(
        lines,
        [
            format!("s1: {{ {ann} }}"),
            format!("s2: {{ {ann} }}"),
            format!("s3: {{ [ {ann} r(towns/Ulm,{{name: Ulm, people: 7}}) ] }}"),
        ]
    );
    assert_eq!(
        missing,
        [
            "1 a query is inside of another statement",
            "1 a table has no primary key",
            "3 rows that did not match are not recorded: the condition, a join or a limit leaves them open",
        ]
    );
}

#[test]
fn statements_that_are_sent_before_answers_come_keep_their_own_rows() {
    let Some(server) = server() else { return };
    if !has_psycopg() {
        return;
    }
    psql(server.port(), SCHEMA);
    let stage = Stage::new(&server, Start::AtOnce);
    let script = "import psycopg
with psycopg.connect() as c, c.pipeline():
    asked = [c.execute('SELECT balance FROM accounts WHERE id = %s', (n,)) for n in (1, 2)]
    print(*[one.fetchone()[0] for one in asked])";
    assert_eq!(said(client(PYTHON, stage.port(), &["-c", script])), "5 50\n");
    let text = text_of(&stage.end().2);
    let expected =
        "s1: { r(accounts/1,{balance: 5, id: 1, owner: ann}) r(accounts/2,{balance: 50, id: 2, owner: bob}) }";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn tables_that_are_made_and_rows_that_others_write_are_recorded() {
    let Some(server) = server() else { return };
    psql(server.port(), SCHEMA);
    let stage = Stage::new(&server, Start::AtMarker);
    psql(stage.port(), "UPDATE accounts SET balance = 6 WHERE id = 1");
    psql(stage.port(), "CREATE TABLE cities (id int PRIMARY KEY, at timestamptz, raw bytea)");
    psql(stage.port(), "SET isoscope.run = 'start'");
    psql(stage.port(), "SET timezone = 'Asia/Tokyo'; INSERT INTO cities VALUES (1, '2020-01-01T00:00:00Z', '\\x00ff')");
    // Somebody else, who does not come through the proxy.
    psql(
        server.port(),
        "BEGIN; UPDATE accounts SET balance = 7 WHERE id = 1; DELETE FROM accounts WHERE id = 2; COMMIT",
    );
    psql(stage.port(), "SELECT at FROM cities WHERE id = 1; SELECT 1 FROM accounts WHERE id = 1");
    psql(stage.port(), "SELECT 1 FROM accounts WHERE id = 2");
    let (recorded, _, history) = stage.end();
    let text = text_of(&history);
    assert_eq!(recorded.failure, None);
    assert_eq!((recorded.tally.committed, recorded.tally.outside), (3, 1), "{text}");
    let city = "{at: \"2020-01-01T00:00:00\", id: 1, raw: \"00ff\"}";
    assert!(text.contains(&format!("w(cities/1,{city})")), "{text}");
    assert!(text.contains(&format!("r(cities/1,{city}) r(accounts/1,{{balance: 7, id: 1, owner: ann}})")), "{text}");
    assert!(text.contains("u(accounts/2,{balance: 50, id: 2, owner: bob},-)"), "{text}");
    assert!(text.contains("init accounts/1={balance: 6, id: 1, owner: ann}"), "{text}");
}

#[test]
fn psql_sees_what_it_sees_without_the_proxy() {
    let Some(server) = server() else { return };
    psql(server.port(), SCHEMA);
    let script = "\\d accounts\nSELECT * FROM accounts ORDER BY 1;\nSELECT a.*, owner x FROM accounts a WHERE id = 1;\n\
        SELECT owner, sum(balance) FROM accounts GROUP BY owner HAVING sum(balance) > 10 ORDER BY 1;\n\
        COPY towns FROM STDIN;\nRom\t3\nPisa\t\\N\n\\.\nCOPY towns TO STDOUT;\nCOPY towns FROM STDIN;\nbad\n\\.\n\
        SELECT nonsense;\nSELECT DISTINCT ON (owner) * FROM accounts ORDER BY owner \\gdesc\n\
        SELECT id IS DISTINCT FROM 1 FROM accounts ORDER BY id LIMIT 2; -- a remark\nDELETE FROM towns RETURNING name;\n";
    let run = |port: u16| {
        let mut command = client("psql", port, &["-X"]);
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        command.stderr(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        std::io::Write::write_all(child.stdin.as_mut().unwrap(), script.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let direct = run(server.port());
    psql(server.port(), SCHEMA);
    let stage = Stage::new(&server, Start::AtOnce);
    let mut through = run(stage.port());
    // The triggers are there, and psql shows them.
    let shown = through.0.find("Triggers:").map(|at| (at, through.0[at..].find("\n\n").unwrap()));
    if let Some((at, length)) = shown {
        through.0.replace_range(at..=at + length, "");
    }
    assert_eq!(through, direct);
    let (recorded, ..) = stage.end();
    assert_eq!(recorded.failure, None);
}

#[test]
fn what_was_recorded_is_whole_when_the_server_dies_and_when_clients_are_lost() {
    let Some(mut server) = server() else { return };
    psql(server.port(), SCHEMA);
    let stage = Stage::new(&server, Start::AtOnce);
    psql(stage.port(), "UPDATE accounts SET balance = 6 WHERE id = 1");
    let mut idle = client(
        "psql",
        stage.port(),
        &["-XqAt", "-c", "BEGIN", "-c", "DELETE FROM accounts WHERE id = 2", "-c", "SELECT pg_sleep(60)"],
    );
    let mut idle = idle.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    while psql(
        server.port(),
        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)' AND state = 'active'",
    )
    .trim()
        != "1"
    {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    server.kill().unwrap();
    idle.wait().unwrap();
    let path = stage.path();
    let (recorded, lines, _) = stage.end();
    assert!(recorded.failure.unwrap().contains("DROP SCHEMA isoscope_recording CASCADE"));
    assert_eq!((recorded.tally.committed, recorded.tally.aborted, recorded.tally.unknown), (1, 1, 0), "{lines}");
    // What others wrote cannot be asked any more, so nobody promises that nothing is missing.
    assert!(!lines.contains("\"recording\":\"complete\""), "{lines} of {path:?}");
    server.restart().unwrap();
    let stage = Stage::new(&server, Start::AtOnce);
    assert_eq!(
        said(client("psql", stage.port(), &["-XqAt", "-c", "SELECT balance FROM accounts WHERE id = 1"])),
        "6\n"
    );
    stage.end();
}
