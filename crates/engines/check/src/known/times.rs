//! When transactions happened: recorded times as edges of the known graph, and as a first order.

use super::Known;
use crate::graph::Why;
use crate::problem::Problem;
use crate::rule::{Events, Node};
use iso_history::{Outcome, TxnId};

impl Known<'_> {
    /// Assumes, of a level that does not look at times, that transactions began and ended then. What follows is a guess.
    pub(crate) fn assume_times(&mut self, times: impl Fn(TxnId) -> (Option<i64>, Option<i64>)) {
        debug_assert!(!self.rule.real_time, "the level looks at times itself");
        self.add_times(times);
    }

    /// Whoever ended before another one began comes before it.
    pub(super) fn add_real_time(&mut self) {
        let history = self.problem.facts.history();
        let has_ended = |it: TxnId| history.outcome(it) == Outcome::Committed;
        self.add_times(|it| (history.begin(it), history.end(it).filter(|_| has_ended(it))));
    }

    /// A time axis with a node for each end: who ended comes before it, who began later after it.
    fn add_times(&mut self, times: impl Fn(TxnId) -> (Option<i64>, Option<i64>)) {
        let problem = self.problem;
        let counted = || problem.txns().filter(|it| problem.counts(*it));
        let end = |it: TxnId| times(it).1.map(|end| (end, it));
        let mut ends: Vec<(i64, TxnId)> = counted().filter_map(end).collect();
        ends.sort_unstable();
        for (end, txn) in ends {
            if self.axis.last().is_none_or(|it| it.0 < end) {
                let node = self.graph.add_node();
                self.rank.push(end);
                if let Some((_, previous)) = self.axis.last() {
                    self.graph.add((*previous, node), Why::RealTime, 0);
                }
                self.axis.push((end, node));
            }
            let (_, node) = self.axis[self.axis.len() - 1];
            self.graph.add((self.rule.events.commit(txn), node), Why::RealTime, 0);
        }
        for txn in counted() {
            if let Some(ended) = times(txn).0.and_then(|it| self.ended_until(it)) {
                self.graph.add((ended, self.rule.events.start(txn)), Why::RealTime, 0);
            }
        }
    }

    /// The node of the last end before a transaction began.
    pub(crate) fn ended_before(&self, txn: TxnId) -> Option<Node> {
        self.ended_until(self.problem.facts.history().begin(txn)?)
    }

    fn ended_until(&self, begin: i64) -> Option<Node> {
        let n_before = self.axis.partition_point(|it| it.0 < begin);
        self.axis[..n_before].last().map(|it| it.1)
    }
}

/// Recorded times if there are any; else the order of the input, unless sessions were written down one after the
/// other: then the place in the session, so that sessions run side by side.
pub(super) fn ranks(problem: &Problem<'_>, events: Events) -> Vec<i64> {
    let history = problem.facts.history();
    let session = |it: TxnId| problem.place_in_session(it).0;
    let txns: Vec<TxnId> = problem.txns().collect();
    let n_changes = txns.windows(2).filter(|it| session(it[0]) != session(it[1])).count();
    let is_by_session = n_changes < problem.sessions.len();
    let mut rank = vec![i64::MIN; events.n_nodes(problem.n_txns())];
    for txn in txns {
        let place = if is_by_session {
            let (session, nth) = problem.place_in_session(txn);
            (i64::from(nth) << 32) / i64::from(problem.sessions[session as usize].len() as u32)
        } else {
            i64::from(txn.raw())
        };
        let (begin, end) = if history.has_times() {
            let begin = history.begin(txn).or(history.end(txn)).unwrap_or(i64::MAX);
            (begin, history.end(txn).unwrap_or(begin))
        } else {
            (place, place)
        };
        rank[events.start(txn) as usize] = begin;
        rank[events.commit(txn) as usize] = end;
    }
    rank
}
