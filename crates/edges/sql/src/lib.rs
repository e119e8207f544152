//! Programs in SQL: tables, and transactions as blocks of statements, translated into the language of programs.
//!
//! The text stays SQL: what SQL has no words for stands in comments. The translation has every statement on the line of
//! its original, so that whatever is said about a line is true of both.
//!
//! ```
//! let sql = "\
//! CREATE TABLE counters (id int PRIMARY KEY, n int);
//! INSERT INTO counters VALUES (1, 0);
//! -- transaction Hit()
//! BEGIN;
//! UPDATE counters SET n = n + 1 WHERE id = 1;
//! COMMIT;
//! -- run Hit() || Hit()
//! -- invariant (SELECT n FROM counters WHERE id = 1) = 2
//! ";
//! let translation = iso_sql::translate(sql, "hits.sql").unwrap();
//! assert!(translation.in_place().contains("counters[1].n += 1"));
//! assert!(iso_program::parse(&translation.in_place(), "hits.sql").is_ok());
//! ```

mod condition;
mod expression;
mod insert;
mod names;
mod query;
mod schema;
mod script;
mod statement;
mod tokens;

use iso_program::ProgramError;
use script::Script;
use tokens::Mistake;

/// A program as the language of programs has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translation {
    pieces: Vec<Piece>,
}

/// A line of the translation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Where its original stands.
    pub(crate) line: u32,
    pub(crate) indent: usize,
    pub(crate) text: String,
}

/// Is a file of this name a program in SQL?
pub fn is_sql(file: &str) -> bool {
    file.rsplit_once('.').is_some_and(|it| it.1.eq_ignore_ascii_case("sql"))
}

/// Translates a program. `file` is what messages call it.
pub fn translate(sql: &str, file: &str) -> Result<Translation, Vec<ProgramError>> {
    let located = |it: Mistake| {
        let (line, column) = it.at;
        ProgramError { file: file.to_owned(), line, column, message: it.message, hint: it.hint }
    };
    let mut script = Script::default();
    match script.read(sql) {
        Ok(()) if script.mistakes.is_empty() => Ok(Translation { pieces: script.pieces }),
        done => Err(script.mistakes.into_iter().chain(done.err().map(|it| *it)).map(located).collect()),
    }
}

impl Translation {
    /// The text in which every statement stands on the line of its original.
    pub fn in_place(&self) -> String {
        let (mut text, mut line) = (String::new(), 1);
        for piece in &self.pieces {
            while line < piece.line {
                text.push('\n');
                line += 1;
            }
            if !text.is_empty() && !text.ends_with('\n') {
                text.push_str(if text.ends_with('{') || piece.text.starts_with('}') { " " } else { "; " });
            }
            text.push_str(&piece.text);
        }
        text.push('\n');
        text
    }

    /// The text as a person writes it.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for piece in &self.pieces {
            if piece.indent == 0 && piece.text.starts_with("txn") {
                text.push('\n');
            }
            text.push_str(&" ".repeat(4 * piece.indent));
            text.push_str(&piece.text);
            text.push('\n');
        }
        text
    }
}
