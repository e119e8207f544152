//! Runs the tool in a folder of its own.

use crate::schema::Schema;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

pub(crate) const WRITE_SKEW: &str = "\
init x=0 y=0
s1: { r(x,0) r(y,0) w(x,1) }
s2: { r(x,0) r(y,0) w(y,1) }
";
pub(crate) const SERIAL: &str = "init x=0\ns1: { r(x,0) w(x,1) }\ns2: { r(x,1) }\n";

/// What a run said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    /// The documents on standard output.
    pub(crate) fn json(&self) -> Vec<serde_json::Value> {
        let schema = Schema::of_answers();
        let parse = |line: &str| {
            let document = serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}"));
            assert_eq!(schema.refuses(&document), None, "docs/json.schema.json refuses {line}");
            document
        };
        self.out.lines().map(parse).collect()
    }

    /// The run ended with this code and, unless it was bad input, said nothing about itself.
    #[track_caller]
    pub(crate) fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        assert!(!self.err.contains("bug"), "{self:#?}");
        self
    }

    /// Standard error has these words.
    #[track_caller]
    pub(crate) fn complains(self, words: &str) -> Self {
        assert!(self.err.contains(words), "expected {words:?} in {self:#?}");
        self
    }

    /// Standard output has these words, wherever its lines are wrapped.
    #[track_caller]
    pub(crate) fn tells(self, words: &str) -> Self {
        assert!(flowing(&self.out).contains(words), "expected {words:?} in {self:#?}");
        self
    }

    /// Standard output has these words.
    #[track_caller]
    pub(crate) fn says(self, words: &str) -> Self {
        assert!(self.out.contains(words), "expected {words:?} in {self:#?}");
        self
    }
}

/// Words with single spaces between them, wherever lines end.
fn flowing(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A folder with files, where the tool runs.
#[derive(Debug)]
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// With the two histories that most tests need.
    pub(crate) fn with_histories() -> Self {
        let folder = Self::new();
        folder.write("skew.history", WRITE_SKEW);
        folder.write("serial.history", SERIAL);
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|why| panic!("{name}: {why}"))
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Said {
        self.run_with(arguments, Stdio::null())
    }

    /// Runs with standard input from somewhere.
    pub(crate) fn run_with(&self, arguments: &[&str], stdin: impl Into<Stdio>) -> Said {
        said(tool(self.0.path()).args(arguments).stdin(stdin))
    }

    /// Runs a line as people type it, with the tool as `isoscope`.
    pub(crate) fn shell(&self, line: &str) -> Said {
        let tool = Path::new(env!("CARGO_BIN_EXE_isoscope")).parent().unwrap();
        let path = format!("{}:{}", tool.display(), std::env::var("PATH").unwrap_or_default());
        said(
            Command::new("sh")
                .args(["-c", line])
                .current_dir(self.0.path())
                .env("PATH", path)
                .env_remove("COLUMNS")
                .stdin(Stdio::null()),
        )
    }

    /// Runs with this on standard input.
    pub(crate) fn pipe(&self, arguments: &[&str], input: &[u8]) -> Said {
        let mut child = tool(self.0.path())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The tool may end before it has read everything.
        child.stdin.take().unwrap().write_all(input).ok();
        let output = child.wait_with_output().unwrap();
        of(&output)
    }
}

pub(crate) fn tool(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_isoscope"));
    command.current_dir(folder).env_remove("COLUMNS");
    command
}

/// Takes out of a document what a run took, which is there and differs from run to run or from solver to solver.
pub(crate) fn without_effort(document: &mut serde_json::Value) {
    let members = document.as_object_mut().unwrap();
    for name in ["seconds", "peak_bytes", "candidates", "variables", "clauses", "conflicts"] {
        assert!(members.shift_remove(name).is_some_and(|it| it.is_number()), "{name}");
    }
}

pub(crate) fn said(command: &mut Command) -> Said {
    of(&command.output().unwrap())
}

fn of(output: &std::process::Output) -> Said {
    Said {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
