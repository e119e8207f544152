//! The history as the order engine sees it: whom each transaction must come after.

use super::sources::Sources;
use crate::known::Known;
use crate::recovered::{RecoveredEdge, recovered_edges};
use crate::rule::{Events, Rule, Visibility};
use iso_history::{Facts, KeyId, OpId, Outcome, Standing, TxnId};

/// Facts and a rule, with session predecessors, recovered version orders, and sources as far as they are known.
#[derive(Debug)]
pub(crate) struct Frame<'f> {
    pub(crate) facts: &'f Facts<'f>,
    pub(crate) rule: Rule,
    /// The session predecessor that counts; the initial transaction if there is none.
    pub(crate) previous: Vec<TxnId>,
    /// Version orders that list reads have shown, by later writer.
    pub(crate) recovered: Vec<RecoveredEdge>,
    pub(super) sources: Sources,
    /// What the sources rest on, if saturation found them.
    pub(super) known: Option<&'f Known<'f>>,
}

impl<'f> Frame<'f> {
    pub(crate) fn new(facts: &'f Facts<'f>, rule: Rule) -> Self {
        let history = facts.history();
        let mut previous = vec![TxnId::INITIAL; history.n_txns()];
        for session in history.sessions() {
            let mut last = TxnId::INITIAL;
            for txn in history.session_txns(session).iter().filter(|it| facts.standing(**it) != Standing::Out) {
                previous[txn.index()] = last;
                last = *txn;
            }
        }
        let mut recovered = recovered_edges(facts);
        recovered.sort_unstable();
        Self { facts, rule, previous, recovered, sources: Sources::new(facts), known: None }
    }

    /// The same with the writers that saturation has left.
    pub(super) fn settled_by(&self, known: &'f Known<'f>) -> Frame<'f> {
        let (previous, recovered) = (self.previous.clone(), self.recovered.clone());
        Frame { previous, recovered, sources: Sources::of_known(known), known: Some(known), ..*self }
    }

    /// The number of transactions, those that do not count included.
    pub(crate) fn n_txns(&self) -> usize {
        self.previous.len()
    }

    pub(crate) fn reads_of(&self, txn: TxnId) -> std::ops::Range<usize> {
        self.facts.reads_of(txn)
    }

    pub(crate) fn key(&self, read: usize) -> KeyId {
        self.facts.read_key(read)
    }

    pub(crate) fn reader(&self, read: usize) -> TxnId {
        if self.sources.are_by_value() {
            return self.facts.history().txn_of(self.facts.read_op(read));
        }
        // This is asked of many reads then.
        self.facts.reads()[read].reader
    }

    /// The read of another transaction's write that an operation is.
    pub(crate) fn read_at(&self, op: OpId) -> Option<usize> {
        self.facts.read_at(op)
    }

    /// The writer of what a read saw, if only one comes into question.
    pub(crate) fn source(&self, read: usize) -> Option<TxnId> {
        self.sources.of(self.facts, read)
    }

    /// May the read have seen this writer's version?
    pub(crate) fn is_possible(&self, read: usize, writer: TxnId) -> bool {
        match self.source(read) {
            Some(source) => source == writer,
            None => self.facts.candidates(read).binary_search(&writer).is_ok(),
        }
    }

    /// Who must come before a transaction, whatever else is chosen: calls `visit` for each, some of them twice.
    pub(crate) fn predecessors(&self, txn: TxnId, visit: &mut impl FnMut(TxnId)) {
        self.seen_by_reads(txn, visit);
        for recovered in self.recovered_before(txn) {
            visit(recovered.earlier);
        }
    }

    /// Who must commit before the snapshot of a transaction: calls `visit` for each, some of them twice.
    pub(crate) fn seen(&self, txn: TxnId, visit: &mut impl FnMut(TxnId)) {
        self.seen_by_reads(txn, visit);
        if self.rule.events == Events::FirstCommitterWins {
            for recovered in self.recovered_before(txn) {
                visit(recovered.earlier);
            }
        }
    }

    fn seen_by_reads(&self, txn: TxnId, visit: &mut impl FnMut(TxnId)) {
        visit(self.previous[txn.index()]);
        for read in self.reads_of(txn) {
            if let Some(source) = self.source(read) {
                visit(source);
            }
        }
    }

    pub(crate) fn recovered_before(&self, txn: TxnId) -> &[RecoveredEdge] {
        let first = self.recovered.partition_point(|it| it.later < txn);
        let rest = &self.recovered[first..];
        &rest[..rest.partition_point(|it| it.later == txn)]
    }

    /// Must a reader see `other` if that comes before it? From prefix consistency up it must see everybody.
    pub(crate) fn is_seen_if_before(&self, reader: TxnId, other: TxnId) -> bool {
        if self.rule.visibility != Visibility::DirectAndConflicting {
            return true;
        }
        let facts = self.facts;
        facts.history().is_session_ordered(other, reader)
            || self.reads_of(reader).any(|it| self.source(it) == Some(other))
            || self.is_conflict(reader, other)
    }

    /// Do two transactions write a common key?
    pub(crate) fn is_conflict(&self, one: TxnId, other: TxnId) -> bool {
        self.facts.written_keys(one).any(|key| self.facts.writes(other, key))
    }

    /// When a transaction began, if that is known.
    pub(crate) fn begin(&self, txn: TxnId) -> Option<i64> {
        self.facts.history().begin(txn)
    }

    /// When a transaction had ended for sure, if that is known.
    pub(crate) fn end(&self, txn: TxnId) -> Option<i64> {
        let history = self.facts.history();
        if history.outcome(txn) == Outcome::Committed { history.end(txn) } else { None }
    }
}
