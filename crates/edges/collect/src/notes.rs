//! What transactions did, in a form that takes sessions no time to write: whoever writes the file makes lines of it.
//!
//! A session that stops to write JSON between two statements gives way to others, and the data that they all use moves
//! to another processor. So sessions only copy what they know. An operation is a byte that says what follows, its key,
//! and its value; a number has eight bytes, and a text has its length before it. What is more than a read or a write of
//! a key begins with a byte of another kind.

use crate::Value;
use crate::answered::{Sink, with_table};
use crate::recorder::value_name;
use iso_formats::TxnLines;
use iso_history::{Locking, Name, Predicate};

/// Operations of a transaction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes {
    bytes: Vec<u8>,
    n_ops: usize,
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
    Append,
    ReadList,
}

/// What kind of name follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tag {
    Null,
    Int,
    Number,
    Text,
    Record,
}

/// What comes after a byte in which no key follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Other {
    /// A read and what is written instead.
    Update,
    /// The table, the predicate, how many rows, and the rows.
    Scan,
    Begin,
    EndFree,
    EndForUpdate,
}

/// Where others have the tag of their key.
const NO_KEY: u8 = 7 << 2;
const OTHERS: [Other; 5] = [Other::Update, Other::Scan, Other::Begin, Other::EndFree, Other::EndForUpdate];
const KINDS: [Kind; 4] = [Kind::Read, Kind::Write, Kind::Append, Kind::ReadList];
const TAGS: [Tag; 5] = [Tag::Null, Tag::Int, Tag::Number, Tag::Text, Tag::Record];

impl Notes {
    /// It has read a value.
    pub(crate) fn read(&mut self, key: Name<'_>, value: Name<'_>) {
        self.register(Kind::Read, key, value);
    }

    /// It writes a value.
    pub(crate) fn write(&mut self, key: Name<'_>, value: Name<'_>) {
        self.register(Kind::Write, key, value);
    }

    /// It appends a value.
    pub(crate) fn append(&mut self, key: Name<'_>, value: Name<'_>) {
        self.register(Kind::Append, key, value);
    }

    /// It has read a list.
    pub(crate) fn read_list(&mut self, key: Name<'_>, values: &[i64]) {
        self.register(Kind::ReadList, key, Name::Int(values.len() as i64));
        for value in values {
            self.bytes.extend_from_slice(&value.to_le_bytes());
        }
    }

    fn other(&mut self, other: Other) {
        self.bytes.push(NO_KEY | (other as u8) << 5);
    }

    fn tagged(&mut self, name: Name<'_>) {
        self.bytes.push(tag(name) as u8);
        put(&mut self.bytes, name);
    }

    /// As if there were none.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.n_ops = 0;
    }

    fn register(&mut self, kind: Kind, key: Name<'_>, value: Name<'_>) {
        let head = kind as u8 | (tag(key) as u8) << 2 | (tag(value) as u8) << 5;
        self.n_ops += 1;
        // Most keys and values are numbers, and this is the way of a database's answers.
        if let (Name::Int(key), Name::Int(value)) = (key, value) {
            let mut whole = [head; 17];
            whole[1..9].copy_from_slice(&key.to_le_bytes());
            whole[9..].copy_from_slice(&value.to_le_bytes());
            self.bytes.extend_from_slice(&whole);
            return;
        }
        self.bytes.push(head);
        put(&mut self.bytes, key);
        put(&mut self.bytes, value);
    }
}

impl Sink for Notes {
    fn read(&mut self, key: Name<'_>, value: Name<'_>) {
        Self::read(self, key, value);
    }

    fn write(&mut self, key: Name<'_>, value: Name<'_>) {
        Self::write(self, key, value);
    }

    fn update(&mut self, key: Name<'_>, old: Name<'_>, new: Name<'_>) {
        self.other(Other::Update);
        for name in [key, old, new] {
            self.tagged(name);
        }
        self.n_ops += 2;
    }

    fn scan(&mut self, table: &str, predicate: &Predicate, rows: &[(String, Value)]) {
        self.other(Other::Scan);
        put(&mut self.bytes, Name::Text(table));
        put(&mut self.bytes, Name::Text(&predicate.to_string()));
        put(&mut self.bytes, Name::Int(rows.len() as i64));
        for (row, value) in rows {
            self.tagged(Name::Text(&with_table(table, row)));
            self.tagged(value_name(Some(value)));
        }
        self.n_ops += rows.len();
    }

    fn begin_statement(&mut self) {
        self.other(Other::Begin);
    }

    fn end_statement(&mut self, locking: Locking) {
        self.other(match locking {
            Locking::Free => Other::EndFree,
            Locking::ForUpdate => Other::EndForUpdate,
        });
    }
}

fn tag(name: Name<'_>) -> Tag {
    match name {
        Name::Null => Tag::Null,
        Name::Int(_) => Tag::Int,
        Name::Number(_) => Tag::Number,
        Name::Text(_) => Tag::Text,
        Name::Record(_) => Tag::Record,
    }
}

fn put(bytes: &mut Vec<u8>, name: Name<'_>) {
    match name {
        Name::Null => {}
        Name::Int(number) => bytes.extend_from_slice(&number.to_le_bytes()),
        Name::Number(text) | Name::Text(text) | Name::Record(text) => {
            bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
        }
    }
}

/// Transactions of a session: whole ones, and at the end the one that is happening, if there is one.
#[derive(Clone, Debug, Default)]
pub(crate) struct NotedTxns {
    bytes: Vec<u8>,
    /// Where the open one begins.
    open: Option<usize>,
    /// How many operations it has so far.
    n_ops: usize,
}

impl NotedTxns {
    /// A transaction of a session begins.
    pub(crate) fn begin(&mut self, session: &str) {
        self.open = Some(self.bytes.len());
        self.n_ops = 0;
        put(&mut self.bytes, Name::Text(session));
    }

    /// The open transaction begins anew.
    pub(crate) fn restart(&mut self, session: &str) {
        if let Some(start) = self.open {
            self.bytes.truncate(start);
        }
        self.begin(session);
    }

    /// Moves operations to it.
    pub(crate) fn add(&mut self, notes: &mut Notes) {
        self.bytes.extend_from_slice(&notes.bytes);
        self.n_ops += notes.n_ops;
        notes.clear();
    }

    /// How many operations the open one has, or the last one.
    pub(crate) fn n_ops(&self) -> usize {
        self.n_ops
    }

    /// The transaction is whole.
    pub(crate) fn end(&mut self) {
        self.open = None;
    }

    /// How many bytes the whole ones have.
    pub(crate) fn n_whole(&self) -> usize {
        self.open.unwrap_or(self.bytes.len())
    }

    /// Moves the whole ones to `taken`, whose memory is used for the next ones; what was in it is gone.
    pub(crate) fn take_whole(&mut self, taken: &mut Vec<u8>) {
        let n_whole = self.n_whole();
        taken.clear();
        taken.extend_from_slice(&self.bytes[n_whole..]);
        std::mem::swap(taken, &mut self.bytes);
        taken.truncate(n_whole);
        self.open = self.open.map(|_| 0);
    }
}

/// Begins the line of a transaction that was noted, with all of its operations.
pub(crate) fn write_ops(noted: &[u8], lines: &mut TxnLines) {
    let mut noted = Noted(noted);
    lines.begin(noted.text());
    while let [head, rest @ ..] = noted.0 {
        noted.0 = rest;
        if head & NO_KEY == NO_KEY {
            write_other(OTHERS[usize::from(head >> 5)], &mut noted, lines);
            continue;
        }
        let key = noted.name(*head >> 2);
        let value = noted.name(*head >> 5);
        match KINDS[usize::from(head & 3)] {
            Kind::Read => lines.read(key, value),
            Kind::Write => lines.write(key, value),
            Kind::Append => lines.append(key, value),
            Kind::ReadList => {
                let Name::Int(n_values) = value else { unreachable!("a list begins with its length") };
                lines.read_list(key, (0..n_values).map(|_| Name::Int(noted.int())));
            }
        }
    }
}

fn write_other(other: Other, noted: &mut Noted<'_>, lines: &mut TxnLines) {
    match other {
        Other::Update => {
            let [key, old, new] = [(); 3].map(|()| noted.tagged());
            lines.update(key, old, new);
        }
        Other::Scan => {
            let (table, predicate, n_rows) = (noted.text(), noted.text(), noted.int());
            lines.scan(table, &predicate, (0..n_rows).map(|_| (noted.tagged(), noted.tagged())));
        }
        Other::Begin => lines.begin_statement(),
        Other::EndFree => lines.end_statement(Locking::Free),
        Other::EndForUpdate => lines.end_statement(Locking::ForUpdate),
    }
}

/// What is still to be read.
struct Noted<'n>(&'n [u8]);

impl<'n> Noted<'n> {
    fn int(&mut self) -> i64 {
        let (number, rest) = self.0.split_first_chunk().expect("a number is whole");
        self.0 = rest;
        i64::from_le_bytes(*number)
    }

    fn text(&mut self) -> &'n str {
        let length = usize::try_from(self.int()).expect("a text fits into memory");
        let (text, rest) = self.0.split_at(length);
        self.0 = rest;
        std::str::from_utf8(text).expect("it was a text")
    }

    fn tagged(&mut self) -> Name<'n> {
        let (tag, rest) = self.0.split_first().expect("a name is whole");
        self.0 = rest;
        self.name(*tag)
    }

    fn name(&mut self, tag: u8) -> Name<'n> {
        match TAGS[usize::from(tag & 7)] {
            Tag::Null => Name::Null,
            Tag::Int => Name::Int(self.int()),
            Tag::Number => Name::Number(self.text()),
            Tag::Text => Name::Text(self.text()),
            Tag::Record => Name::Record(self.text()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iso_history::Outcome;

    fn line(noted: &[u8]) -> String {
        let mut lines = TxnLines::default();
        write_ops(noted, &mut lines);
        lines.end(Outcome::Committed, 0, Some(1));
        String::from_utf8(lines.bytes().to_vec()).unwrap()
    }

    #[test]
    fn what_is_noted_comes_out_again() {
        let (mut txns, mut notes) = (NotedTxns::default(), Notes::default());
        txns.begin("s \"1\"");
        let names = [Name::Null, Name::Int(i64::MIN), Name::Int(i64::MAX), Name::Number("1e99"), Name::Text("é \"")];
        for key in names {
            for value in names {
                notes.write(key, value);
            }
        }
        txns.add(&mut notes);
        notes.read(Name::Int(1), Name::Null);
        notes.read_list(Name::Text("l"), &[]);
        notes.read_list(Name::Int(2), &[3, -4]);
        notes.append(Name::Int(2), Name::Int(5));
        notes.begin_statement();
        notes.scan("t", &Predicate::All, &[("1".to_owned(), Value::Int(-7)), ("x".to_owned(), "y".into())]);
        notes.end_statement(Locking::ForUpdate);
        notes.update(Name::Text("t/1"), Name::Int(-7), Name::Null);
        txns.add(&mut notes);
        assert_eq!(txns.n_ops(), names.len() * names.len() + 8);
        txns.end();
        let mut taken = b"of an earlier time".to_vec();
        txns.take_whole(&mut taken);
        let mut expected = TxnLines::default();
        expected.begin("s \"1\"");
        for key in names {
            for value in names {
                expected.write(key, value);
            }
        }
        expected.read(Name::Int(1), Name::Null);
        expected.read_list(Name::Text("l"), []);
        expected.read_list(Name::Int(2), [Name::Int(3), Name::Int(-4)]);
        expected.append(Name::Int(2), Name::Int(5));
        expected.begin_statement();
        let rows = [(Name::Text("t/1"), Name::Int(-7)), (Name::Text("t/x"), Name::Text("y"))];
        expected.scan("t", &Predicate::All, rows);
        expected.end_statement(Locking::ForUpdate);
        expected.update(Name::Text("t/1"), Name::Int(-7), Name::Null);
        expected.end(Outcome::Committed, 0, Some(1));
        assert_eq!(line(&taken), String::from_utf8(expected.bytes().to_vec()).unwrap());
    }

    #[test]
    fn one_that_is_open_stays_when_whole_ones_are_taken() {
        let (mut txns, mut notes, mut taken) = (NotedTxns::default(), Notes::default(), Vec::new());
        txns.begin("s1");
        txns.end();
        txns.begin("s1");
        notes.read(Name::Int(1), Name::Int(0));
        txns.add(&mut notes);
        txns.take_whole(&mut taken);
        assert_eq!(line(&taken), "{\"s\":\"s1\",\"ops\":[],\"status\":\"commit\",\"begin\":0,\"end\":1}\n");
        txns.take_whole(&mut taken);
        assert_eq!((taken.len(), txns.n_whole(), txns.n_ops()), (0, 0, 1));
        notes.write(Name::Int(2), Name::Int(9));
        txns.add(&mut notes);
        txns.end();
        txns.take_whole(&mut taken);
        let whole = "{\"s\":\"s1\",\"ops\":[[\"r\",1,0],[\"w\",2,9]],\"status\":\"commit\",\"begin\":0,\"end\":1}\n";
        assert_eq!(line(&taken), whole);
    }
}
