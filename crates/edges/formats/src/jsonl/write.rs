//! Writes our JSON lines.

use super::VERSION;
use crate::json::{write_name, write_string};
use crate::write::{Initials, WriteError, sessions_come_in_order};
use iso_history::{History, Op, Outcome, TxnId};
use std::io::Write;

pub(crate) fn write(history: &History, origin: Option<&str>, out: &mut dyn Write) -> Result<(), WriteError> {
    write_header(history, origin, out)?;
    for txn in history.txns() {
        write_txn(history, txn, out)?;
    }
    Ok(())
}

fn write_header(history: &History, origin: Option<&str>, out: &mut dyn Write) -> Result<(), WriteError> {
    let initials = Initials::new(history);
    write!(out, "{{\"isoscope\":{VERSION},\"initial\":")?;
    write_name(out, initials.default.as_name())?;
    for (nth, (key, value)) in initials.exceptions.iter().enumerate() {
        out.write_all(if nth == 0 { b",\"init\":[" } else { b"," })?;
        out.write_all(b"[")?;
        write_name(out, history.key_name(*key))?;
        out.write_all(b",")?;
        write_name(out, history.value(*value))?;
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
    if let Some(origin) = origin {
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

fn write_txn(history: &History, txn: TxnId, out: &mut dyn Write) -> Result<(), WriteError> {
    out.write_all(b"{\"s\":")?;
    write_session(history.session_of(txn).map_or("", |it| history.session_name(it)), out)?;
    out.write_all(b",\"ops\":[")?;
    for (nth, op) in history.ops(txn).enumerate() {
        if nth > 0 {
            out.write_all(b",")?;
        }
        write_op(history, history.op(op), out)?;
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

fn write_op(history: &History, op: Op<'_>, out: &mut dyn Write) -> Result<(), WriteError> {
    let kind = match op {
        Op::Read { .. } | Op::ReadList { .. } => "r",
        Op::Write { .. } => "w",
        Op::Append { .. } => "a",
    };
    write!(out, "[\"{kind}\",")?;
    write_name(out, history.key_name(op.key()))?;
    out.write_all(b",")?;
    match op {
        Op::Read { value, .. } | Op::Write { value, .. } | Op::Append { value, .. } => {
            write_name(out, history.value(value))?;
        }
        Op::ReadList { values, .. } => {
            out.write_all(b"[")?;
            for (nth, value) in values.iter().enumerate() {
                if nth > 0 {
                    out.write_all(b",")?;
                }
                write_name(out, history.value(*value))?;
            }
            out.write_all(b"]")?;
        }
    }
    out.write_all(b"]")?;
    Ok(())
}
