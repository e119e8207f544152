//! `isoscope replay`: does a script show its anomaly again?

use super::collect::isolation;
use super::hunt::notation;
use crate::args::ReplayArgs;
use crate::exit::Exit;
use crate::interrupt::on_interrupt;
use crate::limits::{self, Interrupts, Limits};
use crate::names;
use crate::output::{self, Rendering};
use crate::progress::Progress;
use crate::results::stopped;
use crate::timeline::in_seconds;
use anyhow::{Context, anyhow, bail};
use iso_collect::script::{PlayedAgain, SavedScript, play_again};
use iso_collect::{Control, Database, open_with, recorded};
use iso_evidence::Verdict;
use iso_formats::{Format, Header, RecordedDatabase, write_headed_path};
use iso_report::{Answer, CheckReport, ReplayReport, ReplayStep, Report, Run};
use iso_spec::Level;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// How often a script is played whose steps are sent together, unless somebody says it.
const RACES: usize = 30;

/// The arguments, resolved.
struct Asked {
    name: String,
    saved: SavedScript,
    database: Box<dyn Database>,
    recorded: Option<RecordedDatabase>,
    expect: Level,
    because: String,
    output: Option<(PathBuf, Format)>,
    reports: Vec<(PathBuf, Rendering)>,
}

/// Runs the verb.
pub(crate) fn run(raw: &ReplayArgs, started: Instant) -> anyhow::Result<Exit> {
    let asked = Asked::resolve(raw)?;
    let progress = Arc::new(Progress::new(raw.progress, started));
    let overdue = Arc::clone(&progress);
    let limits = Limits::new(None, raw.memory);
    limits::watch(limits, started, Arc::clone(&progress), Interrupts::LeftToTheWork, move |reason| {
        overdue.clear();
        output::complain(&stopped(&reason));
        crate::end(Exit::Unknown)
    });
    // What is sent together is a race, which must be run more than once.
    let default = if asked.saved.script.has_together() { RACES } else { 1 };
    let times = raw.times.unwrap_or(default);
    let is_interrupted = on_interrupt()?;
    let control = Control::new();
    let mut watch = |tries: usize| {
        if is_interrupted.load(Ordering::Relaxed) {
            control.stop();
        }
        progress.stage(format!("playing the script, {} of {}", tries + 1, times));
    };
    let script = &asked.saved.script;
    let played = play_again(&*asked.database, script, asked.expect, times, &control, &mut watch);
    progress.clear();
    let played = played.with_context(|| format!("{} cannot be played", asked.name))?;
    asked.publish(raw, &played, started)
}

impl Asked {
    fn resolve(raw: &ReplayArgs) -> anyhow::Result<Self> {
        let (name, text) = read(&raw.script)?;
        let saved: SavedScript = text.parse().map_err(|it| anyhow!("{name}: {it}"))?;
        let output = raw.output.as_deref().map(output_of).transpose()?;
        let reports = Rendering::to_each(raw.reports.clone())?;
        let database = open_with(raw.url.trim(), &raw.opening.opening(None))?;
        let saved = at_levels_of(&saved, &*database, raw.isolation.as_deref()).with_context(|| name.clone())?;
        let isolations: Vec<String> = saved.isolations().into_iter().map(str::to_owned).collect();
        let recorded = recorded(&*database, &isolations);
        let wanted = raw.expect.as_ref().or(saved.expect.as_ref());
        let (expect, because) = names::expected(wanted.map(String::as_str), recorded.as_ref())?;
        let because = because.unwrap_or_else(|| match raw.expect {
            Some(_) => format!("{} is expected, as asked for", expect.short_name()),
            None => format!("{} is expected, as the script says", expect.short_name()),
        });
        Ok(Self { name, saved, database, recorded, expect, because, output, reports })
    }

    fn publish(&self, raw: &ReplayArgs, played: &PlayedAgain, started: Instant) -> anyhow::Result<Exit> {
        for wrong in &played.refused {
            output::complain(&wrong.to_string());
        }
        if let Some((path, format)) = &self.output {
            let header = Header { database: self.recorded.clone(), ..Header::default() };
            write_headed_path(&played.played.history, &header, *format, path)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        let report = Report::Replay(self.report(played, started)?);
        for (path, rendering) in &self.reports {
            output::write_file(path, rendering.render(&report).as_bytes())?;
        }
        output::print(&raw.voice.voice().words(&report))?;
        Ok(Exit::of(&report))
    }

    fn report(&self, again: &PlayedAgain, started: Instant) -> anyhow::Result<ReplayReport> {
        let history = &again.played.history;
        let check = again.refutation.as_ref().map(|refutation| {
            let verdict = Verdict::Forbidden((**refutation).clone());
            let answer = Answer { level: self.expect.into(), verdict: &verdict, certified: Some(Ok(())) };
            let limits = iso_report::Limits { max_order: None };
            Box::new(CheckReport::new(history, Run::default(), &[answer], limits))
        });
        let anomalies = again.refutation.iter().flat_map(|it| it.anomalies.iter()).map(|it| it.name().to_owned());
        Ok(ReplayReport {
            script: self.name.clone(),
            database: self.database.describe(),
            isolation: self.saved.isolations().into_iter().map(str::to_owned).collect(),
            expect: self.expect.into(),
            expect_because: self.because.clone(),
            tries: again.tries as u64,
            shown: again.shown as u64,
            reason: again.undecided.as_ref().map(ToString::to_string),
            anomalies: anomalies.collect(),
            steps: (0..self.saved.script.steps.len()).map(|it| self.step(again, it)).collect(),
            history: notation(history)?,
            seconds: in_seconds(started.elapsed()),
            output: self.output.as_ref().map(|it| it.0.display().to_string()),
            check,
        })
    }

    fn step(&self, again: &PlayedAgain, idx: usize) -> ReplayStep {
        let (saved, played) = (&self.saved, &again.played);
        let step = &saved.script.steps[idx];
        let words = step.to_string();
        ReplayStep {
            nth: idx as u64 + 1,
            line: saved.lines[idx] as u64,
            session: step.session.clone(),
            step: words.strip_prefix(&format!("{} ", step.session)).unwrap_or(&words).to_owned(),
            answer: played.answers[idx].to_string().replace('\n', " "),
            waited: played.blocked.contains(&idx),
            recorded: saved.recorded[idx].clone(),
            same: saved.is_as_recorded(played, idx),
        }
    }
}

/// The script with isolation levels that the database has.
fn at_levels_of(saved: &SavedScript, database: &dyn Database, wanted: Option<&str>) -> anyhow::Result<SavedScript> {
    let default = database.isolations()[0];
    let of = |it: &str| {
        let name = wanted.unwrap_or(if it.is_empty() { default } else { it });
        isolation(database, name)
    };
    let named = saved.isolations().into_iter().map(|it| Ok((it.to_owned(), of(it)?)));
    let named = named.collect::<anyhow::Result<Vec<(String, &str)>>>().map_err(|error| match wanted {
        Some(_) => error,
        None => anyhow!("{error}; -i NAME plays the script at another one"),
    })?;
    let found = |it: &str| named.iter().find(|pair| pair.0 == it).map_or(it, |pair| pair.1).to_owned();
    Ok(saved.with_isolations(found))
}

/// The name of a script for people, and its text.
fn read(path: &Path) -> anyhow::Result<(String, String)> {
    if path == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).context("cannot read the script from standard input")?;
        return Ok(("standard input".to_owned(), text));
    }
    let name = path.display().to_string();
    let text = fs::read_to_string(path).with_context(|| format!("cannot read the script {name}"))?;
    Ok((name, text))
}

fn output_of(path: &Path) -> anyhow::Result<(PathBuf, Format)> {
    let format = match path.extension().and_then(OsStr::to_str) {
        Some("jsonl") => Format::Jsonl,
        Some("history") => Format::Text,
        _ => bail!("{}: the name of a history ends in .jsonl or .history", path.display()),
    };
    output::check_folder(path)?;
    Ok((path.to_owned(), format))
}
