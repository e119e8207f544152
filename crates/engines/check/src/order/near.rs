//! Assumes that transactions happened about when they seem to have happened, and looks for an order that keeps to it.
//!
//! With recorded times, clients say when. Without them, sessions do, if clients have done the same share of their work in the
//! same time: one that is in the first half of its session hardly read from one that is at the end of another. What is far
//! apart then has an order, most possible writers of reads are too far away, and what follows from those that are left
//! ([`Known::saturate_by_cases`]) leaves little to choose. How far is far is tried: if there is a contradiction, the
//! assumption was wrong, and says nothing about the history.

use super::frame::Frame;
use super::open::{best_order, try_turns};
use super::repair::Repaired;
use super::decision_of;
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
        for (nth, txn) in txns.iter().enumerate() {
            places[txn.index()] = Some((2 * nth as i64 + 1) * WHOLE / (2 * txns.len() as i64));
        }
    }
    places
}
