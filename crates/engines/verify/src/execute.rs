//! Symbolic execution: what an instance does, as wires over what it reads and over the open values.
//!
//! Both ways of each branch are followed, and every effect is guarded by the way that leads to it, so the summary of an
//! instance is as long as its text.

use crate::record::{Record, Shapes, truth_term};
use crate::term::{Calculator, Term};
use iso_program::{Expr, Instance, Program, ReadId, ReadMode, Span, StatementId, Stmt, UnitId, UnitPart};
use iso_solve::{Circuit, Wire};
use std::collections::BTreeMap;

/// What an instance does.
#[derive(Clone, Debug)]
pub(crate) struct Summary {
    /// By read: is the outside asked?
    pub(crate) asks: Vec<Wire>,
    /// What is written, if the instance commits.
    pub(crate) writes: BTreeMap<UnitId, Write>,
    /// What is locked in the end, if the instance commits.
    pub(crate) locks: BTreeMap<UnitId, Wire>,
    /// By read: does it lock?
    pub(crate) locking: Vec<Wire>,
    /// Every unit that a statement locks until the instance ends, by writing it or by `for update`.
    pub(crate) touches: Vec<Touch>,
    /// Does it commit?
    pub(crate) commits: Wire,
    /// What can go wrong.
    pub(crate) failures: Vec<Failure>,
}

/// A unit that a statement may lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    pub(crate) unit: UnitId,
    /// The statement, and the read of it if that has a moment of its own.
    pub(crate) statement: StatementId,
    pub(crate) read: Option<ReadId>,
    pub(crate) happens: Wire,
    pub(crate) hold: Hold,
}

/// How long a touch keeps others away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// From whoever locks or writes the unit.
    Lock,
    /// The row did not fit, or was there already, and some databases lock it nevertheless; perhaps together with others.
    Look,
}

/// A unit that an instance may write.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    /// Does it?
    pub(crate) happens: Wire,
    pub(crate) value: Record,
}

/// Something that must not happen.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) happens: Wire,
    pub(crate) kind: FailureKind,
    pub(crate) span: Span,
}

/// What can go wrong inside of a transaction, or of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// An assertion is false.
    Assertion,
    /// An integer leaves the program's width.
    Overflow,
    /// A row is inserted that the program's tables do not have.
    NoSuchRow,
}

/// What expressions are made of.
pub(crate) struct Scope<'a> {
    pub(crate) shapes: Shapes<'a>,
    pub(crate) calculator: Calculator<'a>,
    /// By symbol.
    pub(crate) symbols: &'a [Term],
    /// By read, once it was made.
    pub(crate) reads: Vec<Option<Record>>,
    /// By local, once it was bound.
    pub(crate) locals: Vec<Option<Term>>,
    /// By unit, in claims.
    pub(crate) state: &'a [Record],
    pub(crate) failures: Vec<Failure>,
    /// Did something fail so far?
    failed: Wire,
}

impl<'a> Scope<'a> {
    pub(crate) fn new(
        program: &'a Program,
        calculator: Calculator<'a>,
        symbols: &'a [Term],
        state: &'a [Record],
    ) -> Self {
        let shapes = Shapes { program };
        let (reads, locals, failures) = (Vec::new(), Vec::new(), Vec::new());
        Self { shapes, calculator, symbols, reads, locals, state, failures, failed: Wire::FALSE }
    }

    fn circuit(&mut self) -> &mut Circuit {
        self.calculator.circuit
    }

    /// A truth value.
    pub(crate) fn truth(&mut self, expr: &Expr, guard: Wire) -> Wire {
        match expr {
            Expr::Not(of) => !self.truth(of, guard),
            Expr::And(parts) => {
                let mut so_far = Wire::TRUE;
                for part in parts {
                    let guard = self.circuit().both(guard, so_far);
                    let part = self.truth(part, guard);
                    so_far = self.circuit().both(so_far, part);
                }
                so_far
            }
            Expr::Or(parts) => {
                let mut so_far = Wire::FALSE;
                for part in parts {
                    let guard = self.circuit().both(guard, !so_far);
                    let part = self.truth(part, guard);
                    so_far = self.circuit().either(so_far, part);
                }
                so_far
            }
            Expr::Equal(left, right) => {
                let (left, right) = (self.term(left, guard), self.term(right, guard));
                self.calculator.equals(&left, &right)
            }
            Expr::Less(left, right) => {
                let (left, right) = (self.term(left, guard), self.term(right, guard));
                self.calculator.less_than(&left, &right)
            }
            Expr::Read(read, UnitPart::Exists) => self.read(*read).exists,
            Expr::State(unit, UnitPart::Exists) => self.state[unit.index()].exists,
            Expr::If(condition, yes, no) => {
                let condition = self.truth(condition, guard);
                let (then, otherwise) = (self.circuit().both(guard, condition), self.circuit().both(guard, !condition));
                let (yes, no) = (self.truth(yes, then), self.truth(no, otherwise));
                self.circuit().choose(condition, yes, no)
            }
            other => self.term(other, guard).word.bits()[0],
        }
    }

    /// A value of any type.
    pub(crate) fn term(&mut self, expr: &Expr, guard: Wire) -> Term {
        match expr {
            Expr::Const(value) => self.shapes.constant(*value),
            Expr::Symbol(symbol) => self.symbols[symbol.index()].clone(),
            Expr::Local(local) => self.locals[local.index()].clone().expect("a name is bound before it is used"),
            Expr::Read(read, UnitPart::Field(field)) => self.read(*read).fields[*field].clone(),
            Expr::State(unit, UnitPart::Field(field)) => self.state[unit.index()].fields[*field].clone(),
            Expr::Arith { op, left, right, span } => {
                let (left, right) = (self.term(left, guard), self.term(right, guard));
                let (result, overflows) = self.calculator.compute(*op, &left, &right);
                let happens = self.circuit().both(guard, overflows);
                self.fail(happens, FailureKind::Overflow, *span);
                result
            }
            Expr::If(condition, yes, no) => {
                let condition = self.truth(condition, guard);
                let (then, otherwise) = (self.circuit().both(guard, condition), self.circuit().both(guard, !condition));
                let (yes, no) = (self.term(yes, then), self.term(no, otherwise));
                Term::choose(condition, &yes, &no, self.circuit())
            }
            truth => {
                let truth = self.truth(truth, guard);
                truth_term(truth)
            }
        }
    }

    /// A read that was not made is only mentioned where nothing depends on it.
    fn read(&self, read: ReadId) -> Record {
        self.reads[read.index()].clone().expect("a read is made before it is used")
    }

    /// Only the first failure counts: nothing comes after it, not even in the same expression.
    pub(crate) fn fail(&mut self, happens: Wire, kind: FailureKind, span: Span) {
        let failed = self.failed;
        let happens = self.circuit().both(happens, !failed);
        if happens != Wire::FALSE {
            self.failed = self.circuit().either(failed, happens);
            self.failures.push(Failure { happens, kind, span });
        }
    }
}

/// The state before everything.
pub(crate) struct Start {
    /// By unit.
    pub(crate) state: Vec<Record>,
    /// An initial value that does not fit is none.
    pub(crate) failures: Vec<Failure>,
}

/// What the units hold before anything runs.
pub(crate) fn initial(program: &Program, calculator: Calculator<'_>, symbols: &[Term]) -> Start {
    let mut scope = Scope::new(program, calculator, symbols, &[]);
    let mut state = Vec::new();
    for (idx, of) in program.initial().iter().enumerate() {
        let exists = scope.truth(&of.exists, Wire::TRUE);
        let fields = of.fields.iter().map(|it| scope.term(it, exists)).collect();
        let missing = scope.shapes.missing(UnitId::from_index(idx));
        let present = Record { exists: Wire::TRUE, fields };
        state.push(Record::choose(exists, &present, &missing, scope.circuit()));
    }
    Start { state, failures: scope.failures }
}

/// Executes an instance. `outside` says what a read finds there.
pub(crate) fn execute(
    program: &Program,
    instance: &Instance,
    calculator: Calculator<'_>,
    symbols: &[Term],
    outside: &dyn Fn(ReadId, UnitId) -> Record,
) -> Summary {
    let mut scope = Scope::new(program, calculator, symbols, &[]);
    scope.reads = vec![None; instance.reads.len()];
    scope.locals = vec![None; instance.locals.len()];
    let asks = vec![Wire::FALSE; instance.reads.len()];
    let (own, locks, locking) = (BTreeMap::new(), BTreeMap::new(), asks.clone());
    let mut run =
        Execution { instance, scope, outside, own, asks, locks, locking, touches: Vec::new(), ended: Wire::FALSE };
    run.block(&instance.body, Wire::TRUE);
    let commits = !run.ended;
    let circuit = run.scope.calculator.circuit;
    let mut writes = BTreeMap::new();
    for (unit, write) in run.own {
        let happens = circuit.both(write.happens, commits);
        if happens != Wire::FALSE {
            writes.insert(unit, Write { happens, ..write });
        }
    }
    let locks = run.locks.into_iter().map(|(unit, it)| (unit, circuit.both(it, commits))).collect();
    let (asks, locking, touches, failures) = (run.asks, run.locking, run.touches, run.scope.failures);
    Summary { asks, writes, locks, locking, touches, commits, failures }
}

struct Execution<'a> {
    instance: &'a Instance,
    scope: Scope<'a>,
    outside: &'a dyn Fn(ReadId, UnitId) -> Record,
    own: BTreeMap<UnitId, Write>,
    asks: Vec<Wire>,
    locks: BTreeMap<UnitId, Wire>,
    locking: Vec<Wire>,
    touches: Vec<Touch>,
    /// Did it give up or fail before?
    ended: Wire,
}

impl Execution<'_> {
    fn block(&mut self, body: &[Stmt], way: Wire) {
        for stmt in body {
            let guard = self.scope.circuit().both(way, !self.ended);
            if guard == Wire::FALSE {
                self.skip(stmt);
            } else {
                self.statement(stmt, way, guard);
            }
        }
    }

    /// What is never reached may still be mentioned.
    fn skip(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Read(read) => {
                let unit = self.instance.read(*read).unit;
                self.scope.reads[read.index()] = Some(self.scope.shapes.missing(unit));
            }
            Stmt::Let { local, .. } => {
                let ty = self.instance.locals[local.index()].ty;
                self.scope.locals[local.index()] = Some(self.scope.shapes.constant(ty.default_value()));
            }
            Stmt::If { then, otherwise, .. } => {
                for stmt in then.iter().chain(otherwise) {
                    self.skip(stmt);
                }
            }
            _ => {}
        }
    }

    fn statement(&mut self, stmt: &Stmt, way: Wire, guard: Wire) {
        let n_failures = self.scope.failures.len();
        match stmt {
            Stmt::Read(read) => self.read(*read, guard),
            Stmt::Let { local, value } => {
                let value = self.scope.term(value, guard);
                self.scope.locals[local.index()] = Some(value);
            }
            Stmt::Write { unit, row, statement, .. } => {
                let is_again = |it: &iso_program::Read| it.again.is_some() && it.statement == *statement;
                let mut reads = self.instance.reads.iter();
                let read = reads.position(|it| it.unit == *unit && is_again(it)).map(ReadId::from_index);
                let hold = Hold::Lock;
                self.touches.push(Touch { unit: *unit, statement: *statement, read, happens: guard, hold });
                self.write(*unit, row.as_deref(), guard);
            }
            Stmt::If { condition, then, otherwise } => {
                let condition = self.scope.truth(condition, guard);
                self.end_failed(n_failures);
                let (yes, no) = (self.scope.circuit().both(way, condition), self.scope.circuit().both(way, !condition));
                self.block(then, yes);
                self.block(otherwise, no);
                return;
            }
            Stmt::Abort { .. } => self.ended = self.scope.circuit().either(self.ended, guard),
            Stmt::Assert { holds, span } => {
                let holds = self.scope.truth(holds, guard);
                let happens = self.scope.circuit().both(guard, !holds);
                self.scope.fail(happens, FailureKind::Assertion, *span);
            }
            Stmt::NoSuchRow { span } => self.scope.fail(guard, FailureKind::NoSuchRow, *span),
        }
        self.end_failed(n_failures);
    }

    /// What failed does nothing more.
    fn end_failed(&mut self, n_before: usize) {
        let failed: Vec<Wire> = self.scope.failures[n_before..].iter().map(|it| it.happens).collect();
        let failed = self.scope.circuit().or(failed);
        self.ended = self.scope.circuit().either(self.ended, failed);
    }

    fn read(&mut self, read: ReadId, guard: Wire) {
        let of = self.instance.read(read);
        let outside = (self.outside)(read, of.unit);
        let (value, asks) = match self.own.get(&of.unit) {
            Some(own) => {
                let value = Record::choose(own.happens, &own.value, &outside, self.scope.circuit());
                (value, self.scope.circuit().both(guard, !own.happens))
            }
            None => (outside, guard),
        };
        self.asks[read.index()] = asks;
        if of.mode == ReadMode::Check {
            let happens = self.scope.circuit().both(guard, value.exists);
            let (statement, hold) = (of.statement, Hold::Look);
            self.touches.push(Touch { unit: of.unit, statement, read: None, happens, hold });
        }
        if of.mode == ReadMode::ForUpdate {
            let locks = self.scope.circuit().both(guard, value.exists);
            self.locking[read.index()] = self.scope.circuit().both(locks, asks);
            let before = self.locks.get(&of.unit).copied().unwrap_or(Wire::FALSE);
            self.locks.insert(of.unit, self.scope.circuit().either(before, locks));
            let (statement, hold) = (of.statement, Hold::Lock);
            self.touches.push(Touch { unit: of.unit, statement, read: Some(read), happens: locks, hold });
        }
        self.scope.reads[read.index()] = Some(value);
    }

    fn write(&mut self, unit: UnitId, row: Option<&[Expr]>, guard: Wire) {
        let value = match row {
            Some(fields) => {
                let fields = fields.iter().map(|it| self.scope.term(it, guard)).collect();
                Record { exists: Wire::TRUE, fields }
            }
            None => self.scope.shapes.missing(unit),
        };
        self.put(unit, value, guard);
    }

    fn put(&mut self, unit: UnitId, value: Record, guard: Wire) {
        let write = match self.own.remove(&unit) {
            Some(before) => Write {
                happens: self.scope.circuit().either(before.happens, guard),
                value: Record::choose(guard, &value, &before.value, self.scope.circuit()),
            },
            None => Write { happens: guard, value },
        };
        self.own.insert(unit, write);
    }
}
