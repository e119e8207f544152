//! Causal levels with several possible writers: a solver chooses what each transaction sees, stretch by stretch.
//!
//! An execution is an order of transactions and, for each of them, a *view*: how many first transactions of each session it
//! sees. Views contain the views of whom they see, and everybody comes before those who see it. Each read finds the
//! last writer of its key in view. For causal consistency that is all; for parallel snapshot isolation, who writes a key
//! sees all earlier writers of it.
//!
//! "This one sees that one" is a variable, and so is "this one comes before that one". Clauses that join three of these
//! (a view contains the views of whom it sees; an order has no cycle) are given to the solver when a model violates them.
//! Variables exist only for transactions that are near each other in time, as far as sessions that do the same share of
//! their work tell it (`timeline.rs`). A stretch of the history is solved at a time (`stretch.rs`): the first part of the
//! order that was found is kept, and the next stretch begins behind it. If a stretch has no model, more and more of
//! what was kept is taken back. What is found is right; what is not found says nothing, unless nothing was left out.
//! Cost: for each stretch, transactions times sessions times the window, in variables.

mod stretch;
#[cfg(test)]
mod tests;
mod timeline;

use crate::decision::within;
use crate::local::is_about_orders;
use crate::problem::{Problem, ReadDetail};
use crate::rule::{Events, Rule, Visibility};
use crate::witness::{sources, weaken, witness};
use iso_evidence::{Budget, StopReason, Witness};
use iso_history::{Facts, TxnId};
use iso_spec::Level;
use stretch::{Part, Stretch};
use timeline::Timeline;

/// With more sessions or transactions, views take too much.
const MAX_SESSIONS: usize = 64;
const MAX_TXNS: usize = 20_000;

/// How far from each other transactions may be, in transactions a session.
#[derive(Clone, Copy, Debug)]
struct Window {
    /// What is farther behind is seen.
    behind: u64,
    /// What is farther apart is in the order that it seems to be in.
    apart: u64,
}

/// What is tried in turn for each stretch.
const WINDOWS: [Window; 3] =
    [Window { behind: 15, apart: 5 }, Window { behind: 25, apart: 8 }, Window { behind: 40, apart: 12 }];

/// If there is nothing to take back any more.
const WIDEST: Window = Window { behind: 80, apart: 24 };

/// So many transactions a session are looked at together, and so many of them are kept.
const N_LIVE: usize = 12;
const N_KEPT: usize = 6;

/// How many first transactions of each session are seen.
type View = Vec<u32>;

/// Who must be seen by whom, besides causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Conflicts {
    /// Nobody.
    Free,
    /// Earlier writers of a key, by its later writers.
    Seen,
}

/// What was found so far: transactions in their order, and what they see.
#[derive(Debug)]
struct Past {
    order: Vec<TxnId>,
    /// By transaction: its place in the order.
    place: Vec<Option<u32>>,
    /// By transaction: empty if it has no place.
    views: Vec<View>,
}

/// A witness of a causal level or a weaker one, if it is found within so many steps.
pub(crate) fn allowed_by_views(
    facts: &Facts<'_>,
    level: Level,
    n_steps: u32,
    budget: &Budget<'_>,
) -> Result<Option<Witness>, StopReason> {
    let (conflicts, assumed) = if Level::CausalConsistency.implies(level) {
        (Conflicts::Free, Level::CausalConsistency)
    } else if Level::ParallelSnapshotIsolation.implies(level) {
        (Conflicts::Seen, Level::ParallelSnapshotIsolation)
    } else {
        return Ok(None);
    };
    if Rule::of(level).visibility == Visibility::Nothing
        || !facts.has_ambiguous_reads()
        || !is_about_orders(facts, assumed)
    {
        return Ok(None);
    }
    let found = within(n_steps, budget, |budget| find(facts, conflicts, budget))?.flatten();
    Ok(found.map(|it| weaken(facts, &it, level)))
}

fn find(facts: &Facts<'_>, conflicts: Conflicts, budget: &Budget<'_>) -> Result<Option<Witness>, StopReason> {
    let history = facts.history();
    let problem = Problem::new(facts, ReadDetail::OncePerVersion);
    let is_too_large = history.n_sessions() > MAX_SESSIONS || history.n_txns() > MAX_TXNS;
    if is_too_large || problem.has_optional() || history.keys().any(|it| history.is_list(it)) {
        return Ok(None);
    }
    let timeline = Timeline::new(&problem);
    let past = execute(&timeline, conflicts, budget)?;
    Ok(past.map(|it| witness_of(&problem, &it)))
}

/// Solves stretch after stretch; nothing if the first one has no model, however long it is.
fn execute(timeline: &Timeline<'_>, conflicts: Conflicts, budget: &Budget<'_>) -> Result<Option<Past>, StopReason> {
    let n_txns = timeline.by_moment.len();
    let n_sessions = timeline.problem.sessions.len();
    let (n_live, n_kept) = (N_LIVE * n_sessions, N_KEPT * n_sessions);
    let mut past = Past::new(timeline.problem.n_txns());
    let (mut n_back, mut end, mut furthest) = (n_kept, 0, 0);
    while past.order.len() < n_txns {
        end = n_txns.min(end.max(past.order.len() + n_live));
        match solve(timeline, &past, conflicts, end, budget)? {
            // Whoever may have read what is not in the stretch is not judged yet, and neither are those after it.
            Some(part) if end < n_txns => {
                let n_judged = part.n_judged.min(part.txns.len() - (n_live - n_kept));
                end = if n_judged == 0 { end + n_kept } else { 0 };
                past.keep(part, n_judged);
            }
            Some(part) => past.keep(part, n_txns),
            None if past.order.is_empty() => return Ok(None),
            // The stretch grows by what is taken back.
            None => {
                past.forget(n_back);
                n_back *= 2;
            }
        }
        if past.order.len() > furthest {
            furthest = past.order.len();
            n_back = n_kept;
        }
    }
    Ok(Some(past))
}

/// Solves one stretch in the first window in which it has a model.
fn solve(
    timeline: &Timeline<'_>,
    past: &Past,
    conflicts: Conflicts,
    end: usize,
    budget: &Budget<'_>,
) -> Result<Option<Part>, StopReason> {
    let widest = past.order.is_empty().then_some(WIDEST);
    for window in WINDOWS.into_iter().chain(widest) {
        budget.check()?;
        let part = Stretch::new(timeline, past, window, conflicts, end).solve(budget)?;
        if part.is_some() {
            return Ok(part);
        }
    }
    Ok(None)
}

impl Past {
    fn new(n_txns: usize) -> Self {
        Self { order: Vec::new(), place: vec![None; n_txns], views: vec![View::new(); n_txns] }
    }

    /// Appends the first so many transactions of a part.
    fn keep(&mut self, part: Part, n_kept: usize) {
        for (txn, view) in part.txns.into_iter().take(n_kept) {
            self.place[txn.index()] = Some(self.order.len() as u32);
            self.views[txn.index()] = view;
            self.order.push(txn);
        }
    }

    /// Takes back the last so many.
    fn forget(&mut self, n_back: usize) {
        for txn in self.order.drain(self.order.len().saturating_sub(n_back)..) {
            self.place[txn.index()] = None;
            self.views[txn.index()].clear();
        }
    }
}

fn witness_of(problem: &Problem<'_>, past: &Past) -> Witness {
    let last_seen = |read: usize| {
        let at = problem.reads[read];
        let view = &past.views[at.reader.index()];
        let is_seen = |it: &&TxnId| {
            let (session, nth) = problem.place_in_session(**it);
            nth < view[session as usize]
        };
        let seen = problem.writers_of(at.key).iter().filter(is_seen);
        seen.max_by_key(|it| past.place[it.index()]).copied().unwrap_or(TxnId::INITIAL)
    };
    let source_of = |read_idx: usize| Some(last_seen(problem.read_of_fact[read_idx] as usize));
    let order = past.order.iter().map(|it| it.raw());
    witness(Events::One, order, sources(problem.facts, source_of))
}
