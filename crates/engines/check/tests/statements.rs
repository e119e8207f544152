//! Histories with statements, updates and scans: the checker against the definitions, at every level.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

#[path = "../../../kernel/history/tests/common/mod.rs"]
mod common;
#[path = "../../../kernel/history/tests/common/sql.rs"]
mod sql;

use common::{Random, show};
use iso_check::{check, check_levels};
use iso_evidence::{Budget, Verdict, certify};
use iso_history::{Facts, History, Projection};
use iso_spec::{Catalogue, Level, Steps, evaluate};
use sql::SqlShape;

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
