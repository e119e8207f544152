//! Names of keys and values as the input spelled them.

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
}

impl Datum {
    /// A text datum.
    pub fn text(text: impl Into<Box<str>>) -> Self {
        Self::Text(text.into())
    }

    /// The name, borrowed.
    pub fn as_name(&self) -> Name<'_> {
        match self {
            Self::Null => Name::Null,
            Self::Int(number) => Name::Int(*number),
            Self::Number(text) => Name::Number(text),
            Self::Text(text) => Name::Text(text),
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
        }
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

/// Renders as our notation writes it: `-` for null, quotes where a plain word would be misread.
impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("-"),
            Self::Int(number) => write!(f, "{number}"),
            Self::Number(number) => f.write_str(number),
            Self::Text(text) if Self::is_plain_word(text) => f.write_str(text),
            Self::Text(text) => {
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
}
