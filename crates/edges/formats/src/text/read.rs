//! Reads our notation, line by line, by recursive descent.

use super::expect;
use super::operation::Within;
use crate::ReadError;
use crate::fault::{excerpt, point_at};
use crate::input::{Input, Line, LineEnd};
use crate::ops::TxnOps;
use crate::sink::Sink;
use crate::words::{Words, Wrong, wrong};
use iso_history::{Datum, Outcome, SessionId};

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
        let mut parser = Parser { words: Words::of_line(text), line: line.number, sink: &mut *sink, ops: &mut ops };
        match parser.line(&mut session) {
            Ok(()) => warn_of_open_end(line, text, sink),
            Err(Stop::Syntax(Wrong { at, message })) => {
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

pub(super) enum Stop {
    Syntax(Wrong),
    Halt(ReadError),
}

impl From<ReadError> for Stop {
    fn from(error: ReadError) -> Self {
        Self::Halt(error)
    }
}

impl From<Wrong> for Stop {
    fn from(wrong: Wrong) -> Self {
        Self::Syntax(wrong)
    }
}

pub(super) struct Parser<'p, 's, 'm> {
    pub(super) words: Words<'p>,
    pub(super) line: u64,
    pub(super) sink: &'s mut Sink<'m>,
    pub(super) ops: &'s mut TxnOps,
}

impl Parser<'_, '_, '_> {
    fn line(&mut self, session: &mut Option<SessionId>) -> Result<(), Stop> {
        match self.words.peek() {
            None => return Ok(()),
            Some('#') => {
                let comment = self.words.rest()[1..].to_owned();
                if let Err(problem) = expect::read_comment(&comment, &mut self.sink.header) {
                    self.sink.warn(self.line, format!("the header cannot be read: {problem}"));
                }
                return Ok(());
            }
            Some('{') => {}
            _ if self.is_init_line() => return self.init(),
            _ => *session = Some(self.session_name()?),
        }
        let Some(session) = *session else {
            let message = "the transaction has no session; begin the line with its name, as in `s1: {`";
            return Ok(wrong(self.words.at(), message)?);
        };
        while !matches!(self.words.peek(), None | Some('#')) {
            self.txn(session)?;
        }
        Ok(())
    }

    fn is_init_line(&self) -> bool {
        let after = self.words.rest().strip_prefix("init");
        after.is_some_and(|it| it.starts_with(char::is_whitespace) && !it.trim_start().starts_with(':'))
            || after == Some("")
    }

    fn session_name(&mut self) -> Result<SessionId, Stop> {
        let start = self.words.at();
        let is_quoted = self.words.peek() == Some('"');
        let name = if is_quoted { self.words.quoted()? } else { self.words.take(is_name_symbol).to_owned() };
        if name.is_empty() && start == self.words.at() {
            return Ok(self.words.wrong_here("expected a session, as in `s1: { r(x,0) }`, or `init x=0`")?);
        }
        self.words.expect(':', "after the name of the session")?;
        Ok(self.sink.session(&name)?)
    }

    fn init(&mut self) -> Result<(), Stop> {
        self.words.accept_word("init");
        while !matches!(self.words.peek(), None | Some('#')) {
            let key = if self.words.accept('*') { None } else { Some(self.words.datum("a key")?) };
            self.words.expect('=', "after the key, as in `init x=0`")?;
            let value = self.value()?;
            let Some(key) = key else {
                self.sink.default_initial(value, self.line);
                continue;
            };
            let key = self.sink.initial(&key, value, self.line)?;
            if self.words.accept_word_before_quote("matches") {
                self.matches(key, value)?;
            }
        }
        Ok(())
    }

    fn txn(&mut self, session: SessionId) -> Result<(), Stop> {
        self.words.expect('{', "to begin a transaction")?;
        self.ops.clear();
        while !self.words.accept('}') {
            self.op(Within::Transaction)?;
        }
        let mut outcome = None;
        let mut times = None;
        loop {
            match self.words.peek() {
                Some('@') if times.is_none() => times = Some(self.times()?),
                Some(symbol) if symbol.is_alphabetic() && outcome.is_none() => outcome = Some(self.outcome()?),
                None | Some('{' | '#') => break,
                _ => {
                    return Ok(self.words.wrong_here("expected `abort`, `unknown`, times as in `@[10,25]`, or `{`")?);
                }
            }
        }
        let place = self.sink.place(self.line);
        self.sink.txn(session, place, times.unwrap_or_default(), self.ops, outcome.unwrap_or(Outcome::Committed))?;
        Ok(())
    }

    fn outcome(&mut self) -> Result<Outcome, Stop> {
        let start = self.words.at();
        match self.words.take(char::is_alphanumeric) {
            "abort" => Ok(Outcome::Aborted),
            "unknown" => Ok(Outcome::Indeterminate),
            other => Ok(wrong(start, format!("expected `abort` or `unknown` after the transaction, found `{other}`"))?),
        }
    }

    fn times(&mut self) -> Result<(Option<i64>, Option<i64>), Stop> {
        self.words.expect('@', "before the times")?;
        self.words.expect('[', "after `@`")?;
        let begin = self.time()?;
        self.words.expect(',', "between the times")?;
        let end = self.time()?;
        self.words.expect(']', "after the times")?;
        Ok((begin, end))
    }

    fn time(&mut self) -> Result<Option<i64>, Stop> {
        if matches!(self.words.peek(), Some(',' | ']')) {
            return Ok(None);
        }
        let start = self.words.at();
        match self.words.datum("a time")? {
            Datum::Int(time) => Ok(Some(time)),
            other => Ok(wrong(start, format!("a time must be a 64-bit integer, not {other}"))?),
        }
    }
}

/// May a session's name hold this symbol without quotes?
pub(super) fn is_name_symbol(symbol: char) -> bool {
    !symbol.is_whitespace() && !symbol.is_control() && !matches!(symbol, ':' | '{' | '}' | '#' | '"' | '\u{feff}')
}
