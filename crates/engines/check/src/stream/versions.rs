//! The versions of each key that the weak levels remember: those of the window, and those that left it not long ago.
//!
//! Both are lists, from new to old, in one table: most keys have one version, and there are many keys.

use iso_history::StreamedValue;

const NONE: u32 = u32::MAX;

/// Whose write something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writer {
    /// One in the window.
    Here(u32),
    /// One that left it, at this step.
    Left(u64),
    /// Nobody knows yet.
    Awaited,
}

#[derive(Clone, Debug)]
pub(super) struct Version {
    pub(super) value: StreamedValue,
    /// The place of its writer in the window, or the step at which that left.
    by: u64,
    pub(super) session: u32,
    pub(super) nth: u32,
    older: u32,
    newer: u32,
}

impl Version {
    /// The step at which its writer left, for one that did.
    pub(super) fn step(&self) -> u64 {
        self.by
    }

    /// The place of its writer, for one that is in the window.
    pub(super) fn slot(&self) -> u32 {
        self.by as u32
    }
}

#[derive(Clone, Copy, Debug)]
struct Lists {
    /// The newest of the window.
    here: u32,
    /// The newest and the oldest that left.
    left: u32,
    oldest: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Versions {
    default_initial: StreamedValue,
    keys: Vec<Lists>,
    all: Vec<Version>,
    free: Vec<u32>,
}

impl Versions {
    pub(super) fn new(default_initial: StreamedValue) -> Self {
        Self { default_initial, keys: Vec::new(), all: Vec::new(), free: Vec::new() }
    }

    /// Sets the initial value of a key that nobody has written to.
    pub(super) fn set_initial(&mut self, key: u32, value: StreamedValue) -> bool {
        let Lists { here, left, oldest } = self.lists(key);
        let is_fresh = here == NONE && left == oldest && self.all[left as usize].by == 0;
        if is_fresh {
            self.all[left as usize].value = value;
        }
        is_fresh
    }

    /// Somebody in the window wrote a value.
    pub(super) fn write(&mut self, key: u32, value: StreamedValue, slot: u32, (session, nth): (u32, u32)) {
        let older = self.lists(key).here;
        let at = self.place(Version { value, by: u64::from(slot), session, nth, older, newer: NONE });
        if older != NONE {
            self.all[older as usize].newer = at;
        }
        self.keys[key as usize].here = at;
    }

    /// The versions of the window, from new to old.
    pub(super) fn here(&self, key: u32) -> impl Iterator<Item = &Version> {
        self.from(self.keys.get(key as usize).map_or(NONE, |it| it.here))
    }

    /// Those that left it, from new to old.
    pub(super) fn left(&self, key: u32) -> impl Iterator<Item = &Version> {
        self.from(self.keys.get(key as usize).map_or(NONE, |it| it.left))
    }

    fn from(&self, first: u32) -> impl Iterator<Item = &Version> {
        std::iter::successors(self.all.get(first as usize), |it| self.all.get(it.older as usize))
    }

    /// Who wrote what somebody read: the newest that is remembered, and that was not overwritten before a step.
    pub(super) fn source(&mut self, reader: u32, key: u32, value: &StreamedValue, since: u64) -> Writer {
        self.lists(key);
        let is_it = |it: &&Version| it.value == *value && it.slot() != reader;
        if let Some(found) = self.here(key).find(is_it) {
            return Writer::Here(found.slot());
        }
        let mut overwritten_at = u64::MAX;
        for version in self.left(key) {
            if overwritten_at < since {
                break;
            }
            if version.value == *value {
                return Writer::Left(version.by);
            }
            overwritten_at = version.by;
        }
        Writer::Awaited
    }

    /// A version's writer left: the version comes behind all others that left, and what was overwritten before `since` is
    /// forgotten.
    pub(super) fn settle(&mut self, key: u32, slot: u32, step: u64, since: u64) {
        let mut at = self.keys[key as usize].here;
        while at != NONE && self.all[at as usize].slot() != slot {
            at = self.all[at as usize].older;
        }
        if at == NONE {
            return;
        }
        let Version { older, newer, .. } = self.all[at as usize];
        if newer == NONE {
            self.keys[key as usize].here = older;
        } else {
            self.all[newer as usize].older = older;
        }
        if older != NONE {
            self.all[older as usize].newer = newer;
        }
        let last = self.keys[key as usize].left;
        let version = &mut self.all[at as usize];
        (version.by, version.older, version.newer) = (step, last, NONE);
        self.all[last as usize].newer = at;
        self.keys[key as usize].left = at;
        self.forget(key, since);
    }

    /// The second version says when the first one was overwritten.
    fn forget(&mut self, key: u32, since: u64) {
        let lists = &mut self.keys[key as usize];
        loop {
            let second = self.all[lists.oldest as usize].newer;
            if second == NONE || self.all[second as usize].by >= since {
                break;
            }
            self.free.push(lists.oldest);
            lists.oldest = second;
            self.all[second as usize].older = NONE;
        }
    }

    fn lists(&mut self, key: u32) -> Lists {
        while self.keys.len() <= key as usize {
            let value = self.default_initial.clone();
            let at = self.place(Version { value, by: 0, session: NONE, nth: NONE, older: NONE, newer: NONE });
            self.keys.push(Lists { here: NONE, left: at, oldest: at });
        }
        self.keys[key as usize]
    }

    fn place(&mut self, version: Version) -> u32 {
        if let Some(at) = self.free.pop() {
            self.all[at as usize] = version;
            at
        } else {
            self.all.push(version);
            self.all.len() as u32 - 1
        }
    }
}
