//! Why one level implies another one for histories of any size: a construction, and a refutation of each way to fail.
//!
//! A construction says how the weaker level's witness is made of the stronger one's. What has to be shown of it are
//! sentences; each is shown by instances of clauses, about elements that have names, which contradict each other.
//! [`certify_implication`] makes the clauses from the texts of both levels by itself and replays the contradiction.
//! Why this is enough is in `docs/decisions/0024-proofs-for-every-size.md`.

mod construction;
mod legal;
mod normal;
mod relation;
mod replay;
mod sentence;
mod show;
mod term;
mod theory;

pub use construction::Construction;
pub use replay::certify_implication;
pub use show::{written_formula, written_relation};
pub use term::{Clause, Function, Open, Predicate, Says, Term};
pub use theory::{Obligation, Theory};

/// The sentences that are true of every history, as a spec text.
pub const HISTORIES: &str = include_str!("history.spec");

/// Why a level implies another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Implication {
    /// How the weaker level's witness is made.
    pub construction: Construction,
    /// For each obligation of the [`Theory`], why it holds.
    pub refutations: Vec<Contradictory>,
}

/// Instances that contradict each other, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contradictory {
    /// Clauses with values of their variables.
    pub instances: Vec<Instance>,
    /// What follows from them; the last one is empty.
    pub resolvents: Vec<ResolvedFrom>,
}

/// A clause of a [`Theory`] about some elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The number of the clause.
    pub clause: usize,
    /// The values of its variables.
    pub values: Vec<Term>,
}

/// A clause that follows from others by unit propagation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedFrom {
    /// Literals: atoms are numbered from 1 by their first place in the instances; negative ones are negated.
    pub literals: Vec<i32>,
    /// Instances by their number, resolvents after them.
    pub hints: Vec<u32>,
}
