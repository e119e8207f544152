//! Runs an order of commits: which reads find what they saw, and where do snapshots fit?
//!
//! With one moment per transaction a read finds the last committed version of its key. With two, the snapshot of a
//! transaction may be anywhere after what it must see (its session, its sources and, where the first committer wins,
//! the last writers of the keys that it writes) and before the first commit that overwrites what it read; the latest
//! such place is taken.
//! Cost: linear in operations, for snapshots times the logarithm of a key's writers.

use super::frame::{Frame, id};
use crate::problem::{INITIAL, Txn};
use crate::rule::Moments;

/// What an order of commits gives.
#[derive(Debug, Default)]
pub(super) struct Placement {
    /// For each transaction the number of commits before its snapshot; empty with one moment per transaction.
    pub(super) snapshots: Vec<u32>,
    /// Reads that do not find what they saw; with snapshots, transactions that fit nowhere.
    pub(super) misfits: Vec<Misfit>,
}

/// Something that does not fit into an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Misfit {
    /// This read finds another version.
    Read(u32),
    /// There is no place for the snapshot of this transaction.
    Snapshot(Txn),
}

/// Runs the commits in this order.
pub(super) fn place(frame: &Frame<'_>, commits: &[Txn]) -> Placement {
    if frame.rule.moments == Moments::One {
        return Placement { snapshots: Vec::new(), misfits: replay(frame, commits) };
    }
    Fit::new(frame, commits).place(commits)
}

/// Where these snapshots do not fit.
pub(super) fn judge(frame: &Frame<'_>, commits: &[Txn], snapshots: Vec<u32>) -> Placement {
    let fit = Fit::new(frame, commits);
    let fits = |txn: &Txn| {
        let snapshot = snapshots[*txn as usize];
        let is_found = |read: usize| {
            let found = fit.committed(frame.key(read), snapshot).last().copied().unwrap_or(INITIAL);
            frame.is_possible(read, found)
        };
        fit.last_conflicting(*txn).is_none_or(|it| fit.place[it as usize] <= snapshot)
            && frame.reads_of(*txn).all(is_found)
    };
    let misfits = commits.iter().filter(|it| !fits(it)).map(|it| Misfit::Snapshot(*it)).collect();
    Placement { snapshots, misfits }
}

fn replay(frame: &Frame<'_>, commits: &[Txn]) -> Vec<Misfit> {
    let facts = frame.facts;
    let mut last = vec![INITIAL; facts.history().n_keys()];
    let mut misfits = Vec::new();
    for txn in commits {
        for read in frame.reads_of(*txn) {
            if !frame.is_possible(read, last[frame.key(read).index()]) {
                misfits.push(Misfit::Read(read as u32));
            }
        }
        for (key, _) in facts.final_writes(id(*txn)) {
            last[key.index()] = *txn;
        }
    }
    misfits
}

/// An order of commits, by transaction and by key.
pub(super) struct Fit<'f> {
    frame: &'f Frame<'f>,
    /// The number of commits up to and with each transaction's; 0 for the initial one.
    pub(super) place: Vec<u32>,
    /// For each key its writers in commit order.
    line_starts: Vec<u32>,
    lines: Vec<Txn>,
    /// Where real time counts: ends, ascending, with the highest place of those that ended until then.
    ended: Vec<(i64, u32)>,
}

impl<'f> Fit<'f> {
    pub(super) fn new(frame: &'f Frame<'f>, commits: &[Txn]) -> Self {
        let facts = frame.facts;
        let mut place = vec![0; frame.n_txns()];
        let mut line_starts = Vec::with_capacity(facts.history().n_keys() + 1);
        line_starts.push(0);
        for key in facts.history().keys() {
            let start = line_starts[key.index()];
            line_starts.push(start + facts.writers_of(key).len() as u32);
        }
        let mut ends = line_starts.clone();
        let mut lines = vec![INITIAL; line_starts[line_starts.len() - 1] as usize];
        for (nth, txn) in (1..).zip(commits) {
            place[*txn as usize] = nth;
            for (key, _) in facts.final_writes(id(*txn)) {
                let end = &mut ends[key.index()];
                lines[*end as usize] = *txn;
                *end += 1;
            }
        }
        let mut fit = Self { frame, place, line_starts, lines, ended: Vec::new() };
        if frame.rule.real_time {
            fit.ended = fit.highest_by_end(commits);
        }
        fit
    }

    fn highest_by_end(&self, commits: &[Txn]) -> Vec<(i64, u32)> {
        let end = |it: &Txn| self.frame.end(*it).map(|end| (end, self.place[*it as usize]));
        let mut ended: Vec<(i64, u32)> = commits.iter().filter_map(end).collect();
        ended.sort_unstable();
        let mut highest = 0;
        for (_, place) in &mut ended {
            highest = highest.max(*place);
            *place = highest;
        }
        ended
    }

    fn place(&self, commits: &[Txn]) -> Placement {
        let mut placement = Placement { snapshots: vec![0; self.frame.n_txns()], misfits: Vec::new() };
        for txn in commits {
            let (earliest, latest) = (self.earliest(*txn), self.latest(*txn));
            placement.snapshots[*txn as usize] = earliest.max(latest.unwrap_or(0));
            if latest.is_none_or(|it| it < earliest) {
                placement.misfits.push(Misfit::Snapshot(*txn));
            }
        }
        placement
    }

    /// The writers of a key in commit order.
    pub(super) fn line(&self, key: iso_history::KeyId) -> &[Txn] {
        &self.lines[self.line_starts[key.index()] as usize..self.line_starts[key.index() + 1] as usize]
    }

    /// The writers of a key that are among the first so many commits.
    pub(super) fn committed(&self, key: iso_history::KeyId, n_commits: u32) -> &[Txn] {
        let line = self.line(key);
        &line[..line.partition_point(|it| self.place[*it as usize] <= n_commits)]
    }

    /// The first place of a snapshot: after its session, its sources, real time and, where the first committer wins,
    /// the writers of its keys.
    fn earliest(&self, txn: Txn) -> u32 {
        let mut earliest = 0;
        self.frame.seen(txn, &mut |before| earliest = earliest.max(self.place[before as usize]));
        if let (false, Some(begin)) = (self.ended.is_empty(), self.frame.begin(txn)) {
            let n_ended = self.ended.partition_point(|it| it.0 < begin);
            earliest = earliest.max(self.ended[..n_ended].last().map_or(0, |it| it.1));
        }
        if let Some(writer) = self.last_conflicting(txn) {
            earliest = earliest.max(self.place[writer as usize]);
        }
        earliest
    }

    /// Where the first committer wins: the last one that committed a key of this transaction before it did.
    pub(super) fn last_conflicting(&self, txn: Txn) -> Option<Txn> {
        if self.frame.rule.moments != Moments::FirstCommitterWins {
            return None;
        }
        let before = self.place[txn as usize] - 1;
        let writes = self.frame.facts.final_writes(id(txn)).iter();
        let writers = writes.filter_map(|(key, _)| self.committed(*key, before).last().copied());
        writers.max_by_key(|it| self.place[*it as usize])
    }

    /// The latest place of a snapshot where all reads find what they saw, wherever else it must be.
    fn latest(&self, txn: Txn) -> Option<u32> {
        let reads = self.frame.reads_of(txn);
        let mut place = self.place[txn as usize] - 1;
        let (mut read, mut n_fitting) = (reads.start, 0);
        // A read that fits is looked at again only if another one moved the place since.
        while n_fitting < reads.len() {
            let fitting = self.latest_of_read(read, place)?;
            n_fitting = if fitting == place { n_fitting + 1 } else { 1 };
            place = fitting;
            read = if read + 1 == reads.end { reads.start } else { read + 1 };
        }
        Some(place)
    }

    /// The latest place up to `place` where the last committed version of the key is a possible one.
    fn latest_of_read(&self, read: usize, place: u32) -> Option<u32> {
        let committed = self.committed(self.frame.key(read), place);
        if let Some(source) = self.frame.source(read) {
            let end = self.place[source as usize];
            if end > place {
                return None;
            }
            let n_older = committed.partition_point(|it| self.place[*it as usize] <= end);
            return Some(committed.get(n_older).map_or(place, |it| self.place[*it as usize] - 1));
        }
        let mut place = place;
        for writer in committed.iter().rev() {
            if self.frame.is_possible(read, *writer) {
                return Some(place);
            }
            place = self.place[*writer as usize] - 1;
        }
        self.frame.is_possible(read, INITIAL).then_some(place)
    }
}
