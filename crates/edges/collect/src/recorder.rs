//! Writes down what a transaction does while it does it: a client that passes everything on, and notes it.
//!
//! A read is noted when its answer is there, as it came, and so is a statement that finds out by itself what it writes. Any
//! other write comes to the buffer before it is sent: if the transaction
//! ends badly, somebody may have seen it all the same, and then it must not look as if nobody had written it. Reads may
//! wait for the next write or the commit: whoever ends the run may miss what a transaction did last that nobody else can
//! have seen, if it was never asked to commit, and nothing else.

use crate::answered::{Answered, Effect, RowNames, Sink};
use crate::notes::Notes;
use crate::session_buffer::{Begun, SessionBuffer};
use crate::workloads::table_name;
use crate::{
    Changing, Client, Control, Failure, Inserts, Rows, Uncommitted, Updates, Value, WholeOp, Workload, list_of,
};
use iso_history::{Locking, Name, Predicate};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

/// What all sessions of a run share: the clock, the names of keys, and the rows that are known.
#[derive(Debug)]
pub(crate) struct Recorder {
    started: Instant,
    control: Arc<Control>,
    rows_are: Rows,
    keys: KeyNames,
    tables: TableNames,
    known: Known,
    /// Has everybody ended?
    is_quiet: AtomicBool,
}

/// Whether transactions call tables as the database does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TableNames {
    Same,
    /// Names may have hyphens, which those in a database have not.
    Hyphened,
}

/// How rows are called in the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyNames {
    /// By row, because there is one table.
    Row,
    /// As in `table:row`.
    TableAndRow,
    /// As in `table/row`, so that scans can be recorded.
    OfTable,
}

/// The rows that may be there: a scan that does not show one has seen that it is not there.
#[derive(Debug)]
struct Known {
    rows: RwLock<BTreeSet<(String, String)>>,
    /// Do transactions make rows?
    grows: bool,
}

impl Recorder {
    pub(crate) fn new(workload: &dyn Workload, control: Arc<Control>, started: Instant) -> Self {
        let tables = workload.tables();
        let keys = match workload.row_names() {
            RowNames::WithTable => KeyNames::OfTable,
            RowNames::Short if tables.len() == 1 => KeyNames::Row,
            RowNames::Short => KeyNames::TableAndRow,
        };
        let rows = workload.rows().into_iter().map(|(table, row, _)| (table, row)).collect();
        let known = Known { rows: RwLock::new(rows), grows: keys == KeyNames::TableAndRow };
        // Only applications have several tables, and hyphens in their names.
        let names = if tables.len() == 1 { TableNames::Same } else { TableNames::Hyphened };
        let (rows_are, is_quiet) = (workload.rows_are(), AtomicBool::new(false));
        Self { started, control, rows_are, keys, tables: names, known, is_quiet }
    }

    /// All sessions have ended. What one statement reads from now on might as well be read by several, and so it is
    /// recorded, because other formats have no statements.
    pub(crate) fn quieten(&self) {
        self.is_quiet.store(true, Ordering::Relaxed);
    }

    fn row_names(&self) -> RowNames {
        if self.keys == KeyNames::OfTable { RowNames::WithTable } else { RowNames::Short }
    }

    /// Nanoseconds since the start.
    pub(crate) fn now(&self) -> i64 {
        self.time(Instant::now())
    }

    /// Nanoseconds from the start to then.
    pub(crate) fn time(&self, then: Instant) -> i64 {
        i64::try_from(then.duration_since(self.started).as_nanos()).unwrap_or(i64::MAX)
    }

    /// Notes what a transaction writes, before anybody knows what it reads.
    pub(crate) fn note_writes(&self, ops: &[WholeOp], scratch: &mut Scratch) {
        let Scratch { notes, text } = scratch;
        notes.clear();
        for op in ops {
            match op {
                WholeOp::Put { table, row, value } => {
                    self.known.add(table, row);
                    notes.write(self.key(table, row, text), value_name(Some(value)));
                }
                WholeOp::Delete { table, row } => notes.write(self.key(table, row, text), Name::Null),
                WholeOp::Append { table, row, element } => {
                    notes.append(self.key(table, row, text), Name::Int(*element));
                }
                WholeOp::Get { .. } | WholeOp::Scan { .. } => {}
            }
        }
    }

    /// What a table is called in the database.
    fn table<'t>(&self, table: &'t str) -> Cow<'t, str> {
        match self.tables {
            TableNames::Same => Cow::Borrowed(table),
            TableNames::Hyphened => table_name(table),
        }
    }

    /// What a row is called in the history. A name that is put together is put into `text`.
    pub(crate) fn key<'n>(&self, table: &str, row: &'n str, text: &'n mut String) -> Name<'n> {
        match self.keys {
            KeyNames::Row => row_name(row),
            KeyNames::TableAndRow | KeyNames::OfTable => {
                let between = if self.keys == KeyNames::OfTable { "/" } else { ":" };
                text.clear();
                text.extend([table, between, row]);
                Name::Text(text)
            }
        }
    }
}

impl Known {
    fn add(&self, table: &str, row: &str) {
        if !self.grows {
            return;
        }
        let key = (table.to_owned(), row.to_owned());
        let is_known = self.rows.read().unwrap_or_else(PoisonError::into_inner).contains(&key);
        if !is_known {
            self.rows.write().unwrap_or_else(PoisonError::into_inner).insert(key);
        }
    }

    /// Known rows that a scan should have shown and did not.
    fn missing(&self, table: &str, prefix: &str, shown: &[(String, Value)]) -> Vec<String> {
        let shown: BTreeSet<&str> = shown.iter().map(|it| it.0.as_str()).collect();
        let rows = self.rows.read().unwrap_or_else(PoisonError::into_inner);
        let from = rows.range((table.to_owned(), prefix.to_owned())..);
        let fitting = from.take_while(|it| it.0 == table && it.1.starts_with(prefix));
        fitting.filter(|it| !shown.contains(it.1.as_str())).map(|it| it.1.clone()).collect()
    }
}

/// A number in the one way in which numbers are written.
fn integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_usual = digits.as_bytes().first().is_some_and(|it| matches!(it, b'1'..=b'9')) || text == "0";
    if is_usual { text.parse().ok() } else { None }
}

/// What a row is called in the history where there is one table.
pub(crate) fn row_name(row: &str) -> Name<'_> {
    integer(row).map_or(Name::Text(row), Name::Int)
}

/// A value in the history. Databases that hold texts give a number back as one.
pub(crate) fn value_name(value: Option<&Value>) -> Name<'_> {
    match value {
        None => Name::Null,
        Some(Value::Int(number)) => Name::Int(*number),
        Some(Value::Text(text)) => integer(text).map_or(Name::Text(text), Name::Int),
    }
}

/// A client whose operations are noted.
pub(crate) struct RecordingClient<'c> {
    client: &'c mut (dyn Client + Send),
    buffer: &'c SessionBuffer,
    begun: Begun<'c>,
    uncommitted: Uncommitted,
    recorder: &'c Recorder,
    scratch: &'c mut Scratch,
}

/// Memory that a session uses again for each transaction.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// What is not in the buffer yet.
    pub(crate) notes: Notes,
    /// Where names of keys are put together.
    text: String,
}

impl<'c> RecordingClient<'c> {
    pub(crate) fn new(
        client: &'c mut (dyn Client + Send),
        buffer: &'c SessionBuffer,
        begun: Begun<'c>,
        recorder: &'c Recorder,
        scratch: &'c mut Scratch,
    ) -> Self {
        scratch.notes.clear();
        let uncommitted = client.uncommitted_writes();
        Self { client, buffer, begun, uncommitted, recorder, scratch }
    }

    /// When the run is stopped, open transactions end.
    fn go_on(&self) -> Result<(), Failure> {
        if self.recorder.control.is_stopped() { Err(Failure::aborted("the run was stopped")) } else { Ok(()) }
    }

    fn note_read(&mut self, table: &str, row: &str, value: Option<&Value>) -> Result<(), Failure> {
        let Scratch { notes, text } = &mut *self.scratch;
        let key = self.recorder.key(table, row, text);
        match self.recorder.rows_are {
            Rows::Registers => notes.read(key, value_name(value)),
            Rows::Lists => notes.read_list(key, &list_of(value)?),
        }
        Ok(())
    }

    /// Notes a statement that was answered. What it wrote is told at once: somebody may have seen it.
    fn note_answer(&mut self, answered: &Answered<'_>) {
        let notes = &mut self.scratch.notes;
        answered.record(self.recorder.row_names(), notes);
        let has_written = !matches!(answered.effect, Effect::Read(_));
        if has_written && self.uncommitted == Uncommitted::MayBeSeen {
            self.buffer.note(self.begun, notes);
        }
    }

    /// Notes the rows of a scan by keys, and of those that are known the ones that it did not show.
    fn note_scan(&mut self, table: &str, prefix: &str, rows: &[(String, Value)]) -> Result<(), Failure> {
        let missing = self.recorder.known.missing(table, prefix, rows);
        let is_statement = rows.len() + missing.len() > 1 && !self.recorder.is_quiet.load(Ordering::Relaxed);
        if is_statement {
            self.scratch.notes.begin_statement();
        }
        for (row, value) in rows {
            self.note_read(table, row, Some(value))?;
        }
        for row in missing {
            self.note_read(table, &row, None)?;
        }
        if is_statement {
            self.scratch.notes.end_statement(Locking::Free);
        }
        Ok(())
    }

    fn note_write(&mut self, table: &str, row: &str, value: Option<&Value>) {
        self.recorder.known.add(table, row);
        let Scratch { notes, text } = &mut *self.scratch;
        notes.write(self.recorder.key(table, row, text), value_name(value));
        if self.uncommitted == Uncommitted::MayBeSeen {
            self.buffer.note(self.begun, notes);
        }
    }
}

impl RecordingClient<'_> {
    /// An insert that is done has seen that there was no row. If it fails, the transaction does.
    fn note_insert(&mut self, table: &str, row: &str, value: &Value) {
        self.recorder.known.add(table, row);
        let Scratch { notes, text } = &mut *self.scratch;
        Sink::update(notes, self.recorder.key(table, row, text), Name::Null, value_name(Some(value)));
        if self.uncommitted == Uncommitted::MayBeSeen {
            self.buffer.note(self.begun, notes);
        }
    }
}

impl Client for RecordingClient<'_> {
    fn begin(&mut self) -> Result<(), Failure> {
        self.go_on()?;
        self.client.begin()
    }

    fn get(&mut self, table: &str, row: &str) -> Result<Option<Value>, Failure> {
        self.go_on()?;
        let table = &self.recorder.table(table);
        let value = self.client.get(table, row)?;
        self.note_read(table, row, value.as_ref())?;
        Ok(value)
    }

    fn put(&mut self, table: &str, row: &str, value: Value) -> Result<(), Failure> {
        self.go_on()?;
        let table = &self.recorder.table(table);
        self.note_write(table, row, Some(&value));
        self.client.put(table, row, value)
    }

    fn insert(&mut self, table: &str, row: &str, value: Value) -> Result<(), Failure> {
        self.go_on()?;
        let table = &self.recorder.table(table);
        if self.recorder.keys == KeyNames::OfTable && self.client.inserts() == Inserts::Checked {
            self.note_insert(table, row, &value);
        } else {
            self.note_write(table, row, Some(&value));
        }
        self.client.insert(table, row, value)
    }

    fn delete(&mut self, table: &str, row: &str) -> Result<(), Failure> {
        self.go_on()?;
        let table = &self.recorder.table(table);
        self.note_write(table, row, None);
        self.client.delete(table, row)
    }

    fn scan(&mut self, table: &str, prefix: &str) -> Result<Vec<(String, Value)>, Failure> {
        self.go_on()?;
        let table = &self.recorder.table(table);
        let rows = self.client.scan(table, prefix)?;
        if self.recorder.keys == KeyNames::OfTable && prefix.is_empty() {
            let (found, effect) = (&rows, Effect::Read(Locking::Free));
            self.note_answer(&Answered { table, predicate: &Predicate::All, found, effect });
        } else {
            self.note_scan(table, prefix, &rows)?;
        }
        Ok(rows)
    }

    fn select(
        &mut self,
        table: &str,
        predicate: &Predicate,
        locking: Locking,
    ) -> Result<Vec<(String, Value)>, Failure> {
        self.go_on()?;
        let table = &self.recorder.table(table);
        let rows = self.client.select(table, predicate, locking)?;
        self.note_answer(&Answered { table, predicate, found: &rows, effect: Effect::Read(locking) });
        Ok(rows)
    }

    fn increase(&mut self, table: &str, predicate: &Predicate, by: i64) -> Result<Vec<(String, Value)>, Failure> {
        self.go_on()?;
        let table = &self.recorder.table(table);
        let rows = self.client.increase(table, predicate, by)?;
        self.note_answer(&Answered { table, predicate, found: &rows, effect: Effect::Add(by) });
        Ok(rows)
    }

    fn delete_where(&mut self, table: &str, predicate: &Predicate) -> Result<Vec<(String, Value)>, Failure> {
        self.go_on()?;
        let table = &self.recorder.table(table);
        let rows = self.client.delete_where(table, predicate)?;
        self.note_answer(&Answered { table, predicate, found: &rows, effect: Effect::Delete });
        Ok(rows)
    }

    fn update(&mut self, table: &str, row: &str, change: &mut Changing<'_>) -> Result<Option<(Value, Value)>, Failure> {
        self.go_on()?;
        let table = &self.recorder.table(table);
        let Some((old, new)) = self.client.update(table, row, change)? else { return Ok(None) };
        let Scratch { notes, text } = &mut *self.scratch;
        let key = self.recorder.key(table, row, text);
        Sink::update(notes, key, value_name(Some(&old)), value_name(Some(&new)));
        if self.uncommitted == Uncommitted::MayBeSeen {
            self.buffer.note(self.begun, notes);
        }
        Ok(Some((old, new)))
    }

    fn updates(&self) -> Updates {
        self.client.updates()
    }

    fn append(&mut self, table: &str, row: &str, element: i64) -> Result<(), Failure> {
        self.go_on()?;
        let Scratch { notes, text } = &mut *self.scratch;
        notes.append(self.recorder.key(table, row, text), Name::Int(element));
        if self.uncommitted == Uncommitted::MayBeSeen {
            self.buffer.note(self.begun, notes);
        }
        self.client.append(table, row, element)
    }

    fn commit(&mut self) -> Result<(), Failure> {
        self.buffer.commit(self.begun, &mut self.scratch.notes);
        self.client.commit()
    }

    fn abort(&mut self) -> Result<(), Failure> {
        self.client.abort()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_one_only_as_numbers_are_written() {
        assert_eq!(
            ["0", "17", "-3", "9223372036854775807"].map(integer),
            [Some(0), Some(17), Some(-3), Some(i64::MAX)]
        );
        for text in ["", "-", "-0", "007", "+1", "1x", " 1", "9223372036854775808"] {
            assert_eq!(integer(text), None, "{text}");
        }
    }
}
