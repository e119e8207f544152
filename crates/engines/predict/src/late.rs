//! A serial order in which nobody comes earlier than it must, if it was not read.
//!
//! An order explains more runs if writes that nobody read come last: there they are in nobody's way.

use crate::cycle::VersionOrder;
use crate::level::Case;
use crate::run::Role;
use crate::saturate::forced;
use crate::trace::{INITIAL, Key, Trace, TxnIdx};
use rustc_hash::FxHashMap;
use std::collections::BinaryHeap;

/// Such an order for a run and for all transactions that are not in it; nothing if what must come first is not enough to
/// make it serial.
pub(crate) fn late_order(case: &Case<'_>) -> Option<VersionOrder> {
    let (trace, run) = (case.trace, case.run);
    let before = forced(case)?;
    let n_txns = trace.n_txns();
    let cuts: Vec<TxnIdx> = trace.txns().filter(|it| matches!(run.roles[*it as usize], Role::Cut(_))).collect();
    // A transaction on the boundary has a node besides the one that it would have if it were complete.
    let node = |txn: TxnIdx| cuts.binary_search(&txn).map_or(txn, |nth| (n_txns + nth) as u32);
    let mut edges: Vec<(u32, u32)> = causes(trace);
    let there: Vec<TxnIdx> = trace.txns().filter(|it| run.is_in(*it)).collect();
    for first in &there {
        let later = there.iter().filter(|it| before.has(*first as usize, **it as usize));
        edges.extend(later.map(|it| (node(*first), node(*it))));
    }
    let is_read = read_by_somebody(trace);
    // From the end: who is last?
    let backwards: Vec<(u32, u32)> = edges.into_iter().map(|(from, to)| (to, from)).collect();
    let n_nodes = n_txns + cuts.len();
    let priority = |node: u32| {
        let txn = cuts.get((node as usize).wrapping_sub(n_txns)).copied().unwrap_or(node);
        let is_early = node as usize >= n_txns || is_read[txn as usize] || trace.writes[txn as usize].is_empty();
        u32::from(is_early) * n_nodes as u32 + (n_txns as u32 - 1 - txn)
    };
    let mut places = sorted(n_nodes, &backwards, priority)?;
    for place in &mut places {
        *place = n_nodes as u32 - 1 - *place;
    }
    let mut order = there;
    order.sort_unstable_by_key(|it| places[node(*it) as usize]);
    is_serial(case, &order).then(|| {
        let cut_places = cuts.iter().map(|it| (*it, places[node(*it) as usize])).collect();
        version_order(trace, places[..n_txns].to_vec(), &cut_places)
    })
}

/// Session order and reads of the observed run.
pub(crate) fn causes(trace: &Trace) -> Vec<(TxnIdx, TxnIdx)> {
    let mut edges = Vec::new();
    for txn in trace.txns() {
        let sources = trace.reads[txn as usize].iter().map(|it| it.source).filter(|it| *it != INITIAL);
        edges.extend(sources.chain(trace.before_in_session(txn)).map(|it| (it, txn)));
    }
    edges
}

fn read_by_somebody(trace: &Trace) -> Vec<bool> {
    let mut is_read = vec![false; trace.n_txns()];
    for read in trace.reads.iter().flatten().filter(|it| it.source != INITIAL) {
        is_read[read.source as usize] = true;
    }
    is_read
}

/// Does each read see the last write before it?
fn is_serial(case: &Case<'_>, order: &[TxnIdx]) -> bool {
    let mut last: FxHashMap<Key, TxnIdx> = FxHashMap::default();
    order.iter().all(|txn| {
        let reads = &case.run.reads[*txn as usize];
        let is_right = reads.iter().all(|it| last.get(&it.key).copied().unwrap_or(INITIAL) == it.source);
        last.extend(case.run.writes[*txn as usize].iter().map(|it| (it.key, *txn)));
        is_right
    })
}

/// The order of versions, with blind writes on the boundary at the places of their transactions.
fn version_order(trace: &Trace, places: Vec<u32>, cuts: &FxHashMap<TxnIdx, u32>) -> VersionOrder {
    let mut blind = FxHashMap::default();
    for (key, writers) in (0..).zip(&trace.writers) {
        for txn in writers {
            let Some(place) = cuts.get(txn) else { continue };
            blind.insert((*txn, key), writers.iter().filter(|it| places[**it as usize] < *place).count());
        }
    }
    VersionOrder { places, blind }
}

/// Each node's place in an order that respects the edges and takes the smallest priority where it can choose; nothing if
/// the edges have a cycle.
pub(crate) fn sorted(n_nodes: usize, edges: &[(u32, u32)], priority: impl Fn(u32) -> u32) -> Option<Vec<u32>> {
    let mut next = vec![Vec::new(); n_nodes];
    let mut n_before = vec![0; n_nodes];
    for (from, to) in edges {
        next[*from as usize].push(*to);
        n_before[*to as usize] += 1;
    }
    let entry = |node: u32| std::cmp::Reverse((priority(node), node));
    let mut ready: BinaryHeap<_> = (0..n_nodes as u32).filter(|it| n_before[*it as usize] == 0).map(entry).collect();
    let mut places = vec![u32::MAX; n_nodes];
    let mut n_placed = 0;
    while let Some(std::cmp::Reverse((_, node))) = ready.pop() {
        places[node as usize] = n_placed;
        n_placed += 1;
        for to in &next[node as usize] {
            n_before[*to as usize] -= 1;
            if n_before[*to as usize] == 0 {
                ready.push(entry(*to));
            }
        }
    }
    (n_placed as usize == n_nodes).then_some(places)
}
