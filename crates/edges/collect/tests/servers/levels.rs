//! The levels of databases against the databases: random scripts, played step by step, end in what our level allows.
//!
//! `ISOSCOPE_SEED` and `ISOSCOPE_CASES=N` choose others and more. A script that is forbidden is made small first.

use crate::judge::{opened, play, verdicts};
use crate::{server, setting};
use iso_answer::check::{Answer, check};
use iso_collect::script::{Action, Script};
use iso_collect::{Database, Random};
use iso_evidence::Budget;
use iso_formats::{Format, without_times, write};
use iso_history::History;
use iso_servers::Kind;
use iso_spec::Level;

/// Rows of the table; the first ones are there to begin with.
const ROWS: usize = 3;

#[test]
fn postgresql_shows_only_what_its_levels_allow() {
    let Some(server) = server(Kind::PostgreSql, &["deadlock_timeout=50ms"]) else { return };
    let database = opened(&server.url());
    compare(&*database, "read-committed", &[Level::StatementSnapshots]);
    compare(&*database, "read-uncommitted", &[Level::StatementSnapshots]);
    // Most of it is snapshot isolation in real time; where rows are made anew, it is the weaker one.
    compare(&*database, "repeatable-read", &[Level::StrongSnapshotIsolation, Level::RowSnapshots]);
    compare(&*database, "serializable", &[Level::StrictSerializable]);
    rows_that_are_made_anew_are_others(&*database);
}

/// `PostgreSQL` knows versions of a row by where they come from, and one that was made anew is another row.
fn rows_that_are_made_anew_are_others(database: &dyn Database) {
    let page = include_str!("../../../../../docs/databases/postgresql.md");
    let scripts: Vec<&str> = page.split("```text\n").skip(1).filter_map(|it| it.split("```").next()).collect();
    let [hidden, anew, ..] = scripts[..] else { panic!("the page has scripts: {scripts:?}") };
    let why = verdicts(&play(database, hidden, &[]), &[Level::StatementSnapshots, Level::AdyaReadCommitted]);
    assert_eq!(
        why, "postgres.rc holds; pl2 violated: g1b",
        "a statement finds neither what the row was nor what it is"
    );
    let why = verdicts(&play(database, anew, &[]), &[Level::RowSnapshots, Level::SnapshotIsolation]);
    assert_eq!(why, "postgres.rr holds; si violated: non-repeatable-read", "it inserts a row that it still sees");
    play(database, &anew.replace("repeatable-read", "serializable"), &[6]);
}

#[test]
fn mariadb_shows_only_what_its_levels_allow() {
    let Some(server) = server(Kind::MariaDb, &["loose-innodb-snapshot-isolation=OFF"]) else { return };
    let database = opened(&server.url());
    for (isolation, level) in [
        ("read-committed", Level::StatementSnapshots),
        ("repeatable-read", Level::TransactionSnapshot),
        ("serializable", Level::Serializable),
        ("snapshot-isolation", Level::SnapshotIsolation),
    ] {
        if database.isolations().contains(&isolation) {
            compare(&*database, isolation, &[level]);
        }
    }
}

#[test]
fn sqlite_shows_only_what_its_level_allows() {
    compare(&*opened("sqlite:"), "serializable", &[Level::StrictSerializable]);
}

/// Plays scripts at an isolation level of a database; each must end in what one of the levels allows. At most a few need
/// another one than the first.
fn compare(database: &dyn Database, isolation: &str, levels: &[Level]) {
    let (seed, n_cases) = (setting("ISOSCOPE_SEED", 1), setting("ISOSCOPE_CASES", 25));
    let (mut n_weaker, mut n_twice) = (0, 0);
    for nth in 0..n_cases {
        let script = random_script(&mut Random::of(seed, usize::try_from(nth).unwrap(), 0), isolation);
        match outcome(database, &script, levels) {
            Outcome::Allowed(nth) => n_weaker += u64::from(nth > 0),
            Outcome::Twice => n_twice += 1,
            Outcome::Forbidden(history, why) => {
                let is_forbidden = |it: &Script| matches!(outcome(database, it, levels), Outcome::Forbidden(..));
                let smallest = shrunk(script, &is_forbidden);
                let (history, why) = match outcome(database, &smallest, levels) {
                    Outcome::Forbidden(history, why) => (history, why),
                    _ => (history, why),
                };
                panic!(
                    "{} at {isolation} shows what {levels:?} forbid ({why}), seed {seed}, script {nth}:\n{smallest}\n{}",
                    database.describe(),
                    shown(&history)
                );
            }
        }
    }
    let name = database.describe();
    eprintln!(
        "{name} at {isolation}: {n_cases} scripts, {n_weaker} need {:?}, {n_twice} return a row twice",
        levels.last()
    );
    assert!(n_weaker + n_twice <= 2 + n_cases / 10, "{n_weaker}, {n_twice}");
}

/// What came of a script.
enum Outcome {
    /// One of the levels allows it.
    Allowed(usize),
    /// A statement returned two rows of one key, which no history can hold: see the page of `PostgreSQL`.
    Twice,
    /// All levels forbid the history, and why the last one does.
    Forbidden(Box<History>, String),
}

fn outcome(database: &dyn Database, script: &Script, levels: &[Level]) -> Outcome {
    let played = match script.play(database) {
        Ok(played) => played,
        Err(failure) if failure.to_string().contains("twice") => {
            database.tear_down().unwrap();
            return Outcome::Twice;
        }
        Err(error) => panic!("{error}:\n{script}"),
    };
    let mut why = String::new();
    for (nth, level) in levels.iter().enumerate() {
        // Without two transactions in real time, there is no strict order.
        let level = if played.history.has_real_time() { *level } else { level.without_times() };
        match check(&played.history, level, &Budget::unlimited()) {
            Answer::Allowed(_) => return Outcome::Allowed(nth),
            Answer::Forbidden(it) => why = it.anomalies.iter().map(|it| it.name()).collect::<Vec<_>>().join(", "),
            other => panic!("{other:?} of\n{script}\n{}", shown(&played.history)),
        }
    }
    Outcome::Forbidden(Box::new(played.history), why)
}

fn shown(history: &History) -> String {
    let mut text = Vec::new();
    write(&without_times(history), Format::Text, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// The script without steps that are not needed.
fn shrunk(script: Script, is_bad: &dyn Fn(&Script) -> bool) -> Script {
    let mut smallest = script;
    let mut idx = 0;
    while idx < smallest.steps.len() {
        let mut smaller = smallest.clone();
        let session = smaller.steps.remove(idx).session;
        let is_operation = !matches!(smallest.steps[idx].action, Action::Begin { .. } | Action::Commit | Action::Abort);
        if !is_operation {
            smaller.steps = smallest.steps.iter().filter(|it| it.session != session).cloned().collect();
        }
        if is_bad(&smaller) {
            (smallest, idx) = (smaller, 0);
        } else {
            idx += 1;
        }
    }
    smallest
}

/// Two or three sessions with statements of all kinds on a few rows, in any order, and a last one that looks at the end.
fn random_script(random: &mut Random, isolation: &str) -> Script {
    let n_sessions = 2 + random.below(2);
    let mut left: Vec<Vec<String>> = (0..n_sessions).map(|it| random_txn(random, it, isolation)).collect();
    let mut lines = vec!["table t int numbered".to_owned()];
    for row in 1..=1 + random.below(ROWS - 1) {
        lines.push(format!("row t {row} {}", random.below(3)));
    }
    while left.iter().any(|it| !it.is_empty()) {
        let session = random.below(n_sessions);
        if let Some(step) = left[session].pop() {
            lines.push(format!("s{} {step}", session + 1));
        }
    }
    lines.push(format!("end begin {isolation}\nend scan t\nend commit"));
    let text = lines.join("\n");
    text.parse().unwrap_or_else(|error| panic!("{error}:\n{text}"))
}

/// The steps of a session, the last one first.
fn random_txn(random: &mut Random, session: usize, isolation: &str) -> Vec<String> {
    let mut steps = Vec::new();
    for txn in 0..=random.below(2) {
        steps.push(format!("begin {isolation}"));
        for nth in 0..=random.below(3) {
            // Nobody else writes these.
            let value = 10 * (1 + session * 10 + txn * 5 + nth);
            steps.push(random_step(random, value));
        }
        steps.push(if random.below(8) == 0 { "abort" } else { "commit" }.to_owned());
    }
    steps.reverse();
    steps
}

fn random_step(random: &mut Random, value: usize) -> String {
    let row = 1 + random.below(ROWS);
    let predicate = random_predicate(random);
    match random.below(10) {
        0 => format!("get t {row}"),
        1 | 2 => format!("scan t {predicate}"),
        3 => format!("scan t {predicate} for update"),
        4 => format!("put t {row} {value}"),
        5 => format!("insert t {row} {value}"),
        6 => format!("delete t {row}"),
        7 => format!("delete t where {predicate}"),
        8 => format!("add t {row} 1"),
        _ => format!("add t 1 where {predicate}"),
    }
}

fn random_predicate(random: &mut Random) -> String {
    let low = 1 + random.below(ROWS);
    match random.below(5) {
        0 => "all".to_owned(),
        1 => format!("value < {}", 1 + random.below(3)),
        2 => format!("value mod 2 = {}", random.below(2)),
        3 => format!("key in {low}..{}", low + random.below(2)),
        _ => format!("key = {low}"),
    }
}
