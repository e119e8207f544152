//! Why an answer holds: verdicts, witnesses, refutations, and `certify`, which trusts none of them.

mod anomaly;
mod budget;
mod certify;
mod derivation;
mod durability;
mod implication;
mod proof;
mod verdict;

pub use anomaly::Anomaly;
pub use budget::{Budget, Note, Quantity, Stage};
pub use certify::{
    StreamedReplay, StreamedStep, Uncertified, certify, certify_derivation, certify_facts, certify_proof, certify_spec,
};
pub use derivation::{Atom, Axiom, Derivation, Follows, Grounds, Inference, Literal, Sight, Unless};
pub use durability::{LostWrite, lost_writes};
pub use implication::{
    Clause, Construction, Contradictory, Function, HISTORIES, Implication, Instance, Obligation, Open, Predicate,
    ResolvedFrom, Says, Term, Theory, certify_implication, written_formula, written_relation,
};
pub use proof::{Assumption, Case, Contradiction, Proof, Step};
pub use verdict::{Edge, Event, Reason, Refutation, Schedule, Source, Sources, StopReason, Verdict, Witness};
