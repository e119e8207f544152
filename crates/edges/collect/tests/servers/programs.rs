//! Every program of the corpus as SQL, in many interleavings, on real databases: what is said to hold is never broken.
//!
//! `ISOSCOPE_CASES=N` tries N interleavings of each, and with `ISOSCOPE_BLESS=1` the page of what was seen is written again.

use crate::{server, setting};
use iso_collect::programs::{Interleavings, Trial, sample_symbols, try_program};
use iso_collect::{Database, open};
use iso_program::{Program, parse};
use iso_servers::Kind;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

struct Sample {
    name: String,
    program: Program,
    expected: BTreeMap<String, String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn samples() -> Vec<Sample> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(root().join("corpus/programs")).unwrap().map(|it| it.unwrap().path()).collect();
    paths.retain(|it| it.extension().is_some_and(|it| it == "txn"));
    paths.sort();
    let read = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        let lines = text.lines().filter_map(|it| it.strip_prefix("// expect: "));
        let pairs = lines.flat_map(|it| it.split(' ')).map(|it| it.split_once('=').unwrap());
        let expected = pairs.map(|(level, word)| (level.to_owned(), word.to_owned())).collect();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        Sample { program: parse(&text, &name).unwrap(), name, expected }
    };
    let samples: Vec<Sample> = paths.iter().map(read).collect();
    assert!(samples.len() > 20, "the corpus has programs");
    samples
}

/// How often each program was broken at one level.
fn try_all(database: &dyn Database, isolation: &str, level: &str, samples: &[Sample]) -> Vec<(Trial, bool)> {
    let n_runs = setting("ISOSCOPE_CASES", 6) as usize;
    let seed = setting("ISOSCOPE_SEED", 1);
    let mut trials = Vec::new();
    for sample in samples {
        let symbols = sample_symbols(&sample.program, n_runs.min(8), seed);
        assert!(!symbols.is_empty(), "{}: no open values are allowed", sample.name);
        let wanted = Interleavings { n_runs, seed };
        let trial = try_program(database, isolation, &sample.program, &symbols, wanted, &|| false)
            .unwrap_or_else(|it| panic!("{} at {isolation}: {it}", sample.name));
        let holds = sample.expected[level] == "holds";
        assert!(!holds || trial.n_broken == 0, "{} at {level} is said to hold: {:#?}", sample.name, trial.first);
        assert_eq!(trial.n_runs, n_runs, "{}", sample.name);
        trials.push((trial, holds));
    }
    trials
}

/// Which isolation level of which database is judged by which level.
type Place = (&'static str, &'static str);

fn compare(database: &dyn Database, title: &str, places: &[Place]) {
    let samples = samples();
    let trials: Vec<Vec<(Trial, bool)>> =
        places.iter().map(|(isolation, level)| try_all(database, isolation, level, &samples)).collect();
    let n_broken: usize = trials.iter().flatten().map(|it| it.0.n_broken).sum();
    eprintln!("{title}: {n_broken} interleavings broke something that may break");
    if std::env::var_os("ISOSCOPE_BLESS").is_some() {
        write_section(title, places, &samples, &trials);
    }
}

/// The part of the page that is about one server.
fn write_section(title: &str, places: &[Place], samples: &[Sample], trials: &[Vec<(Trial, bool)>]) {
    let path = root().join("docs/programs/on-servers.md");
    let page = fs::read_to_string(&path).unwrap();
    let mut section = format!("\n## {title}\n\n| program |");
    for (isolation, _) in places {
        let _ = write!(section, " {isolation} |");
    }
    let _ = writeln!(section, "\n|---|{}", "---|".repeat(places.len()));
    for (idx, sample) in samples.iter().enumerate() {
        let _ = write!(section, "| [{0}]({0}.md) |", sample.name);
        for column in trials {
            let (trial, holds) = &column[idx];
            let words =
                if *holds { "holds".to_owned() } else { format!("broken in {} of {}", trial.n_broken, trial.n_runs) };
            let _ = write!(section, " {words} |");
        }
        section += "\n";
    }
    let start = page.find(&format!("## {title}\n")).unwrap_or(page.len());
    let end = page[start..].find("\n## ").map_or(page.len(), |it| start + it + 1);
    let page = format!("{}\n{section}\n{}", page[..start].trim_end(), &page[end..]);
    fs::write(&path, page.trim_end().to_owned() + "\n").unwrap();
}

#[test]
fn programs_hold_on_postgresql_where_they_are_said_to() {
    let Some(server) = server(Kind::PostgreSql, &["deadlock_timeout=50ms"]) else { return };
    let places =
        [("read-committed", "postgres.rc"), ("repeatable-read", "postgres.rr"), ("serializable", "postgres.ser")];
    compare(&*open(&server.url()).unwrap(), "PostgreSQL", &places);
}

#[test]
fn programs_hold_on_mariadb_where_they_are_said_to() {
    let Some(server) = server(Kind::MariaDb, &[]) else { return };
    let places = [("read-committed", "mysql.rc"), ("repeatable-read", "mysql.rr"), ("serializable", "mysql.ser")];
    compare(&*open(&server.url()).unwrap(), "MariaDB", &places);
}

#[test]
fn programs_hold_on_sqlite() {
    compare(&*open("sqlite:").unwrap(), "SQLite", &[("serializable", "postgres.ser")]);
}
