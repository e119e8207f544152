//! A better order of commits by small moves, where values say little about who was read.
//!
//! Recorded times say when a client heard of a commit, not when it happened: neighbours may stand in the wrong order.
//! With few values, a search that moves them apart breaks more reads than it repairs, since many writers look alike.
//! So before a search, for each transaction that fits nowhere, two versions of a key that it read are exchanged, or its
//! own commit is moved behind a writer, as long as more fits.
//! Cost: each try runs the order; the number of tries is bounded by the size of the history.

use super::frame::Frame;
use super::place::{Fit, Misfit, Placement, place};
use iso_evidence::{Budget, StopReason};
use iso_history::TxnId;

/// Transactions that are placed in all tries together, at most.
const MAX_WORK: usize = 4_000_000;

/// Versions before and after a transaction that come into question.
const NEAR: usize = 4;

/// Moves commits as long as fewer transactions fit nowhere.
pub(super) fn exchange(
    frame: &Frame<'_>,
    commits: &mut [TxnId],
    placement: &mut Placement,
    budget: &Budget<'_>,
) -> Result<(), StopReason> {
    let mut n_tries = MAX_WORK / commits.len().max(1);
    let mut idx = 0;
    while let Some(Misfit::Snapshot(txn)) = placement.misfits.get(idx).copied() {
        let moves = moves(frame, commits, txn);
        let mut is_better = false;
        for (from, to) in moves.into_iter().filter(|it| may_move(frame, commits, *it)).collect::<Vec<_>>() {
            budget.check()?;
            if n_tries == 0 {
                return Ok(());
            }
            n_tries -= 1;
            shift(commits, from, to);
            let tried = place(frame, commits);
            if tried.misfits.len() < placement.misfits.len() {
                (*placement, idx, is_better) = (tried, 0, true);
                break;
            }
            shift(commits, to, from);
        }
        if !is_better {
            idx += 1;
        }
    }
    Ok(())
}

/// Moves of one commit that may let the reads of a transaction fit, the shortest first.
fn moves(frame: &Frame<'_>, commits: &[TxnId], txn: TxnId) -> Vec<(usize, usize)> {
    let fit = Fit::new(frame, commits);
    let own = fit.place[txn.index()];
    let mut moves = Vec::new();
    for read in frame.reads_of(txn) {
        let line = fit.line(frame.key(read));
        let n_before = line.partition_point(|it| *it < own);
        let near = &line[n_before.saturating_sub(NEAR)..(n_before + NEAR).min(line.len())];
        let index = |place: u32| place as usize - 1;
        for pair in near.windows(2) {
            moves.extend([(index(pair[0]), index(pair[1])), (index(pair[1]), index(pair[0]))]);
        }
        moves.extend(near.iter().filter(|it| **it > own).map(|it| (index(own), index(*it))));
    }
    moves.sort_by_key(|it| it.0.abs_diff(it.1));
    moves.dedup();
    moves
}

/// Does nothing that is known forbid to move a commit across those in between? Whoever follows by several steps has one
/// of them in between.
fn may_move(frame: &Frame<'_>, commits: &[TxnId], (from, to): (usize, usize)) -> bool {
    let moved = commits[from];
    if from < to {
        commits[from + 1..=to].iter().all(|later| {
            let mut follows = false;
            frame.predecessors(*later, &mut |it| follows |= it == moved);
            !follows
        })
    } else {
        let crossed = &commits[to..from];
        let mut follows = false;
        frame.predecessors(moved, &mut |it| follows |= !it.is_initial() && crossed.contains(&it));
        !follows
    }
}

fn shift(commits: &mut [TxnId], from: usize, to: usize) {
    if from < to {
        commits[from..=to].rotate_left(1);
    } else {
        commits[to..=from].rotate_right(1);
    }
}
