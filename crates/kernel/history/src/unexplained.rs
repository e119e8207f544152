//! Finds out why nobody can have written what a register read saw.

use crate::{History, KeyId, LocalAnomaly, LocalKind, Op, OpId, Outcome, TxnId, ValueId};
use rustc_hash::FxHashMap;

/// A register read that no final write of another transaction explains.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnexplainedRead {
    pub(crate) op: OpId,
    pub(crate) reader: TxnId,
    pub(crate) key: KeyId,
    pub(crate) value: ValueId,
}

/// The writes of one version, final or not, as far as they matter.
#[derive(Clone, Copy, Debug, Default)]
struct Writers {
    first_aborted: Option<TxnId>,
    first: Option<TxnId>,
    /// The first one that is not `first`.
    second: Option<TxnId>,
}

impl Writers {
    fn add(&mut self, txn: TxnId, outcome: Outcome) {
        if outcome == Outcome::Aborted && self.first_aborted.is_none() {
            self.first_aborted = Some(txn);
        }
        match self.first {
            None => self.first = Some(txn),
            Some(first) if first != txn && self.second.is_none() => self.second = Some(txn),
            Some(_) => {}
        }
    }

    fn kind(self, reader: TxnId) -> LocalKind {
        let other = self.first.filter(|it| *it != reader).or(self.second);
        if let Some(writer) = self.first_aborted {
            LocalKind::Aborted { writer }
        } else if let Some(writer) = other {
            LocalKind::Intermediate { writer }
        } else if self.first.is_none() {
            LocalKind::ThinAir
        } else {
            LocalKind::Future
        }
    }
}

/// The anomaly of each of these reads. Looks at every write once, if there is any read.
pub(crate) fn name_anomalies(history: &History, reads: &[UnexplainedRead]) -> Vec<LocalAnomaly> {
    if reads.is_empty() {
        return Vec::new();
    }
    let mut versions: FxHashMap<(KeyId, ValueId), Writers> =
        reads.iter().map(|it| ((it.key, it.value), Writers::default())).collect();
    for txn in history.txns() {
        for op in history.ops(txn) {
            if let Op::Write { key, value } = history.op(op)
                && let Some(writers) = versions.get_mut(&(key, value))
            {
                writers.add(txn, history.outcome(txn));
            }
        }
    }
    let kind = |it: &UnexplainedRead| versions[&(it.key, it.value)].kind(it.reader);
    reads.iter().map(|it| LocalAnomaly { reader: it.reader, op: it.op, kind: kind(it) }).collect()
}
