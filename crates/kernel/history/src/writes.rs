//! Who wrote what: the final writes of every transaction, and the writers of every version of every key.
//!
//! A version is a key with a value. Writers are laid out by key, then value, then transaction, so that all writers of a
//! version are one range, which every read of the version shares. Cost: linear, but for sorting the values of each key,
//! which mostly come in order.

use crate::{Access, History, KeyId, Outcome, ScanId, TxnId, ValueId};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// The last write of each key by each transaction that did not abort, sorted by key.
pub(crate) struct FinalWrites {
    pub(crate) starts: Vec<u32>,
    pub(crate) writes: Vec<(KeyId, ValueId)>,
}

impl FinalWrites {
    pub(crate) fn new(history: &History) -> Self {
        let is_write = |it: &Access| matches!(it, Access::Write | Access::Append);
        let n_writes = history.op_access.iter().filter(|it| is_write(it)).count();
        let mut starts = Vec::with_capacity(history.n_txns() + 1);
        let mut writes = Vec::with_capacity(n_writes);
        starts.extend([0, 0]);
        for txn in history.txns() {
            if history.outcome(txn) != Outcome::Aborted {
                let start = writes.len();
                for op in history.op_range(txn) {
                    if is_write(&history.op_access[op]) {
                        writes.push((history.op_key[op], ValueId::from_index(history.op_value[op] as usize)));
                    }
                }
                keep_last_per_key(&mut writes, start);
            }
            starts.push(writes.len() as u32);
        }
        Self { starts, writes }
    }

    /// Those of one transaction.
    pub(crate) fn of(&self, txn: TxnId) -> &[(KeyId, ValueId)] {
        &self.writes[self.starts[txn.index()] as usize..self.starts[txn.index() + 1] as usize]
    }
}

/// Sorts `writes[start..]` by key and keeps the last write of each.
fn keep_last_per_key(writes: &mut Vec<(KeyId, ValueId)>, start: usize) {
    if writes[start..].is_sorted_by(|left, right| left.0 < right.0) {
        return;
    }
    writes[start..].sort_by_key(|it| it.0);
    let mut kept = start;
    for idx in start..writes.len() {
        let is_last = writes.get(idx + 1).is_none_or(|next| next.0 != writes[idx].0);
        if is_last {
            writes[kept] = writes[idx];
            kept += 1;
        }
    }
    writes.truncate(kept);
}

/// The writers of every key, in ascending order, without the initial transaction: ranges of one column.
#[derive(Debug)]
pub(crate) struct Writers {
    pub(crate) starts: Vec<u32>,
    pub(crate) txns: Vec<TxnId>,
}

impl Writers {
    /// Leaves out some of them.
    pub(crate) fn retain(&mut self, stays: impl Fn(TxnId) -> bool) {
        let mut kept = 0;
        let mut start = 0;
        for key_idx in 1..self.starts.len() {
            let end = self.starts[key_idx] as usize;
            for idx in start..end {
                if stays(self.txns[idx]) {
                    self.txns[kept] = self.txns[idx];
                    kept += 1;
                }
            }
            start = end;
            self.starts[key_idx] = kept as u32;
        }
        self.txns.truncate(kept);
    }
}

/// The writers of every version, the initial transaction included.
pub(crate) struct Versions {
    /// Where each key begins in the columns.
    starts: Vec<u32>,
    /// Where each value stands in the columns, or one of the marks below. Most values are written once.
    places: Vec<u32>,
    values: Vec<ValueId>,
    /// By key, value and transaction; behind them, what readers need of their own.
    pub(crate) writers: Vec<TxnId>,
    /// By key and predicate, where the writers of all versions stand that do not match.
    omitted: FxHashMap<(KeyId, u32), Range<usize>>,
}

/// The value was never written last.
const NOWHERE: u32 = u32::MAX;
/// The value was written more than once.
const SEVERAL: u32 = u32::MAX - 1;

impl Versions {
    /// The writers of every key and of every version.
    pub(crate) fn new(history: &History, final_writes: &FinalWrites) -> (Writers, Self) {
        let (starts, mut entries) = by_key(history, final_writes);
        let mut by_key = Writers {
            starts: Vec::with_capacity(starts.len()),
            txns: Vec::with_capacity(entries.len() - history.n_keys()),
        };
        by_key.starts.push(0);
        for range in starts.windows(2) {
            let group = &mut entries[range[0] as usize..range[1] as usize];
            by_key.txns.extend(group[1..].iter().map(|it| writer_of(*it)));
            by_key.starts.push(by_key.txns.len() as u32);
            group.sort_unstable();
        }
        let values: Vec<ValueId> = entries.iter().map(|it| ValueId::from_index((it >> 32) as usize)).collect();
        let writers = entries.iter().map(|it| writer_of(*it)).collect();
        let mut places = vec![NOWHERE; history.n_values()];
        for (idx, value) in values.iter().enumerate() {
            let place = &mut places[value.index()];
            *place = if *place == NOWHERE { idx as u32 } else { SEVERAL };
        }
        (by_key, Self { starts, places, values, writers, omitted: FxHashMap::default() })
    }

    /// The range of the writers of a version.
    pub(crate) fn run(&self, key: KeyId, value: ValueId) -> Range<usize> {
        let (start, end) = (self.starts[key.index()] as usize, self.starts[key.index() + 1] as usize);
        let place = self.places[value.index()];
        if place != SEVERAL {
            let is_here = (start..end).contains(&(place as usize));
            return if is_here { place as usize..place as usize + 1 } else { 0..0 };
        }
        let first = start + self.values[start..end].partition_point(|it| *it < value);
        first..self.end_of_run(first, end, value)
    }

    /// The range of the writers of all versions of a row that do not match the predicate of a scan.
    pub(crate) fn run_omitted(&mut self, history: &History, scan: ScanId, key: KeyId) -> Range<usize> {
        if let Some(only) = history.only_unmatched(scan, key) {
            return self.run(key, only);
        }
        let memo = (key, history.predicate_of(scan));
        if let Some(range) = self.omitted.get(&memo) {
            return range.clone();
        }
        let (mut at, end) = (self.starts[key.index()] as usize, self.starts[key.index() + 1] as usize);
        let mut writers = Vec::new();
        while at < end {
            let run_end = self.end_of_run(at, end, self.values[at]);
            if !history.matches(scan, key, self.values[at]) {
                writers.extend_from_slice(&self.writers[at..run_end]);
            }
            at = run_end;
        }
        writers.sort_unstable();
        let range = self.writers.len()..self.writers.len() + writers.len();
        self.writers.extend(writers);
        self.omitted.insert(memo, range.clone());
        range
    }

    fn end_of_run(&self, first: usize, end: usize, value: ValueId) -> usize {
        let others = &self.values[first..end];
        match others {
            [only, next, ..] if *only == value && *next != value => first + 1,
            _ => first + others.partition_point(|it| *it == value),
        }
    }

    /// Puts those that are `last` at the end of each version; both parts stay in ascending order.
    pub(crate) fn put_last(&mut self, last: impl Fn(TxnId) -> bool) {
        for key_idx in 0..self.starts.len() - 1 {
            let (mut at, end) = (self.starts[key_idx] as usize, self.starts[key_idx + 1] as usize);
            while at < end {
                let run_end = self.end_of_run(at, end, self.values[at]);
                self.writers[at..run_end].sort_by_key(|it| last(*it));
                at = run_end;
            }
        }
        #[allow(clippy::iter_over_hash_type, reason = "each is sorted by itself")]
        for range in self.omitted.values() {
            self.writers[range.clone()].sort_by_key(|it| last(*it));
        }
    }
}

/// A value and who wrote it, so that they sort as numbers.
fn entry(value: ValueId, writer: TxnId) -> u64 {
    u64::from(value.raw()) << 32 | u64::from(writer.raw())
}

fn writer_of(entry: u64) -> TxnId {
    TxnId::from_index((entry & u64::from(u32::MAX)) as usize)
}

/// Groups final writes by key (a counting sort); each group begins with the initial version.
fn by_key(history: &History, final_writes: &FinalWrites) -> (Vec<u32>, Vec<u64>) {
    let n_keys = history.n_keys();
    let mut starts = vec![0u32; n_keys + 1];
    for (key, _) in &final_writes.writes {
        starts[key.index() + 1] += 1;
    }
    for key_idx in 0..n_keys {
        starts[key_idx + 1] += starts[key_idx] + 1;
    }
    let mut entries = vec![0u64; final_writes.writes.len() + n_keys];
    let mut next: Vec<u32> = starts[..n_keys].to_vec();
    for key in history.keys() {
        entries[next[key.index()] as usize] = entry(history.initial_value(key), TxnId::INITIAL);
        next[key.index()] += 1;
    }
    for txn in history.txns() {
        for (key, value) in final_writes.of(txn) {
            let place = &mut next[key.index()];
            entries[*place as usize] = entry(*value, txn);
            *place += 1;
        }
    }
    (starts, entries)
}
