//! Executes a split run with the interpreter, and records it field by field.
//!
//! Whether transactions are serializable is a question about what they read and wrote, and two that touch different fields
//! of a row have nothing to do with each other but for locks. So the history has a key for each field.

use iso_history::{Datum, History, HistoryBuilder, Locking, Outcome, Place, Predicate};
use iso_program::{
    Expr, Instance, InstanceId, Program, ReadId, ReadMode, StatementId, Stmt, TxnLevel, TxnRun, TxnStep, UnitId,
    UnitKind, UnitPart, UnitValue, Value, initial_state, run_instance,
};
use std::collections::{BTreeMap, BTreeSet};

/// What happened when the members ran: the first one up to a statement, the others, and the rest of the first one.
#[derive(Clone, Debug)]
pub(super) struct Executed {
    pub(super) initial: Vec<UnitValue>,
    /// By member.
    pub(super) runs: Vec<TxnRun>,
    pub(super) last: Vec<UnitValue>,
}

/// Runs the members; nothing if one does not commit, or has to wait for another.
///
/// The first one reads what is there at first up to the statement `split`, and with a snapshot always.
pub(super) fn execute(program: &Program, symbols: &[Value], level: TxnLevel, split: StatementId) -> Option<Executed> {
    let initial = initial_state(program, symbols);
    let mut state = initial.clone();
    let mut runs = Vec::new();
    for instance in program.instance_ids().skip(1) {
        let run = run_instance(program, instance, symbols, &mut |_, unit: UnitId| state[unit.index()].clone());
        apply(&run, &mut state)?;
        runs.push(run);
    }
    let first = InstanceId::from_index(0);
    let of = program.instance(first);
    let run = run_instance(program, first, symbols, &mut |read: ReadId, unit: UnitId| {
        let is_early = level.has_snapshot() || of.read(read).statement <= split;
        if is_early { initial[unit.index()].clone() } else { state[unit.index()].clone() }
    });
    apply(&run, &mut state)?;
    runs.insert(0, run);
    let executed = Executed { initial, runs, last: state };
    executed.waits_for_nobody(program, level, split).then_some(executed)
}

fn apply(run: &TxnRun, state: &mut [UnitValue]) -> Option<()> {
    if run.outcome != iso_program::Outcome::Committed {
        return None;
    }
    for (unit, value) in &run.writes {
        state[unit.index()].clone_from(value);
    }
    Some(())
}

impl Executed {
    /// Do locks let the others run between the two halves of the first?
    fn waits_for_nobody(&self, program: &Program, level: TxnLevel, split: StatementId) -> bool {
        let of = program.instance(InstanceId::from_index(0));
        let is_early = |it: &&TxnStep| level.has_snapshot() || statement(of, it) <= split;
        let own: BTreeSet<UnitId> = self.runs[0].steps.iter().filter(is_early).filter_map(locked).collect();
        self.runs[1..].iter().all(|run| match level {
            TxnLevel::ReadCommitted | TxnLevel::SnapshotIsolation => {
                run.steps.iter().filter_map(locked).all(|it| !own.contains(&it))
            }
            TxnLevel::RepeatableRead | TxnLevel::Serializable => run.writes.keys().all(|it| {
                let is_made_anew = run.writes[it] == UnitValue::Missing;
                !own.contains(it) || is_made_anew
            }),
        })
    }

    /// The run as a history: a session for each member.
    pub(super) fn history(&self, program: &Program) -> History {
        let mut builder = HistoryBuilder::new();
        for instance in program.instances() {
            builder.session(&format!("s{}", instance.session + 1));
        }
        for (idx, value) in self.initial.iter().enumerate() {
            let unit = UnitId::from_index(idx);
            for part in parts(program, unit) {
                let key = builder.key(key_of(program, unit, part));
                let value = builder.value(datum(program, value, part));
                builder.initial(key, value, Place::default());
            }
        }
        for (instance, run) in program.instances().iter().zip(&self.runs) {
            let session = builder.session(&format!("s{}", instance.session + 1));
            builder.begin(session, Place::default());
            let looks = Looks::of(instance);
            let mut own = BTreeSet::new();
            for steps in run.steps.chunk_by(|a, b| statement(instance, a) == statement(instance, b)) {
                add_statement(&mut builder, program, &looks, steps, &mut own);
            }
            builder.end(Outcome::Committed);
        }
        builder.finish().expect("an execution is a valid history")
    }
}

fn statement(of: &Instance, step: &TxnStep) -> StatementId {
    match step {
        TxnStep::Read { read, .. } => of.read(*read).statement,
        TxnStep::Write { statement, .. } => *statement,
    }
}

/// The unit that a step locks.
fn locked(step: &TxnStep) -> Option<UnitId> {
    match step {
        TxnStep::Read { unit, value, mode: ReadMode::ForUpdate, .. } if value.exists() => Some(*unit),
        TxnStep::Write { unit, .. } => Some(*unit),
        TxnStep::Read { .. } => None,
    }
}

/// What an instance looks at of the units that it reads, and what it assigns. Fields that an UPDATE leaves as they are it
/// does not look at.
struct Looks<'i> {
    instance: &'i Instance,
    reads: BTreeMap<ReadId, BTreeSet<UnitPart>>,
    /// By statement and unit the fields that it sets, also to the value that they have.
    assigned: BTreeSet<(StatementId, UnitId, usize)>,
}

impl<'i> Looks<'i> {
    fn of(instance: &'i Instance) -> Self {
        let mut looks = Self { instance, reads: BTreeMap::new(), assigned: BTreeSet::new() };
        looks.block(&instance.body);
        looks
    }

    /// Is a value what the field held before?
    fn is_kept(&self, unit: UnitId, position: usize, value: &Expr) -> bool {
        let Expr::Read(read, UnitPart::Field(of)) = value else { return false };
        let read = self.instance.read(*read);
        *of == position && read.unit == unit && matches!(read.mode, ReadMode::Update | ReadMode::Check)
    }

    fn block(&mut self, body: &[Stmt]) {
        for stmt in body {
            match stmt {
                Stmt::Let { value, .. } => self.expr(value),
                Stmt::Write { unit, row, statement, .. } => {
                    for (position, value) in row.iter().flatten().enumerate() {
                        if !self.is_kept(*unit, position, value) {
                            self.assigned.insert((*statement, *unit, position));
                            self.expr(value);
                        }
                    }
                }
                Stmt::If { condition, then, otherwise } => {
                    self.expr(condition);
                    self.block(then);
                    self.block(otherwise);
                }
                Stmt::Assert { holds, .. } => self.expr(holds),
                Stmt::Read(_) | Stmt::Abort { .. } | Stmt::NoSuchRow { .. } => {}
            }
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Read(read, part) => {
                self.reads.entry(*read).or_default().insert(*part);
            }
            Expr::Not(inner) => self.expr(inner),
            Expr::And(all) | Expr::Or(all) => all.iter().for_each(|it| self.expr(it)),
            Expr::Equal(left, right) | Expr::Less(left, right) | Expr::Arith { left, right, .. } => {
                self.expr(left);
                self.expr(right);
            }
            Expr::If(condition, yes, no) => [condition, yes, no].into_iter().for_each(|it| self.expr(it)),
            Expr::Const(_) | Expr::Symbol(_) | Expr::Local(_) | Expr::State(..) => {}
        }
    }

    fn parts(&self, read: ReadId) -> impl Iterator<Item = UnitPart> {
        self.reads.get(&read).into_iter().flatten().copied()
    }
}

fn add_statement(
    builder: &mut HistoryBuilder,
    program: &Program,
    looks: &Looks<'_>,
    steps: &[TxnStep],
    own: &mut BTreeSet<(UnitId, UnitPart)>,
) {
    let mut locking = Locking::Free;
    let writes = steps.iter().any(|it| matches!(it, TxnStep::Write { .. }));
    let mut before: BTreeMap<UnitId, UnitValue> = BTreeMap::new();
    builder.begin_statement();
    for step in steps {
        match step {
            TxnStep::Read { read, unit, value, mode, .. } => {
                before.insert(*unit, value.clone());
                let is_missed = !value.exists() && *mode != ReadMode::Plain && !writes;
                if *mode == ReadMode::ForUpdate || is_missed {
                    locking = Locking::ForUpdate;
                }
                let seen: BTreeSet<UnitPart> = looks.parts(*read).map(|it| part_of(program, *unit, it)).collect();
                for part in seen.into_iter().filter(|it| !own.contains(&(*unit, *it))) {
                    let key = builder.key(key_of(program, *unit, part));
                    if is_missed {
                        builder.omit(&table_of(program, *unit, part), Predicate::All, key);
                    } else {
                        let value = builder.value(datum(program, value, part));
                        builder.read(key, value);
                    }
                }
            }
            TxnStep::Write { unit, value, statement, .. } => {
                let is_in_place = before.get(unit).is_some_and(|it| it.exists() && value.exists());
                for part in parts(program, *unit) {
                    let is_set = match part {
                        UnitPart::Field(position) => looks.assigned.contains(&(*statement, *unit, position)),
                        UnitPart::Exists => false,
                    };
                    if is_set || !is_in_place {
                        let (key, value) =
                            (builder.key(key_of(program, *unit, part)), builder.value(datum(program, value, part)));
                        builder.write(key, value);
                        own.insert((*unit, part));
                    }
                }
            }
        }
    }
    builder.end_statement(locking);
}

/// The keys that a unit has in the history: one, or one for each field and one for whether it exists.
fn parts(program: &Program, unit: UnitId) -> Vec<UnitPart> {
    match program.unit(unit).fields.len() {
        0 => vec![UnitPart::Exists],
        1 => vec![UnitPart::Field(0)],
        n_fields => (0..n_fields).map(UnitPart::Field).chain([UnitPart::Exists]).collect(),
    }
}

fn part_of(program: &Program, unit: UnitId, part: UnitPart) -> UnitPart {
    if program.unit(unit).fields.len() == 1 { UnitPart::Field(0) } else { part }
}

/// `accounts`, or `accounts.balance` where rows have several fields.
fn table_of(program: &Program, unit: UnitId, part: UnitPart) -> String {
    let of = program.unit(unit);
    let UnitKind::Row { table, .. } = of.kind else { return of.name.clone() };
    let name = &program.tables()[table.index()].name;
    match part {
        UnitPart::Field(position) if of.fields.len() > 1 => format!("{name}.{}", of.fields[position].name),
        UnitPart::Field(_) | UnitPart::Exists => name.clone(),
    }
}

fn key_of(program: &Program, unit: UnitId, part: UnitPart) -> Datum {
    let table = table_of(program, unit, part);
    Datum::text(match program.unit(unit).kind {
        UnitKind::Var => table,
        UnitKind::Row { key, .. } => format!("{table}/{}", bare(program, key)),
    })
}

fn datum(program: &Program, value: &UnitValue, part: UnitPart) -> Datum {
    match (value, part) {
        (UnitValue::Missing, _) => Datum::Null,
        (UnitValue::Present(_), UnitPart::Exists) => Datum::text("present"),
        (UnitValue::Present(fields), UnitPart::Field(position)) => match fields[position] {
            Value::Int(number) => Datum::Int(number),
            other => Datum::text(bare(program, other)),
        },
    }
}

/// A value as the program spells it, texts without quotes.
fn bare(program: &Program, value: Value) -> String {
    match value {
        Value::Member(domain, member) => program.domains()[domain.index()].members[member as usize].clone(),
        other => program.show(other),
    }
}
