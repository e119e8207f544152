//! `isoscope store`: applications on the weak store.

use crate::args::{StoreAppsArgs, StoreRunArgs, StoreVerb};
use crate::exit::Exit;
use crate::ledger::stopped;
use crate::limits::{self, Limits};
use crate::output;
use crate::progress::Progress;
use anyhow::{Context, anyhow, bail};
use iso_collect::{APPLICATIONS, Application, Assertion, Choice, Ending, Run, Setup, Step, application, drive};
use iso_formats::{WriteError, write_recorded, write_recorded_path};
use iso_report::Counts;
use iso_spec::Level;
use iso_store::LEVELS;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fmt::Write as _;
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
    let progress = Arc::new(Progress::new(raw.limits.progress, started));
    let overdue = Arc::clone(&progress);
    let limits = Limits::new(raw.limits.timeout, raw.limits.memory);
    limits::watch(limits, started, Arc::clone(&progress), move |reason| {
        overdue.clear();
        output::complain(&format!("{}, or run fewer transactions with --txns", stopped(&reason)));
        crate::end(Exit::Unknown)
    });
    progress.stage(format!("running {}", setup.application.name()));
    let run = drive(&setup)?;
    progress.clear();
    target.write(&setup, &run)?;
    let words = if raw.json { document(&setup, &run, &target) } else { told(&setup, &run, &target, raw.list) };
    match target {
        Target::StandardOutput => output::say_aside(words.trim_end()),
        _ => output::print(&words)?,
    }
    Ok(if run.holds() { Exit::Good } else { Exit::Found })
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

fn level(name: &str) -> anyhow::Result<Level> {
    let known: Vec<&str> = LEVELS.iter().map(|it| it.short_name()).collect();
    let known = known.join(", ");
    match Level::from_name(name) {
        Some(level) if LEVELS.contains(&level) => Ok(level),
        Some(level) => Err(anyhow!(
            "the store cannot be as weak or strong as {} (`{}`); choose one of {known}",
            level.full_name(),
            level.short_name()
        )),
        None => Err(anyhow!("there is no level `{name}` for the store; choose one of {known}")),
    }
}

fn policy(name: &str) -> anyhow::Result<Choice> {
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
        output::check_folder(path)?;
        Ok(Self::File(path.clone()))
    }

    fn write(&self, setup: &Setup, run: &Run) -> anyhow::Result<()> {
        match self {
            Self::Nowhere => Ok(()),
            Self::StandardOutput => match write_recorded(&run.history, &setup.origin(), &mut io::stdout().lock()) {
                Err(WriteError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                other => Ok(other?),
            },
            Self::File(path) => write_recorded_path(&run.history, &setup.origin(), path)
                .with_context(|| format!("cannot write {}", path.display())),
        }
    }
}

/// The answer for people.
fn told(setup: &Setup, run: &Run, target: &Target, lists: bool) -> String {
    let Setup { application, level, policy, sessions, txns, seed, .. } = setup;
    let counts = run.counts();
    let of_sessions = format!("{sessions} session{}", plural(*sessions));
    let mut out = format!(
        "{} under {} ({level}), {policy} reads: {of_sessions} of {txns} transaction{}, seed {seed}.\n{} committed, {} \
         aborted by the application, {} by the store.\n",
        application.name(),
        level.full_name(),
        plural(*txns),
        counts.committed,
        counts.aborted,
        counts.conflicts,
    );
    if lists {
        let width = run.steps.iter().map(|it| it.call.len()).max().unwrap_or(0);
        out.push('\n');
        for step in &run.steps {
            let _ = writeln!(out, "{}", listed(step, width).trim_end());
        }
    }
    out.push('\n');
    for assertion in &run.assertions {
        out += &asserted(assertion);
    }
    out.push('\n');
    out + &hint(setup, target)
}

fn plural(number: usize) -> &'static str {
    if number == 1 { "" } else { "s" }
}

fn listed(step: &Step, width: usize) -> String {
    let why = match &step.ending {
        Ending::Committed => String::new(),
        Ending::Aborted { reason } => format!("aborted: {reason}"),
        Ending::Conflict { reason } => format!("conflict: {reason}"),
    };
    format!("  {:<6} {:<width$}  {why}", step.slot.to_string(), step.call)
}

fn asserted(Assertion { name, holds, detail }: &Assertion) -> String {
    if *holds { format!("  ok      {name}\n") } else { format!("  FAILED  {name}: {detail}\n") }
}

fn hint(setup: &Setup, target: &Target) -> String {
    match target {
        Target::Nowhere => "The history is not saved; with -o run.jsonl it is.\n".to_owned(),
        Target::StandardOutput => "The history is on standard output.\n".to_owned(),
        Target::File(path) => {
            let (path, level, app) = (path.display(), setup.level, setup.application.name());
            let mut out = format!("The history is in {path}. Next:\n  isoscope check {path}\n");
            if iso_predict::LEVELS.contains(&setup.level) {
                let _ = writeln!(out, "  isoscope predict {path} --level {level} --validate {app}");
            }
            out
        }
    }
}

/// The answer for machines.
fn document(setup: &Setup, run: &Run, target: &Target) -> String {
    let counts = run.counts();
    let history = Counts::of(&run.history);
    let assertion = |it: &Assertion| json!({ "name": it.name, "holds": it.holds, "detail": it.detail });
    let step = |it: &Step| {
        let (ending, reason) = match &it.ending {
            Ending::Committed => ("committed", None),
            Ending::Aborted { reason } => ("aborted", Some(reason)),
            Ending::Conflict { reason } => ("conflict", Some(reason)),
        };
        json!({ "txn": it.slot.to_string(), "call": it.call, "ending": ending, "reason": reason })
    };
    let output = match target {
        Target::File(path) => Some(path.display().to_string()),
        _ => None,
    };
    let document = json!({
        "isoscope": 1,
        "verb": "store",
        "application": setup.application.name(),
        "level": setup.level.short_name(),
        "policy": setup.policy.name(),
        "sessions": setup.sessions,
        "txns": setup.txns,
        "seed": setup.seed,
        "retries": setup.retries,
        "committed": counts.committed,
        "aborted": counts.aborted,
        "conflicts": counts.conflicts,
        "history": {
            "sessions": history.sessions,
            "transactions": history.transactions,
            "committed": history.committed,
            "operations": history.operations,
            "keys": history.keys,
        },
        "assertions": run.assertions.iter().map(assertion).collect::<Vec<Value>>(),
        "transactions": run.steps.iter().map(step).collect::<Vec<Value>>(),
        "output": output,
    });
    format!("{document}\n")
}

fn list_applications(raw: &StoreAppsArgs) -> anyhow::Result<Exit> {
    let text = if raw.json {
        let app = |it: &&dyn Application| json!({ "name": it.name(), "about": it.about() });
        let apps: Vec<Value> = APPLICATIONS.iter().map(app).collect();
        format!("{}\n", json!({ "isoscope": 1, "verb": "store", "applications": apps }))
    } else {
        format!("{}\n\nisoscope store run APP runs one.\n", applications())
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
        "{}\n\nLevels, weakest first (short and full names):\n{}\n\nPolicies:\n{}",
        applications(),
        levels.join("\n"),
        Choice::ALL.map(policy).join("\n")
    )
}
