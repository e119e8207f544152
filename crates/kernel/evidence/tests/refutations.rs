//! No refutation of an allowed history is accepted, and no wrong one of a forbidden history.

#[path = "../../history/tests/common/mod.rs"]
mod common;

use common::{Random, Shape, history, show};
use iso_evidence::{Anomaly, Budget, Edge, Reason, Refutation, StopReason, Verdict, certify, certify_spec};
use iso_history::{Facts, History, KeyId, LocalAnomaly, LocalKind, Op, OpId, Outcome, Projection, TxnId};
use iso_spec::{Catalogue, Level, Steps, evaluate};
use std::collections::BTreeSet;

fn is_allowed(history: &History, level: Level) -> Option<bool> {
    evaluate(&Facts::new(history), Catalogue::builtin().of(level), &mut Steps::unlimited()).is_allowed()
}

fn core(txns: &[TxnId], ops: &[OpId]) -> Refutation {
    Refutation {
        anomalies: vec![],
        txns: txns.to_vec(),
        ops: ops.to_vec(),
        local: None,
        cycle: vec![],
        proof: None,
        grounds: None,
    }
}

fn accepts(history: &History, level: Level, refutation: &Refutation) -> bool {
    certify(history, level, &Verdict::Forbidden(refutation.clone())).is_ok()
}

/// Drops transactions and operations as long as the rest is forbidden.
fn shrink(history: &History, level: Level) -> Projection {
    let facts = Facts::new(history);
    let mut keep: Vec<TxnId> = history.txns().filter(|it| history.outcome(*it) != Outcome::Aborted).collect();
    let mut without = BTreeSet::new();
    let is_forbidden = |keep: &[TxnId], without: &BTreeSet<OpId>| {
        is_allowed(&Projection::new(&facts, keep, without).history, level) == Some(false)
    };
    for txn in keep.clone() {
        let rest: Vec<TxnId> = keep.iter().copied().filter(|it| *it != txn).collect();
        if is_forbidden(&rest, &without) {
            keep = rest;
        }
    }
    for op in keep.clone().into_iter().flat_map(|it| history.ops(it)) {
        let mut more = without.clone();
        more.insert(op);
        if is_forbidden(&keep, &more) {
            without = more;
        }
    }
    Projection::new(&facts, &keep, &without)
}

/// Cores that are not forbidden, or do not stand for the whole.
fn spoil(history: &History, right: &Refutation) -> Vec<Refutation> {
    let mut spoilt = Vec::new();
    for txn in &right.txns {
        let txns: Vec<TxnId> = right.txns.iter().copied().filter(|it| it != txn).collect();
        let ops: Vec<OpId> = right.ops.iter().copied().filter(|it| history.txn_of(*it) != *txn).collect();
        spoilt.push(core(&txns, &ops));
        spoilt.push(core(&txns, &right.ops));
    }
    for op in &right.ops {
        spoilt.push(core(&right.txns, &right.ops.iter().copied().filter(|it| it != op).collect::<Vec<_>>()));
    }
    for aborted in history.txns().filter(|it| history.outcome(*it) == Outcome::Aborted) {
        let mut txns = [&right.txns[..], &[aborted]].concat();
        txns.sort_unstable();
        spoilt.push(core(&txns, &right.ops));
    }
    let backwards: Vec<TxnId> = right.txns.iter().rev().copied().collect();
    if backwards.len() > 1 {
        spoilt.push(core(&backwards, &right.ops));
    }
    spoilt.push(core(&[], &[]));
    spoilt
}

#[test]
fn a_minimal_part_is_accepted_and_nothing_less() {
    let mut random = Random::new(4);
    let mut n_accepted = [0; Level::ALL.len()];
    for _ in 0..700 {
        let history = random.history(Shape { aborted: 12, ..Shape::MIXED });
        if !Facts::new(&history).local().is_empty() {
            continue;
        }
        for (idx, level) in Level::ALL.into_iter().enumerate() {
            if is_allowed(&history, level) != Some(false) {
                continue;
            }
            let minimal = shrink(&history, level);
            if is_allowed(&minimal.history, level) != Some(false) {
                continue;
            }
            let right = core(&minimal.txns[1..], &minimal.ops);
            let verdict = Verdict::Forbidden(right.clone());
            assert_eq!(certify(&history, level, &verdict), Ok(()), "{level} {right:?}\n{}", show(&history));
            n_accepted[idx] += 1;
            for wrong in spoil(&history, &right) {
                assert!(!accepts(&history, level, &wrong), "{level} {wrong:?}\n{}", show(&history));
            }
        }
    }
    for (level, n_accepted) in Level::ALL.into_iter().zip(n_accepted) {
        // The weakest levels forbid little: PL-1 nothing here, since its cycles are seen in one list.
        let at_least = match level {
            Level::AdyaReadUncommitted => 0,
            Level::ReadUncommitted => 2,
            Level::AdyaReadCommitted => 5,
            _ => 40,
        };
        assert!(n_accepted >= at_least, "{level}: {n_accepted}");
    }
}

#[test]
fn no_part_of_an_allowed_history_is_accepted() {
    let mut random = Random::new(5);
    let (mut n_allowed, mut n_accepted) = (0, 0);
    for _ in 0..1500 {
        let history = random.history(Shape { n_values: 2, ..Shape::MIXED });
        let txns: Vec<TxnId> = random.some_of(history.txns(), 75);
        let chance = 70 + random.below(31);
        let ops: Vec<OpId> = random.some_of(txns.iter().flat_map(|it| history.ops(*it)), chance);
        let random_part = core(&txns, &ops);
        for level in Level::ALL {
            let is_allowed = is_allowed(&history, level) == Some(true);
            let is_accepted = accepts(&history, level, &random_part);
            assert!(!is_accepted || !is_allowed, "{level} {random_part:?}\n{}", show(&history));
            n_allowed += usize::from(is_allowed);
            n_accepted += usize::from(is_accepted);
        }
    }
    assert!(n_allowed > 2000 && n_accepted > 150, "{n_allowed} {n_accepted}");
}

/// Every claim that a read of the history is one that nothing explains.
fn local_claims(history: &History) -> Vec<LocalAnomaly> {
    let ops: Vec<OpId> = history.txns().flat_map(|it| history.ops(it)).collect();
    let mut kinds = vec![LocalKind::ThinAir, LocalKind::Future];
    kinds.extend(
        (0..history.n_values()).map(|it| LocalKind::Internal { expected: iso_history::ValueId::from_index(it) }),
    );
    for writer in history.txns() {
        kinds.extend([LocalKind::Aborted { writer }, LocalKind::Intermediate { writer }]);
        kinds.extend(history.txns().map(|between| LocalKind::Interleaved { torn: writer, between }));
    }
    kinds.extend(ops.iter().map(|it| LocalKind::Unrepeatable { earlier: *it }));
    kinds.extend(ops.iter().map(|it| LocalKind::Incompatible { other: *it }));
    let mut claims = Vec::new();
    for op in ops {
        let reader = history.txn_of(op);
        claims.extend(kinds.iter().map(|kind| LocalAnomaly { reader, op, kind: *kind }));
    }
    claims
}

/// A claim about one read, with the whole history as its core.
fn local(history: &History, anomaly: LocalAnomaly) -> Refutation {
    let (txns, ops): (Vec<TxnId>, Vec<OpId>) =
        (history.txns().collect(), history.txns().flat_map(|it| history.ops(it)).collect());
    Refutation { local: Some(anomaly), ..core(&txns, &ops) }
}

/// The facts keep one anomaly a read: the first in the list, which may be one that read uncommitted allows.
fn is_masked(facts: &Facts<'_>, claim: LocalAnomaly) -> bool {
    let other = if let LocalKind::Incompatible { other } = claim.kind { other } else { claim.op };
    facts.local().iter().any(|it| [claim.op, other].contains(&it.op) && !it.kind.breaks_read_uncommitted())
}

#[test]
fn a_dirty_element_does_not_hide_a_future_one_from_read_uncommitted() {
    let history = history("a aborted: l(x,1)\n b: l(x)1.2 l(x,2)");
    let claim = LocalAnomaly { reader: TxnId::from_index(2), op: OpId::from_index(1), kind: LocalKind::Future };
    assert!(accepts(&history, Level::ReadUncommitted, &local(&history, claim)));
    assert_eq!(is_allowed(&history, Level::ReadUncommitted), Some(false));
}

#[test]
fn a_local_claim_is_accepted_only_where_the_level_forbids_and_always_if_the_facts_say_so() {
    let mut random = Random::new(6);
    let mut n_accepted = 0;
    for _ in 0..600 {
        let shape = Shape { n_txns: 3, n_values: 4, aborted: 15, lists: 50, n_ops: 4, ..Shape::MIXED };
        let history = random.history(shape);
        let facts = Facts::new(&history);
        for level in [Level::ReadUncommitted, Level::ReadCommitted, Level::ReadAtomic, Level::Serializable] {
            let is_forbidden = is_allowed(&history, level) == Some(false);
            for claim in local_claims(&history) {
                let is_accepted = accepts(&history, level, &local(&history, claim));
                let is_right = is_forbidden || (level == Level::ReadUncommitted && is_masked(&facts, claim));
                assert!(!is_accepted || is_right, "{level} {claim:?}\n{}", show(&history));
                n_accepted += usize::from(is_accepted);
            }
        }
        for claim in facts.local() {
            assert!(accepts(&history, Level::ReadCommitted, &local(&history, *claim)), "{claim:?}\n{}", show(&history));
        }
        for claim in facts.unrepeatable() {
            assert!(accepts(&history, Level::ReadAtomic, &local(&history, *claim)), "{claim:?}\n{}", show(&history));
            assert!(
                !accepts(&history, Level::ReadCommitted, &local(&history, *claim)),
                "{claim:?}\n{}",
                show(&history)
            );
        }
    }
    assert!(n_accepted > 1000, "{n_accepted}");
}

#[test]
fn the_core_of_one_read_must_be_forbidden_by_itself() {
    let history = history("a: r(x,6)\n b unknown: r(x,6) w(x,6)");
    let claim = LocalAnomaly { reader: TxnId::from_index(2), op: OpId::from_index(1), kind: LocalKind::Future };
    let ops = [1, 2].map(OpId::from_index);
    let without_reader = Refutation { local: Some(claim), ..core(&[TxnId::from_index(2)], &ops) };
    assert!(!accepts(&history, Level::ReadCommitted, &without_reader));
    assert!(accepts(&history, Level::ReadCommitted, &local(&history, claim)));
}

/// Lost update with its cycle: a and b both read the initial version of x and overwrite it.
fn lost_update() -> (History, Refutation) {
    let history = history("a: r(x,0) w(x,1)\n b: r(x,0) w(x,2)\n c: w(y,1)");
    let [a, b] = [1, 2].map(TxnId::from_index);
    let key = KeyId::from_index(0);
    let edge = |from: TxnId, to: TxnId, because| Edge { from, to, because };
    let read = |it: usize| Reason::AntiDependency { key, read: OpId::from_index(it) };
    let cycle = vec![edge(a, b, read(0)), edge(b, a, read(2))];
    let ops: Vec<OpId> = (0..4).map(OpId::from_index).collect();
    (history, Refutation { cycle, ..core(&[a, b], &ops) })
}

#[test]
fn a_cycle_of_true_edges_is_accepted_and_others_are_not() {
    let (history, right) = lost_update();
    let verdict = Verdict::Forbidden(right.clone());
    assert_eq!(certify(&history, Level::Serializable, &verdict), Ok(()));
    assert_eq!(certify(&history, Level::SnapshotIsolation, &verdict), Ok(()));
    assert!(!accepts(&history, Level::PrefixConsistency, &right));
    let [a, b, c] = [1, 2, 3].map(TxnId::from_index);
    let (key, other_key) = (KeyId::from_index(0), KeyId::from_index(1));
    let (read, write) = (OpId::from_index(0), OpId::from_index(1));
    let false_edges = [
        (a, b, Reason::Session),
        (a, b, Reason::RealTime),
        (a, b, Reason::AntiDependency { key: other_key, read }),
        (a, b, Reason::AntiDependency { key, read: write }),
        (a, b, Reason::AntiDependency { key, read: OpId::from_index(2) }),
        (a, b, Reason::ReadFrom { read }),
        (a, b, Reason::ReadFrom { read: OpId::from_index(2) }),
        (a, b, Reason::VersionOrder { key: other_key, shown_by: None }),
        (a, b, Reason::FirstCommitter { key: other_key }),
        (a, c, Reason::AntiDependency { key, read }),
        (c, b, Reason::AntiDependency { key, read }),
    ];
    for (from, to, because) in false_edges {
        let mut wrong = right.clone();
        wrong.cycle[0] = Edge { from, to, because };
        assert!(!accepts(&history, Level::Serializable, &wrong), "{because:?}");
    }
    let mut open = right.clone();
    open.cycle.pop();
    assert!(!accepts(&history, Level::Serializable, &open));
}

#[test]
fn ids_that_do_not_exist_are_refused() {
    let (history, right) = lost_update();
    let nobody = TxnId::from_index(99);
    let mut wrong = vec![core(&[nobody], &[])];
    wrong.push(core(&right.txns, &[&right.ops[..], &[OpId::from_index(99)]].concat()));
    wrong.push(core(&[&[TxnId::INITIAL], &right.txns[..]].concat(), &[]));
    let claim = |reader, op| LocalAnomaly { reader, op, kind: LocalKind::ThinAir };
    wrong.push(local(&history, claim(nobody, OpId::from_index(0))));
    wrong.push(local(&history, claim(TxnId::from_index(1), OpId::from_index(99))));
    wrong.push(local(&history, claim(TxnId::INITIAL, OpId::from_index(0))));
    let kinds = [
        LocalKind::Aborted { writer: nobody },
        LocalKind::Intermediate { writer: nobody },
        LocalKind::Unrepeatable { earlier: OpId::from_index(99) },
    ];
    for kind in kinds {
        wrong.push(local(&history, LocalAnomaly { reader: TxnId::from_index(1), op: OpId::from_index(0), kind }));
    }
    for (from, read) in [(nobody, OpId::from_index(0)), (TxnId::from_index(1), OpId::from_index(99))] {
        for because in [Reason::Session, Reason::RealTime, Reason::ReadFrom { read }] {
            let cycle = vec![Edge { from, to: from, because }];
            wrong.push(Refutation { cycle, ..right.clone() });
        }
    }
    for refutation in wrong {
        for level in Level::ALL {
            assert!(!accepts(&history, level, &refutation), "{level} {refutation:?}");
        }
    }
    assert!(matches!(history.op(right.ops[0]), Op::Read { .. }));
}

#[test]
fn a_part_too_large_for_the_evaluator_is_accepted_if_closure_refutes_it() {
    let n = 100;
    let line = |it: usize| format!("s{it}: r(k{it},0) w(k{},1)", (it + 1) % n);
    let history = history(&(0..n).map(line).collect::<Vec<_>>().join("\n"));
    assert_eq!(is_allowed(&history, Level::Serializable), None);
    let txns: Vec<TxnId> = history.txns().collect();
    let ops: Vec<OpId> = txns.iter().flat_map(|it| history.ops(*it)).collect();
    let whole = core(&txns, &ops);
    assert!(accepts(&history, Level::Serializable, &whole));
    assert!(!accepts(&history, Level::Serializable, &core(&txns[1..], &ops[2..])));
    let why = certify(&history, Level::SnapshotIsolation, &Verdict::Forbidden(whole)).expect_err("it is allowed");
    assert!(why.reason.contains("too large to be checked"), "{why}");
}

#[test]
fn a_list_read_of_indeterminate_outcome_refutes_nothing_at_read_uncommitted() {
    let history = history("a unknown: l(x,1) l(x)2.1\n b: l(x,2) l(x)1.2\n c: l(x)1.2");
    assert_eq!(is_allowed(&history, Level::ReadUncommitted), Some(true));
    let ops: Vec<OpId> = (0..4).map(OpId::from_index).collect();
    let pair = core(&[1, 2].map(TxnId::from_index), &ops);
    let kind = LocalKind::Incompatible { other: OpId::from_index(1) };
    let claim = local(&history, LocalAnomaly { reader: TxnId::from_index(2), op: OpId::from_index(3), kind });
    for refutation in [pair, claim] {
        assert!(!accepts(&history, Level::ReadUncommitted, &refutation), "{refutation:?}");
        assert!(accepts(&history, Level::ReadCommitted, &refutation), "{refutation:?}");
    }
}

/// The names that are accepted for the smallest forbidden core of a history, with this cycle.
fn names(text: &str, level: Level, cycle: &[Edge]) -> Vec<&'static str> {
    let history = history(text);
    let minimal = shrink(&history, level);
    let right = Refutation { cycle: cycle.to_vec(), ..core(&minimal.txns[1..], &minimal.ops) };
    assert!(accepts(&history, level, &right), "{text}");
    let is_accepted = |it: &Anomaly| accepts(&history, level, &Refutation { anomalies: vec![*it], ..right.clone() });
    Anomaly::ALL.into_iter().filter(is_accepted).map(Anomaly::name).collect()
}

#[test]
fn a_core_has_no_name_of_something_else() {
    let lost_update = "a: r(x,0) w(x,1)\n b: r(x,0) w(x,2)";
    assert_eq!(names(lost_update, Level::SnapshotIsolation, &[]), ["lost-update", "g-single", "g2-item", "stale-read"]);
    let write_skew = "a: r(x,0) w(y,1)\n b: r(y,0) w(x,1)";
    let skew_names = ["write-skew", "read-only-anomaly", "g2-item", "stale-read"];
    assert_eq!(names(write_skew, Level::Serializable, &[]), skew_names);
    let long_fork = "a: w(x,1)\n b: w(y,1)\n c: r(x,1) r(y,0)\n d: r(y,1) r(x,0)";
    assert_eq!(names(long_fork, Level::PrefixConsistency, &[]), ["long-fork", "g2-item", "stale-read"]);
    let stale_own_write = names("a: w(x,1)\n a: r(x,0)", Level::Serializable, &[]);
    assert!(stale_own_write.contains(&"stale-own-write") && !stale_own_write.contains(&"non-monotonic-read"));
    let fractured_read = names("a: w(x,1) w(y,1)\n b: r(y,0) r(x,1)", Level::Serializable, &[]);
    assert!(fractured_read.contains(&"fractured-read") && !fractured_read.contains(&"stale-own-write"));
}

#[test]
fn a_name_fits_the_form_of_its_cycle() {
    let text = "a: r(x,0) w(y,1)\n b: r(y,0) w(x,1)";
    let [a, b] = [1, 2].map(TxnId::from_index);
    let history = history(text);
    let key = |op: usize| history.op(OpId::from_index(op)).key();
    let rw = |from: TxnId, to: TxnId, read: usize| Edge {
        from,
        to,
        because: Reason::AntiDependency { key: key(read), read: OpId::from_index(read) },
    };
    let cycle = [rw(a, b, 0), rw(b, a, 2)];
    // Both of them write.
    assert_eq!(names(text, Level::Serializable, &cycle), ["write-skew", "g2-item", "stale-read"]);
}

#[test]
fn a_read_that_nothing_explains_has_the_name_of_its_kind() {
    let history = history("a: r(x,7)");
    let read = LocalAnomaly { reader: TxnId::from_index(1), op: OpId::from_index(0), kind: LocalKind::ThinAir };
    let with_name =
        |it: Anomaly| Refutation { anomalies: vec![it], local: Some(read), ..core(&[read.reader], &[read.op]) };
    let is_accepted = |it: &Anomaly| accepts(&history, Level::ReadCommitted, &with_name(*it));
    assert_eq!(Anomaly::ALL.into_iter().filter(is_accepted).collect::<Vec<_>>(), [Anomaly::ThinAirRead]);
}

#[test]
fn a_definition_is_evaluated_again_as_long_as_the_budget_lasts() {
    let history = history("a: r(x,0) w(x,1)\n b: r(x,0) w(x,2)");
    let facts = Facts::new(&history);
    let spec = Catalogue::builtin().of(Level::SnapshotIsolation);
    let txns = [1, 2].map(TxnId::from_index);
    let forbidden = Verdict::Forbidden(core(&txns, &[0, 1, 2, 3].map(OpId::from_index)));
    assert_eq!(certify_spec(&facts, spec, &forbidden, &Budget::unlimited()), Ok(()));
    let too_small = Verdict::Forbidden(core(&txns[..1], &[0, 1].map(OpId::from_index)));
    let wrong = certify_spec(&facts, spec, &too_small, &Budget::unlimited()).unwrap_err();
    assert!(!wrong.is_too_large, "{wrong}");
    let stop = || Some(StopReason::Timeout);
    let unchecked = certify_spec(&facts, spec, &forbidden, &Budget::new(&stop)).unwrap_err();
    assert!(unchecked.is_too_large, "{unchecked}");
    let allowed = Catalogue::builtin().of(Level::PrefixConsistency);
    let wrong = certify_spec(&facts, allowed, &forbidden, &Budget::unlimited()).unwrap_err();
    assert!(!wrong.is_too_large, "{wrong}");
}
