//! Cuts a program text into words and signs.

use crate::error::{Problem, Span};

/// The kind of a token; its text is a piece of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tok {
    Name,
    Int,
    Text,
    Enum,
    Var,
    Table,
    Init,
    Assume,
    Txn,
    Run,
    Invariant,
    Observer,
    Let,
    If,
    Then,
    Else,
    For,
    In,
    Insert,
    Delete,
    Maybe,
    Abort,
    Assert,
    Forall,
    Exists,
    Any,
    And,
    Or,
    Not,
    Implies,
    True,
    False,
    LeftParen,
    RightParen,
    LeftBracket,
    RightBracket,
    LeftBrace,
    RightBrace,
    Comma,
    Colon,
    Semicolon,
    Dot,
    DotDot,
    Assign,
    AddAssign,
    SubAssign,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Plus,
    Minus,
    Star,
    Beside,
    End,
}

impl Tok {
    /// Does an item of a program start here?
    pub(crate) fn starts_item(self) -> bool {
        use Tok::{Assume, End, Enum, Init, Invariant, Observer, Run, Table, Txn, Var};
        matches!(self, Enum | Var | Table | Init | Assume | Txn | Run | Invariant | Observer | End)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) tok: Tok,
    pub(crate) span: Span,
    /// Is it the first of its line?
    pub(crate) starts_line: bool,
}

/// What the lexer found: tokens up to [`Tok::End`], and characters that mean nothing.
#[derive(Debug, Default)]
pub(crate) struct Lexed {
    pub(crate) tokens: Vec<Token>,
    pub(crate) problems: Vec<Problem>,
}

/// Words with a meaning of their own. `width`, `count`, `sum` and `update` mean something in their places only.
pub(crate) const WORDS: &[(&str, Tok)] = &[
    ("enum", Tok::Enum),
    ("var", Tok::Var),
    ("table", Tok::Table),
    ("init", Tok::Init),
    ("assume", Tok::Assume),
    ("txn", Tok::Txn),
    ("run", Tok::Run),
    ("invariant", Tok::Invariant),
    ("observer", Tok::Observer),
    ("let", Tok::Let),
    ("if", Tok::If),
    ("then", Tok::Then),
    ("else", Tok::Else),
    ("for", Tok::For),
    ("in", Tok::In),
    ("insert", Tok::Insert),
    ("delete", Tok::Delete),
    ("maybe", Tok::Maybe),
    ("abort", Tok::Abort),
    ("assert", Tok::Assert),
    ("forall", Tok::Forall),
    ("exists", Tok::Exists),
    ("any", Tok::Any),
    ("and", Tok::And),
    ("or", Tok::Or),
    ("not", Tok::Not),
    ("implies", Tok::Implies),
    ("true", Tok::True),
    ("false", Tok::False),
];

/// Longer signs first: the first that fits wins.
const SIGNS: &[(&str, Tok)] = &[
    ("..", Tok::DotDot),
    ("+=", Tok::AddAssign),
    ("-=", Tok::SubAssign),
    ("==", Tok::Equal),
    ("!=", Tok::NotEqual),
    ("<=", Tok::LessEqual),
    (">=", Tok::GreaterEqual),
    ("||", Tok::Beside),
    ("(", Tok::LeftParen),
    (")", Tok::RightParen),
    ("[", Tok::LeftBracket),
    ("]", Tok::RightBracket),
    ("{", Tok::LeftBrace),
    ("}", Tok::RightBrace),
    (",", Tok::Comma),
    (":", Tok::Colon),
    (";", Tok::Semicolon),
    (".", Tok::Dot),
    ("=", Tok::Assign),
    ("<", Tok::Less),
    (">", Tok::Greater),
    ("+", Tok::Plus),
    ("-", Tok::Minus),
    ("*", Tok::Star),
];

/// Signs of other languages, and what to write instead. They are tried before [`SIGNS`].
const FOREIGN: &[(&str, &str)] = &[
    ("&&", "write `and`"),
    ("=>", "write `implies`, or `>=`"),
    ("<>", "write `!=`"),
    ("/*", "comments start with `//` and end with the line"),
    ("/", "there is no division"),
    ("%", "there is no remainder"),
    ("'", "texts stand in double quotes"),
    ("|", "write `||` between sessions, and `or` in conditions"),
    ("&", "write `and`"),
    ("#", "comments start with `//`"),
];

/// Cuts a text into tokens. Texts are far below four gigabytes: the parser refuses longer ones.
pub(crate) fn lex(text: &str) -> Lexed {
    let mut lexed = Lexed::default();
    let (mut at, mut starts_line) = (0, true);
    while let Some(first) = text[at..].chars().next() {
        if first.is_whitespace() {
            starts_line |= first == '\n';
            at += first.len_utf8();
        } else if text[at..].starts_with("//") {
            at += text[at..].find('\n').unwrap_or(text.len() - at);
        } else {
            at = token(text, at, starts_line, &mut lexed);
            starts_line = false;
        }
    }
    lexed.tokens.push(Token { tok: Tok::End, span: span(at, at), starts_line: true });
    lexed
}

/// Reads the token at `at` and returns where it ends.
fn token(text: &str, at: usize, starts_line: bool, lexed: &mut Lexed) -> usize {
    let rest = &text[at..];
    let first = rest.chars().next().unwrap_or(' ');
    let found = if first == '"' {
        quoted_len(rest)
            .map(|len| (Tok::Text, len))
            .map_err(|len| (len, "this text does not end", "close it with `\"`"))
    } else if first.is_ascii_digit() {
        Ok((Tok::Int, rest.find(|it: char| !it.is_ascii_digit()).unwrap_or(rest.len())))
    } else if first.is_alphabetic() || first == '_' {
        Ok(word(rest))
    } else {
        sign(rest)
    };
    match found {
        Ok((tok, len)) => {
            lexed.tokens.push(Token { tok, span: span(at, at + len), starts_line });
            at + len
        }
        Err((len, message, hint)) => {
            let sign = &rest[..len];
            let message = if message.is_empty() { format!("`{sign}` means nothing here") } else { message.to_owned() };
            lexed.problems.push(Problem::new(span(at, at + len), message, hint));
            at + foreign_len(rest, sign)
        }
    }
}

/// The length of a text with its quotes; if it does not end, how long its line is.
fn quoted_len(rest: &str) -> Result<usize, usize> {
    let mut is_escaped = false;
    for (idx, symbol) in rest.char_indices().skip(1) {
        match symbol {
            '\n' => return Err(idx),
            '"' if !is_escaped => return Ok(idx + 1),
            _ => is_escaped = symbol == '\\' && !is_escaped,
        }
    }
    Err(rest.len())
}

/// The text between quotes. A backslash stands before a quote, a backslash, and the `n` of a new line.
pub(crate) fn unquoted(token: &str) -> String {
    let mut text = String::new();
    let mut symbols = token[1..token.len() - 1].chars();
    while let Some(symbol) = symbols.next() {
        match symbol {
            '\\' => text.extend(symbols.next().map(|it| if it == 'n' { '\n' } else { it })),
            _ => text.push(symbol),
        }
    }
    text
}

fn word(rest: &str) -> (Tok, usize) {
    let len = rest.find(|it: char| !it.is_alphanumeric() && it != '_').unwrap_or(rest.len());
    (WORDS.iter().find(|it| it.0 == &rest[..len]).map_or(Tok::Name, |it| it.1), len)
}

type Meaningless = (usize, &'static str, &'static str);

fn sign(rest: &str) -> Result<(Tok, usize), Meaningless> {
    let known = SIGNS.iter().find(|it| rest.starts_with(it.0));
    let foreign = FOREIGN.iter().find(|it| rest.starts_with(it.0));
    match (known, foreign) {
        // `||` is ours and `|` is not; `=>` is not ours although `=` is.
        (Some((sign, tok)), foreign) if foreign.is_none_or(|it| it.0.len() <= sign.len()) => Ok((*tok, sign.len())),
        (_, Some((sign, hint))) => Err((sign.len(), "", hint)),
        _ if rest.starts_with('!') => Err((1, "", "write `not`")),
        _ => {
            let len = rest.chars().next().map_or(1, char::len_utf8);
            Err((len, "", "names are letters, digits and `_`; comments start with `//`"))
        }
    }
}

/// How much belongs to a sign of another language: one message is enough for a comment or text.
fn foreign_len(rest: &str, sign: &str) -> usize {
    let after = &rest[sign.len()..];
    let more = match sign {
        "/*" => after.find("*/").map_or(after.len(), |it| it + 2),
        "#" => after.find('\n').unwrap_or(after.len()),
        "'" => after.find(['\'', '\n']).map_or(after.len(), |it| it + usize::from(after[it..].starts_with('\''))),
        _ => 0,
    };
    sign.len() + more
}

fn span(start: usize, end: usize) -> Span {
    Span { start: start as u32, end: end as u32 }
}
