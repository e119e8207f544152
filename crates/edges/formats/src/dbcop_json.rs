//! JSON documents of newer dbcop versions, read as a stream.
//!
//! `{"params":{..},"data":[[{"events":[{"Write":{"variable":0,"version":1}}],"committed":true}]]}`: `data` is a list of
//! sessions, and these are lists of transactions. A read of version null saw the initial state. Only a whole document
//! is a history, so that every cut is a defect.

use crate::fault::{Fault, quoted};
use crate::input::Input;
use crate::json::{Json, write_name};
use crate::ops::TxnOps;
use crate::sink::Sink;
use crate::write::{Limits, WriteError, register_op};
use crate::{Format, ReadError, report};
use iso_history::{Access, History, Name, Outcome, SessionId, TxnId};
use std::io::Write;

const LIMITS: Limits = Limits { format: Format::DbcopJson, allows_aborted: true, allows_unknown: false };

type Stream<'i, 'a> = Json<&'i mut Input<'a>>;

pub(crate) fn read(input: &mut Input<'_>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let result = read_document(&mut Json::new(input), sink);
    report(sink, result)
}

fn read_document(json: &mut Stream<'_, '_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
    let mut n_data = 0;
    json.object(|json, name| match name {
        "data" => {
            n_data += 1;
            read_data(json, sink)
        }
        _ => json.skip(),
    })?;
    json.expect_end()?;
    match n_data {
        1 => Ok(()),
        n => json.wrong(format!("expected one member \"data\" with the sessions, found {n}")),
    }
}

fn read_data(json: &mut Stream<'_, '_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
    let mut ops = TxnOps::default();
    let mut n_sessions = 0;
    json.array(|json| {
        n_sessions += 1;
        let session = sink.session(&format!("s{n_sessions}"))?;
        json.array(|json| read_txn(json, session, sink, &mut ops))
    })
}

fn read_txn(json: &mut Stream<'_, '_>, session: SessionId, sink: &mut Sink<'_>, ops: &mut TxnOps) -> Result<(), Fault> {
    let place = sink.place(json.bytes().line());
    ops.clear();
    let mut committed = None;
    json.object(|json, name| {
        match name {
            "events" => json.array(|json| read_event(json, sink, ops))?,
            "committed" => committed = Some(json.boolean()?),
            _ => json.skip()?,
        }
        Ok(())
    })?;
    let outcome = match committed {
        Some(true) => Outcome::Committed,
        Some(false) => Outcome::Aborted,
        None => return json.wrong("the transaction does not say whether it is \"committed\""),
    };
    sink.txn(session, place, (None, None), ops, outcome)?;
    Ok(())
}

fn read_event(json: &mut Stream<'_, '_>, sink: &mut Sink<'_>, ops: &mut TxnOps) -> Result<(), Fault> {
    let n_before = ops.len();
    json.object(|json, name| {
        let access = match name {
            "Read" => Access::Read,
            "Write" => Access::Write,
            other => return json.wrong(format!("an event is \"Read\" or \"Write\", not {}", quoted(other))),
        };
        read_access(json, access, sink, ops)
    })?;
    sink.meter().fits(ops.bytes())?;
    if ops.len() == n_before + 1 { Ok(()) } else { json.wrong("expected one \"Read\" or \"Write\" in the event") }
}

fn read_access(json: &mut Stream<'_, '_>, access: Access, sink: &mut Sink<'_>, ops: &mut TxnOps) -> Result<(), Fault> {
    let (mut variable, mut version) = (None, None);
    json.object(|json, name| {
        match name {
            "variable" => variable = Some(json.datum()?),
            "version" => version = Some(json.datum()?),
            _ => json.skip()?,
        }
        Ok(())
    })?;
    let (Some(variable), Some(version)) = (variable, version) else {
        return json.wrong("expected the members \"variable\" and \"version\" in the event");
    };
    ops.push(access, sink.key(variable)?, sink.value(version)?);
    Ok(())
}

pub(crate) fn write(history: &History, out: &mut dyn Write) -> Result<(), WriteError> {
    LIMITS.check(history)?;
    LIMITS.check_initial(history, Name::Null)?;
    let n_events = history.txns().map(|it| history.ops(it).len()).max().unwrap_or(0);
    let n_txns = history.sessions().map(|it| history.session_txns(it).len()).max().unwrap_or(0);
    write!(
        out,
        "{{\"params\":{{\"id\":0,\"n_node\":{},\"n_variable\":{},\"n_transaction\":{n_txns},\"n_event\":{n_events}}},\
         \"info\":\"isoscope\",\"data\":[",
        history.n_sessions(),
        history.n_keys()
    )?;
    for (nth, session) in history.sessions().enumerate() {
        out.write_all(if nth == 0 { b"[" } else { b",[" })?;
        for (nth, txn) in history.session_txns(session).iter().enumerate() {
            out.write_all(if nth == 0 { b"\n" } else { b",\n" })?;
            write_txn(history, *txn, out)?;
        }
        out.write_all(b"]")?;
    }
    out.write_all(b"]}\n")?;
    Ok(())
}

fn write_txn(history: &History, txn: TxnId, out: &mut dyn Write) -> Result<(), WriteError> {
    out.write_all(b"{\"events\":[")?;
    let ops = history.ops(txn).filter_map(|it| register_op(history.op(it)));
    for (nth, (is_write, key, value)) in ops.enumerate() {
        let kind = if is_write { "Write" } else { "Read" };
        let comma = if nth == 0 { "" } else { "," };
        write!(out, "{comma}{{\"{kind}\":{{\"variable\":{},\"version\":", LIMITS.integer(history.key_name(key))?)?;
        match history.value(value) {
            Name::Null => out.write_all(b"null")?,
            other => write_name(out, Name::Int(LIMITS.integer(other)?))?,
        }
        out.write_all(b"}}")?;
    }
    write!(out, "],\"committed\":{}}}", history.outcome(txn) == Outcome::Committed)?;
    Ok(())
}
