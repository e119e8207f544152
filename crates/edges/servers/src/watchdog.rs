//! Somebody who ends a server when we are gone without having done it, as after `kill -9`.
//!
//! A shell waits for a line from us. If the pipe closes without one, we are gone: it ends the server and removes its folder.
//! It runs as the server's user, who may do both.

use crate::programs;
use crate::system::CommandExt;
use std::io::Write;
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};

/// Waits for the end of this process.
#[derive(Debug)]
pub(crate) struct Watchdog {
    shell: Option<Child>,
    line: Option<ChildStdin>,
}

/// `$1` is the signal, `$2` the server and `$3` its folder.
const SCRIPT: &str = r#"read -r _ && exit 0
kill "$1" "$2" 2>/dev/null
n=0
while kill -0 "$2" 2>/dev/null && [ $n -lt 50 ]; do sleep 0.1; n=$((n + 1)); done
kill -KILL "$2" 2>/dev/null
cd / && rm -rf "$3""#;

impl Watchdog {
    /// Watches over a server. Where there is no shell, nobody does.
    pub(crate) fn over(pid: u32, signal: &str, folder: &Path) -> Self {
        let mut command = programs::command(Path::new("/bin/sh"), folder);
        command.args(["-c", SCRIPT, "sh", signal, &pid.to_string()]).arg(folder);
        // A Ctrl-C is for us alone.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut shell = command.spawn().ok();
        let line = shell.as_mut().and_then(|it| it.stdin.take());
        Self { shell, line }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        if let Some(mut line) = self.line.take() {
            line.write_all(b"\n").ok();
        }
        if let Some(shell) = &mut self.shell {
            shell.wait().ok();
        }
    }
}
