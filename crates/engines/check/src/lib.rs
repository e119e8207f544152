//! Is this history allowed by this isolation level?
//!
//! [`check`] answers for one level, [`check_levels`] for several at once, sharing what one answer says about others.
//! A read that the level allows in no order is looked for first (`local`). Then `decide` asks its engines in turn: an
//! order that explains the history, or a core. Every answer carries its evidence: a schedule, or a core that is minimal
//! (`shrink`), explained by a cycle (`explain`) or a proof (`prove`), and named (`name`).
//!
//! Calls go one way: `lattice`, `check`, `decide`, the engines (`settled`, `order`, `replicas`, `stronger`, `simple`), and
//! what these share.

mod ambiguous;
mod check;
mod core_extraction;
mod counted;
mod decide;
mod decision;
mod derivation;
mod explain;
mod forward;
mod graph;
mod grounds;
mod known;
mod lattice;
mod local;
mod lost_update;
mod mixed;
mod name;
mod order;
mod outcomes;
mod pieces;
mod problem;
mod prove;
mod recovered;
mod replicas;
mod rule;
mod search;
mod settled;
mod shrink;
mod simple;
pub mod stream;
mod stronger;
mod stuck;
#[cfg(test)]
mod test_store;
mod views;
mod weak;
mod witness;

pub use check::{check, check_facts};
pub use lattice::{Answer, check_levels};
