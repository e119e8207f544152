//! Why a scanner stopped, and how a person is told.

use crate::input::{Line, LineEnd, Spot};
use crate::{ReadError, json};
use iso_history::clipped;

/// A scanner's way out.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The data is not as it should be.
    Syntax {
        /// Where.
        spot: Spot,
        /// What was expected and what was found.
        message: String,
    },
    /// Reading ends.
    Halt(ReadError),
}

impl Fault {
    /// A line that has no end and breaks off was hardly written like that.
    pub(crate) fn in_line(self, line: Line<'_>) -> Self {
        match self {
            Self::Syntax { spot, message }
                if line.end == LineEnd::EndOfInput && spot.column >= line.bytes.len() as u64 =>
            {
                Self::Syntax { spot, message: format!("{message}; the file was cut short") }
            }
            other => other,
        }
    }
}

impl From<ReadError> for Fault {
    fn from(error: ReadError) -> Self {
        Self::Halt(error)
    }
}

/// A byte as a message shows it.
pub(crate) fn show(byte: Option<u8>) -> String {
    match byte {
        None => "the end".to_owned(),
        Some(byte) if byte.is_ascii_graphic() => format!("`{}`", byte as char),
        Some(b' ') => "a space".to_owned(),
        Some(byte) if byte.is_ascii() => format!("`{}`", byte.escape_ascii()),
        Some(byte) => format!("byte 0x{byte:02x}"),
    }
}

/// A text as JSON writes it, cut where a person would not read on.
pub(crate) fn quoted(text: &str) -> String {
    let mut bytes = Vec::new();
    // Writing to memory does not fail.
    drop(json::write_string(&mut bytes, &clipped(text)));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The part of a line around a byte, with a caret under it.
pub(crate) fn point_at(line: &str, byte: usize) -> String {
    const BEFORE: usize = 60;
    const AFTER: usize = 40;
    let n_before = line.char_indices().take_while(|(at, _)| *at < byte).count();
    let from = n_before.saturating_sub(BEFORE);
    let plain = |it: char| if it.is_control() { ' ' } else { it };
    let shown: String = line.chars().skip(from).take(n_before - from + AFTER).map(plain).collect();
    let dots = if from > 0 { "..." } else { "" };
    format!("\n    {dots}{shown}\n    {}^", " ".repeat(dots.len() + n_before - from))
}

/// The first bytes of something, for a message.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    const LONGEST: usize = 40;
    let shown = &bytes[..bytes.len().min(LONGEST)];
    let dots = if bytes.len() > LONGEST { "..." } else { "" };
    match std::str::from_utf8(shown) {
        Ok(text) => format!("`{}{dots}`", text.escape_debug()),
        Err(_) => format!("`{}{dots}`", shown.escape_ascii()),
    }
}

/// The first bytes of a file, for a message; many of the same kind are told in words.
pub(crate) fn first_bytes(head: &[u8]) -> String {
    let n = head.len();
    if n > 64 && head.iter().all(u8::is_ascii_whitespace) {
        format!("{n} bytes of white space")
    } else if n > 64 && head.iter().all(|it| *it == 0) {
        format!("{n} zero bytes")
    } else {
        excerpt(head)
    }
}
