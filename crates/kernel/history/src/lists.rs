//! Lists: what a read of a whole list says about the order of appends.
//!
//! A list is a register whose every version shows all versions before it. A read of `[1,2,3]` therefore reads the
//! version of the transaction that appended 3, and says in which order 1, 2 and 3 were installed.

use crate::scan::ListRead;
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
    is_ambiguous: bool,
}

/// An index from elements to who appended them.
#[derive(Debug, Default)]
pub(crate) struct Appends {
    by_element: FxHashMap<(KeyId, ValueId), Appender>,
    n_appends: FxHashMap<(TxnId, KeyId), u32>,
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
    /// An element was appended more than once, so that the read has several meanings.
    Ambiguous,
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
        let count = self.n_appends.entry((txn, key)).or_insert(0);
        let appender = Appender { txn, nth: *count, is_ambiguous: false };
        *count += 1;
        self.by_element.entry((key, value)).and_modify(|it| it.is_ambiguous = true).or_insert(appender);
    }

    /// Who appended an element to a list first.
    pub(crate) fn first_appender(&self, key: KeyId, value: ValueId) -> Option<TxnId> {
        self.by_element.get(&(key, value)).map(|it| it.txn)
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
        let mut writers: Vec<TxnId> = Vec::new();
        let mut n_of_last = 0;
        let mut dirty = None;
        for value in external {
            let Some(appender) = self.by_element.get(&(key, *value)) else {
                return ListReading::Anomaly(LocalKind::ThinAir);
            };
            if appender.is_ambiguous {
                return ListReading::Ambiguous;
            }
            match self.misplaced(history, reader, key, *appender, &writers, n_of_last) {
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
            Some(last) if n_of_last < self.n_appends[&(*last, key)] => ListReading::Intermediate { writers },
            _ => ListReading::Version { writers },
        }
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
            Some(last) if n_of_last < self.n_appends[&(*last, key)] => {
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
