//! Checks an answer against the history, trusting nobody: the centre of trust.
//!
//! An allowed history is replayed along its schedule, operation by operation. A forbidden one is refuted by its core:
//! the core is checked to be one whose being forbidden makes the whole forbidden, and then the derivation that comes with
//! it is replayed; without one, the reference evaluator of the catalogue's definition decides the core; if it is large, all
//! executions of it are tried, or a naive closure is made. Nothing here is shared with the engines.

mod allowed;
mod by_spec;
mod closure;
#[cfg(test)]
#[path = "../../../history/tests/common/mod.rs"]
mod common;
mod derivation;
mod executions;
mod favourable;
mod forbidden;
mod grounds;
mod guarantees;
mod local;
mod mixed;
mod name;
mod own;
mod past;
mod pieces;
mod proof;
mod replay;
mod resolution;
mod rows;
mod schedule;
mod sources;
mod stands;
mod streamed;
mod streamed_scans;
mod streamed_sight;
mod uncertified;
mod uncommitted;
mod unseen;
mod versions;
mod visibility;

pub use by_spec::certify_spec;
pub use derivation::certify_derivation;
pub use forbidden::certify_proof;
pub(crate) use resolution::{Clauses, Outlook};
pub use streamed::{StreamedReplay, StreamedStep};
pub use uncertified::Uncertified;

use crate::Verdict;
use allowed::certify_allowed;
use forbidden::certify_forbidden;
use iso_history::{Facts, History};
use iso_spec::Level;
use pieces::certify_pieces;

/// Checks a verdict about a history at a level. An unknown verdict claims nothing and always passes.
pub fn certify(history: &History, level: Level, verdict: &Verdict) -> Result<(), Uncertified> {
    if let Some(with_sessions) = level.with_sessions() {
        return certify(&history.without_sessions(), with_sessions, verdict);
    }
    if level == Level::RowSnapshots && !history.makes_rows() {
        return certify(history, Level::SnapshotIsolation, verdict);
    }
    match verdict {
        Verdict::Allowed(witness) => match level.snapshots() {
            Some(snapshots) => certify_pieces(history, level, snapshots, witness),
            None => certify_allowed(history, level, witness),
        },
        Verdict::Forbidden(_) => certify_facts(&Facts::new(history), level, verdict),
        Verdict::Unknown(_) => Ok(()),
    }
}

/// As [`certify`], for facts that are derived already.
pub fn certify_facts(facts: &Facts<'_>, level: Level, verdict: &Verdict) -> Result<(), Uncertified> {
    if level.with_sessions().is_some() {
        return certify(facts.history(), level, verdict);
    }
    if level == Level::RowSnapshots && !facts.history().makes_rows() {
        return certify_facts(facts, Level::SnapshotIsolation, verdict);
    }
    match verdict {
        Verdict::Forbidden(refutation) => certify_forbidden(facts, level, refutation),
        Verdict::Allowed(_) | Verdict::Unknown(_) => certify(facts.history(), level, verdict),
    }
}
