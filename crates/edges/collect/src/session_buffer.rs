//! Where a session notes what it does: the transaction that it is in, and those that have ended.
//!
//! A buffer is in reach of two others. Whoever writes the file takes those that have ended now and then. Whoever ends
//! the run finds a transaction either open or ended. A session that is far ahead of the file waits until its buffer was
//! emptied, so that memory stays flat when the disk is slower than the database.

use crate::notes::{NotedTxns, Notes};
use iso_history::Outcome;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often a session that waits for room looks whether the run goes on.
const LOOK_UP: Duration = Duration::from_millis(20);

/// The buffer of one session.
#[derive(Debug, Default)]
pub(crate) struct SessionBuffer {
    contents: Mutex<Contents>,
    /// What has ended was taken.
    taken: Condvar,
}

#[derive(Debug, Default)]
struct Contents {
    txns: NotedTxns,
    ends: Vec<Whole>,
    open: Option<Open>,
    /// Nobody waits for the session any more.
    is_closed: bool,
}

/// Who notes: the session, and when its transaction began. The buffer learns of a transaction when it is to write or to
/// commit, so that it need not be locked when one begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun<'s> {
    pub(crate) session: &'s str,
    pub(crate) at: i64,
}

/// A transaction that has begun.
#[derive(Clone, Copy, Debug)]
struct Open {
    begin: i64,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Running,
    /// The database was asked to commit.
    Committing,
}

/// A transaction that has ended, and where its notes end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Whole {
    pub(crate) begin: i64,
    pub(crate) time: i64,
    pub(crate) outcome: Outcome,
    pub(crate) until: usize,
}

/// Whole transactions that were taken from a buffer.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub(crate) bytes: Vec<u8>,
    pub(crate) ends: Vec<Whole>,
}

/// A transaction that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) outcome: Outcome,
    pub(crate) n_ops: usize,
    /// So many bytes are in the buffer.
    pub(crate) n_bytes: usize,
}

impl SessionBuffer {
    /// The session's transaction makes these operations; they are gone from `notes`.
    pub(crate) fn note(&self, begun: Begun<'_>, notes: &mut Notes) {
        self.lock().add(begun, notes);
    }

    /// The database is asked to commit from now on, after these operations.
    pub(crate) fn commit(&self, begun: Begun<'_>, notes: &mut Notes) {
        if let Some(open) = self.lock().add(begun, notes) {
            open.stage = Stage::Committing;
        }
    }

    /// Forgets the operations of the open transaction, which are about to be noted again with what they answered.
    pub(crate) fn restart(&self, begun: Begun<'_>) {
        let mut contents = self.lock();
        if contents.open.is_some() {
            contents.txns.restart(begun.session);
        }
    }

    /// Ends the session's transaction after these operations; `outcome` says how, given what is known of it by itself.
    /// None if the buffer is closed.
    pub(crate) fn end(
        &self,
        begun: Begun<'_>,
        notes: &mut Notes,
        now: i64,
        outcome: impl FnOnce(Outcome) -> Outcome,
    ) -> Option<Ended> {
        let mut contents = self.lock();
        contents.add(begun, notes)?;
        contents.end(now, outcome)
    }

    /// Ends the open transaction, if there is one, with what is known of it. The session can note nothing more.
    pub(crate) fn close(&self, now: i64) -> Option<Ended> {
        let mut contents = self.lock();
        contents.is_closed = true;
        contents.end(now, |known| known)
    }

    /// Moves all that have ended to `taken`, whose memory is used for the next ones.
    pub(crate) fn take(&self, taken: &mut Taken) {
        taken.bytes.clear();
        taken.ends.clear();
        let mut contents = self.lock();
        if !contents.ends.is_empty() {
            contents.txns.take_whole(&mut taken.bytes);
            std::mem::swap(&mut contents.ends, &mut taken.ends);
            self.taken.notify_all();
        }
    }

    /// Waits until at most so many bytes are here, or until the run is over.
    pub(crate) fn wait_for_room(&self, room: usize, is_over: impl Fn() -> bool) {
        let mut contents = self.lock();
        while contents.n_bytes() > room && !is_over() {
            contents = self.taken.wait_timeout(contents, LOOK_UP).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Contents {
    /// Adds operations to the open transaction, which may begin with them.
    fn add(&mut self, begun: Begun<'_>, notes: &mut Notes) -> Option<&mut Open> {
        if self.is_closed {
            return None;
        }
        if self.open.is_none() {
            self.txns.begin(begun.session);
        }
        self.txns.add(notes);
        Some(self.open.get_or_insert(Open { begin: begun.at, stage: Stage::Running }))
    }

    fn end(&mut self, now: i64, outcome: impl FnOnce(Outcome) -> Outcome) -> Option<Ended> {
        let Open { begin, stage } = self.open.take()?;
        let outcome = outcome(match stage {
            Stage::Running => Outcome::Aborted,
            Stage::Committing => Outcome::Indeterminate,
        });
        self.txns.end();
        self.ends.push(Whole { begin, time: now, outcome, until: self.txns.n_whole() });
        Some(Ended { outcome, n_ops: self.txns.n_ops(), n_bytes: self.n_bytes() })
    }

    /// What has ended takes so much memory.
    fn n_bytes(&self) -> usize {
        self.txns.n_whole() + self.ends.len() * size_of::<Whole>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iso_history::Name;
    use std::thread;

    fn begun(at: i64) -> Begun<'static> {
        Begun { session: "s1", at }
    }

    #[test]
    fn a_transaction_is_ended_once_by_whoever_comes_first() {
        let (buffer, mut ops) = (SessionBuffer::default(), Notes::default());
        ops.write(Name::Int(1), Name::Int(2));
        buffer.commit(begun(3), &mut ops);
        let ended = buffer.close(5).unwrap();
        assert_eq!((ended.outcome, ended.n_ops), (Outcome::Indeterminate, 1));
        ops.write(Name::Int(1), Name::Int(3));
        buffer.note(begun(3), &mut ops);
        assert_eq!(buffer.end(begun(3), &mut ops, 6, |_| Outcome::Committed), None);
        assert_eq!(buffer.close(7), None);
        let mut taken = Taken::default();
        buffer.take(&mut taken);
        assert_eq!(
            taken.ends,
            [Whole { begin: 3, time: 5, outcome: Outcome::Indeterminate, until: taken.bytes.len() }]
        );
        buffer.take(&mut taken);
        assert!(taken.bytes.is_empty() && taken.ends.is_empty());
    }

    #[test]
    fn a_session_that_is_far_ahead_waits_until_its_lines_are_taken() {
        let (buffer, mut ops) = (SessionBuffer::default(), Notes::default());
        let n_bytes = buffer.end(begun(0), &mut ops, 1, |_| Outcome::Committed).unwrap().n_bytes;
        buffer.wait_for_room(n_bytes, || false);
        buffer.wait_for_room(0, || true);
        thread::scope(|scope| {
            let waits = scope.spawn(|| buffer.wait_for_room(0, || false));
            thread::sleep(3 * LOOK_UP);
            assert!(!waits.is_finished());
            buffer.take(&mut Taken::default());
            waits.join().unwrap();
        });
    }
}
