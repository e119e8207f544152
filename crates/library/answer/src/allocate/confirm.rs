//! Looks for values with which a split run of templates is a run of the program that is not serializable.

use super::execute::{Executed, execute};
use super::instantiate::instantiate;
use crate::check::{self, check_facts};
use crate::{Certified, WrongEvidence};
use iso_allocate::Danger;
use iso_evidence::{Budget, Refutation, StopReason};
use iso_history::{Facts, History};
use iso_program::{InstanceId, Program, StatementId, Symbol, Templates, TxnLevel, TxnStep, Type, Value};
use iso_spec::Level;
use std::collections::BTreeSet;

/// How many values are tried.
const N_TRIES: u64 = 400;

/// A run that is not serializable, with its values.
#[derive(Clone, Debug)]
pub struct BadRun {
    /// The program with its members as `run`; the first is split.
    pub program: Program,
    /// The values that it leaves open.
    pub symbols: Vec<Value>,
    /// The state before everything, by unit.
    pub initial: Vec<iso_program::UnitValue>,
    /// What each member did.
    pub runs: Vec<iso_program::TxnRun>,
    /// The last state, by unit.
    pub last: Vec<iso_program::UnitValue>,
    /// The statement of the first member after which the others ran.
    pub split: StatementId,
    /// The run, with a key for each field.
    pub history: History,
    /// Why it is not serializable.
    pub refutation: Refutation,
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
    let Some(program) = instantiate(templates, danger) else { return Ok(None) };
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut n_checked = 0;
    for attempt in 0..N_TRIES {
        budget.check().map_err(Trouble::Stopped)?;
        let symbols: Vec<Value> = program.symbols().iter().map(|it| random.value(&program, it, attempt)).collect();
        for split in splits(&program, level) {
            let Some(executed) = execute(&program, &symbols, level, split) else { continue };
            if !may_be_bad(&executed) {
                continue;
            }
            n_checked += 1;
            if let Some((history, refutation)) = judge(&program, &executed, level, budget)? {
                let Executed { initial, runs, last } = executed;
                let run = BadRun { program, symbols, initial, runs, last, split, history, refutation };
                return Ok(Some(Certified::new(run)));
            }
            if n_checked > 300 {
                return Ok(None);
            }
        }
    }
    Ok(None)
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
fn may_be_bad(executed: &Executed) -> bool {
    let writes = |it: &TxnStep| matches!(it, TxnStep::Write { .. });
    executed.runs.iter().all(|it| !it.steps.is_empty())
        && executed.runs[1..].iter().any(|it| it.steps.iter().any(writes))
}

fn judge(
    program: &Program,
    executed: &Executed,
    level: TxnLevel,
    budget: &Budget<'_>,
) -> Result<Option<(History, Refutation)>, Trouble> {
    let history = executed.history(program);
    let facts = Facts::new(&history);
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
    Ok(Some((history, refutation)))
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
