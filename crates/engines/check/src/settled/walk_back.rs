//! Causal consistency, as far as nobody missed anything that is long past: walks back from each stale reader.
//!
//! An order that has session order and reads-from in it does not meet an edge inferred from S, which reads x from T, only if
//! the past of S has a writer of x after T. So the past is walked only from readers that find something overwritten, and
//! only back to the first who overwrote it. Where transactions see what was there just before, the past ends before
//! that, and there is nothing to walk, however many sessions there are.
//!
//! Cost: at most a number of steps that is linear in reads and transactions; who needs more is left to `causal`.

use super::Replay;
use super::links::{Edges, Links};
use iso_evidence::{Budget, StopReason};
use iso_history::{KeyId, TxnId};

/// Walks may take so many steps for each read and transaction.
const STEPS_PER_READ: usize = 4;

/// What an order does not meet; none if finding out takes too many steps.
pub(super) fn unmet_in_recent_past(
    links: &Links<'_>,
    replay: &Replay<'_>,
    budget: &Budget<'_>,
) -> Result<Option<Edges>, StopReason> {
    let mut walks = Walks::new(links, replay);
    let mut edges = Edges::default();
    let stale = replay.order.iter().filter(|it| replay.is_stale[it.index()]);
    for (idx, reader) in stale.enumerate() {
        if idx % (1 << 12) == 0 {
            budget.check()?;
        }
        if !walks.walk(*reader, &mut edges) {
            return Ok(None);
        }
    }
    Ok(Some(edges))
}

struct Walks<'a> {
    links: &'a Links<'a>,
    replay: &'a Replay<'a>,
    /// For each key, its writers as they stand in the order.
    starts: Vec<u32>,
    writers: Vec<TxnId>,
    /// By transaction: the reader from which a walk came by last.
    reached_from: Vec<TxnId>,
    pending: Vec<TxnId>,
    n_steps_left: usize,
}

impl<'a> Walks<'a> {
    fn new(links: &'a Links<'a>, replay: &'a Replay<'a>) -> Self {
        let n_keys = links.facts.history().n_keys();
        let writes = |txn: TxnId| links.facts.written_keys(txn);
        let mut starts = vec![0u32; n_keys + 2];
        for key in links.facts.history().keys() {
            starts[key.index() + 2] = links.facts.writers_of(key).len() as u32;
        }
        for idx in 2..starts.len() {
            starts[idx] += starts[idx - 1];
        }
        let mut writers = vec![TxnId::INITIAL; starts[n_keys + 1] as usize];
        for txn in replay.order {
            for key in writes(*txn) {
                let slot = &mut starts[key.index() + 1];
                writers[*slot as usize] = *txn;
                *slot += 1;
            }
        }
        Self {
            links,
            replay,
            starts,
            writers,
            reached_from: vec![TxnId::INITIAL; links.previous.len()],
            pending: Vec::new(),
            n_steps_left: STEPS_PER_READ * (links.sources.len() + links.previous.len()),
        }
    }

    /// Finds who is in the past of a reader and wrote what it read after it was written. False if it takes too long.
    fn walk(&mut self, reader: TxnId, edges: &mut Edges) -> bool {
        let place = |txn: TxnId| self.replay.place[txn.index()];
        // Reads that were overwritten, and where they were first.
        let mut overwritten: Vec<(KeyId, TxnId)> = Vec::new();
        let mut first = place(reader);
        for (key, source) in self.links.reads(reader) {
            if let Some(overwriter) = self.next_writer(key, source).filter(|it| place(*it) < place(reader)) {
                overwritten.push((key, source));
                first = first.min(place(overwriter));
            }
        }
        self.pending.push(reader);
        while let Some(txn) = self.pending.pop() {
            let sources = self.links.reads(txn).map(|it| it.1);
            for cause in sources.chain([self.links.previous[txn.index()]]) {
                if self.n_steps_left == 0 {
                    return false;
                }
                self.n_steps_left -= 1;
                if place(cause) < first || self.reached_from[cause.index()] == reader {
                    continue;
                }
                self.reached_from[cause.index()] = reader;
                self.n_steps_left = self.n_steps_left.saturating_sub(overwritten.len());
                for (key, source) in &overwritten {
                    if place(cause) > place(*source) && self.links.facts.writes(cause, *key) {
                        edges.push(cause, *source);
                    }
                }
                self.pending.push(cause);
            }
        }
        true
    }

    /// Who wrote a key next after a transaction, in the order.
    fn next_writer(&self, key: KeyId, after: TxnId) -> Option<TxnId> {
        let writers = &self.writers[self.starts[key.index()] as usize..self.starts[key.index() + 1] as usize];
        let n_before = writers.partition_point(|it| !self.replay.is_before(after, *it));
        writers.get(n_before).copied()
    }
}
