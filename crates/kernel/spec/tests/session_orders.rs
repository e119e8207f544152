//! Histories under session orders given by pairs: chains are what the history itself says, other orders say more.

mod common;

use common::{Random, Scope, each_history, history, level, show};
use iso_history::{Facts, History, TxnId};
use iso_spec::{Catalogue, Evaluation, Prepared, Spec, Steps, WitnessKind, evaluate};
use iso_spec::{evaluate_plainly_with_session_order, holds_with_session_order};
use std::fmt::Write as _;

type Pairs = Vec<(TxnId, TxnId)>;

fn pairs(numbers: &[(usize, usize)]) -> Pairs {
    numbers.iter().map(|it| (TxnId::from_index(it.0), TxnId::from_index(it.1))).collect()
}

fn allows_under(history: &History, spec: &Spec, order: &Pairs) -> bool {
    let facts = Facts::new(history);
    let found = Prepared::with_session_order(&facts, order).evaluate(spec, &mut Steps::unlimited());
    found.is_allowed().expect("no limit")
}

/// Asserts what read atomic and causal consistency of both frameworks say of a history under some orders.
fn check(text: &str, orders: &[(&[(usize, usize)], bool)]) {
    let history = history(text);
    for (order, is_allowed) in orders {
        for name in ["biswas.ra", "cerone.ra", "biswas.cc", "cerone.cc"] {
            let allowed = allows_under(&history, level(name), &pairs(order));
            assert_eq!(allowed, *is_allowed, "{name} under {order:?} of\n{text}");
        }
    }
}

#[test]
fn a_chain_given_by_pairs_is_the_history_s_own() {
    let specs: Vec<&Spec> = Catalogue::builtin().levels().collect();
    let mut nth = 0;
    each_history(Scope { n_txns: 3, n_keys: 2, n_ops: 2 }, &mut |history| {
        nth += 1;
        let facts = Facts::new(history);
        let all = || history.txns().flat_map(|a| history.txns().map(move |b| (a, b)));
        let order: Pairs = all().filter(|it| history.is_session_ordered(it.0, it.1)).collect();
        let spec = specs[nth % specs.len()];
        let own = evaluate(&facts, spec, &mut Steps::unlimited());
        let given = Prepared::with_session_order(&facts, &order).evaluate(spec, &mut Steps::unlimited());
        assert_eq!(own, given, "{}\n{}", spec.name(), show(history));
    });
}

#[test]
fn pairs_are_closed() {
    let text = "a: w(x,1)\n b: w(y,2)\n c: r(x,0)";
    check(text, &[(&[(1, 2), (2, 3)], false), (&[(2, 3)], true), (&[(1, 2)], true), (&[(0, 1), (0, 3)], true)]);
}

#[test]
fn two_before_one_need_not_be_ordered_themselves() {
    let text = "a: w(x,1)\n b: r(x,0) w(y,2)\n c: r(x,1) r(y,2)";
    check(text, &[(&[(1, 3), (2, 3)], true), (&[(1, 2), (2, 3)], false)]);
    // Nor is one chain enough: both must be seen.
    let text = "a: w(x,1)\n b: w(y,2)\n c: r(x,1) r(y,0)";
    check(text, &[(&[(1, 3), (2, 3)], false), (&[(1, 3)], true)]);
}

#[test]
fn some_histories_are_forbidden_only_by_an_order_that_is_no_union_of_chains() {
    // The last one orders c before a if it is after c, and d before b if it is after d: together a cycle.
    let text = "a: w(x,1)\n b: w(y,2)\n c: r(y,2) w(x,3)\n d: r(x,1) w(y,4)\n e: r(x,1) r(y,2)";
    check(text, &[(&[(3, 5), (4, 5)], false), (&[(3, 5)], true), (&[(4, 5)], true), (&[(3, 4)], true)]);
}

#[test]
#[should_panic(expected = "a session order has no cycle")]
fn a_cycle_is_no_session_order() {
    let history = history("a: w(x,1)\n b: w(x,2)");
    allows_under(&history, level("ra"), &pairs(&[(1, 2), (2, 1)]));
}

#[test]
fn an_order_holds_for_transactions_of_unknown_outcome_too() {
    let history = history("a: w(x,1)\n b unknown: w(y,1)\n c: r(x,0) r(y,1)");
    assert!(!allows_under(&history, level("ra"), &pairs(&[(1, 2), (2, 3)])));
    assert!(allows_under(&history, level("ra"), &pairs(&[(1, 2)])));
    assert!(allows_under(&history, level("ru"), &pairs(&[(1, 2), (2, 3)])));
}

/// A history of these many transactions that read whatever somebody wrote, and an order of them.
fn random_case(random: &mut Random, n_txns: usize) -> (History, Pairs) {
    let names = ["x", "y"];
    let mut written = [vec![0], vec![0]];
    let mut writes = vec![String::new(); n_txns];
    for (txn, line) in writes.iter_mut().enumerate() {
        for (name, values) in names.iter().zip(&mut written) {
            if random.below(2) == 0 {
                values.push(txn + 1);
                let _ = write!(line, " w({name},{})", txn + 1);
            }
        }
    }
    let mut lines = Vec::new();
    for (txn, writes) in writes.iter().enumerate() {
        let mut line = format!("{txn}:");
        for _ in 0..random.below(3) {
            let key = random.below(2);
            let seen = written[key][random.below(written[key].len())];
            if seen != txn + 1 {
                let _ = write!(line, " r({},{seen})", names[key]);
            }
        }
        lines.push(line + writes);
    }
    let later = |txn: usize| (txn + 1..=n_txns).map(move |it| (txn, it));
    let order: Vec<_> = (1..=n_txns).flat_map(later).filter(|_| random.below(2) == 0).collect();
    (history(&lines.join("\n")), pairs(&order))
}

/// Asserts that both evaluators agree, and that what they find is an execution.
fn same_answer(history: &History, order: &Pairs, spec: &Spec) {
    let facts = Facts::new(history);
    let found = Prepared::with_session_order(&facts, order).evaluate(spec, &mut Steps::unlimited());
    let plain = evaluate_plainly_with_session_order(&facts, spec, order, &mut Steps::unlimited());
    assert_eq!(found.is_allowed(), plain.is_allowed(), "{} {order:?}\n{}", spec.name(), show(history));
    for answer in [found, plain] {
        if let Evaluation::Allowed(execution) = answer {
            assert!(holds_with_session_order(&facts, spec, &execution, order), "{}\n{}", spec.name(), show(history));
        }
    }
}

#[test]
fn searching_and_trying_everything_agree_under_any_order() {
    let is_relational = |it: &&Spec| it.witnesses().iter().any(|it| it.kind == WitnessKind::Relation);
    let (relational, others): (Vec<&Spec>, Vec<&Spec>) = Catalogue::builtin().levels().partition(is_relational);
    let mut random = Random::new(7);
    for nth in 0..400 {
        let (small, small_order) = random_case(&mut random, 2);
        let (large, large_order) = random_case(&mut random, 3);
        for turn in 0..4 {
            same_answer(&small, &small_order, relational[(4 * nth + turn) % relational.len()]);
            same_answer(&large, &large_order, others[(4 * nth + turn) % others.len()]);
        }
    }
}

#[test]
fn frameworks_agree_under_any_order() {
    let groups = [
        "biswas.ra cerone.ra crooks.ra_so",
        "biswas.cc cerone.cc crooks.cc plume.cc_tap",
        "biswas.pc cerone.pc adya.pc_so",
        "biswas.si cerone.si adya.si_so crooks.session_si",
        "biswas.ser cerone.ser adya.ser_so crooks.ser_so",
        "cerone.psi adya.psi_so crooks.psi_so",
    ];
    let mut random = Random::new(8);
    for _ in 0..400 {
        let (history, order) = random_case(&mut random, 4);
        for group in groups {
            let allowed = |it| allows_under(&history, level(it), &order);
            let answers: Vec<bool> = group.split_whitespace().map(allowed).collect();
            assert!(answers.iter().all(|it| *it == answers[0]), "{group} {order:?}\n{}", show(&history));
        }
    }
}
