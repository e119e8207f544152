//! Transactions in the order of their ends, where a recording has them nearly so.
//!
//! Recorders write what several sessions have done since they looked last, one session after the other if they are held up
//! meanwhile. A window finds its way through that, but at a price for each transaction; so some wait here, and leave by their ends.

use iso_history::StreamedTxn;
use std::collections::VecDeque;

/// Transactions that wait, by their ends.
#[derive(Debug)]
pub(super) struct Held {
    /// Each with the end that counts for it, and its number.
    txns: VecDeque<(i64, u64)>,
    max: usize,
    /// By session, the end that counted for its last transaction: nobody comes before an earlier one of its session.
    sessions: Vec<i64>,
    /// Those before this number were here when somebody looked last.
    seen: u64,
}

impl Held {
    /// So many wait, at most.
    pub(super) fn new(max: usize) -> Self {
        Self { txns: VecDeque::new(), max, sessions: Vec::new(), seen: 0 }
    }

    /// The next transaction of the recording.
    pub(super) fn push(&mut self, id: u64, txn: &StreamedTxn<'_>) {
        let session = txn.session.index();
        if session >= self.sessions.len() {
            self.sessions.resize(session + 1, i64::MIN);
        }
        // Without an end, it keeps its place.
        let latest = self.txns.back().map_or(i64::MIN, |it| it.0);
        let end = txn.end.unwrap_or(latest).max(self.sessions[session]);
        self.sessions[session] = end;
        if end >= latest {
            self.txns.push_back((end, id));
        } else {
            let place = self.txns.partition_point(|it| it.0 <= end);
            self.txns.insert(place, (end, id));
        }
    }

    /// The next one to leave, if there are too many.
    pub(super) fn next(&mut self) -> Option<u64> {
        if self.txns.len() > self.max { self.any() } else { None }
    }

    /// The next one to leave.
    pub(super) fn any(&mut self) -> Option<u64> {
        self.txns.pop_front().map(|it| it.1)
    }

    /// So many must leave so that nobody waits who was here when this was asked last.
    pub(super) fn n_waiting_long(&mut self, n_told: u64) -> usize {
        let seen = std::mem::replace(&mut self.seen, n_told);
        self.txns.iter().rposition(|it| it.1 < seen).map_or(0, |it| it + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iso_history::{Outcome, SessionId, StreamedBlock};

    fn told(held: &mut Held, txns: &[(usize, Option<i64>)]) {
        for (id, (session, end)) in (0..).zip(txns) {
            let mut block = StreamedBlock::default();
            block.begin((SessionId::from_index(*session), 0), id, Outcome::Committed, (None, *end));
            block.end();
            held.push(id, &block.txn(0));
        }
    }

    fn all(held: &mut Held) -> Vec<u64> {
        std::iter::from_fn(|| held.any()).collect()
    }

    #[test]
    fn transactions_leave_by_their_ends_and_in_the_order_of_their_sessions() {
        let mut held = Held::new(2);
        told(&mut held, &[(0, Some(10)), (0, Some(30)), (1, Some(20)), (0, Some(5)), (2, None), (1, Some(25))]);
        assert_eq!((held.next(), held.next()), (Some(0), Some(2)));
        assert_eq!(all(&mut held), [5, 1, 3, 4]);
    }

    #[test]
    fn nobody_waits_from_one_look_to_the_one_after_the_next() {
        let mut held = Held::new(10);
        told(&mut held, &[(0, Some(10)), (1, Some(40)), (2, Some(20))]);
        assert_eq!(held.n_waiting_long(3), 0);
        assert_eq!(held.n_waiting_long(3), 3);
    }
}
