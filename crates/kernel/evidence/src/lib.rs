//! Why an answer holds: verdicts, witnesses, refutations, and `certify`, which trusts none of them.

mod anomaly;
mod verdict;

pub use anomaly::Anomaly;
pub use verdict::{Edge, Event, Reason, Refutation, Schedule, Source, StopReason, Verdict, Witness};
