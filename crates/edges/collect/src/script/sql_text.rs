//! Reads scripts from the SQL that `sql.rs` writes. No other SQL is understood: what a statement reads and writes must be known.

use super::saved::SavedScript;
use super::text::NotAScript;
use super::{Action, Answer, Script, ScriptStep};
use crate::answered::only_row;
use crate::recorder::row_name;
use crate::{Table, Value, Values};
use iso_history::{Column, Comparison, Datum, Locking, Predicate};
use std::collections::BTreeMap;

const PREFIX: &str = "isoscope_";

/// A step, with its line and its answer.
type NumberedStep = (ScriptStep, usize, Option<String>);

/// What has been read so far.
#[derive(Debug, Default)]
pub(super) struct SqlReader {
    tables: Vec<Table>,
    rows: Vec<(String, String, Value)>,
    /// The session whose statements come now.
    session: Option<String>,
    /// The isolation level that the session was set to.
    isolation: String,
    /// By number. Sessions share one where their statements are sent at the same time.
    steps: BTreeMap<usize, Vec<NumberedStep>>,
    /// Does a backslash escape what follows?
    has_escapes: bool,
}

/// What a step answered, in one line.
pub(super) fn answer_of(answer: &Answer) -> String {
    answer.to_string().replace('\n', " ")
}

impl SqlReader {
    pub(super) fn read(text: &str) -> Result<SavedScript, NotAScript> {
        let mut reader = Self { has_escapes: text.contains("ENGINE=InnoDB"), ..Self::default() };
        for (idx, line) in text.lines().enumerate() {
            reader.line(line.trim(), idx + 1).map_err(|what| NotAScript { line: idx + 1, what })?;
        }
        let (mut steps, mut lines, mut recorded) = (Vec::new(), Vec::new(), Vec::new());
        for (step, line, answer) in reader.steps.into_iter().flat_map(in_group) {
            steps.push(step);
            lines.push(line);
            recorded.push(answer);
        }
        let script = Script { tables: reader.tables, rows: reader.rows, steps };
        Ok(SavedScript { script, lines, recorded, expect: None })
    }

    fn line(&mut self, line: &str, number: usize) -> Result<(), String> {
        if let Some(comment) = line.strip_prefix("--") {
            if let Some(session) = comment.trim().strip_prefix("Session ") {
                self.session = Some(session.trim().to_owned());
                self.isolation = String::new();
            }
            return Ok(());
        }
        // A script may come with the marks of the page that it was copied from.
        if line.is_empty() || line.starts_with("```") {
            return Ok(());
        }
        let Some(rest) = line.strip_prefix("/*") else {
            let (statement, _) = self.statement(line)?;
            return self.setting(&statement).ok_or_else(|| no_statement(line));
        };
        let (nth, rest) = rest.split_once("*/").ok_or("the number of the statement has no `*/`")?;
        let nth: usize = nth.trim().parse().map_err(|_| "expected the number of the statement, as in `/* 1 */`")?;
        let (tokens, answer) = self.statement(rest.trim())?;
        let session =
            self.session.clone().ok_or("the statement belongs to no session; begin it with `-- Session s1`")?;
        let action = self.action(&tokens).ok_or_else(|| no_statement(rest))?;
        let same = self.steps.entry(nth).or_default();
        if same.iter().any(|it| it.0.session == session) {
            return Err(format!("there are two statements with the number {nth}"));
        }
        same.push((ScriptStep::alone(session, action), number, answer));
        Ok(())
    }

    /// The words of a statement, and what stands behind it.
    fn statement(&self, text: &str) -> Result<(Vec<Token>, Option<String>), String> {
        let (tokens, rest) = tokens(text, self.has_escapes).ok_or("the statement has no `;` at its end")?;
        let answer = rest.trim().strip_prefix("--").map(|it| it.trim().to_owned());
        Ok((tokens, answer))
    }

    /// What makes tables and rows, and what sets sessions.
    fn setting(&mut self, tokens: &[Token]) -> Option<()> {
        let mut words = Cursor::new(tokens);
        if words.accept(&["create", "table"]) {
            let name = words.table()?;
            let is_int = |it: &str| ["bigint", "integer", "int"].contains(&it);
            words.accept(&["(", "id"]).then_some(())?;
            let ids = if is_int(&words.word()?) { Values::Int } else { Values::Text };
            words.skip_to("value")?;
            let values = if is_int(&words.word()?) { Values::Int } else { Values::Text };
            self.tables.push(Table { name, values, ids });
        } else if words.accept(&["insert"]) {
            let (table, row, value) = words.insert()?;
            self.rows.push((table, row, value));
        } else if words.accept(&["set", "session", "transaction", "isolation", "level"]) {
            self.isolation = words.rest_of_words()?;
        } else if words.accept(&["set", "session", "innodb_snapshot_isolation", "=", "on"]) {
            "snapshot-isolation".clone_into(&mut self.isolation);
        } else if words.accept(&["set", "session", "innodb_snapshot_isolation", "=", "off"]) {
            // The level that was set before says it.
        } else {
            return None;
        }
        Some(())
    }

    fn action(&self, tokens: &[Token]) -> Option<Action> {
        let mut words = Cursor::new(tokens);
        let action = if words.accept(&["begin", "isolation", "level"]) {
            Action::Begin { isolation: words.rest_of_words()? }
        } else if words.accept(&["begin", "deferred"]) {
            Action::Begin { isolation: "serializable".to_owned() }
        } else if words.accept(&["begin", "immediate"]) {
            Action::Begin { isolation: "serializable-immediate".to_owned() }
        } else if words.accept(&["begin"]) || words.accept(&["start", "transaction"]) {
            Action::Begin { isolation: self.isolation.clone() }
        } else if words.accept(&["commit"]) {
            Action::Commit
        } else if words.accept(&["rollback"]) {
            Action::Abort
        } else if words.accept(&["insert"]) {
            let (table, row, value) = words.insert()?;
            Action::Insert { table, row, value }
        } else if words.accept(&["select", "value", "from"]) {
            let table = words.table()?;
            words.accept(&["where", "id", "="]).then_some(())?;
            Action::Get { table, row: words.key()? }
        } else if words.accept(&["select", "id", ",", "value", "from"]) {
            let (table, predicate) = (words.table()?, words.clause()?);
            words.accept(&["order", "by", "id"]);
            let is_locked = words.accept(&["for", "update"]);
            Action::Scan { table, predicate, locking: if is_locked { Locking::ForUpdate } else { Locking::Free } }
        } else if words.accept(&["delete", "from"]) {
            let (table, predicate) = (words.table()?, words.clause()?);
            words.accept(&["returning", "id", ",", "value"]);
            Action::Delete { table, predicate }
        } else if words.accept(&["update"]) {
            words.update()?
        } else {
            return None;
        };
        words.is_at_end().then_some(action)
    }
}

/// Statements of one number: several are sent at the same time.
fn in_group((nth, mut same): (usize, Vec<NumberedStep>)) -> Vec<NumberedStep> {
    if same.len() > 1 {
        for (step, ..) in &mut same {
            step.together = Some(nth);
        }
    }
    same
}

fn no_statement(text: &str) -> String {
    let end = text.rfind(';').unwrap_or(text.len());
    format!("`{}` is no statement of a script; docs/replay.md has those that there are", text[..end].trim())
}

/// A word of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// A name or a keyword, in small letters, or a sign.
    Word(String),
    Number(i64),
    Text(String),
}

/// The words up to the `;`, and the rest; none if there is no end.
fn tokens(text: &str, has_escapes: bool) -> Option<(Vec<Token>, &str)> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    loop {
        let first = rest.chars().next()?;
        let taken = match first {
            ';' => return Some((tokens, &rest[1..])),
            '\'' => {
                let (text, length) = quoted(rest, has_escapes)?;
                tokens.push(Token::Text(text));
                length
            }
            _ if first.is_ascii_digit() || first == '-' && rest[1..].starts_with(|it: char| it.is_ascii_digit()) => {
                let end = rest[1..].find(|it: char| !it.is_ascii_digit()).map_or(rest.len(), |it| it + 1);
                tokens.push(Token::Number(rest[..end].parse().ok()?));
                end
            }
            _ if first.is_alphanumeric() || first == '_' || first == '@' => {
                let end = rest.find(|it: char| !it.is_alphanumeric() && it != '_' && it != '@').unwrap_or(rest.len());
                tokens.push(Token::Word(rest[..end].to_ascii_lowercase()));
                end
            }
            _ => {
                let signs = ["<>", "<=", ">=", "!=", "||"];
                let sign = signs.into_iter().find(|it| rest.starts_with(*it));
                let length = sign.map_or(first.len_utf8(), str::len);
                tokens.push(Token::Word(rest[..length].to_owned()));
                length
            }
        };
        rest = rest[taken..].trim_start();
    }
}

/// A text in quotes, and how long it is with them.
fn quoted(rest: &str, has_escapes: bool) -> Option<(String, usize)> {
    let mut text = String::new();
    let mut letters = rest.char_indices().skip(1).peekable();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\'' if letters.next_if(|it| it.1 == '\'').is_some() => text.push('\''),
            '\'' => return Some((text, at + 1)),
            '\\' if has_escapes => text.push(letters.next()?.1),
            other => text.push(other),
        }
    }
    None
}

struct Cursor<'t> {
    tokens: &'t [Token],
    at: usize,
}

impl<'t> Cursor<'t> {
    fn new(tokens: &'t [Token]) -> Self {
        Self { tokens, at: 0 }
    }

    fn is_at_end(&self) -> bool {
        self.at == self.tokens.len()
    }

    fn next(&mut self) -> Option<&'t Token> {
        self.at += 1;
        self.tokens.get(self.at - 1)
    }

    /// Takes these words if all of them come next.
    fn accept(&mut self, words: &[&str]) -> bool {
        let is_next = words
            .iter()
            .enumerate()
            .all(|(idx, word)| matches!(self.tokens.get(self.at + idx), Some(Token::Word(found)) if found == word));
        if is_next {
            self.at += words.len();
        }
        is_next
    }

    fn word(&mut self) -> Option<String> {
        match self.next()? {
            Token::Word(word) => Some(word.clone()),
            _ => None,
        }
    }

    /// The words that are left, as a name: `repeatable-read`.
    fn rest_of_words(&mut self) -> Option<String> {
        let mut words = Vec::new();
        while !self.is_at_end() {
            words.push(self.word()?);
        }
        (!words.is_empty()).then(|| words.join("-"))
    }

    fn skip_to(&mut self, word: &str) -> Option<()> {
        while !self.accept(&[word]) {
            self.next()?;
        }
        Some(())
    }

    fn table(&mut self) -> Option<String> {
        let name = self.word()?;
        Some(name.strip_prefix(PREFIX).unwrap_or(&name).to_owned())
    }

    fn value(&mut self) -> Option<Value> {
        match self.next()? {
            Token::Number(number) => Some(Value::Int(*number)),
            Token::Text(text) => Some(Value::Text(text.clone())),
            Token::Word(_) => None,
        }
    }

    fn key(&mut self) -> Option<String> {
        self.value().map(|it| it.to_string())
    }

    /// `INTO t (value, id) VALUES (0, 'x')`, after `INSERT`.
    fn insert(&mut self) -> Option<(String, String, Value)> {
        self.accept(&["into"]).then_some(())?;
        let table = self.table()?;
        self.accept(&["(", "value", ",", "id", ")", "values", "("]).then_some(())?;
        let value = self.value()?;
        self.accept(&[","]).then_some(())?;
        let row = self.key()?;
        self.accept(&[")"]).then_some((table, row, value))
    }

    /// `t SET value = ..`, after `UPDATE`.
    fn update(&mut self) -> Option<Action> {
        const COMMA: [&str; 4] = ["case", "when", "value", "="];
        let table = self.table()?;
        self.accept(&["set", "value", "="]).then_some(())?;
        let is_call = self.accept(&["concat", "(", "value", ","]);
        if is_call || self.accept(&["value", "||"]) {
            self.accept(&COMMA).then_some(())?;
            self.skip_to("end")?;
            self.accept(&[if is_call { "," } else { "||" }]).then_some(())?;
            let element = self.key()?.parse().ok()?;
            if is_call {
                self.accept(&[")"]).then_some(())?;
            }
            self.accept(&["where", "id", "="]).then_some(())?;
            return Some(Action::Append { table, row: self.key()?, element });
        }
        if self.accept(&["value", "+"]) {
            let Value::Int(by) = self.value()? else { return None };
            let predicate = self.clause()?;
            self.accept(&["returning", "id", ",", "value"]);
            return Some(Action::Add { table, predicate, by });
        }
        let value = self.value()?;
        let row = only_row(&self.clause()?)?;
        Some(Action::Put { table, row, value })
    }

    /// ` WHERE ..`, or nothing.
    fn clause(&mut self) -> Option<Predicate> {
        if self.accept(&["where"]) { self.condition() } else { Some(Predicate::All) }
    }

    /// Conditions in brackets, joined by one word; or one of them.
    fn condition(&mut self) -> Option<Predicate> {
        if let Some(remainder) = self.remainder() {
            return Some(remainder);
        }
        if !matches!(self.tokens.get(self.at), Some(Token::Word(it)) if it == "(") {
            return self.comparison();
        }
        let mut parts = vec![self.bracketed()?];
        let word = ["and", "or"].into_iter().find(|it| self.accept(&[it]));
        let Some(word) = word else { return parts.pop() };
        parts.push(self.bracketed()?);
        while self.accept(&[word]) {
            parts.push(self.bracketed()?);
        }
        Some(if word == "and" { Predicate::And(parts) } else { Predicate::Or(parts) })
    }

    fn bracketed(&mut self) -> Option<Predicate> {
        self.accept(&["("]).then_some(())?;
        let inner = self.condition()?;
        self.accept(&[")"]).then_some(inner)
    }

    /// `(value % 2 + 2) % 2 = 1`
    fn remainder(&mut self) -> Option<Predicate> {
        let start = self.at;
        let found = self.remainder_here();
        if found.is_none() {
            self.at = start;
        }
        found
    }

    fn remainder_here(&mut self) -> Option<Predicate> {
        self.accept(&["("]).then_some(())?;
        let column = self.column()?;
        self.accept(&["%"]).then_some(())?;
        let divisor = self.number()?;
        self.accept(&["+"]).then_some(())?;
        let again = self.number()?;
        self.accept(&[")", "%"]).then_some(())?;
        let third = self.number()?;
        self.accept(&["="]).then_some(())?;
        let remainder = self.number()?;
        (divisor == again && again == third && divisor > 0).then_some(Predicate::Remainder {
            column,
            divisor,
            remainder,
        })
    }

    fn number(&mut self) -> Option<i64> {
        match self.next()? {
            Token::Number(number) => Some(*number),
            _ => None,
        }
    }

    fn comparison(&mut self) -> Option<Predicate> {
        if self.accept(&["not"]) {
            return Some(Predicate::Not(Box::new(self.bracketed()?)));
        }
        if let Some(Token::Number(1)) = self.tokens.get(self.at) {
            self.at += 1;
            self.accept(&["="]).then_some(())?;
            return match self.number()? {
                1 => Some(Predicate::All),
                0 => Some(Predicate::Or(Vec::new())),
                _ => None,
            };
        }
        let column = self.column()?;
        if self.accept(&["between"]) {
            let low = self.constant(&column)?;
            self.accept(&["and"]).then_some(())?;
            let high = self.constant(&column)?;
            return Some(Predicate::Between(column, low, high));
        }
        if self.accept(&["in", "("]) {
            let mut constants = vec![self.constant(&column)?];
            while self.accept(&[","]) {
                constants.push(self.constant(&column)?);
            }
            return self.accept(&[")"]).then_some(Predicate::OneOf(column, constants));
        }
        let comparison = match self.word()?.as_str() {
            "=" => Comparison::Equal,
            "<>" | "!=" => Comparison::Different,
            "<" => Comparison::Less,
            "<=" => Comparison::AtMost,
            ">" => Comparison::Greater,
            ">=" => Comparison::AtLeast,
            _ => return None,
        };
        let constant = self.constant(&column)?;
        Some(Predicate::Compare(column, comparison, constant))
    }

    fn column(&mut self) -> Option<Column> {
        match self.word()?.as_str() {
            "id" => Some(Column::Key),
            "value" => Some(Column::Named("value".into())),
            _ => None,
        }
    }

    fn constant(&mut self, column: &Column) -> Option<Datum> {
        let value = self.value()?;
        Some(match column {
            Column::Key => row_name(&value.to_string()).to_datum(),
            Column::Named(_) => value.into(),
        })
    }
}
