//! From this run of an application, which unserializable run does a weaker level allow?
//!
//! [`Predictor`] takes an observed history and looks for a run that the same application could have had: each session
//! repeats its transactions up to a boundary, and reads on the boundary may see other writers. A prediction is allowed by
//! the level and forbidden by the target, and if there is none, the search says so for sure.

mod answer;
mod cycle;
mod early;
mod frame;
mod graph;
mod judge;
mod late;
mod level;
mod line;
mod pieces;
mod pivot;
mod predictor;
mod record;
mod run;
mod saturate;
mod serial;
mod shrink;
mod trace;
mod versions;

pub use answer::{Answer, Boundary, ChangedRead, Cut, Effort, Precision, Prediction, Question, Refused, Unknown};
use iso_spec::Level;
pub use predictor::Predictor;

/// The levels of databases that may allow a predicted run. REPEATABLE READ of `PostgreSQL` is looked at as snapshot isolation, which
/// implies it: what an insert may do besides is not predicted.
pub const DATABASE_LEVELS: [Level; 3] = [Level::StatementSnapshots, Level::TransactionSnapshot, Level::RowSnapshots];

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
