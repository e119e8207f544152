//! Histories are what their stores claim, whatever the workload.

use crate::executor::{Tally, generate};
use crate::inject::Injection;
use crate::plan::{Access, Op, Outcome, Txn};
use crate::preset::{PRESETS, preset};
use crate::sink::{Layout, Lines, Sink, Times};
use crate::{FileKind, GenerateError, Kind, Store, Values, Workload, check};
use std::collections::{HashMap, HashSet};
use std::io;

struct Ended {
    session: u32,
    ops: Vec<Op>,
    outcome: Outcome,
    begin: u64,
    end: u64,
}

struct Memory<'a>(&'a mut Vec<Ended>);

impl Sink for Memory<'_> {
    fn txn(&mut self, txn: &Txn<'_>) -> io::Result<()> {
        let Txn { session, ops, outcome, begin, end } = *txn;
        self.0.push(Ended { session, ops: ops.to_vec(), outcome, begin, end });
        Ok(())
    }

    fn finish(self) -> io::Result<()> {
        Ok(())
    }
}

fn run(workload: &Workload) -> (Vec<Ended>, Tally) {
    let mut txns = Vec::new();
    let tally = generate(workload, Memory(&mut txns)).unwrap();
    (txns, tally)
}

fn text(workload: &Workload) -> String {
    let mut out = Vec::new();
    generate(workload, Lines::new(&mut out, Times::Kept, workload.frame()).unwrap()).unwrap();
    String::from_utf8(out).unwrap()
}

fn small(name: &str, store: Store) -> Workload {
    Workload { store, seed: 5, ..preset(name).unwrap().workload(600, (name == "many-session").then_some(60)) }
}

fn committed(txns: &[Ended]) -> impl Iterator<Item = &Ended> {
    txns.iter().filter(|it| it.outcome == Outcome::Committed)
}

/// Runs a transaction on a state; the first read that the state does not explain.
fn replay(ops: &[Op], state: &mut HashMap<u32, u64>) -> Option<Op> {
    for op in ops {
        match op.access {
            Access::Write => {
                state.insert(op.key, op.value);
            }
            Access::Scan => {}
            _ if state.get(&op.key).copied().unwrap_or(0) != op.value => return Some(*op),
            Access::Read | Access::Old | Access::Returned | Access::Omitted => {}
        }
    }
    None
}

#[test]
fn the_same_seed_gives_the_same_history() {
    for preset in PRESETS {
        for store in [Store::Snapshot, Store::Causal] {
            let workload = small(preset.name, store);
            assert_eq!(text(&workload), text(&workload), "{}", preset.name);
            assert_ne!(text(&workload), text(&Workload { seed: 6, ..workload }), "{}", preset.name);
        }
    }
}

#[test]
fn a_promise_of_unique_values_is_kept_and_made_wherever_it_is() {
    for preset in PRESETS {
        for store in Store::ALL {
            let may_stage = store == Store::Serializable && !preset.workload(600, None).kind.has_statements();
            let injection = may_stage.then_some(Injection::StaleRead);
            let workload = Workload { injection, ..small(preset.name, store) };
            let (txns, _) = run(&workload);
            let mut written = HashSet::new();
            let mut writes = txns.iter().flat_map(|it| &it.ops).filter(|it| it.access == Access::Write);
            let is_unique = writes.all(|it| it.value != 0 && written.insert((it.key, it.value)));
            let is_promised = text(&workload).ends_with("{\"recording\":\"complete\"}\n");
            // With few values, and rows that come and go, luck may have it that none of them comes again.
            let is_meant = workload.values == Values::Unique && workload.kind != Kind::Ranges;
            assert_eq!(is_promised, is_meant, "{} of {}", preset.name, store.name());
            assert!(is_unique || !is_promised, "{} of {}", preset.name, store.name());
        }
    }
}

#[test]
fn as_many_transactions_commit_as_asked_for() {
    for preset in PRESETS {
        for store in Store::ALL {
            let (txns, tally) = run(&small(preset.name, store));
            assert_eq!(committed(&txns).count(), 600, "{}", preset.name);
            assert_eq!(tally, Tally { n_committed: 600, n_aborted: txns.len() - 600 });
        }
    }
}

#[test]
fn the_serializable_store_commits_in_a_serial_order() {
    for preset in PRESETS {
        let (txns, _) = run(&small(preset.name, Store::Serializable));
        let mut state = HashMap::new();
        for (idx, txn) in committed(&txns).enumerate() {
            assert_eq!(replay(&txn.ops, &mut state), None, "{}: transaction {idx}", preset.name);
        }
    }
}

#[test]
fn the_snapshot_store_reads_what_had_ended_at_begin_and_the_first_committer_wins() {
    for preset in PRESETS {
        let (txns, _) = run(&small(preset.name, Store::Snapshot));
        let mut txns_by_begin: Vec<&Ended> = committed(&txns).collect();
        txns_by_begin.sort_by_key(|it| it.begin);
        let mut until_begin = committed(&txns).peekable();
        let mut state = HashMap::new();
        for txn in txns_by_begin {
            while let Some(before) = until_begin.next_if(|it| it.end < txn.begin) {
                state.extend(before.ops.iter().filter(|it| it.access == Access::Write).map(|it| (it.key, it.value)));
            }
            assert_eq!(replay(&txn.ops, &mut state.clone()), None, "{}", preset.name);
            let overlapping = committed(&txns).filter(|it| txn.begin < it.end && it.end < txn.end);
            let mine = written(&txn.ops);
            for other in overlapping {
                assert!(written(&other.ops).is_disjoint(&mine), "{}", preset.name);
            }
        }
    }
}

/// Nobody waits, so most reads are old: of a store with one state, they would not be.
#[test]
fn the_causal_store_aborts_nobody_and_its_sessions_miss_what_others_did() {
    for preset in PRESETS {
        let (txns, tally) = run(&small(preset.name, Store::Causal));
        assert_eq!(tally.n_aborted, 0, "{}", preset.name);
        let mut state = HashMap::new();
        let is_old = |txn: &&Ended| {
            let is_old = replay(&txn.ops, &mut state.clone()).is_some();
            state.extend(txn.ops.iter().filter(|it| it.access == Access::Write).map(|it| (it.key, it.value)));
            is_old
        };
        assert!(committed(&txns).filter(is_old).count() > 100, "{}", preset.name);
    }
}

fn written(ops: &[Op]) -> HashSet<u32> {
    ops.iter().filter(|it| it.access == Access::Write).map(|it| it.key).collect()
}

#[test]
fn sessions_interleave() {
    let (txns, _) = run(&small("blindw-rw", Store::Serializable));
    let n_concurrent = |txn: &Ended| txns.iter().filter(|it| it.begin < txn.end && txn.begin < it.end).count();
    let n_mean = txns.iter().map(n_concurrent).sum::<usize>() / txns.len();
    assert!(n_mean > 40, "50 sessions, and {n_mean} transactions at once");
    for pair in txns.windows(2) {
        assert!(pair[0].end < pair[1].end, "transactions are written as they end");
    }
    let mut last_end = HashMap::new();
    for txn in &txns {
        let before = last_end.insert(txn.session, txn.end);
        assert!(before.is_none_or(|it| it < txn.begin), "a session does one transaction after the other");
    }
}

#[test]
fn one_injected_anomaly_breaks_the_serial_order_in_the_middle() {
    for injection in Injection::ALL {
        for name in ["blindw-rw", "high-dup", "tpcc-like"] {
            let clean = small(name, Store::Serializable);
            let workload = Workload { injection: Some(injection), ..clean };
            assert_ne!(text(&clean), text(&workload), "{name}");
            let (txns, _) = run(&workload);
            let mut state = HashMap::new();
            let broken: Vec<usize> = committed(&txns)
                .enumerate()
                .filter(|(_, txn)| {
                    let mut after = state.clone();
                    let is_broken = replay(&txn.ops, &mut after).is_some();
                    state.extend(txn.ops.iter().filter(|it| it.access == Access::Write).map(|it| (it.key, it.value)));
                    is_broken
                })
                .map(|it| it.0)
                .collect();
            // Of a long fork both readers stand after both writers.
            let n_expected = if injection == Injection::LongFork { 2 } else { 1 };
            assert_eq!(broken.len(), n_expected, "{} in {name}: {broken:?}", injection.name());
            assert!(broken.iter().all(|it| (200..500).contains(it)), "{} in {name}: {broken:?}", injection.name());
        }
    }
}

#[test]
fn only_what_waits_in_memory_or_adds_keys_has_to_be_small() {
    let large = |name: &str, store| Workload { store, ..preset(name).unwrap().workload(100_000_000, Some(16)) };
    let lines = FileKind::Lines(Times::Kept);
    assert!(check(&large("blindw-rw", Store::Serializable), lines).is_ok());
    assert!(check(&large("blindw-rw", Store::Snapshot), lines).is_ok());
    for (name, store, kind) in [
        ("blindw-rw", Store::Serializable, FileKind::BySession(Layout::Jsonl)),
        ("blindw-rw", Store::Causal, lines),
        ("tpcc-like", Store::Serializable, lines),
    ] {
        let refusal = check(&large(name, store), kind);
        assert!(matches!(refusal, Err(GenerateError::TooLarge { .. })), "{name}: {refusal:?}");
    }
}
