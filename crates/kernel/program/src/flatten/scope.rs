//! Where an expression or a body stands while it is flattened: the names in scope, and the statements made so far.

use super::World;
use super::declared::Global;
use super::fold;
use crate::error::{Checked, Span, fail};
use crate::ids::{LocalId, ReadId, StatementId, TableId, UnitId};
use crate::program::{Expr, Local, Read, ReadMode, Stmt, UnitPart};
use crate::syntax;
use crate::value::{Type, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::mem;

/// An expression and its type.
#[derive(Clone, Debug)]
pub(super) struct Typed {
    pub(super) expr: Expr,
    pub(super) ty: Type,
}

/// What may be said at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// A transaction: accesses are reads, made one after the other.
    Txn,
    /// A condition on a state.
    State,
    /// A condition on the initial state and on parameters.
    Assumption,
    /// A value that depends on nothing.
    Constant,
}

/// What a name means here.
#[derive(Clone, Debug)]
pub(super) enum Binding {
    Value(Typed),
    Row(RowBinding),
}

/// The row of a loop or quantifier.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowBinding {
    pub(super) table: TableId,
    pub(super) key: Value,
    pub(super) unit: UnitId,
    /// How it was seen, and how often the transaction may have written it before.
    pub(super) seen: Seen,
    pub(super) n_writes: usize,
}

/// A unit that expressions may speak of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Seen {
    Read(ReadId),
    State(UnitId),
}

impl Seen {
    pub(super) fn part(self, part: UnitPart) -> Expr {
        match self {
            Self::Read(read) => Expr::Read(read, part),
            Self::State(unit) => Expr::State(unit, part),
        }
    }
}

/// Which values an expression may have, as far as the text alone tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Possible {
    Values(BTreeSet<Value>),
    /// More than a table may have rows.
    TooMany,
    /// It depends on what is read.
    Unknown,
}

pub(super) struct Scope<'w, 'd, 's> {
    pub(super) world: &'w mut World<'d, 's>,
    pub(super) mode: Mode,
    pub(super) names: Vec<(String, Binding)>,
    pub(super) reads: Vec<Read>,
    pub(super) locals: Vec<Local>,
    pub(super) possible: Vec<Possible>,
    /// How many statements so far may write a unit.
    pub(super) n_writes: BTreeMap<UnitId, usize>,
    pub(super) out: Vec<Stmt>,
    /// The statement of a database that reads and writes belong to, while there is one.
    statement: Option<StatementId>,
    n_statements: usize,
    /// In assumptions: the parameters of the transactions that are spoken of.
    pub(super) params: Vec<(String, Vec<(String, Typed)>)>,
    /// In assumptions: a transaction that is spoken of and is not among them.
    pub(super) missing: Option<syntax::Ident>,
}

impl<'w, 'd, 's> Scope<'w, 'd, 's> {
    pub(super) fn new(world: &'w mut World<'d, 's>, mode: Mode) -> Self {
        Self {
            world,
            mode,
            names: Vec::new(),
            reads: Vec::new(),
            locals: Vec::new(),
            possible: Vec::new(),
            n_writes: BTreeMap::new(),
            out: Vec::new(),
            statement: None,
            n_statements: 0,
            params: Vec::new(),
            missing: None,
        }
    }

    pub(super) fn lookup(&self, name: &str) -> Option<&Binding> {
        self.names.iter().rev().find(|it| it.0 == name).map(|it| &it.1)
    }

    /// Gives a name a meaning for the rest of the block. It must have none yet.
    pub(super) fn define(&mut self, name: &syntax::Ident, binding: Binding) -> Checked<()> {
        let before = match (self.lookup(&name.text), self.world.declared.global(&name.text)) {
            (Some(Binding::Row(_)), _) => "the row of a loop",
            (Some(Binding::Value(_)), _) => "the name of a value",
            // Transactions are named in `run` only, where there are no values.
            (None, None | Some(Global::Txn(_))) => {
                self.names.push((name.text.clone(), binding));
                return Ok(());
            }
            (None, Some(global)) => global.describe(),
        };
        fail(name.span, format!("`{}` is already {before}", name.text), "choose another name")
    }

    pub(super) fn writes_of(&self, unit: UnitId) -> usize {
        self.n_writes.get(&unit).copied().unwrap_or(0)
    }

    /// Looks at a unit: a new read of a transaction, or the unit of the state.
    pub(super) fn see(&mut self, unit: UnitId, mode: ReadMode, span: Span) -> Checked<Seen> {
        if self.mode != Mode::Txn {
            return Ok(Seen::State(unit));
        }
        Ok(Seen::Read(self.read(unit, mode, None, span)?))
    }

    pub(super) fn read(&mut self, unit: UnitId, mode: ReadMode, again: Option<ReadId>, span: Span) -> Checked<ReadId> {
        let read = ReadId::from_index(self.reads.len());
        let statement = self.statement_here();
        self.reads.push(Read { unit, mode, statement, again, span });
        self.push(Stmt::Read(read), span)?;
        Ok(read)
    }

    /// The statement that is being made, or a new one.
    pub(super) fn statement_here(&mut self) -> StatementId {
        self.statement.unwrap_or_else(|| {
            self.n_statements += 1;
            StatementId::from_index(self.n_statements - 1)
        })
    }

    /// Everything that this reads and writes is one statement of a database.
    pub(super) fn in_statement<T>(&mut self, flatten: impl FnOnce(&mut Self) -> Checked<T>) -> Checked<T> {
        let statement = self.statement_here();
        let outer = self.statement.replace(statement);
        let result = flatten(self);
        self.statement = outer;
        result
    }

    pub(super) fn push(&mut self, stmt: Stmt, span: Span) -> Checked<()> {
        self.world.charge(1, span)?;
        if let Stmt::Write { unit, .. } = stmt {
            *self.n_writes.entry(unit).or_default() += 1;
        }
        self.out.push(stmt);
        Ok(())
    }

    pub(super) fn bind(&mut self, name: &str, value: Typed, span: Span) -> Checked<Expr> {
        let local = LocalId::from_index(self.locals.len());
        let possible = self.possible_values(&value.expr);
        self.possible.push(possible);
        self.locals.push(Local { name: name.to_owned(), ty: value.ty });
        self.push(Stmt::Let { local, value: value.expr }, span)?;
        Ok(Expr::Local(local))
    }

    /// The same value as something that costs nothing to say again.
    pub(super) fn simple(&mut self, value: Typed, span: Span) -> Checked<Expr> {
        let is_simple =
            matches!(value.expr, Expr::Const(_) | Expr::Local(_) | Expr::Symbol(_) | Expr::Read(..) | Expr::State(..));
        if is_simple {
            return Ok(value.expr);
        }
        if self.mode == Mode::Txn {
            return self.bind("", value, span);
        }
        self.world.charge(size(&value.expr), span)?;
        Ok(value.expr)
    }

    /// Flattens something into statements of its own.
    pub(super) fn apart<T>(&mut self, flatten: impl FnOnce(&mut Self) -> Checked<T>) -> Checked<(T, Vec<Stmt>)> {
        let before = mem::take(&mut self.out);
        let result = flatten(self)?;
        Ok((result, mem::replace(&mut self.out, before)))
    }

    /// Flattens something that is evaluated only if a condition is `when`; what it reads is read only then.
    pub(super) fn guarded<T>(
        &mut self,
        condition: &mut Expr,
        when: bool,
        span: Span,
        flatten: impl FnOnce(&mut Self) -> Checked<T>,
    ) -> Checked<T> {
        let (n_reads, n_locals) = (self.reads.len(), self.locals.len());
        let (result, inner) = self.apart(flatten)?;
        if let Expr::Const(Value::Bool(truth)) = condition {
            self.keep_if(*truth == when, inner, n_reads, n_locals);
        } else if !inner.is_empty() {
            let value = Typed { expr: mem::replace(condition, fold::FALSE), ty: Type::Bool };
            // The name must be bound before the statement, and after what the condition needs.
            *condition = self.simple(value, span)?;
            let guard = if when { condition.clone() } else { fold::not(condition.clone()) };
            self.push(Stmt::If { condition: guard, then: inner, otherwise: Vec::new() }, span)?;
        }
        Ok(result)
    }

    /// Appends statements, or forgets them with all reads and names since then.
    pub(super) fn keep_if(&mut self, keep: bool, stmts: Vec<Stmt>, n_reads: usize, n_locals: usize) {
        if keep {
            self.out.extend(stmts);
        } else {
            self.reads.truncate(n_reads);
            self.locals.truncate(n_locals);
            self.possible.truncate(n_locals);
        }
    }

    pub(super) fn possible_values(&self, expr: &Expr) -> Possible {
        match expr {
            Expr::Const(value) => Possible::Values(BTreeSet::from([*value])),
            Expr::Local(local) => self.possible[local.index()].clone(),
            Expr::Symbol(symbol) => self.world.values_of_symbol(*symbol),
            Expr::If(_, then, otherwise) => {
                combine(self.possible_values(then), self.possible_values(otherwise), |a, b| {
                    a.union(&b).copied().collect()
                })
            }
            Expr::Arith { op, left, right, .. } => {
                let (low, high) = self.world.declared.int_range();
                combine(self.possible_values(left), self.possible_values(right), |left, right| {
                    let pairs = left.iter().flat_map(|a| right.iter().map(|b| (a.code(), b.code())));
                    let results = pairs.filter_map(|(a, b)| op.apply(a, b)).filter(|it| (low..=high).contains(it));
                    results.map(Value::Int).collect()
                })
            }
            _ => Possible::Unknown,
        }
    }
}

fn combine(
    left: Possible,
    right: Possible,
    join: impl FnOnce(BTreeSet<Value>, BTreeSet<Value>) -> BTreeSet<Value>,
) -> Possible {
    let values = match (left, right) {
        (Possible::Unknown, _) | (_, Possible::Unknown) => return Possible::Unknown,
        (Possible::TooMany, _) | (_, Possible::TooMany) => return Possible::TooMany,
        (Possible::Values(left), Possible::Values(right)) => join(left, right),
    };
    if values.len() > super::declared::MAX_ROWS { Possible::TooMany } else { Possible::Values(values) }
}

/// How many nodes an expression has.
fn size(expr: &Expr) -> usize {
    let inner = match expr {
        Expr::Not(of) => size(of),
        Expr::And(parts) | Expr::Or(parts) => parts.iter().map(size).sum(),
        Expr::Equal(left, right) | Expr::Less(left, right) | Expr::Arith { left, right, .. } => {
            size(left) + size(right)
        }
        Expr::If(condition, then, otherwise) => size(condition) + size(then) + size(otherwise),
        _ => 0,
    };
    inner + 1
}
