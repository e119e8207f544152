//! The history that asks for least.

use iso_history::History;
use iso_spec::Level;

/// Read uncommitted lets transactions read what is rolled back later, so whoever is indeterminate may as well have
/// aborted, which asks for least; and nothing is asked of elements that are rolled back. Where statements have snapshots,
/// nothing is asked of rows that were hidden from them, and lists that a transaction appended to are no part of its
/// snapshot.
pub(super) fn most_favourable(history: &History, level: Level) -> Option<History> {
    match level {
        Level::ReadUncommitted => history.favouring_dirty_reads(),
        Level::StatementSnapshots => {
            let locked = history.with_locked_lists();
            let hidden = locked.as_ref().unwrap_or(history).with_hidden_rows();
            hidden.or(locked)
        }
        Level::TransactionSnapshot => history.with_locked_lists(),
        _ => None,
    }
}
