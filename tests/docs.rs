//! Every history, program and spec in the documentation is a test: what its header says is what we answer.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::{disagreements, files_below, root, short_name, unknown_names};
use isoscope::evidence::Budget;
use isoscope::program::parse;
use isoscope::spec::{Level, parse as read_spec};
use isoscope::verify::{Answer, DatabaseLevel, Isolation, verify};
use std::fs;
use std::path::PathBuf;

#[test]
fn every_history_in_the_documentation_is_what_its_header_says() {
    let mut found = Vec::new();
    let mut n_histories = 0;
    for path in pages() {
        let text = fs::read_to_string(&path).unwrap();
        for (line, history) in blocks(&text, "```history") {
            let name = format!("{}:{line}", short_name(&path));
            n_histories += 1;
            found.extend(unknown_names(&name, &history));
            found.extend(disagreements(&name, &history));
        }
    }
    assert!(n_histories > 0, "the documentation has no histories");
    assert!(found.is_empty(), "{} disagreements:\n{}", found.len(), found.join("\n"));
}

#[test]
fn every_program_in_the_documentation_is_what_its_header_says() {
    let mut found = Vec::new();
    let mut n_expected = 0;
    for path in pages() {
        let text = fs::read_to_string(&path).unwrap();
        for (line, program) in blocks(&text, "```txn") {
            let name = format!("{}:{line}", short_name(&path));
            let program_read = match parse(&program, &name) {
                Ok(program) => program,
                Err(errors) => {
                    found.push(errors[0].to_string());
                    continue;
                }
            };
            for expected in
                program.lines().filter_map(|it| it.strip_prefix("// expect:")).flat_map(str::split_whitespace)
            {
                let (level, verdict) = expected.split_once('=').unwrap();
                let of_database = DatabaseLevel::from_name(level).map(Isolation::from);
                let level = of_database.unwrap_or_else(|| Level::from_name(level).unwrap().into());
                let answer = match verify(&program_read, level, &Budget::unlimited()).answer {
                    Answer::Holds(_) => "holds",
                    Answer::Violated(_) => "violated",
                    Answer::Undecided(_) | Answer::Refused(_) => "unknown",
                };
                n_expected += 1;
                if answer != verdict {
                    found.push(format!("{name}: {level} is not {verdict}"));
                }
            }
        }
    }
    assert!(n_expected > 10, "the documentation expects only {n_expected} verdicts of programs");
    assert!(found.is_empty(), "{} disagreements:\n{}", found.len(), found.join("\n"));
}

#[test]
fn every_spec_in_the_documentation_can_be_read() {
    let mut n_levels = 0;
    for path in pages() {
        for (line, spec) in blocks(&fs::read_to_string(&path).unwrap(), "```spec") {
            let name = format!("{}:{line}", short_name(&path));
            let module = read_spec(&spec, "page.spec", &mut |_| Err("a block imports no file".to_owned()));
            n_levels += module.unwrap_or_else(|it| panic!("{name}: {}", it[0])).levels().len();
        }
    }
    assert!(n_levels > 0, "the documentation has no specs");
}

fn pages() -> Vec<PathBuf> {
    let mut pages = files_below("docs", "md");
    pages.push(root().join("README.md"));
    pages
}

/// The blocks that open with this fence, each with the line where it begins. Those that are files for commands have
/// more words in their fence, and are left to the commands.
fn blocks(page: &str, fence: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (idx, line) in page.lines().enumerate() {
        open = match open {
            None if line == fence => Some((idx + 2, String::new())),
            None => None,
            Some(block) if line == "```" => {
                found.push(block);
                None
            }
            Some((start, block)) => Some((start, format!("{block}{line}\n"))),
        };
    }
    assert!(open.is_none(), "a block has no end");
    found
}
