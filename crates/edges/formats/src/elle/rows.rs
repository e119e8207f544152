//! Elle's workload of closed predicates: an operation `:init` says which rows there are, and transactions insert, delete and
//! read them, by key or by predicate.
//!
//! A key is a row of the one table that there is, so that `:x` is the row `rows/x`. An insert is a write: nobody says that it
//! looked for a row before.

use crate::ReadError;
use crate::form::{Form, Syntax};
use crate::ops::TxnOps;
use crate::sink::Sink;
use iso_history::{Access, Column, Comparison, Datum, Extent, KeyId, Locking, Predicate, ValueId};

/// The table.
const TABLE: &str = "rows";

/// What transactions may do.
pub(super) fn known_mops(syntax: Syntax) -> &'static str {
    match syntax {
        Syntax::Edn => {
            "[:r key value], [:w key value], [:insert key value], [:delete key] or [:rp predicate {key value}], where a \
             predicate is :true, [:= value] or [:mod divisor remainder]"
        }
        Syntax::Json => {
            "[\"r\",key,value], [\"w\",key,value], [\"insert\",key,value], [\"delete\",key] or [\"rp\",predicate,{key:value}], \
             where a predicate is \"true\", [\"=\",value] or [\"mod\",divisor,remainder]"
        }
    }
}

/// Micro-operations are about rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    /// The value of a row that is not there.
    none: ValueId,
}

/// A micro-operation.
pub(super) enum RowMop {
    Of(Access, KeyId, ValueId),
    Scan(Scan),
}

/// A read by predicate, and every row that came back.
pub(super) struct Scan {
    predicate: Predicate,
    rows: Vec<(KeyId, ValueId)>,
}

/// Takes the rows of an operation `:init`; nothing if it does not say them.
pub(super) fn begin(value: Option<&Form>, line: u64, sink: &mut Sink<'_>) -> Result<Option<Rows>, ReadError> {
    let Some(Form::Map(members)) = value else { return Ok(None) };
    for (key, value) in members {
        let (Some(name), Some(value)) = (row_name(key), value.to_datum()) else { return Ok(None) };
        let value = sink.value(value)?;
        sink.initial(&name, value, line)?;
    }
    Ok(Some(Rows { none: sink.value(Datum::Null)? }))
}

/// Is this a micro-operation that only rows have?
pub(super) fn is_of_rows(form: &Form) -> bool {
    let Form::Vector(parts) = form else { return false };
    let name = parts.first().and_then(Form::as_name);
    name.is_some_and(|it| matches!(it, "rp" | "insert" | "delete"))
}

impl Rows {
    /// A micro-operation; nothing if it is none. Of an invocation (`is_done` is false) only writes are known.
    pub(super) fn read(self, form: &Form, is_done: bool, sink: &mut Sink<'_>) -> Result<Option<RowMop>, ReadError> {
        let Form::Vector(parts) = form else { return Ok(None) };
        let Some((name, parts)) = parts.split_first() else { return Ok(None) };
        let (Some(name), Some((first, rest))) = (name.as_name(), parts.split_first()) else { return Ok(None) };
        if name == "rp" {
            let Some(predicate) = predicate_of(first) else { return Ok(None) };
            return match rest {
                [Form::Map(members)] => {
                    rows_of(members, sink).map(|it| it.map(|rows| RowMop::Scan(Scan { predicate, rows })))
                }
                _ if !is_done => Ok(Some(RowMop::Scan(Scan { predicate, rows: Vec::new() }))),
                _ => Ok(None),
            };
        }
        let (Some(row), Some(value)) = (row_name(first), value_of(rest)) else { return Ok(None) };
        let access = match (name, &value) {
            ("r", _) => Access::Read,
            ("delete", Datum::Null) => Access::Write,
            ("w" | "insert", value) if *value != Datum::Null => Access::Write,
            _ => return Ok(None),
        };
        let value = if value == Datum::Null { self.none } else { sink.value(value)? };
        Ok(Some(RowMop::Of(access, sink.key(row)?, value)))
    }
}

/// The last part of a micro-operation, which may be left out where it is nil.
fn value_of(rest: &[Form]) -> Option<Datum> {
    match rest {
        [] => Some(Datum::Null),
        [value] => value.to_datum(),
        _ => None,
    }
}

fn rows_of(members: &[(Form, Form)], sink: &mut Sink<'_>) -> Result<Option<Vec<(KeyId, ValueId)>>, ReadError> {
    let mut rows = Vec::with_capacity(members.len());
    for (key, value) in members {
        let (Some(name), Some(value)) = (row_name(key), value.to_datum()) else { return Ok(None) };
        rows.push((sink.key(name)?, sink.value(value)?));
    }
    Ok(Some(rows))
}

fn row_name(key: &Form) -> Option<Datum> {
    let row = match key.to_datum()? {
        Datum::Int(number) => number.to_string(),
        Datum::Text(text) => text.into(),
        _ => return None,
    };
    Some(Datum::Text(format!("{TABLE}/{row}").into()))
}

fn predicate_of(form: &Form) -> Option<Predicate> {
    if form.as_name() == Some("true") {
        return Some(Predicate::All);
    }
    let Form::Vector(parts) = form else { return None };
    let value = || Column::Named("value".into());
    match parts.as_slice() {
        [name, wanted] if name.as_name() == Some("=") => {
            Some(Predicate::Compare(value(), Comparison::Equal, wanted.to_datum()?))
        }
        [name, divisor, remainder] if name.as_name() == Some("mod") => {
            match (divisor.to_datum()?, remainder.to_datum()?) {
                (Datum::Int(divisor), Datum::Int(remainder)) if divisor > 0 => {
                    Some(Predicate::Remainder { column: value(), divisor, remainder })
                }
                _ => None,
            }
        }
        _ => None,
    }
}

impl Scan {
    /// About what it takes in memory.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(self.rows.as_slice())
    }

    /// Adds it to a transaction.
    pub(super) fn push_to(&self, ops: &mut TxnOps) {
        let before = ops.here();
        for (key, value) in &self.rows {
            ops.push(Access::Read, *key, *value);
        }
        ops.push_scan(before, TABLE.into(), self.predicate.clone(), Extent::Whole);
        ops.wrap(before, Locking::Free);
    }
}
