//! Every file says what it is, is short, and names no machine.

use crate::{assert_none, project_files, project_files_with_extension, read, root};
use std::fs;

/// A file has one idea; more lines than this are a sign of two.
const LINES_MAX: usize = 600;

/// Files that are longer, with how long they may be. This list only shrinks.
const LONGER: &[(&str, usize)] = &[];

#[test]
fn every_module_opens_by_saying_what_it_is() {
    let is_silent = |it: &String| !read(it).starts_with("//! ");
    let found: Vec<String> = project_files_with_extension("rs").into_iter().filter(is_silent).collect();
    assert_none(&found, "modules that do not open with `//!` and a sentence");
}

#[test]
fn files_are_short_and_exceptions_only_shrink() {
    let mut found = Vec::new();
    for file in project_files_with_extension("rs") {
        let n_lines = read(&file).lines().count();
        match LONGER.iter().find(|it| it.0 == file) {
            None if n_lines > LINES_MAX => found.push(format!("{file} has {n_lines} lines")),
            Some((_, max)) if n_lines > *max => found.push(format!("{file} grew to {n_lines} lines")),
            Some((_, max)) if n_lines < *max => found.push(format!("{file} shrank: lower its entry to {n_lines}")),
            _ => {}
        }
    }
    let is_gone = |it: &&(&str, usize)| !root().join(it.0).exists() || it.1 <= LINES_MAX;
    found.extend(LONGER.iter().filter(is_gone).map(|it| format!("{} needs no exception any more", it.0)));
    assert_none(&found, &format!("files have at most {LINES_MAX} lines"));
}

#[test]
fn no_file_names_this_machine() {
    let forbidden = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/tmp/", "target")];
    assert_none(&lines_that(|line| forbidden.iter().any(|it| line.contains(it))), "paths of one machine");
}

#[test]
fn every_merge_is_finished() {
    let marks = ["<<<<<<< ", ">>>>>>> "];
    assert_none(&lines_that(|line| marks.iter().any(|it| line.starts_with(it))), "marks of a merge");
}

/// Where in the project lines are that have something; binary test data has no lines.
fn lines_that(has_it: impl Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for file in project_files() {
        let Ok(text) = fs::read_to_string(root().join(&file)) else { continue };
        let lines = text.lines().enumerate().filter(|it| has_it(it.1));
        found.extend(lines.map(|(idx, _)| format!("{file}:{}", idx + 1)));
    }
    found
}

#[test]
fn ci_runs_the_tests_and_nothing_else() {
    let script = read(".ci/run");
    let lines: Vec<&str> = script.lines().collect();
    assert_eq!(lines[0], "#!/usr/bin/env bash");
    assert_eq!(lines[1], "set -euo pipefail");
    assert_eq!(lines.last(), Some(&"cargo xtask test"));
    assert_eq!(lines.len(), 4, "CI runs `cargo xtask test`; a step belongs there");
    assert!(read(".github/workflows/test.yml").contains("\n      - run: cargo xtask test\n"), "GitHub runs it, too");
}
