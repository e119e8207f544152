//! `isoscope check --stream` and `--follow`: a recording that does not fit into memory, or that is still being written.

use super::check::usual_names;
use crate::args::CheckArgs;
use crate::exit::Exit;
use crate::limits::{self, Interrupts, Limits};
use crate::output::{self, Rendering};
use crate::progress::Progress;
use crate::promise::Promised;
use crate::results::Results;
use crate::source::{complain_of, shown};
use crate::streaming::{
    self, DEFAULT_SPOOL, DEFAULT_WINDOW, Flow, Spool, Spooled, StreamPlan, Streamed, Tail, level_report,
};
use anyhow::{Context, bail};
use iso_answer::stream::Standing;
use iso_formats::EndOfStream;
use iso_report::{LevelName, LevelReport};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// What a history in memory takes for each byte of its lines, at least.
const MEMORY_PER_BYTE: u64 = 2;

/// Would this input not fit into memory, so that it is better streamed?
pub(crate) fn is_too_large(raw: &CheckArgs) -> bool {
    let [input] = raw.inputs.as_slice() else { return false };
    let limits = Limits::new(raw.limits.timeout, raw.limits.memory);
    let path = Path::new(input);
    let is_large =
        path.metadata().is_ok_and(|it| it.is_file() && it.len().saturating_mul(MEMORY_PER_BYTE) > limits.memory);
    is_large
        && raw.spec.is_none()
        && is_json_lines(path)
        && streaming::levels_of(&raw.levels, raw.database.as_deref()).is_ok()
}

fn is_json_lines(path: &Path) -> bool {
    let mut head = [0; 12];
    File::open(path).and_then(|mut it| it.read_exact(&mut head)).is_ok() && head.starts_with(b"{\"isoscope\"")
}

/// Runs the verb.
pub(crate) fn run(raw: &CheckArgs, started: Instant) -> anyhow::Result<Exit> {
    let [input] = raw.inputs.as_slice() else { bail!("--stream and --follow take one recording") };
    if raw.spec.is_some() {
        bail!("levels of your own are not checked as a stream; leave out --spec, or --stream");
    }
    let plan = plan(raw)?;
    let reports = Rendering::to_each(raw.reports.clone())?;
    let progress = Arc::new(Progress::new(raw.limits.progress, started));
    let levels: Vec<LevelName> = match &plan.levels {
        Some(levels) => levels.iter().map(|it| (*it).into()).collect(),
        None => usual_names(),
    };
    let results =
        Arc::new(Results::new(raw.voice(), &[shown(input).to_owned()], &levels, Arc::clone(&progress), started));
    let overdue = Arc::clone(&results);
    let limits = Limits::new(raw.limits.timeout, raw.limits.memory);
    let alarm =
        limits::watch(limits, started, Arc::clone(&progress), Interrupts::Stop, move |reason| overdue.end_now(&reason));
    progress.stage(format!("reading {}", shown(input)));
    let flow = flow(raw, input, &alarm)?;
    let mut violated = |level: iso_spec::Level, standing: &Standing, at: u64| {
        progress.clear();
        let Standing::Violated(violation) = standing else { return };
        let name = violation.refutation.anomalies.first().map_or(String::new(), |it| format!(" ({})", it.name()));
        output::complain(&format!("{}: {level} is violated{name}, seen at line {at}", shown(input)));
    };
    let streamed = streaming::run(input, flow, &plan, (&alarm, &progress), &mut violated)?;
    progress.clear();
    if let Some(refusal) = &streamed.refusal {
        bail!("{}: {refusal}; without --stream it is checked in memory", shown(input));
    }
    if streamed.end == EndOfStream::Broken {
        complain_of(&streamed.defects, input);
        results.unreadable(streamed.defects);
        return finish(&results, &reports);
    }
    if streamed.counts.transactions == 0 && streamed.out_of_reach.is_none() && !raw.allow_empty {
        bail!("{}: there are no transactions in it, so there is nothing to check", shown(input));
    }
    if raw.follow && alarm.reason().is_some() {
        results.note("The recording was left while it was going on.".to_owned());
    }
    if is_undecided(&streamed) && fits_memory(raw, input) {
        let why = match &streamed.out_of_reach {
            Some(what) => format!("{what}, which is not streamed"),
            None => "some transactions do not fit into the window".to_owned(),
        };
        output::complain(&format!("{}: {why}; the whole recording is read into memory", shown(input)));
        if let Some(certificate) = &raw.certificate {
            let why = "the schedule in it was cut short there, and certifies nothing; --json has the evidence";
            output::complain(&format!("{}: {why}", certificate.display()));
        }
        return super::check::in_memory(raw.clone(), started);
    }
    tell(&results, &streamed, &reports);
    finish(&results, &reports)
}

fn is_undecided(streamed: &Streamed) -> bool {
    let is_cut = streamed.out_of_reach.is_some();
    let is_open = |it: &Standing| matches!(it, Standing::Undecided) || (is_cut && matches!(it, Standing::Holds));
    streamed.check.as_ref().is_some_and(|it| it.standings().any(|it| is_open(it.1)))
}

/// Could the exact engine decide all of it in memory?
fn fits_memory(raw: &CheckArgs, input: &str) -> bool {
    let limits = Limits::new(raw.limits.timeout, raw.limits.memory);
    let is_small = |it: &std::fs::Metadata| it.len().saturating_mul(MEMORY_PER_BYTE) <= limits.memory;
    !raw.follow && Path::new(input).metadata().is_ok_and(|it| it.is_file() && is_small(&it))
}

fn plan(raw: &CheckArgs) -> anyhow::Result<StreamPlan> {
    let levels = streaming::levels_of(&raw.levels, raw.database.as_deref())?;
    Ok(StreamPlan {
        levels: (!levels.is_empty()).then_some(levels),
        window: raw.window.unwrap_or(DEFAULT_WINDOW),
        stops_on_violation: raw.stop_on_violation,
        certificate: raw.certificate.clone(),
        resumes: raw.resume,
        initial: raw.reading.initial.as_deref().map(iso_formats::value_of_word),
    })
}

fn flow(raw: &CheckArgs, input: &str, alarm: &Arc<limits::Alarm>) -> anyhow::Result<Flow> {
    if input == "-" {
        let limit = raw.spool.unwrap_or(DEFAULT_SPOOL);
        let spool = if limit == 0 { None } else { Spool::new(limit).ok() };
        let reader: Box<dyn Read + Send> = match &spool {
            Some(spool) => Box::new(Spooled { inner: io::stdin(), spool: Arc::clone(spool) }),
            None => Box::new(io::stdin()),
        };
        return Ok(Flow::Whole { reader, size: None, spool });
    }
    let path = Path::new(input);
    if raw.follow {
        let until = raw.follow_for.map(|it| Instant::now() + it);
        return Ok(Flow::Growing(Tail::new(path, Arc::clone(alarm), until, || false)?));
    }
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let size = file.metadata().ok().filter(std::fs::Metadata::is_file).map(|it| it.len());
    Ok(Flow::Whole { reader: Box::new(file), size, spool: None })
}

/// Puts how the levels stand into the results.
pub(crate) fn tell(results: &Results, streamed: &Streamed, reports: &[(PathBuf, Rendering)]) {
    let Some(check) = &streamed.check else { return };
    let told: Vec<LevelReport> =
        check.standings().map(|(level, it)| level_report(streamed, check, level, it)).collect();
    let names: Vec<LevelName> = told.iter().map(|it| it.level.clone()).collect();
    results.streamed(streamed.counts, &names, streamed.promised.as_ref().map(Promised::report));
    if let Some(over_time) = &streamed.over_time {
        results.went(over_time.clone());
    }
    let is_page = reports.iter().any(|it| it.1 == Rendering::Html);
    for ((_, standing), report) in check.standings().zip(told) {
        results.decided(report);
        if let Standing::Violated(violation) = standing
            && is_page
        {
            results.look_around(&violation.history);
        }
    }
    if streamed.end != EndOfStream::Complete {
        let n = check.standings().map(|it| check.progress(it.0).n_certified).min().unwrap_or(0);
        results.note(format!(
            "So far: {} transactions were read, and {n} of those that committed are in the order that was replayed.",
            check.n_txns()
        ));
    }
}

pub(crate) fn finish(results: &Results, reports: &[(PathBuf, Rendering)]) -> anyhow::Result<Exit> {
    let report = results.report("");
    let rendered: Vec<(&PathBuf, String)> = reports.iter().map(|(path, it)| (path, it.render(&report))).collect();
    results.publish(&report, || {
        rendered.iter().try_for_each(|(path, bytes)| output::write_file(path, bytes.as_bytes()))
    })?;
    Ok(results.exit())
}
