//! Scans along a streamed schedule: do exactly the returned rows match, among those that are there when the scan happens?
//!
//! What was returned is compared as any read. So it is enough that nothing else matches, and for that the rows that are
//! there are kept by their tables. Cost: the rows of the table, or of the range that the predicate names.

use super::streamed::wrong;
use super::uncertified::Uncertified;
use iso_history::{Datum, KeyId, Omitted, StreamedRows, StreamedScan, StreamedTxn, StreamedValue, TableId};
use rustc_hash::FxHashSet;

/// The rows of the tables that are scanned.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    rows: StreamedRows,
    /// Those that somebody scanned whom the recording has told of.
    scanned: FxHashSet<TableId>,
}

impl Tables {
    /// A key that holds this now is a row of a table.
    pub(super) fn row(&mut self, key: KeyId, table: TableId, name: Datum, holds: &StreamedValue) {
        self.rows.tell(key, table, name);
        self.hold(key, holds);
    }

    /// A key holds this from now on.
    #[inline]
    pub(super) fn hold(&mut self, key: KeyId, value: &StreamedValue) {
        if self.rows.is_empty() {
            return;
        }
        if *value == StreamedValue::Null { self.rows.take(key) } else { self.rows.put(key) }
    }

    /// The recording has a transaction.
    pub(super) fn tell(&mut self, txn: &StreamedTxn<'_>) {
        if txn.has_scans() {
            self.scanned.extend(txn.scans().map(|it| it.table));
        }
    }

    /// Is a key a row of which a scan has said something?
    pub(super) fn is_scanned(&self, key: KeyId) -> bool {
        self.rows.row(key).is_some_and(|it| self.scanned.contains(&it.0))
    }

    /// Compares the scans of a transaction with what rows hold when it reads.
    pub(super) fn check<'v>(
        &self,
        txn: &StreamedTxn<'_>,
        held: impl Fn(KeyId) -> &'v StreamedValue,
    ) -> Result<(), Uncertified> {
        for scan in txn.scans() {
            if let Some(row) = self.missed(scan, &held) {
                let name = self.rows.row(row).map_or(Datum::Null, |it| it.1.to_datum());
                let (name, value) = (name.as_name().shown(), held(row).as_name().shown());
                let what = format!(
                    "did not return row {name}, although it matches with {value}, which the schedule leaves there"
                );
                return Err(wrong(txn, &what));
            }
        }
        Ok(())
    }

    /// A row that a scan should have returned, and did not.
    fn missed<'v>(&self, scan: StreamedScan<'_>, held: &impl Fn(KeyId) -> &'v StreamedValue) -> Option<KeyId> {
        match scan.omitted {
            Omitted::AllBut(_) => {
                let rows = self.rows.in_reach(scan.table, scan.predicate);
                let matches = |it: &(KeyId, _)| scan.predicate.matches_streamed(it.1, held(it.0));
                rows.filter(matches).map(|it| it.0).find(|it| scan.omitted.has(*it))
            }
            Omitted::Only(rows) => {
                let name = |it: KeyId| self.rows.row(it).map(|it| it.1);
                // Of a key that nobody called a row, nothing could be said.
                rows.iter()
                    .copied()
                    .find(|it| name(*it).is_none_or(|name| scan.predicate.matches_streamed(name, held(*it))))
            }
        }
    }
}
