//! What clients may run: transaction programs and their invariants, as text, as a flat typed form, and run by hand.

mod error;
mod execution;
mod flatten;
mod ids;
mod interpret;
mod lexer;
mod parser;
mod print;
mod program;
mod syntax;
mod value;

pub use error::{Place, ProgramError, Span};
pub use execution::{Request, Run, WrongWriter, run_execution, run_reads};
pub use ids::{DomainId, InstanceId, LocalId, ReadId, SymbolId, TableId, UnitId};
pub use interpret::{Judgement, Outcome, Source, Step, TxnRun, initial_state, judge, judge_assumptions, run_instance};
pub use program::{
    AbortCause, Arith, Claim, Domain, Expr, Field, Initial, Instance, Local, Part, Program, Read, ReadMode, Stmt,
    Symbol, Table, Unit, UnitKind,
};
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
