//! A good first order for snapshot levels: move snapshots, and then commits, to where reads fit.
//!
//! Recorded times say when a transaction began and when its client heard that it had committed, not when its snapshot
//! was taken and its commit happened; without times nothing is said at all. For a given order of commits, each read
//! fits in the stretches where the last committed writer of its key is a possible one; the latest place where all reads
//! of a transaction fit is taken. Where there is none, two commits may stand in the wrong order: exchanging two versions
//! of a key that the transaction read, or moving its own commit behind a writer, is tried, and kept if more fits.
//! It is only a start for the search, which decides.

use crate::graph::Clocks;
use crate::known::Known;
use crate::rule::{Events, Node};
use iso_evidence::{Budget, StopReason};
use iso_history::TxnId;

/// The same commits as in `order`, with snapshots moved to where their reads fit, if there is such a place.
pub(super) fn fit_snapshots(known: &Known<'_>, order: &[Node], takes_part: &[bool]) -> Vec<Node> {
    Commits::new(known, order, takes_part).nodes(order)
}

/// As [`fit_snapshots`], after commits were exchanged as long as more reads fit.
pub(super) fn fit_commits(known: &Known<'_>, order: &[Node], budget: &Budget<'_>) -> Result<Vec<Node>, StopReason> {
    let problem = known.problem;
    let takes_part: Vec<bool> = (0..problem.n_txns()).map(|it| problem.counts(TxnId::from_index(it))).collect();
    let mut commits = Commits::new(known, order, &takes_part);
    // Exchanging commits across the time axis would need the axis moved, too.
    if known.axis.is_empty() {
        commits.improve(&Clocks::new(known.problem, known.rule.events, &known.graph, order), budget)?;
    }
    Ok(commits.nodes(order))
}

/// An order of commits.
struct Commits<'k> {
    known: &'k Known<'k>,
    order: Vec<TxnId>,
    /// The number of commits up to and with each transaction's.
    place: Vec<usize>,
    /// The number of commits before the snapshot of each transaction in the order that is improved.
    snapshot: Vec<usize>,
    /// The number of commits before each node of the time axis.
    axis: Vec<usize>,
    /// For each key its writers that take part by place, the initial one first.
    lines: Vec<Vec<TxnId>>,
}

impl<'k> Commits<'k> {
    fn new(known: &'k Known<'k>, nodes: &[Node], takes_part: &[bool]) -> Self {
        let (problem, events) = (known.problem, known.rule.events);
        let n_events = events.n_nodes(problem.n_txns()) as Node;
        let mut commits = Self {
            known,
            order: Vec::new(),
            place: vec![0; problem.n_txns()],
            snapshot: vec![0; problem.n_txns()],
            axis: vec![0; nodes.len() - n_events as usize],
            lines: Vec::new(),
        };
        for node in nodes.iter().copied() {
            if node >= n_events {
                commits.axis[(node - n_events) as usize] = commits.order.len();
            } else if node == events.commit(events.txn(node)) {
                commits.order.push(events.txn(node));
                commits.place[events.txn(node).index()] = commits.order.len();
            } else {
                commits.snapshot[events.txn(node).index()] = commits.order.len();
            }
        }
        let line = |key| {
            let writers = problem.writers_of(key).iter().copied().filter(|it| takes_part[it.index()]);
            let mut line: Vec<TxnId> = writers.chain([TxnId::INITIAL]).collect();
            line.sort_unstable_by_key(|it| commits.place[it.index()]);
            line
        };
        commits.lines = problem.keys().map(line).collect();
        commits
    }

    /// All nodes: commits and time axis as they stand, snapshots where they fit best.
    fn nodes(&self, nodes: &[Node]) -> Vec<Node> {
        let (problem, events) = (self.known.problem, self.known.rule.events);
        let n_events = events.n_nodes(problem.n_txns()) as Node;
        let mut axis: Vec<(usize, Node)> =
            nodes.iter().filter(|it| **it >= n_events).map(|it| (self.axis[(*it - n_events) as usize], *it)).collect();
        axis.reverse();
        let mut snapshots: Vec<Vec<Node>> = vec![Vec::new(); self.order.len() + 1];
        for txn in (0..problem.n_txns()).map(TxnId::from_index) {
            let place = self.fit(txn).unwrap_or_else(|| self.bounded_snapshot(txn));
            snapshots[place].push(events.start(txn));
        }
        let mut fitted = Vec::with_capacity(nodes.len());
        let commits = std::iter::once(None).chain(self.order.iter().map(|it| Some(events.commit(*it))));
        for (n_commits, (commit, mut snapshots)) in commits.zip(snapshots).enumerate() {
            fitted.extend(commit);
            while axis.last().is_some_and(|it| it.0 == n_commits) {
                fitted.extend(axis.pop().map(|it| it.1));
            }
            fitted.append(&mut snapshots);
        }
        fitted
    }

    /// Where the snapshot was, or as near as its own commit and its session allow.
    fn bounded_snapshot(&self, txn: TxnId) -> usize {
        let (earliest, latest) = (self.earliest(txn), self.place[txn.index()] - 1);
        self.snapshot[txn.index()].max(earliest).min(latest)
    }

    /// The first place after the session predecessor, and after whatever had ended when it began.
    fn earliest(&self, txn: TxnId) -> usize {
        let problem = self.known.problem;
        if txn.is_initial() {
            return 0;
        }
        let previous = problem.session_before(txn).last().copied().unwrap_or(TxnId::INITIAL);
        let n_events = self.known.rule.events.n_nodes(problem.n_txns()) as Node;
        let ended = self.known.ended_before(txn).map_or(0, |it| self.axis[(it - n_events) as usize]);
        self.place[previous.index()].max(ended)
    }

    /// The latest place of a snapshot where all reads of a transaction fit.
    fn fit(&self, txn: TxnId) -> Option<usize> {
        let problem = self.known.problem;
        let until = self.place[txn.index()] - 1;
        let mut earliest = self.earliest(txn);
        if self.known.rule.events == Events::FirstCommitterWins {
            for key in problem.writes_of(txn) {
                let before = self.committed(&self.lines[key.index()], until).last();
                earliest = earliest.max(before.map_or(0, |it| self.place[it.index()]));
            }
        }
        let mut reads: Vec<usize> = problem.reads_of(txn).collect();
        let (mut place, mut n_fitting) = (until, 0);
        // A read that fits is looked at again only if another one moved the place since.
        while n_fitting < reads.len() && place >= earliest {
            let fitting = self.fit_read(reads[0], place)?;
            n_fitting = if fitting == place { n_fitting + 1 } else { 1 };
            place = fitting;
            reads.rotate_left(1);
        }
        (place >= earliest).then_some(place)
    }

    /// The latest place up to `place` where the last committed writer of the key is a possible one.
    fn fit_read(&self, read: usize, mut place: usize) -> Option<usize> {
        let line = &self.lines[self.known.problem.reads[read].key.index()];
        for writer in self.committed(line, place).iter().rev() {
            if self.is_possible(read, *writer) {
                return Some(place);
            }
            place = self.place[writer.index()].checked_sub(1)?;
        }
        None
    }

    fn is_possible(&self, read: usize, writer: TxnId) -> bool {
        match self.known.sources[read] {
            Some(source) => source == writer,
            None => self.known.remaining[read].binary_search(&writer).is_ok(),
        }
    }

    /// The part of a line that is committed after so many commits.
    fn committed<'a>(&self, line: &'a [TxnId], n_commits: usize) -> &'a [TxnId] {
        &line[..line.partition_point(|it| self.place[it.index()] <= n_commits)]
    }

    fn misfits(&self) -> Vec<TxnId> {
        self.known.problem.txns().filter(|it| self.known.problem.counts(*it) && self.fit(*it).is_none()).collect()
    }

    /// Exchanges commits as long as fewer transactions do not fit.
    fn improve(&mut self, clocks: &Clocks, budget: &Budget<'_>) -> Result<(), StopReason> {
        /// Each try looks at every transaction, so large histories get fewer of them.
        const MAX_WORK: usize = 4_000_000;
        let mut n_tries = MAX_WORK / self.order.len().max(1);
        let mut misfits = self.misfits();
        let mut idx = 0;
        while let Some(txn) = misfits.get(idx).copied() {
            let mut is_better = false;
            for (from, to) in self.moves(txn) {
                budget.check()?;
                if n_tries == 0 {
                    return Ok(());
                }
                if !self.may_move(from, to, clocks) {
                    continue;
                }
                n_tries -= 1;
                self.shift(from, to);
                let left = self.misfits();
                if left.len() < misfits.len() {
                    (misfits, idx, is_better) = (left, 0, true);
                    break;
                }
                self.shift(to, from);
            }
            if !is_better {
                idx += 1;
            }
        }
        Ok(())
    }

    /// Moves of one commit that may let the reads of a transaction fit, as indices in the order.
    fn moves(&self, txn: TxnId) -> Vec<(usize, usize)> {
        const NEAR: usize = 4;
        let own = self.place[txn.index()] - 1;
        let mut moves = Vec::new();
        for read in self.known.problem.reads_of(txn) {
            let line = &self.lines[self.known.problem.reads[read].key.index()];
            let n_before = self.committed(line, own).len();
            let near = &line[n_before.saturating_sub(NEAR)..(n_before + NEAR).min(line.len())];
            for pair in near.windows(2).filter(|it| !it[0].is_initial()) {
                let (older, newer) = (self.place[pair[0].index()] - 1, self.place[pair[1].index()] - 1);
                moves.extend([(older, newer), (newer, older)]);
            }
            let later = near.iter().map(|it| self.place[it.index()]).filter(|it| *it > own + 1);
            moves.extend(later.map(|it| (own, it - 1)));
        }
        moves.sort_by_key(|it| it.0.abs_diff(it.1));
        moves.dedup();
        moves
    }

    /// Does nothing that is known forbid to move a commit across those in between?
    fn may_move(&self, from: usize, to: usize, clocks: &Clocks) -> bool {
        let commit = |idx: usize| self.known.rule.events.commit(self.order[idx]);
        if from < to {
            (from + 1..=to).all(|it| !clocks.reaches(commit(from), commit(it)))
        } else {
            (to..from).all(|it| !clocks.reaches(commit(it), commit(from)))
        }
    }

    fn shift(&mut self, from: usize, to: usize) {
        let moved = self.order[from];
        let (first, last) = (from.min(to), from.max(to));
        if from < to {
            self.order[first..=last].rotate_left(1);
        } else {
            self.order[first..=last].rotate_right(1);
        }
        for idx in first..=last {
            self.place[self.order[idx].index()] = idx + 1;
        }
        for key in self.known.problem.writes_of(moved) {
            let place = &self.place;
            self.lines[key.index()].sort_unstable_by_key(|it| place[it.index()]);
        }
    }
}
