//! SQL as words with places, so that a statement can be changed in one spot and stays as it is everywhere else.

use std::ops::Range;

/// A word of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) at: Range<usize>,
    pub(crate) kind: WordKind,
    /// How many parentheses are open around it.
    pub(crate) depth: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WordKind {
    /// A keyword or a name without quotes.
    Plain,
    /// A name in quotes.
    Quoted,
    /// A text, a number or a parameter.
    Constant,
    Semicolon,
    Symbol,
}

/// A statement of a text of SQL.
#[derive(Clone, Debug)]
pub(crate) struct Statement<'s> {
    pub(crate) text: &'s str,
    /// Places are those in the text of the statement.
    pub(crate) words: Vec<Word>,
}

impl Statement<'_> {
    /// Is this word this keyword?
    pub(crate) fn is(&self, word: &Word, keyword: &str) -> bool {
        word.kind == WordKind::Plain && self.text[word.at.clone()].eq_ignore_ascii_case(keyword)
    }

    /// Where a keyword stands outside of parentheses, from some word on.
    pub(crate) fn find(&self, from: usize, keywords: &[&str]) -> Option<usize> {
        let is_one = |it: &Word| it.depth == 0 && keywords.iter().any(|keyword| self.is(it, keyword));
        (from..self.words.len()).find(|nth| is_one(&self.words[*nth]))
    }

    /// How often a keyword stands anywhere.
    pub(crate) fn count(&self, keyword: &str) -> usize {
        self.words.iter().filter(|it| self.is(it, keyword)).count()
    }

    /// The names that are called like functions, in small letters.
    pub(crate) fn called(&self) -> impl Iterator<Item = String> {
        let is_call = |pair: &&[Word]| {
            pair[0].kind != WordKind::Symbol
                && pair[1].kind == WordKind::Symbol
                && &self.text[pair[1].at.clone()] == "("
        };
        self.words.windows(2).filter(is_call).map(|pair| self.text[pair[0].at.clone()].trim_matches('"').to_lowercase())
    }

    /// The first words, in capital letters.
    pub(crate) fn first_words(&self, n: usize) -> String {
        let words = self.words.iter().take(n).map(|it| self.text[it.at.clone()].to_ascii_uppercase());
        words.collect::<Vec<String>>().join(" ")
    }
}

/// The statements of a text, without empty ones.
pub(crate) fn statements(sql: &str) -> Vec<Statement<'_>> {
    let words = words(sql);
    let mut found = Vec::new();
    for part in words.split(|it| it.kind == WordKind::Semicolon && it.depth == 0) {
        let (Some(first), Some(last)) = (part.first(), part.last()) else { continue };
        let (start, end) = (first.at.start, last.at.end);
        let moved = part.iter().map(|it| Word { at: it.at.start - start..it.at.end - start, ..it.clone() });
        found.push(Statement { text: &sql[start..end], words: moved.collect() });
    }
    found
}

fn words(sql: &str) -> Vec<Word> {
    let bytes = sql.as_bytes();
    let (mut words, mut at, mut depth) = (Vec::new(), 0, 0_u32);
    while at < bytes.len() {
        let start = at;
        let kind = match bytes[at] {
            it if it.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'-' if bytes.get(at + 1) == Some(&b'-') => {
                at = bytes[at..].iter().position(|it| *it == b'\n').map_or(bytes.len(), |it| at + it);
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at = end_of_comment(bytes, at);
                continue;
            }
            b'\'' => {
                let is_escaped = words.last().is_some_and(|it: &Word| {
                    it.at.end == at && it.kind == WordKind::Plain && sql[it.at.clone()].eq_ignore_ascii_case("e")
                });
                at = end_of_quote(bytes, at, b'\'', is_escaped);
                WordKind::Constant
            }
            b'"' => {
                at = end_of_quote(bytes, at, b'"', false);
                WordKind::Quoted
            }
            b'$' => {
                at = end_of_dollar(bytes, at);
                WordKind::Constant
            }
            it if it.is_ascii_digit() => {
                at = end_of(bytes, at, |it| it.is_ascii_alphanumeric() || it == b'.');
                WordKind::Constant
            }
            it if is_letter(it) => {
                at = end_of(bytes, at, |it| is_letter(it) || it.is_ascii_digit() || it == b'$');
                WordKind::Plain
            }
            b';' => {
                at += 1;
                WordKind::Semicolon
            }
            symbol => {
                at += 1;
                if matches!(symbol, b')' | b']') {
                    depth = depth.saturating_sub(1);
                }
                words.push(Word { at: start..at, kind: WordKind::Symbol, depth });
                if matches!(symbol, b'(' | b'[') {
                    depth += 1;
                }
                continue;
            }
        };
        words.push(Word { at: start..at, kind, depth });
    }
    words
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

fn end_of(bytes: &[u8], at: usize, is_part: impl Fn(u8) -> bool) -> usize {
    bytes[at..].iter().position(|it| !is_part(*it)).map_or(bytes.len(), |it| at + it)
}

fn end_of_quote(bytes: &[u8], start: usize, quote: u8, is_escaped: bool) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if is_escaped => at += 2,
            it if it == quote && bytes.get(at + 1) == Some(&quote) => at += 2,
            it if it == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Comments nest.
fn end_of_comment(bytes: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0);
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => (at, depth) = (at + 2, depth + 1),
            b"*/" => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}

/// A parameter, or a text between two equal words in dollars.
fn end_of_dollar(bytes: &[u8], start: usize) -> usize {
    let name = end_of(bytes, start + 1, |it| is_letter(it) || it.is_ascii_digit());
    if bytes.get(start + 1).is_some_and(u8::is_ascii_digit) || bytes.get(name) != Some(&b'$') {
        return name.max(start + 1);
    }
    let quote = &bytes[start..=name];
    let rest = &bytes[name + 1..];
    let end = rest.windows(quote.len()).position(|it| it == quote);
    end.map_or(bytes.len(), |it| name + 1 + it + quote.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(sql: &str) -> Vec<&str> {
        statements(sql).iter().map(|it| it.text).collect()
    }

    #[test]
    fn statements_are_cut_at_semicolons_that_are_none_of_a_text() {
        assert_eq!(texts("begin; select 1 ;; commit;"), ["begin", "select 1", "commit"]);
        assert_eq!(
            texts("select ';' -- ; no\n; select $$a;b$$, $x$;$$;$x$"),
            ["select ';'", "select $$a;b$$, $x$;$$;$x$"]
        );
        assert_eq!(
            texts("select E'\\';' /* ; /* ; */ ; */, \"a;b\", 'it''s;'; x"),
            ["select E'\\';' /* ; /* ; */ ; */, \"a;b\", 'it''s;'", "x"]
        );
        assert!(texts(" ; -- nothing\n /* ; */").is_empty());
    }

    #[test]
    fn keywords_are_found_outside_of_parentheses() {
        let all = statements("SELECT extract(year from at), (select 1) FROM t WHERE id = $1");
        let words = &all[0].words;
        let from = all[0].find(0, &["from"]).unwrap();
        assert_eq!((&all[0].text[words[from].at.clone()], all[0].count("select")), ("FROM", 2));
        assert_eq!(all[0].called().collect::<Vec<String>>(), ["extract"]);
    }
}
