//! `isoscope separate`: which history do some levels allow and others forbid?

use crate::args::SeparateArgs;
use crate::exit::Exit;
use crate::found::{Shown, Withheld, shown};
use crate::limits::Alarm;
use crate::names;
use crate::scope;
use crate::spec_file::OwnLevels;
use crate::target::Target;
use crate::teller::{Limited, Teller, complain_of_limit, effort};
use iso_evidence::{Budget, Note, Quantity, StopReason};
use iso_report::{Report, SearchVerdict, SeparateReport, SpecName};
use iso_separate::{Answer, Aspects, Effort, Found, Question, Scope, separate, separate_all};
use iso_spec::Spec;
use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;

/// How many histories are wanted.
#[derive(Clone, Copy, Debug)]
enum Wanted {
    Smallest,
    All { limit: Option<usize> },
}

/// The arguments, resolved.
struct Separate<'s> {
    question: Question<'s>,
    wanted: Wanted,
    target: Option<Target>,
    inputs: Vec<String>,
}

/// What a search gave.
struct Outcome {
    found: Vec<Found>,
    /// Are these all that were wanted?
    is_complete: bool,
    stopped: Option<StopReason>,
    aspects: Aspects,
    effort: Effort,
}

/// Runs the verb.
pub(crate) fn run(raw: &SeparateArgs, started: Instant) -> anyhow::Result<Exit> {
    let own = OwnLevels::read(&raw.search.specs)?;
    let asked = Separate::resolve(raw, &own)?;
    let channel = Target::channel(asked.target.as_ref());
    let teller = Arc::new(Teller::new(&raw.search.answer, channel, started)?);
    let alarm = teller.watch(Report::Separate(asked.blank()));
    asked.answer(&teller, &alarm)
}

impl<'s> Separate<'s> {
    fn resolve(raw: &SeparateArgs, own: &'s OwnLevels) -> anyhow::Result<Self> {
        let question = Question {
            allowed: names::specs(&raw.allow, own)?,
            forbidden: names::specs(&raw.forbid, own)?,
            scope: scope::resolve(&raw.search.scope, Scope::default())?,
            method: scope::method(raw.search.method),
        };
        let wanted = if raw.all { Wanted::All { limit: raw.limit } } else { Wanted::Smallest };
        let target = raw.output.as_deref().map(|it| Target::of(it, raw.search.answer.json)).transpose()?;
        Ok(Self { question, wanted, target, inputs: own.inputs() })
    }

    /// The answer before anything is known.
    fn blank(&self) -> SeparateReport {
        let names = |specs: &[&Spec]| specs.iter().map(|it| SpecName::from(*it)).collect();
        SeparateReport {
            inputs: self.inputs.clone(),
            allowed: names(&self.question.allowed),
            forbidden: names(&self.question.forbidden),
            scope: scope::document(&self.question.scope, Aspects::default()),
            verdict: SearchVerdict::Unknown { reason: String::new() },
            found: Vec::new(),
            complete: None,
            effort: iso_report::Effort::default(),
        }
    }

    fn answer(&self, teller: &Teller, alarm: &Alarm) -> anyhow::Result<Exit> {
        let stop = || alarm.reason();
        let n_candidates = Cell::new(0);
        let hear = |note: Note| {
            if let Note::Counted(Quantity::Candidates, n_more) = note {
                n_candidates.set(n_candidates.get() + n_more);
                teller.progress.stage(searching(n_candidates.get()));
            }
        };
        teller.progress.stage(searching(0));
        let outcome = self.search(&Budget::new(&stop).heard_by(&hear));
        teller.progress.stage("certifying");
        let all = outcome.found.iter().map(|it| self.shown(it, &Budget::new(&stop))).collect::<Result<Vec<_>, _>>();
        let (report, notes) = self.worded(&outcome, all);
        let first = report.found.first().cloned();
        let exit = teller.tell(report.into(), notes, || self.save(first.as_ref()))?;
        if let Some(reason) = outcome.stopped.or_else(|| alarm.reason().filter(|_| exit == Exit::Unknown)) {
            complain_of_limit(&reason, Limited::Search);
        }
        Ok(exit)
    }

    fn search(&self, budget: &Budget<'_>) -> Outcome {
        match self.wanted {
            Wanted::Smallest => {
                let separation = separate(&self.question, budget);
                let (aspects, effort) = (separation.aspects, separation.effort);
                let (found, stopped) = match separation.answer {
                    Answer::Found(found) => (vec![*found], None),
                    Answer::None => (Vec::new(), None),
                    Answer::Unknown(reason) => (Vec::new(), Some(reason)),
                };
                Outcome { found, is_complete: stopped.is_none(), stopped, aspects, effort }
            }
            Wanted::All { limit } => {
                let all = separate_all(&self.question, limit, budget);
                let (aspects, effort) = (all.aspects, all.effort);
                Outcome { found: all.found, is_complete: all.is_complete, stopped: all.stopped, aspects, effort }
            }
        }
    }

    fn shown(&self, found: &Found, budget: &Budget<'_>) -> Result<Shown, Withheld> {
        shown(found, &self.question.allowed, &self.question.forbidden, budget)
    }

    /// The document, and what stands below it.
    fn worded(&self, outcome: &Outcome, all: Result<Vec<Shown>, Withheld>) -> (SeparateReport, Vec<String>) {
        let mut report = SeparateReport {
            scope: scope::document(&self.question.scope, outcome.aspects),
            effort: effort(&outcome.effort),
            ..self.blank()
        };
        let mut notes = Vec::new();
        match all {
            Err(withheld) => {
                withheld.complain();
                report.verdict = SearchVerdict::Unknown { reason: withheld.reason() };
            }
            Ok(all) => {
                report.verdict = match &outcome.stopped {
                    _ if !all.is_empty() => SearchVerdict::Found,
                    Some(reason) => SearchVerdict::Unknown { reason: reason.to_string() },
                    None => SearchVerdict::None,
                };
                notes.extend(self.completeness(outcome));
                notes.extend(all.iter().flat_map(|it| it.notes.clone()));
                report.found = all.into_iter().map(|it| it.document).collect();
                report.complete = matches!(self.wanted, Wanted::All { .. }).then_some(outcome.is_complete);
            }
        }
        (report, notes)
    }

    /// Did it end because there were enough?
    fn completeness(&self, outcome: &Outcome) -> Option<String> {
        let Wanted::All { limit: Some(limit) } = self.wanted else { return None };
        let is_limited = !outcome.found.is_empty() && !outcome.is_complete && outcome.stopped.is_none();
        is_limited.then(|| format!("The search ended at --limit {limit}."))
    }

    /// Puts the history where it was wanted.
    fn save(&self, found: Option<&iso_report::Found>) -> anyhow::Result<Vec<String>> {
        let Some(target) = &self.target else { return Ok(Vec::new()) };
        let mut notes = target.save(found.map(|it| it.history.as_str()))?;
        notes.extend(found.and_then(unwritten_order));
        Ok(notes)
    }
}

/// A history file has sessions, and no other session order.
fn unwritten_order(found: &iso_report::Found) -> Option<String> {
    let words = "Its session order is no chains, and stands in comments, which isoscope check does not see.";
    (!found.session_order.is_empty()).then(|| words.to_owned())
}

fn searching(n_candidates: u64) -> String {
    match n_candidates {
        0 => "searching".to_owned(),
        1 => "searching, 1 candidate".to_owned(),
        n => format!("searching, {n} candidates"),
    }
}
