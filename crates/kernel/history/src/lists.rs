//! Lists: what a read of a whole list says about the order of appends.
//!
//! A list is a register whose every version shows all versions before it. A read of `[1,2,3]` therefore reads the
//! version of the transaction that appended 3, and says in which order 1, 2 and 3 were installed.

use crate::survey::ListRead;
use crate::{History, KeyId, LocalAnomaly, LocalKind, Op, OpId, Outcome, TxnId, ValueId};
use rustc_hash::FxHashMap;

/// The versions of one list that somebody saw, oldest first. Every other writer of the list comes after them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveredOrder {
    /// The list.
    pub key: KeyId,
    /// The writers of the versions, in version order.
    pub writers: Vec<TxnId>,
    /// The read that shows them all.
    pub shown_by: OpId,
}

/// Who appended an element.
#[derive(Clone, Copy, Debug)]
struct Appender {
    txn: TxnId,
    /// The element's place among its transaction's appends to the list.
    nth: u32,
    /// Was it appended to this list more than once?
    is_repeated: bool,
}

/// An index from elements to who appended them.
#[derive(Debug, Default)]
pub(crate) struct Appends {
    by_element: FxHashMap<(KeyId, ValueId), Appender>,
    /// For elements that were appended more than once, who did, and their place among its appends.
    repeated: FxHashMap<(KeyId, ValueId), Vec<(TxnId, u32)>>,
    counts: FxHashMap<(TxnId, KeyId), u32>,
}

/// What one list read says.
#[derive(Debug)]
pub(crate) enum ListReading {
    /// It reads the version of the last writer here (the initial version if there is none).
    Version { writers: Vec<TxnId> },
    /// Nothing explains it.
    Anomaly(LocalKind),
    /// It saw only some elements of the last writer here, but in which order the writers came.
    Intermediate { writers: Vec<TxnId> },
    /// An element may be one of several transactions, so that the read has several meanings. The appenders of the other
    /// elements, and all who may have appended the open ones or the last.
    Ambiguous { certain: Vec<TxnId>, possible: Vec<TxnId> },
}

impl Appends {
    /// Indexes every append of the history, those of aborted transactions included.
    pub(crate) fn new(history: &History) -> Self {
        let mut appends = Self::default();
        if !history.key_is_list.contains(&true) {
            return appends;
        }
        for txn in history.txns() {
            for op in history.ops(txn) {
                if let Op::Append { key, value } = history.op(op) {
                    appends.add(txn, key, value);
                }
            }
        }
        appends
    }

    pub(crate) fn add(&mut self, txn: TxnId, key: KeyId, value: ValueId) {
        let count = self.counts.entry((txn, key)).or_insert(0);
        let appender = Appender { txn, nth: *count, is_repeated: false };
        *count += 1;
        if let Some(first) = self.by_element.get_mut(&(key, value)) {
            first.is_repeated = true;
            let all = self.repeated.entry((key, value)).or_insert_with(|| vec![(first.txn, first.nth)]);
            all.push((appender.txn, appender.nth));
        } else {
            self.by_element.insert((key, value), appender);
        }
    }

    /// Everybody who appended an element, with the place among its appends, in the order of the input.
    pub(crate) fn all(&self, key: KeyId, value: ValueId) -> Vec<(TxnId, u32)> {
        let once = || self.by_element.get(&(key, value)).map(|it| (it.txn, it.nth)).into_iter().collect();
        self.repeated.get(&(key, value)).cloned().unwrap_or_else(once)
    }

    /// Who may have appended an element that a transaction saw: whoever did not abort, and is not the reader.
    pub(crate) fn possible(&self, history: &History, reader: TxnId, key: KeyId, value: ValueId) -> Vec<TxnId> {
        let mut txns: Vec<TxnId> = self.all(key, value).into_iter().map(|it| it.0).collect();
        txns.retain(|it| *it != reader && history.outcome(*it) != Outcome::Aborted);
        txns.dedup();
        txns
    }

    /// Interprets a read that saw `seen`, by a transaction that had appended `own` to the list before.
    pub(crate) fn interpret(
        &self,
        history: &History,
        reader: TxnId,
        key: KeyId,
        seen: &[ValueId],
        own: &[ValueId],
    ) -> ListReading {
        if let Some(last_own) = own.last()
            && !seen.ends_with(own)
        {
            return ListReading::Anomaly(LocalKind::Internal { expected: *last_own });
        }
        let external = &seen[..seen.len() - own.len()];
        if external.iter().any(|it| self.is_open(history, reader, key, *it)) {
            return self.interpret_open(history, reader, key, external);
        }
        let mut writers: Vec<TxnId> = Vec::new();
        let mut n_of_last = 0;
        let mut dirty = None;
        for value in external {
            let n_before = |txn: TxnId| if writers.last() == Some(&txn) { n_of_last } else { 0 };
            let Some(appender) = self.appender(history, reader, (key, *value), n_before) else {
                return ListReading::Anomaly(LocalKind::ThinAir);
            };
            match self.misplaced(history, reader, key, appender, &writers, n_of_last) {
                Some(problem) if problem.breaks_read_uncommitted() => return ListReading::Anomaly(problem),
                // Something worse may follow, so the element is only noted, and passed over.
                Some(problem) => {
                    dirty = dirty.or(Some(problem));
                    continue;
                }
                None => {}
            }
            if writers.last() == Some(&appender.txn) {
                n_of_last += 1;
            } else {
                writers.push(appender.txn);
                n_of_last = 1;
            }
        }
        match writers.last() {
            _ if dirty.is_some() => ListReading::Anomaly(dirty.unwrap_or(LocalKind::ThinAir)),
            Some(last) if n_of_last < self.counts[&(*last, key)] => ListReading::Intermediate { writers },
            _ => ListReading::Version { writers },
        }
    }

    /// May an element be one of several transactions?
    pub(crate) fn is_open(&self, history: &History, reader: TxnId, key: KeyId, value: ValueId) -> bool {
        self.repeated.contains_key(&(key, value)) && self.possible(history, reader, key, value).len() > 1
    }

    /// A read with several meanings, unless one of its elements is wrong in each of them.
    fn interpret_open(&self, history: &History, reader: TxnId, key: KeyId, external: &[ValueId]) -> ListReading {
        let (mut certain, mut possible) = (Vec::new(), Vec::new());
        for value in external {
            let Some(appender) = self.appender(history, reader, (key, *value), |_| 0) else {
                return ListReading::Anomaly(LocalKind::ThinAir);
            };
            match self.possible(history, reader, key, *value)[..] {
                [] if appender.txn == reader => return ListReading::Anomaly(LocalKind::Future),
                [] => return ListReading::Anomaly(LocalKind::Aborted { writer: appender.txn }),
                [only] => certain.push(only),
                ref several => possible.extend_from_slice(several),
            }
        }
        let last = external.last().map(|it| self.possible(history, reader, key, *it));
        possible.extend(last.into_iter().flatten());
        for txns in [&mut certain, &mut possible] {
            txns.sort_unstable();
            txns.dedup();
        }
        ListReading::Ambiguous { certain, possible }
    }

    /// Whose element this is, if only one transaction may have appended it; else the first who did. Of several appends by
    /// one transaction, the next one after so many.
    fn appender(
        &self,
        history: &History,
        reader: TxnId,
        (key, value): (KeyId, ValueId),
        n_before: impl Fn(TxnId) -> u32,
    ) -> Option<Appender> {
        let first = *self.by_element.get(&(key, value))?;
        if !first.is_repeated {
            return Some(first);
        }
        let all = self.all(key, value);
        let txn = match self.possible(history, reader, key, value).first() {
            Some(only) => *only,
            None => all.iter().map(|it| it.0).find(|it| *it != reader).unwrap_or(first.txn),
        };
        let mut of_txn = all.iter().filter(|it| it.0 == txn).map(|it| it.1);
        let nth = of_txn.clone().find(|it| *it == n_before(txn)).or_else(|| of_txn.next()).unwrap_or(first.nth);
        Some(Appender { txn, nth, ..first })
    }

    /// What is wrong with seeing an element of `appender` right after the versions of `writers`, if anything.
    fn misplaced(
        &self,
        history: &History,
        reader: TxnId,
        key: KeyId,
        appender: Appender,
        writers: &[TxnId],
        n_of_last: u32,
    ) -> Option<LocalKind> {
        if appender.txn == reader {
            return Some(LocalKind::Future);
        }
        if history.outcome(appender.txn) == Outcome::Aborted {
            return Some(LocalKind::Aborted { writer: appender.txn });
        }
        match writers.last() {
            Some(last) if *last == appender.txn => (appender.nth != n_of_last).then_some(out_of_order(appender.txn)),
            Some(last) if n_of_last < self.counts[&(*last, key)] => {
                Some(LocalKind::Interleaved { torn: *last, between: appender.txn })
            }
            _ if writers.contains(&appender.txn) => {
                Some(LocalKind::Interleaved { torn: appender.txn, between: *writers.last()? })
            }
            _ => (appender.nth != 0).then_some(out_of_order(appender.txn)),
        }
    }
}

/// No list ever had the elements of a transaction in another order, or some without those before them.
fn out_of_order(txn: TxnId) -> LocalKind {
    LocalKind::Interleaved { torn: txn, between: txn }
}

/// Joins what all reads of a list say into one version order, or finds reads that contradict each other.
///
/// Reads of committed transactions are compared among themselves first: whether they agree does not depend on others.
pub(crate) fn join_readings(
    history: &History,
    key: KeyId,
    readings: &[&ListRead],
) -> (Option<RecoveredOrder>, Vec<LocalAnomaly>) {
    let (committed, others): (Vec<&ListRead>, Vec<&ListRead>) =
        readings.iter().partition(|it| history.outcome(it.reader) == Outcome::Committed);
    let mut anomalies = Vec::new();
    let mut recovered = longest(&committed);
    let mut compare = |some: &[&ListRead], recovered: &ListRead| {
        let is_other = |it: &&&ListRead| {
            !recovered.writers.starts_with(&it.writers) && !it.writers.starts_with(&recovered.writers)
        };
        anomalies.extend(some.iter().filter(is_other).map(|it| LocalAnomaly {
            reader: it.reader,
            op: it.op,
            kind: LocalKind::Incompatible { other: recovered.op },
        }));
    };
    if let Some(recovered) = recovered {
        compare(&committed, recovered);
        compare(&others, recovered);
    }
    if let Some(other) = longest(&others)
        && recovered.is_none_or(|it| other.writers.len() > it.writers.len() && other.writers.starts_with(&it.writers))
    {
        compare(&others, other);
        recovered = Some(other);
    }
    let recovered = recovered.filter(|it| !it.writers.is_empty());
    (recovered.map(|it| RecoveredOrder { key, writers: it.writers.clone(), shown_by: it.op }), anomalies)
}

/// The first of the longest.
fn longest<'r>(readings: &[&'r ListRead]) -> Option<&'r ListRead> {
    readings.iter().rev().max_by_key(|it| it.writers.len()).copied()
}
