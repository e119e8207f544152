//! Causal levels, where readers are stale by little: what a reader did not see must not have reached it.
//!
//! If S reads x from T, then whoever wrote x between T and S is *unseen* by S, and S is wrong if that is in its past
//! after all. So each unseen writer gets a mark of S, marks are handed on along the schedule from causes to effects, and
//! S is wrong if it gets its own mark. A word has the marks of 64 readers, so these take one pass together, from the
//! first writer that is unseen by one of them to the last of them.
//! Cost: for each 64 stale readers, the stretch of the schedule that they span. Where replicas lag far behind, that is
//! too much, and `past` is there.

use super::past::Causes;
use super::rows::Rows;
use super::uncertified::Uncertified;
use super::versions::{Place, Scheduled};
use iso_history::KeyId;

/// One mark for each of some readers.
type Marks = u64;

/// Passes may visit each place so often on average.
const MAX_VISITS: usize = 16;
/// And once more for so many sessions, each of which costs `past` a little.
const SESSIONS_PER_VISIT: usize = 8;

/// Checks that no transaction has in its past what it did not see; none if that takes too many steps.
pub(super) fn check_unseen(scheduled: &Scheduled<'_>, causes: Causes) -> Option<Result<(), Uncertified>> {
    let handing_on = HandingOn::new(scheduled, causes);
    let max_visits = MAX_VISITS + scheduled.history.n_sessions() / SESSIONS_PER_VISIT;
    let n_places = *scheduled.places().end() as usize + 1;
    let groups = handing_on.groups(Marks::BITS as usize, n_places * max_visits)?;
    Some(groups.iter().try_for_each(|it| handing_on.check(it)))
}

/// As [`check_unseen`], with so many readers in a pass, however long it takes.
#[cfg(test)]
pub(super) fn check_in_groups(scheduled: &Scheduled<'_>, causes: Causes, size: usize) -> Result<(), Uncertified> {
    let handing_on = HandingOn::new(scheduled, causes);
    let groups = handing_on.groups(size, usize::MAX).unwrap_or_default();
    groups.iter().try_for_each(|it| handing_on.check(it))
}

/// Stale readers, ascending, and the first writer that is unseen by one of them.
struct Group {
    first: Place,
    readers: Vec<Place>,
}

struct HandingOn<'a> {
    scheduled: &'a Scheduled<'a>,
    causes: Causes,
    /// For each key, its writers, ascending.
    writers: Rows<Place>,
    /// For each place, that of the transaction before in the session.
    previous: Vec<Place>,
}

impl<'a> HandingOn<'a> {
    fn new(scheduled: &'a Scheduled<'a>, causes: Causes) -> Self {
        let mut previous = vec![0; *scheduled.places().end() as usize + 1];
        let mut last_of_session = vec![0; scheduled.history.n_sessions()];
        for txn in scheduled.places() {
            previous[txn as usize] = std::mem::replace(&mut last_of_session[scheduled.session(txn)], txn);
        }
        Self { scheduled, causes, writers: scheduled.writers(), previous }
    }

    /// All stale readers in groups; none if all passes together have more steps than allowed.
    fn groups(&self, size: usize, max_steps: usize) -> Option<Vec<Group>> {
        let stale: Vec<Place> = self.scheduled.places().filter(|it| self.scheduled.is_stale(*it)).collect();
        let mut groups = Vec::new();
        let mut n_steps = 0;
        for readers in stale.chunks(size) {
            let unseen = || readers.iter().flat_map(|it| self.unseen(*it));
            let first = unseen().filter_map(|it| it.first().copied()).min().unwrap_or(Place::MAX);
            let last = readers.last().copied().unwrap_or(first);
            n_steps += last.saturating_sub(first) as usize + unseen().map(<[_]>::len).sum::<usize>();
            if n_steps > max_steps {
                return None;
            }
            groups.push(Group { first, readers: readers.to_vec() });
        }
        Some(groups)
    }

    /// For each read of a transaction, who wrote the key between the source and the reader.
    fn unseen(&self, reader: Place) -> impl Iterator<Item = &[Place]> {
        self.scheduled.reads(reader).iter().map(move |(key, source)| {
            let writers = self.writers.of(key.raw());
            let (start, end) = (writers.partition_point(|it| it <= source), writers.partition_point(|it| *it < reader));
            &writers[start..end.max(start)]
        })
    }

    /// Hands the marks of a group's readers on, until the last of them.
    fn check(&self, group: &Group) -> Result<(), Uncertified> {
        let last = group.readers.last().copied().unwrap_or(0);
        if last < group.first {
            return Ok(());
        }
        let mut marks: Vec<Marks> = vec![0; (last - group.first) as usize + 1];
        for (nth, reader) in group.readers.iter().enumerate() {
            for writer in self.unseen(*reader).flatten() {
                marks[(writer - group.first) as usize] |= 1 << nth;
            }
        }
        let mut next = 0;
        for txn in group.first..=last {
            let mut handed: Marks = 0;
            self.each_cause(txn, |cause| {
                handed |= cause.checked_sub(group.first).map_or(0, |it| marks[it as usize]);
            });
            if group.readers.get(next) == Some(&txn) {
                if handed & (1 << next) != 0 {
                    return Err(self.wrong(txn));
                }
                next += 1;
            }
            marks[(txn - group.first) as usize] |= handed;
        }
        Ok(())
    }

    fn each_cause(&self, txn: Place, mut visit: impl FnMut(Place)) {
        visit(self.previous[txn as usize]);
        self.scheduled.reads(txn).iter().for_each(|(_, source)| visit(*source));
        if self.causes == Causes::AlsoOlderVersions {
            for key in self.scheduled.writes(txn) {
                let writers = self.writers.of(key.raw());
                writers[..writers.partition_point(|it| *it < txn)].last().into_iter().for_each(|it| visit(*it));
            }
        }
    }

    fn wrong(&self, reader: Place) -> Uncertified {
        let mut reads = self.scheduled.reads(reader).iter().zip(self.unseen(reader));
        let (key, source) = reads.find(|it| !it.1.is_empty()).map_or((KeyId::from_index(0), 0), |it| *it.0);
        self.scheduled.wrong_read(reader, key, source)
    }
}
