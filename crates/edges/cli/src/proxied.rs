//! What the verbs with a proxy share: a command that runs as long as they do, and words about statements.

use crate::output;
use crate::progress::Progress;
use crate::run_check::Watch;
use anyhow::{Context, anyhow};
use iso_serve::{Proxy, Tally};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::net::SocketAddr;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Starts a command that finds the proxy where libpq looks for its server.
pub(crate) fn spawn(command: &[OsString], address: SocketAddr) -> anyhow::Result<Option<Child>> {
    let Some((program, arguments)) = command.split_first() else { return Ok(None) };
    let (host, port) = (address.ip().to_string(), address.port().to_string());
    let spawned = Command::new(program).args(arguments).env("PGHOST", host).env("PGPORT", port).spawn();
    spawned.map(Some).map_err(|it| anyhow!(it).context(format!("cannot run {}", program.to_string_lossy())))
}

/// How often the command looks whether it is over.
const TICK: Duration = Duration::from_millis(20);

/// Waits until the command ends, if there is one, or somebody wants it to end. A command that still runs stays.
pub(crate) fn wait(
    proxy: &Proxy,
    command: Option<&mut Child>,
    progress: &Progress,
    is_interrupted: &AtomicBool,
    mut watch: Option<Watch>,
) -> anyhow::Result<Option<ExitStatus>> {
    let (mut command, mut ended) = (command, None);
    while !is_interrupted.load(Ordering::Relaxed) && ended.is_none() && !proxy.has_failed() {
        thread::sleep(TICK);
        let tally = proxy.tally();
        let mut words = progress_words(proxy.is_on(), proxy.n_connected(), &tally);
        if let Some(watch) = &mut watch {
            let (state, news) = watch.look(n_transactions(&tally));
            words += &state;
            if !news.is_empty() {
                progress.clear();
                for it in &news {
                    output::say_aside(it);
                }
            }
        }
        progress.stage(words);
        progress.paint();
        if watch.as_ref().is_some_and(Watch::is_enough) {
            break;
        }
        ended = command.as_mut().map(|it| it.try_wait()).transpose().context("cannot wait for the command")?.flatten();
    }
    progress.clear();
    Ok(ended)
}

/// Ends a command that still runs, and what it has started.
pub(crate) fn stop(child: &mut Child) {
    let started = descendants(child.id());
    child.kill().and_then(|()| child.wait()).ok();
    if !started.is_empty() {
        let pids = started.iter().map(u32::to_string);
        Command::new("kill").arg("-TERM").args(pids).stderr(Stdio::null()).status().ok();
    }
}

/// The processes that a process has started, and those that they have. None where the system does not tell.
fn descendants(parent: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|it| it.file_name().to_str()?.parse::<u32>().ok());
    // `4711 (a name) S 4700 ..`: the parent follows the state, and a name may have anything in it.
    let parent_of = |pid: u32| -> Option<u32> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        text.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
    };
    let pairs: Vec<(u32, u32)> = pids.filter_map(|it| Some((it, parent_of(it)?))).collect();
    let mut found = vec![parent];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        found.extend(pairs.iter().filter(|it| it.1 == parent).map(|it| it.0));
        next += 1;
    }
    found.split_off(1)
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
