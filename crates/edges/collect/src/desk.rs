//! Where a session notes what it does: the transaction that it is in, and the lines of those that have ended.
//!
//! A desk is in reach of two others. Whoever writes the file takes the whole lines now and then. Whoever ends the run
//! finds either the open transaction or its line. A session that is far ahead of the file waits at its desk, so that
//! memory stays flat when the disk is slower than the database.

use iso_formats::TxnLines;
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
    /// The session begins a transaction.
    pub(crate) fn begin(&self, session: &str, now: i64) {
        let mut notes = self.lock();
        notes.lines.begin(session);
        notes.open = Some(Open { begin: now, stage: Stage::Running });
    }

    /// Notes an operation of the open transaction.
    pub(crate) fn note(&self, note: impl FnOnce(&mut TxnLines)) {
        let mut notes = self.lock();
        if notes.open.is_some() {
            note(&mut notes.lines);
        }
    }

    /// The database is asked to commit from now on.
    pub(crate) fn commit(&self) {
        if let Some(open) = &mut self.lock().open {
            open.stage = Stage::Committing;
        }
    }

    /// Ends the open transaction, if there is one; `outcome` says how, given what is known if nobody waits for its end.
    pub(crate) fn end(&self, now: i64, outcome: impl FnOnce(Outcome) -> Outcome) -> Option<Ended> {
        let mut notes = self.lock();
        let Open { begin, stage } = notes.open.take()?;
        let outcome = outcome(match stage {
            Stage::Running => Outcome::Aborted,
            Stage::Committing => Outcome::Unknown,
        });
        // One of unknown outcome has no end: it may yet be committed at any time.
        notes.lines.end(outcome, begin, Some(now).filter(|_| outcome != Outcome::Unknown));
        let n_bytes = notes.lines.n_whole();
        notes.ends.push(LineEnd { time: now, until: n_bytes });
        Some(Ended { outcome, n_ops: notes.lines.n_ops(), n_bytes })
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

#[cfg(test)]
mod tests {
    use super::*;
    use iso_history::Name;
    use std::thread;

    #[test]
    fn a_transaction_is_ended_once_by_whoever_comes_first() {
        let desk = Desk::default();
        desk.begin("s1", 3);
        desk.note(|line| line.write(Name::Int(1), Name::Int(2)));
        desk.commit();
        let ended = desk.end(5, |left| left).unwrap();
        assert_eq!((ended.outcome, ended.n_ops), (Outcome::Unknown, 1));
        desk.note(|line| line.write(Name::Int(1), Name::Int(3)));
        assert_eq!(desk.end(6, |_| Outcome::Committed), None);
        let mut sheet = Sheet::default();
        desk.take(&mut sheet);
        let line = "{\"s\":\"s1\",\"ops\":[[\"w\",1,2]],\"status\":\"unknown\",\"begin\":3}\n";
        assert_eq!(String::from_utf8(sheet.bytes).unwrap(), line);
        assert_eq!(sheet.ends, [LineEnd { time: 5, until: line.len() }]);
    }

    #[test]
    fn a_session_that_is_far_ahead_waits_until_its_lines_are_taken() {
        let desk = Desk::default();
        desk.begin("s1", 0);
        let n_bytes = desk.end(1, |_| Outcome::Committed).unwrap().n_bytes;
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
