//! Causal levels, as far as nobody missed anything that is long past: walks back from each reader.
//!
//! If S reads x from T, then whoever S misses wrote x after T. So S must be looked at only if somebody overwrote what it
//! read, and its past only back to the first who did. Where transactions see what was there a moment ago, the past ends
//! before that, and there is nothing to walk. Where replicas lag behind, it takes too long, and `past` is there.
//! Cost: at most a number of steps that is linear in operations.

use super::Uncertified;
use super::past::Causes;
use super::rows::Rows;
use super::versions::{Place, Scheduled};
use iso_history::KeyId;

/// Walks may take so many steps for each operation of the history.
const STEPS_PER_OP: usize = 4;

/// Checks that each transaction sees its past; none if that takes too many steps.
pub(super) fn check_near(scheduled: &Scheduled<'_>, causes: Causes) -> Option<Result<(), Uncertified>> {
    let mut walks = Walks::new(scheduled, causes);
    for reader in scheduled.places().filter(|it| scheduled.is_stale(*it)) {
        match walks.walk(reader) {
            Walk::MissesNobody => {}
            Walk::Misses(key, source) => return Some(Err(scheduled.wrong_read(reader, key, source))),
            Walk::TooLong => return None,
        }
    }
    Some(Ok(()))
}

/// What a walk back from a reader found.
enum Walk {
    MissesNobody,
    /// Somebody in the past wrote this key after the place where the reader read it from.
    Misses(KeyId, Place),
    TooLong,
}

struct Walks<'a> {
    scheduled: &'a Scheduled<'a>,
    causes: Causes,
    /// For each key, its writers, ascending.
    writers: Rows<Place>,
    /// For each place, that of the transaction before in the session.
    previous: Vec<Place>,
    /// For each place, the reader from which a walk came by last.
    reached_from: Vec<Place>,
    pending: Vec<Place>,
    n_steps_left: usize,
}

impl<'a> Walks<'a> {
    fn new(scheduled: &'a Scheduled<'a>, causes: Causes) -> Self {
        let n_places = *scheduled.places().end() as usize + 1;
        let mut previous = vec![0; n_places];
        let mut last_of_session = vec![0; scheduled.history.n_sessions()];
        for txn in scheduled.places() {
            previous[txn as usize] = std::mem::replace(&mut last_of_session[scheduled.session(txn)], txn);
        }
        Self {
            scheduled,
            causes,
            writers: scheduled.writers(),
            previous,
            reached_from: vec![0; n_places],
            pending: Vec::new(),
            n_steps_left: STEPS_PER_OP * (scheduled.history.n_ops() + n_places),
        }
    }

    fn walk(&mut self, reader: Place) -> Walk {
        let is_overwritten = |read: &&(KeyId, Place)| self.first_after(read.0, read.1) < reader;
        let stale: Vec<(KeyId, Place)> = self.scheduled.reads(reader).iter().filter(is_overwritten).copied().collect();
        let first = stale.iter().map(|it| self.first_after(it.0, it.1)).min().unwrap_or(reader);
        self.pending.push(reader);
        while let Some(txn) = self.pending.pop() {
            for cause in self.causes_of(txn) {
                if self.n_steps_left == 0 {
                    return Walk::TooLong;
                }
                self.n_steps_left -= 1;
                if cause < first || self.reached_from[cause as usize] == reader {
                    continue;
                }
                self.reached_from[cause as usize] = reader;
                self.n_steps_left = self.n_steps_left.saturating_sub(stale.len());
                let is_missed = |it: &&(KeyId, Place)| cause > it.1 && self.scheduled.does_write(cause, it.0);
                if let Some((key, source)) = stale.iter().find(is_missed) {
                    return Walk::Misses(*key, *source);
                }
                self.pending.push(cause);
            }
        }
        Walk::MissesNobody
    }

    /// The first writer of a key after some place.
    fn first_after(&self, key: KeyId, place: Place) -> Place {
        let writers = self.writers.of(key.raw());
        writers.get(writers.partition_point(|it| *it <= place)).copied().unwrap_or(Place::MAX)
    }

    fn causes_of(&self, txn: Place) -> Vec<Place> {
        let mut causes: Vec<Place> = self.scheduled.reads(txn).iter().map(|it| it.1).collect();
        causes.push(self.previous[txn as usize]);
        if self.causes == Causes::AlsoOlderVersions {
            for key in self.scheduled.writes(txn) {
                let writers = self.writers.of(key.raw());
                causes.extend(writers[..writers.partition_point(|it| *it < txn)].last());
            }
        }
        causes
    }
}
