//! Where the programs of servers are, and as whom they run.

use crate::system::{self, CommandExt};
use crate::{Kind, StartError};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Can a server of this kind be started?
pub fn is_installed(kind: Kind) -> bool {
    kind.programs().is_ok()
}

/// The variable with a folder of programs that come before all others, to start another version of a server.
pub const PROGRAMS: &str = "ISOSCOPE_SERVER_PROGRAMS";

/// Where a program is: on the path, or where Debian keeps those of servers.
pub(crate) fn find(program: &'static str, package: &'static str) -> Result<PathBuf, StartError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.extend(["/usr/sbin", "/usr/local/sbin", "/usr/libexec"].map(PathBuf::from));
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions: Vec<PathBuf> = versions.map(|it| it.path().join("bin")).collect();
    versions.sort();
    // The newest first, and before links on the path, which have no programs beside them.
    versions.reverse();
    versions.extend(folders);
    let first = std::env::var_os(PROGRAMS).map(PathBuf::from);
    let found = first.into_iter().chain(versions).map(|it| it.join(program)).find(|it| it.is_file());
    found.ok_or(StartError::Missing { program, package })
}

/// A command that runs as somebody who is not the superuser, without input.
pub(crate) fn command(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null()).env("HOME", folder).env("LC_ALL", "C");
    if let Some((user, group)) = other_user() {
        command.uid(user).gid(group);
    }
    command
}

/// Runs a command to its end; what it says is told where it fails.
pub(crate) fn run(mut command: Command) -> Result<(), String> {
    let shown = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|it| format!("{shown}: {it}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    Err(format!("{shown} failed ({}): {}", output.status, String::from_utf8_lossy(&said).trim()))
}

/// Sends a signal to processes, of which some may have ended.
pub(crate) fn signal(signal: &str, pids: &[u32]) {
    if !pids.is_empty() {
        let pids = pids.iter().map(u32::to_string);
        Command::new("kill").arg(signal).args(pids).stderr(Stdio::null()).status().ok();
    }
}

/// The processes that a process has started.
pub(crate) fn children_of(parent: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|it| it.file_name().to_str()?.parse().ok());
    // `4711 (a name) S 4700 ..`: the parent follows the state, and a name may have anything in it.
    let parent_of = |pid: u32| -> Option<u32> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        text.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
    };
    pids.filter(|it| parent_of(*it) == Some(parent)).collect()
}

/// The user and group as which the superuser runs servers; none if we are somebody else already.
pub(crate) fn other_user() -> Option<(u32, u32)> {
    // The owner of this process's folder in /proc is who we are.
    let is_superuser = system::owner(&fs::metadata("/proc/self").ok()?) == 0;
    if !is_superuser {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let ids = |name: &str| {
        let line = users.lines().find(|it| it.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2).map(str::parse);
        Some((fields.next()?.ok()?, fields.next()?.ok()?))
    };
    ["nobody", "postgres", "mysql"].into_iter().find_map(ids)
}
