//! Transactions of a recording that is too long to be a [`History`](crate::History): what each of them read from others and
//! what it left behind.
//!
//! Keys and sessions are numbered by whoever reads the recording; values are kept as they are, because a table of all values
//! would grow with the recording. Transactions come in blocks, so that none of them has memory of its own. Only registers
//! can be streamed.

use crate::{Access, Datum, KeyId, Name, Outcome, SessionId};
use std::sync::Arc;

/// A value of a stream: most are integers, and take no memory of their own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StreamedValue {
    /// No value: a missing row.
    Null,
    /// An integer.
    Int(i64),
    /// Anything else.
    Other(Arc<Datum>),
}

impl StreamedValue {
    /// The value, borrowed.
    pub fn as_name(&self) -> Name<'_> {
        match self {
            Self::Null => Name::Null,
            Self::Int(number) => Name::Int(*number),
            Self::Other(datum) => datum.as_name(),
        }
    }
}

impl From<Name<'_>> for StreamedValue {
    fn from(name: Name<'_>) -> Self {
        match name {
            Name::Null => Self::Null,
            Name::Int(number) => Self::Int(number),
            other => Self::Other(Arc::new(other.to_datum())),
        }
    }
}

impl From<&Datum> for StreamedValue {
    fn from(datum: &Datum) -> Self {
        datum.as_name().into()
    }
}

/// A key with what was read or written there.
pub type StreamedOp = (KeyId, StreamedValue);

/// Transactions that follow each other in a recording.
#[derive(Clone, Debug, Default)]
pub struct StreamedBlock {
    heads: Vec<Head>,
    /// For each transaction its reads, its writes, and what it overwrote itself.
    ops: Vec<StreamedOp>,
    writes: Vec<StreamedOp>,
    hidden: Vec<StreamedOp>,
}

#[derive(Clone, Debug)]
struct Head {
    session: SessionId,
    nth: u32,
    at: u64,
    begin: Option<i64>,
    end: Option<i64>,
    outcome: Outcome,
    start: u32,
    n_reads: u32,
    n_writes: u32,
    n_hidden: u32,
    contradicted: Option<KeyId>,
}

/// A transaction, as one who replays it needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamedTxn<'b> {
    /// Its session.
    pub session: SessionId,
    /// Its place in its session, from 0; those that aborted count.
    pub nth: u32,
    /// Its place in the recording: a line.
    pub at: u64,
    /// When it began, if the recording says so.
    pub begin: Option<i64>,
    /// When it ended; nothing if nobody knows, as for those of unknown outcome.
    pub end: Option<i64>,
    /// What became of it.
    pub outcome: Outcome,
    reads: &'b [StreamedOp],
    writes: &'b [StreamedOp],
    hidden: &'b [StreamedOp],
    contradicted: Option<KeyId>,
}

impl StreamedBlock {
    /// A transaction begins, without operations. Nobody knows when one of unknown outcome took effect.
    pub fn begin(
        &mut self,
        (session, nth): (SessionId, u32),
        at: u64,
        outcome: Outcome,
        (begin, end): (Option<i64>, Option<i64>),
    ) {
        let end = end.filter(|_| outcome != Outcome::Indeterminate);
        let start = self.ops.len() as u32;
        let (n_reads, n_writes, n_hidden) = (0, 0, 0);
        self.heads.push(Head {
            session,
            nth,
            at,
            begin,
            end,
            outcome,
            start,
            n_reads,
            n_writes,
            n_hidden,
            contradicted: None,
        });
    }

    /// Adds the next operation of the last transaction: a read that returned the value, or a write of it. Others than those
    /// of registers are not taken, and handed back.
    pub fn push(&mut self, access: Access, key: KeyId, value: StreamedValue) -> Result<(), Access> {
        let own = self.writes.iter_mut().find(|it| it.0 == key);
        match (access, own) {
            (Access::Read, None) => self.ops.push((key, value)),
            (Access::Read, Some(own)) => {
                if let Some(head) = self.heads.last_mut().filter(|_| own.1 != value) {
                    head.contradicted.get_or_insert(key);
                }
            }
            (Access::Write, None) => self.writes.push((key, value)),
            (Access::Write, Some(own)) => self.hidden.push((key, std::mem::replace(&mut own.1, value))),
            (other, _) => return Err(other),
        }
        Ok(())
    }

    /// The last transaction has no more operations.
    pub fn end(&mut self) {
        let Some(head) = self.heads.last_mut() else { return };
        head.n_reads = self.ops.len() as u32 - head.start;
        head.n_writes = self.writes.len() as u32;
        head.n_hidden = self.hidden.len() as u32;
        self.ops.append(&mut self.writes);
        self.ops.append(&mut self.hidden);
    }

    /// Adds a transaction of another block.
    pub fn copy(&mut self, txn: &StreamedTxn<'_>) {
        let StreamedTxn { session, nth, at, begin, end, outcome, contradicted, .. } = *txn;
        let start = self.ops.len() as u32;
        let (n_reads, n_writes) = (txn.reads.len() as u32, txn.writes.len() as u32);
        let n_hidden = txn.hidden.len() as u32;
        self.heads.push(Head {
            session,
            nth,
            at,
            begin,
            end,
            outcome,
            start,
            n_reads,
            n_writes,
            n_hidden,
            contradicted,
        });
        self.ops.extend(txn.reads.iter().chain(txn.writes).chain(txn.hidden).cloned());
    }

    /// How many transactions there are.
    pub fn n_txns(&self) -> usize {
        self.heads.len()
    }

    /// How many operations they have.
    pub fn n_ops(&self) -> usize {
        self.ops.len()
    }

    /// One of the transactions.
    pub fn txn(&self, idx: usize) -> StreamedTxn<'_> {
        let head = &self.heads[idx];
        let reads = head.start as usize;
        let writes = reads + head.n_reads as usize;
        let hidden = writes + head.n_writes as usize;
        StreamedTxn {
            session: head.session,
            nth: head.nth,
            at: head.at,
            begin: head.begin,
            end: head.end,
            outcome: head.outcome,
            reads: &self.ops[reads..writes],
            writes: &self.ops[writes..hidden],
            hidden: &self.ops[hidden..hidden + head.n_hidden as usize],
            contradicted: head.contradicted,
        }
    }

    /// All of them.
    pub fn txns(&self) -> impl Iterator<Item = StreamedTxn<'_>> {
        (0..self.n_txns()).map(|it| self.txn(it))
    }
}

impl<'b> StreamedTxn<'b> {
    /// What it read from others, in its order; a key may be there more than once.
    pub fn reads(&self) -> &'b [StreamedOp] {
        self.reads
    }

    /// What it left behind: each key once, with the last value that it wrote.
    pub fn writes(&self) -> &'b [StreamedOp] {
        self.writes
    }

    /// What it wrote and then overwrote itself.
    pub fn hidden(&self) -> &'b [StreamedOp] {
        self.hidden
    }

    /// A key that it wrote and then read with another value than its own.
    pub fn contradicted(&self) -> Option<KeyId> {
        self.contradicted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_of_own_writes_are_internal_and_the_last_write_counts() {
        let (x, y) = (KeyId::from_index(0), KeyId::from_index(1));
        let mut block = StreamedBlock::default();
        let session = SessionId::from_index(0);
        block.begin((session, 0), 2, Outcome::Committed, (None, Some(7)));
        for (access, key, value) in [
            (Access::Read, x, 0),
            (Access::Write, x, 1),
            (Access::Read, x, 1),
            (Access::Write, x, 2),
            (Access::Read, y, 7),
        ] {
            block.push(access, key, StreamedValue::Int(value)).unwrap();
        }
        block.end();
        block.begin((session, 1), 3, Outcome::Indeterminate, (None, Some(8)));
        block.push(Access::Write, x, StreamedValue::Int(3)).unwrap();
        block.push(Access::Read, x, StreamedValue::Int(1)).unwrap();
        assert_eq!(block.push(Access::Append, x, StreamedValue::Int(1)), Err(Access::Append));
        block.end();
        let mut copied = StreamedBlock::default();
        copied.copy(&block.txn(1));
        let txn = block.txn(0);
        assert_eq!(txn.reads(), [(x, StreamedValue::Int(0)), (y, StreamedValue::Int(7))]);
        assert_eq!(txn.writes(), [(x, StreamedValue::Int(2))]);
        assert_eq!(txn.hidden(), [(x, StreamedValue::Int(1))]);
        assert_eq!((txn.contradicted(), txn.end), (None, Some(7)));
        assert_eq!(block.txn(1), copied.txn(0));
        assert_eq!((block.txn(1).contradicted(), block.txn(1).end), (Some(x), None));
        assert_eq!(block.txns().map(|it| it.writes().len()).sum::<usize>(), 2);
    }
}
