//! Locks on rows, at levels of databases: who has which, who waits, and who waits in vain.
//!
//! A store does not wait. A call that would have to says so, and is made again. Who would wait for itself in the end is
//! aborted.

use crate::open::Open;
use crate::past::KeyIdx;
use crate::view::Blocked;
use crate::{Cause, Conflict, Error, Store};
use iso_history::SessionId;

/// Why a call has no answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stop {
    /// The level cannot let the transaction commit.
    Conflict(Blocked),
    /// Somebody has locked the row.
    Locked(KeyIdx),
    /// There is a row.
    Exists(KeyIdx),
}

impl From<Blocked> for Stop {
    fn from(blocked: Blocked) -> Self {
        Self::Conflict(blocked)
    }
}

impl Store {
    /// Can the session lock a row, or has it locked the row already?
    pub(crate) fn check_free(&self, session: SessionId, key: KeyIdx) -> Result<(), Stop> {
        match self.locks.get(&key) {
            Some(holder) if *holder != session => Err(Stop::Locked(key)),
            _ => Ok(()),
        }
    }

    /// Locks a row until the transaction ends, at levels that lock.
    pub(crate) fn lock(&mut self, session: SessionId, open: &mut Open, key: KeyIdx) -> Result<(), Stop> {
        if !self.level.is_of_databases() {
            return Ok(());
        }
        self.check_free(session, key)?;
        if self.locks.insert(key, session).is_none() {
            open.locked.push(key);
        }
        open.view.lock(self.past.key(key).free_since());
        Ok(())
    }

    /// The transaction has ended.
    pub(crate) fn unlock(&mut self, open: &Open) {
        for key in &open.locked {
            self.locks.remove(key);
        }
    }

    /// What a call that was stopped answers. A conflict aborts the transaction, and so does a circle of sessions that wait.
    pub(crate) fn stopped(&mut self, session: SessionId, nth: u32, stop: Stop) -> Error {
        match stop {
            Stop::Conflict(Blocked { key, by }) => {
                let commit = self.past.commit_at(by);
                let other = (SessionId::from_index(commit.session as usize), commit.nth);
                self.abort_for(session, nth, key, other, Cause::Changed)
            }
            Stop::Exists(key) => Error::Exists { key: self.past.key(key).key.clone() },
            Stop::Locked(key) => {
                let holder = self.locks[&key];
                let holder_nth = self.sessions[holder.index()].open.as_ref().map_or(0, |it| it.nth);
                if self.waits_for(holder, session) {
                    return self.abort_for(session, nth, key, (holder, holder_nth), Cause::Deadlock);
                }
                let entry = &mut self.sessions[session.index()];
                entry.waits_for = Some(key);
                entry.open.iter_mut().for_each(|it| it.n_calls -= 1);
                let (txn, holder) = (self.name(session, nth), self.name(holder, holder_nth));
                Error::Locked { txn, key: self.past.key(key).key.clone(), holder }
            }
        }
    }

    /// Does one session wait for another one, or for somebody who does?
    fn waits_for(&self, mut waiting: SessionId, session: SessionId) -> bool {
        // No circle is longer than there are sessions.
        for _ in 0..=self.sessions.len() {
            let holder = self.sessions[waiting.index()].waits_for.and_then(|it| self.locks.get(&it));
            match holder {
                Some(holder) if *holder == session => return true,
                Some(holder) => waiting = *holder,
                None => return false,
            }
        }
        false
    }

    fn abort_for(&mut self, session: SessionId, nth: u32, key: KeyIdx, other: (SessionId, u32), cause: Cause) -> Error {
        let (txn, other) = (self.name(session, nth), self.name(other.0, other.1));
        let key = self.past.key(key).key.clone();
        self.sessions[session.index()].mood = crate::open::Mood::Careful;
        match self.abort(session) {
            Ok(()) => Conflict { txn, key, other, cause }.into(),
            Err(error) => error,
        }
    }
}
