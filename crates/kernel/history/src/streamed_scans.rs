//! Scans of a recording that is too long to be a [`History`](crate::History): which keys are rows of which table, and which
//! rows are there.
//!
//! A row is a key with the name of its table before a slash. Of two tables that are scanned, the one with the longer name has
//! the row, as in [`crate::omissions`]. What a scan omits depends on all rows that are there when it happens, so these are
//! kept in order: a predicate with a range of rows looks at that range only.

use crate::statements::row_name;
use crate::{Datum, KeyId, Name, Predicate, StreamedValue, TableId};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A scan of one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamedScan<'b> {
    /// The table.
    pub table: TableId,
    /// Which rows it asks for.
    pub predicate: &'b Arc<Predicate>,
    /// Of which rows it says that they did not match.
    pub omitted: Omitted<'b>,
}

/// Rows that a scan did not return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Omitted<'b> {
    /// All of its table but these, in ascending order: what it returned, and what its transaction had written itself.
    AllBut(&'b [KeyId]),
    /// These; nothing is known of others.
    Only(&'b [KeyId]),
}

impl Omitted<'_> {
    /// Is this row of the table one of them?
    pub fn has(self, row: KeyId) -> bool {
        match self {
            Self::AllBut(rows) => rows.binary_search(&row).is_err(),
            Self::Only(rows) => rows.contains(&row),
        }
    }
}

/// The tables that were scanned so far, and which keys are their rows.
#[derive(Clone, Debug, Default)]
pub struct StreamedTables {
    names: Vec<Box<str>>,
    by_name: FxHashMap<Box<str>, TableId>,
    rows: FxHashMap<KeyId, (TableId, Datum)>,
}

impl StreamedTables {
    /// Was nothing scanned?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// A table that was scanned.
    pub fn get(&self, name: &str) -> Option<TableId> {
        self.by_name.get(name).copied()
    }

    /// The name of a table.
    pub fn name(&self, table: TableId) -> &str {
        &self.names[table.index()]
    }

    /// A table is scanned for the first time. Its rows are those that are told of it from now on.
    pub fn add(&mut self, name: &str) -> TableId {
        let table = TableId::from_index(self.names.len());
        self.names.push(name.into());
        self.by_name.insert(name.into(), table);
        table
    }

    /// The table whose row a key of this name is.
    pub fn table_of(&self, key: &str) -> Option<TableId> {
        key.rmatch_indices('/').find_map(|it| self.get(&key[..it.0]))
    }

    /// A key is a row of a table.
    pub fn add_row(&mut self, row: KeyId, table: TableId, key: &str) {
        let name = row_name(&self.names[table.index()], Name::Text(key)).to_datum();
        self.rows.insert(row, (table, name));
    }

    /// The table of a row, and the row's name within it.
    pub fn row(&self, key: KeyId) -> Option<(TableId, Name<'_>)> {
        self.rows.get(&key).map(|it| (it.0, it.1.as_name()))
    }
}

/// The rows of tables that are there, for somebody who follows a recording.
#[derive(Clone, Debug, Default)]
pub struct StreamedRows {
    tables: Vec<PresentRows>,
    rows: FxHashMap<KeyId, (TableId, Datum)>,
}

/// Rows by their names: an integer, or anything else.
#[derive(Clone, Debug, Default)]
struct PresentRows {
    numbered: BTreeMap<i64, KeyId>,
    others: BTreeMap<Datum, KeyId>,
}

impl StreamedRows {
    /// Does nobody know of a row?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// A key is a row with this name, of a table that is scanned.
    pub fn tell(&mut self, row: KeyId, table: TableId, name: Datum) {
        if self.tables.len() <= table.index() {
            self.tables.resize_with(table.index() + 1, PresentRows::default);
        }
        self.rows.insert(row, (table, name));
    }

    /// The table of a row, and the row's name within it.
    #[inline]
    pub fn row(&self, key: KeyId) -> Option<(TableId, Name<'_>)> {
        self.rows.get(&key).map(|it| (it.0, it.1.as_name()))
    }

    /// A row is there from now on, if the key is one.
    pub fn put(&mut self, key: KeyId) {
        let Some((table, name)) = self.rows.get(&key) else { return };
        let table = &mut self.tables[table.index()];
        match name {
            Datum::Int(number) => drop(table.numbered.insert(*number, key)),
            other => drop(table.others.insert(other.clone(), key)),
        }
    }

    /// A row is not there any more.
    pub fn take(&mut self, key: KeyId) {
        let Some((table, name)) = self.rows.get(&key) else { return };
        let table = &mut self.tables[table.index()];
        match name {
            Datum::Int(number) => drop(table.numbered.remove(number)),
            other => drop(table.others.remove(other)),
        }
    }

    /// The rows that are there, as far as their names do not say that they cannot match.
    pub fn in_reach<'r>(&'r self, table: TableId, predicate: &Predicate) -> impl Iterator<Item = (KeyId, Name<'r>)> {
        let rows = self.tables.get(table.index());
        let range = predicate.row_range();
        let (low, high) = range.unwrap_or((i64::MIN, i64::MAX));
        let numbered = rows.filter(|_| low <= high).map(|it| it.numbered.range(low..=high)).into_iter().flatten();
        let others = rows.filter(|_| range.is_none()).map(|it| it.others.iter()).into_iter().flatten();
        numbered.map(|it| (*it.1, Name::Int(*it.0))).chain(others.map(|(name, key)| (*key, name.as_name())))
    }
}

impl Predicate {
    /// Does a version of a row match? Nothing is said of foreign predicates, so that none of them does.
    pub fn matches_streamed(&self, row: Name<'_>, value: &StreamedValue) -> bool {
        self.matches(row, value.as_name(), &|_| false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Column;

    #[test]
    fn a_row_belongs_to_the_longest_table_and_is_found_by_its_range() {
        let mut tables = StreamedTables::default();
        let (dir, sub) = (tables.add("dir"), tables.add("dir/sub"));
        assert_eq!(tables.table_of("dir/sub/7"), Some(sub));
        assert_eq!(tables.table_of("dir/other/7"), Some(dir));
        assert_eq!(tables.table_of("dirs/7"), None);
        let key = KeyId::from_index;
        for (idx, name) in ["dir/3", "dir/07", "dir/5", "dir/9"].into_iter().enumerate() {
            tables.add_row(key(idx), dir, name);
        }
        assert_eq!(tables.row(key(1)), Some((dir, Name::Text("07"))));
        let mut rows = StreamedRows::default();
        for idx in 0..4 {
            let (table, name) = tables.row(key(idx)).unwrap();
            rows.tell(key(idx), table, name.to_datum());
            rows.put(key(idx));
        }
        rows.take(key(3));
        let found = |predicate: &Predicate| rows.in_reach(dir, predicate).map(|it| it.0).collect::<Vec<_>>();
        assert_eq!(found(&Predicate::All), [key(0), key(2), key(1)]);
        let range = |low: i64, high: i64| Predicate::Between(Column::Key, low.into(), high.into());
        assert_eq!(found(&range(4, 20)), [key(2)]);
        assert_eq!(found(&range(4, 2)), []);
        assert_eq!(rows.in_reach(sub, &Predicate::All).count(), 0);
    }
}
