//! Reads our notation, line by line, by recursive descent.

use super::expect;
use crate::fault::{excerpt, point_at};
use crate::input::{Input, Line, LineEnd};
use crate::sink::{Sink, TxnOps};
use crate::{ReadError, number};
use iso_history::{Access, Datum, Outcome, SessionId};

pub(crate) fn read(input: &mut Input<'_>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let mut buffer = Vec::new();
    let mut ops = TxnOps::default();
    let mut session = None;
    while let Some(line) = input.next_line(&mut buffer)? {
        let Ok(text) = std::str::from_utf8(line.bytes) else {
            sink.error(line.number, format!("the line is not UTF-8 text: {}", excerpt(line.bytes)));
            continue;
        };
        let text = if line.number == 1 { text.trim_start_matches('\u{feff}') } else { text };
        let mut parser = Parser { text, at: 0, line: line.number, sink: &mut *sink, ops: &mut ops };
        match parser.line(&mut session) {
            Ok(()) => warn_of_open_end(line, text, sink),
            Err(Stop::Syntax { at, message }) => {
                let column = text[..at].chars().count() + 1;
                sink.error(line.number, format!("column {column}: {message}{}", point_at(text, at)));
            }
            Err(Stop::Halt(error)) => return Err(error),
        }
    }
    Ok(())
}

fn warn_of_open_end(line: Line<'_>, text: &str, sink: &mut Sink<'_>) {
    let says_something = !text.trim_start().is_empty() && !text.trim_start().starts_with('#');
    if line.end == LineEnd::EndOfInput && says_something {
        sink.warn(line.number, "the last line has no line end; if the file was cut short, transactions are missing");
    }
}

enum Stop {
    Syntax { at: usize, message: String },
    Halt(ReadError),
}

impl From<ReadError> for Stop {
    fn from(error: ReadError) -> Self {
        Self::Halt(error)
    }
}

fn wrong<T>(at: usize, message: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Syntax { at, message: message.into() })
}

struct Parser<'p, 's, 'm> {
    text: &'p str,
    at: usize,
    line: u64,
    sink: &'s mut Sink<'m>,
    ops: &'s mut TxnOps,
}

impl Parser<'_, '_, '_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    /// The next symbol, after white space.
    fn peek(&mut self) -> Option<char> {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
        self.rest().chars().next()
    }

    fn accept(&mut self, symbol: char) -> bool {
        let is_next = self.peek() == Some(symbol);
        if is_next {
            self.at += symbol.len_utf8();
        }
        is_next
    }

    fn expect(&mut self, symbol: char, after: &str) -> Result<(), Stop> {
        if self.accept(symbol) { Ok(()) } else { self.wrong_here(&format!("expected `{symbol}` {after}")) }
    }

    fn wrong_here<T>(&mut self, expected: &str) -> Result<T, Stop> {
        match self.peek() {
            None => wrong(self.at, format!("{expected}, found the end of the line")),
            Some(found) => wrong(self.at, format!("{expected}, found `{found}`")),
        }
    }

    fn line(&mut self, session: &mut Option<SessionId>) -> Result<(), Stop> {
        match self.peek() {
            None => return Ok(()),
            Some('#') => {
                let comment = self.rest()[1..].to_owned();
                if let Err(problem) = expect::read_comment(&comment, &mut self.sink.header) {
                    self.sink.warn(self.line, format!("the expectation cannot be read: {problem}"));
                }
                return Ok(());
            }
            Some('{') => {}
            _ if self.is_init_line() => return self.init(),
            _ => *session = Some(self.session_name()?),
        }
        let Some(session) = *session else {
            return wrong(self.at, "the transaction has no session; begin the line with its name, as in `s1: {`");
        };
        while !matches!(self.peek(), None | Some('#')) {
            self.txn(session)?;
        }
        Ok(())
    }

    fn is_init_line(&self) -> bool {
        let after = self.rest().strip_prefix("init");
        after.is_some_and(|it| it.starts_with(char::is_whitespace) && !it.trim_start().starts_with(':'))
            || after == Some("")
    }

    fn session_name(&mut self) -> Result<SessionId, Stop> {
        let start = self.at;
        let name = if self.peek() == Some('"') {
            self.quoted()?
        } else {
            let n = self.rest().find(|it: char| !is_name_symbol(it)).unwrap_or(self.rest().len());
            self.at += n;
            self.text[start..self.at].to_owned()
        };
        if name.is_empty() && start == self.at {
            return self.wrong_here("expected a session, as in `s1: { r(x,0) }`, or `init x=0`");
        }
        self.expect(':', "after the name of the session")?;
        Ok(self.sink.session(&name)?)
    }

    fn init(&mut self) -> Result<(), Stop> {
        self.at += "init".len();
        while !matches!(self.peek(), None | Some('#')) {
            let key = if self.accept('*') { None } else { Some(self.datum("a key")?) };
            self.expect('=', "after the key, as in `init x=0`")?;
            let value = self.datum("a value")?;
            let value = self.sink.value(value)?;
            match key {
                Some(key) => self.sink.initial(&key, value, self.line)?,
                None => self.sink.default_initial(value, self.line),
            }
        }
        Ok(())
    }

    fn txn(&mut self, session: SessionId) -> Result<(), Stop> {
        self.expect('{', "to begin a transaction")?;
        self.ops.clear();
        while !self.accept('}') {
            self.op()?;
        }
        let mut outcome = None;
        let mut times = None;
        loop {
            match self.peek() {
                Some('@') if times.is_none() => times = Some(self.times()?),
                Some(symbol) if symbol.is_alphabetic() && outcome.is_none() => outcome = Some(self.outcome()?),
                None | Some('{' | '#') => break,
                _ => return self.wrong_here("expected `abort`, `unknown`, times as in `@[10,25]`, or `{`"),
            }
        }
        let place = self.sink.place(self.line);
        self.sink.txn(session, place, times.unwrap_or_default(), self.ops, outcome.unwrap_or(Outcome::Committed))?;
        Ok(())
    }

    fn word(&mut self) -> String {
        let n = self.rest().find(|it: char| !it.is_alphanumeric()).unwrap_or(self.rest().len());
        let word = self.rest()[..n].to_owned();
        self.at += n;
        word
    }

    fn outcome(&mut self) -> Result<Outcome, Stop> {
        let start = self.at;
        match self.word().as_str() {
            "abort" => Ok(Outcome::Aborted),
            "unknown" => Ok(Outcome::Indeterminate),
            other => wrong(start, format!("expected `abort` or `unknown` after the transaction, found `{other}`")),
        }
    }

    fn times(&mut self) -> Result<(Option<i64>, Option<i64>), Stop> {
        self.at += 1;
        self.expect('[', "after `@`")?;
        let begin = self.time()?;
        self.expect(',', "between the times")?;
        let end = self.time()?;
        self.expect(']', "after the times")?;
        Ok((begin, end))
    }

    fn time(&mut self) -> Result<Option<i64>, Stop> {
        if matches!(self.peek(), Some(',' | ']')) {
            return Ok(None);
        }
        let start = self.at;
        match self.datum("a time")? {
            Datum::Int(time) => Ok(Some(time)),
            other => wrong(start, format!("a time must be a 64-bit integer, not {other}")),
        }
    }

    fn op(&mut self) -> Result<(), Stop> {
        let Some(symbol) = self.peek() else {
            return self.wrong_here("expected an operation or `}`; a transaction stands in one line");
        };
        let start = self.at;
        let access = match symbol {
            'r' | 'w' | 'a' => self.access(start)?,
            _ => return self.wrong_here("expected `r(key,value)`, `w(key,value)`, `append(key,value)` or `}`"),
        };
        self.expect('(', "after the operation's name")?;
        let key = self.datum("a key")?;
        let key = self.sink.key(key)?;
        self.expect(',', "after the key")?;
        if access == Access::Read && self.accept('[') {
            self.list()?;
            self.ops.push_list(key);
        } else {
            let value = self.datum("a value")?;
            let value = self.sink.value(value)?;
            self.ops.push(access, key, value);
        }
        self.expect(')', "after the value")
    }

    fn access(&mut self, start: usize) -> Result<Access, Stop> {
        match self.word().as_str() {
            "r" => Ok(Access::Read),
            "w" => Ok(Access::Write),
            "append" => Ok(Access::Append),
            other => wrong(start, format!("`{other}` is no operation; there are `r`, `w` and `append`")),
        }
    }

    fn list(&mut self) -> Result<(), Stop> {
        if self.accept(']') {
            return Ok(());
        }
        loop {
            let value = self.datum("a value")?;
            let value = self.sink.value(value)?;
            self.ops.element(value);
            self.sink.meter().fits(self.ops.bytes())?;
            if self.accept(']') {
                return Ok(());
            }
            self.expect(',', "or `]` after an element of the list")?;
        }
    }

    /// A word, a number, a quoted text, or `-` for none.
    fn datum(&mut self, what: &str) -> Result<Datum, Stop> {
        match self.peek() {
            Some('"') => Ok(Datum::text(self.quoted()?)),
            Some(symbol) if is_word_symbol(symbol) || symbol == '+' => self.bare(what),
            _ => self.wrong_here(&format!("expected {what}")),
        }
    }

    fn bare(&mut self, what: &str) -> Result<Datum, Stop> {
        let start = self.at;
        let is_number = self.rest().starts_with(|it: char| it.is_ascii_digit() || it == '-' || it == '+');
        let is_part = |it: char| is_word_symbol(it) || (is_number && it == '+');
        let n = self.rest().find(|it: char| !is_part(it)).unwrap_or(self.rest().len());
        self.at += n;
        let word = &self.text[start..self.at];
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

    fn quoted(&mut self) -> Result<String, Stop> {
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

fn is_word_symbol(symbol: char) -> bool {
    symbol.is_alphanumeric() || matches!(symbol, '_' | '.' | '/' | '-')
}

/// May a session's name hold this symbol without quotes?
pub(super) fn is_name_symbol(symbol: char) -> bool {
    !symbol.is_whitespace() && !symbol.is_control() && !matches!(symbol, ':' | '{' | '}' | '#' | '"' | '\u{feff}')
}
