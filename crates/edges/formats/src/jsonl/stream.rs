//! Writes our JSON lines while a history happens: a header, whole transactions as they end, and a last line.
//!
//! The header promises a last line. A file that has none was cut: whoever recorded it was killed, or the disk was full.

use super::VERSION;
use crate::json::{write_name, write_string};
use iso_history::{Datum, Name, Outcome};

/// What the first line of a recording says.
#[derive(Clone, Debug)]
pub struct RecordingHeader<'h> {
    /// The value of every key that has none of its own.
    pub initial: Datum,
    /// The initial values of keys.
    pub init: Vec<(Datum, Datum)>,
    /// The sessions that there are at the beginning.
    pub sessions: Vec<String>,
    /// Is a value ever written twice to a key?
    pub values: WrittenValues,
    /// How the history is recorded: a JSON object in one line.
    pub origin: &'h str,
}

/// Whether a value says who wrote it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WrittenValues {
    /// No value is written twice to the same key.
    Unique,
    /// Values may be written again.
    #[default]
    Any,
}

impl RecordingHeader<'_> {
    /// The line.
    pub fn line(&self) -> Vec<u8> {
        let mut out = format!("{{\"isoscope\":{VERSION},\"initial\":").into_bytes();
        name(&mut out, self.initial.as_name());
        if !self.init.is_empty() {
            out.extend_from_slice(b",\"init\":");
            list(&mut out, &self.init, |out, (key, value)| {
                out.push(b'[');
                name(out, key.as_name());
                out.push(b',');
                name(out, value.as_name());
                out.push(b']');
            });
        }
        if !self.sessions.is_empty() {
            out.extend_from_slice(b",\"sessions\":");
            list(&mut out, &self.sessions, |out, it| text(out, it));
        }
        out.extend_from_slice(match self.values {
            WrittenValues::Unique => b",\"recording\":\"unique\"",
            WrittenValues::Any => b",\"recording\":\"any\"",
        });
        out.extend_from_slice(b",\"origin\":");
        out.extend_from_slice(self.origin.as_bytes());
        out.extend_from_slice(b"}\n");
        out
    }
}

/// The last line of a recording that is complete.
pub const RECORDING_END: &[u8] = b"{\"recording\":\"complete\"}\n";

/// Operations of a transaction, in the words of its line.
#[derive(Clone, Debug, Default)]
pub struct TxnOps {
    /// Each begins with a comma.
    bytes: Vec<u8>,
    n_ops: usize,
}

impl TxnOps {
    /// It has read a value.
    pub fn read(&mut self, key: Name<'_>, value: Name<'_>) {
        self.register(*b",[\"r\",", key, value);
    }

    /// It has read a list.
    pub fn read_list<'v>(&mut self, key: Name<'_>, values: impl IntoIterator<Item = Name<'v>>) {
        self.any(b",[\"r\",", key, |out| list(out, values, |out, it| name(out, it)));
    }

    /// It writes a value.
    pub fn write(&mut self, key: Name<'_>, value: Name<'_>) {
        self.register(*b",[\"w\",", key, value);
    }

    /// It appends a value.
    pub fn append(&mut self, key: Name<'_>, value: Name<'_>) {
        self.register(*b",[\"a\",", key, value);
    }

    /// As if there were none.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.n_ops = 0;
    }

    /// Most keys and values are integers, and this is the way of a database's answers.
    fn register(&mut self, kind: [u8; 6], key: Name<'_>, value: Name<'_>) {
        let Name::Int(value) = value else { return self.any(&kind, key, |out| name(out, value)) };
        let digits = match key {
            Name::Number(digits) if digits.len() <= NUMBER => digits,
            Name::Int(_) => "",
            _ => return self.any(&kind, key, |out| integer(out, value)),
        };
        short(&mut self.bytes, |out| {
            out.put(&kind);
            match key {
                Name::Int(key) => out.integer(key),
                _ => out.text(digits.as_bytes()),
            }
            out.put(b",");
            out.integer(value);
            out.put(b"]");
        });
        self.n_ops += 1;
    }

    fn any(&mut self, kind: &[u8], key: Name<'_>, value: impl FnOnce(&mut Vec<u8>)) {
        self.bytes.extend_from_slice(kind);
        name(&mut self.bytes, key);
        self.bytes.push(b',');
        value(&mut self.bytes);
        self.bytes.push(b']');
        self.n_ops += 1;
    }
}

/// Lines of transactions in memory: whole ones, and at the end the one that is happening, if there is one.
#[derive(Clone, Debug, Default)]
pub struct TxnLines {
    bytes: Vec<u8>,
    /// Where the open line begins.
    open: Option<usize>,
    /// How many operations it has so far.
    n_ops: usize,
}

impl TxnLines {
    /// A transaction of a session begins.
    pub fn begin(&mut self, session: &str) {
        self.open = Some(self.bytes.len());
        self.n_ops = 0;
        self.bytes.extend_from_slice(b"{\"s\":");
        text(&mut self.bytes, session);
        self.bytes.extend_from_slice(b",\"ops\":[");
    }

    /// Moves operations to its line.
    pub fn add(&mut self, ops: &mut TxnOps) {
        let comma = usize::from(self.n_ops == 0 && ops.n_ops > 0);
        self.bytes.extend_from_slice(&ops.bytes[comma..]);
        self.n_ops += ops.n_ops;
        ops.clear();
    }

    /// How many operations the open line has, or the last one.
    pub fn n_ops(&self) -> usize {
        self.n_ops
    }

    /// The transaction has ended, and its line is whole. Without an end, it may take effect at any later time.
    pub fn end(&mut self, outcome: Outcome, begin: i64, end: Option<i64>) {
        self.open = None;
        self.bytes.extend_from_slice(match outcome {
            Outcome::Committed => b"],\"status\":\"commit\"",
            Outcome::Aborted => b"],\"status\":\"abort\"",
            Outcome::Unknown => b"],\"status\":\"unknown\"",
        });
        short(&mut self.bytes, |out| {
            out.put(b",\"begin\":");
            out.integer(begin);
            if let Some(end) = end {
                out.put(b",\"end\":");
                out.integer(end);
            }
            out.put(b"}\n");
        });
    }

    /// How many bytes the whole lines have.
    pub fn n_whole(&self) -> usize {
        self.open.unwrap_or(self.bytes.len())
    }

    /// Moves the whole lines to `taken`, whose memory is used for the next ones; what was in it is gone.
    pub fn take_whole(&mut self, taken: &mut Vec<u8>) {
        let n_whole = self.n_whole();
        taken.clear();
        taken.extend_from_slice(&self.bytes[n_whole..]);
        std::mem::swap(taken, &mut self.bytes);
        taken.truncate(n_whole);
        self.open = self.open.map(|_| 0);
    }
}

fn name(out: &mut Vec<u8>, name: Name<'_>) {
    if let Name::Int(number) = name {
        return integer(out, number);
    }
    write_name(out, name).expect("memory takes every byte");
}

fn integer(out: &mut Vec<u8>, number: i64) {
    short(out, |out| out.integer(number));
}

/// A number has at most so many characters.
const NUMBER: usize = 20;
/// Two numbers, and what is around them.
const SHORT: usize = 64;

/// Writes a text of at most [`SHORT`] bytes: room is made once, not for each part.
fn short(out: &mut Vec<u8>, write: impl FnOnce(&mut Short<'_>)) {
    let start = out.len();
    out.extend_from_slice(&[0; SHORT]);
    let mut room = Short { room: &mut out[start..], length: 0 };
    write(&mut room);
    let length = room.length;
    out.truncate(start + length);
}

struct Short<'v> {
    room: &'v mut [u8],
    length: usize,
}

impl Short<'_> {
    fn put<const N: usize>(&mut self, text: &[u8; N]) {
        self.room[self.length..self.length + N].copy_from_slice(text);
        self.length += N;
    }

    fn text(&mut self, text: &[u8]) {
        self.room[self.length..self.length + text.len()].copy_from_slice(text);
        self.length += text.len();
    }

    fn integer(&mut self, number: i64) {
        if number < 0 {
            self.put(b"-");
        }
        let mut rest = number.unsigned_abs();
        let mut at = self.length + rest.checked_ilog10().unwrap_or(0) as usize + 1;
        self.length = at;
        while rest >= 100 {
            at -= 2;
            self.room[at..at + 2].copy_from_slice(&PAIRS[(rest % 100) as usize]);
            rest /= 100;
        }
        let [tens, ones] = PAIRS[rest as usize];
        self.room[at - 1] = ones;
        if rest >= 10 {
            self.room[at - 2] = tens;
        }
    }
}

/// 00 to 99.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut nth = 0;
    while nth < pairs.len() {
        pairs[nth] = [b'0' + (nth / 10) as u8, b'0' + (nth % 10) as u8];
        nth += 1;
    }
    pairs
};

fn text(out: &mut Vec<u8>, text: &str) {
    if text.bytes().all(|it| it.is_ascii_alphanumeric()) {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
        return;
    }
    write_string(out, text).expect("memory takes every byte");
}

fn list<T>(out: &mut Vec<u8>, items: impl IntoIterator<Item = T>, mut item: impl FnMut(&mut Vec<u8>, T)) {
    out.push(b'[');
    for (nth, it) in items.into_iter().enumerate() {
        if nth > 0 {
            out.push(b',');
        }
        item(out, it);
    }
    out.push(b']');
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All whole lines.
    fn taken(lines: &mut TxnLines) -> String {
        let mut taken = b"of an earlier time".to_vec();
        lines.take_whole(&mut taken);
        String::from_utf8(taken).unwrap()
    }

    #[test]
    fn lines_are_as_those_of_whole_histories() {
        let (mut lines, mut ops) = (TxnLines::default(), TxnOps::default());
        lines.begin("s1");
        for number in [0, 7, -12, i64::MAX, i64::MIN] {
            ops.write(Name::Text("a \"b\""), Name::Int(number));
        }
        lines.add(&mut ops);
        lines.add(&mut ops);
        ops.write(Name::Int(i64::MIN), Name::Int(i64::MIN));
        ops.read_list(Name::Int(3), [Name::Int(1), Name::Null]);
        lines.add(&mut ops);
        lines.end(Outcome::Unknown, 5, None);
        let values = "0 7 -12 9223372036854775807 -9223372036854775808";
        let writes: Vec<String> = values.split(' ').map(|it| format!(r#"["w","a \"b\"",{it}]"#)).collect();
        let least = format!(r#"["w",{0},{0}]"#, i64::MIN);
        let expected = format!(
            r#"{{"s":"s1","ops":[{},{least},["r",3,[1,null]]],"status":"unknown","begin":5}}"#,
            writes.join(",")
        );
        assert_eq!(taken(&mut lines), expected + "\n");
    }

    #[test]
    fn a_line_that_is_open_stays_when_whole_ones_are_taken() {
        let (mut lines, mut ops) = (TxnLines::default(), TxnOps::default());
        lines.begin("s1");
        lines.end(Outcome::Aborted, 1, Some(2));
        lines.begin("s1");
        ops.read(Name::Int(1), Name::Int(0));
        lines.add(&mut ops);
        let first = "{\"s\":\"s1\",\"ops\":[],\"status\":\"abort\",\"begin\":1,\"end\":2}\n";
        assert_eq!(lines.n_whole(), first.len());
        assert_eq!(taken(&mut lines), first);
        assert_eq!((lines.n_whole(), taken(&mut lines).as_str(), lines.n_ops()), (0, "", 1));
        ops.write(Name::Int(2), Name::Int(9));
        lines.add(&mut ops);
        lines.end(Outcome::Committed, 3, Some(i64::MAX));
        let second = r#"{"s":"s1","ops":[["r",1,0],["w",2,9]],"status":"commit","begin":3,"end":9223372036854775807}"#;
        assert_eq!(taken(&mut lines), format!("{second}\n"));
    }
}
