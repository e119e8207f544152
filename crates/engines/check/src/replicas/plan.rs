//! How the next transaction of a session can be executed: whom each of its reads saw, and what it has seen then.

use super::state::{Blocked, Replicas, View};
use iso_history::TxnId;

/// Which of several writers is taken: each of these makes one less welcome, so many times.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Taste {
    /// A transaction that the session sees with it.
    pub(super) growth: u64,
    /// A read ahead that would not find its value then; near ones count more.
    pub(super) mismatch: u64,
    /// So many transactions are looked ahead.
    pub(super) n_ahead: usize,
    /// A number below this, drawn at random.
    pub(super) noise: u64,
}

/// How a transaction can be executed.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) view: View,
    /// The source of each of its reads.
    pub(super) sources: Vec<TxnId>,
    /// How much of what it does turned out badly before.
    pub(super) cost: u64,
}

/// A writer that a session has not seen yet.
struct Offer {
    cost: u64,
    writer: TxnId,
    /// What the session would have seen with it.
    view: View,
}

/// So many writers of each session are considered.
const N_OFFERS: usize = 3;

/// One penalty is as bad as this.
const PENALTY: u64 = 10;

impl Replicas<'_> {
    /// Explains the reads of a session's next transaction, with as little more in view as possible. The order of
    /// writers then has the edges that this needs.
    pub(super) fn plan(&mut self, session: usize) -> Result<Plan, Blocked> {
        let mark = self.arbitration.mark();
        let mut plan = Plan { view: self.views[session].clone(), sources: Vec::new(), cost: 0 };
        let Some(txn) = self.head(session) else { return Ok(plan) };
        self.arbitration.in_the_way.clear();
        let mut reads = self.problem.reads_of(txn);
        while let Some(read) = reads.next() {
            if let Some(source) = self.source_in_view(&plan.view, read) {
                plan.sources.push(source);
                continue;
            }
            self.arbitration.undo_to(mark);
            let Some(offer) = self.best_offer(&plan.view, session, read) else {
                let in_the_way = std::mem::take(&mut self.arbitration.in_the_way);
                return Err(Blocked { read, in_the_way });
            };
            // What is seen with it may change what other reads find.
            plan.cost += PENALTY * self.penalties.of(read, offer.writer);
            plan.view = offer.view;
            plan.sources.clear();
            reads = self.problem.reads_of(txn);
        }
        Ok(plan)
    }

    /// Somebody in view who wrote what the read saw, and can be the last one in view who wrote the key.
    fn source_in_view(&mut self, view: &[u32], read: usize) -> Option<TxnId> {
        let at = self.problem.reads[read];
        let mut seen: Vec<TxnId> = self.last_seen(view, at.key).collect();
        if seen.is_empty() {
            return self.problem.candidates(read).first().copied().filter(|it| it.is_initial());
        }
        seen.sort_by_key(|it| (self.penalties.of(read, *it), u32::MAX - self.arbitration.place(*it)));
        let fits = |it: &&TxnId| self.version_of(**it, at.key) == Some(self.version[read]);
        let writers: Vec<TxnId> = seen.iter().filter(fits).copied().collect();
        writers.into_iter().find(|it| self.can_be_last(read, *it, &seen))
    }

    fn can_be_last(&mut self, read: usize, writer: TxnId, seen: &[TxnId]) -> bool {
        let is_overwritten = seen.iter().any(|it| *it != writer && self.is_past(writer, *it));
        !is_overwritten && self.arbitration.make_last(read, self.problem.reads[read].reader, writer, seen)
    }

    /// The best writer out of view that can be the source of a read.
    fn best_offer(&mut self, view: &[u32], session: usize, read: usize) -> Option<Offer> {
        let key = self.problem.reads[read].key;
        let mut offers = self.offers(view, session, read);
        offers.sort_by_key(|it| (it.cost, it.writer));
        let mark = self.arbitration.mark();
        offers.into_iter().find(|offer| {
            let seen: Vec<TxnId> = self.last_seen(&offer.view, key).collect();
            let is_possible = self.can_be_last(read, offer.writer, &seen);
            self.arbitration.undo_to(mark);
            is_possible
        })
    }

    fn offers(&self, view: &[u32], session: usize, read: usize) -> Vec<Offer> {
        let mut offers = Vec::new();
        for (writers, n_seen) in self.written_version[self.version[read] as usize].iter().zip(view) {
            let first = writers.partition_point(|it| it.0 < *n_seen);
            for (_, writer) in writers[first..].iter().take(N_OFFERS) {
                let joined = joined(view, &self.pasts[writer.index()]);
                if self.keeps_initial(&joined, session) {
                    let cost = self.cost_of(view, &joined, session, read, *writer);
                    offers.push(Offer { cost, writer: *writer, view: joined });
                }
            }
        }
        offers
    }

    fn cost_of(&self, before: &[u32], after: &[u32], session: usize, read: usize, writer: TxnId) -> u64 {
        let growth: u64 = after.iter().zip(before).map(|it| u64::from(it.0 - it.1)).sum();
        let noise = mix(self.seed, read as u64, u64::from(writer.raw())) % self.taste.noise.max(1);
        let mismatch = if self.taste.mismatch == 0 { 0 } else { self.mismatch(after, session) };
        self.taste.growth * growth + self.taste.mismatch * mismatch + noise + PENALTY * self.penalties.of(read, writer)
    }

    /// Are initial values that the session reads later still there?
    fn keeps_initial(&self, view: &[u32], session: usize) -> bool {
        let place = self.places[session] as u32;
        let mut read_later = self.initial_until[session].iter().filter(|it| *it.1 > place);
        read_later.all(|(key, _)| self.last_seen(view, *key).next().is_none())
    }

    /// How much of what a session reads now and next is not the last write of anybody in view.
    fn mismatch(&self, view: &[u32], session: usize) -> u64 {
        /// A read of the present transaction counts so much, one of the next half of it, and so on.
        const NEAREST: u64 = 12;
        let ahead = self.problem.sessions[session].iter().skip(self.places[session]).take(self.taste.n_ahead + 1);
        let mut own = Vec::new();
        let mut sum = 0;
        for (distance, txn) in (1..).zip(ahead) {
            for read in self.problem.reads_of(*txn) {
                if !own.contains(&self.problem.reads[read].key) && !self.may_find(view, read) {
                    sum += NEAREST / distance;
                }
            }
            own.extend(self.problem.writes_of(*txn));
        }
        sum
    }

    fn may_find(&self, view: &[u32], read: usize) -> bool {
        let key = self.problem.reads[read].key;
        let mut seen = self.last_seen(view, key).peekable();
        if seen.peek().is_none() {
            return self.problem.candidates(read).first().is_some_and(|it| it.is_initial());
        }
        seen.any(|it| self.version_of(it, key) == Some(self.version[read]))
    }
}

fn joined(one: &[u32], other: &[u32]) -> View {
    one.iter().zip(other).map(|it| *it.0.max(it.1)).collect()
}

/// A number that looks random.
fn mix(seed: u64, one: u64, other: u64) -> u64 {
    let mixed = (seed.wrapping_mul(7_919) ^ (one << 32) ^ other).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40
}
