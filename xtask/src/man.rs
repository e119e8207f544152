//! `cargo xtask man`: the manual pages, one for each verb, in `target/man`.

use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use xtask::system::run;
use xtask::{root, target_folder};

/// Writes the pages, and gives their folder.
pub(crate) fn man() -> Result<PathBuf> {
    let folder = target_folder().join("man");
    // The whole workspace is named, so that it is built as for tests, and not a second time with fewer features.
    let mut build = Command::new(env!("CARGO"));
    run(build.args(["build", "--quiet", "--workspace", "--example", "man"]).current_dir(root()))?;
    run(Command::new(target_folder().join("debug/examples/man")).arg(&folder))?;
    let check = fs::read_to_string(folder.join("isoscope-check.1")).context("no page of a verb was written")?;
    ensure!(check.contains("EXIT CODES"), "the page of check does not say its exit codes");
    Ok(folder)
}
