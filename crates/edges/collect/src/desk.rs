//! Where a session notes what it does: the transaction that it is in, and the lines of those that have ended.
//!
//! A desk is in reach of two others. Whoever writes the file takes the whole lines now and then. Whoever ends the run
//! finds either the open transaction or its line. A session that is far ahead of the file waits at its desk, so that
//! memory stays flat when the disk is slower than the database.

use iso_formats::{TxnLines, TxnOps};
use iso_history::Outcome;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often a session that waits for room looks whether the run goes on.
const LOOK_UP: Duration = Duration::from_millis(20);

/// The desk of one session.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    notes: Mutex<Notes>,
    /// Lines were taken.
    taken: Condvar,
}

#[derive(Debug, Default)]
struct Notes {
    lines: TxnLines,
    ends: Vec<LineEnd>,
    open: Option<Open>,
    /// Nobody waits for the session any more.
    is_closed: bool,
}

/// Who notes: the session, and when its transaction began. The desk learns of a transaction when it is to write or to
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

/// Where a line ends, and when its transaction did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineEnd {
    pub(crate) time: i64,
    pub(crate) until: usize,
}

/// Whole lines that were taken from a desk.
#[derive(Debug, Default)]
pub(crate) struct Sheet {
    pub(crate) bytes: Vec<u8>,
    pub(crate) ends: Vec<LineEnd>,
}

/// A transaction that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) outcome: Outcome,
    pub(crate) n_ops: usize,
    /// So many bytes lie on the desk.
    pub(crate) n_bytes: usize,
}

impl Desk {
    /// The session's transaction makes these operations; they are gone from `ops`.
    pub(crate) fn note(&self, begun: Begun<'_>, ops: &mut TxnOps) {
        self.lock().add(begun, ops);
    }

    /// The database is asked to commit from now on, after these operations.
    pub(crate) fn commit(&self, begun: Begun<'_>, ops: &mut TxnOps) {
        if let Some(open) = self.lock().add(begun, ops) {
            open.stage = Stage::Committing;
        }
    }

    /// Ends the session's transaction after these operations; `outcome` says how, given what is known of it by itself.
    /// None if the desk is closed.
    pub(crate) fn end(
        &self,
        begun: Begun<'_>,
        ops: &mut TxnOps,
        now: i64,
        outcome: impl FnOnce(Outcome) -> Outcome,
    ) -> Option<Ended> {
        let mut notes = self.lock();
        notes.add(begun, ops)?;
        notes.end(now, outcome)
    }

    /// Ends the open transaction, if there is one, with what is known of it. The session can note nothing more.
    pub(crate) fn close(&self, now: i64) -> Option<Ended> {
        let mut notes = self.lock();
        notes.is_closed = true;
        notes.end(now, |known| known)
    }

    /// Moves all whole lines to the sheet, whose memory is used for the next ones.
    pub(crate) fn take(&self, sheet: &mut Sheet) {
        sheet.bytes.clear();
        sheet.ends.clear();
        let mut notes = self.lock();
        if !notes.ends.is_empty() {
            notes.lines.take_whole(&mut sheet.bytes);
            std::mem::swap(&mut notes.ends, &mut sheet.ends);
            self.taken.notify_all();
        }
    }

    /// Waits until at most so many bytes lie here, or until the run is over.
    pub(crate) fn wait_for_room(&self, room: usize, is_over: impl Fn() -> bool) {
        let mut notes = self.lock();
        while notes.lines.n_whole() > room && !is_over() {
            notes = self.taken.wait_timeout(notes, LOOK_UP).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Notes {
    /// Adds operations to the open transaction, which may begin with them.
    fn add(&mut self, begun: Begun<'_>, ops: &mut TxnOps) -> Option<&mut Open> {
        if self.is_closed {
            return None;
        }
        if self.open.is_none() {
            self.lines.begin(begun.session);
        }
        self.lines.add(ops);
        Some(self.open.get_or_insert(Open { begin: begun.at, stage: Stage::Running }))
    }

    fn end(&mut self, now: i64, outcome: impl FnOnce(Outcome) -> Outcome) -> Option<Ended> {
        let Open { begin, stage } = self.open.take()?;
        let outcome = outcome(match stage {
            Stage::Running => Outcome::Aborted,
            Stage::Committing => Outcome::Unknown,
        });
        // One of unknown outcome has no end: it may yet be committed at any time.
        self.lines.end(outcome, begin, Some(now).filter(|_| outcome != Outcome::Unknown));
        let n_bytes = self.lines.n_whole();
        self.ends.push(LineEnd { time: now, until: n_bytes });
        Some(Ended { outcome, n_ops: self.lines.n_ops(), n_bytes })
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
        let (desk, mut ops) = (Desk::default(), TxnOps::default());
        ops.write(Name::Int(1), Name::Int(2));
        desk.commit(begun(3), &mut ops);
        let ended = desk.close(5).unwrap();
        assert_eq!((ended.outcome, ended.n_ops), (Outcome::Unknown, 1));
        ops.write(Name::Int(1), Name::Int(3));
        desk.note(begun(3), &mut ops);
        assert_eq!(desk.end(begun(3), &mut ops, 6, |_| Outcome::Committed), None);
        assert_eq!(desk.close(7), None);
        let mut sheet = Sheet::default();
        desk.take(&mut sheet);
        let line = "{\"s\":\"s1\",\"ops\":[[\"w\",1,2]],\"status\":\"unknown\",\"begin\":3}\n";
        assert_eq!(String::from_utf8(sheet.bytes).unwrap(), line);
        assert_eq!(sheet.ends, [LineEnd { time: 5, until: line.len() }]);
    }

    #[test]
    fn a_session_that_is_far_ahead_waits_until_its_lines_are_taken() {
        let (desk, mut ops) = (Desk::default(), TxnOps::default());
        let n_bytes = desk.end(begun(0), &mut ops, 1, |_| Outcome::Committed).unwrap().n_bytes;
        desk.wait_for_room(n_bytes, || false);
        desk.wait_for_room(0, || true);
        thread::scope(|scope| {
            let waits = scope.spawn(|| desk.wait_for_room(0, || false));
            thread::sleep(3 * LOOK_UP);
            assert!(!waits.is_finished());
            desk.take(&mut Sheet::default());
            waits.join().unwrap();
        });
    }
}
