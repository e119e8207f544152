//! Transactions of unknown outcome that are one of several possible writers: who of them took part?
//!
//! Each choice is a history in which all outcomes are known, and the engines for those are far better than a search over
//! choices. So, before that search:
//!
//! 1. What is certain is judged: without those transactions and without reads that may have seen them, the history says
//!    less, and what is forbidden then is forbidden anyway.
//! 2. A choice is guessed. The certain part is executed in the order that explains it, and whenever a read does not find
//!    what it saw, somebody who may have written that is executed right before it, if nobody did so already. If the
//!    history with this choice is allowed, then so is the whole; if not, nothing follows.
//!
//! A recording that was cut has thousands of such transactions, one for each read of what somebody missing may have
//! written. Each writes one key and comes after nobody, so nearly every choice that has enough of them is right.
//! Cost: that of the engines, plus for each read its possible writers.

use crate::decide::decide;
use crate::decision::{Decision, allowed_within, within};
use crate::local::refute_by_one_read;
use crate::order::witness_from;
use crate::rule::{Rule, Visibility};
use crate::witness::weaken;
use iso_evidence::{Budget, Event, Schedule, StopReason, Witness};
use iso_history::{Facts, OpId, Projection, Standing, TxnId};
use iso_spec::Level;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What the certain part may take, and what a choice may.
const MAX_STEPS: u32 = 20_000;

/// What it may take to repair the order in which a choice was guessed.
const FEW_STEPS: u32 = 1_000;

/// Those who wrote what somebody of unknown outcome read may be of unknown outcome themselves, and so on.
const MAX_DEPTH: u32 = 64;

/// Decides a history in which it is open who took part, if what is certain or a good guess decides it.
pub(crate) fn decide_outcomes(
    facts: &Facts<'_>,
    level: Level,
    budget: &Budget<'_>,
) -> Result<Option<Decision>, StopReason> {
    // Levels with dirty reads judge only what committed.
    let is_for_all = matches!(level, Level::ReadUncommitted | Level::AdyaReadUncommitted);
    if is_for_all || !facts.txns().any(|it| is_optional(facts, it)) {
        return Ok(None);
    }
    match within(MAX_STEPS, budget, |budget| decide_certain(facts, level, budget))? {
        Some(Decision::Allowed(witness)) => {
            let order = Guess::new(facts).run(&commits(&witness.schedule));
            Ok(allowed_by_choice(facts, level, &order, budget).map(Decision::Allowed))
        }
        forbidden => Ok(forbidden),
    }
}

fn is_optional(facts: &Facts<'_>, txn: TxnId) -> bool {
    facts.standing(txn) == Standing::Optional
}

/// Decides what does not depend on who took part, in the numbers of the whole history.
fn decide_certain(facts: &Facts<'_>, level: Level, budget: &Budget<'_>) -> Result<Decision, StopReason> {
    let counted: Vec<TxnId> = facts.txns().filter(|it| !is_optional(facts, *it)).collect();
    let is_open = |read: &usize| facts.candidates(*read).iter().any(|it| is_optional(facts, *it));
    let open: BTreeSet<OpId> = (0..facts.reads().len()).filter(is_open).map(|it| facts.reads()[it].op).collect();
    let part = Projection::new(facts, &counted, &open);
    let of_part = Facts::new(&part.history);
    let decision = match refute_by_one_read(&of_part, level) {
        Some(refutation) => Decision::Forbidden(refutation.txns),
        None => decide(&of_part, level, budget)?,
    };
    let in_whole = |it: &TxnId| part.txns[it.index()];
    Ok(match decision {
        Decision::Forbidden(core) => {
            let core: BTreeSet<TxnId> = core.iter().map(in_whole).collect();
            Decision::Forbidden(core.into_iter().collect())
        }
        Decision::Allowed(witness) => {
            let order = commits(&witness.schedule).iter().map(in_whole).collect();
            Decision::Allowed(Witness { schedule: Schedule::Order(order), sources: Arc::default() })
        }
    })
}

/// The transactions of a schedule in the order in which they end.
fn commits(schedule: &Schedule) -> Vec<TxnId> {
    match schedule {
        Schedule::Order(order) => order.clone(),
        Schedule::Events(events) => {
            let commit = |it: &Event| if let Event::Commit(txn) = it { Some(*txn) } else { None };
            events.iter().filter_map(commit).collect()
        }
        Schedule::Pieces(pieces) => {
            let mut is_done = BTreeSet::new();
            let mut ends: Vec<TxnId> = pieces.iter().rev().map(|it| it.0).filter(|it| is_done.insert(*it)).collect();
            ends.reverse();
            ends
        }
        Schedule::Execution(_) => Vec::new(),
    }
}

/// A witness in which those of the order took part, and nobody else whose outcome is unknown.
fn allowed_by_choice(facts: &Facts<'_>, level: Level, order: &[TxnId], budget: &Budget<'_>) -> Option<Witness> {
    let took_part: BTreeSet<TxnId> = order.iter().copied().collect();
    let history = facts.history().with_known_outcomes(|it| took_part.contains(&it));
    let chosen = Facts::new(&history);
    if refute_by_one_read(&chosen, level).is_some() {
        return None;
    }
    let of_level = Rule::of(level);
    // An order that was guessed does not keep to recorded times.
    let rules = [Rule::of(Level::Serializable), of_level].into_iter().filter(|_| !of_level.real_time);
    for rule in rules.filter(|it| it.visibility == Visibility::Everything) {
        let repair = |budget: &Budget<'_>| witness_from(&chosen, rule, order, budget);
        if let Ok(Some(Some(witness))) = within(FEW_STEPS, budget, repair) {
            return Some(weaken(facts, &witness, level));
        }
    }
    allowed_within(MAX_STEPS, budget, |budget| decide(&chosen, level, budget))
}

/// An execution, in which transactions of unknown outcome are executed if somebody needs them.
struct Guess<'f> {
    facts: &'f Facts<'f>,
    /// The last writer of each key.
    last: Vec<TxnId>,
    is_done: Vec<bool>,
    order: Vec<TxnId>,
}

impl<'f> Guess<'f> {
    fn new(facts: &'f Facts<'f>) -> Self {
        let history = facts.history();
        let (last, is_done) = (vec![TxnId::INITIAL; history.n_keys()], vec![false; history.n_txns()]);
        Self { facts, last, is_done, order: Vec::new() }
    }

    /// The order, with everybody who is needed.
    fn run(mut self, counted: &[TxnId]) -> Vec<TxnId> {
        for txn in counted {
            self.execute(*txn, 0);
        }
        self.order
    }

    fn execute(&mut self, txn: TxnId, depth: u32) {
        // Done from the start, so that it is nobody's writer while it reads.
        self.is_done[txn.index()] = true;
        for read in self.facts.reads_of(txn) {
            let candidates = self.facts.candidates(read);
            let last = self.last[self.facts.read_key(read).index()];
            if candidates.binary_search(&last).is_err()
                && depth < MAX_DEPTH
                && let Some(writer) = self.best_of(candidates)
            {
                self.execute(writer, depth + 1);
            }
        }
        for key in self.facts.written_keys(txn) {
            self.last[key.index()] = txn;
        }
        self.order.push(txn);
    }

    /// Whoever can be executed now and changes least.
    fn best_of(&self, candidates: &[TxnId]) -> Option<TxnId> {
        let can_be_next =
            |it: &TxnId| is_optional(self.facts, *it) && !self.is_done[it.index()] && self.is_in_turn(*it);
        let cost = |it: &TxnId| (self.facts.reads_of(*it).len(), self.facts.written_keys(*it).len());
        candidates.iter().copied().filter(can_be_next).min_by_key(cost)
    }

    /// Is it the next one of its session?
    fn is_in_turn(&self, txn: TxnId) -> bool {
        let history = self.facts.history();
        let Some(session) = history.session_of(txn) else { return false };
        let (before, after) = history.session_txns(session).split_at(history.nth_in_session(txn));
        let is_done = |it: &TxnId| self.is_done[it.index()];
        let is_due = |it: &TxnId| self.facts.standing(*it) == Standing::Counted;
        before.iter().filter(|it| is_due(it)).all(is_done) && !after.iter().any(is_done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_store::history;

    fn order_of(lines: &[&str], counted: &[usize]) -> Vec<usize> {
        let history = history(lines);
        let counted: Vec<TxnId> = counted.iter().map(|it| TxnId::from_index(*it)).collect();
        Guess::new(&Facts::new(&history)).run(&counted).iter().map(|it| it.index()).collect()
    }

    #[test]
    fn whoever_is_needed_is_executed_right_before() {
        // Two may have deleted what the reader did not find; one is enough, and the first reader needs none.
        assert_eq!(order_of(&["a wx1", "b? wx2", "c? wx2", "d rx1", "e rx2"], &[1, 4, 5]), [1, 4, 2, 5]);
    }

    #[test]
    fn whoever_is_needed_may_need_others() {
        let lines = ["a? wx1", "b? rx1 wy1", "c? wx1", "d? rx1 wy1", "e ry1"];
        assert_eq!(order_of(&lines, &[5]), [1, 2, 5]);
    }

    #[test]
    fn sessions_keep_their_order() {
        // The first transaction of b has not been executed, and d is already further.
        let lines = ["b wx3", "b? wx1", "d? wx1", "d wx4", "e rx1"];
        assert_eq!(order_of(&lines, &[4, 5, 1]), [4, 5, 1]);
        assert_eq!(order_of(&lines, &[4, 1, 5]), [4, 1, 2, 5]);
    }

    #[test]
    fn thousands_who_may_have_taken_part_are_no_hindrance() {
        // Each of a hundred reads has a writer of its own whom nobody saw commit.
        let mut lines: Vec<String> = (0..100).map(|it| format!("a{} rx1 wx2", it % 5)).collect();
        lines.extend((0..100).map(|it| format!("m{it}? wx1")));
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let history = history(&lines);
        for level in [Level::ReadCommitted, Level::SnapshotIsolation, Level::Serializable] {
            let decided = decide_outcomes(&Facts::new(&history), level, &Budget::unlimited());
            let Ok(Some(Decision::Allowed(witness))) = decided else { panic!("{level}: {decided:?}") };
            iso_evidence::certify(&history, level, &iso_evidence::Verdict::Allowed(witness)).unwrap();
        }
    }

    #[test]
    fn what_is_certain_is_forbidden_whoever_took_part() {
        let history = history(&["a rx0 wx1", "b rx0 wx2", "c? wy1", "d? wy1", "e ry1"]);
        let decided = decide_outcomes(&Facts::new(&history), Level::SnapshotIsolation, &Budget::unlimited());
        let Ok(Some(Decision::Forbidden(core))) = decided else { panic!("{decided:?}") };
        assert_eq!(core, [1, 2].map(TxnId::from_index));
    }
}
