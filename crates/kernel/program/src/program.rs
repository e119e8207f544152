//! The flat form of a program: what engines and the interpreter read.
//!
//! Parameters are replaced by their arguments, loops are unrolled, keys that depend on values are spelled out over the
//! rows of the table. What remains are instances (one transaction each), whose statements read units, write units and
//! branch.

use crate::error::{Place, Span};
use crate::ids::{DomainId, InstanceId, LocalId, ReadId, StatementId, SymbolId, TableId, UnitId};
use crate::value::{Type, UnitValue, Value};
use std::collections::BTreeSet;

/// A program that means something: every name is known, every type fits, every table has finitely many rows.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) file: String,
    pub(crate) text: String,
    pub(crate) width: u32,
    pub(crate) domains: Vec<Domain>,
    pub(crate) tables: Vec<Table>,
    pub(crate) units: Vec<Unit>,
    pub(crate) symbols: Vec<Symbol>,
    pub(crate) initial: Vec<Initial>,
    pub(crate) assumptions: Vec<Claim>,
    pub(crate) instances: Vec<Instance>,
    pub(crate) invariants: Vec<Claim>,
    pub(crate) observers: Vec<Claim>,
}

/// A finite type and its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domain {
    /// `text`, or the name of the enum.
    pub name: String,
    /// The members, as the program spells them; of `text` the first is the empty one.
    pub members: Vec<String>,
}

/// A table: rows with keys, each of which exists or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// The name of its key.
    pub key: String,
    /// Its fields; there may be none.
    pub fields: Vec<Field>,
    /// Its rows, by key.
    pub rows: Vec<UnitId>,
}

/// A field of a table, or the only one of a `var`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name; empty for a `var`.
    pub name: String,
    /// Its type.
    pub ty: Type,
}

/// A unit of reading, writing and conflict: a `var`, or a whole row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// As in the program: `x`, `accounts["x"]`.
    pub name: String,
    /// What it is.
    pub kind: UnitKind,
    /// The fields of a row, or the single nameless one of a `var`.
    pub fields: Vec<Field>,
}

/// What a [`Unit`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitKind {
    /// A scalar; it always exists.
    Var,
    /// A row of a table.
    Row {
        /// The table.
        table: TableId,
        /// Its key: an integer or a text.
        key: Value,
    },
}

/// A value that the program leaves open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Where it stands: `x`, `accounts["x"].balance`, `exists rooms["a"]`, `withdraw#2.amount`.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// The smallest [`Value::code`] it may have.
    pub low: i64,
    /// The greatest [`Value::code`] it may have.
    pub high: i64,
    /// Its `any` in the text.
    pub span: Span,
}

/// What a unit holds before anything runs, as expressions over symbols.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Initial {
    /// Does it exist? True for a `var`.
    pub exists: Expr,
    /// Its fields if it exists. (If it does not, they read as defaults.)
    pub fields: Vec<Expr>,
}

/// A condition on a state: an assumption about the initial one, an invariant of the last one, or an observer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The name that the program gives it, if any.
    pub label: Option<String>,
    /// A truth value over [`Expr::State`] and, in assumptions, [`Expr::Symbol`].
    pub holds: Expr,
    /// The condition in the text.
    pub span: Span,
}

/// One transaction of `run`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The name of its `txn`.
    pub txn: String,
    /// The `txn` with a number if it runs more than once: `withdraw#2`.
    pub name: String,
    /// As in the program: `withdraw("x", any int in 0..10)`.
    pub call: String,
    /// Its parameters and what they stand for: constants, or symbols.
    pub arguments: Vec<(String, Expr)>,
    /// Its session, from 0.
    pub session: usize,
    /// Its place in its session, from 0.
    pub place: usize,
    /// Instances of one group are interchangeable: whole sessions are alike but for their symbols, and these instances
    /// stand at the same place in them. Groups are numbered from 0, in order of appearance.
    pub group: usize,
    /// Every place that reads, by [`ReadId`], in program order.
    pub reads: Vec<Read>,
    /// Every name that is bound, by [`LocalId`].
    pub locals: Vec<Local>,
    /// What it does.
    pub body: Vec<Stmt>,
    /// The call in the text.
    pub span: Span,
}

/// A place in an instance that reads a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// The unit; it is read as a whole.
    pub unit: UnitId,
    /// Plain, or locking.
    pub mode: ReadMode,
    /// The statement that it is a part of.
    pub statement: StatementId,
    /// The [`ReadMode::Search`] of the same statement that found the unit fit to be changed.
    pub again: Option<ReadId>,
    /// What asks for the read: an access, a loop or quantifier over a table, or a statement that changes a row.
    pub span: Span,
}

/// How a read treats what it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReadMode {
    /// It only looks.
    Plain,
    /// Its statement writes the unit as well, as UPDATE, INSERT and DELETE do. Levels of papers take it as plain.
    Update,
    /// Its statement writes the unit, or not, as it finds it: `UPDATE .. WHERE` of one key, `INSERT .. ON CONFLICT`.
    Check,
    /// Its statement looks for rows to change, as `UPDATE .. WHERE` does, and reads those that fit again before it writes them.
    Search,
    /// `for update`: it also locks the unit, if that exists, until the transaction ends. Who else locks or writes it comes
    /// before and is seen, or comes after and sees.
    ForUpdate,
}

/// A name bound once: a `let`, or a value that flattening needs twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Local {
    /// The name in the text; empty if the text has none.
    pub name: String,
    /// Its type.
    pub ty: Type,
}

/// A statement of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stmt {
    /// Reads a unit: what the transaction itself wrote last, or else what the outside provides.
    ///
    /// Each read stands once in the body.
    Read(ReadId),
    /// Binds a name. Each local is bound once in the body, before it is used.
    Let {
        /// The name.
        local: LocalId,
        /// Its value.
        value: Expr,
    },
    /// Writes a unit as a whole.
    ///
    /// Assignment to a field is a read of the row and, if it exists, this with the other fields as they were read.
    /// `insert` is a read, an abort if the row exists, and this. `delete` is a read and, if the row exists, this.
    Write {
        /// The unit.
        unit: UnitId,
        /// All its fields; nothing if the row ceases to exist.
        row: Option<Vec<Expr>>,
        /// The statement that it is a part of.
        statement: StatementId,
        /// The statement in the text.
        span: Span,
    },
    /// Goes one way or the other.
    If {
        /// A truth value.
        condition: Expr,
        /// What is done if it is true.
        then: Vec<Stmt>,
        /// What is done if it is false.
        otherwise: Vec<Stmt>,
    },
    /// Ends the transaction and undoes its writes.
    Abort {
        /// Who wanted it.
        cause: AbortCause,
        /// The statement in the text.
        span: Span,
    },
    /// Must be true whenever a transaction comes here.
    Assert {
        /// A truth value.
        holds: Expr,
        /// The condition in the text.
        span: Span,
    },
    /// An `insert` whose key is none of the rows that the program has: the program's tables are too small for its runs.
    NoSuchRow {
        /// The statement in the text.
        span: Span,
    },
}

/// Why a transaction gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AbortCause {
    /// `abort`.
    Asked,
    /// `insert` of a row that the transaction sees already.
    DuplicateKey,
}

/// An expression. It reads nothing itself: what it needs was read before.
///
/// Conditions decide what is evaluated: [`Expr::And`] and [`Expr::Or`] go from left to right and stop when the answer is
/// known, [`Expr::If`] takes one way. What is not evaluated cannot overflow, and may mention reads that were not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// A value.
    Const(Value),
    /// An open value.
    Symbol(SymbolId),
    /// A name bound before; in instances only.
    Local(LocalId),
    /// A part of a unit as it was read; in instances only.
    Read(ReadId, UnitPart),
    /// A part of a unit in the state that is judged; in claims only.
    State(UnitId, UnitPart),
    /// The opposite truth value.
    Not(Box<Expr>),
    /// Are all true?
    And(Vec<Expr>),
    /// Is one true?
    Or(Vec<Expr>),
    /// Are two values of one type the same?
    Equal(Box<Expr>, Box<Expr>),
    /// Is the first integer less than the second?
    Less(Box<Expr>, Box<Expr>),
    /// Arithmetic; a result outside the program's width is an overflow.
    Arith {
        /// The operation.
        op: Arith,
        /// Its left side.
        left: Box<Expr>,
        /// Its right side.
        right: Box<Expr>,
        /// The operation in the text, for messages about overflow.
        span: Span,
    },
    /// If the first is true the second, else the third.
    If(Box<Expr>, Box<Expr>, Box<Expr>),
}

/// A part of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UnitPart {
    /// Does it exist? A truth value; true for a `var`.
    Exists,
    /// The field at a position; the default of its type if the row does not exist.
    Field(usize),
}

/// An arithmetic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Arith {
    /// `+`
    Add,
    /// `-`, also with one side, which is taken from 0
    Sub,
    /// `*`
    Mul,
}

impl Arith {
    /// The result without a limit; nothing if not even 64 bits hold it.
    pub fn apply(self, left: i64, right: i64) -> Option<i64> {
        match self {
            Self::Add => left.checked_add(right),
            Self::Sub => left.checked_sub(right),
            Self::Mul => left.checked_mul(right),
        }
    }
}

impl Program {
    /// The name of the text, as whoever asked gave it.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The text that all spans point into.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Line and column where a span starts, and the text of the span.
    pub fn place(&self, span: Span) -> Place<'_> {
        span.place(&self.text)
    }

    /// How many bits an integer has, with its sign.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// The least and the greatest integer of the program's width.
    pub fn int_range(&self) -> (i64, i64) {
        let half = 1_i64 << (self.width - 1);
        (-half, half - 1)
    }

    /// The finite types, by [`DomainId`].
    pub fn domains(&self) -> &[Domain] {
        &self.domains
    }

    /// The tables, by [`TableId`].
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// The units, by [`UnitId`]: the `var`s, then the rows of each table.
    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// A unit.
    pub fn unit(&self, unit: UnitId) -> &Unit {
        &self.units[unit.index()]
    }

    /// The open values, by [`SymbolId`].
    pub fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// What each unit holds before anything runs, by [`UnitId`].
    pub fn initial(&self) -> &[Initial] {
        &self.initial
    }

    /// What the open values must satisfy; [`Expr::State`] is the initial state.
    pub fn assumptions(&self) -> &[Claim] {
        &self.assumptions
    }

    /// The transactions that run, by [`InstanceId`]: session by session.
    pub fn instances(&self) -> &[Instance] {
        &self.instances
    }

    /// The ids of the instances.
    pub fn instance_ids(&self) -> impl Iterator<Item = InstanceId> + use<> {
        (0..self.instances.len()).map(InstanceId::from_index)
    }

    /// An instance.
    pub fn instance(&self, instance: InstanceId) -> &Instance {
        &self.instances[instance.index()]
    }

    /// What must hold in the last state.
    pub fn invariants(&self) -> &[Claim] {
        &self.invariants
    }

    /// What must hold in every state that a read-only transaction may see.
    pub fn observers(&self) -> &[Claim] {
        &self.observers
    }

    /// A value as the program spells it.
    pub fn show(&self, value: Value) -> String {
        match value {
            Value::Int(number) => number.to_string(),
            Value::Bool(truth) => truth.to_string(),
            Value::Member(domain, index) => {
                let member = &self.domains[domain.index()].members[index as usize];
                if domain == DomainId::TEXT { crate::print::quoted(member) } else { member.clone() }
            }
        }
    }

    /// The value of a type that the program spells so.
    pub fn value_of(&self, ty: Type, text: &str) -> Option<Value> {
        let value = match ty {
            Type::Int => Value::Int(text.parse().ok()?),
            Type::Bool => Value::Bool(text.parse().ok()?),
            Type::Member(domain) => {
                let n_members = u32::try_from(self.domains[domain.index()].members.len()).ok()?;
                (0..n_members).map(|it| Value::Member(domain, it)).find(|it| self.show(*it) == text)?
            }
        };
        (self.show(value) == text).then_some(value)
    }

    /// What a unit holds, as a person writes it: `60`, `{ balance: 60 }`, `missing`.
    pub fn show_unit(&self, unit: UnitId, value: &UnitValue) -> String {
        let UnitValue::Present(values) = value else { return "missing".to_owned() };
        let unit = self.unit(unit);
        if unit.kind == UnitKind::Var {
            return values.iter().map(|it| self.show(*it)).collect();
        }
        let pairs = unit.fields.iter().zip(values).map(|(field, it)| format!("{}: {}", field.name, self.show(*it)));
        let pairs: Vec<String> = pairs.collect();
        if pairs.is_empty() { "{ }".to_owned() } else { format!("{{ {} }}", pairs.join(", ")) }
    }

    /// The program in which every read that stands at one of these spans locks what it reads.
    ///
    /// A span of the text stands for all instances of its `txn`, so that interchangeable ones stay so.
    #[must_use]
    pub fn locking(&self, spans: &[Span]) -> Self {
        let mut locked = self.clone();
        let reads = locked.instances.iter_mut().flat_map(|it| &mut it.reads);
        for read in reads.filter(|it| spans.contains(&it.span)) {
            read.mode = ReadMode::ForUpdate;
        }
        locked
    }
}

impl Instance {
    /// A place that reads.
    pub fn read(&self, read: ReadId) -> &Read {
        &self.reads[read.index()]
    }

    /// The units that some run of this instance writes.
    pub fn may_write(&self) -> BTreeSet<UnitId> {
        let mut units = BTreeSet::new();
        collect_writes(&self.body, &mut units);
        units
    }
}

fn collect_writes(body: &[Stmt], units: &mut BTreeSet<UnitId>) {
    for stmt in body {
        match stmt {
            Stmt::Write { unit, .. } => {
                units.insert(*unit);
            }
            Stmt::If { then, otherwise, .. } => {
                collect_writes(then, units);
                collect_writes(otherwise, units);
            }
            _ => {}
        }
    }
}

impl Symbol {
    /// May it have this value?
    pub fn may_be(&self, value: Value) -> bool {
        value.type_of() == self.ty && (self.low..=self.high).contains(&value.code())
    }

    /// How many values it may have.
    pub fn n_values(&self) -> u64 {
        self.high.abs_diff(self.low) + 1
    }
}
