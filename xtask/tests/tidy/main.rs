//! Checks the project's own shape: layers, files, documentation, corpus.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed check")]

mod book;
mod corpus;
mod documentation;
mod files;
mod layers;
mod packages;
mod trusted;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The project's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// Every file of the project that git knows or would take in, as seen from the root, sorted.
fn project_files() -> Vec<String> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "git ls-files failed");
    let names = String::from_utf8(output.stdout).unwrap();
    let mut files: Vec<String> = names.lines().filter(|it| root().join(it).is_file()).map(str::to_owned).collect();
    files.sort();
    files.dedup();
    files
}

fn project_files_with_extension(extension: &str) -> Vec<String> {
    project_files().into_iter().filter(|it| Path::new(it).extension().is_some_and(|ext| ext == extension)).collect()
}

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|it| panic!("{file}: {it}"))
}

/// The crates' folders, as in `crates/kernel/history`.
fn crate_folders() -> Vec<String> {
    let manifests = project_files().into_iter().filter(|it| it.starts_with("crates/") && it.ends_with("/Cargo.toml"));
    manifests.map(|it| it.trim_end_matches("/Cargo.toml").to_owned()).collect()
}

fn assert_none(found: &[String], what: &str) {
    assert!(found.is_empty(), "{what}:\n  {}", found.join("\n  "));
}
