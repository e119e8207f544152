//! Is a history forbidden? What every order of it must contain, by naive closure: for cores too large to be searched.
//!
//! Suppose that a level allows the history, by some execution. Its order of events is total: for most levels one
//! event a transaction (the order `co` or `ar` of the level's text); for prefix consistency and snapshots two, where
//! a transaction's start comes right after the last commit that it sees. What follows is in that order, whichever it
//! is, so that an event before itself, or a read that nobody can have written, shows that there is no such execution:
//!
//! - *Given*: session order, real time if the level looks at it, and the order of list versions that reads have shown.
//! - *Source*: a read with one possible writer left saw that one, which therefore took place, and before the reader.
//! - *Older*: if S read x from T, and must see another writer L of x, then L is older than T, else S had seen L's.
//! - *Not seen*: if S read x from T, and L is a newer writer of x, then S did not see L. If S sees everybody who is
//!   before it, then it is before L. If two writers of a key see each other, this is so if S and L write one.
//! - *First committer*: of two writers of a key one commits before the other starts (snapshot isolation). So if A
//!   starts before B commits, then B does not commit before A starts, and A commits before B starts.
//! - *Dropped*: nobody read from a writer that comes after it, nor from one that is older than another that it must
//!   see. Else the reader's source would contradict the rules above.
//! - *Trial*: nobody read from a writer if that is impossible by these rules.
//! - *Cases*: a read saw one of its possible writers, and of two writers of a key one is older; if each case is
//!   impossible, then so is the whole.
//!
//! Whom a reader must see is the level's own text over session order and known sources. For update atomic and parallel
//! snapshot isolation, an earlier writer of a common key is visible; in the latter every edge here is visibility, since
//! all of them are session order, sources, or between writers of one key.
//! An indeterminate transaction that need not have happened orders nobody else, and nothing is asked of its reads.
//! What remains undecided is not proved: this says "forbidden" or nothing.
//! Cost: cubic in transactions, with a small factor.

mod matrix;
#[cfg(test)]
mod tests;

use super::favourable::most_favourable;
use iso_history::{Facts, KeyId, Standing, TxnId};
use iso_spec::Level;
use matrix::Matrix;

/// Larger histories are not looked at.
const MAX_TXNS: usize = 600;
/// At most this many assumptions are tried.
const MAX_TRIALS: usize = 200;
/// A case split has at most this many cases in all.
const MAX_CASES: usize = 5_000;

/// Does the level forbid the history, as far as closure finds out? `false` says nothing.
pub(super) fn is_refuted(facts: &Facts<'_>, level: Level) -> bool {
    if facts.ambiguous_list().is_some() || facts.history().n_txns() > MAX_TXNS {
        return false;
    }
    if let Some(history) = most_favourable(facts.history(), level) {
        return is_refuted(&Facts::new(&history), level);
    }
    let mut closure = Closure::new(facts, level);
    let mut n_trials = 0;
    while !closure.is_closed_contradiction() {
        if !closure.drop_by_trial(&mut n_trials) {
            return closure.is_impossible_by_cases(&mut 0);
        }
    }
    true
}

#[derive(Clone)]
struct Closure<'f, 'h> {
    facts: &'f Facts<'h>,
    level: Level,
    /// Does it surely take place?
    is_counted: Vec<bool>,
    /// For each read, who may still have written what it saw.
    candidates: Vec<Vec<TxnId>>,
    /// Session order between transactions.
    session_order: Matrix,
    /// Known sources: from writer to reader.
    read_from: Matrix,
    /// Which event comes before which, closed.
    before: Matrix,
}

impl<'f, 'h> Closure<'f, 'h> {
    fn new(facts: &'f Facts<'h>, level: Level) -> Self {
        let history = facts.history();
        let n_txns = history.n_txns();
        let standing = |it: usize| facts.standing(TxnId::from_index(it));
        let session_order = Matrix::of(n_txns, |from, to| {
            let is_in = standing(from) != Standing::Out && standing(to) != Standing::Out;
            is_in && history.is_session_ordered(TxnId::from_index(from), TxnId::from_index(to))
        });
        let mut closure = Self {
            facts,
            level,
            is_counted: (0..n_txns).map(|it| standing(it) == Standing::Counted).collect(),
            candidates: (0..facts.reads().len()).map(|it| facts.candidates(it).to_vec()).collect(),
            session_order,
            read_from: Matrix::new(n_txns),
            before: Matrix::new(2 * n_txns),
        };
        closure.add_given();
        closure
    }

    fn is_contradictory(&self) -> bool {
        let has_no_writer = |it: usize| self.candidates[it].is_empty() && self.counts(self.facts.reads()[it].reader);
        let is_unexplained = self.level != Level::ReadUncommitted && (0..self.candidates.len()).any(has_no_writer);
        is_unexplained || !self.before.is_irreflexive()
    }

    /// Applies all rules until nothing follows. Is what is known then impossible?
    fn is_closed_contradiction(&mut self) -> bool {
        while !self.is_contradictory() && self.derive() {}
        self.is_contradictory()
    }

    /// *Trial*. Says whether somebody was dropped.
    fn drop_by_trial(&mut self, n_trials: &mut usize) -> bool {
        for (idx, read) in self.facts.reads().iter().enumerate() {
            if self.candidates[idx].len() < 2 || !self.counts(read.reader) {
                continue;
            }
            for candidate in self.candidates[idx].clone() {
                *n_trials += 1;
                if *n_trials > MAX_TRIALS {
                    return false;
                }
                let mut assumed = self.clone();
                assumed.candidates[idx] = vec![candidate];
                if assumed.is_closed_contradiction() {
                    self.candidates[idx].retain(|it| *it != candidate);
                    return true;
                }
            }
        }
        false
    }

    /// *Cases*. `false` says nothing.
    fn is_impossible_by_cases(&mut self, n_cases: &mut usize) -> bool {
        if self.is_closed_contradiction() {
            return true;
        }
        *n_cases += 1;
        let cases = self.cases();
        *n_cases < MAX_CASES && !cases.is_empty() && cases.into_iter().all(|mut it| it.is_impossible_by_cases(n_cases))
    }

    /// What may be the case: the possible writers of the read with fewest of them, or else the two orders of two writers.
    fn cases(&self) -> Vec<Self> {
        let reads = self.facts.reads();
        let is_open = |it: &usize| self.candidates[*it].len() > 1 && self.counts(reads[*it].reader);
        if let Some(read) = (0..reads.len()).filter(is_open).min_by_key(|it| self.candidates[*it].len()) {
            let assume = |candidate: &TxnId| {
                let mut assumed = self.clone();
                assumed.candidates[read] = vec![*candidate];
                assumed
            };
            return self.candidates[read].iter().map(assume).collect();
        }
        let Some((left, right)) = self.unordered_writers() else { return Vec::new() };
        let orders = [(left, right), (right, left)].map(|(older, newer)| {
            let mut assumed = self.clone();
            assumed.insert_older(older, newer);
            assumed
        });
        orders.into()
    }

    /// Somebody whose version was read, and another writer of the key, neither of which is known to be older.
    fn unordered_writers(&self) -> Option<(TxnId, TxnId)> {
        self.facts.reads().iter().enumerate().find_map(|(idx, read)| {
            let [source] = self.candidates[idx][..] else { return None };
            let is_open = |it: &TxnId| *it != source && !self.is_older(*it, source) && !self.is_older(source, *it);
            let other = self.counted_writers(read.key).into_iter().find(is_open)?;
            (self.counts(read.reader) && !source.is_initial()).then_some((source, other))
        })
    }

    /// Applies every rule once. Says whether anything followed that was not known.
    fn derive(&mut self) -> bool {
        if self.level == Level::ReadUncommitted {
            return false;
        }
        let mut is_new = self.take_sources();
        let sight = self.sight();
        is_new |= self.drop_candidates(&sight);
        is_new |= self.order_versions(&sight);
        if self.first_committer_wins() {
            is_new |= self.order_committers();
        }
        is_new
    }

    fn counts(&self, txn: TxnId) -> bool {
        self.is_counted[txn.index()]
    }

    fn has_snapshots(&self) -> bool {
        self.level == Level::PrefixConsistency || self.first_committer_wins()
    }

    fn first_committer_wins(&self) -> bool {
        matches!(self.level, Level::SnapshotIsolation | Level::StrongSnapshotIsolation)
    }

    /// The event at which a transaction reads.
    fn start(&self, txn: TxnId) -> usize {
        if self.has_snapshots() { 2 * txn.index() } else { self.commit(txn) }
    }

    /// The event at which its writes take place.
    #[expect(clippy::unused_self, reason = "reads like `start`")]
    fn commit(&self, txn: TxnId) -> usize {
        2 * txn.index() + 1
    }

    /// Everything before whose writes `reader` sees, in an order of events.
    fn is_before(&self, earlier: TxnId, later: TxnId) -> bool {
        self.before.has(self.commit(earlier), self.start(later))
    }

    fn is_older(&self, older: TxnId, newer: TxnId) -> bool {
        self.before.has(self.commit(older), self.commit(newer))
    }

    fn insert_before(&mut self, earlier: TxnId, later: TxnId) -> bool {
        self.before.insert_closed(self.commit(earlier), self.start(later))
    }

    /// Both write a key; under snapshot isolation the newer one sees the older.
    fn insert_older(&mut self, older: TxnId, newer: TxnId) -> bool {
        if self.first_committer_wins() {
            self.insert_before(older, newer)
        } else {
            self.before.insert_closed(self.commit(older), self.commit(newer))
        }
    }

    fn counted_writers(&self, key: KeyId) -> Vec<TxnId> {
        self.facts.writers_of(key).iter().copied().filter(|it| self.counts(*it)).collect()
    }

    fn conflict(&self, left: TxnId, right: TxnId) -> bool {
        self.facts.final_writes(left).iter().any(|(key, _)| self.facts.writes(right, *key))
    }

    fn add_given(&mut self) {
        let history = self.facts.history();
        let everybody: Vec<TxnId> = (0..history.n_txns()).map(TxnId::from_index).collect();
        for txn in &everybody {
            if self.has_snapshots() {
                self.before.insert_closed(self.start(*txn), self.commit(*txn));
            }
        }
        for earlier in &everybody {
            for later in &everybody {
                let is_timed = self.level.needs_times() && self.counts(*earlier) && self.counts(*later);
                if self.session_order.has(earlier.index(), later.index())
                    || (is_timed && history.is_real_time_ordered(*earlier, *later))
                {
                    self.insert_before(*earlier, *later);
                }
            }
        }
        for key in history.keys() {
            self.add_list(key);
        }
    }

    /// Versions that a read has shown are in its order, and all others are newer.
    fn add_list(&mut self, key: KeyId) {
        let Some(recovered) = self.facts.recovered_order(key) else { return };
        let mut newer = self.counted_writers(key);
        let shown: Vec<TxnId> = recovered.writers.iter().copied().filter(|it| self.counts(*it)).collect();
        for writer in &shown {
            newer.retain(|it| it != writer);
            for later in &newer {
                self.insert_older(*writer, *later);
            }
        }
    }

    /// *Source*. Whoever was surely read from took place.
    fn take_sources(&mut self) -> bool {
        let mut is_new = false;
        for (idx, read) in self.facts.reads().iter().enumerate() {
            if let ([source], true) = (self.candidates[idx].as_slice(), self.counts(read.reader)) {
                let source = *source;
                is_new |= !self.counts(source) || !self.read_from.has(source.index(), read.reader.index());
                self.is_counted[source.index()] = true;
                self.read_from.set(source.index(), read.reader.index());
                is_new |= self.insert_before(source, read.reader);
            }
        }
        is_new
    }

    /// Whom each transaction must see. Read committed asks by operation instead.
    fn sight(&self) -> Matrix {
        let (so, wr) = (&self.session_order, &self.read_from);
        let n_txns = self.is_counted.len();
        let txn = TxnId::from_index;
        match self.level {
            Level::ReadUncommitted | Level::AdyaReadUncommitted | Level::ReadCommitted => Matrix::new(n_txns),
            Level::ReadYourWrites | Level::AdyaReadCommitted => so.clone(),
            Level::MonotonicReads => wr.then(so),
            Level::MonotonicWrites => so.then(wr),
            Level::WritesFollowReads => wr.then(&so.clone().or_same()).then(wr),
            Level::ReadAtomic => so.clone().or(wr),
            Level::UpdateAtomic => {
                let earlier = |from: usize, to: usize| {
                    let is_surely_in = self.is_counted[from] && self.is_counted[to];
                    is_surely_in && self.is_before(txn(from), txn(to)) && self.conflict(txn(from), txn(to))
                };
                so.clone().or(wr).or(&Matrix::of(n_txns, earlier))
            }
            Level::CausalConsistency => so.clone().or(wr).closed(),
            Level::ParallelSnapshotIsolation
            | Level::ParallelSnapshotIsolationNoSession
            | Level::PrefixConsistency
            | Level::SnapshotIsolation
            | Level::SnapshotIsolationNoSession
            | Level::StrongSnapshotIsolation
            | Level::Serializable
            | Level::SerializableNoSession
            // In pieces, these are serializability.
            | Level::StatementSnapshots
            | Level::TransactionSnapshot
            | Level::RowSnapshots
            | Level::StrictSerializable => Matrix::of(n_txns, |from, to| self.is_before(txn(from), txn(to))),
        }
    }

    /// Must the read at this position see `writer`?
    fn must_see(&self, read_idx: usize, writer: TxnId, sight: &Matrix) -> bool {
        let reader = self.facts.reads()[read_idx].reader;
        if self.level == Level::ReadCommitted {
            let mut earlier = self.facts.reads_of(reader).take_while(|it| *it < read_idx);
            return earlier.any(|it| self.candidates[it] == [writer]);
        }
        sight.has(writer.index(), reader.index())
    }

    /// *Dropped*.
    fn drop_candidates(&mut self, sight: &Matrix) -> bool {
        let mut is_new = false;
        for (idx, read) in self.facts.reads().iter().enumerate() {
            if self.candidates[idx].len() < 2 || !self.counts(read.reader) {
                continue;
            }
            let mut seen = self.counted_writers(read.key);
            seen.retain(|it| self.must_see(idx, *it, sight));
            let is_possible = |it: &TxnId| {
                let is_after = self.before.has(self.start(read.reader), self.commit(*it));
                let is_hidden = seen.iter().any(|other| other != it && self.is_older(*it, *other));
                !is_after && !is_hidden
            };
            let possible: Vec<TxnId> = self.candidates[idx].iter().copied().filter(is_possible).collect();
            is_new |= possible.len() < self.candidates[idx].len();
            self.candidates[idx] = possible;
        }
        is_new
    }

    /// *Older* and *Not seen*.
    fn order_versions(&mut self, sight: &Matrix) -> bool {
        let mut is_new = false;
        for (idx, read) in self.facts.reads().iter().enumerate() {
            let ([source], true) = (self.candidates[idx].as_slice(), self.counts(read.reader)) else { continue };
            let source = *source;
            for other in self.counted_writers(read.key) {
                if other == source || other == read.reader {
                    continue;
                }
                if self.must_see(idx, other, sight) {
                    is_new |= self.insert_older(other, source);
                }
                if self.is_older(source, other) && self.unseen_is_after(read.reader, other) {
                    is_new |= self.before.insert_closed(self.start(read.reader), self.commit(other));
                }
            }
        }
        is_new
    }

    /// Is a transaction before a writer that it does not see?
    fn unseen_is_after(&self, reader: TxnId, writer: TxnId) -> bool {
        match self.level {
            Level::UpdateAtomic | Level::ParallelSnapshotIsolation => self.conflict(reader, writer),
            _ => self.has_snapshots() || matches!(self.level, Level::Serializable | Level::StrictSerializable),
        }
    }

    /// *First committer*.
    fn order_committers(&mut self) -> bool {
        let mut is_new = false;
        for key in self.facts.history().keys() {
            let writers = self.counted_writers(key);
            for first in &writers {
                for second in writers.iter().filter(|it| *it != first) {
                    if self.before.has(self.start(*first), self.commit(*second)) {
                        is_new |= self.insert_before(*first, *second);
                    }
                }
            }
        }
        is_new
    }
}
