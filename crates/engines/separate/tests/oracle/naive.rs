//! The histories of a scope by trying everything that can be written down, for comparison.

use crate::oracle::{Abstract, Read, ReadOrder, Scope, Times, Write, interval_orders, permutations};
use std::collections::BTreeSet;

/// Every subset of every pair, every write, every read: what is a history of the scope is taken, in its canonical form.
pub(crate) fn histories(scope: Scope) -> BTreeSet<Abstract> {
    let mut found = BTreeSet::new();
    let n = scope.n_txns as u8;
    for k in 1..=scope.n_keys as u8 {
        let cells: Vec<(u8, u8)> = (0..n).flat_map(|txn| (0..k).map(move |key| (txn, key))).collect();
        let all_writes: Vec<Write> = cells.iter().map(|it| Write { txn: it.0, key: it.1 }).collect();
        let all_reads: Vec<Read> = cells.iter().flat_map(|it| reads_of(n, *it)).collect();
        for so in subsets(&pairs(n)).into_iter().filter(|it| is_order(it) && scope.has_order(scope.n_txns, it)) {
            for writes in subsets(&all_writes) {
                for reads in subsets(&all_reads) {
                    let read_order = scope.read_order();
                    let (n, k, so, writes) = (scope.n_txns, usize::from(k), so.clone(), writes.clone());
                    let history = Abstract { n, k, so, writes, reads, read_order, rt: None };
                    if scope.has(&history) {
                        let ordered = in_all_orders(scope, &history).into_iter();
                        found.extend(ordered.flat_map(|it| at_all_times(scope, it)).map(|it| it.canonical()));
                    }
                }
            }
        }
    }
    found
}

fn reads_of(n: u8, (txn, key): (u8, u8)) -> impl Iterator<Item = Read> {
    std::iter::once(None).chain((0..n).map(Some)).map(move |source| Read { txn, key, source })
}

fn pairs(n: u8) -> Vec<(u8, u8)> {
    (0..n).flat_map(|a| (0..n).map(move |b| (a, b))).collect()
}

fn subsets<T: Copy>(all: &[T]) -> Vec<Vec<T>> {
    let chosen = |mask: u32| all.iter().enumerate().filter(move |it| mask >> it.0 & 1 == 1).map(|it| *it.1);
    (0..1u32 << all.len()).map(|mask| chosen(mask).collect()).collect()
}

fn is_order(so: &[(u8, u8)]) -> bool {
    let is_closed = |a: &(u8, u8), b: &(u8, u8)| a.1 != b.0 || so.contains(&(a.0, b.1));
    so.iter().all(|a| a.0 != a.1 && so.iter().all(|b| is_closed(a, b)))
}

fn at_all_times(scope: Scope, history: Abstract) -> Vec<Abstract> {
    match scope.times {
        Times::None => vec![history],
        Times::Intervals => {
            let orders = interval_orders(history.n, &history.so).into_iter();
            orders.map(|rt| Abstract { rt: Some(rt), ..history.clone() }).collect()
        }
    }
}

fn in_all_orders(scope: Scope, history: &Abstract) -> Vec<Abstract> {
    if scope.read_order() == ReadOrder::Ignored {
        return vec![history.clone()];
    }
    // Orders of all reads, of which only those within each transaction are left after sorting.
    let reordered = |order: Vec<u8>| {
        let reads = order.iter().map(|it| history.reads[usize::from(*it)]).collect();
        let mut other = Abstract { reads, ..history.clone() };
        other.sort();
        other
    };
    permutations(history.reads.len()).into_iter().map(reordered).collect()
}
