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
//! order that was found is kept, and the next stretch begins behind it. What was kept keeps its views, as small as its
//! reads let them be, and may still change places for a while (`past.rs`): which of two writers is the newer one is often
//! asked long after both were seen. If a stretch has no model, more and more of
//! what was kept is taken back. What is found is right; what is not found says nothing, unless nothing was left out.
//! Cost: for each stretch, transactions times sessions times the window, in variables.

mod past;
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
use iso_history::Facts;
use iso_spec::Level;
use past::Past;
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
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
const WINDOWS: [Window; 4] = [
    Window { behind: 15, apart: 3 },
    Window { behind: 15, apart: 5 },
    Window { behind: 25, apart: 8 },
    Window { behind: 40, apart: 12 },
];

/// If there is nothing to take back any more.
const WIDEST: Window = Window { behind: 80, apart: 24 };

/// How stretches are made, in transactions a session.
#[derive(Clone, Copy, Debug)]
struct Manner {
    /// So many are looked at together.
    n_live: usize,
    /// So many of them are kept.
    n_kept: usize,
    /// At first, what is so far behind is taken to be seen.
    usually_behind: u64,
}

/// What is tried in turn where stretches have no model, the usual one first: what one gets wrong, another may get right.
const MANNERS: [Manner; 3] = [
    Manner { n_live: 12, n_kept: 6, usually_behind: 5 },
    Manner { n_live: 16, n_kept: 5, usually_behind: 4 },
    Manner { n_live: 14, n_kept: 4, usually_behind: 8 },
];

/// So often the stretch grows by what is taken back; then the next manner is tried from there.
const N_GROWN: usize = 1;

/// So often something is taken back without coming any further. Then there is probably no execution, and others refute it.
const MAX_FAILED: usize = 8;

/// So many of those whose views are kept may still change places.
const N_MOVABLE: usize = 15;

/// What a stretch may take in one window. Few stretches need more, and then another one that overlaps it often needs less.
const STRETCH_STEPS: u32 = 60_000;

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
    let found = find(facts, conflicts, n_steps, budget)?;
    Ok(found.map(|it| weaken(facts, &it, level)))
}

fn find(
    facts: &Facts<'_>,
    conflicts: Conflicts,
    n_steps: u32,
    budget: &Budget<'_>,
) -> Result<Option<Witness>, StopReason> {
    let history = facts.history();
    let problem = Problem::new(facts, ReadDetail::OncePerVersion);
    let is_too_large = history.n_sessions() > MAX_SESSIONS || history.n_txns() > MAX_TXNS;
    if is_too_large || problem.has_optional() || history.keys().any(|it| history.is_list(it)) {
        return Ok(None);
    }
    let timeline = Timeline::new(&problem);
    let past = race(&timeline, conflicts, n_steps, budget)?;
    Ok(past.map(|it| witness_of(&problem, &it)))
}

/// Solves stretches in two ways at once, which begin in different manners.
///
/// What needs fewer steps counts, and that does not depend on who is faster.
fn race(
    timeline: &Timeline<'_>,
    conflicts: Conflicts,
    n_steps: u32,
    budget: &Budget<'_>,
) -> Result<Option<Past>, StopReason> {
    // Nobody takes more steps than whoever was the first to come to the end.
    let limit = AtomicU32::new(n_steps);
    let run = |first_manner: usize, budget: &Budget<'_>| {
        let n_taken = Cell::new(0);
        let is_over = || n_taken.get() > limit.load(Ordering::Relaxed);
        let stop = || {
            n_taken.set(n_taken.get() + 1);
            if is_over() { Some(StopReason::Steps) } else { budget.check().err() }
        };
        match execute(timeline, first_manner, conflicts, &budget.with_stop(&stop)) {
            Ok(Some(past)) => {
                limit.fetch_min(n_taken.get(), Ordering::Relaxed);
                Ok(Some((n_taken.get(), past)))
            }
            Err(_) if is_over() => Ok(None),
            result => result.map(|_| None),
        }
    };
    let (one, other) = if cfg!(target_arch = "wasm32") {
        // There are no threads, so one waits for the other.
        (run(0, budget)?, run(1, budget)?)
    } else {
        thread::scope(|scope| {
            let task = scope.spawn(|| run(1, &Budget::unlimited()));
            let one = run(0, budget);
            if one.is_err() {
                limit.store(0, Ordering::Relaxed);
            }
            let other = task.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok((one?, other?))
        })?
    };
    Ok(one.into_iter().chain(other).min_by_key(|it| it.0).map(|it| it.1))
}

/// Solves stretch after stretch; nothing if the first one has no model, or others have none again and again.
fn execute(
    timeline: &Timeline<'_>,
    first_manner: usize,
    conflicts: Conflicts,
    budget: &Budget<'_>,
) -> Result<Option<Past>, StopReason> {
    let n_txns = timeline.by_moment.len();
    let n_sessions = timeline.problem.sessions.len();
    let mut past = Past::new(timeline.problem.n_txns());
    let (mut n_failed, mut end, mut furthest) = (0, 0, 0);
    while past.order.len() < n_txns {
        let manner = MANNERS[(first_manner + n_failed / (N_GROWN + 1)) % MANNERS.len()];
        let (n_live, n_kept) = (manner.n_live * n_sessions, manner.n_kept * n_sessions);
        end = n_txns.min(end.max(past.order.len() + n_live));
        match solve(&timeline.after(&past), &past, manner, conflicts, end, budget)? {
            // Whoever may have read what is not in the stretch is not judged yet, and neither are those after it.
            Some(part) if end < n_txns => {
                let n_judged = part.n_judged.min(part.txns.len() - (n_live - n_kept));
                let n_before = past.order.len();
                past.keep(part, n_judged);
                end = if past.order.len() == n_before { end + n_kept } else { 0 };
                if conflicts == Conflicts::Free {
                    past.shrink_views(timeline.problem);
                }
                past.settle(N_MOVABLE * n_sessions);
            }
            Some(part) => past.keep(part, n_txns),
            None if past.order.is_empty() || n_failed == MAX_FAILED => return Ok(None),
            None => {
                n_failed += 1;
                past.forget(n_kept * (1 + n_failed / 2), N_MOVABLE * n_sessions);
                end = if n_failed % (N_GROWN + 1) == 0 { 0 } else { end };
            }
        }
        if past.order.len() > furthest {
            furthest = past.order.len();
            n_failed = 0;
        }
    }
    Ok(Some(past))
}

/// Solves one stretch in the first window in which it has a model.
fn solve(
    timeline: &Timeline<'_>,
    past: &Past,
    manner: Manner,
    conflicts: Conflicts,
    end: usize,
    budget: &Budget<'_>,
) -> Result<Option<Part>, StopReason> {
    let widest = past.order.is_empty().then_some(WIDEST);
    for window in WINDOWS.into_iter().chain(widest) {
        budget.check()?;
        let stretch = Stretch::new(timeline, past, window, conflicts, end, manner.usually_behind);
        let part = within(STRETCH_STEPS, budget, |budget| stretch.solve(budget))?.flatten();
        if part.is_some() {
            return Ok(part);
        }
    }
    Ok(None)
}

fn witness_of(problem: &Problem<'_>, past: &Past) -> Witness {
    let last_seen = |read: usize| {
        let at = problem.reads[read];
        past.last_seen(problem, &past.views[at.reader.index()], at.key)
    };
    let source_of = |read_idx: usize| Some(last_seen(problem.read_of_fact[read_idx] as usize));
    let order = past.order.iter().map(|it| it.raw());
    witness(Events::One, order, sources(problem.facts, source_of))
}
