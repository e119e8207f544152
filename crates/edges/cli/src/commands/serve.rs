//! `isoscope serve`: a `PostgreSQL` that answers an application as a weak level allows.

use crate::args::ServeArgs;
use crate::commands::collect::{Output, RunFormats};
use crate::commands::store::{level, policy};
use crate::exit::Exit;
use crate::interrupt::on_interrupt;
use crate::output;
use crate::progress::Progress;
use crate::proxied::{counts, missing, missing_words, n_transactions, spawn, stop, wait};
use crate::run_check::{Judged, RunCheck, SoFar, Watch, exit_of_run, rows};
use anyhow::{Context, anyhow, bail};
use iso_collect::{Choice, Target};
use iso_formats::{ReadOptions, read_path};
use iso_history::History;
use iso_serve::{Along, Opaque, ServeError, ServeSetup, Served, Serving, Start, Tally, Updates};
use iso_spec::Level;
use iso_store::Policy;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Runs the verb.
pub(crate) fn run(raw: &ServeArgs, started: Instant) -> anyhow::Result<Exit> {
    let output =
        raw.output.as_ref().map(|it| Output::of(it, raw.json, raw.overwrite, RunFormats::Lines)).transpose()?;
    let check = RunCheck::new(&raw.judging, raw.output.as_deref())?;
    let is_interrupted = on_interrupt()?;
    let setup = setup(raw, output.as_ref())?;
    let level = setup.level;
    let serving = start(raw, setup)?;
    let progress = Progress::new(raw.progress, started);
    let watch = check.watch(raw.output.as_deref(), SoFar::Whole);
    let (served, ended) = until_the_end(serving, raw, &progress, &is_interrupted, watch)?;
    let served = match served {
        Ok(served) => served,
        Err(ServeError::Write(error)) => {
            let place = output.as_ref().map_or_else(String::new, Output::cannot_write);
            return Err(anyhow!(error).context(place));
        }
        Err(error) => return Err(error.into()),
    };
    let judged = match &raw.output {
        Some(path) if n_transactions(&served.tally) > 0 => check.judge(path, &progress)?,
        _ => Vec::new(),
    };
    let said = if raw.json {
        format!("{}\n", document(raw, level, &served, &judged, ended))
    } else {
        words(raw, &served, &judged) + &check.report_words()
    };
    match output {
        Some(Output::Stream) => output::say_aside(said.trim_end()),
        _ => output::print(&said)?,
    }
    if let Some(failure) = &served.failure {
        output::complain(failure);
    }
    Ok(exit_of_run(&judged, ended))
}

/// Starts the engine, and says where to connect.
fn start(raw: &ServeArgs, setup: ServeSetup) -> anyhow::Result<Serving> {
    let level = setup.level;
    let serving = Serving::start(setup).map_err(|it| match (it, &raw.schema) {
        (it @ ServeError::Schema(_), Some(path)) => anyhow!(it).context(path.display().to_string()),
        (other, _) => other.into(),
    })?;
    let ends = if raw.command.is_empty() { "; Ctrl-C ends the run" } else { "" };
    output::say_aside(&format!(
        "serving {} ({}) by {}; connect to {}{ends}",
        level.full_name(),
        level.short_name(),
        serving.engine(),
        serving.address()
    ));
    Ok(serving)
}

/// What the arguments ask for.
fn setup(raw: &ServeArgs, output: Option<&Output>) -> anyhow::Result<ServeSetup> {
    let (policy, order) = match &raw.replay {
        Some(path) => {
            let Along { plan, order } = Along::history(&read(path)?);
            (Policy::Replay(plan), order)
        }
        None => (policy_of(policy(raw.policy.trim())?), VecDeque::new()),
    };
    Ok(ServeSetup {
        level: level(raw.level.trim())?,
        policy,
        seed: raw.seed,
        sessions: raw.sessions,
        order,
        patience: Duration::from_millis(raw.patience),
        schema: raw.schema.as_deref().map(schema).transpose()?,
        engine: raw.engine.clone(),
        listen: raw.listen.trim().to_owned(),
        target: output.map_or(Target::Nowhere, |it| it.target(None)),
        start: if raw.after_setup { Start::AtMarker } else { Start::AtOnce },
        updates: match raw.updates.trim() {
            "newest" => Updates::Newest,
            "weak" => Updates::Weak,
            other => bail!("--updates is newest or weak, not `{other}`"),
        },
        opaque: if raw.allow_opaque { Opaque::Allowed } else { Opaque::Refused },
    })
}

/// Runs until the end of the command, or until Ctrl-C.
fn until_the_end(
    serving: Serving,
    raw: &ServeArgs,
    progress: &Progress,
    is_interrupted: &AtomicBool,
    watch: Option<Watch>,
) -> anyhow::Result<(Result<Served, ServeError>, Option<ExitStatus>)> {
    let mut command = match spawn(&raw.command, serving.address()) {
        Ok(command) => command,
        Err(error) => {
            serving.end()?;
            return Err(error);
        }
    };
    let ended = wait(&serving, command.as_mut(), progress, is_interrupted, watch)?;
    if let Some(child) = command.as_mut().filter(|_| ended.is_none()) {
        stop(child);
    }
    Ok((serving.end(), ended))
}

pub(crate) fn policy_of(choice: Choice) -> Policy {
    match choice {
        Choice::Latest => Policy::Latest,
        Choice::Random => Policy::Random,
        Choice::Adversarial => Policy::Adversarial,
    }
}

pub(crate) fn schema(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// A history that a run is to follow, or that a run has left.
pub(crate) fn read(path: &Path) -> anyhow::Result<History> {
    let reading = read_path(path, &ReadOptions::default())?;
    reading.into_history().map_err(|defects| {
        let first = defects.first().map(ToString::to_string).unwrap_or_default();
        anyhow!("{}: {first}", path.display())
    })
}

fn document(raw: &ServeArgs, level: Level, served: &Served, judged: &[Judged], ended: Option<ExitStatus>) -> Value {
    let Tally { sessions, committed, aborted, unknown, operations, statements, .. } = &served.tally;
    let judged = judged.iter().map(Judged::json);
    json!({
        "isoscope": 2,
        "verb": "serve",
        "level": level.short_name(),
        "policy": if raw.replay.is_some() { "replay" } else { raw.policy.trim() },
        "seed": raw.seed,
        "updates": raw.updates.trim(),
        "engine": served.engine,
        "output": raw.output.as_ref().map(|it| it.display().to_string()),
        "sessions": sessions,
        "committed": committed,
        "aborted": aborted,
        "unknown": unknown,
        "operations": operations,
        "statements": statements,
        "opaque": served.tally.opaque,
        "missing": missing(&served.tally),
        "tables_without_key": served.without_key,
        "check": judged.collect::<Vec<Value>>(),
        "divergences": divergences(served),
        "command": ended.and_then(|it| it.code()),
        "seconds": (served.elapsed.as_secs_f64() * 1e3).round() / 1e3,
        "bytes": served.bytes,
        "failure": served.failure,
    })
}

/// Where a run did something else than it was to do.
pub(crate) fn divergences(served: &Served) -> Vec<String> {
    let reads = served.divergences.iter().map(ToString::to_string);
    let never = served.never_came.iter().map(|it| format!("a transaction of session {it} did not come"));
    reads.chain(never).collect()
}

fn words(raw: &ServeArgs, served: &Served, judged: &[Judged]) -> String {
    let mut text = counts(&served.tally) + &missing_words(&served.tally);
    if !served.without_key.is_empty() {
        let tables = served.without_key.join(", ");
        let _ = write!(text, "\nTables without a primary key, or with partitions, are served as they are: {tables}.\n");
    }
    if raw.replay.is_some() {
        let divergences = divergences(served);
        if divergences.is_empty() {
            text += "\nThe run went as the history says.\n";
        } else {
            text += "\nThe run went another way than the history says:\n";
            for one in &divergences {
                let _ = writeln!(text, "  {one}");
            }
        }
    }
    text += &rows(judged);
    let Some(path) = raw.output.as_ref().filter(|it| it.as_os_str() != "-") else { return text };
    let path = path.display();
    if n_transactions(&served.tally) == 0 {
        return format!("{text}\nNothing was recorded; {path} has no transactions.\n");
    }
    format!("{text}\nThe history is in {path}. Next:\n  isoscope check {path}\n")
}
