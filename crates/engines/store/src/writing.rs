//! Histories of what was recorded: with scans as reads of rows, or as scans.

use crate::condition::row_datum;
use crate::past::{ABSENT, KeyIdx, Past, ValueIdx};
use crate::record::{Recorded, Scanned};
use crate::{Condition, Rows};
use iso_history::{Column, Datum, HistoryBuilder, KeyId, Matching, Place, Predicate, ValueId};
use iso_spec::Level;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// How values are spelled in a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// As they were written; a row that is not there is null. Several writes of a key may look alike.
    AsWritten,
    /// What is written to a key again is numbered, as in `5#2`; so are deleted rows (`deleted`), and a row that was
    /// never there is null. Each read then has one possible writer. At levels of databases deleted rows are null, too:
    /// what is inserted must be seen to be.
    Distinct,
}

/// A history that is being written down.
pub(crate) struct Writing<'s> {
    past: &'s Past,
    values: Values,
    deleted: Datum,
    pub(crate) builder: HistoryBuilder,
    keys: Vec<Option<KeyId>>,
    /// By value, how it is spelled.
    spelled: FxHashMap<ValueIdx, ValueId>,
    used: FxHashSet<(KeyIdx, ValueId)>,
    /// By key and plain value, how many more there were.
    n_again: FxHashMap<(KeyIdx, ValueId), u32>,
}

impl<'s> Writing<'s> {
    pub(crate) fn new(past: &'s Past, sessions: &[Arc<str>], values: Values, level: Level) -> Self {
        let mut builder = HistoryBuilder::new();
        for session in sessions {
            builder.session(session);
        }
        Self {
            past,
            values,
            deleted: if level.is_of_databases() { Datum::Null } else { Datum::text("deleted") },
            builder,
            keys: vec![None; past.n_keys()],
            spelled: FxHashMap::default(),
            used: FxHashSet::default(),
            n_again: FxHashMap::default(),
        }
    }

    pub(crate) fn write_down(&mut self, op: Recorded) {
        match op {
            Recorded::Read { key, value, .. } | Recorded::ReadOwn { key, value } => {
                let (key_id, value) = (self.key(key), self.spelling(value));
                self.builder.read(key_id, value);
            }
            Recorded::Write { key, value } => {
                let key_id = self.key(key);
                let value_id = self.spell(key, value);
                self.builder.write(key_id, value_id);
            }
            Recorded::Scan { .. } | Recorded::Statement { .. } => unreachable!("these are taken apart before"),
        }
    }

    /// The key, with its initial value told.
    fn key(&mut self, key: KeyIdx) -> KeyId {
        if let Some(id) = self.keys[key as usize] {
            return id;
        }
        let entry = self.past.key(key);
        let id = self.builder.key(Datum::text(entry.key.to_string()));
        self.keys[key as usize] = Some(id);
        let initial = self.spell(key, entry.initial());
        self.builder.initial(id, initial, Place::default());
        id
    }

    fn spelling(&mut self, value: ValueIdx) -> ValueId {
        // Whoever is read from ended before, so its values are spelled.
        match self.spelled.get(&value) {
            Some(spelled) => *spelled,
            None => self.builder.value(Datum::Null),
        }
    }

    /// Chooses how a write's value is spelled.
    fn spell(&mut self, key: KeyIdx, value: ValueIdx) -> ValueId {
        let datum = self.past.value(value);
        let plain = match (datum, self.values) {
            (Some(datum), _) => datum.clone(),
            (None, Values::Distinct) if value != ABSENT => self.deleted.clone(),
            (None, _) => Datum::Null,
        };
        let mut id = self.builder.value_named(plain.as_name());
        let is_no_row = plain == Datum::Null && self.deleted == Datum::Null;
        if self.values == Values::Distinct && !is_no_row {
            let plain_id = id;
            while !self.used.insert((key, id)) {
                let n_again = self.n_again.entry((key, plain_id)).or_insert(1);
                *n_again += 1;
                id = self.builder.value(again(&plain, *n_again));
            }
        }
        self.spelled.insert(value, id);
        id
    }
}

/// A history with scans that is being written down.
pub(crate) struct WritingScans<'s> {
    past: &'s Past,
    pub(crate) builder: HistoryBuilder,
    keys: Vec<Option<KeyId>>,
    /// By table, the scans with foreign predicates, each predicate once.
    foreign: FxHashMap<u32, Vec<&'s Condition>>,
}

impl<'s> WritingScans<'s> {
    pub(crate) fn new(past: &'s Past, sessions: &[Arc<str>], scans: &'s [Scanned]) -> Self {
        let mut builder = HistoryBuilder::new();
        for session in sessions {
            builder.session(session);
        }
        let mut foreign: FxHashMap<u32, Vec<&Condition>> = FxHashMap::default();
        for scan in scans {
            let Some(condition) = scan.condition.as_ref().filter(|it| it.foreign_text().is_some()) else { continue };
            let known = foreign.entry(scan.table).or_default();
            if !known.iter().any(|it| it.predicate() == condition.predicate()) {
                known.push(condition);
            }
        }
        Self { past, builder, keys: vec![None; past.n_keys()], foreign }
    }

    pub(crate) fn scan(&mut self, scan: &Scanned, reads: &[Recorded]) {
        let mut returned = Vec::new();
        for read in reads {
            if let Recorded::Read { key, value, .. } | Recorded::ReadOwn { key, value } = *read
                && scan.returns(self.past, key, value)
            {
                returned.push((self.key(key), self.value(value)));
            }
        }
        let name = self.past.table_name(scan.table).to_owned();
        self.builder.scan(&name, self.predicate(scan), returned);
    }

    /// Names of rows are compared as texts here and as numbers there, so a part of a table is a list of its rows.
    fn predicate(&self, scan: &Scanned) -> Predicate {
        let rows = match &scan.rows {
            Rows::All => None,
            Rows::Prefix(prefix) if prefix.is_empty() => None,
            rows => {
                let row = |it: &KeyIdx| row_datum(&self.past.key(*it).key.row);
                let names = self.past.rows(scan.table, rows).iter().map(row).collect();
                Some(Predicate::OneOf(Column::Key, names))
            }
        };
        let condition = scan.condition.as_ref().map(|it| it.predicate().clone());
        match (rows, condition) {
            (None, None) => Predicate::All,
            (Some(only), None) | (None, Some(only)) => only,
            (Some(rows), Some(condition)) => Predicate::And(vec![rows, condition]),
        }
    }

    /// Says which foreign predicates a version matches.
    fn say(&mut self, key: KeyIdx, value: ValueIdx) {
        let entry = self.past.key(key);
        let (Some(conditions), Some(datum)) = (self.foreign.get(&entry.table), self.past.value(value)) else { return };
        let matched = conditions.iter().filter(|it| it.matches(&entry.key.row, datum));
        let texts: Vec<&str> = matched.filter_map(|it| it.foreign_text()).collect();
        if texts.is_empty() {
            return;
        }
        let (key, value) = (self.key(key), self.value(value));
        for text in texts {
            self.builder.matching(text, key, value, Matching::Matches, Place::default());
        }
    }

    pub(crate) fn write_down(&mut self, op: Recorded) {
        match op {
            Recorded::Read { key, value, .. } | Recorded::ReadOwn { key, value } => {
                let (key, value) = (self.key(key), self.value(value));
                self.builder.read(key, value);
            }
            Recorded::Write { key, value } => {
                self.say(key, value);
                let (key, value) = (self.key(key), self.value(value));
                self.builder.write(key, value);
            }
            Recorded::Scan { .. } | Recorded::Statement { .. } => unreachable!("these are taken apart before"),
        }
    }

    fn key(&mut self, key: KeyIdx) -> KeyId {
        if let Some(id) = self.keys[key as usize] {
            return id;
        }
        let entry = self.past.key(key);
        let id = self.builder.key(Datum::text(format!("{}/{}", entry.key.table, entry.key.row)));
        self.keys[key as usize] = Some(id);
        let initial = entry.initial();
        let value = self.value(initial);
        self.builder.initial(id, value, Place::default());
        self.say(key, initial);
        id
    }

    fn value(&mut self, value: ValueIdx) -> ValueId {
        self.builder.value(self.past.value(value).cloned().unwrap_or(Datum::Null))
    }
}

/// How a value is spelled when it is written for the nth time.
fn again(plain: &Datum, nth: u32) -> Datum {
    Datum::text(match plain {
        Datum::Null => format!("null#{nth}"),
        Datum::Int(number) => format!("{number}#{nth}"),
        Datum::Number(text) | Datum::Text(text) | Datum::Record(text) => format!("{text}#{nth}"),
    })
}
