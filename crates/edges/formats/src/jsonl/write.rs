//! Writes our JSON lines.

use super::VERSION;
use crate::Header;
use crate::json::{write_name, write_string};
use crate::layout::{Item, layout, part_of, returned_rows};
use crate::ops::explicit_table;
use crate::write::{Initials, Said, WriteError, sessions_come_in_order};
use iso_history::{History, KeyId, Locking, Name, Op, OpId, Outcome, Scan, TxnId, ValueId};
use std::io::{self, Write};

pub(crate) fn write(history: &History, header: &Header, out: &mut dyn Write) -> Result<(), WriteError> {
    let said = Said::new(history);
    write_header(history, &said, header, out)?;
    for txn in history.txns() {
        write_txn(history, &said, txn, out)?;
    }
    Ok(())
}

fn write_header(history: &History, said: &Said<'_>, header: &Header, out: &mut dyn Write) -> Result<(), WriteError> {
    let initials = Initials::new(history, said);
    write!(out, "{{\"isoscope\":{VERSION},\"initial\":")?;
    write_name(out, initials.default.as_name())?;
    for (nth, (key, value)) in initials.exceptions.iter().enumerate() {
        out.write_all(if nth == 0 { b",\"init\":[" } else { b"," })?;
        out.write_all(b"[")?;
        write_name(out, history.key_name(*key))?;
        out.write_all(b",")?;
        write_name(out, history.value(*value))?;
        write_matches(said, *key, *value, out)?;
        out.write_all(b"]")?;
    }
    if !initials.exceptions.is_empty() {
        out.write_all(b"]")?;
    }
    if !sessions_come_in_order(history) {
        for (nth, session) in history.sessions().enumerate() {
            out.write_all(if nth == 0 { b",\"sessions\":[" } else { b"," })?;
            write_session(history.session_name(session), out)?;
        }
        out.write_all(b"]")?;
    }
    if let Some(database) = &header.database {
        out.write_all(b",\"database\":")?;
        database.write_json(out)?;
    }
    let mut members = Vec::new();
    super::stream::write_nodes(&mut members, &header.nodes);
    for (nth, name) in header.final_sessions.iter().enumerate() {
        members.extend_from_slice(if nth == 0 { b",\"final\":[" } else { b"," });
        write_session(name, &mut members)?;
    }
    if !header.final_sessions.is_empty() {
        members.push(b']');
    }
    out.write_all(&members)?;
    if let Some(origin) = &header.origin {
        write!(out, ",\"origin\":{origin}")?;
    }
    out.write_all(b"}\n")?;
    Ok(())
}

/// A number where the name is one, as in the files of most tools.
fn write_session(name: &str, out: &mut dyn Write) -> Result<(), WriteError> {
    match name.parse::<i64>() {
        Ok(number) if number.to_string() == name => write!(out, "{number}")?,
        _ => write_string(out, name)?,
    }
    Ok(())
}

fn write_txn(history: &History, said: &Said<'_>, txn: TxnId, out: &mut dyn Write) -> Result<(), WriteError> {
    out.write_all(b"{\"s\":")?;
    write_session(history.session_of(txn).map_or("", |it| history.session_name(it)), out)?;
    out.write_all(b",\"ops\":[")?;
    let mut ops = Ops { history, said, out: &mut *out };
    if history.has_statements() {
        ops.list(&layout(history, txn), Ops::item)?;
    } else {
        ops.list(history.ops(txn), Ops::op)?;
    }
    let status = match history.outcome(txn) {
        Outcome::Committed => "commit",
        Outcome::Aborted => "abort",
        Outcome::Indeterminate => "unknown",
    };
    write!(out, "],\"status\":\"{status}\"")?;
    if let Some(begin) = history.begin(txn) {
        write!(out, ",\"begin\":{begin}")?;
    }
    if let Some(end) = history.end(txn) {
        write!(out, ",\"end\":{end}")?;
    }
    out.write_all(b"}\n")?;
    Ok(())
}

/// Which foreign predicates a version matches, behind it.
fn write_matches(said: &Said<'_>, key: KeyId, value: ValueId, out: &mut dyn Write) -> io::Result<()> {
    let foreign = said.of(key, value);
    for (nth, foreign) in foreign.iter().enumerate() {
        out.write_all(if nth == 0 { b",\"matches\",[" } else { b"," })?;
        write_string(out, foreign)?;
    }
    if foreign.is_empty() { Ok(()) } else { out.write_all(b"]") }
}

/// Writes operations.
struct Ops<'i, 'h, 'o> {
    history: &'h History,
    said: &'i Said<'h>,
    out: &'o mut dyn Write,
}

impl Ops<'_, '_, '_> {
    fn list<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut item: impl FnMut(&mut Self, T) -> io::Result<()>,
    ) -> io::Result<()> {
        for (nth, it) in items.into_iter().enumerate() {
            if nth > 0 {
                self.out.write_all(b",")?;
            }
            item(self, it)?;
        }
        Ok(())
    }

    fn item(&mut self, item: &Item) -> io::Result<()> {
        match item {
            Item::Op(op, Locking::Free) => return self.op(*op),
            Item::Op(op, Locking::ForUpdate) => self.open_op(*op)?,
            Item::Update(read, write) => self.open_update(*read, *write)?,
            Item::Scan(scan, _) => {
                let scan = self.history.scan(*scan);
                self.open_scan(&scan, returned_rows(self.history, &scan))?;
            }
            Item::Statement(items, _) => {
                self.out.write_all(b"[\"stmt\",[")?;
                self.list(items, Self::item)?;
                self.out.write_all(b"]")?;
            }
        }
        if item.locking() == Locking::ForUpdate {
            self.out.write_all(b",\"for update\"")?;
        }
        self.out.write_all(b"]")
    }

    fn op(&mut self, op: OpId) -> io::Result<()> {
        self.open_op(op)?;
        self.out.write_all(b"]")
    }

    /// An operation without the bracket at its end.
    fn open_op(&mut self, op: OpId) -> io::Result<()> {
        let part = part_of(self.history, op);
        match (self.history.op(op), part) {
            (Op::Read { key, value }, Some(scan)) => {
                self.open_scan(&scan, [(key, value)])?;
                self.out.write_all(b",\"part\"")
            }
            (Op::Omit { key, .. }, Some(scan)) => self.open_omission(key, &scan),
            (Op::Read { key, value }, None) => self.open_access("r", key, value),
            (Op::Write { key, value }, _) => {
                self.open_access("w", key, value)?;
                write_matches(self.said, key, value, self.out)
            }
            (Op::Append { key, value }, _) => self.open_access("a", key, value),
            (Op::ReadList { key, values }, _) => {
                self.out.write_all(b"[\"r\",")?;
                self.name(self.history.key_name(key))?;
                self.out.write_all(b",[")?;
                self.list(values, |ops, it| ops.name(ops.history.value(*it)))?;
                self.out.write_all(b"]")
            }
            // What a whole scan omitted is not written: it follows from the rest.
            (Op::Omit { .. }, None) => Ok(()),
        }
    }

    fn open_access(&mut self, kind: &str, key: KeyId, value: ValueId) -> io::Result<()> {
        write!(self.out, "[\"{kind}\",")?;
        self.name(self.history.key_name(key))?;
        self.out.write_all(b",")?;
        self.name(self.history.value(value))
    }

    fn open_update(&mut self, read: OpId, write: OpId) -> io::Result<()> {
        let (Op::Read { key, value: old }, Op::Write { value: new, .. }) =
            (self.history.op(read), self.history.op(write))
        else {
            return Ok(());
        };
        self.open_access("u", key, old)?;
        self.out.write_all(b",")?;
        self.name(self.history.value(new))?;
        write_matches(self.said, key, new, self.out)
    }

    fn open_scan(&mut self, scan: &Scan<'_>, rows: impl IntoIterator<Item = (KeyId, ValueId)>) -> io::Result<()> {
        self.out.write_all(b"[\"scan\",")?;
        self.name(Name::Text(scan.table))?;
        self.out.write_all(b",")?;
        self.name(Name::Text(&scan.predicate.to_string()))?;
        self.out.write_all(b",[")?;
        self.list(rows, |ops, (key, value)| {
            ops.out.write_all(b"[")?;
            ops.name(ops.history.key_name(key))?;
            ops.out.write_all(b",")?;
            ops.name(ops.history.value(value))?;
            ops.out.write_all(b"]")
        })?;
        self.out.write_all(b"]")
    }

    fn open_omission(&mut self, key: KeyId, scan: &Scan<'_>) -> io::Result<()> {
        let row = self.history.key_name(key);
        let predicate = scan.predicate.to_string();
        let names = [explicit_table(scan.table, row), Some(row), Some(Name::Text(&predicate))];
        self.out.write_all(b"[\"omit\",")?;
        self.list(names.into_iter().flatten(), |ops, it| ops.name(it))
    }

    fn name(&mut self, name: Name<'_>) -> io::Result<()> {
        write_name(self.out, name)
    }
}
