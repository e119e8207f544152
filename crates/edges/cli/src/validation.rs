//! Runs an application along a prediction, and looks at the run that comes of it.

use crate::commands::store::no_application;
use crate::output;
use crate::source::{plain, shown};
use anyhow::{anyhow, bail};
use iso_answer::WrongEvidence;
use iso_answer::check::{Answer, check_facts};
use iso_answer::predict::{Prediction, Question};
use iso_collect::{Application, Ending, Observed, Replayed, RunStep, Setup, application, replay};
use iso_evidence::{Budget, StopReason};
use iso_history::{Facts, History, TxnId};
use iso_report::{Excerpt, Validation, ValidationVerdict};
use iso_store::{Divergence, Why, Writer};

/// Which application was asked for, and with which seed.
pub(crate) struct Asked {
    application: &'static dyn Application,
    seed: Option<u64>,
}

impl Asked {
    /// By its name.
    pub(crate) fn new(name: &str, seed: Option<u64>) -> anyhow::Result<Self> {
        Ok(Self { application: application(name.trim()).ok_or_else(|| no_application(name))?, seed })
    }

    /// The observed run must be one of the application's: as the recording says, or as the seed makes it.
    pub(crate) fn of_run(&self, history: &History, origin: Option<&str>, input: &str) -> anyhow::Result<Validator> {
        let input = plain(shown(input));
        let observed = match (origin, self.seed) {
            (None, None) => bail!(
                "{input}: the history does not say how it was recorded; give the seed of its run of {} with --seed",
                self.application.name()
            ),
            (None, Some(seed)) => Observed::of_sessions(self.application, seed, history),
            (Some(origin), seed) => {
                let setup = Setup::of_origin(origin).map_err(|it| anyhow!("{input}: {it}"))?;
                let recorded = setup.application.name();
                if recorded != self.application.name() {
                    bail!("{input}: this is a run of {recorded}, and not of {}", self.application.name());
                }
                if seed.is_some_and(|it| it != setup.seed) {
                    bail!("{input}: this is a run with --seed {}, which need not be given", setup.seed);
                }
                Observed::of_setup(&setup, history)
            }
        };
        let observed = observed.map_err(|it| anyhow!("{input}: {it}"))?;
        Ok(Validator { observed })
    }
}

/// Somebody who can run an application again, along a prediction.
pub(crate) trait Validates {
    /// What runs.
    fn application(&self) -> &str;

    /// Runs it along a prediction, in an order that explains it.
    fn validate(&self, question: Question, prediction: &Prediction, order: &[TxnId], budget: &Budget<'_>)
    -> Validation;
}

/// An application with the transactions of the observed run.
pub(crate) struct Validator {
    observed: Observed,
}

impl Validates for Validator {
    fn application(&self) -> &str {
        self.observed.application().name()
    }

    fn validate(
        &self,
        question: Question,
        prediction: &Prediction,
        order: &[TxnId],
        budget: &Budget<'_>,
    ) -> Validation {
        let application = self.application().to_owned();
        let calls = self.calls(prediction);
        match replay(&self.observed, prediction, order, question.level) {
            Err(failure) => Validation {
                application,
                calls,
                verdict: ValidationVerdict::NotValidated { reason: failure.to_string() },
                divergences: Vec::new(),
                failed: Vec::new(),
                history: String::new(),
            },
            Ok(replayed) => Validation {
                application,
                calls,
                verdict: verdict(&replayed.history, question, budget),
                divergences: divergences(&replayed),
                failed: failed(&replayed),
                history: Excerpt::whole(&replayed.history, None).history,
            },
        }
    }
}

impl Validator {
    /// What the transactions of a prediction are.
    fn calls(&self, prediction: &Prediction) -> Vec<(String, String)> {
        let history = &prediction.history;
        let call = |txn: TxnId| {
            let step = self.observed.step_of(*prediction.txns.get(txn.index())?)?;
            Some((history.label(txn), step.call.clone()))
        };
        history.txns().filter_map(call).collect()
    }
}

/// The level must allow the run, and the target forbid it; anything else shows nothing.
pub(crate) fn verdict(history: &History, question: Question, budget: &Budget<'_>) -> ValidationVerdict {
    let facts = Facts::new(history);
    let not = |reason: String| ValidationVerdict::NotValidated { reason };
    match check_facts(&facts, question.level, budget) {
        Answer::Allowed(_) => {}
        Answer::Forbidden(_) => return not(format!("{} forbids its run", question.level)),
        other => return not(undecided(other)),
    }
    match check_facts(&facts, question.target, budget) {
        Answer::Forbidden(_) => ValidationVerdict::Validated,
        Answer::Allowed(_) => not(format!("{} allows its run", question.target.full_name())),
        other => not(undecided(other)),
    }
}

/// Why nobody knows whether the run shows it.
fn undecided(answer: Answer) -> String {
    let reason = match answer {
        Answer::Refused(wrong) => {
            output::complain(&wrong.to_string());
            WrongEvidence::IN_SHORT.to_owned()
        }
        Answer::NotCertified { why, .. } => StopReason::from(why).to_string(),
        Answer::Undecided(reason) => reason.to_string(),
        Answer::Allowed(_) | Answer::Forbidden(_) => String::new(),
    };
    format!("its run is not decided, {reason}")
}

fn divergences(replayed: &Replayed) -> Vec<String> {
    let reads = replayed.divergences.iter().map(divergence);
    let strayed = |it: &RunStep| format!("{}, {}, did not do all that was predicted", it.slot, it.call);
    reads.chain(replayed.aborted.iter().map(aborted)).chain(replayed.strayed.iter().map(strayed)).collect()
}

pub(crate) fn divergence(divergence: &Divergence) -> String {
    let Divergence { txn, key, planned, took, why, .. } = divergence;
    let name = |writer: &Writer| match writer {
        Writer::Initial => "the initial state".to_owned(),
        Writer::Txn(txn) => txn.to_string(),
    };
    let why = match why {
        Why::NotWritten => "where it is not",
        Why::NotAllowed => "which the level forbids now",
    };
    format!("{txn} was to read {key} from {}, {why}; it read from {}", name(planned), name(took))
}

fn aborted(step: &RunStep) -> String {
    let (Ending::Aborted { reason } | Ending::Conflict { reason }) = &step.ending else { return step.call.clone() };
    format!("{}, {}, was to commit, and did not: {reason}", step.slot, step.call)
}

fn failed(replayed: &Replayed) -> Vec<String> {
    let failed = replayed.assertions.iter().filter(|it| !it.holds);
    failed
        .map(|it| if it.detail.is_empty() { it.name.to_owned() } else { format!("{}: {}", it.name, it.detail) })
        .collect()
}
