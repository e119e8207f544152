//! Many levels at once: a level that holds answers for those that it implies, one that fails for those that imply it.

use crate::check_facts;
use iso_evidence::{Budget, Event, Schedule, Verdict, Witness};
use iso_history::{Facts, TxnId};
use iso_spec::Level;

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
    for level in questions(facts, levels) {
        if answers.iter().any(|it| it.level == level) {
            continue;
        }
        let verdict = follows(&answers, level).unwrap_or_else(|| check_facts(facts, level, budget));
        decided(level, &verdict);
        answers.push(Answer { level, verdict });
    }
    levels.iter().filter_map(|level| answers.iter().find(|it| it.level == *level).cloned()).collect()
}

/// The order in which to ask: first serializability, which if it holds answers nearly everything, then from the weak
/// levels, where a violation answers for those above. With several possible writers of a read even weak levels need a
/// search, so prefix consistency, which then costs no more and answers for them, is asked before them.
fn questions(facts: &Facts<'_>, levels: &[Level]) -> Vec<Level> {
    let mut first = vec![Level::Serializable];
    if facts.has_ambiguous_reads() {
        first.push(Level::PrefixConsistency);
    }
    let is_asked = |it: &Level| levels.contains(it);
    first.into_iter().filter(is_asked).chain(Level::ALL.into_iter().filter(is_asked)).collect()
}

/// What the answers so far say about a level.
fn follows(answers: &[Answer], level: Level) -> Option<Verdict> {
    answers.iter().find_map(|it| match &it.verdict {
        Verdict::Allowed(witness) if it.level.implies(level) => Some(Verdict::Allowed(weaken(witness, level))),
        Verdict::Forbidden(refutation) if level.implies(it.level) => Some(Verdict::Forbidden(refutation.clone())),
        _ => None,
    })
}

/// The same execution as a witness of a weaker level.
pub(crate) fn weaken(witness: &Witness, level: Level) -> Witness {
    let has_snapshots =
        matches!(level, Level::PrefixConsistency | Level::SnapshotIsolation | Level::StrongSnapshotIsolation);
    let schedule = match &witness.schedule {
        Schedule::Order(order) if has_snapshots => {
            Schedule::Events(order.iter().flat_map(|it| [Event::Snapshot(*it), Event::Commit(*it)]).collect())
        }
        Schedule::Events(events) if !has_snapshots => Schedule::Order(commits(events)),
        same => same.clone(),
    };
    Witness { schedule, sources: witness.sources.clone() }
}

fn commits(events: &[Event]) -> Vec<TxnId> {
    let commit = |it: &Event| match it {
        Event::Commit(txn) => Some(*txn),
        Event::Snapshot(_) => None,
    };
    events.iter().filter_map(commit).collect()
}
