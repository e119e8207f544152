//! Reads any line: whatever JSON allows, and what is wrong with it.

use super::operation::{self, OpReader, Within};
use super::{VERSION, WrittenValues};
use crate::fault::{Fault, quoted};
use crate::input::{Bytes, Line, LineBytes, LineEnd};
use crate::json::Json;
use crate::ops::TxnOps;
use crate::sink::Sink;
use crate::{ReadError, RecordedDatabase, RecordedFault, report};
use iso_history::{Datum, Outcome};

pub(super) type LineJson<'l> = Json<LineBytes<'l>>;

/// Reads lines one after the other.
pub(super) struct LineReader {
    header: HeaderState,
    recording: Recording,
    txn: Txn,
    spare: Json<()>,
}

/// What the file says of its own end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recording {
    /// Nothing: it may end after any line.
    No,
    /// There is a last line, which has not come.
    Going(WrittenValues),
    /// The last line has come.
    Complete,
}

impl LineReader {
    pub(super) fn new() -> Self {
        Self { header: HeaderState::Missing, recording: Recording::No, txn: Txn::default(), spare: Json::new(()) }
    }

    /// Has the last line of a recording come?
    pub(super) fn is_complete(&self) -> bool {
        self.recording == Recording::Complete
    }

    /// What the recording promises about its values, if its last line is still to come.
    pub(super) fn promised(&self) -> Option<WrittenValues> {
        if let Recording::Going(values) = self.recording { Some(values) } else { None }
    }

    /// Has there been no header so far?
    pub(super) fn is_headless(&self) -> bool {
        self.header != HeaderState::Found
    }

    pub(super) fn read(&mut self, line: Line<'_>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
        let blank = line.bytes.iter().all(u8::is_ascii_whitespace);
        if blank {
            return Ok(());
        }
        self.txn.clear();
        sink.meter().hold(line.bytes.len())?;
        let spare = std::mem::replace(&mut self.spare, Json::new(()));
        let mut json = spare.with(LineBytes::new(line));
        let result = read_line(&mut json, line, &mut self.txn, (&mut self.header, &mut self.recording), sink);
        self.spare = json.with(());
        let is_cut = line.end == LineEnd::EndOfInput && matches!(self.recording, Recording::Going(_));
        if is_cut && matches!(result, Err(Fault::Syntax { .. })) {
            return Ok(());
        }
        if result.is_err() && self.header == HeaderState::Missing {
            // Whatever is wrong with the first line, it was to be the header.
            self.header = HeaderState::Reported;
        }
        report(sink, result.map_err(|it| it.in_line(line)))
    }

    /// Notes that a line was a transaction: if there was no header before, that is said once.
    pub(super) fn expect_header(&mut self, line: u64, sink: &mut Sink<'_>) {
        expect_header(&mut self.header, line, sink);
    }

    /// Ends the input: it had no header if it had no lines.
    pub(super) fn finish(mut self, sink: &mut Sink<'_>) {
        self.expect_header(1, sink);
        if let Recording::Going(values) = self.recording {
            sink.cut(values);
        }
    }
}

fn expect_header(header: &mut HeaderState, line: u64, sink: &mut Sink<'_>) {
    if *header == HeaderState::Missing {
        *header = HeaderState::Reported;
        sink.error(line, MISSING_HEADER);
    }
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

    /// Did the line say nothing about a transaction?
    fn is_empty(&self) -> bool {
        self.session.is_none() && !self.has_ops
    }
}

fn read_line(
    json: &mut LineJson<'_>,
    line: Line<'_>,
    txn: &mut Txn,
    (header, recording): (&mut HeaderState, &mut Recording),
    sink: &mut Sink<'_>,
) -> Result<(), Fault> {
    let (mut is_header, mut has_initial, mut is_remark) = (false, false, false);
    let mut fault = RecordedFault::default();
    json.object(|json, name| {
        match name {
            "isoscope" => {
                is_header = true;
                read_version(json)?;
            }
            "initial" => {
                let value = json.value()?;
                let value = sink.value(value)?;
                sink.default_initial(value, line.number);
            }
            "init" => {
                has_initial = true;
                read_init(json, line.number, sink)?;
            }
            "sessions" => read_sessions(json, sink)?,
            "origin" => {
                json.peek()?;
                let start = json.bytes().spot().column as usize;
                json.skip()?;
                let end = json.bytes().spot().column as usize;
                sink.header.origin = Some(String::from_utf8_lossy(&line.bytes[start..end]).into_owned());
            }
            "database" => sink.header.database = Some(read_database(json)?),
            "final" => {
                is_remark = true;
                read_final(json, sink)?;
            }
            "nodes" => read_nodes(json, sink)?,
            "fault" => fault.fault = plain(json.datum()?),
            "node" => fault.node = Some(plain(json.datum()?)),
            "at" => fault.at = read_time(json)?,
            "recording" => *recording = read_recording(json)?,
            "s" => txn.session = Some(json.datum()?),
            "ops" => {
                txn.has_ops = true;
                let mut ops = OpReader { line: line.number, ops: &mut txn.ops, sink };
                json.array(|json| ops.op(json, Within::Transaction))?;
            }
            "status" => txn.outcome = Some(read_outcome(json)?),
            "begin" => txn.begin = read_time(json)?,
            "end" => txn.end = read_time(json)?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    json.expect_end()?;
    let is_fault = !fault.fault.is_empty();
    if is_fault {
        sink.header.faults.push(fault);
    }
    if is_header {
        end_header(json, header)
    } else if txn.is_empty() && (has_initial || is_remark || is_fault) {
        expect_header(header, line.number, sink);
        Ok(())
    } else if *recording == Recording::Complete && txn.is_empty() {
        Ok(())
    } else {
        end_txn(json, line, txn, header, sink)
    }
}

/// `{"name":"postgres","version":"15.18","isolation":"read-committed","settings":{"fsync":"on"}}`
fn read_database(json: &mut LineJson<'_>) -> Result<RecordedDatabase, Fault> {
    if json.peek()? != Some(b'{') {
        return json.wrong(
            "the member \"database\" is an object, as in {\"name\":\"postgres\",\"isolation\":\"read-committed\"}",
        );
    }
    let mut database = RecordedDatabase::default();
    json.object(|json, name| {
        match name {
            "name" => json.string()?.clone_into(&mut database.name),
            "version" => database.version = Some(plain(json.datum()?)),
            "isolation" if json.peek()? == Some(b'[') => json.array(|json| {
                database.isolations.push(json.string()?.to_owned());
                Ok(())
            })?,
            "isolation" => database.isolations.push(json.string()?.to_owned()),
            "settings" => json.object(|json, name| {
                let name = name.to_owned();
                let value = match json.peek()? {
                    Some(b't' | b'f') => if json.boolean()? { "on" } else { "off" }.to_owned(),
                    _ => plain(json.datum()?),
                };
                database.settings.push((name, value));
                Ok(())
            })?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    match database.lacks() {
        Some(what) => json.wrong(what),
        None => Ok(database),
    }
}

/// `"sessions":["s1","s2"]`
fn read_sessions(json: &mut LineJson<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
    let mut n_sessions = 0;
    json.array(|json| {
        let name = json.datum()?;
        sink.session(&session_name(&name))?;
        n_sessions += 1;
        Ok(())
    })?;
    sink.header.n_sessions = Some(n_sessions);
    Ok(())
}

/// `"final":"s11"` or `"final":["s11"]`: sessions that read when all others had ended.
fn read_final(json: &mut LineJson<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
    if json.peek()? == Some(b'[') {
        return json.array(|json| {
            let name = session_name(&json.datum()?);
            sink.header.final_sessions.push(name);
            Ok(())
        });
    }
    let name = session_name(&json.datum()?);
    sink.header.final_sessions.push(name);
    Ok(())
}

/// `"nodes":{"s1":"n1","s2":"n2"}`
fn read_nodes(json: &mut LineJson<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
    json.object(|json, session| {
        let session = session.to_owned();
        let node = plain(json.datum()?);
        sink.header.nodes.push((session, node));
        Ok(())
    })
}

fn plain(datum: Datum) -> String {
    match datum {
        Datum::Text(text) => text.into(),
        other => other.to_string(),
    }
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
    expect_header(header, line.number, sink);
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
        other => json.wrong(format!(
            "version {} of the format is not known; this reader knows {VERSION}",
            other.as_name().shown()
        )),
    }
}

fn read_recording(json: &mut LineJson<'_>) -> Result<Recording, Fault> {
    match json.string()? {
        "unique" => Ok(Recording::Going(WrittenValues::Unique)),
        "any" => Ok(Recording::Going(WrittenValues::Any)),
        "complete" => Ok(Recording::Complete),
        other => {
            let message = format!("a recording is unique, any or complete, not {}", quoted(other));
            json.wrong(message)
        }
    }
}

fn read_init(json: &mut LineJson<'_>, line: u64, sink: &mut Sink<'_>) -> Result<(), Fault> {
    json.array(|json| {
        json.expect(b'[')?;
        let key = json.datum()?;
        json.expect(b',')?;
        let value = json.value()?;
        let value = sink.value(value)?;
        let key = sink.initial(&key, value, line)?;
        if json.accept(b',')? {
            operation::read_matches(json, (key, value), line, sink)?;
        }
        json.expect(b']')
    })
}

fn read_time(json: &mut LineJson<'_>) -> Result<Option<i64>, Fault> {
    match json.datum()? {
        Datum::Int(time) => Ok(Some(time)),
        Datum::Null => Ok(None),
        other => json.wrong(format!("a time must be a 64-bit integer, not {}", other.as_name().shown())),
    }
}

fn read_outcome(json: &mut LineJson<'_>) -> Result<Outcome, Fault> {
    match json.string()? {
        "commit" => Ok(Outcome::Committed),
        "abort" => Ok(Outcome::Aborted),
        "unknown" => Ok(Outcome::Indeterminate),
        other => {
            let message = format!("the status must be commit, abort or unknown, not {}", quoted(other));
            json.wrong(message)
        }
    }
}
