//! A reader for EDN, as far as Jepsen writes it: every form, tags without their meaning, sets as vectors.

use crate::fault::{Fault, show};
use crate::form::Form;
use crate::input::{Bytes, Input};
use crate::json::MAX_TEXT;
use crate::{ReadError, number};
use iso_history::Datum;

/// Anything nested deeper is refused, so that no input can exhaust the stack.
const MAX_DEPTH: u32 = 128;

/// Asked before each node whether there is room for it.
type Fits<'f> = &'f mut dyn FnMut() -> Result<(), ReadError>;

pub(super) struct Edn<'i, 'a> {
    input: &'i mut Input<'a>,
    depth: u32,
}

impl<'i, 'a> Edn<'i, 'a> {
    pub(super) fn new(input: &'i mut Input<'a>) -> Self {
        Self { input, depth: 0 }
    }

    pub(super) fn line(&self) -> u64 {
        self.input.line()
    }

    pub(super) fn bump(&mut self) {
        self.input.bump();
    }

    /// The next byte that is neither white space nor part of a comment.
    pub(super) fn peek(&mut self) -> Result<Option<u8>, ReadError> {
        loop {
            match self.input.peek()? {
                Some(b' ' | b'\t' | b'\n' | b'\r' | b',' | 0x0b | 0x0c) => self.input.bump(),
                Some(b';') => {
                    while self.input.peek()?.is_some_and(|it| it != b'\n') {
                        self.input.bump();
                    }
                }
                other => return Ok(other),
            }
        }
    }

    pub(super) fn wrong<T>(&self, message: impl Into<String>) -> Result<T, Fault> {
        Err(Fault::Syntax { spot: self.input.spot(), message: message.into() })
    }

    /// The next form; none if it was discarded.
    pub(super) fn form(&mut self, fits: Fits<'_>) -> Result<Option<Form>, Fault> {
        fits()?;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.wrong(format!("forms are nested deeper than {MAX_DEPTH}"));
        }
        let form = match self.peek()? {
            None => return self.wrong("the file ends where a form was expected; it was cut short"),
            Some(b'{') => self.map(fits).map(Some),
            Some(b'[') => self.sequence(b']', fits).map(Some),
            Some(b'(') => self.sequence(b')', fits).map(Some),
            Some(b'"') => self.string().map(|it| Some(Form::Datum(Datum::text(it)))),
            Some(b'#') => self.dispatch(fits),
            Some(b'\\') => self.character().map(|it| Some(Form::Datum(Datum::text(it)))),
            Some(byte) if is_token_byte(byte) => self.token().map(Some),
            found => self.wrong(format!("expected a form, found {}", show(found))),
        }?;
        self.depth -= 1;
        Ok(form)
    }

    fn sequence(&mut self, close: u8, fits: Fits<'_>) -> Result<Form, Fault> {
        self.bump();
        let mut elements = Vec::new();
        while self.peek()? != Some(close) {
            elements.extend(self.form(fits)?);
        }
        self.bump();
        Ok(Form::Vector(elements))
    }

    fn map(&mut self, fits: Fits<'_>) -> Result<Form, Fault> {
        let Form::Vector(forms) = self.sequence(b'}', fits)? else {
            return self.wrong("expected a map");
        };
        if !forms.len().is_multiple_of(2) {
            return self.wrong("a map has a key without a value");
        }
        let mut forms = forms.into_iter();
        let mut members = Vec::new();
        while let (Some(key), Some(value)) = (forms.next(), forms.next()) {
            members.push((key, value));
        }
        Ok(Form::Map(members))
    }

    /// `#{` a set, `#_` a form that is left out, `#tag` a form with a tag.
    fn dispatch(&mut self, fits: Fits<'_>) -> Result<Option<Form>, Fault> {
        self.bump();
        match self.input.peek()? {
            Some(b'{') => self.sequence(b'}', fits).map(Some),
            Some(b'_') => {
                self.bump();
                self.form(fits).map(|_| None)
            }
            Some(byte) if byte.is_ascii_alphabetic() => {
                self.take_token()?;
                self.form(fits)
            }
            found => self.wrong(format!("expected a tag after `#`, found {}", show(found))),
        }
    }

    fn string(&mut self) -> Result<String, Fault> {
        self.bump();
        let mut text = Vec::new();
        loop {
            self.check_length(&text)?;
            match self.input.peek()? {
                None => return self.wrong("the file ends inside a string; it was cut short"),
                Some(b'"') => break,
                Some(b'\\') => self.escape(&mut text)?,
                Some(byte) => {
                    text.push(byte);
                    self.bump();
                }
            }
        }
        self.bump();
        String::from_utf8(text).or_else(|_| self.wrong("a string is not UTF-8"))
    }

    fn check_length(&self, text: &[u8]) -> Result<(), Fault> {
        if text.len() > MAX_TEXT {
            return self.wrong(format!("a string or symbol is longer than {MAX_TEXT} bytes"));
        }
        Ok(())
    }

    fn escape(&mut self, text: &mut Vec<u8>) -> Result<(), Fault> {
        self.bump();
        let byte = self.input.peek()?;
        let plain = match byte {
            Some(byte @ (b'"' | b'\\')) => byte,
            Some(b'n') => b'\n',
            Some(b't') => b'\t',
            Some(b'r') => b'\r',
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'u') => {
                self.bump();
                let symbol = self.unicode()?;
                text.extend_from_slice(symbol.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            found => return self.wrong(format!("`\\` is followed by {}, which is no EDN escape", show(found))),
        };
        self.bump();
        text.push(plain);
        Ok(())
    }

    fn unicode(&mut self) -> Result<char, Fault> {
        let mut code = 0;
        for _ in 0..4 {
            let Some(digit) = self.input.peek()?.and_then(|it| (it as char).to_digit(16)) else {
                return self.wrong("expected four hexadecimal digits after `\\u`");
            };
            code = code * 16 + digit;
            self.bump();
        }
        char::from_u32(code).map_or_else(|| self.wrong("half of a surrogate pair stands alone"), Ok)
    }

    /// `\a`, `\newline`, `\u0041`.
    fn character(&mut self) -> Result<String, Fault> {
        self.bump();
        let mut bytes = Vec::new();
        if let Some(first) = self.input.peek()? {
            bytes.push(first);
            self.bump();
        }
        while let Some(byte) = self.input.peek()?.filter(|it| is_token_byte(*it)) {
            bytes.push(byte);
            self.bump();
            self.check_length(&bytes)?;
        }
        match String::from_utf8(bytes).ok().as_deref() {
            Some("newline") => Ok("\n".to_owned()),
            Some("space") => Ok(" ".to_owned()),
            Some("tab") => Ok("\t".to_owned()),
            Some("return") => Ok("\r".to_owned()),
            Some(text) if !text.is_empty() => Ok(text.to_owned()),
            _ => self.wrong("expected a character after `\\`"),
        }
    }

    fn take_token(&mut self) -> Result<String, Fault> {
        let mut bytes = Vec::new();
        // No line end is part of a token.
        while self.input.peek()?.is_some_and(is_token_byte) {
            let at_hand = self.input.at_hand();
            let n = at_hand.iter().position(|it| !is_token_byte(*it)).unwrap_or(at_hand.len());
            bytes.extend_from_slice(&at_hand[..n]);
            self.input.advance(n);
            self.check_length(&bytes)?;
        }
        String::from_utf8(bytes).or_else(|_| self.wrong("a symbol is not UTF-8"))
    }

    /// A number, keyword or symbol.
    fn token(&mut self) -> Result<Form, Fault> {
        let token = self.take_token()?;
        if let Some(name) = token.strip_prefix(':') {
            return if name.is_empty() {
                self.wrong("expected a keyword after `:`")
            } else {
                Ok(Form::Name(name.into()))
            };
        }
        let digits = token.strip_prefix(['-', '+']).unwrap_or(&token);
        if token == "nil" {
            Ok(Form::Datum(Datum::Null))
        } else if digits.starts_with(|it: char| it.is_ascii_digit()) {
            Ok(Form::Datum(number(&token)))
        } else {
            Ok(Form::Symbol(token.into()))
        }
    }
}

#[inline]
fn is_token_byte(byte: u8) -> bool {
    const TOKEN: [bool; 256] = token_bytes();
    TOKEN[byte as usize]
}

const fn token_bytes() -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < table.len() {
        let it = byte as u8;
        table[byte] = it.is_ascii_alphanumeric()
            || it >= 0x80
            || matches!(
                it,
                b'.' | b'*'
                    | b'+'
                    | b'!'
                    | b'-'
                    | b'_'
                    | b'?'
                    | b'$'
                    | b'%'
                    | b'&'
                    | b'='
                    | b'<'
                    | b'>'
                    | b'/'
                    | b':'
                    | b'#'
                    | b'\''
                    | b'|'
            );
        byte += 1;
    }
    table
}

/// A number; `N` and `M` mark exact ones and change nothing. What only Clojure calls a number (1/2) is a text.
fn number(token: &str) -> Datum {
    let text = token.strip_suffix(['N', 'M']).unwrap_or(token);
    number::parse(text.strip_prefix('+').unwrap_or(text)).unwrap_or_else(|| Datum::text(token))
}
