//! A text of SQL from its first line to its last: tables, first rows, transactions, and what comments say.

use crate::Piece;
use crate::expression::{Kind, Scope};
use crate::names::{Fresh, plain};
use crate::query::bare;
use crate::schema::{Table, table, type_of};
use crate::statement::Item;
use crate::tokens::{Done, Mistake, Part, at, expression, fail, is_word, parts, statement};
use sqlparser::ast::Statement;
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// What was read so far.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(crate) pieces: Vec<Piece>,
    pub(crate) mistakes: Vec<Mistake>,
    tables: Vec<Table>,
    /// The transaction that a comment announced.
    announced: Option<Announced>,
    fresh: Fresh,
    /// What runs, with its place.
    runs: Vec<((u32, u32), String)>,
}

#[derive(Clone, Debug)]
struct Announced {
    at: (u32, u32),
    name: String,
    params: Vec<(String, &'static str)>,
}

/// The words that begin a comment that is part of the program.
const DIRECTIVES: &[&str] = &["transaction", "run", "invariant", "observer", "assume", "width"];

impl Script {
    /// Reads a text. Mistakes of one statement are kept, and the next one is read.
    pub(crate) fn read(&mut self, sql: &str) -> Done<()> {
        let parts = parts(sql)?;
        for part in &parts {
            match part {
                Part::Token(TokenWithSpan { token: Token::Word(word), .. }) => {
                    self.fresh.used.insert(plain(&word.value.to_lowercase()));
                }
                Part::Comment { text, .. } => {
                    let words = text.split(|it: char| !it.is_alphanumeric() && it != '_');
                    self.fresh.used.extend(words.map(|it| plain(&it.to_lowercase())));
                }
                Part::Token(_) => {}
            }
        }
        let mut next = 0;
        while next < parts.len() {
            let done = match &parts[next] {
                Part::Comment { at, text } => {
                    next += 1;
                    self.comment(*at, text)
                }
                Part::Token(token) if token.token == Token::SemiColon => {
                    next += 1;
                    Ok(())
                }
                Part::Token(token) if is_word(token, "begin") || is_word(token, "start") => {
                    let (tokens, after) = until_commit(&parts, next);
                    next = after;
                    if tokens.is_err() {
                        self.announced = None;
                    }
                    tokens.and_then(|it| self.transaction(&it))
                }
                Part::Token(_) => {
                    let (tokens, after) = until_semicolon(&parts, next);
                    next = after;
                    self.outside(&tokens)
                }
            };
            self.mistakes.extend(done.err().map(|it| *it));
        }
        if let Some(announced) = self.announced.take() {
            return fail(announced.at, format!("`{}` has no statements", announced.name), "BEGIN; .. COMMIT; follows");
        }
        if let Some((at, _)) = self.runs.first().cloned() {
            let runs: Vec<String> = self.runs.iter().map(|it| it.1.clone()).collect();
            self.piece(at, 0, format!("run {}", runs.join(" || ")));
            self.pieces.sort_by_key(|it| it.line);
        }
        Ok(())
    }

    fn piece(&mut self, at: (u32, u32), indent: usize, text: String) {
        self.pieces.push(Piece { line: at.0, indent, text });
    }

    fn scope(&self, kind: Kind, at: (u32, u32)) -> Scope<'_> {
        Scope {
            tables: &self.tables,
            rows: Vec::new(),
            params: Vec::new(),
            values: Vec::new(),
            kind,
            found: None,
            fresh: self.fresh.clone(),
            at,
        }
    }

    /// A comment that begins with a word of ours is part of the program.
    fn comment(&mut self, at: (u32, u32), text: &str) -> Done<()> {
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let rest = rest.trim();
        if !DIRECTIVES.contains(&word) {
            return Ok(());
        }
        match word {
            "transaction" => self.announce(at, rest),
            "run" => {
                self.runs.push((at, rest.trim_end_matches(';').replace('\'', "\"")));
                Ok(())
            }
            "width" => {
                self.piece(at, 0, format!("width {rest}"));
                Ok(())
            }
            _ => self.claim(at, word, rest),
        }
    }

    fn announce(&mut self, at: (u32, u32), text: &str) -> Done<()> {
        let hint = "write `-- transaction Transfer(source int, target int, amount int)` before BEGIN";
        let Some((name, rest)) = text.split_once('(') else {
            return fail(at, "this names no transaction", hint);
        };
        let Some((params, _)) = rest.rsplit_once(')') else {
            return fail(at, "the parameters of this transaction have no end", hint);
        };
        if let Some(before) = self.announced.take() {
            return fail(before.at, format!("`{}` has no statements", before.name), "BEGIN; .. COMMIT; follows");
        }
        let name = plain(name.trim());
        let mut announced = Announced { at, name, params: Vec::new() };
        for param in params.split(',').map(str::trim).filter(|it| !it.is_empty()) {
            let (of, ty) = param.split_once(char::is_whitespace).unwrap_or((param, ""));
            let dialect = GenericDialect {};
            let parsed = Parser::new(&dialect).try_with_sql(ty).and_then(|mut it| it.parse_data_type());
            let Ok(ty) = parsed else {
                return fail(at, format!("the parameter `{of}` has no type"), hint);
            };
            let of = plain(&of.trim_start_matches(':').to_lowercase());
            announced.params.push((of, type_of(&ty, at)?));
        }
        self.announced = Some(announced);
        Ok(())
    }

    /// `invariant`, `observer` or `assume` with a condition in SQL.
    fn claim(&mut self, at: (u32, u32), word: &str, text: &str) -> Done<()> {
        let (label, condition) = match text.strip_prefix('"').and_then(|it| it.split_once("\":")) {
            Some((label, condition)) if word != "assume" => (format!("\"{label}\": "), condition),
            _ => (String::new(), text),
        };
        // The condition is read as if it stood alone, where it stands.
        let before = at.1 as usize - 1 + "-- ".len() + word.len() + 1 + (text.len() - condition.len());
        let padded = format!("{}{}{condition}", "\n".repeat(at.0 as usize - 1), " ".repeat(before));
        let mut tokens = Vec::new();
        for part in parts(&padded)? {
            if let Part::Token(token) = part {
                tokens.push(token);
            }
        }
        while tokens.last().is_some_and(|it| it.token == Token::SemiColon) {
            tokens.pop();
        }
        if tokens.is_empty() {
            return fail(at, format!("this {word} says nothing"), "a condition of SQL follows");
        }
        let mut scope = self.scope(Kind::Claim, at);
        let holds = scope.expr(&expression(&tokens)?)?;
        let text = format!("{word} {label}{}", bare(&holds));
        self.piece(at, 0, text);
        Ok(())
    }

    /// A statement outside of transactions: tables, and rows that exist at first.
    fn outside(&mut self, tokens: &[TokenWithSpan]) -> Done<()> {
        let start = at(&tokens[0]);
        let second = tokens.get(1);
        let is_second = |word: &str| second.is_some_and(|it| is_word(it, word));
        if is_word(&tokens[0], "drop") || is_word(&tokens[0], "create") && is_second("index") {
            return Ok(());
        }
        match statement(tokens)? {
            Statement::CreateTable(create) => {
                let table = table(&create, start)?;
                if self.tables.iter().any(|it| it.name == table.name) {
                    return fail(start, format!("there are two tables `{}`", table.name), "choose another name");
                }
                self.piece(start, 0, table.declared());
                self.tables.push(table);
                Ok(())
            }
            Statement::Insert(insert) if insert.on.is_none() && !insert.ignore => {
                let mut scope = self.scope(Kind::Statement, start);
                let (_, rows) = scope.new_rows(&insert)?;
                let rows: Vec<String> =
                    rows.into_iter().map(|it| format!("insert {}{}", it.access, it.record)).collect();
                self.piece(start, 0, format!("init {{ {} }}", rows.join("; ")));
                Ok(())
            }
            _ => {
                let hint =
                    "outside of transactions there are CREATE TABLE and INSERT; a transaction is BEGIN; .. COMMIT;";
                let words: Vec<String> = tokens.iter().take(2).map(|it| it.token.to_string()).collect();
                fail(start, format!("`{} ..` is not understood here", words.join(" ")), hint)
            }
        }
    }

    fn transaction(&mut self, tokens: &[TokenWithSpan]) -> Done<()> {
        let begin = at(&tokens[0]);
        let Some(Announced { at: named_at, name, params }) = self.announced.take() else {
            let hint = "put a comment before it: `-- transaction Transfer(source int, amount int)`";
            return fail(begin, "this transaction has no name", hint);
        };
        let start = tokens.iter().position(|it| it.token == Token::SemiColon).unwrap_or(tokens.len());
        if tokens[..start].iter().any(|it| is_word(it, "isolation")) {
            let hint = "leave it out: levels are asked about with --database or --level";
            return fail(begin, "the isolation level is no part of the program", hint);
        }
        let mut reader = Reader { tokens, next: start };
        let (items, end) = reader.block()?;
        let mut scope = self.scope(Kind::Statement, begin);
        scope.params = params.iter().map(|it| it.0.clone()).collect();
        let mut pieces = Vec::new();
        let params: Vec<String> = params.iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
        pieces.push(Piece { line: named_at.0, indent: 0, text: format!("txn {name}({}) {{", params.join(", ")) });
        scope.block(&items, 1, &mut pieces)?;
        pieces.push(Piece { line: end.0, indent: 0, text: "}".to_owned() });
        self.pieces.extend(pieces);
        Ok(())
    }
}

/// The words up to a semicolon, and what comes after it.
fn until_semicolon(parts: &[Part], from: usize) -> (Vec<TokenWithSpan>, usize) {
    let mut tokens = Vec::new();
    for (idx, part) in parts.iter().enumerate().skip(from) {
        match part {
            Part::Token(token) if token.token == Token::SemiColon => return (tokens, idx + 1),
            Part::Token(token) => tokens.push(token.clone()),
            Part::Comment { .. } => {}
        }
    }
    (tokens, parts.len())
}

/// The words of a transaction with its COMMIT, and what comes after it.
fn until_commit(parts: &[Part], from: usize) -> (Done<Vec<TokenWithSpan>>, usize) {
    let mut tokens: Vec<TokenWithSpan> = Vec::new();
    // How many IF, CASE and loops are open, which have an END of their own.
    let mut n_open = 0;
    for (idx, part) in parts.iter().enumerate().skip(from) {
        let Part::Token(token) = part else { continue };
        let begins =
            tokens.last().is_none_or(|it| it.token == Token::SemiColon || is_word(it, "then") || is_word(it, "else"));
        let is_after_end = tokens.last().is_some_and(|it| is_word(it, "end"));
        let is_opened = (is_word(token, "case") || is_word(token, "loop")) && !is_after_end;
        if is_opened || begins && is_word(token, "if") {
            n_open += 1;
        }
        if !begins && n_open == 0 && is_word(token, "commit") {
            let hint = "each statement ends with `;`, also the last one before COMMIT";
            return (fail(at(token), "the statement before this has no end", hint), idx + 1);
        }
        let is_end = is_word(token, "end");
        let is_last = begins && n_open == 0 && (is_word(token, "commit") || is_end || is_word(token, "rollback"));
        if is_end {
            n_open = (n_open - 1).max(0);
        }
        tokens.push(token.clone());
        if is_last {
            return (Ok(tokens), idx + 1);
        }
    }
    let at = tokens.first().map_or((1, 1), at);
    (fail(at, "this transaction has no end", "it ends with COMMIT; or ROLLBACK;"), parts.len())
}

/// Reads statements and IF out of the words of a transaction.
struct Reader<'t> {
    tokens: &'t [TokenWithSpan],
    next: usize,
}

impl Reader<'_> {
    fn is(&self, word: &str) -> bool {
        self.tokens.get(self.next).is_some_and(|it| is_word(it, word))
    }

    fn here(&self) -> (u32, u32) {
        self.tokens.get(self.next).or(self.tokens.last()).map_or((1, 1), at)
    }

    /// Statements up to an END, ELSE or COMMIT, and where that stands.
    fn block(&mut self) -> Done<(Vec<Item>, (u32, u32))> {
        let mut items = Vec::new();
        while self.next < self.tokens.len() {
            let here = self.here();
            if self.tokens[self.next].token == Token::SemiColon {
                self.next += 1;
            } else if ["end", "else", "elsif", "elseif", "commit"].iter().any(|it| self.is(it)) {
                return Ok((items, here));
            } else if self.is("rollback") {
                self.next += 1;
                items.push(Item::Rollback(here));
                if self.next == self.tokens.len() {
                    return Ok((items, here));
                }
            } else if self.is("if") {
                items.push(self.branch()?);
            } else {
                let end = (self.next..self.tokens.len()).find(|it| self.tokens[*it].token == Token::SemiColon);
                let end = end.unwrap_or(self.tokens.len());
                items.push(Item::Sql(self.tokens[self.next..end].to_vec()));
                self.next = end;
            }
        }
        Ok((items, self.here()))
    }

    fn branch(&mut self) -> Done<Item> {
        let start = self.here();
        self.next += 1;
        let (mut n_cases, from) = (0, self.next);
        while self.next < self.tokens.len() && !(n_cases == 0 && self.is("then")) {
            n_cases += i32::from(self.is("case")) - i32::from(self.is("end"));
            self.next += 1;
        }
        if self.next == self.tokens.len() {
            return fail(start, "this IF has no THEN", "write IF .. THEN ..; ELSE ..; END IF;");
        }
        let condition = self.tokens[from..self.next].to_vec();
        self.next += 1;
        let (then, at_else) = self.block()?;
        let mut otherwise = None;
        if self.is("elsif") || self.is("elseif") {
            let inner = self.branch()?;
            let Item::If { end, .. } = &inner else { unreachable!("a branch is an IF") };
            let end = *end;
            return Ok(Item::If { at: start, condition, then, otherwise: Some((at_else, vec![inner])), end });
        }
        if self.is("else") {
            self.next += 1;
            otherwise = Some((at_else, self.block()?.0));
        }
        let end = self.here();
        if !self.is("end") {
            return fail(start, "this IF has no end", "write IF .. THEN ..; END IF;");
        }
        self.next += 1;
        if !self.is("if") {
            return fail(end, "this END ends an IF", "write END IF;");
        }
        self.next += 1;
        Ok(Item::If { at: start, condition, then, otherwise, end })
    }
}
