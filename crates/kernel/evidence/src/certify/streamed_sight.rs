//! Levels below prefix consistency, as a stream: does each reader see whom its level makes it see?
//!
//! Along the schedule, no version of a key that is newer than the one that was read may be by somebody whom the reader must
//! see: at read committed the sources of its earlier reads, at read atomic its session and all its sources, at causal
//! consistency everybody whom these see in turn. Versions are remembered for some steps after they were overwritten, and
//! the last one of each key for ever. So everything that is newer than a remembered version is remembered, too; whoever reads
//! what is forgotten is refused.
//!
//! Causes are numbers, one for each session: how many of its transactions are seen. Those of a step that is forgotten need
//! not be known: they are older than it, and a version that one of them overwrote is forgotten as well.

use super::streamed::wrong;
use super::uncertified::Uncertified;
use iso_history::{KeyId, StreamedTxn, StreamedValue};
use iso_spec::Level;
use rustc_hash::FxHashMap;

const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub(super) struct Sight {
    level: Level,
    memory: u64,
    default_initial: StreamedValue,
    keys: Vec<Ends>,
    /// How many elements lists have by now.
    lists: FxHashMap<KeyId, u32>,
    versions: Vec<Version>,
    /// Places of versions that are forgotten.
    free: Vec<u32>,
    /// The number of the next step; the initial state is step 0.
    now: u64,
    /// What recent steps saw, themselves included.
    recent: Rows,
    /// What the last transaction of each session saw, itself included.
    sessions: Rows,
    /// The sources of the reads of one transaction, and whom it sees.
    sources: Vec<u64>,
    causes: Vec<u32>,
}

/// The versions of a key that are remembered: a list.
#[derive(Clone, Copy, Debug)]
struct Ends {
    newest: u32,
    oldest: u32,
}

#[derive(Clone, Debug)]
struct Version {
    value: StreamedValue,
    /// The step that wrote it.
    step: u64,
    session: u32,
    nth: u32,
    older: u32,
    newer: u32,
    /// Of a list, how many elements it has up to here.
    length: u32,
}

impl Sight {
    pub(super) fn new(level: Level, default_initial: StreamedValue, memory: u64) -> Self {
        Self {
            level,
            memory: memory.max(1),
            default_initial,
            keys: Vec::new(),
            lists: FxHashMap::default(),
            versions: Vec::new(),
            free: Vec::new(),
            now: 1,
            recent: Rows::default(),
            sessions: Rows::default(),
            sources: Vec::new(),
            causes: Vec::new(),
        }
    }

    /// The initial value of one key; false if somebody wrote to it before.
    pub(super) fn initial(&mut self, key: KeyId, value: StreamedValue) -> bool {
        let Ends { newest, oldest } = self.ends(key);
        let version = &mut self.versions[newest as usize];
        let is_in_time = newest == oldest && version.step == 0;
        if is_in_time {
            if value == StreamedValue::Empty {
                self.lists.insert(key, 0);
            }
            version.value = value;
        }
        is_in_time
    }

    /// One whole transaction.
    pub(super) fn step(&mut self, txn: &StreamedTxn<'_>, sources: &[u64]) -> Result<(), Uncertified> {
        self.sources.clear();
        let mut lists = txn.lists();
        for (nth, (key, value)) in txn.reads().iter().enumerate() {
            // A source before the beginning is none.
            let named =
                sources.get(nth).filter(|it| **it > 0).map(|ago| self.now.checked_sub(*ago).unwrap_or(u64::MAX));
            // All reads of a list are among those of lists, in the same order.
            let is_list = !self.lists.is_empty() && self.lists.contains_key(key);
            let length = if is_list { lists.next().map(|it| it.1.len()) } else { None };
            let source = self.source(txn, (*key, value), named, length)?;
            self.sources.push(source);
        }
        if self.level == Level::CausalConsistency {
            self.see(txn.session.index());
        }
        for (nth, (key, _)) in txn.reads().iter().enumerate() {
            let newer = self.newest_first(*key).take_while(|it| it.step > self.sources[nth]);
            let must_be_seen = |it: &Version| match self.level {
                Level::ReadCommitted => self.sources[..nth].contains(&it.step),
                Level::ReadAtomic => it.session == txn.session.raw() || self.sources.contains(&it.step),
                _ => self.causes.get(it.session as usize).is_some_and(|n| it.nth < *n),
            };
            if newer.into_iter().any(must_be_seen) {
                return Err(wrong(txn, "must see a newer version than the one that it read"));
            }
        }
        self.write(txn);
        Ok(())
    }

    fn newest_first(&self, key: KeyId) -> impl Iterator<Item = &Version> {
        let get = |at: u32| self.versions.get(at as usize);
        let newest = self.keys.get(key.index()).map_or(NONE, |it| it.newest);
        std::iter::successors(get(newest), move |it| get(it.older))
    }

    /// The step that wrote what was read.
    fn source(
        &mut self,
        txn: &StreamedTxn<'_>,
        (key, value): (KeyId, &StreamedValue),
        named: Option<u64>,
        length: Option<usize>,
    ) -> Result<u64, Uncertified> {
        self.ends(key);
        let is_it = |it: &&Version| {
            it.value == *value
                && named.is_none_or(|step| step == it.step)
                && length.is_none_or(|length| length == it.length as usize)
        };
        let Some(found) = self.newest_first(key).find(is_it) else {
            let value = value.as_name().shown();
            return Err(wrong(txn, &format!("read {value}, which nobody before it left there, or too long ago")));
        };
        // What older steps saw is forgotten, so nothing is known of who must see what they wrote.
        if self.versions.get(found.newer as usize).is_some_and(|it| it.step + self.memory < self.now) {
            return Err(wrong(txn, "read what was overwritten too long ago"));
        }
        Ok(found.step)
    }

    /// Everybody whom a transaction sees: its session, its sources, and whom these see.
    fn see(&mut self, session: usize) {
        if session >= self.sessions.width {
            let width = (session + 1).next_power_of_two();
            self.recent.widen(width);
            self.sessions.widen(width);
            self.sessions.numbers.resize(width * width, 0);
        }
        self.causes.clear();
        self.causes.extend_from_slice(self.sessions.row(session));
        for step in self.sources.iter().filter(|it| **it > 0 && **it + self.memory >= self.now) {
            let seen = self.recent.row(((step - 1) % self.memory) as usize);
            for (mine, theirs) in self.causes.iter_mut().zip(seen) {
                *mine = (*mine).max(*theirs);
            }
        }
    }

    fn write(&mut self, txn: &StreamedTxn<'_>) {
        let step = self.now;
        for (key, value) in txn.writes() {
            let length = match self.lists.get_mut(key) {
                Some(length) => {
                    *length += txn.appended(*key).count() as u32;
                    *length
                }
                None => 0,
            };
            self.push(*key, value.clone(), (txn.session.raw(), txn.nth), (step, length));
            self.forget(*key, step);
        }
        self.now += 1;
        if self.level == Level::CausalConsistency {
            let session = txn.session.index();
            self.causes[session] = txn.nth + 1;
            self.recent.set(((step - 1) % self.memory) as usize, &self.causes);
            self.sessions.set(session, &self.causes);
        }
    }

    fn push(&mut self, key: KeyId, value: StreamedValue, (session, nth): (u32, u32), (step, length): (u64, u32)) {
        let older = self.ends(key).newest;
        let at = self.place(Version { value, step, session, nth, older, newer: NONE, length });
        self.versions[older as usize].newer = at;
        self.keys[key.index()].newest = at;
    }

    fn place(&mut self, version: Version) -> u32 {
        if let Some(at) = self.free.pop() {
            self.versions[at as usize] = version;
            at
        } else {
            self.versions.push(version);
            self.versions.len() as u32 - 1
        }
    }

    /// The second version of a key says when the first one was overwritten.
    fn forget(&mut self, key: KeyId, step: u64) {
        let ends = &mut self.keys[key.index()];
        loop {
            let second = self.versions[ends.oldest as usize].newer;
            if second == NONE || self.versions[second as usize].step + self.memory >= step {
                break;
            }
            self.free.push(ends.oldest);
            ends.oldest = second;
            self.versions[second as usize].older = NONE;
        }
    }

    fn ends(&mut self, key: KeyId) -> Ends {
        while key.index() >= self.keys.len() {
            let value = self.default_initial.clone();
            let (step, session, nth, older, newer, length) = (0, NONE, NONE, NONE, NONE, 0);
            let at = self.place(Version { value, step, session, nth, older, newer, length });
            self.keys.push(Ends { newest: at, oldest: at });
        }
        self.keys[key.index()]
    }
}

/// Rows of numbers, one after the other.
#[derive(Clone, Debug, Default)]
struct Rows {
    width: usize,
    numbers: Vec<u32>,
}

impl Rows {
    fn row(&self, nth: usize) -> &[u32] {
        &self.numbers[nth * self.width..(nth + 1) * self.width]
    }

    /// Replaces a row, or adds it behind the last one.
    fn set(&mut self, nth: usize, row: &[u32]) {
        let start = nth * self.width;
        if start == self.numbers.len() {
            self.numbers.extend_from_slice(row);
        } else {
            self.numbers[start..start + self.width].copy_from_slice(row);
        }
    }

    /// All rows get longer; what is new is 0.
    fn widen(&mut self, width: usize) {
        if let Some(n_rows) = self.numbers.len().checked_div(self.width) {
            let mut numbers = vec![0; n_rows * width];
            for nth in 0..n_rows {
                numbers[nth * width..nth * width + self.width].copy_from_slice(self.row(nth));
            }
            self.numbers = numbers;
        }
        self.width = width;
    }
}
