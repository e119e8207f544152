//! What the page asks, and what it is told.

use crate::ask::{self, Given, Told, Unasked};
use crate::clock::Instant;
use iso_evidence::{Budget, StopReason};
use iso_formats::{ReadOptions, read_from};
use iso_history::{Defect, PlaceUnit, Severity};
use iso_report::{Imprint, Report, TextOptions};
use iso_spec::Level;
use serde::Deserialize;
use serde_json::{Value, json};
use std::panic::{self, AssertUnwindSafe};
use std::time::Duration;

/// Somebody waits at a keyboard.
const LONGEST: Duration = Duration::from_secs(10);

/// The examples: their names in the corpus, their kinds and their texts.
const EXAMPLES: &[(&str, &str, &str)] = &[
    ("anomalies/write-skew.history", "history", include_str!("examples/write-skew.history")),
    ("anomalies/lost-update.history", "history", include_str!("examples/lost-update.history")),
    ("anomalies/long-fork.history", "history", include_str!("examples/long-fork.history")),
    ("anomalies/g1a.history", "history", include_str!("examples/g1a.history")),
    ("anomalies/phantom.history", "history", include_str!("examples/phantom.history")),
    ("programs/doctors-on-call.txn", "program", include_str!("examples/doctors-on-call.txn")),
    ("programs/counter.txn", "program", include_str!("examples/counter.txn")),
    ("programs/unique-username.txn", "program", include_str!("examples/unique-username.txn")),
    ("two-levels.spec", "levels", include_str!("examples/two-levels.spec")),
];

#[derive(Debug, Deserialize)]
struct Question {
    kind: String,
    text: String,
    /// A level or a database; all of them if it is empty.
    #[serde(default)]
    choice: String,
}

/// The answer to a question, as JSON.
pub fn answer(body: &str) -> String {
    let question: Question = match serde_json::from_str(body) {
        Ok(question) => question,
        Err(error) => return json!({ "error": error.to_string(), "places": [] }).to_string(),
    };
    let started = Instant::now();
    let stop = || (started.elapsed() > LONGEST).then_some(StopReason::Timeout);
    let budget = Budget::new(&stop);
    let answered = panic::catch_unwind(AssertUnwindSafe(|| ask_of(&question, &budget)));
    let answer = match answered {
        Ok(Ok(told)) => shown(&told),
        Ok(Err(why)) => refused(&why),
        Err(_) => json!({ "error": "this is a bug in isoscope, not a verdict; please report it", "places": [] }),
    };
    answer.to_string()
}

fn ask_of(question: &Question, budget: &Budget<'_>) -> Result<Told, Unasked> {
    let choices: Vec<String> = Some(question.choice.clone()).filter(|it| !it.is_empty()).into_iter().collect();
    match question.kind.as_str() {
        "history" => check(&question.text, &choices, budget),
        "program" => {
            let words: Vec<String> = choices.iter().map(|it| format!("--database={it}")).collect();
            ask::verify("program.txn", &question.text, &words, budget)
        }
        "levels" => compare(&question.text, budget),
        other => Err(unasked(format!("there is no question about {other}"))),
    }
}

fn check(text: &str, levels: &[String], budget: &Budget<'_>) -> Result<Told, Unasked> {
    let reading =
        read_from("history", text.as_bytes(), &ReadOptions::default()).map_err(|it| unasked(it.to_string()))?;
    if let Some(nothing) = reading.nothing_to_judge("history") {
        return Err(unasked(nothing.to_string()));
    }
    let Some(history) = &reading.history else { return Err(defective(&reading.defects)) };
    let given = Given { name: "history", history, defects: &reading.defects, header: &reading.header };
    ask::check(&given, levels, None, None, budget)
}

/// The first two levels of a text; one alone is compared with serializability.
fn compare(text: &str, budget: &Budget<'_>) -> Result<Told, Unasked> {
    let spec = ("yours.spec".to_owned(), text.to_owned());
    let names = ask::levels(&spec)?;
    let (left, right) = match names.as_slice() {
        [left, right, ..] => (left.clone(), right.clone()),
        [only] => (only.clone(), "ser".to_owned()),
        [] => return Err(unasked("write a level, as in `level mine in cerone = cerone.ra`".to_owned())),
    };
    ask::compare(&["--txns=3".to_owned(), left, right], &[spec], budget)
}

fn shown(told: &Told) -> Value {
    let text = told.report.text(TextOptions { columns: Some(100), ..TextOptions::default() });
    let headline = text.lines().find(|it| !it.trim().is_empty()).unwrap_or_default();
    let page = told.report.html(&Imprint::default());
    json!({ "headline": headline, "page": page, "text": text, "exit": told.exit_code(), "notes": told.notes })
}

fn refused(why: &Unasked) -> Value {
    let place =
        |it: &ask::Place| json!({ "line": it.line, "column": it.column, "message": it.message, "hint": it.hint });
    json!({ "error": why.message, "places": why.places.iter().map(place).collect::<Vec<_>>() })
}

fn unasked(message: String) -> Unasked {
    Unasked { message, places: Vec::new() }
}

fn defective(defects: &[Defect]) -> Unasked {
    let errors: Vec<&Defect> = defects.iter().filter(|it| it.severity == Severity::Error).collect();
    let line = |it: &Defect| it.at.filter(|it| it.1 == PlaceUnit::Line).map_or(0, |it| it.0);
    let place = |it: &&Defect| ask::Place {
        file: it.source.clone(),
        line: line(it),
        column: None,
        message: it.message.clone(),
        hint: String::new(),
    };
    let message = errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    Unasked { message, places: errors.iter().map(place).collect() }
}

/// The examples, as JSON.
pub fn examples() -> String {
    let one = |(name, kind, text): &(&str, &str, &str)| {
        let title = name.rsplit('/').next().unwrap_or(name).split('.').next().unwrap_or(name).replace('-', " ");
        json!({ "name": name, "title": title, "kind": kind, "text": text })
    };
    Value::from(EXAMPLES.iter().map(one).collect::<Vec<_>>()).to_string()
}

/// The levels that a history can be asked, as JSON.
pub fn levels() -> String {
    let one = |it: &Level| json!({ "level": it.short_name(), "name": it.full_name() });
    Value::from(Level::usual().iter().map(one).collect::<Vec<_>>()).to_string()
}

/// The script that pages of answers have, as their policy names it.
pub(crate) fn script_hash() -> String {
    let run = iso_report::Run { inputs: Vec::new(), defects: Vec::new(), seconds: 0.0, peak_bytes: None };
    let page = Report::from(iso_report::CheckReport::of_unreadable(run)).html(&Imprint::default());
    let policy = page.split("script-src '").nth(1).unwrap_or_default();
    policy.split('\'').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    #[test]
    fn examples_are_those_of_the_corpus() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../corpus");
        for (name, _, text) in EXAMPLES.iter().filter(|it| it.0.contains('/')) {
            assert_eq!(fs::read_to_string(corpus.join(name)).unwrap(), *text, "{name}");
        }
    }

    #[test]
    fn every_example_has_an_answer() {
        for (name, kind, text) in EXAMPLES {
            let said = answer(&json!({ "kind": kind, "text": text }).to_string());
            let said: Value = serde_json::from_str(&said).unwrap();
            assert!(said["page"].as_str().is_some_and(|it| it.contains("<main>")), "{name}: {said}");
        }
    }

    #[test]
    fn mistakes_have_places() {
        let said = answer(r#"{"kind":"program","text":"var x: int = \n"}"#);
        let said: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(said["places"][0]["line"], 2, "{said}");
        let said = answer(r#"{"kind":"history","text":"s1: { r(x,0) w }"}"#);
        let said: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(said["places"][0]["line"], 1, "{said}");
    }

    #[test]
    fn the_policy_names_the_script_of_answers() {
        assert!(script_hash().starts_with("sha256-"), "{}", script_hash());
    }
}
