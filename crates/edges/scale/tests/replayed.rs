//! The queries, run by `SQLite` and by `DataFusion` on small random histories, lead to the verdicts of the library.
//!
//! `DataFusion` is a Python package: where neither `ISOSCOPE_PYTHON` nor `python3` has it, its tests say so and pass, unless
//! `ISOSCOPE_DATAFUSION=required` says that it is there, as `cargo xtask test` does.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "a test fails by panicking, and says what it counted"
)]

use iso_answer::check::check;
use iso_evidence::Budget;
use iso_formats::{Format, survey, write_path};
use iso_history::{Datum, History, HistoryBuilder, Name, Op, Outcome, Place, PlaceUnit};
use iso_scale::{
    Address, Decision, Engine, Memory, Moved, Part, Queries, Question, Replay, ScaleError, Scripted, decide,
};
use iso_spec::Level;
use rusqlite::types::Value;
use rusqlite::{Connection, params};

/// `SQLite` as the engine.
struct Sqlite {
    database: Connection,
    initial: Datum,
}

impl Sqlite {
    fn new(history: &History, initial: &Datum) -> Self {
        let database = Connection::open_in_memory().unwrap();
        database
            .execute_batch(
                "CREATE TABLE history (txn INTEGER, session TEXT, kind TEXT, `key`, `value`, op INTEGER, status TEXT,
                   `begin` INTEGER, `end` INTEGER);
                 CREATE TABLE moved (txn INTEGER, pos INTEGER, counts INTEGER);",
            )
            .unwrap();
        let mut insert = database.prepare("INSERT INTO history VALUES (?,?,?,?,?,?,?,?,?)").unwrap();
        for key in history.keys() {
            let value = history.value(history.initial_value(key));
            if value != initial.as_name() {
                let (key, value) = (cell(history.key_name(key)), cell(value));
                insert
                    .execute(params![0, None::<String>, "init", key, value, 0, "commit", None::<i64>, None::<i64>])
                    .unwrap();
            }
        }
        for txn in history.txns() {
            let session = history.session_name(history.session_of(txn).unwrap());
            let status = match history.outcome(txn) {
                Outcome::Committed => "commit",
                Outcome::Aborted => "abort",
                Outcome::Indeterminate => "unknown",
            };
            let number = txn.index() as i64;
            let mut row = |kind: &str, key: Value, value: Value, op: i64| {
                let (begin, end) = (history.begin(txn), history.end(txn));
                insert.execute(params![number, session, kind, key, value, op, status, begin, end]).unwrap();
            };
            for (nth, op) in history.ops(txn).enumerate() {
                match history.op(op) {
                    Op::Read { key, value } => {
                        row("r", cell(history.key_name(key)), cell(history.value(value)), nth as i64);
                    }
                    Op::Write { key, value } => {
                        row("w", cell(history.key_name(key)), cell(history.value(value)), nth as i64);
                    }
                    _ => panic!("registers only"),
                }
            }
            if history.ops(txn).len() == 0 {
                row("txn", Value::Null, Value::Null, 0);
            }
        }
        drop(insert);
        Self { database, initial: initial.clone() }
    }

    fn count(&self, view: &str) -> u64 {
        self.database.query_row(&format!("SELECT COUNT(*) FROM {view}"), [], |it| it.get::<_, i64>(0)).unwrap() as u64
    }

    fn part(&self) -> History {
        let mut builder = HistoryBuilder::new();
        let source = builder.source("part", PlaceUnit::Txn);
        let initial = builder.value(self.initial.clone());
        builder.default_initial(initial);
        let mut select = self.database.prepare("SELECT * FROM before ORDER BY txn, op").unwrap();
        let mut rows = select.query([]).unwrap();
        let mut open: Option<(i64, Outcome)> = None;
        while let Some(row) = rows.next().unwrap() {
            let (txn, kind): (i64, String) = (row.get(0).unwrap(), row.get(2).unwrap());
            let (key, value) = (datum(row.get(3).unwrap()), datum(row.get(4).unwrap()));
            let place = Place { source, at: txn as u64 };
            if kind == "init" {
                let (key, value) = (builder.key(key), builder.value(value));
                builder.initial(key, value, place);
                continue;
            }
            if open.is_none_or(|it| it.0 != txn) {
                if let Some((_, outcome)) = open {
                    builder.end(outcome);
                }
                let session = builder.session(&row.get::<_, String>(1).unwrap());
                builder.begin(session, place);
                let time = |name: &str| row.get::<_, Option<i64>>(name).ok().flatten();
                builder.times(time("begin"), time("end"));
                let outcome = match row.get::<_, String>(6).unwrap().as_str() {
                    "commit" => Outcome::Committed,
                    "abort" => Outcome::Aborted,
                    _ => Outcome::Indeterminate,
                };
                open = Some((txn, outcome));
            }
            if kind != "txn" {
                let (key, value) = (builder.key(key), builder.value(value));
                if kind == "r" { builder.read(key, value) } else { builder.write(key, value) }
            }
        }
        if let Some((_, outcome)) = open {
            builder.end(outcome);
        }
        builder.finish().unwrap()
    }
}

fn cell(name: Name<'_>) -> Value {
    match name {
        Name::Null => Value::Null,
        Name::Int(number) => Value::Integer(number),
        other => Value::Text(iso_formats::spelled(other).unwrap()),
    }
}

fn datum(value: Value) -> Datum {
    match value {
        Value::Null => Datum::Null,
        Value::Integer(number) => Datum::Int(number),
        Value::Text(text) => Datum::text(text),
        other => panic!("{other:?}"),
    }
}

impl Engine for Sqlite {
    fn name(&self) -> String {
        "SQLite".to_owned()
    }

    fn replay(&mut self, queries: &Queries, moved: &[Moved]) -> Result<Replay, ScaleError> {
        self.database.execute("DELETE FROM moved", []).unwrap();
        for it in moved {
            self.database
                .execute("INSERT INTO moved VALUES (?,?,?)", params![it.txn, it.position, i32::from(it.counts)])
                .unwrap();
        }
        for (name, text) in &queries.views {
            let kind = if Queries::KEPT.contains(name) { "TABLE" } else { "VIEW" };
            let text = format!("DROP {kind} IF EXISTS {name}; CREATE TEMP {kind} {name} AS {text};");
            self.database.execute_batch(&text).unwrap_or_else(|it| panic!("{name}: {it}\n{text}"));
        }
        assert_eq!((self.count("other_kinds"), self.count("broken")), (0, 0));
        let (n_keys, n_misfits) = (self.count("misfit_keys"), self.count("misfit_txns"));
        let part = if n_keys + n_misfits == 0 {
            Part::None
        } else {
            // The view reads the part before.
            self.database
                .execute_batch(
                    "CREATE TABLE next AS SELECT * FROM part; DROP TABLE IF EXISTS before;
                 CREATE TABLE before AS SELECT * FROM next; DROP TABLE next;",
                )
                .unwrap();
            Part::History(Box::new(self.part()))
        };
        Ok(Replay { n_txns: self.count("txns"), n_keys, n_misfits, part })
    }
}

/// A linear congruential generator: equal seeds, equal histories.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }
}

/// What keys and values are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    Integers,
    Texts,
}

impl Names {
    fn key(self, nth: usize) -> Datum {
        match self {
            Self::Integers => Datum::Int(nth as i64),
            Self::Texts if nth == 0 => Datum::Null,
            Self::Texts => Datum::text(format!("key's \\ {nth}")),
        }
    }

    fn value(self, number: i64) -> Datum {
        if self == Self::Integers || number % 3 == 0 { Datum::Int(number) } else { Datum::text(format!("v{number}")) }
    }
}

/// Transactions run one after the other, and some reads see something else than they should.
fn history(dice: &mut Dice, names: Names) -> (History, Datum) {
    let mut builder = HistoryBuilder::new();
    builder.source("random", PlaceUnit::Txn);
    let initial = [Datum::Int(0), Datum::Null, Datum::Int(7)][dice.roll(3)].clone();
    let n_keys = 1 + dice.roll(3);
    let start = builder.value(initial.clone());
    builder.default_initial(start);
    let keys: Vec<_> = (0..n_keys).map(|it| builder.key(names.key(it))).collect();
    let mut state = vec![vec![initial.clone()]; n_keys];
    if dice.roll(3) == 0 {
        let value = builder.value(Datum::Int(50));
        builder.initial(keys[0], value, Place::default());
        state[0] = vec![Datum::Int(50)];
    }
    let (n_sessions, n_txns) = (1 + dice.roll(4), 1 + dice.roll(9));
    let (lies, unique, timed) = (dice.roll(8), dice.roll(3) > 0, dice.roll(4) > 0);
    for nth in 0..n_txns {
        let session = builder.session(&format!("s{}", dice.roll(n_sessions)));
        builder.begin(session, Place { source: 0, at: nth as u64 + 1 });
        let outcome = match dice.roll(12) {
            0 => Outcome::Aborted,
            1 => Outcome::Indeterminate,
            _ => Outcome::Committed,
        };
        let mut written = Vec::new();
        for op in 0..dice.roll(5) {
            let key = dice.roll(n_keys);
            if dice.roll(2) == 0 {
                let value = if unique { (nth * 10 + op + 1) as i64 } else { dice.roll(3) as i64 };
                written.push((key, names.value(value)));
                let value = builder.value(names.value(value));
                builder.write(keys[key], value);
            } else {
                let own = written.iter().rfind(|it| it.0 == key).map(|it| it.1.clone());
                let versions = &state[key];
                let honest = own.unwrap_or_else(|| versions.last().unwrap().clone());
                let seen = if dice.roll(10) < lies { versions[dice.roll(versions.len())].clone() } else { honest };
                let seen = builder.value(seen);
                builder.read(keys[key], seen);
            }
        }
        if timed {
            let begin = (nth * 10) as i64 - dice.roll(15) as i64;
            let end = begin.max((nth * 10) as i64) + dice.roll(25) as i64;
            builder.times((dice.roll(9) > 0).then_some(begin), (dice.roll(9) > 0).then_some(end));
        }
        if outcome != Outcome::Aborted || dice.roll(4) == 0 {
            for (key, value) in written {
                state[key].push(value);
            }
        }
        builder.end(outcome);
    }
    (builder.finish().unwrap(), initial)
}

/// What came of the questions.
#[derive(Debug, Default)]
struct Counts {
    holds: usize,
    violated: usize,
    unknown: usize,
    holds_after_another_order: usize,
}

impl Counts {
    /// Counts a decision, which must be the library's.
    fn add(&mut self, found: &Decision, history: &History, level: Level, seed: u64) {
        // Of histories whose times say nothing, nothing is known of real time.
        let Some(expected) = check(history, level, &Budget::unlimited()).is_allowed() else { return };
        match found {
            Decision::Holds { n_replays, .. } => {
                assert!(expected, "seed {seed}, {level}: the replay fits a forbidden history");
                self.holds += 1;
                self.holds_after_another_order += usize::from(*n_replays > 1);
            }
            Decision::Violated { .. } => {
                assert!(!expected, "seed {seed}, {level}: a part of an allowed history is forbidden");
                self.violated += 1;
            }
            Decision::Unknown(reason) => {
                println!("seed {seed}, {level}, {expected}: {reason}");
                self.unknown += 1;
            }
        }
    }

    /// There was enough of each, and little is left open.
    fn say(&self, n_cases: u64) {
        println!("{self:?}");
        let third = usize::try_from(n_cases).unwrap() / 3;
        assert!(self.holds > third && self.violated > third && self.holds_after_another_order > third / 10, "{self:?}");
        assert!(self.unknown * 50 < self.holds + self.violated, "too much is left open: {self:?}");
    }
}

const LEVELS: [Level; 3] = [Level::Serializable, Level::StrictSerializable, Level::SnapshotIsolation];

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|it| it.parse().ok()).unwrap_or(usual)
}

#[test]
fn verdicts_are_those_of_the_library() {
    let folder = tempfile::tempdir().unwrap();
    let (first, n_cases) = (number("ISOSCOPE_SEED", 0) << 20, number("ISOSCOPE_CASES", 600));
    let mut counts = Counts::default();
    for seed in first..first + n_cases {
        let (history, initial) = history(&mut Dice(seed), Names::Integers);
        let path = folder.path().join(format!("{seed}.parquet"));
        write_path(&history, Format::Parquet, &path).unwrap();
        let mut data = survey(&path).unwrap();
        std::fs::remove_dir_all(&path).unwrap();
        // The writer takes what most keys have for the default; the rows of this test take what the history says.
        data.initial = initial.clone();
        for level in LEVELS {
            let Ok(question) = Question::new(data.clone(), level) else { continue };
            let mut engine = Sqlite::new(&history, &initial);
            let found = decide(&question, &mut engine, &Budget::unlimited()).unwrap();
            counts.add(&found, &history, level, seed);
        }
    }
    counts.say(n_cases);
}

/// `DataFusion`, unless it is not installed.
fn data_fusion(path: &std::path::Path) -> Option<Scripted<'static>> {
    match Scripted::new(Address::DataFusion, &survey(path).unwrap(), Memory::default(), &|| false) {
        Ok(engine) => Some(engine),
        Err(missing @ ScaleError::Missing { .. }) => {
            assert!(std::env::var_os("ISOSCOPE_DATAFUSION").is_none(), "{missing}");
            println!("skipped: {missing}");
            None
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn verdicts_of_data_fusion_are_those_of_the_library() {
    let folder = tempfile::tempdir().unwrap();
    // Starting queries is what takes the time.
    let (first, n_cases) = (number("ISOSCOPE_SEED", 0) << 20, number("ISOSCOPE_CASES", 600) / 6);
    let mut counts = Counts::default();
    let mut engine = None;
    for seed in first..first + n_cases {
        let names = if seed % 2 == 0 { Names::Integers } else { Names::Texts };
        let (history, _) = history(&mut Dice(seed), names);
        let path = folder.path().join(format!("no pattern [{seed}] 100%.parquet"));
        write_path(&history, Format::Parquet, &path).unwrap();
        if engine.is_none() {
            let Some(found) = data_fusion(&path) else { return };
            engine = Some(found);
        }
        let engine = engine.as_mut().unwrap();
        for level in LEVELS {
            let Ok(question) = Question::new(survey(&path).unwrap(), level) else { continue };
            engine.turn_to(&question.data).unwrap();
            let found =
                decide(&question, engine, &Budget::unlimited()).unwrap_or_else(|it| panic!("seed {seed}: {it}"));
            counts.add(&found, &history, level, seed);
        }
        std::fs::remove_dir_all(&path).unwrap();
    }
    counts.say(n_cases);
    drop(engine);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "something is left behind");
}
