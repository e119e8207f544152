//! What a history says at once, derived once for every engine: who read what, and who may have written it.

use crate::lists::{Appends, ListReading, VersionChain, join_chains};
use crate::{History, KeyId, LocalAnomaly, LocalKind, Op, OpId, Outcome, TxnId, ValueId};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Facts about a history, for the levels from read committed up.
///
/// *Counted* transactions are judged: the committed ones, and those of unknown outcome that somebody must have read
/// from. *Optional* ones have an unknown outcome and are one of several possible writers of something that was read.
/// The rest is out: nothing that is judged depends on it.
#[derive(Debug)]
pub struct Facts<'h> {
    history: &'h History,
    standing: Vec<Standing>,
    reads: Vec<ExternalRead>,
    read_starts: Vec<u32>,
    candidate_starts: Vec<u32>,
    candidates: Vec<TxnId>,
    write_starts: Vec<u32>,
    writes: Vec<(KeyId, ValueId)>,
    writer_starts: Vec<u32>,
    writers: Vec<TxnId>,
    chains: Vec<Option<VersionChain>>,
    local: Vec<LocalAnomaly>,
    unrepeatable: Vec<LocalAnomaly>,
    ambiguous: Option<OpId>,
}

/// A read of a key that its transaction had not written before: it saw another transaction's write.
///
/// A transaction may read a key several times; each is an external read until it writes the key. A read of a list
/// that ends in the transaction's own appends is an external read of the list without them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExternalRead {
    /// The operation.
    pub op: OpId,
    /// Its transaction.
    pub reader: TxnId,
    /// The key.
    pub key: KeyId,
}

/// Whether a transaction is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// It committed, or somebody who counts can have read from no other.
    Counted,
    /// Its outcome is unknown, and it is one of several possible writers of something that was read.
    Optional,
    /// It aborted, or its outcome is unknown and nobody can have read from it.
    Out,
}

impl<'h> Facts<'h> {
    /// Derives the facts of a history. Cost: linear in its operations, but for sorting writes by key.
    pub fn new(history: &'h History) -> Self {
        let final_writes = FinalWrites::new(history);
        let scan = Scan::new(history, &final_writes);
        let standing = scan.standing();
        let mut facts = Self {
            history,
            standing,
            reads: Vec::new(),
            read_starts: vec![0],
            candidate_starts: vec![0],
            candidates: Vec::new(),
            write_starts: vec![0],
            writes: Vec::new(),
            writer_starts: Vec::new(),
            writers: Vec::new(),
            chains: vec![None; history.n_keys()],
            local: Vec::new(),
            unrepeatable: Vec::new(),
            ambiguous: None,
        };
        facts.keep_what_counts(&scan, &final_writes);
        facts.index_writers();
        facts.join_lists(&scan);
        facts.local.sort_unstable();
        facts
    }

    /// The history that these are facts of.
    pub fn history(&self) -> &'h History {
        self.history
    }

    /// Whether a transaction is judged.
    pub fn standing(&self, txn: TxnId) -> Standing {
        self.standing[txn.index()]
    }

    /// Every transaction that counts or may count, but the initial one, in the order of the input.
    pub fn txns(&self) -> impl Iterator<Item = TxnId> + '_ {
        self.history.txns().filter(|it| self.standing(*it) != Standing::Out)
    }

    /// Every external read of those transactions, in the order of the input.
    pub fn reads(&self) -> &[ExternalRead] {
        &self.reads
    }

    /// The positions in [`Facts::reads`] of a transaction's external reads, in program order.
    pub fn reads_of(&self, txn: TxnId) -> Range<usize> {
        self.read_starts[txn.index()] as usize..self.read_starts[txn.index() + 1] as usize
    }

    /// Who may have written what the read at this position of [`Facts::reads`] saw, in ascending order.
    ///
    /// Empty only if the read is among the [`Facts::local`] anomalies.
    pub fn candidates(&self, read_idx: usize) -> &[TxnId] {
        &self.candidates[self.candidate_starts[read_idx] as usize..self.candidate_starts[read_idx + 1] as usize]
    }

    /// Does some read have more than one possible writer?
    pub fn has_ambiguous_reads(&self) -> bool {
        self.candidate_starts.windows(2).any(|it| it[1] - it[0] > 1)
    }

    /// The last write of each key that a transaction writes, sorted by key; empty for one that is out.
    ///
    /// For a list, the value is the last element that the transaction appended.
    pub fn final_writes(&self, txn: TxnId) -> &[(KeyId, ValueId)] {
        &self.writes[self.write_starts[txn.index()] as usize..self.write_starts[txn.index() + 1] as usize]
    }

    /// Does a transaction write a key? The initial one writes every key.
    pub fn writes(&self, txn: TxnId, key: KeyId) -> bool {
        txn.is_initial() || self.final_writes(txn).binary_search_by_key(&key, |it| it.0).is_ok()
    }

    /// The transactions that write a key, in ascending order, without the initial one.
    pub fn writers_of(&self, key: KeyId) -> &[TxnId] {
        &self.writers[self.writer_starts[key.index()] as usize..self.writer_starts[key.index() + 1] as usize]
    }

    /// The part of a list's version order that reads have shown.
    pub fn chain(&self, key: KeyId) -> Option<&VersionChain> {
        self.chains[key.index()].as_ref()
    }

    /// The reads of counted transactions that no execution explains.
    pub fn local(&self) -> &[LocalAnomaly] {
        &self.local
    }

    /// The reads of counted transactions that saw another version than an earlier read of the same key by the same
    /// transaction. They are no anomaly of read committed, so they are not among [`Facts::local`].
    pub fn unrepeatable(&self) -> &[LocalAnomaly] {
        &self.unrepeatable
    }

    /// A list read with several meanings, if there is one: an element that it saw was appended twice, or whether its
    /// transaction committed is open ([`Standing::Optional`]).
    ///
    /// Nothing here decides such histories.
    pub fn ambiguous_list(&self) -> Option<OpId> {
        self.ambiguous
    }

    fn keep_what_counts(&mut self, scan: &Scan<'_>, final_writes: &FinalWrites) {
        for txn_idx in 0..self.history.n_txns() {
            let txn = TxnId::from_index(txn_idx);
            if self.standing(txn) != Standing::Out {
                self.keep_txn(txn, scan);
                self.writes.extend_from_slice(final_writes.of(txn));
            }
            self.read_starts.push(self.reads.len() as u32);
            self.write_starts.push(self.writes.len() as u32);
        }
    }

    fn keep_txn(&mut self, txn: TxnId, scan: &Scan<'_>) {
        let counts = self.standing(txn) == Standing::Counted;
        for scanned in &scan.reads[scan.range(txn)] {
            match &scanned.seen {
                Seen::Anomaly(kind) if counts => {
                    self.local.push(LocalAnomaly { reader: txn, op: scanned.op, kind: *kind });
                }
                Seen::Intermediate(_, writers) if counts => {
                    let writer = *writers.last().expect("an intermediate read saw somebody's element");
                    let kind = LocalKind::Intermediate { writer };
                    self.local.push(LocalAnomaly { reader: txn, op: scanned.op, kind });
                }
                Seen::Ambiguous if counts => self.ambiguous = self.ambiguous.or(Some(scanned.op)),
                // What it shows of the order of the list holds only if the transaction committed.
                Seen::Versions(_) if !counts => self.ambiguous = self.ambiguous.or(Some(scanned.op)),
                _ => {}
            }
            let Some(key) = scanned.external_key else { continue };
            if counts {
                self.note_unrepeatable(txn, key, scanned, scan);
            }
            self.reads.push(ExternalRead { op: scanned.op, reader: txn, key });
            let viable = scan.candidates(scanned);
            self.candidates.extend(viable.filter(|it| self.standing[it.index()] != Standing::Out));
            self.candidate_starts.push(self.candidates.len() as u32);
        }
    }

    fn note_unrepeatable(&mut self, txn: TxnId, key: KeyId, read: &ScannedRead, scan: &Scan<'_>) {
        let earlier = scan.reads[scan.range(txn)].iter().take_while(|it| it.op < read.op);
        let differs = |it: &&ScannedRead| it.external_key == Some(key) && it.seen != read.seen;
        if let Some(earlier) = earlier.filter(|it| matches!(it.seen, Seen::Value(_) | Seen::Versions(_))).find(differs)
        {
            let kind = LocalKind::Unrepeatable { earlier: earlier.op };
            self.unrepeatable.push(LocalAnomaly { reader: txn, op: read.op, kind });
        }
    }

    fn index_writers(&mut self) {
        let mut counts = vec![0u32; self.history.n_keys() + 1];
        for (key, _) in &self.writes {
            counts[key.index() + 1] += 1;
        }
        for key_idx in 1..counts.len() {
            counts[key_idx] += counts[key_idx - 1];
        }
        self.writer_starts.clone_from(&counts);
        self.writers = vec![TxnId::INITIAL; self.writes.len()];
        for txn in self.history.txns() {
            for write in self.write_starts[txn.index()]..self.write_starts[txn.index() + 1] {
                let slot = &mut counts[self.writes[write as usize].0.index()];
                self.writers[*slot as usize] = txn;
                *slot += 1;
            }
        }
    }

    fn join_lists(&mut self, scan: &Scan<'_>) {
        let mut readings: Vec<Vec<(OpId, Vec<TxnId>)>> = vec![Vec::new(); self.history.n_keys()];
        for scanned in &scan.reads {
            let counts = self.standing(self.history.txn_of(scanned.op)) == Standing::Counted;
            let shown = match (&scanned.seen, scanned.external_key) {
                (Seen::Versions(writers), Some(key)) => Some((key, writers)),
                (Seen::Intermediate(key, writers), _) => Some((*key, writers)),
                _ => None,
            };
            if let (true, Some((key, writers))) = (counts, shown) {
                readings[key.index()].push((scanned.op, writers.clone()));
            }
        }
        for key in self.history.keys() {
            let (chain, anomalies) = join_chains(self.history, key, &readings[key.index()]);
            self.chains[key.index()] = chain;
            self.local.extend(anomalies);
        }
    }
}

/// The last write of each key by each transaction that did not abort, and who finally wrote a value.
struct FinalWrites {
    starts: Vec<u32>,
    writes: Vec<(KeyId, ValueId)>,
    /// Writers of a register's value, ascending: ranges into `writers`.
    by_version: FxHashMap<(KeyId, ValueId), (u32, u32)>,
    writers: Vec<TxnId>,
}

impl FinalWrites {
    fn new(history: &History) -> Self {
        let (mut starts, mut writes) = (vec![0, 0], Vec::new());
        let mut versions: Vec<(KeyId, ValueId, TxnId)> = Vec::new();
        for txn in history.txns() {
            if history.outcome(txn) != Outcome::Aborted {
                let start = writes.len();
                for op in history.ops(txn) {
                    if let Op::Write { key, value } | Op::Append { key, value } = history.op(op) {
                        writes.push((key, value));
                    }
                }
                keep_last_per_key(&mut writes, start);
                versions.extend(writes[start..].iter().map(|(key, value)| (*key, *value, txn)));
            }
            starts.push(writes.len() as u32);
        }
        versions.sort_unstable();
        let mut by_version = FxHashMap::default();
        for (idx, (key, value, _)) in versions.iter().enumerate() {
            by_version.entry((*key, *value)).or_insert((idx as u32, 0)).1 = idx as u32 + 1;
        }
        Self { starts, writes, by_version, writers: versions.into_iter().map(|it| it.2).collect() }
    }

    fn of(&self, txn: TxnId) -> &[(KeyId, ValueId)] {
        &self.writes[self.starts[txn.index()] as usize..self.starts[txn.index() + 1] as usize]
    }

    fn writers(&self, key: KeyId, value: ValueId) -> &[TxnId] {
        match self.by_version.get(&(key, value)) {
            Some((start, end)) => &self.writers[*start as usize..*end as usize],
            None => &[],
        }
    }
}

/// Sorts `writes[start..]` by key and keeps the last write of each.
fn keep_last_per_key(writes: &mut Vec<(KeyId, ValueId)>, start: usize) {
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

/// Every read of a transaction that did not abort, with what it may have seen, before it is known who counts.
struct Scan<'a> {
    history: &'a History,
    final_writes: &'a FinalWrites,
    starts: Vec<u32>,
    reads: Vec<ScannedRead>,
    /// Transactions of unknown outcome that cannot have committed: a read of theirs is unexplained.
    inviable: Vec<bool>,
}

struct ScannedRead {
    op: OpId,
    reader: TxnId,
    /// Its key, unless the transaction had written it before.
    external_key: Option<KeyId>,
    seen: Seen,
}

#[derive(PartialEq)]
enum Seen {
    /// A register's value: candidates are looked up.
    Value(ValueId),
    /// A list's versions.
    Versions(Vec<TxnId>),
    Anomaly(LocalKind),
    /// Of a list: some elements of the last writer. Read uncommitted allows it, so the order of the writers counts.
    Intermediate(KeyId, Vec<TxnId>),
    Ambiguous,
}

impl<'a> Scan<'a> {
    fn new(history: &'a History, final_writes: &'a FinalWrites) -> Self {
        let n_txns = history.n_txns();
        let mut scan =
            Self { history, final_writes, starts: vec![0, 0], reads: Vec::new(), inviable: vec![false; n_txns] };
        let appends = Appends::new(history);
        let mut own = OwnWrites::new(history.n_keys());
        let mut unexplained = Unexplained::default();
        for txn in history.txns() {
            if history.outcome(txn) != Outcome::Aborted {
                own.start(txn);
                for op in history.ops(txn) {
                    scan.visit(txn, op, &mut own, &appends, &mut unexplained);
                }
            }
            scan.starts.push(scan.reads.len() as u32);
        }
        scan.find_inviable();
        scan
    }

    fn range(&self, txn: TxnId) -> Range<usize> {
        self.starts[txn.index()] as usize..self.starts[txn.index() + 1] as usize
    }

    fn visit(&mut self, txn: TxnId, op: OpId, own: &mut OwnWrites, appends: &Appends, unexplained: &mut Unexplained) {
        let (external_key, seen) = match self.history.op(op) {
            Op::Write { key, value } => return own.write(key, value),
            Op::Append { key, value } => return own.append(key, value),
            Op::Read { key, value } => match own.last(key) {
                Some(expected) if expected == value => return,
                Some(expected) => (None, Seen::Anomaly(LocalKind::Internal { expected })),
                None => (Some(key), self.seen_value(txn, key, value, unexplained)),
            },
            Op::ReadList { key, values } => {
                match appends.interpret(self.history, txn, key, values, own.elements(key)) {
                    ListReading::Version { writers } => (Some(key), Seen::Versions(writers)),
                    ListReading::Anomaly(kind) => (None, Seen::Anomaly(kind)),
                    ListReading::Intermediate { writers } => (None, Seen::Intermediate(key, writers)),
                    ListReading::Ambiguous => (None, Seen::Ambiguous),
                }
            }
        };
        self.reads.push(ScannedRead { op, reader: txn, external_key, seen });
    }

    fn seen_value(&self, reader: TxnId, key: KeyId, value: ValueId, unexplained: &mut Unexplained) -> Seen {
        let is_explained = self.history.initial_value(key) == value
            || self.final_writes.writers(key, value).iter().any(|it| *it != reader);
        if is_explained { Seen::Value(value) } else { Seen::Anomaly(unexplained.why(self.history, reader, key, value)) }
    }

    /// Who may have written what a read saw, ascending, leaving out those that cannot have committed unless nobody else is left.
    fn candidates(&self, read: &ScannedRead) -> impl Iterator<Item = TxnId> {
        let mut all: Vec<TxnId> = Vec::new();
        match (&read.seen, read.external_key) {
            (Seen::Value(value), Some(key)) => {
                if self.history.initial_value(key) == *value {
                    all.push(TxnId::INITIAL);
                }
                let writers = self.final_writes.writers(key, *value);
                all.extend(writers.iter().copied().filter(|it| *it != read.reader));
                if all.iter().any(|it| !self.inviable[it.index()]) {
                    all.retain(|it| !self.inviable[it.index()]);
                } else {
                    // Each of them would bring an anomaly of its own: one is enough to show it.
                    all.truncate(1);
                }
            }
            (Seen::Versions(writers), _) => all.push(writers.last().copied().unwrap_or(TxnId::INITIAL)),
            _ => {}
        }
        all.into_iter()
    }

    /// A transaction of unknown outcome with an unexplained read cannot have committed, nor can one that can only
    /// have read from such a transaction.
    fn find_inviable(&mut self) {
        loop {
            let found: Vec<TxnId> = self
                .history
                .txns()
                .filter(|it| self.history.outcome(*it) == Outcome::Unknown && !self.inviable[it.index()])
                .filter(|it| self.reads[self.range(*it)].iter().any(|read| self.is_unexplained(read)))
                .collect();
            if found.is_empty() {
                return;
            }
            for txn in found {
                self.inviable[txn.index()] = true;
            }
        }
    }

    fn is_unexplained(&self, read: &ScannedRead) -> bool {
        match &read.seen {
            Seen::Anomaly(_) | Seen::Intermediate(..) => true,
            Seen::Ambiguous => false,
            Seen::Value(_) | Seen::Versions(_) => self.candidates(read).all(|it| self.inviable[it.index()]),
        }
    }

    /// Who must count, then who may.
    fn standing(&self) -> Vec<Standing> {
        let mut standing = vec![Standing::Out; self.history.n_txns()];
        let mut pending: Vec<TxnId> = vec![TxnId::INITIAL];
        standing[0] = Standing::Counted;
        for txn in self.history.txns().filter(|it| self.history.outcome(*it) == Outcome::Committed) {
            standing[txn.index()] = Standing::Counted;
            pending.push(txn);
        }
        self.spread(&mut standing, pending, Standing::Counted);
        let counted = self.history.txns().filter(|it| standing[it.index()] == Standing::Counted).collect();
        self.spread(&mut standing, counted, Standing::Optional);
        standing
    }

    /// Follows reads from `pending` to transactions that are out and gives them `to`: all of them if they may count,
    /// the only possible ones if they must.
    fn spread(&self, standing: &mut [Standing], mut pending: Vec<TxnId>, to: Standing) {
        while let Some(reader) = pending.pop() {
            for read in &self.reads[self.range(reader)] {
                let sources: Vec<TxnId> = match &read.seen {
                    Seen::Versions(writers) => writers.clone(),
                    _ => self.candidates(read).collect(),
                };
                let is_forced = matches!(read.seen, Seen::Versions(_)) || sources.len() == 1;
                for source in sources.iter().filter(|_| is_forced || to == Standing::Optional) {
                    if standing[source.index()] == Standing::Out {
                        standing[source.index()] = to;
                        pending.push(*source);
                    }
                }
            }
        }
    }
}

/// What the transaction being scanned has written so far.
struct OwnWrites {
    txn: TxnId,
    last: Vec<(TxnId, ValueId)>,
    elements: Vec<(KeyId, Vec<ValueId>)>,
}

impl OwnWrites {
    fn new(n_keys: usize) -> Self {
        let nobody = (TxnId::INITIAL, ValueId::from_index(0));
        Self { txn: TxnId::INITIAL, last: vec![nobody; n_keys], elements: Vec::new() }
    }

    fn start(&mut self, txn: TxnId) {
        self.txn = txn;
        self.elements.clear();
    }

    fn write(&mut self, key: KeyId, value: ValueId) {
        self.last[key.index()] = (self.txn, value);
    }

    fn append(&mut self, key: KeyId, value: ValueId) {
        match self.elements.iter_mut().find(|it| it.0 == key) {
            Some((_, values)) => values.push(value),
            None => self.elements.push((key, vec![value])),
        }
    }

    fn last(&self, key: KeyId) -> Option<ValueId> {
        let (txn, value) = self.last[key.index()];
        (txn == self.txn).then_some(value)
    }

    fn elements(&self, key: KeyId) -> &[ValueId] {
        self.elements.iter().find(|it| it.0 == key).map_or(&[], |it| &it.1)
    }
}

/// Finds out why nobody can have written what a register read saw. Indexes the writes at the first question.
#[derive(Default)]
struct Unexplained {
    writers: Option<FxHashMap<(KeyId, ValueId), Vec<TxnId>>>,
}

impl Unexplained {
    fn why(&mut self, history: &History, reader: TxnId, key: KeyId, value: ValueId) -> LocalKind {
        let writers = self.writers.get_or_insert_with(|| Self::index(history));
        let writers = writers.get(&(key, value)).map_or(&[][..], Vec::as_slice);
        let is_aborted = |it: &&TxnId| history.outcome(**it) == Outcome::Aborted;
        if let Some(writer) = writers.iter().find(is_aborted) {
            LocalKind::Aborted { writer: *writer }
        } else if let Some(writer) = writers.iter().find(|it| **it != reader) {
            LocalKind::Intermediate { writer: *writer }
        } else if writers.is_empty() {
            LocalKind::ThinAir
        } else {
            LocalKind::Future
        }
    }

    fn index(history: &History) -> FxHashMap<(KeyId, ValueId), Vec<TxnId>> {
        let mut writers: FxHashMap<_, Vec<TxnId>> = FxHashMap::default();
        for txn in history.txns() {
            for op in history.ops(txn) {
                if let Op::Write { key, value } = history.op(op) {
                    writers.entry((key, value)).or_default().push(txn);
                }
            }
        }
        writers
    }
}
