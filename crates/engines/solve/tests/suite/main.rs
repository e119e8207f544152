//! The tests of the crate through its public face, in one binary.

mod conformance;
mod incremental_order;
mod order_solver;
mod random;
mod resolution;
