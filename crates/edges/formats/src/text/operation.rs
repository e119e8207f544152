//! Reads the operations of a transaction: reads, writes and appends, and the statements and scans that they belong to.

use super::read::{Parser, Stop};
use crate::ops::table_and_row;
use crate::predicate;
use crate::words::{Wrong, wrong};
use iso_history::{Access, Datum, Extent, KeyId, Locking, Predicate, ValueId};

/// What an operation stands in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Within {
    Transaction,
    Statement,
}

/// What kind of operation it is, as far as statements are concerned.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Read,
    Write,
    /// A read and a write.
    Update,
    Scan,
    /// Several in brackets.
    Statement,
}

impl Parser<'_, '_, '_> {
    /// An operation, or several in brackets.
    pub(super) fn op(&mut self, within: Within) -> Result<(), Stop> {
        let before = self.ops.here();
        let kind = self.op_itself(within)?;
        let at = self.words.after_space();
        let locking = if self.words.accept_word("for") { Locking::ForUpdate } else { Locking::Free };
        if locking == Locking::ForUpdate {
            self.check_locking(kind, within, at)?;
        }
        match within {
            Within::Transaction if kind > Kind::Write || locking == Locking::ForUpdate => {
                self.ops.wrap(before, locking);
            }
            Within::Statement if locking == Locking::ForUpdate => self.ops.lock_last_read(),
            _ => {}
        }
        Ok(())
    }

    fn op_itself(&mut self, within: Within) -> Result<Kind, Stop> {
        let close = if within == Within::Transaction { '}' } else { ']' };
        let start = self.words.after_space();
        match self.words.peek() {
            Some('[') if within == Within::Transaction => self.statement(),
            Some('[') => Ok(wrong(start, "expected an operation or `]`; a statement is no part of another one")?),
            Some(symbol) if symbol.is_alphabetic() => self.named_op(start),
            Some(_) => {
                let expected = format!("expected `r(key,value)`, `w(key,value)`, `append(key,value)` or `{close}`");
                Ok(self.words.wrong_here(&expected)?)
            }
            None => {
                let expected = format!("expected an operation or `{close}`; a transaction stands in one line");
                Ok(self.words.wrong_here(&expected)?)
            }
        }
    }

    fn check_locking(&mut self, kind: Kind, within: Within, at: usize) -> Result<(), Wrong> {
        match (kind, within) {
            _ if !self.words.accept_word("update") => wrong(at, "expected `for update`"),
            (Kind::Write | Kind::Update, _) => {
                wrong(at, "`for update` stands behind what reads; what is written is locked anyway")
            }
            (Kind::Scan, Within::Statement) => {
                wrong(at, "`for update` stands behind the `]` of the statement that the scan is a part of")
            }
            _ => Ok(()),
        }
    }

    /// `[ r(x,1) r(y,2) ]`
    fn statement(&mut self) -> Result<Kind, Stop> {
        self.words.expect('[', "to begin a statement")?;
        while !self.words.accept(']') {
            self.op(Within::Statement)?;
        }
        Ok(Kind::Statement)
    }

    fn named_op(&mut self, start: usize) -> Result<Kind, Stop> {
        let name = self.words.take(char::is_alphanumeric);
        let read = match name {
            "r" => Self::read,
            "w" => Self::write,
            "append" => Self::append,
            "u" => Self::update,
            "del" => Self::delete,
            "scan" => Self::scan,
            "omit" => Self::omit,
            other => {
                let known = "`r`, `w`, `append`, `u`, `del`, `scan` and `omit`";
                return Ok(wrong(start, format!("`{other}` is no operation; there are {known}"))?);
            }
        };
        self.words.expect('(', "after the operation's name")?;
        read(self)
    }

    fn read(&mut self) -> Result<Kind, Stop> {
        let key = self.key_and_comma()?;
        if self.words.accept('[') {
            self.list()?;
            self.ops.push_list(key);
        } else {
            let value = self.value()?;
            self.ops.push(Access::Read, key, value);
        }
        self.words.expect(')', "after the value")?;
        Ok(Kind::Read)
    }

    fn write(&mut self) -> Result<Kind, Stop> {
        let key = self.key_and_comma()?;
        let value = self.value()?;
        self.ops.push(Access::Write, key, value);
        self.words.expect(')', "after the value")?;
        self.version(key, value)?;
        Ok(Kind::Write)
    }

    fn append(&mut self) -> Result<Kind, Stop> {
        let key = self.key_and_comma()?;
        let value = self.value()?;
        self.ops.push(Access::Append, key, value);
        self.words.expect(')', "after the value")?;
        Ok(Kind::Write)
    }

    /// `u(x,1,2)`: a read and a write in one statement.
    fn update(&mut self) -> Result<Kind, Stop> {
        let key = self.key_and_comma()?;
        let old = self.value()?;
        self.words.expect(',', "and the new value after the old one, as in `u(x,1,2)`")?;
        let new = self.value()?;
        self.words.expect(')', "after the new value")?;
        self.ops.push(Access::Read, key, old);
        self.ops.push(Access::Write, key, new);
        self.version(key, new)?;
        Ok(Kind::Update)
    }

    fn delete(&mut self) -> Result<Kind, Stop> {
        let key = self.words.datum("a key")?;
        let (key, none) = (self.sink.key(key)?, self.sink.value(Datum::Null)?);
        self.words.expect(')', "after the key of the row")?;
        self.ops.push(Access::Write, key, none);
        Ok(Kind::Write)
    }

    /// `scan(accounts, balance < 10, {accounts/1=5})`
    fn scan(&mut self) -> Result<Kind, Stop> {
        let (before, n_before) = (self.ops.here(), self.ops.len());
        let start = self.words.after_space();
        let Datum::Text(table) = self.words.datum("the name of a table")? else {
            return Ok(wrong(start, "expected the name of a table, as in `scan(accounts, all, {})`")?);
        };
        self.words.expect(',', "after the table")?;
        let predicate = self.predicate()?;
        if !self.words.accept(',') || self.words.peek() != Some('{') {
            let expected = "expected `and`, `or`, or a comma and the rows that came back, as in `, {accounts/1=5})`";
            return Ok(self.words.wrong_here(expected)?);
        }
        let extent = self.rows()?;
        self.words.expect(')', "after the rows")?;
        let is_one_row = extent == Extent::Part && self.ops.len() == n_before + 1;
        self.ops.push_scan(before, table, predicate, extent);
        self.fits()?;
        Ok(if is_one_row { Kind::Read } else { Kind::Scan })
    }

    /// `{accounts/1=5, accounts/7=3}`; with `..` at its end, there may be more.
    fn rows(&mut self) -> Result<Extent, Stop> {
        self.words.expect('{', "before the rows")?;
        let mut n_rows = 0;
        while !self.words.accept('}') {
            if n_rows > 0 {
                self.words.expect(',', "or `}` after a row")?;
                if self.words.accept_text("..") {
                    self.words.expect('}', "after `..`")?;
                    return Ok(Extent::Part);
                }
            }
            let key = self.words.datum("a row, as in `accounts/1=5`, or `}`")?;
            let key = self.sink.key(key)?;
            self.words.expect('=', "and a value after the row, as in `accounts/1=5`")?;
            let value = self.value()?;
            self.ops.push(Access::Read, key, value);
            n_rows += 1;
        }
        Ok(Extent::Whole)
    }

    /// `omit(accounts/7, balance < 10)`, or with the table, which is otherwise what stands before the first slash.
    fn omit(&mut self) -> Result<Kind, Stop> {
        let start = self.words.after_space();
        let first = self.words.datum("a row")?;
        self.words.expect(',', "and a predicate after the row")?;
        let before_second = self.words.at();
        let second = self.words.datum("a row").ok().filter(|_| self.words.accept(','));
        if second.is_none() {
            self.words.go_to(before_second);
        }
        let Some((table, row)) = table_and_row(first, second) else {
            return Ok(wrong(start, "expected a row of a table, as in `omit(accounts/7, balance < 10)`")?);
        };
        let (key, predicate) = (self.sink.key(row)?, self.predicate()?);
        self.words.expect(')', "after the predicate")?;
        self.ops.push_omission(table, predicate, key);
        self.fits()?;
        Ok(Kind::Read)
    }

    fn predicate(&mut self) -> Result<Predicate, Stop> {
        Ok(predicate::read(&mut self.words)?)
    }

    /// What is said of a version that was written.
    fn version(&mut self, key: KeyId, value: ValueId) -> Result<(), Stop> {
        if self.words.accept_word("matches") { self.matches(key, value) } else { Ok(()) }
    }

    /// `"PREDICATE" and "ANOTHER ONE"`: foreign predicates that a version matches.
    pub(super) fn matches(&mut self, key: KeyId, value: ValueId) -> Result<(), Stop> {
        loop {
            if self.words.peek() != Some('"') {
                return Ok(self.words.wrong_here("expected a predicate in quotes")?);
            }
            let foreign = self.words.quoted()?;
            self.sink.matches(&foreign, key, value, self.line)?;
            if !self.words.accept_word_before_quote("and") {
                return Ok(());
            }
        }
    }

    fn key_and_comma(&mut self) -> Result<KeyId, Stop> {
        let key = self.words.datum("a key")?;
        let key = self.sink.key(key)?;
        self.words.expect(',', "after the key")?;
        Ok(key)
    }

    pub(super) fn value(&mut self) -> Result<ValueId, Stop> {
        let value = self.words.value()?;
        Ok(self.sink.value(value)?)
    }

    fn list(&mut self) -> Result<(), Stop> {
        if self.words.accept(']') {
            return Ok(());
        }
        loop {
            let value = self.value()?;
            self.ops.element(value);
            self.fits()?;
            if self.words.accept(']') {
                return Ok(());
            }
            self.words.expect(',', "or `]` after an element of the list")?;
        }
    }

    fn fits(&self) -> Result<(), Stop> {
        Ok(self.sink.meter().fits(self.ops.bytes())?)
    }
}
