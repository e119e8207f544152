//! Version 1 of the JSON, which had operations, keys and values as texts of our notation: the same tree in version 2.

use iso_spec::Level;
use serde_json::{Map, Value, json};

/// The version of the documents that are read here.
pub(crate) const VERSION: u64 = 1;

/// The document as version 2 has it. What is damaged stays as it is, and is refused by whoever reads it then.
pub(crate) fn upgraded(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(upgraded).collect(),
        Value::Object(members) => {
            let mut members: Map<String, Value> = members.into_iter().map(|(name, it)| (name, upgraded(it))).collect();
            for upgrade in [transaction, keyed, version, local_read, relations, neighbour, executed, store] {
                upgrade(&mut members);
            }
            Value::Object(members)
        }
        other => other,
    }
}

type Members = Map<String, Value>;

fn text<'m>(members: &'m Members, name: &str) -> Option<&'m str> {
    members.get(name)?.as_str()
}

/// Replaces a member, if there is something to replace it with.
fn replace(members: &mut Members, name: &str, with: impl Fn(&Value) -> Option<Value>) {
    if let Some(member) = members.get_mut(name)
        && let Some(value) = with(member)
    {
        *member = value;
    }
}

/// The entries of an array, each as something else, if each is.
fn each(array: &Value, with: impl Fn(&Value) -> Option<Value>) -> Option<Value> {
    array.as_array()?.iter().map(with).collect::<Option<Vec<_>>>().map(Value::Array)
}

/// Operations were texts, initial values were pairs, and only a name said which transaction of the session it is.
fn transaction(members: &mut Members) {
    replace(members, "ops", |it| each(it, |op| operation(op.as_str()?)));
    replace(members, "initial", |it| {
        each(it, |pair| Some(json!({ "key": datum(pair[0].as_str()?), "value": datum(pair[1].as_str()?) })))
    });
    let nth = text(members, "id").and_then(|it| it.rsplit_once('.')?.1.parse::<usize>().ok());
    if let (Some(nth), true) = (nth, members.contains_key("session")) {
        members.insert("nth".to_owned(), nth.into());
    }
}

/// Keys of dependencies, changed reads, versions and summaries.
fn keyed(members: &mut Members) {
    if ["kind", "observed", "writers", "reads"].iter().any(|it| members.contains_key(*it)) {
        // Operations have theirs already.
        let is_new = members.contains_key("value");
        replace(members, "key", |it| it.as_str().filter(|_| !is_new).map(datum));
    }
}

/// A value with its writer; of a list, the whole operation.
fn version(members: &mut Members) {
    if members.contains_key("writer") {
        replace(members, "value", |it| {
            let value = it.as_str()?;
            Some(operation(value).map_or_else(|| datum(value), |it| it["value"].clone()))
        });
    }
}

fn local_read(members: &mut Members) {
    if members.contains_key("local_read")
        && let Some(because) = members.remove("local")
    {
        members["local_read"]["because"] = because;
    }
}

/// Relations were members of an object: `"vo[x]": [...]`.
fn relations(members: &mut Members) {
    replace(members, "relations", |it| {
        let named = it.as_object()?.iter().map(|(name, pairs)| {
            match name.strip_suffix(']').and_then(|it| it.split_once('[')) {
                Some((name, key)) => json!({ "name": name, "key": datum(key), "pairs": pairs }),
                None => json!({ "name": name, "pairs": pairs }),
            }
        });
        Some(named.collect())
    });
}

fn neighbour(members: &mut Members) {
    if let Some(is_in_core) = members.remove("in_part") {
        members.insert("in_core".to_owned(), is_in_core);
    }
}

/// What a transaction of a program wrote was an array: `["x", "60", 4]`.
fn executed(members: &mut Members) {
    replace(members, "writes", |it| {
        each(it, |write| {
            let mut written = json!({ "unit": write.get(0)?, "value": write.get(1)? });
            if let Some(line) = write.get(2) {
                written["line"] = line.clone();
            }
            Some(written)
        })
    });
}

fn store(members: &mut Members) {
    if text(members, "verb") == Some("store")
        && let Some(level) = text(members, "level").map(str::to_owned)
    {
        let name = Level::from_name(&level).map_or(level, |it| it.full_name().to_owned());
        members.insert("name".to_owned(), name.into());
    }
}

/// An operation in our notation: `r(x,1)`. Long ones were shortened, wherever that was.
fn operation(text: &str) -> Option<Value> {
    let (name, inside) = text.strip_suffix(')')?.split_once('(')?;
    let kind = match name {
        "r" => "read",
        "w" => "write",
        "append" => "append",
        _ => return None,
    };
    let (key, value) = match word_end(inside).map(|end| inside.split_at(end)) {
        Some((key, rest)) if rest.starts_with(',') => (datum(key), datum(&rest[1..])),
        _ => (shortened(inside), shortened("…")),
    };
    Some(json!({ "kind": kind, "key": key, "value": value }))
}

/// Where a word ends that stands before a comma: quotes may have commas inside.
fn word_end(text: &str) -> Option<usize> {
    let Some(quoted) = text.strip_prefix('"') else { return text.find(',') };
    let mut is_escaped = false;
    let end = quoted.find(|it| {
        let is_end = it == '"' && !is_escaped;
        is_escaped = it == '\\' && !is_escaped;
        is_end
    });
    end.map(|it| it + 2)
}

fn shortened(text: &str) -> Value {
    json!({ "shortened": text })
}

/// A key or a value in our notation.
fn datum(text: &str) -> Value {
    if text == "-" {
        return Value::Null;
    }
    if let Some(elements) = text.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
        return list(elements).unwrap_or_else(|| shortened(text));
    }
    if let Some(quoted) = text.strip_prefix('"') {
        return quoted.strip_suffix('"').and_then(unquoted).map_or_else(|| shortened(text), Value::String);
    }
    match text.parse::<i64>() {
        Ok(number) => number.into(),
        Err(_) if text.contains('…') => shortened(text),
        Err(_) if text.starts_with(|it: char| it.is_ascii_digit() || it == '-') => json!({ "number": text }),
        Err(_) => text.into(),
    }
}

fn list(mut elements: &str) -> Option<Value> {
    let mut found = Vec::new();
    while !elements.is_empty() {
        let end =
            if elements.starts_with('"') { word_end(elements)? } else { elements.find(',').unwrap_or(elements.len()) };
        found.push(datum(&elements[..end]));
        elements = elements[end..].strip_prefix(',').unwrap_or_default();
    }
    let is_whole = found.iter().all(|it| it.get("shortened").is_none());
    is_whole.then_some(Value::Array(found))
}

/// The text of a quoted word.
fn unquoted(quoted: &str) -> Option<String> {
    let mut text = String::new();
    let mut rest = quoted.chars();
    while let Some(symbol) = rest.next() {
        if symbol != '\\' {
            text.push(symbol);
            continue;
        }
        text.push(match rest.next()? {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let code: String = rest.by_ref().skip(1).take_while(|it| *it != '}').collect();
                char::from_u32(u32::from_str_radix(&code, 16).ok()?)?
            }
            other => other,
        });
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_read_as_our_notation_writes_them() {
        let cases = [
            ("r(x,-)", json!({ "kind": "read", "key": "x", "value": null })),
            ("w(\"a,\\\"b\",1.50)", json!({ "kind": "write", "key": "a,\"b", "value": { "number": "1.50" } })),
            ("append(7,\"\\u{1b}\\n\")", json!({ "kind": "append", "key": 7, "value": "\u{1b}\n" })),
            ("r(l,[1,\"a,b\",-2])", json!({ "kind": "read", "key": "l", "value": [1, "a,b", -2] })),
            ("r(l,[])", json!({ "kind": "read", "key": "l", "value": [] })),
            ("r(l,[1,2,…9,10])", json!({ "kind": "read", "key": "l", "value": { "shortened": "[1,2,…9,10]" } })),
        ];
        for (text, expected) in cases {
            assert_eq!(operation(text), Some(expected), "{text}");
        }
        assert_eq!(operation("committed"), None);
    }
}
