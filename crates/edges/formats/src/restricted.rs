//! The part of a recording that is about some keys, read again from it: all that anybody did to them, and nothing else.
//!
//! Whoever keeps only some keys of an allowed history has an allowed history, so what is forbidden here is forbidden in the
//! whole. The beginning of a recording is treated as one that was cut: what its transactions read may have been written by
//! those that follow.

use crate::cut::{second_write, with_lost_writers_since};
use crate::jsonl::{Pace, RawTxn, StreamedHeader, StreamedNames, TakeTxns, WrittenValues, stream_txns};
use crate::{EndOfStream, ReadError, ReadOptions};
use iso_history::{Access, History, HistoryBuilder, KeyId, Name, Place, PlaceUnit};
use std::io::Read;
use std::ops::ControlFlow;

/// The history of some keys in a recording in JSON lines, up to some line. Nothing if the recording is broken; an error if it
/// breaks what its header promises about these keys.
pub fn read_keys(
    name: &str,
    reader: impl Read,
    keys: &[KeyId],
    until: Option<u64>,
    options: &ReadOptions<'_>,
) -> Result<Option<History>, ReadError> {
    let mut builder = HistoryBuilder::new();
    let source = builder.source(name, PlaceUnit::Line);
    let mut part = Part {
        keys: wanted(keys),
        until,
        source,
        builder,
        values: WrittenValues::Any,
        last_ends: Vec::new(),
        last_line: 0,
    };
    let ended = stream_txns(name, reader, (None, Pace::Blocks), options, &mut StreamedNames::default(), &mut part)?;
    // A recording that ends where somebody is in it may go on.
    let may_go_on = until.is_some_and(|it| it <= part.last_line);
    let Part { builder, last_ends, values, .. } = part;
    let Ok(history) = builder.finish() else { return Ok(None) };
    if values == WrittenValues::Unique
        && let Some((line, message)) = second_write(&history)
    {
        return Err(ReadError::Promise { name: name.to_owned(), line, message });
    }
    let known_until = last_ends.into_iter().min().unwrap_or(i64::MIN);
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
    /// When the last transaction of each session ended.
    last_ends: Vec<i64>,
    last_line: u64,
}

fn wanted(keys: &[KeyId]) -> Vec<bool> {
    let mut wanted = vec![false; keys.iter().map(|it| it.index() + 1).max().unwrap_or(0)];
    for key in keys {
        wanted[key.index()] = true;
    }
    wanted
}

impl Part {
    fn wants(&self, key: KeyId) -> bool {
        self.keys.get(key.index()).is_some_and(|it| *it)
    }
}

impl TakeTxns for Part {
    fn header(&mut self, header: &StreamedHeader) -> ControlFlow<()> {
        let initial = self.builder.value_named(header.initial.as_name());
        self.builder.default_initial(initial);
        self.values = header.promised.unwrap_or_default();
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

    fn txn(&mut self, txn: &RawTxn<'_>) -> ControlFlow<()> {
        if self.until.is_some_and(|it| txn.at > it) {
            return ControlFlow::Break(());
        }
        self.last_line = txn.at;
        let session = txn.session.index();
        if session >= self.last_ends.len() {
            self.last_ends.resize(session + 1, i64::MIN);
        }
        self.last_ends[session] = txn.end.unwrap_or(i64::MIN);
        if !txn.ops.iter().any(|it| self.wants(it.key)) {
            return ControlFlow::Continue(());
        }
        let session = self.builder.session(txn.session_name);
        self.builder.begin(session, Place { source: self.source, at: txn.at });
        self.builder.times(txn.begin, txn.end);
        for op in txn.ops {
            if !self.wants(op.key) {
                continue;
            }
            let key = self.builder.key_named(op.name);
            if op.access == Access::ReadList {
                let elements: Vec<_> = op.elements.iter().map(|it| self.builder.value_named(*it)).collect();
                self.builder.read_list(key, elements);
                continue;
            }
            let value = self.builder.value_named(op.value);
            match op.access {
                Access::Read => self.builder.read(key, value),
                Access::Write => self.builder.write(key, value),
                Access::Append => self.builder.append(key, value),
                // Whoever has scans was refused before.
                Access::ReadList | Access::Omit => {}
            }
        }
        self.builder.end(txn.outcome);
        ControlFlow::Continue(())
    }
}
