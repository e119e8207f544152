//! As much HTTP as one page needs.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// Texts that people type are shorter.
const LONGEST_BODY: u64 = 1 << 20;
/// All headers together.
const LONGEST_HEAD: u64 = 1 << 16;

/// What a browser wants.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// Without what comes after a question mark.
    pub(crate) path: String,
    pub(crate) host: Option<String>,
    pub(crate) origin: Option<String>,
    pub(crate) body: String,
}

/// What it gets.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    kind: &'static str,
    body: String,
}

impl Response {
    /// A text of some kind.
    pub(crate) fn text(kind: &'static str, body: &str) -> Self {
        Self { status: 200, kind, body: body.to_owned() }
    }

    /// Nothing, and why.
    pub(crate) fn refusal(status: u16, why: &str) -> Self {
        Self { status, kind: "text/plain", body: format!("{why}\n") }
    }
}

/// Reads one request.
pub(crate) fn read(stream: impl Read) -> io::Result<Request> {
    let mut reader = BufReader::new(stream);
    let mut head = reader.by_ref().take(LONGEST_HEAD);
    let mut first = String::new();
    head.read_line(&mut first)?;
    let mut words = first.split_whitespace();
    let (Some(method), Some(target)) = (words.next(), words.next()) else { return Err(bad("no request")) };
    let (method, path) = (method.to_owned(), target.split('?').next().unwrap_or_default().to_owned());
    let (mut host, mut origin, mut n_bytes) = (None, None, 0);
    loop {
        let mut line = String::new();
        if head.read_line(&mut line)? == 0 {
            return Err(bad("the headers have no end"));
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let Some((name, value)) = line.split_once(':') else { return Err(bad("a header without a colon")) };
        let value = value.trim().to_owned();
        match name.to_ascii_lowercase().as_str() {
            "host" => host = Some(value),
            "origin" => origin = Some(value),
            "content-length" => n_bytes = value.parse().map_err(|_| bad("the length is no number"))?,
            _ => {}
        }
    }
    if n_bytes > LONGEST_BODY {
        return Err(bad("the text is too long for a playground; save it to a file, and ask the command line"));
    }
    let mut body = Vec::new();
    reader.take(n_bytes).read_to_end(&mut body)?;
    let body = String::from_utf8(body).map_err(|_| bad("the body is no text"))?;
    Ok(Request { method, path, host, origin, body })
}

/// Writes one response; the connection ends with it.
pub(crate) fn write(mut stream: &TcpStream, response: &Response, policy: &str) -> io::Result<()> {
    let Response { status, kind, body } = response;
    let word = match status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        _ => "Not Found",
    };
    write!(
        stream,
        "HTTP/1.1 {status} {word}\r\nContent-Type: {kind}; charset=utf-8\r\nContent-Length: {}\r\n\
         Content-Security-Policy: {policy}\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
         Cache-Control: no-store\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )?;
    stream.flush()
}

fn bad(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_its_first_line_its_headers_and_its_body() {
        let text = "POST /ask?x HTTP/1.1\r\nHost: a:1\r\nOrigin: http://a:1\r\nContent-Length: 2\r\n\r\n{}rest";
        let request = read(text.as_bytes()).unwrap();
        assert_eq!((request.method.as_str(), request.path.as_str(), request.body.as_str()), ("POST", "/ask", "{}"));
        assert_eq!((request.host.as_deref(), request.origin.as_deref()), (Some("a:1"), Some("http://a:1")));
    }

    #[test]
    fn what_is_no_request_is_refused() {
        for text in ["", "GET\r\n\r\n", "GET / HTTP/1.1\r\nnonsense\r\n\r\n", "GET / HTTP/1.1\r\nHost: a"] {
            assert!(read(text.as_bytes()).is_err(), "{text:?}");
        }
        let long = "POST / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n";
        assert!(read(long.as_bytes()).unwrap_err().to_string().contains("too long"));
    }
}
