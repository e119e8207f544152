//! What clients may run: transaction programs and their invariants, as text, as a flat typed form, and run by hand.
//!
//! [`parse`] reads a text (`*.txn`) and gives a [`Program`], which engines read: units, open values, and one [`Instance`]
//! for each transaction that runs. [`run_instance`] runs one of them, [`run_execution`] and [`run_reads`] run all along an
//! order, and [`judge`] says whether a claim holds in a state. What a program means is what these functions do.
//!
//! ```
//! use iso_program::{InstanceId, Judgement, judge, parse, run_execution};
//! let text = r#"
//!     table accounts(id) { balance: int }
//!     init { accounts["x"].balance = 60; accounts["y"].balance = 60 }
//!     txn withdraw(from, amount) {
//!         let total = accounts["x"].balance + accounts["y"].balance
//!         if total > amount { accounts[from].balance -= amount }
//!     }
//!     run withdraw("x", 100) || withdraw("y", 100)
//!     invariant accounts["x"].balance + accounts["y"].balance > 0
//! "#;
//! let program = parse(text, "withdraw.txn").unwrap();
//! let order: Vec<InstanceId> = program.instance_ids().collect();
//! let blind = run_execution(&program, &[], &order, &|_reader, _writer| false);
//! assert_eq!(judge(&program, &program.invariants()[0], &[], &blind.last), Judgement::Fails);
//! ```
//!
//! # The language
//!
//! A text is a list of items, in any order. Comments start with `//`. Statements end with their line or with `;`.
//!
//! | item | as in |
//! |---|---|
//! | bits of an integer with its sign, 4 to 32, otherwise 16 | `width 24` |
//! | finite type | `enum Color { red, green }` |
//! | scalar | `var x: int = 0`, `var c: Color`, `var t: text = any text` |
//! | table; its keys are those that are used, or declared | `table accounts(id) { balance: int, owner: text }`, `table seats(no in 1..4)` |
//! | initial rows; what is not mentioned does not exist | `init { accounts["x"].balance = 60; insert seats[1]; maybe seats[2] }` |
//! | restriction of open values | `assume forall a in accounts: a.balance >= 0`, `assume withdraw.amount > 0` |
//! | transaction | `txn withdraw(from, amount: int) { .. }` |
//! | sessions, and what each runs | `run a(); b() \|\| 3 * inc() \|\| c(any int in 0..10)` |
//! | what holds in the last state | `invariant "name": x + y > 0` |
//! | what holds in every state that a read-only transaction may see | `observer x <= y` |
//!
//! Statements: `let n = e`, `x = e`, `t[k].f += e`, `-=`, `if c { } else if c { } else { }`, `for r in t { }`,
//! `for i in 1..3 { }`, `insert t[k] { f: e }`, `delete t[k]`, `abort`, `assert c`; `let a = e, b = e` for what one
//! statement reads, `update r in t where c { f: e }`, `delete r in t[k] where c`, `insert r in t[k] { f: e } on conflict
//! update { f: r.f }` or `.. nothing`, each perhaps with `let n =` before it. Expressions: numbers, `true`, `false`,
//! texts in double quotes, names, `t[k].f`, `r.f`, `exists t[k]`, `forall r in t: c`, `exists r in t: c`,
//! `count r in t: c`, `sum r in t: e`, `if c then e else e`. Operators, the tightest first: unary `-`, `*`, `+` and `-`,
//! comparisons, `not`, `and`, `or`, `implies`; a quantifier and a choice reach as far as they can. Ranges include both
//! ends. `any int in 0..10`, `any bool`, `any Color` leave a value open.
//!
//! # What it means
//!
//! - The unit of reading, writing and conflict is a scalar or a whole row. Every access in the text is one read; a row
//!   of a loop or quantifier is read once and, if the transaction may have written it since, again.
//! - `and`, `or`, `implies` and choices evaluate, and read, no more than they need. A quantifier is a scan: it reads
//!   all rows of its table, also those that do not exist.
//! - A field of a row that does not exist reads as 0, `false`, `""` or the first of its enum; assignment to it does
//!   nothing, as UPDATE; `delete` of it does nothing. Assignment to a field reads the row and writes it as a whole.
//!   Key and values are computed first, then the row is read.
//! - `insert` of a row that the transaction sees aborts it, as a violated primary key. Fields not named get defaults.
//! - `e for update` locks what it reads until the transaction ends: of two that lock a unit, or of which one locks it and
//!   the other writes it, one sees the other, under every level. A row that does not exist cannot be locked.
//!   `count r in t for update: c` and `for r in t for update { }` lock all rows that exist.
//! - What a database executes as one statement has a [`StatementId`] of its own: an access by key, all rows of a loop or
//!   quantifier, an assignment, an `insert`, a `delete`. What an assignment computes from is read before, by statements of
//!   its own; only `+=` and `-=` compute inside of the statement. Levels of databases look at this, those of papers do not.
//! - `update` and `delete` by a condition look at all rows of a table first ([`ReadMode::Search`]); those that fit are read
//!   again, and changed if they still fit. A row that is named by its key is looked at once ([`ReadMode::Check`]), and so is one
//!   that `insert .. on conflict` may find.
//! - A transaction sees its own writes. `abort` undoes all of them, and so does every other end but a commit.
//! - Arithmetic beyond the width is [`Outcome::Overflow`], an `insert` with a key that is none of the table's rows is
//!   [`Outcome::NoSuchRow`]: neither is silent.
//! - A key may depend on what is read; a key that is no row is a row that does not exist.
//! - An assumption about `txn.parameter` holds for every instance of that transaction.

mod any_number;
mod error;
mod execution;
mod flatten;
mod ids;
mod interpret;
mod lexer;
mod parser;
#[cfg(test)]
mod plain;
mod print;
mod program;
mod robust;
#[cfg(test)]
mod round_trip;
mod showing;
mod syntax;
mod templates;
mod txn_level;
mod updates;
mod value;

pub use any_number::{AnyNumber, Exhaustive, go_through};
pub use error::{Place, ProgramError, Span};
pub use execution::{Request, Run, WrongWriter, run_execution, run_reads};
pub use ids::{DomainId, InstanceId, LocalId, ReadId, StatementId, SymbolId, TableId, UnitId};
pub use interpret::{
    Judgement, Outcome, Source, TxnRun, TxnStep, initial_state, judge, judge_assumptions, run_instance,
};
pub use program::{
    AbortCause, Arith, Claim, Domain, Expr, Field, Initial, Instance, Local, Program, Read, ReadMode, Stmt, Symbol,
    Table, Unit, UnitKind, UnitPart,
};
pub use robust::{NotRobust, RobustnessCheck, check_robust};
pub use showing::{Looks, Showing, showing};
pub use templates::{Access, AccessKind, Constant, Parts, Relation, RowKey, Template, Templates, Variable, Way};
pub use txn_level::TxnLevel;
pub use value::{Type, UnitValue, Value};

/// Reads a program. `file` is what messages call it.
pub fn parse(text: &str, file: &str) -> Result<Program, Vec<ProgramError>> {
    let parsed = parser::parse_items(text);
    let flat = if parsed.problems.is_empty() { flatten::flatten(&parsed, file, text) } else { Err(parsed.problems) };
    flat.map_err(|problems| located(problems, file, text))
}

/// The same program in one layout. Comments are left out.
pub fn pretty(text: &str, file: &str) -> Result<String, Vec<ProgramError>> {
    let parsed = parser::parse_items(text);
    if parsed.problems.is_empty() { Ok(print::print(&parsed.items)) } else { Err(located(parsed.problems, file, text)) }
}

fn located(problems: Vec<error::Problem>, file: &str, text: &str) -> Vec<ProgramError> {
    problems.into_iter().map(|it| it.locate(file, text)).collect()
}
