//! Constraint solving for the engines: SAT behind one trait, and acyclic orders on top of it.
//!
//! - [`SatSolver`] is plain incremental SAT under assumptions. `Cadical` implements it, and [`Portable`] where no C++ compiler
//!   goes; [`Solver`] is the one that engines use.
//! - [`Circuit`] holds formulas with equal parts shared, and [`Clauses`] gives them to a solver.
//! - [`Word`] is an integer of a fixed width in a circuit.
//! - [`Linear`] is an integer as a sum of open values with coefficients, and [`laws`] compares such sums.
//! - [`resolve`] says why clauses have no model.
//! - [`IncrementalOrder`] keeps a topological order of a growing and shrinking graph.
//! - [`OrderSolver`] joins the two: which edges to choose so that the clauses hold and no cycle arises.
//!
//! No other crate names a solver. Everything here is deterministic: the same calls give the same answers.

mod acyclic;
#[cfg(not(target_arch = "wasm32"))]
mod cadical;
mod circuit;
mod cnf;
mod linear;
mod order;
mod portable;
mod resolution;
mod sat;
mod theory;
mod word;

pub use acyclic::{DecisionPolicy, OrderResult, OrderSolver, OrderStatistics};
#[cfg(not(target_arch = "wasm32"))]
pub use cadical::Cadical;
pub use circuit::{Circuit, Values, Wire};
pub use cnf::{Clauses, Probing};
pub use linear::{Comparison, Linear, LinearShape, Relation, laws};
pub use order::{Edge, EdgeId, IncrementalOrder, Mark, Reach, UNTAGGED};
pub use portable::Portable;
pub use resolution::{Resolvent, resolve, variable};
pub use sat::{Lit, SatResult, SatSolver, SatStatistics, Var};
pub use word::{Computed, Word, fits};

/// The solver that engines use.
#[cfg(not(any(target_arch = "wasm32", feature = "portable")))]
pub type Solver = Cadical;
/// The solver that engines use.
#[cfg(any(target_arch = "wasm32", feature = "portable"))]
pub type Solver = Portable;
