//! What is allowed: isolation levels as data, in a small language, with a reference evaluator.
//!
//! A level is a text of the [`Catalogue`] or of a user ([`parse`]): a framework, which says what must exist for a
//! history to be allowed, and a formula about it. [`Spec::formula`] is the typed tree that engines read;
//! [`evaluate`] decides small histories by searching for the witness, [`evaluate_plainly`] by trying everything,
//! and [`holds`] checks one given [`Execution`], [`holds_at_any_size`] also a large one. Sessions are the history's, or any partial order
//! ([`Prepared::with_session_order`]).
//!
//! # The language
//!
//! A text is a list of items; a name is defined before it is used. ASCII and the mathematical signs mean the same.
//!
//! | item | as in |
//! |---|---|
//! | import of a module of the catalogue, or of a file | `import cerone`, `import "mine.spec"` |
//! | framework: what must exist, and what makes it legal | `framework f { order co; relation vis; versions vo; require so in co }` |
//! | definition of a formula, relation or set | `def ww = vo`, `def sees(phi: relation) = ...`, `def next[x] = ...` |
//! | level: a formula over a framework | `level ra in biswas = ...`, `level ru in adya allowing dirty reads = ...` |
//!
//! Formulas: `forall x, t: txn: ..`, `exists`, `and`, `or`, `not`, `implies`, `iff`, `true`, `false`, `R(a, b)`, `S(a)`,
//! `a = b`, `a != b`, `a in S`, `(a, b) in R`, `R in S`, `R = S`, `empty`, `acyclic`, `irreflexive`, `total`, `transitive`.
//! Relations: `R | S`, `R & S`, `R - S`, `R ; S`, `R^-1`, `R+`, `R*`, `R?`, `{ a, b | formula }`, and `[S]`, which relates
//! each member of a set to itself, so that `[A] ; R ; [B]` is R restricted. Sets: `|`, `&`, `-`, `{ a | formula }`.
//! Operators bind in this order, the tightest first: postfix, `;`, `&`, `|` and `-`, comparisons, `not`, `and`, `or`,
//! `implies`, `iff`; a quantifier reaches as far as it can.
//!
//! Variables are transactions (`txn`, those that are in, with the initial one), keys (`key`) or external reads (`read`);
//! the sort follows from the use, or is written. Given are `so`, `wr`, `wr[x]`, `rt`, `listed`, `listed[x]`, `id` between
//! transactions, `writes` and `reads` from transactions to keys, `po`, `of`, `from`, `key` of reads, `stmt`, `omits`,
//! `locks` and `at_newest` of reads in statements, `t0` and `init`.
//! Lines that start with `///` before a level are its summary; then `source:` and `choices:` may follow.
//!
//! ```
//! use iso_spec::{Catalogue, parse};
//! assert_eq!(Catalogue::builtin().find("ra").unwrap().name(), "biswas.ra");
//! let text = "import cerone\n level mine in cerone = cerone.ra and transitive(vis)";
//! let module = parse(text, "mine.spec", &mut |_| Err("no files here".to_owned())).unwrap();
//! assert_eq!(module.levels()[0].name(), "mine.mine");
//! ```

mod any_size;
mod bounds;
mod builtin;
mod catalogue;
mod closure;
mod elaborate;
mod error;
mod evaluate;
mod execution;
mod formula;
mod infer;
mod join;
mod level;
mod lexer;
mod model;
mod module;
mod parser;
mod parts;
mod plain;
mod plan;
mod program;
mod promise;
mod row;
mod scene;
mod session_order;
mod spec;
mod syntax;
mod types;
mod world;

pub use any_size::holds_at_any_size;
pub use catalogue::{Catalogue, UnknownLevel};
pub use error::SpecError;
pub use evaluate::{Evaluation, Prepared, Steps, evaluate, holds, holds_with_session_order};
pub use execution::{Execution, NamedOrder, NamedRelation, NamedRows};
pub use formula::{Elem, Formula, Given, Relation, Set, Sort, Variable, Witness, WitnessKind};
pub use level::{DATABASE_NAMES, Level};
pub use module::{Loader, Module, parse};
pub use plain::{evaluate_plainly, evaluate_plainly_with_session_order};
pub use promise::{BadPromise, DatabasePromises, Promise, Promises, Seen};
pub use spec::{DirtyReads, HiddenRows, Spec};
