//! From one good run, which bad one could have happened under a weaker level? What an engine predicts is certified.
//!
//! A predicted run must repeat the observed one up to its boundary, the level must allow it, and the target must forbid
//! it. All three are checked by code that has no part in the search. That there is no prediction rests on the search.

mod repetition;

use crate::certified::Withheld;
use crate::check::{self, check_facts};
use crate::{Certified, Searched, WrongEvidence};
use iso_evidence::{Budget, Event, Note, Refutation, Schedule, Stage, StopReason, Witness};
use iso_history::{Facts, History, OpId, PieceKind, TxnId};
use iso_predict::Refused;
use iso_spec::Level;
use repetition::{Observed, repeats};
use std::error::Error;
use std::fmt;

pub use iso_predict::{
    Boundary, ChangedRead, Cut, DATABASE_LEVELS, Effort, LEVELS, Precision, Prediction, Question, TARGETS, Unknown,
};

/// Could a run have happened that the level allows and the target forbids?
#[derive(Clone, Debug)]
pub enum Answer {
    /// This one.
    Predicted(Box<Certified<Predicted>>),
    /// The observed run itself is one.
    Observed(Box<Certified<Judged>>),
    /// None, and no other one than those before, with this boundary; another boundary may have one.
    None(Searched<Question>),
    /// There may be one.
    Undecided(Unknown),
    /// The engine has a prediction that is none: a bug.
    Refused(WrongEvidence),
}

/// A run that could have happened.
#[derive(Clone, Debug)]
pub struct Predicted {
    /// The run, and how it differs from the observed one.
    pub prediction: Prediction,
    /// Why it is one.
    pub judged: Judged,
}

/// Why a run is one that a level allows and a target forbids.
#[derive(Clone, Debug)]
pub struct Judged {
    /// How it may have happened under the level.
    pub witness: Witness,
    /// Why the target forbids it.
    pub refutation: Refutation,
}

impl Judged {
    /// Its transactions in an order that explains the run under the level.
    pub fn order(&self) -> Vec<TxnId> {
        commits(&self.witness)
    }
}

/// Why nothing can be predicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unasked {
    /// The level is none of [`LEVELS`] and [`DATABASE_LEVELS`], or the target none of [`TARGETS`] that is stronger.
    WrongLevels,
    /// A key holds lists; only registers can be predicted.
    List(OpId),
    /// A scan did not return this row; at levels of databases only runs of reads by key can be predicted.
    Scan(OpId),
    /// The level forbids the observed run, so it is no run under that level.
    Forbidden {
        /// The level.
        level: Level,
        /// Why it forbids it; certified.
        refutation: Box<Refutation>,
    },
}

impl fmt::Display for Unasked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongLevels => f.write_str("nothing can be predicted at these levels"),
            Self::List(_) => f.write_str("only runs with registers can be predicted, and this one has lists"),
            Self::Scan(_) => {
                f.write_str("at levels of databases only runs of reads by key can be predicted, and this one has scans")
            }
            Self::Forbidden { level, .. } => {
                write!(f, "{} forbids the observed run, so it is no run under that level", level.full_name())
            }
        }
    }
}

impl Error for Unasked {}

/// Predicts one run from an observed one.
///
/// ```
/// use iso_answer::predict::{Answer, Boundary, Precision, Question, predict};
/// use iso_evidence::{Anomaly, Budget};
/// use iso_history::{HistoryBuilder, Outcome, Place};
/// use iso_spec::Level;
/// // A deposit, and a withdrawal that sees it. Without seeing it, it would overwrite it.
/// let mut builder = HistoryBuilder::new();
/// let account = builder.key("account".into());
/// let [zero, sixty, ten] = [0, 60, 10].map(|it| builder.value(it.into()));
/// builder.default_initial(zero);
/// for (name, read, written) in [("s1", zero, sixty), ("s2", sixty, ten)] {
///     let session = builder.session(name);
///     builder.begin(session, Place::default());
///     builder.read(account, read);
///     builder.write(account, written);
///     builder.end(Outcome::Committed);
/// }
/// let history = builder.finish().unwrap();
/// let (level, target) = (Level::CausalConsistency, Level::Serializable);
/// let ask = |boundary| {
///     let question = Question { level, target, boundary, precision: Precision::Exact };
///     predict(&history, question, &Budget::unlimited()).unwrap()
/// };
/// let Answer::Predicted(run) = ask(Boundary::Relaxed) else { panic!("an update can be lost") };
/// assert_eq!(run.judged.refutation.anomalies, [Anomaly::LostUpdate]);
/// assert!(matches!(ask(Boundary::Strict), Answer::None(_)));
/// ```
pub fn predict(history: &History, question: Question, budget: &Budget<'_>) -> Result<Answer, Unasked> {
    let facts = Facts::new(history);
    Ok(ObservedRun::new(&facts).predictions(question, budget)?.next(budget))
}

/// An observed run, and what `check` says about it. Several questions share it.
#[derive(Debug)]
pub struct ObservedRun<'h> {
    facts: &'h Facts<'h>,
    known: Vec<(Level, check::Answer)>,
}

impl<'h> ObservedRun<'h> {
    /// Nothing is known about it yet.
    pub fn new(facts: &'h Facts<'h>) -> Self {
        Self { facts, known: Vec::new() }
    }

    /// What is known at a level: what a stronger one allows, this one allows.
    pub fn known(&self, level: Level) -> Option<&check::Answer> {
        let says = |it: &&(Level, check::Answer)| {
            it.0 == level || (it.0.implies(level) && matches!(it.1, check::Answer::Allowed(_)))
        };
        self.known.iter().find(says).map(|it| &it.1)
    }

    /// Checks the run at a level, unless that is known.
    pub fn check(&mut self, level: Level, budget: &Budget<'_>) -> check::Answer {
        if let Some(known) = self.known(level) {
            return known.clone();
        }
        let answer = unhurried(self.facts, level, budget);
        self.known.push((level, answer.clone()));
        answer
    }

    /// Predictions for a question, one after the other.
    pub fn predictions(&mut self, question: Question, budget: &Budget<'_>) -> Result<Predictions<'h>, Unasked> {
        let Question { level, target, .. } = question;
        let is_known = LEVELS.contains(&level) || DATABASE_LEVELS.contains(&level);
        if !is_known || !TARGETS.contains(&target) || level == target || !target.implies(level) {
            return Err(Unasked::WrongLevels);
        }
        // A serial order explains the run at every level.
        let serial = self.check(Level::Serializable, budget);
        if let check::Answer::Refused(wrong) = serial {
            return Ok(Predictions::fixed(question, Answer::Refused(wrong)));
        }
        match self.check(level, budget) {
            check::Answer::Allowed(_) => {}
            check::Answer::Forbidden(refutation) => {
                return Err(Unasked::Forbidden { level, refutation: Box::new(refutation.into_inner()) });
            }
            other => return Ok(Predictions::fixed(question, no_answer(other))),
        }
        let witness = match (serial, self.check(target, budget)) {
            (check::Answer::Allowed(witness), _) | (_, check::Answer::Allowed(witness)) => witness.into_inner(),
            (_, check::Answer::Forbidden(_)) => {
                return Ok(Predictions::fixed(question, observed(self.facts, question, budget)));
            }
            (_, other) => return Ok(Predictions::fixed(question, no_answer(other))),
        };
        Predictions::search(self.facts, witness, question)
    }
}

/// Predictions for one question.
#[derive(Debug)]
pub struct Predictions<'h> {
    question: Question,
    kind: Kind<'h>,
}

#[derive(Debug)]
enum Kind<'h> {
    /// The answer is known without a search.
    Fixed(Answer),
    Search(Box<Searching<'h>>),
}

#[derive(Debug)]
struct Searching<'h> {
    facts: &'h Facts<'h>,
    witness: Witness,
    predictor: iso_predict::Predictor<'h>,
}

impl<'h> Predictions<'h> {
    fn fixed(question: Question, answer: Answer) -> Self {
        Self { question, kind: Kind::Fixed(answer) }
    }

    fn search(facts: &'h Facts<'h>, witness: Witness, question: Question) -> Result<Self, Unasked> {
        let predictor = match iso_predict::Predictor::new(facts, &witness, question) {
            Ok(predictor) => predictor,
            Err(Refused::List(op)) => return Err(Unasked::List(op)),
            Err(Refused::Scan(op)) => return Err(Unasked::Scan(op)),
            Err(Refused::WrongLevels) => return Err(Unasked::WrongLevels),
            Err(refused) => {
                let wrong = WrongEvidence::new(&question.level, &wrong_witness(facts.history(), &refused));
                return Ok(Self::fixed(question, Answer::Refused(wrong)));
            }
        };
        Ok(Self { question, kind: Kind::Search(Box::new(Searching { facts, witness, predictor })) })
    }

    /// The next prediction. None has all the changed reads of an earlier one.
    pub fn next(&mut self, budget: &Budget<'_>) -> Answer {
        let none = Answer::None(Searched::new(self.question));
        let searching = match &mut self.kind {
            Kind::Fixed(Answer::Observed(_)) => {
                let Kind::Fixed(answer) = std::mem::replace(&mut self.kind, Kind::Fixed(none.clone())) else {
                    return none;
                };
                return answer;
            }
            Kind::Fixed(answer) => return answer.clone(),
            Kind::Search(searching) => searching,
        };
        match searching.predictor.next(budget) {
            iso_predict::Answer::None => none,
            iso_predict::Answer::Unknown(unknown) => Answer::Undecided(unknown),
            iso_predict::Answer::Predicted(prediction) => {
                let Searching { facts, witness, .. } = &**searching;
                let checked = certified_prediction(facts, witness, self.question, *prediction, budget);
                answer(checked, Answer::Predicted)
            }
        }
    }

    /// What the search took so far.
    pub fn effort(&self) -> Effort {
        match &self.kind {
            Kind::Fixed(_) => Effort::default(),
            Kind::Search(searching) => searching.predictor.effort(),
        }
    }
}

fn wrong_witness(history: &History, refused: &Refused) -> String {
    match refused {
        Refused::NoSource(read) => {
            let reader = history.label(history.txn_of(*read));
            format!("the order of check does not say whose write {} of {reader} saw", history.render_op(*read))
        }
        Refused::WrongOrder(txn) => format!("the order of check has {} too early", history.label(*txn)),
        Refused::List(_) | Refused::Scan(_) | Refused::WrongLevels => "the question cannot be asked".to_owned(),
    }
}

/// An answer of `check` that no limit has hurried: what was may be named worse, and equal questions have equal answers.
fn unhurried(facts: &Facts<'_>, level: Level, budget: &Budget<'_>) -> check::Answer {
    let answer = check_facts(facts, level, budget);
    match budget.check() {
        Ok(()) => answer,
        Err(reason) => check::Answer::Undecided(reason),
    }
}

/// Where `check` has no answer, there is no prediction.
fn no_answer(answer: check::Answer) -> Answer {
    match answer {
        check::Answer::Refused(wrong) => Answer::Refused(wrong),
        check::Answer::NotCertified { why, .. } => Answer::Undecided(Unknown::Stopped(why.into())),
        check::Answer::Undecided(reason) => Answer::Undecided(Unknown::Stopped(reason)),
        check::Answer::Allowed(_) | check::Answer::Forbidden(_) => {
            Answer::Undecided(Unknown::Stopped(StopReason::Unsupported("nothing was asked".to_owned())))
        }
    }
}

fn answer<T>(checked: Result<T, Withheld>, right: impl FnOnce(Box<Certified<T>>) -> Answer) -> Answer {
    match checked {
        Ok(it) => right(Box::new(Certified::new(it))),
        Err(Withheld::Stopped(reason)) => Answer::Undecided(Unknown::Stopped(reason)),
        Err(Withheld::Wrong(wrong)) => Answer::Refused(wrong),
    }
}

/// The observed run as its own prediction: the level allows it, and the target forbids it.
fn observed(facts: &Facts<'_>, question: Question, budget: &Budget<'_>) -> Answer {
    answer(judged(facts, question, budget), Answer::Observed)
}

/// Checks a prediction.
pub(crate) fn certified_prediction(
    facts: &Facts<'_>,
    witness: &Witness,
    question: Question,
    prediction: Prediction,
    budget: &Budget<'_>,
) -> Result<Predicted, Withheld> {
    budget.note(Note::Begins(Stage::Certification));
    repeats(Observed { facts, witness }, question.boundary, &prediction)
        .map_err(|why| Withheld::wrong(&question.level, &why))?;
    let judged = judged(&Facts::new(&prediction.history), question, budget)?;
    Ok(Predicted { prediction, judged })
}

/// The level must allow a run, and the target forbid it.
fn judged(facts: &Facts<'_>, question: Question, budget: &Budget<'_>) -> Result<Judged, Withheld> {
    let Question { level, target, .. } = question;
    let witness = match unhurried(facts, level, budget) {
        check::Answer::Allowed(witness) => witness.into_inner(),
        other => return Err(withheld(level, other, "check forbids the predicted run")),
    };
    match unhurried(facts, target, budget) {
        check::Answer::Forbidden(refutation) => Ok(Judged { witness, refutation: refutation.into_inner() }),
        other => Err(withheld(target, other, "check allows the predicted run")),
    }
}

/// Why an answer of `check` is not the one that it must be.
fn withheld(level: Level, answer: check::Answer, otherwise: &str) -> Withheld {
    match answer {
        check::Answer::Refused(wrong) => Withheld::Wrong(wrong),
        check::Answer::NotCertified { why, .. } => Withheld::Stopped(why.into()),
        check::Answer::Undecided(reason) => Withheld::Stopped(reason),
        check::Answer::Allowed(_) | check::Answer::Forbidden(_) => Withheld::wrong(&level, &otherwise),
    }
}

/// The transactions that took place, in the order of their commits.
fn commits(witness: &Witness) -> Vec<TxnId> {
    let commit = |it: &Event| match it {
        Event::Commit(txn) => Some(*txn),
        Event::Snapshot(_) => None,
    };
    match &witness.schedule {
        Schedule::Order(order) => order.clone(),
        Schedule::Events(events) => events.iter().filter_map(commit).collect(),
        Schedule::Pieces(pieces) => pieces.iter().filter(|it| it.1 == PieceKind::Commit).map(|it| it.0).collect(),
        Schedule::Execution(_) => Vec::new(),
    }
}
