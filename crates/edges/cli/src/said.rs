//! The SQL of a recorded application beside operations of a report: lines of the recording have it, one text an operation.

use iso_report::{CheckReport, Excerpt, Judgement, OpKind, Operation, SqlStatement, Transaction, Value};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Adds what the application said, as far as the file of the history has it.
pub(crate) fn attach(report: &mut CheckReport, path: &Path) {
    let mut wanted: BTreeMap<u64, Option<Json>> = BTreeMap::new();
    for excerpt in excerpts(report) {
        let lines = excerpt.transactions.iter().filter_map(|it| it.place.as_ref()?.line);
        wanted.extend(lines.map(|it| (it, None)));
    }
    let (Some(last), true) = (wanted.keys().next_back().copied(), is_ours(path)) else { return };
    let Ok(file) = File::open(path) else { return };
    for (nth, line) in BufReader::new(file).lines().enumerate().take(usize::try_from(last).unwrap_or(usize::MAX)) {
        let Ok(line) = line else { return };
        if let Some(entry) = wanted.get_mut(&(nth as u64 + 1)) {
            *entry = serde_json::from_str(&line).ok();
        }
    }
    for excerpt in excerpts(report) {
        for txn in &mut excerpt.transactions {
            let line = txn.place.as_ref().and_then(|it| it.line).and_then(|it| wanted.get(&it));
            if let Some(Some(line)) = line {
                txn.statements = statements(txn, line).unwrap_or_default();
            }
        }
    }
}

/// Only recorded applications have SQL, and their files are plain.
fn is_ours(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == "jsonl")
}

fn excerpts(report: &mut CheckReport) -> impl Iterator<Item = &mut Excerpt> {
    let cores = report.levels.iter_mut().filter_map(|it| match &mut it.judgement {
        Judgement::Violated { core, .. } => Some(&mut **core),
        _ => None,
    });
    cores.chain(report.whole.as_deref_mut())
}

/// The statements of a transaction, each with those operations of the excerpt that came of it.
fn statements(txn: &Transaction, line: &Json) -> Option<Vec<SqlStatement>> {
    let (said, recorded) = (line.get("sql")?.as_array()?, line.get("ops")?.as_array()?);
    if said.len() != recorded.len() {
        return None;
    }
    let texts = said.iter().map(|it| it.as_str().unwrap_or_default().to_owned());
    let mut found: Vec<SqlStatement> = texts.map(|sql| SqlStatement { sql, ops: Vec::new() }).collect();
    let mut first = 0;
    for (place, op) in txn.ops.iter().enumerate() {
        // Operations of an excerpt are in the order of the transaction.
        if let Some(nth) = (first..recorded.len()).find(|it| has(&recorded[*it], op)) {
            found[nth].ops.push(place);
            first = nth;
        }
    }
    Some(found)
}

/// Did an operation of an excerpt come of this entry of a line?
fn has(entry: &Json, op: &Operation) -> bool {
    let parts = entry.as_array().map(Vec::as_slice).unwrap_or_default();
    let Some((Json::String(kind), rest)) = parts.split_first() else { return false };
    let is_key = |it: Option<&Json>| it.is_some_and(|it| value(it) == op.key);
    let is_value = |it: Option<&Json>| it.is_some_and(|it| value(it) == op.value);
    match (kind.as_str(), op.kind) {
        ("stmt", _) => rest.first().and_then(Json::as_array).is_some_and(|it| it.iter().any(|it| has(it, op))),
        ("r" | "u", OpKind::Read) | ("w", OpKind::Write) => is_key(rest.first()) && is_value(rest.get(1)),
        ("u", OpKind::Write) => is_key(rest.first()) && is_value(rest.get(2)),
        ("del", OpKind::Write) => is_key(rest.first()) && op.value == Value::Missing,
        ("scan", OpKind::Read) => {
            let rows = rest.get(2).and_then(Json::as_array);
            rows.is_some_and(|it| it.iter().any(|row| is_key(row.get(0)) && is_value(row.get(1))))
        }
        ("scan", OpKind::Omit) => {
            let table = rest.first().and_then(Json::as_str).unwrap_or_default();
            matches!(&op.key, Value::Text(key) if key.strip_prefix(table).is_some_and(|it| it.starts_with('/')))
        }
        _ => false,
    }
}

/// A key or a value of a line, as reports have it.
fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Missing,
        Json::Bool(it) => Value::Text(it.to_string()),
        Json::Number(number) => match number.as_i64() {
            Some(it) => Value::Int(it),
            None => Value::Number { number: number.to_string() },
        },
        Json::String(text) => Value::Text(text.clone()),
        Json::Array(items) => Value::List(items.iter().map(value).collect()),
        Json::Object(fields) => {
            Value::Record { record: fields.iter().map(|(name, it)| (name.clone(), value(it))).collect() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_belong_to_the_statement_that_they_came_of() {
        let line = r#"{"s":"s1","ops":[["r","t/1",5],["stmt",[["scan","t","a < 3",[["t/2",{"a":1}]]],["w","t/2",null]]],
            ["u","t/1",5,6]],"sql":["SELECT a","DELETE b","UPDATE c"]}"#;
        let op = |kind, key: &str, value| Operation {
            kind,
            key: Value::Text(key.to_owned()),
            value,
            predicate: None,
            statement: None,
            for_update: false,
        };
        let row = Value::Record { record: [("a".to_owned(), Value::Int(1))].into() };
        let ops = vec![
            op(OpKind::Read, "t/1", Value::Int(5)),
            op(OpKind::Omit, "t/9", Value::Missing),
            op(OpKind::Read, "t/2", row),
            op(OpKind::Write, "t/2", Value::Missing),
            op(OpKind::Write, "t/1", Value::Int(6)),
        ];
        let txn = Transaction {
            id: "s1.1".to_owned(),
            session: "s1".to_owned(),
            nth: 1,
            outcome: iso_report::Outcome::Committed,
            place: None,
            times: None,
            ops,
            statements: Vec::new(),
        };
        let found = statements(&txn, &serde_json::from_str(line).unwrap()).unwrap();
        let places: Vec<&[usize]> = found.iter().map(|it| it.ops.as_slice()).collect();
        assert_eq!(places, [&[0][..], &[1, 2, 3], &[4]]);
    }
}
