//! From this run of an application, which unserializable run does a weaker level allow?

mod answer;

pub use answer::{Answer, Boundary, ChangedRead, Cut, Effort, Precision, Prediction, Question, Refused, Unknown};
use iso_spec::Level;

/// The levels that may allow a predicted run, weaker ones first.
pub const LEVELS: [Level; 6] = [
    Level::ReadCommitted,
    Level::ReadAtomic,
    Level::CausalConsistency,
    Level::PrefixConsistency,
    Level::ParallelSnapshotIsolation,
    Level::SnapshotIsolation,
];

/// The levels that may forbid a predicted run, weaker ones first.
pub const TARGETS: [Level; 6] = [
    Level::ReadAtomic,
    Level::CausalConsistency,
    Level::PrefixConsistency,
    Level::ParallelSnapshotIsolation,
    Level::SnapshotIsolation,
    Level::Serializable,
];
