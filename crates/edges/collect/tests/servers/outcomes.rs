//! Small scripts in all interleavings: what a server shows, beside everything that our level allows.
//!
//! A session runs two statements and another one runs one; a last one looks at the end. On the one side stand the outcomes of
//! all interleavings on the server, on the other side all answers that statements might give, as far as the level allows
//! them. What a server shows must be allowed; what it never shows is listed, and explained in docs/databases.
//!
//! `ISOSCOPE_CASES=N` plays about N scripts for each level; `cargo xtask soak` plays more.

use crate::judge::opened;
use crate::{server, setting};
use iso_check::check;
use iso_collect::script::Script;
use iso_collect::{Database, Failure};
use iso_evidence::{Budget, Verdict};
use iso_formats::{Format, ReadOptions, read_from, without_times, write};
use iso_history::{History, Outcome};
use iso_servers::Kind;
use iso_spec::Level;
use std::collections::BTreeSet;

/// A statement of a session, which writes values that nobody else writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Statement {
    Get,
    Scan,
    ScanForUpdate,
    Put,
    Insert,
    DeleteAll,
    AddOne,
    AddToSmall,
}

use Statement::{AddOne, AddToSmall, DeleteAll, Get, Insert, Put, Scan, ScanForUpdate};

const STATEMENTS: [Statement; 8] = [Get, Scan, ScanForUpdate, Put, Insert, DeleteAll, AddOne, AddToSmall];

/// There are two rows; the first one is there to begin with, and holds 0.
const INIT: &str = "init t/1=0\n";

/// Small ones are below this.
const SMALL: i64 = 5;

impl Statement {
    fn step(self, value: i64) -> String {
        match self {
            Get => "get t 1".to_owned(),
            Scan => "scan t".to_owned(),
            ScanForUpdate => "scan t for update".to_owned(),
            Put => format!("put t 1 {value}"),
            Insert => format!("insert t 2 {value}"),
            DeleteAll => "delete t where all".to_owned(),
            AddOne => "add t 1 1".to_owned(),
            AddToSmall => format!("add t 1 where value < {SMALL}"),
        }
    }

    /// Everything that it might answer, as a history has it, if rows hold one of these values or are not there.
    fn answers(self, value: i64, values: &[i64]) -> Vec<String> {
        let all: Vec<Option<i64>> = std::iter::once(None).chain(values.iter().copied().map(Some)).collect();
        let rows = |is_found: &dyn Fn(i64) -> bool| -> Vec<[Option<i64>; 2]> {
            let found = || all.iter().copied().filter(|it| it.is_none_or(is_found));
            found().flat_map(|first| found().map(move |second| [first, second])).collect()
        };
        let listed = |found: &[Option<i64>; 2]| {
            let row = |(idx, it): (usize, &Option<i64>)| it.map(|it| format!("t/{}={it}", idx + 1));
            found.iter().enumerate().filter_map(row).collect::<Vec<_>>().join(", ")
        };
        let changed = |predicate: &str, found: &[Option<i64>; 2], new: &dyn Fn(i64) -> String| {
            let write = |(idx, it): (usize, &Option<i64>)| it.map(|it| format!(" w(t/{},{})", idx + 1, new(it)));
            let writes: String = found.iter().enumerate().filter_map(write).collect();
            let locks = if writes.is_empty() { " for update" } else { "" };
            format!("[ scan(t, {predicate}, {{{}}}){writes} ]{locks}", listed(found))
        };
        match self {
            Get => all.iter().map(|it| format!("r(t/1,{})", it.map_or("-".to_owned(), |it| it.to_string()))).collect(),
            Scan => rows(&|_| true).iter().map(|it| format!("scan(t, all, {{{}}})", listed(it))).collect(),
            ScanForUpdate => {
                rows(&|_| true).iter().map(|it| format!("scan(t, all, {{{}}}) for update", listed(it))).collect()
            }
            Put => vec![format!("w(t/1,{value})")],
            Insert => vec![format!("u(t/2,-,{value})")],
            DeleteAll => rows(&|_| true).iter().map(|it| changed("all", it, &|_| "-".to_owned())).collect(),
            AddOne => all
                .iter()
                .map(|it| match it {
                    Some(old) => format!("u(t/1,{old},{})", old + 1),
                    None => "[ scan(t, key = 1, {}) ] for update".to_owned(),
                })
                .collect(),
            AddToSmall => {
                let predicate = format!("value < {SMALL}");
                let add = |it: i64| (it + 1).to_string();
                rows(&|it| it < SMALL).iter().map(|it| changed(&predicate, it, &add)).collect()
            }
        }
    }

    fn adds(self) -> i64 {
        i64::from(matches!(self, AddOne | AddToSmall))
    }

    fn written(self, value: i64) -> Option<i64> {
        matches!(self, Put | Insert).then_some(value)
    }
}

/// Two statements beside one.
type Case = ([Statement; 2], Statement);

/// The values that the sessions write.
const VALUES: ([i64; 2], i64) = ([10, 20], 30);

fn cases() -> Vec<Case> {
    let pairs = STATEMENTS.into_iter().flat_map(|a| STATEMENTS.map(|b| [a, b]));
    pairs.flat_map(|it| STATEMENTS.map(|c| (it, c))).filter(|it| n_answers(*it) <= MAX_ANSWERS).collect()
}

/// Cases with more possible histories take too long.
const MAX_ANSWERS: usize = 20_000;

fn values_of((first, second): Case) -> Vec<i64> {
    let mut values = BTreeSet::from([0]);
    let written = [first[0].written(VALUES.0[0]), first[1].written(VALUES.0[1]), second.written(VALUES.1)];
    values.extend(written.into_iter().flatten());
    for _ in 0..first[0].adds() + first[1].adds() + second.adds() {
        let more: Vec<i64> = values.iter().map(|it| it + 1).collect();
        values.extend(more);
    }
    values.into_iter().collect()
}

fn n_answers(case: Case) -> usize {
    answers_of(case).iter().map(Vec::len).product()
}

/// What each statement might answer, and the last scan.
fn answers_of((first, second): Case) -> [Vec<String>; 4] {
    let values = values_of((first, second));
    [
        first[0].answers(VALUES.0[0], &values),
        first[1].answers(VALUES.0[1], &values),
        second.answers(VALUES.1, &values),
        Scan.answers(0, &values),
    ]
}

/// In one way of writing.
fn shown(history: &History) -> String {
    let mut text = Vec::new();
    write(&without_times(history), Format::Text, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let mut lines: Vec<&str> = text.lines().filter(|it| !it.starts_with('#')).collect();
    lines.sort_unstable();
    lines.join("\n")
}

fn read(text: &str) -> History {
    read_from("outcome", text.as_bytes(), &ReadOptions::default()).unwrap().into_history().unwrap()
}

/// Every outcome that a level allows.
fn allowed(case: Case, level: Level) -> BTreeSet<String> {
    let [a, b, c, end] = answers_of(case);
    let mut found = BTreeSet::new();
    for a in &a {
        for b in &b {
            for c in &c {
                for end in &end {
                    // The last one sees that both have ended.
                    let text = format!(
                        "{INIT}s1: {{ {a} {b} w(one,1) }}\ns2: {{ {c} w(other,1) }}\n\
                         end: {{ [ {end} r(one,1) r(other,1) ] }}\n"
                    );
                    if matches!(check(&read(&text), level, &Budget::unlimited()), Verdict::Allowed(_)) {
                        let text = format!("{INIT}s1: {{ {a} {b} }}\ns2: {{ {c} }}\nend: {{ {end} }}\n");
                        found.insert(shown(&read(&text)));
                    }
                }
            }
        }
    }
    found
}

/// What the server shows in all interleavings in which everybody commits.
fn seen(database: &dyn Database, (first, second): Case, isolation: &str) -> BTreeSet<String> {
    let one = [first[0].step(VALUES.0[0]), first[1].step(VALUES.0[1]), "commit".to_owned()];
    let other = [second.step(VALUES.1), "commit".to_owned()];
    let mut found = BTreeSet::new();
    for choice in 0_u32..1 << (one.len() + other.len()) {
        if choice.count_ones() as usize != other.len() {
            continue;
        }
        let (mut ones, mut others) = (one.iter(), other.iter());
        let mut lines = vec!["table t int numbered".to_owned(), "row t 1 0".to_owned()];
        let mut begun = BTreeSet::new();
        for place in 0..one.len() + other.len() {
            let (session, step) = if choice >> place & 1 == 1 { ("s2", others.next()) } else { ("s1", ones.next()) };
            if begun.insert(session) {
                lines.push(format!("{session} begin {isolation}"));
            }
            lines.push(format!("{session} {}", step.unwrap()));
        }
        lines.push(format!("end begin {isolation}\nend scan t\nend commit"));
        let script: Script = lines.join("\n").parse().unwrap();
        let played = match script.play(database) {
            Ok(played) => played,
            Err(Failure::Broken { message }) if message.contains("twice") => {
                database.tear_down().unwrap();
                continue;
            }
            Err(failure) => panic!("{failure}:\n{script}"),
        };
        let history = &played.history;
        if history.txns().all(|it| history.outcome(it) == Outcome::Committed) {
            found.insert(shown(history));
        }
    }
    found
}

/// Compares some cases at an isolation level, and returns how many outcomes the level allows that the server never shows.
fn compare(database: &dyn Database, isolation: &str, level: Level) -> usize {
    // Each takes ten scripts.
    let (all, n_cases) = (cases(), setting("ISOSCOPE_CASES", 40).div_ceil(10));
    let stride = all.len().div_ceil(usize::try_from(n_cases).unwrap());
    let (mut n_compared, mut n_seen, mut n_more) = (0, 0, 0);
    for case in all.iter().step_by(stride.max(1)) {
        let (seen, allowed) = (seen(database, *case, isolation), allowed(*case, level));
        let forbidden: Vec<&String> = seen.difference(&allowed).collect();
        let name = database.describe();
        assert!(forbidden.is_empty(), "{name} at {isolation} shows what {level} forbids: {case:?}\n{forbidden:#?}");
        for more in allowed.difference(&seen) {
            eprintln!("{level} allows, and {name} never shows, in {case:?}:\n{more}");
            n_more += 1;
        }
        (n_compared, n_seen) = (n_compared + 1, n_seen + seen.len());
    }
    eprintln!("{isolation}: {n_compared} cases, {n_seen} outcomes seen, {n_more} more allowed");
    assert!(n_seen > n_compared, "most cases have several outcomes");
    n_more
}

#[test]
fn postgresql_shows_all_that_its_levels_allow() {
    let Some(server) = server(Kind::PostgreSql, &["deadlock_timeout=50ms"]) else { return };
    let database = opened(&server.url());
    for (isolation, level) in [
        ("read-committed", Level::StatementSnapshots),
        ("repeatable-read", Level::RowSnapshots),
        ("serializable", Level::Serializable),
    ] {
        assert_eq!(compare(&*database, isolation, level), 0, "{isolation}");
    }
}

#[test]
fn mariadb_shows_nearly_all_that_its_levels_allow() {
    let Some(server) = server(Kind::MariaDb, &["loose-innodb-snapshot-isolation=OFF"]) else { return };
    let database = opened(&server.url());
    for (isolation, level) in [
        ("read-committed", Level::StatementSnapshots),
        ("repeatable-read", Level::TransactionSnapshot),
        ("serializable", Level::Serializable),
    ] {
        let n_more = compare(&*database, isolation, level);
        let n_expected = setting("ISOSCOPE_CASES", 40) / 50 + 1;
        assert!(
            n_more as u64 <= n_expected,
            "{isolation}: {n_more} outcomes are not explained by docs/databases/mariadb.md"
        );
    }
}

/// Compares what a store shows in all interleavings with what a server shows, and returns how many outcomes only the server
/// shows, and how many only the store.
fn compare_with_store(server: &dyn Database, isolation: &str, store: &str) -> [usize; 2] {
    let store = iso_collect::open(&format!("store:{store}?policy=latest")).unwrap();
    let (all, n_cases) = (cases(), setting("ISOSCOPE_CASES", 40).div_ceil(10));
    let stride = all.len().div_ceil(usize::try_from(n_cases).unwrap());
    let (mut n_outcomes, mut n_differ) = (0, [0, 0]);
    for case in all.iter().step_by(stride.max(1)) {
        let (on_server, on_store) = (seen(server, *case, isolation), seen(&*store, *case, store.isolations()[0]));
        for outcome in on_server.symmetric_difference(&on_store) {
            let is_store = on_store.contains(outcome);
            let who = if is_store { "the store" } else { "the server" };
            eprintln!("only {who} shows at {isolation}, in {case:?}:\n{outcome}");
            n_differ[usize::from(is_store)] += 1;
        }
        n_outcomes += on_server.len();
    }
    eprintln!("{isolation}: {n_outcomes} outcomes of the server, only there and only on the store: {n_differ:?}");
    assert!(n_outcomes > 0);
    n_differ
}

#[test]
fn a_store_shows_what_postgresql_shows() {
    let Some(server) = server(Kind::PostgreSql, &["deadlock_timeout=50ms"]) else { return };
    let database = opened(&server.url());
    for (isolation, store) in [("read-committed", "postgres.rc"), ("repeatable-read", "postgres.rr")] {
        assert_eq!(compare_with_store(&*database, isolation, store), [0, 0], "{isolation}");
    }
}

/// `InnoDB` locks gaps between rows at REPEATABLE READ, so that nobody inserts where somebody has looked for rows to lock. Its
/// level does not promise that, and the store does not do it.
#[test]
fn a_store_shows_what_mariadb_shows() {
    let Some(server) = server(Kind::MariaDb, &["loose-innodb-snapshot-isolation=OFF"]) else { return };
    let database = opened(&server.url());
    assert_eq!(compare_with_store(&*database, "read-committed", "mysql.rc"), [0, 0]);
    let [only_server, _] = compare_with_store(&*database, "repeatable-read", "mysql.rr");
    assert_eq!(only_server, 0, "the store shows all that the server does");
}
