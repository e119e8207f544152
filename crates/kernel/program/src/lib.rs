//! What clients may run: transaction programs and their invariants, as text, as a flat typed form, and run by hand.

#![allow(dead_code, reason = "the reader of texts follows")]

mod error;
mod ids;
mod print;
mod program;
mod value;

pub use error::{Place, ProgramError, Span};
pub use ids::{DomainId, InstanceId, LocalId, ReadId, SymbolId, TableId, UnitId};
pub use program::{
    AbortCause, Arith, Claim, Domain, Expr, Field, Initial, Instance, Local, Part, Program, Read, ReadMode, Stmt,
    Symbol, Table, Unit, UnitKind,
};
pub use value::{Type, UnitValue, Value};
