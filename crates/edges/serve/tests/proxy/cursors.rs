//! SQL cursors through `serve`: they show chosen versions, and what they showed is recorded.

use crate::honesty::{PYTHON, has_psycopg};
use crate::served::{Stage, can_serve, setup};
use crate::stage::{client, psql, said, text_of};
use iso_answer::check as decide;
use iso_answer::check::Answer;
use iso_evidence::Budget;
use iso_serve::ServeSetup;
use iso_spec::Level;
use iso_store::Policy;

const ROWS: &str = "CREATE TYPE mood AS ENUM ('low', 'high');
    CREATE TABLE rows (id int PRIMARY KEY, word varchar(9), price numeric(6,2), moods mood[], at timestamptz);
    INSERT INTO rows SELECT n, 'a \"b\", {' || n, n / 4.0, '{low,high}', '2026-01-01 12:00+00' FROM generate_series(1, 5) n;
    INSERT INTO rows VALUES (6)";

/// What psql says, and what it hears, with the newest versions.
const CASES: &[(&str, &str)] = &[
    ("BEGIN; DECLARE c CURSOR FOR SELECT id FROM rows ORDER BY id; FETCH 2 FROM c; FETCH c; COMMIT", "1\n2\n3"),
    (
        "SET timezone = 'UTC'; BEGIN; DECLARE \"A c\" SCROLL CURSOR FOR SELECT * FROM rows ORDER BY id; MOVE 4 IN \"A c\";
         FETCH FORWARD ALL IN \"A c\"; FETCH ABSOLUTE 2 FROM \"A c\"; CLOSE \"A c\"; COMMIT",
        "5|a \"b\", {5|1.25|{low,high}|2026-01-01 12:00:00+00\n6||||\n2|a \"b\", {2|0.50|{low,high}|2026-01-01 12:00:00+00",
    ),
    ("DECLARE held CURSOR WITH HOLD FOR SELECT count(*) AS n FROM rows; FETCH ALL FROM held; CLOSE held", "6"),
    ("BEGIN; DECLARE none CURSOR FOR SELECT id FROM rows WHERE id > 9; FETCH ALL FROM none; COMMIT", ""),
    ("BEGIN; DECLARE plain CURSOR FOR SELECT generate_series(1, 3); FETCH 2 FROM plain; COMMIT", "1\n2"),
    (
        "BEGIN; SAVEPOINT a; DECLARE gone CURSOR FOR SELECT id FROM rows; ROLLBACK TO a; SELECT count(*) FROM pg_cursors; COMMIT",
        "0",
    ),
];

#[test]
fn cursors_of_psql_are_served() {
    if !can_serve() {
        return;
    }
    let stage = Stage::new(ServeSetup { policy: Policy::Latest, ..setup(Level::Serializable, ROWS) });
    for (sql, expected) in CASES {
        assert_eq!(psql(stage.port(), sql).trim(), *expected, "{sql}");
    }
    let (served, lines, _) = stage.end();
    assert_eq!((served.tally.n_missing(), served.failure), (0, None), "{:?}", served.tally);
    assert!(lines.contains("[\"SELECT id FROM rows ORDER BY id\"]"), "{lines}");
}

#[test]
fn cursors_that_lock_act_on_the_newest_state_and_are_counted() {
    if !can_serve() {
        return;
    }
    let stage = Stage::new(ServeSetup { policy: Policy::Latest, ..setup(Level::Serializable, ROWS) });
    let sql = "BEGIN; DECLARE c CURSOR FOR SELECT id FROM rows WHERE id = 3 FOR UPDATE; FETCH c;
               UPDATE rows SET word = 'x' WHERE CURRENT OF c; COMMIT; SELECT word FROM rows WHERE id = 3";
    assert_eq!(psql(stage.port(), sql).trim(), "3\nx");
    let (served, ..) = stage.end();
    assert_eq!(served.tally.missing.keys().next().map(String::as_str), Some("a SQL cursor is read row by row"));
}

/// Named cursors of psycopg declare by SQL, with parameters, and describe the portal.
const NAMED: &str = "
import psycopg
with psycopg.connect() as connection:
    for nth in range(12):
        with connection.transaction():
            connection.execute('UPDATE rows SET word = %s WHERE id = 1', (str(nth),))
        with connection.transaction(), connection.cursor('named', binary=nth % 2 == 1) as cursor:
            cursor.itersize = 2
            cursor.execute('SELECT id, word FROM rows WHERE id < %s ORDER BY id', (4,))
            print([it for it in cursor])
";

#[test]
fn named_cursors_of_psycopg_show_old_versions_and_the_history_has_them() {
    if !can_serve() || !has_psycopg() {
        return;
    }
    let stage = Stage::new(ServeSetup { seed: 5, ..setup(Level::ReadAtomic, ROWS) });
    let shown = said(client(PYTHON, stage.port(), &["-c", NAMED]));
    let (served, _, history) = stage.end();
    assert_eq!((served.tally.n_missing(), served.failure), (0, None), "{:?}", served.tally);
    let text = text_of(&history);
    for line in shown.lines() {
        let word = line.split('\'').nth(1).unwrap();
        assert!(
            text.contains(&format!("word: {word}")) || text.contains(&format!("word: \"{word}\"")),
            "{word}: {text}"
        );
    }
    assert_eq!(shown.lines().count(), 12);
    let answer = decide(&history, Level::ReadAtomic, &Budget::unlimited());
    assert!(matches!(answer, Answer::Allowed(_)), "{answer:?}");
}
