//! Looks at every read once: what it may have seen, and what is wrong with it by itself.
//!
//! At this point it is not known who counts, so that every transaction counts that did not abort. Most reads have one
//! candidate, which stands beside them. The candidates of the others are a range of the writers of their version. Where that
//! holds the reader itself, the range is cut; only if the reader stands in the middle is there a copy without it.

use crate::lists::{Appends, ListReading};
use crate::packed::Packed;
use crate::touch::Touch;
use crate::unexplained::{Saw, UnexplainedRead, name_anomalies};
use crate::writes::{FinalWrites, Run, Versions};
use crate::{
    Access, History, KeyId, LocalAnomaly, LocalKind, Op, OpId, Outcome, ScanId, Source, Sources, TxnId, ValueId,
};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Every external read of transactions that did not abort, and every read of theirs that is wrong by itself.
pub(crate) struct Survey {
    pub(crate) versions: Versions,
    pub(crate) reads: Reads,
    /// Where the reads of each transaction begin.
    pub(crate) starts: Packed,
    /// In the order of the input for each kind of read, and not beyond that.
    pub(crate) anomalies: Vec<LocalAnomaly>,
    pub(crate) unrepeatable: Vec<LocalAnomaly>,
    /// In the order of the input.
    pub(crate) lists: Vec<ListRead>,
}

/// External reads with their candidates.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    /// With the only candidate, or a mark and a position in `ranges`.
    pub(crate) each: Sources,
    /// Ranges of candidates, none of one.
    pub(crate) ranges: Vec<(u32, u32)>,
}

/// Marks a read that has not one candidate.
const SEVERAL: u32 = 1 << 31;

/// The only candidate of a read, of what stands beside it.
#[inline]
pub(crate) fn only(writer: TxnId) -> Option<TxnId> {
    (writer.raw() & SEVERAL == 0).then_some(writer)
}

/// Which of the ranges has the candidates of a read, if there is not exactly one.
#[inline]
pub(crate) fn several(writer: TxnId) -> Option<usize> {
    (writer.raw() & SEVERAL != 0).then_some((writer.raw() & !SEVERAL) as usize)
}

impl Reads {
    /// The only candidate of a read.
    pub(crate) fn only(&self, read_idx: usize) -> Option<TxnId> {
        only(*self.each.writer(read_idx))
    }

    /// Where the candidates of a read stand among the writers, if there is not exactly one.
    pub(crate) fn range(&self, read_idx: usize) -> Option<(u32, u32)> {
        several(*self.each.writer(read_idx)).map(|it| self.ranges[it])
    }

    fn push(&mut self, read: OpId, (start, end): (u32, u32), writers: &[TxnId]) {
        let writer = self.mark((start, end), writers);
        self.each.push(Source { read, writer });
    }

    fn push_only(&mut self, read: OpId, writer: TxnId) {
        self.each.push(Source { read, writer });
    }

    fn mark(&mut self, (start, end): (u32, u32), writers: &[TxnId]) -> TxnId {
        if end == start + 1 {
            return writers[start as usize];
        }
        // Neighbours often read the same version.
        if self.ranges.last() != Some(&(start, end)) {
            self.ranges.push((start, end));
        }
        let place = self.ranges.len() - 1;
        assert!(place < SEVERAL as usize, "two billion reads have several possible writers");
        TxnId::from_index(place | SEVERAL as usize)
    }
}

/// A list read that is not an anomaly at once.
pub(crate) struct ListRead {
    pub(crate) op: OpId,
    pub(crate) reader: TxnId,
    pub(crate) key: KeyId,
    pub(crate) seen: SeenList,
    /// Whose elements it saw, in their order; of an ambiguous one, as far as it is certain.
    pub(crate) writers: Vec<TxnId>,
    /// Of an ambiguous one, who may have appended what is open, or the last element.
    pub(crate) possible: Vec<TxnId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SeenList {
    /// The version of the last writer.
    Version,
    /// Some elements of the last writer. Read uncommitted allows it, so the order of the writers counts.
    Intermediate,
    Ambiguous,
}

impl Survey {
    pub(crate) fn new(history: &History, final_writes: &FinalWrites, versions: Versions) -> Self {
        let is_read = |it: &&Touch| matches!(it.access(), Access::Read | Access::ReadList | Access::Omit);
        let n_reads = history.op_touch.iter().filter(is_read).count();
        let mut survey = Self {
            versions,
            reads: Reads { each: Sources::with_capacity(n_reads), ranges: Vec::new() },
            starts: Packed::default(),
            anomalies: Vec::new(),
            unrepeatable: Vec::new(),
            lists: Vec::new(),
        };
        // With indeterminate transactions, who is left out of the candidates is found later.
        let cut = if history.has_indeterminate_outcomes() { Cut::Later } else { Cut::Now };
        let mut pass = Pass::new(history, final_writes, cut);
        survey.starts.extend([0, 0]);
        for txn in history.txns() {
            if history.outcome(txn) != Outcome::Aborted {
                pass.start(txn);
                for op in history.op_range(txn) {
                    pass.visit(op, &mut survey);
                }
            }
            survey.starts.push_number(survey.reads.each.len());
        }
        survey.anomalies.extend(name_anomalies(history, &pass.unexplained));
        survey.anomalies.extend(unmatched_rows(history));
        survey
    }

    /// The positions in `reads` of a transaction's external reads.
    pub(crate) fn range(&self, txn: TxnId) -> Range<usize> {
        self.starts.span(txn.index())
    }

    /// Who may have written what a read saw.
    pub(crate) fn candidates(&self, read_idx: usize) -> &[TxnId] {
        match self.reads.range(read_idx) {
            None => std::slice::from_ref(self.reads.each.writer(read_idx)),
            Some((start, end)) => &self.versions.writers[start as usize..end as usize],
        }
    }

    /// The list reads of a transaction.
    pub(crate) fn lists_of(&self, txn: TxnId) -> &[ListRead] {
        let start = self.lists.partition_point(|it| it.reader < txn);
        let n = self.lists[start..].partition_point(|it| it.reader == txn);
        &self.lists[start..start + n]
    }

    /// Leaves readers out of their candidates, and those that cannot have committed unless nobody else is left.
    pub(crate) fn cut_candidates(&mut self, inviable: &[bool]) {
        if inviable.contains(&true) {
            self.versions.put_last(|it| inviable[it.index()]);
        }
        for reader in 0..self.starts.len() - 1 {
            for read_idx in self.range(TxnId::from_index(reader)) {
                // The only one who wrote something is not the reader, and there is nobody else.
                let Some((start, end)) = self.reads.range(read_idx) else { continue };
                let writers = &mut self.versions.writers;
                let whole = start as usize..end as usize;
                let cut = without_reader(writers, whole, TxnId::from_index(reader), inviable);
                *self.reads.each.writer_mut(read_idx) = self.reads.mark(cut, writers);
            }
        }
    }
}

/// Rows that a scan returned although they do not match.
fn unmatched_rows(history: &History) -> Vec<LocalAnomaly> {
    let mut anomalies = Vec::new();
    for scan in history.scans() {
        let reader = history.scan(scan).txn;
        for op in history.scan(scan).ops().filter(|_| history.outcome(reader) != Outcome::Aborted) {
            if let Op::Read { key, value } = history.op(op)
                && !history.matches(scan, key, value)
            {
                anomalies.push(LocalAnomaly { reader, op, kind: LocalKind::Unmatched });
            }
        }
    }
    anomalies
}

/// When readers are left out of their candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    Now,
    Later,
}

/// Where the candidates of a reader stand, given all writers of the version, of which the `inviable` ones come last.
fn without_reader(writers: &mut Vec<TxnId>, whole: Range<usize>, reader: TxnId, inviable: &[bool]) -> (u32, u32) {
    let all = &writers[whole.clone()];
    let is_inviable = |it: &TxnId| inviable.get(it.index()).copied().unwrap_or(false);
    let n_viable = if inviable.is_empty() { all.len() } else { all.partition_point(|it| !is_inviable(it)) };
    let (viable, others) = all.split_at(n_viable);
    let start = whole.start as u32;
    let (middle, end) = (start + n_viable as u32, whole.end as u32);
    match (viable, viable.binary_search(&reader)) {
        // Each of the others would bring an anomaly of its own: one is enough to show it.
        ([], _) if others.first() == Some(&reader) => ((start + 1).min(end), (start + 2).min(end)),
        ([], _) => (start, (start + 1).min(end)),
        ([_], Ok(_)) => (middle, (middle + 1).min(end)),
        (_, Err(_)) => (start, middle),
        (_, Ok(0)) => (start + 1, middle),
        (_, Ok(nth)) if nth + 1 == n_viable => (start, middle - 1),
        (_, Ok(nth)) => {
            let copy_start = writers.len();
            writers.extend_from_within(whole.start..whole.start + nth);
            writers.extend_from_within(whole.start + nth + 1..whole.start + n_viable);
            range(copy_start, writers.len())
        }
    }
}

fn range(start: usize, end: usize) -> (u32, u32) {
    assert!(u32::try_from(end).is_ok(), "the reads have more than four billion possible writers");
    (start as u32, end as u32)
}

/// What the transaction being scanned did to a key so far.
#[derive(Clone, Copy)]
struct KeyState {
    /// The last transaction that wrote it.
    writer: TxnId,
    /// What that wrote last; of a list, where its own elements are.
    last: u32,
    /// The last transaction with an external read of it.
    reader: TxnId,
    /// The first such read.
    first_read: OpId,
}

/// The state of going through all operations.
struct Pass<'h> {
    history: &'h History,
    cut: Cut,
    txn: TxnId,
    final_writes: &'h FinalWrites,
    keys: Vec<KeyState>,
    appends: Appends,
    /// The elements that the transaction appended, list by list; the first `n_lists` are in use.
    own_elements: Vec<Vec<ValueId>>,
    n_lists: usize,
    /// The first read of a key that saw something else than the first one.
    second_reads: FxHashMap<(TxnId, KeyId), OpId>,
    unexplained: Vec<UnexplainedRead>,
}

impl<'h> Pass<'h> {
    fn new(history: &'h History, final_writes: &'h FinalWrites, cut: Cut) -> Self {
        let nobody = TxnId::INITIAL;
        let untouched = KeyState { writer: nobody, last: 0, reader: nobody, first_read: OpId::from_index(0) };
        Self {
            history,
            cut,
            txn: nobody,
            final_writes,
            keys: vec![untouched; history.n_keys()],
            appends: Appends::new(history),
            own_elements: Vec::new(),
            n_lists: 0,
            second_reads: FxHashMap::default(),
            unexplained: Vec::new(),
        }
    }

    fn start(&mut self, txn: TxnId) {
        self.txn = txn;
        self.n_lists = 0;
    }

    fn visit(&mut self, op_idx: usize, survey: &mut Survey) {
        let (touch, value) = (self.history.op_touch[op_idx], self.history.op_value[op_idx]);
        let key = touch.key();
        match touch.access() {
            Access::Write => {
                let state = &mut self.keys[key.index()];
                (state.writer, state.last) = (self.txn, value);
            }
            Access::Append => self.append(key, ValueId::from_index(value as usize)),
            Access::Read => self.read(OpId::from_index(op_idx), key, ValueId::from_index(value as usize), survey),
            Access::ReadList => self.read_list(OpId::from_index(op_idx), key, self.history.list(value), survey),
            Access::Omit => self.omit(OpId::from_index(op_idx), key, ScanId::from_index(value as usize), survey),
        }
    }

    fn append(&mut self, key: KeyId, value: ValueId) {
        let state = &mut self.keys[key.index()];
        if state.writer != self.txn {
            (state.writer, state.last) = (self.txn, self.n_lists as u32);
            self.n_lists += 1;
            match self.own_elements.get_mut(self.n_lists - 1) {
                Some(elements) => elements.clear(),
                None => self.own_elements.push(Vec::new()),
            }
        }
        self.own_elements[state.last as usize].push(value);
    }

    fn read(&mut self, op: OpId, key: KeyId, value: ValueId, survey: &mut Survey) {
        let reader = self.txn;
        let state = self.keys[key.index()];
        if state.writer == reader {
            if state.last != value.raw() {
                let kind = LocalKind::Internal { expected: ValueId::from_index(state.last as usize) };
                survey.anomalies.push(LocalAnomaly { reader, op, kind });
            }
            return;
        }
        let run = survey.versions.run(key, value);
        let is_own = match run {
            Run::Nobody => false,
            Run::Only(writer) => writer == reader,
            Run::Some(_) => self.final_writes.has(self.history, reader, key, value),
        };
        let is_explained = self.explain((op, key), Saw::Value(value), (run, is_own), survey);
        let history = self.history;
        let is_same = |earlier: OpId| match history.op(earlier) {
            Op::Omit { scan, .. } => !history.matches(scan, key, value),
            _ => history.op_value[earlier.index()] == value.raw(),
        };
        if let Some(earlier) = self.earlier_other(op, key, is_explained, is_same) {
            let kind = LocalKind::Unrepeatable { earlier };
            survey.unrepeatable.push(LocalAnomaly { reader, op, kind });
        }
    }

    /// Notes a read of what others wrote, with those who may have written it, of whom the reader may be one. Can anybody?
    fn explain(&mut self, (op, key): (OpId, KeyId), saw: Saw, (run, is_own): (Run, bool), survey: &mut Survey) -> bool {
        let reader = self.txn;
        let is_explained = run.len() > usize::from(is_own);
        if !is_explained {
            self.unexplained.push(UnexplainedRead { op, reader, key, saw });
        }
        let writers = &mut survey.versions.writers;
        match run {
            Run::Only(writer) if is_explained => survey.reads.push_only(op, writer),
            Run::Some(run) if is_explained => {
                let candidates = match self.cut {
                    Cut::Now if is_own => without_reader(writers, run, reader, &[]),
                    Cut::Now | Cut::Later => range(run.start, run.end),
                };
                survey.reads.push(op, candidates, writers);
            }
            _ => survey.reads.push(op, (0, 0), writers),
        }
        is_explained
    }

    /// A row that a scan did not return: it saw a version that does not match.
    fn omit(&mut self, op: OpId, key: KeyId, scan: ScanId, survey: &mut Survey) {
        let (reader, history) = (self.txn, self.history);
        if history.is_hidden(op) {
            return;
        }
        let state = self.keys[key.index()];
        if state.writer == reader {
            let expected = ValueId::from_index(state.last as usize);
            if history.matches(scan, key, expected) {
                survey.anomalies.push(LocalAnomaly { reader, op, kind: LocalKind::Internal { expected } });
            }
            return;
        }
        let run = survey.versions.run_omitted(history, scan, key);
        let own = self.final_writes.find(history, reader, key);
        let own = own.map(|it| ValueId::from_index(history.op_value[it.index()] as usize));
        let is_own = own.is_some_and(|it| !history.matches(scan, key, it));
        let is_explained = self.explain((op, key), Saw::NoMatch(scan), (run, is_own), survey);
        let is_same = |earlier: OpId| match history.op(earlier) {
            Op::Read { value, .. } => !history.matches(scan, key, value),
            _ => true,
        };
        if let Some(earlier) = self.earlier_other(op, key, is_explained, is_same) {
            let kind = LocalKind::Unrepeatable { earlier };
            survey.unrepeatable.push(LocalAnomaly { reader, op, kind });
        }
    }

    fn read_list(&mut self, op: OpId, key: KeyId, values: &[ValueId], survey: &mut Survey) {
        let reader = self.txn;
        let state = self.keys[key.index()];
        let own = if state.writer == reader { self.own_elements[state.last as usize].as_slice() } else { &[] };
        let mut may_have_appended = Vec::new();
        let (seen, writers) = match self.appends.interpret(self.history, reader, key, values, own) {
            ListReading::Version { writers } => (SeenList::Version, writers),
            ListReading::Intermediate { writers } => (SeenList::Intermediate, writers),
            ListReading::Ambiguous { certain, possible } => {
                may_have_appended = possible;
                (SeenList::Ambiguous, certain)
            }
            ListReading::Anomaly(kind) => {
                survey.anomalies.push(LocalAnomaly { reader, op, kind });
                return;
            }
        };
        if let (SeenList::Intermediate, Some(writer)) = (seen, writers.last()) {
            let kind = LocalKind::Intermediate { writer: *writer };
            survey.anomalies.push(LocalAnomaly { reader, op, kind });
        }
        if seen == SeenList::Version {
            let is_same = |earlier: OpId| {
                let earlier = survey.lists.binary_search_by_key(&earlier, |it| it.op);
                earlier.is_ok_and(|it| survey.lists[it].writers == writers)
            };
            if let Some(earlier) = self.earlier_other(op, key, true, is_same) {
                let kind = LocalKind::Unrepeatable { earlier };
                survey.unrepeatable.push(LocalAnomaly { reader, op, kind });
            }
            survey.reads.push_only(op, writers.last().copied().unwrap_or(TxnId::INITIAL));
        }
        survey.lists.push(ListRead { op, reader, key, seen, writers, possible: may_have_appended });
    }

    /// The first read of the key by this transaction that saw another version than this one. Only reads that are
    /// explained count as earlier ones.
    ///
    /// It is the first read of all, unless that saw the same; then it is the first that saw something else than that.
    fn earlier_other(
        &mut self,
        op: OpId,
        key: KeyId,
        is_explained: bool,
        is_same: impl Fn(OpId) -> bool,
    ) -> Option<OpId> {
        let state = &mut self.keys[key.index()];
        if state.reader != self.txn {
            if is_explained {
                (state.reader, state.first_read) = (self.txn, op);
            }
            return None;
        }
        if is_same(state.first_read) {
            // An omission says less than a read.
            if self.history.access_at(state.first_read.index()) == Access::Omit && is_explained {
                state.first_read = op;
            }
            return self.second_reads.get(&(self.txn, key)).copied();
        }
        if is_explained {
            self.second_reads.entry((self.txn, key)).or_insert(op);
        }
        Some(state.first_read)
    }
}
