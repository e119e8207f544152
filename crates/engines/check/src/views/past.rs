//! What was found so far: a beginning of an order, with what each transaction in it sees.
//!
//! Nobody in it sees anybody behind it. The last ones have their views, but no places for good: a reader that comes
//! later may tell which of two writers is the newer one.

use super::View;
use super::stretch::Part;
use crate::problem::Problem;
use iso_history::{KeyId, TxnId};

#[derive(Debug)]
pub(super) struct Past {
    pub(super) order: Vec<TxnId>,
    /// So many first ones keep their places.
    pub(super) n_settled: usize,
    /// By transaction: its place in the order.
    pub(super) place: Vec<Option<u32>>,
    /// By transaction: empty if it has no place.
    pub(super) views: Vec<View>,
}

impl Past {
    pub(super) fn new(n_txns: usize) -> Self {
        Self { order: Vec::new(), n_settled: 0, place: vec![None; n_txns], views: vec![View::new(); n_txns] }
    }

    /// The place of a transaction, if it keeps it.
    pub(super) fn settled_place(&self, txn: TxnId) -> Option<u32> {
        self.place[txn.index()].filter(|it| (*it as usize) < self.n_settled)
    }

    /// Those that have a view, and may still change places.
    pub(super) fn movable(&self) -> &[TxnId] {
        &self.order[self.n_settled..]
    }

    /// Places those that may move as a part has them, and appends the first so many of it. Who has a view and comes behind
    /// these sees none of those in between.
    pub(super) fn keep(&mut self, part: Part, n_kept: usize) {
        self.order.truncate(self.n_settled);
        for (nth, (txn, view)) in part.txns.into_iter().enumerate() {
            if nth < n_kept || self.place[txn.index()].is_some() {
                self.place[txn.index()] = Some(self.order.len() as u32);
                self.views[txn.index()] = view;
                self.order.push(txn);
            }
        }
    }

    /// All but the last so many keep their places.
    pub(super) fn settle(&mut self, n_movable: usize) {
        self.n_settled = self.n_settled.max(self.order.len().saturating_sub(n_movable));
    }

    /// Takes back the last so many, and lets so many before them change places again.
    pub(super) fn forget(&mut self, n_back: usize, n_movable: usize) {
        for txn in self.order.drain(self.order.len().saturating_sub(n_back)..) {
            self.place[txn.index()] = None;
            self.views[txn.index()].clear();
        }
        self.n_settled = self.n_settled.min(self.order.len().saturating_sub(n_movable));
    }

    /// Leaves out of the views what no read needs, for those that may still change places: what is not seen yet can be seen
    /// later, and what is seen cannot be unseen.
    pub(super) fn shrink_views(&mut self, problem: &Problem<'_>) {
        for nth in self.n_settled..self.order.len() {
            let txn = self.order[nth];
            let found = std::mem::take(&mut self.views[txn.index()]);
            self.views[txn.index()] = self.least_view(problem, txn, &found);
        }
    }

    /// The part of a view that is needed: what the session has seen before, and whom the reads of the view see.
    fn least_view(&self, problem: &Problem<'_>, txn: TxnId, found: &View) -> View {
        let (own, nth) = problem.place_in_session(txn);
        let mut view = match problem.session_before(txn).last() {
            Some(previous) => self.views[previous.index()].clone(),
            None => vec![0; found.len()],
        };
        view[own as usize] = nth;
        // Each time, another transaction is seen.
        while let Some(source) = self.unseen_source(problem, txn, &view, found) {
            let (session, nth) = problem.place_in_session(source);
            for (mine, theirs) in view.iter_mut().zip(&self.views[source.index()]) {
                *mine = (*mine).max(*theirs);
            }
            view[session as usize] = view[session as usize].max(nth + 1);
        }
        view
    }

    /// Whom the view that was found has as a source of a read that a smaller view does not explain.
    fn unseen_source(&self, problem: &Problem<'_>, txn: TxnId, view: &View, found: &View) -> Option<TxnId> {
        let is_explained = |read: usize| {
            let last = self.last_seen(problem, view, problem.reads[read].key);
            problem.candidates(read).contains(&last)
        };
        let read = problem.reads_of(txn).find(|it| !is_explained(*it))?;
        Some(self.last_seen(problem, found, problem.reads[read].key))
    }

    /// The last writer of a key in a view.
    pub(super) fn last_seen(&self, problem: &Problem<'_>, view: &View, key: KeyId) -> TxnId {
        let is_seen = |it: &&TxnId| {
            let (session, nth) = problem.place_in_session(**it);
            nth < view[session as usize]
        };
        let seen = problem.writers_of(key).iter().filter(is_seen);
        seen.max_by_key(|it| self.place[it.index()]).copied().unwrap_or(TxnId::INITIAL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::ReadDetail;
    use crate::test_store::history;
    use iso_history::Facts;

    fn txn(problem: &Problem<'_>, session: usize, nth: usize) -> TxnId {
        problem.sessions[session][nth]
    }

    /// The last one has seen everybody, and needs only what it has read from, with its causes.
    #[test]
    fn views_keep_sources_and_their_causes() {
        let history = history(&["a wx1", "b rx1 wy1", "c wx2", "d ry1 rx1"]);
        let facts = Facts::new(&history);
        let problem = Problem::new(&facts, ReadDetail::OncePerVersion);
        let mut past = Past::new(problem.n_txns());
        // The other writer of the key is older, so that it may be seen.
        let [a, b, c, d] = [0, 1, 2, 3].map(|it| txn(&problem, it, 0));
        let views = [(c, vec![0, 0, 0, 0]), (a, vec![0, 0, 1, 0]), (b, vec![1, 0, 1, 0]), (d, vec![1, 1, 1, 0])];
        past.keep(Part { txns: views.to_vec(), n_judged: 4 }, 4);
        past.shrink_views(&problem);
        assert_eq!(past.views[a.index()], [0, 0, 0, 0]);
        assert_eq!(past.views[b.index()], [1, 0, 0, 0]);
        assert_eq!(past.views[d.index()], [1, 1, 0, 0]);
    }

    #[test]
    fn those_that_may_move_move_and_what_is_taken_back_has_no_view() {
        let history = history(&["a wx1", "b wx2", "c wx3"]);
        let facts = Facts::new(&history);
        let problem = Problem::new(&facts, ReadDetail::OncePerVersion);
        let mut past = Past::new(problem.n_txns());
        let [a, b, c] = [0, 1, 2].map(|it| txn(&problem, it, 0));
        let part = |txns: &[TxnId]| Part { txns: txns.iter().map(|it| (*it, vec![0; 3])).collect(), n_judged: 3 };
        past.keep(part(&[a, b, c]), 2);
        past.settle(1);
        assert_eq!((past.movable(), past.settled_place(a), past.settled_place(b)), (&[b][..], Some(0), None));
        // The one with a view is kept, wherever it is now.
        past.keep(part(&[c, b]), 1);
        assert_eq!(past.order, [a, c, b]);
        past.forget(2, 0);
        assert_eq!((past.order.as_slice(), past.place[b.index()], past.views[c.index()].len()), (&[a][..], None, 0));
    }
}
