//! A first order for snapshot levels: keep the commits, and move each snapshot to where its reads fit.
//!
//! Recorded times say when a transaction began, not when its snapshot was taken, and without times nothing is said at
//! all. For a given order of commits, each read fits in the stretches where the last committed writer of its key is a
//! possible one; the latest place where all reads of a transaction fit is taken. It is only a start for the search.

use crate::known::Known;
use crate::problem::{INITIAL, Txn};
use crate::rule::{Moments, Node};

/// The same commits as in `order`, with snapshots moved to where their reads fit, if there is such a place.
pub(super) fn fit_snapshots(known: &Known<'_>, order: &[Node]) -> Vec<Node> {
    let (problem, moments) = (known.problem, known.rule.moments);
    let n_moments = moments.n_nodes(problem.n_txns()) as Node;
    let is_commit = |node: Node| node < n_moments && node == moments.commit(moments.txn(node));
    // Everything that is not a snapshot keeps its place; a snapshot gets the number of commits before it.
    let mut n_commits = 0;
    let mut commit_place = vec![0; problem.n_txns()];
    let mut snapshot_place = vec![0; problem.n_txns()];
    let mut axis_place = vec![0; order.len() - n_moments as usize];
    for node in order {
        if is_commit(*node) {
            n_commits += 1;
            commit_place[moments.txn(*node) as usize] = n_commits;
        } else if *node < n_moments {
            snapshot_place[moments.txn(*node) as usize] = n_commits;
        } else {
            axis_place[(*node - n_moments) as usize] = n_commits;
        }
    }
    let timelines = timelines(known, &commit_place);
    for session in &problem.sessions {
        let mut after = commit_place[INITIAL as usize];
        for txn in session.iter().copied() {
            let own = commit_place[txn as usize] - 1;
            after = after.max(known.ended_before(txn).map_or(0, |it| axis_place[it as usize - n_moments as usize]));
            if let Some(place) = latest_fit(known, txn, after, own, &timelines) {
                snapshot_place[txn as usize] = place;
            }
            after = commit_place[txn as usize];
        }
    }
    let mut snapshots: Vec<Vec<Node>> = vec![Vec::new(); n_commits + 1];
    for txn in 0..problem.n_txns() as Txn {
        snapshots[snapshot_place[txn as usize]].push(moments.start(txn));
    }
    let mut fitted = std::mem::take(&mut snapshots[0]);
    let mut n_commits = 0;
    for node in order.iter().copied().filter(|it| *it >= n_moments || is_commit(*it)) {
        fitted.push(node);
        if is_commit(node) {
            n_commits += 1;
            fitted.append(&mut snapshots[n_commits]);
        }
    }
    fitted
}

/// For each key its writers with their places among the commits, ascending, the initial one first.
fn timelines(known: &Known<'_>, commit_place: &[usize]) -> Vec<Vec<(usize, Txn)>> {
    let problem = known.problem;
    let timeline = |key| {
        let writers = problem.writers_of(key).iter().filter(|it| !problem.is_optional[**it as usize]);
        let mut line: Vec<(usize, Txn)> = writers.map(|it| (commit_place[*it as usize], *it)).collect();
        line.push((commit_place[INITIAL as usize], INITIAL));
        line.sort_unstable();
        line
    };
    problem.keys().map(timeline).collect()
}

/// The latest place from `after` to `until` where all reads of a transaction fit.
fn latest_fit(
    known: &Known<'_>,
    txn: Txn,
    after: usize,
    until: usize,
    timelines: &[Vec<(usize, Txn)>],
) -> Option<usize> {
    let problem = known.problem;
    let mut earliest = after;
    if known.rule.moments == Moments::FirstCommitterWins {
        for key in problem.writes_of(txn) {
            let line = &timelines[key.index()];
            let before = line[..line.partition_point(|it| it.0 <= until)].last();
            earliest = earliest.max(before.map_or(0, |it| it.0));
        }
    }
    let mut place = until;
    let mut reads = problem.reads_of(txn).collect::<Vec<_>>();
    // A read that fits at `place` is looked at again only if another one moved it.
    let mut n_fitting = 0;
    while n_fitting < reads.len() {
        if place < earliest {
            return None;
        }
        let read = reads[0];
        let fitting = fit_read(known, read, place, &timelines[problem.reads[read].key.index()])?;
        n_fitting = if fitting == place { n_fitting + 1 } else { 1 };
        place = fitting;
        reads.rotate_left(1);
    }
    (place >= earliest).then_some(place)
}

/// The latest place up to `place` where the last committed writer is a possible one.
fn fit_read(known: &Known<'_>, read: usize, place: usize, line: &[(usize, Txn)]) -> Option<usize> {
    let is_possible = |txn: Txn| match known.sources[read] {
        Some(source) => source == txn,
        None => known.remaining[read].binary_search(&txn).is_ok(),
    };
    let mut place = place;
    for (committed, writer) in line[..line.partition_point(|it| it.0 <= place)].iter().rev() {
        if is_possible(*writer) {
            return Some(place);
        }
        place = committed.checked_sub(1)?;
    }
    None
}
