//! The levels of databases: their text about a history says the same as serializability of its pieces.

#[path = "../../history/tests/common/mod.rs"]
mod common;
#[path = "../../history/tests/common/sql.rs"]
mod sql;

use common::{Random, show};
use iso_history::{Facts, History, Snapshots};
use iso_spec::{Catalogue, DATABASE_NAMES, Level, Spec, Steps, evaluate, evaluate_plainly};
use sql::SqlShape;

fn allows(history: &History, spec: &Spec) -> bool {
    let facts = Facts::new(history);
    evaluate(&facts, spec, &mut Steps::unlimited()).is_allowed().expect("no limit")
}

fn of(level: Level) -> &'static Spec {
    Catalogue::builtin().of(level)
}

#[test]
fn database_levels_are_serializability_of_pieces() {
    let mut n_allowed = [0, 0, 0];
    for seed in 0..3000 {
        let mut random = Random::new(seed);
        let history = random.sql_history(SqlShape { n_txns: 2 + seed as usize % 2, ..SqlShape::SMALL });
        for (idx, level) in [Level::StatementSnapshots, Level::TransactionSnapshot].into_iter().enumerate() {
            let snapshots = level.snapshots().expect("it looks at statements");
            let by_text = allows(&history, of(level));
            let favourable = if idx == 0 { history.with_hidden_rows() } else { None };
            let pieces = favourable.as_ref().unwrap_or(&history).pieces(snapshots);
            let by_pieces = allows(&pieces.history, of(Level::Serializable));
            let (whole, cut) = (show(&history), show(&pieces.history));
            assert_eq!(by_text, by_pieces, "seed {seed}, {level}, text and pieces\n{whole}\n\n{cut}");
            n_allowed[idx] += usize::from(by_text);
        }
        let by_text = allows(&history, of(Level::RowSnapshots));
        let pieces = history.snapshot_pieces();
        let by_pieces = allows(&pieces.history, of(Level::Serializable));
        let (whole, cut) = (show(&history), show(&pieces.history));
        assert_eq!(by_text, by_pieces, "seed {seed}, rows, text and pieces\n{whole}\n\n{cut}");
        n_allowed[2] += usize::from(by_text);
    }
    assert!(n_allowed.iter().all(|it| (300..2700).contains(it)), "{n_allowed:?}");
}

#[test]
fn both_evaluators_agree_about_statements_and_scans() {
    for seed in 0..300 {
        let history = Random::new(seed).sql_history(SqlShape { n_txns: 2, n_statements: 2, ..SqlShape::SMALL });
        let facts = Facts::new(&history);
        for name in ["postgres.rc", "mysql.rr", "adya.pl299", "adya.pl3", "biswas.rc", "biswas.si"] {
            let spec = Catalogue::builtin().find(name).expect("it is there");
            let plainly = evaluate_plainly(&facts, spec, &mut Steps::unlimited()).is_allowed();
            assert_eq!(Some(allows(&history, spec)), plainly, "seed {seed}, {name}\n{}", show(&history));
        }
    }
}

#[test]
fn names_of_databases_mean_their_texts() {
    for (name, level) in DATABASE_NAMES.iter().filter(|it| it.0.contains('.')) {
        let text = Catalogue::builtin().levels().find(|it| it.name() == *name).expect("the catalogue has it");
        for seed in 0..200 {
            let history = Random::new(seed).sql_history(SqlShape { n_txns: 2, n_statements: 2, ..SqlShape::SMALL });
            assert_eq!(allows(&history, text), allows(&history, of(*level)), "{name}, {level}\n{}", show(&history));
        }
    }
}

/// What is implied on paper is implied for statements and scans as well.
#[test]
fn stronger_levels_allow_less_of_histories_with_scans() {
    for seed in 0..1500 {
        let history = Random::new(seed).sql_history(SqlShape::SMALL);
        let allowed: Vec<bool> = Level::ALL.iter().map(|it| allows(&history, of(*it))).collect();
        for (_, level) in Level::ALL.into_iter().enumerate().filter(|it| allowed[it.0]) {
            for weaker in level.implied() {
                let other = Level::ALL.iter().position(|it| it == weaker).expect("all levels are there");
                assert!(allowed[other], "seed {seed}: {level} and not {weaker}\n{}", show(&history));
            }
        }
        assert!(!allowed.is_empty());
    }
}

#[test]
fn a_whole_history_is_one_piece_for_each_statement_and_one_for_the_commit() {
    let history = Random::new(1).sql_history(SqlShape { n_txns: 4, ..SqlShape::SMALL });
    let pieces = history.pieces(Snapshots::PerTransaction);
    assert_eq!(pieces.txns.len(), pieces.history.n_txns());
    assert_eq!(pieces.ops.len(), pieces.history.n_ops());
    let n_commits = pieces.kinds.iter().filter(|it| **it == iso_history::PieceKind::Commit).count();
    assert_eq!(n_commits, history.n_txns());
}
