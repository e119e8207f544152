//! Causal consistency with several possible writers: run each session on a replica of its own, which sees more only
//! when it must.
//!
//! A replica has seen some first transactions of each session, with all that these had seen (its *view*). A transaction
//! is executed if its view, made larger where that is needed, explains its reads: for each read a writer in the view
//! can be the last one of its key. Who is last is not decided by who was executed last, but by an order that changes as
//! long as it stays one (`arbitration.rs`). Where several writers would do, the one is taken whose past fits what the
//! session reads next, or is small.
//! If no session can go on, the last transactions are taken back, more and more of them, and what brought a hindering
//! write into a view is avoided for a while (`blame.rs`). What is found is right, and what is not found says nothing.
//! Cost: for each transaction and read, sessions squared, times how often it is taken back.

mod arbitration;
mod blame;
mod plan;
mod state;
#[cfg(test)]
mod tests;

use crate::decision::within;
use crate::local::is_about_orders;
use crate::problem::{Problem, ReadDetail};
use crate::rule::{Events, Rule, Visibility};
use crate::witness::{sources, weaken, witness};
use iso_evidence::{Budget, StopReason, Witness};
use iso_history::Facts;
use iso_spec::Level;
use plan::Taste;
use state::Replicas;

/// Transactions times sessions, at most: each transaction has a view.
const MAX_VIEWS: usize = 16 << 20;

/// With more sessions, to look at each of them for each read takes too long.
const MAX_SESSIONS: usize = 256;

/// What is tried in turn, each time that everything was taken back. None is best.
const TASTES: [Taste; 6] = [
    Taste { growth: 1, mismatch: 10, n_ahead: 3, noise: 4 },
    Taste { growth: 0, mismatch: 10, n_ahead: 2, noise: 4 },
    Taste { growth: 1, mismatch: 0, n_ahead: 0, noise: 4 },
    Taste { growth: 1, mismatch: 10, n_ahead: 3, noise: 64 },
    Taste { growth: 0, mismatch: 10, n_ahead: 2, noise: 64 },
    Taste { growth: 1, mismatch: 0, n_ahead: 0, noise: 64 },
];

/// So many transactions are taken back first.
const FIRST_BACK: usize = 10;

/// A witness of the level by an execution on replicas, if one is found before each transaction is executed so often.
pub(crate) fn allowed_on_replicas(
    facts: &Facts<'_>,
    level: Level,
    n_times: u32,
    budget: &Budget<'_>,
) -> Result<Option<Witness>, StopReason> {
    let is_weak = Level::CausalConsistency.implies(level) && Rule::of(level).visibility != Visibility::Nothing;
    if !is_weak || !facts.has_ambiguous_reads() || !is_about_orders(facts, Level::CausalConsistency) {
        return Ok(None);
    }
    let max_steps = n_times.saturating_mul(facts.history().n_txns() as u32);
    let found = within(max_steps, budget, |budget| run_on_replicas(facts, budget))?.flatten();
    Ok(found.map(|it| weaken(facts, &it, level)))
}

/// Looks for an execution until the budget ends; nothing if this is no question for it.
fn run_on_replicas(facts: &Facts<'_>, budget: &Budget<'_>) -> Result<Option<Witness>, StopReason> {
    let history = facts.history();
    let n_sessions = history.n_sessions();
    let is_too_large = n_sessions > MAX_SESSIONS || history.n_txns().saturating_mul(n_sessions) > MAX_VIEWS;
    let problem = Problem::new(facts, ReadDetail::OncePerVersion);
    if is_too_large || problem.has_optional() || history.keys().any(|it| history.is_list(it)) {
        return Ok(None);
    }
    let mut replicas = Replicas::new(&problem);
    for round in 0.. {
        if run_round(&mut replicas, round, budget)? {
            break;
        }
    }
    Ok(Some(witness_of(&problem, &replicas)))
}

/// Goes on and back, until everything is done (true) or everything was taken back.
fn run_round(replicas: &mut Replicas<'_>, round: usize, budget: &Budget<'_>) -> Result<bool, StopReason> {
    let n_txns = replicas.problem.txns().count();
    let (mut best, mut n_back) = (0, FIRST_BACK);
    replicas.set_taste(TASTES[round % TASTES.len()]);
    loop {
        budget.check()?;
        replicas.go_on(budget)?;
        let n_done = replicas.n_done();
        if n_done == n_txns {
            return Ok(true);
        }
        replicas.blame();
        if n_done > best {
            (best, n_back) = (n_done, FIRST_BACK);
            replicas.forgive();
        } else {
            n_back += n_back / 5;
        }
        if n_back >= n_txns {
            replicas.go_back(n_done);
            replicas.forgive();
            return Ok(false);
        }
        replicas.go_back(n_back.min(n_done));
    }
}

fn witness_of(problem: &Problem<'_>, replicas: &Replicas<'_>) -> Witness {
    let events = Events::One;
    let is_counted = |it: &u32| problem.counts(events.txn(*it));
    let order = replicas.arbitration.order().iter().copied().filter(is_counted);
    let source_of = |read_idx: usize| replicas.sources[problem.read_of_fact[read_idx] as usize];
    witness(events, order, sources(problem.facts, source_of))
}
