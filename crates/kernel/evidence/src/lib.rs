//! Why an answer holds: verdicts, witnesses, refutations, and `certify`, which trusts none of them.

mod anomaly;
mod budget;
mod certify;
mod derivation;
mod proof;
mod verdict;

pub use anomaly::Anomaly;
pub use budget::{Budget, Note, Quantity, Stage};
pub use certify::{Uncertified, certify, certify_derivation, certify_facts, certify_proof, certify_spec};
pub use derivation::{Atom, Axiom, Derivation, Follows, Inference, Literal, Sight, Unless};
pub use proof::{Assumption, Case, Contradiction, Proof, Step};
pub use verdict::{Edge, Event, Reason, Refutation, Schedule, Source, StopReason, Verdict, Witness};
