//! What a row holds: a number, a word, or several columns written as `next=3 ytd=10`.

use crate::Failure;
use iso_history::Datum;
use std::fmt;

/// The value of a row or of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A whole number.
    Int(i64),
    /// A text.
    Text(String),
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

/// What numbers in a program are, if nothing else is said.
impl From<i32> for Value {
    fn from(number: i32) -> Self {
        Self::Int(number.into())
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Record> for Value {
    fn from(record: Record) -> Self {
        Self::Text(record.to_string())
    }
}

impl From<Value> for Datum {
    fn from(value: Value) -> Self {
        match value {
            Value::Int(number) => Self::Int(number),
            Value::Text(text) => Self::text(text),
        }
    }
}

/// None for what no row of an application holds.
impl TryFrom<&Datum> for Value {
    type Error = Failure;

    fn try_from(datum: &Datum) -> Result<Self, Failure> {
        match datum {
            Datum::Int(number) => Ok(Self::Int(*number)),
            Datum::Text(text) => Ok(Self::Text(text.to_string())),
            other => Err(Failure::broken(format!("a row holds {other}, which is neither a number nor a text"))),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// Several columns. Words in them have no space, no `=`, and do not look like numbers, so that they read back.
///
/// ```
/// use iso_collect::Record;
/// let mut district = Record::new().with("next", 3).with("name", "north");
/// district.add("next", 1).unwrap();
/// assert_eq!(district.to_string(), "next=4 name=north");
/// assert_eq!(Record::parse("next=4 name=north").unwrap(), district);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record(Vec<(String, Value)>);

impl Record {
    /// No columns.
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more column, or another value in it.
    #[must_use]
    pub fn with(mut self, column: &str, value: impl Into<Value>) -> Self {
        self.set(column, value);
        self
    }

    /// Puts a value into a column.
    pub fn set(&mut self, column: &str, value: impl Into<Value>) {
        let value = value.into();
        assert!(reads_back(&value), "{value:?} does not read back from a record");
        match self.0.iter_mut().find(|it| it.0 == column) {
            Some(found) => found.1 = value,
            None => self.0.push((column.to_owned(), value)),
        }
    }

    /// Adds to the number in a column.
    pub fn add(&mut self, column: &str, amount: i64) -> Result<(), Failure> {
        let sum = self.int(column)? + amount;
        self.set(column, sum);
        Ok(())
    }

    /// The number in a column.
    pub fn int(&self, column: &str) -> Result<i64, Failure> {
        match self.get(column) {
            Some(Value::Int(number)) => Ok(*number),
            _ => Err(Failure::broken(format!("`{self}` has no number `{column}`"))),
        }
    }

    /// The word in a column.
    pub fn word(&self, column: &str) -> Result<&str, Failure> {
        match self.get(column) {
            Some(Value::Text(text)) => Ok(text),
            _ => Err(Failure::broken(format!("`{self}` has no word `{column}`"))),
        }
    }

    /// The value in a column, if it has one.
    pub fn get(&self, column: &str) -> Option<&Value> {
        self.0.iter().find(|it| it.0 == column).map(|it| &it.1)
    }

    /// Reads `next=3 name=north`.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let column = |part: &str| {
            let (column, value) = part.split_once('=')?;
            let value = value.parse().map_or_else(|_| Value::Text(value.to_owned()), Value::Int);
            Some((column.to_owned(), value))
        };
        let columns: Option<Vec<(String, Value)>> = text.split_whitespace().map(column).collect();
        columns.map(Self).ok_or_else(|| Failure::broken(format!("`{text}` is no record of columns")))
    }
}

fn reads_back(value: &Value) -> bool {
    match value {
        Value::Int(_) => true,
        Value::Text(text) => {
            text.parse::<i64>().is_err() && !text.chars().any(|it| it.is_whitespace() || it == '=') && !text.is_empty()
        }
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, (column, value)) in self.0.iter().enumerate() {
            let space = if nth == 0 { "" } else { " " };
            write!(f, "{space}{column}={value}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_of_another_kind_is_said_with_its_record() {
        let record = Record::new().with("next", 3).with("state", "open");
        assert_eq!(record.int("next"), Ok(3));
        assert_eq!(record.word("state"), Ok("open"));
        assert_eq!(record.int("state").unwrap_err().to_string(), "`next=3 state=open` has no number `state`");
        assert!(record.word("gone").is_err());
        assert!(Record::parse("next").is_err());
    }
}
