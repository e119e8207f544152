//! Names of keys and values as the input spelled them.

use crate::record::Fields;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// A key or value of the input: kept for rendering, interned to an id for everything else.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Datum {
    /// No value: a missing row.
    Null,
    /// An integer.
    Int(i64),
    /// A number that is no 64-bit integer, as its decimal text.
    Number(Box<str>),
    /// Anything else, as text.
    Text(Box<str>),
    /// A row with fields, in our notation: `{balance: 5, owner: ann}`, fields in the order of their names.
    Record(Box<str>),
}

/// A name that somebody else keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Name<'n> {
    /// No value: a missing row.
    Null,
    /// An integer.
    Int(i64),
    /// A number that is no 64-bit integer, as its decimal text.
    Number(&'n str),
    /// Anything else, as text.
    Text(&'n str),
    /// A row with fields, in our notation.
    Record(&'n str),
}

impl Datum {
    /// A text datum.
    pub fn text(text: impl Into<Box<str>>) -> Self {
        Self::Text(text.into())
    }

    /// A record of these fields; of two with the same name, the last one counts.
    pub fn record<'f>(fields: impl IntoIterator<Item = (&'f str, Self)>) -> Self {
        let sorted: BTreeMap<&str, Self> = fields.into_iter().collect();
        let shown = sorted.iter().map(|(name, value)| format!("{}: {value}", Name::Text(name)));
        Self::Record(format!("{{{}}}", shown.collect::<Vec<String>>().join(", ")).into())
    }

    /// The name, borrowed.
    pub fn as_name(&self) -> Name<'_> {
        match self {
            Self::Null => Name::Null,
            Self::Int(number) => Name::Int(*number),
            Self::Number(text) => Name::Number(text),
            Self::Text(text) => Name::Text(text),
            Self::Record(text) => Name::Record(text),
        }
    }
}

impl Name<'_> {
    /// A copy to keep.
    pub fn to_datum(self) -> Datum {
        match self {
            Self::Null => Datum::Null,
            Self::Int(number) => Datum::Int(number),
            Self::Number(text) => Datum::Number(text.into()),
            Self::Text(text) => Datum::text(text),
            Self::Record(text) => Datum::Record(text.into()),
        }
    }

    /// The fields of a record, in the order of their names; none of anything else.
    pub fn fields(self) -> impl Iterator<Item = (String, Datum)> {
        Fields::new(if let Self::Record(text) = self { text } else { "" })
    }

    /// The field of this name, if this is a record that has it.
    pub(crate) fn field(self, name: &str) -> Option<Datum> {
        self.fields().find(|it| it.0 == name).map(|it| it.1)
    }

    /// As our notation writes it, and cut where a person would not read on.
    pub fn shown(self) -> String {
        clipped(&self.to_string()).into_owned()
    }

    /// Can this text stand in our notation without quotes?
    ///
    /// Words that would read back as something else (numbers, the missing value) need quotes.
    fn is_plain_word(text: &str) -> bool {
        let mut chars = text.chars();
        let starts_well = chars.next().is_some_and(|it| it.is_alphabetic() || it == '_');
        starts_well && chars.all(|it| it.is_alphanumeric() || matches!(it, '_' | '.' | '/' | '-'))
    }
}

impl PartialEq<Datum> for Name<'_> {
    fn eq(&self, other: &Datum) -> bool {
        *self == other.as_name()
    }
}

impl From<i64> for Datum {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<&str> for Datum {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

/// Renders as our notation writes it.
impl fmt::Display for Datum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_name().fmt(f)
    }
}

/// A longer text is cut where a person reads it.
const LONGEST_SHOWN: usize = 120;
/// So many characters of it are kept.
const N_KEPT: usize = 80;

/// A text as a message shows it: a long one is cut, and what is missing is counted.
pub fn clipped(text: &str) -> Cow<'_, str> {
    // Characters have at least a byte each.
    if text.len() <= LONGEST_SHOWN || text.chars().nth(LONGEST_SHOWN).is_none() {
        return Cow::Borrowed(text);
    }
    let kept = text.char_indices().nth(N_KEPT).map_or(text, |(at, _)| &text[..at]);
    let n_more = text[kept.len()..].chars().count();
    Cow::Owned(format!("{kept}... {} more characters", with_commas(n_more)))
}

/// A count with a comma between thousands.
fn with_commas(count: usize) -> String {
    let digits = count.to_string();
    let mut shown = String::new();
    for (idx, digit) in digits.chars().enumerate() {
        if idx > 0 && (digits.len() - idx).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// Renders as our notation writes it: `-` for null, quotes where a plain word would be misread.
impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("-"),
            Self::Int(number) => write!(f, "{number}"),
            Self::Number(number) => f.write_str(number),
            Self::Text(text) if Self::is_plain_word(text) => f.write_str(text),
            Self::Text(text) => Self::quoted(text, f),
            Self::Record(text) => f.write_str(text),
        }
    }
}

impl Name<'_> {
    /// Writes a text in quotes.
    pub(crate) fn quoted(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for symbol in text.chars() {
            match symbol {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                other if other.is_control() => write!(f, "\\u{{{:x}}}", other as u32)?,
                other => write!(f, "{other}")?,
            }
        }
        f.write_str("\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_would_be_misread_are_quoted() {
        assert_eq!(Datum::text("x").to_string(), "x");
        assert_eq!(Datum::text("users/1.name").to_string(), "users/1.name");
        assert_eq!(Datum::text("1").to_string(), "\"1\"");
        assert_eq!(Datum::text("-").to_string(), "\"-\"");
        assert_eq!(Datum::text("").to_string(), "\"\"");
        assert_eq!(Datum::text("a\"b\\\n\u{1}").to_string(), "\"a\\\"b\\\\\\n\\u{1}\"");
        assert_eq!(Datum::Null.to_string(), "-");
    }

    #[test]
    fn a_long_text_is_cut_and_what_is_missing_is_counted() {
        let long = "ä".repeat(100_000);
        assert_eq!(clipped(&long), format!("{}... 99,920 more characters", "ä".repeat(80)));
        assert_eq!(clipped(&long[..240]), long[..240]);
        assert_eq!(Datum::text(&*long).as_name().shown().chars().count(), 80 + "... 99,920 more characters".len());
    }
}
