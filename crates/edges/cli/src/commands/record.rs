//! `isoscope record`: what an application does on its real database.

use crate::args::RecordArgs;
use crate::commands::collect::{Output, RunFormats};
use crate::exit::Exit;
use crate::interrupt::on_interrupt;
use crate::output;
use crate::progress::Progress;
use crate::proxied::{counts, missing, missing_words, n_transactions, plural, spawn, stop, wait};
use crate::run_check::{Judged, RunCheck, SoFar, exit_of_run, rows};
use anyhow::anyhow;
use iso_serve::{RecordSetup, Recorded, Recording, ServeError, Start, Tally};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::process::ExitStatus;
use std::time::Instant;

/// Runs the verb.
pub(crate) fn run(raw: &RecordArgs, started: Instant) -> anyhow::Result<Exit> {
    let target = Output::of(&raw.output, raw.json, raw.overwrite, RunFormats::Lines)?;
    let check = RunCheck::new(&raw.judging, Some(&raw.output))?;
    let is_interrupted = on_interrupt()?;
    let setup = RecordSetup {
        url: raw.to.trim().to_owned(),
        listen: raw.listen.trim().to_owned(),
        target: target.target(None),
        start: if raw.after_setup { Start::AtMarker } else { Start::AtOnce },
    };
    let recording = Recording::start(setup)?;
    let address = recording.address();
    let ends = if raw.command.is_empty() { "; Ctrl-C ends the recording" } else { "" };
    output::say_aside(&format!("recording {}; connect to {address}{ends}", recording.database()));
    let mut command = match spawn(&raw.command, address) {
        Ok(command) => command,
        Err(error) => {
            recording.end()?;
            return Err(error);
        }
    };
    let progress = Progress::new(raw.progress, started);
    let watch = check.watch(Some(&raw.output), SoFar::At(recording.moments()));
    let ended = wait(&recording, command.as_mut(), &progress, &is_interrupted, watch)?;
    if let Some(child) = command.as_mut().filter(|_| ended.is_none()) {
        stop(child);
    }
    let recorded = match recording.end() {
        Ok(recorded) => recorded,
        Err(ServeError::Write(error)) => return Err(anyhow!(error).context(target.cannot_write())),
        Err(error) => return Err(error.into()),
    };
    let judged = if n_transactions(&recorded.tally) > 0 { check.judge(&raw.output, &progress)? } else { Vec::new() };
    let said = if raw.json {
        format!("{}\n", document(raw, &recorded, &judged, ended))
    } else {
        words(raw, &recorded, &judged) + &check.report_words()
    };
    match target {
        Output::Stream => output::say_aside(said.trim_end()),
        Output::File(_) | Output::DataSet { .. } => output::print(&said)?,
    }
    if let Some(failure) = &recorded.failure {
        output::complain(failure);
    }
    Ok(exit_of_run(&judged, ended))
}

fn document(raw: &RecordArgs, recorded: &Recorded, judged: &[Judged], ended: Option<ExitStatus>) -> Value {
    let Tally { sessions, committed, aborted, unknown, operations, outside, statements, levels, .. } = &recorded.tally;
    json!({
        "isoscope": 2,
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
        "missing": missing(&recorded.tally),
        "tables_without_key": recorded.without_key,
        "check": judged.iter().map(Judged::json).collect::<Vec<Value>>(),
        "seconds": (recorded.elapsed.as_secs_f64() * 1e3).round() / 1e3,
        "bytes": recorded.bytes,
        "command": ended.and_then(|it| it.code()),
        "failure": recorded.failure,
    })
}

fn words(raw: &RecordArgs, recorded: &Recorded, judged: &[Judged]) -> String {
    let tally = &recorded.tally;
    let mut text = format!("{}: {}", recorded.database, counts(tally));
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
    text += &missing_words(tally);
    if !recorded.without_key.is_empty() {
        let tables = recorded.without_key.join(", ");
        let _ = write!(text, "\nTables without a primary key, or with partitions, are not recorded: {tables}.\n");
    }
    text += &rows(judged);
    if raw.output.as_os_str() == "-" {
        return text;
    }
    let path = raw.output.display();
    if n_transactions(tally) == 0 {
        return format!("{text}\nNothing was recorded; {path} has no transactions.\n");
    }
    format!("{text}\nThe history is in {path}. Next:\n  isoscope check {path}\n")
}
