//! A forbidden part makes the whole forbidden, at every level: what refutations rest on.

#[path = "../../history/tests/common/mod.rs"]
mod common;

use common::{Random, Shape, history, show};
use iso_history::{Facts, History, OpId, Outcome, Projection, TxnId};
use iso_spec::{Catalogue, Level, Prepared, Steps};
use std::collections::BTreeSet;

fn allowed_by(history: &History) -> Vec<Option<bool>> {
    let facts = Facts::new(history);
    let prepared = Prepared::new(&facts);
    let ask = |it: Level| prepared.evaluate(Catalogue::builtin().of(it), &mut Steps::unlimited()).is_allowed();
    Level::ALL.into_iter().map(ask).collect()
}

/// Read uncommitted does not say the same of a whole and its part if a list reader is indeterminate; see below.
fn is_unsure(history: &History, level: Level) -> bool {
    level.with_sessions().unwrap_or(level) == Level::ReadUncommitted
        && history.txns().any(|it| history.outcome(it) == Outcome::Indeterminate)
}

#[test]
fn read_uncommitted_does_not_judge_list_reads_of_indeterminate_outcome() {
    let text = "a unknown: l(x,1) l(x)2.1\n b: l(x,2) l(x)1.2";
    let part = history(text);
    let whole = history(&format!("{text}\n c: l(x)1.2"));
    // The read of a may have been dirty.
    assert_eq!((allowed_by(&whole)[0], allowed_by(&part)[0]), (Some(true), Some(true)));
}

#[test]
fn a_forbidden_part_makes_the_whole_forbidden() {
    let mut random = Random::new(3);
    let mut n_forbidden_parts = [0; Level::ALL.len()];
    for _ in 0..2500 {
        let history = random.history(Shape { n_ops: 4, ..Shape::MIXED });
        let facts = Facts::new(&history);
        let whole = allowed_by(&history);
        for _ in 0..3 {
            let keep: Vec<TxnId> = random.some_of(history.txns(), 80);
            let all_ops = || history.txns().flat_map(|it| history.ops(it));
            let without: BTreeSet<OpId> = random.some_of(all_ops(), 15).into_iter().collect();
            let part = Projection::new(&facts, &keep, &without);
            for (idx, is_allowed) in allowed_by(&part.history).into_iter().enumerate() {
                if is_allowed == Some(false) && whole[idx].is_some() && !is_unsure(&history, Level::ALL[idx]) {
                    n_forbidden_parts[idx] += 1;
                    let (whole_text, part_text) = (show(&history), show(&part.history));
                    assert_eq!(whole[idx], Some(false), "{}\n{whole_text}\npart\n{part_text}", Level::ALL[idx]);
                }
            }
        }
    }
    // Read uncommitted forbids little.
    for (level, n_forbidden) in Level::ALL.into_iter().zip(n_forbidden_parts) {
        let is_weak = !level.implies(Level::AdyaReadCommitted);
        assert!(n_forbidden > if is_weak { 3 } else { 100 }, "{n_forbidden_parts:?}");
    }
}
