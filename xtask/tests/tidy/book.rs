//! The book has every page of the documentation, in an order that this file says.
//!
//! `ISOSCOPE_BLESS=1 cargo test --workspace --test tidy book` writes `docs/SUMMARY.md` again after a page was added.

#![allow(clippy::format_push_string, reason = "a page is short")]

use crate::{project_files_with_extension, read, root};
use std::env;
use std::fs;

const PAGE: &str = "docs/SUMMARY.md";

/// The parts of the book. A name that ends in a slash is a folder: its README, and below that all its other pages.
const PARTS: &[(&str, &[&str])] = &[
    ("Tutorials", &["tutorials/"]),
    (
        "How to",
        &[
            "collect.md",
            "hunt.md",
            "replay.md",
            "drivers.md",
            "stream.md",
            "record.md",
            "serve.md",
            "your-application.md",
            "verify.md",
            "allocate.md",
            "predict.md",
            "applications.md",
            "compare.md",
            "generate.md",
            "certify.md",
            "ci.md",
            "python.md",
            "playground.md",
        ],
    ),
    (
        "Reference",
        &["reference/", "json.md", "elle.md", "glossary.md", "levels/", "levels/cookbook/", "anomalies/", "programs/"],
    ),
    ("Databases", &["databases.md", "databases/"]),
    ("Explanation", &["explanation/", "decisions/"]),
];

/// Pages that are no part of the book's text.
const LEFT_OUT: &[&str] = &["README.md", "SUMMARY.md"];

#[test]
fn the_book_has_every_page_once() {
    let expected = summary();
    if env::var_os("ISOSCOPE_BLESS").is_some() {
        fs::write(root().join(PAGE), expected).unwrap();
    } else {
        assert_eq!(read(PAGE), expected, "ISOSCOPE_BLESS=1 writes {PAGE}");
    }
}

#[test]
fn pages_that_are_named_exist_and_no_page_comes_twice() {
    let text = summary();
    let mut targets: Vec<&str> = text.split("](").skip(1).filter_map(|it| it.split(')').next()).collect();
    let n_all = targets.len();
    assert!(targets.iter().all(|it| root().join("docs").join(it).is_file()), "{targets:?}");
    targets.sort_unstable();
    targets.dedup();
    assert_eq!(targets.len(), n_all, "a page comes twice");
    assert_eq!(n_all, pages().len() - 1, "all but the summary itself");
}

/// All pages below `docs`, as seen from there.
fn pages() -> Vec<String> {
    let below = |it: String| it.strip_prefix("docs/").map(str::to_owned);
    project_files_with_extension("md").into_iter().filter_map(below).collect()
}

fn summary() -> String {
    let pages = pages();
    let mut left: Vec<&String> = pages.iter().filter(|it| !LEFT_OUT.contains(&it.as_str())).collect();
    let mut text = format!("# Summary\n\n[{}](README.md)\n", title("README.md"));
    for (part, names) in PARTS {
        text.push_str(&format!("\n# {part}\n\n"));
        for name in *names {
            let chapter: Vec<&String> = match name.strip_suffix('/') {
                Some(folder) => in_folder(&left, folder),
                None => left.iter().filter(|it| it.as_str() == *name).copied().collect(),
            };
            left.retain(|it| !chapter.contains(it));
            // Pages stand below the README of their folder, if it has one.
            let is_indented = chapter.first().is_some_and(|it| it.ends_with("README.md"));
            for (idx, page) in chapter.iter().enumerate() {
                let indent = if idx > 0 && is_indented { "  " } else { "" };
                text.push_str(&format!("{indent}- [{}]({page})\n", title(page)));
            }
        }
    }
    if !left.is_empty() {
        text.push_str("\n# More\n\n");
        for page in left {
            text.push_str(&format!("- [{}]({page})\n", title(page)));
        }
    }
    text
}

/// The pages of a folder, its README first.
fn in_folder<'p>(pages: &[&'p String], folder: &str) -> Vec<&'p String> {
    let is_inside = |it: &&&String| it.rsplit_once('/').is_some_and(|it| it.0 == folder);
    let mut found: Vec<&String> = pages.iter().filter(is_inside).copied().collect();
    found.sort_by_key(|it| (!it.ends_with("README.md"), it.as_str()));
    found
}

/// The first heading of a page, as plain words.
fn title(page: &str) -> String {
    let text = read(&format!("docs/{page}"));
    let heading = text.lines().find_map(|it| it.strip_prefix("# ")).unwrap_or(page);
    heading.replace(['`', '[', ']'], "")
}
