//! Which history does one isolation level allow and another one forbid?
//!
//! [`separate`] looks for the smallest history, up to a [`Scope`], that all of some specs allow and all of others
//! forbid; [`separate_all`] for every one that contains no smaller one; [`compare`] and [`lattice`] say how specs relate;
//! [`explain`] says what fails for each witness that a spec could have. Specs of all frameworks, and of users, are mixed
//! freely: the search reads only their formulas.
//!
//! ```
//! use iso_evidence::Budget;
//! use iso_separate::{Answer, Method, Question, Scope, separate};
//! use iso_spec::Catalogue;
//!
//! let catalogue = Catalogue::builtin();
//! let question = Question {
//!     allowed: vec![catalogue.find("si").unwrap()],
//!     forbidden: vec![catalogue.find("crooks.ser_so").unwrap()],
//!     scope: Scope::up_to(3, 2, 3),
//!     method: Method::default(),
//! };
//! let Answer::Found(skew) = separate(&question, &Budget::unlimited()).answer else { panic!("write skew") };
//! assert_eq!((skew.n_txns(), skew.history.n_keys()), (2, 2));
//! ```
//!
//! How it works, from the specs to the answer: `form` takes a spec apart; `sketch` is a history whose facts are inputs of
//! a circuit; `translate` makes wires of formulas; `witness` makes witnesses, free or derived; `search` joins them.

mod all;
mod compare;
mod draft;
mod explain;
mod known;
mod lattice;
mod lists;
mod matrix;
mod plan;
mod prove;
mod question;
mod search;
mod separate;
mod sketch;
mod statements;
mod translate;
mod witness;
mod words;

pub use all::{Separations, separate_all};
pub use compare::{Comparison, Relation, compare};
pub use explain::{Explanation, Failure, explain};
pub use iso_form::mentions_real_time;
pub use lattice::{Lattice, LatticeEdge, LatticeProgress, lattice};
pub use prove::{Proving, prove, prove_by};
pub use question::{Aspects, BlindWrites, Lists, Method, Question, Rereads, Scope, Sessions, Size, StatementsWanted};
pub use search::Effort;
pub use separate::{Answer, Found, Separation, separate};
pub use statements::Statements;
