//! Lists: what a read of a whole list says about the order of appends.
//!
//! A list is a register whose every version shows all versions before it. A read of `[1,2,3]` therefore reads the
//! version of the transaction that appended 3, and says in which order 1, 2 and 3 were installed.

use crate::{History, KeyId, LocalAnomaly, LocalKind, Op, OpId, Outcome, TxnId, ValueId};
use rustc_hash::FxHashMap;

/// The versions of one list that somebody saw, oldest first. Every other writer of the list comes after them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionChain {
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

    /// The one transaction that appended an element to a list, if exactly one did.
    pub(crate) fn appender(&self, key: KeyId, value: ValueId) -> Option<TxnId> {
        self.by_element.get(&(key, value)).filter(|it| !it.is_ambiguous).map(|it| it.txn)
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
        for value in external {
            let Some(appender) = self.by_element.get(&(key, *value)) else {
                return ListReading::Anomaly(LocalKind::ThinAir);
            };
            if appender.is_ambiguous {
                return ListReading::Ambiguous;
            }
            if let Some(problem) = self.misplaced(history, reader, key, *appender, &writers, n_of_last) {
                return ListReading::Anomaly(problem);
            }
            if writers.last() == Some(&appender.txn) {
                n_of_last += 1;
            } else {
                writers.push(appender.txn);
                n_of_last = 1;
            }
        }
        match writers.last() {
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
            Some(last) if *last == appender.txn => {
                (appender.nth != n_of_last).then_some(LocalKind::Intermediate { writer: appender.txn })
            }
            Some(last) if n_of_last < self.n_appends[&(*last, key)] => {
                Some(LocalKind::Interleaved { torn: *last, between: appender.txn })
            }
            _ if writers.contains(&appender.txn) => {
                Some(LocalKind::Interleaved { torn: appender.txn, between: *writers.last()? })
            }
            _ => (appender.nth != 0).then_some(LocalKind::Intermediate { writer: appender.txn }),
        }
    }
}

/// Joins what all reads of a list say into one chain, or finds two reads that contradict each other.
pub(crate) fn join_chains(
    history: &History,
    key: KeyId,
    readings: &[(OpId, Vec<TxnId>)],
) -> (Option<VersionChain>, Vec<LocalAnomaly>) {
    let Some((shown_by, longest)) = readings.iter().rev().max_by_key(|it| it.1.len()) else {
        return (None, Vec::new());
    };
    let anomalies = readings
        .iter()
        .filter(|(_, writers)| !longest.starts_with(writers))
        .map(|(op, _)| LocalAnomaly {
            reader: history.txn_of(*op),
            op: *op,
            kind: LocalKind::Incompatible { other: *shown_by },
        })
        .collect();
    let chain = VersionChain { key, writers: longest.clone(), shown_by: *shown_by };
    ((!longest.is_empty()).then_some(chain), anomalies)
}
