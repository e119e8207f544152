//! `isoscope predict`: from this run, which unserializable run could have happened under a weaker level?

use crate::args::{BoundaryName, PredictArgs, Strategy};
use crate::exit::Exit;
use crate::limits::Alarm;
use crate::output;
use crate::prediction::{observed_run, predicted_run};
use crate::progress::Progress;
use crate::reporter::{Limited, Reporter, complain_of_limit};
use crate::source::{Source, complain_of, plain, reason_to_stop, shown};
use crate::target::Target;
use crate::validation::{self, Validates};
use anyhow::{anyhow, bail};
use iso_answer::predict::{
    Answer, Boundary, DATABASE_LEVELS, LEVELS, ObservedRun, Precision, Predicted, Predictions, Question, TARGETS,
    Unasked, Unknown,
};
use iso_answer::{WrongEvidence, check};
use iso_evidence::{Budget, Note, Refutation, Stage};
use iso_history::{Facts, History, OpId};
use iso_report::{
    Counts, Defect, Effort, LevelName, PredictReport, PredictVerdict, PredictedLevel, PredictedRun, Report,
};
use iso_spec::Level;
use std::sync::Arc;
use std::time::Instant;

/// With --all: after so many predictions in a row of shapes that were there before, no others are expected.
const MAX_REPEATS: usize = 20;

/// The arguments, resolved.
struct Predict {
    input: String,
    source: Source,
    asked: Asked,
    target: Level,
    /// These, until one has a prediction.
    boundaries: Vec<Boundary>,
    precision: Precision,
    all: bool,
    validator: Option<validation::Asked>,
    #[cfg(feature = "record")]
    command: Option<crate::validated_command::Asked>,
    output: Option<Target>,
}

/// Which levels are tried, weaker ones first.
enum Asked {
    /// All that imply less than the target; those that forbid the observed run are left out.
    Everything(Vec<Level>),
    /// These; each must allow the observed run.
    Levels(Vec<Level>),
}

/// The observed run, and who can run it again, if somebody can.
struct Given<'a> {
    history: &'a History,
    validator: Option<&'a dyn Validates>,
}

/// Runs the verb.
pub(crate) fn run(raw: &PredictArgs, started: Instant) -> anyhow::Result<Exit> {
    let asked = Predict::resolve(raw)?;
    let reporter = Arc::new(Reporter::new(&raw.answer, Target::channel(asked.output.as_ref()), started)?);
    let alarm = reporter.watch(Report::Predict(asked.blank()));
    let reading = match asked.source.read(&asked.input, reporter.limits(), &alarm, &reporter.progress) {
        Ok(reading) => reading,
        Err(error) => return asked.unread(&error, &reporter, &alarm),
    };
    if let Some(defect) = reading.nothing_to_judge(shown(&asked.input)) {
        bail!("{defect}");
    }
    let Some(history) = reading.history else {
        reporter.progress.clear();
        complain_of(&reading.defects, &asked.input);
        return Ok(Exit::Unasked);
    };
    let validator = match &asked.validator {
        Some(validator) => Some(validator.of_run(&history, reading.header.origin.as_deref(), &asked.input)?),
        None => None,
    };
    let validator = validator.as_ref().map(|it| it as &dyn Validates);
    #[cfg(feature = "record")]
    let command = asked.command.as_ref().map(|it| it.of_run(&history));
    #[cfg(feature = "record")]
    let validator = validator.or(command.as_ref().map(|it| it as &dyn Validates));
    let defects = reading.defects.into_iter().map(Defect::from).collect();
    asked.answer(&Given { history: &history, validator }, defects, &reporter, &alarm)
}

/// The answer about a run that is at hand, for whoever asks from within a program.
pub(crate) fn ask(
    raw: &PredictArgs,
    history: &History,
    defects: Vec<Defect>,
    budget: &Budget<'_>,
) -> anyhow::Result<PredictReport> {
    Predict::resolve(raw)?.document(&Given { history, validator: None }, defects, &Progress::silent(), budget)
}

impl Predict {
    fn resolve(raw: &PredictArgs) -> anyhow::Result<Self> {
        let target = named(&raw.target, "target", &TARGETS)?;
        let (boundaries, precision) = strategy(raw);
        Ok(Self {
            input: raw.input.clone(),
            source: Source::new(&raw.reading)?,
            asked: asked(&raw.levels, raw.database.as_deref(), target)?,
            target,
            boundaries,
            precision,
            all: raw.all,
            validator: raw.validate.as_deref().map(|it| validation::Asked::new(it, raw.seed)).transpose()?,
            #[cfg(feature = "record")]
            command: match &raw.validate_command {
                Some(command) => Some(crate::validated_command::Asked::new(command, raw.schema.as_deref())?),
                None => None,
            },
            output: output(raw)?,
        })
    }

    fn levels(&self) -> &[Level] {
        match &self.asked {
            Asked::Everything(levels) | Asked::Levels(levels) => levels,
        }
    }

    fn question(&self, level: Level, boundary: Boundary) -> Question {
        Question { level, target: self.target, boundary, precision: self.precision }
    }

    /// The answer before anything is known.
    fn blank(&self) -> PredictReport {
        let unknown = |level: &Level| PredictedLevel {
            level: (*level).into(),
            verdict: PredictVerdict::Unknown { reason: String::new() },
            boundary: None,
        };
        PredictReport {
            inputs: vec![shown(&self.input).to_owned()],
            defects: Vec::new(),
            observed: None,
            target: self.target.into(),
            boundary: match self.boundaries[..] {
                [only] => shown_boundary(only),
                _ => iso_report::Boundary::Either,
            },
            precision: match self.precision {
                Precision::Exact => iso_report::Precision::Exact,
                Precision::Approximate => iso_report::Precision::Approximate,
            },
            levels: self.levels().iter().map(unknown).collect(),
            strongest: None,
            notes: Vec::new(),
            not_certified: None,
            effort: Effort::default(),
        }
    }

    /// There is no history to look at: because of a limit, or because it cannot be read.
    fn unread(&self, error: &iso_formats::ReadError, reporter: &Reporter, alarm: &Alarm) -> anyhow::Result<Exit> {
        reporter.progress.clear();
        let Some(reason) = reason_to_stop(error, alarm) else { bail!("{error}") };
        let mut report = self.blank();
        for level in &mut report.levels {
            level.verdict = PredictVerdict::Unknown { reason: reason.to_string() };
        }
        let exit = reporter.publish(report.into(), Vec::new(), || Ok(Vec::new()))?;
        complain_of_limit(&reason, Limited::Prediction);
        Ok(exit)
    }

    fn answer(
        &self,
        given: &Given<'_>,
        defects: Vec<Defect>,
        reporter: &Reporter,
        alarm: &Alarm,
    ) -> anyhow::Result<Exit> {
        let stop = || alarm.reason();
        let report = self.document(given, defects, &reporter.progress, &Budget::new(&stop))?;
        let is_cut = report.levels.iter().any(|it| matches!(it.verdict, PredictVerdict::Unknown { .. }));
        let named = |(level, run): (&LevelName, &PredictedRun)| (run_name(level, run), run.history.clone());
        let n_saved = if self.all { usize::MAX } else { 1 };
        let saved: Vec<(String, String)> = report.runs().into_iter().take(n_saved).map(named).collect();
        let save = || self.output.as_ref().map_or(Ok(Vec::new()), |it| it.save_each(&saved));
        let exit = reporter.publish(report.into(), Vec::new(), save)?;
        if let Some(reason) = alarm.reason().filter(|_| is_cut) {
            complain_of_limit(&reason, Limited::Prediction);
        }
        Ok(exit)
    }

    /// The answer as a document.
    fn document(
        &self,
        given: &Given<'_>,
        defects: Vec<Defect>,
        progress: &Progress,
        budget: &Budget<'_>,
    ) -> anyhow::Result<PredictReport> {
        let hear = |note: Note| {
            if note == Note::Begins(Stage::Certification) {
                progress.stage("checking a prediction");
            }
        };
        progress.stage("looking at the observed run");
        let facts = Facts::new(given.history);
        let mut observed = ObservedRun::new(&facts);
        self.look_at(&mut observed, progress, budget);
        let mut report = PredictReport { defects, observed: Some(Counts::of(given.history)), ..self.blank() };
        let levels = self.possible(&observed, &mut report.notes)?;
        let mut search = LevelSearch {
            asked: self,
            history: given.history,
            observed,
            validator: given.validator,
            progress,
            budget: budget.heard_by(&hear),
            effort: Effort::default(),
            nth: (0, levels.len()),
            none: Vec::new(),
        };
        report.levels = levels.iter().map(|it| search.level(*it)).collect::<anyhow::Result<_>>()?;
        report.effort = search.effort;
        report.notes.extend(self.other_boundary(&report.levels));
        if report.levels.iter().any(|it| it.verdict == PredictVerdict::None) {
            report.not_certified = Some("\"none\" rests on the search itself".to_owned());
        }
        if matches!(self.asked, Asked::Everything(_)) {
            report.strongest = Some(strongest(&levels, &report.levels));
        }
        let has_run = |it: &PredictedRun| !it.changed.is_empty();
        if facts.has_ambiguous_reads() && report.levels.iter().flat_map(|it| it.verdict.runs()).any(has_run) {
            report.notes.push(AMBIGUOUS.to_owned());
        }
        Ok(report)
    }

    /// "None" says nothing about a boundary that was not tried.
    fn other_boundary(&self, answers: &[PredictedLevel]) -> Option<String> {
        let other = match self.boundaries[..] {
            [Boundary::Strict | Boundary::StrictEvents] => "relaxed",
            [Boundary::Relaxed] => "strict",
            _ => return None,
        };
        let has_none = answers.iter().any(|it| it.verdict == PredictVerdict::None);
        has_none.then(|| format!("None is said of this boundary only; --boundary {other} may have a run."))
    }

    /// Checks the observed run at each level that matters.
    fn look_at(&self, observed: &mut ObservedRun<'_>, progress: &Progress, budget: &Budget<'_>) {
        let asked = [Level::Serializable, self.target].into_iter().chain(self.levels().iter().rev().copied());
        for level in asked {
            if observed.known(level).is_none() {
                progress.stage(format!("checking the observed run at {}", level.full_name()));
                observed.check(level, budget);
            }
        }
    }

    /// The levels that the observed run can be a run of.
    fn possible(&self, observed: &ObservedRun<'_>, notes: &mut Vec<String>) -> anyhow::Result<Vec<Level>> {
        let refuted = |level: &Level| match observed.known(*level) {
            Some(check::Answer::Forbidden(refutation)) => Some((*level, names(refutation))),
            _ => None,
        };
        let refuted: Vec<(Level, String)> = self.levels().iter().filter_map(refuted).collect();
        let is_asked = matches!(self.asked, Asked::Levels(_));
        if let Some((level, names)) = refuted.first().filter(|_| is_asked || refuted.len() == self.levels().len()) {
            bail!(
                "{}: the observed run is none under {} ({}), which forbids it{names}; ask for a weaker level with \
                 --level, and for what is wrong with `isoscope check`",
                plain(shown(&self.input)),
                level.full_name(),
                level.short_name()
            );
        }
        if !refuted.is_empty() {
            let short: Vec<&str> = refuted.iter().map(|it| it.0.short_name()).collect();
            notes.push(format!("Not asked: {}, because the observed run is none under them.", short.join(", ")));
        }
        let is_possible = |it: &&Level| refuted.iter().all(|refuted| refuted.0 != **it);
        Ok(self.levels().iter().filter(is_possible).copied().collect())
    }
}

/// What is said about values that were written more than once.
const AMBIGUOUS: &str = "Some values were written more than once. Who wrote what a read saw is as in the order that \
    `isoscope check` finds for the observed run, and in the predicted one such values are numbered, as in 5#2.";

/// The search for predictions, one level after the other.
struct LevelSearch<'a> {
    asked: &'a Predict,
    history: &'a History,
    observed: ObservedRun<'a>,
    validator: Option<&'a dyn Validates>,
    progress: &'a Progress,
    budget: Budget<'a>,
    effort: Effort,
    /// The level that is asked now, from 1, and how many there are.
    nth: (usize, usize),
    /// Levels that have no prediction with a boundary.
    none: Vec<(Level, Boundary)>,
}

impl LevelSearch<'_> {
    /// One boundary after the other, until one has a prediction.
    fn level(&mut self, level: Level) -> anyhow::Result<PredictedLevel> {
        self.nth.0 += 1;
        for boundary in &self.asked.boundaries {
            match self.with_boundary(level, *boundary)? {
                PredictVerdict::None => self.none.push((level, *boundary)),
                verdict => {
                    let boundary = (self.asked.boundaries.len() > 1).then(|| shown_boundary(*boundary));
                    return Ok(PredictedLevel { level: level.into(), verdict, boundary });
                }
            }
        }
        Ok(PredictedLevel { level: level.into(), verdict: PredictVerdict::None, boundary: None })
    }

    fn with_boundary(&mut self, level: Level, boundary: Boundary) -> anyhow::Result<PredictVerdict> {
        // What no weaker level allows, this one does not.
        if self.none.iter().any(|(weaker, same)| *same == boundary && level.implies(*weaker)) {
            return Ok(PredictVerdict::None);
        }
        let question = self.asked.question(level, boundary);
        let mut predictions = match self.observed.predictions(question, &self.budget) {
            Ok(predictions) => predictions,
            Err(unasked) => return Err(self.unasked(&unasked)),
        };
        let verdict = self.ask(&mut predictions, question);
        let effort = predictions.effort();
        self.effort.candidates += effort.candidates;
        self.effort.variables += effort.variables;
        self.effort.clauses += effort.clauses;
        self.effort.conflicts += effort.conflicts;
        Ok(verdict)
    }

    fn ask(&self, predictions: &mut Predictions<'_>, question: Question) -> PredictVerdict {
        let mut runs: Vec<PredictedRun> = Vec::new();
        let mut n_repeats = 0;
        let ended = loop {
            self.progress.stage(searching(question, self.nth, runs.len()));
            let predicted = match predictions.next(&self.budget) {
                Answer::Predicted(predicted) => predicted,
                Answer::Observed(judged) => {
                    return PredictVerdict::Predicted { runs: vec![observed_run(self.history, &judged)], ended: None };
                }
                other => match end(other, question.boundary, !runs.is_empty()) {
                    Ok(ended) => break ended,
                    Err(verdict) => return verdict,
                },
            };
            let run = predicted_run(self.history, &predicted);
            if runs.iter().any(|it| is_alike(it, &run)) {
                n_repeats += 1;
            } else {
                runs.push(self.validated(run, question, &predicted));
                n_repeats = 0;
            }
            if !self.asked.all {
                return PredictVerdict::Predicted { runs, ended: None };
            }
            if n_repeats == MAX_REPEATS {
                break format!("the search ended after {MAX_REPEATS} more whose shapes were there before");
            }
        };
        PredictVerdict::Predicted { runs, ended: Some(ended) }
    }

    /// The application runs along the prediction, if that was asked.
    fn validated(&self, mut run: PredictedRun, question: Question, predicted: &Predicted) -> PredictedRun {
        if let Some(validator) = self.validator {
            self.progress.stage(format!("running {} along a prediction", validator.application()));
            let order = predicted.judged.order();
            run.validation = Some(validator.validate(question, &predicted.prediction, &order, &self.budget));
        }
        run
    }

    fn unasked(&self, unasked: &Unasked) -> anyhow::Error {
        let input = plain(shown(&self.asked.input));
        let op = |op: OpId| {
            let reader = self.history.label(self.history.txn_of(op));
            format!("{} of {reader}", self.history.render_op(op))
        };
        match unasked {
            Unasked::List(list) => anyhow!(
                "{input}: {} is about a list, and only runs with registers can be predicted; record each element under a \
                 key of its own, with reads and writes of single values",
                op(*list)
            ),
            other => anyhow!("{input}: {other}"),
        }
    }
}

/// Why there are no more predictions; the whole answer, if there was none before.
fn end(answer: Answer, boundary: Boundary, has_some: bool) -> Result<String, PredictVerdict> {
    let ended = match answer {
        Answer::None(_) if !has_some => return Err(PredictVerdict::None),
        Answer::Undecided(unknown) if !has_some => reason(&unknown, boundary),
        Answer::Undecided(Unknown::Approximate) => "the approximation finds no more".to_owned(),
        Answer::Undecided(Unknown::Stopped(reason)) => reason.to_string(),
        Answer::Refused(wrong) => {
            output::complain(&wrong.to_string());
            WrongEvidence::IN_SHORT.to_owned()
        }
        Answer::None(_) | Answer::Predicted(_) | Answer::Observed(_) => {
            "every other one changes all that an earlier one changes".to_owned()
        }
    };
    if has_some { Ok(ended) } else { Err(PredictVerdict::Unknown { reason: ended }) }
}

/// Do two runs show the same, up to names?
fn is_alike(one: &PredictedRun, other: &PredictedRun) -> bool {
    (&one.forbidden.shape, &one.forbidden.anomalies) == (&other.forbidden.shape, &other.forbidden.anomalies)
}

fn names(refutation: &Refutation) -> String {
    let names: Vec<String> = refutation.anomalies.iter().map(ToString::to_string).collect();
    if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) }
}

fn reason(unknown: &Unknown, boundary: Boundary) -> String {
    let exact = match boundary {
        Boundary::Strict | Boundary::StrictEvents => "exact-strict",
        Boundary::Relaxed => "exact-relaxed",
    };
    match unknown {
        Unknown::Stopped(reason) => reason.to_string(),
        Unknown::Approximate => {
            format!("the approximation finds none, which proves nothing; --strategy {exact} decides")
        }
    }
}

fn searching(question: Question, (nth, of): (usize, usize), n_found: usize) -> String {
    let found = if n_found == 0 { String::new() } else { format!(", {n_found} found") };
    let boundary = match question.boundary {
        Boundary::Strict => "strict",
        Boundary::Relaxed => "relaxed",
        Boundary::StrictEvents => "strict-events",
    };
    format!("predicting under {} ({nth} of {of}), {boundary}{found}", question.level.full_name())
}

/// Those with a prediction of which no other one is stronger.
fn strongest(levels: &[Level], answers: &[PredictedLevel]) -> Vec<String> {
    let answers = levels.iter().zip(answers);
    let having: Vec<Level> = answers.filter(|it| !it.1.verdict.runs().is_empty()).map(|it| *it.0).collect();
    let is_strongest = |it: &&Level| !having.iter().any(|other| other != *it && other.implies(**it));
    having.iter().filter(is_strongest).map(|it| it.short_name().to_owned()).collect()
}

fn shown_boundary(boundary: Boundary) -> iso_report::Boundary {
    match boundary {
        Boundary::Strict => iso_report::Boundary::Strict,
        Boundary::Relaxed => iso_report::Boundary::Relaxed,
        Boundary::StrictEvents => iso_report::Boundary::StrictEvents,
    }
}

/// The boundaries to try, and how sure a "none" must be.
fn strategy(raw: &PredictArgs) -> (Vec<Boundary>, Precision) {
    let boundaries = match (raw.strategy, raw.boundary) {
        (Some(Strategy::ExactStrict | Strategy::ApproxStrict), _) | (None, Some(BoundaryName::Strict)) => {
            vec![Boundary::Strict]
        }
        (Some(Strategy::ExactRelaxed | Strategy::ApproxRelaxed), _) | (None, Some(BoundaryName::Relaxed)) => {
            vec![Boundary::Relaxed]
        }
        (None, Some(BoundaryName::StrictEvents)) => vec![Boundary::StrictEvents],
        (None, None) => vec![Boundary::Strict, Boundary::Relaxed],
    };
    let precision = match raw.strategy {
        Some(Strategy::ApproxStrict | Strategy::ApproxRelaxed) => Precision::Approximate,
        Some(Strategy::ExactStrict | Strategy::ExactRelaxed) | None => Precision::Exact,
    };
    (boundaries, precision)
}

/// What a prediction is called where it is saved.
fn run_name(level: &LevelName, run: &PredictedRun) -> String {
    format!("{} at {}", run.anomalies().first().map_or("the prediction", String::as_str), level.short)
}

/// The levels of some names, each once, weaker ones first; all below the target if there are no names.
fn asked(names: &[String], database: Option<&str>, target: Level) -> anyhow::Result<Asked> {
    let is_below = |it: &Level| *it != target && target.implies(*it);
    if names.is_empty() {
        return Ok(Asked::Everything(LEVELS.into_iter().filter(is_below).collect()));
    }
    let all: Vec<Level> = LEVELS.into_iter().chain(DATABASE_LEVELS).collect();
    let wanted: Vec<Level> = names.iter().map(|it| of_database(it, database, &all)).collect::<anyhow::Result<_>>()?;
    if target == Level::SnapshotIsolation && wanted.contains(&Level::RowSnapshots) {
        bail!(
            "postgres.rr is looked at as snapshot isolation, so nothing can be predicted below si; choose --target ser"
        );
    }
    if let Some(level) = wanted.iter().find(|it| !is_below(it)) {
        let above: Vec<&str> =
            TARGETS.iter().filter(|it| *it != level && it.implies(*level)).map(|it| it.short_name()).collect();
        bail!(
            "the target `{}` is not stronger than the level `{}`, so it forbids nothing that the level allows; choose \
             one of {} with --target",
            target.short_name(),
            level.short_name(),
            above.join(", ")
        );
    }
    Ok(Asked::Levels(all.into_iter().filter(|it| wanted.contains(it)).collect()))
}

/// One of some levels by its name, which may be an SQL name of a database.
fn of_database(name: &str, database: Option<&str>, all: &[Level]) -> anyhow::Result<Level> {
    let Some(database) = database else { return named(name, "level", all) };
    let level = match crate::names::Named::of(name.trim(), None, Some(database))?.in_history_of(None)? {
        crate::names::Question::Level(level) => level,
        other @ crate::names::Question::Spec(_) => bail!("nothing can be predicted at {}", other.name().short),
    };
    named(level.without_times().short_name(), "level", all)
}

/// One of some levels by its name.
fn named(name: &str, kind: &str, all: &[Level]) -> anyhow::Result<Level> {
    let name = name.trim();
    let known: Vec<&str> = all.iter().map(|it| it.short_name()).collect();
    let known = known.join(", ");
    match Level::from_name(name) {
        Some(level) if all.contains(&level) => Ok(level),
        Some(level) => Err(anyhow!(
            "{} (`{}`) is no {kind} of a prediction; choose one of {known}",
            level.full_name(),
            level.short_name()
        )),
        None => Err(anyhow!("there is no {kind} `{name}` for predictions; choose one of {known}")),
    }
}

/// Where the histories go; with --all there may be several.
fn output(raw: &PredictArgs) -> anyhow::Result<Option<Target>> {
    let target = raw
        .output
        .as_deref()
        .map(|it| Target::of(it, raw.answer.voice.is_for_machines(), raw.overwrite))
        .transpose()?;
    if let Some(target) = target.as_ref().filter(|_| raw.all) {
        target.check_others(raw.overwrite)?;
    }
    Ok(target)
}
