//! Read committed, read your writes and read atomic with duplicate values: an order decides the sources by itself.
//!
//! Given the order, each read of a transaction takes the latest possible writer. A writer that this makes impossible
//! (the reader would see it and still read an older version of another key) is dropped for good, because the others
//! already are as late as can be; so what remains is the best choice, and a read without a writer shows that the
//! order is wrong, whatever the choice.

use super::{OrderSearch, Solution};
use crate::rule::Visibility;
use iso_history::TxnId;
use iso_solve::Lit;
use std::collections::{BTreeMap, BTreeSet};

/// The reads of one transaction and the writers that each may still take.
struct Table {
    reads: Vec<TableRead>,
    /// Why a writer of a read was dropped: another read must have a later one.
    dropped: BTreeMap<(usize, TxnId), usize>,
}

struct TableRead {
    read: usize,
    /// A session predecessor that must be seen, if the level says so.
    at_least: TxnId,
    writers: Vec<TxnId>,
    /// Those left, latest last.
    left: Vec<TxnId>,
}

impl OrderSearch<'_> {
    pub(super) fn settle_sources(&mut self, solution: &mut Solution) {
        let problem = self.known.problem;
        let has_optional = problem.has_optional();
        for txn in problem.txns().filter(|it| solution.takes_part[it.index()]) {
            // Saturation has settled what is not ambiguous, unless more may take part than it knew.
            if !has_optional && problem.reads_of(txn).all(|it| self.known.sources[it].is_some()) {
                continue;
            }
            let mut table = self.table(txn, solution);
            self.drop_impossible(&mut table, solution);
            for row in &table.reads {
                solution.sources[row.read] = row.left.last().copied();
            }
            if let Some(stuck) = table.reads.iter().position(|it| it.left.is_empty()) {
                self.forbid_stuck(txn, &table, stuck, solution);
            }
        }
    }

    fn table(&self, txn: TxnId, solution: &Solution) -> Table {
        let problem = self.known.problem;
        let reads = problem.reads_of(txn).map(|read| {
            let at_least = match self.known.rule.visibility {
                Visibility::Session | Visibility::Direct => self.last_in_session(txn, read, solution),
                _ => TxnId::INITIAL,
            };
            let floor = self.commit_place(solution, at_least);
            let writers = self.possible_writers(read);
            let fits = |it: &TxnId| self.is_before(solution, *it, read) && self.commit_place(solution, *it) >= floor;
            let mut left: Vec<TxnId> = writers.iter().copied().filter(fits).collect();
            left.sort_unstable_by_key(|it| self.commit_place(solution, *it));
            TableRead { read, at_least, writers, left }
        });
        Table { reads: reads.collect(), dropped: BTreeMap::new() }
    }

    /// The last session predecessor that takes part and writes the key.
    fn last_in_session(&self, txn: TxnId, read: usize, solution: &Solution) -> TxnId {
        let problem = self.known.problem;
        let is_seen = |it: &&TxnId| solution.takes_part[it.index()] && problem.writes(**it, problem.reads[read].key);
        problem.session_before(txn).iter().rev().find(is_seen).copied().unwrap_or(TxnId::INITIAL)
    }

    fn drop_impossible(&self, table: &mut Table, solution: &Solution) {
        let is_ordered = |from: usize, to: usize| match self.known.rule.visibility {
            Visibility::ReadEarlier => from < to,
            Visibility::Direct => from != to,
            _ => false,
        };
        loop {
            let mut found = None;
            for (row, read) in table.reads.iter().enumerate() {
                for other in (0..table.reads.len()).filter(|it| is_ordered(row, *it)) {
                    let key = self.known.problem.reads[table.reads[other].read].key;
                    let latest = table.reads[other].left.last().map(|it| self.commit_place(solution, *it));
                    let hides = |it: &&TxnId| {
                        !it.is_initial()
                            && self.known.problem.writes(**it, key)
                            && Some(self.commit_place(solution, **it)) > latest
                    };
                    found = found.or(read.left.iter().find(hides).map(|it| (row, other, *it)));
                }
            }
            let Some((row, other, writer)) = found else { return };
            table.reads[row].left.retain(|it| *it != writer);
            table.dropped.insert((row, writer), other);
        }
    }

    /// Some writer must come to lie where it helps: for the read that is stuck, or for one because of which a writer
    /// was dropped.
    fn forbid_stuck(&mut self, txn: TxnId, table: &Table, stuck: usize, solution: &Solution) {
        let mut clause: Vec<Lit> = Vec::new();
        self.unless_part(txn, &mut clause);
        let mut pending = vec![(stuck, table.reads[stuck].at_least)];
        let mut seen: BTreeSet<(usize, TxnId)> = BTreeSet::new();
        while let Some((row, after)) = pending.pop() {
            if !seen.insert((row, after)) {
                continue;
            }
            let TableRead { read, at_least, writers, .. } = &table.reads[row];
            self.involve_read(*read);
            self.involved.extend([after, *at_least]);
            self.unless_part(*at_least, &mut clause);
            self.unless_part(after, &mut clause);
            for writer in writers {
                match table.dropped.get(&(row, *writer)) {
                    Some(other) => pending.push((*other, *writer)),
                    // One that another read needs as well is not after itself, but may have to come after the session.
                    None if writer.is_initial() => {}
                    None => self.offer(&mut clause, *read, [after, *at_least], *writer, solution),
                }
            }
        }
        self.clause(&clause);
    }

    /// Offers to place `writer` before the read and after one of `after` that it is not after yet.
    fn offer(&mut self, clause: &mut Vec<Lit>, read: usize, after: [TxnId; 2], writer: TxnId, solution: &Solution) {
        let place = |txn: TxnId| self.commit_place(solution, txn);
        let is_before_read = self.is_before(solution, writer, read);
        let missed = after.into_iter().find(|it| !it.is_initial() && *it != writer && place(*it) > place(writer));
        match missed {
            Some(older) => clause.push(self.between(older, writer, read)),
            None if !is_before_read => clause.push(self.between(TxnId::INITIAL, writer, read)),
            None => {}
        }
    }
}
