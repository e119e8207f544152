//! From tokens to a syntax tree, by recursive descent with operator precedence. After an error it goes on at the next item.

mod expression;
mod statement;

use crate::error::{Checked, Problem, Span, fail};
use crate::lexer::{Lexed, Tok, Token, lex, unquoted};
use crate::syntax::{Call, ClaimKind, Ident, Item, ItemKind, Keys, Param, Range, Session, Table, TxnItem};

/// How deeply statements and expressions may nest: later passes recurse over them.
const MAX_DEPTH: u32 = 100;
/// Texts beyond this are no programs.
const MAX_BYTES: usize = 1 << 20;

/// What was read: the items that could be, and everything that is wrong.
#[derive(Debug, Default)]
pub(crate) struct Parsed {
    pub(crate) items: Vec<Item>,
    /// Every text that is a value, in order of appearance; names of claims are none.
    pub(crate) texts: Vec<String>,
    pub(crate) problems: Vec<Problem>,
}

/// Reads a text.
pub(crate) fn parse_items(text: &str) -> Parsed {
    if text.len() > MAX_BYTES {
        let problem = Problem::new(Span::default(), "this text is longer than a mebibyte", "a program is a short text");
        return Parsed { problems: vec![problem], ..Parsed::default() };
    }
    let Lexed { tokens, problems } = lex(text);
    if !problems.is_empty() {
        // What the parser would miss are the signs that are named already.
        return Parsed { problems, ..Parsed::default() };
    }
    let mut parser = Parser { text, tokens, at: 0, depth: 0 };
    let mut parsed = Parsed { items: Vec::new(), texts: parser.texts(), problems };
    while parser.peek() != Tok::End {
        match parser.item() {
            Ok(item) => parsed.items.push(item),
            Err(problem) => {
                parsed.problems.push(*problem);
                parser.skip_item();
            }
        }
        while parser.eat(Tok::Semicolon) {}
    }
    parsed
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    at: usize,
    depth: u32,
}

impl Parser<'_> {
    fn texts(&self) -> Vec<String> {
        let pairs = self.tokens.iter().zip(self.tokens.iter().skip(1));
        let values = pairs.filter(|(it, next)| it.tok == Tok::Text && next.tok != Tok::Colon);
        values.map(|(it, _)| unquoted(it.span.text(self.text))).collect()
    }

    fn peek(&self) -> Tok {
        self.tokens[self.at].tok
    }

    fn peek_at(&self, ahead: usize) -> Tok {
        self.tokens.get(self.at + ahead).map_or(Tok::End, |it| it.tok)
    }

    /// Is the token that is so far ahead this word, which has a meaning in its place only?
    fn is_word(&self, ahead: usize, word: &str) -> bool {
        self.tokens.get(self.at + ahead).is_some_and(|it| it.tok == Tok::Name && it.span.text(self.text) == word)
    }

    fn span(&self) -> Span {
        self.tokens[self.at].span
    }

    fn last(&self) -> Token {
        self.tokens[self.at.saturating_sub(1)]
    }

    /// From there up to what was read last.
    fn since(&self, start: Span) -> Span {
        start.to(self.last().span)
    }

    fn next(&mut self) -> Token {
        let token = self.tokens[self.at];
        if token.tok != Tok::End {
            self.at += 1;
        }
        token
    }

    fn eat(&mut self, tok: Tok) -> bool {
        let found = self.peek() == tok;
        if found {
            self.next();
        }
        found
    }

    fn expected<T>(&self, what: &str, hint: &str) -> Checked<T> {
        let found = match self.peek() {
            Tok::End => "the end of the text".to_owned(),
            _ => format!("`{}`", self.span().text(self.text)),
        };
        fail(self.span(), format!("expected {what}, found {found}"), hint)
    }

    fn expect(&mut self, tok: Tok, what: &str, hint: &str) -> Checked<Span> {
        if self.peek() == tok { Ok(self.next().span) } else { self.expected(what, hint) }
    }

    fn ident(&mut self, what: &str) -> Checked<Ident> {
        let span = self.expect(Tok::Name, what, "a name is letters, digits and `_`, and no word of the language")?;
        Ok(Ident { text: span.text(self.text).to_owned(), span })
    }

    fn skip_item(&mut self) {
        self.depth = 0;
        while !self.peek().starts_item() {
            self.next();
        }
    }

    /// Goes one level deeper, unless this is too deep.
    fn deeper(&mut self) -> Checked<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return fail(self.span(), "this is nested too deeply", "name its parts with `let`");
        }
        Ok(())
    }

    fn item(&mut self) -> Checked<Item> {
        let start = self.span();
        if self.is_word(0, "width") {
            self.next();
            let bits = self.int("a number of bits", "as in `width 16`")?;
            return Ok(Item { kind: ItemKind::Width(bits), span: self.since(start) });
        }
        let kind = match self.next().tok {
            Tok::Enum => self.enumeration()?,
            Tok::Var => self.var()?,
            Tok::Table => ItemKind::Table(self.table()?),
            Tok::Init => ItemKind::Init(self.block()?),
            Tok::Assume => ItemKind::Assume(self.expr()?),
            Tok::Txn => ItemKind::Txn(self.txn()?),
            Tok::Run => self.run()?,
            Tok::Invariant => self.claim(ClaimKind::Invariant)?,
            Tok::Observer => self.claim(ClaimKind::Observer)?,
            _ => {
                self.at = self.at.saturating_sub(1);
                let error = self.expected(
                    "`var`, `table`, `enum`, `width`, `init`, `assume`, `txn`, `run`, `invariant` or `observer`",
                    "a program is a list of these; an operator may be missing before this",
                );
                self.next();
                return error;
            }
        };
        Ok(Item { kind, span: self.since(start) })
    }

    fn enumeration(&mut self) -> Checked<ItemKind> {
        let name = self.ident("the name of an enum")?;
        let hint = "an enum is `enum Color { red, green }`";
        self.expect(Tok::LeftBrace, "`{`", hint)?;
        let mut members = vec![self.ident("a member")?];
        while self.eat(Tok::Comma) {
            if self.peek() == Tok::RightBrace {
                break;
            }
            members.push(self.ident("a member")?);
        }
        self.expect(Tok::RightBrace, "`,` or `}`", hint)?;
        Ok(ItemKind::Enum { name, members })
    }

    fn var(&mut self) -> Checked<ItemKind> {
        let name = self.ident("the name of a variable")?;
        self.expect(Tok::Colon, "`:` and a type", "a variable is `var x: int = 0`")?;
        let ty = self.ident("a type")?;
        let initial = if self.eat(Tok::Assign) { Some(self.expr()?) } else { None };
        Ok(ItemKind::Var { name, ty, initial })
    }

    fn table(&mut self) -> Checked<Table> {
        let hint = "a table is `table accounts(id) { balance: int }`, or `table seats(no in 1..4) { .. }`";
        let name = self.ident("the name of a table")?;
        self.expect(Tok::LeftParen, "`(` and the name of the key", hint)?;
        let key = self.ident("the name of the key")?;
        let keys = if self.eat(Tok::In) { Some(self.keys()?) } else { None };
        self.expect(Tok::RightParen, "`)`", hint)?;
        let mut fields = Vec::new();
        if self.eat(Tok::LeftBrace) {
            while !self.eat(Tok::RightBrace) {
                let field = self.ident("the name of a field or `}`")?;
                self.expect(Tok::Colon, "`:` and a type", "a field is `balance: int`")?;
                fields.push((field, self.ident("a type")?));
                self.field_separator()?;
            }
        }
        Ok(Table { name, key, keys, fields })
    }

    fn keys(&mut self) -> Checked<Keys> {
        if matches!(self.peek(), Tok::Int | Tok::Minus) {
            let (start, at) = (self.span(), self.at);
            let low = self.signed()?;
            if self.peek() == Tok::DotDot {
                return Ok(Keys::Range(self.range_from(start, low)?));
            }
            self.at = at;
        }
        let mut keys = vec![self.key_constant()?];
        while self.eat(Tok::Comma) {
            keys.push(self.key_constant()?);
        }
        Ok(Keys::List(keys))
    }

    fn range(&mut self) -> Checked<Range> {
        let start = self.span();
        let low = self.signed()?;
        self.range_from(start, low)
    }

    fn range_from(&mut self, start: Span, low: i64) -> Checked<Range> {
        let hint = "a range is `0..10`, both ends included";
        self.expect(Tok::DotDot, "`..`", hint)?;
        let high = self.signed()?;
        let span = self.since(start);
        if low > high {
            return fail(span, "this range is empty", hint);
        }
        Ok(Range { low, high, span })
    }

    fn signed(&mut self) -> Checked<i64> {
        let is_negative = self.eat(Tok::Minus);
        let number = self.int("a number", "bounds of a range are numbers, as in `0..10`")?;
        Ok(if is_negative { -number } else { number })
    }

    fn int(&mut self, what: &str, hint: &str) -> Checked<i64> {
        let span = self.expect(Tok::Int, what, hint)?;
        match span.text(self.text).parse() {
            Ok(number) => Ok(number),
            Err(_) => fail(span, "this number is too large", "integers have at most 32 bits"),
        }
    }

    fn txn(&mut self) -> Checked<TxnItem> {
        let hint = "a transaction is `txn name(a, b: int) { .. }`";
        let name = self.ident("the name of a transaction")?;
        self.expect(Tok::LeftParen, "`(`", hint)?;
        let mut params = Vec::new();
        while self.peek() != Tok::RightParen {
            let param = self.ident("the name of a parameter, or `)`")?;
            let ty = if self.eat(Tok::Colon) { Some(self.ident("a type")?) } else { None };
            params.push(Param { name: param, ty });
            if !self.eat(Tok::Comma) {
                break;
            }
        }
        self.expect(Tok::RightParen, "`,` or `)`", hint)?;
        Ok(TxnItem { name, params, body: self.block()? })
    }

    fn run(&mut self) -> Checked<ItemKind> {
        let mut sessions = vec![self.session()?];
        while self.eat(Tok::Beside) {
            sessions.push(self.session()?);
        }
        Ok(ItemKind::Run(sessions))
    }

    fn session(&mut self) -> Checked<Session> {
        if self.peek() != Tok::Int {
            return Ok(Session { times: None, calls: self.calls()? });
        }
        let times = Some(self.int("a number of sessions", "")?);
        let hint = "several sessions of the same are `3 * inc()`, or `3 * (a(); b())`";
        self.expect(Tok::Star, "`*`", hint)?;
        if self.eat(Tok::LeftParen) {
            let calls = self.calls()?;
            self.expect(Tok::RightParen, "`)`", hint)?;
            return Ok(Session { times, calls });
        }
        let calls = vec![self.call()?];
        if self.peek() == Tok::Semicolon && self.peek_at(1) == Tok::Name {
            let hint = "write `3 * (a(); b())`, or put the rest in another session with `||`";
            return self.expected("`||` or the end of `run`", hint);
        }
        Ok(Session { times, calls })
    }

    fn calls(&mut self) -> Checked<Vec<Call>> {
        let mut calls = vec![self.call()?];
        // A semicolon may also end the whole item.
        while self.peek() == Tok::Semicolon && self.peek_at(1) == Tok::Name && !self.is_width(1) {
            self.next();
            calls.push(self.call()?);
        }
        Ok(calls)
    }

    fn is_width(&self, ahead: usize) -> bool {
        self.is_word(ahead, "width") && self.peek_at(ahead + 1) == Tok::Int
    }

    fn call(&mut self) -> Checked<Call> {
        let hint = "transactions run as in `run withdraw(\"x\", 100); audit() || withdraw(\"y\", 100)`";
        let start = self.span();
        let txn = self.ident("a transaction")?;
        self.expect(Tok::LeftParen, "`(` and the arguments", hint)?;
        let mut args = Vec::new();
        while self.peek() != Tok::RightParen {
            args.push(self.expr()?);
            if !self.eat(Tok::Comma) {
                break;
            }
        }
        self.expect(Tok::RightParen, "`,` or `)`", hint)?;
        Ok(Call { txn, args, span: self.since(start) })
    }

    fn claim(&mut self, kind: ClaimKind) -> Checked<ItemKind> {
        let mut label = None;
        if self.peek() == Tok::Text && self.peek_at(1) == Tok::Colon {
            label = Some(unquoted(self.next().span.text(self.text)));
            self.next();
        }
        Ok(ItemKind::Claim { kind, label, holds: self.expr()? })
    }
}
