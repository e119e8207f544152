//! Plans: whom each read of a run is to read from, and where a run went another way.

use crate::{Key, NotAKey, TxnName, Writer};
use iso_history::{Facts, History, Name, Op, TxnId};
use std::collections::BTreeMap;
use std::fmt;

/// For transactions of a run, whom their external reads read from, in order.
///
/// A read takes the next entry of its key within its transaction. Reads without an entry are free.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    reads: BTreeMap<TxnName, Vec<(Key, Writer)>>,
}

impl Plan {
    /// A plan that says nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The next read of `key` by `reader` is to read from `writer`.
    pub fn read(&mut self, reader: TxnName, key: Key, writer: Writer) {
        self.reads.entry(reader).or_default().push((key, writer));
    }

    /// The plan to repeat a history whose reads have one possible writer each; other reads are free.
    ///
    /// Transactions keep their places in their sessions.
    pub fn of_history(history: &History) -> Result<Self, NotAKey> {
        Self::of_renamed(history, |txn| TxnName {
            session: history.session_of(txn).map_or("", |it| history.session_name(it)).into(),
            nth: history.nth_in_session(txn),
        })
    }

    /// As [`Plan::of_history`], for a history that repeats another one, whose transactions `name` knows.
    pub fn of_renamed(history: &History, name: impl Fn(TxnId) -> TxnName) -> Result<Self, NotAKey> {
        let facts = Facts::new(history);
        let mut plan = Self::new();
        for (idx, read) in facts.reads().iter().enumerate() {
            let ([writer], Op::Read { key, .. }) = (facts.candidates(idx), history.op(read.op)) else { continue };
            let key = match history.key_name(key) {
                Name::Text(text) => text.parse()?,
                other => return Err(NotAKey { text: other.to_string() }),
            };
            let writer = if writer.is_initial() { Writer::Initial } else { Writer::Txn(name(*writer)) };
            plan.read(name(read.reader), key, writer);
        }
        Ok(plan)
    }

    pub(crate) fn of_txn(&self, txn: &TxnName) -> &[(Key, Writer)] {
        self.reads.get(txn).map_or(&[], Vec::as_slice)
    }
}

/// A read that could not do what the plan says, and read the newest version that it may instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// Who read.
    pub txn: TxnName,
    /// Which of its operations it was, from 0; a scan is one operation.
    pub position: usize,
    /// What it read.
    pub key: Key,
    /// Whom it was to read from.
    pub planned: Writer,
    /// Whom it read from.
    pub took: Writer,
    /// What prevented it.
    pub why: Why,
}

/// As in `s1.2, operation 3: t:x was to be read from s2.1, which has not written it, and was read from init`.
impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { txn, position, key, planned, took, why } = self;
        let why = match why {
            Why::NotWritten => "which has not written it",
            Why::NotAllowed => "which the level forbids",
        };
        write!(
            f,
            "{txn}, operation {}: {key} was to be read from {planned}, {why}, and was read from {took}",
            position + 1
        )
    }
}

/// What keeps a read from its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The planned writer has not committed a version of the key.
    NotWritten,
    /// The level forbids that version, given what was read before.
    NotAllowed,
}
