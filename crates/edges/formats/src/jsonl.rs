//! Our JSON lines: a header, then one transaction a line.
//!
//! `{"isoscope":1,"initial":0}` and `{"s":0,"ops":[["r","x",0],["w","x",1]],"status":"commit","begin":1,"end":2}`.
//! Optional members of the header: `"init":[["x",1],..]` gives keys an initial value of their own, `"sessions":[..]`
//! names sessions that have no transaction or come in another order than their first transactions, and
//! `"origin":{..}` says how the history was recorded, in words of the recorder. Members that are not known are passed
//! over. Each line is complete in itself: a file that is cut between two lines is a shorter
//! history, a cut anywhere else is a defect. `{"init":[["y",2],..]}` is a line with more initial values.
//!
//! Operations of SQL: `["u","x",1,2]`, `["del","accounts/3"]`, `["scan","accounts","balance < 10",[["accounts/1",5]]]`, and
//! `["stmt",[..],"for update"]` for several that are one statement.
//!
//! A header with `"recording":"unique"` or `"recording":"any"` promises a last line `{"recording":"complete"}`. Where that
//! is missing, the recording was cut, and what it lacks is made up for: see [`crate::cut`].
//!
//! Blocks of lines are scanned on all cores; their names are numbered in the order of the input, so that ids do not
//! depend on the number of cores or the size of blocks.

mod line;
mod operation;
mod scan;
mod stream;
mod streamed;
mod told;
mod write;

#[cfg(test)]
mod tests;

pub use stream::{RECORDING_END, RecordingHeader, TxnLines, WrittenValues, final_line, initial_line};
pub use streamed::{
    EndOfStream, Pace, RawOp, RawScan, RawTxn, StreamedEnd, StreamedHeader, StreamedNames, TakeTxns, TellLines,
    stream_bytes, stream_told, stream_txns,
};
pub use told::ToldLines;
pub(crate) use write::write;
#[cfg(feature = "parquet")]
pub(crate) use write::write_header;

use crate::ReadError;
use crate::input::{Input, Line, LinesKind};
use crate::pipeline::in_order;
use crate::sink::Sink;
use iso_history::{KeyId, Name, SessionId, ValueId};
use line::LineReader;
use rustc_hash::FxHashMap;
use scan::{Item, Scanned, Txn, What};

const VERSION: i64 = 1;
/// So many bytes are scanned at once: what comes out still fits in a cache.
const BLOCK: usize = 256 << 10;

pub(crate) fn read(input: &mut Input<'_>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    // With hardly any memory, one line at a time is enough.
    if input.longest_line() < 2 * BLOCK { read_lines(input, sink) } else { read_blocks(input, sink, BLOCK) }
}

/// Reads a header by itself, where another format keeps one.
#[cfg(feature = "parquet")]
pub(crate) fn read_header(line: Line<'_>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let mut reader = LineReader::new();
    reader.read(line, sink)?;
    reader.finish(sink);
    Ok(())
}

/// Reads line by line, as any JSON.
fn read_lines(input: &mut Input<'_>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let mut buffer = Vec::new();
    let mut reader = LineReader::new();
    while let Some(line) = input.next_line(&mut buffer)? {
        reader.read(line, sink)?;
    }
    reader.finish(sink);
    Ok(())
}

/// Reads blocks of about so many bytes.
fn read_blocks(input: &mut Input<'_>, sink: &mut Sink<'_>, size: usize) -> Result<(), ReadError> {
    let mut merger = Merger {
        sink,
        reader: LineReader::new(),
        line: 1,
        overlong: Vec::new(),
        sessions: FxHashMap::default(),
        keys: Vec::new(),
        values: Vec::new(),
    };
    in_order(|| input.next_lines(size), Scanned::new, |it| merger.take(&it))?;
    let Merger { reader, sink, overlong, .. } = merger;
    reader.finish(sink);
    for line in overlong {
        input.note_overlong(line);
    }
    Ok(())
}

/// Adds what was scanned to the history, in the order of the input.
struct Merger<'m, 's> {
    sink: &'m mut Sink<'s>,
    reader: LineReader,
    /// The number of the next line.
    line: u64,
    overlong: Vec<u64>,
    /// Sessions that are called by integers.
    sessions: FxHashMap<i64, SessionId>,
    keys: Vec<KeyId>,
    values: Vec<ValueId>,
}

impl Merger<'_, '_> {
    fn take(&mut self, scanned: &Scanned) -> Result<(), ReadError> {
        let n_bytes = scanned.lines.bytes.len() + scanned.keys.len() * (2 * size_of::<i64>());
        self.sink.meter().hold(n_bytes)?;
        if scanned.lines.kind == LinesKind::TooLong {
            self.overlong.push(self.line);
        }
        let (mut op, mut items) = (0, scanned.items.as_slice());
        while let Some(first) = items.first() {
            let n_alike = items.iter().take_while(|it| it.what.is_plain() == first.what.is_plain()).count();
            let (now, later) = items.split_at(if first.what.is_plain().is_some() { n_alike } else { 1 });
            match first.what {
                What::Other { start, end, line_end } => {
                    let bytes = &scanned.lines.bytes[start..end];
                    let number = self.line + first.line;
                    self.reader.read(Line { number, bytes, end: line_end }, self.sink)?;
                }
                What::Txn(_) => op = self.txns(scanned, now, op)?,
            }
            items = later;
        }
        self.line += scanned.n_lines;
        Ok(())
    }

    /// Adds transactions whose operations begin at `op` in the columns, and says where they end. Either
    /// all are plain, or none.
    fn txns(&mut self, scanned: &Scanned, items: &[Item], op: usize) -> Result<usize, ReadError> {
        let txns =
            || items.iter().filter_map(|it| if let What::Txn(txn) = it.what { Some((it.line, txn)) } else { None });
        let n_ops: usize = txns().map(|it| it.1.n_ops).sum();
        self.keys.clear();
        self.values.clear();
        let ops = op..op + n_ops;
        if items.iter().all(|it| it.what.is_plain() == Some(true)) {
            self.sink.int_keys(&scanned.keys[ops.clone()], &mut self.keys)?;
            self.sink.int_values(&scanned.values[ops], &mut self.values)?;
        } else {
            let kinds = &scanned.kinds;
            let keys: Vec<Name<'_>> = ops.clone().map(|it| scanned.name((kinds[it].0, scanned.keys[it]))).collect();
            self.sink.keys_named(&keys, &mut self.keys)?;
            let values: Vec<Name<'_>> = ops.map(|it| scanned.name((kinds[it].1, scanned.values[it]))).collect();
            self.sink.values_named(&values, &mut self.values)?;
        }
        let mut done = 0;
        for (line, txn) in txns() {
            let line = self.line + line;
            self.reader.expect_header(line, self.sink);
            let session = self.session(scanned, &txn)?;
            let range = done..done + txn.n_ops;
            let columns = (&scanned.accesses[op..][range.clone()], &self.keys[range.clone()], &self.values[range]);
            self.sink.register_txn(session, self.sink.place(line), (txn.begin, txn.end), columns, txn.outcome)?;
            done += txn.n_ops;
        }
        Ok(op + n_ops)
    }

    fn session(&mut self, scanned: &Scanned, txn: &Txn) -> Result<SessionId, ReadError> {
        let number = match scanned.name(txn.session) {
            Name::Int(number) => number,
            Name::Text(name) => return self.sink.session(name),
            other => return self.sink.session(&other.to_string()),
        };
        if let Some(session) = self.sessions.get(&number) {
            return Ok(*session);
        }
        let session = self.sink.session(&number.to_string())?;
        self.sessions.insert(number, session);
        Ok(session)
    }
}
