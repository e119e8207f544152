//! `isoscope separate`: which history do some levels allow and others forbid?

use crate::args::SeparateArgs;
use crate::exit::Exit;
use crate::found::shown;
use crate::limits::Alarm;
use crate::names;
use crate::output;
use crate::reporter::{Limited, Reporter, complain_of_limit, effort};
use crate::scope;
use crate::sought::Sought;
use crate::spec_file::OwnLevels;
use crate::target::Target;
use iso_answer::WrongEvidence;
use iso_answer::separate::{
    Answer, Aspects, Effort, Ended, Question, Scope, Separating, Separations, separate, separate_all,
};
use iso_evidence::{Budget, Note};
use iso_report::{Report, SearchVerdict, SeparateReport, SpecName};
use iso_spec::Spec;
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
    found: Vec<Separating>,
    ended: Ended,
    aspects: Aspects,
    effort: Effort,
}

/// Runs the verb.
pub(crate) fn run(raw: &SeparateArgs, started: Instant) -> anyhow::Result<Exit> {
    let own = OwnLevels::read(&raw.search.specs)?;
    let asked = Separate::resolve(raw, &own)?;
    let channel = Target::channel(asked.target.as_ref());
    let reporter = Arc::new(Reporter::new(&raw.search.answer, channel, started)?);
    let alarm = reporter.watch(Report::Separate(asked.blank()));
    asked.answer(&reporter, &alarm)
}

/// The answer, with what stands below it, for whoever asks from within a program.
pub(crate) fn ask(
    raw: &SeparateArgs,
    own: &OwnLevels,
    budget: &Budget<'_>,
) -> anyhow::Result<(SeparateReport, Vec<String>)> {
    let asked = Separate::resolve(raw, own)?;
    Ok(asked.worded(&asked.search(budget)))
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
        let target = raw
            .output
            .as_deref()
            .map(|it| Target::of(it, raw.search.answer.voice.is_for_machines(), raw.overwrite))
            .transpose()?;
        if let Some(target) = target.as_ref().filter(|_| raw.all) {
            target.check_others(raw.overwrite)?;
        }
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
            not_certified: None,
            effort: iso_report::Effort::default(),
        }
    }

    fn answer(&self, reporter: &Reporter, alarm: &Alarm) -> anyhow::Result<Exit> {
        let stop = || alarm.reason();
        let sought = Sought::new(&reporter.progress);
        let hear = |note: Note| sought.hear(note);
        let outcome = self.search(&Budget::new(&stop).heard_by(&hear));
        let (report, notes) = self.worded(&outcome);
        let found = report.found.clone();
        let exit = reporter.publish(report.into(), notes, || self.save(&found))?;
        let stopped = if let Ended::Stopped(reason) = outcome.ended { Some(reason) } else { None };
        if let Some(reason) = stopped.or_else(|| alarm.reason().filter(|_| exit == Exit::Unknown)) {
            complain_of_limit(&reason, Limited::Search);
        }
        Ok(exit)
    }

    fn search(&self, budget: &Budget<'_>) -> Outcome {
        match self.wanted {
            Wanted::Smallest => {
                let separation = separate(&self.question, budget);
                let (aspects, effort) = (separation.aspects, separation.effort);
                let (found, ended) = match separation.answer {
                    Answer::Found(found) => (vec![*found], Ended::Enough),
                    Answer::None(searched) => (Vec::new(), Ended::Complete(searched)),
                    Answer::Undecided(reason) => (Vec::new(), Ended::Stopped(reason)),
                    Answer::Refused(wrong) => (Vec::new(), Ended::Refused(wrong)),
                };
                Outcome { found, ended, aspects, effort }
            }
            Wanted::All { limit } => {
                let Separations { found, ended, aspects, effort } = separate_all(&self.question, limit, budget);
                Outcome { found, ended, aspects, effort }
            }
        }
    }

    /// The document, and what stands below it.
    fn worded(&self, outcome: &Outcome) -> (SeparateReport, Vec<String>) {
        let mut report = SeparateReport {
            scope: scope::document(&self.question.scope, outcome.aspects),
            effort: effort(&outcome.effort),
            ..self.blank()
        };
        if let Ended::Refused(wrong) = &outcome.ended {
            output::complain(&wrong.to_string());
            report.verdict = SearchVerdict::Unknown { reason: WrongEvidence::IN_SHORT.to_owned() };
            return (report, Vec::new());
        }
        report.verdict = match &outcome.ended {
            _ if !outcome.found.is_empty() => SearchVerdict::Found,
            Ended::Stopped(reason) => SearchVerdict::Unknown { reason: reason.to_string() },
            _ => SearchVerdict::None,
        };
        let mut notes: Vec<String> = self.completeness(outcome).into_iter().collect();
        for found in &outcome.found {
            let shown = shown(found, &self.question.allowed, &self.question.forbidden);
            notes.extend(shown.notes);
            report.found.push(shown.document);
        }
        let is_complete = matches!(outcome.ended, Ended::Complete(_));
        report.not_certified = uncertified(outcome);
        report.complete = matches!(self.wanted, Wanted::All { .. }).then_some(is_complete);
        (report, notes)
    }

    /// Did it end because there were enough?
    fn completeness(&self, outcome: &Outcome) -> Option<String> {
        match (&outcome.ended, self.wanted) {
            (Ended::Enough, Wanted::All { limit: Some(limit) }) => {
                Some(format!("The search ended at --limit {limit}."))
            }
            _ => None,
        }
    }

    /// Puts the histories where they were wanted.
    fn save(&self, found: &[iso_report::Found]) -> anyhow::Result<Vec<String>> {
        let Some(target) = &self.target else { return Ok(Vec::new()) };
        let named = found.iter().enumerate().map(|(idx, it)| (format!("#{}", idx + 1), it.history.clone()));
        let mut notes = target.save_each(&named.collect::<Vec<_>>())?;
        notes.extend(found.iter().find_map(unwritten_order));
        Ok(notes)
    }
}

/// What no history shows.
fn uncertified(outcome: &Outcome) -> Option<String> {
    match &outcome.ended {
        Ended::Complete(searched) if outcome.found.is_empty() => Some(searched.clause().to_owned()),
        Ended::Complete(_) => Some("that there are no others rests on the search itself".to_owned()),
        Ended::Enough | Ended::Stopped(_) | Ended::Refused(_) => None,
    }
}

/// A history file has sessions, and no other session order.
fn unwritten_order(found: &iso_report::Found) -> Option<String> {
    let words = "Its session order is no chains, and stands in comments, which isoscope check does not see.";
    (!found.session_order.is_empty()).then(|| words.to_owned())
}
