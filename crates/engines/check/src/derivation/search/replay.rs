//! Prefix consistency and above: run the order, and compare what each read finds with what it saw.

use super::{Model, Search};
use crate::rule::{Events, Node};
use iso_evidence::Axiom;
use iso_history::{KeyId, TxnId};
use iso_solve::Lit;

/// Clauses made for one read or commit in one round, at most: more of them say little more.
const MAX_CLAUSES: usize = 16;

impl Search<'_> {
    pub(super) fn replay(&mut self, model: &Model) {
        let known = self.known;
        let (problem, events) = (known.problem, known.rule.events);
        let mut committed: Vec<Vec<TxnId>> = vec![Vec::new(); problem.facts.history().n_keys()];
        let n_events = events.n_nodes(problem.n_txns()) as Node;
        for node in model.order.iter().copied().filter(|it| *it < n_events) {
            let txn = events.txn(node);
            if txn.is_initial() || !model.takes_part[txn.index()] {
                continue;
            }
            if node == events.start(txn) {
                for read in problem.reads_of(txn) {
                    self.replay_read(read, &committed[problem.reads[read].key.index()]);
                }
            }
            if node == events.commit(txn) {
                for key in problem.writes_of(txn) {
                    if events == Events::FirstCommitterWins {
                        self.replay_write(txn, key, model, &committed[key.index()]);
                    }
                    committed[key.index()].push(txn);
                }
            }
        }
    }

    fn replay_read(&mut self, read: usize, committed: &[TxnId]) {
        let writers = self.possible_writers(read);
        let is_right = |txn: &TxnId| writers.contains(txn);
        let mut wrong: Vec<TxnId> =
            committed.iter().rev().take_while(|it| !is_right(it)).take(MAX_CLAUSES).copied().collect();
        if committed.is_empty() && !is_right(&TxnId::INITIAL) {
            wrong.push(TxnId::INITIAL);
        }
        for other in wrong {
            self.forbid_finding(read, other, &writers);
        }
    }

    /// The read does not find `other`'s version: it comes before `other`, or a possible writer comes between them.
    fn forbid_finding(&mut self, read: usize, other: TxnId, writers: &[TxnId]) {
        let at = self.known.problem.reads[read];
        let mut lits: Vec<Lit> = Vec::new();
        if !other.is_initial() {
            lits.push(self.edge(self.known.rule.events.anti_dependency(at.reader, other)));
        }
        for writer in writers.iter().filter(|it| !it.is_initial()) {
            lits.push(self.between(other, *writer, at.reader));
        }
        let (unless, facts) = self.reasons.unless(read, u32::MAX);
        for fact in facts {
            self.fact(fact);
        }
        self.add(Axiom::Found { read: at.op, other, unless }, &[at.reader, other], lits);
    }

    /// Nobody else committed a write of the key since the snapshot.
    fn replay_write(&mut self, txn: TxnId, key: KeyId, model: &Model, committed: &[TxnId]) {
        let events = self.known.rule.events;
        let since = model.position[events.start(txn) as usize];
        let is_concurrent = |it: &&TxnId| self.commit_place(model, **it) > since;
        let concurrent: Vec<TxnId> =
            committed.iter().rev().take_while(is_concurrent).take(MAX_CLAUSES).copied().collect();
        for other in concurrent {
            let lits = vec![self.edge(events.version_order(txn, other)), self.edge(events.version_order(other, txn))];
            self.add(Axiom::FirstCommitter { key, one: txn, other }, &[txn, other], lits);
        }
    }
}
