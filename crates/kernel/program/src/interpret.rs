//! Runs one instance by hand, and judges claims in a state.
//!
//! This is what programs mean: engines are compared with it, and what they find is replayed by it.

use crate::error::Span;
use crate::ids::{InstanceId, ReadId, StatementId, UnitId};
use crate::program::{AbortCause, Claim, Expr, Instance, Program, ReadMode, Stmt, UnitPart};
use crate::value::{UnitValue, Value};
use std::collections::{BTreeMap, BTreeSet};

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// It came to its end; its writes count.
    Committed,
    /// It gave up; it wrote nothing.
    Aborted {
        /// Who wanted it.
        cause: AbortCause,
        /// The statement.
        span: Span,
    },
    /// A condition that must hold did not.
    AssertFailed {
        /// The condition.
        span: Span,
    },
    /// A number left the program's width.
    Overflow {
        /// The operation.
        span: Span,
    },
    /// An `insert` had a key that is none of the program's rows.
    NoSuchRow {
        /// The statement.
        span: Span,
    },
}

/// What a transaction did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxnRun {
    /// How it ended.
    pub outcome: Outcome,
    /// Its reads and writes, in order, up to its end.
    pub steps: Vec<TxnStep>,
    /// What it leaves behind, unit by unit; nothing unless it committed.
    pub writes: BTreeMap<UnitId, UnitValue>,
    /// What its names stand for, by [`crate::LocalId`]; nothing for those that were not bound.
    pub locals: Vec<Option<Value>>,
}

impl TxnRun {
    /// The units that it held locked when it committed: what a locking read found to exist.
    pub fn locked(&self) -> BTreeSet<UnitId> {
        let lock = |it: &TxnStep| match it {
            TxnStep::Read { unit, value, mode: ReadMode::ForUpdate, .. } if value.exists() => Some(*unit),
            _ => None,
        };
        let is_committed = self.outcome == Outcome::Committed;
        self.steps.iter().filter(|_| is_committed).filter_map(lock).collect()
    }
}

/// A read or a write of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TxnStep {
    /// It read a unit.
    Read {
        /// Where.
        read: ReadId,
        /// Which.
        unit: UnitId,
        /// What it found.
        value: UnitValue,
        /// Plain, or locking.
        mode: ReadMode,
        /// Who wrote what it found.
        source: Source,
    },
    /// It wrote a unit.
    Write {
        /// Which.
        unit: UnitId,
        /// What.
        value: UnitValue,
        /// Of which statement.
        statement: StatementId,
        /// The statement in the text.
        span: Span,
    },
}

/// Where a read found its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Another transaction, or the initial state.
    Outside,
    /// The transaction itself had written the unit before.
    Itself,
}

/// Does a claim hold in a state?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It does.
    Holds,
    /// It does not.
    Fails,
    /// It has no answer, since a number left the program's width.
    Overflow {
        /// The operation.
        span: Span,
    },
}

/// Runs one instance. `symbols` has the value of each open value, and `provide` answers reads from outside: those of
/// units that the transaction has not written itself.
pub fn run_instance(
    program: &Program,
    instance: InstanceId,
    symbols: &[Value],
    provide: &mut dyn FnMut(ReadId, UnitId) -> UnitValue,
) -> TxnRun {
    check_symbols(program, symbols);
    let instance = program.instance(instance);
    let seen = Seen {
        program,
        symbols,
        locals: vec![None; instance.locals.len()],
        reads: vec![None; instance.reads.len()],
        instance: Some(instance),
        state: &[],
    };
    let mut run = Running { seen, instance, provide, steps: Vec::new(), writes: BTreeMap::new() };
    let outcome = run.block(&instance.body).err().unwrap_or(Outcome::Committed);
    let writes = if outcome == Outcome::Committed { run.writes } else { BTreeMap::new() };
    TxnRun { outcome, steps: run.steps, writes, locals: run.seen.locals }
}

/// What each unit holds before anything runs, by [`UnitId`].
pub fn initial_state(program: &Program, symbols: &[Value]) -> Vec<UnitValue> {
    check_symbols(program, symbols);
    let seen = Seen { program, symbols, locals: Vec::new(), reads: Vec::new(), instance: None, state: &[] };
    let value = |it: &Expr| seen.value(it).expect("initial values are constants and symbols");
    let unit = |it: &crate::Initial| match value(&it.exists) {
        Value::Bool(true) => UnitValue::Present(it.fields.iter().map(value).collect()),
        _ => UnitValue::Missing,
    };
    program.initial().iter().map(unit).collect()
}

/// Judges a claim in a state, which has the value of each unit.
pub fn judge(program: &Program, claim: &Claim, symbols: &[Value], state: &[UnitValue]) -> Judgement {
    check_symbols(program, symbols);
    assert_eq!(state.len(), program.units().len(), "a state has every unit");
    let seen = Seen { program, symbols, locals: Vec::new(), reads: Vec::new(), instance: None, state };
    match seen.truth(&claim.holds) {
        Ok(true) => Judgement::Holds,
        Ok(false) => Judgement::Fails,
        Err(Overflow { span }) => Judgement::Overflow { span },
    }
}

/// May the open values be these? Judges all assumptions in the initial state; the first that does not hold decides.
pub fn judge_assumptions(program: &Program, symbols: &[Value]) -> Judgement {
    let state = initial_state(program, symbols);
    let mut judged = program.assumptions().iter().map(|it| judge(program, it, symbols, &state));
    judged.find(|it| *it != Judgement::Holds).unwrap_or(Judgement::Holds)
}

fn check_symbols(program: &Program, symbols: &[Value]) {
    assert_eq!(symbols.len(), program.symbols().len(), "every open value needs a value");
    let all_fit = program.symbols().iter().zip(symbols).all(|(symbol, value)| symbol.may_be(*value));
    assert!(all_fit, "open values have values in their ranges");
}

#[derive(Debug)]
struct Overflow {
    span: Span,
}

impl From<Overflow> for Outcome {
    fn from(overflow: Overflow) -> Self {
        Self::Overflow { span: overflow.span }
    }
}

/// Everything that an expression may speak of.
struct Seen<'p> {
    program: &'p Program,
    symbols: &'p [Value],
    locals: Vec<Option<Value>>,
    reads: Vec<Option<UnitValue>>,
    instance: Option<&'p Instance>,
    state: &'p [UnitValue],
}

impl Seen<'_> {
    fn value(&self, expr: &Expr) -> Result<Value, Overflow> {
        Ok(match expr {
            Expr::Const(value) => *value,
            Expr::Symbol(symbol) => self.symbols[symbol.index()],
            Expr::Local(local) => self.locals[local.index()].expect("a name is bound before it is used"),
            Expr::Read(read, part) => {
                let value = self.reads[read.index()].as_ref().expect("a unit is read before it is used");
                let instance = self.instance.expect("only instances read");
                self.part(instance.read(*read).unit, value, *part)
            }
            Expr::State(unit, part) => self.part(*unit, &self.state[unit.index()], *part),
            Expr::Not(of) => Value::Bool(!self.truth(of)?),
            Expr::And(parts) => Value::Bool(self.all(parts, true)?),
            Expr::Or(parts) => Value::Bool(!self.all(parts, false)?),
            Expr::Equal(left, right) => Value::Bool(self.value(left)? == self.value(right)?),
            Expr::Less(left, right) => Value::Bool(self.value(left)?.code() < self.value(right)?.code()),
            Expr::Arith { op, left, right, span } => {
                let (low, high) = self.program.int_range();
                let result = op.apply(self.value(left)?.code(), self.value(right)?.code());
                let result = result.filter(|it| (low..=high).contains(it));
                Value::Int(result.ok_or(Overflow { span: *span })?)
            }
            Expr::If(condition, then, otherwise) => {
                self.value(if self.truth(condition)? { then } else { otherwise })?
            }
        })
    }

    fn truth(&self, expr: &Expr) -> Result<bool, Overflow> {
        Ok(self.value(expr)? == Value::Bool(true))
    }

    /// Are all parts so? Stops at the first that is not.
    fn all(&self, parts: &[Expr], so: bool) -> Result<bool, Overflow> {
        for part in parts {
            if self.truth(part)? != so {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn part(&self, unit: UnitId, value: &UnitValue, part: UnitPart) -> Value {
        match (part, value) {
            (UnitPart::Exists, value) => Value::Bool(value.exists()),
            (UnitPart::Field(position), UnitValue::Present(fields)) => fields[position],
            (UnitPart::Field(position), UnitValue::Missing) => {
                self.program.unit(unit).fields[position].ty.default_value()
            }
        }
    }
}

struct Running<'p, 'f> {
    seen: Seen<'p>,
    instance: &'p Instance,
    provide: &'f mut dyn FnMut(ReadId, UnitId) -> UnitValue,
    steps: Vec<TxnStep>,
    writes: BTreeMap<UnitId, UnitValue>,
}

impl Running<'_, '_> {
    /// Does all statements; the error is how the transaction ended early.
    fn block(&mut self, body: &[Stmt]) -> Result<(), Outcome> {
        for stmt in body {
            match stmt {
                Stmt::Read(read) => self.read(*read),
                Stmt::Let { local, value } => self.seen.locals[local.index()] = Some(self.seen.value(value)?),
                Stmt::Write { unit, row, statement, span } => {
                    let fields = row.as_ref().map(|it| it.iter().map(|field| self.seen.value(field)).collect());
                    let value = fields.transpose()?.map_or(UnitValue::Missing, UnitValue::Present);
                    self.write(*unit, value, *statement, *span);
                }
                Stmt::If { condition, then, otherwise } => {
                    let way = if self.seen.truth(condition)? { then } else { otherwise };
                    self.block(way)?;
                }
                Stmt::Abort { cause, span } => return Err(Outcome::Aborted { cause: *cause, span: *span }),
                Stmt::Assert { holds, span } => {
                    if !self.seen.truth(holds)? {
                        return Err(Outcome::AssertFailed { span: *span });
                    }
                }
                Stmt::NoSuchRow { span } => return Err(Outcome::NoSuchRow { span: *span }),
            }
        }
        Ok(())
    }

    fn read(&mut self, read: ReadId) {
        let place = self.instance.read(read);
        let (unit, mode) = (place.unit, place.mode);
        let own = self.writes.get(&unit).cloned();
        let source = if own.is_some() { Source::Itself } else { Source::Outside };
        let value = own.unwrap_or_else(|| (self.provide)(read, unit));
        self.steps.push(TxnStep::Read { read, unit, value: value.clone(), mode, source });
        self.seen.reads[read.index()] = Some(value);
    }

    fn write(&mut self, unit: UnitId, value: UnitValue, statement: StatementId, span: Span) {
        self.steps.push(TxnStep::Write { unit, value: value.clone(), statement, span });
        self.writes.insert(unit, value);
    }
}
