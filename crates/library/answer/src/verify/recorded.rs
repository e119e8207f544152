//! Is the history of a counterexample that of its execution? Names of keys and values are free, as long as each unit has
//! one key, and each of its values one value.

use iso_history::{History, KeyId, Op, OpId, Outcome, TxnId, ValueId};
use iso_program::{
    Instance, InstanceId, Looks, Program, Run, Showing, StatementId, TxnStep, UnitId, UnitValue, showing,
};
use iso_verify::{Counterexample, Ran, Seen};
use std::collections::BTreeMap;

/// What the history says otherwise than the execution, if it does.
pub(super) fn check_history(program: &Program, found: &Counterexample, initial: &[UnitValue]) -> Result<(), String> {
    check(program, found, initial, &|names, txn, _, ran| names.are_ops(&found.history, txn, &ran.reads, &ran.writes))
}

/// The same with statements: what the interpreter did as one is one statement, and locks what it should.
pub(super) fn check_statements(
    program: &Program,
    found: &Counterexample,
    run: &Run,
    looks: Looks,
) -> Result<(), String> {
    check(program, found, &run.initial, &|names, txn, instance, _| {
        names.are_steps(&found.history, txn, program.instance(instance), &run.txn(instance).steps, looks)
    })
}

/// Compares transactions one by one.
type Compare<'c> = &'c dyn Fn(&mut Names, TxnId, InstanceId, &Ran) -> bool;

fn check(program: &Program, found: &Counterexample, initial: &[UnitValue], is_same: Compare<'_>) -> Result<(), String> {
    let mut names = Names::default();
    let mut n_txns = 1;
    for instance in program.instance_ids() {
        let name = &program.instance(instance).name;
        let ran = &found.transactions[instance.index()];
        let Some(txn) = txn_of(found, instance.index()) else {
            if ran.commits {
                return Err(format!("{name} is not in the history"));
            }
            continue;
        };
        n_txns += 1;
        let outcome = if ran.commits { Outcome::Committed } else { Outcome::Aborted };
        if found.history.outcome(txn) != outcome || !is_same(&mut names, txn, instance, ran) {
            return Err(format!("{name} does something else in the history"));
        }
    }
    check_observer(found, &mut names, &mut n_txns)?;
    if n_txns != found.history.n_txns() {
        return Err("the history has other transactions".to_owned());
    }
    if !names.are_initial(&found.history, initial) {
        return Err("the history begins in another state".to_owned());
    }
    check_sessions(program, found)
}

/// The observer, if one saw something, is a transaction that only reads.
fn check_observer(found: &Counterexample, names: &mut Names, n_txns: &mut usize) -> Result<(), String> {
    let Some(observed) = &found.observed else { return Ok(()) };
    *n_txns += 1;
    let is_instance = |txn: &TxnId| found.ids.contains(&Some(*txn));
    let observer = found.history.txns().find(|it| !it.is_initial() && !is_instance(it));
    let is_same = observer.is_some_and(|it| names.are_ops(&found.history, it, &observed.reads, &[]));
    if is_same { Ok(()) } else { Err("the observer does something else in the history".to_owned()) }
}

/// Transactions of a session of the program stand in one session of the history, in the same order.
fn check_sessions(program: &Program, found: &Counterexample) -> Result<(), String> {
    for earlier in program.instance_ids() {
        for later in program.instance_ids() {
            let (one, other) = (program.instance(earlier), program.instance(later));
            let (Some(first), Some(second)) = (txn_of(found, earlier.index()), txn_of(found, later.index())) else {
                continue;
            };
            let is_before = one.session == other.session && one.place < other.place;
            if is_before != found.history.is_session_ordered(first, second) {
                return Err(format!("{} and {} stand otherwise in the history's sessions", one.name, other.name));
            }
        }
    }
    Ok(())
}

fn txn_of(found: &Counterexample, instance: usize) -> Option<TxnId> {
    found.ids[instance].filter(|it| it.index() < found.history.n_txns())
}

/// What units and their values are called in the history.
#[derive(Default)]
struct Names {
    keys: BTreeMap<UnitId, KeyId>,
    units: BTreeMap<KeyId, UnitId>,
    /// By key, each of its values and what it stands for.
    values: BTreeMap<KeyId, Vec<(ValueId, UnitValue)>>,
}

impl Names {
    /// Does a transaction have these reads, and then these writes?
    fn are_ops(&mut self, history: &History, txn: TxnId, reads: &[Seen], writes: &[(UnitId, UnitValue)]) -> bool {
        let ops: Vec<OpId> = history.ops(txn).collect();
        if ops.len() != reads.len() + writes.len() {
            return false;
        }
        let (first, rest) = ops.split_at(reads.len());
        let read = |(op, seen): (&OpId, &Seen)| match history.op(*op) {
            Op::Read { key, value } => self.is_named((key, value), (seen.unit, &seen.value)),
            _ => false,
        };
        if !first.iter().zip(reads).all(read) {
            return false;
        }
        rest.iter().zip(writes).all(|(op, (unit, written))| match history.op(*op) {
            Op::Write { key, value } => self.is_named((key, value), (*unit, written)),
            _ => false,
        })
    }

    /// Does a transaction have these steps, each in its statement? What a history does not say is left out.
    fn are_steps(
        &mut self,
        history: &History,
        txn: TxnId,
        instance: &Instance,
        steps: &[TxnStep],
        looks: Looks,
    ) -> bool {
        let statement = |it: &TxnStep| match it {
            TxnStep::Read { read, .. } => instance.read(*read).statement,
            TxnStep::Write { statement, .. } => *statement,
        };
        let mut shown: Vec<(&TxnStep, Showing)> = Vec::new();
        for of_statement in steps.chunk_by(|a, b| statement(a) == statement(b)) {
            let all = of_statement.iter().map(|it| (it, showing(instance, of_statement, it, looks)));
            shown.extend(all.filter(|it| it.1 != Showing::Hidden));
        }
        let ops: Vec<OpId> = history.ops(txn).collect();
        if ops.len() != shown.len() {
            return false;
        }
        let of: Vec<StatementId> = shown.iter().map(|it| statement(it.0)).collect();
        let is_cut_alike = (1..ops.len())
            .all(|it| (of[it - 1] == of[it]) == (history.statement_of(ops[it - 1]) == history.statement_of(ops[it])));
        is_cut_alike && ops.iter().zip(shown).all(|(op, (step, as_what))| self.is_step(history, *op, step, as_what))
    }

    fn is_step(&mut self, history: &History, op: OpId, step: &TxnStep, shown: Showing) -> bool {
        match (step, history.op(op)) {
            (TxnStep::Read { unit, value, .. }, Op::Read { key, value: read }) => {
                history.sees_newest(op) == (shown == Showing::Newest) && self.is_named((key, read), (*unit, value))
            }
            // A statement did not find the row among the newest.
            (TxnStep::Read { unit, value, .. }, Op::Omit { key, .. }) => {
                shown == Showing::Newest && !value.exists() && self.is_key(key, *unit)
            }
            (TxnStep::Write { unit, value, .. }, Op::Write { key, value: written }) => {
                self.is_named((key, written), (*unit, value))
            }
            _ => false,
        }
    }

    fn is_key(&mut self, key: KeyId, unit: UnitId) -> bool {
        *self.keys.entry(unit).or_insert(key) == key && *self.units.entry(key).or_insert(unit) == unit
    }

    /// Does each key begin with what its unit holds at first?
    fn are_initial(&mut self, history: &History, initial: &[UnitValue]) -> bool {
        let keys = self.keys.clone();
        keys.into_iter()
            .all(|(unit, key)| self.is_named((key, history.initial_value(key)), (unit, &initial[unit.index()])))
    }

    /// Is the pair called so everywhere?
    fn is_named(&mut self, (key, value): (KeyId, ValueId), (unit, of): (UnitId, &UnitValue)) -> bool {
        let is_key = self.is_key(key, unit);
        let values = self.values.entry(key).or_default();
        if let Some(known) = values.iter().find(|it| it.0 == value || it.1 == *of) {
            return is_key && known.0 == value && known.1 == *of;
        }
        values.push((value, of.clone()));
        is_key
    }
}
