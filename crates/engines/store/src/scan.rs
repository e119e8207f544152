//! Reads of many rows at once.

use crate::open::{Mood, Open, OpenScan};
use crate::past::KeyIdx;
use crate::record::{Recorded, Scanned};
use crate::statement::Grouping;
use crate::{Condition, Error, Key, Rows, Store, Why, Writer};
use iso_history::{Datum, Locking, SessionId};
use iso_spec::Level;
use std::collections::BTreeSet;

impl Store {
    /// Reads every row of a table that is asked for and that is there, in the order of their names.
    ///
    /// This reads missing rows as well: whoever inserts one later comes after this read.
    pub fn scan(&mut self, session: SessionId, table: &str, rows: &Rows) -> Result<Vec<(Key, Datum)>, Error> {
        self.scan_some(session, table, rows, None)
    }

    /// As [`Store::scan`], but only rows that match a predicate are returned, which histories with scans have as such.
    ///
    /// What is in the other rows is read as well. So it is best to narrow down the rows by name where that is possible.
    pub fn scan_where(
        &mut self,
        session: SessionId,
        table: &str,
        rows: &Rows,
        condition: &Condition,
    ) -> Result<Vec<(Key, Datum)>, Error> {
        self.scan_some(session, table, rows, Some(condition))
    }

    fn scan_some(
        &mut self,
        session: SessionId,
        table: &str,
        rows: &Rows,
        condition: Option<&Condition>,
    ) -> Result<Vec<(Key, Datum)>, Error> {
        self.call(session, Grouping::Alone, |store, open| {
            let table = store.past.intern_table(table);
            let keys = store.rows_for(open, table, rows);
            let scanned = Scanned { table, rows: rows.clone(), condition: condition.cloned(), locking: Locking::Free };
            store.past.note_scan(table, rows);
            let scan = store.record.add_scan(scanned.clone());
            open.ops.push(Recorded::Scan { scan, n_reads: keys.len() as u32 });
            let mut found = Vec::new();
            for key in &keys {
                let value = store.read(session, open, *key, None);
                if let Some(datum) = store.past.value(value).filter(|_| scanned.returns(&store.past, *key, value)) {
                    found.push((store.past.key(*key).key.clone(), datum.clone()));
                }
            }
            store.note_missing(session, open, table, rows);
            store.watch_rows(open, table, rows, &keys);
            Ok(found)
        })
    }

    /// Rows of a scan that come later were read, too, as missing.
    pub(crate) fn watch_rows(&self, open: &mut Open, table: u32, rows: &Rows, read: &[KeyIdx]) {
        if self.level != Level::ReadCommitted {
            let own = read.iter().copied().filter(|it| open.own.contains_key(it)).collect();
            let n_born = self.past.table(table).born.len();
            open.scans.push(OpenScan { table, rows: rows.clone(), own, n_born });
        }
    }

    /// As [`Store::scan`], but the newest version of each row is read: a state that was there all at once.
    pub fn scan_newest(&mut self, session: SessionId, table: &str, rows: &Rows) -> Result<Vec<(Key, Datum)>, Error> {
        let entry = self.sessions.get_mut(session.index()).ok_or(Error::UnknownSession { session })?;
        let before = entry.open.as_mut().map(|it| std::mem::replace(&mut it.mood, Mood::Careful));
        let found = self.scan(session, table, rows);
        if let (Some(mood), Some(open)) = (before, &mut self.sessions[session.index()].open) {
            open.mood = mood;
        }
        found
    }

    /// The rows that a scan reads: those that have ever been there, and its transaction's own.
    pub(crate) fn rows_for(&self, open: &Open, table: u32, rows: &Rows) -> Vec<KeyIdx> {
        let mut keys = self.past.rows(table, rows);
        let n_rows = keys.len();
        let is_new = |key: &KeyIdx| {
            let entry = self.past.key(*key);
            entry.table == table && rows.contains(&entry.key.row) && !entry.is_row()
        };
        keys.extend(open.own_keys.iter().copied().filter(is_new));
        if keys.len() > n_rows {
            keys.sort_by(|left, right| self.past.key(*left).key.row.cmp(&self.past.key(*right).key.row));
        }
        keys
    }

    /// Notes which planned rows a scan did not find, as nobody has written them yet.
    fn note_missing(&mut self, session: SessionId, open: &mut Open, table: u32, rows: &Rows) {
        let keys: BTreeSet<Key> = open.planned.iter().map(|it| it.0.clone()).collect();
        for key in keys {
            let idx = self.past.intern(&key);
            let entry = self.past.key(idx);
            let is_missing = entry.table == table && rows.contains(&key.row) && !entry.is_row();
            if !is_missing || open.own.contains_key(&idx) {
                continue;
            }
            if let Some(planned @ Writer::Txn(_)) = open.take_planned(&key) {
                self.diverge(session, open, idx, &planned, 0, Why::NotWritten);
            }
        }
    }
}
