//! Looks for values with which a split run of templates is a run of the program that is not serializable.

use super::execute::{Executed, execute};
use super::instantiate::{Plan, Setup};
use crate::check::{self, check_facts};
use crate::{Certified, WrongEvidence};
use iso_allocate::Danger;
use iso_evidence::{Budget, Refutation, StopReason};
use iso_history::{Facts, History};
use iso_program::{
    InstanceId, Program, ProgramError, ReadId, StatementId, Symbol, Templates, TxnLevel, TxnStep, Type, UnitId, Value,
};
use iso_spec::Level;
use std::collections::BTreeSet;

/// How many values are tried.
const N_TRIES: u64 = 400;

/// A run of the program in which the first member is interrupted, with its values.
#[derive(Clone, Debug)]
pub struct SplitRun {
    /// The program with its members as `run`; the first is split.
    pub program: Program,
    /// What was added to the templates to make this program: `init` and `run`.
    pub setup: String,
    /// The values that it leaves open.
    pub symbols: Vec<Value>,
    /// The state before everything, by unit.
    pub initial: Vec<iso_program::UnitValue>,
    /// What each member did.
    pub runs: Vec<iso_program::TxnRun>,
    /// The last state, by unit.
    pub last: Vec<iso_program::UnitValue>,
    /// The level of the first member.
    pub level: TxnLevel,
    /// The statement of the first member after which the others ran.
    pub split: StatementId,
    /// The run, with a key for each field.
    pub history: History,
}

/// A run that is not serializable.
#[derive(Clone, Debug)]
pub struct BadRun {
    /// What happened.
    pub run: SplitRun,
    /// Why it is not serializable.
    pub refutation: Refutation,
}

impl SplitRun {
    /// Runs the members; nothing if one does not commit, or has to wait for another.
    fn new(setup: &Setup, symbols: &[Value], level: TxnLevel, split: StatementId) -> Option<Self> {
        let executed = execute(&setup.program, symbols, level, split)?;
        let history = executed.history(&setup.program);
        let Executed { initial, runs, last } = executed;
        let (program, setup, symbols) = (setup.program.clone(), setup.text.clone(), symbols.to_vec());
        Some(Self { program, setup, symbols, initial, runs, last, level, split, history })
    }

    /// Whose write of a unit a read found: that of nobody is the initial state.
    pub fn source(&self, reader: InstanceId, read: ReadId, unit: UnitId) -> Option<InstanceId> {
        let first = InstanceId::from_index(0);
        let is_early = || self.level.has_snapshot() || self.program.instance(first).read(read).statement <= self.split;
        let n_before = match reader.index() {
            0 if is_early() => 1,
            0 => self.runs.len(),
            later => later,
        };
        let writer = (1..n_before).rev().find(|it| self.runs[*it].writes.contains_key(&unit));
        writer.map(InstanceId::from_index)
    }
}

/// A program with members to run, read back from a saved answer.
#[derive(Clone, Debug)]
pub struct SavedSetup(Setup);

impl SavedSetup {
    /// The program that `setup` makes of templates.
    pub fn read(templates: &Templates, setup: &str) -> Result<Self, Vec<ProgramError>> {
        Setup::read(templates, setup.to_owned()).map(Self)
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.0.program
    }

    /// All runs of its members in which the first one is interrupted.
    pub fn runs(&self, symbols: &[Value], level: TxnLevel) -> Vec<SplitRun> {
        let splits = splits(&self.0.program, level).into_iter();
        splits.filter_map(|split| SplitRun::new(&self.0, symbols, level, split)).collect()
    }
}

/// The level of the catalogue whose text the run must satisfy.
pub(super) fn level_of(level: TxnLevel) -> Level {
    match level {
        TxnLevel::ReadCommitted => Level::StatementSnapshots,
        TxnLevel::SnapshotIsolation => Level::SnapshotIsolation,
        TxnLevel::RepeatableRead | TxnLevel::Serializable => Level::RowSnapshots,
    }
}

/// Tries values until the run is one that the level allows and that is not serializable, both certified.
pub(super) fn confirm(
    templates: &Templates,
    danger: &Danger,
    level: TxnLevel,
    budget: &Budget<'_>,
) -> Result<Option<Certified<BadRun>>, Trouble> {
    let Some(plan) = Plan::new(templates, danger) else { return Ok(None) };
    let program = &plan.open.program;
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut n_checked = 0;
    for attempt in 0..N_TRIES {
        budget.check().map_err(Trouble::Stopped)?;
        let symbols: Vec<Value> = program.symbols().iter().map(|it| random.value(program, it, attempt)).collect();
        for split in splits(program, level) {
            let run = SplitRun::new(&plan.open, &symbols, level, split).filter(may_be_bad);
            let Some(run) = run else { continue };
            n_checked += 1;
            if let Some(refutation) = judge(&run.history, level, budget)? {
                let closed = with_values(&plan, &run, budget)?;
                return Ok(Some(Certified::new(closed.unwrap_or(BadRun { run, refutation }))));
            }
            if n_checked > 300 {
                return Ok(None);
            }
        }
    }
    Ok(None)
}

/// The run as one of a program that has its values in it, if that comes to the same.
fn with_values(plan: &Plan<'_>, run: &SplitRun, budget: &Budget<'_>) -> Result<Option<BadRun>, Trouble> {
    let closed = plan.closed(&run.symbols);
    let closed = closed.and_then(|(setup, symbols)| SplitRun::new(&setup, &symbols, run.level, run.split));
    let Some(closed) = closed.filter(|it| it.history == run.history) else { return Ok(None) };
    let refutation = judge(&closed.history, run.level, budget)?;
    Ok(refutation.map(|refutation| BadRun { run: closed, refutation }))
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Trouble {
    Stopped(StopReason),
    Wrong(WrongEvidence),
}

/// The statements after which the first member may be split.
fn splits(program: &Program, level: TxnLevel) -> Vec<StatementId> {
    let statements: BTreeSet<StatementId> =
        program.instance(InstanceId::from_index(0)).reads.iter().map(|it| it.statement).collect();
    let mut all: Vec<StatementId> = statements.into_iter().collect();
    if level.has_snapshot() {
        all.truncate(1);
    }
    all
}

/// Everybody does something, and somebody writes.
fn may_be_bad(run: &SplitRun) -> bool {
    let writes = |it: &TxnStep| matches!(it, TxnStep::Write { .. });
    run.runs.iter().all(|it| !it.steps.is_empty()) && run.runs[1..].iter().any(|it| it.steps.iter().any(writes))
}

fn judge(history: &History, level: TxnLevel, budget: &Budget<'_>) -> Result<Option<Refutation>, Trouble> {
    let facts = Facts::new(history);
    let refutation = match check_facts(&facts, Level::Serializable, budget) {
        check::Answer::Forbidden(refutation) => refutation.into_inner(),
        check::Answer::Refused(wrong) => return Err(Trouble::Wrong(wrong)),
        _ => return Ok(None),
    };
    match check_facts(&facts, level_of(level), budget) {
        check::Answer::Allowed(_) => {}
        check::Answer::Refused(wrong) => return Err(Trouble::Wrong(wrong)),
        _ => return Ok(None),
    }
    Ok(Some(refutation))
}

/// Numbers that look random and are always the same.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit.max(1)
    }

    /// A value of a symbol: first those with which most goes well, later others.
    fn value(&mut self, program: &Program, symbol: &Symbol, attempt: u64) -> Value {
        let is_initial = symbol.name.contains('[') || !symbol.name.contains('.');
        let code = match symbol.ty {
            Type::Int => {
                let usual: [i64; 10] = [0, 1, 2, 3, 4, 5, 10, 100, -1, 1000];
                let first = if is_initial { 100 } else { 10 };
                // Small differences, so that values can be told apart.
                let some = usual[self.below(usual.len() as u64) as usize] + self.below(3).cast_signed();
                let (low, high) = program.int_range();
                let chosen = if attempt < 40 { first + self.below(8).cast_signed() } else { some };
                chosen.clamp(low, high)
            }
            Type::Bool if symbol.name.starts_with("exists ") && attempt % 4 < 2 => 1 - (attempt % 2).cast_signed(),
            _ => symbol.low + self.below(symbol.n_values()).cast_signed(),
        };
        symbol.ty.value_of(code.clamp(symbol.low, symbol.high))
    }
}
