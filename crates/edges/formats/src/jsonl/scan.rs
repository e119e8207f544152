//! Scans lines as programs write them, without looking back: integers, plain strings and null, no white space but a
//! space after a comma or colon. Every other line is left to the reader of any line, so that what is accepted, what it
//! means and what is said about mistakes is decided there alone.

use crate::input::{LineEnd, Lines, LinesKind};
use iso_history::{Access, Name, Outcome};

/// What some lines say, in columns.
#[derive(Debug)]
pub(super) struct Scanned {
    pub(super) lines: Lines,
    pub(super) n_lines: u64,
    pub(super) items: Vec<Item>,
    pub(super) accesses: Vec<Access>,
    pub(super) keys: Vec<i64>,
    pub(super) values: Vec<i64>,
    /// What the entries of `keys` and `values` are.
    pub(super) kinds: Vec<(Kind, Kind)>,
}

/// A line that is not empty.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    /// From 0, in these lines.
    pub(super) line: u64,
    pub(super) what: What,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    Txn(Txn),
    /// To be read in another way: where it stands.
    Other {
        start: usize,
        end: usize,
        line_end: LineEnd,
    },
}

impl What {
    /// Are all keys and values of a transaction integers?
    pub(super) fn is_plain(&self) -> Option<bool> {
        match self {
            Self::Txn(txn) => Some(txn.is_plain),
            Self::Other { .. } => None,
        }
    }
}

/// A transaction; its operations follow those of the one before it in the columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Txn {
    pub(super) session: (Kind, i64),
    pub(super) n_ops: usize,
    /// Are all keys and values integers?
    pub(super) is_plain: bool,
    pub(super) outcome: Outcome,
    pub(super) begin: Option<i64>,
    pub(super) end: Option<i64>,
}

/// What a line says about a time, if it says something.
struct Time(Option<i64>);

/// What a number in the columns stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Int,
    /// Where a text begins in the lines (the upper half) and how long it is.
    Text,
    Null,
}

impl Default for Scanned {
    /// No lines.
    fn default() -> Self {
        Self {
            lines: Lines { bytes: Vec::new(), kind: LinesKind::Ended },
            n_lines: 0,
            items: Vec::new(),
            accesses: Vec::new(),
            keys: Vec::new(),
            values: Vec::new(),
            kinds: Vec::new(),
        }
    }
}

impl Scanned {
    pub(super) fn new(lines: Lines) -> Self {
        let n_bytes = lines.bytes.len();
        let empty = Lines { bytes: Vec::new(), kind: lines.kind };
        // About what operations and lines take; most often no column grows after this.
        let n_ops = n_bytes / 16;
        let mut scanned = Self {
            lines: empty,
            n_lines: u64::from(lines.kind == LinesKind::TooLong),
            items: Vec::with_capacity(n_bytes / 128),
            accesses: Vec::with_capacity(n_ops),
            keys: Vec::with_capacity(n_ops),
            values: Vec::with_capacity(n_ops),
            kinds: Vec::with_capacity(n_ops),
        };
        let mut start = 0;
        while start < n_bytes {
            start = scanned.line(&lines.bytes, start);
            scanned.n_lines += 1;
        }
        scanned.lines = lines;
        scanned
    }

    /// The name that an entry of the columns stands for.
    pub(super) fn name(&self, (kind, number): (Kind, i64)) -> Name<'_> {
        match kind {
            Kind::Int => Name::Int(number),
            Kind::Null => Name::Null,
            Kind::Text => Name::Text(self.text(number)),
        }
    }

    fn text(&self, packed: i64) -> &str {
        let (start, length) = unpack(packed);
        std::str::from_utf8(&self.lines.bytes[start..start + length]).expect("it was checked when it was scanned")
    }

    /// Scans the line from `start` on, and says where the next one begins.
    fn line(&mut self, bytes: &[u8], start: usize) -> usize {
        if bytes[start] == b'\n' {
            return start + 1;
        }
        let line = self.n_lines;
        let n_before = self.keys.len();
        let mut cursor = Cursor { bytes, at: start };
        if let Some(txn) = self.txn(&mut cursor) {
            self.items.push(Item { line, what: What::Txn(txn) });
            return cursor.at;
        }
        self.truncate(n_before);
        let newline = memchr::memchr(b'\n', &bytes[start..]);
        let (length, line_end) = match newline {
            Some(length) => (length, LineEnd::Newline),
            None => (bytes.len() - start, LineEnd::EndOfInput),
        };
        let end = start + length;
        let without_return = if bytes[start..end].ends_with(b"\r") { end - 1 } else { end };
        self.items.push(Item { line, what: What::Other { start, end: without_return, line_end } });
        (end + 1).min(bytes.len())
    }

    /// Forgets all operations but so many.
    pub(super) fn truncate(&mut self, n_ops: usize) {
        self.accesses.truncate(n_ops);
        self.keys.truncate(n_ops);
        self.values.truncate(n_ops);
        self.kinds.truncate(n_ops);
    }

    /// A whole line; none if there is anything unusual.
    fn txn(&mut self, cursor: &mut Cursor<'_>) -> Option<Txn> {
        let (mut session, mut ops, mut outcome, mut begin, mut end) = (None, None, None, None, None);
        cursor.expect(b"{\"")?;
        loop {
            match cursor.rest() {
                [b's', b'"', ..] if session.is_none() => {
                    cursor.member(b"s\":")?;
                    session = Some(cursor.name().filter(|it| it.0 != Kind::Null)?);
                }
                [b's', ..] if outcome.is_none() => {
                    cursor.member(b"status\":")?;
                    outcome = Some(cursor.outcome()?);
                }
                [b'o', ..] if ops.is_none() => {
                    cursor.member(b"ops\":")?;
                    ops = Some(self.ops(cursor)?);
                }
                [b'b', ..] if begin.is_none() => {
                    cursor.member(b"begin\":")?;
                    begin = Some(cursor.time()?);
                }
                [b'e', ..] if end.is_none() => {
                    cursor.member(b"end\":")?;
                    end = Some(cursor.time()?);
                }
                _ => return None,
            }
            if !cursor.goes_on(b'}')? {
                break;
            }
            cursor.expect(b"\"")?;
        }
        cursor.line_end()?;
        let (n_ops, is_plain) = ops?;
        let outcome = outcome.unwrap_or(Outcome::Committed);
        Some(Txn {
            session: session?,
            n_ops,
            is_plain,
            outcome,
            begin: begin.and_then(|it: Time| it.0),
            end: end.and_then(|it: Time| it.0),
        })
    }

    /// How many operations there are, and whether all their keys and values are integers.
    fn ops(&mut self, cursor: &mut Cursor<'_>) -> Option<(usize, bool)> {
        let n_before = self.keys.len();
        let mut is_plain = true;
        cursor.expect(b"[")?;
        if cursor.rest().first() == Some(&b']') {
            cursor.at += 1;
            return Some((0, true));
        }
        loop {
            let access = cursor.access()?;
            let (key_kind, key) = cursor.name()?;
            cursor.separator()?;
            let (value_kind, value) = cursor.name()?;
            cursor.expect(b"]")?;
            is_plain &= key_kind == Kind::Int && value_kind == Kind::Int;
            self.accesses.push(access);
            self.keys.push(key);
            self.values.push(value);
            self.kinds.push((key_kind, value_kind));
            if !cursor.goes_on(b']')? {
                return Some((self.keys.len() - n_before, is_plain));
            }
        }
    }
}

pub(super) fn pack(start: usize, length: usize) -> Option<i64> {
    Some(i64::from(u32::try_from(start).ok().filter(|it| *it < 1 << 31)?) << 32 | i64::from(length as u32))
}

fn unpack(packed: i64) -> (usize, usize) {
    let bits = packed.cast_unsigned();
    ((bits >> 32) as usize, (bits & u64::from(u32::MAX)) as usize)
}

/// A place in some bytes. Every method takes what it expects, or gives none; then the place does not matter any more.
struct Cursor<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Cursor<'_> {
    #[inline]
    fn rest(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    #[inline]
    fn expect(&mut self, wanted: &[u8]) -> Option<()> {
        let is_there = self.rest().starts_with(wanted);
        self.at += wanted.len();
        is_there.then_some(())
    }

    /// The rest of a member's name.
    #[inline]
    fn member(&mut self, name: &[u8]) -> Option<()> {
        self.expect(name)?;
        self.space();
        Some(())
    }

    #[inline]
    fn space(&mut self) {
        if self.rest().first() == Some(&b' ') {
            self.at += 1;
        }
    }

    #[inline]
    fn separator(&mut self) -> Option<()> {
        self.expect(b",")?;
        self.space();
        Some(())
    }

    /// A comma, or the end of what is being listed.
    #[inline]
    fn goes_on(&mut self, close: u8) -> Option<bool> {
        let found = *self.rest().first()?;
        self.at += 1;
        match found {
            b',' => {
                self.space();
                Some(true)
            }
            found => (found == close).then_some(false),
        }
    }

    /// The beginning of an operation.
    #[inline]
    fn access(&mut self) -> Option<Access> {
        let [b'[', b'"', letter, b'"', b','] = self.rest().first_chunk()? else { return None };
        let access = match letter {
            b'r' => Access::Read,
            b'w' => Access::Write,
            b'a' => Access::Append,
            _ => return None,
        };
        self.at += 5;
        self.space();
        Some(access)
    }

    /// A key, value or session.
    #[inline]
    fn name(&mut self) -> Option<(Kind, i64)> {
        match self.rest().first()? {
            b'-' | b'0'..=b'9' => Some((Kind::Int, self.integer()?)),
            b'"' => self.text(),
            b'n' => self.expect(b"null").map(|()| (Kind::Null, 0)),
            _ => None,
        }
    }

    /// A string without escapes.
    fn text(&mut self) -> Option<(Kind, i64)> {
        /// Longer ones are unusual.
        const LONGEST: usize = 1 << 16;
        let start = self.at + 1;
        let inside = &self.bytes[start..];
        let length = inside.iter().take(LONGEST).position(|it| matches!(it, b'"' | b'\\' | 0..0x20))?;
        let is_plain = inside[length] == b'"' && std::str::from_utf8(&inside[..length]).is_ok();
        self.at = start + length + 1;
        Some((Kind::Text, pack(start, length).filter(|_| is_plain)?))
    }

    fn outcome(&mut self) -> Option<Outcome> {
        let (wanted, outcome): (&[u8], _) = match self.rest().get(1)? {
            b'c' => (b"\"commit\"", Outcome::Committed),
            b'a' => (b"\"abort\"", Outcome::Aborted),
            _ => (b"\"unknown\"", Outcome::Indeterminate),
        };
        self.expect(wanted).map(|()| outcome)
    }

    /// A time, or null for none.
    fn time(&mut self) -> Option<Time> {
        if self.rest().first() == Some(&b'n') {
            return self.expect(b"null").map(|()| Time(None));
        }
        Some(Time(Some(self.integer()?)))
    }

    /// The end of a line, or of everything.
    fn line_end(&mut self) -> Option<()> {
        let n = match self.rest() {
            [] => 0,
            [b'\n', ..] => 1,
            [b'\r', b'\n', ..] => 2,
            _ => return None,
        };
        self.at += n;
        Some(())
    }

    /// An integer of 64 bits in its shortest spelling (or `-0`). What follows it is looked at by others.
    #[inline]
    fn integer(&mut self) -> Option<i64> {
        let is_negative = self.rest().first() == Some(&b'-');
        self.at += usize::from(is_negative);
        let (mut magnitude, n) = leading_digits(self.rest());
        let has_extra_zero = n > 1 && self.rest().first() == Some(&b'0');
        if n == 0 || has_extra_zero {
            return None;
        }
        self.at += n;
        if n == SWATH {
            magnitude = self.more_digits(magnitude)?;
        }
        if is_negative { 0i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() }
    }

    /// The rest of a long integer; none if that may be too long.
    fn more_digits(&mut self, mut magnitude: u64) -> Option<u64> {
        const LONGEST: usize = 19;
        for _ in SWATH..LONGEST {
            match self.rest().first() {
                Some(digit @ b'0'..=b'9') => magnitude = magnitude * 10 + u64::from(digit - b'0'),
                _ => return Some(magnitude),
            }
            self.at += 1;
        }
        (!self.rest().first().is_some_and(u8::is_ascii_digit)).then_some(magnitude)
    }
}

/// So many digits are looked at at once.
const SWATH: usize = 8;

/// The number that up to eight leading digits say, and how many there are.
///
/// All eight bytes are handled in one word: its lowest byte is the first, so that the first that is no digit is the
/// lowest with its high bit set in `others`. Digits are shifted to the top, and neighbours are joined three times.
#[inline]
fn leading_digits(bytes: &[u8]) -> (u64, usize) {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let word = match bytes.first_chunk::<SWATH>() {
        Some(chunk) => u64::from_le_bytes(*chunk),
        None => bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    };
    let digits = word ^ (ONES * 0x30);
    let others = (((digits & (ONES * 0x7f)) + ONES * (0x7f - 9)) | digits) & (ONES * 0x80);
    let n = others.trailing_zeros() as usize / 8;
    if n == 0 {
        return (0, 0);
    }
    let digits = digits << (64 - 8 * n);
    let pairs = (digits * 10 + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    let all = (fours * 10_000 + (fours >> 32)) & 0xffff_ffff;
    (all, n)
}
