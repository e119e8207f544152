//! Reads records back: the inverse of how they are written, and nothing more.

use crate::Datum;
use std::str::Chars;

/// The fields of a record's text.
pub(crate) struct Fields<'t> {
    rest: Chars<'t>,
}

impl<'t> Fields<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        let inner = text.strip_prefix('{').and_then(|it| it.strip_suffix('}')).unwrap_or("");
        Self { rest: inner.chars() }
    }

    /// A word, number or quoted text up to what follows it.
    fn datum(&mut self) -> Datum {
        if self.rest.as_str().starts_with('"') {
            self.rest.next();
            return Datum::text(self.quoted());
        }
        let text = self.rest.as_str();
        let end = text.find([':', ',']).unwrap_or(text.len());
        self.rest = text[end..].chars();
        let word = &text[..end];
        match word.parse::<i64>() {
            Ok(number) => Datum::Int(number),
            Err(_) if word == "-" => Datum::Null,
            Err(_) if word.starts_with(|it: char| it.is_ascii_digit() || it == '-') => Datum::Number(word.into()),
            Err(_) => Datum::text(word),
        }
    }

    fn quoted(&mut self) -> String {
        let mut text = String::new();
        while let Some(symbol) = self.rest.next() {
            match symbol {
                '"' => return text,
                '\\' => text.extend(self.escape()),
                other => text.push(other),
            }
        }
        text
    }

    fn escape(&mut self) -> Option<char> {
        Some(match self.rest.next()? {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let (digits, rest) = self.rest.as_str().strip_prefix('{')?.split_once('}')?;
                self.rest = rest.chars();
                char::from_u32(u32::from_str_radix(digits, 16).ok()?)?
            }
            other => other,
        })
    }

    /// Goes past what separates.
    fn skip(&mut self, separator: &str) {
        if let Some(rest) = self.rest.as_str().strip_prefix(separator) {
            self.rest = rest.chars();
        }
    }
}

impl Iterator for Fields<'_> {
    type Item = (String, Datum);

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.as_str().is_empty() {
            return None;
        }
        let name = match self.datum() {
            Datum::Text(name) => name.into(),
            other => other.to_string(),
        };
        self.skip(": ");
        let value = self.datum();
        self.skip(", ");
        Some((name, value))
    }
}

#[cfg(test)]
mod tests {
    use crate::Datum;

    #[test]
    fn records_are_read_back() {
        let fields = [
            ("a", Datum::Int(-5)),
            ("b c", Datum::text("x, \"y\": {z}\n\u{1}")),
            ("n", Datum::Null),
            ("owner", Datum::text("ann")),
            ("w", Datum::Number("1.50".into())),
            ("word", Datum::text("12")),
        ];
        let record = Datum::record(fields.clone());
        assert_eq!(
            record.to_string(),
            r#"{a: -5, "b c": "x, \"y\": {z}\n\u{1}", n: -, owner: ann, w: 1.50, word: "12"}"#
        );
        let back: Vec<(String, Datum)> = record.as_name().fields().collect();
        assert!(back.iter().map(|(name, value)| (name.as_str(), value)).eq(fields.iter().map(|it| (it.0, &it.1))));
        assert_eq!(Datum::record([]).as_name().fields().count(), 0);
        assert_eq!(Datum::text("{a: 1}").as_name().fields().count(), 0);
    }
}
