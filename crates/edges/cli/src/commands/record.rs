//! `isoscope record`: what an application does on its real database.

use crate::args::RecordArgs;
use crate::commands::collect::Output;
use crate::exit::Exit;
use crate::interrupt::on_interrupt;
use crate::output;
use crate::progress::Progress;
use anyhow::{Context, anyhow};
use iso_serve::{ServeError, RecordSetup, Recorded, Recording, Start, Tally};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::process::{Child, Command};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

/// How often the command looks whether it is over.
const TICK: Duration = Duration::from_millis(20);

/// Runs the verb.
pub(crate) fn run(raw: &RecordArgs, started: Instant) -> anyhow::Result<Exit> {
    let target = Output::of(&raw.output, raw.json, raw.overwrite)?;
    let is_interrupted = on_interrupt()?;
    let setup = RecordSetup {
        url: raw.to.trim().to_owned(),
        listen: raw.listen.trim().to_owned(),
        target: target.target(),
        start: if raw.after_setup { Start::AtMarker } else { Start::AtOnce },
    };
    let recording = Recording::start(setup)?;
    let address = recording.address();
    let ends = if raw.command.is_empty() { "; Ctrl-C ends the recording" } else { "" };
    output::say_aside(&format!("recording {}; connect to {address}{ends}", recording.database()));
    let mut command = match raw.command.split_first() {
        Some((program, arguments)) => {
            let (host, port) = (address.ip().to_string(), address.port().to_string());
            let mut command = Command::new(program);
            command.args(arguments).env("PGHOST", host).env("PGPORT", port);
            match command.spawn() {
                Ok(child) => Some(child),
                Err(error) => {
                    recording.end()?;
                    return Err(anyhow!(error).context(format!("cannot run {}", program.to_string_lossy())));
                }
            }
        }
        None => None,
    };
    let progress = Progress::new(raw.progress, started);
    let mut ended = None;
    while !is_interrupted.load(Ordering::Relaxed) && ended.is_none() && !recording.has_failed() {
        thread::sleep(TICK);
        progress.stage(progress_words(&recording));
        progress.paint();
        ended = command.as_mut().map(Child::try_wait).transpose().context("cannot wait for the command")?.flatten();
    }
    progress.clear();
    let recorded = match recording.end() {
        Ok(recorded) => recorded,
        Err(ServeError::Write(error)) => return Err(anyhow!(error).context(target.cannot_write())),
        Err(error) => return Err(error.into()),
    };
    if let Some(child) = command.as_mut().filter(|_| ended.is_none()) {
        child.kill().and_then(|()| child.wait()).ok();
    }
    let said = if raw.json { format!("{}\n", document(raw, &recorded)) } else { words(raw, &recorded) };
    match target {
        Output::StandardOutput => output::say_aside(said.trim_end()),
        Output::File(_) => output::print(&said)?,
    }
    if let Some(failure) = &recorded.failure {
        output::complain(failure);
    }
    if let Some(status) = ended.filter(|it| !it.success()) {
        output::say_aside(&format!("the command ended with {status}"));
    }
    Ok(Exit::Good)
}

fn progress_words(recording: &Recording) -> String {
    if !recording.is_on() {
        return format!("{} connected; waiting for SET isoscope.run = 'start'", recording.n_connected());
    }
    let tally = recording.tally();
    let unknown = if tally.unknown > 0 { format!(", {} unknown", tally.unknown) } else { String::new() };
    format!("{} connected, {} committed, {} aborted{unknown}", recording.n_connected(), tally.committed, tally.aborted)
}

fn document(raw: &RecordArgs, recorded: &Recorded) -> Value {
    let Tally { sessions, committed, aborted, unknown, operations, outside, statements, levels, missing } =
        &recorded.tally;
    let missing: Vec<Value> = missing
        .iter()
        .map(|(why, (count, example))| json!({ "why": why, "statements": count, "example": example }))
        .collect();
    json!({
        "verb": "record",
        "database": recorded.database,
        "output": raw.output.display().to_string(),
        "sessions": sessions,
        "committed": committed,
        "aborted": aborted,
        "unknown": unknown,
        "operations": operations,
        "outside": outside,
        "statements": statements,
        "isolation": levels,
        "missing": missing,
        "tables_without_key": recorded.without_key,
        "seconds": (recorded.elapsed.as_secs_f64() * 1e3).round() / 1e3,
        "bytes": recorded.bytes,
        "failure": recorded.failure,
    })
}

fn words(raw: &RecordArgs, recorded: &Recorded) -> String {
    let tally = &recorded.tally;
    let plural = |n: u64, one: &str, more: &str| format!("{n} {}", if n == 1 { one } else { more });
    let mut text = format!(
        "{}: {} of {}.\n{} committed, {} aborted, {} unknown; {}.\n",
        recorded.database,
        plural(tally.committed + tally.aborted + tally.unknown, "transaction", "transactions"),
        plural(tally.sessions, "session", "sessions"),
        tally.committed,
        tally.aborted,
        tally.unknown,
        plural(tally.operations, "operation", "operations"),
    );
    if !tally.levels.is_empty() {
        let levels: Vec<String> = tally.levels.iter().map(|(level, n)| format!("{level} ({n})")).collect();
        let _ = writeln!(text, "Isolation: {}.", levels.join(", "));
    }
    if tally.outside > 0 {
        let others = plural(tally.outside, "transaction was", "transactions were");
        let _ = writeln!(
            text,
            "{others} not made through isoscope; what they wrote is recorded, in sessions named outside-N."
        );
    }
    if tally.n_missing() > 0 {
        let _ = write!(
            text,
            "\n{} of {} are not recorded whole; what they read is missing, in part or at all:\n",
            tally.n_missing(),
            plural(tally.statements, "statement", "statements")
        );
        for (why, (count, example)) in &tally.missing {
            let _ = write!(text, "  {count:>5}  {why}\n         {example}\n");
        }
    }
    if !recorded.without_key.is_empty() {
        let tables = recorded.without_key.join(", ");
        let _ = write!(text, "\nTables without a primary key, or with partitions, are not recorded: {tables}.\n");
    }
    if raw.output.as_os_str() == "-" {
        return text;
    }
    let path = raw.output.display();
    if tally.committed + tally.aborted + tally.unknown == 0 {
        return format!("{text}\nNothing was recorded; {path} has no transactions.\n");
    }
    format!("{text}\nThe history is in {path}. Next:\n  isoscope check {path}\n")
}
