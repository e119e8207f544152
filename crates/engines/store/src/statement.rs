//! Statements: calls that belong together, and those that act on the newest version of a row.

use crate::locks::Stop;
use crate::open::Open;
use crate::past::KeyIdx;
use crate::record::{Recorded, Scanned};
use crate::view::Blocked;
use crate::{Condition, Error, Key, Rows, Store, Why};
use iso_history::{Datum, Locking, SessionId};
use iso_spec::Level;

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
    /// Where the level does not let the transaction read the newest version, that is a conflict. At levels of databases the
    /// row is locked, if there is one.
    pub fn update(
        &mut self,
        session: SessionId,
        key: &Key,
        change: impl FnOnce(Option<&Datum>) -> Change,
    ) -> Result<Option<Datum>, Error> {
        self.call(session, Grouping::Statement, |store, open| {
            let key = store.past.intern(key);
            store.check_free(session, key)?;
            let old = store.newest_value(open, key);
            let change = change(old.as_ref());
            if change == Change::Keep && old.is_none() {
                store.look_for(session, open, key)?;
                return Ok(None);
            }
            store.read_newest(session, open, key)?;
            store.apply(session, open, key, change)?;
            Ok(old)
        })
    }

    /// Changes all rows that match a predicate, in one statement. Answers which these were, with what was in them.
    ///
    /// Rows are read and locked as databases do it, each in its newest version. At READ COMMITTED of databases only rows that
    /// match in the snapshot of the statement are looked at, and must still match.
    pub fn update_where(
        &mut self,
        session: SessionId,
        table: &str,
        rows: &Rows,
        condition: &Condition,
        mut change: impl FnMut(&Key, &Datum) -> Change,
    ) -> Result<Vec<(Key, Datum)>, Error> {
        self.call(session, Grouping::Statement, |store, open| {
            let table = store.past.intern_table(table);
            let locking = if store.level.snapshots().is_some() { Locking::ForUpdate } else { Locking::Free };
            let scanned = Scanned { table, rows: rows.clone(), condition: Some(condition.clone()), locking };
            let asked = store.rows_for(open, table, rows);
            let found = store.rows_to_change(session, open, &scanned, &asked)?;
            let read = if locking == Locking::Free { &asked } else { &found };
            for key in &found {
                store.part_from_reads(open, *key);
            }
            store.past.note_scan(table, rows);
            let scan = store.record.add_scan(scanned);
            let start = open.ops.len();
            open.ops.push(Recorded::Scan { scan, n_reads: read.len() as u32 });
            for key in read {
                if store.level == Level::RowSnapshots && !found.contains(key) {
                    store.read(session, open, *key, None);
                } else if let Err(stop) = store.read_newest(session, open, *key) {
                    // Half a scan would tell of rows that it has not looked at.
                    open.ops.truncate(start);
                    return Err(stop);
                }
            }
            let mut changed = Vec::new();
            for key in &found {
                let Some(old) = store.newest_value(open, *key) else { continue };
                let name = store.past.key(*key).key.clone();
                let change = change(&name, &old);
                changed.push((name, old));
                store.apply(session, open, *key, change)?;
            }
            if locking == Locking::Free {
                store.watch_rows(open, table, rows, &asked);
            } else {
                // It has looked at rows that it did not find, after the snapshot was taken.
                open.view.end_snapshot(store.past.end());
                if found.is_empty() {
                    open.locking = Locking::ForUpdate;
                }
            }
            Ok(changed)
        })
    }

    /// The rows that a statement changes. Nothing has happened if one of them is not free.
    fn rows_to_change(
        &mut self,
        session: SessionId,
        open: &mut Open,
        scanned: &Scanned,
        asked: &[KeyIdx],
    ) -> Result<Vec<KeyIdx>, Stop> {
        let before = open.view.clone();
        let mut found = Vec::new();
        for key in asked {
            let is_seen = match self.level {
                Level::StatementSnapshots | Level::RowSnapshots if !open.own.contains_key(key) => {
                    let version = self.choose(session, open, *key);
                    open.view.take(&self.past, *key, version);
                    scanned.returns(&self.past, *key, self.past.key(*key).version(version).value)
                }
                _ => true,
            };
            let newest = match open.own.get(key) {
                Some(own) => *own,
                None => self.past.key(*key).version(self.past.key(*key).newest()).value,
            };
            let is_found = match self.level {
                // Whoever finds a row in the snapshot that has changed since cannot commit.
                Level::RowSnapshots if !open.own.contains_key(key) => is_seen,
                _ => is_seen && scanned.returns(&self.past, *key, newest),
            };
            // A row that somebody has locked may match or not once it is free.
            if is_seen && self.check_free(session, *key).is_err() {
                open.view = before;
                return Err(Stop::Locked(*key));
            }
            if is_found {
                found.push(*key);
            } else if is_seen {
                // It has seen what became of the row.
                open.view.lock(self.past.key(*key).pos(self.past.key(*key).newest()));
            }
        }
        Ok(found)
    }

    fn apply(&mut self, session: SessionId, open: &mut Open, key: KeyIdx, change: Change) -> Result<(), Stop> {
        match change {
            Change::Put(value) => self.write_row(session, open, key, Some(value)),
            Change::Delete => self.write_row(session, open, key, None),
            Change::Keep => {
                open.locking = Locking::ForUpdate;
                Ok(())
            }
        }
    }

    /// Makes a row, as databases do.
    pub(crate) fn insert_row(
        &mut self,
        session: SessionId,
        open: &mut Open,
        key: KeyIdx,
        value: Datum,
    ) -> Result<(), Stop> {
        self.check_free(session, key)?;
        if self.newest_value(open, key).is_some() {
            return Err(Stop::Exists(key));
        }
        if open.own.contains_key(&key) {
            self.read(session, open, key, None);
        } else {
            self.part_from_reads(open, key);
            self.lock(session, open, key)?;
            self.note_newest(session, open, key);
            self.record_newest(open, key);
            open.made.push(key);
        }
        self.write_row(session, open, key, Some(value))
    }

    /// Reads the newest version of a row and locks it, as `SELECT ... FOR UPDATE` does. A conflict as in [`Store::update`].
    pub fn get_newest(&mut self, session: SessionId, key: &Key) -> Result<Option<Datum>, Error> {
        self.update(session, key, |_| Change::Keep)
    }

    /// What is in a row now: what the transaction itself wrote, or the newest version.
    fn newest_value(&self, open: &Open, key: KeyIdx) -> Option<Datum> {
        let entry = self.past.key(key);
        let newest = entry.version(entry.newest()).value;
        self.past.value(open.own.get(&key).copied().unwrap_or(newest)).cloned()
    }

    /// A statement finds that there is no row, and locks nothing.
    fn look_for(&mut self, session: SessionId, open: &mut Open, key: KeyIdx) -> Result<(), Stop> {
        // InnoDB looks at the newest version and not at the snapshot, which only a scan can tell.
        if self.level == Level::TransactionSnapshot && !open.own.contains_key(&key) {
            self.past.touch(key);
            open.view.end_snapshot(self.past.end());
            return Ok(());
        }
        let newest = self.past.key(key).newest();
        if !open.own.contains_key(&key) && !self.may_read(open, key, newest) {
            return Err(Blocked { key, by: self.past.key(key).pos(newest) }.into());
        }
        self.note_newest(session, open, key);
        self.read(session, open, key, Some(newest));
        Ok(())
    }

    /// Reads the newest version and locks the row, if the transaction may; its own version, if it wrote the row.
    fn read_newest(&mut self, session: SessionId, open: &mut Open, key: KeyIdx) -> Result<(), Stop> {
        if open.own.contains_key(&key) {
            self.read(session, open, key, None);
            return Ok(());
        }
        let newest = self.past.key(key).newest();
        let locks = self.level.snapshots().is_some();
        if !locks && !self.may_read(open, key, newest) {
            return Err(Blocked { key, by: self.past.key(key).pos(newest) }.into());
        }
        self.part_from_reads(open, key);
        self.lock(session, open, key)?;
        self.note_newest(session, open, key);
        if locks {
            self.record_newest(open, key);
        } else {
            self.read(session, open, key, Some(newest));
        }
        Ok(())
    }

    /// What a statement reads of a row that it writes is its newest version. So where it has read the row in a snapshot before,
    /// another statement begins.
    pub(crate) fn part_from_reads(&self, open: &mut Open, key: KeyIdx) {
        let Some(start) = open.statement.filter(|_| self.level.snapshots().is_some()) else { return };
        let is_read = |it: &Recorded| matches!(it, Recorded::Read { key: read, .. } if *read == key);
        if open.ops[start..].iter().any(is_read) {
            open.end_statement(Locking::Free);
            open.begin_statement();
        }
    }

    /// Records a read of the newest version that is no part of a snapshot.
    fn record_newest(&mut self, open: &mut Open, key: KeyIdx) {
        self.past.touch(key);
        let entry = self.past.key(key);
        let (newest, chosen) = (entry.newest(), entry.version(entry.newest()));
        if let Some(adversary) = &self.adversary {
            open.taken.push((key, newest));
            adversary.note_read(&mut open.ancestors, chosen.pos);
        }
        open.ops.push(Recorded::Read { key, value: chosen.value, source: chosen.pos });
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
        call: impl FnOnce(&mut Self, &mut Open) -> Result<T, Stop>,
    ) -> Result<T, Error> {
        let is_statement = grouping == Grouping::Statement || self.level.is_of_databases();
        self.serve(session, |store, open| {
            if open.statement.is_some() || !is_statement {
                store.start_call(open)?;
                let n_before = open.ops.len();
                let answer = call(store, open);
                open.lock_apart(n_before);
                return answer;
            }
            open.begin_statement();
            store.start_call(open)?;
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
        self.renew();
        self.statement = Some(self.ops.len());
        self.ops.push(Recorded::Statement { n_ops: 0, locking: Locking::Free, moment: 0, locked: 0 });
    }

    /// What asks for locks within a larger statement is one by itself: the rest of it locks nothing.
    fn lock_apart(&mut self, n_before: usize) {
        let Some(start) = self.statement.filter(|_| self.locking == Locking::ForUpdate) else { return };
        let ops = self.ops.split_off(n_before.max(start + 1));
        self.locking = Locking::Free;
        for part in [Vec::new(), ops] {
            let locking = if part.is_empty() { Locking::Free } else { Locking::ForUpdate };
            self.ops.extend(part);
            self.end_statement(locking);
            self.begin_statement();
        }
    }

    /// Ends the statement, if one is open.
    pub(crate) fn end_statement(&mut self, locking: Locking) {
        let locking = locking.max(std::mem::replace(&mut self.locking, Locking::Free));
        let Some(start) = self.statement.take() else { return };
        let n_ops = (self.ops.len() - start - 1) as u32;
        if n_ops == 0 {
            self.ops.truncate(start);
        } else {
            let (moment, locked) = (self.view.snapshot(), self.view.since());
            self.ops[start] = Recorded::Statement { n_ops, locking, moment, locked };
        }
    }
}
