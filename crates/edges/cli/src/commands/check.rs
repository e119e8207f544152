//! `isoscope check`: does this recorded history satisfy these levels, and if not, why not?

use crate::args::CheckArgs;
use crate::exit::Exit;
use crate::ledger::{Ledger, exit_of, stopped};
use crate::limits::{self, Alarm, Limits};
use crate::names;
use crate::output::{self, Rendering, Voice};
use crate::progress::Progress;
use crate::source::Source;
use iso_evidence::{Budget, StopReason, Verdict};
use iso_formats::{ReadError, Reading};
use iso_history::{Defect, Facts, History, Severity};
use iso_report::{Answer, CheckReport, Counts, Judgement, LevelName, LevelReport, Run};
use iso_spec::Level;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Messages about one input end after this many.
const MAX_SHOWN_DEFECTS: usize = 10;

/// The arguments, resolved.
struct Check {
    inputs: Vec<String>,
    /// None: every level that the history can answer.
    levels: Option<Vec<Level>>,
    source: Source,
    limits: Limits,
    reports: Vec<(PathBuf, Rendering)>,
    certifies: bool,
    max_order: Option<usize>,
}

/// Runs the verb.
pub(crate) fn run(raw: CheckArgs, started: Instant) -> anyhow::Result<Exit> {
    let (voice, shows_stats) = (Voice::new(raw.json), raw.stats);
    let progress = Arc::new(Progress::new(raw.limits.progress, started));
    let check = Check::resolve(raw)?;
    let ledger = Arc::new(Ledger::new(voice, &check.inputs, &check.usual_levels(), Arc::clone(&progress), started));
    let overdue = Arc::clone(&ledger);
    let alarm = limits::watch(check.limits, started, Arc::clone(&progress), move |reason| overdue.end_now(&reason));
    let mut desk = Desk { check: &check, ledger: &ledger, alarm: &alarm, progress: &progress, stages: Vec::new() };
    for (idx, input) in check.inputs.iter().enumerate() {
        desk.judge(idx, input)?;
    }
    if shows_stats {
        output::complain(&desk.stats());
    }
    Ok(ledger.exit())
}

impl Check {
    fn resolve(raw: CheckArgs) -> anyhow::Result<Self> {
        let levels = raw.levels.iter().map(|it| names::level(it)).collect::<anyhow::Result<Vec<_>>>()?;
        let reports: Vec<(PathBuf, Rendering)> =
            raw.reports.into_iter().map(|it| Rendering::of(&it).map(|of| (it, of))).collect::<anyhow::Result<_>>()?;
        let has = |wanted| reports.iter().any(|it| it.1 == wanted);
        // A whole schedule is for machines; a page shows its beginning.
        let max_order = match (raw.json || has(Rendering::Json), has(Rendering::Html)) {
            (true, _) => None,
            (false, true) => Some(1000),
            (false, false) => Some(20),
        };
        Ok(Self {
            inputs: raw.inputs,
            levels: (!levels.is_empty()).then_some(levels),
            source: Source::new(&raw.reading)?,
            limits: Limits::new(raw.limits.timeout, raw.limits.memory),
            reports,
            certifies: !raw.no_certify,
            max_order,
        })
    }

    /// The levels that are asked if nothing is known about the history.
    fn usual_levels(&self) -> Vec<LevelName> {
        self.questions(None).into_iter().map(LevelName::from).collect()
    }

    fn questions(&self, history: Option<&History>) -> Vec<Level> {
        let has_times = history.is_some_and(History::has_times);
        match &self.levels {
            Some(levels) => levels.clone(),
            None => Level::ALL.into_iter().filter(|it| has_times || !it.needs_times()).collect(),
        }
    }
}

/// Where one input after the other is judged.
struct Desk<'a> {
    check: &'a Check,
    ledger: &'a Ledger,
    alarm: &'a Alarm,
    progress: &'a Progress,
    stages: Vec<(&'static str, Duration)>,
}

impl Desk<'_> {
    fn judge(&mut self, idx: usize, input: &str) -> anyhow::Result<()> {
        let clock = Instant::now();
        let reading = self.check.source.read(input, &self.check.limits, self.alarm, self.progress);
        self.stage("reading", clock.elapsed());
        let reason = match reading {
            Ok(reading) => self.judge_reading(input, reading),
            Err(error) => self.refuse(input, error),
        };
        self.progress.stage("writing the report");
        let clock = Instant::now();
        let report = self.ledger.report(&reason.map_or_else(String::new, |it| it.to_string()));
        let rendered = self.render(idx, &report);
        self.stage("report", clock.elapsed());
        self.ledger.tell(&report, exit_of(&report))?;
        for (path, bytes) in rendered {
            output::write_file(&path, bytes.as_bytes())?;
        }
        Ok(())
    }

    fn render(&self, idx: usize, report: &CheckReport) -> Vec<(PathBuf, String)> {
        let name = |path: &Path| if self.check.inputs.len() > 1 { numbered(path, idx + 1) } else { path.to_owned() };
        self.check.reports.iter().map(|(path, rendering)| (name(path), rendering.render(report))).collect()
    }

    /// Says why there is no history to judge, and whether that is the limits' fault.
    fn refuse(&self, input: &str, error: ReadError) -> Option<StopReason> {
        let reason = match &error {
            ReadError::Stopped { .. } => self.alarm.reason().or(Some(StopReason::Timeout)),
            ReadError::MemoryLimit { .. } => Some(StopReason::Memory),
            _ => None,
        };
        self.progress.clear();
        match &reason {
            Some(StopReason::Memory) if matches!(error, ReadError::MemoryLimit { .. }) => {
                output::complain(&error.to_string());
            }
            Some(reason) => output::complain(&format!("{input}: {}", stopped(reason))),
            None => {
                output::complain(&error.to_string());
                let message = error.to_string();
                let defect = Defect { severity: Severity::Error, source: input.to_owned(), at: None, message };
                self.unreadable(vec![defect]);
            }
        }
        reason
    }

    fn unreadable(&self, defects: Vec<Defect>) {
        self.ledger.unreadable(defects);
    }

    fn judge_reading(&mut self, input: &str, reading: Reading) -> Option<StopReason> {
        let Some(history) = reading.history else {
            self.progress.clear();
            complain_of(&reading.defects, input);
            self.unreadable(reading.defects);
            return None;
        };
        self.ledger.defects(reading.defects);
        let levels = self.check.questions(Some(&history));
        let names: Vec<LevelName> = levels.iter().map(|it| LevelName::from(*it)).collect();
        self.ledger.asked(Counts::of(&history), &names);
        self.ask(&history, &levels);
        let reason = self.alarm.reason();
        if let Some(reason) = &reason {
            self.ledger.note(stopped(reason));
        }
        // Giving a large history back piece by piece takes longer than the end of the process does.
        if self.check.inputs.last().is_some_and(|it| it == input) {
            std::mem::forget(history);
        }
        reason
    }

    fn ask(&mut self, history: &History, levels: &[Level]) {
        self.progress.stage("looking at who read what");
        let clock = Instant::now();
        let facts = Facts::new(history);
        self.stage("facts", clock.elapsed());
        let stop = || self.alarm.reason();
        let budget = Budget::new(&stop);
        let clock = Instant::now();
        let mut certifying = Duration::ZERO;
        self.progress.stage(format!("checking {}", names_of(levels)));
        let mut told: Vec<(Verdict, Judgement)> = Vec::new();
        iso_check::check_levels(&facts, levels, &budget, &mut |level, verdict| {
            let certify_clock = Instant::now();
            let answer = Answer { level: level.into(), verdict, certified: None };
            certifying += certify_clock.elapsed();
            self.ledger.decided(self.level_report(history, &answer, &mut told));
        });
        self.stage("check", clock.elapsed().saturating_sub(certifying));
        self.stage("certify", certifying);
    }

    /// The report of one level; a refutation that was told before is not worked out again.
    fn level_report(
        &self,
        history: &History,
        answer: &Answer<'_>,
        told: &mut Vec<(Verdict, Judgement)>,
    ) -> LevelReport {
        let known = told.iter().find(|it| it.0 == *answer.verdict).map(|it| it.1.clone());
        let judgement = known.unwrap_or_else(|| {
            let limits = iso_report::Limits { max_order: self.check.max_order };
            let report = CheckReport::new(history, Run::default(), std::slice::from_ref(answer), limits);
            report.levels.into_iter().next().map_or(Judgement::Unknown { reason: String::new() }, |it| it.judgement)
        });
        if matches!(answer.verdict, Verdict::Forbidden(_)) {
            told.push((answer.verdict.clone(), judgement.clone()));
        }
        LevelReport { level: answer.level.clone(), judgement, certified: answer.certified.clone() }
    }

    fn stage(&mut self, name: &'static str, took: Duration) {
        match self.stages.iter_mut().find(|it| it.0 == name) {
            Some(stage) => stage.1 += took,
            None => self.stages.push((name, took)),
        }
    }

    fn stats(&self) -> String {
        let stages: Vec<String> =
            self.stages.iter().map(|(name, took)| format!("{name} {:.3} s", took.as_secs_f64())).collect();
        stages.join(", ")
    }
}

fn names_of(levels: &[Level]) -> String {
    let names: Vec<&str> = levels.iter().map(|it| it.short_name()).collect();
    names.join(" ")
}

fn complain_of(defects: &[Defect], input: &str) {
    for defect in defects.iter().take(MAX_SHOWN_DEFECTS) {
        let warning = if defect.severity == Severity::Warning { "warning: " } else { "" };
        let source = if defect.source.is_empty() { format!("{input}: ") } else { String::new() };
        output::complain(&format!("{warning}{source}{defect}"));
    }
    if defects.len() > MAX_SHOWN_DEFECTS {
        output::complain(&format!("{input}: and {} more like these", defects.len() - MAX_SHOWN_DEFECTS));
    }
}

/// `why.html` for the second input is `why-2.html`.
fn numbered(path: &Path, number: usize) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let ending = path.extension().unwrap_or_default().to_string_lossy().into_owned();
    path.with_file_name(format!("{stem}-{number}.{ending}"))
}
