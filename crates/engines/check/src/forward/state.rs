//! One state of an execution: how far each session is, what each key holds, and who has a snapshot already.

use super::program::{Program, Task, Version};
use super::{Aim, Taste, log};
use crate::rule::Events;

/// What a state costs: how hard it looks to go on from there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cost(u32);

/// A session that cannot go on now is as bad as this much of what versions cost.
const WAITING: u32 = 4;

/// So many rounds are looked ahead, in each of which a session commits once at most.
const ROUNDS_AHEAD: u32 = 12;

/// A state that can be changed and changed back.
#[derive(Debug)]
pub(super) struct State<'p> {
    program: &'p Program,
    aim: Aim,
    /// Places of sessions, versions of keys, snapshots of sessions (a bit each), then for each version how many
    /// will read it (upper half) and write it (lower half), then how many will read and overwrite it.
    words: Vec<u32>,
    changes: Vec<(u32, u32)>,
    /// The sessions that committed since the state was loaded.
    pub(super) commits: Vec<u32>,
    /// How unlikely it is that reads find their versions.
    missing: u32,
    n_loaded: usize,
    /// For each version, the last look ahead that found it written.
    written: Vec<u32>,
    n_looks: u32,
    /// How far sessions came in that look, and how long they had to wait.
    ahead: Vec<u32>,
    delay: u32,
    /// Who began later than this must wait for others.
    due: i64,
}

impl<'p> State<'p> {
    pub(super) fn new(program: &'p Program, aim: Aim) -> Self {
        let n_sessions = program.sessions.len();
        let mut words = vec![0; n_sessions];
        words.extend(&program.initial);
        words.extend(std::iter::repeat_n(0, n_sessions.div_ceil(32)));
        let pack = |(readers, writers): (&u16, &u16)| (u32::from(*readers) << 16) | u32::from(*writers);
        words.extend(program.n_readers.iter().zip(&program.n_writers).map(pack));
        words.extend(program.n_updaters.iter().map(|it| u32::from(*it)));
        let mut state = Self {
            program,
            aim,
            words,
            changes: Vec::new(),
            commits: Vec::new(),
            missing: 0,
            n_loaded: 0,
            written: vec![0; program.key.len()],
            n_looks: 0,
            ahead: vec![0; n_sessions],
            delay: 0,
            due: i64::MAX,
        };
        state.set_due();
        state.missing = (0..program.initial.len() as u32).map(|it| state.weight(it)).sum();
        state
    }

    pub(super) fn words(&self) -> &[u32] {
        &self.words
    }

    pub(super) fn missing(&self) -> u32 {
        self.missing
    }

    /// Takes over a state, and forgets how to change back.
    pub(super) fn load(&mut self, words: &[u32], missing: u32, n_done: usize) {
        self.words.copy_from_slice(words);
        self.missing = missing;
        self.n_loaded = n_done;
        self.changes.clear();
        self.commits.clear();
        self.set_due();
    }

    /// Undoes everything since the state was loaded.
    pub(super) fn change_back(&mut self, missing: u32) {
        while let Some((idx, word)) = self.changes.pop() {
            self.words[idx as usize] = word;
        }
        self.missing = missing;
        self.commits.clear();
        self.set_due();
    }

    /// The number of commits.
    pub(super) fn n_done(&self) -> usize {
        self.n_loaded + self.commits.len()
    }

    /// The next task of a session.
    fn head(&self, session: usize) -> Option<&'p Task> {
        self.program.sessions[session].get(self.words[session] as usize)
    }

    fn present(&self, version: Version) -> Version {
        self.words[self.program.sessions.len() + self.program.key[version as usize] as usize]
    }

    fn has_snapshot(&self, session: usize) -> bool {
        self.words[self.first_snapshot() + session / 32] & (1 << (session % 32)) != 0
    }

    fn first_snapshot(&self) -> usize {
        self.program.sessions.len() + self.program.initial.len()
    }

    fn first_left(&self) -> usize {
        self.first_snapshot() + self.program.sessions.len().div_ceil(32)
    }

    fn n_writers_left(&self, version: Version) -> usize {
        (self.words[self.first_left() + version as usize] & 0xffff) as usize
    }

    fn set(&mut self, idx: usize, word: u32) {
        self.changes.push((idx as u32, self.words[idx]));
        self.words[idx] = word;
    }

    fn set_snapshot(&mut self, session: usize, has_snapshot: bool) {
        let idx = self.first_snapshot() + session / 32;
        let bit = 1 << (session % 32);
        self.set(idx, if has_snapshot { self.words[idx] | bit } else { self.words[idx] & !bit });
    }

    /// How unlikely it is (the logarithm of that) that all reads of a key that are left find their versions, if writers come in any order.
    fn weight(&self, key: u32) -> u32 {
        let left = &self.words[self.first_left()..];
        let versions = self.program.versions_of(key);
        let n_writers: u32 = versions.iter().map(|it| left[*it as usize] & 0xffff).sum();
        let mut sum = 0;
        for version in versions {
            let (n_readers, n_writers_of_it) = (left[*version as usize] >> 16, left[*version as usize] & 0xffff);
            if n_readers > 0 {
                sum += n_readers * log(n_writers).saturating_sub(log(n_writers_of_it));
            }
        }
        sum
    }

    /// Can this session commit now?
    pub(super) fn can_commit(&self, session: usize) -> bool {
        match (self.head(session), self.program.events) {
            (None, _) => false,
            (Some(task), Events::One) => self.is_due(task) && self.fits(task),
            (Some(_), _) => self.has_snapshot(session),
        }
    }

    fn fits(&self, task: &Task) -> bool {
        task.reads.iter().all(|it| self.present(*it) == *it)
    }

    /// Has everybody committed who ended so long before the task began?
    fn is_due(&self, task: &Task) -> bool {
        task.begin <= self.due
    }

    /// Nobody is left who ended so long before this.
    fn set_due(&mut self) {
        if let Some(slack) = self.aim.slack {
            let heads = (0..self.program.sessions.len()).filter_map(|it| self.head(it));
            self.due = heads.map(|it| it.end.saturating_add(slack)).min().unwrap_or(i64::MAX);
        }
    }

    /// Commits the next task of a session; false if somebody will never find what it reads.
    pub(super) fn commit(&mut self, session: usize) -> bool {
        let Some(task) = self.head(session) else { return false };
        let mut is_possible = true;
        if self.program.events == Events::One {
            self.change_readers(task, false);
        }
        for version in &task.updates {
            let idx = self.first_left() + self.program.key.len() + *version as usize;
            self.set(idx, self.words[idx] - 1);
        }
        for version in &task.writes {
            is_possible &= self.write(*version);
        }
        self.set(session, self.words[session] + 1);
        self.commits.push(session as u32);
        self.set_due();
        if self.program.events != Events::One {
            self.set_snapshot(session, false);
        }
        if self.program.events == Events::FirstCommitterWins {
            self.drop_snapshots(task);
        }
        is_possible
    }

    /// Counts a task among those that will read what it reads, or no longer.
    fn change_readers(&mut self, task: &Task, will_read: bool) {
        for version in &task.reads {
            let key = self.program.key[*version as usize];
            self.missing -= self.weight(key);
            let idx = self.first_left() + *version as usize;
            let left = self.words[idx];
            self.set(idx, if will_read { left + (1 << 16) } else { left - (1 << 16) });
            self.missing += self.weight(key);
        }
    }

    /// False if the version that is overwritten is still read and never written again.
    fn write(&mut self, version: Version) -> bool {
        let key = self.program.key[version as usize];
        self.missing -= self.weight(key);
        let idx = self.first_left() + version as usize;
        self.set(idx, self.words[idx] - 1);
        let old = self.present(version);
        let place = self.program.sessions.len() + key as usize;
        self.set(place, version);
        self.missing += self.weight(key);
        let left = self.words[self.first_left() + old as usize];
        if self.words[self.first_left() + self.program.key.len() + old as usize]
            > (left & 0xffff) + u32::from(old == version)
        {
            return false;
        }
        old == version || left >> 16 == 0 || left & 0xffff > 0
    }

    /// Whoever writes what was just written needs another snapshot.
    fn drop_snapshots(&mut self, committed: &Task) {
        for session in 0..self.program.sessions.len() {
            let writes = |task: &Task| task.writes.iter().any(|it| self.overlaps(committed, *it));
            if self.has_snapshot(session)
                && let Some(task) = self.head(session).filter(|it| writes(it))
            {
                self.set_snapshot(session, false);
                self.change_readers(task, true);
            }
        }
    }

    fn overlaps(&self, task: &Task, version: Version) -> bool {
        let key = |it: Version| self.program.key[it as usize];
        task.writes.iter().any(|it| key(*it) == key(version))
    }

    /// Takes snapshots where reads fit, and commits whoever only reads: nothing is lost by that. False if a session
    /// can never go on.
    pub(super) fn settle(&mut self) -> bool {
        let mut is_changed = true;
        while is_changed {
            is_changed = false;
            for session in 0..self.program.sessions.len() {
                match self.settle_session(session) {
                    Settled::Stuck => return false,
                    Settled::Moved => is_changed = true,
                    Settled::Waits => {}
                }
            }
        }
        true
    }

    fn settle_session(&mut self, session: usize) -> Settled {
        let mut settled = Settled::Waits;
        while let Some(task) = self.head(session) {
            if self.program.events != Events::One && !self.has_snapshot(session) && self.fits(task) && self.is_due(task)
            {
                self.set_snapshot(session, true);
                self.change_readers(task, false);
                settled = Settled::Moved;
            }
            if task.writes.is_empty() && self.can_commit(session) {
                if !self.commit(session) {
                    return Settled::Stuck;
                }
                settled = Settled::Moved;
                continue;
            }
            return if self.is_stuck(session, task) { Settled::Stuck } else { settled };
        }
        settled
    }

    /// Does the task read something that only its own session writes, later?
    fn is_stuck(&self, session: usize, task: &Task) -> bool {
        if self.program.events != Events::One && self.has_snapshot(session) {
            return false;
        }
        let is_gone = |version: Version| {
            self.present(version) != version
                && self.n_writers_left(version) == self.program.n_own_writes(session, version, self.words[session])
        };
        task.reads.iter().any(|it| is_gone(*it))
    }

    /// Could sessions go on for a while, if versions stayed for ever once they are written?
    pub(super) fn looks_alive(&mut self) -> bool {
        let n_sessions = self.program.sessions.len();
        if self.aim.taste != Taste::Soon {
            return true;
        }
        self.n_looks += 1;
        self.ahead.copy_from_slice(&self.words[..n_sessions]);
        self.delay = 0;
        for round in 1..=ROUNDS_AHEAD {
            let mut is_changed = false;
            for session in 0..n_sessions {
                let is_head = self.ahead[session] == self.words[session];
                let Some(task) = self.program.sessions[session].get(self.ahead[session] as usize) else { continue };
                let is_free = is_head && self.program.events != Events::One && self.has_snapshot(session);
                let is_there = |it: &Version| self.present(*it) == *it || self.written[*it as usize] == self.n_looks;
                if !is_free && !task.reads.iter().all(is_there) {
                    if is_head {
                        self.delay += 2 * round - 1;
                    }
                    continue;
                }
                for version in &task.writes {
                    self.written[*version as usize] = self.n_looks;
                }
                self.ahead[session] += 1;
                is_changed = true;
            }
            if !is_changed {
                return (0..n_sessions).all(|it| self.program.sessions[it].len() == self.ahead[it] as usize);
            }
        }
        true
    }

    pub(super) fn cost(&self) -> Cost {
        if self.aim.taste == Taste::Soon {
            return Cost(self.delay);
        }
        let n_waiting = (0..self.program.sessions.len()).filter(|it| !self.can_commit(*it)).count() as u32;
        Cost(self.missing + WAITING * n_waiting)
    }

    /// Equal states have equal numbers; a version that nobody reads any more is as good as any other.
    pub(super) fn hash(&self) -> u64 {
        let n_sessions = self.program.sessions.len();
        let mut hash = 0u64;
        for (idx, word) in self.words[..self.first_left()].iter().enumerate() {
            let is_version = (n_sessions..self.first_snapshot()).contains(&idx);
            let is_read = !is_version || self.words[self.first_left() + *word as usize] >> 16 > 0;
            let word = if is_read { *word } else { u32::MAX };
            hash = (hash ^ ((idx as u64) << 32 | u64::from(word))).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        }
        hash
    }
}

enum Settled {
    /// The session can never go on.
    Stuck,
    /// It did something.
    Moved,
    Waits,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_grow_with_their_numbers() {
        assert_eq!([0, 1, 2, 3, 4, 1024].map(log), [0, 0, 64, 96, 128, 640]);
        assert!((1..5_000).is_sorted_by_key(log));
    }
}
