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
use iso_history::{Datum, KeyId, StreamedTxn};
use iso_spec::Level;
use std::collections::VecDeque;

/// Who was seen: for each session, how many of its transactions.
type Causes = Vec<u32>;

#[derive(Clone, Debug)]
pub(super) struct Sight {
    level: Level,
    memory: u64,
    default_initial: Datum,
    /// By key, versions from old to new.
    keys: Vec<Vec<Version>>,
    /// The number of the next step; the initial state is step 0.
    now: u64,
    /// What recent steps saw, themselves included; the first one is that of the oldest step that is remembered.
    recent: VecDeque<Causes>,
    /// What the last transaction of each session saw, itself included.
    sessions: Vec<Causes>,
}

#[derive(Clone, Debug)]
struct Version {
    value: Datum,
    /// The step that wrote it.
    step: u64,
    session: u32,
    nth: u32,
}

impl Sight {
    pub(super) fn new(level: Level, default_initial: Datum, memory: u64) -> Self {
        Self { level, memory, default_initial, keys: Vec::new(), now: 1, recent: VecDeque::new(), sessions: Vec::new() }
    }

    pub(super) fn initial(&mut self, key: KeyId, value: Datum) {
        *self.versions(key) = vec![initially(value)];
    }

    /// One whole transaction.
    pub(super) fn step(&mut self, txn: &StreamedTxn, sources: &[u64]) -> Result<(), Uncertified> {
        let session = txn.session.index();
        if session >= self.sessions.len() {
            self.sessions.resize(session + 1, Causes::new());
        }
        let mut steps = Vec::with_capacity(txn.reads().len());
        for (nth, (key, value)) in txn.reads().iter().enumerate() {
            // A source before the beginning is none.
            let named =
                sources.get(nth).filter(|it| **it > 0).map(|ago| self.now.checked_sub(*ago).unwrap_or(u64::MAX));
            steps.push(self.source(txn, *key, value, named)?);
        }
        let causes = (self.level == Level::CausalConsistency).then(|| self.causes(session, &steps));
        for (nth, (key, _)) in txn.reads().iter().enumerate() {
            let newer = self.keys[key.index()].iter().rev().take_while(|it| it.step > steps[nth]);
            let must_be_seen = |it: &Version| match self.level {
                Level::ReadCommitted => steps[..nth].contains(&it.step),
                Level::ReadAtomic => it.session == txn.session.raw() || steps.contains(&it.step),
                _ => causes.as_ref().is_none_or(|causes| causes.get(it.session as usize).is_some_and(|n| it.nth < *n)),
            };
            if newer.into_iter().any(must_be_seen) {
                return Err(wrong(txn, "must see a newer version than the one that it read"));
            }
        }
        self.write(txn, causes);
        Ok(())
    }

    /// The step that wrote what was read.
    fn source(&mut self, txn: &StreamedTxn, key: KeyId, value: &Datum, named: Option<u64>) -> Result<u64, Uncertified> {
        let is_it = |it: &&Version| it.value == *value && named.is_none_or(|step| step == it.step);
        let (now, memory) = (self.now, self.memory);
        let versions = self.versions(key);
        let found = versions.iter().rposition(|it| is_it(&it));
        let Some(place) = found else {
            let value = value.as_name().shown();
            return Err(wrong(txn, &format!("read {value}, which nobody before it left there, or too long ago")));
        };
        // What older steps saw is forgotten, so nothing is known of who must see what they wrote.
        if versions.get(place + 1).is_some_and(|it| it.step + memory < now) {
            return Err(wrong(txn, "read what was overwritten too long ago"));
        }
        Ok(versions[place].step)
    }

    /// Everybody whom a transaction sees: its session, its sources, and whom these see.
    fn causes(&self, session: usize, steps: &[u64]) -> Causes {
        let mut causes = self.sessions[session].clone();
        let oldest = self.now - self.recent.len() as u64;
        for step in steps.iter().filter(|it| **it >= oldest) {
            let seen = &self.recent[(*step - oldest) as usize];
            if causes.len() < seen.len() {
                causes.resize(seen.len(), 0);
            }
            for (mine, theirs) in causes.iter_mut().zip(seen) {
                *mine = (*mine).max(*theirs);
            }
        }
        causes
    }

    fn write(&mut self, txn: &StreamedTxn, causes: Option<Causes>) {
        let (session, step, memory) = (txn.session.index(), self.now, self.memory);
        for (key, value) in txn.writes() {
            let versions = self.versions(*key);
            // Most keys have one version or two, and there are many keys.
            versions.reserve_exact(1);
            versions.push(Version { value: value.clone(), step, session: txn.session.raw(), nth: txn.nth });
            // The second one says when the first one was overwritten.
            let n_forgotten = versions.iter().skip(1).take_while(|it| it.step + memory < step).count();
            versions.drain(..n_forgotten);
        }
        self.now += 1;
        let Some(mut causes) = causes else { return };
        if causes.len() <= session {
            causes.resize(session + 1, 0);
        }
        causes[session] = txn.nth + 1;
        self.recent.push_back(causes.clone());
        if self.recent.len() as u64 > memory {
            self.recent.pop_front();
        }
        self.sessions[session] = causes;
    }

    fn versions(&mut self, key: KeyId) -> &mut Vec<Version> {
        if key.index() >= self.keys.len() {
            let initial = self.default_initial.clone();
            self.keys.resize_with(key.index() + 1, || vec![initially(initial.clone())]);
        }
        &mut self.keys[key.index()]
    }
}

fn initially(value: Datum) -> Version {
    Version { value, step: 0, session: u32::MAX, nth: u32::MAX }
}
