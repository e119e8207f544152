//! Statements: calls that belong together, and those that act on the newest version of a row.

use crate::open::Open;
use crate::past::KeyIdx;
use crate::record::Recorded;
use crate::view::Blocked;
use crate::{Error, Key, Store, Why};
use iso_history::{Datum, Locking, SessionId};

/// What an update does to a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Puts a value into it; if there is no row, makes it.
    Put(Datum),
    /// Removes it.
    Delete,
    /// Nothing: the row is read, and locked at levels of databases.
    Keep,
}

impl Store {
    /// Opens a statement: the calls up to its end are one in the history.
    pub fn begin_statement(&mut self, session: SessionId) -> Result<(), Error> {
        let open = self.open(session)?;
        if open.statement.is_some() {
            return Err(Error::StatementOpen { txn: self.name(session, open.nth) });
        }
        self.serve(session, |_, open| {
            open.begin_statement();
            Ok(())
        })
    }

    /// Ends the open statement, and says whether it asked for locks on what it read.
    pub fn end_statement(&mut self, session: SessionId, locking: Locking) -> Result<(), Error> {
        let open = self.open(session)?;
        if open.statement.is_none() {
            return Err(Error::NoStatement { txn: self.name(session, open.nth) });
        }
        self.serve(session, |_, open| {
            open.end_statement(locking);
            Ok(())
        })
    }

    /// Reads the newest version of a row, and changes the row in the same statement. Answers what was there.
    ///
    /// Where the level does not let the transaction read the newest version, that is a conflict.
    pub fn update(
        &mut self,
        session: SessionId,
        key: &Key,
        change: impl FnOnce(Option<&Datum>) -> Change,
    ) -> Result<Option<Datum>, Error> {
        self.call(session, Grouping::Statement, |store, open| {
            let key = store.past.intern(key);
            let old = store.read_newest(session, open, key)?;
            match change(old.as_ref()) {
                Change::Put(value) => store.write_row(open, key, Some(value))?,
                Change::Delete => store.write_row(open, key, None)?,
                Change::Keep if old.is_some() => open.locking = Locking::ForUpdate,
                Change::Keep => {}
            }
            Ok(old)
        })
    }

    /// Reads the newest version of a row and locks it, as `SELECT ... FOR UPDATE` does. A conflict as in [`Store::update`].
    pub fn get_newest(&mut self, session: SessionId, key: &Key) -> Result<Option<Datum>, Error> {
        self.update(session, key, |_| Change::Keep)
    }

    /// Reads the newest version, if the transaction may; its own one, if it wrote the row.
    fn read_newest(&mut self, session: SessionId, open: &mut Open, key: KeyIdx) -> Result<Option<Datum>, Blocked> {
        if !open.own.contains_key(&key) {
            let newest = self.past.key(key).newest();
            let by = self.past.key(key).pos(newest);
            if !self.may_read(open, key, newest) {
                return Err(Blocked { key, by });
            }
            self.note_newest(session, open, key);
            let value = self.read(session, open, key, Some(newest));
            return Ok(self.past.value(value).cloned());
        }
        let value = self.read(session, open, key, None);
        Ok(self.past.value(value).cloned())
    }

    /// What a plan says of this read is used up, whatever it says.
    fn note_newest(&mut self, session: SessionId, open: &mut Open, key: KeyIdx) {
        let entry = self.past.key(key);
        let newest = entry.pos(entry.newest());
        let Some(planned) = open.take_planned(&entry.key) else { return };
        if planned != self.writer(newest) {
            let why = if self.version_of(key, &planned).is_some() { Why::NotAllowed } else { Why::NotWritten };
            self.diverge(session, open, key, &planned, newest, why);
        }
    }

    /// Makes one call of an open transaction, which is a statement if it is in none and should be one.
    pub(crate) fn call<T>(
        &mut self,
        session: SessionId,
        grouping: Grouping,
        call: impl FnOnce(&mut Self, &mut Open) -> Result<T, Blocked>,
    ) -> Result<T, Error> {
        self.serve(session, |store, open| {
            store.start_call(open)?;
            if grouping == Grouping::Alone || open.statement.is_some() {
                return call(store, open);
            }
            open.begin_statement();
            let answer = call(store, open);
            open.end_statement(Locking::Free);
            answer
        })
    }

    /// Is this one of the versions that the policy may choose?
    pub(crate) fn may_read(&self, open: &Open, key: KeyIdx, version: u32) -> bool {
        if let Some(repeated) = self.repeated(open, key) {
            return repeated == version;
        }
        let (oldest, newest) = open.view.span(&self.past, key);
        (oldest..=newest).contains(&version) && open.view.allows(&self.past, &open.reads, key, version)
    }
}

/// How calls outside of statements are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grouping {
    /// As operations.
    Alone,
    /// As a statement.
    Statement,
}

impl Open {
    pub(crate) fn begin_statement(&mut self) {
        self.statement = Some(self.ops.len());
        self.ops.push(Recorded::Statement { n_ops: 0, locking: Locking::Free, moment: 0 });
    }

    /// Ends the statement, if one is open.
    pub(crate) fn end_statement(&mut self, locking: Locking) {
        let locking = locking.max(std::mem::replace(&mut self.locking, Locking::Free));
        let Some(start) = self.statement.take() else { return };
        let n_ops = (self.ops.len() - start - 1) as u32;
        match n_ops {
            0 => self.ops.truncate(start),
            _ => self.ops[start] = Recorded::Statement { n_ops, locking, moment: 0 },
        }
    }
}
