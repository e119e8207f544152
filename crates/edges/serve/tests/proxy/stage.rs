//! A server, a recording of it, and clients that go through the recording.

use iso_collect::Target;
use iso_formats::{Format, ReadOptions, read_path, write};
use iso_history::History;
use iso_serve::{RecordSetup, Recorded, Recording, Start};
use iso_servers::{Kind, PASSWORD, Server, StartError, USER};
use std::path::PathBuf;
use std::process::{Command, Output};
use tempfile::TempDir;

/// A server, or none where it is not installed, which is said. `cargo xtask test` installs it where it can, and then
/// asks for it.
pub(crate) fn server() -> Option<Server> {
    match Server::start(Kind::PostgreSql, &[]) {
        Ok(server) => Some(server),
        Err(error @ StartError::Missing { .. }) if std::env::var_os("ISOSCOPE_SERVERS").is_none() => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// A recording that goes to a file.
pub(crate) struct Stage {
    folder: TempDir,
    recording: Recording,
}

impl Stage {
    pub(crate) fn new(server: &Server, start: Start) -> Self {
        let folder = TempDir::new().unwrap();
        let setup = RecordSetup {
            url: server.url(),
            listen: "127.0.0.1:0".to_owned(),
            target: Target::File(folder.path().join("h.jsonl")),
            start,
        };
        let recording = Recording::start(setup).unwrap();
        Self { folder, recording }
    }

    pub(crate) fn port(&self) -> u16 {
        self.recording.address().port()
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("h.jsonl")
    }

    /// Ends the recording; gives what came of it, and the history.
    pub(crate) fn end(self) -> (Recorded, String, History) {
        let path = self.path();
        let recorded = self.recording.end().unwrap();
        let lines = std::fs::read_to_string(&path).unwrap();
        let reading = read_path(&path, &ReadOptions::default()).unwrap();
        let history = reading.into_history().unwrap_or_else(|defects| panic!("{defects:?}\n{lines}"));
        (recorded, lines, history)
    }
}

/// A program that finds the server at a port of this machine.
pub(crate) fn client(program: &str, port: u16, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).env("PGHOST", "127.0.0.1").env("PGPORT", port.to_string()).env("PGUSER", USER);
    command.env("PGDATABASE", "postgres").env("PGPASSWORD", PASSWORD).env("PGCONNECT_TIMEOUT", "20");
    command
}

/// What a program prints that ends well.
pub(crate) fn said(mut command: Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&stderr);
    // A thread of Python may fail without its process.
    assert!(status.success() && !stderr.contains("Traceback"), "{command:?}: {stderr}");
    String::from_utf8(stdout).unwrap()
}

pub(crate) fn psql(port: u16, sql: &str) -> String {
    said(client("psql", port, &["-XqAt", "-v", "ON_ERROR_STOP=0", "-c", sql]))
}

/// The transactions of a history in our notation, without times, each session by itself.
pub(crate) fn text_of(history: &History) -> String {
    let mut bytes = Vec::new();
    write(&iso_formats::without_times(history), Format::Text, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}
