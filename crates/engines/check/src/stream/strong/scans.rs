//! Scans: a row that one did not return is a read of a version that does not match.
//!
//! A table may have many rows, and nearly none of them says anything about the place of a scan. So a row becomes a read where
//! a version of it matches, and was not over when the scan began; or when somebody who overlaps the scan writes a version
//! that matches. Before a scan leaves the window, all rows that are there then are looked at, and what does not agree becomes
//! a read as well, or is a [`Misfit`]. So nothing that leaves is a guess.
//! Cost: for each scan twice the rows of its table, or of the range that its predicate names.

use super::super::chains::{Chains, NONE};
use super::super::{Misfit, Why};
use super::waiting::Wanted;
use super::{Linked, MAX_TRIES, Strong};
use iso_history::{Datum, KeyId, Name, Omitted, Predicate, StreamedRows, StreamedTxn, StreamedValue, TableId};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::Arc;

/// So many scans of a table are asked about a new version, if nobody knows when they ended.
const MAX_ASKED: usize = 1 << 10;

/// So many orders of the window are asked for, for one transaction.
const MAX_ORDERS: u8 = 4;

/// The scans of a window, and the rows that are there, in it or before it.
#[derive(Clone, Debug, Default)]
pub(super) struct Scans {
    pub(super) rows: StreamedRows,
    /// By transaction of the window whose reads have not left.
    by_txn: FxHashMap<u32, Scanner>,
    /// By table, who scanned it, with the number of the transaction, in the order in which they came.
    by_table: Vec<VecDeque<(u32, u64)>>,
    /// Which reads are of rows that were not returned.
    omissions: FxHashMap<u32, Omission>,
    /// Keys that kept an omission from what it was tried with.
    in_the_way: FxHashMap<u32, Vec<KeyId>>,
    /// What did not fit when it was to leave.
    pub(super) unfit: Vec<Misfit>,
}

/// A transaction that scans.
#[derive(Clone, Debug)]
struct Scanner {
    scans: Vec<Asked>,
    state: Fit,
}

/// How far it is known that a transaction saw the state in which it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fit {
    /// Nobody has looked.
    Open,
    /// All rows that say something are reads.
    Explicit,
    /// Another order of the window was asked for, so many times.
    Asked(u8),
    /// It does not fit.
    Suspect,
}

/// A scan.
#[derive(Clone, Debug)]
struct Asked {
    table: TableId,
    predicate: Arc<Predicate>,
    omitted: Rows,
}

#[derive(Clone, Debug)]
enum Rows {
    AllBut(Box<[KeyId]>),
    Only(Box<[KeyId]>),
}

impl Scans {
    /// Has a transaction of the window scanned?
    #[inline]
    pub(super) fn has_any(&self) -> bool {
        !self.by_txn.is_empty()
    }
}

impl Asked {
    fn omitted(&self) -> Omitted<'_> {
        match &self.omitted {
            Rows::AllBut(rows) => Omitted::AllBut(rows),
            Rows::Only(rows) => Omitted::Only(rows),
        }
    }

    /// The rows that it did not return, as far as they may match.
    fn rows<'r>(&'r self, rows: &'r StreamedRows) -> impl Iterator<Item = (KeyId, Name<'r>)> {
        let (all, only) = match &self.omitted {
            Rows::AllBut(_) => (Some(rows.in_reach(self.table, &self.predicate)), None),
            Rows::Only(only) => (None, Some(only.iter())),
        };
        let omitted = self.omitted();
        let all = all.into_iter().flatten().filter(move |it| omitted.has(it.0));
        let only = only.into_iter().flatten().filter_map(|it| Some((*it, rows.row(*it)?.1)));
        all.chain(only)
    }
}

/// A read of a row that a scan did not return: which versions it may have seen.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct Omission {
    predicate: Arc<Predicate>,
    row: Datum,
}

impl Omission {
    /// May it have seen this?
    pub(super) fn accepts(&self, value: &StreamedValue) -> bool {
        !self.predicate.matches_streamed(self.row.as_name(), value)
    }
}

/// What an omission in a part of the window is about.
pub(in super::super) struct Unreturned {
    pub(in super::super) key: KeyId,
    /// The name of its table in such a part.
    pub(in super::super) table: String,
    pub(in super::super) predicate: Arc<Predicate>,
}

impl Strong {
    /// A key is a row of a table that is scanned.
    pub(in super::super) fn row(&mut self, key: KeyId, table: TableId, name: Datum) {
        self.scans.rows.tell(key, table, name);
        let newest = self.chains.newest(key);
        if self.chains.version(newest).previous != NONE || *self.chains.before_window(key) != StreamedValue::Null {
            self.scans.rows.put(key);
        }
    }

    /// Its scans become reads of what they did not return, as far as that says something.
    pub(super) fn take_scans(&mut self, slot: u32, txn: &StreamedTxn<'_>, misfits: &mut Vec<Misfit>) {
        let id = self.chains.txn(slot).id;
        let mut scanner = Scanner { scans: Vec::new(), state: Fit::Open };
        for scan in txn.scans() {
            let omitted = match scan.omitted {
                Omitted::AllBut(rows) => Rows::AllBut(rows.into()),
                Omitted::Only(rows) => Rows::Only(rows.into()),
            };
            let asked = Asked { table: scan.table, predicate: Arc::clone(scan.predicate), omitted };
            let may_say = |it: &(KeyId, Name<'_>)| self.may_say(slot, it.0, it.1, &asked.predicate);
            let rows: Vec<KeyId> = asked.rows(&self.scans.rows).filter(may_say).map(|it| it.0).collect();
            for row in rows {
                self.omit(slot, row, &asked.predicate, misfits);
            }
            if self.scans.by_table.len() <= scan.table.index() {
                self.scans.by_table.resize_with(scan.table.index() + 1, VecDeque::new);
            }
            self.scans.by_table[scan.table.index()].push_back((slot, id));
            scanner.scans.push(asked);
        }
        self.scans.by_txn.insert(slot, scanner);
    }

    /// Does a version match that may have been there when the transaction looked?
    fn may_say(&self, slot: u32, key: KeyId, name: Name<'_>, predicate: &Predicate) -> bool {
        let begin = self.chains.txn(slot).begin;
        let mut version = self.chains.newest_of(key);
        while version != NONE {
            let it = self.chains.version(version);
            if predicate.matches_streamed(name, &it.value) {
                return true;
            }
            let is_over =
                |writer: u32| begin.is_some() && self.chains.txn(writer).end.is_some_and(|it| Some(it) < begin);
            if it.writer == NONE || is_over(it.writer) {
                return false;
            }
            version = it.previous;
        }
        false
    }

    /// Somebody did not return a row: that is a read of it.
    fn omit(&mut self, slot: u32, key: KeyId, predicate: &Arc<Predicate>, misfits: &mut Vec<Misfit>) {
        let Some((_, name)) = self.scans.rows.row(key) else { return };
        let omission = Omission { predicate: Arc::clone(predicate), row: name.to_datum() };
        let says_it = |it: u32| {
            let op = self.chains.op(it);
            if op.is_write || op.key != key.raw() {
                return false;
            }
            match self.scans.omissions.get(&it) {
                Some(other) => *other == omission,
                None => op.version != NONE && omission.accepts(&self.chains.version(op.version).value),
            }
        };
        if self.chains.ops_of(slot).any(says_it) {
            return;
        }
        let op = self.chains.add_op(slot, key, false);
        self.scans.omissions.insert(op, omission.clone());
        self.link_or_wait(op, key, &Wanted::Unmatched(omission), misfits);
    }

    /// Links an omission to a version that does not match: the one that the order has there, or one that is near. If none fits,
    /// who changed the row may not have come yet.
    pub(super) fn link_omission(&mut self, op: u32, key: KeyId, omission: &Omission) -> Linked {
        let mut in_the_way = Vec::new();
        for version in self.candidates(op, key, omission) {
            match self.try_link(op, version) {
                Ok(()) => {
                    self.scans.in_the_way.remove(&op);
                    return Linked::Done;
                }
                Err(attempt) => in_the_way.extend(attempt.keys_with(key)),
            }
        }
        self.scans.in_the_way.entry(op).or_default().append(&mut in_the_way);
        Linked::NoVersion
    }

    /// The keys because of which a read could not be what it seems to be.
    pub(super) fn in_the_way(&mut self, op: u32, mut keys: Vec<KeyId>) -> Vec<KeyId> {
        keys.extend(self.scans.in_the_way.remove(&op).unwrap_or_default());
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// The same, when nobody is waited for any longer: then what is in the way is moved.
    pub(super) fn force_omission(&mut self, op: u32, key: KeyId, omission: &Omission) -> Linked {
        let mut first = None;
        for version in self.candidates(op, key, omission) {
            match self.try_link(op, version) {
                Ok(()) => return Linked::Done,
                Err(attempt) => first = first.or(Some((version, attempt))),
            }
        }
        let Some((version, attempt)) = first else { return Linked::NoVersion };
        let keys = attempt.keys_with(key);
        if self.mend(attempt, |it| it.try_link(op, version)) { Linked::Done } else { Linked::Cycle(keys) }
    }

    /// Versions that an omission may have seen, from the one that the order has there to those that are further away.
    fn candidates(&mut self, op: u32, key: KeyId, omission: &Omission) -> Vec<u32> {
        let reader = self.chains.op(op).txn;
        let position = self.order.position(Chains::start(reader));
        let mut seen = self.chains.newest(key);
        loop {
            let it = self.chains.version(seen);
            let is_before = it.writer != reader && self.order.position(self.chains.commit(it.writer)) < position;
            if it.writer == NONE || is_before {
                break;
            }
            seen = it.previous;
        }
        let mut candidates = Vec::new();
        let may_be = |it: u32| {
            let version = self.chains.version(it);
            version.writer != reader && omission.accepts(&version.value)
        };
        let (mut older, mut newer) = (seen, self.chains.version(seen).next);
        while candidates.len() < MAX_TRIES && (older != NONE || newer != NONE) {
            if older != NONE {
                candidates.extend(Some(older).filter(|it| may_be(*it)));
                older = self.chains.version(older).previous;
            }
            if newer != NONE {
                candidates.extend(Some(newer).filter(|it| may_be(*it)));
                newer = self.chains.version(newer).next;
            }
        }
        candidates
    }

    /// What a transaction wrote may match scans that overlapped it, and that returned no such row.
    pub(super) fn tell_scans(&mut self, slot: u32, txn: &StreamedTxn<'_>, misfits: &mut Vec<Misfit>) {
        for (key, value) in txn.writes() {
            let Some((table, name)) = self.scans.rows.row(*key) else { continue };
            let missed = self.who_missed((slot, txn.begin), (table, *key), (name, value));
            self.scans.rows.put(*key);
            for (other, predicate) in missed {
                self.omit(other, *key, &predicate, misfits);
            }
        }
    }

    /// Who scanned a table while a version that matches was written, and did not return it.
    fn who_missed(
        &self,
        (slot, begin): (u32, Option<i64>),
        (table, key): (TableId, KeyId),
        (name, value): (Name<'_>, &StreamedValue),
    ) -> Vec<(u32, Arc<Predicate>)> {
        let mut missed = Vec::new();
        let scanners = self.scans.by_table.get(table.index()).into_iter().flatten().rev();
        for (other, id) in scanners.take(MAX_ASKED).filter(|it| it.0 != slot) {
            let Some(scanner) = self.scans.by_txn.get(other) else { continue };
            let scanned = self.chains.txn(*other);
            if scanned.id != *id {
                continue;
            }
            if begin.is_some() && scanned.end.is_some_and(|it| Some(it) < begin) {
                break;
            }
            for scan in scanner.scans.iter().filter(|it| it.table == table && it.omitted().has(key)) {
                if scan.predicate.matches_streamed(name, value) {
                    missed.push((*other, Arc::clone(&scan.predicate)));
                }
            }
        }
        missed
    }

    /// A transaction is to leave: did its scans see the state that is before the window?
    pub(super) fn scans_fit(&mut self, slot: u32) -> bool {
        let Some(scanner) = self.scans.by_txn.get(&slot) else { return true };
        let state = scanner.state;
        let mut wrong: Vec<(KeyId, Arc<Predicate>)> = Vec::new();
        if state != Fit::Suspect {
            for scan in &scanner.scans {
                let matches = |it: &(KeyId, Name<'_>)| {
                    self.chains.is_known(it.0) && scan.predicate.matches_streamed(it.1, self.chains.before_window(it.0))
                };
                let rows = scan.rows(&self.scans.rows).filter(matches);
                wrong.extend(rows.map(|it| (it.0, Arc::clone(&scan.predicate))));
            }
        }
        if wrong.is_empty() {
            return true;
        }
        let id = self.chains.txn(slot).id;
        let mut keys: Vec<KeyId> = wrong.iter().map(|it| it.0).collect();
        keys.dedup();
        let (next, why) = match state {
            Fit::Open => (Fit::Explicit, None),
            Fit::Explicit => (Fit::Asked(1), Some(Why::Cycle)),
            // An order of what was known to say something: now more is.
            Fit::Asked(n) if n < MAX_ORDERS && self.make_explicit(slot, &wrong) => {
                (Fit::Asked(n + 1), Some(Why::Cycle))
            }
            Fit::Asked(_) | Fit::Suspect => (Fit::Suspect, Some(Why::NoWriter)),
        };
        if let Some(scanner) = self.scans.by_txn.get_mut(&slot) {
            scanner.state = next;
        }
        match why {
            Some(why) => self.scans.unfit.push(Misfit { id, keys, why }),
            None => drop(self.make_explicit(slot, &wrong)),
        }
        false
    }

    /// These rows become reads. False if they are already.
    fn make_explicit(&mut self, slot: u32, rows: &[(KeyId, Arc<Predicate>)]) -> bool {
        let n_before = self.scans.omissions.len();
        let mut misfits = Vec::new();
        for (row, predicate) in rows {
            self.omit(slot, *row, predicate, &mut misfits);
        }
        self.scans.unfit.append(&mut misfits);
        self.scans.omissions.len() > n_before
    }

    /// The reads of a transaction leave.
    pub(super) fn leave_scans(&mut self, slot: u32) {
        let Some(scanner) = self.scans.by_txn.remove(&slot) else { return };
        let ops: Vec<u32> = self.chains.ops_of(slot).collect();
        for op in ops {
            self.scans.omissions.remove(&op);
            self.scans.in_the_way.remove(&op);
        }
        for scan in scanner.scans {
            let scanners = &mut self.scans.by_table[scan.table.index()];
            while let Some((front, id)) = scanners.front() {
                if self.scans.by_txn.contains_key(front) && self.chains.txn(*front).id == *id {
                    break;
                }
                scanners.pop_front();
            }
        }
    }

    /// A row has no version in the window any more, and does not exist.
    pub(super) fn leave_row(&mut self, key: KeyId) {
        let newest = self.chains.newest(key);
        if self.chains.version(newest).previous == NONE
            && self.chains.version(newest).writer == NONE
            && *self.chains.before_window(key) == StreamedValue::Null
        {
            self.scans.rows.take(key);
        }
    }

    /// What a transaction did not return, as far as it is known to say something. Nothing is said of what waits.
    pub(in super::super) fn unreturned(&self, slot: u32, waits: impl Fn(u32) -> bool) -> Vec<Unreturned> {
        let mut found = Vec::new();
        for op in self.chains.ops_of(slot).filter(|it| !waits(*it)) {
            let key = KeyId::from_index(self.chains.op(op).key as usize);
            let Some(omission) = self.scans.omissions.get(&op) else { continue };
            let Some((table, _)) = self.scans.rows.row(key) else { continue };
            let (table, predicate) = (name_of_table(table), Arc::clone(&omission.predicate));
            found.push(Unreturned { key, table, predicate });
        }
        found
    }

    /// The name of a key in a part of the window, if it is a row.
    pub(in super::super) fn name_of_row(&self, key: KeyId) -> Option<Datum> {
        let (table, name) = self.scans.rows.row(key)?;
        let table = name_of_table(table);
        Some(Datum::text(match name {
            Name::Text(text) => format!("{table}/{text}"),
            other => format!("{table}/{other}"),
        }))
    }
}

/// Tables have numbers here, and rows are in them by their names.
fn name_of_table(table: TableId) -> String {
    table.index().to_string()
}
