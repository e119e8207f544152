//! The part of a recording that is about some keys, read again from it: all that anybody did to them, and nothing else.
//!
//! Whoever keeps only some keys of an allowed history has an allowed history, so what is forbidden here is forbidden in the
//! whole. The beginning of a recording is treated as one that was cut: what its transactions read may have been written by
//! those that follow.

use crate::cut::{second_write, with_lost_writers_since};
use crate::jsonl::{Pace, RawOp, RawScan, RawTxn, StreamedHeader, StreamedNames, TakeTxns, WrittenValues, stream_txns};
use crate::{EndOfStream, ReadError, ReadOptions};
use iso_history::{Access, Extent, History, HistoryBuilder, KeyId, Locking, Name, Place, PlaceUnit, TableId};
use rustc_hash::FxHashSet;
use std::io::{self, Read};
use std::ops::ControlFlow;

/// The history of some keys in a recording in JSON lines, up to some line. Nothing if the recording is broken; an error if it
/// breaks what its header promises about these keys.
///
/// A scan is about all rows of its table. Which of the keys are its rows may be known only later: then the recording is read once
/// more, so that `reader` is asked for it twice at most.
pub fn read_keys<R: Read>(
    name: &str,
    reader: impl Fn() -> io::Result<R>,
    keys: &[KeyId],
    until: Option<u64>,
    options: &ReadOptions<'_>,
) -> Result<Option<History>, ReadError> {
    let mut tables = FxHashSet::default();
    let (part, ended) = loop {
        let mut part = Part::new(name, keys, until, std::mem::take(&mut tables));
        let names = &mut StreamedNames::default();
        let input = reader().map_err(|source| ReadError::Io { name: name.to_owned(), source })?;
        let ended = stream_txns(name, input, (None, Pace::Blocks), options, names, &mut part)?;
        if part.tables.is_disjoint(&part.left_tables) {
            break (part, ended);
        }
        tables = part.tables;
    };
    // A recording that ends where somebody is in it may go on.
    let may_go_on = until.is_some_and(|it| it <= part.last_line);
    let Part { builder, last_ends, values, knows_sessions, .. } = part;
    let Ok(history) = builder.finish() else { return Ok(None) };
    if values == WrittenValues::Unique
        && let Some((line, message)) = second_write(&history)
    {
        return Err(ReadError::Promise { name: name.to_owned(), line, message });
    }
    let known_until = last_ends.into_iter().min().filter(|_| knows_sessions).unwrap_or(i64::MIN);
    Ok(match ended.end {
        EndOfStream::Broken => None,
        EndOfStream::Complete if !may_go_on => Some(history),
        EndOfStream::Complete | EndOfStream::Cut(_) | EndOfStream::Enough => {
            Some(with_lost_writers_since(&history, values, known_until))
        }
    })
}

struct Part {
    /// By key: is it asked for?
    keys: Vec<bool>,
    until: Option<u64>,
    source: u32,
    builder: HistoryBuilder,
    values: WrittenValues,
    /// Does the header list the sessions? Otherwise some may come that nobody has heard of.
    knows_sessions: bool,
    /// When the last transaction of each session ended.
    last_ends: Vec<i64>,
    last_line: u64,
    /// Tables that are known to have some of these keys as rows, by their names.
    tables: FxHashSet<Box<str>>,
    /// Tables of which some scan was left out, because that was not known of them.
    left_tables: FxHashSet<Box<str>>,
    /// Keys that have turned out to be rows just now.
    rows: Vec<KeyId>,
    /// The open statement, and whether it locks what it reads.
    statement: Option<u32>,
    locks: bool,
}

fn wanted(keys: &[KeyId]) -> Vec<bool> {
    let mut wanted = vec![false; keys.iter().map(|it| it.index() + 1).max().unwrap_or(0)];
    for key in keys {
        wanted[key.index()] = true;
    }
    wanted
}

impl Part {
    fn new(name: &str, keys: &[KeyId], until: Option<u64>, tables: FxHashSet<Box<str>>) -> Self {
        let mut builder = HistoryBuilder::new();
        let source = builder.source(name, PlaceUnit::Line);
        Self {
            keys: wanted(keys),
            until,
            source,
            builder,
            values: WrittenValues::Any,
            knows_sessions: false,
            last_ends: Vec::new(),
            last_line: 0,
            tables,
            left_tables: FxHashSet::default(),
            rows: Vec::new(),
            statement: None,
            locks: false,
        }
    }

    fn op(&mut self, op: &RawOp<'_>) {
        if !self.wants(op.key) {
            return;
        }
        self.turn_to(op.statement.map(|it| it.nth));
        self.add(op);
        if op.statement.is_some_and(|it| it.newest) {
            self.builder.lock_last_read();
        }
    }

    fn add(&mut self, op: &RawOp<'_>) {
        let key = self.builder.key_named(op.name);
        if op.access == Access::ReadList {
            let elements: Vec<_> = op.elements.iter().map(|it| self.builder.value_named(*it)).collect();
            self.builder.read_list(key, elements);
            return;
        }
        let value = self.builder.value_named(op.value);
        match op.access {
            Access::Read => self.builder.read(key, value),
            Access::Write => self.builder.write(key, value),
            Access::Append => self.builder.append(key, value),
            Access::ReadList | Access::Omit => {}
        }
    }

    /// What follows is of this statement, if it is said of what.
    fn turn_to(&mut self, statement: Option<u32>) {
        if self.statement == statement {
            return;
        }
        self.end_statement();
        if statement.is_some() {
            self.builder.begin_statement();
        }
        self.statement = statement;
    }

    fn end_statement(&mut self) {
        if self.statement.take().is_some() {
            let locking = if std::mem::take(&mut self.locks) { Locking::ForUpdate } else { Locking::Free };
            self.builder.end_statement(locking);
        }
    }

    /// What a scan said of the keys that are asked for.
    fn scan(&mut self, txn: &RawTxn<'_>, scan: &RawScan) {
        let (table, ops) = (txn.tables.name(scan.table), &txn.ops[scan.ops.clone()]);
        let predicate = || (*scan.predicate).clone();
        let wanted: Vec<&RawOp<'_>> = ops.iter().filter(|it| self.wants(it.key)).collect();
        self.turn_to(Some(scan.statement.nth));
        let is_of_it = |it: &&RawOp<'_>| it.statement.is_some_and(|it| it.nth == scan.statement.nth);
        let mut writes = txn.ops.iter().filter(is_of_it).filter(|it| it.access == Access::Write).peekable();
        let locks = writes.peek().is_none();
        // A part of a scan says so with each row.
        let is_whole = scan.extent == Extent::Whole;
        if is_whole && scan.statement.newest && !writes.any(|it| self.wants(it.key)) {
            // Nobody can tell from these keys that it saw newest versions.
            if !locks && !wanted.is_empty() {
                return wanted.into_iter().for_each(|it| self.add(it));
            }
            self.locks = true;
        }
        let builder = &mut self.builder;
        let mut named = |it: &RawOp<'_>| (builder.key_named(it.name), builder.value_named(it.value));
        let rows: Vec<_> = wanted.into_iter().map(|it| (it, named(it))).collect();
        if scan.extent == Extent::Whole {
            return builder.scan(table, predicate(), rows.into_iter().map(|it| it.1));
        }
        for (op, (key, value)) in rows {
            match op.access {
                Access::Omit => builder.omit(table, predicate(), key),
                _ => builder.returned(table, predicate(), key, value),
            }
            if op.statement.is_some_and(|it| it.newest) {
                builder.lock_last_read();
            }
        }
    }

    /// Does a transaction have something to do with the keys?
    fn is_about(&mut self, txn: &RawTxn<'_>) -> bool {
        let scans = txn.scans.iter().filter(|it| it.extent == Extent::Whole);
        let mut is_scan = false;
        for table in scans.map(|it| txn.tables.name(it.table)) {
            if self.tables.contains(table) {
                is_scan = true;
            } else if !self.left_tables.contains(table) {
                self.left_tables.insert(table.into());
            }
        }
        is_scan || txn.ops.iter().any(|it| self.wants(it.key))
    }

    fn wants(&self, key: KeyId) -> bool {
        self.keys.get(key.index()).is_some_and(|it| *it)
    }
}

impl TakeTxns for Part {
    fn header(&mut self, header: &StreamedHeader) -> ControlFlow<()> {
        let initial = self.builder.value_named(header.initial.as_name());
        self.builder.default_initial(initial);
        self.values = header.promised.unwrap_or_default();
        self.knows_sessions = header.header.n_sessions.is_some();
        self.last_ends.resize(header.header.n_sessions.unwrap_or(0), i64::MIN);
        ControlFlow::Continue(())
    }

    fn list(&mut self, _: KeyId, _: Name<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn initial(&mut self, key: KeyId, name: Name<'_>, value: Name<'_>) -> ControlFlow<()> {
        if self.wants(key) {
            let (key, value) = (self.builder.key_named(name), self.builder.value_named(value));
            self.builder.initial(key, value, Place { source: self.source, at: 1 });
        }
        ControlFlow::Continue(())
    }

    fn row(&mut self, row: KeyId, _: TableId, _: Name<'_>) -> ControlFlow<()> {
        if self.wants(row) {
            self.rows.push(row);
        }
        ControlFlow::Continue(())
    }

    fn txn(&mut self, txn: &RawTxn<'_>) -> ControlFlow<()> {
        for row in self.rows.drain(..) {
            if let Some((table, _)) = txn.tables.row(row) {
                self.tables.insert(txn.tables.name(table).into());
            }
        }
        if self.until.is_some_and(|it| txn.at > it) {
            return ControlFlow::Break(());
        }
        self.last_line = txn.at;
        let session = txn.session.index();
        if session >= self.last_ends.len() {
            self.last_ends.resize(session + 1, i64::MIN);
        }
        self.last_ends[session] = txn.end.unwrap_or(i64::MIN);
        if !self.is_about(txn) {
            return ControlFlow::Continue(());
        }
        let session = self.builder.session(txn.session_name);
        self.builder.begin(session, Place { source: self.source, at: txn.at });
        self.builder.times(txn.begin, txn.end);
        let mut next = 0;
        for scan in txn.scans {
            txn.ops[next..scan.ops.start].iter().for_each(|it| self.op(it));
            self.scan(txn, scan);
            next = scan.ops.end;
        }
        txn.ops[next..].iter().for_each(|it| self.op(it));
        self.end_statement();
        self.builder.end(txn.outcome);
        ControlFlow::Continue(())
    }
}
