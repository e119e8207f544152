//! Isoscope: does a recorded history of transactions satisfy an isolation level, and if not, why not? Which history
//! separates two levels? Does a program keep its invariants under a level? And what could have happened instead of an
//! observed run?
//!
//! Each question is a function, with a module of the same name for its types: [`check()`], [`separate()`],
//! [`compare()`], [`lattice()`], [`verify()`], [`allocate()`] and [`predict()`]. Answers come certified: code that has no part in the
//! search has checked their evidence. Where an answer has no evidence that could be checked, its type says so.
//!
//! ```
//! use isoscope::check::Answer;
//! use isoscope::evidence::{Anomaly, Budget};
//! use isoscope::formats::{ReadOptions, read_from};
//! use isoscope::spec::Level;
//!
//! // Two doctors are on call. Each sees that the other one is, and goes home.
//! let text = "
//! init alice=on bob=on
//! s1: { r(alice,on) r(bob,on) w(alice,off) }
//! s2: { r(alice,on) r(bob,on) w(bob,off) }
//! ";
//! let reading = read_from("doctors", text.as_bytes(), &ReadOptions::default())?;
//! let history = reading.into_history().expect("the text has no defects");
//!
//! let answer = isoscope::check(&history, Level::SnapshotIsolation, &Budget::unlimited());
//! assert!(matches!(answer, Answer::Allowed(_)));
//!
//! let answer = isoscope::check(&history, Level::Serializable, &Budget::unlimited());
//! let Answer::Forbidden(refutation) = answer else { panic!("write skew is not serializable") };
//! assert_eq!(refutation.anomalies, [Anomaly::WriteSkew]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The other way round, [`separate()`] makes histories up: the smallest one that some levels allow and others forbid.
//!
//! ```
//! use isoscope::evidence::Budget;
//! use isoscope::separate::{Method, Question, Scope};
//! use isoscope::spec::Catalogue;
//!
//! let [si, ser] = ["si", "ser"].map(|it| Catalogue::builtin().find(it).expect("the catalogue has it"));
//! let question =
//!     Question { allowed: vec![si], forbidden: vec![ser], scope: Scope::default(), method: Method::default() };
//! let found = isoscope::separate(&question, &Budget::unlimited()).answer.found().expect("write skew is one");
//! assert_eq!(found.n_txns(), 2);
//! ```
//!
//! [`compare()`] says how two levels relate, for every size where that can be proved, and [`lattice()`] how many of them do.
//!
//! ```
//! use isoscope::compare::{Extent, Proofs, Relation};
//! use isoscope::evidence::Budget;
//! use isoscope::separate::{Method, Scope};
//! use isoscope::spec::Catalogue;
//!
//! let [si, ser] = ["si", "ser"].map(|it| Catalogue::builtin().find(it).expect("the catalogue has it"));
//! let (scope, method, budget) = (Scope::up_to(2, 2, 3), Method::default(), Budget::unlimited());
//! let comparison = isoscope::compare(ser, si, &scope, method, &Proofs::Wanted, &budget);
//! assert_eq!(comparison.relation(), Relation::Stronger(Extent::EverySize));
//!
//! let lattice = isoscope::lattice(&[si, ser], &scope, method, &budget, &mut |_| {});
//! assert_eq!(lattice.edges.len(), 1);
//! ```
//!
//! And [`verify()`] asks about programs instead of runs: does what clients may do keep an invariant under a level?
//!
//! ```
//! use isoscope::evidence::Budget;
//! use isoscope::program::parse;
//! use isoscope::spec::Level;
//! use isoscope::verify::weakest;
//!
//! let program = parse(
//!     "var hits: int = 0
//!      txn hit() { hits += 1 }
//!      run hit() || hit()
//!      invariant hits == 2",
//!     "counter.txn",
//! )
//! .expect("a program");
//! assert_eq!(weakest(&program, &Budget::unlimited()).weakest, [Level::UpdateAtomic]);
//! ```
//!
//! [`allocate()`] asks which level each transaction needs, however many of them run with whatever arguments.
//!
//! ```
//! use isoscope::evidence::Budget;
//! use isoscope::program::{Templates, TxnLevel};
//!
//! let templates = Templates::parse(
//!     "table accounts(owner) { balance: int }
//!      txn balance(owner) { let seen = accounts[owner].balance }
//!      txn deposit(owner, amount: int) { accounts[owner].balance += amount }",
//!     "bank.txn",
//! )
//! .expect("a program");
//! let ladder = [TxnLevel::ReadCommitted, TxnLevel::RepeatableRead, TxnLevel::Serializable];
//! let answer = isoscope::allocate(&templates, &ladder, &Budget::unlimited()).expect("no limit was reached");
//! assert!(answer.transactions.iter().all(|it| it.level == Some(TxnLevel::ReadCommitted)));
//! ```
//!
//! And [`predict()`] takes one good run of an application, and asks which bad one could have happened under a weaker
//! level.
//!
//! ```
//! use isoscope::evidence::Budget;
//! use isoscope::formats::{ReadOptions, read_from};
//! use isoscope::predict::{Answer, Boundary, Precision, Question};
//! use isoscope::spec::Level;
//!
//! // A deposit, and a withdrawal that sees it. Without seeing it, it would overwrite it.
//! let text = "init account=0\ns1: { r(account,0) w(account,60) }\ns2: { r(account,60) w(account,10) }\n";
//! let reading = read_from("account", text.as_bytes(), &ReadOptions::default())?;
//! let history = reading.into_history().expect("the text has no defects");
//!
//! let question = Question {
//!     level: Level::CausalConsistency,
//!     target: Level::Serializable,
//!     boundary: Boundary::Relaxed,
//!     precision: Precision::Exact,
//! };
//! let answer = isoscope::predict(&history, question, &Budget::unlimited())?;
//! let Answer::Predicted(run) = answer else { panic!("an update can be lost") };
//! assert_eq!(run.prediction.changed.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`collect`] runs whole applications, on a [`store`] that is as weak as a level allows, and records what happens:
//!
//! ```
//! use isoscope::collect::{Choice, Setup, application, drive};
//! use isoscope::check::Answer;
//! use isoscope::evidence::Budget;
//! use isoscope::spec::Level;
//!
//! let application = application("smallbank").expect("an application");
//! let (level, policy) = (Level::CausalConsistency, Choice::Random);
//! let run = drive(&Setup { application, level, policy, sessions: 3, txns: 8, seed: 7, retries: false })?;
//! assert!(!run.holds(), "money is lost");
//! assert!(matches!(isoscope::check(&run.history, level, &Budget::unlimited()), Answer::Allowed(_)));
//! # Ok::<(), isoscope::collect::Failure>(())
//! ```
//!
//! The folder `examples` of the project has a whole program for each verb of the command line, those that talk to databases
//! included.
//!
//! Answers are values: `Err` means that the question could not be asked. No function prints, reads a clock or keeps
//! state; equal inputs give equal outputs. Limits come in with a [`evidence::Budget`], and what ran out comes back as
//! an [`evidence::StopReason`].
//!
//! # Features
//!
//! All are on unless `default-features = false`; then what is left reads histories and answers questions.
//!
//! | feature | what it adds |
//! |---|---|
//! | `report` | the module `report`: answers as text, JSON, pictures and pages |
//! | `generate` | the module `generate`: histories of chosen size and kind |
//! | `collect` | the module `collect`: applications and workloads on the weak store |
//! | `postgres`, `mysql`, `sqlite`; `databases` for all three | drivers for `collect`; `postgres` adds the module `serve`, which records applications |
//! | `cli` | the binary `isoscope` |

pub use iso_answer::{
    Certification, Certified, Searched, WrongEvidence, allocate, check, compare, lattice, predict, separate, stream,
    verify,
};
#[cfg(feature = "collect")]
pub use iso_collect as collect;
pub use iso_evidence as evidence;
pub use iso_formats as formats;
#[cfg(feature = "generate")]
pub use iso_generate as generate;
pub use iso_history as history;
pub use iso_program as program;
#[cfg(feature = "report")]
pub use iso_report as report;
#[cfg(feature = "postgres")]
pub use iso_serve as serve;
pub use iso_spec as spec;
pub use iso_store as store;

/// Engines find answers, and nobody has checked these. For those who compare engines, or certify themselves.
pub mod engines {
    pub use iso_allocate as allocate;
    pub use iso_check as check;
    pub use iso_predict as predict;
    pub use iso_separate as separate;
    pub use iso_verify as verify;
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
