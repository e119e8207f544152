//! Does each reader see whom its level makes it see? For the levels below prefix consistency.
//!
//! Along a commit order, "every other writer of x that S must see is older than S's source of x" needs only the
//! latest such writer: for each key, the greatest place in the order of anybody who must be seen. Who read nothing that
//! was overwritten before need not be looked at.
//! Cost: read committed and read atomic, for each transaction and source the shorter of what is read and written.

use super::guarantees::check_guarantee;
use super::uncertified::Uncertified;

use super::past::{Causes, check_past};
use super::unseen::check_unseen;
use super::versions::{Place, Scheduled};
use iso_history::KeyId;
use iso_spec::Level;

/// Checks a schedule and its sources against a level's axiom.
pub(super) fn check_visibility(scheduled: &Scheduled<'_>, level: Level) -> Result<(), Uncertified> {
    match level {
        Level::ReadCommitted => check_read_order(scheduled),
        Level::ReadAtomic => check_direct(scheduled),
        Level::UpdateAtomic => {
            check_direct(scheduled)?;
            check_conflicting(scheduled)
        }
        Level::CausalConsistency => check_causes(scheduled, Causes::SessionsAndSources),
        Level::ParallelSnapshotIsolation => check_causes(scheduled, Causes::AlsoOlderVersions),
        _ => check_guarantee(scheduled, level),
    }
}

fn check_causes(scheduled: &Scheduled<'_>, causes: Causes) -> Result<(), Uncertified> {
    check_unseen(scheduled, causes).unwrap_or_else(|| check_past(scheduled, causes))
}

/// Read committed: what an earlier read of the transaction saw is not taken back by a later one.
fn check_read_order(scheduled: &Scheduled<'_>) -> Result<(), Uncertified> {
    let mut latest = Latest::new(scheduled);
    for reader in scheduled.places().filter(|it| scheduled.is_stale(*it)) {
        latest.start(reader);
        for (key, source) in scheduled.reads(reader) {
            latest.check_read(scheduled, reader, (*key, *source))?;
            latest.see_what_is_read(scheduled, *source, reader);
        }
    }
    Ok(())
}

/// Read atomic: its session's earlier transactions, and those that it read from.
fn check_direct(scheduled: &Scheduled<'_>) -> Result<(), Uncertified> {
    check_guarantee(scheduled, Level::ReadYourWrites)?;
    let mut latest = Latest::new(scheduled);
    for reader in scheduled.places().filter(|it| scheduled.is_stale(*it)) {
        latest.start(reader);
        for (_, source) in scheduled.reads(reader) {
            latest.see_what_is_read(scheduled, *source, reader);
        }
        latest.check(scheduled, reader)?;
    }
    Ok(())
}

/// Update atomic: nobody overwrote what a transaction read, before it, and writes another key of it, too.
fn check_conflicting(scheduled: &Scheduled<'_>) -> Result<(), Uncertified> {
    let writers = scheduled.writers();
    for reader in scheduled.places().filter(|it| scheduled.is_stale(*it) && scheduled.writes(*it).len() > 0) {
        for (key, source) in scheduled.reads(reader) {
            let writers = writers.of(key.raw());
            let newer = &writers[writers.partition_point(|it| it <= source)..];
            if newer.iter().take_while(|it| **it < reader).any(|it| conflict(scheduled, *it, reader)) {
                return Err(scheduled.wrong_read(reader, *key, *source));
            }
        }
    }
    Ok(())
}

/// Do two transactions write a common key?
fn conflict(scheduled: &Scheduled<'_>, one: Place, other: Place) -> bool {
    let (one, other) =
        if scheduled.writes(one).len() < scheduled.writes(other).len() { (one, other) } else { (other, one) };
    scheduled.writes(one).any(|it| scheduled.does_write(other, it))
}

/// For each key, the latest writer of it that must be seen by somebody.
pub(super) struct Latest {
    /// Who it is that must see them: a reader, or a session.
    whose: u32,
    /// By key: who must see it, and the writer.
    by_key: Vec<(u32, Place)>,
    /// By place: who must see what was written there.
    is_seen: Vec<u32>,
}

const NOBODY: u32 = u32::MAX;

impl Latest {
    pub(super) fn new(scheduled: &Scheduled<'_>) -> Self {
        let n_places = *scheduled.places().end() as usize + 1;
        Self { whose: NOBODY, by_key: vec![(NOBODY, 0); scheduled.history.n_keys()], is_seen: vec![NOBODY; n_places] }
    }

    /// Turns to somebody else, who need not see anybody yet.
    pub(super) fn start(&mut self, whose: u32) {
        self.whose = whose;
    }

    /// Everything that `writer` wrote must be seen.
    pub(super) fn see_all(&mut self, scheduled: &Scheduled<'_>, writer: Place) {
        if self.is_new(writer) {
            for key in scheduled.writes(writer) {
                self.see(key, writer);
            }
        }
    }

    /// What `writer` wrote must be seen, as far as `reader` reads it: walks the shorter list.
    fn see_what_is_read(&mut self, scheduled: &Scheduled<'_>, writer: Place, reader: Place) {
        if scheduled.writes(writer).len() <= scheduled.reads(reader).len() {
            self.see_all(scheduled, writer);
        } else if self.is_new(writer) {
            for (key, _) in scheduled.reads(reader).iter().filter(|it| scheduled.does_write(writer, it.0)) {
                self.see(*key, writer);
            }
        }
    }

    fn is_new(&mut self, writer: Place) -> bool {
        writer != 0 && std::mem::replace(&mut self.is_seen[writer as usize], self.whose) != self.whose
    }

    fn see(&mut self, key: KeyId, writer: Place) {
        let (whose, latest) = &mut self.by_key[key.index()];
        *latest = if *whose == self.whose { (*latest).max(writer) } else { writer };
        *whose = self.whose;
    }

    /// Each read of a transaction saw the latest writer of its key that must be seen, or a newer one.
    pub(super) fn check(&self, scheduled: &Scheduled<'_>, reader: Place) -> Result<(), Uncertified> {
        scheduled.reads(reader).iter().try_for_each(|it| self.check_read(scheduled, reader, *it))
    }

    fn check_read(&self, scheduled: &Scheduled<'_>, reader: Place, read: (KeyId, Place)) -> Result<(), Uncertified> {
        let (key, source) = read;
        let (whose, latest) = self.by_key[key.index()];
        if whose == self.whose && latest > source { Err(scheduled.wrong_read(reader, key, source)) } else { Ok(()) }
    }
}
