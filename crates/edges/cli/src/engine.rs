//! `isoscope check --engine` and `--emit sql`: large histories, replayed by an SQL engine and decided here.

use crate::args::CheckArgs;
use crate::effort;
use crate::exit::Exit;
use crate::judge::{Audience, Judge};
use crate::limits::{self, Alarm, Interrupts, Limits};
use crate::names::{self, Question as Asked};
use crate::output::{self, Rendering};
use crate::progress::Progress;
use crate::results::{Results, stopped};
use crate::source::{plain, shown};
use anyhow::{anyhow, bail};
use iso_answer::check::Certifying;
use iso_evidence::{Budget, StopReason};
use iso_formats::{DataSet, survey, value_of_word};
use iso_history::{Defect, History, Severity};
use iso_report::{Evidence, Judgement, LevelName, LevelReport, Schedule};
use iso_scale::{Address, Decision, Earlier, Memory, Moves, Queries, Question, ScaleError, Scripted, decide};
use iso_spec::Level;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// The arguments, resolved.
struct Replayed {
    inputs: Vec<String>,
    levels: Vec<Level>,
    engine: Address,
    /// For the engine, if it runs here.
    engine_memory: Option<u64>,
    initial: Option<String>,
    limits: Limits,
    reports: Vec<(PathBuf, Rendering)>,
}

/// Prints the queries.
pub(crate) fn emit(raw: &CheckArgs) -> anyhow::Result<Exit> {
    for input in &raw.inputs {
        for level in levels(&raw.levels)? {
            let question = Question::new(data_set(input, raw.reading.initial.as_deref())?, level)?;
            let queries = Queries::new(&question, Moves::None, Earlier::None);
            output::print(&queries.script(&question))?;
        }
    }
    Ok(Exit::Good)
}

/// Asks an engine.
pub(crate) fn run(raw: CheckArgs, engine: &str, started: Instant) -> anyhow::Result<Exit> {
    let voice = raw.voice();
    let progress = Arc::new(Progress::new(raw.limits.progress, started));
    let asked = Replayed {
        levels: levels(&raw.levels)?,
        engine: known(engine)?,
        engine_memory: raw.limits.memory,
        initial: raw.reading.initial,
        limits: Limits::new(raw.limits.timeout, raw.limits.memory),
        reports: Rendering::to_each(raw.reports)?,
        inputs: raw.inputs,
    };
    let names: Vec<LevelName> = asked.levels.iter().map(|it| (*it).into()).collect();
    let shown_inputs: Vec<String> = asked.inputs.iter().map(|it| shown(it).to_owned()).collect();
    let results = Arc::new(Results::new(voice, &shown_inputs, &names, Arc::clone(&progress), started));
    let overdue = Arc::clone(&results);
    let take_over = move |reason| overdue.end_now(&reason);
    let alarm = limits::watch(asked.limits, started, Arc::clone(&progress), Interrupts::Stop, take_over);
    for (idx, input) in asked.inputs.iter().enumerate() {
        let reason = asked.judge(input, &results, &alarm, &progress);
        let report = results.report(&reason.as_ref().map_or_else(String::new, ToString::to_string));
        let name = |path: &Path| if asked.inputs.len() > 1 { output::numbered(path, idx + 1) } else { path.to_owned() };
        results.publish(&report, || {
            asked
                .reports
                .iter()
                .try_for_each(|(path, rendering)| output::write_file(&name(path), rendering.render(&report).as_bytes()))
        })?;
        if let Some(reason) = &reason {
            output::complain(&format!("{}: {}", plain(shown(input)), stopped(reason)));
        }
    }
    Ok(results.exit())
}

/// An engine that there is.
fn known(engine: &str) -> anyhow::Result<Address> {
    let Some(address) = Address::parse(engine.trim()) else {
        bail!(
            "there is no engine `{}`; choose datafusion, spark, or the address of a cluster, as in spark://host:7077 or \
             ballista://host:50050",
            plain(engine)
        )
    };
    Ok(address)
}

fn levels(names: &[String]) -> anyhow::Result<Vec<Level>> {
    if names.is_empty() {
        bail!("--engine and --emit need --level: ser, sser or si");
    }
    let level = |name: &String| match names::question(name, None)? {
        Asked::Level(level) => Ok(level),
        Asked::Spec(spec) => Err(anyhow!("--engine decides ser, sser and si, not {}", spec.name())),
    };
    names.iter().map(level).collect()
}

fn data_set(input: &str, initial: Option<&str>) -> Result<DataSet, ScaleError> {
    let mut data = survey(Path::new(input))?;
    if let Some(initial) = initial {
        data.initial = value_of_word(initial);
    }
    Ok(data)
}

impl Replayed {
    /// Judges one input; the limit that is to blame, if one is.
    fn judge(&self, input: &str, results: &Results, alarm: &Alarm, progress: &Progress) -> Option<StopReason> {
        for level in &self.levels {
            match self.decide(input, *level, alarm, progress) {
                Ok(decision) => self.say(*level, decision, results, alarm),
                Err(_) if alarm.reason().is_some() => return alarm.reason(),
                Err(error @ ScaleError::Engine { .. }) => {
                    let reason = error.to_string();
                    output::complain(&format!("{}: {reason}", plain(shown(input))));
                    results.decided(unknown(*level, reason));
                }
                Err(error) => {
                    let message = error.to_string();
                    progress.clear();
                    output::complain(&message);
                    let source = shown(input).to_owned();
                    results.unreadable(vec![Defect { severity: Severity::Error, source, at: None, message }]);
                    return None;
                }
            }
        }
        alarm.reason()
    }

    fn decide(&self, input: &str, level: Level, alarm: &Alarm, progress: &Progress) -> Result<Decision, ScaleError> {
        let question = Question::new(data_set(input, self.initial.as_deref())?, level)?;
        progress.stage(format!("replaying {} for {level}", shown(input)));
        let stop = || alarm.reason();
        let is_stopped = || alarm.reason().is_some();
        let usual = Memory::default();
        let memory =
            Memory { here: self.limits.left_for_reading(), engine: self.engine_memory.unwrap_or(usual.engine) };
        let mut engine = Scripted::new(self.engine.clone(), &question.data, memory, &is_stopped)?;
        decide(&question, &mut engine, &Budget::new(&stop))
    }

    fn say(&self, level: Level, decision: Decision, results: &Results, alarm: &Alarm) {
        match decision {
            Decision::Unknown(reason) => results.decided(unknown(level, reason)),
            Decision::Holds { n_txns, moved, n_replays } => {
                let n_txns = usize::try_from(n_txns).unwrap_or(usize::MAX);
                let schedule = Schedule::Order { order: Vec::new(), omitted: n_txns };
                let judgement = Judgement::Holds { evidence: Evidence { schedule, sources: Vec::new() } };
                results.decided(LevelReport { level: level.into(), judgement, certified: None });
                results.note(trusted(level, &self.engine, moved.len(), n_replays));
            }
            Decision::Violated { part, .. } => {
                results.note(format!(
                    "The core is from the part of the history around what did not fit the order of ends: {} transactions. \
                     Names such as s1.2 count within that part; the number behind txn is the one of the data set.",
                    part.n_txns() - 1
                ));
                self.certify(level, &part, results, alarm);
            }
        }
    }

    /// Decides the part once more, and words it.
    fn certify(&self, level: Level, part: &History, results: &Results, alarm: &Alarm) {
        let stop = || alarm.reason();
        let longest = self.limits.longest_explanation();
        let since = Instant::now();
        let stop_explaining = || stop().or_else(|| (since.elapsed() > longest).then_some(StopReason::Timeout));
        let budget = Budget::new(&stop).explained_until(&stop_explaining);
        let judge = Judge { certifying: Certifying::Yes, max_order: Some(20), budget };
        judge.ask(part, &[Asked::Level(level)], &Listener { results }, &effort::Shared::default());
    }
}

fn unknown(level: Level, reason: String) -> LevelReport {
    LevelReport { level: level.into(), judgement: Judgement::Unknown { reason }, certified: None }
}

/// What an answer "holds" of an engine rests on.
fn trusted(level: Level, engine: &Address, n_moved: usize, n_replays: usize) -> String {
    let moved = match n_moved {
        0 => "transactions in the order of their ends".to_owned(),
        _ => format!("transactions in the order of their ends, {n_moved} of them elsewhere"),
    };
    format!(
        "The order: {moved}. Every read fits it, which {engine} found out (replays: {n_replays}); trusted are its sorting and \
         counting, and the queries, which --emit sql shows. `isoscope check` without --engine decides {level} in memory and \
         certifies it; its --json is what `isoscope certify` reads."
    )
}

struct Listener<'r> {
    results: &'r Results,
}

impl Audience for Listener<'_> {
    fn asking(&self, _: &str) {}

    fn decided(&self, report: LevelReport) {
        self.results.decided(report);
    }
}
