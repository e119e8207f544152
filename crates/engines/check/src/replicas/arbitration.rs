//! Which of two writers is newer: an order that contains session order, sources, and what reads ask for.

use crate::problem::Problem;
use iso_history::TxnId;
use iso_solve::{IncrementalOrder, Mark, UNTAGGED};

/// An order of transactions that gains edges, each for a read, and loses the last ones again.
#[derive(Debug)]
pub(super) struct Arbitration {
    order: IncrementalOrder,
    /// The reads whose edges stood in the way since this was last emptied.
    pub(super) in_the_way: Vec<usize>,
}

impl Arbitration {
    /// Sessions side by side, so that what is equally far in its session is close.
    pub(super) fn new(problem: &Problem<'_>) -> Self {
        let mut order = IncrementalOrder::with_order(side_by_side(problem));
        for pair in problem.sessions.iter().flat_map(|it| it.windows(2)) {
            // Sessions are in order already, so that this closes no cycle.
            let _added = order.add_edge(pair[0].raw(), pair[1].raw(), UNTAGGED);
        }
        Self { order, in_the_way: Vec::new() }
    }

    /// Makes `writer` the source of a read: before its reader, and the last one of those that are seen. False, and
    /// nothing is changed, if that closes a cycle.
    pub(super) fn make_last(&mut self, read: usize, reader: TxnId, writer: TxnId, seen: &[TxnId]) -> bool {
        let mark = self.order.mark();
        let older = seen.iter().filter(|it| **it != writer).map(|it| (it.raw(), writer.raw()));
        for (from, to) in [(writer.raw(), reader.raw())].into_iter().chain(older) {
            if let Err(cycle) = self.order.add_edge(from, to, read as u32) {
                let tags = cycle.iter().map(|it| self.order.edge(*it).tag).filter(|it| *it != UNTAGGED);
                self.in_the_way.extend(tags.map(|it| it as usize).filter(|it| *it != read));
                self.order.undo_to(mark);
                return false;
            }
        }
        true
    }

    pub(super) fn mark(&self) -> Mark {
        self.order.mark()
    }

    pub(super) fn undo_to(&mut self, mark: Mark) {
        self.order.undo_to(mark);
    }

    pub(super) fn place(&self, txn: TxnId) -> u32 {
        self.order.position(txn.raw())
    }

    pub(super) fn order(&self) -> &[u32] {
        self.order.order()
    }
}

fn side_by_side(problem: &Problem<'_>) -> Vec<u32> {
    let share = |txn: TxnId| match problem.place_in_session(txn) {
        (session, nth) if problem.counts(txn) && !txn.is_initial() => {
            let n_txns = problem.sessions[session as usize].len() as u64;
            1 + (u64::from(nth) << 32) / n_txns
        }
        _ => 0,
    };
    let mut txns: Vec<TxnId> = (0..problem.n_txns()).map(TxnId::from_index).collect();
    txns.sort_by_key(|it| share(*it));
    txns.iter().map(|it| it.raw()).collect()
}
