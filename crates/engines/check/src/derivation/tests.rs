//! Every refutation has a derivation, nothing that holds has one, and a changed derivation does not pass.

use super::{core_of, derive};
use crate::decide::decide;
use crate::decision::{Decision, within};
use crate::local::refute_by_one_read;
use crate::test_store::{self, Clock, Keys, Manner, Random, Sight, Values, history};
use iso_evidence::{
    Axiom, Budget, Derivation, Grounds, Inference, Literal, Refutation, Verdict, certify_derivation, certify_facts,
};
use iso_history::{Facts, History, Projection, TxnId};
use iso_spec::Level;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How often a level allowed a history, refuted it without a search, and with one.
type Tally = BTreeMap<Level, [usize; 3]>;

/// Is a history a question for orders at this level?
fn is_about_orders(facts: &Facts<'_>, level: Level) -> bool {
    let history = facts.history();
    let has_times = !level.needs_times() || history.has_real_time();
    let is_dirty = level == Level::ReadUncommitted && history.favouring_dirty_reads().is_some();
    has_times && !is_dirty && facts.ambiguous_list().is_none() && refute_by_one_read(facts, level).is_none()
}

fn compare(history: &History, level: Level, what: &str, tally: &mut Tally) -> Option<Derivation> {
    let facts = Facts::new(history);
    if !is_about_orders(&facts, level) {
        return None;
    }
    let budget = Budget::unlimited();
    let derivation = derive(&facts, level, &budget);
    let nth = match (decide(&facts, level, &budget).unwrap(), &derivation) {
        (Decision::Allowed(_), None) => 0,
        (Decision::Forbidden(_), Some(derivation)) => {
            assert_eq!(certify_derivation(&facts, level, derivation), Ok(()), "{level} of {what}");
            1 + usize::from(derivation.inferences.iter().any(is_resolvent))
        }
        (decision, derivation) => panic!("{level} of {what}: {decision:?}, but {derivation:?}"),
    };
    tally.entry(level).or_default()[nth] += 1;
    derivation
}

fn is_resolvent(inference: &Inference) -> bool {
    matches!(inference, Inference::Resolvent { .. })
}

fn manner(random: &mut Random, max_txns: usize) -> Manner {
    let sights = [Sight::Serial, Sight::Snapshot, Sight::Careless, Sight::Replicas, Sight::Statements, Sight::Torn];
    let clocks = [Clock::None, Clock::Exact, Clock::Slack(3), Clock::Wrong(2)];
    let values = [Values::Unique, Values::Few(2), Values::Few(3), Values::Skewed(3)];
    let n_keys = 2 + random.below(4);
    Manner {
        n_txns: 3 + random.skewed(max_txns),
        n_sessions: 1 + random.below(4),
        n_keys,
        n_lists: if random.percent(30) { random.below(n_keys) } else { 0 },
        max_ops: 2 + random.below(4),
        n_mistakes: random.below(3),
        sight: random.pick(&sights),
        rereads: random.percent(20),
        writes: 30 + random.below(40),
        keys: if random.percent(20) { Keys::Skewed } else { Keys::Even },
        values: random.pick(&values),
        aborted: if random.percent(20) { 10 } else { 0 },
        indeterminate: if random.percent(30) { 20 } else { 0 },
        n_exchanged: random.below(3),
        clock: random.pick(&clocks),
        ..Manner::default()
    }
}

#[test]
fn every_refutation_has_a_derivation_and_nothing_else_has() {
    let mut tally = Tally::new();
    // In the last one, somebody in the middle of a session takes no part.
    for seed in (0..1_500).chain([2_846]) {
        let random = &mut Random::new(seed);
        let manner = manner(random, 20);
        let history = test_store::run(random, manner);
        for level in Level::usual() {
            compare(&history, level, &format!("seed {seed}: {manner:?}"), &mut tally);
        }
    }
    for level in Level::usual().into_iter().filter(|it| *it != Level::ReadUncommitted) {
        assert!(tally[&level].iter().all(|it| *it > 0), "{level}: {tally:?}");
    }
}

/// Where reads see their neighbours only, an order decides the sources by itself, and what it lacks is a clause.
#[test]
fn weak_levels_with_many_possible_writers_have_derivations() {
    let (mut tally, levels) = (Tally::new(), [Level::ReadCommitted, Level::ReadYourWrites, Level::ReadAtomic]);
    // In the last one, two reads need the same writer, which must come after an earlier one of the session.
    for seed in (0..40).chain([597]) {
        let random = &mut Random::new(seed);
        let (n_keys, values) = (10 + random.below(10), Values::Few(4 + random.below(3)));
        let n_mistakes = 1 + random.below(3);
        let manner = Manner { n_txns: 80, n_keys, n_sessions: 5, max_ops: 9, n_mistakes, values, ..Manner::default() };
        let history = test_store::run(random, manner);
        for level in levels {
            compare(&history, level, &format!("seed {seed}: {manner:?}"), &mut tally);
        }
    }
    assert!(tally[&Level::ReadAtomic][..2].iter().all(|it| *it > 0), "{tally:?}");
}

#[test]
fn a_derivation_of_one_history_says_nothing_of_another_that_holds() {
    let (mut tally, mut pool, mut n_checked) = (Tally::new(), Vec::new(), 0);
    for seed in 0..600 {
        let random = &mut Random::new(seed);
        let manner = manner(random, 6);
        let history = test_store::run(random, manner);
        let facts = Facts::new(&history);
        for level in Level::usual().into_iter().filter(|it| is_about_orders(&facts, *it)) {
            if let Some(derivation) = compare(&history, level, &format!("seed {seed}: {manner:?}"), &mut tally) {
                pool.push(derivation);
                continue;
            }
            for derivation in pool.iter().filter(|it| level.implies(it.level)) {
                let changed = changed(derivation, random);
                for derivation in [derivation, &changed] {
                    assert!(certify_derivation(&facts, level, derivation).is_err(), "{level} of seed {seed}");
                    n_checked += 1;
                }
            }
        }
    }
    assert!(n_checked > 10_000, "{n_checked}");
}

/// The derivation with something else in it, here and there.
fn changed(derivation: &Derivation, random: &mut Random) -> Derivation {
    let mut changed = derivation.clone();
    for _ in 0..=random.below(3) {
        let n_atoms = changed.atoms.len();
        let at = random.below(changed.inferences.len());
        match &mut changed.inferences[at] {
            Inference::Axiom(axiom) => change_axiom(axiom, random),
            Inference::Acyclic(events) if random.percent(50) => events.reverse(),
            Inference::Acyclic(events) => drop(events.pop()),
            Inference::Resolvent { clause, .. } if random.percent(50) && !clause.is_empty() => {
                let nth = random.below(clause.len());
                clause[nth] = Literal::new(random.below(n_atoms) as u32, random.percent(50));
            }
            Inference::Resolvent { hints, .. } => drop(hints.pop()),
            Inference::Forget(numbers) => numbers.clear(),
        }
    }
    changed
}

fn change_axiom(axiom: &mut Axiom, random: &mut Random) {
    let txn = TxnId::from_index(1 + random.below(4));
    match axiom {
        Axiom::Session { later, .. } | Axiom::RealTime { later, .. } => *later = txn,
        Axiom::VersionOrder { older, .. } => *older = txn,
        Axiom::Found { unless, .. } if random.percent(50) => unless.clear(),
        Axiom::Overwritten { sight, .. } if random.percent(50) => sight.clear(),
        Axiom::FirstCommitter { other, .. } | Axiom::Found { other, .. } | Axiom::Overwritten { other, .. } => {
            *other = txn;
        }
        Axiom::Between { newer, .. } => *newer = txn,
        Axiom::Source { writer, .. } => *writer = txn,
        Axiom::Sources { .. } => {}
    }
}

#[test]
fn without_an_inference_that_it_needs_a_derivation_is_refused() {
    let (mut tally, mut n_refused) = (Tally::new(), [0; 3]);
    for seed in 0..300 {
        let random = &mut Random::new(seed);
        let manner = Manner { values: Values::Few(2), ..manner(random, 12) };
        let history = test_store::run(random, manner);
        let facts = Facts::new(&history);
        for level in Level::usual() {
            let Some(whole) = compare(&history, level, &format!("seed {seed}"), &mut tally) else { continue };
            for dropped in 0..whole.inferences.len() {
                let mut less = whole.clone();
                let was = std::mem::replace(&mut less.inferences[dropped], Inference::Forget(Vec::new()));
                let kind = match was {
                    Inference::Axiom(_) => 0,
                    Inference::Acyclic(_) => 1,
                    Inference::Resolvent { .. } => 2,
                    Inference::Forget(_) => continue,
                };
                n_refused[kind] += usize::from(certify_derivation(&facts, level, &less).is_err());
            }
        }
    }
    assert!(n_refused.iter().all(|it| *it > 5), "{n_refused:?}");
}

/// The whole history as its own core, if that is soon found to be forbidden.
fn whole(facts: &Facts<'_>, level: Level) -> Option<Refutation> {
    let txns: Vec<TxnId> = facts.txns().collect();
    let core = Projection::new(facts, &txns, &BTreeSet::new());
    let derived = within(2_000, &Budget::unlimited(), |budget| Ok(derive(&Facts::new(&core.history), level, budget)));
    let grounds = Some(Arc::new(Grounds::Derivation(derived.ok()???)));
    let (anomalies, cycle) = (Vec::new(), Vec::new());
    Some(Refutation { anomalies, txns, ops: core.ops, local: None, cycle, proof: None, grounds })
}

#[test]
fn a_large_core_is_certified_by_its_derivation() {
    let mut n_certified = 0;
    for seed in 0..12 {
        let values = Values::Few(2);
        let manner = Manner { n_txns: 60, n_keys: 4, n_sessions: 3, n_exchanged: 2, values, ..Manner::default() };
        let history = test_store::run(&mut Random::new(seed), manner);
        let facts = Facts::new(&history);
        for level in [Level::ParallelSnapshotIsolation, Level::SnapshotIsolation, Level::Serializable] {
            let Some(refutation) = whole(&facts, level) else { continue };
            assert_eq!(certify_facts(&facts, level, &Verdict::Forbidden(refutation)), Ok(()), "{level} of seed {seed}");
            n_certified += 1;
        }
    }
    assert!(n_certified > 0, "no history was refuted as a whole");
}

/// Executions are not tried below prefix consistency, and the text of the level has no time for so many transactions.
#[test]
fn a_large_core_may_be_certified_by_its_derivation_only() {
    let (level, mut n_certified) = (Level::UpdateAtomic, 0);
    for seed in 0..6 {
        let values = Values::Few(3);
        let manner = Manner { n_txns: 120, n_keys: 8, n_sessions: 5, n_exchanged: 2, values, ..Manner::default() };
        let history = test_store::run(&mut Random::new(seed), manner);
        let facts = Facts::new(&history);
        let Some(refutation) = whole(&facts, level) else { continue };
        let bare = Refutation { grounds: None, ..refutation.clone() };
        assert!(certify_facts(&facts, level, &Verdict::Forbidden(bare)).is_err(), "seed {seed}");
        assert_eq!(certify_facts(&facts, level, &Verdict::Forbidden(refutation)), Ok(()), "seed {seed}");
        n_certified += 1;
    }
    assert!(n_certified > 0, "no history was refuted as a whole");
}

#[test]
fn a_derivation_names_the_transactions_and_reads_of_its_core() {
    let history = history(&["a rx0 wx1", "c wy1", "b rx0 rz0 wx2", "d ry1"]);
    let facts = Facts::new(&history);
    let derivation = derive(&facts, Level::Serializable, &Budget::unlimited()).unwrap();
    let (txns, reads) = core_of(&facts, &derivation);
    let first_of = |it: &TxnId| history.ops(*it).next().unwrap();
    assert_eq!(txns, test_store::txns(&[1, 3]));
    assert_eq!(reads, txns.iter().map(first_of).collect());
}
