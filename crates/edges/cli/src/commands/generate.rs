//! `isoscope generate`: a history of a chosen kind and size, with an anomaly in it or without.

use crate::args::GenerateArgs;
use crate::exit::Exit;
use crate::output;
use crate::progress::{Counting, Painter};
use anyhow::{Context, anyhow};
use iso_generate::{Choice, FileKind, Injection, Layout, PRESETS, Store, Tally, Times, Values, Workload};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::time::Instant;

/// What whoever waits is told.
const STAGE: &str = "generating";

/// Runs the verb.
pub(crate) fn run(raw: &GenerateArgs, started: Instant) -> anyhow::Result<Exit> {
    let workload = workload(raw)?;
    let kind = kind(raw);
    if raw.output == OsStr::new("-") {
        let painter = Painter::start(STAGE, started);
        let tally = iso_generate::write(&workload, kind, Counting::new(io::stdout().lock(), &painter, STAGE))?;
        drop(painter);
        output::say_aside(&answer(&workload, tally, raw));
    } else {
        raw.overwrite.check(&raw.output)?;
        iso_generate::check(&workload, kind)?;
        let file = File::create(&raw.output).with_context(|| format!("cannot write {}", raw.output.display()))?;
        let painter = Painter::start(STAGE, started);
        let tally = iso_generate::write(&workload, kind, Counting::new(file, &painter, STAGE))
            .with_context(|| raw.output.display().to_string())?;
        drop(painter);
        output::print(&(answer(&workload, tally, raw) + "\n"))?;
    }
    Ok(Exit::Good)
}

/// The workloads, for the help.
pub(crate) fn workloads() -> String {
    let mut out = "Workloads, and how many transactions they have if nothing is said:\n".to_owned();
    for preset in PRESETS {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  {:<13} {:>7}  {}", preset.name, preset.usual_size(), preset.about);
    }
    out.trim_end().to_owned()
}

fn workload(raw: &GenerateArgs) -> anyhow::Result<Workload> {
    let preset = iso_generate::preset(&raw.workload).ok_or_else(|| anyhow!("no workload `{}`", raw.workload))?;
    let mut workload = preset.workload(raw.txns.unwrap_or(preset.usual_size()), raw.sessions);
    workload.n_keys = raw.keys.unwrap_or(workload.n_keys);
    workload.ops_per_txn = raw.ops.unwrap_or(workload.ops_per_txn);
    workload.reads_percent = raw.reads.unwrap_or(workload.reads_percent);
    workload.values = raw.values.unwrap_or(workload.values);
    workload.store = Store::ALL.into_iter().find(|it| it.name() == raw.store).unwrap_or(workload.store);
    workload.injection = raw.inject.as_deref().and_then(Injection::from_name);
    workload.seed = raw.seed;
    if raw.zipf_keys {
        workload.key_choice = Choice::Zipf;
    }
    Ok(workload)
}

fn kind(raw: &GenerateArgs) -> FileKind {
    match (raw.to.as_str(), raw.by_session) {
        ("dbcop", _) => FileKind::BySession(Layout::Dbcop),
        (_, true) => FileKind::BySession(Layout::Jsonl),
        _ if raw.no_times => FileKind::Lines(Times::LeftOut),
        _ => FileKind::Lines(Times::Kept),
    }
}

fn answer(workload: &Workload, tally: Tally, raw: &GenerateArgs) -> String {
    let Tally { n_committed, n_aborted } = tally;
    let mut out = format!("{}: {n_committed} transactions committed, {n_aborted} aborted.", raw.workload);
    if let Some(injection) = workload.injection {
        let levels = injection.forbidden_by().join(", ");
        let _ = write!(out, "\nThere is one {} in it, which these levels forbid: {levels}.", injection.name());
    }
    out
}

/// Reads a number, which may have `_` between its digits.
pub(crate) fn parse_number(text: &str) -> Result<usize, String> {
    text.replace('_', "").parse().map_err(|_| "write a number such as 10_000".to_owned())
}

/// Reads `unique`, `100` or `zipf:100`.
pub(crate) fn parse_values(text: &str) -> Result<Values, String> {
    if text == "unique" {
        return Ok(Values::Unique);
    }
    let (number, choice) = text.strip_prefix("zipf:").map_or((text, Choice::Uniform), |it| (it, Choice::Zipf));
    let number = parse_number(number).map_err(|_| "write a number, zipf:N or unique".to_owned())?;
    Ok(Values::Few(number, choice))
}
