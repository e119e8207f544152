//! Rows as the engine tells them: JSON in, names of keys and values of a history out.

use crate::hidden::is_hidden;
use iso_history::Datum;
use std::borrow::Cow;

/// A piece of JSON. Numbers stay as they are spelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node<'t> {
    Null,
    Bool(bool),
    Number(&'t str),
    Text(Cow<'t, str>),
    /// With how it is spelled.
    Array(Vec<Self>, &'t str),
    /// With how it is spelled.
    Object(Vec<(Cow<'t, str>, Self)>, &'t str),
}

/// Reads one piece of JSON; none if it is something else.
pub(crate) fn parse(text: &str) -> Option<Node<'_>> {
    let mut reader = Reader { text, at: 0 };
    let node = reader.node(0)?;
    reader.skip_space();
    (reader.at == text.len()).then_some(node)
}

impl Node<'_> {
    /// As a value of a field: what is neither a number nor a text is one by its spelling.
    fn into_datum(self) -> Datum {
        match self {
            Self::Null => Datum::Null,
            Self::Bool(it) => Datum::text(if it { "true" } else { "false" }),
            Self::Number(text) => number(text),
            Self::Text(text) => Datum::text(text),
            Self::Array(_, text) | Self::Object(_, text) => Datum::text(text),
        }
    }
}

/// A number as histories have it.
pub(crate) fn number(text: &str) -> Datum {
    text.parse().map_or_else(|_| Datum::Number(text.into()), Datum::Int)
}

/// A row of a table: its name within the table, and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableRow {
    pub(crate) name: String,
    pub(crate) value: Datum,
}

/// A row, of which some columns are the primary key.
pub(crate) fn table_row(node: Node<'_>, key: &[String]) -> Option<TableRow> {
    let Node::Object(fields, _) = node else { return None };
    let fields: Vec<(Cow<'_, str>, Datum)> = fields.into_iter().map(|it| (it.0, it.1.into_datum())).collect();
    let part = |column: &String| fields.iter().find(|it| it.0 == *column).map(|it| plain(&it.1));
    let name = key.iter().map(part).collect::<Option<Vec<String>>>()?.join(",");
    let seen = fields.iter().filter(|it| !is_hidden(&it.0));
    Some(TableRow { name, value: Datum::record(seen.map(|it| (&*it.0, it.1.clone()))) })
}

/// A value in the name of a row.
pub(crate) fn plain(value: &Datum) -> String {
    match value {
        Datum::Text(text) => text.to_string(),
        other => other.to_string(),
    }
}

/// Nobody nests deeper.
const MAX_DEPTH: u32 = 200;

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn skip_space(&mut self) {
        while self.peek().is_some_and(|it| it.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn accept(&mut self, byte: u8) -> bool {
        self.skip_space();
        let is_it = self.peek() == Some(byte);
        self.at += usize::from(is_it);
        is_it
    }

    fn node(&mut self, depth: u32) -> Option<Node<'t>> {
        self.skip_space();
        let start = self.at;
        let word = |reader: &mut Self, word: &str, node| {
            reader.text[reader.at..].starts_with(word).then(|| {
                reader.at += word.len();
                node
            })
        };
        match self.peek()? {
            _ if depth > MAX_DEPTH => None,
            b'n' => word(self, "null", Node::Null),
            b't' => word(self, "true", Node::Bool(true)),
            b'f' => word(self, "false", Node::Bool(false)),
            b'"' => self.string().map(Node::Text),
            b'[' => {
                self.at += 1;
                let mut items = Vec::new();
                while !self.accept(b']') {
                    if !items.is_empty() && !self.accept(b',') {
                        return None;
                    }
                    items.push(self.node(depth + 1)?);
                }
                Some(Node::Array(items, &self.text[start..self.at]))
            }
            b'{' => {
                self.at += 1;
                let mut fields = Vec::new();
                while !self.accept(b'}') {
                    if !fields.is_empty() && !self.accept(b',') {
                        return None;
                    }
                    self.skip_space();
                    let name = self.string()?;
                    if !self.accept(b':') {
                        return None;
                    }
                    fields.push((name, self.node(depth + 1)?));
                }
                Some(Node::Object(fields, &self.text[start..self.at]))
            }
            _ => {
                let is_part = |it: u8| it.is_ascii_digit() || matches!(it, b'-' | b'+' | b'.' | b'e' | b'E');
                while self.peek().is_some_and(is_part) {
                    self.at += 1;
                }
                (self.at > start).then(|| Node::Number(&self.text[start..self.at]))
            }
        }
    }

    fn string(&mut self) -> Option<Cow<'t, str>> {
        let rest = self.text.get(self.at..)?;
        let mut end = 1;
        loop {
            match rest.as_bytes().get(end)? {
                b'"' => break,
                b'\\' => end += 2,
                _ => end += 1,
            }
        }
        let quoted = rest.get(..=end)?;
        self.at += end + 1;
        if quoted.contains('\\') {
            serde_json::from_str(quoted).ok().map(Cow::Owned)
        } else {
            Some(Cow::Borrowed(&quoted[1..end]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_its_key_and_a_record_of_its_columns() {
        let text = r#"{"id":7,"name":"a \"b\" é","price":1.50,"open":true,"tags":["x", 1],"none":null}"#;
        let row = table_row(parse(text).unwrap(), &["id".to_owned()]).unwrap();
        assert_eq!(row.name, "7");
        let shown = r#"{id: 7, name: "a \"b\" é", none: -, open: true, price: 1.50, tags: "[\"x\", 1]"}"#;
        assert_eq!(row.value.to_string(), shown);
        let both = ["name".to_owned(), "id".to_owned()];
        assert_eq!(table_row(parse(text).unwrap(), &both).unwrap().name, "a \"b\" é,7");
        assert_eq!(table_row(parse(text).unwrap(), &["other".to_owned()]), None);
    }

    #[test]
    fn what_is_no_json_is_none() {
        for text in ["", "[1", "{\"a\"}", "[1 2]", "\"a", "nul", "[1]x", "\"\\"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
