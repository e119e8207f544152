//! Messages of the protocol of `PostgreSQL`, version 3: how they are cut out of a stream of bytes, and changed on their way.

use iso_collect::Administration;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// The code of a request for encryption, in place of a version.
pub(crate) const SSL_REQUEST: u32 = 80_877_103;
/// The same, by GSSAPI.
pub(crate) const GSS_REQUEST: u32 = 80_877_104;
/// The code of a request to cancel what another connection does.
pub(crate) const CANCEL_REQUEST: u32 = 80_877_102;
/// No message is longer, in either direction.
const LONGEST: usize = 1 << 30;
/// So much is read at once.
const CHUNK: usize = 64 << 10;

/// Where the engine listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// At a port of a host.
    Network {
        /// The host.
        host: String,
        /// The port.
        port: u16,
    },
    /// At a local socket.
    Socket(PathBuf),
}

impl Place {
    /// Where the server is that somebody administrates.
    pub(crate) fn of(administration: &Administration) -> Self {
        match administration.socket() {
            Some(path) => Self::Socket(path),
            None => Self::Network { host: administration.host().to_owned(), port: administration.port() },
        }
    }

    /// Opens a connection. Encryption would begin here.
    pub(crate) fn connect(&self) -> io::Result<Stream> {
        match self {
            Self::Network { host, port } => {
                let stream = TcpStream::connect((host.as_str(), *port))?;
                stream.set_nodelay(true)?;
                Ok(Stream::Network(stream))
            }
            Self::Socket(path) => UnixStream::connect(path).map(Stream::Socket),
        }
    }
}

/// A connection to somebody.
#[derive(Debug)]
pub(crate) enum Stream {
    Network(TcpStream),
    Socket(UnixStream),
}

impl Stream {
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        match self {
            Self::Network(stream) => stream.try_clone().map(Self::Network),
            Self::Socket(stream) => stream.try_clone().map(Self::Socket),
        }
    }

    /// Ends it, also for those who wait for it.
    pub(crate) fn shut(&self) {
        match self {
            Self::Network(stream) => stream.shutdown(Shutdown::Both).ok(),
            Self::Socket(stream) => stream.shutdown(Shutdown::Both).ok(),
        };
    }

    fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Network(stream) => stream.set_read_timeout(timeout),
            Self::Socket(stream) => stream.set_read_timeout(timeout),
        }
    }

    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Network(stream) => stream.read(bytes),
            Self::Socket(stream) => stream.read(bytes),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Network(stream) => stream.write_all(bytes),
            Self::Socket(stream) => stream.write_all(bytes),
        }
    }
}

/// One message: what kind it is, and what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) tag: u8,
    pub(crate) body: Vec<u8>,
}

impl Message {
    pub(crate) fn new(tag: u8, body: Vec<u8>) -> Self {
        Self { tag, body }
    }

    /// A message whose body is one text.
    pub(crate) fn text(tag: u8, text: &str) -> Self {
        Self::new(tag, [text.as_bytes(), b"\0"].concat())
    }

    pub(crate) fn fields(&self) -> Fields<'_> {
        Fields(&self.body)
    }

    /// The text of a field of an error or a notice.
    pub(crate) fn field(&self, code: u8) -> Option<&str> {
        let mut fields = self.fields();
        while let Some(found) = fields.byte().filter(|it| *it != 0) {
            let text = fields.text()?;
            if found == code {
                return Some(text);
            }
        }
        None
    }

    /// An error as a server would say it.
    pub(crate) fn error(severity: &str, code: &str, message: &str) -> Self {
        let fields = [(b'S', severity), (b'V', severity), (b'C', code), (b'M', message)];
        let mut body = Vec::new();
        for (field, text) in fields {
            body.push(field);
            body.extend_from_slice(text.as_bytes());
            body.push(0);
        }
        body.push(0);
        Self::new(b'E', body)
    }
}

/// What is left of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'m>(&'m [u8]);

impl<'m> Fields<'m> {
    pub(crate) fn bytes(&mut self, n: usize) -> Option<&'m [u8]> {
        let (found, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(found)
    }

    /// What was read since, up to a later place.
    pub(crate) fn up_to(&self, later: &Self) -> &'m [u8] {
        &self.0[..self.0.len() - later.0.len()]
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        self.bytes(1).map(|it| it[0])
    }

    pub(crate) fn short(&mut self) -> Option<i16> {
        self.bytes(2).map(|it| i16::from_be_bytes([it[0], it[1]]))
    }

    pub(crate) fn int(&mut self) -> Option<i32> {
        self.bytes(4).map(|it| i32::from_be_bytes([it[0], it[1], it[2], it[3]]))
    }

    /// A text that ends with a zero. One that is no UTF-8 is none.
    pub(crate) fn text(&mut self) -> Option<&'m str> {
        let end = self.0.iter().position(|it| *it == 0)?;
        let text = std::str::from_utf8(&self.0[..end]).ok();
        self.0 = &self.0[end + 1..];
        text
    }

    /// A value with its length before it; none inside if it is NULL.
    #[allow(clippy::option_option, reason = "no more values, and NULL, are two things")]
    pub(crate) fn value(&mut self) -> Option<Option<&'m [u8]>> {
        match usize::try_from(self.int()?) {
            Ok(length) => self.bytes(length).map(Some),
            Err(_) => Some(None),
        }
    }

    pub(crate) fn count(&mut self) -> Option<usize> {
        self.short().and_then(|it| usize::try_from(it).ok())
    }
}

/// A column of a description of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Described {
    pub(crate) name: String,
    pub(crate) type_number: u32,
    pub(crate) modifier: i32,
}

/// The columns of a description.
pub(crate) fn described(message: &Message) -> Option<Vec<Described>> {
    let mut fields = message.fields();
    let column = |fields: &mut Fields<'_>| {
        let name = fields.text()?.to_owned();
        fields.bytes(6)?;
        let type_number = fields.int()?.cast_unsigned();
        fields.short()?;
        let modifier = fields.int()?;
        fields.short()?;
        Some(Described { name, type_number, modifier })
    };
    (0..fields.count()?).map(|_| column(&mut fields)).collect()
}

/// Takes the last column out of the description of rows.
pub(crate) fn drop_last_description(body: &mut Vec<u8>) -> Option<()> {
    let mut fields = Fields(body);
    let n = fields.count()?.checked_sub(1)?;
    for _ in 0..n {
        skip_text(&mut fields)?;
        fields.bytes(18)?;
    }
    let keep = body.len() - fields.0.len();
    cut(body, keep, n)
}

/// Takes the last column out of a row, and gives it.
pub(crate) fn drop_last_value(body: &mut Vec<u8>) -> Option<Vec<u8>> {
    let mut fields = Fields(body);
    let n = fields.count()?.checked_sub(1)?;
    for _ in 0..n {
        fields.value()?;
    }
    let keep = body.len() - fields.0.len();
    let last = fields.value()?.unwrap_or_default().to_vec();
    cut(body, keep, n)?;
    Some(last)
}

fn skip_text(fields: &mut Fields<'_>) -> Option<()> {
    let end = fields.0.iter().position(|it| *it == 0)?;
    fields.0 = &fields.0[end + 1..];
    Some(())
}

fn cut(body: &mut Vec<u8>, keep: usize, n: usize) -> Option<()> {
    body.truncate(keep);
    body[..2].copy_from_slice(&i16::try_from(n).ok()?.to_be_bytes());
    Some(())
}

/// Takes the place in the statement out of an error, because the client knows another text of it.
pub(crate) fn drop_place(body: &mut Vec<u8>) {
    let mut kept = Vec::new();
    for field in body.split(|it| *it == 0).filter(|it| it.first().is_some_and(|it| *it != b'P')) {
        kept.extend_from_slice(field);
        kept.push(0);
    }
    kept.push(0);
    *body = kept;
}

/// Where a `Bind` has the formats of its results.
struct ResultFormats {
    at: usize,
    n: usize,
}

/// Adds formats of columns at these places to a `Bind` that names formats one by one.
pub(crate) fn add_result_formats_at(body: &mut Vec<u8>, places: &[usize]) -> Option<()> {
    let found = result_formats(body)?;
    if found.n <= 1 {
        return Some(());
    }
    let mut formats: Vec<[u8; 2]> = body[found.at + 2..].chunks_exact(2).map(|it| [it[0], it[1]]).collect();
    for place in places {
        formats.insert((*place).min(formats.len()), [0, 0]);
    }
    body.truncate(found.at);
    body.extend_from_slice(&i16::try_from(formats.len()).ok()?.to_be_bytes());
    body.extend(formats.into_iter().flatten());
    Some(())
}

/// Adds the format of one more column to a `Bind`: text.
pub(crate) fn add_result_format(body: &mut Vec<u8>) -> Option<()> {
    let found = result_formats(body)?;
    // None and one are for all columns, and a text looks the same in both formats.
    if found.n > 1 {
        body.extend_from_slice(&0_i16.to_be_bytes());
        let n = i16::try_from(found.n + 1).ok()?;
        body[found.at..found.at + 2].copy_from_slice(&n.to_be_bytes());
    }
    Some(())
}

/// A `Bind` of the same parameters to another statement, whose results are texts.
pub(crate) fn bind_again(body: &[u8], portal: &str, statement: &str) -> Option<Vec<u8>> {
    let mut fields = Fields(body);
    skip_text(&mut fields)?;
    skip_text(&mut fields)?;
    let parameters = &body[body.len() - fields.0.len()..result_formats(body)?.at];
    Some([portal.as_bytes(), b"\0", statement.as_bytes(), b"\0", parameters, &[0; 2]].concat())
}

fn result_formats(body: &[u8]) -> Option<ResultFormats> {
    let mut fields = Fields(body);
    skip_text(&mut fields)?;
    skip_text(&mut fields)?;
    for _ in 0..fields.count()? {
        fields.short()?;
    }
    for _ in 0..fields.count()? {
        fields.value()?;
    }
    let at = body.len() - fields.0.len();
    Some(ResultFormats { at, n: fields.count()? })
}

/// One end of a connection: messages in, messages out.
#[derive(Debug)]
pub(crate) struct Peer {
    stream: Stream,
    input: Vec<u8>,
    /// Where the next message begins in it.
    start: usize,
    /// Where what was read ends in it; the rest is room.
    end: usize,
    output: Vec<u8>,
}

impl Peer {
    pub(crate) fn new(stream: Stream) -> Self {
        Self { stream, input: Vec::new(), start: 0, end: 0, output: Vec::new() }
    }

    pub(crate) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// From now on, a message that does not come in time is an error of the kind `WouldBlock` or `TimedOut`.
    pub(crate) fn wait_at_most(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.stream.set_read_timeout(timeout)
    }

    /// The first message of a connection, which has no tag.
    pub(crate) fn startup(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(length) = self.length_at(0)? else { return Ok(None) };
        self.take(0, length)
    }

    /// The next message; none at the end.
    pub(crate) fn message(&mut self) -> io::Result<Option<Message>> {
        let Some(length) = self.length_at(1)? else { return Ok(None) };
        let tag = self.input[self.start];
        Ok(self.take(1, length)?.map(|body| Message { tag, body }))
    }

    /// Puts a message among those to send.
    pub(crate) fn push(&mut self, message: &Message) {
        self.output.push(message.tag);
        self.push_untagged(&message.body);
    }

    /// The same, without a tag.
    pub(crate) fn push_untagged(&mut self, body: &[u8]) {
        let length = u32::try_from(body.len() + 4).unwrap_or(u32::MAX);
        self.output.extend_from_slice(&length.to_be_bytes());
        self.output.extend_from_slice(body);
    }

    /// Bytes that are no message.
    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) {
        self.output.extend_from_slice(bytes);
    }

    /// So many bytes wait to be sent.
    pub(crate) fn n_waiting(&self) -> usize {
        self.output.len()
    }

    /// Sends what waits.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let result = self.stream.write_all(&self.output);
        self.output.clear();
        result
    }

    /// The length of the body that begins after so many bytes; none at the end of the stream.
    fn length_at(&mut self, n_before: usize) -> io::Result<Option<usize>> {
        if !self.fill(n_before + 4)? {
            return Ok(None);
        }
        let at = self.start + n_before;
        let length = u32::from_be_bytes(self.input[at..at + 4].try_into().unwrap_or_default()) as usize;
        match length.checked_sub(4).filter(|it| *it <= LONGEST) {
            Some(length) => Ok(Some(length)),
            None => Err(io::Error::new(io::ErrorKind::InvalidData, "this is not PostgreSQL's protocol")),
        }
    }

    fn take(&mut self, n_before: usize, length: usize) -> io::Result<Option<Vec<u8>>> {
        let n_head = n_before + 4;
        if !self.fill(n_head + length)? {
            return Ok(None);
        }
        let body = self.input[self.start + n_head..self.start + n_head + length].to_vec();
        self.start += n_head + length;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if self.input.len() > 16 * CHUNK {
                self.input = Vec::new();
            }
        }
        Ok(Some(body))
    }

    /// Reads until so many bytes are here; false at the end of the stream.
    fn fill(&mut self, n: usize) -> io::Result<bool> {
        while self.end - self.start < n {
            if self.start > 0 {
                self.input.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, self.end - self.start);
            }
            // Room is made once and stays, as filling it with zeros takes time.
            if self.input.len() < self.end + CHUNK {
                self.input.resize((self.end + CHUNK).max(n), 0);
            }
            match self.stream.read(&mut self.input[self.end..]) {
                Ok(0) => return Ok(false),
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

/// Did a message only not come in time?
pub(crate) fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: &[Option<&str>]) -> Vec<u8> {
        let mut body = i16::try_from(values.len()).unwrap().to_be_bytes().to_vec();
        for value in values {
            match value {
                Some(text) => {
                    body.extend_from_slice(&i32::try_from(text.len()).unwrap().to_be_bytes());
                    body.extend_from_slice(text.as_bytes());
                }
                None => body.extend_from_slice(&(-1_i32).to_be_bytes()),
            }
        }
        body
    }

    #[test]
    fn the_last_column_of_a_row_is_taken_out() {
        let mut body = row(&[Some("1"), None, Some("tag")]);
        assert_eq!(drop_last_value(&mut body), Some(b"tag".to_vec()));
        assert_eq!(body, row(&[Some("1"), None]));
        assert_eq!(drop_last_value(&mut row(&[])), None);
        assert_eq!(drop_last_value(&mut b"\0\x02\0\0".to_vec()), None);
    }

    #[test]
    fn the_last_column_of_a_description_is_taken_out() {
        let field = |name: &str| [name.as_bytes(), &[0], &[7; 18]].concat();
        let mut body = [vec![0, 2], field("a"), field("tag")].concat();
        drop_last_description(&mut body).unwrap();
        assert_eq!(body, [vec![0, 1], field("a")].concat());
    }

    #[test]
    fn results_that_are_described_one_by_one_get_one_more_format() {
        // Portal, statement, one format, one value, and formats of results.
        let bind = |formats: &[u8]| [b"p\0s\0\0\x01\0\0\0\x01\0\0\0\x011".as_slice(), formats].concat();
        for (before, after) in [
            (&b"\0\0"[..], &b"\0\0"[..]),
            (b"\0\x01\0\x01", b"\0\x01\0\x01"),
            (b"\0\x02\0\x01\0\0", b"\0\x03\0\x01\0\0\0\0"),
        ] {
            let mut body = bind(before);
            add_result_format(&mut body).unwrap();
            assert_eq!(body, bind(after));
        }
    }

    #[test]
    fn fields_of_an_error_are_found() {
        let error = Message::error("FATAL", "0A000", "no");
        assert_eq!((error.field(b'C'), error.field(b'M'), error.field(b'D')), (Some("0A000"), Some("no"), None));
        let mut placed = error.clone();
        placed.body.pop();
        placed.body.extend_from_slice(b"P17\0\0");
        assert_eq!(placed.field(b'P'), Some("17"));
        drop_place(&mut placed.body);
        assert_eq!(placed, error);
    }
}
