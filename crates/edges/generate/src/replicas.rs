//! The causal store: each session has a replica of its own, which learns from others now and then.
//!
//! A replica has seen some first transactions of each session, and with each of them all that it had seen itself. Of
//! the writes of a key that it has seen, the last one counts, by the order of commits of all replicas. So causes are
//! never missed and replicas agree who is newer, while two of them can miss what the other one did.

/// A write that was committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Written {
    session: u32,
    /// How many transactions its session had committed by then.
    nth: u32,
    value: u64,
}

#[derive(Debug)]
pub(crate) struct Replicas {
    /// For each session, how many transactions of each session it has seen.
    seen: Vec<Vec<u32>>,
    /// The writes of each key, the oldest first, as far as somebody may still read them.
    written: Vec<Vec<Written>>,
    /// So many writes of a key are kept before it is asked who still needs them.
    n_kept: Vec<usize>,
}

/// Fewer writes of a key are not worth a look.
const N_KEPT_MIN: usize = 16;

impl Replicas {
    pub(crate) fn new(n_sessions: usize) -> Self {
        Self { seen: vec![vec![0; n_sessions]; n_sessions], written: Vec::new(), n_kept: Vec::new() }
    }

    /// Lets a session see all that another one has seen.
    pub(crate) fn learn(&mut self, session: usize, from: usize) {
        // Nobody learns from itself.
        let Ok([learner, teacher]) = self.seen.get_disjoint_mut([session, from]) else { return };
        for (mine, theirs) in learner.iter_mut().zip(teacher) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// What a session reads; nothing was written at first.
    pub(crate) fn read(&self, session: usize, key: u32) -> u64 {
        let written = self.written.get(key as usize).map_or(&[][..], Vec::as_slice);
        written.iter().rev().find(|it| self.has_seen(session, it)).map_or(0, |it| it.value)
    }

    fn has_seen(&self, session: usize, written: &Written) -> bool {
        self.seen[session][written.session as usize] >= written.nth
    }

    /// A session commits: what it writes is seen by itself, and later by who learns from it.
    pub(crate) fn commit(&mut self, session: usize, writes: impl Iterator<Item = (u32, u64)>) {
        self.seen[session][session] += 1;
        let nth = self.seen[session][session];
        for (key, value) in writes {
            let idx = key as usize;
            if idx >= self.written.len() {
                self.written.resize_with(idx + 1, Vec::new);
                self.n_kept.resize(idx + 1, N_KEPT_MIN);
            }
            self.written[idx].push(Written { session: session as u32, nth, value });
            if self.written[idx].len() > self.n_kept[idx] {
                self.forget(idx);
            }
        }
    }

    /// Drops the writes of a key that everybody has seen overwritten.
    fn forget(&mut self, key: usize) {
        let is_seen_by_all = |it: &Written| (0..self.seen.len()).all(|session| self.has_seen(session, it));
        let n_needless = self.written[key].iter().rposition(is_seen_by_all).unwrap_or(0);
        self.written[key].drain(..n_needless);
        self.n_kept[key] = N_KEPT_MIN.max(2 * self.written[key].len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_sees_itself_and_what_it_learns_with_its_causes() {
        let mut replicas = Replicas::new(3);
        replicas.commit(0, [(7, 10)].into_iter());
        assert_eq!([0, 1, 2].map(|it| replicas.read(it, 7)), [10, 0, 0]);
        replicas.learn(1, 0);
        replicas.commit(1, [(8, 20)].into_iter());
        replicas.learn(2, 1);
        assert_eq!((replicas.read(2, 8), replicas.read(2, 7)), (20, 10));
        assert_eq!(replicas.read(0, 8), 0);
    }

    #[test]
    fn of_two_writes_that_missed_each_other_the_later_commit_counts() {
        let mut replicas = Replicas::new(2);
        replicas.commit(1, [(0, 1)].into_iter());
        replicas.commit(0, [(0, 2), (0, 3)].into_iter());
        replicas.learn(0, 1);
        replicas.learn(1, 0);
        assert_eq!([0, 1].map(|it| replicas.read(it, 0)), [3, 3]);
    }

    #[test]
    fn what_everybody_has_seen_overwritten_is_forgotten_and_nothing_else() {
        let mut replicas = Replicas::new(2);
        for value in 0..200 {
            replicas.commit(0, [(0, value)].into_iter());
            if value == 100 {
                replicas.learn(1, 0);
            }
        }
        assert_eq!((replicas.read(0, 0), replicas.read(1, 0)), (199, 100));
        let oldest = replicas.written[0].first().map(|it| it.value);
        assert!(oldest.is_some_and(|it| (50..=100).contains(&it)), "{oldest:?}");
    }
}
