//! The transactions of a window, and for each key its versions in their chosen order, with their readers.
//!
//! Who must come before whom follows from these chains: there are no edges to be kept. What happened before the window is
//! one version of each key, which nobody wrote as far as the window knows.

use super::by_value::ByValue;
use super::order::Graph;
use iso_history::{KeyId, StreamedOp, StreamedValue};
use std::collections::VecDeque;

/// Nothing.
pub(super) const NONE: u32 = u32::MAX;

/// Where dependencies attach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A transaction is one event.
    Serial,
    /// Snapshot and commit; two writers of a key do not overlap.
    Snapshots,
    /// Snapshot and commit; writers may overlap.
    Prefixes,
}

#[derive(Clone, Debug)]
pub(super) struct Txn {
    /// Its number in the stream.
    pub(super) id: u64,
    pub(super) session: u32,
    /// Its neighbours in its session, as far as they are in the window.
    pub(super) before: u32,
    pub(super) after: u32,
    pub(super) first_op: u32,
    pub(super) begin: Option<i64>,
    pub(super) end: Option<i64>,
    /// How many of its reads wait for their writer.
    pub(super) n_waiting: u32,
}

/// A read of a version, or a version that was written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Op {
    pub(super) txn: u32,
    /// The version; none for a read that waits, or that nothing explains.
    pub(super) version: u32,
    pub(super) key: u32,
    pub(super) next_of_txn: u32,
    next_reader: u32,
    previous_reader: u32,
    pub(super) is_write: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Version {
    pub(super) key: u32,
    /// None if its writer is not in the window.
    pub(super) writer: u32,
    pub(super) previous: u32,
    pub(super) next: u32,
    first_reader: u32,
    /// For the version before the window, the newest one of its key.
    newest: u32,
    pub(super) value: StreamedValue,
}

impl Version {
    /// Has it this value? Most are integers, and compared here.
    #[inline]
    pub(super) fn is_of(&self, value: &StreamedValue) -> bool {
        match (&self.value, value) {
            (StreamedValue::Int(one), StreamedValue::Int(other)) => one == other,
            (one, other) => one == other,
        }
    }
}

/// The version of a key that is before the window has the number of the key, with this bit: it is always in the same place,
/// and versions of the window are few enough to stay close to the processor.
const BASE: u32 = 1 << 31;

/// The window. Places that are free are used again in the order in which they became so: what came together stays together, and
/// memory brings it at once.
#[derive(Clone, Debug)]
pub(super) struct Chains {
    pub(super) shape: Shape,
    default_initial: StreamedValue,
    txns: Vec<Txn>,
    free_txns: VecDeque<u32>,
    ops: Vec<Op>,
    free_ops: VecDeque<u32>,
    versions: Vec<Version>,
    free_versions: VecDeque<u32>,
    /// By key, what it holds before the window.
    bases: Vec<Version>,
    by_value: ByValue,
    pub(super) n_txns: usize,
}

impl Chains {
    pub(super) fn new(shape: Shape, default_initial: StreamedValue) -> Self {
        Self {
            shape,
            default_initial,
            txns: Vec::new(),
            free_txns: VecDeque::new(),
            ops: Vec::new(),
            free_ops: VecDeque::new(),
            versions: Vec::new(),
            free_versions: VecDeque::new(),
            bases: Vec::new(),
            by_value: ByValue::default(),
            n_txns: 0,
        }
    }

    /// The event at which a transaction reads.
    #[inline]
    pub(super) fn start(txn: u32) -> u32 {
        txn << 1
    }

    /// The event at which it writes.
    #[inline]
    pub(super) fn commit(&self, txn: u32) -> u32 {
        if self.shape == Shape::Serial { txn << 1 } else { txn << 1 | 1 }
    }

    pub(super) fn txn(&self, txn: u32) -> &Txn {
        &self.txns[txn as usize]
    }

    pub(super) fn txn_mut(&mut self, txn: u32) -> &mut Txn {
        &mut self.txns[txn as usize]
    }

    pub(super) fn op(&self, op: u32) -> Op {
        self.ops[op as usize]
    }

    #[inline]
    pub(super) fn version(&self, version: u32) -> &Version {
        if version & BASE == 0 { &self.versions[version as usize] } else { &self.bases[(version ^ BASE) as usize] }
    }

    #[inline]
    fn version_mut(&mut self, version: u32) -> &mut Version {
        if version & BASE == 0 {
            &mut self.versions[version as usize]
        } else {
            &mut self.bases[(version ^ BASE) as usize]
        }
    }

    pub(super) fn add_txn(&mut self, txn: Txn) -> u32 {
        self.n_txns += 1;
        if let Some(slot) = self.free_txns.pop_front() {
            self.txns[slot as usize] = txn;
            slot
        } else {
            self.txns.push(txn);
            self.txns.len() as u32 - 1
        }
    }

    /// A transaction leaves, with all that it did.
    pub(super) fn remove_txn(&mut self, txn: u32) {
        let mut op = self.txns[txn as usize].first_op;
        while op != NONE {
            let next = self.ops[op as usize].next_of_txn;
            self.free_ops.push_back(op);
            op = next;
        }
        let (before, after) = (self.txns[txn as usize].before, self.txns[txn as usize].after);
        if before != NONE {
            self.txns[before as usize].after = after;
        }
        if after != NONE {
            self.txns[after as usize].before = before;
        }
        self.free_txns.push_back(txn);
        self.n_txns -= 1;
    }

    /// Adds an operation to a transaction, of no version yet.
    pub(super) fn add_op(&mut self, txn: u32, key: KeyId, is_write: bool) -> u32 {
        let next_of_txn = self.txns[txn as usize].first_op;
        let (version, key) = (NONE, key.raw());
        let op = Op { txn, version, key, next_of_txn, next_reader: NONE, previous_reader: NONE, is_write };
        let slot = if let Some(slot) = self.free_ops.pop_front() {
            self.ops[slot as usize] = op;
            slot
        } else {
            self.ops.push(op);
            self.ops.len() as u32 - 1
        };
        self.txns[txn as usize].first_op = slot;
        slot
    }

    pub(super) fn ops_of(&self, txn: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(some(self.txns[txn as usize].first_op), |it| some(self.ops[*it as usize].next_of_txn))
    }

    /// The newest version of a key.
    #[inline]
    pub(super) fn newest(&mut self, key: KeyId) -> u32 {
        while self.bases.len() <= key.index() {
            let key = self.bases.len() as u32;
            let (writer, previous, next, first_reader) = (NONE, NONE, NONE, NONE);
            let (newest, value) = (key | BASE, self.default_initial.clone());
            self.bases.push(Version { key, writer, previous, next, first_reader, newest, value });
        }
        self.bases[key.index()].newest
    }

    /// The newest version of a key; none if nobody has looked at it.
    pub(super) fn newest_of(&self, key: KeyId) -> u32 {
        self.bases.get(key.index()).map_or(NONE, |it| it.newest)
    }

    /// Has somebody looked at a key?
    pub(super) fn is_known(&self, key: KeyId) -> bool {
        key.index() < self.bases.len()
    }

    /// What a key that somebody has looked at holds before the window.
    pub(super) fn before_window(&self, key: KeyId) -> &StreamedValue {
        &self.bases[key.index()].value
    }

    /// Looks at all keys of a transaction at once, so that memory brings one of them while others are on their way; each of
    /// them alone would be waited for.
    pub(super) fn look_ahead<'o>(&self, ops: impl Iterator<Item = &'o StreamedOp>) {
        let seen = |it: &StreamedOp| self.bases.get(it.0.index()).map_or(0, |it| it.newest);
        std::hint::black_box(ops.map(seen).fold(0, |sum: u32, it| sum ^ it));
    }

    /// The initial value of a key, which nobody has touched.
    pub(super) fn set_initial(&mut self, key: KeyId, value: StreamedValue) -> bool {
        let newest = self.newest(key);
        let base = &mut self.bases[key.index()];
        let is_untouched = newest & BASE != 0 && base.first_reader == NONE;
        if is_untouched {
            base.value = value;
        }
        is_untouched
    }

    fn new_version(&mut self, key: u32, writer: u32, value: StreamedValue) -> u32 {
        let (previous, next, first_reader, newest) = (NONE, NONE, NONE, NONE);
        let version = Version { key, writer, previous, next, first_reader, newest, value };
        if let Some(slot) = self.free_versions.pop_front() {
            self.versions[slot as usize] = version;
            slot
        } else {
            self.versions.push(version);
            self.versions.len() as u32 - 1
        }
    }

    /// What a write of a transaction leaves behind, right after another version.
    pub(super) fn add_version(&mut self, op: u32, after: u32, value: StreamedValue) -> u32 {
        let key = self.version(after).key;
        let version = self.new_version(key, self.ops[op as usize].txn, value);
        self.by_value.add(key, &self.versions[version as usize].value, version);
        self.ops[op as usize].version = version;
        self.insert(version, after);
        version
    }

    /// Puts a version that is in no chain into one.
    pub(super) fn insert(&mut self, version: u32, after: u32) {
        let next = std::mem::replace(&mut self.version_mut(after).next, version);
        let it = &mut self.versions[version as usize];
        (it.previous, it.next) = (after, next);
        if next == NONE {
            let key = it.key;
            self.bases[key as usize].newest = version;
        } else {
            self.versions[next as usize].previous = version;
        }
    }

    /// Takes a version out of its chain, so that it is nobody's neighbour. The one before the window is never asked for.
    pub(super) fn take_out(&mut self, version: u32) {
        let it = &mut self.versions[version as usize];
        let key = it.key;
        let (previous, next) = (std::mem::replace(&mut it.previous, NONE), std::mem::replace(&mut it.next, NONE));
        self.version_mut(previous).next = next;
        if next == NONE {
            self.bases[key as usize].newest = previous;
        } else {
            self.versions[next as usize].previous = previous;
        }
    }

    /// A read is of this version.
    pub(super) fn link(&mut self, op: u32, version: u32) {
        let first = std::mem::replace(&mut self.version_mut(version).first_reader, op);
        let it = &mut self.ops[op as usize];
        it.version = version;
        it.next_reader = first;
        it.previous_reader = NONE;
        if first != NONE {
            self.ops[first as usize].previous_reader = op;
        }
    }

    /// A read is of no version.
    pub(super) fn unlink(&mut self, op: u32) {
        let Op { version, next_reader, previous_reader, .. } = self.ops[op as usize];
        if version == NONE {
            return;
        }
        if previous_reader == NONE {
            self.version_mut(version).first_reader = next_reader;
        } else {
            self.ops[previous_reader as usize].next_reader = next_reader;
        }
        if next_reader != NONE {
            self.ops[next_reader as usize].previous_reader = previous_reader;
        }
        self.ops[op as usize].version = NONE;
    }

    /// The transactions that read a version.
    pub(super) fn readers(&self, version: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(some(self.version(version).first_reader), |it| some(self.ops[*it as usize].next_reader))
            .map(|it| self.ops[it as usize].txn)
    }

    /// A version's writer leaves the window: the version before it is gone for good.
    pub(super) fn settle(&mut self, version: u32) {
        let Version { key, next, first_reader, .. } = self.versions[version as usize];
        let base = key | BASE;
        debug_assert_eq!(self.versions[version as usize].previous, base);
        let value = std::mem::replace(&mut self.versions[version as usize].value, StreamedValue::Null);
        self.by_value.remove(key, &value, version);
        // Whoever read what is gone has left, unless it did not fit.
        while self.bases[key as usize].first_reader != NONE {
            self.unlink(self.bases[key as usize].first_reader);
        }
        let it = &mut self.bases[key as usize];
        (it.value, it.next, it.first_reader) = (value, next, first_reader);
        if next == NONE {
            it.newest = base;
        } else {
            self.versions[next as usize].previous = base;
        }
        let mut reader = first_reader;
        while reader != NONE {
            let op = &mut self.ops[reader as usize];
            op.version = base;
            reader = op.next_reader;
        }
        self.free_versions.push_back(version);
    }

    /// Can versions of this key be found by their values?
    #[inline]
    pub(super) fn has_table(&self, key: KeyId) -> bool {
        self.by_value.has(key.raw())
    }

    /// Adds the versions of a key with this value, in no order; for keys with many versions.
    pub(super) fn with_value(&mut self, key: KeyId, value: &StreamedValue, found: &mut Vec<u32>) {
        let key = key.raw();
        let base = key | BASE;
        if !self.by_value.has(key) {
            let versions = &self.versions;
            let newest = some(self.bases[key as usize].newest).filter(|it| *it != base);
            let previous = |it: &u32| some(versions[*it as usize].previous).filter(|it| *it != base);
            let newest_first = std::iter::successors(newest, previous);
            self.by_value.begin(key, newest_first.map(|it| (it, &versions[it as usize].value)));
        }
        found.extend_from_slice(self.by_value.find(key, value));
        if self.bases[key as usize].value == *value {
            found.push(base);
        }
    }

    /// The versions of some writers leave their chains, and the reads of some readers their versions.
    pub(super) fn forget_chains(&mut self, readers: &[u32], writers: &[u32]) {
        let ops_of = |it: &Self, txns: &[u32], is_write: bool| -> Vec<u32> {
            txns.iter().flat_map(|txn| it.ops_of(*txn)).filter(|op| it.ops[*op as usize].is_write == is_write).collect()
        };
        for op in ops_of(self, readers, false) {
            self.unlink(op);
        }
        for op in ops_of(self, writers, true) {
            self.take_out(self.ops[op as usize].version);
        }
    }

    fn writer_of_next(&self, version: u32, but: u32) -> Option<u32> {
        let next = self.version(version).next;
        (next != NONE).then(|| self.versions[next as usize].writer).filter(|it| *it != but && *it != NONE)
    }

    fn writer_of_previous(&self, version: u32) -> Option<u32> {
        let previous = self.version(version).previous;
        (previous != NONE).then(|| self.version(previous).writer).filter(|it| *it != NONE)
    }

    fn after_reads(&self, txn: u32, found: &mut Vec<u32>) {
        for op in self.ops_of(txn) {
            let Op { version, is_write, .. } = self.ops[op as usize];
            if !is_write && version != NONE {
                found.extend(self.writer_of_next(version, txn).map(|it| self.commit(it)));
            }
        }
    }

    fn after_writes(&self, txn: u32, found: &mut Vec<u32>) {
        let after = self.txns[txn as usize].after;
        if after != NONE {
            found.push(Self::start(after));
        }
        for op in self.ops_of(txn) {
            let Op { version, is_write, .. } = self.ops[op as usize];
            if is_write {
                found.extend(self.readers(version).map(Self::start));
                let next = self.writer_of_next(version, txn);
                found.extend(next.map(|it| self.successor_of_version(it)));
            }
        }
    }

    /// The event of a writer that comes after the version before its own.
    pub(super) fn successor_of_version(&self, writer: u32) -> u32 {
        if self.shape == Shape::Prefixes { self.commit(writer) } else { Self::start(writer) }
    }

    fn before_reads(&self, txn: u32, found: &mut Vec<u32>) {
        let before = self.txns[txn as usize].before;
        if before != NONE {
            found.push(self.commit(before));
        }
        for op in self.ops_of(txn) {
            let Op { version, is_write, .. } = self.ops[op as usize];
            if version == NONE {
                continue;
            }
            if !is_write {
                let writer = self.version(version).writer;
                if writer != NONE {
                    found.push(self.commit(writer));
                }
            } else if self.shape != Shape::Prefixes {
                found.extend(self.writer_of_previous(version).map(|it| self.commit(it)));
            }
        }
    }

    fn before_writes(&self, txn: u32, found: &mut Vec<u32>) {
        for op in self.ops_of(txn) {
            let Op { version, is_write, .. } = self.ops[op as usize];
            if is_write {
                let previous = self.version(version).previous;
                if previous != NONE {
                    found.extend(self.readers(previous).filter(|it| *it != txn).map(Self::start));
                }
                if self.shape == Shape::Prefixes {
                    found.extend(self.writer_of_previous(version).map(|it| self.commit(it)));
                }
            }
        }
    }
}

#[inline]
fn some(it: u32) -> Option<u32> {
    (it != NONE).then_some(it)
}

impl Graph for Chains {
    fn successors(&self, node: u32, found: &mut Vec<u32>) {
        let txn = node >> 1;
        if self.shape == Shape::Serial {
            self.after_reads(txn, found);
            self.after_writes(txn, found);
        } else if node & 1 == 0 {
            found.push(self.commit(txn));
            self.after_reads(txn, found);
        } else {
            self.after_writes(txn, found);
        }
    }

    fn predecessors(&self, node: u32, found: &mut Vec<u32>) {
        let txn = node >> 1;
        if self.shape == Shape::Serial {
            self.before_reads(txn, found);
            self.before_writes(txn, found);
        } else if node & 1 == 0 {
            self.before_reads(txn, found);
        } else {
            found.push(Self::start(txn));
            self.before_writes(txn, found);
        }
    }

    fn times(&self, node: u32) -> (Option<i64>, Option<i64>) {
        let Txn { begin, end, .. } = self.txns[(node >> 1) as usize];
        match (self.shape, node & 1) {
            (Shape::Serial, _) => (begin, end),
            (_, 0) => (begin, None),
            (_, _) => (None, end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_that_was_taken_out_is_nobodys_neighbour_until_it_is_put_back() {
        let key = KeyId::from_index(0);
        let mut chains = Chains::new(Shape::Serial, StreamedValue::Int(0));
        let base = chains.newest(key);
        let (begin, end, n_waiting) = (None, None, 0);
        let txn = Txn { id: 0, session: 0, before: NONE, after: NONE, first_op: NONE, begin, end, n_waiting };
        let slot = chains.add_txn(txn);
        let ops = [chains.add_op(slot, key, true), chains.add_op(slot, key, true)];
        let first = chains.add_version(ops[0], base, StreamedValue::Int(1));
        let second = chains.add_version(ops[1], first, StreamedValue::Int(2));
        chains.take_out(first);
        assert_eq!((chains.version(first).previous, chains.version(first).next), (NONE, NONE));
        assert_eq!((chains.version(second).previous, chains.newest(key)), (base, second));
        chains.insert(first, second);
        assert_eq!((chains.version(first).previous, chains.newest(key)), (second, first));
        chains.settle(second);
        assert_eq!((chains.version(first).previous, &chains.version(base).value), (base, &StreamedValue::Int(2)));
    }
}
