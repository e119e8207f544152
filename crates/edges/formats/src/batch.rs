//! Transactions whose keys and values are integers, collected until there are so many that numbering their names at
//! once pays.

use crate::ReadError;
use crate::sink::Sink;
use iso_history::{Access, KeyId, Outcome, Place, SessionId, ValueId};

/// So many operations are added at once.
const AT_ONCE: usize = 1 << 13;

/// Transactions that wait, and at their end one that is not complete.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    accesses: Vec<Access>,
    keys: Vec<i64>,
    values: Vec<i64>,
    txns: Vec<Txn>,
    key_ids: Vec<KeyId>,
    value_ids: Vec<ValueId>,
}

#[derive(Clone, Copy, Debug)]
struct Txn {
    session: SessionId,
    place: Place,
    outcome: Outcome,
    /// Where its operations end in the columns.
    end: usize,
}

impl Batch {
    /// Adds an operation to the transaction that is not complete.
    #[inline]
    pub(crate) fn push(&mut self, access: Access, key: i64, value: i64) {
        self.accesses.push(access);
        self.keys.push(key);
        self.values.push(value);
    }

    /// Completes a transaction.
    pub(crate) fn end(
        &mut self,
        session: SessionId,
        place: Place,
        outcome: Outcome,
        sink: &mut Sink<'_>,
    ) -> Result<(), ReadError> {
        self.txns.push(Txn { session, place, outcome, end: self.keys.len() });
        if self.keys.len() >= AT_ONCE || self.txns.len() >= AT_ONCE { self.flush(sink) } else { Ok(()) }
    }

    /// What it takes in memory, about.
    pub(crate) fn bytes(&self) -> usize {
        self.keys.len() * (2 * size_of::<i64>() + size_of::<Access>())
    }

    /// Adds all complete transactions to the history.
    pub(crate) fn flush(&mut self, sink: &mut Sink<'_>) -> Result<(), ReadError> {
        let n_ops = self.txns.last().map_or(0, |it| it.end);
        sink.int_names(&self.keys[..n_ops], &mut self.key_ids, &self.values[..n_ops], &mut self.value_ids)?;
        let mut start = 0;
        for txn in &self.txns {
            let ops = start..txn.end;
            let columns = (&self.accesses[ops.clone()], &self.key_ids[ops.clone()], &self.value_ids[ops]);
            sink.register_txn(txn.session, txn.place, (None, None), columns, txn.outcome)?;
            start = txn.end;
        }
        self.txns.clear();
        self.key_ids.clear();
        self.value_ids.clear();
        self.accesses.drain(..n_ops);
        self.keys.drain(..n_ops);
        self.values.drain(..n_ops);
        Ok(())
    }
}
