//! The levels that programs can be verified under, and what each asks for.

use crate::encode::{Axiom, Visibility};
use iso_spec::Level;

/// The levels that programs can be verified under, weaker ones first.
pub const LEVELS: [Level; 8] = [
    Level::ReadCommitted,
    Level::ReadAtomic,
    Level::UpdateAtomic,
    Level::CausalConsistency,
    Level::PrefixConsistency,
    Level::ParallelSnapshotIsolation,
    Level::SnapshotIsolation,
    Level::Serializable,
];

/// How a level shows transactions to each other; nothing if programs cannot be verified under it.
pub(crate) fn rules(level: Level) -> Option<(Visibility, &'static [Axiom])> {
    let axioms: &[Axiom] = match level {
        Level::ReadCommitted => return Some((Visibility::PerRead, &[])),
        Level::ReadAtomic => &[],
        Level::UpdateAtomic => &[Axiom::NoConflict],
        Level::CausalConsistency => &[Axiom::Transitive],
        Level::ParallelSnapshotIsolation => &[Axiom::Transitive, Axiom::NoConflict],
        Level::PrefixConsistency => &[Axiom::Prefix],
        Level::SnapshotIsolation => &[Axiom::Prefix, Axiom::NoConflict],
        Level::Serializable => &[Axiom::Total],
        _ => return None,
    };
    Some((Visibility::Atomic, axioms))
}
