//! `isoscope check`: does this recorded history satisfy these levels, and if not, why not?

use super::check_stream;
use crate::args::CheckArgs;
#[cfg(feature = "parquet")]
use crate::args::Emitted;
use crate::effort;
#[cfg(feature = "parquet")]
use crate::engine;
use crate::exit::Exit;
use crate::hints;
use crate::judge::{Audience, Judge};
use crate::limits::{self, Alarm, Interrupts, Limits};
use crate::names::{Named, Question};
use crate::output::{self, Rendering};
use crate::progress::Progress;
use crate::promise::{self, Promised};
use crate::results::{Results, stopped};
use crate::said;
use crate::source::{Source, complain_of, plain, reason_to_stop, shown};
use crate::spec_file;
use crate::unseen::Unseen;
use crate::voice::Form;
use crate::watch::watch;
use anyhow::bail;
use iso_answer::check::Certifying;
use iso_evidence::{Budget, Note, Stage, StopReason};
use iso_formats::{ReadError, Reading, RecordedDatabase};
use iso_history::{Defect, Facts, History, Outcome, Severity};
use iso_report::{DurabilityReport, LevelName, LevelReport, Report};
use iso_spec::{Level, Module};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The arguments, resolved.
struct Check<'s> {
    inputs: Vec<String>,
    /// None: every level that the history can answer.
    named: Option<Vec<Named<'s>>>,
    source: Source,
    limits: Limits,
    reports: Vec<(PathBuf, Rendering)>,
    /// May there be nothing to check?
    allows_empty: bool,
    certifying: Certifying,
    max_order: Option<usize>,
    looks_around: LookAround,
}

/// Who wants to know what stands around the evidence?
#[derive(Clone, Copy, PartialEq, Eq)]
enum LookAround {
    Nobody,
    /// A document, from which somebody may make a page later. What is allowed is not looked at once more for it.
    Document,
    /// A page.
    Page,
}

/// Runs the verb.
pub(crate) fn run(raw: CheckArgs, started: Instant) -> anyhow::Result<Exit> {
    if raw.watch {
        return watch(&raw.inputs.iter().map(PathBuf::from).chain(raw.spec).collect::<Vec<_>>());
    }
    #[cfg(feature = "parquet")]
    match (raw.emit, raw.engine.clone()) {
        (Some(Emitted::Sql), _) => return engine::emit(&raw),
        (None, Some(engine)) => return engine::run(raw, &engine, started),
        (None, None) => {}
    }
    if raw.stream || raw.follow || check_stream::is_too_large(&raw) {
        return check_stream::run(&raw, started);
    }
    for (given, option) in [
        (raw.stop_on_violation, "--stop-on-violation"),
        (raw.window.is_some(), "--window"),
        (raw.certificate.is_some(), "--certificate"),
    ] {
        if given {
            bail!("{option} is for recordings that are streamed; add --stream or --follow");
        }
    }
    in_memory(raw, started)
}

/// Reads whole histories, and decides them.
pub(crate) fn in_memory(raw: CheckArgs, started: Instant) -> anyhow::Result<Exit> {
    let voice = raw.voice();
    let shows_stats = raw.stats;
    let progress = Arc::new(Progress::new(raw.limits.progress, started));
    let own = raw.spec.as_deref().map(spec_file::read).transpose()?;
    let check = Check::resolve(raw, own.as_ref())?;
    let usual = check.usual();
    let shown_inputs: Vec<String> = check.inputs.iter().map(|it| shown(it).to_owned()).collect();
    let results = Arc::new(Results::new(voice, &shown_inputs, &usual, Arc::clone(&progress), started));
    let overdue = Arc::clone(&results);
    let take_over = move |reason| overdue.end_now(&reason);
    let alarm = limits::watch(check.limits, started, Arc::clone(&progress), Interrupts::Stop, take_over);
    let effort = effort::Shared::default();
    let unseen = Cell::default();
    let judge =
        InputJudge { check: &check, results: &results, alarm: &alarm, progress: &progress, effort: &effort, unseen };
    for idx in 0..check.inputs.len() {
        judge.judge(idx)?;
    }
    if shows_stats {
        output::say_aside(&effort.borrow().table(started.elapsed()));
    }
    Ok(results.exit())
}

impl<'s> Check<'s> {
    fn resolve(raw: CheckArgs, own: Option<&'s Module>) -> anyhow::Result<Self> {
        let reports = Rendering::to_each(raw.reports)?;
        let voice_is_json = raw.voice.form() == Form::Json;
        let has = |wanted| reports.iter().any(|it| it.1 == wanted);
        // A whole schedule is for machines; a page shows its beginning.
        let max_order = match (voice_is_json || has(Rendering::Json), has(Rendering::Html)) {
            (true, _) => None,
            (false, true) => Some(200),
            (false, false) => Some(20),
        };
        let looks_around = match (voice_is_json || has(Rendering::Json), has(Rendering::Html)) {
            (_, true) => LookAround::Page,
            (true, false) => LookAround::Document,
            (false, false) => LookAround::Nobody,
        };
        Ok(Self {
            inputs: raw.inputs,
            named: resolve_names(&raw.levels, own, raw.database.as_deref())?,
            source: Source::new(&raw.reading)?,
            limits: Limits::new(raw.limits.timeout, raw.limits.memory),
            reports,
            allows_empty: raw.allow_empty,
            certifying: if raw.no_certify { Certifying::No } else { Certifying::Yes },
            max_order,
            looks_around,
        })
    }

    /// What will be asked of a history that is not known yet.
    fn usual(&self) -> Vec<LevelName> {
        match &self.named {
            Some(named) => named.iter().map(Named::name).collect(),
            None => usual_names(),
        }
    }
}

/// What is asked of a history, and what was promised to it, which is asked first.
pub(crate) fn asked<'s>(
    named: Option<&[Named<'s>]>,
    history: &History,
    database: Option<&RecordedDatabase>,
) -> anyhow::Result<Asked<'s>> {
    if let Some(named) = named {
        let mut questions: Vec<Question<'s>> = Vec::new();
        for name in named {
            let question = name.in_history_of(database)?;
            if questions.iter().all(|it| it.name() != question.name()) {
                questions.push(question);
            }
        }
        return Ok(Asked { questions, promised: None, note: None });
    }
    let mut questions = usual_questions(Some(history));
    let (promised, note) = match database.map(promise::promised) {
        None => (None, None),
        Some(Err(why)) => (None, Some(why)),
        Some(Ok(promised)) if !history.has_real_time() => (Some(promised.without_times()), None),
        Some(Ok(promised)) => (Some(promised), None),
    };
    if let Some(promised) = &promised {
        let name = promised.question.name();
        questions.retain(|it| it.name() != name);
        questions.insert(0, promised.question);
    }
    Ok(Asked { questions, promised, note })
}

/// What a report calls the levels that are asked for where nobody names one.
pub(crate) fn usual_names() -> Vec<LevelName> {
    usual_questions(None).iter().map(Question::name).collect()
}

/// What is asked of a history, or of one that is not known yet, where nobody names a level.
fn usual_questions<'s>(history: Option<&History>) -> Vec<Question<'s>> {
    let has_times = history.is_some_and(History::has_real_time);
    let is_usual = |it: &Level| has_times || !it.needs_times();
    // Levels of databases say something of their own only where statements are known.
    let has_statements = history.is_some_and(History::has_statements);
    let of_databases = if has_statements { Level::of_databases() } else { Vec::new() };
    Level::usual().into_iter().filter(is_usual).chain(of_databases).map(Question::Level).collect()
}

/// What is asked of one history.
pub(crate) struct Asked<'s> {
    pub(crate) questions: Vec<Question<'s>>,
    pub(crate) promised: Option<Promised>,
    /// Why it is not known what was promised.
    pub(crate) note: Option<String>,
}

/// Names become questions, each once; a spec file alone asks for all of its levels.
pub(crate) fn resolve_names<'s>(
    names: &[String],
    own: Option<&'s Module>,
    database: Option<&str>,
) -> anyhow::Result<Option<Vec<Named<'s>>>> {
    if names.is_empty() {
        let of_spec = |it: &'s Module| it.levels().iter().map(|it| Named::Question(Question::Spec(it))).collect();
        return Ok(own.map(of_spec));
    }
    let mut named: Vec<Named<'s>> = Vec::new();
    for name in names {
        let name = Named::of(name, own, database)?;
        if named.iter().all(|it| it.name() != name.name()) {
            named.push(name);
        }
    }
    Ok(Some(named))
}

/// Where one input after the other is judged.
struct InputJudge<'a> {
    check: &'a Check<'a>,
    results: &'a Results,
    alarm: &'a Alarm,
    progress: &'a Progress,
    effort: &'a effort::Shared,
    /// How many statements of the recording read what it does not have.
    unseen: Cell<Unseen>,
}

impl Audience for InputJudge<'_> {
    fn asking(&self, what: &str) {
        self.progress.stage(what);
    }

    fn looked_at(&self, facts: &Facts<'_>) {
        if let Some(hint) = hints::initial_value(facts) {
            self.results.note(hint);
        }
    }

    fn decided(&self, mut report: LevelReport) {
        self.unseen.get().mark(&mut report);
        self.results.decided(report);
    }
}

/// What an engine is doing, for somebody who waits.
fn doing(stage: Stage) -> &'static str {
    match stage {
        Stage::Explanation => "a violation is found, and made small",
        Stage::Derivation => "a violation is found, and derived step by step",
        other => other.name(),
    }
}

impl InputJudge<'_> {
    fn judge(&self, idx: usize) -> anyhow::Result<()> {
        let input = &self.check.inputs[idx];
        let clock = Instant::now();
        let reading = self.check.source.read(input, &self.check.limits, self.alarm, self.progress);
        self.stage("reading", clock.elapsed());
        let reason = match reading {
            Ok(reading) => self.judge_reading(idx, reading),
            Err(ReadError::Empty { .. }) if self.check.allows_empty => self.judge_reading(idx, Reading::of_nothing()),
            Err(error) => self.refuse(input, &error),
        };
        self.progress.stage("writing the report");
        let clock = Instant::now();
        let mut report = self.results.report(&reason.as_ref().map_or_else(String::new, ToString::to_string));
        if let Report::Check(report) = &mut report {
            said::attach(report, Path::new(input));
        }
        let rendered = self.render(idx, &report);
        self.stage("report", clock.elapsed());
        self.results.publish(&report, || {
            rendered.iter().try_for_each(|(path, bytes)| output::write_file(path, bytes.as_bytes()))
        })?;
        if let Some(reason) = &reason {
            output::complain(&format!("{}: {}", plain(shown(&self.check.inputs[idx])), stopped(reason)));
        }
        Ok(())
    }

    fn render(&self, idx: usize, report: &Report) -> Vec<(PathBuf, String)> {
        let name =
            |path: &Path| if self.check.inputs.len() > 1 { output::numbered(path, idx + 1) } else { path.to_owned() };
        self.check.reports.iter().map(|(path, rendering)| (name(path), rendering.render(report))).collect()
    }

    /// Says why there is no history to judge; the limit that is to blame, if one is.
    fn refuse(&self, input: &str, error: &ReadError) -> Option<StopReason> {
        self.progress.clear();
        let reason = reason_to_stop(error, self.alarm);
        if reason.is_none() {
            self.refuse_with(input, error.to_string());
        }
        reason
    }

    fn refuse_with(&self, input: &str, message: String) {
        self.progress.clear();
        output::complain(&message);
        let source = shown(input).to_owned();
        self.results.unreadable(vec![Defect { severity: Severity::Error, source, at: None, message }]);
    }

    fn judge_reading(&self, idx: usize, mut reading: Reading) -> Option<StopReason> {
        let empty = reading.nothing_to_judge(shown(&self.check.inputs[idx]));
        if let Some(mut defect) = empty.filter(|_| !self.check.allows_empty) {
            defect.message.push_str("; if that is as it should be, add --allow-empty");
            reading.defects.push(defect);
            reading.history = None;
        }
        let Some(history) = reading.history else {
            self.progress.clear();
            complain_of(&reading.defects, &self.check.inputs[idx]);
            self.results.unreadable(reading.defects);
            return None;
        };
        self.results.defects(reading.defects);
        self.unseen.set(Unseen::of(reading.header.origin.as_deref()));
        let Asked { questions, promised, note } =
            match asked(self.check.named.as_deref(), &history, reading.header.database.as_ref()) {
                Ok(asked) => asked,
                Err(error) => {
                    self.refuse_with(&self.check.inputs[idx], error.to_string());
                    return None;
                }
            };
        let promise = promised.as_ref().map(Promised::report);
        self.results.asked(&history, &questions.iter().map(Question::name).collect::<Vec<_>>(), promise);
        self.results.durability(DurabilityReport::new(&history, &reading.header.final_sessions));
        if let Some(note) = note {
            self.results.note(note);
        }
        for note in notes_on(&history, self.check.named.is_some()) {
            self.results.note(note);
        }
        let stop = || self.alarm.reason();
        let explaining_since = Cell::new(Instant::now());
        let longest = self.check.limits.longest_explanation();
        let stop_explaining =
            || stop().or_else(|| (explaining_since.get().elapsed() > longest).then_some(StopReason::Timeout));
        let hear = |note| {
            if let Note::Begins(stage) = note {
                self.progress.detail(doing(stage));
                if matches!(stage, Stage::Explanation | Stage::Derivation) {
                    self.progress.news("a violation is found; why it is one follows");
                }
                explaining_since.set(Instant::now());
            }
            self.effort.borrow_mut().hear(note);
        };
        let budget = Budget::new(&stop).explained_until(&stop_explaining).heard_by(&hear);
        let judge = Judge { certifying: self.check.certifying, max_order: self.check.max_order, budget };
        judge.ask(&history, &questions, self, self.effort);
        let clock = Instant::now();
        let is_wanted = match self.check.looks_around {
            LookAround::Nobody => false,
            LookAround::Document => self.results.has_violations(),
            LookAround::Page => true,
        };
        if is_wanted {
            self.results.look_around(&history);
            self.stage("surroundings", clock.elapsed());
        }
        // Giving a large history back piece by piece takes longer than the end of the process does.
        if idx + 1 == self.check.inputs.len() {
            std::mem::forget(history);
        }
        self.alarm.reason()
    }

    fn stage(&self, name: &'static str, took: Duration) {
        self.effort.borrow_mut().add(name, took);
    }
}

/// What people should know about a history before they read what levels say of it.
pub(crate) fn notes_on(history: &History, levels_are_named: bool) -> Vec<String> {
    let times = if levels_are_named { None } else { note_on_times(history) };
    times.into_iter().chain(note_on_nothing(history)).collect()
}

/// Levels hold of histories in which nothing committed, and that says nothing.
fn note_on_nothing(history: &History) -> Option<String> {
    if history.n_txns() == 1 {
        return Some("There are no transactions, so there was nothing to check.".to_owned());
    }
    let is_idle = history.txns().all(|it| history.outcome(it) != Outcome::Committed);
    is_idle.then(|| "No transaction committed, so there was nothing to judge.".to_owned())
}

/// Levels that look at times say nothing about a history without them.
fn note_on_times(history: &History) -> Option<String> {
    if history.has_real_time() {
        return None;
    }
    let needs_times = |it: &&Level| it.needs_times();
    let names: Vec<&str> = Level::usual().iter().filter(needs_times).map(|it| it.short_name()).collect();
    let names = names.join(" and ");
    let why = if history.has_times() {
        "the recorded times do not say what was over before something else began"
    } else {
        "the history has no begin and end times"
    };
    Some(format!("Not asked: {names}, because {why}."))
}
