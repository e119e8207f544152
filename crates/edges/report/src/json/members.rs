//! Objects and members of JSON: small words for writing and reading them.

use super::ReadError;
use serde_json::{Map, Value};

/// An object under construction, in the order of its members.
#[derive(Default)]
pub(super) struct Members(Map<String, Value>);

impl Members {
    pub(super) fn put(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    pub(super) fn maybe(&mut self, name: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.put(name, value);
        }
    }

    pub(super) fn done(self) -> Value {
        Value::Object(self.0)
    }
}

pub(super) fn list<T>(items: &[T], write: impl Fn(&T) -> Value) -> Value {
    Value::Array(items.iter().map(write).collect())
}

pub(super) type Read<T> = Result<T, ReadError>;

pub(super) fn wrong<T>(member: &str, expected: &'static str) -> Read<T> {
    Err(ReadError::Member { member: member.to_owned(), expected })
}

pub(super) fn text(of: &Value, member: &str) -> Read<String> {
    of[member].as_str().map(str::to_owned).map_or_else(|| wrong(member, "a string"), Ok)
}

pub(super) fn maybe_text(of: &Value, member: &str) -> Option<String> {
    of[member].as_str().map(str::to_owned)
}

pub(super) fn count(of: &Value, member: &str) -> Read<u64> {
    of[member].as_u64().map_or_else(|| wrong(member, "a number"), Ok)
}

pub(super) fn maybe_size(of: &Value, member: &str) -> Option<usize> {
    of[member].as_u64().and_then(|it| usize::try_from(it).ok())
}

pub(super) fn items<T>(of: &Value, member: &str, read: impl Fn(&Value) -> Read<T>) -> Read<Vec<T>> {
    match of[member].as_array() {
        Some(items) => items.iter().map(read).collect(),
        None => wrong(member, "an array"),
    }
}

pub(super) fn string(value: &Value) -> Read<String> {
    value.as_str().map(str::to_owned).map_or_else(|| wrong("an entry", "a string"), Ok)
}

pub(super) fn pair(value: &Value) -> Read<(String, String)> {
    Ok((string(&value[0])?, string(&value[1])?))
}

pub(super) fn number(of: &Value, member: &str) -> Read<f64> {
    of[member].as_f64().map_or_else(|| wrong(member, "a number"), Ok)
}

pub(super) fn truth(of: &Value, member: &str) -> Read<bool> {
    of[member].as_bool().map_or_else(|| wrong(member, "true or false"), Ok)
}

pub(super) fn pairs(pairs: &[(String, String)]) -> Value {
    list(pairs, |(from, to)| serde_json::json!([from, to]))
}
