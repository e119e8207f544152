//! Runs an order of commits: which reads find what they saw, and where do snapshots fit?
//!
//! With one event per transaction a read finds the last committed version of its key. With two, the snapshot of a
//! transaction may be anywhere after what it must see (its session, its sources and, where the first committer wins,
//! the last writers of the keys that it writes) and before the first commit that overwrites what it read; the latest
//! such place is taken.
//! Cost: linear in operations, for snapshots times the logarithm of a key's writers.

use super::frame::Frame;
use crate::rule::{Events, Visibility};
use iso_history::{KeyId, TxnId};
use std::thread;

/// Below this many transactions, a thread costs more than it brings.
const MIN_TXNS: usize = 20_000;
/// Reading memory is most of the work, which more threads do not make faster.
const MAX_THREADS: usize = 4;

/// What an order of commits gives.
#[derive(Clone, Debug, Default)]
pub(super) struct Placement {
    /// For each transaction the number of commits before its snapshot; empty with one event per transaction.
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
    Snapshot(TxnId),
}

/// Runs the commits in this order.
pub(super) fn place(frame: &Frame<'_>, commits: &[TxnId]) -> Placement {
    if frame.rule.events == Events::One {
        let mut misfits = replay(frame, commits, usize::MAX);
        if frame.rule.visibility == Visibility::DirectAndConflicting && !misfits.is_empty() {
            let fit = Fit::new(frame, commits);
            misfits.retain(|it| matches!(it, Misfit::Read(read) if fit.sees_newer(*read as usize)));
        }
        return Placement { snapshots: Vec::new(), misfits };
    }
    Fit::new(frame, commits).place(commits)
}

/// Where these snapshots do not fit.
pub(super) fn judge(frame: &Frame<'_>, commits: &[TxnId], snapshots: Vec<u32>) -> Placement {
    let fit = Fit::new(frame, commits);
    let fits = |txn: &TxnId| {
        let snapshot = snapshots[txn.index()];
        let is_found = |read: usize| frame.is_possible(read, fit.last_writer(frame.key(read), snapshot));
        fit.last_conflicting(*txn) <= snapshot && frame.reads_of(*txn).all(is_found)
    };
    let misfits = commits.iter().filter(|it| !fits(it)).map(|it| Misfit::Snapshot(*it)).collect();
    Placement { snapshots, misfits }
}

/// Does each read find what it saw if transactions run one after the other?
pub(super) fn is_serial(frame: &Frame<'_>, commits: &[TxnId]) -> bool {
    replay(frame, commits, 1).is_empty()
}

/// The reads that find another version if transactions run one after the other; no more than somebody wants.
fn replay(frame: &Frame<'_>, commits: &[TxnId], n_wanted: usize) -> Vec<Misfit> {
    let facts = frame.facts;
    let mut last = vec![TxnId::INITIAL; facts.history().n_keys()];
    let mut misfits = Vec::new();
    for txn in commits {
        for read in frame.reads_of(*txn) {
            if !frame.is_possible(read, last[frame.key(read).index()]) {
                misfits.push(Misfit::Read(read as u32));
            }
        }
        if misfits.len() >= n_wanted {
            break;
        }
        for key in facts.written_keys(*txn) {
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
    /// For each key the places of its writers, ascending.
    line_starts: Vec<u32>,
    lines: Vec<u32>,
    commits: &'f [TxnId],
    /// Where real time counts: ends, ascending, with the highest place of those that ended until then.
    ended: Vec<(i64, u32)>,
}

impl<'f> Fit<'f> {
    pub(super) fn new(frame: &'f Frame<'f>, commits: &'f [TxnId]) -> Self {
        let facts = frame.facts;
        let mut place = vec![0; frame.n_txns()];
        let mut line_starts = vec![0; facts.history().n_keys() + 1];
        for key in commits.iter().flat_map(|it| facts.written_keys(*it)) {
            line_starts[key.index() + 1] += 1;
        }
        for idx in 1..line_starts.len() {
            line_starts[idx] += line_starts[idx - 1];
        }
        let mut ends = line_starts.clone();
        let mut lines = vec![0; line_starts[line_starts.len() - 1] as usize];
        for (nth, txn) in (1..).zip(commits) {
            place[txn.index()] = nth;
            for key in facts.written_keys(*txn) {
                let end = &mut ends[key.index()];
                lines[*end as usize] = nth;
                *end += 1;
            }
        }
        let mut fit = Self { frame, place, line_starts, lines, commits, ended: Vec::new() };
        if frame.rule.real_time {
            fit.ended = fit.highest_by_end(commits);
        }
        fit
    }

    fn highest_by_end(&self, commits: &[TxnId]) -> Vec<(i64, u32)> {
        let end = |it: &TxnId| self.frame.end(*it).map(|end| (end, self.place[it.index()]));
        let mut ended: Vec<(i64, u32)> = commits.iter().filter_map(end).collect();
        ended.sort_unstable();
        let mut highest = 0;
        for (_, place) in &mut ended {
            highest = highest.max(*place);
            *place = highest;
        }
        ended
    }

    fn place(&self, commits: &[TxnId]) -> Placement {
        // Transactions are looked at in the order of their numbers, in which their operations lie in memory.
        let n_txns = self.frame.n_txns();
        let mut placement = Placement { snapshots: vec![0; n_txns], misfits: Vec::new() };
        let n_cores = thread::available_parallelism().map_or(1, usize::from);
        if commits.len() < MIN_TXNS || n_cores == 1 {
            placement.misfits = self.place_some(0, &mut placement.snapshots);
            return placement;
        }
        let size = n_txns.div_ceil(n_cores.min(MAX_THREADS));
        thread::scope(|scope| {
            let parts = placement.snapshots.chunks_mut(size).enumerate();
            let tasks: Vec<_> =
                parts.map(|(idx, part)| scope.spawn(move || self.place_some(idx * size, part))).collect();
            for task in tasks {
                placement.misfits.extend(task.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
        });
        placement
    }

    /// Places the snapshots of the transactions from `first` on.
    fn place_some(&self, first: usize, snapshots: &mut [u32]) -> Vec<Misfit> {
        let mut misfits = Vec::new();
        let txns = (first..).map(TxnId::from_index);
        for (txn, snapshot) in txns.zip(snapshots).filter(|it| self.place[it.0.index()] > 0) {
            let (earliest, latest) = (self.earliest(txn), self.latest(txn));
            *snapshot = earliest.max(latest.unwrap_or(0));
            if latest.is_none_or(|it| it < earliest) {
                misfits.push(Misfit::Snapshot(txn));
            }
        }
        misfits
    }

    pub(super) fn line(&self, key: KeyId) -> &[u32] {
        &self.lines[self.line_starts[key.index()] as usize..self.line_starts[key.index() + 1] as usize]
    }

    /// The places of the writers of a key that are among the first so many commits.
    pub(super) fn committed(&self, key: KeyId, n_commits: u32) -> &[u32] {
        let line = self.line(key);
        &line[..line.partition_point(|it| *it <= n_commits)]
    }

    /// The last writer of a key among the first so many commits.
    pub(super) fn last_writer(&self, key: KeyId, n_commits: u32) -> TxnId {
        self.committed(key, n_commits).last().map_or(TxnId::INITIAL, |it| self.at(*it))
    }

    /// Does the reader see somebody who overwrote what it read?
    fn sees_newer(&self, read: usize) -> bool {
        let (frame, reader) = (self.frame, self.frame.reader(read));
        let Some(source) = frame.source(read) else { return true };
        let committed = self.committed(frame.key(read), self.place[reader.index()] - 1);
        let n_older = committed.partition_point(|it| *it <= self.place[source.index()]);
        committed[n_older..].iter().any(|it| frame.is_seen_if_before(reader, self.at(*it)))
    }

    /// The transaction at a place.
    pub(super) fn at(&self, place: u32) -> TxnId {
        self.commits[place as usize - 1]
    }

    /// The first place of a snapshot: after its session, its sources, real time and, where the first committer wins,
    /// the writers of its keys.
    fn earliest(&self, txn: TxnId) -> u32 {
        let mut earliest = 0;
        self.frame.seen(txn, &mut |before| earliest = earliest.max(self.place[before.index()]));
        if let (false, Some(begin)) = (self.ended.is_empty(), self.frame.begin(txn)) {
            let n_ended = self.ended.partition_point(|it| it.0 < begin);
            earliest = earliest.max(self.ended[..n_ended].last().map_or(0, |it| it.1));
        }
        earliest.max(self.last_conflicting(txn))
    }

    /// Where the first committer wins: the place of the last one that committed a key of this transaction before it did.
    pub(super) fn last_conflicting(&self, txn: TxnId) -> u32 {
        if self.frame.rule.events != Events::FirstCommitterWins {
            return 0;
        }
        let before = self.place[txn.index()] - 1;
        let keys = self.frame.facts.written_keys(txn);
        keys.filter_map(|key| self.committed(key, before).last().copied()).max().unwrap_or(0)
    }

    /// The latest place of a snapshot where all reads find what they saw, wherever else it must be.
    fn latest(&self, txn: TxnId) -> Option<u32> {
        let frame = self.frame;
        let mut place = self.place[txn.index()] - 1;
        let mut n_open = 0;
        for read in frame.reads_of(txn) {
            match frame.source(read) {
                Some(source) => place = place.min(self.overwritten(frame.key(read), source) - 1),
                None => n_open += 1,
            }
        }
        if n_open > 0 {
            place = self.latest_of_open(txn, place, n_open)?;
        }
        let is_seen = |read: usize| frame.source(read).is_none_or(|it| self.place[it.index()] <= place);
        frame.reads_of(txn).all(is_seen).then_some(place)
    }

    /// The place of the first commit that overwrites a version.
    fn overwritten(&self, key: KeyId, writer: TxnId) -> u32 {
        let line = self.line(key);
        let n_older = line.partition_point(|it| *it <= self.place[writer.index()]);
        line.get(n_older).copied().unwrap_or(u32::MAX)
    }

    /// The latest place up to `place` where all reads with several possible writers find one of them.
    fn latest_of_open(&self, txn: TxnId, mut place: u32, n_open: usize) -> Option<u32> {
        let mut n_fitting = 0;
        // A read that fits is looked at again only if another one moved the place since.
        for read in self.frame.reads_of(txn).cycle().filter(|it| self.frame.source(*it).is_none()) {
            if n_fitting == n_open {
                break;
            }
            let fitting = self.latest_of_read(read, place)?;
            n_fitting = if fitting == place { n_fitting + 1 } else { 1 };
            place = fitting;
        }
        Some(place)
    }

    /// The latest place up to `place` where the last committed version of the key is a possible one.
    fn latest_of_read(&self, read: usize, mut place: u32) -> Option<u32> {
        for writer in self.committed(self.frame.key(read), place).iter().rev() {
            if self.frame.is_possible(read, self.at(*writer)) {
                return Some(place);
            }
            place = writer - 1;
        }
        self.frame.is_possible(read, TxnId::INITIAL).then_some(place)
    }
}
