//! Publishes the one answer of a search: the work does, or the thread that watches the limits, and never both.
//!
//! Before the work begins there is an answer already, in which everything is unknown. If the work does not stop by
//! itself when a limit is reached, that one is published.

use crate::args::AnswerArgs;
use crate::exit::Exit;
use crate::limits::{self, Alarm, Interrupts, Limits};
use crate::output::{self, Rendering};
use crate::progress::Progress;
use crate::results::stopped;
use crate::voice::Voice;
use crate::{lock, memory};
use iso_evidence::StopReason;
use iso_report::{Effort, PredictVerdict, Report, SearchVerdict, SpecRelation, VerifyVerdict};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Where the words of the answer go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    /// Standard output.
    Output,
    /// Standard error, because something else goes to standard output.
    Aside,
}

/// Who publishes the answer.
#[derive(Debug)]
pub(crate) struct Reporter {
    voice: Voice,
    channel: Channel,
    reports: Vec<(PathBuf, Rendering)>,
    limits: Limits,
    pub(crate) progress: Arc<Progress>,
    started: Instant,
    /// Is the answer out? Held by who publishes it.
    is_published: Mutex<bool>,
}

impl Reporter {
    /// Looks at where the answer goes: what is wrong there is better said before a long run than after it.
    pub(crate) fn new(raw: &AnswerArgs, channel: Channel, started: Instant) -> anyhow::Result<Self> {
        Ok(Self {
            voice: raw.voice.voice(),
            channel,
            reports: Rendering::to_each(raw.reports.clone())?,
            limits: Limits::new(raw.limits.timeout, raw.limits.memory),
            progress: Arc::new(Progress::new(raw.limits.progress, started)),
            started,
            is_published: Mutex::new(false),
        })
    }

    /// Watches the limits from now on. `blank` is the answer before anything is known.
    pub(crate) fn watch(self: &Arc<Self>, blank: Report) -> Arc<Alarm> {
        let reporter = Arc::clone(self);
        let progress = Arc::clone(&self.progress);
        let take_over = move |reason| reporter.end_now(blank, &reason);
        limits::watch(self.limits, self.started, progress, Interrupts::Stop, take_over)
    }

    /// What the run may take.
    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Publishes the answer, with notes for people below it. `save` comes between the report's files and the words, and
    /// has more notes; nothing can stop this half-way.
    pub(crate) fn publish(
        &self,
        mut report: Report,
        mut notes: Vec<String>,
        save: impl FnOnce() -> anyhow::Result<Vec<String>>,
    ) -> anyhow::Result<Exit> {
        self.progress.stage("writing the report");
        self.time(&mut report);
        let rendered: Vec<String> = self.reports.iter().map(|it| it.1.render(&report)).collect();
        let mut is_published = lock(&self.is_published);
        self.progress.clear();
        self.write(&rendered)?;
        notes.extend(save()?);
        self.say(&report, &notes)?;
        *is_published = true;
        Ok(Exit::of(&report))
    }

    /// Ends the process with what is known, which is nothing, unless the work has published its answer just now.
    fn end_now(&self, mut report: Report, reason: &StopReason) {
        // The lock is not given back, so that nobody else says anything.
        let is_published = lock(&self.is_published);
        if *is_published {
            return;
        }
        self.progress.clear();
        unknown(&mut report, &reason.to_string());
        self.time(&mut report);
        let rendered: Vec<String> = self.reports.iter().map(|it| it.1.render(&report)).collect();
        if let Err(error) = self.write(&rendered).and_then(|()| self.say(&report, &[])) {
            output::complain(&format!("{error:#}"));
        }
        complain_of_limit(reason, Limited::of(&report));
        crate::end(Exit::Unknown)
    }

    fn write(&self, rendered: &[String]) -> anyhow::Result<()> {
        let mut files = self.reports.iter().zip(rendered);
        files.try_for_each(|((path, _), text)| output::write_file(path, text.as_bytes()))
    }

    fn say(&self, report: &Report, notes: &[String]) -> anyhow::Result<()> {
        let words = self.voice.words(report);
        let below: String = notes.iter().flat_map(|it| [it.as_str(), "\n"]).collect();
        match (self.voice, self.channel) {
            (voice, _) if !voice.is_for_people() => {
                output::print(&words)?;
                // A script reads the document, and people what stands beside it.
                for note in notes {
                    output::complain(note);
                }
                Ok(())
            }
            (_, Channel::Output) => output::print(&(words + &below)),
            (_, Channel::Aside) => {
                output::say_aside((words + &below).trim_end());
                Ok(())
            }
        }
    }

    fn time(&self, report: &mut Report) {
        if let Some(effort) = effort_of(report) {
            effort.seconds = self.started.elapsed().as_secs_f64();
            effort.peak_bytes = memory::peak();
        }
    }
}

/// What ended at a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limited {
    /// For histories.
    Search,
    /// Of a program.
    Verification,
    /// For other runs.
    Prediction,
    /// Levels for transactions.
    Allocation,
}

impl Limited {
    fn of(report: &Report) -> Self {
        match report {
            Report::Verify(_) => Self::Verification,
            Report::Predict(_) => Self::Prediction,
            _ => Self::Search,
        }
    }
}

/// What a person can do about a limit that ended a search.
pub(crate) fn complain_of_limit(reason: &StopReason, limited: Limited) {
    let cure = match (reason, limited) {
        (StopReason::Steps | StopReason::Interrupted | StopReason::Unsupported(_), _) => "",
        (_, Limited::Search) => ", or look at fewer transactions with --txns",
        (_, Limited::Allocation) => ", or ask about fewer transactions",
        (_, Limited::Verification | Limited::Prediction) => ", or ask for one level with --level",
    };
    output::complain(&format!("{}{cure}", stopped(reason)));
}

fn effort_of(report: &mut Report) -> Option<&mut Effort> {
    match report {
        Report::Check(_)
        | Report::Collect(_)
        | Report::Hunt(_)
        | Report::Replay(_)
        | Report::Demo(_)
        | Report::Store(_) => None,
        Report::Separate(report) => Some(&mut report.effort),
        Report::Compare(report) => Some(&mut report.effort),
        Report::Lattice(report) => Some(&mut report.effort),
        Report::Verify(report) => Some(&mut report.effort),
        Report::Allocate(report) => Some(&mut report.effort),
        Report::Predict(report) => Some(&mut report.effort),
    }
}

/// Says in a blank answer why it is blank.
fn unknown(report: &mut Report, reason: &str) {
    let reason = reason.to_owned();
    match report {
        Report::Check(_)
        | Report::Collect(_)
        | Report::Hunt(_)
        | Report::Replay(_)
        | Report::Demo(_)
        | Report::Store(_) => {}
        Report::Separate(report) => report.verdict = SearchVerdict::Unknown { reason },
        Report::Compare(report) => report.relation = SpecRelation::Unknown { reason },
        Report::Lattice(report) => report.unknown.iter_mut().for_each(|it| it.reason.clone_from(&reason)),
        Report::Verify(report) => {
            let unknown = VerifyVerdict::Unknown { reason };
            report.levels.iter_mut().for_each(|it| it.verdict.clone_from(&unknown));
        }
        Report::Allocate(report) => report.unknown = Some(reason),
        Report::Predict(report) => {
            let unknown = PredictVerdict::Unknown { reason };
            report.levels.iter_mut().for_each(|it| it.verdict.clone_from(&unknown));
        }
    }
}

/// What an engine counted, as the report has it; the time comes later.
pub(crate) fn effort(of: &iso_answer::separate::Effort) -> Effort {
    let iso_answer::separate::Effort { candidates, variables, clauses, conflicts, .. } = *of;
    Effort { candidates, variables, clauses, conflicts, ..Effort::default() }
}
