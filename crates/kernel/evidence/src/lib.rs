//! Why an answer holds: verdicts, witnesses, refutations, and `certify`, which trusts none of them.

mod anomaly;
mod budget;
mod certify;
mod verdict;

pub use anomaly::Anomaly;
pub use budget::{Budget, Note, Quantity, Stage};
pub use certify::{Uncertified, certify, certify_facts, certify_spec};
pub use verdict::{Edge, Event, Reason, Refutation, Schedule, Source, StopReason, Verdict, Witness};
