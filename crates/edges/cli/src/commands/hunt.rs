//! `isoscope hunt`: what does a database do that it should not, and which script shows it?

use super::collect::{isolation, on_interrupt};
use crate::args::HuntArgs;
use crate::exit::Exit;
use crate::ledger::stopped;
use crate::limits::{self, Limits};
use crate::output::{self, Rendering};
use crate::progress::Progress;
use crate::target::Target;
use crate::teller::Channel;
use anyhow::{anyhow, bail};
use iso_collect::hunt::{Finding, Hunt, HuntProgress, HuntTally, Hunted, PROBES, Probes, Until, hunt};
use iso_collect::{Control, Database, Dialect, Parameters, Rows, WORKLOADS, open, workload};
use iso_evidence::Verdict;
use iso_formats::{Format, without_times, write};
use iso_history::History;
use iso_report::{Answer, CheckReport, JsonLayout, Report, Run};
use iso_spec::Level;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// The scripts among the workloads.
const SCRIPTS: &str = "probes";

/// The arguments, resolved.
struct Asked {
    database: Arc<dyn Database>,
    hunt: Hunt,
    target: Option<Target>,
    reports: Vec<(PathBuf, Rendering)>,
}

/// Runs the verb.
pub(crate) fn run(raw: &HuntArgs, started: Instant) -> anyhow::Result<Exit> {
    let asked = Asked::resolve(raw)?;
    let progress = Arc::new(Progress::new(raw.progress, started));
    let overdue = Arc::clone(&progress);
    limits::watch(Limits::new(None, raw.memory), started, Arc::clone(&progress), move |reason| {
        overdue.clear();
        output::complain(&stopped(&reason));
        crate::end(Exit::Unknown)
    });
    let is_interrupted = on_interrupt()?;
    let control = Arc::new(Control::new());
    let mut watch = |it: &HuntProgress<'_>| {
        if is_interrupted.load(Ordering::Relaxed) {
            control.stop();
        }
        progress.stage(doing(it));
    };
    let hunted = hunt(&asked.database, &asked.hunt, &control, &mut watch)?;
    progress.clear();
    asked.tell(raw, &hunted)
}

fn doing(HuntProgress { doing, tally, elapsed, left }: &HuntProgress<'_>) -> String {
    let found = if tally.violations > 0 { format!(", {} found", tally.violations) } else { String::new() };
    #[allow(clippy::cast_precision_loss, reason = "a rate needs a few digits")]
    let rate = tally.transactions as f64 / elapsed.as_secs_f64().max(0.001);
    format!(
        "{doing}; {}, {rate:.0} a second{found}; {:.0} s left",
        counted(tally.transactions, "transaction"),
        left.as_secs_f64()
    )
}

impl Asked {
    fn resolve(raw: &HuntArgs) -> anyhow::Result<Self> {
        let expect = Level::from_name(raw.expect.trim()).ok_or_else(|| no_level(&raw.expect))?;
        let target = raw.output.as_deref().map(|it| Target::of(it, raw.json)).transpose()?;
        let reports = Rendering::to_each(raw.reports.clone())?;
        let (probes, mut workloads) = what_to_run(&raw.workloads)?;
        let database: Arc<dyn Database> = Arc::from(open(raw.url.trim())?);
        if raw.workloads.is_empty() && database.no_lists().is_some() {
            let has_lists =
                |it: &String| workload(it, &Parameters::default()).is_some_and(|it| it.rows_are() == Rows::Lists);
            workloads.retain(|it| !has_lists(it));
        }
        let isolation = isolation(&*database, raw.isolation.as_deref().unwrap_or(database.isolations()[0]))?;
        let until = if raw.all { Until::TimeIsOver } else { Until::FirstFound };
        let hunt = Hunt { isolation, expect, duration: raw.duration, seed: raw.seed, probes, workloads, until };
        Ok(Self { database, hunt, target, reports })
    }

    fn tell(&self, raw: &HuntArgs, hunted: &Hunted) -> anyhow::Result<Exit> {
        if let Some(finding) = hunted.findings.first() {
            for (path, rendering) in &self.reports {
                output::write_file(path, rendering.render(&self.judged(finding)).as_bytes())?;
            }
        }
        let history = hunted.findings.first().map(|it| notation(it.shown().0)).transpose()?;
        let notes = self.target.as_ref().map(|it| it.save(history.as_deref())).transpose()?.unwrap_or_default();
        let words = if raw.json { self.document(hunted)? } else { self.told(hunted)? };
        match Target::channel(self.target.as_ref()) {
            Channel::Aside => output::say_aside(words.trim_end()),
            Channel::Output => output::print(&words)?,
        }
        for note in &notes {
            if raw.json { output::complain(note) } else { output::say_aside(note) }
        }
        Ok(match (&hunted.findings[..], &hunted.undecided) {
            ([], None) => Exit::Good,
            ([], Some(_)) => Exit::Unknown,
            _ => Exit::Found,
        })
    }

    /// The answer for people.
    fn told(&self, hunted: &Hunted) -> anyhow::Result<String> {
        let (database, isolation) = (&hunted.database, &self.hunt.isolation);
        let level = format!("{} ({})", self.hunt.expect.full_name(), self.hunt.expect.short_name());
        let mut out = match &hunted.findings[..] {
            [] => format!("Nothing found: all that {database} did under {isolation} is {level}.\n"),
            findings => {
                let names: Vec<String> = findings.iter().map(|it| it.anomalies().join(", ")).collect();
                format!("FOUND: {database} under {isolation} is not {level}: {}.\n", names.join("; "))
            }
        };
        out += &looked_at(&hunted.tally);
        if hunted.was_stopped {
            out += "It was stopped before its time.\n";
        }
        if let Some(reason) = &hunted.undecided {
            let what = counted(hunted.tally.undecided as u64, "history");
            let _ = writeln!(out, "Not decided: {what} ({reason}).");
        }
        for finding in &hunted.findings {
            out += &self.found(finding)?;
        }
        Ok(out)
    }

    fn found(&self, finding: &Finding) -> anyhow::Result<String> {
        let mut out = format!("\nSeen in {}", finding.origin);
        if finding.times > 1 {
            let _ = write!(out, ", and in {} more", counted(finding.times as u64 - 1, "history"));
        }
        out += ".\n\n";
        let words = self.judged(finding).text(output::terminal());
        let words: Vec<&str> = words.lines().filter(|it| !it.starts_with("For a picture")).collect();
        out += words.join("\n").trim_end();
        out += "\n\n";
        match &finding.reproduction {
            Some(it) => {
                let how = match self.database.dialect() {
                    Dialect::Store => "Steps are taken from top to bottom; what they\nanswered stands behind them.",
                    _ => {
                        "Statements are typed in the order of their numbers, each when\nthe one before has answered or \
                         waits for a lock; what they answered stands behind them."
                    }
                };
                let _ = writeln!(out, "This script shows it, in {} of {} tries. {how}\n", it.shown, it.tries);
                out += &it.script.sql_with_answers(self.database.dialect(), &it.played)?;
            }
            None => {
                out += "No script of these transactions showed it again; -o FILE.history keeps what was recorded.\n";
            }
        }
        Ok(out)
    }

    /// What `check` says about a finding.
    fn judged(&self, finding: &Finding) -> Report {
        let (history, refutation) = finding.shown();
        let verdict = Verdict::Forbidden(refutation.clone());
        let answer = Answer { level: self.hunt.expect.into(), verdict: &verdict, certified: Some(Ok(())) };
        let limits = iso_report::Limits { max_order: None };
        Report::Check(CheckReport::new(history, Run::default(), &[answer], limits))
    }

    /// The answer for machines.
    fn document(&self, hunted: &Hunted) -> anyhow::Result<String> {
        let HuntTally { scripts, runs, transactions, violations, undecided } = hunted.tally;
        let findings: Vec<Value> =
            hunted.findings.iter().map(|it| self.described(it)).collect::<anyhow::Result<_>>()?;
        let verdict = match (&findings[..], undecided) {
            ([], 0) => "none",
            ([], _) => "unknown",
            _ => "found",
        };
        let document = json!({
            "isoscope": 1,
            "verb": "hunt",
            "database": hunted.database,
            "isolation": self.hunt.isolation,
            "expect": self.hunt.expect.short_name(),
            "seed": self.hunt.seed,
            "verdict": verdict,
            "scripts": scripts,
            "runs": runs,
            "transactions": transactions,
            "violations": violations,
            "undecided": undecided,
            "reason": hunted.undecided.as_ref().map(ToString::to_string),
            "seconds": hunted.elapsed.as_secs_f64(),
            "stopped": hunted.was_stopped,
            "findings": findings,
        });
        Ok(format!("{document}\n"))
    }

    fn described(&self, finding: &Finding) -> anyhow::Result<Value> {
        let check: Value = serde_json::from_str(&self.judged(finding).to_json(JsonLayout::Compact))?;
        let script = match &finding.reproduction {
            Some(it) => json!({
                "steps": it.script.to_string(),
                // The weak store speaks none.
                "sql": match self.database.dialect() {
                    Dialect::Store => None,
                    dialect => Some(it.script.sql_with_answers(dialect, &it.played)?),
                },
                "tries": it.tries,
                "shown": it.shown,
            }),
            None => Value::Null,
        };
        Ok(json!({
            "anomalies": finding.anomalies(),
            "origin": finding.origin.to_string(),
            "times": finding.times,
            "history": notation(finding.shown().0)?,
            "script": script,
            "check": check,
        }))
    }
}

fn looked_at(tally: &HuntTally) -> String {
    let HuntTally { scripts, runs, transactions, .. } = *tally;
    let scripts = counted(scripts as u64, "script");
    let (runs, transactions) = (counted(runs as u64, "run"), counted(transactions, "transaction"));
    format!("Looked at: {scripts} and {runs}, {transactions}.\n")
}

fn counted(number: u64, what: &str) -> String {
    match (number, what.strip_suffix('y')) {
        (1, _) => format!("1 {what}"),
        (_, Some(stem)) => format!("{number} {stem}ies"),
        _ => format!("{number} {what}s"),
    }
}

/// A history as text; times say nothing to people.
fn notation(history: &History) -> anyhow::Result<String> {
    let mut text = Vec::new();
    write(&without_times(history), Format::Text, &mut text)?;
    Ok(String::from_utf8(text)?)
}

fn no_level(name: &str) -> anyhow::Error {
    let known: Vec<&str> = Level::ALL.iter().map(|it| it.short_name()).collect();
    anyhow!("there is no level `{}` to expect; choose one of {}", name.trim(), known.join(", "))
}

/// Probes and workloads; without names, all but the applications.
fn what_to_run(names: &[String]) -> anyhow::Result<(Probes, Vec<String>)> {
    if names.is_empty() {
        return Ok((Probes::Yes, WORKLOADS.iter().map(|it| it.0.to_owned()).collect()));
    }
    let mut workloads: Vec<String> = names.iter().map(|it| it.trim().to_ascii_lowercase()).collect();
    let has_probes = workloads.iter().any(|it| it == SCRIPTS);
    workloads.retain(|it| it != SCRIPTS);
    if let Some(unknown) = workloads.iter().find(|it| workload(it, &Parameters::default()).is_none()) {
        let known: Vec<&str> = WORKLOADS.iter().map(|it| it.0).collect();
        bail!("there is no workload `{unknown}`; choose some of {SCRIPTS}, {}, or an application", known.join(", "));
    }
    Ok((if has_probes { Probes::Yes } else { Probes::No }, workloads))
}

/// The probes, for the help.
pub(crate) fn probes() -> String {
    let lines: Vec<String> = PROBES.iter().map(|it| format!("  {:<20}{}", it.name, it.about)).collect();
    format!("Probes:\n{}", lines.join("\n"))
}
