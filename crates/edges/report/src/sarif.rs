//! Documents as SARIF 2.1.0, which services that look at code show as findings on the lines of an input.

use crate::claims::{Breach, Claim, ClaimVerdict, claims};
use crate::document::Place;
use crate::report::Report;
use iso_evidence::Anomaly;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The documents as one file; the same finding of several levels is one result.
pub fn sarif(reports: &[&Report]) -> String {
    let mut results: Vec<Value> = Vec::new();
    let mut rules: Vec<String> = Vec::new();
    for report in reports {
        for (breach, names) in breaches(report) {
            let rule = breach.rule().to_owned();
            if !rules.contains(&rule) {
                rules.push(rule.clone());
            }
            results.push(result(&rule, "error", &said(&breach, &names), &breach.places));
        }
        for (rule, result) in undecided(&claims(report)) {
            if !rules.iter().any(|it| it == rule) {
                rules.push(rule.to_owned());
            }
            results.push(result);
        }
    }
    document(&rules, &results)
}

/// Claims of a question that has no document: it could not be asked.
pub fn sarif_of_claims(claims: &[Claim]) -> String {
    let (rules, results): (Vec<&str>, Vec<Value>) = undecided(claims).into_iter().unzip();
    let mut rules: Vec<String> = rules.into_iter().map(str::to_owned).collect();
    rules.dedup();
    document(&rules, &results)
}

/// What is not known, or could not be asked, with its rule.
fn undecided(claims: &[Claim]) -> Vec<(&'static str, Value)> {
    let found = |claim: &Claim| match &claim.verdict {
        ClaimVerdict::Open(reason) => {
            let message = format!("{}: not known: {reason}", claim.name);
            Some(("unknown", result("unknown", "warning", &message, &[])))
        }
        ClaimVerdict::Unasked { message, place } => {
            Some(("input", result("input", "error", message, std::slice::from_ref(place))))
        }
        ClaimVerdict::Held | ClaimVerdict::Broken(_) => None,
    };
    claims.iter().filter_map(found).collect()
}

fn document(rules: &[String], results: &[Value]) -> String {
    let rules: Vec<Value> = rules.iter().map(|it| described(it)).collect();
    let driver = json!({
        "name": "isoscope",
        "version": env!("CARGO_PKG_VERSION"),
        "informationUri": concat!("https://docs.rs/isoscope/", env!("CARGO_PKG_VERSION")),
        "rules": rules,
    });
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{ "tool": { "driver": driver }, "results": results }],
    });
    format!("{document:#}\n")
}

/// The breaches of a document, each with the claims that it breaks.
fn breaches(report: &Report) -> Vec<(Breach, Vec<String>)> {
    let mut found: Vec<(Breach, Vec<String>)> = Vec::new();
    for claim in claims(report) {
        let ClaimVerdict::Broken(breach) = claim.verdict else { continue };
        let is_same = |it: &Breach| it.anomalies == breach.anomalies && it.places == breach.places;
        match found.iter_mut().find(|it| is_same(&it.0) && !it.0.places.is_empty()) {
            Some((_, names)) => names.push(claim.name),
            None => found.push((breach, vec![claim.name])),
        }
    }
    found
}

fn said(breach: &Breach, names: &[String]) -> String {
    let others = match names {
        [_, others @ ..] if !others.is_empty() => format!("\nIt also breaks {}.", others.join(", ")),
        _ => String::new(),
    };
    format!("{}{others}\n\n{}", breach.message, breach.text)
}

fn result(rule: &str, level: &str, message: &str, places: &[Place]) -> Value {
    let locations: Vec<Value> = places.iter().take(1).filter_map(location).collect();
    let related: Vec<Value> = places.iter().skip(1).filter_map(location).collect();
    let mut result = json!({ "ruleId": rule, "level": level, "message": { "text": message }, "locations": locations });
    if !related.is_empty() {
        result["relatedLocations"] = related.into();
    }
    result
}

fn location(place: &Place) -> Option<Value> {
    let file = place.file.as_ref()?;
    let mut physical = json!({ "artifactLocation": { "uri": uri(file) } });
    if let Some(line) = place.line {
        physical["region"] = json!({ "startLine": line });
    } else if let Some(byte) = place.byte {
        physical["region"] = json!({ "byteOffset": byte });
    }
    Some(json!({ "physicalLocation": physical }))
}

/// A path as a reference: what a URI has no room for is spelled by its bytes.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' | b'+' | b',' | b'=' | b'@' => {
                uri.push(char::from(byte));
            }
            other => {
                let _ = write!(uri, "%{other:02X}");
            }
        }
    }
    uri
}

fn described(rule: &str) -> Value {
    let summary = match (Anomaly::from_name(rule), rule) {
        (Some(anomaly), _) => anomaly.summary(),
        (None, "unknown") => "the time or the memory ran out before it was decided",
        (None, "input") => "the input could not be read",
        (None, _) => "what should hold does not",
    };
    json!({ "id": rule, "shortDescription": { "text": summary } })
}
