//! Every document is what `docs/json.schema.json` says, and nothing else is.
#![allow(clippy::unwrap_used, reason = "helpers of tests are test code")]

mod common;

use common::schema::Schema;
use iso_report::{JsonLayout, Report};
use serde_json::{Value, json};

/// The goldens of all verbs.
fn goldens() -> Vec<(String, Value)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden");
    let paths = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    let mut paths: Vec<_> = paths.filter(|it| it.extension().is_some_and(|it| it == "json")).collect();
    paths.sort();
    let read = |path: &std::path::PathBuf| serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    paths.iter().map(|it| (it.file_stem().unwrap().to_string_lossy().into_owned(), read(it))).collect()
}

fn gallery() -> Vec<Report> {
    let checks = common::gallery().into_iter().map(|it| it.1.into());
    checks.chain(common::search::gallery().into_iter().chain(common::runs::gallery()).map(|it| it.1)).collect()
}

#[test]
fn every_document_is_what_the_schema_says() {
    let schema = Schema::of_answers();
    let goldens = goldens();
    for (name, document) in &goldens {
        assert_eq!(schema.refuses(document), None, "{name}");
    }
    let verbs: std::collections::BTreeSet<&str> = goldens.iter().map(|it| it.1["verb"].as_str().unwrap()).collect();
    let all =
        ["check", "collect", "compare", "demo", "hunt", "lattice", "predict", "replay", "separate", "store", "verify"];
    assert_eq!(verbs.into_iter().collect::<Vec<_>>(), all);
    for report in gallery() {
        let document = serde_json::from_str(&report.to_json(JsonLayout::Compact)).unwrap();
        assert_eq!(schema.refuses(&document), None, "{}", report.verb());
    }
}

#[test]
fn wrong_documents_are_refused_with_their_place() {
    let schema = Schema::of_answers();
    let (_, check) = goldens().into_iter().find(|it| it.0 == "write-skew").unwrap();
    let violated = check["levels"].as_array().unwrap().iter().position(|it| it["verdict"] == "violated").unwrap();
    let evidence = format!("/levels/{violated}/evidence");
    let cases: [(&str, Value, &str); 7] = [
        ("/isoscope", json!(1), "1 is not 2"),
        ("/seconds", json!("1"), "\"1\" is no \"number\""),
        ("/levels/0/verdict", json!("fine"), "\"fine\" is not"),
        ("/history/keys", json!(-1), "-1 is less than 0"),
        ("{evidence}/cycle/0/kind", json!("rr"), "\"rr\" is none of"),
        ("{evidence}/transactions/0/ops/0", json!("r(x,0)"), "is no \"object\""),
        ("{evidence}/initial/0", json!(["x", "0"]), "is no \"object\""),
    ];
    for (place, value, words) in cases {
        let (mut wrong, place) = (check.clone(), place.replace("{evidence}", &evidence));
        *wrong.pointer_mut(&place).unwrap() = value;
        let message = schema.refuses(&wrong).unwrap_or_else(|| panic!("{place} was not refused"));
        assert!(message.starts_with(&place) && message.contains(words), "{message}");
    }
}

#[test]
fn a_member_too_many_or_too_few_is_refused_in_every_verb() {
    let schema = Schema::of_answers();
    for (name, document) in goldens() {
        let mut more = document.clone();
        more["surprise"] = json!(1);
        assert!(schema.refuses(&more).is_some(), "{name}");
        let mut fewer = document.clone();
        fewer.as_object_mut().unwrap().remove("verb");
        assert!(schema.refuses(&fewer).is_some(), "{name}");
    }
}

const PAGE: &str = include_str!("../../../../docs/json.md");

#[test]
fn examples_in_the_documentation_are_what_the_schema_says() {
    let schema = Schema::of_answers();
    let mut n_examples = 0;
    for block in PAGE.split("\n```json ").skip(1) {
        let (name, rest) = block.split_once('\n').unwrap();
        let example: Value = serde_json::from_str(rest.split_once("\n```").unwrap().0).unwrap();
        assert_eq!(schema.refuses_as(name, &example), None, "{name}");
        n_examples += 1;
    }
    assert!(n_examples > 2);
}

#[test]
fn every_member_is_documented() {
    let missing: Vec<String> =
        Schema::of_answers().members().into_iter().filter(|it| !PAGE.contains(&format!("`{it}`"))).collect();
    assert!(missing.is_empty(), "docs/json.md does not say what these are: {missing:?}");
}
