//! Which history does one isolation level allow and another one forbid?
mod all;
mod compare;
mod draft;
mod explain;
mod form;
mod known;
mod lattice;
mod matrix;
mod plan;
mod polarity;
mod question;
mod search;
mod separate;
mod sketch;
mod translate;
mod witness;
mod words;

pub use all::{Separations, separate_all};
pub use compare::{Comparison, Relation, compare};
pub use explain::{Explanation, Failure, explain};
pub use lattice::{Lattice, LatticeEdge, LatticeProgress, lattice};
pub use question::{BlindWrites, Method, Question, Rereads, Scope, Sessions, Size};
pub use search::Effort;
pub use separate::{Answer, Aspects, Found, Separation, separate};
