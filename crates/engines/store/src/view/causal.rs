//! Causal consistency and parallel snapshot isolation: whoever sees a transaction sees its causes.
//!
//! What is seen is a clock: by session, how many of its transactions. What must not be seen is a clock, too: whoever
//! overwrote something that was read before. A version may be read if its writer's clock is within that limit.

use super::{Blocked, Reads};
use crate::past::{KeyIdx, Past, Pos};

/// So many versions are looked at before sessions are searched one by one.
const N_NEAR: u32 = 64;

#[derive(Clone, Debug)]
pub(crate) struct Causal {
    writes: Writes,
    /// Everything up to here was seen when it began.
    since: Pos,
    seen: Vec<u32>,
    /// By session, how many of its transactions may be seen; all, where it ends.
    limit: Vec<u32>,
    /// The limit knows the log up to here.
    checked: Pos,
}

/// What a writer must have seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writes {
    /// Nothing.
    Free,
    /// The version before its own.
    Seen,
}

impl Causal {
    pub(crate) fn new(writes: Writes, seen: &[u32], past: &Past) -> Self {
        let (since, checked) = (past.floor(), past.end());
        let mut view = Self { writes, since, seen: seen.to_vec(), limit: Vec::new(), checked };
        view.see(past.floor_clock());
        view
    }

    pub(crate) fn refresh(&mut self, past: &Past, reads: &Reads) {
        let end = past.end();
        if self.checked == end {
            return;
        }
        let first = self.checked + 1;
        if past.written_since(first, end).len() <= reads.list().len() {
            for pos in first..=end {
                if past.written_by(pos).iter().any(|it| reads.get(*it).is_some()) {
                    self.hide(past, pos);
                }
            }
        } else {
            for (key, version) in reads.list() {
                let newest_first = past.key(*key).after(*version).iter().rev();
                for version in newest_first.take_while(|it| it.pos >= first) {
                    self.hide(past, version.pos);
                }
            }
        }
        self.checked = end;
    }

    pub(crate) fn span(&self, past: &Past, key: KeyIdx) -> (u32, u32) {
        let entry = past.key(key);
        let newest = entry.newest();
        // All that is forgotten was seen, and so is what comes first of the rest then.
        let oldest = entry.oldest();
        let near = newest.saturating_sub(N_NEAR).max(oldest)..=newest;
        if let Some(seen) = near.rev().find(|it| self.sees(past, entry.pos(*it))) {
            return (seen, newest);
        }
        let last_seen = |(_, versions): &(u32, Vec<u32>)| {
            let n_seen = versions.partition_point(|it| self.sees(past, entry.pos(*it)));
            versions[..n_seen].last().copied()
        };
        (entry.sessions().iter().filter_map(last_seen).max().unwrap_or(oldest), newest)
    }

    fn sees(&self, past: &Past, pos: Pos) -> bool {
        let commit = past.commit_at(pos);
        pos <= self.since || self.seen.get(commit.session as usize).is_some_and(|it| *it > commit.nth)
    }

    pub(crate) fn allows(&self, past: &Past, source: Pos) -> bool {
        if source <= self.since {
            return true;
        }
        let commit = past.commit_at(source);
        // Most versions that are too new are so by their own session already.
        self.limit.get(commit.session as usize).is_none_or(|it| commit.nth < *it)
            && commit.clock.iter().zip(&self.limit).all(|(count, limit)| count <= limit)
    }

    pub(crate) fn take(&mut self, past: &Past, key: KeyIdx, version: u32) {
        let entry = past.key(key);
        self.see(&past.commit_at(entry.pos(version)).clock);
        let n_later = (entry.newest() - version) as usize;
        if n_later <= 4 * entry.sessions().len() {
            for later in entry.after(version) {
                self.hide(past, later.pos);
            }
        } else {
            for (_, versions) in entry.sessions() {
                if let Some(later) = versions.get(versions.partition_point(|it| *it <= version)) {
                    self.hide(past, entry.pos(*later));
                }
            }
        }
    }

    fn see(&mut self, clock: &[u32]) {
        if self.seen.len() < clock.len() {
            self.seen.resize(clock.len(), 0);
        }
        for (mine, theirs) in self.seen.iter_mut().zip(clock) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// The transaction at this place must not be seen, nor what follows it in its session.
    fn hide(&mut self, past: &Past, pos: Pos) {
        let commit = past.commit_at(pos);
        let session = commit.session as usize;
        if self.limit.len() <= session {
            self.limit.resize(session + 1, u32::MAX);
        }
        self.limit[session] = self.limit[session].min(commit.nth);
    }

    pub(crate) fn write(&mut self, past: &Past, key: KeyIdx) -> Result<(), Blocked> {
        let last = past.key(key).pos(past.key(key).newest());
        if self.writes == Writes::Seen && last > self.since {
            if !self.allows(past, last) {
                return Err(Blocked { key, by: last });
            }
            self.see(&past.commit_at(last).clock);
        }
        Ok(())
    }

    pub(crate) fn clock(&mut self, session: u32, nth: u32) -> Box<[u32]> {
        let session = session as usize;
        if self.seen.len() <= session {
            self.seen.resize(session + 1, 0);
        }
        self.seen[session] = nth + 1;
        self.seen.clone().into_boxed_slice()
    }

    pub(crate) fn into_seen(self) -> Vec<u32> {
        self.seen
    }
}
