//! Which isolation level does each transaction need, so that runs of any number of them are serializable?
//!
//! A set of templates is *robust* if no run of any number of their instances, each at the level of its template, is
//! unserializable. If there is an unserializable run, there is one of a simple shape, a *split run*: one transaction
//! executes up to one of its reads, then others execute one after the other, each in conflict with the next, then the
//! first one goes on to its end; the first of the others overwrites what was read, and the last is in conflict with the
//! first transaction again. [`danger`] looks for the shortest such run, [`allocate`] for the weakest levels that leave none,
//! and [`promotions`] for reads that help if they lock their rows.
//!
//! The shape is that of Vandevoort, Ketsman, Koch and Neven (2021) and Vandevoort, Ketsman and Neven (2023), with locks,
//! scans, and rows that come and go. Why it is enough: docs/decisions/0030.

mod allocate;
mod danger;
mod promote;
mod question;
mod search;
mod slots;

pub use allocate::{Allocation, allocate, is_robust};
pub use danger::{Danger, Edge, Edges, Member, RowValue, danger, dangers};
pub use promote::promotions;
