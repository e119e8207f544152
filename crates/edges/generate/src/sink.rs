//! Where generated histories go: files in our machine format, or in that of dbcop.

use crate::plan::{Access, Op, Outcome, Txn};
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
    line: Vec<u8>,
}

const HEADER: &[u8] = b"{\"isoscope\":1,\"initial\":0}\n";

impl<W: Write> Lines<W> {
    pub(crate) fn new(out: W, times: Times) -> io::Result<Self> {
        let mut out = BufWriter::with_capacity(1 << 18, out);
        out.write_all(HEADER)?;
        Ok(Self { out, times, line: Vec::new() })
    }
}

impl<W: Write> Sink for Lines<W> {
    fn txn(&mut self, txn: &Txn<'_>) -> io::Result<()> {
        self.line.clear();
        put_line(txn, self.times, &mut self.line);
        self.out.write_all(&self.line)
    }

    fn finish(mut self) -> io::Result<()> {
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
    sessions: Vec<Vec<u8>>,
    n_txns: Vec<i64>,
    n_keys: i64,
    n_ops_max: i64,
}

impl<W: Write> BySession<W> {
    pub(crate) fn new(out: W, layout: Layout) -> Self {
        Self { out, layout, sessions: Vec::new(), n_txns: Vec::new(), n_keys: 0, n_ops_max: 0 }
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
            Layout::Jsonl => put_line(txn, Times::LeftOut, &mut self.sessions[idx]),
            Layout::Dbcop => put_dbcop(txn, &mut self.sessions[idx]),
        }
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        match self.layout {
            Layout::Jsonl => self.out.write_all(HEADER)?,
            Layout::Dbcop => self.out.write_all(&self.dbcop_header())?,
        }
        for (session, n_txns) in self.sessions.iter().zip(&self.n_txns) {
            if self.layout == Layout::Dbcop {
                self.out.write_all(&n_txns.to_le_bytes())?;
            }
            self.out.write_all(session)?;
        }
        self.out.flush()
    }
}

fn put_line(txn: &Txn<'_>, times: Times, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"s\":");
    put_decimal(u64::from(txn.session), out);
    out.extend_from_slice(b",\"ops\":[");
    for (idx, Op { access, key, value }) in txn.ops.iter().enumerate() {
        if idx > 0 {
            out.push(b',');
        }
        out.extend_from_slice(if *access == Access::Read { b"[\"r\"," } else { b"[\"w\"," });
        put_decimal(u64::from(*key), out);
        out.push(b',');
        put_decimal(*value, out);
        out.push(b']');
    }
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

    const OPS: &[Op] =
        &[Op { access: Access::Read, key: 7, value: 0 }, Op { access: Access::Write, key: 10, value: 1205 }];

    fn txn(session: u32, outcome: Outcome) -> Txn<'static> {
        Txn { session, ops: OPS, outcome, begin: 3, end: 9 }
    }

    #[test]
    fn lines_are_in_our_machine_format() {
        let mut out = Vec::new();
        let mut sink = Lines::new(&mut out, Times::Kept).unwrap();
        sink.txn(&txn(4, Outcome::Committed)).unwrap();
        sink.finish().unwrap();
        let expected = "{\"isoscope\":1,\"initial\":0}\n\
             {\"s\":4,\"ops\":[[\"r\",7,0],[\"w\",10,1205]],\"status\":\"commit\",\"begin\":3,\"end\":9}\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn sessions_can_stand_one_after_the_other() {
        let mut out = Vec::new();
        let mut sink = BySession::new(&mut out, Layout::Jsonl);
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
        let mut sink = BySession::new(&mut out, Layout::Dbcop);
        sink.txn(&txn(0, Outcome::Committed)).unwrap();
        sink.finish().unwrap();
        let numbers: Vec<u8> = out[..40].iter().step_by(8).copied().collect();
        assert_eq!(numbers, [0, 1, 11, 1, 2], "id, sessions, keys, transactions, events");
        // Five numbers, three names, the number of sessions, of transactions, of events, two events and the outcome.
        assert_eq!(out.len(), 5 * 8 + (8 + 8) + 8 + 8 + 8 + 8 + 8 + 2 * 18 + 1);
    }
}
