//! Lines of a recording, told by whoever writes them: what they say is known, and nobody has to scan them again.
//!
//! What is told is what the [scanner](super::scan) would have found, so that both are read in the same way.

use super::scan::{Item, Kind, Scanned, Txn, What, pack};
use crate::input::{LineEnd, Lines, LinesKind};
use iso_history::{Access, Name, Outcome};

/// Some lines, with what they say.
#[derive(Debug)]
pub struct ToldLines(pub(super) Scanned);

impl ToldLines {
    /// Lines of which nothing is known but that they are whole.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(Scanned::new(Lines { bytes: bytes.to_vec(), kind: LinesKind::Ended }))
    }

    /// The lines.
    pub fn bytes(&self) -> &[u8] {
        &self.0.lines.bytes
    }
}

/// What lines say, while they are written.
#[derive(Debug, Default)]
pub(super) struct Telling {
    told: Scanned,
    /// The line that is being written.
    start: usize,
    n_ops_before: usize,
    session: Option<(Kind, i64)>,
    is_plain: bool,
    /// It has something that the scanner does not know, either.
    is_other: bool,
}

impl Telling {
    /// A line begins here, with the name of a session that was written there.
    pub(super) fn begin(&mut self, start: usize, session: Option<(Kind, i64)>) {
        self.start = start;
        self.n_ops_before = self.told.keys.len();
        (self.session, self.is_plain, self.is_other) = (session, true, session.is_none());
    }

    #[inline]
    pub(super) fn plain(&mut self, access: Access, key: i64, value: i64) {
        self.push(access, (Kind::Int, key), (Kind::Int, value));
    }

    pub(super) fn op(&mut self, access: Access, key: Option<(Kind, i64)>, value: Option<(Kind, i64)>) {
        let (Some(key), Some(value)) = (key, value) else { return self.other() };
        self.is_plain &= key.0 == Kind::Int && value.0 == Kind::Int;
        self.push(access, key, value);
    }

    #[inline]
    fn push(&mut self, access: Access, key: (Kind, i64), value: (Kind, i64)) {
        self.told.accesses.push(access);
        self.told.keys.push(key.1);
        self.told.values.push(value.1);
        self.told.kinds.push((key.0, value.0));
    }

    /// The line has to be read.
    pub(super) fn other(&mut self) {
        self.is_other = true;
    }

    /// The line ends here.
    pub(super) fn end(&mut self, end: usize, outcome: Outcome, (begin, ended): (i64, Option<i64>)) {
        let session = self.session.filter(|_| !self.is_other);
        let what = if let Some(session) = session {
            let n_ops = self.told.keys.len() - self.n_ops_before;
            What::Txn(Txn { session, n_ops, is_plain: self.is_plain, outcome, begin: Some(begin), end: ended })
        } else {
            self.told.truncate(self.n_ops_before);
            What::Other { start: self.start, end: end - 1, line_end: LineEnd::Newline }
        };
        self.told.items.push(Item { line: self.told.n_lines, what });
        self.told.n_lines += 1;
    }

    /// All lines so far, which are these.
    pub(super) fn take(&mut self, bytes: Vec<u8>) -> ToldLines {
        let room = |n: usize| n + n / 4;
        let fresh = Scanned {
            items: Vec::with_capacity(room(self.told.items.len())),
            accesses: Vec::with_capacity(room(self.told.keys.len())),
            keys: Vec::with_capacity(room(self.told.keys.len())),
            values: Vec::with_capacity(room(self.told.keys.len())),
            kinds: Vec::with_capacity(room(self.told.keys.len())),
            ..Scanned::default()
        };
        let mut told = std::mem::replace(&mut self.told, fresh);
        told.lines.bytes = bytes;
        ToldLines(told)
    }
}

/// What was written for a name, from a place on: as the scanner would see it, if it knows such names.
pub(super) fn seen(bytes: &[u8], start: usize, name: Name<'_>) -> Option<(Kind, i64)> {
    match name {
        Name::Int(number) => Some((Kind::Int, number)),
        Name::Null => Some((Kind::Null, 0)),
        // With an escape it would be longer.
        Name::Text(text) if bytes.len() - start == text.len() + 2 => Some((Kind::Text, pack(start + 1, text.len())?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TxnLines;
    use iso_history::{Locking, Predicate};

    /// What the scanner finds in the same bytes.
    fn assert_as_scanned(told: &ToldLines) {
        let scanned = ToldLines::of_bytes(told.bytes()).0;
        let told = &told.0;
        assert_eq!(format!("{:?}", told.items), format!("{:?}", scanned.items));
        assert_eq!((&told.keys, &told.values, &told.kinds), (&scanned.keys, &scanned.values, &scanned.kinds));
        assert_eq!((&told.accesses, told.n_lines), (&scanned.accesses, scanned.n_lines));
    }

    #[test]
    fn what_is_told_is_what_would_be_scanned() {
        let mut lines = TxnLines::told();
        let names = [Name::Int(i64::MIN), Name::Int(7), Name::Text("x/1"), Name::Text("\u{e9}"), Name::Null];
        let others = [Name::Text("a\"b"), Name::Text("a\nb"), Name::Number("1e99"), Name::Record("{a: 1}")];
        for session in ["s1", "42", "of \"two\" words", "\u{e9}"] {
            lines.begin(session);
            lines.end(Outcome::Aborted, 3, Some(4));
            for key in names.iter().chain(&others) {
                for value in names.iter().chain(&others) {
                    lines.begin(session);
                    lines.read(*key, *value);
                    lines.write(*value, *key);
                    lines.append(*key, *value);
                    lines.end(Outcome::Committed, -3, Some(4));
                }
            }
            lines.begin(session);
            lines.read(names[1], names[1]);
            lines.end(Outcome::Indeterminate, 3, None);
        }
        assert_as_scanned(&lines.tell().unwrap());
        assert_eq!(lines.bytes(), b"");
        // And once more, with what is read in another way.
        for nth in 0..6 {
            lines.begin("s1");
            lines.write(names[1], names[2]);
            match nth {
                0 => lines.update(names[1], names[2], names[4]),
                1 => lines.delete(names[2]),
                2 => lines.scan("t", &Predicate::All, [(names[2], names[1])]),
                3 => lines.read_list(names[1], [names[1]]),
                4 => {
                    lines.begin_statement();
                    lines.read(names[1], names[1]);
                    lines.end_statement(Locking::ForUpdate);
                }
                _ => lines.said("SELECT 1"),
            }
            lines.write(names[1], names[1]);
            lines.end(Outcome::Committed, 1, Some(2));
            lines.begin("s2");
            lines.append(names[1], names[1]);
            lines.end(Outcome::Committed, 1, Some(2));
        }
        assert_as_scanned(&lines.tell().unwrap());
    }

    #[test]
    fn lines_that_nobody_hears_are_not_told() {
        let mut lines = TxnLines::default();
        lines.begin("s1");
        lines.end(Outcome::Committed, 1, Some(2));
        assert!(lines.tell().is_none() && !lines.bytes().is_empty());
    }
}
