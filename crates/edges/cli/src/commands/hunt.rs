//! `isoscope hunt`: what does a database do that it should not, and which script shows it?

use super::collect::isolation;
use crate::args::HuntArgs;
use crate::dry_run::Intention;
use crate::exit::Exit;
use crate::interrupt::on_interrupt;
use crate::limits::{self, Interrupts, Limits};
use crate::names;
use crate::output::{self, Rendering};
use crate::progress::Progress;
use crate::reporter::Channel;
use crate::results::stopped;
use crate::target::Target;
use crate::timeline::in_seconds;
use anyhow::bail;
use iso_answer::WrongEvidence;
use iso_collect::hunt::{
    Finding, Hunt, HuntProgress, HuntTally, Hunted, Judged, Loss, Origin, PROBES, Probes, Trial, Until, hunt,
};
use iso_collect::script::expectation_line;
use iso_collect::{
    Control, Database, FaultEvent, Parameters, Recorded, WORKLOADS, Workload, check_workload, recorded, workload,
};
use iso_evidence::{Anomaly, Verdict};
use iso_formats::{Format, without_times, write};
use iso_history::History;
use iso_report::{
    Answer, CheckReport, DurabilityReport, FaultMark, HuntCounts, HuntFinding, HuntReport, HuntRound, HuntScript,
    Report, RoundVerdict, Run,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// The scripts among the workloads.
const SCRIPTS: &str = "probes";

/// The arguments, resolved.
struct Asked {
    database: Arc<dyn Database>,
    hunt: Hunt,
    /// Why that is expected, if nobody said it.
    because: Option<String>,
    target: Option<Target>,
    reports: Vec<(PathBuf, Rendering)>,
}

/// Runs the verb.
pub(crate) fn run(raw: &HuntArgs, started: Instant) -> anyhow::Result<Exit> {
    let asked = Asked::resolve(raw)?;
    if raw.database.dry_run {
        return asked.show(raw);
    }
    let progress = Arc::new(Progress::new(raw.progress, started));
    let overdue = Arc::clone(&progress);
    let limits = Limits::new(None, raw.memory);
    limits::watch(limits, started, Arc::clone(&progress), Interrupts::LeftToTheWork, move |reason| {
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
    asked.publish(raw, &hunted)
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
        if let Some(path) = &raw.script {
            output::check_folder(path)?;
        }
        let target = raw
            .output
            .as_deref()
            .map(|it| Target::of(it, raw.voice.is_for_machines(), raw.database.overwrite))
            .transpose()?;
        if let Some(target) = target.as_ref().filter(|_| raw.all) {
            target.check_others(raw.database.overwrite)?;
        }
        let reports = Rendering::to_each(raw.reports.clone())?;
        let (mut probes, mut workloads) = what_to_run(&raw.workloads)?;
        let database: Arc<dyn Database> = Arc::from(raw.database.open(&raw.url)?);
        if raw.workloads.is_empty() {
            let can_run = |it: &dyn Workload| check_workload(&*database, it).is_ok();
            workloads.retain(|it| workload(it, &Parameters::default()).is_some_and(|it| can_run(&*it)));
        }
        let isolation = isolation(&*database, raw.isolation.as_deref().unwrap_or(database.isolations()[0]))?.to_owned();
        let recorded = recorded(&*database, std::slice::from_ref(&isolation));
        let (expect, because) = names::expected(raw.expect.as_deref(), recorded.as_ref())?;
        let until = if raw.all { Until::TimeIsOver } else { Until::FirstFound };
        let faults = raw.faults.plan(&*database, raw.seed)?;
        // Nothing happens to nodes while scripts are played, and a finding there would end the hunt before the first fault.
        if faults.is_some() && raw.workloads.is_empty() {
            probes = Probes::No;
        }
        let duration = raw.duration;
        let hunt = Hunt { isolation, expect, duration, seed: raw.seed, probes, workloads, until, faults };
        Ok(Self { database, hunt, because, target, reports })
    }

    /// What the hunt would do.
    fn show(&self, raw: &HuntArgs) -> anyhow::Result<Exit> {
        let (tables, sessions) = (self.hunt.tables(), self.hunt.most_sessions());
        let preview = self.database.inspect(&tables, sessions)?;
        let probes =
            if self.hunt.probes == Probes::Yes { format!("{} scripts, ", PROBES.len()) } else { String::new() };
        let intention = Intention {
            verb: "hunt",
            database: &*self.database,
            isolations: vec![self.hunt.isolation.clone()],
            sessions,
            table: tables.first().map(|it| it.name.clone()).unwrap_or_default(),
            rows: 0,
            work: format!(
                "{probes}then short runs of {} with up to {sessions} sessions, for {:.0} s; each makes the tables that it \
                 needs, and removes them",
                if self.hunt.workloads.is_empty() { "nothing".to_owned() } else { self.hunt.workloads.join(", ") },
                self.hunt.duration.as_secs_f64()
            ),
            output: raw.output.as_ref().map(|it| it.display().to_string()),
        };
        intention.print(&preview)?;
        Ok(Exit::Good)
    }

    fn publish(&self, raw: &HuntArgs, hunted: &Hunted) -> anyhow::Result<Exit> {
        for wrong in &hunted.refused {
            output::complain(&wrong.to_string());
        }
        let report = Report::Hunt(self.report(hunted)?);
        for (path, rendering) in &self.reports {
            output::write_file(path, rendering.render(&report).as_bytes())?;
        }
        let named = hunted.findings.iter().map(|it| Ok((finding_name(it), notation(it.shown().0)?)));
        let mut named = named.collect::<anyhow::Result<Vec<_>>>()?;
        if let Some(loss) = &hunted.loss {
            named.push((Anomaly::LostAcknowledgedWrite.to_string(), with_times(&loss.recorded)?));
        }
        // Without --all, a finding has the only file.
        if let Some(last) = hunted.last.as_ref().filter(|_| named.is_empty() || raw.all) {
            named.push((format!("what was recorded last, in {}", last.origin), with_times(&last.recorded)?));
        }
        let notes = self.target.as_ref().map(|it| it.save_each(&named)).transpose()?.unwrap_or_default();
        let words = raw.voice.voice().words(&report);
        match Target::channel(self.target.as_ref()) {
            Channel::Aside => output::say_aside(words.trim_end()),
            Channel::Output => output::print(&words)?,
        }
        let scripts = save_scripts(raw.script.as_deref(), &report)?;
        for note in notes.iter().chain(&scripts) {
            if raw.voice.is_for_machines() { output::complain(note) } else { output::say_aside(note) }
        }
        if let Some(failure) = &hunted.failure {
            let kept = if self.target.is_none() { ", and -o FILE.history keeps the last of it" } else { "" };
            output::complain(&format!("{failure}; what was recorded until then is judged{kept}"));
        }
        Ok(Exit::of(&report))
    }

    fn report(&self, hunted: &Hunted) -> anyhow::Result<HuntReport> {
        let HuntTally { scripts, runs, transactions, violations, undecided, refused } = hunted.tally;
        Ok(HuntReport {
            database: hunted.database.clone(),
            isolation: self.hunt.isolation.clone(),
            expect: self.hunt.expect.into(),
            expect_because: self.because.clone(),
            seed: self.hunt.seed,
            tally: HuntCounts {
                scripts: scripts as u64,
                runs: runs as u64,
                transactions,
                violations: violations as u64,
                undecided: (undecided + refused) as u64,
            },
            reason: reason(hunted),
            duration: in_seconds(self.hunt.duration),
            seconds: in_seconds(hunted.elapsed),
            was_stopped: hunted.was_stopped && hunted.failure.is_none(),
            failure: hunted.failure.clone(),
            nodes: self.placed(),
            faults: marks(&hunted.faults),
            rounds: HuntRound::few(hunted.trials.iter().map(round).collect()),
            findings: {
                let found = hunted.findings.iter().map(|it| self.found(it));
                found.chain(hunted.loss.iter().map(lost)).collect::<anyhow::Result<_>>()?
            },
        })
    }

    /// The nodes on which sessions are placed, in turns.
    fn placed(&self) -> Vec<String> {
        let names = self.database.nodes();
        self.database.placement().into_iter().map(|it| names[it].clone()).collect()
    }

    fn found(&self, finding: &Finding) -> anyhow::Result<HuntFinding> {
        let script = finding.reproduction.as_ref().map(|it| {
            let dialect = self.database.dialect();
            let mark = if dialect.has_sql() { "--" } else { "#" };
            let expected = expectation_line(mark, self.hunt.expect.short_name(), &finding.anomalies());
            let answered = expected + &it.script.sql_with_answers(dialect, &it.played)?;
            // Where there is no SQL, the steps have the answers.
            let (steps, sql) =
                if dialect.has_sql() { (it.script.to_string(), Some(answered)) } else { (answered, None) };
            Ok::<_, anyhow::Error>(HuntScript { steps, sql, tries: it.tries as u64, shown: it.shown as u64 })
        });
        Ok(HuntFinding {
            anomalies: finding.anomalies().into_iter().map(str::to_owned).collect(),
            origin: finding.origin.to_string(),
            times: finding.times as u64,
            faults: marks(&finding.faults),
            history: notation(finding.shown().0)?,
            script: script.transpose()?,
            check: self.judged(finding),
        })
    }

    /// What `check` says about a finding.
    fn judged(&self, finding: &Finding) -> CheckReport {
        let (history, refutation) = finding.shown();
        let verdict = Verdict::Forbidden(refutation.clone());
        let answer = Answer { level: self.hunt.expect.into(), verdict: &verdict, certified: Some(Ok(())) };
        let limits = iso_report::Limits { max_order: None };
        CheckReport::new(history, Run::default(), &[answer], limits)
    }
}

/// What was done to nodes, for the document.
pub(super) fn marks(faults: &[FaultEvent]) -> Vec<FaultMark> {
    #[allow(clippy::cast_precision_loss, reason = "a moment needs a few digits")]
    let seconds = |at: i64| (at as f64 / 1e6).round() / 1e3;
    let mark = |it: &FaultEvent| FaultMark { fault: it.fault.clone(), node: it.node.clone(), at: seconds(it.at) };
    faults.iter().map(mark).collect()
}

/// Acknowledged writes that are gone, as a finding.
fn lost(loss: &Loss) -> anyhow::Result<HuntFinding> {
    let history = &loss.recorded.history;
    let limits = iso_report::Limits { max_order: None };
    let durability = DurabilityReport::new(history, &loss.recorded.final_sessions).map(Box::new);
    Ok(HuntFinding {
        anomalies: vec![Anomaly::LostAcknowledgedWrite.to_string()],
        origin: loss.round.to_string(),
        times: loss.times as u64,
        faults: marks(&loss.faults),
        history: with_times(&loss.recorded)?,
        script: None,
        check: CheckReport { durability, ..CheckReport::new(history, Run::default(), &[], limits) },
    })
}

/// A history with times: without them nobody knows what was acknowledged when.
fn with_times(recorded: &Recorded) -> anyhow::Result<String> {
    let sessions = &recorded.final_sessions;
    let header = if sessions.is_empty() { String::new() } else { format!("# final: {}\n", sessions.join(", ")) };
    let mut text = header.into_bytes();
    write(&recorded.history, Format::Text, &mut text)?;
    Ok(String::from_utf8(text)?)
}

/// Saves the scripts of findings; what people should know about them.
fn save_scripts(path: Option<&Path>, report: &Report) -> anyhow::Result<Vec<String>> {
    let (Some(path), Report::Hunt(report)) = (path, report) else { return Ok(Vec::new()) };
    let scripts: Vec<&HuntScript> = report.findings.iter().filter_map(|it| it.script.as_ref()).collect();
    if scripts.is_empty() {
        return Ok(vec![format!("{} is not written: there is no script.", path.display())]);
    }
    let mut notes = Vec::new();
    for (idx, script) in scripts.iter().enumerate() {
        let path = if idx == 0 { path.to_owned() } else { output::numbered(path, idx + 1) };
        let text = script.sql.as_deref().unwrap_or(&script.steps);
        output::write_file(&path, text.as_bytes())?;
        notes.push(format!("The script is in {}; isoscope replay plays it.", path.display()));
    }
    Ok(notes)
}

/// Why some histories have no answer; a bug comes first.
fn reason(hunted: &Hunted) -> Option<String> {
    let bug = (!hunted.refused.is_empty()).then(|| WrongEvidence::IN_SHORT.to_owned());
    bug.or_else(|| hunted.undecided.as_ref().map(ToString::to_string))
}

fn round(trial: &Trial) -> HuntRound {
    let name = match &trial.origin {
        Origin::Probe { name, .. } => (*name).to_owned(),
        Origin::Run(round) => round.workload.clone(),
    };
    let (verdict, finding) = match trial.judged {
        Judged::Allowed => (RoundVerdict::Holds, None),
        Judged::Forbidden { finding } => (RoundVerdict::Violated, Some(finding)),
        Judged::Undecided | Judged::Refused => (RoundVerdict::Unknown, None),
    };
    HuntRound {
        what: trial.origin.to_string(),
        name,
        rounds: 1,
        began: in_seconds(trial.began),
        seconds: in_seconds(trial.took),
        committed: trial.committed,
        aborted: trial.aborted,
        unknown: trial.unknown,
        verdict,
        finding,
    }
}

fn counted(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// What a finding is called where it is saved.
fn finding_name(finding: &Finding) -> String {
    let names = finding.anomalies();
    if names.is_empty() { "the finding".to_owned() } else { names.join(", ") }
}

/// A history as text; times say nothing to people.
pub(crate) fn notation(history: &History) -> anyhow::Result<String> {
    let mut text = Vec::new();
    write(&without_times(history), Format::Text, &mut text)?;
    Ok(String::from_utf8(text)?)
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
    let width = PROBES.iter().map(|it| it.name.len() + 2).max().unwrap_or_default();
    let lines: Vec<String> = PROBES.iter().map(|it| format!("  {:<width$}{}", it.name, it.about)).collect();
    format!("Probes:\n{}", lines.join("\n"))
}
