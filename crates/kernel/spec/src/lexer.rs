//! Cuts a spec text into words and signs. ASCII and the mathematical signs give the same tokens.

use crate::error::{Problem, Span};

/// The kind of a token; its text is a piece of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tok {
    Name,
    Text,
    Forall,
    Exists,
    And,
    Or,
    Not,
    Implies,
    Iff,
    In,
    True,
    False,
    Def,
    Level,
    Framework,
    Import,
    Order,
    Relation,
    Versions,
    Require,
    Allowing,
    LeftParen,
    RightParen,
    LeftBracket,
    RightBracket,
    LeftBrace,
    RightBrace,
    Comma,
    Colon,
    Semicolon,
    Compose,
    Bar,
    Ampersand,
    Minus,
    Inverse,
    Plus,
    Star,
    Question,
    Equal,
    NotEqual,
    Dot,
    End,
}

impl Tok {
    /// Does an item of a module start here?
    pub(crate) fn starts_item(self) -> bool {
        matches!(self, Self::Def | Self::Level | Self::Framework | Self::Import | Self::End)
    }

    /// Does a clause of a framework start or end here?
    pub(crate) fn starts_clause(self) -> bool {
        matches!(self, Self::Order | Self::Relation | Self::Versions | Self::Require | Self::RightBrace)
            || self.starts_item()
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) tok: Tok,
    pub(crate) span: Span,
}

/// What the lexer found: tokens up to [`Tok::End`], documentation lines, and characters that mean nothing.
#[derive(Debug, Default)]
pub(crate) struct Lexed {
    pub(crate) tokens: Vec<Token>,
    pub(crate) docs: Vec<Span>,
    pub(crate) problems: Vec<Problem>,
}

const WORDS: &[(&str, Tok)] = &[
    ("forall", Tok::Forall),
    ("exists", Tok::Exists),
    ("and", Tok::And),
    ("or", Tok::Or),
    ("not", Tok::Not),
    ("implies", Tok::Implies),
    ("iff", Tok::Iff),
    ("in", Tok::In),
    ("true", Tok::True),
    ("false", Tok::False),
    ("def", Tok::Def),
    ("level", Tok::Level),
    ("framework", Tok::Framework),
    ("import", Tok::Import),
    ("order", Tok::Order),
    ("relation", Tok::Relation),
    ("versions", Tok::Versions),
    ("require", Tok::Require),
    ("allowing", Tok::Allowing),
];

/// Longer signs first: the first that fits wins.
const SIGNS: &[(&str, Tok)] = &[
    ("<=>", Tok::Iff),
    ("^-1", Tok::Inverse),
    ("⁻¹", Tok::Inverse),
    ("^+", Tok::Plus),
    ("^*", Tok::Star),
    ("^?", Tok::Question),
    ("=>", Tok::Implies),
    ("!=", Tok::NotEqual),
    ("==", Tok::Equal),
    ("&&", Tok::And),
    ("||", Tok::Or),
    ("∀", Tok::Forall),
    ("∃", Tok::Exists),
    ("∧", Tok::And),
    ("∨", Tok::Or),
    ("¬", Tok::Not),
    ("!", Tok::Not),
    ("⇒", Tok::Implies),
    ("⇔", Tok::Iff),
    ("∪", Tok::Bar),
    ("∩", Tok::Ampersand),
    ("∖", Tok::Minus),
    ("\\", Tok::Minus),
    ("∘", Tok::Compose),
    ("⁺", Tok::Plus),
    ("≠", Tok::NotEqual),
    ("∈", Tok::In),
    ("⊆", Tok::In),
    ("(", Tok::LeftParen),
    (")", Tok::RightParen),
    ("[", Tok::LeftBracket),
    ("]", Tok::RightBracket),
    ("{", Tok::LeftBrace),
    ("}", Tok::RightBrace),
    (",", Tok::Comma),
    (":", Tok::Colon),
    (";", Tok::Semicolon),
    ("|", Tok::Bar),
    ("&", Tok::Ampersand),
    ("-", Tok::Minus),
    ("+", Tok::Plus),
    ("*", Tok::Star),
    ("?", Tok::Question),
    ("=", Tok::Equal),
    (".", Tok::Dot),
];

/// Cuts a text into tokens. Texts are far below four gigabytes: the parser refuses longer ones.
pub(crate) fn lex(text: &str) -> Lexed {
    let mut lexed = Lexed::default();
    let mut at = 0;
    while at < text.len() {
        at = step(text, at, &mut lexed);
    }
    let end = span(text.len(), text.len());
    lexed.tokens.push(Token { tok: Tok::End, span: end });
    lexed
}

/// Reads what stands at `at` and returns where the next thing stands.
fn step(text: &str, at: usize, lexed: &mut Lexed) -> usize {
    let rest = &text[at..];
    let Some(first) = rest.chars().next() else { return text.len() };
    if first.is_whitespace() {
        return at + first.len_utf8();
    }
    if rest.starts_with("//") {
        let end = at + rest.find('\n').unwrap_or(rest.len());
        if rest.starts_with("///") {
            lexed.docs.push(span(at, end));
        }
        return end;
    }
    if first == '"' {
        return quoted(text, at, lexed);
    }
    let (tok, len) = if is_name_start(first) { word(rest) } else { sign(rest) };
    let end = at + len;
    if let Some(tok) = tok {
        lexed.tokens.push(Token { tok, span: span(at, end) });
    } else {
        let message = format!("`{}` means nothing here", first.escape_debug());
        let hint = "names are letters, digits and `_`; comments start with `//`";
        lexed.problems.push(Problem::new(span(at, end), message, hint));
    }
    end
}

fn quoted(text: &str, at: usize, lexed: &mut Lexed) -> usize {
    let rest = &text[at + 1..];
    match rest.find(['"', '\n']) {
        Some(len) if rest[len..].starts_with('"') => {
            lexed.tokens.push(Token { tok: Tok::Text, span: span(at, at + len + 2) });
            at + len + 2
        }
        end => {
            let end = at + 1 + end.unwrap_or(rest.len());
            lexed.problems.push(Problem::new(span(at, end), "this text does not end", "close it with `\"`"));
            end
        }
    }
}

fn is_name_start(symbol: char) -> bool {
    symbol.is_alphabetic() || symbol == '_'
}

fn word(rest: &str) -> (Option<Tok>, usize) {
    let is_part = |it: char| it.is_alphanumeric() || it == '_';
    let is_script = |it: char| matches!(it, '¹' | '⁻' | '⁺');
    let len = rest.find(|it| !is_part(it) || is_script(it)).unwrap_or(rest.len());
    let tok = WORDS.iter().find(|it| it.0 == &rest[..len]).map_or(Tok::Name, |it| it.1);
    (Some(tok), len)
}

fn sign(rest: &str) -> (Option<Tok>, usize) {
    match SIGNS.iter().find(|it| rest.starts_with(it.0)) {
        Some((sign, tok)) => (Some(*tok), sign.len()),
        None => (None, rest.chars().next().map_or(1, char::len_utf8)),
    }
}

fn span(start: usize, end: usize) -> Span {
    Span { start: start as u32, end: end as u32 }
}
