//! Prefix consistency and above: run the order, and compare what each read finds with what it saw.

use super::{OrderSearch, Solution};
use crate::rule::{Events, Node};
use iso_history::TxnId;
use iso_solve::Lit;

/// Clauses made for one read or commit in one round, at most: more of them say little more.
const MAX_CLAUSES: usize = 16;

impl OrderSearch<'_> {
    pub(super) fn replay(&mut self, solution: &Solution) {
        let known = self.known;
        let (problem, events) = (known.problem, known.rule.events);
        let mut committed: Vec<Vec<TxnId>> = vec![Vec::new(); problem.facts.history().n_keys()];
        let n_events = events.n_nodes(problem.n_txns()) as Node;
        for node in solution.order.iter().copied().filter(|it| *it < n_events) {
            let txn = events.txn(node);
            if txn.is_initial() || !solution.takes_part[txn.index()] {
                continue;
            }
            if node == events.start(txn) {
                for read in problem.reads_of(txn) {
                    self.replay_read(read, solution, &committed[problem.reads[read].key.index()]);
                }
            }
            if node == events.commit(txn) {
                for key in problem.writes_of(txn) {
                    if events == Events::FirstCommitterWins {
                        self.replay_write(txn, solution, &committed[key.index()]);
                    }
                    committed[key.index()].push(txn);
                }
            }
        }
    }

    fn replay_read(&mut self, read: usize, solution: &Solution, committed: &[TxnId]) {
        let writers = self.possible_writers(read);
        let is_right = |txn: &TxnId| writers.binary_search(txn).is_ok();
        let mut wrong: Vec<TxnId> =
            committed.iter().rev().take_while(|it| !is_right(it)).take(MAX_CLAUSES).copied().collect();
        if committed.is_empty() && !is_right(&TxnId::INITIAL) {
            wrong.push(TxnId::INITIAL);
        }
        for other in wrong {
            self.forbid_finding(read, other, &writers, solution);
        }
    }

    /// The read does not find `other`'s version: it comes before `other`, or a possible writer comes between them.
    fn forbid_finding(&mut self, read: usize, other: TxnId, writers: &[TxnId], solution: &Solution) {
        let reader = self.known.problem.reads[read].reader;
        self.involve_read(read);
        let mut clause: Vec<Lit> = Vec::new();
        self.unless_part(reader, &mut clause);
        self.unless_part(other, &mut clause);
        if !other.is_initial() {
            clause.push(self.edge(self.known.rule.events.anti_dependency(reader, other)));
        }
        let mut writers: Vec<TxnId> = writers.iter().copied().filter(|it| !it.is_initial()).collect();
        if writers.len() > self.nearest {
            writers.sort_by_key(|it| self.distance(solution, other, *it, reader));
            writers.truncate(self.nearest);
        }
        for writer in writers {
            clause.push(self.between(other, writer, read));
        }
        self.clause(&clause);
    }

    /// How far a writer is from lying between another one and the reader.
    fn distance(&self, solution: &Solution, other: TxnId, writer: TxnId, reader: TxnId) -> u32 {
        let start = solution.position[self.known.rule.events.start(reader) as usize];
        let place = self.commit_place(solution, writer);
        self.commit_place(solution, other).saturating_sub(place) + place.saturating_sub(start)
    }

    /// Nobody else committed a write of the key since the snapshot.
    fn replay_write(&mut self, txn: TxnId, solution: &Solution, committed: &[TxnId]) {
        let events = self.known.rule.events;
        let since = solution.position[events.start(txn) as usize];
        let is_concurrent = |it: &&TxnId| self.commit_place(solution, **it) > since;
        let concurrent: Vec<TxnId> =
            committed.iter().rev().take_while(is_concurrent).take(MAX_CLAUSES).copied().collect();
        for other in concurrent {
            let mut clause =
                vec![self.edge(events.version_order(txn, other)), self.edge(events.version_order(other, txn))];
            self.unless_part(txn, &mut clause);
            self.unless_part(other, &mut clause);
            self.clause(&clause);
        }
    }
}
