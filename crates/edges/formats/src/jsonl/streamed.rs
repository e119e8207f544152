//! Reads our JSON lines one transaction at a time and keeps none of them: recordings that do not fit into memory, or that are
//! still being written.
//!
//! Keys and sessions are numbered in the order in which they first appear, so that reading the same recording again gives the
//! same numbers. Lines that the quick scanner does not know are read as any JSON, each as a history of its own.

mod rows;
mod taken;

pub use taken::{RawOp, RawScan, RawTxn};

use super::line::LineReader;
use super::scan::{Scanned, Txn, What};
use super::{BLOCK, ToldLines, WrittenValues};
use crate::input::{Input, Line, LinesKind};
use crate::meter::Meter;
use crate::pipeline::in_order;
use crate::sink::Sink;
use crate::{Format, Header, ReadError, ReadOptions};
use iso_history::{
    Access, Datum, Defect, Extent, History, KeyId, Name, Op, OpId, PlaceUnit, Predicate, ScanId, SessionId, Severity,
    StreamedStatement, StreamedTables, TableId,
};
use rows::leave_omissions;
use rustc_hash::{FxHashMap, FxHashSet};
use std::io::Read;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Somebody who takes a recording as it is read.
pub trait TakeTxns {
    /// The first line was read.
    fn header(&mut self, header: &StreamedHeader) -> ControlFlow<()>;
    /// A key turns out to be a list, in the transaction that follows.
    fn list(&mut self, key: KeyId, name: Name<'_>) -> ControlFlow<()>;
    /// A key has an initial value of its own.
    fn initial(&mut self, key: KeyId, name: Name<'_>, value: Name<'_>) -> ControlFlow<()>;
    /// A key turns out to be a row of a table that is scanned; `name` is its name within the table.
    fn row(&mut self, row: KeyId, table: TableId, name: Name<'_>) -> ControlFlow<()>;
    /// A transaction was read.
    fn txn(&mut self, txn: &RawTxn<'_>) -> ControlFlow<()>;
    /// Nothing more is at hand just now.
    fn pause(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// What the first line says.
#[derive(Clone, Debug)]
pub struct StreamedHeader {
    /// What every register without a value of its own holds at first.
    pub initial: Datum,
    /// Is there a last line to come, and what does the recording promise about its values?
    pub promised: Option<WrittenValues>,
    /// The rest.
    pub header: Header,
}

/// How a stream ended.
#[derive(Clone, Debug)]
pub struct StreamedEnd {
    /// Why.
    pub end: EndOfStream,
    /// What is wrong with it; after an error, nothing more was read.
    pub defects: Vec<Defect>,
}

/// Why a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndOfStream {
    /// That is all.
    Complete,
    /// The recording has no last line, although it promised one.
    Cut(WrittenValues),
    /// Whoever takes the transactions had enough.
    Enough,
    /// There is an error in it.
    Broken,
}

/// How to wait for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// All of it is there: as fast as possible, on all cores.
    Blocks,
    /// It is being written: each line as soon as it is there.
    Lines,
}

const NO_KEY: u32 = u32::MAX;
/// So many predicates are remembered.
const MAX_PREDICATES: usize = 1 << 10;
/// Keys up to this number are looked up without a hash.
const LARGEST_SMALL: i64 = (1 << 22) - 1;

/// The numbers of keys and sessions.
#[derive(Clone, Debug, Default)]
pub struct StreamedNames {
    /// Keys that are small numbers, and those that are others.
    small_keys: Vec<u32>,
    int_keys: FxHashMap<i64, u32>,
    text_keys: FxHashMap<Box<str>, u32>,
    keys: FxHashMap<Datum, u32>,
    n_keys: u32,
    lists: FxHashSet<KeyId>,
    tables: StreamedTables,
    predicates: FxHashMap<Predicate, Arc<Predicate>>,
    /// Keys whose initial value was said.
    begun: FxHashSet<KeyId>,
    int_sessions: FxHashMap<i64, u32>,
    sessions: FxHashMap<String, u32>,
    session_names: Vec<String>,
    n_txns: Vec<u32>,
}

impl StreamedNames {
    /// The name of a session.
    pub fn session(&self, session: SessionId) -> &str {
        &self.session_names[session.index()]
    }

    #[inline]
    fn key_id(&mut self, name: Name<'_>) -> KeyId {
        if let Name::Int(number) = name
            && let Some(id) = usize::try_from(number).ok().and_then(|it| self.small_keys.get(it))
            && *id != NO_KEY
        {
            return KeyId::from_index(*id as usize);
        }
        self.large_key_id(name)
    }

    /// A key that is no small number, or a new one.
    fn large_key_id(&mut self, name: Name<'_>) -> KeyId {
        let known = match name {
            Name::Int(number) => self.int_keys.get(&number),
            Name::Text(text) => self.text_keys.get(text),
            other => self.keys.get(&other.to_datum()),
        };
        if let Some(id) = known {
            return KeyId::from_index(*id as usize);
        }
        let id = self.n_keys;
        self.n_keys += 1;
        match name {
            Name::Int(number @ 0..=LARGEST_SMALL) => {
                let at = usize::try_from(number).unwrap_or(0);
                if at >= self.small_keys.len() {
                    self.small_keys.resize(at + 1, NO_KEY);
                }
                self.small_keys[at] = id;
            }
            Name::Int(number) => drop(self.int_keys.insert(number, id)),
            Name::Text(text) => drop(self.text_keys.insert(text.into(), id)),
            other => drop(self.keys.insert(other.to_datum(), id)),
        }
        KeyId::from_index(id as usize)
    }

    /// Equal predicates are one.
    fn predicate(&mut self, predicate: &Predicate) -> Arc<Predicate> {
        if let Some(known) = self.predicates.get(predicate) {
            return Arc::clone(known);
        }
        let new = Arc::new(predicate.clone());
        if self.predicates.len() < MAX_PREDICATES {
            self.predicates.insert(predicate.clone(), Arc::clone(&new));
        }
        new
    }

    fn session_id(&mut self, name: &str) -> SessionId {
        if let Some(id) = self.sessions.get(name) {
            return SessionId::from_index(*id as usize);
        }
        let id = self.session_names.len() as u32;
        self.session_names.push(name.to_owned());
        self.sessions.insert(name.to_owned(), id);
        self.n_txns.push(0);
        SessionId::from_index(id as usize)
    }

    fn session_named(&mut self, name: Name<'_>) -> SessionId {
        match name {
            Name::Int(number) => {
                if let Some(id) = self.int_sessions.get(&number) {
                    return SessionId::from_index(*id as usize);
                }
                let id = self.session_id(&number.to_string());
                self.int_sessions.insert(number, id.raw());
                id
            }
            Name::Text(name) => self.session_id(name),
            other => self.session_id(&other.to_string()),
        }
    }

    fn next_of(&mut self, session: SessionId) -> u32 {
        let n_txns = &mut self.n_txns[session.index()];
        *n_txns += 1;
        *n_txns - 1
    }
}

/// Reads a recording in JSON lines, and gives each transaction to `taker`. The name is for messages.
pub fn stream_txns(
    name: &str,
    reader: impl Read,
    (size, pace): (Option<u64>, Pace),
    options: &ReadOptions<'_>,
    names: &mut StreamedNames,
    taker: &mut dyn TakeTxns,
) -> Result<StreamedEnd, ReadError> {
    // What is read is not kept, so it may be of any size.
    let unlimited = ReadOptions { memory_limit: Some(u64::MAX), ..*options };
    let meter = Meter::new(name, &unlimited);
    let mut input = Input::new(name, reader, size, &meter)?;
    let mut streamer = Streamer::new(name, &meter, options, names, taker);
    match pace {
        Pace::Blocks => {
            let stopped = in_order(
                || Ok(input.next_lines(BLOCK)?),
                Scanned::new,
                |it| streamer.take(&it).map_err(Stop::Failed).and_then(|()| streamer.go_on()),
            );
            if let Err(Stop::Failed(error)) = stopped {
                return Err(error);
            }
        }
        Pace::Lines => {
            while streamer.go_on().is_ok() {
                let Some(lines) = input.lines_at_hand()? else { break };
                streamer.take(&Scanned::new(lines))?;
                if streamer.flow.is_continue() {
                    streamer.flow = streamer.taker.pause();
                }
            }
        }
    }
    let damage = input.damage().map(|it| format!("the compressed data is damaged or cut short: {it}"));
    streamer.finish(damage)
}

/// Somebody who writes a recording, and tells what it writes.
pub trait TellLines {
    /// The next lines; if there are none just now, waits for them only if it is to. Nothing at the end, or if it does not wait.
    fn next(&mut self, waits: bool) -> Option<ToldLines>;
}

/// As [`stream_txns`], of lines that are told while they are written.
pub fn stream_told(
    name: &str,
    teller: &mut dyn TellLines,
    options: &ReadOptions<'_>,
    names: &mut StreamedNames,
    taker: &mut dyn TakeTxns,
) -> Result<StreamedEnd, ReadError> {
    let unlimited = ReadOptions { memory_limit: Some(u64::MAX), ..*options };
    let meter = Meter::new(name, &unlimited);
    let mut streamer = Streamer::new(name, &meter, options, names, taker);
    while streamer.go_on().is_ok() {
        let mut lines = teller.next(false);
        if lines.is_none() {
            streamer.flow = streamer.taker.pause();
            if streamer.flow.is_break() {
                break;
            }
            lines = teller.next(true);
        }
        let Some(lines) = lines else { break };
        streamer.take(&lines.0)?;
    }
    streamer.finish(None)
}

/// Why blocks are not read any further.
enum Stop {
    Failed(ReadError),
    Enough,
}

impl From<ReadError> for Stop {
    fn from(error: ReadError) -> Self {
        Self::Failed(error)
    }
}

struct Streamer<'s> {
    name: &'s str,
    meter: &'s Meter<'s>,
    initial: Option<Datum>,
    /// Do keys hold nothing at first?
    default_is_null: bool,
    out_of_reach: Option<String>,
    reader: LineReader,
    /// The number of the next line.
    line: u64,
    is_headed: bool,
    names: &'s mut StreamedNames,
    taker: &'s mut dyn TakeTxns,
    defects: Vec<Defect>,
    flow: ControlFlow<()>,
}

impl<'s> Streamer<'s> {
    fn new(
        name: &'s str,
        meter: &'s Meter<'s>,
        options: &ReadOptions<'_>,
        names: &'s mut StreamedNames,
        taker: &'s mut dyn TakeTxns,
    ) -> Self {
        Self {
            name,
            meter,
            initial: options.initial.map(Name::to_datum),
            default_is_null: true,
            out_of_reach: None,
            reader: LineReader::new(),
            line: 1,
            is_headed: false,
            names,
            taker,
            defects: Vec::new(),
            flow: ControlFlow::Continue(()),
        }
    }
}

impl Streamer<'_> {
    fn is_broken(&self) -> bool {
        self.defects.iter().any(|it| it.severity == Severity::Error)
    }

    fn go_on(&self) -> Result<(), Stop> {
        if self.is_broken() || self.flow.is_break() || self.reader.is_complete() { Err(Stop::Enough) } else { Ok(()) }
    }

    fn finish(mut self, damage: Option<String>) -> Result<StreamedEnd, ReadError> {
        if let Some(message) = damage {
            self.error(None, message);
        }
        let mut end = match self.reader.promised() {
            _ if self.is_broken() => EndOfStream::Broken,
            _ if self.flow.is_break() => EndOfStream::Enough,
            Some(values) => EndOfStream::Cut(values),
            None => EndOfStream::Complete,
        };
        if end == EndOfStream::Complete && !self.is_headed {
            let mut sink = Sink::new(self.meter);
            sink.source(self.name, PlaceUnit::Line);
            std::mem::replace(&mut self.reader, LineReader::new()).finish(&mut sink);
            self.defects.extend(sink.finish(Format::Jsonl)?.defects);
            end = EndOfStream::Broken;
        }
        Ok(StreamedEnd { end, defects: self.defects })
    }

    fn error(&mut self, line: Option<u64>, message: String) {
        let at = line.map(|it| (it, PlaceUnit::Line));
        self.defects.push(Defect { severity: Severity::Error, source: self.name.to_owned(), at, message });
    }

    fn take(&mut self, scanned: &Scanned) -> Result<(), ReadError> {
        if scanned.lines.kind == LinesKind::TooLong {
            self.error(Some(self.line), "the line is too long to be a transaction".to_owned());
        }
        let mut op = 0;
        let mut ops: Vec<RawOp<'_>> = Vec::new();
        for item in &scanned.items {
            if self.flow.is_break() || self.is_broken() || self.reader.is_complete() {
                break;
            }
            let number = self.line + item.line;
            match item.what {
                What::Txn(txn) => {
                    self.scanned_txn(scanned, (txn, op), number, &mut ops);
                    op += txn.n_ops;
                }
                What::Other { start, end, line_end } => {
                    let bytes = &scanned.lines.bytes[start..end];
                    self.other_line(Line { number, bytes, end: line_end })?;
                }
            }
        }
        self.line += scanned.n_lines;
        Ok(())
    }

    fn scanned_txn<'b>(&mut self, scanned: &'b Scanned, (txn, start): (Txn, usize), at: u64, ops: &mut Vec<RawOp<'b>>) {
        if !self.is_headed {
            let message = "the header is missing; the first line must be like {\"isoscope\":1,\"initial\":null}";
            return self.error(Some(at), message.to_owned());
        }
        if let (Some(begin), Some(end)) = (txn.begin, txn.end)
            && begin > end
        {
            return self.error(Some(at), format!("the transaction ends at {end}, before it begins at {begin}"));
        }
        ops.clear();
        let n_keys = self.names.n_keys;
        for idx in start..start + txn.n_ops {
            let (key_kind, value_kind) = scanned.kinds[idx];
            let name = scanned.name((key_kind, scanned.keys[idx]));
            let value = scanned.name((value_kind, scanned.values[idx]));
            let (access, key) = (scanned.accesses[idx], self.names.key_id(name));
            ops.push(RawOp { access, key, name, value, elements: &[], statement: None });
        }
        if !self.names.lists.is_empty() || ops.iter().any(|it| it.access == Access::Append) {
            self.tell_lists(ops, n_keys, at);
        }
        if !self.names.tables.is_empty() {
            self.tell_rows(ops, n_keys);
        }
        if self.flow.is_break() || self.is_broken() {
            return;
        }
        let session = self.names.session_named(scanned.name(txn.session));
        let nth = self.names.next_of(session);
        let session_name = self.names.session_names[session.index()].as_str();
        let (begin, end, outcome) = (txn.begin, txn.end, txn.outcome);
        let (tables, out_of_reach) = (&self.names.tables, self.out_of_reach.as_deref());
        let scans = &[];
        let txn = RawTxn { session, session_name, nth, at, begin, end, outcome, ops, scans, tables, out_of_reach };
        self.flow = self.taker.txn(&txn);
    }

    /// A line that needs the reader of any line: it becomes a history of its own, or the header.
    fn other_line(&mut self, line: Line<'_>) -> Result<(), ReadError> {
        let mut sink = Sink::new(self.meter);
        sink.source(self.name, PlaceUnit::Line);
        self.reader.read(line, &mut sink)?;
        let (default, initials) = sink.initial_values();
        let mut reading = sink.finish(Format::Jsonl)?;
        self.defects.append(&mut reading.defects);
        let Some(history) = reading.history.filter(|_| !self.is_broken()) else { return Ok(()) };
        if !self.is_headed && !self.reader.is_headless() {
            self.is_headed = true;
            let said = default.map(|it| history.value(it).to_datum());
            let header = StreamedHeader {
                initial: said.or(self.initial.take()).unwrap_or(Datum::Null),
                promised: self.reader.promised(),
                header: reading.header,
            };
            self.default_is_null = header.initial == Datum::Null;
            for session in history.sessions() {
                self.names.session_id(history.session_name(session));
            }
            self.flow = self.taker.header(&header);
        }
        for (key, value) in initials {
            if self.flow.is_continue() {
                let (name, n_keys) = (history.key_name(key), self.names.n_keys);
                let key = self.names.key_id(name);
                if !self.default_is_null {
                    self.names.begun.insert(key);
                }
                if key.raw() >= n_keys && !self.names.tables.is_empty() {
                    self.tell_row(key, name);
                }
                self.flow = self.taker.initial(key, name, history.value(value));
            }
        }
        if history.n_txns() > 1 && self.flow.is_continue() {
            self.other_txn(&history, line.number);
        }
        Ok(())
    }

    fn other_txn(&mut self, history: &History, at: u64) {
        // A list that was appended to is no part of a snapshot.
        let locked = history.with_locked_lists();
        let history = locked.as_ref().unwrap_or(history);
        let has_statements = history.has_statements() || locked.is_some();
        for txn in history.txns() {
            let n_keys = self.names.n_keys;
            let mut scans: Vec<RawScan> = Vec::new();
            for id in history.scans_of(txn) {
                let (scan, statement) = (history.scan(id), statement_of_scan(history, id));
                let table = self.scanned_table(scan.table);
                if !scan.predicate.foreign().is_empty() {
                    self.out_of_reach = Some("has a scan that only the database can evaluate".to_owned());
                }
                let predicate = self.names.predicate(scan.predicate);
                scans.push(RawScan { table, predicate, extent: scan.extent, ops: scan.ops.clone(), statement });
            }
            let elements = |it| if let Op::ReadList { values, .. } = history.op(it) { values } else { &[] };
            let elements: Vec<Name<'_>> = history.ops(txn).flat_map(elements).map(|it| history.value(*it)).collect();
            let mut left = elements.as_slice();
            let mut ops: Vec<RawOp<'_>> = Vec::new();
            let mut scan = 0;
            for op in history.ops(txn) {
                // Where scans begin and end, counted in what is told.
                while scan < scans.len() && op.index() >= scans[scan].ops.end {
                    scan += 1;
                }
                let is_of_whole =
                    scans.get(scan).is_some_and(|it| it.extent == Extent::Whole && it.ops.contains(&op.index()));
                let statement = has_statements.then(|| statement_of(history, op));
                let op = history.op(op);
                if is_of_whole && matches!(op, Op::Omit { .. }) {
                    continue;
                }
                let n_elements = if let Op::ReadList { values, .. } = op { values.len() } else { 0 };
                let (elements, rest) = left.split_at(n_elements);
                left = rest;
                let name = history.key_name(op.key());
                let (access, value) = match op {
                    Op::Read { value, .. } => (Access::Read, history.value(value)),
                    Op::Write { value, .. } => (Access::Write, history.value(value)),
                    Op::Append { value, .. } => (Access::Append, history.value(value)),
                    Op::ReadList { .. } => (Access::ReadList, Name::Null),
                    Op::Omit { .. } => (Access::Omit, Name::Null),
                };
                ops.push(RawOp { access, key: self.names.key_id(name), name, value, elements, statement });
            }
            leave_omissions(history, txn, &mut scans);
            self.tell_lists(&ops, n_keys, at);
            if !self.names.tables.is_empty() {
                self.tell_rows(&ops, n_keys);
            }
            let Some(session) = history.session_of(txn).filter(|_| self.flow.is_continue()) else { continue };
            let session = self.names.session_id(history.session_name(session));
            let nth = self.names.next_of(session);
            let session_name = self.names.session_names[session.index()].as_str();
            let (begin, end, outcome) = (history.begin(txn), history.end(txn), history.outcome(txn));
            let (tables, out_of_reach) = (&self.names.tables, self.out_of_reach.as_deref());
            let (ops, scans) = (ops.as_slice(), scans.as_slice());
            let txn = RawTxn { session, session_name, nth, at, begin, end, outcome, ops, scans, tables, out_of_reach };
            self.flow = self.taker.txn(&txn);
        }
    }
}

/// The statement of an operation. Those with operations have odd numbers, and those without have even ones between them.
fn statement_of(history: &History, op: OpId) -> StreamedStatement {
    let start = history.statement_of(op).ops().next().unwrap_or(op);
    StreamedStatement { nth: 2 * start.raw() + 1, newest: history.sees_newest(op) }
}

fn statement_of_scan(history: &History, scan: ScanId) -> StreamedStatement {
    let first = history.statement_of_scan(scan).ops().next();
    let nth = first.map_or(2 * history.scan(scan).ops.start as u32, |it| 2 * it.raw() + 1);
    StreamedStatement { nth, newest: history.omits_newest(scan) }
}

impl Streamer<'_> {
    /// Says which keys of a transaction are lists, if that is new, and whether one is used as something else. A key that was
    /// there before, among so many, and is no list is a register.
    fn tell_lists(&mut self, ops: &[RawOp<'_>], n_keys: u32, at: u64) {
        let is_list = |it: &RawOp<'_>| matches!(it.access, Access::Append | Access::ReadList);
        for op in ops.iter().filter(|it| is_list(it)) {
            let is_new = op.key.raw() >= n_keys;
            if is_new && self.names.lists.insert(op.key) {
                self.flow = self.taker.list(op.key, op.name);
            }
            if self.flow.is_break() {
                return;
            }
        }
        let is_used_otherwise =
            |it: &&RawOp<'_>| it.access != Access::Omit && is_list(it) != self.names.lists.contains(&it.key);
        if let Some(op) = ops.iter().find(is_used_otherwise) {
            let key = op.name.shown();
            self.error(Some(at), format!("key {key} is used as a register and as a list; a key must be one of them"));
        }
    }
}

/// Lines in memory, for tests and for those who have them.
pub fn stream_bytes(
    name: &str,
    bytes: &[u8],
    names: &mut StreamedNames,
    taker: &mut dyn TakeTxns,
) -> Result<StreamedEnd, ReadError> {
    stream_txns(name, bytes, (None, Pace::Blocks), &ReadOptions::default(), names, taker)
}
