//! A validator for the part of JSON Schema (draft 2020-12) that `docs/json.schema.json` uses.
//!
//! A keyword that it does not know is a mistake of the schema, so that nothing is believed to be checked that is not.

use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// The schema of our JSON answers.
pub struct Schema {
    root: Value,
}

/// What is wrong: where, and what.
type Wrong = (String, String);

impl Schema {
    /// The schema in the documents.
    pub fn of_answers() -> Self {
        let text = include_str!("../../../../../docs/json.schema.json");
        Self { root: serde_json::from_str(text).unwrap() }
    }

    /// What is wrong with an answer.
    pub fn refuses(&self, answer: &Value) -> Option<String> {
        self.check(&self.root, answer, "").err().map(|(place, what)| format!("{place}: {what}"))
    }

    /// What is wrong with a part of an answer that has a name in the schema.
    pub fn refuses_as(&self, name: &str, part: &Value) -> Option<String> {
        self.check(&self.root["$defs"][name], part, "").err().map(|(place, what)| format!("{place}: {what}"))
    }

    /// The names of all members.
    pub fn members(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        add_members(&self.root, &mut names);
        names
    }

    fn check(&self, schema: &Value, value: &Value, place: &str) -> Result<(), Wrong> {
        let keywords = schema.as_object().unwrap();
        for (keyword, wanted) in keywords {
            match keyword.as_str() {
                "$schema" | "$defs" | "title" | "description" => {}
                "$ref" => self.check(self.definition(wanted), value, place)?,
                "anyOf" => self.any_of(wanted, value, place)?,
                "type" => expect(is_type(wanted, value), place, || format!("{value} is no {wanted}"))?,
                "const" => expect(wanted == value, place, || format!("{value} is not {wanted}"))?,
                "enum" => expect(list(wanted).contains(value), place, || format!("{value} is none of {wanted}"))?,
                "minimum" => {
                    expect(value.as_f64() >= wanted.as_f64(), place, || format!("{value} is less than {wanted}"))?;
                }
                "minItems" => expect(length(value) >= wanted.as_u64(), place, || "too few entries".to_owned())?,
                "maxItems" => expect(length(value) <= wanted.as_u64(), place, || "too many entries".to_owned())?,
                "items" => self.items(value, place, |_| Some(wanted))?,
                "prefixItems" => self.items(value, place, |idx| list(wanted).get(idx))?,
                "properties" => self.properties(wanted, value, place)?,
                "required" => required(wanted, value, place)?,
                "additionalProperties" => no_others(keywords, wanted, value, place)?,
                unknown => panic!("the schema has a keyword that is not checked: {unknown}"),
            }
        }
        Ok(())
    }

    fn definition(&self, reference: &Value) -> &Value {
        let name = reference.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
        self.root["$defs"].get(name).unwrap_or_else(|| panic!("the schema does not define {name}"))
    }

    /// One must do; the one that comes furthest says what is wrong.
    fn any_of(&self, all: &Value, value: &Value, place: &str) -> Result<(), Wrong> {
        let mut furthest: Option<Wrong> = None;
        for one in list(all) {
            match self.check(one, value, place) {
                Ok(()) => return Ok(()),
                Err(wrong) if furthest.as_ref().is_none_or(|it| it.0.len() < wrong.0.len()) => furthest = Some(wrong),
                Err(_) => {}
            }
        }
        furthest.map_or(Ok(()), Err)
    }

    fn items<'s>(&self, value: &Value, place: &str, of: impl Fn(usize) -> Option<&'s Value>) -> Result<(), Wrong> {
        for (idx, item) in value.as_array().into_iter().flatten().enumerate() {
            if let Some(schema) = of(idx) {
                self.check(schema, item, &format!("{place}/{idx}"))?;
            }
        }
        Ok(())
    }

    fn properties(&self, wanted: &Value, value: &Value, place: &str) -> Result<(), Wrong> {
        for (name, member) in value.as_object().into_iter().flatten() {
            if let Some(schema) = wanted.get(name) {
                self.check(schema, member, &format!("{place}/{name}"))?;
            }
        }
        Ok(())
    }
}

fn add_members(schema: &Value, names: &mut BTreeSet<String>) {
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        names.extend(properties.keys().cloned());
    }
    let inner = schema.as_object().into_iter().flat_map(Map::values);
    inner.chain(schema.as_array().into_iter().flatten()).for_each(|it| add_members(it, names));
}

fn expect(is_good: bool, place: &str, what: impl FnOnce() -> String) -> Result<(), Wrong> {
    if is_good { Ok(()) } else { Err((place.to_owned(), what())) }
}

fn no_others(keywords: &Map<String, Value>, wanted: &Value, value: &Value, place: &str) -> Result<(), Wrong> {
    assert_eq!(wanted, false, "other members are refused or not spoken of");
    let known = &keywords["properties"];
    let stranger = value.as_object().into_iter().flatten().find(|it| known.get(it.0).is_none());
    expect(stranger.is_none(), place, || format!("there is no member {:?}", stranger.unwrap().0))
}

fn required(wanted: &Value, value: &Value, place: &str) -> Result<(), Wrong> {
    let missing = list(wanted).iter().find(|it| value.get(it.as_str().unwrap()).is_none());
    expect(missing.is_none(), place, || format!("member {} is missing", missing.unwrap()))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn length(value: &Value) -> Option<u64> {
    value.as_array().map(|it| it.len() as u64)
}

fn is_type(wanted: &Value, value: &Value) -> bool {
    match wanted.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("{other} is no type"),
    }
}
