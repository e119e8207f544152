//! Which execution of this history fits the text of this level? For texts whose whole witness follows from one order.
//!
//! The history is fixed, so the text is a set of conditions on an order of its transactions. [`realize`] takes an order,
//! looks for what is not true of it (`view`), says which pairs of the order are to blame (`why`), lets `iso_solve` find an
//! order that differs in one of them, and goes on until everything is true or no order is left (`search`). Then the
//! transactions that were to blame are a core, which is made smaller in the same way (`core`).
//!
//! Source: this is lazy clause generation, as in solvers modulo theories (Nieuwenhuis, Oliveras & Tinelli 2006), with
//! the text as the theory. Cost: in each round one look at all instances of the text; rounds are few where the first
//! order nearly fits.

mod core;
mod ground;
mod join;
mod least;
mod matrix;
mod search;
mod view;
mod why;

pub use core::{Realized, realize};
pub use ground::World;
pub use search::execution;
