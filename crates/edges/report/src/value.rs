//! Keys, values and operations as data. How they are written is up to the renderings.

use iso_history::{Datum, History, Name, Op, OpId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A key or a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// No value: a missing row.
    Missing,
    /// An integer.
    Int(i64),
    /// A text.
    Text(String),
    /// The elements of a list, the oldest first.
    List(Vec<Self>),
    /// A number that is no 64-bit integer.
    Number {
        /// Its decimal text.
        number: String,
    },
    /// A row with fields.
    Record {
        /// Their values.
        record: BTreeMap<String, Self>,
    },
    /// Something that is too long to be kept.
    Shortened {
        /// The two ends of how our notation writes it.
        shortened: String,
    },
}

impl From<Name<'_>> for Value {
    fn from(name: Name<'_>) -> Self {
        match name {
            Name::Null => Self::Missing,
            Name::Int(number) => Self::Int(number),
            Name::Number(text) => Self::Number { number: text.to_owned() },
            Name::Text(text) => Self::Text(text.to_owned()),
            Name::Record(_) => {
                Self::Record { record: name.fields().map(|(name, value)| (name, Self::from(&value))).collect() }
            }
        }
    }
}

/// Renders as our notation writes it.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => Name::Null.fmt(f),
            Self::Int(number) => Name::Int(*number).fmt(f),
            Self::Text(text) => Name::Text(text).fmt(f),
            Self::Number { number } => Name::Number(number).fmt(f),
            Self::Shortened { shortened } => f.write_str(shortened),
            Self::Record { record } => {
                let fields: Vec<String> =
                    record.iter().map(|(name, value)| format!("{}: {value}", Name::Text(name))).collect();
                write!(f, "{{{}}}", fields.join(", "))
            }
            Self::List(elements) => {
                let elements: Vec<String> = elements.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", elements.join(","))
            }
        }
    }
}

/// What a transaction did to one key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// What it did.
    pub kind: OpKind,
    /// The key.
    pub key: Value,
    /// What was read, written or appended; missing if a scan did not return the row.
    pub value: Value,
    /// What a scan asked for that did not return the row, or that returned it although it does not match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicate: Option<String>,
    /// Operations of a transaction with the same number are one statement; those without are each one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<usize>,
    /// Does it lock what it reads, without writing it in the same statement?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_update: bool,
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OpKind {
    /// Reads a register or a list.
    Read,
    /// Writes a register.
    Write,
    /// Appends an element to a list.
    Append,
    /// Looks at a row that does not match, so that a scan does not return it.
    Omit,
}

/// Renders as our notation writes it.
impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lock = if self.for_update { " for update" } else { "" };
        let name = match self.kind {
            OpKind::Read => "r",
            OpKind::Write => "w",
            OpKind::Append => "append",
            OpKind::Omit => {
                return write!(f, "omit({}, {}){lock}", self.key, self.predicate.as_deref().unwrap_or("all"));
            }
        };
        if let Some(predicate) = &self.predicate {
            let key = self.key.to_string();
            let table = key.split_once('/').map_or(key.as_str(), |it| it.0);
            return write!(f, "scan({table}, {predicate}, {{{key}={}, ..}}){lock}", self.value);
        }
        write!(f, "{name}({},{}){lock}", self.key, self.value)
    }
}

impl Operation {
    pub(crate) fn new(history: &History, op: OpId) -> Self {
        let (kind, value) = match history.op(op) {
            Op::Read { value, .. } => (OpKind::Read, history.value(value).into()),
            Op::Write { value, .. } => (OpKind::Write, history.value(value).into()),
            Op::Append { value, .. } => (OpKind::Append, history.value(value).into()),
            Op::ReadList { values, .. } => {
                (OpKind::Read, Value::List(values.iter().map(|it| history.value(*it).into()).collect()))
            }
            Op::Omit { .. } => (OpKind::Omit, Value::Missing),
        };
        let predicate = match history.op(op) {
            Op::Omit { scan, .. } => Some(history.scan(scan).predicate.to_string()),
            // A row that came back although it does not match means nothing without what was asked for.
            Op::Read { key, value } => {
                let scan = history.scan_of(op).filter(|it| !history.matches(*it, key, value));
                scan.map(|it| history.scan(it).predicate.to_string())
            }
            _ => None,
        };
        let statement = history.statement_of(op);
        // Where the statement writes, it goes without saying.
        let is_said = match kind {
            OpKind::Read => !history.is_update(op),
            OpKind::Omit => !statement.ops().any(|it| history.op(it).is_write()),
            OpKind::Write | OpKind::Append => false,
        };
        let for_update = is_said && history.sees_newest(op);
        let statement = if statement.ops().len() > 1 { history.nth_statement(statement) } else { None };
        Self { kind, key: history.key_name(history.op(op).key()).into(), value, predicate, statement, for_update }
    }

    pub(crate) fn is_read(&self) -> bool {
        matches!(self.kind, OpKind::Read | OpKind::Omit)
    }

    /// Does this read return what a write left behind? A list does if it ends with the element that was appended.
    pub(crate) fn returns(&self, write: &Self) -> bool {
        self.is_about(write) && (self.value == write.value || self.elements().last() == Some(&write.value))
    }

    /// Does this read show what a write wrote? A list shows each of its elements.
    pub(crate) fn shows(&self, write: &Self) -> bool {
        self.is_about(write) && (self.value == write.value || self.elements().contains(&write.value))
    }

    fn is_about(&self, write: &Self) -> bool {
        self.is_read() && !write.is_read() && self.key == write.key
    }

    fn elements(&self) -> &[Value] {
        match &self.value {
            Value::List(elements) => elements,
            _ => &[],
        }
    }
}

/// What a key was at first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InitialValue {
    /// The key.
    pub key: Value,
    /// Its first value; an empty list for a list.
    pub value: Value,
}

impl InitialValue {
    /// Does a read return it?
    pub(crate) fn is_read_by(&self, op: &Operation) -> bool {
        op.is_read() && op.key == self.key && op.value == self.value
    }

    /// Is there something to say about it? Registers begin without a value, and lists without elements.
    pub(crate) fn is_given(&self) -> bool {
        !matches!(&self.value, Value::Missing) && self.value != Value::List(Vec::new())
    }
}

/// A key in a sentence or a label: `x`, but `key 2` for a number, which would read as a value.
pub(crate) fn key_words(key: &Value) -> String {
    match key {
        Value::Int(_) | Value::Number { .. } => format!("key {key}"),
        _ => key.to_string(),
    }
}

/// A key with what it holds, in a sentence or a label: `x=1`, but `key 2 = 1` for a number.
pub(crate) fn held(key: &Value, value: &str) -> String {
    match key {
        Value::Int(_) | Value::Number { .. } => format!("{} = {value}", key_words(key)),
        _ => format!("{key}={value}"),
    }
}

impl From<&Datum> for Value {
    fn from(datum: &Datum) -> Self {
        datum.as_name().into()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::document::{Excerpt, Outcome, Transaction};

    /// An excerpt with a session a transaction, from texts without spaces or commas inside of values.
    pub(crate) fn excerpt(initial: &str, txns: &[&str]) -> Excerpt {
        let txn = |(idx, ops): (usize, &&str)| Transaction {
            id: format!("s{idx}.1"),
            session: format!("s{idx}"),
            nth: 1,
            outcome: Outcome::Committed,
            place: None,
            times: None,
            ops: ops.split_whitespace().map(operation).collect(),
            statements: Vec::new(),
        };
        let first = |it: &str| {
            let (key, value) = it.split_once('=').unwrap();
            InitialValue { key: value_of(key), value: value_of(value) }
        };
        let initial = initial.split_whitespace().map(first).collect();
        Excerpt { transactions: txns.iter().enumerate().map(txn).collect(), initial, ..Excerpt::default() }
    }

    fn operation(text: &str) -> Operation {
        let (name, inside) = text.trim_end_matches(')').split_once('(').unwrap();
        let (key, value) = inside.split_once(',').unwrap();
        let kind = match name {
            "r" => OpKind::Read,
            "w" => OpKind::Write,
            _ => OpKind::Append,
        };
        let (key, value) = (value_of(key), value_of(value));
        Operation { kind, key, value, predicate: None, statement: None, for_update: false }
    }

    fn value_of(text: &str) -> Value {
        match text.strip_prefix('[') {
            Some(list) => Value::List(list.trim_end_matches(']').split(',').map(value_of).collect()),
            None => text.parse().map_or_else(|_| Value::Text(text.to_owned()), Value::Int),
        }
    }

    #[test]
    fn values_are_what_they_are_in_json() {
        let values = vec![
            Value::Missing,
            Value::Int(-1),
            Value::Text("a,b".to_owned()),
            Value::List(vec![Value::Int(1), Value::Text("2".to_owned())]),
            Value::Number { number: "1.50".to_owned() },
            Value::Shortened { shortened: "[1,…]".to_owned() },
        ];
        let json = serde_json::to_string(&values).unwrap();
        assert_eq!(json, r#"[null,-1,"a,b",[1,"2"],{"number":"1.50"},{"shortened":"[1,…]"}]"#);
        assert_eq!(serde_json::from_str::<Vec<Value>>(&json).unwrap(), values);
        let written: Vec<String> = values.iter().map(ToString::to_string).collect();
        assert_eq!(written, ["-", "-1", "\"a,b\"", "[1,\"2\"]", "1.50", "[1,…]"]);
    }

    #[test]
    fn keys_that_are_numbers_are_called_keys() {
        let (named, numbered) = (Value::Text("x".to_owned()), Value::Int(2));
        assert_eq!((key_words(&named), held(&named, "1")), ("x".to_owned(), "x=1".to_owned()));
        assert_eq!((key_words(&numbered), held(&numbered, "1")), ("key 2".to_owned(), "key 2 = 1".to_owned()));
    }
}
