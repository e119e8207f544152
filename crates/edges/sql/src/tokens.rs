//! Words of a text of SQL with their places, and what is wrong at one.

use sqlparser::ast::{Expr, Statement};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer, Whitespace, Word};

/// Something that cannot be translated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mistake {
    /// Line and column, from 1.
    pub(crate) at: (u32, u32),
    pub(crate) message: String,
    pub(crate) hint: String,
}

/// Boxed, since mistakes are rare and results are many.
pub(crate) type Done<T> = Result<T, Box<Mistake>>;

pub(crate) fn fail<T>(at: (u32, u32), message: impl Into<String>, hint: impl Into<String>) -> Done<T> {
    Err(Box::new(Mistake { at, message: message.into(), hint: hint.into() }))
}

pub(crate) fn place(at: Location) -> (u32, u32) {
    (u32::try_from(at.line).unwrap_or(u32::MAX), u32::try_from(at.column).unwrap_or(u32::MAX))
}

/// What stands in a text: words, and comments that begin with `--`.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    Token(TokenWithSpan),
    Comment { at: (u32, u32), text: String },
}

pub(crate) fn parts(sql: &str) -> Done<Vec<Part>> {
    let tokens = Tokenizer::new(&GenericDialect {}, sql).tokenize_with_location();
    let tokens = tokens.map_err(|it| {
        let message = it.message.clone();
        Box::new(Mistake { at: place(it.location), message, hint: "texts stand in single quotes".to_owned() })
    })?;
    let part = |it: TokenWithSpan| match it.token {
        Token::Whitespace(Whitespace::SingleLineComment { comment, .. }) => {
            Some(Part::Comment { at: place(it.span.start), text: comment.trim().to_owned() })
        }
        Token::Whitespace(_) | Token::EOF => None,
        _ => Some(Part::Token(it)),
    };
    Ok(tokens.into_iter().filter_map(part).collect())
}

/// Is the token this keyword?
pub(crate) fn is_word(token: &TokenWithSpan, word: &str) -> bool {
    matches!(&token.token, Token::Word(Word { value, quote_style: None, .. }) if value.eq_ignore_ascii_case(word))
}

pub(crate) fn at(token: &TokenWithSpan) -> (u32, u32) {
    place(token.span.start)
}

/// A statement of these words.
pub(crate) fn statement(tokens: &[TokenWithSpan]) -> Done<Statement> {
    let dialect = GenericDialect {};
    let mut parser = Parser::new(&dialect).with_tokens_with_locations(tokens.to_vec());
    let statement = parser.parse_statement().map_err(|it| Box::new(mistake(&it, tokens)))?;
    rest(&mut parser)?;
    Ok(statement)
}

/// An expression of these words.
pub(crate) fn expression(tokens: &[TokenWithSpan]) -> Done<Expr> {
    let dialect = GenericDialect {};
    let mut parser = Parser::new(&dialect).with_tokens_with_locations(tokens.to_vec());
    let expr = parser.parse_expr().map_err(|it| Box::new(mistake(&it, tokens)))?;
    rest(&mut parser)?;
    Ok(expr)
}

fn rest(parser: &mut Parser<'_>) -> Done<()> {
    let next = parser.peek_token();
    if next.token == Token::EOF {
        return Ok(());
    }
    fail(at(&next), format!("`{}` means nothing here", next.token), "a statement ends with `;`")
}

/// The parser says the place in words.
fn mistake(error: &ParserError, tokens: &[TokenWithSpan]) -> Mistake {
    let text = match error {
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => text.clone(),
        ParserError::RecursionLimitExceeded => "this is nested too deeply".to_owned(),
    };
    let number = |word: &str| {
        let after = text.rsplit_once(word)?.1.trim_start();
        after.split(|it: char| !it.is_ascii_digit()).next()?.parse::<u32>().ok()
    };
    let last = tokens.last().map_or((1, 1), at);
    let at = number("Line:").zip(number("Column:")).filter(|it| it.0 > 0).unwrap_or(last);
    let said = text.split(" at Line:").next().unwrap_or(&text);
    let said = said
        .replacen("Expected: ", "expected ", 1)
        .replacen(", found:", ", found", 1)
        .replace("found EOF", "found the end");
    Mistake { at, message: said, hint: "this is read as SQL; see docs/reference/sql-programs.md".to_owned() }
}
