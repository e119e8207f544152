//! Does a name fit the core? A wrong name is refused.
//!
//! The name of an anomaly says which level forbids it: a fractured read is what read atomic forbids. So the definition of
//! that level is asked about the core, and for some names the form of the cycle is looked at. That no weaker name fits
//! better is not checked, nor is anything about a core that is too large for a quick answer.

use super::forbidden::steps_of_a_second;
use super::uncertified::Uncertified;
use crate::{Anomaly, Edge, Reason};
use iso_history::{Facts, History, LocalAnomaly, LocalKind, Op, OpId, Projection, TxnId};
use iso_spec::{Catalogue, Level, Steps, evaluate};
use std::collections::BTreeSet;

/// A name should cost less than the answer that it comes with.
const PARTS_OF_A_SECOND: u64 = 8;

/// Checks the names of a core that `level` forbids.
pub(super) fn check_names(
    core: &Projection,
    level: Level,
    cycle: &[Edge],
    anomalies: &[Anomaly],
) -> Result<(), Uncertified> {
    let facts = Facts::new(&core.history);
    let is_forbidden = |by: Level| by == level || allows(&facts, by) != Some(true);
    for anomaly in anomalies {
        let fits = forbidden_by(*anomaly).is_some_and(is_forbidden)
            && (cycle.is_empty() || has_form_of(*anomaly, core, &facts, cycle))
            && (*anomaly != Anomaly::G2 || core.history.has_omissions())
            && allowed_by(*anomaly).is_none_or(|it| allows(&facts, it) != Some(false));
        if !fits {
            return Err(wrong_name(*anomaly));
        }
    }
    Ok(())
}

/// Checks the names of a read that nothing explains.
pub(super) fn check_local_names(
    history: &History,
    anomaly: LocalAnomaly,
    anomalies: &[Anomaly],
) -> Result<(), Uncertified> {
    let is_omission = |it: OpId| matches!(history.op(it), Op::Omit { .. });
    let name = match anomaly.kind {
        LocalKind::Internal { .. } => Anomaly::Internal,
        LocalKind::ThinAir => Anomaly::ThinAirRead,
        LocalKind::Future => Anomaly::FutureRead,
        LocalKind::Aborted { .. } => Anomaly::AbortedRead,
        LocalKind::Intermediate { .. } => Anomaly::IntermediateRead,
        LocalKind::Missed | LocalKind::Unmatched => Anomaly::PredicateReadMiss,
        LocalKind::Unrepeatable { earlier } if is_omission(earlier) || is_omission(anomaly.op) => Anomaly::Phantom,
        LocalKind::Unrepeatable { .. } => Anomaly::NonRepeatableRead,
        LocalKind::Incompatible { .. } => Anomaly::IncompatibleOrder,
        // Elements of one transaction in another order than it appended them, or with those of another in between.
        LocalKind::Interleaved { torn, between } if torn == between => Anomaly::IncompatibleOrder,
        LocalKind::Interleaved { .. } => Anomaly::DirtyWrite,
    };
    anomalies.iter().find(|it| **it != name).map_or(Ok(()), |it| Err(wrong_name(*it)))
}

fn wrong_name(anomaly: Anomaly) -> Uncertified {
    Uncertified::new(format!("the refutation is called {anomaly}, which it is not"))
}

/// The level that forbids every core of this name; none for names of single reads.
fn forbidden_by(anomaly: Anomaly) -> Option<Level> {
    match anomaly {
        Anomaly::DirtyWrite => Some(Level::ReadUncommitted),
        Anomaly::CircularInformationFlow | Anomaly::NonMonotonicRead => Some(Level::ReadCommitted),
        Anomaly::StaleOwnWrite => Some(Level::ReadYourWrites),
        Anomaly::FracturedRead => Some(Level::ReadAtomic),
        Anomaly::CausalityViolation => Some(Level::CausalConsistency),
        Anomaly::LostUpdate => Some(Level::UpdateAtomic),
        Anomaly::LongFork => Some(Level::PrefixConsistency),
        Anomaly::GSingle => Some(Level::ParallelSnapshotIsolation),
        Anomaly::WriteSkew | Anomaly::ReadOnlyAnomaly | Anomaly::G2Item | Anomaly::G2 => Some(Level::Serializable),
        Anomaly::StaleRead => Some(Level::StrictSerializable),
        Anomaly::Internal
        | Anomaly::ThinAirRead
        | Anomaly::FutureRead
        | Anomaly::IncompatibleOrder
        | Anomaly::AbortedRead
        | Anomaly::IntermediateRead
        | Anomaly::NonRepeatableRead
        | Anomaly::Phantom
        | Anomaly::PredicateReadMiss
        // Durability is nothing that a level is about.
        | Anomaly::LostAcknowledgedWrite => None,
    }
}

/// The level that allows every core of this name, where that tells it from others.
fn allowed_by(anomaly: Anomaly) -> Option<Level> {
    match anomaly {
        Anomaly::WriteSkew | Anomaly::ReadOnlyAnomaly => Some(Level::SnapshotIsolation),
        Anomaly::LongFork => Some(Level::ParallelSnapshotIsolation),
        _ => None,
    }
}

/// What the definition of a level says about the core, if it says so soon.
fn allows(facts: &Facts<'_>, level: Level) -> Option<bool> {
    let n_steps = (steps_of_a_second(facts.history()) / PARTS_OF_A_SECOND).max(1);
    evaluate(facts, Catalogue::builtin().of(level), &mut Steps::new(n_steps)).is_allowed()
}

fn has_form_of(anomaly: Anomaly, core: &Projection, facts: &Facts<'_>, cycle: &[Edge]) -> bool {
    let n_rw = cycle.iter().filter(|it| matches!(it.because, Reason::AntiDependency { .. })).count();
    let is_omission = |it: &Edge| match it.because {
        Reason::AntiDependency { read, .. } => {
            let in_core = core.ops.binary_search(&read).map(OpId::from_index);
            in_core.is_ok_and(|it| matches!(core.history.op(it), Op::Omit { .. }))
        }
        _ => false,
    };
    let txns: BTreeSet<TxnId> = cycle.iter().map(|it| it.from).collect();
    let writes_nothing = |it: &TxnId| {
        let in_core = core.txns.binary_search(it).map(TxnId::from_index);
        in_core.is_ok_and(|it| facts.final_writes(it).is_empty())
    };
    match anomaly {
        Anomaly::CircularInformationFlow => n_rw == 0,
        Anomaly::WriteSkew => txns.len() == 2 && n_rw == 2 && !cycle.iter().any(is_omission),
        Anomaly::G2Item => !cycle.iter().any(is_omission),
        Anomaly::G2 => n_rw >= 2 && cycle.iter().any(is_omission),
        Anomaly::ReadOnlyAnomaly => txns.iter().any(writes_nothing),
        _ => true,
    }
}
