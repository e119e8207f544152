//! Who wrote what: the final writes of every transaction, and the writers of every version of every key.
//!
//! A version is a key with a value. Most values are written once, and then a table by value says who wrote the version. The
//! writers of all others are laid out by key, then value, then transaction, so that all writers of a version are one range, which
//! every read of the version shares. Cost: linear, but for sorting the values of each key that were written more than once.

use crate::packed::Packed;
use crate::{Access, History, KeyId, OpId, Outcome, ScanId, TxnId, ValueId};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// The last write of each key by each transaction that did not abort, sorted by key.
#[derive(Debug, Default)]
pub(crate) struct FinalWrites {
    starts: Packed,
    ops: Packed,
}

impl FinalWrites {
    pub(crate) fn new(history: &History) -> Self {
        let mut writes = Self::default();
        writes.starts.extend([0, 0]);
        let mut own: Vec<OpId> = Vec::new();
        for txn in history.txns() {
            if history.outcome(txn) != Outcome::Aborted {
                let is_write = |it: &OpId| matches!(history.access_at(it.index()), Access::Write | Access::Append);
                own.extend(history.ops(txn).filter(is_write));
                keep_last_per_key(history, &mut own);
                own.drain(..).for_each(|it| writes.ops.push_number(it.index()));
            }
            writes.starts.push_number(writes.ops.len());
        }
        writes
    }

    /// Those of some transactions; all others have none.
    pub(crate) fn retain(&self, history: &History, stays: impl Fn(TxnId) -> bool) -> Self {
        let mut kept = Self::default();
        kept.starts.push_number(0);
        for txn in (0..history.n_txns()).map(TxnId::from_index) {
            if stays(txn) {
                self.of(txn).for_each(|it| kept.ops.push_number(it.index()));
            }
            kept.starts.push_number(kept.ops.len());
        }
        kept
    }

    /// Where those of one transaction stand among all.
    #[inline]
    pub(crate) fn range(&self, txn: TxnId) -> Range<usize> {
        self.starts.span(txn.index())
    }

    /// Those of one transaction.
    #[inline]
    pub(crate) fn of(&self, txn: TxnId) -> impl ExactSizeIterator<Item = OpId> + '_ {
        self.range(txn).map(|it| self.at(it))
    }

    /// Those of all transactions, one after the other.
    pub(crate) fn all(&self) -> impl ExactSizeIterator<Item = OpId> + '_ {
        (0..self.ops.len()).map(|it| self.at(it))
    }

    #[inline]
    fn at(&self, position: usize) -> OpId {
        OpId::from_index(self.ops.number(position))
    }

    /// The last write of a key by a transaction. Most transactions are so short that looking at each write is fastest.
    #[inline]
    pub(crate) fn find(&self, history: &History, txn: TxnId, key: KeyId) -> Option<OpId> {
        const SHORT: usize = 16;
        let mut range = self.range(txn);
        let key_at = |it: usize| history.key_at(self.at(it).index());
        while range.len() > SHORT {
            let middle = range.start.midpoint(range.end);
            range = if key_at(middle) <= key { middle..range.end } else { range.start..middle };
        }
        range.find(|it| key_at(*it) == key).map(|it| self.at(it))
    }

    /// Is this the last value of the key that the transaction wrote?
    #[inline]
    pub(crate) fn has(&self, history: &History, txn: TxnId, key: KeyId, value: ValueId) -> bool {
        self.find(history, txn, key).is_some_and(|it| history.op_value[it.index()] == value.raw())
    }

    /// The writers of every key.
    pub(crate) fn writers(&self, history: &History) -> Writers {
        let mut starts = vec![0u32; history.n_keys() + 1];
        for op in self.all() {
            starts[history.key_at(op.index()).index() + 1] += 1;
        }
        for key_idx in 0..history.n_keys() {
            starts[key_idx + 1] += starts[key_idx];
        }
        let mut next = starts.clone();
        let mut txns = vec![TxnId::INITIAL; self.ops.len()];
        for txn in history.txns() {
            for op in self.of(txn) {
                let place = &mut next[history.key_at(op.index()).index()];
                txns[*place as usize] = txn;
                *place += 1;
            }
        }
        Writers { starts, txns }
    }
}

/// Sorts writes by key and keeps the last write of each.
fn keep_last_per_key(history: &History, ops: &mut Vec<OpId>) {
    let key = |it: &OpId| history.key_at(it.index());
    if ops.is_sorted_by(|left, right| key(left) < key(right)) {
        return;
    }
    ops.sort_by_key(key);
    let mut kept = 0;
    for idx in 0..ops.len() {
        let is_last = ops.get(idx + 1).is_none_or(|next| key(next) != key(&ops[idx]));
        if is_last {
            ops[kept] = ops[idx];
            kept += 1;
        }
    }
    ops.truncate(kept);
}

/// The writers of every key, in ascending order, without the initial transaction: ranges of one column.
#[derive(Debug)]
pub(crate) struct Writers {
    pub(crate) starts: Vec<u32>,
    pub(crate) txns: Vec<TxnId>,
}

/// The writers of every version, the initial transaction included.
pub(crate) struct Versions {
    only: OnlyWriters,
    /// Where each key begins in the columns of what was written more than once.
    starts: Vec<u32>,
    values: Vec<ValueId>,
    /// By key, value and transaction; behind them, what readers need of their own.
    pub(crate) writers: Vec<TxnId>,
    /// By key and predicate, where the writers of all versions stand that do not match.
    omitted: FxHashMap<(KeyId, u32), Range<usize>>,
}

/// Who wrote a version last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Run {
    Nobody,
    /// One transaction, and no other wrote this value anywhere.
    Only(TxnId),
    /// Those in this range of the writers.
    Some(Range<usize>),
}

impl Run {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Nobody => 0,
            Self::Only(_) => 1,
            Self::Some(range) => range.len(),
        }
    }
}

/// By value: who alone wrote it last, and to which key. Both stand together, so that most reads look at one place in memory,
/// in as few bytes as the numbers of this history take: it is as long as there are values.
struct OnlyWriters {
    bytes: Vec<u8>,
    /// So many bytes for each value.
    width: usize,
    /// So many bits are the writer, or one of the marks below; those above are the key.
    writer_bits: u32,
    mask: u64,
}

/// The value was never written last.
const NOWHERE: u64 = 0;
/// The value was written more than once.
const SEVERAL: u64 = 1;
/// What a transaction's number has on top of it.
const FIRST_TXN: u64 = 2;

impl OnlyWriters {
    /// Nothing was written.
    fn new(history: &History) -> Self {
        let bits = |n: usize| usize::BITS - n.leading_zeros();
        let writer_bits = bits(history.n_txns() + FIRST_TXN as usize);
        let n_bits = writer_bits + bits(history.n_keys());
        let width = n_bits.div_ceil(u8::BITS) as usize;
        // An entry is taken out of eight bytes, whatever follows it.
        let bytes = vec![0; history.n_values() * width + size_of::<u64>()];
        Self { bytes, width, writer_bits, mask: u64::MAX >> (u64::BITS - width as u32 * u8::BITS) }
    }

    #[inline]
    fn word(&self, value: ValueId) -> u64 {
        let at = value.index() * self.width;
        u64::from_le_bytes(self.bytes[at..at + size_of::<u64>()].try_into().expect("the slice has this length"))
    }

    /// The writer of a value, or a mark, and the key.
    #[inline]
    fn get(&self, value: ValueId) -> (u64, KeyId) {
        let entry = self.word(value) & self.mask;
        (entry & ((1 << self.writer_bits) - 1), KeyId::from_index((entry >> self.writer_bits) as usize))
    }

    /// Notes a write of a value. Was there one already?
    #[inline]
    fn is_again(&mut self, value: ValueId, txn: TxnId, key: KeyId) -> bool {
        let before = self.word(value);
        let is_again = before & ((1 << self.writer_bits) - 1) != NOWHERE;
        let writer = if is_again { SEVERAL } else { u64::from(txn.raw()) + FIRST_TXN };
        let entry = u64::from(key.raw()) << self.writer_bits | writer;
        let at = value.index() * self.width;
        let word = before & !self.mask | entry;
        self.bytes[at..at + size_of::<u64>()].copy_from_slice(&word.to_le_bytes());
        is_again
    }
}

impl Versions {
    /// The writers of every version.
    pub(crate) fn new(history: &History, final_writes: &FinalWrites) -> Self {
        let mut only = OnlyWriters::new(history);
        for key in history.keys() {
            only.is_again(history.initial_value(key), TxnId::INITIAL, key);
        }
        let mut has_equal_writes = false;
        for txn in history.txns() {
            for op in final_writes.of(txn) {
                let value = ValueId::from_index(history.op_value[op.index()] as usize);
                has_equal_writes |= only.is_again(value, txn, history.key_at(op.index()));
            }
        }
        let has_scans = history.scans().next().is_some();
        let is_listed = |value: ValueId| has_scans || only.get(value).0 == SEVERAL;
        let writers = if has_scans || has_equal_writes { Some(final_writes) } else { None };
        let (starts, entries) = by_key(history, writers, is_listed);
        let values = entries.iter().map(|it| ValueId::from_index((it >> 32) as usize)).collect();
        let writers = entries.iter().map(|it| writer_of(*it)).collect();
        Self { only, starts, values, writers, omitted: FxHashMap::default() }
    }

    /// Who wrote a version last.
    #[inline]
    pub(crate) fn run(&self, key: KeyId, value: ValueId) -> Run {
        match self.only.get(value) {
            (NOWHERE, _) => Run::Nobody,
            (SEVERAL, _) => {
                let (start, end) = (self.starts[key.index()] as usize, self.starts[key.index() + 1] as usize);
                let first = start + self.values[start..end].partition_point(|it| *it < value);
                Run::Some(first..self.end_of_run(first, end, value))
            }
            (writer, written) if written == key => Run::Only(TxnId::from_index((writer - FIRST_TXN) as usize)),
            _ => Run::Nobody,
        }
    }

    /// The range of the writers of all versions of a row that do not match the predicate of a scan.
    pub(crate) fn run_omitted(&mut self, history: &History, scan: ScanId, key: KeyId) -> Run {
        if let Some(only) = history.only_unmatched(scan, key) {
            return self.run(key, only);
        }
        let memo = (key, history.predicate_of(scan));
        if let Some(range) = self.omitted.get(&memo) {
            return Run::Some(range.clone());
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
        Run::Some(range)
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

/// Groups versions by key (a counting sort), and sorts them by value and writer: initial ones and those of final writes, as
/// far as they are listed.
fn by_key(
    history: &History,
    final_writes: Option<&FinalWrites>,
    is_listed: impl Fn(ValueId) -> bool,
) -> (Vec<u32>, Vec<u64>) {
    let each = |visit: &mut dyn FnMut(KeyId, ValueId, TxnId)| {
        for key in history.keys().filter(|it| is_listed(history.initial_value(*it))) {
            visit(key, history.initial_value(key), TxnId::INITIAL);
        }
        for (txn, writes) in history.txns().filter_map(|txn| final_writes.map(|it| (txn, it))) {
            for op in writes.of(txn) {
                let value = ValueId::from_index(history.op_value[op.index()] as usize);
                if is_listed(value) {
                    visit(history.key_at(op.index()), value, txn);
                }
            }
        }
    };
    let mut starts = vec![0u32; history.n_keys() + 1];
    each(&mut |key, _, _| starts[key.index() + 1] += 1);
    for key_idx in 0..history.n_keys() {
        starts[key_idx + 1] += starts[key_idx];
    }
    let mut entries = vec![0u64; starts[history.n_keys()] as usize];
    let mut next = starts.clone();
    each(&mut |key, value, txn| {
        let place = &mut next[key.index()];
        entries[*place as usize] = entry(value, txn);
        *place += 1;
    });
    for range in starts.windows(2) {
        entries[range[0] as usize..range[1] as usize].sort_unstable();
    }
    (starts, entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a column of this width, whoever wrote a value alone is found, and neighbours are left as they are.
    fn is_right(writer_bits: u32, width: usize) {
        let n_values = 100;
        let bytes = vec![0; n_values * width + size_of::<u64>()];
        let mask = u64::MAX >> (u64::BITS - width as u32 * u8::BITS);
        let mut only = OnlyWriters { bytes, width, writer_bits, mask };
        let largest_key = (mask >> writer_bits).min(u64::from(u32::MAX - 1)) as usize;
        let largest_txn = (1_usize << writer_bits) - 1 - FIRST_TXN as usize;
        let value = ValueId::from_index;
        let entry = |it: usize| (TxnId::from_index(largest_txn - it), KeyId::from_index(largest_key - it));
        let written = || (0..n_values).filter(|it| it % 3 != 0);
        for idx in written().rev() {
            let (txn, key) = entry(idx);
            assert!(!only.is_again(value(idx), txn, key));
        }
        for idx in written() {
            let (txn, key) = entry(idx);
            assert_eq!(only.get(value(idx)), (u64::from(txn.raw()) + FIRST_TXN, key), "{idx} of {width}");
        }
        for idx in written() {
            let (txn, key) = entry(idx);
            assert!(only.is_again(value(idx), txn, key));
            assert_eq!(only.get(value(idx)).0, SEVERAL);
        }
        assert!((0..n_values).step_by(3).all(|it| only.get(value(it)).0 == NOWHERE));
    }

    #[test]
    fn writers_by_value_are_found_in_columns_of_any_width() {
        for (writer_bits, width) in [(8, 2), (8, 3), (17, 4), (24, 5), (24, 6), (31, 7), (31, 8)] {
            is_right(writer_bits, width);
        }
    }
}
