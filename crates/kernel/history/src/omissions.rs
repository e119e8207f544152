//! Finds the rows that a scan might have returned and did not, and notes each as an omission.
//!
//! Which rows these are is known when the whole history is; until then, each scan has one place holder for them.
//! A table has the rows that the history names. A row of which no version matches says nothing and is left out. Cost:
//! linear in the rows that match somewhere, for each scan; a predicate with a range of rows looks at that range only.

use crate::statements::{Extent, ScanEntry, row_name};
use crate::touch::Touch;
use crate::{Access, History, KeyId, Name, Outcome, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};

/// The rows of a table.
#[derive(Default)]
pub(crate) struct Table {
    /// Rows named by integers, ascending.
    numbered: Vec<(i64, KeyId)>,
    /// By their names, so that the order does not depend on which comes first in the input.
    others: Vec<KeyId>,
}

impl Table {
    pub(crate) fn rows(&self) -> impl Iterator<Item = KeyId> {
        self.numbered.iter().map(|it| it.1).chain(self.others.iter().copied())
    }
}

impl History {
    /// For each scan, the rows that it omitted, as far as they say something; nothing if these are too many.
    pub(crate) fn omitted_rows(&self, tables: &[Table], at_most: usize) -> Option<Vec<Vec<KeyId>>> {
        if self.sql.scans.iter().all(|it| it.extent == Extent::Part) {
            return Some(Vec::new());
        }
        let mut n_omitted = 0;
        let versions = self.versions_of_rows(tables);
        let mut relevant: FxHashMap<(u32, u32), Vec<KeyId>> = FxHashMap::default();
        let mut omitted: Vec<Vec<KeyId>> = Vec::with_capacity(self.sql.scans.len());
        for entry in &self.sql.scans {
            if entry.extent == Extent::Part {
                omitted.push(Vec::new());
                continue;
            }
            let rows = relevant
                .entry((entry.table, entry.predicate))
                .or_insert_with(|| self.may_match(entry, &tables[entry.table as usize], &versions));
            // Its last operation is its place holder.
            let reads = entry.start as usize..entry.end as usize - 1;
            let returned: FxHashSet<KeyId> = self.op_touch[reads].iter().map(|it| it.key()).collect();
            omitted.push(rows.iter().copied().filter(|it| !returned.contains(it)).collect());
            n_omitted += omitted.last().map_or(0, Vec::len);
            if n_omitted > at_most {
                return None;
            }
        }
        Some(omitted)
    }

    /// The rows of every table that is scanned.
    pub(crate) fn rows_by_table(&self) -> Vec<Table> {
        let by_name: FxHashMap<&str, usize> = self.sql.tables.iter().enumerate().map(|it| (&**it.1, it.0)).collect();
        let mut tables: Vec<Table> = self.sql.tables.iter().map(|_| Table::default()).collect();
        for key in self.keys() {
            let Name::Text(text) = self.key_name(key) else { continue };
            // Of two tables, the one with the longer name has the row.
            let mut ends = text.rmatch_indices('/').map(|it| it.0);
            let Some(table) = ends.find_map(|end| by_name.get(&text[..end])) else { continue };
            match row_name(&self.sql.tables[*table], Name::Text(text)) {
                Name::Int(number) => tables[*table].numbered.push((number, key)),
                _ => tables[*table].others.push(key),
            }
        }
        for table in &mut tables {
            table.numbered.sort_unstable();
            table.others.sort_unstable_by_key(|it| self.key_name(*it));
        }
        tables
    }

    /// The values that rows had at some time, without those that were rolled back.
    fn versions_of_rows(&self, tables: &[Table]) -> FxHashMap<KeyId, Vec<ValueId>> {
        let rows = tables.iter().flat_map(Table::rows);
        let mut versions: FxHashMap<KeyId, Vec<ValueId>> = rows.map(|it| (it, vec![self.initial_value(it)])).collect();
        for txn in self.txns().filter(|it| self.outcome(*it) != Outcome::Aborted) {
            for op in self.op_range(txn).filter(|it| self.access_at(*it) == Access::Write) {
                if let Some(values) = versions.get_mut(&self.key_at(op)) {
                    values.push(ValueId::from_index(self.op_value[op] as usize));
                }
            }
        }
        #[allow(clippy::iter_over_hash_type, reason = "each is sorted by itself")]
        for values in versions.values_mut() {
            values.sort_unstable();
            values.dedup();
        }
        versions
    }

    /// The rows of which some version matches, in the order of the table.
    fn may_match(&self, scan: &ScanEntry, table: &Table, versions: &FxHashMap<KeyId, Vec<ValueId>>) -> Vec<KeyId> {
        let (numbered, others) = match self.sql.predicates[scan.predicate as usize].row_range() {
            Some((low, high)) => {
                let start = table.numbered.partition_point(|it| it.0 < low);
                let end = table.numbered.partition_point(|it| it.0 <= high);
                (&table.numbered[start..end.max(start)], &[][..])
            }
            None => (&table.numbered[..], &table.others[..]),
        };
        let is_match = |key: KeyId, value: ValueId| {
            self.sql.matches(scan.table, scan.predicate, self.key_name(key), key, self.value(value), value)
        };
        let rows = numbered.iter().map(|it| it.1).chain(others.iter().copied());
        rows.filter(|row| versions[row].iter().any(|value| is_match(*row, *value))).collect()
    }

    /// Puts the omissions of each scan where its place holder is.
    pub(crate) fn insert_omissions(&mut self, omitted: &[Vec<KeyId>]) {
        if omitted.is_empty() {
            return;
        }
        let n_more: usize = omitted.iter().map(Vec::len).sum();
        let mut columns = Columns::with_capacity(self.n_ops() + n_more);
        // Where place holders stood, and where the operation after each of them is now.
        let mut moves: Vec<(usize, usize)> = Vec::with_capacity(omitted.len());
        for op in 0..self.n_ops() {
            let (touch, value) = (self.op_touch[op], self.op_value[op]);
            match self.sql.scans.get(value as usize) {
                Some(scan) if touch.access() == Access::Omit && scan.extent == Extent::Whole => {
                    omitted[value as usize].iter().for_each(|row| columns.push(Touch::new(Access::Omit, *row), value));
                    moves.push((op, columns.touch.len()));
                }
                _ => columns.push(touch, value),
            }
        }
        (self.op_touch, self.op_value) = (columns.touch, columns.value);
        let moved = |at: u32| {
            let n_before = moves.partition_point(|it| it.0 < at as usize);
            let (place, after) = n_before.checked_sub(1).map_or((usize::MAX, 0), |it| moves[it]);
            (at as usize).wrapping_sub(place.wrapping_add(1)).wrapping_add(after) as u32
        };
        let starts = (0..self.txn_op_starts.len()).map(|it| i64::from(moved(self.txn_op_starts.number(it) as u32)));
        self.txn_op_starts = starts.collect();
        for statement in &mut self.sql.statements {
            (statement.start, statement.end) = (moved(statement.start), moved(statement.end));
        }
        self.sql.newest.iter_mut().for_each(|it| *it = moved(*it));
        self.sql.made.iter_mut().for_each(|it| *it = moved(*it));
        for scan in &mut self.sql.scans {
            (scan.start, scan.end) = (moved(scan.start), moved(scan.end));
        }
    }
}

/// The columns of operations.
struct Columns {
    touch: Vec<Touch>,
    value: Vec<u32>,
}

impl Columns {
    fn with_capacity(n_ops: usize) -> Self {
        Self { touch: Vec::with_capacity(n_ops), value: Vec::with_capacity(n_ops) }
    }

    fn push(&mut self, touch: Touch, value: u32) {
        self.touch.push(touch);
        self.value.push(value);
    }
}
