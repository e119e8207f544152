//! Assumes that transactions happened about when they seem to have happened, and looks for an order that keeps to it.
//!
//! Sessions say when, if clients have done the same share of their work in the
//! same time: one that is in the first half of its session hardly read from one that is at the end of another. What is far
//! apart then has an order, most possible writers of reads are too far away, and what follows from those that are left
//! ([`Known::saturate_by_cases`]) leaves little to choose. How far is far is tried: if there is a contradiction, the
//! assumption was wrong, and says nothing about the history.

use super::decision_of;
use super::frame::Frame;
use super::open::{best_order, try_turns};
use super::repair::Repaired;
use crate::decision::Decision;
use crate::known::{Known, Saturation};
use crate::problem::Problem;
use iso_evidence::{Budget, Note, Stage, StopReason};
use iso_history::TxnId;

/// The whole history takes so long.
const WHOLE: i64 = 1 << 32;

/// How far from where they seem to be transactions may be, in shares of the whole: one in so many.
const FAR: [i64; 4] = [24, 12, 6, 3];

/// Shorter sessions do not say when their transactions happened.
const MIN_TXNS: usize = 8;

/// An assumption helps if it settles all reads but one in so many.
const NARROW: usize = 4;

/// With fewer transactions, nothing is far away.
const MIN_ALL: usize = 200;

/// An order in which nobody is far from where it seems to be, if one is found.
pub(super) fn allowed_near(
    frame: &Frame<'_>,
    commits: &[TxnId],
    budget: &Budget<'_>,
) -> Result<Option<Decision>, StopReason> {
    if frame.rule.real_time || commits.len() < MIN_ALL {
        return Ok(None);
    }
    let places = places(frame);
    let problem = Problem::new(frame.facts, frame.rule.read_detail());
    for far in FAR {
        budget.note(Note::Begins(Stage::Sources));
        let mut known = Known::new(&problem, frame.rule);
        known.assume_times(|txn| {
            let place = places[txn.index()];
            (place.map(|it| it - WHOLE / far), place.map(|it| it + WHOLE / far))
        });
        let saturated = known.saturate_by_cases(budget)?;
        budget.note(Note::Begins(Stage::Order));
        if !matches!(saturated, Saturation::Stable(_)) {
            continue;
        }
        let near = frame.settled_by(&known);
        // Where as much is open as before, it is no easier, and the next assumptions say less.
        if near.sources.n_open() > frame.sources.n_open() / NARROW {
            break;
        }
        let Some((commits, placement)) = best_order(&near, commits.to_vec(), &saturated) else { continue };
        let decision = if placement.misfits.is_empty() {
            decision_of(&near, Repaired::Order(commits, placement))
        } else {
            try_turns(&near, commits, placement, budget)?
        };
        if let Some(allowed @ Decision::Allowed(_)) = decision {
            return Ok(Some(allowed));
        }
    }
    Ok(None)
}

/// Where each transaction seems to be, if anything says so: between 0 and [`WHOLE`].
fn places(frame: &Frame<'_>) -> Vec<Option<i64>> {
    let history = frame.facts.history();
    let mut places = vec![None; frame.n_txns()];
    for session in history.sessions() {
        let txns = history.session_txns(session);
        if txns.len() < MIN_TXNS {
            continue;
        }
        let n_txns = i64::from(txns.len() as u32);
        for (nth, txn) in (0..).zip(txns) {
            places[txn.index()] = Some((2 * nth + 1) * WHOLE / (2 * n_txns));
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::super::start::first_orders;
    use super::*;
    use crate::rule::Rule;
    use crate::test_store::few_values::STORES;
    use crate::test_store::{self, Input, Manner, Random, Values};
    use iso_evidence::{Verdict, certify_facts};
    use iso_history::Facts;

    /// Reads have a dozen possible writers each, and only their sessions say when they were.
    #[test]
    fn stores_with_several_values_are_decided_by_where_transactions_seem_to_be() {
        for (sight, level) in STORES {
            let manner = Manner {
                n_txns: 500,
                n_sessions: 5,
                n_keys: 20,
                max_ops: 6,
                sight,
                values: Values::Few(10),
                input: Input::Sessions,
                ..Manner::default()
            };
            let history = test_store::run(&mut Random::new(7), manner);
            let facts = Facts::new(&history);
            let frame = Frame::new(&facts, Rule::of(level));
            let commits = first_orders(&frame).unwrap().remove(0);
            let decision = allowed_near(&frame, &commits, &Budget::unlimited()).unwrap();
            let Some(Decision::Allowed(witness)) = decision else { panic!("{level}: {decision:?}") };
            assert_eq!(certify_facts(&facts, level, &Verdict::Allowed(witness)), Ok(()), "{level}");
        }
    }
}
