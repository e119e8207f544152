//! A dated folder with what was measured, and on what.

use anyhow::Result;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::root;
use xtask::system::first_line;

/// Makes `bench-runs/DAY-NAME`, or with a number behind it if that one is there already, and fills it.
pub(crate) fn save(name: &str, files: &[(&str, &str)]) -> Result<PathBuf> {
    let day = first_line(Command::new("date").args(["-u", "+%F"]))?;
    let folder = unused(&root().join("bench-runs"), &format!("{day}-{name}"));
    fs::create_dir_all(&folder)?;
    for (file, text) in files {
        fs::write(folder.join(file), text)?;
    }
    Ok(folder)
}

fn unused(parent: &Path, name: &str) -> PathBuf {
    let numbered = (2..).map(|it| parent.join(format!("{name}-{it}")));
    let mut names = std::iter::once(parent.join(name)).chain(numbered);
    names.find(|it| !it.exists()).unwrap_or_else(|| parent.join(name))
}

/// The machine and the commit, without their names.
pub(crate) fn machine() -> Result<String> {
    let commit = first_line(Command::new("git").args(["rev-parse", "--short", "HEAD"]).current_dir(root()))?;
    let changes = ["status", "--porcelain", "--untracked-files=no"];
    let is_changed = !first_line(Command::new("git").args(changes).current_dir(root()))?.is_empty();
    let compiler = first_line(Command::new("rustc").arg("--version"))?;
    let system = first_line(Command::new("uname").arg("-sm"))?;
    let n_processors = std::thread::available_parallelism()?;
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(out, "commit {commit}{}", if is_changed { " with changes that are not committed" } else { "" });
    let _ = writeln!(out, "{compiler}");
    let _ = writeln!(out, "{system}, {n_processors} processors");
    for (file, field) in [("/proc/cpuinfo", "model name"), ("/proc/meminfo", "MemTotal")] {
        if let Some(value) = field_of(&fs::read_to_string(file).unwrap_or_default(), field) {
            let _ = writeln!(out, "{field}: {value}");
        }
    }
    if let Some(load) = fs::read_to_string("/proc/loadavg").ok().as_deref().and_then(|it| it.split(' ').next()) {
        let _ = writeln!(out, "load at the start: {load}");
    }
    Ok(out)
}

fn field_of<'t>(text: &'t str, field: &str) -> Option<&'t str> {
    text.lines().find_map(|it| it.strip_prefix(field)?.split_once(':').map(|it| it.1.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_name() {
        let text = "vendor\t: x\nmodel name\t: Some CPU @ 2 GHz\nMemTotal:       100 kB\n";
        assert_eq!(field_of(text, "model name"), Some("Some CPU @ 2 GHz"));
        assert_eq!(field_of(text, "MemTotal"), Some("100 kB"));
        assert_eq!(field_of(text, "flags"), None);
    }

    #[test]
    fn a_folder_that_is_there_stays_as_it_is() {
        let parent = root().join("bench");
        assert_eq!(unused(&parent, "src"), parent.join("src-2"));
        assert_eq!(unused(&parent, "no-such-folder"), parent.join("no-such-folder"));
    }
}
