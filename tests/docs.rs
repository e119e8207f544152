//! Every history in the documentation is a test: what its header says is what the checker answers.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::{disagreements, files_below, root, short_name, unknown_names};
use std::fs;
use std::path::PathBuf;

#[test]
fn every_history_in_the_documentation_is_what_its_header_says() {
    let mut found = Vec::new();
    let mut n_histories = 0;
    for path in pages() {
        let text = fs::read_to_string(&path).unwrap();
        for (line, history) in histories(&text) {
            let name = format!("{}:{line}", short_name(&path));
            n_histories += 1;
            found.extend(unknown_names(&name, &history));
            found.extend(disagreements(&name, &history));
        }
    }
    assert!(n_histories > 0, "the documentation has no histories");
    assert!(found.is_empty(), "{} disagreements:\n{}", found.len(), found.join("\n"));
}

fn pages() -> Vec<PathBuf> {
    let mut pages = files_below("docs", "md");
    pages.push(root().join("README.md"));
    pages
}

/// The fenced blocks that are marked as histories, each with the line where it begins.
fn histories(page: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (idx, line) in page.lines().enumerate() {
        open = match open {
            None if line == "```history" => Some((idx + 2, String::new())),
            None => None,
            Some(block) if line == "```" => {
                found.push(block);
                None
            }
            Some((start, block)) => Some((start, format!("{block}{line}\n"))),
        };
    }
    assert!(open.is_none(), "a history block has no end");
    found
}
