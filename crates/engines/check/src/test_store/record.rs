//! What happened at a store, before it is written down as a history.

use super::{Input, Random};
use iso_history::{History, HistoryBuilder, Outcome, Place};

/// What every register holds at first.
pub(super) const INITIAL_VALUE: i64 = -1;

/// Transactions in the order in which they took place.
pub(super) struct Record {
    /// The first keys are lists.
    n_lists: usize,
    pub(super) txns: Vec<RecordedTxn>,
}

pub(super) struct RecordedTxn {
    pub(super) session: usize,
    pub(super) at: usize,
    pub(super) ops: Vec<Op>,
    pub(super) outcome: Outcome,
    pub(super) begin: Option<i64>,
    pub(super) end: Option<i64>,
}

#[derive(Clone)]
pub(super) enum Op {
    Read {
        key: usize,
        value: i64,
    },
    ReadList {
        key: usize,
        values: Vec<i64>,
    },
    /// Of a list, an append.
    Write {
        key: usize,
        value: i64,
    },
}

impl RecordedTxn {
    pub(super) fn new(session: usize, at: usize) -> Self {
        Self { session, at, ops: Vec::new(), outcome: Outcome::Committed, begin: None, end: None }
    }

    /// The value that a register's read at a position saw, if another transaction wrote it.
    fn seen(&self, op: usize, of: usize) -> Option<i64> {
        let is_own = |it: &Op| matches!(it, Op::Write { key, .. } if *key == of);
        match self.ops[op] {
            Op::Read { key, value } if key == of && !self.ops[..op].iter().any(is_own) => Some(value),
            _ => None,
        }
    }
}

impl Record {
    pub(super) fn new(n_lists: usize) -> Self {
        Self { n_lists, txns: Vec::new() }
    }

    /// Exchanges what a read saw with what the next read of the key saw that saw something else, if there is one.
    pub(super) fn exchange_reads(&mut self, random: &mut Random) {
        let first = random.below(self.txns.len());
        let later = &self.txns[first..];
        let Some(key) = later.iter().flat_map(|it| &it.ops).find_map(|it| match it {
            Op::Read { key, .. } => Some(*key),
            _ => None,
        }) else {
            return;
        };
        let reads = (first..self.txns.len()).flat_map(|txn| (0..self.txns[txn].ops.len()).map(move |op| (txn, op)));
        let mut seen = reads.filter_map(|(txn, op)| Some((txn, op, self.txns[txn].seen(op, key)?)));
        let Some(one) = seen.next() else { return };
        let Some(other) = seen.find(|it| it.2 != one.2) else { return };
        self.txns[one.0].ops[one.1] = Op::Read { key, value: other.2 };
        self.txns[other.0].ops[other.1] = Op::Read { key, value: one.2 };
    }

    pub(super) fn write_down(mut self, random: &mut Random, input: Input) -> History {
        match input {
            Input::Commits => {}
            Input::Sessions => self.txns.sort_by_key(|it| it.session),
            Input::Jittered(distance) => self.jitter(random, distance),
        }
        let mut builder = HistoryBuilder::new();
        let initial = builder.value(INITIAL_VALUE.into());
        builder.default_initial(initial);
        for txn in &self.txns {
            let session = builder.session(&format!("s{}", txn.session));
            builder.begin(session, Place::default());
            builder.times(txn.begin, txn.end);
            for op in &txn.ops {
                self.write_op(&mut builder, op);
            }
            builder.end(txn.outcome);
        }
        builder.finish().unwrap()
    }

    fn write_op(&self, builder: &mut HistoryBuilder, op: &Op) {
        let (Op::Read { key, .. } | Op::ReadList { key, .. } | Op::Write { key, .. }) = *op;
        let id = builder.key(format!("x{key}").as_str().into());
        match op {
            Op::Read { value, .. } => {
                let value = builder.value((*value).into());
                builder.read(id, value);
            }
            Op::ReadList { values, .. } => {
                let values: Vec<_> = values.iter().map(|it| builder.value((*it).into())).collect();
                builder.read_list(id, values);
            }
            Op::Write { value, .. } => {
                let value = builder.value((*value).into());
                if key < self.n_lists {
                    builder.append(id, value);
                } else {
                    builder.write(id, value);
                }
            }
        }
    }

    /// Moves transactions, but none past another one of its session.
    fn jitter(&mut self, random: &mut Random, distance: usize) {
        let n_sessions = self.txns.iter().map(|it| it.session + 1).max().unwrap_or(0);
        let mut last_of_session = vec![0; n_sessions];
        let mut place = |txn: &RecordedTxn| {
            let last = &mut last_of_session[txn.session];
            *last = (txn.at + random.below(distance)).max(*last);
            *last
        };
        // Equal places go by time, in which sessions are in order.
        let mut placed: Vec<(usize, RecordedTxn)> =
            std::mem::take(&mut self.txns).into_iter().map(|it| (place(&it), it)).collect();
        placed.sort_by_key(|(place, txn)| (*place, txn.at));
        self.txns = placed.into_iter().map(|it| it.1).collect();
    }
}
