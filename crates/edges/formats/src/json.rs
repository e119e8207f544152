//! A pull scanner for JSON: no tree, no allocation a value, exact numbers.

use crate::ReadError;
use crate::fault::{Fault, quoted, show};
use crate::form::Form;
use crate::input::Bytes;
use iso_history::{Datum, Name};

/// Anything nested deeper is refused, so that no input can exhaust the stack.
const MAX_DEPTH: u32 = 128;

/// A longer string or number is refused, so that a stream without an end cannot exhaust the memory.
pub(crate) const MAX_TEXT: usize = 16 << 20;

/// Scans one value after the other.
pub(crate) struct Json<B> {
    bytes: B,
    scratch: Vec<u8>,
    names: Vec<String>,
    depth: u32,
}

impl<B> Json<B> {
    pub(crate) fn new(bytes: B) -> Self {
        Self { bytes, scratch: Vec::new(), names: Vec::new(), depth: 0 }
    }

    /// Goes on with other bytes; buffers are kept.
    pub(crate) fn with<C>(self, bytes: C) -> Json<C> {
        Json { bytes, scratch: self.scratch, names: self.names, depth: 0 }
    }
}

impl<B: Bytes> Json<B> {
    pub(crate) fn bytes(&self) -> &B {
        &self.bytes
    }

    /// The next byte that is no white space.
    pub(crate) fn peek(&mut self) -> Result<Option<u8>, ReadError> {
        loop {
            match self.bytes.peek()? {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.bytes.bump(),
                other => return Ok(other),
            }
        }
    }

    /// Takes `byte`, after white space.
    pub(crate) fn expect(&mut self, byte: u8) -> Result<(), Fault> {
        match self.peek()? {
            Some(found) if found == byte => {
                self.bytes.bump();
                Ok(())
            }
            found => self.wrong(format!("expected `{}`, found {}", byte as char, show(found))),
        }
    }

    /// Takes `byte` if it comes next, after white space.
    pub(crate) fn accept(&mut self, byte: u8) -> Result<bool, Fault> {
        let is_next = self.peek()? == Some(byte);
        if is_next {
            self.bytes.bump();
        }
        Ok(is_next)
    }

    /// Nothing but white space may be left.
    pub(crate) fn expect_end(&mut self) -> Result<(), Fault> {
        match self.peek()? {
            None => Ok(()),
            found => self.wrong(format!("expected the end of the JSON value, found {}", show(found))),
        }
    }

    /// A syntax fault here.
    pub(crate) fn wrong<T>(&self, message: impl Into<String>) -> Result<T, Fault> {
        Err(Fault::Syntax { spot: self.bytes.spot(), message: message.into() })
    }

    fn enter(&mut self) -> Result<(), Fault> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            self.wrong(format!("arrays and objects are nested deeper than {MAX_DEPTH}"))
        } else {
            Ok(())
        }
    }

    /// An object: `member` is called after each name and colon, and takes the value.
    pub(crate) fn object(&mut self, mut member: impl FnMut(&mut Self, &str) -> Result<(), Fault>) -> Result<(), Fault> {
        self.expect(b'{')?;
        self.enter()?;
        if !self.accept(b'}')? {
            loop {
                let mut name = self.names.pop().unwrap_or_default();
                name.clear();
                if self.peek()? != Some(b'"') {
                    let found = show(self.peek()?);
                    return self.wrong(format!("expected the name of a member in quotes, found {found}"));
                }
                name.push_str(self.string()?);
                self.expect(b':')?;
                member(self, &name)?;
                self.names.push(name);
                if !self.accept(b',')? {
                    break;
                }
            }
            self.expect_either(b'}')?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// An array: `element` is called before each element, and takes it.
    pub(crate) fn array(&mut self, mut element: impl FnMut(&mut Self) -> Result<(), Fault>) -> Result<(), Fault> {
        self.expect(b'[')?;
        self.enter()?;
        if !self.accept(b']')? {
            loop {
                element(self)?;
                if !self.accept(b',')? {
                    break;
                }
            }
            self.expect_either(b']')?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn expect_either(&mut self, close: u8) -> Result<(), Fault> {
        if self.accept(close)? {
            Ok(())
        } else {
            let found = show(self.peek()?);
            self.wrong(format!("expected `,` or `{}`, found {found}", close as char))
        }
    }

    /// A string; the next string replaces it.
    pub(crate) fn string(&mut self) -> Result<&str, Fault> {
        self.expect(b'"')?;
        self.scratch.clear();
        loop {
            let plain = self.bytes.at_hand();
            let n = plain.iter().position(|it| matches!(it, b'"' | b'\\' | 0..0x20)).unwrap_or(plain.len());
            self.scratch.extend_from_slice(&plain[..n]);
            self.bytes.advance(n);
            if self.scratch.len() > MAX_TEXT {
                return self.wrong(format!("a string is longer than {MAX_TEXT} bytes"));
            }
            match self.bytes.peek()? {
                None => return self.wrong("a string has no closing quote"),
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                Some(byte) if byte < 0x20 => {
                    return self.wrong(format!("a string holds the control character {}", show(Some(byte))));
                }
                Some(byte) => {
                    self.scratch.push(byte);
                    self.bytes.bump();
                }
            }
        }
        self.bytes.bump();
        match std::str::from_utf8(&self.scratch) {
            Ok(text) => Ok(text),
            Err(_) => Err(Fault::Syntax { spot: self.bytes.spot(), message: "a string is not UTF-8".to_owned() }),
        }
    }

    fn escape(&mut self) -> Result<(), Fault> {
        self.bytes.bump();
        let plain = match self.bytes.peek()? {
            Some(byte @ (b'"' | b'\\' | b'/')) => byte,
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => return self.unicode_escape(),
            found => return self.wrong(format!("`\\` is followed by {}, which is no JSON escape", show(found))),
        };
        self.bytes.bump();
        self.scratch.push(plain);
        Ok(())
    }

    fn unicode_escape(&mut self) -> Result<(), Fault> {
        let first = self.hex4()?;
        let code = match first {
            0xd800..0xdc00 => {
                if self.bytes.peek()? != Some(b'\\') {
                    return self.wrong("the first half of a surrogate pair stands alone");
                }
                self.bytes.bump();
                if self.bytes.peek()? != Some(b'u') {
                    return self.wrong("the first half of a surrogate pair stands alone");
                }
                match self.hex4()? {
                    second @ 0xdc00..0xe000 => 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00),
                    _ => return self.wrong("the first half of a surrogate pair stands alone"),
                }
            }
            code => code,
        };
        match char::from_u32(code) {
            Some(symbol) => {
                self.scratch.extend_from_slice(symbol.encode_utf8(&mut [0; 4]).as_bytes());
                Ok(())
            }
            None => self.wrong("the second half of a surrogate pair stands alone"),
        }
    }

    /// `u` and four hexadecimal digits.
    fn hex4(&mut self) -> Result<u32, Fault> {
        self.bytes.bump();
        let mut code = 0;
        for _ in 0..4 {
            let byte = self.bytes.peek()?;
            let Some(digit) = byte.and_then(|it| (it as char).to_digit(16)) else {
                return self.wrong(format!("expected four hexadecimal digits after `\\u`, found {}", show(byte)));
            };
            code = code * 16 + digit;
            self.bytes.bump();
        }
        Ok(code)
    }

    /// A string of one letter, if it comes next: the usual name of an operation, without the detour of a buffer.
    pub(crate) fn letter(&mut self) -> Result<Option<u8>, Fault> {
        self.peek()?;
        let &[b'"', letter @ b'a'..=b'z', b'"', ..] = self.bytes.at_hand() else { return Ok(None) };
        self.bytes.advance(3);
        Ok(Some(letter))
    }

    /// A short integer, if one comes next: the usual number, without the detour of a buffer.
    fn short_integer(&mut self) -> Option<i64> {
        let bytes = self.bytes.at_hand();
        let is_negative = bytes.first() == Some(&b'-');
        let digits = &bytes[usize::from(is_negative)..];
        let n = digits.iter().take(19).position(|it| !it.is_ascii_digit())?;
        let is_short = n > 0 && !(n > 1 && digits[0] == b'0') && !matches!(digits[n], b'.' | b'e' | b'E');
        if !is_short {
            return None;
        }
        let magnitude = digits[..n].iter().fold(0i64, |sum, digit| sum * 10 + i64::from(digit - b'0'));
        self.bytes.advance(n + usize::from(is_negative));
        Some(if is_negative { -magnitude } else { magnitude })
    }

    /// A number: 64-bit integers as such, any other as its text.
    fn number(&mut self) -> Result<Datum, Fault> {
        if let Some(number) = self.short_integer() {
            return Ok(Datum::Int(number));
        }
        self.scratch.clear();
        let _ = self.take_if(|it| it == b'-')?;
        let starts_with_zero = self.bytes.peek()? == Some(b'0');
        let n_digits = self.digits()?;
        if starts_with_zero && n_digits > 1 {
            return self.wrong("a number begins with 0 and goes on");
        }
        let mut is_integer = true;
        if self.take_if(|it| it == b'.')? {
            is_integer = false;
            self.digits()?;
        }
        if self.take_if(|it| matches!(it, b'e' | b'E'))? {
            is_integer = false;
            let _ = self.take_if(|it| matches!(it, b'+' | b'-'))?;
            self.digits()?;
        }
        let text = String::from_utf8_lossy(&self.scratch);
        let integer = text.parse().ok().filter(|_| is_integer);
        Ok(integer.map_or_else(|| Datum::Number(text.as_ref().into()), Datum::Int))
    }

    fn take_if(&mut self, wanted: impl Fn(u8) -> bool) -> Result<bool, Fault> {
        match self.bytes.peek()? {
            Some(byte) if wanted(byte) => {
                self.scratch.push(byte);
                self.bytes.bump();
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn digits(&mut self) -> Result<usize, Fault> {
        let mut n = 0;
        while self.take_if(|it| it.is_ascii_digit())? {
            n += 1;
            if n > MAX_TEXT {
                return self.wrong(format!("a number is longer than {MAX_TEXT} bytes"));
            }
        }
        match n {
            0 => {
                let found = show(self.bytes.peek()?);
                self.wrong(format!("expected a digit, found {found}"))
            }
            _ => Ok(n),
        }
    }

    fn word(&mut self, word: &str) -> Result<(), Fault> {
        for byte in word.bytes() {
            if self.bytes.peek()? != Some(byte) {
                return self.wrong(format!("expected `{word}`"));
            }
            self.bytes.bump();
        }
        Ok(())
    }

    /// A string, a number or null.
    pub(crate) fn datum(&mut self) -> Result<Datum, Fault> {
        match self.peek()? {
            Some(b'"') => Ok(Datum::text(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'n') => self.word("null").map(|()| Datum::Null),
            found => self.wrong(format!("expected a string, a number or null, found {}", show(found))),
        }
    }

    /// A value of a key: a string, a number, null, or an object of these.
    pub(crate) fn value(&mut self) -> Result<Datum, Fault> {
        if self.peek()? != Some(b'{') {
            return self.datum();
        }
        let mut fields: Vec<(String, Datum)> = Vec::new();
        self.object(|json, name| {
            if fields.iter().any(|it| it.0 == name) {
                return json.wrong(format!("the field {} is given twice", quoted(name)));
            }
            fields.push((name.to_owned(), json.datum()?));
            Ok(())
        })?;
        Ok(Datum::record(fields.iter().map(|(name, value)| (name.as_str(), value.clone()))))
    }

    /// True or false.
    pub(crate) fn boolean(&mut self) -> Result<bool, Fault> {
        match self.peek()? {
            Some(b't') => self.word("true").map(|()| true),
            Some(b'f') => self.word("false").map(|()| false),
            found => self.wrong(format!("expected true or false, found {}", show(found))),
        }
    }

    /// Passes over any value.
    pub(crate) fn skip(&mut self) -> Result<(), Fault> {
        match self.peek()? {
            Some(b'{') => self.object(|json, _| json.skip()),
            Some(b'[') => self.array(Self::skip),
            Some(b't' | b'f') => self.boolean().map(|_| ()),
            _ => self.datum().map(|_| ()),
        }
    }

    /// Any value as a tree; `fits` is asked before each node.
    pub(crate) fn form(&mut self, fits: &mut dyn FnMut() -> Result<(), ReadError>) -> Result<Form, Fault> {
        fits()?;
        match self.peek()? {
            Some(b'{') => {
                let mut members = Vec::new();
                self.object(|json, name| {
                    members.push((Form::Name(name.into()), json.form(fits)?));
                    Ok(())
                })?;
                Ok(Form::Map(members))
            }
            Some(b'[') => {
                let mut elements = Vec::new();
                self.array(|json| {
                    elements.push(json.form(fits)?);
                    Ok(())
                })?;
                Ok(Form::Vector(elements))
            }
            Some(b't' | b'f') => Ok(Form::Symbol(if self.boolean()? { "true" } else { "false" }.into())),
            _ => self.datum().map(Form::Datum),
        }
    }
}

/// Writes a text as a JSON string.
pub(crate) fn write_string(out: &mut dyn std::io::Write, text: &str) -> std::io::Result<()> {
    out.write_all(b"\"")?;
    for symbol in text.chars() {
        match symbol {
            '"' => out.write_all(b"\\\"")?,
            '\\' => out.write_all(b"\\\\")?,
            '\n' => out.write_all(b"\\n")?,
            '\r' => out.write_all(b"\\r")?,
            '\t' => out.write_all(b"\\t")?,
            other if other < ' ' => write!(out, "\\u{:04x}", other as u32)?,
            other => out.write_all(other.encode_utf8(&mut [0; 4]).as_bytes())?,
        }
    }
    out.write_all(b"\"")
}

/// Writes a name as a JSON value.
pub(crate) fn write_name(out: &mut dyn std::io::Write, name: Name<'_>) -> std::io::Result<()> {
    match name {
        Name::Null => out.write_all(b"null"),
        Name::Int(number) => write!(out, "{number}"),
        Name::Number(text) => out.write_all(text.as_bytes()),
        Name::Text(text) => write_string(out, text),
        Name::Record(_) => write_record(out, name),
    }
}

fn write_record(out: &mut dyn std::io::Write, record: Name<'_>) -> std::io::Result<()> {
    out.write_all(b"{")?;
    for (nth, (field, value)) in record.fields().enumerate() {
        if nth > 0 {
            out.write_all(b",")?;
        }
        write_string(out, &field)?;
        out.write_all(b":")?;
        write_name(out, value.as_name())?;
    }
    out.write_all(b"}")
}
