//! Closure compared with the reference evaluator.

use super::super::common::{Random, Shape, each_history, history, show};
use super::is_refuted;
use iso_history::{Facts, History};
use iso_spec::{Catalogue, Level, Prepared, Steps};

/// How often a level forbids, and how often closure says so.
#[derive(Default)]
struct Counts {
    forbidden: [usize; Level::ALL.len()],
    refuted: [usize; Level::ALL.len()],
}

impl Counts {
    /// Compares on one history; closure must not refute what a level allows.
    fn compare(&mut self, history: &History) {
        let facts = Facts::new(history);
        let prepared = Prepared::new(&facts);
        for (idx, level) in Level::usual().into_iter().enumerate() {
            let answer = prepared.evaluate(Catalogue::builtin().of(level), &mut Steps::unlimited());
            let is_refuted = is_refuted(&facts, level);
            assert!(!is_refuted || answer.is_allowed() == Some(false), "{level} allows\n{}", show(history));
            // Reads that nothing explains are refuted elsewhere.
            if answer.is_allowed() == Some(false) && facts.local().is_empty() {
                self.forbidden[idx] += 1;
                self.refuted[idx] += usize::from(is_refuted);
            }
        }
    }

    #[expect(clippy::print_stdout, reason = "shown when a bound fails, or when asked for")]
    fn assert_at_least(&self, percent: usize) {
        for (idx, level) in Level::usual().into_iter().enumerate() {
            println!("{level}: {} of {} refuted", self.refuted[idx], self.forbidden[idx]);
        }
        for (idx, level) in Level::usual().into_iter().enumerate() {
            assert!(self.refuted[idx] * 100 >= self.forbidden[idx] * percent, "{level}");
        }
    }
}

#[test]
fn every_small_history_with_unique_values_is_decided() {
    let mut counts = Counts::default();
    for (n_txns, n_keys, n_ops) in [(2, 2, 4), (3, 1, 2), (3, 2, 2)] {
        each_history(n_txns, n_keys, n_ops, &mut |history| counts.compare(history));
    }
    counts.assert_at_least(100);
}

#[test]
fn nearly_every_small_history_with_choices_is_decided() {
    let mut counts = Counts::default();
    let mut random = Random::new(1);
    for _ in 0..4000 {
        counts.compare(&random.history(Shape::MIXED));
    }
    counts.assert_at_least(98);
}

#[test]
fn larger_histories_with_unique_values_are_mostly_decided() {
    let mut counts = Counts::default();
    let mut random = Random::new(2);
    let shape = Shape { n_txns: 6, n_keys: 3, n_values: 12, indeterminate: 5, lists: 10, ..Shape::MIXED };
    for _ in 0..300 {
        counts.compare(&random.history(shape));
    }
    counts.assert_at_least(95);
}

/// Each transaction reads the initial version that the next one overwrites.
fn ring(n: usize, seen: usize) -> History {
    let line = |it: usize| format!("s{it}: r(k{it},{seen}) w(k{},1)", (it + 1) % n);
    history(&(0..n).map(line).collect::<Vec<String>>().join("\n"))
}

#[test]
fn long_cycles_are_refuted() {
    let (skew, flow) = (ring(300, 0), ring(300, 1));
    let (skew, flow) = (Facts::new(&skew), Facts::new(&flow));
    for level in Level::usual() {
        let is_serializable = level.implies(Level::Serializable);
        assert_eq!(is_refuted(&skew, level), is_serializable, "{level}");
        assert_eq!(is_refuted(&flow, level), level != Level::ReadUncommitted, "{level}");
    }
}

#[test]
fn what_is_too_large_is_not_refuted() {
    assert!(!is_refuted(&Facts::new(&ring(super::MAX_TXNS, 0)), Level::Serializable));
}

#[test]
fn a_last_candidate_of_indeterminate_outcome_took_place() {
    let history =
        history("a: w(x,1)\n a: w(x,2)\n b unknown: r(y,0) w(x,1)\n a: r(x,1) w(y,1)\n c: r(y,1)\n c: r(x,2)");
    let facts = Facts::new(&history);
    assert!(is_refuted(&facts, Level::Serializable));
    assert!(!is_refuted(&facts, Level::ReadCommitted));
}
