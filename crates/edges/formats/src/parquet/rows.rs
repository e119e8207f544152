//! Makes transactions of rows.

use super::columns::{Cells, Chunk, Column};
use super::spelling::{self, Spelled};
use super::{PART, kind, lock};
use crate::fault::{Fault, quoted};
use crate::input::{Line, LineBytes, LineEnd};
use crate::json::Json;
use crate::ops::{OpsPlace, TxnOps, table_and_row};
use crate::sink::Sink;
use crate::{ReadError, predicate};
use iso_history::{Access, Datum, Extent, KeyId, Locking, Outcome, Predicate, SessionId, ValueId};

/// Which operations there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ops {
    /// Reads and writes of registers, and appends: files have no columns for more.
    Plain,
    Any,
}

/// The transaction whose rows are being read, and those of which all rows are known.
pub(super) struct TxnRows {
    ops: Ops,
    open: Option<Open>,
    plain: Plain,
    any: Any,
    /// Rows of this file so far.
    row: u64,
    /// The session of the last transaction: most follow one of the same.
    last: Option<(Box<[u8]>, SessionId)>,
}

/// What the rows of a transaction have in common.
#[derive(Clone, Debug)]
struct Open {
    txn: i64,
    session: SessionId,
    session_name: Box<[u8]>,
    times: (Option<i64>, Option<i64>),
    outcome: Outcome,
    last_op: Option<i64>,
}

/// Operations in columns.
#[derive(Debug, Default)]
struct Plain {
    accesses: Vec<Access>,
    keys: Vec<KeyId>,
    values: Vec<ValueId>,
}

/// Operations of all kinds.
#[derive(Debug, Default)]
struct Any {
    ops: TxnOps,
    statement: Option<(i64, OpsPlace, Locking)>,
    scan: Option<OpenScan>,
}

#[derive(Debug)]
struct OpenScan {
    number: i64,
    since: OpsPlace,
    table: Box<str>,
    predicate: Predicate,
    /// Where there is no statement around it.
    locking: Option<Locking>,
}

/// Why a row is not as it should be.
enum Wrong {
    Row(String),
    Halt(ReadError),
}

impl From<ReadError> for Wrong {
    fn from(error: ReadError) -> Self {
        Self::Halt(error)
    }
}

impl From<std::str::Utf8Error> for Wrong {
    fn from(_: std::str::Utf8Error) -> Self {
        Self::Row("a text that is no UTF-8".to_owned())
    }
}

fn wrong<T>(message: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong::Row(message.into()))
}

impl TxnRows {
    pub(super) fn new(ops: Ops) -> Self {
        Self { ops, open: None, plain: Plain::default(), any: Any::default(), row: 0, last: None }
    }

    pub(super) fn begin_file(&mut self) {
        self.row = 0;
    }

    /// Adds rows.
    pub(super) fn take(&mut self, chunk: &Chunk, sink: &mut Sink<'_>) -> Result<(), ReadError> {
        let names = if self.ops == Ops::Plain { plain_names(chunk, sink)? } else { None };
        for row in 0..chunk.n_rows {
            self.row += 1;
            let result = match &names {
                Some((keys, values)) => self.plain_row(chunk, row, (keys[row], values[row]), sink),
                None => self.any_row(chunk, row, sink),
            };
            match result {
                Ok(()) => {}
                Err(Wrong::Halt(error)) => return Err(error),
                Err(Wrong::Row(message)) => sink.error_without_place(format!("row {}: {message}", self.row)),
            }
        }
        Ok(())
    }

    /// Ends the last transaction.
    pub(super) fn finish(mut self, sink: &mut Sink<'_>) -> Result<(), ReadError> {
        self.end_txn(sink)
    }

    fn plain_row(
        &mut self,
        chunk: &Chunk,
        row: usize,
        (key, value): (KeyId, ValueId),
        sink: &mut Sink<'_>,
    ) -> Result<(), Wrong> {
        self.enter_txn(chunk, row, sink)?;
        let access = match chunk.cells(Column::Kind).bytes(row) {
            Some(b"r") => Access::Read,
            Some(b"w") => Access::Write,
            _ => Access::Append,
        };
        self.push_plain(access, key, value);
        Ok(())
    }

    fn push_plain(&mut self, access: Access, key: KeyId, value: ValueId) {
        match self.ops {
            Ops::Plain => {
                self.plain.accesses.push(access);
                self.plain.keys.push(key);
                self.plain.values.push(value);
            }
            Ops::Any => self.any.ops.push(access, key, value),
        }
    }

    fn any_row(&mut self, chunk: &Chunk, row: usize, sink: &mut Sink<'_>) -> Result<(), Wrong> {
        let Some(what) = chunk.cells(Column::Kind).text(row)? else { return wrong("there is no `kind`") };
        if what == kind::INITIAL {
            return initial(chunk, row, sink);
        }
        self.enter_txn(chunk, row, sink)?;
        if self.ops == Ops::Any {
            self.any.enter_statement(chunk, row, sink)?;
        }
        match what {
            kind::READ | kind::WRITE | kind::APPEND => self.register(what, chunk, row, sink),
            kind::LIST => self.list(chunk, row, sink),
            kind::SCAN => self.any.begin_scan(chunk, row),
            kind::OMIT => self.any.omit(chunk, row, sink),
            kind::NONE => Ok(()),
            other => {
                let other = quoted(other);
                wrong(format!("the kind must be r, w, a, list, scan, omit, txn or init, not {other}"))
            }
        }
    }

    /// Makes sure that the transaction of a row is open, and that the row fits to it.
    fn enter_txn(&mut self, chunk: &Chunk, row: usize, sink: &mut Sink<'_>) -> Result<(), Wrong> {
        let Some(txn) = chunk.cells(Column::Txn).int(row) else {
            return wrong("there is no number of a transaction in `txn`");
        };
        if self.open.as_ref().is_some_and(|it| it.txn == txn) {
            return self.stay_in_txn(chunk, row);
        }
        if let Some(before) = self.open.as_ref().filter(|it| it.txn > txn) {
            let message = format!(
                "transaction {txn} comes after {}; the rows of all files must be in the order of `txn`, so sort them",
                before.txn
            );
            // What follows would be wrong as well.
            self.end_txn(sink)?;
            self.open = None;
            return wrong(message);
        }
        self.end_txn(sink)?;
        let session_cells = chunk.cells(Column::Session);
        if !session_cells.has(row) {
            return wrong(format!("transaction {txn} has no `session`"));
        }
        let session_name = session_bytes(session_cells, row);
        let session = match &self.last {
            Some((name, session)) if **name == *session_name => *session,
            _ => {
                let session = sink.session(std::str::from_utf8(&session_name)?)?;
                self.last = Some((session_name.clone(), session));
                session
            }
        };
        let outcome = outcome(chunk, row)?;
        let times = (chunk.cells(Column::Begin).int(row), chunk.cells(Column::End).int(row));
        let last_op = chunk.cells(Column::Op).int(row);
        self.open = Some(Open { txn, session, session_name, times, outcome, last_op });
        Ok(())
    }

    /// A row of the transaction that is open must say the same of it.
    fn stay_in_txn(&mut self, chunk: &Chunk, row: usize) -> Result<(), Wrong> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let differs =
            |what: &str| wrong(format!("the rows of transaction {} have different cells in `{what}`", open.txn));
        let sessions = chunk.cells(Column::Session);
        let same_session = if sessions.is_ints() {
            sessions.has(row) && *session_bytes(sessions, row) == *open.session_name
        } else {
            sessions.bytes(row) == Some(&*open.session_name)
        };
        if !same_session {
            return differs("session");
        }
        if chunk.cells(Column::Begin).int(row) != open.times.0 {
            return differs("begin");
        }
        if chunk.cells(Column::End).int(row) != open.times.1 {
            return differs("end");
        }
        if outcome(chunk, row)? != open.outcome {
            return differs("status");
        }
        let op = chunk.cells(Column::Op).int(row);
        if let (Some(before), Some(op)) = (open.last_op, op)
            && op <= before
        {
            return wrong(format!(
                "operation {op} of transaction {} comes after {before}; the rows of a transaction must be in the order of `op`",
                open.txn
            ));
        }
        open.last_op = op;
        Ok(())
    }

    fn end_txn(&mut self, sink: &mut Sink<'_>) -> Result<(), ReadError> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let place = sink.place(u64::try_from(open.txn).unwrap_or(0));
        match self.ops {
            Ops::Plain => {
                let columns = (&self.plain.accesses[..], &self.plain.keys[..], &self.plain.values[..]);
                sink.register_txn(open.session, place, open.times, columns, open.outcome)?;
                self.plain.accesses.clear();
                self.plain.keys.clear();
                self.plain.values.clear();
            }
            Ops::Any => {
                self.any.end_scan();
                self.any.end_statement();
                sink.txn(open.session, place, open.times, &self.any.ops, open.outcome)?;
                self.any.ops.clear();
            }
        }
        Ok(())
    }

    fn register(&mut self, what: &str, chunk: &Chunk, row: usize, sink: &mut Sink<'_>) -> Result<(), Wrong> {
        let key = sink.key_named(named(chunk.cells(Column::Key), row)?.as_name())?;
        let value = sink.value_named(named(chunk.cells(Column::Value), row)?.as_name())?;
        let access = match what {
            kind::READ => Access::Read,
            kind::WRITE => Access::Write,
            _ => Access::Append,
        };
        if self.ops == Ops::Any {
            return self.any.register(access, (key, value), chunk, row, sink);
        }
        self.push_plain(access, key, value);
        Ok(())
    }

    fn list(&mut self, chunk: &Chunk, row: usize, sink: &mut Sink<'_>) -> Result<(), Wrong> {
        let Some(text) = chunk.cells(Column::Elements).text(row)? else {
            return wrong("a read of a list has its elements in the column `elements`, as in [1,2]");
        };
        let key = sink.key_named(named(chunk.cells(Column::Key), row)?.as_name())?;
        let ops = &mut self.any.ops;
        json(text, |json| {
            let value = json.value()?;
            ops.element(sink.value(value)?);
            Ok(())
        })?;
        let before = ops.here();
        ops.push_list(key);
        self.any.lock(chunk, row, before)
    }
}

/// The ids of keys and values of rows.
type Names = (Vec<KeyId>, Vec<ValueId>);

/// The keys and values of rows that are numbers throughout: many are found faster at once.
fn plain_names(chunk: &Chunk, sink: &mut Sink<'_>) -> Result<Option<Names>, ReadError> {
    let (keys, values) = (chunk.cells(Column::Key), chunk.cells(Column::Value));
    let kinds = chunk.cells(Column::Kind);
    let is_op = |row: usize| matches!(kinds.bytes(row), Some(b"r" | b"w" | b"a"));
    if !keys.all_ints() || !values.all_ints() || !(0..chunk.n_rows).all(is_op) {
        return Ok(None);
    }
    let (mut key_ids, mut value_ids) = (Vec::with_capacity(chunk.n_rows), Vec::with_capacity(chunk.n_rows));
    sink.int_keys(&keys.ints, &mut key_ids)?;
    sink.int_values(&values.ints, &mut value_ids)?;
    Ok(Some((key_ids, value_ids)))
}

/// Notes an initial value.
fn initial(chunk: &Chunk, row: usize, sink: &mut Sink<'_>) -> Result<(), Wrong> {
    let name = named(chunk.cells(Column::Key), row)?.as_name().to_datum();
    let value = sink.value_named(named(chunk.cells(Column::Value), row)?.as_name())?;
    let key = sink.initial(&name, value, 0)?;
    read_matches(chunk, row, (key, value), sink)
}

impl Any {
    /// Ends the statement and the scan before a row, if it is no part of them, and begins its own.
    fn enter_statement(&mut self, chunk: &Chunk, row: usize, sink: &mut Sink<'_>) -> Result<(), Wrong> {
        sink.meter().fits(self.ops.bytes())?;
        let (statement, scan) = (chunk.cells(Column::Statement).int(row), chunk.cells(Column::Scan).int(row));
        if self.scan.as_ref().is_some_and(|it| scan != Some(it.number)) {
            self.end_scan();
        }
        if self.statement.as_ref().is_some_and(|it| statement != Some(it.0)) {
            self.end_statement();
        }
        if let (Some(number), None) = (statement, &self.statement) {
            let locking = match chunk.cells(Column::Lock).text(row)? {
                Some(lock::STATEMENT) => Locking::ForUpdate,
                _ => Locking::Free,
            };
            self.statement = Some((number, self.ops.here(), locking));
        }
        Ok(())
    }

    fn end_statement(&mut self) {
        if let Some((_, since, locking)) = self.statement.take() {
            self.ops.wrap(since, locking);
        }
    }

    fn end_scan(&mut self) {
        let Some(scan) = self.scan.take() else { return };
        self.ops.push_scan(scan.since, scan.table, scan.predicate, Extent::Whole);
        if let Some(locking) = scan.locking {
            self.ops.wrap(scan.since, locking);
        }
    }

    fn begin_scan(&mut self, chunk: &Chunk, row: usize) -> Result<(), Wrong> {
        // A scan without rows may follow another one of the same number in a file that nobody of ours wrote.
        self.end_scan();
        let Some(number) = chunk.cells(Column::Scan).int(row) else {
            return wrong("a scan has a number in the column `scan`, which the rows that it returned have as well");
        };
        let (table, predicate) = asked(chunk, row)?;
        let lock = chunk.cells(Column::Lock).text(row)?;
        let locking = if lock == Some(lock::STATEMENT) { Locking::ForUpdate } else { Locking::Free };
        let locking = self.statement.is_none().then_some(locking);
        self.scan = Some(OpenScan { number, since: self.ops.here(), table, predicate, locking });
        Ok(())
    }

    /// A read, a write or an append; or a row that a scan returned.
    fn register(
        &mut self,
        access: Access,
        (key, value): (KeyId, ValueId),
        chunk: &Chunk,
        row: usize,
        sink: &mut Sink<'_>,
    ) -> Result<(), Wrong> {
        let number = chunk.cells(Column::Scan).int(row);
        if number.is_some() && (self.scan.is_none() || access != Access::Read) {
            return wrong("a row with a number in `scan` is a read, and follows the scan that returned it");
        }
        let before = self.ops.here();
        self.ops.push(access, key, value);
        if number.is_some() {
            return Ok(());
        }
        if chunk.cells(Column::Extent).text(row)? == Some(PART) {
            let (table, predicate) = asked(chunk, row)?;
            self.ops.push_scan(before, table, predicate, Extent::Part);
            if self.statement.is_none() && !chunk.cells(Column::Lock).has(row) {
                self.ops.wrap(before, Locking::Free);
            }
        }
        if access == Access::Write {
            read_matches(chunk, row, (key, value), sink)?;
        }
        self.lock(chunk, row, before)
    }

    fn omit(&mut self, chunk: &Chunk, row: usize, sink: &mut Sink<'_>) -> Result<(), Wrong> {
        let name = named(chunk.cells(Column::Key), row)?.as_name().to_datum();
        let (table, predicate) = asked(chunk, row)?;
        let Some((table, name)) = table_and_row(Datum::Text(table), Some(name)) else {
            return wrong("an omitted row is one of its table, as accounts/7 of accounts");
        };
        let key = sink.key(name)?;
        let before = self.ops.here();
        self.ops.push_omission(table, predicate, key);
        self.lock(chunk, row, before)
    }

    /// Says that a read locks what it reads, if its row does.
    fn lock(&mut self, chunk: &Chunk, row: usize, before: OpsPlace) -> Result<(), Wrong> {
        match (chunk.cells(Column::Lock).text(row)?, &self.statement) {
            (None, _) | (Some(lock::STATEMENT), Some(_)) => Ok(()),
            (Some(lock::STATEMENT), None) => {
                self.ops.wrap(before, Locking::ForUpdate);
                Ok(())
            }
            (Some(lock::ROW), _) => {
                self.ops.lock_last_read();
                Ok(())
            }
            (Some(other), _) => wrong(format!("the lock must be statement or row, not {}", quoted(other))),
        }
    }
}

/// The table and the predicate of a scan.
fn asked(chunk: &Chunk, row: usize) -> Result<(Box<str>, Predicate), Wrong> {
    let Some(table) = chunk.cells(Column::Table).text(row)? else { return wrong("a scan has its `table`") };
    let Some(text) = chunk.cells(Column::Predicate).text(row)? else { return wrong("a scan has its `predicate`") };
    match predicate::parse(text) {
        Ok(predicate) => Ok((table.into(), predicate)),
        Err(fault) => {
            let place = text[..fault.at].chars().count() + 1;
            wrong(format!("the predicate {}: character {place}: {}", quoted(text), fault.message))
        }
    }
}

/// Foreign predicates that a version matches: `["is adult"]`.
fn read_matches(chunk: &Chunk, row: usize, (key, value): (KeyId, ValueId), sink: &mut Sink<'_>) -> Result<(), Wrong> {
    let Some(text) = chunk.cells(Column::Matches).text(row)? else { return Ok(()) };
    json(text, |json| {
        let foreign = json.string()?.to_owned();
        Ok(sink.matches(&foreign, key, value, 0)?)
    })
}

/// Reads a JSON array in a cell.
fn json(text: &str, element: impl FnMut(&mut Json<LineBytes<'_>>) -> Result<(), Fault>) -> Result<(), Wrong> {
    let line = Line { number: 1, bytes: text.as_bytes(), end: LineEnd::EndOfInput };
    let mut json = Json::new(LineBytes::new(line));
    match json.array(element).and_then(|()| json.expect_end()) {
        Ok(()) => Ok(()),
        Err(Fault::Halt(error)) => Err(Wrong::Halt(error)),
        Err(Fault::Syntax { spot, message }) => {
            wrong(format!("{}: character {}: {message}", quoted(text), spot.column + 1))
        }
    }
}

/// A key or a value.
fn named(cells: &Cells, row: usize) -> Result<Spelled<'_>, Wrong> {
    if !cells.has(row) {
        return Ok(Spelled::Other(Datum::Null));
    }
    if cells.is_ints() {
        return Ok(Spelled::Other(Datum::Int(cells.ints[row])));
    }
    Ok(spelling::read(cells.text(row)?.unwrap_or_default()))
}

fn session_bytes(cells: &Cells, row: usize) -> Box<[u8]> {
    if cells.is_ints() { cells.ints[row].to_string().into_bytes().into() } else { cells.texts[row].data().into() }
}

fn outcome(chunk: &Chunk, row: usize) -> Result<Outcome, Wrong> {
    match chunk.cells(Column::Status).bytes(row) {
        None | Some(b"commit") => Ok(Outcome::Committed),
        Some(b"abort") => Ok(Outcome::Aborted),
        Some(b"unknown") => Ok(Outcome::Indeterminate),
        Some(other) => {
            let other = quoted(&String::from_utf8_lossy(other));
            wrong(format!("the status must be commit, abort or unknown, not {other}"))
        }
    }
}
