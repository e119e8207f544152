//! What follows from a read whoever wrote what it saw: cases without a search.
//!
//! What comes before each possible writer comes before the reader, and whoever is newer than each of them was not seen. One
//! such edge makes possible writers of other reads impossible, so that in histories with hundreds of transactions and some
//! values a key, a few reads whose writer is known are enough to find most of the others.
//! Cost of a round: possible writers times sessions.

use super::{Known, Round};
use crate::graph::{Clocks, Why};
use iso_history::TxnId;

impl Known<'_> {
    pub(super) fn derive_by_cases(&mut self, clocks: &Clocks, round: &mut Round) {
        for read in 0..self.remaining.len() {
            let at = self.problem.reads[read];
            if self.remaining[read].is_empty() || !round.news.concerns(at.reader, at.key) {
                continue;
            }
            // A transaction that may not take part would be one case more.
            if !self.counts(at.reader) || !self.remaining[read].iter().all(|it| self.counts(*it)) {
                continue;
            }
            let writers = std::mem::take(&mut self.remaining[read]);
            self.derive_before_all(read, &writers, clocks, round);
            self.derive_after_all(read, &writers, clocks, round);
            self.remaining[read] = writers;
        }
    }

    /// What comes before all of these writers comes before the reader.
    fn derive_before_all(&mut self, read: usize, writers: &[TxnId], clocks: &Clocks, round: &mut Round) {
        let (events, reader) = (self.rule.events, self.problem.reads[read].reader);
        if writers.iter().any(|it| it.is_initial()) {
            return;
        }
        let start = events.start(reader);
        for (session, nodes) in clocks.sessions().iter().enumerate() {
            let others = writers.iter().filter(|it| **it != reader);
            let n_before = others.map(|it| clocks.n_until(events.commit(*it), session)).min().unwrap_or(0);
            if n_before > clocks.n_before(start, session) {
                self.derived((nodes[n_before as usize - 1], start), Why::BeforeWriters { read }, clocks, round);
            }
        }
    }

    /// Whoever is newer than all of these writers was not seen.
    fn derive_after_all(&mut self, read: usize, writers: &[TxnId], clocks: &Clocks, round: &mut Round) {
        let at = self.problem.reads[read];
        for session in 0..self.writers[at.key.index()].len() {
            let of_session = &self.writers[at.key.index()][session];
            let first_newer = |older: &TxnId| of_session.partition_point(|it| !self.is_newer(*it, *older, clocks));
            let mut first = 0;
            for older in writers.iter().filter(|it| **it != at.reader) {
                first = first.max(first_newer(older));
                if first == of_session.len() {
                    break;
                }
            }
            let candidates = self.problem.candidates(read);
            let is_other = |it: &&TxnId| **it != at.reader && candidates.binary_search(it).is_err();
            if let Some(other) = of_session[first..].iter().find(is_other).copied() {
                let edge = self.rule.events.anti_dependency(at.reader, other);
                self.derived(edge, Why::NotSeen { read, other }, clocks, round);
            }
        }
    }
}
