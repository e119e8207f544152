//! Many levels at once: a level that holds answers for those that it implies, one that fails for those that imply it.

use crate::check::check_facts;
use crate::decide::decide;
use crate::decision::allowed_within;
use crate::local::is_about_orders;
use crate::lost_update::lost_update;
use crate::witness::weaken;
use iso_evidence::{Budget, Verdict};
use iso_history::Facts;
use iso_spec::Level;
use std::cell::OnceCell;

/// The answer for one level.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The level.
    pub level: Level,
    /// The answer.
    pub verdict: Verdict,
}

/// Decides several levels of one history. `decided` hears of each answer as soon as it is known.
///
/// The answers come in the order of `levels`.
pub fn check_levels(
    facts: &Facts<'_>,
    levels: &[Level],
    budget: &Budget<'_>,
    decided: &mut dyn FnMut(Level, &Verdict),
) -> Vec<Answer> {
    let mut answers: Vec<Answer> = Vec::new();
    for level in first_questions(facts) {
        if answers.is_empty() && levels.len() > 1 && levels.contains(&level) {
            answers.extend(holds_at_once(facts, level, budget, decided));
        }
    }
    let is_favoured = OnceCell::new();
    let alone = levels.iter().any(|it| !counts_sessions(*it)).then(|| facts.history().without_sessions());
    let alone = alone.as_ref().map(Facts::new);
    for level in QUESTIONS.into_iter().filter(|it| levels.contains(it)) {
        if answers.iter().any(|it| it.level == level) {
            continue;
        }
        let ask = || match (level.with_sessions(), &alone) {
            (Some(with_sessions), Some(alone)) => check_facts(alone, with_sessions, budget),
            _ => check_facts(facts, level, budget),
        };
        let known = match level {
            // It is the first one that keeps updates, so it should tell a lost one, whatever else is forbidden.
            Level::UpdateAtomic if lost_update(facts, level).is_some() => None,
            _ => follows(facts, &answers, level, || *is_favoured.get_or_init(|| judges_less(facts))),
        };
        let verdict = known.unwrap_or_else(ask);
        decided(level, &verdict);
        answers.push(Answer { level, verdict });
    }
    levels.iter().filter_map(|level| answers.iter().find(|it| it.level == *level).cloned()).collect()
}

/// Strong levels that are tried shortly before all others: one that holds saves the rest.
fn first_questions(facts: &Facts<'_>) -> Vec<Level> {
    let mut first = vec![Level::Serializable, Level::SnapshotIsolation];
    if facts.has_ambiguous_reads() {
        // Each weak level has a search of its own then.
        first.extend([Level::ParallelSnapshotIsolation, Level::PrefixConsistency]);
        // Times say nearly everything, where values say little.
        if facts.history().has_real_time() {
            first.splice(0..0, [Level::StrictSerializable, Level::StrongSnapshotIsolation]);
        }
    }
    first
}

/// The order in which to ask: cheap levels first, so that a hard one does not use up the time of all, and a level after
/// those that it implies, so that a violation is told once.
const QUESTIONS: [Level; 23] = [
    Level::AdyaReadUncommitted,
    Level::AdyaReadCommitted,
    Level::ReadUncommitted,
    Level::ReadCommitted,
    Level::ReadAtomic,
    Level::CausalConsistency,
    Level::StatementSnapshots,
    Level::TransactionSnapshot,
    Level::ReadYourWrites,
    Level::MonotonicReads,
    Level::MonotonicWrites,
    Level::WritesFollowReads,
    Level::PrefixConsistency,
    Level::UpdateAtomic,
    Level::ParallelSnapshotIsolationNoSession,
    Level::ParallelSnapshotIsolation,
    Level::RowSnapshots,
    Level::SnapshotIsolationNoSession,
    Level::SnapshotIsolation,
    Level::SerializableNoSession,
    Level::Serializable,
    Level::StrongSnapshotIsolation,
    Level::StrictSerializable,
];

/// A strong level, if it holds and that is easily seen: it answers for all those that it implies.
fn holds_at_once(
    facts: &Facts<'_>,
    level: Level,
    budget: &Budget<'_>,
    decided: &mut dyn FnMut(Level, &Verdict),
) -> Option<Answer> {
    const MAX_STEPS: u32 = 1_000;
    if !is_about_orders(facts, level) {
        return None;
    }
    let verdict = Verdict::Allowed(allowed_within(MAX_STEPS, budget, |budget| decide(facts, level, budget))?);
    decided(level, &verdict);
    Some(Answer { level, verdict })
}

/// What the answers so far say about a level. What is forbidden without session order may be told better with it.
///
/// Where read uncommitted was judged by less than was recorded (`is_favoured`), its core is none of the other levels.
fn follows(facts: &Facts<'_>, answers: &[Answer], level: Level, is_favoured: impl Fn() -> bool) -> Option<Verdict> {
    let stands = |by: Level| !allows_dirty_reads(by) || allows_dirty_reads(level) || !is_favoured();
    answers.iter().find_map(|it| match &it.verdict {
        Verdict::Allowed(witness) if it.level.implies(level) => Some(Verdict::Allowed(weaken(facts, witness, level))),
        Verdict::Forbidden(refutation)
            if level.implies(it.level)
                && counts_sessions(level) == counts_sessions(it.level)
                // What is derived about pieces says nothing about whole transactions.
                && level.snapshots() == it.level.snapshots()
                && it.level != Level::RowSnapshots
                && stands(it.level) =>
        {
            Some(Verdict::Forbidden(refutation.clone()))
        }
        _ => None,
    })
}

fn allows_dirty_reads(level: Level) -> bool {
    matches!(level, Level::ReadUncommitted | Level::AdyaReadUncommitted)
}

/// Do levels that allow dirty reads look at less than was recorded?
fn judges_less(facts: &Facts<'_>) -> bool {
    let history = facts.history();
    history.favouring_dirty_reads().is_some() || !history.mixed_lists().is_empty()
}

fn counts_sessions(level: Level) -> bool {
    level.with_sessions().is_none()
}
