//! The words of our notation: keys, values, records, and texts in quotes. A line of a text is made of them, and so is a
//! predicate, wherever it stands.

use crate::number;
use iso_history::Datum;

/// A text, and how far it is read.
pub(crate) struct Words<'t> {
    text: &'t str,
    at: usize,
    /// What a message calls its end.
    end: &'static str,
}

/// What is wrong with a text, and at which byte.
#[derive(Debug)]
pub(crate) struct Wrong {
    pub(crate) at: usize,
    pub(crate) message: String,
}

pub(crate) fn wrong<T>(at: usize, message: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong { at, message: message.into() })
}

/// May a word hold the dots of a range?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dots {
    Belong,
    End,
}

impl<'t> Words<'t> {
    pub(crate) fn of_line(text: &'t str) -> Self {
        Self { text, at: 0, end: "the end of the line" }
    }

    pub(crate) fn of_predicate(text: &'t str) -> Self {
        Self { text, at: 0, end: "its end" }
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Goes to another place, such as one before.
    pub(crate) fn go_to(&mut self, at: usize) {
        self.at = at;
    }

    pub(crate) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// The next symbol, after white space.
    pub(crate) fn peek(&mut self) -> Option<char> {
        // Most often it is a plain letter or sign, and at most a space comes before it.
        let bytes = self.text.as_bytes();
        self.at += usize::from(bytes.get(self.at) == Some(&b' '));
        match bytes.get(self.at) {
            Some(byte) if byte.is_ascii_graphic() => Some(*byte as char),
            _ => {
                self.at = self.text.len() - self.rest().trim_start().len();
                self.rest().chars().next()
            }
        }
    }

    pub(crate) fn accept(&mut self, symbol: char) -> bool {
        let is_next = self.peek() == Some(symbol);
        if is_next {
            self.at += symbol.len_utf8();
        }
        is_next
    }

    /// Takes these symbols if they come next, after white space.
    pub(crate) fn accept_text(&mut self, symbols: &str) -> bool {
        self.peek();
        let is_next = self.rest().starts_with(symbols);
        if is_next {
            self.at += symbols.len();
        }
        is_next
    }

    /// Takes a word if it comes next, and as a whole.
    pub(crate) fn accept_word(&mut self, word: &str) -> bool {
        self.peek();
        let after = self.rest().strip_prefix(word);
        let is_next = after.is_some_and(|it| !it.starts_with(is_word_symbol));
        if is_next {
            self.at += word.len();
        }
        is_next
    }

    /// Takes a word if it comes next, and then a text in quotes.
    pub(crate) fn accept_word_before_quote(&mut self, word: &str) -> bool {
        let start = self.at;
        let is_next = self.accept_word(word) && self.peek() == Some('"');
        if !is_next {
            self.at = start;
        }
        is_next
    }

    pub(crate) fn expect(&mut self, symbol: char, after: &str) -> Result<(), Wrong> {
        if self.accept(symbol) { Ok(()) } else { self.wrong_here(&format!("expected `{symbol}` {after}")) }
    }

    pub(crate) fn wrong_here<T>(&mut self, expected: &str) -> Result<T, Wrong> {
        match self.peek() {
            None => wrong(self.at, format!("{expected}, found {}", self.end)),
            Some(found) => wrong(self.at, format!("{expected}, found `{found}`")),
        }
    }

    /// Takes symbols as long as they fit.
    pub(crate) fn take(&mut self, fits: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let taken = &rest[..rest.find(|it: char| !fits(it)).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    /// A key, or a value without fields: a word, a number, a quoted text, or `-` for none.
    pub(crate) fn datum(&mut self, what: &str) -> Result<Datum, Wrong> {
        self.scalar(what, Dots::Belong)
    }

    /// A value: one without fields, or a record.
    pub(crate) fn value(&mut self) -> Result<Datum, Wrong> {
        if self.peek() == Some('{') { self.record() } else { self.datum("a value") }
    }

    /// A value at either end of a range.
    pub(crate) fn range_end(&mut self) -> Result<Datum, Wrong> {
        if self.peek() == Some('{') { self.record() } else { self.scalar("a value", Dots::End) }
    }

    fn scalar(&mut self, what: &str, dots: Dots) -> Result<Datum, Wrong> {
        match self.peek() {
            Some('"') => Ok(Datum::text(self.quoted()?)),
            Some(symbol) if is_word_symbol(symbol) || symbol == '+' => self.bare(what, dots),
            _ => self.wrong_here(&format!("expected {what}")),
        }
    }

    fn bare(&mut self, what: &str, dots: Dots) -> Result<Datum, Wrong> {
        let start = self.at;
        let is_number = self.rest().starts_with(|it: char| it.is_ascii_digit() || it == '-' || it == '+');
        let mut word = self.take(|it| is_word_symbol(it) || (is_number && it == '+'));
        if dots == Dots::End {
            word = word.split("..").next().unwrap_or(word);
            self.at = start + word.len();
        }
        if word == "-" {
            return Ok(Datum::Null);
        }
        if word.starts_with(|it: char| it.is_alphabetic() || it == '_') {
            return Ok(Datum::text(word));
        }
        match number::parse(word) {
            Some(number) => Ok(number),
            None => {
                wrong(start, format!("expected {what}; `{word}` is neither a word nor a number, so put it in quotes"))
            }
        }
    }

    /// `{owner: ann, balance: 5}`
    fn record(&mut self) -> Result<Datum, Wrong> {
        self.expect('{', "to begin a record")?;
        let mut fields: Vec<(String, Datum)> = Vec::new();
        while !self.accept('}') {
            if !fields.is_empty() {
                self.expect(',', "or `}` after a field of the record")?;
            }
            let start = self.after_space();
            let Datum::Text(name) = self.datum("the name of a field")? else {
                return wrong(start, "expected the name of a field, as in `{owner: ann, balance: 5}`");
            };
            if fields.iter().any(|it| *it.0 == *name) {
                return wrong(start, format!("the field {name} is given twice"));
            }
            self.expect(':', "after the name of the field")?;
            if self.peek() == Some('{') {
                return self.wrong_here("expected a word, a number, a text in quotes or `-`; records have no records");
            }
            fields.push((name.into(), self.datum("a value")?));
        }
        Ok(Datum::record(fields.iter().map(|(name, value)| (name.as_str(), value.clone()))))
    }

    /// Where the next symbol stands.
    pub(crate) fn after_space(&mut self) -> usize {
        self.peek();
        self.at
    }

    /// A text in quotes; the first one comes next.
    pub(crate) fn quoted(&mut self) -> Result<String, Wrong> {
        let start = self.at;
        let mut text = String::new();
        let mut symbols = self.rest()[1..].char_indices();
        while let Some((at, symbol)) = symbols.next() {
            match symbol {
                '"' => {
                    self.at += at + 2;
                    return Ok(text);
                }
                '\\' => {
                    let Some(symbol) = unescape(&mut symbols) else {
                        let message = "unknown escape; there are \\\" \\\\ \\n \\r \\t and \\u{1f}";
                        return wrong(start + 1 + at, message);
                    };
                    text.push(symbol);
                }
                other => text.push(other),
            }
        }
        wrong(start, "the text has no closing quote in its line")
    }
}

fn unescape(symbols: &mut std::str::CharIndices<'_>) -> Option<char> {
    Some(match symbols.next()?.1 {
        symbol @ ('"' | '\\') => symbol,
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => {
            let (_, '{') = symbols.next()? else { return None };
            let mut code = 0u32;
            loop {
                match symbols.next()?.1 {
                    '}' => return char::from_u32(code),
                    digit => code = code.checked_mul(16)?.checked_add(digit.to_digit(16)?)?,
                }
            }
        }
        _ => return None,
    })
}

pub(crate) fn is_word_symbol(symbol: char) -> bool {
    symbol.is_alphanumeric() || matches!(symbol, '_' | '.' | '/' | '-')
}
