//! The question as engines see it: dense transactions, reads with candidate writers, writers by key.

use iso_history::{Facts, KeyId, OpId, SessionId, Standing, TxnId};
use std::ops::Range;

/// A transaction of the problem: a position among those that count or may count; 0 is the initial one.
pub(crate) type Txn = u32;

/// The initial transaction.
pub(crate) const INITIAL: Txn = 0;

/// One history, reduced to what decides a level.
#[derive(Debug)]
pub(crate) struct Problem<'a> {
    pub(crate) facts: &'a Facts<'a>,
    /// Which transaction of the history each one is.
    pub(crate) txns: Vec<TxnId>,
    /// Is its outcome open? Then it takes part only if it is chosen as the writer of something that was read.
    pub(crate) is_optional: Vec<bool>,
    pub(crate) sessions: Vec<Vec<Txn>>,
    /// Session and place there; the initial one has none.
    pub(crate) session_of: Vec<u32>,
    pub(crate) nth: Vec<u32>,
    pub(crate) reads: Vec<Read>,
    /// For each external read of the facts, the read here that stands for it.
    pub(crate) read_of_fact: Vec<u32>,
    read_starts: Vec<u32>,
    candidate_starts: Vec<u32>,
    candidates: Vec<Txn>,
    write_starts: Vec<u32>,
    writes: Vec<KeyId>,
    writer_starts: Vec<u32>,
    writers: Vec<Txn>,
    /// Version orders that list reads have shown.
    pub(crate) recovered: Vec<RecoveredEdge>,
}

/// A read that saw another transaction's write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) reader: Txn,
    pub(crate) key: KeyId,
    pub(crate) op: OpId,
}

/// `earlier`'s version of a list is right before `later`'s, or the last one that was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecoveredEdge {
    pub(crate) earlier: Txn,
    pub(crate) later: Txn,
    pub(crate) key: KeyId,
    pub(crate) shown_by: OpId,
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
        let txns: Vec<TxnId> = std::iter::once(TxnId::INITIAL).chain(facts.txns()).collect();
        let mut local = vec![u32::MAX; history.n_txns()];
        for (idx, txn) in txns.iter().enumerate() {
            local[txn.index()] = idx as Txn;
        }
        let mut problem = Self {
            facts,
            is_optional: txns.iter().map(|it| facts.standing(*it) == Standing::Optional).collect(),
            sessions: vec![Vec::new(); history.n_sessions()],
            session_of: vec![u32::MAX; txns.len()],
            nth: vec![0; txns.len()],
            reads: Vec::new(),
            read_of_fact: Vec::new(),
            read_starts: vec![0],
            candidate_starts: vec![0],
            candidates: Vec::new(),
            write_starts: vec![0],
            writes: Vec::new(),
            writer_starts: vec![0],
            writers: Vec::new(),
            recovered: Vec::new(),
            txns,
        };
        problem.lay_out_sessions(&local);
        problem.lay_out_accesses(&local, detail);
        problem.lay_out_writers(&local);
        problem.lay_out_recovered(&local);
        problem
    }

    /// The number of transactions, the initial one included.
    pub(crate) fn n_txns(&self) -> usize {
        self.txns.len()
    }

    /// Every transaction but the initial one.
    pub(crate) fn all(&self) -> Range<Txn> {
        1..self.n_txns() as Txn
    }

    pub(crate) fn reads_of(&self, txn: Txn) -> Range<usize> {
        self.read_starts[txn as usize] as usize..self.read_starts[txn as usize + 1] as usize
    }

    pub(crate) fn candidates(&self, read: usize) -> &[Txn] {
        &self.candidates[self.candidate_starts[read] as usize..self.candidate_starts[read + 1] as usize]
    }

    /// The keys that a transaction writes, ascending.
    pub(crate) fn writes_of(&self, txn: Txn) -> &[KeyId] {
        &self.writes[self.write_starts[txn as usize] as usize..self.write_starts[txn as usize + 1] as usize]
    }

    /// Does a transaction write a key? The initial one writes every key.
    pub(crate) fn writes(&self, txn: Txn, key: KeyId) -> bool {
        txn == INITIAL || self.writes_of(txn).binary_search(&key).is_ok()
    }

    /// The writers of a key, ascending, without the initial one.
    pub(crate) fn writers_of(&self, key: KeyId) -> &[Txn] {
        &self.writers[self.writer_starts[key.index()] as usize..self.writer_starts[key.index() + 1] as usize]
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = KeyId> + use<> {
        self.facts.history().keys()
    }

    /// Does `earlier` come before `later` in session order?
    pub(crate) fn is_session_ordered(&self, earlier: Txn, later: Txn) -> bool {
        let same = self.session_of[earlier as usize] == self.session_of[later as usize];
        later != INITIAL && (earlier == INITIAL || (same && self.nth[earlier as usize] < self.nth[later as usize]))
    }

    /// Do two transactions write a common key?
    pub(crate) fn conflict(&self, one: Txn, other: Txn) -> bool {
        self.writes_of(one).iter().any(|key| self.writes(other, *key))
    }

    fn lay_out_sessions(&mut self, local: &[u32]) {
        let history = self.facts.history();
        for session in history.sessions() {
            for txn in history.session_txns(session) {
                let txn = local[txn.index()];
                if txn != u32::MAX {
                    self.push_to_session(session, txn);
                }
            }
        }
    }

    fn push_to_session(&mut self, session: SessionId, txn: Txn) {
        self.session_of[txn as usize] = session.raw();
        self.nth[txn as usize] = self.sessions[session.index()].len() as u32;
        self.sessions[session.index()].push(txn);
    }

    fn lay_out_accesses(&mut self, local: &[u32], detail: ReadDetail) {
        for idx in 0..self.n_txns() {
            let txn = self.txns[idx];
            let first = self.reads.len();
            for read_idx in self.facts.reads_of(txn) {
                self.push_read(idx as Txn, read_idx, first, local, detail);
            }
            self.read_starts.push(self.reads.len() as u32);
            self.writes.extend(self.facts.final_writes(txn).iter().map(|it| it.0));
            self.write_starts.push(self.writes.len() as u32);
        }
    }

    fn push_read(&mut self, reader: Txn, read_idx: usize, first: usize, local: &[u32], detail: ReadDetail) {
        let read = self.facts.reads()[read_idx];
        let candidates: Vec<Txn> = self.facts.candidates(read_idx).iter().map(|it| local[it.index()]).collect();
        let known = (first..self.reads.len()).find(|it| {
            detail == ReadDetail::OncePerVersion
                && self.reads[*it].key == read.key
                && self.candidates(*it) == candidates.as_slice()
        });
        self.read_of_fact.push(known.unwrap_or(self.reads.len()) as u32);
        if known.is_none() {
            self.reads.push(Read { reader, key: read.key, op: read.op });
            self.candidates.extend(candidates);
            self.candidate_starts.push(self.candidates.len() as u32);
        }
    }

    fn lay_out_writers(&mut self, local: &[u32]) {
        for key in self.facts.history().keys() {
            self.writers.extend(self.facts.writers_of(key).iter().map(|it| local[it.index()]));
            self.writer_starts.push(self.writers.len() as u32);
        }
    }

    fn lay_out_recovered(&mut self, local: &[u32]) {
        for key in self.facts.history().keys() {
            let Some(chain) = self.facts.recovered_order(key) else { continue };
            let shown_by = chain.shown_by;
            let writers: Vec<Txn> = chain.writers.iter().map(|it| local[it.index()]).collect();
            for pair in writers.windows(2) {
                self.recovered.push(RecoveredEdge { earlier: pair[0], later: pair[1], key, shown_by });
            }
            let Some(last) = writers.last() else { continue };
            let mut seen = writers.clone();
            seen.sort_unstable();
            let all = self.facts.writers_of(key).iter().map(|it| local[it.index()]);
            let unseen = all.filter(|it| seen.binary_search(it).is_err());
            self.recovered.extend(unseen.map(|later| RecoveredEdge { earlier: *last, later, key, shown_by }));
        }
    }
}
