//! Why an answer holds: verdicts, witnesses, refutations, and `certify`, which trusts none of them.

mod anomaly;
mod budget;
mod certify;
mod proof;
mod verdict;

pub use anomaly::Anomaly;
pub use budget::{Budget, Note, Quantity, Stage};
pub use certify::{Uncertified, certify, certify_facts, certify_proof, certify_spec};
pub use proof::{Assumption, Case, Contradiction, Proof, Step};
pub use verdict::{Edge, Event, Reason, Refutation, Schedule, Source, StopReason, Verdict, Witness};
