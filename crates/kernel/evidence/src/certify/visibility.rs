//! Does each reader see whom its level makes it see? For the levels below prefix consistency.
//!
//! Along a commit order, "every other writer of x that S must see is older than S's source of x" needs only the
//! latest such writer: for each key, the greatest place in the order of anybody who must be seen.

use super::Uncertified;
use super::schedule::wrong;
use super::versions::CheckedReads;
use iso_history::{History, KeyId, TxnId};
use iso_spec::Level;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Checks a commit order and sources against a level's axiom.
pub(super) fn check_visibility(
    history: &History,
    level: Level,
    order: &[TxnId],
    reads: &CheckedReads,
) -> Result<(), Uncertified> {
    let scheduled = Scheduled::new(history, level, order, reads);
    for txn in order {
        if level == Level::ReadCommitted {
            scheduled.check_read_order(*txn)?;
        } else {
            let seen = scheduled.seen_by(*txn, level);
            scheduled.check_reads(*txn, &seen)?;
        }
    }
    Ok(())
}

/// For each key, the latest place of a writer that must be seen.
type Latest = BTreeMap<KeyId, usize>;

struct Scheduled<'a> {
    history: &'a History,
    reads: &'a CheckedReads,
    place: Vec<usize>,
    /// The keys that each scheduled transaction writes.
    writes: Vec<BTreeSet<KeyId>>,
    /// For each session its scheduled transactions.
    sessions: Vec<Vec<TxnId>>,
    /// For each session and key, the places of its writers, by their place in the session.
    session_writers: FxHashMap<(usize, KeyId), Vec<(usize, usize)>>,
    /// For each session and key, the latest writer of the key that the session's transactions read from, as it grows.
    session_reads: FxHashMap<(usize, KeyId), Vec<(usize, usize)>>,
    /// The writers of each key, in order.
    writers: FxHashMap<KeyId, Vec<TxnId>>,
    /// For the causal levels: how many transactions of each session are in the past of each transaction.
    past: Vec<BTreeMap<usize, usize>>,
}

impl<'a> Scheduled<'a> {
    fn new(history: &'a History, level: Level, order: &[TxnId], reads: &'a CheckedReads) -> Self {
        let mut scheduled = Self {
            history,
            reads,
            place: vec![0; history.n_txns()],
            writes: vec![BTreeSet::new(); history.n_txns()],
            sessions: vec![Vec::new(); history.n_sessions()],
            session_writers: FxHashMap::default(),
            session_reads: FxHashMap::default(),
            writers: FxHashMap::default(),
            past: vec![BTreeMap::new(); history.n_txns()],
        };
        for (idx, txn) in order.iter().enumerate() {
            scheduled.add(*txn, idx + 1, level);
        }
        scheduled
    }

    fn session(&self, txn: TxnId) -> usize {
        self.history.session_of(txn).map_or(usize::MAX, iso_history::SessionId::index)
    }

    fn add(&mut self, txn: TxnId, place: usize, level: Level) {
        self.place[txn.index()] = place;
        let (session, nth) = (self.session(txn), self.history.nth_in_session(txn));
        match level {
            Level::CausalConsistency => self.past[txn.index()] = self.past(txn, false),
            Level::ParallelSnapshotIsolation => self.past[txn.index()] = self.past(txn, true),
            _ => {}
        }
        for op in self.history.ops(txn).filter(|it| self.history.op(*it).is_write()) {
            self.writes[txn.index()].insert(self.history.op(op).key());
        }
        for key in &self.writes[txn.index()] {
            self.session_writers.entry((session, *key)).or_default().push((nth, place));
            self.writers.entry(*key).or_default().push(txn);
        }
        for source in self.sources(txn) {
            for key in &self.writes[source.index()] {
                let growing = self.session_reads.entry((session, *key)).or_default();
                let latest = growing.last().map_or(0, |it| it.1).max(self.place[source.index()]);
                growing.push((nth, latest));
            }
        }
        self.sessions[session].push(txn);
    }

    fn sources(&self, txn: TxnId) -> Vec<TxnId> {
        self.reads[txn.index()].iter().map(|it| it.source).filter(|it| !it.is_initial()).collect()
    }

    /// How many transactions of each session are in the causal past, earlier writers of the same keys included or not.
    fn past(&self, txn: TxnId, with_conflicts: bool) -> BTreeMap<usize, usize> {
        let mut past: BTreeMap<usize, usize> = BTreeMap::new();
        let mut direct = self.sources(txn);
        direct.extend(self.sessions[self.session(txn)].last());
        if with_conflicts {
            let keys = self.history.ops(txn).filter(|it| self.history.op(*it).is_write());
            let older = keys.filter_map(|it| self.writers.get(&self.history.op(it).key()).and_then(|it| it.last()));
            direct.extend(older.filter(|it| **it != txn));
        }
        for earlier in direct {
            for (session, count) in &self.past[earlier.index()] {
                let entry = past.entry(*session).or_default();
                *entry = (*entry).max(*count);
            }
            let entry = past.entry(self.session(earlier)).or_default();
            *entry = (*entry).max(self.history.nth_in_session(earlier) + 1);
        }
        past
    }

    /// The latest place of a writer of `key` among the first `before_nth` of a session.
    fn latest_in_session(&self, session: usize, key: KeyId, before_nth: usize) -> usize {
        let writers = self.session_writers.get(&(session, key)).map_or(&[][..], Vec::as_slice);
        writers[..writers.partition_point(|it| it.0 < before_nth)].last().map_or(0, |it| it.1)
    }

    fn latest_read_in_session(&self, session: usize, key: KeyId, before_nth: usize) -> usize {
        let growing = self.session_reads.get(&(session, key)).map_or(&[][..], Vec::as_slice);
        growing[..growing.partition_point(|it| it.0 < before_nth)].last().map_or(0, |it| it.1)
    }

    /// For each key that a transaction reads, the latest writer that it must see.
    fn seen_by(&self, txn: TxnId, level: Level) -> Latest {
        let (session, nth) = (self.session(txn), self.history.nth_in_session(txn));
        let keys: BTreeSet<KeyId> = self.reads[txn.index()].iter().map(|it| it.key).collect();
        let sources = self.sources(txn);
        let read_from = |key: KeyId| {
            let writers = sources.iter().filter(|it| self.writes[it.index()].contains(&key));
            writers.map(|it| self.place[it.index()]).max().unwrap_or(0)
        };
        let in_past = |past: &BTreeMap<usize, usize>, key: KeyId| {
            past.iter().map(|(session, count)| self.latest_in_session(*session, key, *count)).max().unwrap_or(0)
        };
        let from_sources = |latest: &dyn Fn(TxnId) -> usize| sources.iter().map(|it| latest(*it)).max().unwrap_or(0);
        let own = |key| self.latest_in_session(session, key, nth);
        keys.into_iter()
            .map(|key| {
                let latest = match level {
                    Level::ReadYourWrites => own(key),
                    Level::MonotonicReads => self.latest_read_in_session(session, key, nth),
                    Level::MonotonicWrites => from_sources(&|it| {
                        self.latest_in_session(self.session(it), key, self.history.nth_in_session(it))
                    }),
                    Level::WritesFollowReads => from_sources(&|it| {
                        self.latest_read_in_session(self.session(it), key, self.history.nth_in_session(it) + 1)
                    }),
                    Level::CausalConsistency | Level::ParallelSnapshotIsolation => {
                        in_past(&self.past[txn.index()], key)
                    }
                    Level::UpdateAtomic => own(key).max(read_from(key)).max(self.latest_conflicting(txn, key)),
                    _ => own(key).max(read_from(key)),
                };
                (key, latest)
            })
            .collect()
    }

    /// The latest earlier writer of `key` that writes another key in common with `txn`, or the same.
    fn latest_conflicting(&self, txn: TxnId, key: KeyId) -> usize {
        let earlier = self.writers.get(&key).map_or(&[][..], Vec::as_slice);
        let mut earlier = earlier.iter().rev().filter(|it| self.place[it.index()] < self.place[txn.index()]);
        let conflicts = |it: &&TxnId| !self.writes[it.index()].is_disjoint(&self.writes[txn.index()]);
        earlier.find(conflicts).map_or(0, |it| self.place[it.index()])
    }

    fn check_reads(&self, txn: TxnId, seen: &Latest) -> Result<(), Uncertified> {
        for read in &self.reads[txn.index()] {
            self.check_read(txn, read.key, read.source, seen.get(&read.key).copied().unwrap_or(0))?;
        }
        Ok(())
    }

    /// Read committed: what an earlier read of the transaction saw is not taken back by a later one.
    fn check_read_order(&self, txn: TxnId) -> Result<(), Uncertified> {
        let mut seen = Latest::new();
        for read in &self.reads[txn.index()] {
            self.check_read(txn, read.key, read.source, seen.get(&read.key).copied().unwrap_or(0))?;
            for key in &self.writes[read.source.index()] {
                let latest = seen.entry(*key).or_default();
                *latest = (*latest).max(self.place[read.source.index()]);
            }
        }
        Ok(())
    }

    fn check_read(&self, txn: TxnId, key: KeyId, source: TxnId, seen: usize) -> Result<(), Uncertified> {
        if seen <= self.place[source.index()] {
            return Ok(());
        }
        let (key, source) = (self.history.key_name(key), self.history.label(source));
        wrong_read(self.history, txn, &format!("reads {key} from {source} but must see a later writer of it"))
    }
}

fn wrong_read(history: &History, txn: TxnId, what: &str) -> Result<(), Uncertified> {
    Err(wrong(history, txn, what))
}
