//! An execution as a history with statements: what was executed as one, what it locked, and rows that it did not find.

use crate::encode::{Deed, Model};
use iso_history::{Datum, HistoryBuilder, Locking, Predicate};
use iso_program::{
    Instance, InstanceId, Looks, Program, ReadMode, Showing, StatementId, TxnStep, UnitId, UnitKind, UnitValue, Value,
    run_instance, showing,
};

/// Adds what an instance did to the open transaction, statement by statement.
pub(crate) fn add_instance(
    builder: &mut HistoryBuilder,
    program: &Program,
    model: &Model,
    node: usize,
    initial: &[UnitValue],
    looks: Looks,
) {
    let instance = InstanceId::from_index(node);
    let deed = &model.deeds[node];
    let symbols: Vec<Value> =
        program.symbols().iter().zip(&model.symbols).map(|(it, code)| it.ty.value_of(*code)).collect();
    let ran = run_instance(program, instance, &symbols, &mut |read, unit| {
        let found = deed.reads.iter().find(|it| it.0 == Some(read));
        found.map_or_else(|| initial[unit.index()].clone(), |it| it.2.clone())
    });
    let of = program.instance(instance);
    for steps in ran.steps.chunk_by(|a, b| statement(of, a) == statement(of, b)) {
        add_statement(builder, program, of, steps, looks);
    }
}

/// Adds what an observer read, each unit by a statement of its own.
pub(crate) fn add_observer(builder: &mut HistoryBuilder, program: &Program, deed: &Deed) {
    for (_, unit, value, _) in &deed.reads {
        let (key, value) = (builder.key(key_of(program, *unit)), builder.value(datum(program, value)));
        builder.read(key, value);
    }
}

fn statement(of: &Instance, step: &TxnStep) -> StatementId {
    match step {
        TxnStep::Read { read, .. } => of.read(*read).statement,
        TxnStep::Write { statement, .. } => *statement,
    }
}

fn add_statement(
    builder: &mut HistoryBuilder,
    program: &Program,
    instance: &Instance,
    steps: &[TxnStep],
    looks: Looks,
) {
    let mut locking = Locking::Free;
    builder.begin_statement();
    let writes = steps.iter().any(|it| matches!(it, TxnStep::Write { .. }));
    for step in steps {
        match step {
            TxnStep::Read { unit, value, mode, .. } => {
                let shown = showing(instance, steps, step, looks);
                if shown == Showing::Hidden {
                    continue;
                }
                let is_newest = shown == Showing::Newest;
                let is_missed = !value.exists() && is_newest && !writes;
                if is_newest && (*mode == ReadMode::ForUpdate || !writes) {
                    locking = Locking::ForUpdate;
                }
                let key = builder.key(key_of(program, *unit));
                if is_missed {
                    builder.omit(&table_of(program, *unit), Predicate::All, key);
                } else {
                    let value = builder.value(datum(program, value));
                    builder.read(key, value);
                }
            }
            TxnStep::Write { unit, value, .. } => {
                let (key, value) = (builder.key(key_of(program, *unit)), builder.value(datum(program, value)));
                builder.write(key, value);
            }
        }
    }
    builder.end_statement(locking);
}

fn table_of(program: &Program, unit: UnitId) -> String {
    match program.unit(unit).kind {
        UnitKind::Var => String::new(),
        UnitKind::Row { table, .. } => program.tables()[table.index()].name.clone(),
    }
}

/// A unit as a key: `x`, `accounts/x`, `seats/1`.
pub(crate) fn key_of(program: &Program, unit: UnitId) -> Datum {
    let of = program.unit(unit);
    Datum::text(match of.kind {
        UnitKind::Var => of.name.clone(),
        UnitKind::Row { key, .. } => format!("{}/{}", table_of(program, unit), bare(program, key)),
    })
}

/// What a unit holds; a row that does not exist is null.
pub(crate) fn datum(program: &Program, value: &UnitValue) -> Datum {
    let UnitValue::Present(fields) = value else { return Datum::Null };
    match &fields[..] {
        [] => Datum::text("present"),
        [Value::Int(number)] => Datum::Int(*number),
        [only] => Datum::text(bare(program, *only)),
        many => Datum::text(many.iter().map(|it| program.show(*it)).collect::<Vec<_>>().join(", ")),
    }
}

/// A value as the program spells it, texts without quotes.
pub(crate) fn bare(program: &Program, value: Value) -> String {
    match value {
        Value::Member(domain, member) => program.domains()[domain.index()].members[member as usize].clone(),
        other => program.show(other),
    }
}
