//! Levels of databases: runs with updates, locks and statements of several reads, against brute force.

use crate::draft::{Draft, Op};
use crate::generate::{Dice, trace};
use crate::oracle::{Observed, allows, each_run};
use crate::{BOUNDARIES, setting, witness};
use iso_evidence::Budget;
use iso_history::{Datum, Facts, History, HistoryBuilder, Locking, Outcome, Place};
use iso_predict::{Answer, DATABASE_LEVELS, Precision, Predictor, Question, Refused};
use iso_spec::Level;

/// So many runs may have happened instead: each is judged by the text of the level.
const N_RUNS_MAX: usize = 300;

/// The run with statements: some reads and the writes after them are updates, some reads lock, some are read together.
fn with_statements(draft: &Draft, dice: &mut Dice) -> History {
    let mut builder = HistoryBuilder::new();
    for name in ['x', 'y', 'z'] {
        let (key, zero) = (builder.key(Datum::text(name.to_string())), builder.value(0.into()));
        builder.initial(key, zero, Place::default());
    }
    for txn in &draft.txns {
        let session = builder.session(&format!("s{}", txn.session));
        builder.begin(session, Place::default());
        let mut nth = 0;
        while let Some(op) = txn.ops.get(nth) {
            let is_read = !op.is_write();
            let next = txn.ops.get(nth + 1);
            let is_update = is_read && next.is_some_and(|it| it.is_write() && it.key() == op.key());
            let n_ops = match (is_update, is_read && next.is_some_and(|it| !it.is_write())) {
                (true, _) if dice.percent(70) => 2,
                (_, true) if dice.percent(30) => 2,
                _ => 1,
            };
            builder.begin_statement();
            for op in &txn.ops[nth..nth + n_ops] {
                let key = builder.key(Datum::text(op.key().to_string()));
                let (Op::Read(_, value) | Op::Write(_, value)) = *op;
                let value = builder.value(Datum::Int(value.unwrap_or(0)));
                if op.is_write() { builder.write(key, value) } else { builder.read(key, value) }
            }
            let locking = if is_read && dice.percent(15) { Locking::ForUpdate } else { Locking::Free };
            builder.end_statement(locking);
            nth += n_ops;
        }
        builder.end(txn.outcome);
    }
    builder.finish().unwrap()
}

fn shown(history: &History) -> String {
    let txn = |it| {
        let op = |op| format!("{}{}", history.render_op(op), if history.sees_newest(op) { "!" } else { "" });
        let ops: Vec<String> = history.ops(it).map(op).collect();
        format!("{}: {} {:?}", history.label(it), ops.join(" "), history.outcome(it))
    };
    history.txns().map(txn).collect::<Vec<_>>().join("\n")
}

#[test]
fn runs_at_levels_of_databases_are_predicted_as_by_brute_force() {
    let (seed, n_cases) = (setting("ISOSCOPE_SEED", 7), setting("ISOSCOPE_CASES", 200));
    let (mut n_predicted, mut n_none) = ([0; 3], [0; 3]);
    for case in 0..n_cases {
        let mut dice = Dice::new(seed.wrapping_mul(2_000_003).wrapping_add(case));
        let history = with_statements(&trace(&mut dice, N_RUNS_MAX), &mut dice);
        let facts = Facts::new(&history);
        // Who reads an equal value of two may have read from either; the witness says from whom.
        let Some(serial) = witness(&facts, &[Level::Serializable]) else { continue };
        let observed = Observed::new(&history, &serial);
        for (at, level) in DATABASE_LEVELS.into_iter().enumerate() {
            for boundary in BOUNDARIES {
                let mut expected = None;
                each_run(&observed, boundary, &mut |run| {
                    if expected.is_none() && !run.is_serializable(&observed) && allows(&run.history(&observed), level) {
                        expected = Some(run.describe(&history));
                    }
                });
                let question = Question { level, target: Level::Serializable, boundary, precision: Precision::Exact };
                let about = || format!("case {case} {level} {boundary:?}\n{}\nexpected {expected:?}", shown(&history));
                match Predictor::new(&facts, &serial, question).unwrap().next(&Budget::unlimited()) {
                    Answer::Predicted(prediction) => {
                        let predicted = &prediction.history;
                        assert!(expected.is_some(), "{}\npredicted\n{}", about(), shown(predicted));
                        assert!(allows(predicted, level), "{}\npredicted\n{}", about(), shown(predicted));
                        assert!(!allows(predicted, Level::Serializable), "{}\n{}", about(), shown(predicted));
                        n_predicted[at] += 1;
                    }
                    Answer::None => {
                        assert!(expected.is_none(), "{}", about());
                        n_none[at] += 1;
                    }
                    Answer::Unknown(unknown) => panic!("{unknown:?} {}", about()),
                }
            }
        }
    }
    println!("by level, with a prediction {n_predicted:?}, without {n_none:?}");
    assert!(n_predicted.iter().chain(&n_none).all(|it| *it > 0), "{n_predicted:?} {n_none:?}");
}

#[test]
fn scans_are_refused_at_levels_of_databases() {
    let mut builder = HistoryBuilder::new();
    let (row, one) = (builder.key("t/1".into()), builder.value(1.into()));
    for (session, is_scan) in [("s1", true), ("s2", false)] {
        let session = builder.session(session);
        builder.begin(session, Place::default());
        if is_scan {
            builder.scan("t", iso_history::Predicate::All, []);
        } else {
            builder.write(row, one);
        }
        builder.end(Outcome::Committed);
    }
    let history = builder.finish().unwrap();
    let facts = Facts::new(&history);
    let serial = witness(&facts, &[Level::Serializable]).unwrap();
    let (level, target) = (Level::StatementSnapshots, Level::Serializable);
    let question = Question { level, target, boundary: BOUNDARIES[0], precision: Precision::Exact };
    assert!(matches!(Predictor::new(&facts, &serial, question), Err(Refused::Scan(_))));
}
