//! Orders that follow at once from a run, until nothing new follows: a cycle of them forbids the run.
//!
//! Source: Geng et al. 2024, section 4.2.2. Sound, but there are forbidden runs without such a cycle. We differ: the
//! least fixpoint is computed for one run, not encoded.

use crate::level::Case;
use crate::trace::INITIAL;

/// Who comes before whom in every serial order, as far as it follows; nothing if it is a cycle.
pub(crate) fn forced(case: &Case<'_>) -> Option<Closure> {
    let n_txns = case.trace.n_txns();
    let mut before = Closure::new(n_txns);
    for txn in case.trace.txns().filter(|it| case.run.is_in(*it)) {
        let sources = case.run.reads[txn as usize].iter().map(|it| it.source).filter(|it| *it != INITIAL);
        for cause in sources.chain(case.trace.before_in_session(txn)) {
            before.add(cause as usize, txn as usize);
        }
    }
    loop {
        let mut is_changed = false;
        for reader in case.trace.txns() {
            for seen in &case.run.reads[reader as usize] {
                for (other, _) in &case.run.writers[seen.key as usize] {
                    if *other == reader || *other == seen.source {
                        continue;
                    }
                    let (other, reader) = (*other as usize, reader as usize);
                    let is_first = seen.source == INITIAL;
                    if before.has(other, reader) {
                        if is_first {
                            return None;
                        }
                        is_changed |= before.add(other, seen.source as usize);
                    }
                    if is_first || before.has(seen.source as usize, other) {
                        is_changed |= before.add(reader, other);
                    }
                }
            }
        }
        if (0..n_txns).any(|it| before.has(it, it)) {
            return None;
        }
        if !is_changed {
            return Some(before);
        }
    }
}

/// A transitive relation that grows.
#[derive(Clone, Debug)]
pub(crate) struct Closure {
    n_words: usize,
    n_nodes: usize,
    bits: Vec<u64>,
}

impl Closure {
    fn new(n_nodes: usize) -> Self {
        let n_words = n_nodes.div_ceil(64);
        Self { n_words, n_nodes, bits: vec![0; n_words * n_nodes] }
    }

    pub(crate) fn has(&self, from: usize, to: usize) -> bool {
        self.bits[from * self.n_words + to / 64] >> (to % 64) & 1 == 1
    }

    /// Adds a pair and what follows. False if it was there.
    fn add(&mut self, from: usize, to: usize) -> bool {
        if self.has(from, to) {
            return false;
        }
        let mut row = self.bits[to * self.n_words..][..self.n_words].to_vec();
        row[to / 64] |= 1 << (to % 64);
        for node in 0..self.n_nodes {
            if node == from || self.has(node, from) {
                for (mine, theirs) in self.bits[node * self.n_words..][..self.n_words].iter_mut().zip(&row) {
                    *mine |= theirs;
                }
            }
        }
        true
    }
}
