//! What the verbs with a proxy share: a command that runs as long as they do, and words about statements.

use anyhow::anyhow;
use iso_serve::Tally;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::process::{Child, Command};

/// Starts a command that finds the proxy where libpq looks for its server.
pub(crate) fn spawn(command: &[OsString], address: SocketAddr) -> anyhow::Result<Option<Child>> {
    let Some((program, arguments)) = command.split_first() else { return Ok(None) };
    let (host, port) = (address.ip().to_string(), address.port().to_string());
    let spawned = Command::new(program).args(arguments).env("PGHOST", host).env("PGPORT", port).spawn();
    spawned.map(Some).map_err(|it| anyhow!(it).context(format!("cannot run {}", program.to_string_lossy())))
}

/// Ends a command that still runs.
pub(crate) fn stop(child: &mut Child) {
    child.kill().and_then(|()| child.wait()).ok();
}

/// Statements whose reads are missing, in JSON.
pub(crate) fn missing(tally: &Tally) -> Vec<Value> {
    let entry = |(why, (count, example)): (&String, &(u64, String))| json!({ "why": why, "statements": count, "example": example });
    tally.missing.iter().map(entry).collect()
}

/// The same in words.
pub(crate) fn missing_words(tally: &Tally) -> String {
    if tally.n_missing() == 0 {
        return String::new();
    }
    let mut text = format!(
        "\n{} of {} are not recorded whole; what they read is missing, in part or at all:\n",
        tally.n_missing(),
        plural(tally.statements, "statement", "statements")
    );
    for (why, (count, example)) in &tally.missing {
        let _ = write!(text, "  {count:>5}  {why}\n         {example}\n");
    }
    text
}

/// How many transactions and operations there were.
pub(crate) fn counts(tally: &Tally) -> String {
    format!(
        "{} of {}.\n{} committed, {} aborted, {} unknown; {}.\n",
        plural(n_transactions(tally), "transaction", "transactions"),
        plural(tally.sessions, "session", "sessions"),
        tally.committed,
        tally.aborted,
        tally.unknown,
        plural(tally.operations, "operation", "operations"),
    )
}

pub(crate) fn n_transactions(tally: &Tally) -> u64 {
    tally.committed + tally.aborted + tally.unknown
}

pub(crate) fn plural(n: u64, one: &str, more: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { more })
}

/// How far a run is.
pub(crate) fn progress_words(is_on: bool, n_connected: usize, tally: &Tally) -> String {
    if !is_on {
        return format!("{n_connected} connected; waiting for SET isoscope.run = 'start'");
    }
    let unknown = if tally.unknown > 0 { format!(", {} unknown", tally.unknown) } else { String::new() };
    format!("{n_connected} connected, {} committed, {} aborted{unknown}", tally.committed, tally.aborted)
}
