//! Reads the operations of a transaction: reads, writes and appends, and the statements and scans that they belong to.

use super::line::LineJson;
use crate::fault::{Fault, quoted, show};
use crate::ops::{TxnOps, table_and_row};
use crate::predicate;
use crate::sink::Sink;
use crate::words::Wrong;
use iso_history::{Access, Datum, Extent, KeyId, Locking, Predicate, ValueId};

/// What an operation stands in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Within {
    Transaction,
    Statement,
}

/// Reads operations one after the other.
pub(super) struct OpReader<'r, 's> {
    pub(super) line: u64,
    pub(super) ops: &'r mut TxnOps,
    pub(super) sink: &'r mut Sink<'s>,
}

const KINDS: &str = "\"r\", \"w\", \"a\", \"u\", \"del\", \"scan\", \"omit\" or \"stmt\"";
const FOR_UPDATE: &str = "for update";

impl OpReader<'_, '_> {
    pub(super) fn op(&mut self, json: &mut LineJson<'_>, within: Within) -> Result<(), Fault> {
        json.expect(b'[')?;
        match json.letter()? {
            Some(b'r') => self.read(json, within)?,
            Some(b'w') => self.write(json)?,
            Some(b'a') => self.append(json)?,
            Some(b'u') => self.update(json, within)?,
            Some(other) => return json.wrong(format!("an operation is {KINDS}, not \"{}\"", other as char)),
            None => self.long_op(json, within)?,
        }
        self.sink.meter().fits(self.ops.bytes())?;
        if json.accept(b']')? {
            return Ok(());
        }
        let found = show(json.peek()?);
        json.wrong(format!("expected `]` after the operation, found {found}"))
    }

    /// One whose name is not a letter, or is spelled with escapes.
    fn long_op(&mut self, json: &mut LineJson<'_>, within: Within) -> Result<(), Fault> {
        let name = json.string()?.to_owned();
        match (name.as_str(), within) {
            ("r", _) => self.read(json, within),
            ("w", _) => self.write(json),
            ("a", _) => self.append(json),
            ("u", _) => self.update(json, within),
            ("del", _) => self.delete(json),
            ("scan", _) => self.scan(json, within),
            ("omit", _) => self.omit(json, within),
            ("stmt", Within::Transaction) => self.statement(json),
            ("stmt", Within::Statement) => json.wrong("a statement is no part of another one"),
            (other, _) => json.wrong(format!("an operation is {KINDS}, not {}", quoted(other))),
        }
    }

    fn read(&mut self, json: &mut LineJson<'_>, within: Within) -> Result<(), Fault> {
        let before = self.ops.here();
        let key = self.key(json)?;
        json.expect(b',')?;
        if json.peek()? == Some(b'[') {
            json.array(|json| {
                let value = self.value(json)?;
                self.ops.element(value);
                Ok(self.sink.meter().fits(self.ops.bytes())?)
            })?;
            self.ops.push_list(key);
        } else {
            let value = self.value(json)?;
            self.ops.push(Access::Read, key, value);
        }
        match (for_update(json)?, within) {
            (Locking::Free, _) => {}
            (Locking::ForUpdate, Within::Transaction) => self.ops.wrap(before, Locking::ForUpdate),
            (Locking::ForUpdate, Within::Statement) => self.ops.lock_last_read(),
        }
        Ok(())
    }

    fn write(&mut self, json: &mut LineJson<'_>) -> Result<(), Fault> {
        let key = self.key(json)?;
        let value = self.written_value(json)?;
        self.ops.push(Access::Write, key, value);
        self.version(json, key, value)
    }

    fn append(&mut self, json: &mut LineJson<'_>) -> Result<(), Fault> {
        let key = self.key(json)?;
        let value = self.written_value(json)?;
        self.ops.push(Access::Append, key, value);
        Ok(())
    }

    fn update(&mut self, json: &mut LineJson<'_>, within: Within) -> Result<(), Fault> {
        let before = self.ops.here();
        let key = self.key(json)?;
        let old = self.written_value(json)?;
        let new = self.written_value(json)?;
        self.ops.push(Access::Read, key, old);
        self.ops.push(Access::Write, key, new);
        if within == Within::Transaction {
            self.ops.wrap(before, Locking::Free);
        }
        self.version(json, key, new)
    }

    fn delete(&mut self, json: &mut LineJson<'_>) -> Result<(), Fault> {
        let (key, none) = (self.key(json)?, self.sink.value(Datum::Null)?);
        self.ops.push(Access::Write, key, none);
        Ok(())
    }

    fn scan(&mut self, json: &mut LineJson<'_>, within: Within) -> Result<(), Fault> {
        let before = self.ops.here();
        json.expect(b',')?;
        let table: Box<str> = json.string()?.into();
        let predicate = read_predicate(json)?;
        json.expect(b',')?;
        if json.peek()? != Some(b'[') {
            let found = show(json.peek()?);
            return json.wrong(format!("expected the rows that came back, as in [[\"accounts/1\",5]], found {found}"));
        }
        let mut n_rows = 0;
        json.array(|json| {
            n_rows += 1;
            self.row(json)
        })?;
        let (extent, locking) = scan_words(json, n_rows)?;
        self.ops.push_scan(before, table, predicate, extent);
        match (within, locking) {
            (Within::Transaction, _) => self.ops.wrap(before, locking),
            (Within::Statement, Locking::Free) => {}
            (Within::Statement, Locking::ForUpdate) if extent == Extent::Part && n_rows == 1 => {
                self.ops.lock_last_read();
            }
            (Within::Statement, Locking::ForUpdate) => {
                return json.wrong("\"for update\" stands at the end of the statement that the scan is a part of");
            }
        }
        Ok(())
    }

    /// `["accounts/1",5]`
    fn row(&mut self, json: &mut LineJson<'_>) -> Result<(), Fault> {
        json.expect(b'[')?;
        let key = json.datum()?;
        let key = self.sink.key(key)?;
        json.expect(b',')?;
        let value = self.value(json)?;
        self.ops.push(Access::Read, key, value);
        self.sink.meter().fits(self.ops.bytes())?;
        json.expect(b']')
    }

    /// `["omit","accounts/7","balance < 10"]`, or with the table before the row.
    fn omit(&mut self, json: &mut LineJson<'_>, within: Within) -> Result<(), Fault> {
        let before = self.ops.here();
        let mut names: Vec<Datum> = Vec::new();
        while json.accept(b',')? {
            names.push(json.datum()?);
        }
        let locking = match names.last() {
            Some(Datum::Text(word)) if **word == *FOR_UPDATE => Locking::ForUpdate,
            _ => Locking::Free,
        };
        names.truncate(names.len() - usize::from(locking == Locking::ForUpdate));
        let (row, text) = match (names.pop(), names.pop(), names.pop(), names.is_empty()) {
            (Some(Datum::Text(text)), Some(row), None, true) => (table_and_row(row, None), text),
            (Some(Datum::Text(text)), Some(row), Some(table), true) => (table_and_row(table, Some(row)), text),
            _ => (None, "".into()),
        };
        let Some((table, row)) = row else {
            return json.wrong("expected a row of a table and a predicate, as in [\"omit\",\"accounts/7\",\"all\"]");
        };
        let predicate = parse_predicate(json, &text)?;
        let key = self.sink.key(row)?;
        self.ops.push_omission(table, predicate, key);
        match (locking, within) {
            (Locking::Free, _) => {}
            (Locking::ForUpdate, Within::Transaction) => self.ops.wrap(before, Locking::ForUpdate),
            (Locking::ForUpdate, Within::Statement) => self.ops.lock_last_read(),
        }
        Ok(())
    }

    fn statement(&mut self, json: &mut LineJson<'_>) -> Result<(), Fault> {
        let before = self.ops.here();
        json.expect(b',')?;
        json.array(|json| self.op(json, Within::Statement))?;
        let locking = for_update(json)?;
        self.ops.wrap(before, locking);
        Ok(())
    }

    /// What is said of a version that was written.
    fn version(&mut self, json: &mut LineJson<'_>, key: KeyId, value: ValueId) -> Result<(), Fault> {
        if json.accept(b',')? { read_matches(json, (key, value), self.line, self.sink) } else { Ok(()) }
    }

    fn key(&mut self, json: &mut LineJson<'_>) -> Result<KeyId, Fault> {
        json.expect(b',')?;
        let key = json.datum()?;
        Ok(self.sink.key(key)?)
    }

    fn written_value(&mut self, json: &mut LineJson<'_>) -> Result<ValueId, Fault> {
        json.expect(b',')?;
        match json.peek()? {
            Some(b'[') => json.wrong("only a read may have a list as its value"),
            _ => self.value(json),
        }
    }

    fn value(&mut self, json: &mut LineJson<'_>) -> Result<ValueId, Fault> {
        let value = json.value()?;
        Ok(self.sink.value(value)?)
    }
}

/// `"matches",["PREDICATE","ANOTHER ONE"]`: foreign predicates that a version matches.
pub(super) fn read_matches(
    json: &mut LineJson<'_>,
    (key, value): (KeyId, ValueId),
    line: u64,
    sink: &mut Sink<'_>,
) -> Result<(), Fault> {
    match json.string()? {
        "matches" => {}
        other => {
            let message =
                format!("expected \"matches\" and a list of predicates after the value, not {}", quoted(other));
            return json.wrong(message);
        }
    }
    json.expect(b',')?;
    json.array(|json| {
        let foreign = json.string()?;
        Ok(sink.matches(foreign, key, value, line)?)
    })
}

/// `"for update"`, if there is anything more.
fn for_update(json: &mut LineJson<'_>) -> Result<Locking, Fault> {
    if !json.accept(b',')? {
        return Ok(Locking::Free);
    }
    match json.string()? {
        FOR_UPDATE => Ok(Locking::ForUpdate),
        other => {
            let message = format!("expected \"for update\" or the end of the operation, not {}", quoted(other));
            json.wrong(message)
        }
    }
}

/// `"part"` and `"for update"` behind the rows.
fn scan_words(json: &mut LineJson<'_>, n_rows: usize) -> Result<(Extent, Locking), Fault> {
    let (mut extent, mut locking) = (Extent::Whole, Locking::Free);
    while json.accept(b',')? {
        match json.string()? {
            "part" if n_rows > 0 => extent = Extent::Part,
            "part" => return json.wrong("a part of a scan has at least one row"),
            FOR_UPDATE => locking = Locking::ForUpdate,
            other => {
                let message = format!("expected \"part\" or \"for update\" after the rows, not {}", quoted(other));
                return json.wrong(message);
            }
        }
    }
    Ok((extent, locking))
}

fn read_predicate(json: &mut LineJson<'_>) -> Result<Predicate, Fault> {
    json.expect(b',')?;
    let text = json.string()?.to_owned();
    parse_predicate(json, &text)
}

fn parse_predicate(json: &LineJson<'_>, text: &str) -> Result<Predicate, Fault> {
    predicate::parse(text).or_else(|Wrong { at, message }| {
        let place = text[..at].chars().count() + 1;
        json.wrong(format!("the predicate {}: character {place}: {message}", quoted(text)))
    })
}
