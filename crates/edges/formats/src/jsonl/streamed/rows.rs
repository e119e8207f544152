//! Tables that are scanned, and which keys turn out to be their rows.

use super::{RawOp, RawScan, Streamer};
use iso_history::{Extent, History, KeyId, Name, Op, OpId, TableId, TxnId};

impl Streamer<'_> {
    /// A table that is scanned. If it is the first time, its rows are told that were there before.
    pub(super) fn scanned_table(&mut self, name: &str) -> TableId {
        if let Some(table) = self.names.tables.get(name) {
            return table;
        }
        if self.names.tables.table_of(name).is_some() {
            self.out_of_reach = Some(format!("scans {name}, whose rows were those of another table before"));
        }
        let table = self.names.tables.add(name);
        let rows = self.names.text_keys.iter().filter(|it| self.names.tables.table_of(it.0) == Some(table));
        let mut rows: Vec<(KeyId, Box<str>)> =
            rows.map(|it| (KeyId::from_index(*it.1 as usize), it.0.clone())).collect();
        rows.sort_unstable();
        for (row, key) in rows {
            // It was taken to hold what other keys do.
            if !self.default_is_null && !self.names.begun.contains(&row) {
                self.out_of_reach = Some(format!("is the first to scan {name}, of which {key} was used before"));
            }
            self.tell_row(row, Name::Text(&key));
        }
        table
    }

    /// Says which new keys of a transaction are rows. One that nobody gave a value does not exist at first.
    pub(super) fn tell_rows(&mut self, ops: &[RawOp<'_>], n_keys: u32) {
        for op in ops.iter().filter(|it| it.key.raw() >= n_keys) {
            if self.names.tables.row(op.key).is_none()
                && self.tell_row(op.key, op.name)
                && !self.default_is_null
                && self.flow.is_continue()
            {
                self.flow = self.taker.initial(op.key, op.name, Name::Null);
            }
        }
    }

    /// Says that a key is a row, if it is one.
    pub(super) fn tell_row(&mut self, key: KeyId, name: Name<'_>) -> bool {
        let Name::Text(text) = name else { return false };
        let Some(table) = self.names.tables.table_of(text) else { return false };
        self.names.tables.add_row(key, table, text);
        if let Some((table, name)) = self.names.tables.row(key).filter(|_| self.flow.is_continue()) {
            self.flow = self.taker.row(key, table, name);
        }
        true
    }
}

/// Places of scans are counted in what is told: without what whole scans omitted, which depends on rows in other lines.
pub(super) fn leave_omissions(history: &History, txn: TxnId, scans: &mut [RawScan]) {
    let first = history.ops(txn).next().map_or(0, OpId::index);
    let mut n_left = 0;
    for scan in scans {
        let omits = |it: &usize| matches!(history.op(OpId::from_index(*it)), Op::Omit { .. });
        let n_omitted = scan.ops.clone().filter(omits).count();
        let start = scan.ops.start.max(first) - first - n_left;
        n_left += if scan.extent == Extent::Whole { n_omitted } else { 0 };
        scan.ops = start..scan.ops.end.max(first) - first - n_left;
    }
}
