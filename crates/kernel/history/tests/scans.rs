//! Scans: what they omit, who may have written what they saw, and what the builder refuses.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;
#[path = "common/sql.rs"]
mod sql;

use common::{Random, show};
use iso_history::{
    Access, Column, Comparison, Datum, Extent, Facts, History, HistoryBuilder, KeyId, LocalKind, Locking, Matching,
    Name, Op, OpId, Outcome, Place, Predicate, Projection, TxnId, ValueId,
};
use sql::SqlShape;
use std::collections::BTreeSet;

fn writes(history: &History, key: KeyId) -> Vec<(TxnId, OpId, ValueId)> {
    let ops = history.txns().flat_map(|txn| history.ops(txn).map(move |op| (txn, op)));
    ops.filter_map(|(txn, op)| match history.op(op) {
        Op::Write { key: it, value } if it == key => Some((txn, op, value)),
        _ => None,
    })
    .collect()
}

/// By the words of the definition: a row that is not returned, of which some version matches that was not rolled back.
#[test]
fn scans_omit_the_rows_that_might_have_matched() {
    let mut n_omitted = 0;
    for seed in 0..2_000 {
        let history = Random::new(seed).sql_history(SqlShape { n_rows: 3, aborted: 20, ..SqlShape::SMALL });
        for id in history.scans() {
            let scan = history.scan(id);
            assert_eq!(scan.extent, Extent::Whole);
            let keys = |wanted: Access| -> BTreeSet<KeyId> {
                let is_wanted = |op: &OpId| matches!(history.op(*op), Op::Omit { .. }) == (wanted == Access::Omit);
                scan.ops().filter(is_wanted).map(|it| history.op(it).key()).collect()
            };
            let (returned, omitted) = (keys(Access::Read), keys(Access::Omit));
            let may_match = |key: KeyId| {
                let initial = [history.initial_value(key)];
                let kept = writes(&history, key).into_iter().filter(|it| history.outcome(it.0) != Outcome::Aborted);
                initial.into_iter().chain(kept.map(|it| it.2)).any(|it| history.matches(id, key, it))
            };
            let expected: BTreeSet<KeyId> =
                history.keys().filter(|it| !returned.contains(it) && may_match(*it)).collect();
            assert_eq!(omitted, expected, "seed {seed}\n{}", show(&history));
            n_omitted += omitted.len();
        }
    }
    assert!(n_omitted > 500, "{n_omitted}");
}

#[test]
fn an_omission_saw_one_of_those_who_wrote_what_does_not_match() {
    for seed in 0..2_000 {
        let shape = SqlShape { n_rows: 3, aborted: 20, ..SqlShape::SMALL };
        let history = Random::new(seed).sql_history(shape);
        let facts = Facts::new(&history);
        for (idx, read) in facts.reads().iter().enumerate() {
            let Op::Omit { key, scan } = history.op(read.op) else { continue };
            let writes = writes(&history, key);
            assert!(!writes.iter().any(|it| it.0 == read.reader && it.1 < read.op), "it is external");
            let is_final = |it: &&(TxnId, OpId, ValueId)| !writes.iter().any(|other| other.0 == it.0 && other.1 > it.1);
            let mut expected: Vec<TxnId> = writes
                .iter()
                .filter(is_final)
                .filter(|it| it.0 != read.reader && history.outcome(it.0) != Outcome::Aborted)
                .filter(|it| !history.matches(scan, key, it.2))
                .map(|it| it.0)
                .collect();
            if !history.matches(scan, key, history.initial_value(key)) {
                expected.insert(0, TxnId::INITIAL);
            }
            assert_eq!(
                facts.candidates(idx),
                expected,
                "seed {seed}, {}\n{}",
                history.render_op(read.op),
                show(&history)
            );
            let is_unexplained = |it: &iso_history::LocalAnomaly| it.op == read.op;
            assert_eq!(expected.is_empty(), facts.local().iter().any(is_unexplained), "seed {seed}");
        }
    }
}

/// A part with everything in it says the same as the whole.
#[test]
fn a_part_keeps_statements_scans_and_locks() {
    for seed in 0..500 {
        let history = Random::new(seed).sql_history(SqlShape { n_rows: 3, ..SqlShape::SMALL });
        let all: Vec<TxnId> = history.txns().collect();
        let part = Projection::verbatim(&history, &all, |_| true);
        assert_eq!(part.ops.len(), history.n_ops());
        for (op, twin) in part.ops.iter().enumerate().map(|it| (OpId::from_index(it.0), *it.1)) {
            let (here, there) = (part.history.statement_of(op), history.statement_of(twin));
            let in_whole: Vec<OpId> = here.ops().map(|it| part.ops[it.index()]).collect();
            assert_eq!(in_whole, there.ops().collect::<Vec<OpId>>(), "seed {seed}\n{}", show(&history));
            assert_eq!(part.history.sees_newest(op), history.sees_newest(twin), "seed {seed}\n{}", show(&history));
            assert_eq!(part.history.scan_of(op).is_some(), history.scan_of(twin).is_some());
        }
        let (facts, of_part) = (Facts::new(&history), Facts::new(&part.history));
        let candidates =
            |it: &Facts<'_>| (0..it.reads().len()).map(|idx| it.candidates(idx).to_vec()).collect::<Vec<_>>();
        assert_eq!(candidates(&facts), candidates(&of_part), "seed {seed}\n{}", show(&history));
    }
}

fn below(bound: i64) -> Predicate {
    Predicate::Compare(Column::Named("v".into()), Comparison::Less, bound.into())
}

fn one_scan(rows: &[(&str, i64)], predicate: Predicate) -> HistoryBuilder {
    let mut builder = HistoryBuilder::new();
    let source = builder.source("f", iso_history::PlaceUnit::Line);
    let session = builder.session("s");
    builder.begin(session, Place { source, at: 4 });
    let rows: Vec<(KeyId, ValueId)> =
        rows.iter().map(|(name, value)| (builder.key(Datum::text(*name)), builder.value((*value).into()))).collect();
    builder.scan("t", predicate, rows);
    builder.end(Outcome::Committed);
    builder
}

#[test]
fn a_scan_returns_rows_of_its_table_each_once() {
    let message = |builder: HistoryBuilder| builder.finish().unwrap_err()[0].to_string();
    assert_eq!(
        message(one_scan(&[("u/1", 0)], below(5))),
        "f: line 4: a scan of t returned u/1; its rows have names as t/1"
    );
    assert_eq!(message(one_scan(&[("t/1", 0), ("t/1", 0)], below(5))), "f: line 4: a scan of t returned t/1 twice");
}

#[test]
fn a_row_that_does_not_match_cannot_have_been_returned() {
    let history = one_scan(&[("t/1", 7)], below(5)).finish().unwrap();
    let kinds: Vec<LocalKind> = Facts::new(&history).local().iter().map(|it| it.kind).collect();
    assert!(kinds.contains(&LocalKind::Unmatched), "{kinds:?}");
}

#[test]
fn a_row_without_an_initial_value_does_not_exist_whatever_other_keys_begin_with() {
    let mut builder = one_scan(&[], below(5));
    let zero = builder.value(0.into());
    builder.default_initial(zero);
    let session = builder.session("s");
    builder.begin(session, Place::default());
    for name in ["t/1", "x"] {
        let key = builder.key(Datum::text(name));
        builder.write(key, zero);
    }
    builder.end(Outcome::Committed);
    let history = builder.finish().unwrap();
    let initial: Vec<Name<'_>> = history.keys().map(|it| history.value(history.initial_value(it))).collect();
    assert_eq!(initial, [Name::Null, Name::Int(0)]);
    let facts = Facts::new(&history);
    assert_eq!(facts.reads().len(), 1, "t/1 is omitted");
    assert_eq!(facts.candidates(0), [TxnId::INITIAL]);
}

#[test]
fn writers_say_which_versions_match_a_foreign_predicate() {
    let foreign = Predicate::Foreign("name like 'a%'".into());
    let mut builder = one_scan(&[], foreign);
    let session = builder.session("s2");
    let (key, [one, two]) = (builder.key("t/1".into()), [1, 2].map(|it| builder.value(it.into())));
    for value in [one, two] {
        builder.begin(session, Place::default());
        builder.write(key, value);
        builder.end(Outcome::Committed);
    }
    builder.matching("name like 'a%'", key, one, Matching::Matches, Place::default());
    let mut contradicted = builder.clone();
    contradicted.matching("name like 'a%'", key, one, Matching::Differs, Place::default());
    assert!(contradicted.finish().unwrap_err()[0].message.contains("is said to match"));
    let history = builder.finish().unwrap();
    let facts = Facts::new(&history);
    assert_eq!(facts.candidates(0), [TxnId::INITIAL, TxnId::from_index(3)]);
}

#[test]
fn an_update_reads_the_newest_version_and_so_does_a_statement_that_locks() {
    let mut builder = HistoryBuilder::new();
    let session = builder.session("s");
    let (x, y, zero) = (builder.key("x".into()), builder.key("y".into()), builder.value(0.into()));
    builder.begin(session, Place::default());
    builder.update(x, zero, zero);
    builder.read(y, zero);
    builder.begin_statement();
    builder.read(y, zero);
    builder.end_statement(Locking::ForUpdate);
    builder.end(Outcome::Committed);
    let history = builder.finish().unwrap();
    let newest: Vec<bool> = (0..4).map(|it| history.sees_newest(OpId::from_index(it))).collect();
    assert_eq!(newest, [true, false, false, true]);
    assert_eq!(history.render_op(OpId::from_index(3)), "r(y,0) for update");
}
