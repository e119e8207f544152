//! The bytes of a file or stream, decompressed, with the position in them.

use crate::meter::Meter;
use crate::{ReadError, compression};
use std::cell::{Cell, RefCell};
use std::io::{self, Read};
use std::rc::Rc;

const CHUNK: usize = 64 << 10;
/// How many bytes recognition looks at.
const HEAD: usize = 8 << 10;

/// Bytes, one after the other: a stream or a single line.
pub(crate) trait Bytes {
    /// The next byte; none at the end.
    fn peek(&mut self) -> Result<Option<u8>, ReadError>;
    /// Takes the byte that was peeked.
    fn bump(&mut self);
    /// Bytes from the next one on that are at hand; more may come.
    fn at_hand(&self) -> &[u8];
    /// Takes `n` bytes that are at hand, none of them a line end.
    fn advance(&mut self, n: usize);
    /// Where the next byte stands.
    fn spot(&self) -> Spot;
}

/// A position for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    /// The line, from 1.
    pub(crate) line: u64,
    /// Bytes before the position in its line.
    pub(crate) column: u64,
}

/// The bytes of a source.
pub(crate) struct Input<'a> {
    name: String,
    reader: Box<dyn Read + 'a>,
    raw: Rc<RawState>,
    size: Option<u64>,
    is_compressed: bool,
    meter: &'a Meter<'a>,
    chunk: Vec<u8>,
    at: usize,
    /// Bytes before the chunk.
    before: u64,
    line: u64,
    line_start: u64,
    is_at_end: bool,
    damage: Option<String>,
    overlong: Vec<u64>,
}

/// One line of an input, without its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'l> {
    pub(crate) number: u64,
    pub(crate) bytes: &'l [u8],
    pub(crate) end: LineEnd,
}

/// Whole lines of an input, in one piece.
#[derive(Debug)]
pub(crate) struct Lines {
    pub(crate) bytes: Vec<u8>,
    pub(crate) kind: LinesKind,
}

/// What a piece of an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinesKind {
    /// One line or more, each with its end.
    Ended,
    /// The rest of the input: a line without its end.
    Last,
    /// A line beyond the limit; its bytes are not here.
    TooLong,
}

/// How a line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineEnd {
    Newline,
    EndOfInput,
}

/// What the file itself said, below any decompressor.
#[derive(Debug, Default)]
struct RawState {
    n_read: Cell<u64>,
    failure: RefCell<Option<io::Error>>,
}

struct Raw<R> {
    inner: R,
    state: Rc<RawState>,
}

impl<R: Read> Read for Raw<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.inner.read(buffer) {
                Ok(n) => {
                    self.state.n_read.set(self.state.n_read.get() + n as u64);
                    return Ok(n);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let kind = error.kind();
                    *self.state.failure.borrow_mut() = Some(error);
                    return Err(kind.into());
                }
            }
        }
    }
}

impl<'a> Input<'a> {
    /// Opens a reader, through a decompressor if its first bytes ask for one.
    pub(crate) fn new(
        name: &str,
        reader: impl Read + 'a,
        size: Option<u64>,
        meter: &'a Meter<'a>,
    ) -> Result<Self, ReadError> {
        let raw = Rc::new(RawState::default());
        let opened = compression::open(Raw { inner: reader, state: Rc::clone(&raw) })
            .map_err(|source| ReadError::Io { name: name.to_owned(), source })?;
        Ok(Self {
            name: name.to_owned(),
            reader: opened.reader,
            raw,
            size,
            is_compressed: opened.is_compressed,
            meter,
            chunk: Vec::new(),
            at: 0,
            before: 0,
            line: 1,
            line_start: 0,
            is_at_end: false,
            damage: None,
            overlong: Vec::new(),
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The first bytes, without taking them. To be called before anything is taken.
    pub(crate) fn head(&mut self) -> Result<&[u8], ReadError> {
        while self.chunk.len() < HEAD && !self.is_at_end {
            self.read_more(CHUNK)?;
        }
        Ok(&self.chunk[..self.chunk.len().min(HEAD)])
    }

    /// Is there nothing to come after what [`Self::head`] read?
    pub(crate) fn is_all_at_hand(&self) -> bool {
        self.is_at_end && self.chunk.len() <= HEAD
    }

    /// Longer lines are passed over.
    pub(crate) fn longest_line(&self) -> usize {
        self.meter.longest_line()
    }

    /// Bytes taken so far.
    pub(crate) fn offset(&self) -> u64 {
        self.before + self.at as u64
    }

    /// The number of the line that the next byte stands in.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// What is wrong with the compressed data, if anything: what was read is then a part only.
    pub(crate) fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    /// Remembers a line that was too long to be read.
    pub(crate) fn note_overlong(&mut self, line: u64) {
        self.overlong.push(line);
    }

    /// Lines that were too long to be read, since the last call.
    pub(crate) fn take_overlong(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.overlong)
    }

    /// The next line, put into `buffer` without its end. Lines beyond the limit are skipped and remembered.
    pub(crate) fn next_line<'l>(&mut self, buffer: &'l mut Vec<u8>) -> Result<Option<Line<'l>>, ReadError> {
        loop {
            buffer.clear();
            let number = self.line;
            let Some((end, is_whole)) = self.take_line(buffer)? else { return Ok(None) };
            if !is_whole {
                self.overlong.push(number);
                continue;
            }
            if buffer.last() == Some(&b'\r') {
                buffer.pop();
            }
            return Ok(Some(Line { number, bytes: buffer, end }));
        }
    }

    /// At most `size` bytes of whole lines, or one line that is longer. The number of the next line is not kept.
    pub(crate) fn next_lines(&mut self, size: usize) -> Result<Option<Lines>, ReadError> {
        let longest = self.meter.longest_line();
        self.chunk.drain(..std::mem::take(&mut self.at));
        while self.chunk.len() < size && !self.is_at_end {
            self.read_more((size - self.chunk.len()).max(CHUNK))?;
        }
        let mut n_searched = size.min(self.chunk.len());
        let mut newline = memchr::memrchr(b'\n', &self.chunk[..n_searched]);
        while newline.is_none() {
            newline = memchr::memchr(b'\n', &self.chunk[n_searched..]).map(|it| n_searched + it);
            n_searched = self.chunk.len();
            if newline.is_some() || self.is_at_end || n_searched > longest {
                break;
            }
            // A long line is read in steps that grow with it.
            self.read_more((n_searched / 2).max(CHUNK))?;
        }
        if n_searched > longest && newline.is_none_or(|it| it > longest) {
            return self.skip_line().map(Some);
        }
        let (n, kind) = match newline {
            Some(newline) => (newline + 1, LinesKind::Ended),
            None if self.chunk.is_empty() => return Ok(None),
            None => (self.chunk.len(), LinesKind::Last),
        };
        let rest = self.chunk.split_off(n);
        self.before += n as u64;
        Ok(Some(Lines { bytes: std::mem::replace(&mut self.chunk, rest), kind }))
    }

    /// All whole lines that are there already; at least one is waited for.
    pub(crate) fn lines_at_hand(&mut self) -> Result<Option<Lines>, ReadError> {
        self.chunk.drain(..std::mem::take(&mut self.at));
        if !self.is_at_end && memchr::memchr(b'\n', &self.chunk).is_none() {
            self.read_more(CHUNK)?;
        }
        self.next_lines(self.chunk.len().max(1))
    }

    /// Passes over the rest of a line.
    fn skip_line(&mut self) -> Result<Lines, ReadError> {
        loop {
            let newline = memchr::memchr(b'\n', &self.chunk);
            let n = newline.map_or(self.chunk.len(), |it| it + 1);
            self.chunk.drain(..n);
            self.before += n as u64;
            if newline.is_some() || self.is_at_end {
                return Ok(Lines { bytes: Vec::new(), kind: LinesKind::TooLong });
            }
            self.read_more(CHUNK)?;
        }
    }

    fn take_line(&mut self, buffer: &mut Vec<u8>) -> Result<Option<(LineEnd, bool)>, ReadError> {
        let longest = self.meter.longest_line();
        let mut is_whole = true;
        let mut is_any = false;
        loop {
            if self.peek()?.is_none() {
                return Ok(is_any.then_some((LineEnd::EndOfInput, is_whole)));
            }
            is_any = true;
            let rest = &self.chunk[self.at..];
            let newline = memchr::memchr(b'\n', rest);
            let n = newline.unwrap_or(rest.len());
            is_whole &= buffer.len() + n <= longest;
            if is_whole {
                buffer.extend_from_slice(&rest[..n]);
            }
            self.at += n;
            if newline.is_some() {
                self.bump();
                return Ok(Some((LineEnd::Newline, is_whole)));
            }
        }
    }

    /// The next `N` bytes; none if fewer are left (they are taken, too).
    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Result<Option<[u8; N]>, ReadError> {
        if let Some(found) = self.chunk.get(self.at..self.at + N) {
            let mut bytes = [0; N];
            bytes.copy_from_slice(found);
            self.at += N;
            return Ok(Some(bytes));
        }
        let mut bytes = [0; N];
        for byte in &mut bytes {
            let Some(found) = self.peek()? else { return Ok(None) };
            *byte = found;
            self.at += 1;
        }
        Ok(Some(bytes))
    }

    /// Passes over `n` bytes; `false` if fewer are left.
    pub(crate) fn skip(&mut self, n: u64) -> Result<bool, ReadError> {
        let mut left = n;
        while left > 0 {
            if self.peek()?.is_none() {
                return Ok(false);
            }
            let step = left.min((self.chunk.len() - self.at) as u64);
            self.at += step as usize;
            left -= step;
        }
        Ok(true)
    }

    #[cold]
    fn refill(&mut self) -> Result<Option<u8>, ReadError> {
        if self.is_at_end {
            return Ok(None);
        }
        self.before += self.at as u64;
        self.chunk.clear();
        self.at = 0;
        self.read_more(CHUNK)?;
        Ok(self.chunk.first().copied())
    }

    /// Reads once, to the end of the chunk.
    fn read_more(&mut self, n: usize) -> Result<(), ReadError> {
        self.meter.report(self.raw.n_read.get(), self.size)?;
        let old = self.chunk.len();
        self.chunk.resize(old + n, 0);
        let read = match self.reader.read(&mut self.chunk[old..]) {
            Ok(n_read) => n_read,
            Err(error) => {
                if let Some(source) = self.raw.failure.borrow_mut().take() {
                    return Err(ReadError::Io { name: self.name.clone(), source });
                }
                self.damage = Some(error.to_string());
                0
            }
        };
        self.chunk.truncate(old + read);
        self.is_at_end = read == 0;
        if self.is_compressed {
            self.meter.decompress(read)?;
        }
        Ok(())
    }
}

impl Bytes for Input<'_> {
    #[inline]
    fn peek(&mut self) -> Result<Option<u8>, ReadError> {
        match self.chunk.get(self.at) {
            Some(byte) => Ok(Some(*byte)),
            None => self.refill(),
        }
    }

    #[inline]
    fn bump(&mut self) {
        if self.chunk.get(self.at) == Some(&b'\n') {
            self.line += 1;
            self.line_start = self.offset() + 1;
        }
        self.at += 1;
    }

    #[inline]
    fn at_hand(&self) -> &[u8] {
        &self.chunk[self.at..]
    }

    #[inline]
    fn advance(&mut self, n: usize) {
        self.at += n;
    }

    fn spot(&self) -> Spot {
        Spot { line: self.line, column: self.offset() - self.line_start }
    }
}

/// A borrowed stream is one, too.
impl Bytes for &mut Input<'_> {
    #[inline]
    fn peek(&mut self) -> Result<Option<u8>, ReadError> {
        (**self).peek()
    }

    #[inline]
    fn bump(&mut self) {
        (**self).bump();
    }

    #[inline]
    fn at_hand(&self) -> &[u8] {
        (**self).at_hand()
    }

    #[inline]
    fn advance(&mut self, n: usize) {
        (**self).advance(n);
    }

    fn spot(&self) -> Spot {
        (**self).spot()
    }
}

/// The bytes of one line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineBytes<'l> {
    line: Line<'l>,
    at: usize,
}

impl<'l> LineBytes<'l> {
    pub(crate) fn new(line: Line<'l>) -> Self {
        Self { line, at: 0 }
    }
}

impl Bytes for LineBytes<'_> {
    #[inline]
    fn peek(&mut self) -> Result<Option<u8>, ReadError> {
        Ok(self.line.bytes.get(self.at).copied())
    }

    #[inline]
    fn bump(&mut self) {
        self.at += 1;
    }

    #[inline]
    fn at_hand(&self) -> &[u8] {
        &self.line.bytes[self.at..]
    }

    #[inline]
    fn advance(&mut self, n: usize) {
        self.at += n;
    }

    fn spot(&self) -> Spot {
        Spot { line: self.line.number, column: self.at as u64 }
    }
}
