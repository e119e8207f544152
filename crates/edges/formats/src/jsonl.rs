//! Our JSON lines: a header, then one transaction a line.
//!
//! `{"isoscope":1,"initial":0}` and `{"s":0,"ops":[["r","x",0],["w","x",1]],"status":"commit","begin":1,"end":2}`.
//! Optional members of the header: `"init":[["x",1],..]` gives keys an initial value of their own, `"sessions":[..]`
//! names sessions that have no transaction or come in another order than their first transactions. Members that are
//! not known are passed over. Each line is complete in itself: a file that is cut between two lines is a shorter
//! history, a cut anywhere else is a defect.

use crate::fault::{Fault, show};
use crate::input::{Input, Line, LineBytes};
use crate::json::{Json, write_name, write_string};
use crate::sink::{Sink, TxnOps};
use crate::write::{Initials, WriteError, sessions_come_in_order};
use crate::{ReadError, report};
use iso_history::{Access, Datum, History, Op, Outcome, TxnId};
use std::io::Write;

const VERSION: i64 = 1;

type LineJson<'l> = Json<LineBytes<'l>>;

pub(crate) fn read(input: &mut Input<'_>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let mut buffer = Vec::new();
    let mut header = HeaderState::Missing;
    let mut txn = Txn::default();
    let mut spare = Json::new(());
    while let Some(line) = input.next_line(&mut buffer)? {
        let blank = line.bytes.iter().all(u8::is_ascii_whitespace);
        if blank {
            continue;
        }
        txn.clear();
        sink.meter().hold(line.bytes.len())?;
        let mut json = spare.with(LineBytes::new(line));
        let result = read_line(&mut json, line, &mut txn, &mut header, sink);
        spare = json.with(());
        if result.is_err() && header == HeaderState::Missing {
            // Whatever is wrong with the first line, it was to be the header.
            header = HeaderState::Reported;
        }
        report(sink, result.map_err(|it| it.in_line(line)))?;
    }
    if header == HeaderState::Missing {
        sink.error(1, MISSING_HEADER);
    }
    Ok(())
}

const MISSING_HEADER: &str = "the header is missing; the first line must be like {\"isoscope\":1,\"initial\":null}";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeaderState {
    Missing,
    Found,
    /// Was missing or damaged, and that was said.
    Reported,
}

/// What a line says about a transaction, in whatever order.
#[derive(Debug, Default)]
struct Txn {
    session: Option<Datum>,
    ops: TxnOps,
    has_ops: bool,
    outcome: Option<Outcome>,
    begin: Option<i64>,
    end: Option<i64>,
}

impl Txn {
    fn clear(&mut self) {
        self.ops.clear();
        *self = Self { ops: std::mem::take(&mut self.ops), ..Self::default() };
    }
}

fn read_line(
    json: &mut LineJson<'_>,
    line: Line<'_>,
    txn: &mut Txn,
    header: &mut HeaderState,
    sink: &mut Sink<'_>,
) -> Result<(), Fault> {
    let mut is_header = false;
    json.object(|json, name| {
        match name {
            "isoscope" => {
                is_header = true;
                read_version(json)?;
            }
            "initial" => {
                let value = json.datum()?;
                let value = sink.value(value)?;
                sink.default_initial(value, line.number);
            }
            "init" => read_init(json, line.number, sink)?,
            "sessions" => json.array(|json| {
                let name = json.datum()?;
                sink.session(&session_name(&name))?;
                Ok(())
            })?,
            "s" => txn.session = Some(json.datum()?),
            "ops" => {
                txn.has_ops = true;
                json.array(|json| read_op(json, &mut txn.ops, sink))?;
            }
            "status" => txn.outcome = Some(read_outcome(json)?),
            "begin" => txn.begin = read_time(json)?,
            "end" => txn.end = read_time(json)?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    json.expect_end()?;
    if is_header { end_header(json, header) } else { end_txn(json, line, txn, header, sink) }
}

fn end_header(json: &LineJson<'_>, header: &mut HeaderState) -> Result<(), Fault> {
    match header {
        HeaderState::Missing => {
            *header = HeaderState::Found;
            Ok(())
        }
        _ => json.wrong("a second header; only the first line may have the member \"isoscope\""),
    }
}

fn end_txn(
    json: &LineJson<'_>,
    line: Line<'_>,
    txn: &Txn,
    header: &mut HeaderState,
    sink: &mut Sink<'_>,
) -> Result<(), Fault> {
    if *header == HeaderState::Missing {
        *header = HeaderState::Reported;
        sink.error(line.number, MISSING_HEADER);
    }
    let Some(session) = &txn.session else {
        return json.wrong("the transaction has no session; add a member \"s\"");
    };
    if !txn.has_ops {
        return json.wrong("the transaction has no operations; add a member \"ops\" (it may be [])");
    }
    let session = sink.session(&session_name(session))?;
    let outcome = txn.outcome.unwrap_or(Outcome::Committed);
    sink.txn(session, sink.place(line.number), (txn.begin, txn.end), &txn.ops, outcome)?;
    Ok(())
}

fn session_name(name: &Datum) -> String {
    match name {
        Datum::Text(text) => text.to_string(),
        other => other.to_string(),
    }
}

fn read_version(json: &mut LineJson<'_>) -> Result<(), Fault> {
    match json.datum()? {
        Datum::Int(VERSION) => Ok(()),
        other => json.wrong(format!("version {other} of the format is not known; this reader knows {VERSION}")),
    }
}

fn read_init(json: &mut LineJson<'_>, line: u64, sink: &mut Sink<'_>) -> Result<(), Fault> {
    json.array(|json| {
        json.expect(b'[')?;
        let key = json.datum()?;
        json.expect(b',')?;
        let value = json.datum()?;
        json.expect(b']')?;
        let value = sink.value(value)?;
        sink.initial(&key, value, line)?;
        Ok(())
    })
}

fn read_time(json: &mut LineJson<'_>) -> Result<Option<i64>, Fault> {
    match json.datum()? {
        Datum::Int(time) => Ok(Some(time)),
        Datum::Null => Ok(None),
        other => json.wrong(format!("a time must be a 64-bit integer, not {other}")),
    }
}

fn read_outcome(json: &mut LineJson<'_>) -> Result<Outcome, Fault> {
    match json.string()? {
        "commit" => Ok(Outcome::Committed),
        "abort" => Ok(Outcome::Aborted),
        "unknown" => Ok(Outcome::Unknown),
        other => {
            let message = format!("the status must be commit, abort or unknown, not {other:?}");
            json.wrong(message)
        }
    }
}

fn read_op(json: &mut LineJson<'_>, ops: &mut TxnOps, sink: &mut Sink<'_>) -> Result<(), Fault> {
    json.expect(b'[')?;
    let access = match json.letter()? {
        Some(b'r') => Access::Read,
        Some(b'w') => Access::Write,
        Some(b'a') => Access::Append,
        Some(other) => return json.wrong(format!("an operation is \"r\", \"w\" or \"a\", not \"{}\"", other as char)),
        None => match json.string()? {
            "r" => Access::Read,
            "w" => Access::Write,
            "a" => Access::Append,
            other => {
                let message = format!("an operation is \"r\", \"w\" or \"a\", not {other:?}");
                return json.wrong(message);
            }
        },
    };
    json.expect(b',')?;
    let key = json.datum()?;
    let key = sink.key(key)?;
    json.expect(b',')?;
    match json.peek()? {
        Some(b'[') if access == Access::Read => {
            json.array(|json| {
                let value = json.datum()?;
                ops.element(sink.value(value)?);
                sink.meter().fits(ops.bytes())?;
                Ok(())
            })?;
            ops.push_list(key);
        }
        Some(b'[') => return json.wrong("only a read may have a list as its value"),
        _ => {
            let value = json.datum()?;
            ops.push(access, key, sink.value(value)?);
            sink.meter().fits(ops.bytes())?;
        }
    }
    if json.accept(b']')? {
        Ok(())
    } else {
        let found = show(json.peek()?);
        json.wrong(format!("expected `]` after the value of the operation, found {found}"))
    }
}

pub(crate) fn write(history: &History, out: &mut dyn Write) -> Result<(), WriteError> {
    write_header(history, out)?;
    for txn in history.txns() {
        write_txn(history, txn, out)?;
    }
    Ok(())
}

fn write_header(history: &History, out: &mut dyn Write) -> Result<(), WriteError> {
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
        Outcome::Unknown => "unknown",
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
