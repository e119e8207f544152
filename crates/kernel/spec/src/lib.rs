//! What is allowed: isolation levels as data, in a small language, with a reference evaluator.

mod level;

pub use level::Level;
