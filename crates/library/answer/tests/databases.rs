//! The programs of the corpus at levels of databases: every execution that breaks one is certified, and their headers say
//! what was found. `ISOSCOPE_BLESS=1` writes the headers again.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(clippy::disallowed_methods, reason = "the corpus is test data; the library itself reads nothing")]

use iso_answer::verify::{Answer, Database, Isolation, verify_all};
use iso_evidence::Budget;
use iso_program::parse;
use std::fs;
use std::path::{Path, PathBuf};

fn programs() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../corpus/programs");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    paths.retain(|it| it.extension().is_some_and(|it| it == "txn"));
    paths.sort();
    assert!(paths.len() > 20, "the corpus has programs");
    paths
}

#[test]
fn headers_say_what_holds_at_levels_of_databases() {
    let levels: Vec<Isolation> =
        [Database::Postgres, Database::Mysql].into_iter().flat_map(Database::levels).map(|it| (*it).into()).collect();
    let (mut wrong, mut n_violated) = (Vec::new(), 0);
    for path in programs() {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        let program = parse(&text, &name).unwrap();
        let mut words = Vec::new();
        verify_all(&program, &levels, &Budget::unlimited(), &mut |level, it| {
            let word = match &it.answer {
                Answer::Holds(_) => "holds",
                Answer::Violated(_) => "violated",
                Answer::Undecided(reason) => panic!("{name} {level}: {reason}"),
                Answer::Refused(why) => panic!("{name} {level}: {why}"),
            };
            n_violated += usize::from(word == "violated");
            words.push(format!("{level}={word}"));
        });
        let line = format!("// expect: {}", words.join(" "));
        if !text.lines().any(|it| it == line) {
            if std::env::var_os("ISOSCOPE_BLESS").is_some() {
                let kept: Vec<&str> = text.lines().filter(|it| !it.starts_with("// expect: postgres")).collect();
                let (first, rest) = kept.split_first().unwrap();
                fs::write(&path, format!("{first}\n{line}\n{}\n", rest.join("\n"))).unwrap();
            }
            wrong.push(format!("{name} needs\n{line}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(n_violated > 40, "only {n_violated} violations");
}
