//! Does a level allow this history? Decided by an engine, and then certified: here, and nowhere else.

use crate::text;
use crate::{Certified, WrongEvidence};
use iso_evidence::{Budget, Note, Refutation, Stage, StopReason, Uncertified, Verdict, Witness, certify_facts};
use iso_history::{Facts, History};
use iso_spec::{Level, Spec};

/// Whether a level allows a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It does, and here is how the history may have happened.
    Allowed(Certified<Witness>),
    /// It does not, and here is the core that cannot have happened.
    Forbidden(Certified<Refutation>),
    /// An engine says so, and its evidence was not checked.
    NotCertified {
        /// What the engine says.
        verdict: Verdict,
        /// Why it was not checked.
        why: NotCertified,
    },
    /// The engine stopped before it knew.
    Undecided(StopReason),
    /// The engine has an answer whose evidence is wrong: a bug.
    Refused(WrongEvidence),
}

/// Why evidence was not checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotCertified {
    /// It is too large; the text says what is.
    TooLarge(String),
    /// Nobody wanted it.
    NotAsked,
}

impl From<NotCertified> for StopReason {
    fn from(why: NotCertified) -> Self {
        Self::Unsupported(match why {
            NotCertified::TooLarge(what) => what,
            NotCertified::NotAsked => "the evidence was not checked".to_owned(),
        })
    }
}

/// Is the evidence checked?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Certifying {
    /// Before anybody sees the answer.
    #[default]
    Yes,
    /// Not at all: for measurements.
    No,
}

impl Answer {
    /// Does the level allow the history? Nothing if that is not certain.
    pub fn is_allowed(&self) -> Option<bool> {
        match self {
            Self::Allowed(_) => Some(true),
            Self::Forbidden(_) => Some(false),
            Self::NotCertified { .. } | Self::Undecided(_) | Self::Refused(_) => None,
        }
    }

    /// What an engine said, with the evidence; nothing if it said nothing, or if its evidence is wrong.
    pub fn into_verdict(self) -> Option<Verdict> {
        match self {
            Self::Allowed(witness) => Some(Verdict::Allowed(witness.into_inner())),
            Self::Forbidden(refutation) => Some(Verdict::Forbidden(refutation.into_inner())),
            Self::NotCertified { verdict, .. } => Some(verdict),
            Self::Undecided(_) | Self::Refused(_) => None,
        }
    }
}

/// Decides whether a level allows a history, and certifies the answer.
///
/// ```
/// use iso_answer::check::{Answer, check};
/// use iso_evidence::{Anomaly, Budget};
/// use iso_history::{HistoryBuilder, Outcome, Place};
/// use iso_spec::Level;
/// // Two sessions read x=0, and both overwrite it: a lost update.
/// let mut builder = HistoryBuilder::new();
/// let x = builder.key("x".into());
/// let values = [0, 1, 2].map(|it| builder.value(it.into()));
/// builder.default_initial(values[0]);
/// for (name, written) in [("s1", values[1]), ("s2", values[2])] {
///     let session = builder.session(name);
///     builder.begin(session, Place::default());
///     builder.read(x, values[0]);
///     builder.write(x, written);
///     builder.end(Outcome::Committed);
/// }
/// let history = builder.finish().unwrap();
/// let ask = |level| check(&history, level, &Budget::unlimited());
/// assert!(matches!(ask(Level::PrefixConsistency), Answer::Allowed(_)));
/// let Answer::Forbidden(refutation) = ask(Level::SnapshotIsolation) else { panic!("an update is lost") };
/// assert_eq!(refutation.anomalies, [Anomaly::LostUpdate]);
/// ```
pub fn check(history: &History, level: Level, budget: &Budget<'_>) -> Answer {
    check_facts(&Facts::new(history), level, budget)
}

/// As [`check()`], for facts that are derived already.
pub fn check_facts(facts: &Facts<'_>, level: Level, budget: &Budget<'_>) -> Answer {
    let verdict = iso_check::check_facts(facts, level, budget);
    of_level(facts, level, verdict, Certifying::Yes, budget)
}

/// Decides several levels of one history, each with a certified answer.
///
/// ```
/// use iso_answer::check::check_levels;
/// use iso_evidence::Budget;
/// use iso_history::HistoryBuilder;
/// use iso_spec::Level;
/// let nothing = HistoryBuilder::new().finish().unwrap();
/// let answers = check_levels(&nothing, &[Level::ReadCommitted, Level::Serializable], &Budget::unlimited());
/// assert!(answers.iter().all(|(_, answer)| answer.is_allowed() == Some(true)));
/// ```
pub fn check_levels(history: &History, levels: &[Level], budget: &Budget<'_>) -> Vec<(Level, Answer)> {
    let mut answers: Vec<(Level, Answer)> = Vec::new();
    check_each(&Facts::new(history), levels, Certifying::Yes, budget, &mut |level, answer| {
        answers.push((level, answer));
    });
    answers.sort_by_key(|it| levels.iter().position(|level| *level == it.0));
    answers
}

/// As [`check_levels`]; `decided` hears each answer as soon as it is known, in an order of the engine's.
pub fn check_each(
    facts: &Facts<'_>,
    levels: &[Level],
    certifying: Certifying,
    budget: &Budget<'_>,
    decided: &mut dyn FnMut(Level, Answer),
) {
    // One answer is nobody else's, and need not be copied.
    if let [level] = levels {
        let verdict = iso_check::check_facts(facts, *level, budget);
        return decided(*level, of_level(facts, *level, verdict, certifying, budget));
    }
    iso_check::check_levels(facts, levels, budget, &mut |level, verdict| {
        decided(level, of_level(facts, level, verdict.clone(), certifying, budget));
    });
}

/// Decides a level that is given by its text only: small histories with the reference evaluator, large ones if the
/// witness follows from one order, as for all levels of the catalogue but those with an order of start events.
///
/// ```
/// use iso_answer::check::check_spec;
/// use iso_evidence::Budget;
/// use iso_history::{Facts, HistoryBuilder};
/// use iso_spec::Catalogue;
/// let nothing = HistoryBuilder::new().finish().unwrap();
/// let level = Catalogue::builtin().find("adya.pl3").unwrap();
/// let answer = check_spec(&Facts::new(&nothing), level, Default::default(), &Budget::unlimited());
/// assert_eq!(answer.is_allowed(), Some(true));
/// ```
pub fn check_spec(facts: &Facts<'_>, spec: &Spec, certifying: Certifying, budget: &Budget<'_>) -> Answer {
    text::answer(facts, spec, certifying, budget)
}

/// An answer of `check`, after its evidence was looked at.
pub(crate) fn of_level(
    facts: &Facts<'_>,
    level: Level,
    verdict: Verdict,
    certifying: Certifying,
    budget: &Budget<'_>,
) -> Answer {
    certified(verdict, level.short_name(), certifying, budget, |it| certify_facts(facts, level, it))
}

/// The one place where a verdict becomes an answer.
pub(crate) fn certified(
    verdict: Verdict,
    level: &str,
    certifying: Certifying,
    budget: &Budget<'_>,
    certify: impl FnOnce(&Verdict) -> Result<(), Uncertified>,
) -> Answer {
    if let Verdict::Unknown(reason) = verdict {
        return Answer::Undecided(reason);
    }
    if certifying == Certifying::No {
        return Answer::NotCertified { verdict, why: NotCertified::NotAsked };
    }
    budget.note(Note::Begins(Stage::Certification));
    match (certify(&verdict), verdict) {
        // What would have shown it was not found in time.
        (Err(why), verdict) if why.is_too_large => match budget.check() {
            Err(reason) => Answer::Undecided(reason),
            Ok(()) => Answer::NotCertified { verdict, why: NotCertified::TooLarge(why.to_string()) },
        },
        (Err(why), _) => Answer::Refused(WrongEvidence::new(&level, &why)),
        (Ok(()), Verdict::Allowed(witness)) => Answer::Allowed(Certified::new(witness)),
        (Ok(()), Verdict::Forbidden(refutation)) => Answer::Forbidden(Certified::new(refutation)),
        (Ok(()), Verdict::Unknown(reason)) => Answer::Undecided(reason),
    }
}
