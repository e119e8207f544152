//! Names what went wrong in a core: the weakest level that forbids it says most about it.

use crate::decide::decide;
use crate::decision::Decision;
use crate::local::refute_by_one_read;
use iso_evidence::{Anomaly, Budget, Edge, Reason};
use iso_history::{Facts, History, LocalAnomaly, LocalKind, Op, OpId, Projection, TxnId};
use iso_spec::Level;
use std::collections::BTreeSet;

/// The name of a read that nothing explains.
pub(crate) fn name_local(history: &History, anomaly: LocalAnomaly) -> Anomaly {
    match anomaly.kind {
        LocalKind::Internal { .. } => Anomaly::Internal,
        LocalKind::ThinAir => Anomaly::ThinAirRead,
        LocalKind::Future => Anomaly::FutureRead,
        LocalKind::Aborted { .. } => Anomaly::AbortedRead,
        LocalKind::Intermediate { .. } => Anomaly::IntermediateRead,
        LocalKind::Interleaved { torn, between } if torn == between => Anomaly::IncompatibleOrder,
        LocalKind::Interleaved { .. } => Anomaly::DirtyWrite,
        LocalKind::Missed | LocalKind::Unmatched => Anomaly::PredicateReadMiss,
        LocalKind::Unrepeatable { earlier } => {
            let is_scan = [earlier, anomaly.op].iter().any(|it| matches!(history.op(*it), Op::Omit { .. }));
            if is_scan { Anomaly::Phantom } else { Anomaly::NonRepeatableRead }
        }
        LocalKind::Incompatible { .. } => Anomaly::IncompatibleOrder,
    }
}

/// The name of a core that `level` forbids and no weaker one, with the cycle that explains it. Where a list has several
/// meanings, what read committed and below forbid may have another name in each of them.
pub(crate) fn name(core: &Projection, level: Level, cycle: &[Edge], budget: &Budget<'_>) -> Option<Anomaly> {
    let facts = Facts::new(&core.history);
    let has_cases = facts.ambiguous_list().is_some();
    let named =
        (!has_cases || level.implies(Level::ReadAtomic)).then(|| name_facts(&facts, core, level, cycle, budget));
    // Without time to find the weakest level, a row that a scan did not return may be what the cycle needs.
    named.filter(|it| *it != Anomaly::G2Item || !needs_an_omission(core, cycle))
}

/// Is a step of the cycle an anti-dependency of a row that a scan did not return?
fn needs_an_omission(core: &Projection, cycle: &[Edge]) -> bool {
    cycle.iter().any(|it| match it.because {
        Reason::AntiDependency { read, .. } => {
            let in_core = core.ops.binary_search(&read).map(OpId::from_index);
            in_core.is_ok_and(|it| matches!(core.history.op(it), Op::Omit { .. }))
        }
        _ => false,
    })
}

fn name_facts(facts: &Facts<'_>, core: &Projection, level: Level, cycle: &[Edge], budget: &Budget<'_>) -> Anomaly {
    let n_rw = cycle.iter().filter(|it| matches!(it.because, Reason::AntiDependency { .. })).count();
    // Where a read has several possible writers, the cycle may need more than what was read.
    let is_circular = || n_rw == 0 && !cycle.is_empty() && forbids(facts, Level::ReadCommitted, budget) == Some(true);
    match level {
        Level::ReadUncommitted | Level::AdyaReadUncommitted => Anomaly::DirtyWrite,
        _ if is_session_guarantee(level) && is_circular() => Anomaly::CircularInformationFlow,
        // A case split has no single cycle, and its cases may need anti-dependencies.
        Level::ReadCommitted | Level::AdyaReadCommitted if n_rw == 0 && !cycle.is_empty() => {
            Anomaly::CircularInformationFlow
        }
        Level::ReadCommitted | Level::AdyaReadCommitted => Anomaly::NonMonotonicRead,
        Level::ReadYourWrites => Anomaly::StaleOwnWrite,
        Level::ReadAtomic => Anomaly::FracturedRead,
        Level::MonotonicReads | Level::MonotonicWrites | Level::WritesFollowReads | Level::CausalConsistency => {
            Anomaly::CausalityViolation
        }
        Level::UpdateAtomic if loses_an_update(facts) => Anomaly::LostUpdate,
        Level::UpdateAtomic | Level::ParallelSnapshotIsolation | Level::ParallelSnapshotIsolationNoSession => {
            Anomaly::GSingle
        }
        // What parallel snapshot isolation forbids needs one reader only.
        Level::PrefixConsistency => match forbids(facts, Level::ParallelSnapshotIsolation, budget) {
            Some(true) => Anomaly::GSingle,
            Some(false) => Anomaly::LongFork,
            None => cycle_of_many(core, cycle),
        },
        Level::SnapshotIsolation | Level::SnapshotIsolationNoSession => cycle_of_many(core, cycle),
        Level::Serializable | Level::SerializableNoSession => {
            let is_skew = forbids(facts, Level::SnapshotIsolation, budget) == Some(false);
            if is_skew { name_unserializable(facts, cycle, core) } else { cycle_of_many(core, cycle) }
        }
        // Names are those of papers: serializability forbids it, and so does something weaker, perhaps.
        Level::StatementSnapshots | Level::TransactionSnapshot | Level::RowSnapshots => {
            name_facts(facts, core, weakest(facts, Level::Serializable, budget), cycle, budget)
        }
        Level::StrongSnapshotIsolation | Level::StrictSerializable => Anomaly::StaleRead,
    }
}

/// A cycle with several anti-dependencies.
fn cycle_of_many(core: &Projection, cycle: &[Edge]) -> Anomaly {
    let n_rw = cycle.iter().filter(|it| matches!(it.because, Reason::AntiDependency { .. })).count();
    if n_rw >= 2 && needs_an_omission(core, cycle) { Anomaly::G2 } else { Anomaly::G2Item }
}

fn is_session_guarantee(level: Level) -> bool {
    matches!(level, Level::ReadYourWrites | Level::MonotonicReads | Level::MonotonicWrites | Level::WritesFollowReads)
}

/// Do two transactions overwrite a version that both read?
fn loses_an_update(facts: &Facts<'_>) -> bool {
    let updates = || facts.reads().iter().enumerate().filter(|(_, it)| facts.writes(it.reader, it.key));
    updates().any(|(idx, one)| {
        let mut rivals = updates().filter(|(_, it)| it.reader != one.reader && it.key == one.key);
        rivals.any(|(rival, _)| facts.candidates(rival).iter().any(|it| facts.candidates(idx).contains(it)))
    })
}

/// The weakest level that forbids a history which `level` forbids, in the order that tells anomalies apart.
pub(crate) fn weakest(facts: &Facts<'_>, level: Level, budget: &Budget<'_>) -> Level {
    let order = [
        Level::ReadUncommitted,
        Level::ReadCommitted,
        Level::ReadYourWrites,
        Level::ReadAtomic,
        Level::CausalConsistency,
        Level::UpdateAtomic,
        Level::ParallelSnapshotIsolation,
        Level::PrefixConsistency,
        Level::SnapshotIsolation,
        Level::Serializable,
    ];
    order
        .into_iter()
        .filter(|it| level.implies(*it))
        .find(|it| forbids(facts, *it, budget) == Some(true))
        .unwrap_or(level)
}

/// Does a level forbid a core, if there is time to know? Read uncommitted may take whoever is indeterminate as aborted.
fn forbids(facts: &Facts<'_>, level: Level, budget: &Budget<'_>) -> Option<bool> {
    let favourable = if level == Level::ReadUncommitted { facts.history().favouring_dirty_reads() } else { None };
    let decide = |facts: &Facts<'_>| match refute_by_one_read(facts, level) {
        Some(refutation) => Ok(Decision::Forbidden(refutation.txns)),
        None => decide(facts, level, budget),
    };
    let decision = favourable.as_ref().map_or_else(|| decide(facts), |it| decide(&Facts::new(it)));
    decision.ok().map(|it| matches!(it, Decision::Forbidden(_)))
}

/// Snapshot isolation allows it: write skew, unless it takes a read-only transaction or a longer cycle.
fn name_unserializable(facts: &Facts<'_>, cycle: &[Edge], core: &Projection) -> Anomaly {
    let on_cycle: BTreeSet<TxnId> = cycle.iter().flat_map(|it| [it.from, it.to]).collect();
    let is_read_only = |it: &TxnId| {
        let in_core = core.txns.binary_search(it).map(TxnId::from_index);
        in_core.is_ok_and(|it| facts.final_writes(it).is_empty())
    };
    let n_rw = cycle.iter().filter(|it| matches!(it.because, Reason::AntiDependency { .. })).count();
    match on_cycle.len() {
        2 if n_rw == 2 && !needs_an_omission(core, cycle) => Anomaly::WriteSkew,
        3 if on_cycle.iter().any(is_read_only) => Anomaly::ReadOnlyAnomaly,
        _ => cycle_of_many(core, cycle),
    }
}
