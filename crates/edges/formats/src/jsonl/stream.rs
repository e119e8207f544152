//! Writes our JSON lines while a history happens: a header, whole transactions as they end, and a last line.
//!
//! The header promises a last line. A file that has none was cut: whoever recorded it was killed, or the disk was full.

use super::VERSION;
use super::told::{Telling, ToldLines, seen};
use crate::RecordedDatabase;
use crate::json::{write_name, write_string};
use iso_history::{Access, Datum, Locking, Name, Outcome};
use std::fmt;

/// What the first line of a recording says.
#[derive(Clone, Debug)]
pub struct RecordingHeader<'h> {
    /// The value of every key that has none of its own.
    pub initial: Datum,
    /// The initial values of keys.
    pub init: Vec<(Datum, Datum)>,
    /// The sessions that there are at the beginning; a line of any other one comes soon after it began.
    pub sessions: Vec<String>,
    /// Is a value ever written twice to a key?
    pub values: WrittenValues,
    /// The database that it is recorded from.
    pub database: Option<RecordedDatabase>,
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
        self.line_with_nodes(&[])
    }

    /// The line, with the node that each session is on, where there are several.
    pub fn line_with_nodes(&self, nodes: &[(String, String)]) -> Vec<u8> {
        let mut out = format!("{{\"isoscope\":{VERSION},\"initial\":").into_bytes();
        name(&mut out, self.initial.as_name());
        if !self.init.is_empty() {
            out.extend_from_slice(b",\"init\":");
            pairs(&mut out, &self.init);
        }
        out.extend_from_slice(b",\"sessions\":");
        list(&mut out, &self.sessions, |out, it| text(out, it));
        out.extend_from_slice(match self.values {
            WrittenValues::Unique => b",\"recording\":\"unique\"",
            WrittenValues::Any => b",\"recording\":\"any\"",
        });
        if let Some(database) = &self.database {
            out.extend_from_slice(b",\"database\":");
            database.write_json(&mut out).expect("a vector takes every byte");
        }
        write_nodes(&mut out, nodes);
        out.extend_from_slice(b",\"origin\":");
        out.extend_from_slice(self.origin.as_bytes());
        out.extend_from_slice(b"}\n");
        out
    }
}

/// Writes the member of a header that says where sessions are.
pub(super) fn write_nodes(out: &mut Vec<u8>, nodes: &[(String, String)]) {
    for (nth, (session, node)) in nodes.iter().enumerate() {
        out.extend_from_slice(if nth == 0 { b",\"nodes\":{" } else { b"," });
        text(out, session);
        out.push(b':');
        text(out, node);
    }
    if !nodes.is_empty() {
        out.push(b'}');
    }
}

/// A line that says that a session reads when all others have ended.
pub fn final_line(session: &str) -> Vec<u8> {
    let mut out = b"{\"final\":".to_vec();
    text(&mut out, session);
    out.extend_from_slice(b"}\n");
    out
}

/// A line of initial values that were not known when the first line was written.
pub fn initial_line(init: &[(Datum, Datum)]) -> Vec<u8> {
    let mut out = b"{\"init\":".to_vec();
    pairs(&mut out, init);
    out.extend_from_slice(b"}\n");
    out
}

fn pairs(out: &mut Vec<u8>, init: &[(Datum, Datum)]) {
    list(out, init, |out, (key, value)| {
        out.push(b'[');
        name(out, key.as_name());
        out.push(b',');
        name(out, value.as_name());
        out.push(b']');
    });
}

/// The last line of a recording that is complete.
pub const RECORDING_END: &[u8] = b"{\"recording\":\"complete\"}\n";

/// Lines of transactions, one after the other.
#[derive(Debug, Default)]
pub struct TxnLines {
    bytes: Vec<u8>,
    /// How many operations the last one has so far.
    n_ops: usize,
    /// What its client said, if that is kept, as members of an array.
    said: Vec<u8>,
    /// What they say, if somebody hears it.
    telling: Option<Telling>,
}

impl TxnLines {
    /// Lines that are [told](Self::tell).
    pub fn told() -> Self {
        Self { telling: Some(Telling::default()), ..Self::default() }
    }

    /// All lines with what they say, if they are told; then there are none left.
    pub fn tell(&mut self) -> Option<ToldLines> {
        let telling = self.telling.as_mut()?;
        let room = Vec::with_capacity(self.bytes.len() + self.bytes.len() / 4);
        Some(telling.take(std::mem::replace(&mut self.bytes, room)))
    }

    /// The line says something that is best read.
    fn say_other(&mut self) {
        self.telling.iter_mut().for_each(Telling::other);
    }

    /// The next operation, or the next statement, came of this text of SQL. Either all have one or none.
    pub fn said(&mut self, sql: &str) {
        if !self.said.is_empty() {
            self.said.push(b',');
        }
        text(&mut self.said, sql);
    }

    /// A transaction of a session.
    pub fn begin(&mut self, session: &str) {
        self.n_ops = 0;
        let start = self.bytes.len();
        self.bytes.extend_from_slice(b"{\"s\":");
        let named = self.bytes.len();
        text(&mut self.bytes, session);
        if let Some(telling) = &mut self.telling {
            telling.begin(start, seen(&self.bytes, named, Name::Text(session)));
        }
        self.bytes.extend_from_slice(b",\"ops\":[");
    }

    /// It has read a value.
    pub fn read(&mut self, key: Name<'_>, value: Name<'_>) {
        self.register(Access::Read, *b",[\"r\",", key, value);
    }

    /// It has read a list.
    pub fn read_list<'v>(&mut self, key: Name<'_>, values: impl IntoIterator<Item = Name<'v>>) {
        self.any(b",[\"r\",", key, |out| list(out, values, |out, it| name(out, it)));
    }

    /// It wrote a value.
    pub fn write(&mut self, key: Name<'_>, value: Name<'_>) {
        self.register(Access::Write, *b",[\"w\",", key, value);
    }

    /// It appended a value.
    pub fn append(&mut self, key: Name<'_>, value: Name<'_>) {
        self.register(Access::Append, *b",[\"a\",", key, value);
    }

    /// It wrote a value in the same statement in which it read another one.
    pub fn update(&mut self, key: Name<'_>, old: Name<'_>, new: Name<'_>) {
        self.any(b",[\"u\",", key, |out| {
            name(out, old);
            out.push(b',');
            name(out, new);
        });
    }

    /// It deleted a row.
    pub fn delete(&mut self, key: Name<'_>) {
        self.say_other();
        let comma = self.comma();
        self.bytes.extend_from_slice(&b",[\"del\","[comma..]);
        name(&mut self.bytes, key);
        self.bytes.push(b']');
    }

    /// It asked for all rows of a table that match, and these came back.
    pub fn scan<'r>(
        &mut self,
        table: &str,
        predicate: &impl fmt::Display,
        rows: impl IntoIterator<Item = (Name<'r>, Name<'r>)>,
    ) {
        self.any(b",[\"scan\",", Name::Text(table), |out| {
            text(out, &predicate.to_string());
            out.push(b',');
            list(out, rows, |out, (key, value)| {
                out.push(b'[');
                name(out, key);
                out.push(b',');
                name(out, value);
                out.push(b']');
            });
        });
    }

    /// A statement begins: what follows up to its end is one. It is no part of another statement.
    pub fn begin_statement(&mut self) {
        self.say_other();
        let comma = self.comma();
        self.bytes.extend_from_slice(&b",[\"stmt\",["[comma..]);
        self.n_ops = 0;
    }

    /// The statement ends.
    pub fn end_statement(&mut self, locking: Locking) {
        self.n_ops = 1;
        self.bytes.extend_from_slice(match locking {
            Locking::Free => b"]]",
            Locking::ForUpdate => b"],\"for update\"]",
        });
    }

    /// So it ended. Without an end, it may take effect at any later time.
    pub fn end(&mut self, outcome: Outcome, begin: i64, end: Option<i64>) {
        self.bytes.extend_from_slice(match outcome {
            Outcome::Committed => b"],\"status\":\"commit\"",
            Outcome::Aborted => b"],\"status\":\"abort\"",
            Outcome::Indeterminate => b"],\"status\":\"unknown\"",
        });
        short(&mut self.bytes, |out| {
            out.put(b",\"begin\":");
            out.integer(begin);
            if let Some(end) = end {
                out.put(b",\"end\":");
                out.integer(end);
            }
        });
        if !self.said.is_empty() {
            self.say_other();
            self.bytes.extend_from_slice(b",\"sql\":[");
            self.bytes.append(&mut self.said);
            self.bytes.push(b']');
        }
        self.bytes.extend_from_slice(b"}\n");
        if let Some(telling) = &mut self.telling {
            telling.end(self.bytes.len(), outcome, (begin, end));
        }
    }

    /// All lines.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// As if there were none.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.telling = self.telling.take().map(|_| Telling::default());
    }

    /// Most keys and values are integers.
    fn register(&mut self, access: Access, kind: [u8; 6], key: Name<'_>, value: Name<'_>) {
        let (Name::Int(key), Name::Int(value)) = (key, value) else {
            return self.register_any(access, kind, key, value);
        };
        if let Some(telling) = &mut self.telling {
            telling.plain(access, key, value);
        }
        let comma = self.comma();
        short(&mut self.bytes, |out| {
            out.text(&kind[comma..]);
            out.integer(key);
            out.put(b",");
            out.integer(value);
            out.put(b"]");
        });
    }

    fn register_any(&mut self, access: Access, kind: [u8; 6], key: Name<'_>, value: Name<'_>) {
        let comma = self.comma();
        self.bytes.extend_from_slice(&kind[comma..]);
        let start = self.bytes.len();
        name(&mut self.bytes, key);
        let key = seen(&self.bytes, start, key);
        self.bytes.push(b',');
        let start = self.bytes.len();
        name(&mut self.bytes, value);
        let value = seen(&self.bytes, start, value);
        self.bytes.push(b']');
        if let Some(telling) = &mut self.telling {
            telling.op(access, key, value);
        }
    }

    fn any(&mut self, kind: &[u8], key: Name<'_>, value: impl FnOnce(&mut Vec<u8>)) {
        self.say_other();
        let comma = self.comma();
        self.bytes.extend_from_slice(&kind[comma..]);
        name(&mut self.bytes, key);
        self.bytes.push(b',');
        value(&mut self.bytes);
        self.bytes.push(b']');
    }

    /// Where an operation begins: the first one has no comma before it.
    fn comma(&mut self) -> usize {
        self.n_ops += 1;
        usize::from(self.n_ops == 1)
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
    use iso_history::Predicate;

    #[test]
    fn lines_are_as_those_of_whole_histories() {
        let mut lines = TxnLines::default();
        lines.begin("s1");
        for number in [0, 7, -12, i64::MAX, i64::MIN] {
            lines.write(Name::Text("a \"b\""), Name::Int(number));
        }
        lines.write(Name::Int(i64::MIN), Name::Int(i64::MIN));
        lines.read_list(Name::Int(3), [Name::Int(1), Name::Null]);
        lines.end(Outcome::Indeterminate, 5, None);
        lines.begin("s2");
        lines.read(Name::Int(10), Name::Int(100));
        lines.append(Name::Int(99), Name::Null);
        lines.end(Outcome::Aborted, i64::MIN, Some(i64::MAX));
        let values = "0 7 -12 9223372036854775807 -9223372036854775808";
        let writes: Vec<String> = values.split(' ').map(|it| format!(r#"["w","a \"b\"",{it}]"#)).collect();
        let least = format!(r#"["w",{0},{0}]"#, i64::MIN);
        let first = format!(
            r#"{{"s":"s1","ops":[{},{least},["r",3,[1,null]]],"status":"unknown","begin":5}}"#,
            writes.join(",")
        );
        let second = format!(
            r#"{{"s":"s2","ops":[["r",10,100],["a",99,null]],"status":"abort","begin":{},"end":{}}}"#,
            i64::MIN,
            i64::MAX
        );
        assert_eq!(String::from_utf8(lines.bytes().to_vec()).unwrap(), format!("{first}\n{second}\n"));
        lines.clear();
        assert!(lines.bytes().is_empty());
    }

    #[test]
    fn lines_of_statements_are_as_those_of_whole_histories() {
        let mut lines = TxnLines::default();
        lines.begin("s1");
        lines.begin_statement();
        lines.scan("t", &Predicate::All, [(Name::Text("t/1"), Name::Int(1)), (Name::Text("t/2"), Name::Int(2))]);
        lines.delete(Name::Text("t/1"));
        lines.end_statement(Locking::Free);
        lines.update(Name::Text("x"), Name::Int(1), Name::Int(2));
        lines.begin_statement();
        lines.read(Name::Text("x"), Name::Int(2));
        lines.read(Name::Text("y"), Name::Null);
        lines.end_statement(Locking::ForUpdate);
        lines.scan("t", &Predicate::Foreign("a \"b\"".into()), []);
        lines.end(Outcome::Committed, 5, None);
        let bytes = [b"{\"isoscope\":1,\"initial\":null}\n", lines.bytes()].concat();
        let reading = crate::read_from("test", bytes.as_slice(), &crate::ReadOptions::default()).unwrap();
        let mut written = Vec::new();
        crate::write(&reading.into_history().unwrap(), crate::Format::Jsonl, &mut written).unwrap();
        let expected = String::from_utf8(bytes).unwrap().replace(r#"["del","t/1"]"#, r#"["w","t/1",null]"#);
        assert_eq!(String::from_utf8(written).unwrap(), expected);
    }
}
