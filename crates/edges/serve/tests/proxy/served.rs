//! Serving at every level: what clients saw is what was recorded, and the level allows it.

use crate::honesty::{PYTHON, compare, has_psycopg};
use crate::stage::{client, psql, said, server, text_of};
use iso_answer::check as decide;
use iso_answer::check::Answer;
use iso_collect::Target;
use iso_evidence::Budget;
use iso_formats::{ReadOptions, read_path};
use iso_history::History;
use iso_serve::{Opaque, ServeError, ServeSetup, Served, Serving, Start, Updates};
use iso_servers::{Kind, is_installed};
use iso_spec::Level;
use iso_store::{LEVELS, Policy};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tempfile::TempDir;

/// A served database whose history goes to a file.
pub(crate) struct Stage {
    folder: TempDir,
    serving: Serving,
}

/// What is served, if nothing else is said: prefix consistency, by chance.
pub(crate) fn setup(level: Level, schema: &str) -> ServeSetup {
    ServeSetup {
        level,
        policy: Policy::Random,
        seed: 7,
        sessions: None,
        order: VecDeque::new(),
        patience: Duration::from_millis(300),
        schema: Some(schema.to_owned()),
        engine: None,
        listen: "127.0.0.1:0".to_owned(),
        target: Target::Nowhere,
        start: Start::AtOnce,
        updates: Updates::Newest,
        opaque: Opaque::Refused,
    }
}

/// Can a database be served here? If not, that is said.
pub(crate) fn can_serve() -> bool {
    let can = is_installed(Kind::PostgreSql);
    assert!(can || std::env::var_os("ISOSCOPE_SERVERS").is_none(), "PostgreSQL is not installed");
    if !can {
        eprintln!("skipped: PostgreSQL is not installed");
    }
    can
}

impl Stage {
    pub(crate) fn new(setup: ServeSetup) -> Self {
        let folder = TempDir::new().unwrap();
        let target = Target::File(folder.path().join("h.jsonl"));
        let serving = Serving::start(ServeSetup { target, ..setup }).unwrap();
        Self { folder, serving }
    }

    pub(crate) fn port(&self) -> u16 {
        self.serving.address().port()
    }

    /// Ends it; gives what came of it, the lines of the file, and the history.
    pub(crate) fn end(self) -> (Served, String, History) {
        let path = self.folder.path().join("h.jsonl");
        let served = self.serving.end().unwrap();
        let lines = std::fs::read_to_string(&path).unwrap();
        let reading = read_path(&path, &ReadOptions::default()).unwrap();
        let history = reading.into_history().unwrap_or_else(|defects| panic!("{defects:?}\n{lines}"));
        (served, lines, history)
    }
}

const ACCOUNTS: &str = "CREATE TABLE accounts (id int PRIMARY KEY, owner text, balance bigint);
    INSERT INTO accounts SELECT n, CASE n % 2 WHEN 0 THEN 'ann' ELSE 'bob' END, 100 FROM generate_series(0, 5) n";

#[test]
fn what_clients_saw_is_what_was_served_at_every_level() {
    if !can_serve() || !has_psycopg() {
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/proxy/honesty.py");
    let mut n_unserializable = 0;
    let of_postgres = [Level::StatementSnapshots, Level::TransactionSnapshot];
    for (seed, level) in LEVELS.into_iter().chain(of_postgres).enumerate() {
        let patience = Duration::from_millis(5);
        let stage = Stage::new(ServeSetup { seed: seed as u64, patience, ..setup(level, ACCOUNTS) });
        let arguments = [script.to_str().unwrap(), "serializable", &seed.to_string()];
        let logs = said(client(PYTHON, stage.port(), &arguments));
        let (served, lines, history) = stage.end();
        assert_eq!((served.tally.n_missing(), served.failure), (0, None), "{:?}", served.tally);
        for (nth, log) in logs.lines().enumerate() {
            compare(&serde_json::from_str(log).unwrap(), &lines, &format!("s{}", nth + 1));
        }
        assert!(served.tally.committed > 40, "{level}: {:?}", served.tally);
        let answer = decide(&history, level, &Budget::unlimited());
        assert!(matches!(answer, Answer::Allowed(_)), "{level}: {answer:?}");
        let answer = decide(&history, Level::Serializable, &Budget::unlimited());
        n_unserializable += usize::from(matches!(answer, Answer::Forbidden(_)));
    }
    assert!(n_unserializable >= 4, "{n_unserializable}");
}

#[test]
fn the_same_seed_and_declared_sessions_give_the_same_history() {
    if !can_serve() || !has_psycopg() {
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/proxy/honesty.py");
    let run = |seed: u64| {
        let patience = Duration::from_secs(3);
        let declared = ServeSetup { seed, patience, sessions: Some(4), ..setup(Level::CausalConsistency, ACCOUNTS) };
        let stage = Stage::new(declared);
        said(client(PYTHON, stage.port(), &[script.to_str().unwrap(), "serializable", "3"]));
        text_of(&stage.end().2)
    };
    let first = run(7);
    assert!(first == run(7), "two runs differ");
    assert!(first != run(8), "the seed does not matter");
}

#[test]
fn a_client_that_is_lost_leaves_an_aborted_transaction() {
    if !can_serve() {
        return;
    }
    let stage = Stage::new(setup(Level::CausalConsistency, ACCOUNTS));
    let mut lost =
        client("psql", stage.port(), &["-XqAt"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let sql = "BEGIN; UPDATE accounts SET balance = 1 WHERE id = 1; SELECT 'done';\n";
    lost.stdin.as_mut().unwrap().write_all(sql.as_bytes()).unwrap();
    let mut first = String::new();
    BufReader::new(lost.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
    assert_eq!(first, "done\n");
    lost.kill().unwrap();
    lost.wait().unwrap();
    let told = psql(stage.port(), "UPDATE accounts SET balance = balance + 1 WHERE id = 1 RETURNING balance");
    assert_eq!(told.trim(), "101");
    let (served, _, history) = stage.end();
    assert_eq!((served.tally.committed, served.tally.aborted, served.failure), (1, 1, None));
    let text = text_of(&history);
    assert!(text.contains("s1: { w(accounts/1,{balance: 1, id: 1, owner: bob}) } abort"), "{text}");
}

#[test]
fn an_engine_that_dies_leaves_whole_lines() {
    if !can_serve() {
        return;
    }
    let stage = Stage::new(setup(Level::CausalConsistency, ACCOUNTS));
    psql(stage.port(), "UPDATE accounts SET balance = 1 WHERE id = 1");
    let pid = stage.serving.engine_process().unwrap().to_string();
    said(client("kill", 0, &["-KILL", &pid]));
    // It is gone, or waits for us to look.
    let is_gone = || std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|it| it.contains(") Z "));
    while !is_gone() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let (served, lines, history) = stage.end();
    assert_eq!(served.failure.as_deref(), Some("the engine ended before the run did"));
    assert_eq!((history.txns().count(), lines.ends_with('\n')), (1, true), "{lines}");
}

#[test]
fn statements_of_psql_are_served() {
    if !can_serve() {
        return;
    }
    let stage = Stage::new(ServeSetup { policy: Policy::Latest, ..setup(Level::Serializable, ACCOUNTS) });
    for (sql, expected) in CASES {
        assert_eq!(psql(stage.port(), sql).trim(), *expected, "{sql}");
    }
    let (served, _, history) = stage.end();
    assert_eq!(served.failure, None);
    let answer = decide(&history, Level::Serializable, &Budget::unlimited());
    assert!(matches!(answer, Answer::Allowed(_)), "{answer:?}");
}

/// Transactions whose first words are wrong, odd or about the transaction itself.
const BEGINNINGS: &str = "CREATE TABLE t (id int PRIMARY KEY, n int);
BEGIN; -- of which the engine hears with the next one
SELEC 1;
SELECT 2;
INSERT INTO t VALUES (1, 1);
COMMIT;
START TRANSACTION;
SET LOCAL work_mem = '3MB';
SHOW work_mem;
BEGIN;
INSERT INTO t VALUES (2, 2);
COMMIT AND CHAIN;
INSERT INTO t VALUES (3, 3), (3, 4);
COMMIT AND CHAIN;
SELECT * FROM t;
END;
BEGIN;
COMMIT;
BEGIN;
ROLLBACK;
COMMIT;
BEGIN;
SAVEPOINT a;
INSERT INTO t VALUES (4, 4);
SELECT 1 / 0;
ROLLBACK TO a;
SELECT count(*) FROM t;
COMMIT;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM t;
FETCH c;
COMMIT;
FETCH c;
BEGIN;
PREPARE p AS SELECT n FROM t WHERE id = $1;
EXECUTE p(2);
COMMIT;
SHOW work_mem;
";

#[test]
fn transactions_begin_and_fail_as_without_serving() {
    let Some(server) = server() else { return };
    let stage = Stage::new(ServeSetup { policy: Policy::Latest, ..setup(Level::Serializable, ACCOUNTS) });
    let heard = |port: u16| {
        let folder = TempDir::new().unwrap();
        let script = folder.path().join("beginnings.sql");
        std::fs::write(&script, BEGINNINGS).unwrap();
        let mut psql = client("psql", port, &["-Xae", "-v", "ON_ERROR_STOP=0", "-f", script.to_str().unwrap()]);
        let output = psql.output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap().replace(script.to_str().unwrap(), "beginnings.sql");
        (String::from_utf8(output.stdout).unwrap(), errors)
    };
    let (direct, served) = (heard(server.port()), heard(stage.port()));
    assert_eq!(served, direct);
    assert!(direct.1.contains("current transaction is aborted"), "{}", direct.1);
    let (served, lines, _) = stage.end();
    assert_eq!(served.failure, None);
    // What failed is not in the history as committed.
    assert!(!lines.lines().any(|it| it.contains("t/1\"") && it.contains("commit")), "{lines}");
}

/// Requests that are sent before the answers to earlier ones have come, the begin of a transaction and an error among them.
const PIPELINES: &str = "
import psycopg
with psycopg.connect('', autocommit=True) as connection:
    connection.execute('CREATE TABLE p (id int PRIMARY KEY, n int)')
    with connection.pipeline():
        connection.execute('BEGIN', prepare=True)
        connection.execute('INSERT INTO p VALUES (%s, %s)', (1, 1))
        found = connection.execute('SELECT n FROM p WHERE id = %s', (1,))
        connection.execute('COMMIT', prepare=True)
        print(found.fetchall(), found.description[0].name)
    try:
        with connection.pipeline():
            connection.execute('BEGIN')
            connection.execute('INSERT INTO p VALUES (%s, %s)', (2, 2))
            connection.execute('SELECT n / 0 FROM p WHERE id = %s', (2,))
            connection.execute('COMMIT')
    except psycopg.Error as error:
        print(error.sqlstate)
    connection.rollback()
    for nth in range(7):
        with connection.transaction():
            connection.execute('UPDATE p SET n = n + 1 WHERE id = %s', (1,), prepare=True)
            try:
                with connection.transaction():
                    connection.execute('INSERT INTO p VALUES (%s, %s)', (1, nth), prepare=True)
            except psycopg.errors.UniqueViolation:
                pass
    print(connection.execute('SELECT * FROM p ORDER BY id').fetchall())
";

#[test]
fn pipelines_of_psycopg_are_answered_as_without_serving() {
    let Some(server) = server().filter(|_| has_psycopg()) else { return };
    let stage = Stage::new(ServeSetup { policy: Policy::Latest, ..setup(Level::Serializable, ACCOUNTS) });
    let heard = |port: u16| said(client(PYTHON, port, &["-c", PIPELINES]));
    let (direct, served) = (heard(server.port()), heard(stage.port()));
    assert_eq!(served, direct);
    assert!(direct.contains("22012") && direct.contains("[(1, 8)]"), "{direct}");
    let (served, _, history) = stage.end();
    assert_eq!(served.failure, None);
    let answer = decide(&history, Level::Serializable, &Budget::unlimited());
    assert!(matches!(answer, Answer::Allowed(_)), "{answer:?}");
}

/// What psql says, and what it hears, with the newest versions.
const CASES: &[(&str, &str)] = &[
    ("SELECT 1; SELECT 2", "1\n2"),
    ("SHOW transaction_isolation", "read committed"),
    ("BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY; SELECT balance FROM accounts WHERE id = 1; COMMIT", "100"),
    (
        "CREATE TABLE towns (name text PRIMARY KEY, people int UNIQUE); INSERT INTO towns VALUES ('Ulm', 7), ('Rom', 9)",
        "",
    ),
    ("UPDATE towns SET people = 8 WHERE name = 'Ulm'; SELECT * FROM towns ORDER BY name", "Rom|9\nUlm|8"),
    ("CREATE VIEW big AS SELECT * FROM towns WHERE people > 8; SELECT name FROM big", "Rom"),
    ("SELECT name FROM towns WHERE people = (SELECT max(people) FROM towns)", "Rom"),
    ("BEGIN; SAVEPOINT a; DELETE FROM towns; ROLLBACK TO a; SELECT count(*) FROM towns; COMMIT", "2"),
    ("BEGIN; INSERT INTO towns VALUES ('Bonn', 1); ROLLBACK; SELECT count(*) FROM towns", "2"),
    ("ALTER TABLE accounts ADD COLUMN far bool DEFAULT true; SELECT * FROM accounts WHERE id = 2", "2|ann|100|t"),
    ("WITH gone AS (DELETE FROM towns WHERE name = 'Rom' RETURNING *) SELECT name FROM gone", "Rom"),
    ("COPY towns TO STDOUT", "Ulm\t8"),
    ("DROP TABLE towns CASCADE; CREATE TABLE towns (name text PRIMARY KEY); SELECT count(*) FROM towns", "0"),
    ("VACUUM towns", ""),
];

#[test]
fn updates_read_and_write_as_in_papers_if_asked_to() {
    if !can_serve() || !has_psycopg() {
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/proxy/honesty.py");
    let mut n_lost = 0;
    let levels = [Level::ReadCommitted, Level::CausalConsistency, Level::SnapshotIsolation];
    for (seed, level) in levels.into_iter().enumerate() {
        let patience = Duration::from_millis(5);
        let updates = Updates::Weak;
        let stage = Stage::new(ServeSetup { seed: seed as u64, patience, updates, ..setup(level, ACCOUNTS) });
        let arguments = [script.to_str().unwrap(), "serializable", &seed.to_string()];
        let logs = said(client(PYTHON, stage.port(), &arguments));
        let (served, lines, history) = stage.end();
        assert_eq!((served.tally.n_missing(), served.failure), (0, None), "{:?}", served.tally);
        if level != Level::ReadCommitted {
            // There, all rows are recorded that a statement looked at.
            for (nth, log) in logs.lines().enumerate() {
                compare(&serde_json::from_str(log).unwrap(), &lines, &format!("s{}", nth + 1));
            }
        }
        let answer = decide(&history, level, &Budget::unlimited());
        assert!(matches!(answer, Answer::Allowed(_)), "{level}: {answer:?}");
        let answer = decide(&history, Level::UpdateAtomic, &Budget::unlimited());
        n_lost += usize::from(matches!(answer, Answer::Forbidden(_)));
    }
    assert!(n_lost >= 1, "{n_lost}");
    let error = Serving::start(ServeSetup { updates: Updates::Weak, ..setup(Level::StatementSnapshots, "") });
    assert!(error.unwrap_err().to_string().contains("leave out --updates weak"));
}

#[test]
fn weak_updates_lose_what_others_added() {
    if !can_serve() {
        return;
    }
    let left = |updates| {
        let stage = Stage::new(ServeSetup { updates, ..setup(Level::CausalConsistency, ACCOUNTS) });
        for _ in 0..8 {
            psql(stage.port(), "UPDATE accounts SET balance = balance + 1 WHERE id = 1");
        }
        psql(stage.port(), "DELETE FROM accounts WHERE owner = 'ann'; INSERT INTO accounts VALUES (9, 'ann', 1)");
        let newest = stage.serving.engine_url().unwrap();
        let row = said(client("psql", 0, &[&newest, "-XqAt", "-c", "SELECT balance FROM accounts WHERE id = 1"]));
        let (served, _, history) = stage.end();
        assert_eq!(served.failure, None);
        let answer = decide(&history, Level::CausalConsistency, &Budget::unlimited());
        assert!(matches!(answer, Answer::Allowed(_)), "{answer:?}");
        row.trim().parse::<i64>().unwrap()
    };
    assert_eq!(left(Updates::Newest), 108);
    assert!(left(Updates::Weak) < 108);
}

#[test]
fn code_of_the_database_is_refused_or_makes_the_history_unknown() {
    if !can_serve() {
        return;
    }
    let schema = format!(
        "{ACCOUNTS}; CREATE FUNCTION total() RETURNS bigint LANGUAGE sql AS 'SELECT sum(balance) FROM accounts';
         CREATE FUNCTION twice(n int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 2 * n'"
    );
    let stage = Stage::new(setup(Level::CausalConsistency, &schema));
    let hear = |sql: &str| {
        let output = client("psql", stage.port(), &["-XqAt", "-c", sql]).output().unwrap();
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    for sql in ["SELECT total()", "DO $$ BEGIN PERFORM 1; END $$", "BEGIN; SELECT total(); COMMIT"] {
        assert!(hear(sql).contains("--allow-opaque"), "{sql}");
    }
    assert_eq!(hear("SELECT twice(3), balance FROM accounts WHERE id = 1"), "6|100\n");
    let (served, lines, _) = stage.end();
    assert_eq!((served.tally.opaque, served.failure), (0, None));
    assert!(!lines.contains("opaque"), "{lines}");
    let opaque = Opaque::Allowed;
    let stage = Stage::new(ServeSetup { opaque, ..setup(Level::CausalConsistency, &schema) });
    assert_eq!(
        psql(stage.port(), "BEGIN; SELECT total(); UPDATE accounts SET balance = 1 WHERE id = 1; COMMIT"),
        "600\n"
    );
    let (served, lines, _) = stage.end();
    assert_eq!((served.tally.opaque, served.failure), (1, None));
    assert!(lines.contains("\"opaque\":1"), "{lines}");
}

#[test]
fn tables_without_a_key_are_served_by_hidden_numbers() {
    if !can_serve() || !has_psycopg() {
        return;
    }
    let schema = "CREATE TABLE notes (words text, n int); INSERT INTO notes VALUES ('a', 1), ('a', 1)";
    let stage = Stage::new(ServeSetup { policy: Policy::Latest, ..setup(Level::Serializable, schema) });
    for (sql, expected) in [
        ("SELECT * FROM notes", "a|1\na|1"),
        ("INSERT INTO notes VALUES ('b', 2) RETURNING *", "b|2"),
        (
            "UPDATE notes SET n = n + 1 WHERE words = 'a'; SELECT n, notes.*, words FROM notes ORDER BY n, words",
            "2|a|2|a\n2|a|2|a\n2|b|2|b",
        ),
        ("COPY notes TO STDOUT", "a\t2\na\t2\nb\t2"),
        (
            "CREATE TABLE more (id int, n int); INSERT INTO more VALUES (1, 1); ALTER TABLE more ADD PRIMARY KEY (id)",
            "",
        ),
        ("SELECT * FROM more WHERE id = 1", "1|1"),
        ("DELETE FROM notes WHERE words = 'b'; SELECT count(*) FROM notes", "2"),
    ] {
        let heard: Vec<String> = psql(stage.port(), sql).lines().map(str::to_owned).collect();
        let mut lines: Vec<&str> = heard.iter().map(String::as_str).collect();
        lines.sort_unstable();
        let mut wanted: Vec<&str> = expected.lines().collect();
        wanted.sort_unstable();
        assert_eq!(lines, wanted, "{sql}");
    }
    let script = "import psycopg
with psycopg.connect() as c:
    for binary in (False, True):
        with c.cursor(binary=binary) as cursor:
            cursor.execute('SELECT * FROM notes WHERE n > %s', (0,))
            print([it.name for it in cursor.description], cursor.fetchall())
    with c.cursor() as cursor, cursor.copy('COPY notes FROM STDIN') as copy:
        copy.write_row(('c', 5))
with psycopg.connect() as c:
    print(c.execute('SELECT words FROM notes WHERE n = 5').fetchall())";
    let rows = "['words', 'n'] [('a', 2), ('a', 2)]\n";
    assert_eq!(said(client(PYTHON, stage.port(), &["-c", script])), format!("{rows}{rows}[('c',)]\n"));
    let (served, lines, history) = stage.end();
    assert_eq!((served.failure, served.without_key.len()), (None, 0));
    let text = text_of(&history);
    assert!(
        text.contains("u(notes/1,{n: 1, words: a},{n: 2, words: a})") || text.contains("w(notes/1,{n: 2, words: a})"),
        "{text}"
    );
    assert!(!lines.contains("isoscope_row"), "{lines}");
    let answer = decide(&history, Level::Serializable, &Budget::unlimited());
    assert!(matches!(answer, Answer::Allowed(_)), "{answer:?}");
}

#[test]
fn a_table_with_old_versions_is_not_altered() {
    if !can_serve() {
        return;
    }
    let stage = Stage::new(setup(Level::CausalConsistency, ACCOUNTS));
    psql(stage.port(), "CREATE TABLE towns (name text PRIMARY KEY); CREATE INDEX ON accounts (owner)");
    // Nothing has changed in it yet, so all sessions see the new shape.
    psql(stage.port(), "ALTER TABLE accounts ADD COLUMN vip bool DEFAULT false");
    for _ in 0..5 {
        assert_eq!(psql(stage.port(), "SELECT * FROM accounts WHERE id = 1"), "1|bob|100|f\n");
    }
    psql(stage.port(), "UPDATE accounts SET balance = 1 WHERE id = 1");
    let alter =
        client("psql", stage.port(), &["-XqAt", "-c", "ALTER TABLE accounts ADD COLUMN more int"]).output().unwrap();
    let words = String::from_utf8_lossy(&alter.stderr).into_owned();
    assert!(words.contains("accounts has rows in several versions"), "{words}");
    let row = psql(stage.port(), "SELECT * FROM accounts WHERE id = 2");
    assert_eq!(row, "2|ann|100|f\n");
    let (served, _, history) = stage.end();
    assert_eq!(served.failure, None);
    let answer = decide(&history, Level::CausalConsistency, &Budget::unlimited());
    assert!(matches!(answer, Answer::Allowed(_)), "{answer:?}");
}

#[test]
fn what_cannot_be_served_is_said() {
    if !can_serve() {
        return;
    }
    let error = Serving::start(setup(Level::ReadCommitted, "CREATE TABLE")).unwrap_err();
    assert!(error.to_string().contains("the schema does not work"), "{error}");
    let error = Serving::start(setup(Level::ReadUncommitted, "")).unwrap_err();
    assert!(matches!(error, ServeError::UnknownLevel { .. }), "{error}");
}
