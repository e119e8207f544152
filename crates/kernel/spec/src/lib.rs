//! What is allowed: isolation levels as data, in a small language, with a reference evaluator.
//!
//! A level is a text of the [`Catalogue`] or of a user ([`parse`]): a framework, which says what must exist for a
//! history to be allowed, and a formula about it. [`Spec::formula`] is the typed tree that engines read;
//! [`evaluate`] decides small histories by searching for the witness, [`evaluate_plainly`] by trying everything,
//! and [`holds`] checks one given [`Execution`].
//!
//! ```
//! use iso_spec::{Catalogue, parse};
//! assert_eq!(Catalogue::builtin().find("ra").unwrap().name(), "biswas.ra");
//! let text = "import cerone\n level mine in cerone = cerone.ra and transitive(vis)";
//! let module = parse(text, "mine.spec", &mut |_| Err("no files here".to_owned())).unwrap();
//! assert_eq!(module.levels()[0].name(), "mine.mine");
//! ```

mod bounds;
mod builtin;
mod catalogue;
mod elaborate;
mod error;
mod evaluate;
mod execution;
mod formula;
mod infer;
mod level;
mod lexer;
mod module;
mod parser;
mod plain;
mod plan;
mod program;
mod spec;
mod syntax;
mod types;
mod world;

pub use catalogue::{Catalogue, UnknownLevel};
pub use error::SpecError;
pub use evaluate::{Evaluation, Prepared, Steps, evaluate, holds};
pub use execution::{Execution, NamedRelation};
pub use formula::{Elem, Formula, Given, Relation, Set, Sort, Variable, Witness, WitnessKind};
pub use level::Level;
pub use module::{Loader, Module, parse};
pub use plain::evaluate_plainly;
pub use spec::{DirtyReads, Spec};
