//! The question as the simple path sees it: sessions of those who count or may count, and reads without repetitions.

use crate::recovered::{RecoveredEdge, recovered_edges};
use iso_history::{Facts, KeyId, OpId, Standing, TxnId};
use std::ops::Range;

/// One history, reduced to what decides a level. Transactions and keys have the history's numbers.
#[derive(Debug)]
pub(crate) struct Problem<'a> {
    pub(crate) facts: &'a Facts<'a>,
    /// The transactions of each session that count or may count.
    pub(crate) sessions: Vec<Vec<TxnId>>,
    /// By transaction: session and place there; the initial one has none, and neither has one that is out.
    session_of: Vec<u32>,
    nth: Vec<u32>,
    pub(crate) reads: Vec<Read>,
    /// For each external read of the facts, the read here that stands for it.
    pub(crate) read_of_fact: Vec<u32>,
    read_starts: Vec<u32>,
    pub(crate) recovered: Vec<RecoveredEdge>,
}

/// A read that saw another transaction's write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) reader: TxnId,
    pub(crate) key: KeyId,
    pub(crate) op: OpId,
    /// Its position in [`Facts::reads`].
    fact: usize,
}

/// Which reads of a transaction matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadDetail {
    /// Every read operation, in program order: read committed looks at their order.
    EveryOperation,
    /// One for each key and value: from read atomic up, all of them must have the same source.
    OncePerVersion,
}

impl<'a> Problem<'a> {
    pub(crate) fn new(facts: &'a Facts<'a>, detail: ReadDetail) -> Self {
        let history = facts.history();
        let mut problem = Self {
            facts,
            sessions: vec![Vec::new(); history.n_sessions()],
            session_of: vec![u32::MAX; history.n_txns()],
            nth: vec![0; history.n_txns()],
            reads: Vec::new(),
            read_of_fact: Vec::new(),
            read_starts: Vec::new(),
            recovered: recovered_edges(facts),
        };
        problem.lay_out_sessions();
        problem.lay_out_reads(detail);
        problem
    }

    /// The number of transactions, the initial one and those that are out included.
    pub(crate) fn n_txns(&self) -> usize {
        self.facts.history().n_txns()
    }

    /// Every transaction that counts or may count, but the initial one.
    pub(crate) fn txns(&self) -> impl Iterator<Item = TxnId> + use<'a> {
        self.facts.txns()
    }

    /// Does a transaction take part whatever is chosen?
    pub(crate) fn counts(&self, txn: TxnId) -> bool {
        txn.is_initial() || self.facts.standing(txn) == Standing::Counted
    }

    /// Does a transaction take part only if it is chosen as the writer of something that was read?
    pub(crate) fn is_optional(&self, txn: TxnId) -> bool {
        !txn.is_initial() && self.facts.standing(txn) == Standing::Optional
    }

    pub(crate) fn has_optional(&self) -> bool {
        self.txns().any(|it| self.is_optional(it))
    }

    pub(crate) fn reads_of(&self, txn: TxnId) -> Range<usize> {
        self.read_starts[txn.index()] as usize..self.read_starts[txn.index() + 1] as usize
    }

    /// Who may have written what a read saw, ascending.
    pub(crate) fn candidates(&self, read: usize) -> &'a [TxnId] {
        self.facts.candidates(self.reads[read].fact)
    }

    /// The keys that a transaction writes, ascending.
    pub(crate) fn writes_of(&self, txn: TxnId) -> impl ExactSizeIterator<Item = KeyId> + use<'a> {
        self.facts.written_keys(txn)
    }

    /// Does a transaction write a key? The initial one writes every key.
    pub(crate) fn writes(&self, txn: TxnId, key: KeyId) -> bool {
        self.facts.writes(txn, key)
    }

    /// The writers of a key, ascending, without the initial one.
    pub(crate) fn writers_of(&self, key: KeyId) -> &'a [TxnId] {
        self.facts.writers_of(key)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = KeyId> + use<> {
        self.facts.history().keys()
    }

    /// The session of a transaction that counts or may count, and how many of these come before it there.
    pub(crate) fn place_in_session(&self, txn: TxnId) -> (u32, u32) {
        (self.session_of[txn.index()], self.nth[txn.index()])
    }

    /// The session predecessors of a transaction, in session order; of the initial one none.
    pub(crate) fn session_before(&self, txn: TxnId) -> &[TxnId] {
        let (session, nth) = self.place_in_session(txn);
        self.sessions.get(session as usize).map_or(&[], |it| &it[..nth as usize])
    }

    /// Does `earlier` come before `later` in session order?
    pub(crate) fn is_session_ordered(&self, earlier: TxnId, later: TxnId) -> bool {
        self.facts.history().is_session_ordered(earlier, later)
    }

    /// Do two transactions write a common key?
    pub(crate) fn conflict(&self, one: TxnId, other: TxnId) -> bool {
        self.writes_of(one).any(|key| self.writes(other, key))
    }

    fn lay_out_sessions(&mut self) {
        let history = self.facts.history();
        for session in history.sessions() {
            let members = &mut self.sessions[session.index()];
            for txn in history.session_txns(session).iter().filter(|it| self.facts.standing(**it) != Standing::Out) {
                self.session_of[txn.index()] = session.raw();
                self.nth[txn.index()] = members.len() as u32;
                members.push(*txn);
            }
        }
    }

    fn lay_out_reads(&mut self, detail: ReadDetail) {
        for txn_idx in 0..self.n_txns() {
            self.read_starts.push(self.reads.len() as u32);
            for fact in self.facts.reads_of(TxnId::from_index(txn_idx)) {
                self.push_read(fact, detail);
            }
        }
        self.read_starts.push(self.reads.len() as u32);
    }

    fn push_read(&mut self, fact: usize, detail: ReadDetail) {
        let read = self.facts.reads()[fact];
        let first = self.read_starts.last().map_or(0, |it| *it as usize);
        let known = (first..self.reads.len()).find(|it| {
            detail == ReadDetail::OncePerVersion
                && self.reads[*it].key == read.key
                && self.candidates(*it) == self.facts.candidates(fact)
        });
        self.read_of_fact.push(known.unwrap_or(self.reads.len()) as u32);
        if known.is_none() {
            self.reads.push(Read { reader: read.reader, key: read.key, op: read.op, fact });
        }
    }
}
