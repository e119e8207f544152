//! `--watch`: answers again whenever a file changes.
//!
//! Each answer is a process of its own, so that it ends as it would without watching, and can be ended when the file
//! changes before it is there.

use crate::exit::Exit;
use crate::output;
use anyhow::{Context, bail};
use std::env;
use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, SystemTime};

/// How often files are looked at.
const TICK: Duration = Duration::from_millis(100);

/// The word on the command line.
const OPTION: &str = "--watch";

/// When a file was written, and how long it is; nothing while it is not there.
type Stamp = Option<(SystemTime, u64)>;

/// Answers now, and again after each change of these files, until the process is ended.
pub(crate) fn watch(files: &[PathBuf]) -> anyhow::Result<Exit> {
    if files.iter().any(|it| it == Path::new("-")) {
        bail!("standard input cannot be watched; name a file");
    }
    if let Some(directory) = files.iter().find(|it| it.is_dir()) {
        bail!("{} is a directory, and only files can be watched", directory.display());
    }
    loop {
        let stamps = stamps(files);
        let mut child = answer()?;
        let changed = wait_for_change(files, &stamps, &mut child)?;
        if io::stdout().is_terminal() {
            output::print("\u{1b}[2J\u{1b}[H")?;
        }
        output::print(&format!("-- {} changed --\n", changed.display()))?;
    }
}

/// The same command without the word that led here.
fn answer() -> anyhow::Result<Child> {
    let program = env::current_exe().context("cannot find isoscope itself")?;
    let words = env::args_os().skip(1).filter(|it| it != OPTION);
    Command::new(program).args(words).spawn().context("cannot start isoscope again")
}

/// Waits until a file is another one, and ends the answer that is not there by then.
fn wait_for_change<'f>(files: &'f [PathBuf], before: &[Stamp], child: &mut Child) -> anyhow::Result<&'f PathBuf> {
    let mut is_over = false;
    loop {
        is_over = is_over || child.try_wait().context("cannot wait for the answer")?.is_some();
        let now = stamps(files);
        // Editors remove a file for a moment when they write it.
        let changed =
            files.iter().zip(now.iter().zip(before)).find(|(_, (now, before))| now.is_some() && now != before);
        if let Some((file, _)) = changed {
            if !is_over {
                child.kill().ok();
                child.wait().ok();
            }
            return Ok(file);
        }
        thread::sleep(TICK);
    }
}

fn stamps(files: &[PathBuf]) -> Vec<Stamp> {
    let stamp = |it: &PathBuf| fs::metadata(it).ok().and_then(|it| Some((it.modified().ok()?, it.len())));
    files.iter().map(stamp).collect()
}
