//! Histories with statements, updates and scans: the checker against the definitions, at every level.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

#[path = "../../../kernel/history/tests/common/mod.rs"]
mod common;
#[path = "../../../kernel/history/tests/common/sql.rs"]
mod sql;

use common::{Random, show};
use iso_check::{check, check_levels};
use iso_evidence::{Budget, Grounds, Refutation, Schedule, StopReason, Verdict, Witness, certify};
use iso_history::{
    Column, Comparison, Datum, Facts, History, HistoryBuilder, Locking, Outcome, Place, Predicate, Projection,
};
use iso_spec::{Catalogue, Level, Steps, evaluate};
use sql::SqlShape;
use std::collections::BTreeSet;
use std::sync::Arc;

fn is_allowed(facts: &Facts<'_>, level: Level) -> bool {
    evaluate(facts, Catalogue::builtin().of(level), &mut Steps::unlimited()).is_allowed().unwrap()
}

/// Compares all answers with the definitions, and certifies them. Gives how many levels forbid the history.
fn judge(history: &History, seed: u64) -> usize {
    let facts = Facts::new(history);
    let levels: Vec<Level> = Level::ALL.into_iter().filter(|it| !it.needs_times()).collect();
    let mut n_forbidden = 0;
    let together = check_levels(&facts, &levels, &Budget::unlimited(), &mut |_, _| {});
    for (level, answer) in levels.iter().zip(&together) {
        let by_text = is_allowed(&facts, *level);
        for verdict in [&check(history, *level, &Budget::unlimited()), &answer.verdict] {
            let place = || format!("seed {seed}, {level}, {verdict:?}\n{}", show(history));
            match verdict {
                Verdict::Allowed(_) => assert!(by_text, "{}", place()),
                Verdict::Forbidden(refutation) => {
                    assert!(!by_text, "{}", place());
                    assert_eq!(refutation.anomalies.len(), 1, "{}", place());
                }
                Verdict::Unknown(reason) => panic!("unknown: {reason}, {}", place()),
            }
            if let Err(refused) = certify(history, *level, verdict) {
                panic!("refused: {refused}, {}", place());
            }
        }
        n_forbidden += usize::from(!by_text);
    }
    n_forbidden
}

fn judge_all(n_histories: u64, shape: impl Fn(u64) -> SqlShape) {
    let mut by_number = [0, 0];
    for seed in 0..n_histories {
        let history = Random::new(seed).sql_history(shape(seed));
        by_number[usize::from(judge(&history, seed) > 0)] += 1;
    }
    assert!(by_number.iter().all(|it| *it > n_histories / 20), "{by_number:?}");
}

#[test]
fn statements_and_scans_are_judged_as_the_texts_say() {
    judge_all(600, |seed| SqlShape { n_txns: 2 + seed as usize % 2, ..SqlShape::SMALL });
}

#[test]
fn more_rows_and_transactions_are_judged_as_the_texts_say() {
    judge_all(150, |_| SqlShape { n_txns: 4, n_rows: 3, n_statements: 2, restless: 20, ..SqlShape::SMALL });
}

#[test]
fn unknown_outcomes_are_judged_as_the_texts_say() {
    judge_all(300, |_| SqlShape { indeterminate: 30, aborted: 15, ..SqlShape::SMALL });
}

/// A part that is written down and read again says the same, so that a core can be copied.
#[test]
fn cores_are_forbidden_by_themselves() {
    for seed in 0..300 {
        let history = Random::new(seed).sql_history(SqlShape::SMALL);
        for level in
            [Level::StatementSnapshots, Level::TransactionSnapshot, Level::SnapshotIsolation, Level::Serializable]
        {
            let Verdict::Forbidden(refutation) = check(&history, level, &Budget::unlimited()) else { continue };
            let is_in = |it| refutation.ops.binary_search(&it).is_ok();
            let core = Projection::verbatim(&history, &refutation.txns, is_in).history;
            let verdict = check(&core, level, &Budget::unlimited());
            assert!(
                matches!(verdict, Verdict::Forbidden(_)),
                "seed {seed}, {level}\n{}\n\n{}",
                show(&history),
                show(&core)
            );
        }
    }
}

/// What a statement of a small history may be, and may have seen.
#[derive(Clone, Copy, Debug)]
enum Small {
    Read(usize, Option<i64>),
    /// Of all rows, or of those with value 1; by row, what was returned.
    Scan {
        ones_only: bool,
        returned: [Option<i64>; 2],
    },
    Update(usize, Option<i64>),
    /// An update of all rows with value 0.
    UpdateZeros([bool; 2]),
    Write(usize, Option<i64>),
}

/// Every statement about two rows with values 0, 1 and none.
fn small_statements() -> Vec<Small> {
    const SEEN: [Option<i64>; 3] = [None, Some(0), Some(1)];
    let mut all = Vec::new();
    for row in [0, 1] {
        all.extend(SEEN.map(|it| Small::Read(row, it)));
        all.extend(SEEN.map(|it| Small::Update(row, it)));
        all.extend([Small::Write(row, Some(1)), Small::Write(row, None)]);
    }
    for first in SEEN {
        all.extend(SEEN.map(|second| Small::Scan { ones_only: false, returned: [first, second] }));
    }
    for bits in 0..4 {
        let has = |row: usize| bits >> row & 1 == 1;
        all.push(Small::Scan { ones_only: true, returned: [0, 1].map(|it| has(it).then_some(1)) });
        all.push(Small::UpdateZeros([has(0), has(1)]));
    }
    all
}

fn add_small(builder: &mut HistoryBuilder, statement: Small) {
    let rows = [0, 1].map(|it| builder.key(Datum::text(format!("t/{it}"))));
    let mut value = |it: Option<i64>| builder.value(it.map_or(Datum::Null, Datum::Int));
    let equals = |it: i64| Predicate::Compare(Column::Named("v".into()), Comparison::Equal, it.into());
    match statement {
        Small::Read(row, seen) => {
            let seen = value(seen);
            builder.read(rows[row], seen);
        }
        Small::Write(row, new) => {
            let new = value(new);
            builder.write(rows[row], new);
        }
        Small::Update(row, old) => {
            let (old, new) = (value(old), value(Some(1)));
            builder.update(rows[row], old, new);
        }
        Small::Scan { ones_only, returned } => {
            let found: Vec<_> =
                (0..2).filter(|it| returned[*it].is_some()).map(|it| (rows[it], value(returned[it]))).collect();
            builder.scan("t", if ones_only { equals(1) } else { Predicate::All }, found);
        }
        Small::UpdateZeros(found) => {
            let (zero, one) = (value(Some(0)), value(Some(1)));
            let found: Vec<_> = (0..2).filter(|it| found[*it]).map(|it| rows[it]).collect();
            builder.begin_statement();
            builder.scan("t", equals(0), found.iter().map(|it| (*it, zero)));
            for row in &found {
                builder.write(*row, one);
            }
            builder.end_statement(Locking::Free);
        }
    }
}

/// A transaction with up to two statements beside one with one, for every choice of them.
#[test]
fn every_small_history_is_judged_as_the_texts_say() {
    let all = std::env::var("ISOSCOPE_CASES").is_ok_and(|it| it == "all");
    let stride = if all { 1 } else { 23 };
    let statements = small_statements();
    let n = statements.len();
    let (mut n_judged, mut n_forbidden) = (0, 0);
    for code in (0..n * n * (n + 1)).step_by(stride) {
        let mut builder = HistoryBuilder::new();
        let (row, zero) = (builder.key("t/0".into()), builder.value(0.into()));
        builder.initial(row, zero, Place::default());
        let (first, second, third) = (code % n, code / n % n, code / n / n);
        for (name, own) in [("a", vec![Some(first), statements.get(third).map(|_| third)]), ("b", vec![Some(second)])] {
            let session = builder.session(name);
            builder.begin(session, Place::default());
            for statement in own.into_iter().flatten() {
                add_small(&mut builder, statements[statement]);
            }
            builder.end(Outcome::Committed);
        }
        let history = builder.finish().unwrap();
        n_forbidden += usize::from(judge(&history, code as u64) > 0);
        n_judged += 1;
    }
    assert!(n_forbidden > n_judged / 10 && n_forbidden < n_judged, "{n_forbidden} of {n_judged}");
}

#[test]
fn wrong_evidence_about_statements_is_refused() {
    let mut n_refused = [0, 0];
    for seed in 0..200 {
        let history = Random::new(seed).sql_history(SqlShape::SMALL);
        for level in [Level::StatementSnapshots, Level::TransactionSnapshot, Level::Serializable] {
            match check(&history, level, &Budget::unlimited()) {
                Verdict::Allowed(witness) => n_refused[0] += refuse_witnesses(&history, level, &witness),
                Verdict::Forbidden(refutation) => n_refused[1] += refuse_cores(&history, level, &refutation),
                Verdict::Unknown(reason) => panic!("{reason}"),
            }
        }
    }
    assert!(n_refused.iter().all(|it| *it > 200), "{n_refused:?}");
}

/// A schedule that lacks a piece, or has one twice, explains nothing.
fn refuse_witnesses(history: &History, level: Level, witness: &Witness) -> usize {
    let Schedule::Pieces(pieces) = &witness.schedule else { return 0 };
    let mut n_refused = 0;
    for idx in 0..pieces.len() {
        let without = [&pieces[..idx], &pieces[idx + 1..]].concat();
        let twice = [&pieces[..=idx], &pieces[idx..]].concat();
        for wrong in [without, twice] {
            let wrong = Verdict::Allowed(Witness { schedule: Schedule::Pieces(wrong), ..witness.clone() });
            assert!(certify(history, level, &wrong).is_err(), "{level}, {wrong:?}\n{}", show(history));
            n_refused += 1;
        }
    }
    n_refused
}

/// A core that lacks an operation is allowed, or lacks somebody who may have written what it saw.
fn refuse_cores(history: &History, level: Level, refutation: &Refutation) -> usize {
    let mut n_refused = 0;
    for idx in (0..refutation.ops.len()).filter(|_| refutation.local.is_none()) {
        let mut wrong = Refutation { cycle: Vec::new(), proof: None, anomalies: Vec::new(), ..refutation.clone() };
        wrong.ops.remove(idx);
        let wrong = Verdict::Forbidden(wrong);
        // A weaker level may have made the core, and this one may need less of it.
        if certify(history, level, &wrong).is_err() {
            n_refused += 1;
        } else {
            let Verdict::Forbidden(wrong) = &wrong else { continue };
            let core = Projection::verbatim(history, &wrong.txns, |it| wrong.ops.binary_search(&it).is_ok()).history;
            assert!(!is_allowed(&Facts::new(&core), level), "{level}\n{}", show(&core));
        }
    }
    n_refused
}

/// Nobody has time to make cores small, and who committed is open.
#[test]
fn cores_with_unknown_outcomes_are_certified_at_any_size() {
    let (never, at_once) = (|| None, || Some(StopReason::Timeout));
    let budget = Budget::new(&never).explained_until(&at_once);
    let shape = SqlShape { n_txns: 12, n_sessions: 4, indeterminate: 25, ..SqlShape::SMALL };
    for level in [Level::RowSnapshots, Level::StatementSnapshots, Level::TransactionSnapshot] {
        let (mut n_either_way, mut n_refused) = (0, 0);
        for seed in 0..40 {
            let history = Random::new(seed).sql_history(shape);
            let verdict = check(&history, level, &budget);
            certify(&history, level, &verdict).unwrap_or_else(|it| panic!("seed {seed}: {it}, {}", show(&history)));
            let Verdict::Forbidden(refutation) = verdict else { continue };
            let Some(Grounds::Outcomes { txn, committed, aborted }) = refutation.grounds.as_deref() else { continue };
            let (committed, aborted) = (aborted.clone(), committed.clone());
            let exchanged = Some(Arc::new(Grounds::Outcomes { txn: *txn, committed, aborted }));
            let exchanged = Verdict::Forbidden(Refutation { grounds: exchanged, ..refutation.clone() });
            n_either_way += 1;
            n_refused += usize::from(certify(&history, level, &exchanged).is_err());
        }
        assert!(n_either_way > 0 && n_refused > 0, "{level}: {n_either_way}, {n_refused} refused");
    }
}

/// Nobody has time to make cores small, so that they are too large for the text of the level.
#[test]
fn rows_that_are_made_anew_are_certified_at_any_size() {
    let (never, at_once) = (|| None, || Some(StopReason::Timeout));
    let budget = Budget::new(&never).explained_until(&at_once);
    let (level, mut n_derived) = (Level::RowSnapshots, 0);
    for seed in 0..200 {
        let history = Random::new(seed).sql_history(SqlShape { n_txns: 14, n_sessions: 4, ..SqlShape::SMALL });
        let verdict = check(&history, level, &budget);
        certify(&history, level, &verdict).unwrap_or_else(|it| panic!("seed {seed}: {it}, {}", show(&history)));
        let Verdict::Forbidden(refutation) = &verdict else { continue };
        let core = Projection::new(&Facts::new(&history), &refutation.txns, &BTreeSet::new());
        n_derived += usize::from(refutation.grounds.is_some() && core.history.makes_rows());
    }
    assert!(n_derived > 3, "{n_derived}");
}
