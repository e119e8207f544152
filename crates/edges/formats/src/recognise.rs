//! Tells the format of a file from its first bytes.

use crate::Format;
use crate::input::{Line, LineBytes, LineEnd};
use crate::json::Json;

/// What every Parquet file begins with.
const PARQUET_MAGIC: &[u8] = b"PAR1";

/// The format that the first bytes of a file fit.
pub(crate) fn recognise(head: &[u8]) -> Option<Format> {
    if head.starts_with(PARQUET_MAGIC) {
        return Some(Format::Parquet);
    }
    if is_cobra(head) {
        return Some(Format::Cobra);
    }
    if head.contains(&0) {
        return is_dbcop(head).then_some(Format::Dbcop);
    }
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let text = without_edn_comments(text);
    match text.first()? {
        b'{' => recognise_map(text),
        b'[' => recognise_vector(text[1..].trim_ascii_start()),
        b'#' if is_tagged(text) => Some(Format::Elle),
        b'#' => Some(Format::Text),
        _ => recognise_line(text.split(|it| *it == b'\n').next()?.trim_ascii_end()),
    }
}

/// Is this what `--json` writes? Its first members are the version and the verb, which no history has.
pub(crate) fn is_saved_answer(head: &[u8]) -> bool {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let is_object = || text[1..].trim_ascii_start().starts_with(b"\"");
    let names = if text.starts_with(b"{") && is_object() { member_names(text) } else { Vec::new() };
    ["isoscope", "verb"].iter().all(|name| names.iter().any(|it| it == name))
}

/// EDN may begin with lines of comment.
fn without_edn_comments(mut text: &[u8]) -> &[u8] {
    while text.starts_with(b";") {
        let end = text.iter().position(|it| *it == b'\n').unwrap_or(text.len());
        text = text[end..].trim_ascii_start();
    }
    text
}

/// The names of all formats, for a message.
pub(crate) fn tried() -> String {
    Format::ALL.map(Format::name).join(", ")
}

/// `S` and the eight bytes of a transaction's number, whose first byte is hardly a printable character.
fn is_cobra(head: &[u8]) -> bool {
    match head {
        [0xff, ..] => true,
        [b'S', high, rest @ ..] => {
            !(0x20..0x7f).contains(high)
                && !high.is_ascii_whitespace()
                && rest.get(7).is_none_or(|it| matches!(it, b'S' | b'W' | b'R' | b'C' | 0xff))
        }
        _ => false,
    }
}

/// Five counts, then a string that is not longer than a person would write.
fn is_dbcop(head: &[u8]) -> bool {
    let number = |nth: usize| {
        let bytes = head.get(nth * 8..nth * 8 + 8)?;
        Some(i64::from_le_bytes(bytes.try_into().ok()?))
    };
    // An empty history ends after nine numbers: more zeros come from a hole in a file, not from dbcop.
    if head.len() > 9 * 8 && head.iter().all(|it| *it == 0) {
        return false;
    }
    // A file that ends inside its header is a damaged dbcop file rather than nothing known.
    (1..5).all(|nth| number(nth).is_none_or(|it| (0..1 << 40).contains(&it)))
        && number(5).is_none_or(|it| (0..1 << 20).contains(&it))
}

fn recognise_map(text: &[u8]) -> Option<Format> {
    match text[1..].trim_ascii_start().first()? {
        b':' => return Some(Format::Elle),
        b'"' => {}
        _ => return None,
    }
    let names = member_names(text);
    let has = |name: &str| names.iter().any(|it| it == name);
    if has("isoscope") || has("ops") {
        Some(Format::Jsonl)
    } else if has("type") && (has("value") || has("process") || has("f")) {
        Some(Format::ElleJson)
    } else if has("params") || has("data") {
        Some(Format::DbcopJson)
    } else {
        None
    }
}

fn recognise_vector(inside: &[u8]) -> Option<Format> {
    match inside.first()? {
        b'{' if inside[1..].trim_ascii_start().starts_with(b"\"") => Some(Format::ElleJson),
        b'{' if inside[1..].trim_ascii_start().starts_with(b":") => Some(Format::Elle),
        b'#' | b']' => Some(Format::Elle),
        _ => None,
    }
}

/// `#jepsen.history.Op{` or `#_`, other than a comment.
fn is_tagged(text: &[u8]) -> bool {
    let line = text.split(|it| *it == b'\n').next().unwrap_or_default();
    line.starts_with(b"#jepsen") && line.contains(&b'{')
}

/// The members of the first object, as far as they can be seen.
fn member_names(text: &[u8]) -> Vec<String> {
    let line = Line { number: 1, bytes: text, end: LineEnd::EndOfInput };
    let mut names = Vec::new();
    let whole = Json::new(LineBytes::new(line)).object(|json, name| {
        names.push(name.to_owned());
        json.skip()
    });
    // The object may go on after the first bytes.
    drop(whole);
    names
}

fn recognise_line(line: &[u8]) -> Option<Format> {
    const EVENTS: [&[u8]; 5] = [b"READ KEY[", b"WRITE KEY[", b"INSERT[", b"DELETE[", b"CONTAINS["];
    let is_event = EVENTS.iter().any(|it| line.starts_with(it));
    let is_op = line.starts_with(b"r(") || line.starts_with(b"w(");
    let n_fields = line.split(|it| *it == b',').count();
    if is_event {
        Some(Format::IsoPredict)
    } else if is_op && n_fields >= 4 && !line.contains(&b'{') {
        Some(Format::Plume)
    } else if line.starts_with(b"init") || line.contains(&b':') && std::str::from_utf8(line).is_ok() {
        Some(Format::Text)
    } else {
        None
    }
}
