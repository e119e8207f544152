//! Causal levels: nobody misses what is in its past.
//!
//! The past of a transaction is all that leads to it by session order and reads-from, and under parallel snapshot
//! isolation by older versions of what it writes. Since the schedule has each session in order, the past is known by one
//! place a session: the last one there that is in the past. All sessions at once would need too much memory, so they
//! are taken in blocks, each with a walk of its own along the schedule.
//!
//! If S reads x from T, then the last writer of x in each session of the block that is in the past of S must not be newer
//! than T. Who read nothing that was overwritten before need not be looked at.
//! Cost: reads times sessions; memory, one row of places a transaction.

#[cfg(test)]
mod tests;

use super::rows::Rows;
use super::uncertified::Uncertified;
use super::versions::{Place, Scheduled};

/// What leads from one transaction to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Causes {
    SessionsAndSources,
    AlsoOlderVersions,
}

/// The rows of a block need about this much memory.
const TABLE_BYTES: usize = 64 << 20;
/// A block has at least so many sessions, whatever that needs.
const MIN_SESSIONS: usize = 16;

/// Checks that each transaction sees its past.
pub(super) fn check_past(scheduled: &Scheduled<'_>, causes: Causes) -> Result<(), Uncertified> {
    let n_places = *scheduled.places().end() as usize + 1;
    check_in_blocks(scheduled, causes, (TABLE_BYTES / size_of::<Place>() / n_places).max(MIN_SESSIONS))
}

/// As [`check_past`], with at most so many sessions at a time.
fn check_in_blocks(scheduled: &Scheduled<'_>, causes: Causes, max_width: usize) -> Result<(), Uncertified> {
    let n_places = *scheduled.places().end() as usize + 1;
    let n_sessions = scheduled.history.n_sessions();
    // Blocks of about the same size.
    let n_blocks = n_sessions.div_ceil(max_width).max(1);
    let width = n_sessions.div_ceil(n_blocks).max(1);
    let sessions = scheduled.sessions();
    let mut past = vec![0; n_places * width];
    let mut firsts = (0..n_sessions).step_by(width);
    firsts.try_for_each(|it| Block::new(scheduled, &sessions, it, width).walk(&mut past, causes))
}

/// Some neighbouring sessions.
struct Block<'a> {
    scheduled: &'a Scheduled<'a>,
    first_session: usize,
    width: usize,
    /// For each key, its writers in the block: session (counted from the first of the block) and place, ascending.
    writers: Rows<(u32, Place)>,
}

impl<'a> Block<'a> {
    fn new(scheduled: &'a Scheduled<'a>, sessions: &Rows<Place>, first_session: usize, width: usize) -> Self {
        let width = width.min(scheduled.history.n_sessions() - first_session);
        let writes = || {
            let places =
                (0..width as u32).flat_map(|it| sessions.of(first_session as u32 + it).iter().map(move |at| (it, *at)));
            places.flat_map(|it| scheduled.writes(it.1).map(move |key| (key.index(), it)))
        };
        let writers = Rows::grouped(scheduled.history.n_keys(), writes);
        Self { scheduled, first_session, width, writers }
    }

    /// Walks along the schedule. `past` gets a row for each place: the last place of each session of the block that is
    /// in the past, or is the place itself. The row of the initial transaction stays empty.
    fn walk(&self, past: &mut [Place], causes: Causes) -> Result<(), Uncertified> {
        let scheduled = self.scheduled;
        let mut last_writer = vec![0; scheduled.history.n_keys()];
        let mut last_of_session = vec![0; scheduled.history.n_sessions()];
        for txn in scheduled.places() {
            let (before, rest) = past.split_at_mut(txn as usize * self.width);
            let row = &mut rest[..self.width];
            let session = scheduled.session(txn);
            row.copy_from_slice(self.row(before, last_of_session[session]));
            for (_, source) in scheduled.reads(txn) {
                join(row, self.row(before, *source));
            }
            if causes == Causes::AlsoOlderVersions {
                for key in scheduled.writes(txn) {
                    join(row, self.row(before, last_writer[key.index()]));
                    last_writer[key.index()] = txn;
                }
            }
            if scheduled.is_stale(txn) {
                self.check(txn, row)?;
            }
            last_of_session[session] = txn;
            if (self.first_session..self.first_session + self.width).contains(&session) {
                row[session - self.first_session] = txn;
            }
        }
        Ok(())
    }

    fn row<'p>(&self, past: &'p [Place], txn: Place) -> &'p [Place] {
        &past[txn as usize * self.width..][..self.width]
    }

    /// Nobody who wrote what was read is in the past and newer than the source.
    fn check(&self, reader: Place, past: &[Place]) -> Result<(), Uncertified> {
        let mut reads = self.scheduled.reads(reader).iter();
        match reads.find(|(key, source)| Self::misses(past, self.writers.of(key.raw()), *source)) {
            Some((key, source)) => Err(self.scheduled.wrong_read(reader, *key, *source)),
            None => Ok(()),
        }
    }

    /// Is one of these writers of a key in the past, and newer than the source?
    fn misses(past: &[Place], writers: &[(u32, Place)], source: Place) -> bool {
        (0..).zip(past).filter(|it| *it.1 > source).any(|(session, last)| {
            let n_in_past = writers.partition_point(|it| *it <= (session, *last));
            let last_writer = writers[..n_in_past].last();
            last_writer.is_some_and(|it| it.0 == session && it.1 > source)
        })
    }
}

fn join(row: &mut [Place], other: &[Place]) {
    for (mine, theirs) in row.iter_mut().zip(other) {
        *mine = (*mine).max(*theirs);
    }
}
