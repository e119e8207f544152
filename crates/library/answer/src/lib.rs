//! Answers about transaction isolation that were certified, or that say that they were not and why.
//!
//! Engines find answers, and nobody has to believe them. The functions here ask an engine, check the evidence of what it
//! says with code that has no part in the search, and return the answer in a type that says what it rests on:
//!
//! - [`Certified`] evidence was checked, and only this crate can make such a value.
//! - [`Searched`] answers say that there is nothing within some bounds. No evidence of that could be checked afterwards.
//! - [`WrongEvidence`] is a bug of an engine, which is caught here; it is never an answer.
//!
//! | question | function |
//! |---|---|
//! | Does this level allow this history? | [`check()`] |
//! | Which history do some levels allow and others forbid? | [`separate()`] |
//! | Does this level allow a recording that is still being read? | [`stream::StreamCheck`] |
//! | How do two levels relate? | [`compare()`] |
//! | How do many levels relate? | [`lattice()`] |
//! | Does this program keep its invariants under this level? | [`verify()`] |
//! | Does it keep them whatever number of its transactions runs? | [`any_number()`] |
//! | Which level does each transaction of a program need, however many run? | [`allocate()`] |
//! | Which bad run could have happened instead of this good one? | [`predict()`] |
//!
//! Nothing here prints, reads or waits: a budget comes in, and an answer goes out.

pub mod allocate;
pub mod any_number;
mod certified;
pub mod check;
#[cfg(test)]
#[path = "../../../kernel/history/tests/common/mod.rs"]
mod common;
pub mod compare;
pub mod lattice;
pub mod predict;
mod reference;
#[cfg(test)]
mod refusals;
pub mod separate;
#[cfg(test)]
#[path = "../../../kernel/spec/tests/common/mod.rs"]
mod spec_common;
pub mod stream;
mod text;
pub mod verify;

pub use allocate::allocate;
pub use any_number::any_number;
pub use certified::{Certification, Certified, Searched, WrongEvidence};
pub use check::check;
pub use compare::compare;
pub use lattice::lattice;
pub use predict::predict;
pub use separate::separate;
pub use verify::verify;
