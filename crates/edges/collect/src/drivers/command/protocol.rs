//! The protocol of drivers: what is asked, as lines of JSON, and how answers are understood.
//!
//! `docs/drivers.md` is the definition.

use crate::Value;
use iso_history::{Column, Comparison, Datum, Predicate};
use serde_json::{Map, Value as Json, json};
use std::fmt;

/// The version of the protocol.
pub(super) const PROTOCOL: u64 = 1;

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub(super) enum Request<'r> {
    Hello,
    Open {
        session: u64,
    },
    Begin {
        session: u64,
        level: &'r str,
        reading: Reading,
    },
    Operation {
        session: u64,
        operation: &'r Operation,
    },
    Commit {
        session: u64,
    },
    Abort {
        session: u64,
    },
    Close {
        session: u64,
    },
    Whole {
        session: u64,
        level: &'r str,
        operations: &'r [Operation],
    },
    /// What no driver knows.
    Unknown {
        session: u64,
    },
}

/// Whether a transaction will only read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    Only,
    AndWriting,
}

/// What a transaction does, by the names that the driver knows.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Get { table: String, key: String },
    Put { table: String, key: String, value: Value },
    Append { table: String, key: String, element: i64 },
    Delete { table: String, key: String },
    Scan { table: String, predicate: Predicate },
}

impl Operation {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Get { .. } => "get",
            Self::Put { .. } => "put",
            Self::Append { .. } => "append",
            Self::Delete { .. } => "delete",
            Self::Scan { .. } => "scan",
        }
    }

    fn object(&self) -> Map<String, Json> {
        let mut object = Map::new();
        object.insert("do".to_owned(), self.name().into());
        match self {
            Self::Get { table, key } | Self::Delete { table, key } => {
                object.insert("key".to_owned(), key.as_str().into());
                object.insert("table".to_owned(), table.as_str().into());
            }
            Self::Put { table, key, value } => {
                object.insert("key".to_owned(), key.as_str().into());
                object.insert("value".to_owned(), json_of(value));
                object.insert("table".to_owned(), table.as_str().into());
            }
            Self::Append { table, key, element } => {
                object.insert("key".to_owned(), key.as_str().into());
                object.insert("value".to_owned(), (*element).into());
                object.insert("table".to_owned(), table.as_str().into());
            }
            Self::Scan { table, predicate } => {
                object.insert("table".to_owned(), table.as_str().into());
                object.insert("where".to_owned(), condition(predicate));
            }
        }
        object
    }
}

impl Request<'_> {
    /// The line, with its number.
    pub(super) fn line(&self, id: u64) -> String {
        let mut object = Map::new();
        object.insert("id".to_owned(), id.into());
        if let Some(session) = self.session() {
            object.insert("session".to_owned(), session.into());
        }
        match self {
            Self::Operation { operation, .. } => object.extend(operation.object()),
            other => {
                object.insert("do".to_owned(), other.name().into());
            }
        }
        match self {
            Self::Hello => {
                object.insert("protocol".to_owned(), PROTOCOL.into());
            }
            Self::Begin { level, reading, .. } => {
                object.insert("level".to_owned(), (*level).into());
                object.insert("read_only".to_owned(), (*reading == Reading::Only).into());
            }
            Self::Whole { level, operations, .. } => {
                object.insert("level".to_owned(), (*level).into());
                let operations = operations.iter().map(|it| Json::Object(it.object()));
                object.insert("ops".to_owned(), operations.collect());
            }
            _ => {}
        }
        format!("{}\n", Json::Object(object))
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Hello => "hello",
            Self::Open { .. } => "open",
            Self::Begin { .. } => "begin",
            Self::Operation { operation, .. } => operation.name(),
            Self::Commit { .. } => "commit",
            Self::Abort { .. } => "abort",
            Self::Close { .. } => "close",
            Self::Whole { .. } => "txn",
            Self::Unknown { .. } => "isoscope-unknown",
        }
    }

    fn session(&self) -> Option<u64> {
        match self {
            Self::Hello => None,
            Self::Open { session }
            | Self::Begin { session, .. }
            | Self::Operation { session, .. }
            | Self::Commit { session }
            | Self::Abort { session }
            | Self::Close { session }
            | Self::Whole { session, .. }
            | Self::Unknown { session } => Some(*session),
        }
    }
}

impl fmt::Display for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.session() {
            Some(session) => write!(f, "`{}` of session {session}", self.name()),
            None => write!(f, "`{}`", self.name()),
        }
    }
}

/// What came back.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Answer {
    Ok(Json),
    /// The transaction was aborted for sure.
    Conflict(String),
    /// Nobody knows what became of the transaction.
    Lost(String),
    /// A mistake: the run ends.
    Broken(String),
    Unsupported(String),
}

/// The number and the answer in a line.
pub(super) fn answer_of(line: &[u8]) -> Result<(u64, Answer), String> {
    let json: Json = serde_json::from_slice(line).map_err(|error| format!("it is no JSON: {error}"))?;
    let Json::Object(mut object) = json else { return Err("an answer is a JSON object".to_owned()) };
    let id = object.get("id").and_then(Json::as_u64).ok_or("it has no number \"id\" of a request")?;
    let mut found: Vec<(&str, Json)> = Vec::new();
    for kind in ["ok", "conflict", "lost", "broken", "unsupported"] {
        found.extend(object.remove(kind).map(|it| (kind, it)));
    }
    let [(kind, said)] = <[_; 1]>::try_from(found).map_err(|found| {
        let found = if found.is_empty() { "none" } else { "several" };
        format!("it has {found} of \"ok\", \"conflict\", \"lost\", \"broken\" and \"unsupported\"")
    })?;
    let text = || said.as_str().map_or_else(|| said.to_string(), str::to_owned);
    Ok((
        id,
        match kind {
            "ok" => Answer::Ok(said),
            "conflict" => Answer::Conflict(text()),
            "lost" => Answer::Lost(text()),
            "broken" => Answer::Broken(text()),
            _ => Answer::Unsupported(text()),
        },
    ))
}

/// What `hello` is answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hello {
    pub(super) name: String,
    pub(super) version: Option<String>,
    pub(super) levels: Vec<String>,
    /// By level, the name of what it promises.
    pub(super) promises: Vec<(String, String)>,
    /// What it says at once that it cannot do.
    pub(super) unsupported: Vec<String>,
}

impl Hello {
    pub(super) fn of(json: &Json) -> Result<Self, String> {
        let object = json.as_object().ok_or("the answer to `hello` is an object with name, version and levels")?;
        match object.get("protocol").and_then(Json::as_u64) {
            Some(PROTOCOL) => {}
            Some(other) => return Err(format!("the driver speaks protocol {other}; this program speaks {PROTOCOL}")),
            None => return Err(format!("the answer to `hello` does not say \"protocol\": {PROTOCOL}")),
        }
        let name = object.get("name").and_then(Json::as_str).filter(|it| !it.is_empty());
        let name = name.ok_or("the answer to `hello` has no \"name\" of the database")?.to_owned();
        let version = object.get("version").filter(|it| !it.is_null()).map(plain);
        let texts = |name: &str| -> Result<Vec<String>, String> {
            let Some(found) = object.get(name) else { return Ok(Vec::new()) };
            let texts = found.as_array().and_then(|it| it.iter().map(|it| it.as_str().map(str::to_owned)).collect());
            texts.ok_or_else(|| format!("\"{name}\" in the answer to `hello` is a list of texts"))
        };
        let levels = texts("levels")?;
        if levels.is_empty() {
            return Err("the answer to `hello` has no \"levels\", as in [\"serializable\"]".to_owned());
        }
        let promises = match object.get("promises") {
            None | Some(Json::Null) => Vec::new(),
            Some(Json::Object(promises)) => promises.iter().map(|it| (it.0.clone(), plain(it.1))).collect(),
            Some(_) => return Err("\"promises\" in the answer to `hello` is an object, by level".to_owned()),
        };
        if let Some((level, _)) = promises.iter().find(|it| !levels.contains(&it.0)) {
            return Err(format!("`hello` promises something at the level `{level}`, which is none of \"levels\""));
        }
        Ok(Self { name, version, levels, promises, unsupported: texts("unsupported")? })
    }
}

fn plain(json: &Json) -> String {
    json.as_str().map_or_else(|| json.to_string(), str::to_owned)
}

/// The value that a `get` answered; a list is a text, as clients have it.
pub(super) fn value_of(json: &Json) -> Result<Option<Value>, String> {
    match json {
        Json::Null => Ok(None),
        Json::Number(number) => match number.as_i64() {
            Some(number) => Ok(Some(Value::Int(number))),
            None => Err(format!("the value {number} is no whole number of 64 bits")),
        },
        Json::String(text) => Ok(Some(Value::Text(text.clone()))),
        Json::Array(elements) => {
            let elements: Option<Vec<String>> = elements.iter().map(|it| Some(it.as_i64()?.to_string())).collect();
            let elements = elements.ok_or_else(|| format!("the list {json} has elements that are no whole numbers"))?;
            Ok(Some(Value::Text(elements.join(","))))
        }
        Json::Bool(_) | Json::Object(_) => {
            Err(format!("{json} is no value: a whole number, a text, a list of whole numbers, or null"))
        }
    }
}

/// The rows that a `scan` answered: pairs of key and value, or an object. Keys may have their table before them or not.
pub(super) fn rows_of(table: &str, json: &Json) -> Result<Vec<(String, Value)>, String> {
    let wrong = || format!("{json} are no rows: a list of pairs [key, value], or an object");
    let pairs: Vec<(String, &Json)> = match json {
        Json::Object(rows) => rows.iter().map(|it| (it.0.clone(), it.1)).collect(),
        Json::Array(rows) => rows
            .iter()
            .map(|row| match row {
                Json::Array(pair) => match pair.as_slice() {
                    [key, value] => Some((plain(key), value)),
                    _ => None,
                },
                Json::Object(row) => Some((plain(row.get("key")?), row.get("value")?)),
                _ => None,
            })
            .collect::<Option<_>>()
            .ok_or_else(wrong)?,
        _ => return Err(wrong()),
    };
    let prefix = format!("{table}/");
    let row = |(key, value): (String, &Json)| match value_of(value)? {
        Some(value) => Ok((key.strip_prefix(&prefix).unwrap_or(&key).to_owned(), value)),
        None => Err(format!("the row {key} has no value")),
    };
    pairs.into_iter().map(row).collect()
}

fn json_of(value: &Value) -> Json {
    match value {
        Value::Int(number) => (*number).into(),
        Value::Text(text) => text.as_str().into(),
    }
}

fn json_of_datum(datum: &Datum) -> Json {
    match datum {
        Datum::Null => Json::Null,
        Datum::Int(number) => (*number).into(),
        other => match other.as_name() {
            iso_history::Name::Text(text) | iso_history::Name::Number(text) | iso_history::Name::Record(text) => {
                text.into()
            }
            iso_history::Name::Int(number) => number.into(),
            iso_history::Name::Null => Json::Null,
        },
    }
}

/// Which rows a scan wants; null for all of them.
fn condition(predicate: &Predicate) -> Json {
    let column = |column: &Column| if *column == Column::Key { "key" } else { "value" };
    match predicate {
        // Nobody can ask a database for a foreign one; the rows are looked at here.
        Predicate::All | Predicate::Foreign(_) => Json::Null,
        Predicate::Compare(of, comparison, to) => {
            let sign = match comparison {
                Comparison::Equal => "=",
                Comparison::Different => "!=",
                Comparison::Less => "<",
                Comparison::AtMost => "<=",
                Comparison::Greater => ">",
                Comparison::AtLeast => ">=",
            };
            json!({"column": column(of), "is": sign, "to": json_of_datum(to)})
        }
        Predicate::Between(of, low, high) => {
            json!({"column": column(of), "from": json_of_datum(low), "up_to": json_of_datum(high)})
        }
        Predicate::OneOf(of, all) => {
            json!({"column": column(of), "in": all.iter().map(json_of_datum).collect::<Vec<_>>()})
        }
        Predicate::Remainder { column: of, divisor, remainder } => {
            json!({"column": column(of), "mod": divisor, "remainder": remainder})
        }
        Predicate::Not(inner) => json!({"not": condition(inner)}),
        Predicate::And(parts) => json!({"and": parts.iter().map(condition).collect::<Vec<_>>()}),
        Predicate::Or(parts) => json!({"or": parts.iter().map(condition).collect::<Vec<_>>()}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_as_the_page_has_them() {
        let get = Operation::Get { table: "t".to_owned(), key: "t/x".to_owned() };
        let put = Operation::Put { table: "t".to_owned(), key: "t/x".to_owned(), value: Value::Int(5) };
        let predicate = Predicate::Compare(Column::Named("value".into()), Comparison::Less, 3.into());
        let scan = Operation::Scan { table: "t".to_owned(), predicate };
        let expected = [
            (Request::Hello, r#"{"id":7,"do":"hello","protocol":1}"#),
            (Request::Open { session: 2 }, r#"{"id":7,"session":2,"do":"open"}"#),
            (
                Request::Begin { session: 2, level: "serializable", reading: Reading::AndWriting },
                r#"{"id":7,"session":2,"do":"begin","level":"serializable","read_only":false}"#,
            ),
            (
                Request::Operation { session: 2, operation: &get },
                r#"{"id":7,"session":2,"do":"get","key":"t/x","table":"t"}"#,
            ),
            (
                Request::Operation { session: 2, operation: &put },
                r#"{"id":7,"session":2,"do":"put","key":"t/x","value":5,"table":"t"}"#,
            ),
            (
                Request::Operation { session: 2, operation: &scan },
                r#"{"id":7,"session":2,"do":"scan","table":"t","where":{"column":"value","is":"<","to":3}}"#,
            ),
            (
                Request::Whole { session: 2, level: "l", operations: std::slice::from_ref(&get) },
                r#"{"id":7,"session":2,"do":"txn","level":"l","ops":[{"do":"get","key":"t/x","table":"t"}]}"#,
            ),
        ];
        for (request, line) in expected {
            let json = |text: &str| serde_json::from_str::<Json>(text).unwrap();
            assert_eq!(json(&request.line(7)), json(line));
        }
    }

    #[test]
    fn what_is_wrong_with_an_answer_is_said() {
        for (line, what) in [
            ("nonsense", "it is no JSON"),
            ("[1]", "an answer is a JSON object"),
            (r#"{"ok":1}"#, "no number \"id\""),
            (r#"{"id":1}"#, "it has none of"),
            (r#"{"id":1,"ok":1,"lost":"x"}"#, "it has several of"),
        ] {
            let error = answer_of(line.as_bytes()).unwrap_err();
            assert!(error.contains(what), "{error}");
        }
        let answer = |text: &str| answer_of(text.as_bytes()).unwrap();
        assert_eq!(answer(r#"{"id":3,"ok":null}"#), (3, Answer::Ok(Json::Null)));
        assert_eq!(answer(r#"{"id":3,"conflict":"no"}"#), (3, Answer::Conflict("no".to_owned())));
    }

    #[test]
    fn values_and_rows_are_read_in_every_form() {
        assert_eq!(value_of(&json!([1, 2, -3])), Ok(Some(Value::Text("1,2,-3".to_owned()))));
        assert_eq!(value_of(&json!([])), Ok(Some(Value::Text(String::new()))));
        assert!(value_of(&json!(1.5)).is_err() && value_of(&json!({"a": 1})).is_err());
        let expected = vec![("x".to_owned(), Value::Int(5))];
        for rows in [json!([["t/x", 5]]), json!([["x", 5]]), json!({"t/x": 5}), json!([{"key": "x", "value": 5}])] {
            assert_eq!(rows_of("t", &rows), Ok(expected.clone()), "{rows}");
        }
        assert!(rows_of("t", &json!([["x"]])).is_err() && rows_of("t", &json!(7)).is_err());
    }

    #[test]
    fn a_hello_that_says_too_little_is_refused_with_what_is_missing() {
        for (hello, what) in [
            (json!(1), "is an object"),
            (json!({"name": "x", "levels": ["a"]}), "\"protocol\": 1"),
            (json!({"protocol": 2, "name": "x", "levels": ["a"]}), "speaks protocol 2"),
            (json!({"protocol": 1, "levels": ["a"]}), "no \"name\""),
            (json!({"protocol": 1, "name": "x"}), "no \"levels\""),
            (json!({"protocol": 1, "name": "x", "levels": "a"}), "a list of texts"),
            (json!({"protocol": 1, "name": "x", "levels": ["a"], "promises": {"b": "ser"}}), "the level `b`"),
        ] {
            let error = Hello::of(&hello).unwrap_err();
            assert!(error.contains(what), "{error}");
        }
    }
}
