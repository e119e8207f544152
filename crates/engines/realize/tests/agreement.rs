//! The search and the reference evaluator agree, on all levels of the catalogue and on levels that users may write.

#![allow(clippy::format_push_string, reason = "these are tests")]

#[path = "../../../kernel/spec/tests/common/mod.rs"]
mod common;

use common::{Random, show};
use iso_evidence::{Budget, StopReason};
use iso_history::{Facts, History, OpId, Projection};
use iso_realize::{Realized, World, realize};
use iso_spec::{Catalogue, Evaluation, Spec, Steps, evaluate, holds_at_any_size, parse};
use std::collections::BTreeSet;

/// Levels that nobody published: with versions alone, a relation, dirty reads, real time, and odd conditions.
const USER_SPECS: &str = include_str!("user.spec");

fn user_specs() -> Vec<Spec> {
    let module = parse(USER_SPECS, "user.spec", &mut |it| Err(it.to_owned())).unwrap_or_else(|it| panic!("{it:?}"));
    module.levels().to_vec()
}

/// The search's answer, which must be the evaluator's; nothing if the search does not take the text.
fn agree(spec: &Spec, history: &History) -> Option<bool> {
    let facts = Facts::new(history);
    let world = World::only(&facts)?;
    let evaluation = evaluate(&facts, spec, &mut Steps::new(1 << 20));
    if !facts.local().is_empty() || evaluation == Evaluation::OutOfSteps {
        return None;
    }
    let name = spec.name();
    match realize(&facts, spec, &world, &[], &Budget::unlimited()) {
        Ok(Realized::Execution(execution)) => {
            assert_eq!(evaluation.is_allowed(), Some(true), "{name} forbids\n{}", show(history));
            let is_right = holds_at_any_size(&facts, spec, &execution, &mut || false);
            assert_eq!(is_right, Some(true), "{name}\n{}{execution:?}", show(history));
            Some(true)
        }
        Ok(Realized::Nothing { txns, ops }) => {
            assert_eq!(evaluation, Evaluation::Forbidden, "{name} allows\n{}", show(history));
            if spec.is_kept_by_parts() {
                let is_gone = |it: &OpId| ops.binary_search(it).is_err();
                let without: BTreeSet<OpId> = txns.iter().flat_map(|it| history.ops(*it)).filter(is_gone).collect();
                let core = Projection::new(&facts, &txns, &without);
                let decided = evaluate(&Facts::new(&core.history), spec, &mut Steps::unlimited());
                assert_eq!(decided, Evaluation::Forbidden, "{name}: {txns:?} of\n{}", show(history));
            }
            Some(false)
        }
        Err(StopReason::Unsupported(_)) => None,
        Err(reason) => panic!("{name}: {reason}"),
    }
}

/// How often the search forbids and allows, by level.
fn answers(specs: &[Spec], seed: u64) -> Vec<[usize; 2]> {
    let mut random = Random::new(seed);
    let mut answers = vec![[0; 2]; specs.len()];
    for nth in 0..N_HISTORIES {
        let n_txns = 2 + random.below(4);
        let history = match nth % 3 {
            0 => random.history(n_txns),
            1 => timed(&mut random, n_txns),
            _ => lists(&mut random, n_txns),
        };
        for (spec, counts) in specs.iter().zip(&mut answers) {
            if let Some(is_allowed) = agree(spec, &history) {
                counts[usize::from(is_allowed)] += 1;
            }
        }
    }
    answers
}

/// A history with times and with transactions that aborted, whose values may be read.
fn timed(random: &mut Random, n_txns: usize) -> History {
    let mut lines = Vec::new();
    for txn in 1..=n_txns {
        let (begin, outcome) = (txn * 2 + random.below(4), ["", "", "", " aborted"][random.below(4)]);
        let mut line = format!("{}{outcome} {begin}-{}:", ["a", "b", "c"][random.below(3)], begin + random.below(5));
        for _ in 0..=random.below(2) {
            line += &format!(" r({},{})", ["x", "y"][random.below(2)], random.below(n_txns + 1));
        }
        for _ in 0..random.below(3) {
            line += &format!(" w({},{txn})", ["x", "y"][random.below(2)]);
        }
        lines.push(line);
    }
    common::history(&lines.join("\n"))
}

/// A history of one list that is appended to and read.
fn lists(random: &mut Random, n_txns: usize) -> History {
    let mut lines = Vec::new();
    let mut appended: Vec<String> = Vec::new();
    for txn in 1..=n_txns {
        let mut line = format!("{}:", ["a", "b", "c"][random.below(3)]);
        if random.below(3) > 0 {
            line += &format!(" l(x){}", appended[..random.below(appended.len() + 1)].join("."));
        }
        if random.below(2) > 0 {
            line += &format!(" l(x,{txn})");
            appended.insert(appended.len() - random.below(2).min(appended.len()), txn.to_string());
        }
        lines.push(format!("{line} r(y,0)"));
    }
    common::history(&lines.join("\n"))
}

#[test]
fn the_catalogue_is_decided_as_by_the_reference_evaluator() {
    let specs: Vec<Spec> = Catalogue::builtin().levels().cloned().collect();
    for (spec, [n_forbidden, n_allowed]) in specs.iter().zip(answers(&specs, 5)) {
        // Start events are a second order.
        let is_taken = spec.framework() != "adya_si";
        // Some execution always fits these.
        let is_trivial = ["crooks.ru", "adya.pl1"].contains(&spec.name());
        assert_eq!(n_allowed > 0, is_taken, "{}: {n_allowed}", spec.name());
        assert_eq!(n_forbidden > 0, is_taken && !is_trivial, "{}: {n_forbidden}", spec.name());
    }
}

#[test]
fn levels_of_users_are_decided_as_by_the_reference_evaluator() {
    let specs = user_specs();
    for (spec, counts) in specs.iter().zip(answers(&specs, 6)) {
        assert!(!counts.contains(&0), "{} is forbidden and allowed: {counts:?}", spec.name());
    }
}

const N_HISTORIES: usize = 900;
