//! Finds out why nobody can have written what a read saw.

use crate::{History, KeyId, LocalAnomaly, LocalKind, Op, OpId, Outcome, ScanId, TxnId, ValueId};
use rustc_hash::FxHashMap;

/// A read of a register or a row that no final write of another transaction explains.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnexplainedRead {
    pub(crate) op: OpId,
    pub(crate) reader: TxnId,
    pub(crate) key: KeyId,
    pub(crate) saw: Saw,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Saw {
    Value(ValueId),
    /// Some version that does not match.
    NoMatch(ScanId),
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

    fn kind(self, reader: TxnId, saw: Saw) -> LocalKind {
        let other = self.first.filter(|it| *it != reader).or(self.second);
        if let Some(writer) = self.first_aborted {
            LocalKind::Aborted { writer }
        } else if let Some(writer) = other {
            LocalKind::Intermediate { writer }
        } else if self.first.is_none() {
            match saw {
                Saw::Value(_) => LocalKind::ThinAir,
                Saw::NoMatch(_) => LocalKind::Missed,
            }
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
    let (mut versions, mut omitted) = (FxHashMap::default(), FxHashMap::<KeyId, Vec<usize>>::default());
    for (idx, read) in reads.iter().enumerate() {
        match read.saw {
            Saw::Value(value) => _ = versions.insert((read.key, value), Writers::default()),
            Saw::NoMatch(_) => omitted.entry(read.key).or_default().push(idx),
        }
    }
    let mut without_match = vec![Writers::default(); reads.len()];
    for txn in history.txns() {
        for op in history.ops(txn) {
            let Op::Write { key, value } = history.op(op) else { continue };
            if let Some(writers) = versions.get_mut(&(key, value)) {
                writers.add(txn, history.outcome(txn));
            }
            for idx in omitted.get(&key).into_iter().flatten() {
                if matches!(reads[*idx].saw, Saw::NoMatch(scan) if !history.matches(scan, key, value)) {
                    without_match[*idx].add(txn, history.outcome(txn));
                }
            }
        }
    }
    let kind = |(idx, it): (usize, &UnexplainedRead)| match it.saw {
        Saw::Value(value) => versions[&(it.key, value)].kind(it.reader, it.saw),
        Saw::NoMatch(_) => without_match[idx].kind(it.reader, it.saw),
    };
    let anomaly = |it: (usize, &UnexplainedRead)| LocalAnomaly { reader: it.1.reader, op: it.1.op, kind: kind(it) };
    reads.iter().enumerate().map(anomaly).collect()
}
