//! Where generated histories go: files in our machine format, or in that of dbcop.

use crate::plan::{Access, NO_ROW, Op, Outcome, Txn};
use std::io::{self, BufWriter, Write};

/// Takes transactions in the order in which they end.
pub(crate) trait Sink {
    fn txn(&mut self, txn: &Txn<'_>) -> io::Result<()>;

    /// After the last transaction.
    fn finish(self) -> io::Result<()>;
}

/// Whether begin and end are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// With begin and end.
    Kept,
    /// Without them.
    LeftOut,
}

/// Our machine format, one transaction a line, as they end.
#[derive(Debug)]
pub(crate) struct Lines<W: Write> {
    out: BufWriter<W>,
    times: Times,
    frame: Frame,
    line: Vec<u8>,
}

/// The first and the last line of our machine format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) names: KeyNames,
    /// Is no value written to a key twice? Then the header promises it, and there is a last line.
    pub(crate) is_unique: bool,
    pub(crate) n_sessions: u32,
}

/// What keys are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyNames {
    /// Numbers.
    Numbers,
    /// Rows of a table, of which so many are there at first.
    Rows(u32),
}

/// The table of [`KeyNames::Rows`].
const TABLE: &[u8] = b"rows";

impl Frame {
    fn first(self) -> Vec<u8> {
        let mut out = b"{\"isoscope\":1,\"sessions\":[".to_vec();
        for session in 0..self.n_sessions {
            out.extend_from_slice(if session > 0 { b"," } else { b"" });
            put_decimal(session.into(), &mut out);
        }
        out.extend_from_slice(b"],");
        match self.names {
            KeyNames::Numbers => out.extend_from_slice(b"\"initial\":0"),
            KeyNames::Rows(n_rows) => {
                out.extend_from_slice(b"\"init\":[");
                for row in 0..n_rows {
                    out.extend_from_slice(if row > 0 { b",[" } else { b"[" });
                    self.names.put(row, &mut out);
                    out.extend_from_slice(b",0]");
                }
                out.push(b']');
            }
        }
        if self.is_unique {
            out.extend_from_slice(b",\"recording\":\"unique\"");
        }
        out.extend_from_slice(b"}\n");
        out
    }

    fn last(self) -> &'static [u8] {
        if self.is_unique { b"{\"recording\":\"complete\"}\n" } else { b"" }
    }
}

impl KeyNames {
    fn put(self, key: u32, out: &mut Vec<u8>) {
        match self {
            Self::Numbers => put_decimal(u64::from(key), out),
            Self::Rows(_) => {
                out.push(b'"');
                out.extend_from_slice(TABLE);
                out.push(b'/');
                put_decimal(u64::from(key), out);
                out.push(b'"');
            }
        }
    }
}

impl<W: Write> Lines<W> {
    pub(crate) fn new(out: W, times: Times, frame: Frame) -> io::Result<Self> {
        let mut out = BufWriter::with_capacity(1 << 18, out);
        out.write_all(&frame.first())?;
        Ok(Self { out, times, frame, line: Vec::new() })
    }
}

impl<W: Write> Sink for Lines<W> {
    fn txn(&mut self, txn: &Txn<'_>) -> io::Result<()> {
        self.line.clear();
        put_line(txn, self.times, self.frame.names, &mut self.line);
        self.out.write_all(&self.line)
    }

    fn finish(mut self) -> io::Result<()> {
        self.out.write_all(self.frame.last())?;
        self.out.flush()
    }
}

/// The format of a file that has one session after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Our JSON lines.
    Jsonl,
    /// The binary format of dbcop.
    Dbcop,
}

/// One session after the other, without times. Waits in memory until the last transaction.
#[derive(Debug)]
pub(crate) struct BySession<W: Write> {
    out: W,
    layout: Layout,
    frame: Frame,
    sessions: Vec<Vec<u8>>,
    n_txns: Vec<i64>,
    n_keys: i64,
    n_ops_max: i64,
}

impl<W: Write> BySession<W> {
    pub(crate) fn new(out: W, layout: Layout, frame: Frame) -> Self {
        Self { out, layout, frame, sessions: Vec::new(), n_txns: Vec::new(), n_keys: 0, n_ops_max: 0 }
    }

    /// The numbers and names before the first session of a dbcop file.
    fn dbcop_header(&self) -> Vec<u8> {
        let n_sessions = i64::from(self.sessions.len() as u32);
        let n_txns_max = self.n_txns.iter().copied().max().unwrap_or(0);
        let mut header = Vec::new();
        for number in [0, n_sessions, self.n_keys, n_txns_max, self.n_ops_max] {
            put_i64(number, &mut header);
        }
        for name in ["isoscope", "", ""] {
            put_i64(i64::from(name.len() as u32), &mut header);
            header.extend_from_slice(name.as_bytes());
        }
        put_i64(n_sessions, &mut header);
        header
    }
}

impl<W: Write> Sink for BySession<W> {
    fn txn(&mut self, txn: &Txn<'_>) -> io::Result<()> {
        let idx = txn.session as usize;
        if idx >= self.sessions.len() {
            self.sessions.resize_with(idx + 1, Vec::new);
            self.n_txns.resize(idx + 1, 0);
        }
        self.n_txns[idx] += 1;
        self.n_ops_max = self.n_ops_max.max(i64::from(txn.ops.len() as u32));
        self.n_keys = txn.ops.iter().map(|it| i64::from(it.key) + 1).fold(self.n_keys, i64::max);
        match self.layout {
            Layout::Jsonl => put_line(txn, Times::LeftOut, self.frame.names, &mut self.sessions[idx]),
            Layout::Dbcop => put_dbcop(txn, &mut self.sessions[idx]),
        }
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        match self.layout {
            Layout::Jsonl => self.out.write_all(&self.frame.first())?,
            Layout::Dbcop => self.out.write_all(&self.dbcop_header())?,
        }
        for (session, n_txns) in self.sessions.iter().zip(&self.n_txns) {
            if self.layout == Layout::Dbcop {
                self.out.write_all(&n_txns.to_le_bytes())?;
            }
            self.out.write_all(session)?;
        }
        if self.layout == Layout::Jsonl {
            self.out.write_all(self.frame.last())?;
        }
        self.out.flush()
    }
}

fn put_line(txn: &Txn<'_>, times: Times, names: KeyNames, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"s\":");
    put_decimal(u64::from(txn.session), out);
    out.extend_from_slice(b",\"ops\":[");
    put_ops(txn.ops, names, out);
    out.extend_from_slice(b"],\"status\":\"");
    out.extend_from_slice(if txn.outcome == Outcome::Committed { b"commit\"" } else { b"abort\"" });
    if times == Times::Kept {
        out.extend_from_slice(b",\"begin\":");
        put_decimal(txn.begin, out);
        out.extend_from_slice(b",\"end\":");
        put_decimal(txn.end, out);
    }
    out.extend_from_slice(b"}\n");
}

fn put_ops(ops: &[Op], names: KeyNames, out: &mut Vec<u8>) {
    let mut left = ops;
    while let Some((Op { access, key, value }, rest)) = left.split_first() {
        left = rest;
        match access {
            Access::Read => out.extend_from_slice(b"[\"r\","),
            Access::Write => out.extend_from_slice(b"[\"w\","),
            Access::Old => out.extend_from_slice(b"[\"u\","),
            Access::Scan => {
                let n_rows =
                    rest.iter().take_while(|it| matches!(it.access, Access::Returned | Access::Omitted)).count();
                let (rows, others) = rest.split_at(n_rows);
                left = others;
                put_scan(*key, *value, rows, names, out);
            }
            Access::Returned | Access::Omitted => unreachable!("rows follow their scan"),
        }
        if *access != Access::Scan {
            names.put(*key, out);
            out.push(b',');
            put_value(*value, out);
        }
        if let (Access::Old, Some((new, others))) = (access, rest.split_first()) {
            left = others;
            out.push(b',');
            put_value(new.value, out);
        }
        out.push(b']');
        if !left.is_empty() {
            out.push(b',');
        }
    }
}

/// A scan without its last bracket.
fn put_scan(low: u32, is_even: u64, rows: &[Op], names: KeyNames, out: &mut Vec<u8>) {
    out.extend_from_slice(b"[\"scan\",\"");
    out.extend_from_slice(TABLE);
    out.extend_from_slice(b"\",\"key in ");
    put_decimal(u64::from(low), out);
    out.extend_from_slice(b"..");
    put_decimal(u64::from(low) + rows.len() as u64 - 1, out);
    out.extend_from_slice(if is_even == 1 { b" and value mod 2 = 0\",[" } else { b"\",[" });
    for (idx, row) in rows.iter().filter(|it| it.access == Access::Returned).enumerate() {
        out.extend_from_slice(if idx > 0 { b",[" } else { b"[" });
        names.put(row.key, out);
        out.push(b',');
        put_value(row.value, out);
        out.push(b']');
    }
    out.push(b']');
}

fn put_value(value: u64, out: &mut Vec<u8>) {
    if value == NO_ROW { out.extend_from_slice(b"null") } else { put_decimal(value, out) }
}

fn put_dbcop(txn: &Txn<'_>, out: &mut Vec<u8>) {
    put_i64(i64::from(txn.ops.len() as u32), out);
    for Op { access, key, value } in txn.ops {
        out.push(u8::from(*access == Access::Write));
        put_i64(i64::from(*key), out);
        out.extend_from_slice(&value.to_le_bytes());
        out.push(1);
    }
    out.push(u8::from(txn.outcome == Outcome::Committed));
}

fn put_i64(number: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_decimal(mut number: u64, out: &mut Vec<u8>) {
    let mut digits = [0_u8; 20];
    let mut from = digits.len();
    loop {
        from -= 1;
        digits[from] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[from..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: Frame = Frame { names: KeyNames::Numbers, is_unique: false, n_sessions: 2 };
    const OPS: &[Op] =
        &[Op { access: Access::Read, key: 7, value: 0 }, Op { access: Access::Write, key: 10, value: 1205 }];

    fn txn(session: u32, outcome: Outcome) -> Txn<'static> {
        Txn { session, ops: OPS, outcome, begin: 3, end: 9 }
    }

    #[test]
    fn lines_are_in_our_machine_format() {
        let mut out = Vec::new();
        let mut sink = Lines::new(&mut out, Times::Kept, Frame { is_unique: true, ..ANY }).unwrap();
        sink.txn(&txn(4, Outcome::Committed)).unwrap();
        sink.finish().unwrap();
        let expected = "{\"isoscope\":1,\"sessions\":[0,1],\"initial\":0,\"recording\":\"unique\"}\n\
             {\"s\":4,\"ops\":[[\"r\",7,0],[\"w\",10,1205]],\"status\":\"commit\",\"begin\":3,\"end\":9}\n\
             {\"recording\":\"complete\"}\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn statements_are_written_as_they_were() {
        let op = |access, key, value| Op { access, key, value };
        let ops = [
            op(Access::Old, 1, 0),
            op(Access::Write, 1, NO_ROW),
            op(Access::Scan, 0, 1),
            op(Access::Returned, 0, 0),
            op(Access::Omitted, 1, NO_ROW),
            op(Access::Returned, 2, 8),
            op(Access::Read, 2, 8),
        ];
        let mut out = Vec::new();
        let mut sink = Lines::new(&mut out, Times::LeftOut, Frame { names: KeyNames::Rows(2), ..ANY }).unwrap();
        sink.txn(&Txn { ops: &ops, ..txn(4, Outcome::Committed) }).unwrap();
        sink.finish().unwrap();
        let expected = "{\"isoscope\":1,\"sessions\":[0,1],\"init\":[[\"rows/0\",0],[\"rows/1\",0]]}\n\
             {\"s\":4,\"ops\":[[\"u\",\"rows/1\",0,null],[\"scan\",\"rows\",\"key in 0..2 and value mod 2 = 0\",\
             [[\"rows/0\",0],[\"rows/2\",8]]],[\"r\",\"rows/2\",8]],\"status\":\"commit\"}\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn sessions_can_stand_one_after_the_other() {
        let mut out = Vec::new();
        let mut sink = BySession::new(&mut out, Layout::Jsonl, ANY);
        for session in [1, 0, 1] {
            sink.txn(&txn(session, Outcome::Aborted)).unwrap();
        }
        sink.finish().unwrap();
        let text = String::from_utf8(out).unwrap();
        let sessions: Vec<&str> = text.lines().skip(1).map(|it| &it[5..6]).collect();
        assert_eq!(sessions, ["0", "1", "1"]);
        assert!(text.ends_with("\"status\":\"abort\"}\n"), "{text}");
    }

    #[test]
    fn dbcop_files_count_sessions_transactions_and_events() {
        let mut out = Vec::new();
        let mut sink = BySession::new(&mut out, Layout::Dbcop, ANY);
        sink.txn(&txn(0, Outcome::Committed)).unwrap();
        sink.finish().unwrap();
        let numbers: Vec<u8> = out[..40].iter().step_by(8).copied().collect();
        assert_eq!(numbers, [0, 1, 11, 1, 2], "id, sessions, keys, transactions, events");
        // Five numbers, three names, the number of sessions, of transactions, of events, two events and the outcome.
        assert_eq!(out.len(), 5 * 8 + (8 + 8) + 8 + 8 + 8 + 8 + 8 + 2 * 18 + 1);
    }
}
