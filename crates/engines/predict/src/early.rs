//! Runs in which others see what a transaction on the boundary wrote before its cut.
//!
//! If a transaction is cut at a read with another writer, and others see what it wrote until then, then for them it is a
//! transaction like any other, only shorter: what it saw and what it wrote is fixed. So there is a run to predict from, in
//! which it is whole: the observed one with that transaction cut early, and without whatever happened after what was cut off.
//! Strict predictions from these runs, and from those in which more transactions are cut early, are all that the boundary
//! of the paper has, and a strict one has not.
//! Source: Geng et al. 2024, section 4.3. Cost: a search for each way to cut transactions early of whom others may see
//! something; few transactions write before they read.

use crate::trace::{INITIAL, Trace, TxnIdx, Write};
use iso_history::{History, Op, OpId, TxnId};
use std::collections::{BTreeSet, VecDeque};

/// A transaction that ends with a read from another writer, and that others may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EarlyCut {
    pub(crate) id: TxnId,
    /// Its last read.
    pub(crate) read: OpId,
    /// Whom that was observed to read from.
    pub(crate) observed: TxnId,
    /// Whom it reads from now.
    pub(crate) writer: TxnId,
}

/// The runs with transactions that are cut early, those with fewer of them first.
#[derive(Debug)]
pub(crate) struct Variants {
    pending: VecDeque<Trace>,
    seen: BTreeSet<Vec<EarlyCut>>,
}

impl Variants {
    pub(crate) fn of(trace: &Trace, history: &History) -> Self {
        let mut variants = Self { pending: VecDeque::new(), seen: BTreeSet::new() };
        variants.add_to(trace, history);
        variants
    }

    /// The next run.
    pub(crate) fn next(&mut self, history: &History) -> Option<Trace> {
        let trace = self.pending.pop_front()?;
        self.add_to(&trace, history);
        Some(trace)
    }

    /// All runs with one transaction more that is cut early.
    fn add_to(&mut self, trace: &Trace, history: &History) {
        for txn in trace.txns().filter(|it| trace.early_cut(*it).is_none()) {
            for (nth, read) in trace.reads[txn as usize].iter().enumerate() {
                let has_written = trace.writes[txn as usize].iter().any(|it| it.op < read.op);
                let Some(key) = read.key.filter(|_| has_written) else { continue };
                let writers = std::iter::once(INITIAL).chain(trace.writers[key as usize].iter().copied());
                for writer in writers.filter(|it| *it != read.source && *it != txn) {
                    let Some(variant) = trace.cut_early(history, txn, nth, writer) else { continue };
                    if self.seen.insert(variant.early.clone()) {
                        self.pending.push_back(variant);
                    }
                }
            }
        }
    }
}

impl Trace {
    /// The cut of a transaction that is cut early.
    pub(crate) fn early_cut(&self, txn: TxnIdx) -> Option<&EarlyCut> {
        self.early.iter().find(|it| it.id == self.ids[txn as usize])
    }

    /// The run in which a transaction ends with a read from another writer, without whatever cannot be then. Nothing if the
    /// writer is among that, or nobody else can see the transaction.
    fn cut_early(&self, history: &History, txn: TxnIdx, nth: usize, writer: TxnIdx) -> Option<Self> {
        let end = self.reads[txn as usize][nth].op;
        if writer != INITIAL && self.is_in_past(txn, writer) {
            return None;
        }
        let is_kept_write = |it: &Write| it.op < end;
        let mut is_gone = vec![false; self.n_txns()];
        for later in self.txns() {
            let lost = |source: TxnIdx, key: Option<u32>| {
                source != INITIAL
                    && (is_gone[source as usize]
                        || (source == txn && key.is_none_or(|key| !self.is_whole(history, txn, key, end))))
            };
            let by_session = self.before_in_session(later).is_some_and(|it| it == txn || is_gone[it as usize]);
            let by_read = later != txn && self.reads[later as usize].iter().any(|it| lost(it.source, it.key));
            is_gone[later as usize] = by_session || by_read;
        }
        let is_seen = |key: u32| self.writers[key as usize].len() > 1 || self.is_read_by_others(txn, key);
        if is_gone[txn as usize]
            || (writer != INITIAL && is_gone[writer as usize])
            || !self.writes[txn as usize].iter().any(|it| is_kept_write(it) && is_seen(it.key))
        {
            return None;
        }
        let mut variant = self.clone();
        variant.reads[txn as usize].truncate(nth + 1);
        variant.reads[txn as usize][nth].source = writer;
        variant.writes[txn as usize].retain(is_kept_write);
        let id = |it: TxnIdx| if it == INITIAL { TxnId::INITIAL } else { self.ids[it as usize] };
        let observed = id(self.reads[txn as usize][nth].source);
        variant.early.push(EarlyCut { id: self.ids[txn as usize], read: end, observed, writer: id(writer) });
        variant.early.sort_unstable();
        variant.without(&is_gone)
    }

    /// Are all writes of a key by the transaction before its end?
    fn is_whole(&self, history: &History, txn: TxnIdx, key: u32, end: OpId) -> bool {
        let Some(first) = self.write(txn, key).filter(|it| it.op < end) else { return false };
        let same = history.op(first.op).key();
        let is_late = |it: OpId| it > end && matches!(history.op(it), Op::Write { key, .. } if key == same);
        !history.ops(self.ids[txn as usize]).any(is_late)
    }

    /// Does anybody else read the key?
    fn is_read_by_others(&self, txn: TxnIdx, key: u32) -> bool {
        let reads = |it: TxnIdx| self.reads[it as usize].iter().any(|it| it.key == Some(key));
        self.txns().any(|it| it != txn && reads(it))
    }

    /// The run without some transactions, in an order in which everybody comes after whom it read from.
    fn without(&self, is_gone: &[bool]) -> Option<Self> {
        let mut order: Vec<TxnIdx> = Vec::new();
        let mut is_placed: Vec<bool> = is_gone.to_vec();
        let mut n_before = usize::MAX;
        while order.len() != n_before {
            n_before = order.len();
            for txn in self.txns() {
                let sources = self.reads[txn as usize].iter().map(|it| it.source).filter(|it| *it != INITIAL);
                let mut causes = sources.chain(self.before_in_session(txn));
                if !is_placed[txn as usize] && causes.all(|it| is_placed[it as usize]) {
                    is_placed[txn as usize] = true;
                    order.push(txn);
                }
            }
        }
        is_placed.iter().all(|it| *it).then(|| self.renumbered(&order))
    }
}

#[cfg(test)]
mod tests {
    use crate::early::Variants;
    use crate::trace::Trace;
    use iso_evidence::{Schedule, Witness};
    use iso_history::{Facts, History, HistoryBuilder, Outcome, Place, TxnId};

    /// One transaction writes x and then reads y; another one has written y, and a third one reads x.
    fn history() -> History {
        let mut builder = HistoryBuilder::new();
        let [zero, one] = [0, 1].map(|it| builder.value(it.into()));
        let [x, y] = ["x", "y"].map(|it| builder.key(it.into()));
        builder.default_initial(zero);
        for name in ["a", "b", "c"] {
            let session = builder.session(name);
            builder.begin(session, Place::default());
            match name {
                "a" => builder.write(y, one),
                "b" => {
                    builder.write(x, one);
                    builder.read(y, one);
                }
                _ => builder.read(x, one),
            }
            builder.end(Outcome::Committed);
        }
        builder.finish().unwrap()
    }

    #[test]
    fn whoever_writes_before_it_reads_may_be_cut_early() {
        let history = history();
        let facts = Facts::new(&history);
        let txns: Vec<TxnId> = facts.txns().collect();
        let sources = facts.sources().unwrap();
        let trace = Trace::new(&facts, &Witness { schedule: Schedule::Order(txns), sources }).unwrap();
        let mut variants = Variants::of(&trace, &history);
        let variant = variants.next(&history).unwrap();
        // It reads the initial y, and whoever saw its x still does.
        assert_eq!((variant.n_txns(), variant.early.len()), (3, 1));
        assert_eq!(variant.early[0].writer, TxnId::INITIAL);
        assert!(variants.next(&history).is_none());
    }
}
