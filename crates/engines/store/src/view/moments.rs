//! Levels of databases whose plain reads look at one moment, and whose locks act on the newest version.
//!
//! A moment is a place of the log. Which one is left open as long as it can be, as in [`super::prefix`]; it is not earlier
//! than what the transaction looked at or locked before. A row that is locked, or written, has been free since whoever had
//! it last committed, and stays as it is until the transaction ends: so the place where it was locked is only known to be
//! after that commit. See decision 0023.

use super::Reads;
use super::prefix::Prefix;
use crate::past::{KeyIdx, Past, Pos};
use iso_history::Snapshots;

#[derive(Clone, Debug)]
pub(crate) struct Moments {
    snapshots: Snapshots,
    /// What comes next is not earlier than this place.
    since: Pos,
    /// What plain reads look at, once there is one.
    snapshot: Option<Prefix>,
}

impl Moments {
    pub(crate) fn new(snapshots: Snapshots, since: Pos) -> Self {
        Self { snapshots, since, snapshot: None }
    }

    /// A statement begins: at READ COMMITTED it has a snapshot of its own. Answers whether it has.
    pub(crate) fn begin_statement(&mut self) -> bool {
        let is_new = self.snapshots == Snapshots::PerStatement;
        if is_new {
            self.since = self.first();
            self.snapshot = None;
        }
        is_new
    }

    /// The earliest place that the snapshot can have, or the next one.
    pub(crate) fn first(&self) -> Pos {
        self.snapshot.as_ref().map_or(self.since, |it| self.since.max(it.first()))
    }

    /// Where the snapshot is, as early as can be.
    pub(crate) fn snapshot(&self) -> Pos {
        self.snapshot.as_ref().map_or(self.since, Prefix::first)
    }

    pub(crate) fn refresh(&mut self, past: &Past, reads: &Reads) {
        if let Some(snapshot) = &mut self.snapshot {
            snapshot.refresh(past, reads);
        }
    }

    pub(crate) fn span(&self, past: &Past, key: KeyIdx) -> (u32, u32) {
        match &self.snapshot {
            Some(snapshot) => snapshot.span(past, key),
            None => (past.key(key).at(self.since), past.key(key).newest()),
        }
    }

    pub(crate) fn take(&mut self, past: &Past, key: KeyIdx, version: u32) {
        let since = self.since;
        self.snapshot.get_or_insert_with(|| Prefix::reading(since, past)).take(past, key, version);
    }

    /// A snapshot that was taken has nothing that comes after this place.
    pub(crate) fn end_snapshot(&mut self, last: Pos) {
        if let Some(snapshot) = &mut self.snapshot {
            snapshot.end_at(last);
        }
    }

    /// A row is locked that was free from this place on.
    pub(crate) fn lock(&mut self, free_since: Pos) {
        self.since = self.since.max(free_since);
    }
}
