//! Keys and values in columns of texts: most texts are as they are, and what is no text is spelled as in our notation.
//!
//! `7` is an integer, `1.5` a number, `{owner: ann}` a record, `"7"` a text in quotes, and `accounts/7` one without. A text that
//! could be read as something else has quotes.

use crate::number;
use crate::words::Words;
use iso_history::{Datum, Name};
use std::borrow::Cow;

/// A name that was read, borrowed from the file where that is possible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Spelled<'t> {
    Text(&'t str),
    Other(Datum),
}

impl Spelled<'_> {
    pub(super) fn as_name(&self) -> Name<'_> {
        match self {
            Self::Text(text) => Name::Text(text),
            Self::Other(datum) => datum.as_name(),
        }
    }
}

/// What a text spells. Every text spells something.
pub(super) fn read(text: &str) -> Spelled<'_> {
    let other = match text.as_bytes().first() {
        Some(b'0'..=b'9' | b'-') => number::parse(text),
        Some(b'"') => whole(text).filter(|it| matches!(it, Datum::Text(_))),
        Some(b'{') => whole(text).filter(|it| matches!(it, Datum::Record(_))),
        _ => None,
    };
    other.map_or(Spelled::Text(text), Spelled::Other)
}

fn whole(text: &str) -> Option<Datum> {
    let mut words = Words::of_line(text);
    let value = words.value().ok()?;
    words.rest().is_empty().then_some(value)
}

/// The spelling of a name; null has none.
pub(super) fn write(name: Name<'_>) -> Option<Cow<'_, str>> {
    match name {
        Name::Null => None,
        Name::Int(number) => Some(Cow::Owned(number.to_string())),
        Name::Number(text) | Name::Record(text) => Some(Cow::Borrowed(text)),
        Name::Text(text) if read(text) == Spelled::Text(text) => Some(Cow::Borrowed(text)),
        Name::Text(text) => Some(Cow::Owned(in_quotes(text))),
    }
}

fn in_quotes(text: &str) -> String {
    let mut quoted = String::from("\"");
    for symbol in text.chars() {
        match symbol {
            '"' | '\\' => quoted.extend(['\\', symbol]),
            other if other.is_control() => quoted.extend(other.escape_unicode()),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn plain_texts_are_as_they_are() {
        for text in ["x", "accounts/7", "hello world", "", "-", "007", "{", "\"", "12ab", "null"] {
            assert_eq!(read(text), Spelled::Text(text));
            assert_eq!(write(Name::Text(text)).as_deref(), Some(text));
        }
        assert_eq!(write(Name::Text("7")).as_deref(), Some("\"7\""));
        assert_eq!(read("7"), Spelled::Other(Datum::Int(7)));
        assert_eq!(read("{b: 2, a: 1}"), Spelled::Other(Datum::Record("{a: 1, b: 2}".into())));
    }

    proptest! {
        #[test]
        fn texts_are_read_back(text in "(?s).{0,8}", other in "[-0-9\"\\\\{}:, \n]{0,6}") {
            for text in [&text, &other] {
                let spelled = write(Name::Text(text)).unwrap();
                let again = read(&spelled);
                prop_assert_eq!(again.as_name(), Name::Text(text));
            }
        }

        #[test]
        fn integers_are_read_back(number in any::<i64>()) {
            let spelled = write(Name::Int(number)).unwrap();
            prop_assert_eq!(read(&spelled), Spelled::Other(Datum::Int(number)));
        }
    }
}
