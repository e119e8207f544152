//! When each transaction probably happened: at the same time, sessions have begun the same share of what they do.
//!
//! Where ends are recorded, they say it better. Without them, a session that is ahead of its share, as far as an order was
//! found, is ahead of it for a while: what is left of each session is spread over what is left of the time.

use super::View;
use super::past::Past;
use crate::problem::Problem;
use iso_history::TxnId;
use std::sync::Arc;

/// Moments are counted in so many parts of a transaction a session.
pub(super) const PARTS: u64 = 1_000;

/// So many of a hundred parts of a moment are told by where its session is, and the others by the session's share of the whole.
const PERCENT_BY_PLACE: u64 = 90;

/// Whom a session is not going to see as long as it reads initial values.
const NO_LIMIT: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Timeline<'p> {
    pub(super) problem: &'p Problem<'p>,
    /// By transaction, in parts of a transaction a session; ascending in each session.
    pub(super) moment: Vec<u64>,
    /// Everybody who counts, the earliest first, sessions in their order.
    pub(super) by_moment: Vec<TxnId>,
    /// By transaction: so many of each session it sees at most, since its session reads initial values later.
    pub(super) limits: Arc<Vec<View>>,
}

impl<'p> Timeline<'p> {
    pub(super) fn new(problem: &'p Problem<'p>) -> Self {
        let moment = if problem.facts.history().has_times() { by_ends(problem) } else { by_shares(problem) };
        let mut by_moment: Vec<TxnId> = problem.sessions.iter().flatten().copied().collect();
        by_moment.sort_by_key(|it| (moment[it.index()], problem.place_in_session(*it)));
        Self { problem, moment, by_moment, limits: Arc::new(limits(problem)) }
    }

    /// The same after a part of an order was found: everybody in it happened when it has its place, and the others later.
    pub(super) fn after(&self, past: &Past) -> Self {
        let (problem, limits) = (self.problem, Arc::clone(&self.limits));
        let n_sessions = (problem.sessions.len() as u64).max(1);
        let moment_of_place = |n_before: usize| PARTS * n_before as u64 / n_sessions;
        let (now, whole) = (moment_of_place(past.order.len()), moment_of_place(self.by_moment.len()));
        let percent = if problem.facts.history().has_times() { 0 } else { PERCENT_BY_PLACE };
        let mut moment = self.moment.clone();
        for (place, txn) in past.order.iter().enumerate() {
            moment[txn.index()] = moment_of_place(place);
        }
        for session in &problem.sessions {
            let n_past = session.partition_point(|it| past.place[it.index()].is_some());
            let left = &session[n_past..];
            for (nth, txn) in (0..).zip(left) {
                let by_place = now + (2 * nth + 1) * (whole - now) / (2 * left.len() as u64);
                let mixed = (percent * by_place + (100 - percent) * self.moment[txn.index()]) / 100;
                moment[txn.index()] = mixed.max(now);
            }
        }
        let mut by_moment = self.by_moment.clone();
        by_moment.sort_by_key(|it| (moment[it.index()], problem.place_in_session(*it)));
        Self { problem, moment, by_moment, limits }
    }

    /// How many transactions of a session come before a moment.
    pub(super) fn n_before(&self, session: usize, moment: u64) -> u32 {
        self.problem.sessions[session].partition_point(|it| self.moment[it.index()] < moment) as u32
    }
}

fn by_shares(problem: &Problem<'_>) -> Vec<u64> {
    let history = problem.facts.history();
    let mut moments = vec![0; problem.n_txns()];
    let n_counted = problem.sessions.iter().map(Vec::len).sum::<usize>() as u64;
    let whole = PARTS * n_counted / (problem.sessions.len() as u64).max(1);
    for session in history.sessions() {
        let begun = history.session_txns(session);
        for (nth, txn) in (0..).zip(begun) {
            moments[txn.index()] = whole * (2 * nth + 1) / (2 * begun.len() as u64);
        }
    }
    moments
}

/// By the order of ends; whoever has none ends when its session goes on.
fn by_ends(problem: &Problem<'_>) -> Vec<u64> {
    let history = problem.facts.history();
    let mut ends = Vec::new();
    for session in &problem.sessions {
        let mut end = i64::MAX;
        for txn in session.iter().rev() {
            end = end.min(history.end(*txn).unwrap_or(i64::MAX));
            ends.push((end, problem.place_in_session(*txn), *txn));
        }
    }
    ends.sort_unstable();
    let n_sessions = (problem.sessions.len() as u64).max(1);
    let mut moments = vec![0; problem.n_txns()];
    for (nth, (_, _, txn)) in (0..).zip(ends) {
        moments[txn.index()] = PARTS * nth / n_sessions;
    }
    moments
}

fn limits(problem: &Problem<'_>) -> Vec<View> {
    let mut limits = vec![View::new(); problem.n_txns()];
    for session in &problem.sessions {
        let mut limit = vec![NO_LIMIT; problem.sessions.len()];
        for txn in session.iter().rev() {
            for read in problem.reads_of(*txn) {
                if problem.candidates(read) == [TxnId::INITIAL] {
                    for writer in problem.writers_of(problem.reads[read].key).iter().filter(|it| *it != txn) {
                        let (of, nth) = problem.place_in_session(*writer);
                        limit[of as usize] = limit[of as usize].min(nth);
                    }
                }
            }
            limits[txn.index()].clone_from(&limit);
        }
    }
    limits
}
