//! One transaction of a recording that is too long to be a [`History`](crate::History): what it read from others and what
//! it left behind.
//!
//! Keys and sessions are numbered by whoever reads the recording; values are kept as they are, because a table of all values
//! would grow with the recording. Only registers can be streamed.

use crate::{Access, Datum, KeyId, Outcome, SessionId};

/// A transaction, as one who replays it needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamedTxn {
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
    reads: Vec<(KeyId, Datum)>,
    writes: Vec<(KeyId, Datum)>,
    hidden: Vec<(KeyId, Datum)>,
    contradicted: Option<KeyId>,
}

impl StreamedTxn {
    /// A transaction of a session without operations.
    pub fn new(session: SessionId, nth: u32, at: u64, outcome: Outcome) -> Self {
        Self {
            session,
            nth,
            at,
            begin: None,
            end: None,
            outcome,
            reads: Vec::new(),
            writes: Vec::new(),
            hidden: Vec::new(),
            contradicted: None,
        }
    }

    /// Sets when it began and ended. Nobody knows when one of unknown outcome took effect.
    pub fn times(&mut self, begin: Option<i64>, end: Option<i64>) {
        self.begin = begin;
        self.end = end.filter(|_| self.outcome != Outcome::Indeterminate);
    }

    /// Adds its next operation: a read that returned the value, or a write of it. Others than those of registers are not
    /// taken, and handed back.
    pub fn push(&mut self, access: Access, key: KeyId, value: Datum) -> Result<(), Access> {
        let own = self.writes.iter_mut().find(|it| it.0 == key);
        match (access, own) {
            (Access::Read, None) => self.reads.push((key, value)),
            (Access::Read, Some(own)) => {
                if own.1 != value {
                    self.contradicted.get_or_insert(key);
                }
            }
            (Access::Write, None) => self.writes.push((key, value)),
            (Access::Write, Some(own)) => self.hidden.push((key, std::mem::replace(&mut own.1, value))),
            (other, _) => return Err(other),
        }
        Ok(())
    }

    /// What it read from others, in its order; a key may be there more than once.
    pub fn reads(&self) -> &[(KeyId, Datum)] {
        &self.reads
    }

    /// What it left behind: each key once, with the last value that it wrote.
    pub fn writes(&self) -> &[(KeyId, Datum)] {
        &self.writes
    }

    /// What it wrote and then overwrote itself.
    pub fn hidden(&self) -> &[(KeyId, Datum)] {
        &self.hidden
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
        let mut txn = StreamedTxn::new(SessionId::from_index(0), 0, 2, Outcome::Committed);
        for (access, key, value) in [
            (Access::Read, x, 0),
            (Access::Write, x, 1),
            (Access::Read, x, 1),
            (Access::Write, x, 2),
            (Access::Read, y, 7),
        ] {
            txn.push(access, key, Datum::Int(value)).unwrap();
        }
        assert_eq!(txn.reads(), [(x, Datum::Int(0)), (y, Datum::Int(7))]);
        assert_eq!(txn.writes(), [(x, Datum::Int(2))]);
        assert_eq!(txn.hidden(), [(x, Datum::Int(1))]);
        assert_eq!(txn.contradicted(), None);
        txn.push(Access::Read, x, Datum::Int(1)).unwrap();
        assert_eq!(txn.contradicted(), Some(x));
        assert_eq!(txn.push(Access::Append, x, Datum::Int(1)), Err(Access::Append));
    }
}
