//! Random histories with statements, scans, records and parts of scans.

use iso_history::{
    Column, Comparison, Datum, History, HistoryBuilder, KeyId, Locking, Matching, Outcome, Place, Predicate,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

/// One operation, before it is known which keys and values there are.
#[derive(Clone, Debug)]
struct RawOp {
    kind: u8,
    key: Index,
    values: (Index, Index),
    table: Index,
    predicate: Index,
    rows: Vec<(Index, Index)>,
    is_locked: bool,
}

#[derive(Clone, Debug)]
struct RawStatement {
    ops: Vec<RawOp>,
    is_bracketed: bool,
    is_locking: bool,
}

/// Keys are rows of tables, of tables within tables, or neither.
const KEYS: [&str; 10] = ["t/1", "t/2", "t/-3", "t/x", "t/u/1", "t/u/2", "two words/1", "two words/a b", "free", "t"];
const TABLES: [&str; 4] = ["t", "t/u", "two words", "never"];

fn values() -> Vec<Datum> {
    let record = Datum::record([("owner", Datum::text("ann")), ("two words", Datum::Null), ("x", Datum::Int(3))]);
    let other = Datum::record([("owner", Datum::text("1")), ("x", Datum::Number("1.50".into()))]);
    vec![Datum::Int(1), Datum::Int(3), Datum::Int(7), Datum::Null, record, other, Datum::text("a \"b\"\n")]
}

fn predicates() -> Vec<Predicate> {
    let x = || Column::Named("x".into());
    let less = Predicate::Compare(x(), Comparison::Less, 3.into());
    let foreign = |it: &str| Predicate::Foreign(it.into());
    vec![
        Predicate::All,
        less.clone(),
        Predicate::Not(Box::new(less.clone())),
        Predicate::Between(Column::Key, 1.into(), 2.into()),
        Predicate::OneOf(Column::Named("owner".into()), vec!["ann".into(), 1.into()]),
        Predicate::Remainder { column: x(), divisor: 2, remainder: 1 },
        foreign("x is \"odd\""),
        Predicate::And(vec![foreign("p"), Predicate::Or(vec![less, foreign("q")])]),
    ]
}

fn op() -> impl Strategy<Value = RawOp> {
    let index = any::<Index>;
    let rows = vec((index(), index()), 0..4);
    let picks = (index(), (index(), index()), index(), index());
    (0..8u8, picks, rows, prop::bool::weighted(0.2)).prop_map(
        |(kind, (key, values, table, predicate), rows, is_locked)| RawOp {
            kind,
            key,
            values,
            table,
            predicate,
            rows,
            is_locked,
        },
    )
}

fn statement() -> impl Strategy<Value = RawStatement> {
    (vec(op(), 0..4), any::<bool>(), prop::bool::weighted(0.3))
        .prop_map(|(ops, is_bracketed, is_locking)| RawStatement { ops, is_bracketed, is_locking })
}

/// Histories with everything that SQL brings.
pub(crate) fn sql_histories() -> impl Strategy<Value = History> {
    let txns = vec((0..3usize, vec(statement(), 0..4), any::<bool>()), 0..6);
    let said = vec((0..4usize, any::<Index>(), any::<Index>()), 0..5);
    (txns, said, vec(any::<Index>(), KEYS.len()), any::<bool>()).prop_map(|(txns, said, initials, has_default)| {
        let mut builder = HistoryBuilder::new();
        let (keys, values) = (names(&mut builder), values());
        for (key, initial) in keys.iter().zip(initials) {
            let value = builder.value(initial.get(&values).clone());
            if initial.index(2) == 0 {
                builder.initial(*key, value, Place::default());
            }
        }
        if has_default {
            let value = builder.value(values[0].clone());
            builder.default_initial(value);
        }
        for (session, statements, is_committed) in &txns {
            let session = builder.session(&format!("s{session}"));
            builder.begin(session, Place::default());
            for statement in statements {
                add_statement(&mut builder, &keys, statement);
            }
            builder.end(if *is_committed { Outcome::Committed } else { Outcome::Aborted });
        }
        for (foreign, key, value) in said {
            let foreign = ["p", "q", "x is \"odd\"", "never asked"][foreign];
            let value = builder.value(value.get(&values).clone());
            builder.matching(foreign, *key.get(&keys), value, Matching::Matches, Place::default());
        }
        builder.finish().unwrap()
    })
}

fn names(builder: &mut HistoryBuilder) -> Vec<KeyId> {
    KEYS.iter().map(|it| builder.key(Datum::text(*it))).collect()
}

fn add_statement(builder: &mut HistoryBuilder, keys: &[KeyId], statement: &RawStatement) {
    let is_one = statement.is_bracketed || statement.is_locking;
    if is_one {
        builder.begin_statement();
    }
    for op in &statement.ops {
        let can_be_locked = add_op(builder, keys, op);
        if can_be_locked && op.is_locked && is_one {
            builder.lock_last_read();
        }
    }
    if is_one {
        builder.end_statement(if statement.is_locking { Locking::ForUpdate } else { Locking::Free });
    }
}

/// Adds an operation. Is it a single read?
fn add_op(builder: &mut HistoryBuilder, keys: &[KeyId], op: &RawOp) -> bool {
    let (all, predicates) = (values(), predicates());
    let key = *op.key.get(keys);
    let (old, new) = (builder.value(op.values.0.get(&all).clone()), builder.value(op.values.1.get(&all).clone()));
    let (table, predicate) = (*op.table.get(&TABLES), op.predicate.get(&predicates).clone());
    let is_row = |key: &str| key.strip_prefix(table).is_some_and(|it| it.starts_with('/'));
    let rows: Vec<KeyId> = keys.iter().zip(KEYS).filter(|it| is_row(it.1)).map(|it| *it.0).collect();
    match op.kind {
        0 | 1 => builder.read(key, old),
        2 => builder.write(key, new),
        3 => builder.update(key, old, new),
        4 if !rows.is_empty() => builder.omit(table, predicate, *op.key.get(&rows)),
        5 if !rows.is_empty() => builder.returned(table, predicate, *op.key.get(&rows), old),
        _ => {
            let mut returned: Vec<(KeyId, _)> = Vec::new();
            for (row, value) in op.rows.iter().filter(|_| !rows.is_empty()) {
                let (row, value) = (*row.get(&rows), builder.value(value.get(&all).clone()));
                if returned.iter().all(|it| it.0 != row) {
                    returned.push((row, value));
                }
            }
            builder.scan(table, predicate, returned);
        }
    }
    matches!(op.kind, 0 | 1) || (matches!(op.kind, 4 | 5) && !rows.is_empty())
}
