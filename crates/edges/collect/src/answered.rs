//! Statements that were answered, as a history has them: what they asked for, what they found, and what they did to that.
//!
//! A statement that changes rows reads them in their newest version, and so it does with rows that it did not find: if it
//! found none at all, it is recorded as one that locks.

use crate::Value;
use crate::recorder::{row_name, value_name};
use iso_history::{Column, Comparison, Datum, HistoryBuilder, KeyId, Locking, Name, Predicate, ValueId};

/// A statement of one table, and what came back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answered<'a> {
    pub(crate) table: &'a str,
    pub(crate) predicate: &'a Predicate,
    /// The rows that it found, with what was in them.
    pub(crate) found: &'a [(String, Value)],
    pub(crate) effect: Effect,
}

/// What a statement does to the rows that it finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Read(Locking),
    Add(i64),
    Delete,
}

/// How rows are called in a history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowNames {
    /// By row: there is one table, and nobody asks for rows that are not there.
    #[default]
    Short,
    /// As in `table/row`, so that scans can be recorded.
    WithTable,
}

/// Where operations are written down.
pub(crate) trait Sink {
    fn read(&mut self, key: Name<'_>, value: Name<'_>);
    fn write(&mut self, key: Name<'_>, value: Name<'_>);
    fn update(&mut self, key: Name<'_>, old: Name<'_>, new: Name<'_>);
    fn scan(&mut self, table: &str, predicate: &Predicate, rows: &[(String, Value)]);
    fn begin_statement(&mut self);
    fn end_statement(&mut self, locking: Locking);
}

impl Answered<'_> {
    /// Writes the statement down.
    pub(crate) fn record(&self, names: RowNames, sink: &mut impl Sink) {
        let is_certain = names == RowNames::Short || only_row(self.predicate).is_some();
        match (self.effect, self.found) {
            (Effect::Add(_) | Effect::Delete, [(row, old)]) if is_certain => {
                let new = self.effect.applied_to(old);
                sink.update(self.key(names, row).as_name(), value_name(Some(old)), value_name(new.as_ref()));
            }
            (Effect::Read(Locking::Free), [_]) => self.record_found(names, sink),
            (Effect::Read(Locking::Free), _) if names == RowNames::WithTable => self.record_found(names, sink),
            (_, []) if names == RowNames::Short => {}
            _ => {
                sink.begin_statement();
                self.record_found(names, sink);
                self.record_changes(names, sink);
                sink.end_statement(self.locking());
            }
        }
    }

    fn record_found(&self, names: RowNames, sink: &mut impl Sink) {
        if names == RowNames::WithTable {
            return sink.scan(self.table, self.predicate, self.found);
        }
        for (row, value) in self.found {
            sink.read(self.key(names, row).as_name(), value_name(Some(value)));
        }
    }

    fn record_changes(&self, names: RowNames, sink: &mut impl Sink) {
        if matches!(self.effect, Effect::Read(_)) {
            return;
        }
        for (row, old) in self.found {
            let new = self.effect.applied_to(old);
            sink.write(self.key(names, row).as_name(), value_name(new.as_ref()));
        }
    }

    /// Rows that are written need no lock to be told of.
    fn locking(&self) -> Locking {
        match self.effect {
            Effect::Read(locking) => locking,
            Effect::Add(_) | Effect::Delete if self.found.is_empty() => Locking::ForUpdate,
            Effect::Add(_) | Effect::Delete => Locking::Free,
        }
    }

    fn key(&self, names: RowNames, row: &str) -> Datum {
        match names {
            RowNames::Short => row_name(row).to_datum(),
            RowNames::WithTable => Datum::text(with_table(self.table, row)),
        }
    }
}

impl Effect {
    /// What becomes of a row; none if it is gone.
    fn applied_to(self, old: &Value) -> Option<Value> {
        match (self, old) {
            (Self::Delete, _) => None,
            (Self::Add(by), Value::Int(number)) => Some(Value::Int(number.wrapping_add(by))),
            (Self::Add(_) | Self::Read(_), old) => Some(old.clone()),
        }
    }
}

/// What a row is called if its table is named.
pub(crate) fn with_table(table: &str, row: &str) -> String {
    format!("{table}/{row}")
}

/// The predicate that asks for one row.
pub(crate) fn key_is(row: &str) -> Predicate {
    Predicate::Compare(Column::Key, Comparison::Equal, row_name(row).to_datum())
}

/// The row that a predicate asks for, if it asks for one by its key.
pub(crate) fn only_row(predicate: &Predicate) -> Option<String> {
    match predicate {
        Predicate::Compare(Column::Key, Comparison::Equal, Datum::Int(row)) => Some(row.to_string()),
        Predicate::Compare(Column::Key, Comparison::Equal, Datum::Text(row)) => Some(row.to_string()),
        _ => None,
    }
}

/// Does a row match a predicate?
pub(crate) fn is_match(predicate: &Predicate, row: &str, value: &Value) -> bool {
    predicate.matches(row_name(row), value_name(Some(value)), &|_| false)
}

impl Sink for HistoryBuilder {
    fn read(&mut self, key: Name<'_>, value: Name<'_>) {
        let (key, value) = ids(self, key, value);
        Self::read(self, key, value);
    }

    fn write(&mut self, key: Name<'_>, value: Name<'_>) {
        let (key, value) = ids(self, key, value);
        Self::write(self, key, value);
    }

    fn update(&mut self, key: Name<'_>, old: Name<'_>, new: Name<'_>) {
        let (key, old) = ids(self, key, old);
        let new = self.value_named(new);
        Self::update(self, key, old, new);
    }

    fn scan(&mut self, table: &str, predicate: &Predicate, rows: &[(String, Value)]) {
        let pair = |builder: &mut Self, row: &str, value: &Value| {
            ids(builder, Name::Text(&with_table(table, row)), value_name(Some(value)))
        };
        let rows: Vec<(KeyId, ValueId)> = rows.iter().map(|(row, value)| pair(self, row, value)).collect();
        Self::scan(self, table, predicate.clone(), rows);
    }

    fn begin_statement(&mut self) {
        Self::begin_statement(self);
    }

    fn end_statement(&mut self, locking: Locking) {
        Self::end_statement(self, locking);
    }
}

fn ids(builder: &mut HistoryBuilder, key: Name<'_>, value: Name<'_>) -> (KeyId, ValueId) {
    (builder.key_named(key), builder.value_named(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iso_formats::{Format, predicate_of, write};
    use iso_history::{Outcome, Place};

    /// How a statement is recorded that found these rows, in a table that has a row 9 as well.
    fn recorded(names: RowNames, predicate: &str, found: &[(&str, i64)], effect: Effect) -> String {
        let mut builder = HistoryBuilder::new();
        let (session, ninth, value) = (builder.session("s"), builder.key("t/9".into()), builder.value(1.into()));
        builder.initial(ninth, value, Place::default());
        builder.begin(session, Place::default());
        let found: Vec<_> = found.iter().map(|(row, value)| ((*row).to_owned(), Value::Int(*value))).collect();
        let predicate = predicate_of(predicate).unwrap();
        Answered { table: "t", predicate: &predicate, found: &found, effect }.record(names, &mut builder);
        builder.end(Outcome::Committed);
        let mut text = Vec::new();
        write(&builder.finish().unwrap(), Format::Text, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let (_, ops) = text.split_once("s: {").unwrap();
        ops.trim_end().trim_end_matches('}').trim().to_owned()
    }

    #[test]
    fn a_statement_is_recorded_with_what_it_found_and_did() {
        let with_table = |predicate, found, effect| recorded(RowNames::WithTable, predicate, found, effect);
        let (free, locked) = (Effect::Read(Locking::Free), Effect::Read(Locking::ForUpdate));
        assert_eq!(with_table("value < 3", &[("1", 2)], free), "scan(t, value < 3, {t/1=2})");
        assert_eq!(with_table("all", &[], locked), "scan(t, all, {}) for update");
        assert_eq!(with_table("key = 1", &[("1", 2)], Effect::Add(1)), "u(t/1,2,3)");
        assert_eq!(with_table("key = 1", &[("1", 2)], Effect::Delete), "u(t/1,2,-)");
        assert_eq!(with_table("key = 9", &[], Effect::Delete), "scan(t, key = 9, {}) for update");
        assert_eq!(
            with_table("all", &[("1", 2), ("4", 7)], Effect::Add(-1)),
            "[ scan(t, all, {t/1=2, t/4=7}) w(t/1,1) w(t/4,6) ]"
        );
    }

    #[test]
    fn where_rows_are_fixed_a_statement_has_reads_and_writes_only() {
        let short = |found, effect| recorded(RowNames::Short, "all", found, effect);
        assert_eq!(short(&[("1", 2)], Effect::Read(Locking::Free)), "r(1,2)");
        assert_eq!(short(&[("1", 2), ("x", 3)], Effect::Read(Locking::Free)), "[ r(1,2) r(x,3) ]");
        assert_eq!(short(&[("1", 2)], Effect::Add(1)), "u(1,2,3)");
        assert_eq!(short(&[], Effect::Add(1)), "", "there is nothing to tell");
    }
}
