//! `isoscope store`: applications on the weak store.

use crate::args::{StoreAppsArgs, StoreRunArgs, StoreVerb};
use crate::exit::Exit;
use crate::limits::{self, Interrupts, Limits};
use crate::output::{self, Rendering};
use crate::progress::Progress;
use crate::results::stopped;
use anyhow::{Context, anyhow, bail};
use iso_answer::predict;
use iso_collect::{APPLICATIONS, Application, Assertion, Choice, Ending, Run, RunStep, Setup, application, drive};
use iso_formats::{WriteError, write_recorded, write_recorded_path};
use iso_history::History;
use iso_report::{Asserted, Counts, JsonLayout, Listing, Report, StoreReport, StoreStep, store_text};
use iso_spec::Level;
use iso_store::{DATABASE_LEVELS, LEVELS};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

const MAX_SESSIONS: usize = 100;
const MAX_TXNS: usize = 10_000;

/// Where the history goes.
enum Target {
    Nowhere,
    StandardOutput,
    File(PathBuf),
}

/// Runs the verb.
pub(crate) fn run(raw: &StoreVerb, started: Instant) -> anyhow::Result<Exit> {
    match raw {
        StoreVerb::Apps(raw) => list_applications(raw),
        StoreVerb::Run(raw) => run_application(raw, started),
    }
}

fn run_application(raw: &StoreRunArgs, started: Instant) -> anyhow::Result<Exit> {
    let (setup, target) = (resolve(raw)?, Target::of(raw)?);
    if raw.scans && setup.level == Level::ReadCommitted {
        bail!("at rc the order of reads matters, which no scan says; leave --scans out, or take --level ra or above");
    }
    let reports = Rendering::to_each(raw.reports.clone())?;
    Rendering::refuse_graphs("store", &reports)?;
    let progress = Arc::new(Progress::new(raw.limits.progress, started));
    let overdue = Arc::clone(&progress);
    let limits = Limits::new(raw.limits.timeout, raw.limits.memory);
    limits::watch(limits, started, Arc::clone(&progress), Interrupts::LeftToTheSystem, move |reason| {
        overdue.clear();
        output::complain(&format!("{}, or run fewer transactions with --txns", stopped(&reason)));
        crate::end(Exit::Unknown)
    });
    progress.stage(format!("running {}", setup.application.name()));
    let run = drive(&setup)?;
    progress.clear();
    let with_scans = raw.scans.then(|| run.history_with_scans());
    target.write(&setup, with_scans.as_ref().unwrap_or(&run.history))?;
    let report = report(&setup, &run, &target);
    let words = words(raw, &report);
    let report = Report::Store(report);
    for (path, rendering) in &reports {
        output::write_file(path, rendering.render(&report).as_bytes())?;
    }
    match target {
        Target::StandardOutput => output::say_aside(words.trim_end()),
        _ => output::print(&words)?,
    }
    Ok(Exit::of(&report))
}

fn words(raw: &StoreRunArgs, report: &StoreReport) -> String {
    if raw.json {
        return report.to_json(JsonLayout::Compact) + "\n";
    }
    store_text(report, output::terminal(), if raw.list { Listing::Yes } else { Listing::No })
}

fn resolve(raw: &StoreRunArgs) -> anyhow::Result<Setup> {
    Ok(Setup {
        application: application(raw.application.trim()).ok_or_else(|| no_application(&raw.application))?,
        level: level(raw.level.trim())?,
        policy: policy(raw.policy.trim())?,
        sessions: raw.sessions,
        txns: raw.txns,
        seed: raw.seed,
        retries: raw.retry,
    })
}

pub(crate) fn no_application(name: &str) -> anyhow::Error {
    let known: Vec<&str> = APPLICATIONS.iter().map(|it| it.name()).collect();
    anyhow!("there is no application `{}`; choose one of {}", name.trim(), known.join(", "))
}

pub(crate) fn level(name: &str) -> anyhow::Result<Level> {
    let known: Vec<&str> = LEVELS.iter().map(|it| it.short_name()).chain(database_levels()).collect();
    let known = known.join(", ");
    match Level::from_name(name) {
        Some(level) if LEVELS.contains(&level) || DATABASE_LEVELS.contains(&level) => Ok(level),
        Some(level) => Err(anyhow!(
            "the store cannot be as weak or strong as {} (`{}`); choose one of {known}",
            level.full_name(),
            level.short_name()
        )),
        None => Err(anyhow!("there is no level `{name}` for the store; choose one of {known}")),
    }
}

/// What databases call levels that a store can have, of those databases that can run.
fn database_levels() -> impl Iterator<Item = &'static str> {
    ["postgres.rc", "postgres.rr", "postgres.ser", "mysql.rc", "mysql.rr", "mysql.ser", "mariadb.si", "sqlite.ser"]
        .into_iter()
}

pub(crate) fn policy(name: &str) -> anyhow::Result<Choice> {
    Choice::from_name(&name.to_ascii_lowercase()).ok_or_else(|| {
        let known = Choice::ALL.map(Choice::name).join(", ");
        anyhow!("there is no policy `{name}`; choose one of {known}")
    })
}

pub(crate) fn parse_sessions(text: &str) -> Result<usize, String> {
    number(text, MAX_SESSIONS, "without a session nothing runs")
}

pub(crate) fn parse_txns(text: &str) -> Result<usize, String> {
    number(text, MAX_TXNS, "without a transaction nothing runs")
}

/// A number from 1 to `last`, or a message with the cure.
fn number(text: &str, last: usize, too_few: &str) -> Result<usize, String> {
    let cure = format!("write a number from 1 to {last}");
    match text.trim().parse::<usize>() {
        Ok(0) => Err(format!("{too_few}; {cure}")),
        Ok(number) if number <= last => Ok(number),
        _ => Err(cure),
    }
}

impl Target {
    fn of(raw: &StoreRunArgs) -> anyhow::Result<Self> {
        let Some(path) = &raw.output else { return Ok(Self::Nowhere) };
        if path == Path::new("-") {
            if raw.json {
                bail!("--json and -o - both write to standard output; give the history a file");
            }
            return Ok(Self::StandardOutput);
        }
        let ending = |path: &Path| path.extension().and_then(OsStr::to_str).unwrap_or_default().to_ascii_lowercase();
        let inner = if ["gz", "zst"].contains(&ending(path).as_str()) { path.with_extension("") } else { path.clone() };
        if ending(&inner) != "jsonl" {
            bail!(
                "{}: the name of a recorded history ends in .jsonl, .jsonl.gz or .jsonl.zst; isoscope convert writes \
                 other formats",
                path.display()
            );
        }
        raw.overwrite.check(path)?;
        Ok(Self::File(path.clone()))
    }

    fn write(&self, setup: &Setup, history: &History) -> anyhow::Result<()> {
        match self {
            Self::Nowhere => Ok(()),
            Self::StandardOutput => match write_recorded(history, &setup.origin(), &mut io::stdout().lock()) {
                Err(WriteError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                other => Ok(other?),
            },
            Self::File(path) => write_recorded_path(history, &setup.origin(), path)
                .with_context(|| format!("cannot write {}", path.display())),
        }
    }
}

/// What ran and what came of it.
fn report(setup: &Setup, run: &Run, target: &Target) -> StoreReport {
    let counts = run.counts();
    let assertion = |it: &Assertion| Asserted { name: it.name.to_owned(), holds: it.holds, detail: it.detail.clone() };
    StoreReport {
        application: setup.application.name().to_owned(),
        level: setup.level.into(),
        policy: setup.policy.name().to_owned(),
        sessions: setup.sessions as u64,
        txns: setup.txns as u64,
        seed: setup.seed,
        retries: setup.retries,
        committed: counts.committed as u64,
        aborted: counts.aborted as u64,
        conflicts: counts.conflicts as u64,
        history: Counts::of(&run.history),
        assertions: run.assertions.iter().map(assertion).collect(),
        transactions: run.steps.iter().map(step).collect(),
        output: match target {
            Target::Nowhere => None,
            Target::StandardOutput => Some("-".to_owned()),
            Target::File(path) => Some(path.display().to_string()),
        },
        next: next(setup, target),
    }
}

fn step(of: &RunStep) -> StoreStep {
    let (ending, reason) = match &of.ending {
        Ending::Committed => (iso_report::Ending::Committed, None),
        Ending::Aborted { reason } => (iso_report::Ending::Aborted, Some(reason.clone())),
        Ending::Conflict { reason } => (iso_report::Ending::Conflict, Some(reason.clone())),
    };
    StoreStep { txn: of.slot.to_string(), call: of.call.clone(), ending, reason }
}

/// What to ask about the history, if it is in a file.
fn next(setup: &Setup, target: &Target) -> Vec<String> {
    let Target::File(path) = target else { return Vec::new() };
    let (path, level, app) = (path.display(), setup.level, setup.application.name());
    let predict = format!("isoscope predict {path} --level {level} --validate {app}");
    let is_predictable = [predict::LEVELS.as_slice(), &predict::DATABASE_LEVELS].concat().contains(&setup.level);
    [Some(format!("isoscope check {path}")), is_predictable.then_some(predict)].into_iter().flatten().collect()
}

fn list_applications(raw: &StoreAppsArgs) -> anyhow::Result<Exit> {
    let text = if raw.json {
        let app = |it: &&dyn Application| json!({ "name": it.name(), "about": it.about() });
        let apps: Vec<Value> = APPLICATIONS.iter().map(app).collect();
        format!("{}\n", json!({ "isoscope": 2, "verb": "store", "applications": apps }))
    } else {
        let line =
            |it: &&dyn Application| output::wrapped(&format!("{:<16}", it.name()), it.about(), output::columns());
        let lines: String = APPLICATIONS.iter().map(line).collect();
        format!("{lines}\nisoscope store run APP runs one.\n")
    };
    output::print(&text)?;
    Ok(Exit::Good)
}

pub(crate) fn applications() -> String {
    let line = |it: &&dyn Application| format!("  {:<16}{}", it.name(), it.about());
    format!("Applications:\n{}", APPLICATIONS.iter().map(line).collect::<Vec<_>>().join("\n"))
}

/// The names that a run takes, for the help.
pub(crate) fn tables() -> String {
    let levels: Vec<String> = LEVELS.iter().map(|it| format!("  {:<16}{}", it.short_name(), it.full_name())).collect();
    let policy = |it: Choice| {
        let about = match it {
            Choice::Latest => "the newest value: the run is serializable",
            Choice::Random => "any value that the level allows",
            Choice::Adversarial => "one that is likely to break serializability",
        };
        format!("  {:<16}{about}", it.name())
    };
    format!(
        "{}\n\nLevels, weakest first (short and full names):\n{}\n\nLevels of databases, where UPDATE is one statement:\n  \
         {}\n\nPolicies:\n{}",
        applications(),
        levels.join("\n"),
        database_levels().collect::<Vec<_>>().join(", "),
        Choice::ALL.map(policy).join("\n")
    )
}
