//! Checks an answer against the history, trusting nobody: the centre of trust.
//!
//! An allowed history is replayed along its schedule, operation by operation. A forbidden one is refuted by its core:
//! the core is checked to be one whose being forbidden makes the whole forbidden, and the reference evaluator of the
//! catalogue's definition then decides the core, or a naive closure if it is large. Nothing here is shared with the
//! engines.

mod closure;
#[cfg(test)]
#[path = "../../../history/tests/common/mod.rs"]
mod common;
mod forbidden;
mod guarantees;
mod local;
mod own;
mod past;
mod proof;
mod replay;
mod rows;
mod schedule;
mod sources;
mod uncommitted;
mod unseen;
mod versions;
mod visibility;

pub use forbidden::certify_proof;

use crate::{Schedule, Verdict, Witness};
use iso_history::{Facts, History};
use iso_spec::{Evaluation, Level, Spec, Steps, evaluate, holds};
use sources::Sources;
use std::fmt;

/// Why an answer was not accepted. It is a bug in the engine that gave it (or here), never a fault of the input, unless
/// the evidence was too large to be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uncertified {
    /// What does not hold.
    pub reason: String,
    /// Was the evidence too large to be checked? Then nothing says that it is wrong.
    pub is_too_large: bool,
}

impl Uncertified {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), is_too_large: false }
    }

    pub(crate) fn too_large(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), is_too_large: true }
    }
}

impl fmt::Display for Uncertified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Uncertified {}

/// Checks a verdict about a history at a level. An unknown verdict claims nothing and always passes.
pub fn certify(history: &History, level: Level, verdict: &Verdict) -> Result<(), Uncertified> {
    match verdict {
        Verdict::Allowed(witness) => match most_favourable(history, level) {
            Some(history) => certify_allowed(&history, level, witness),
            None => certify_allowed(history, level, witness),
        },
        Verdict::Forbidden(_) => certify_facts(&Facts::new(history), level, verdict),
        Verdict::Unknown(_) => Ok(()),
    }
}

/// Read uncommitted lets transactions read what is rolled back later, so whoever is indeterminate may as well have
/// aborted, which asks for least.
fn most_favourable(history: &History, level: Level) -> Option<History> {
    if level == Level::ReadUncommitted { history.with_indeterminate_aborted() } else { None }
}

/// As [`certify`], for facts that are derived already.
pub fn certify_facts(facts: &Facts<'_>, level: Level, verdict: &Verdict) -> Result<(), Uncertified> {
    match verdict {
        Verdict::Forbidden(refutation) => match most_favourable(facts.history(), level) {
            Some(history) => forbidden::certify_forbidden(&Facts::new(&history), level, refutation),
            None => forbidden::certify_forbidden(facts, level, refutation),
        },
        _ => certify(facts.history(), level, verdict),
    }
}

/// Checks a verdict about a level that only the reference evaluator knows.
///
/// An execution is checked against the text of the level. That there is none is found out once more, since the text
/// may speak of anything, and a part of the history then says nothing about the whole.
pub fn certify_spec(facts: &Facts<'_>, spec: &Spec, verdict: &Verdict) -> Result<(), Uncertified> {
    match verdict {
        Verdict::Allowed(Witness { schedule: Schedule::Execution(execution), .. }) => {
            let is_right = holds(facts, spec, execution);
            if is_right { Ok(()) } else { Err(Uncertified::new(format!("the witness is none of {}", spec.name()))) }
        }
        Verdict::Allowed(_) => {
            Err(Uncertified::new(format!("the witness of {} has the wrong kind of schedule", spec.name())))
        }
        Verdict::Forbidden(_) => match evaluate(facts, spec, &mut Steps::unlimited()) {
            Evaluation::Forbidden => Ok(()),
            _ => Err(Uncertified::new(format!("{} does not forbid the history", spec.name()))),
        },
        Verdict::Unknown(_) => Ok(()),
    }
}

fn certify_allowed(history: &History, level: Level, witness: &Witness) -> Result<(), Uncertified> {
    match (level, &witness.schedule) {
        (Level::Serializable | Level::StrictSerializable, Schedule::Order(order)) => {
            schedule::check_order(history, order, level.needs_times())?;
            replay::replay_serially(history, order)
        }
        (Level::PrefixConsistency, Schedule::Events(events)) => {
            schedule::check_events(history, events, false)?;
            replay::replay_snapshots(history, events, replay::Writers::Free)
        }
        (Level::SnapshotIsolation | Level::StrongSnapshotIsolation, Schedule::Events(events)) => {
            schedule::check_events(history, events, level.needs_times())?;
            replay::replay_snapshots(history, events, replay::Writers::FirstCommitterWins)
        }
        (Level::ReadUncommitted, Schedule::Order(order)) => {
            schedule::check_order(history, order, false)?;
            if replay::replay_serially(history, order).is_ok() {
                return Ok(());
            }
            uncommitted::check_uncommitted(history, order)
        }
        (
            Level::ReadCommitted
            | Level::ReadYourWrites
            | Level::MonotonicReads
            | Level::MonotonicWrites
            | Level::WritesFollowReads
            | Level::ReadAtomic
            | Level::UpdateAtomic
            | Level::CausalConsistency
            | Level::ParallelSnapshotIsolation,
            Schedule::Order(order),
        ) => {
            schedule::check_order(history, order, false)?;
            let sources = Sources::new(history, &witness.sources)?;
            // Whatever is serializable satisfies all the levels here, and is quickly replayed.
            if replay::is_serial(history, order, &sources) {
                return Ok(());
            }
            visibility::check_visibility(&versions::check_sources(history, order, &sources)?, level)
        }
        _ => Err(Uncertified::new(format!("the witness of {level} has the wrong kind of schedule"))),
    }
}
