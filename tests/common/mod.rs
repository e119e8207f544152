//! Compares what a history's header expects with every way there is to decide it.

use isoscope::engines::check::{check, check_levels};
use isoscope::evidence::{Anomaly, Budget, Verdict, certify, lost_writes};
use isoscope::formats::{Expectation, Format, ReadOptions, Reading, read_from};
use isoscope::history::{Facts, History};
use isoscope::spec::{Catalogue, Level, Steps, evaluate};
use std::fs;
use std::path::{Path, PathBuf};

/// The reference evaluator is exponential: histories with more transactions are left to the checker alone.
const REFERENCE_TXNS_MAX: usize = 6;
const REFERENCE_STEPS: u64 = 20_000_000;

/// Reads a history in our notation.
pub(crate) fn read(name: &str, text: &str) -> Reading {
    let options = ReadOptions { format: Some(Format::Text), ..ReadOptions::default() };
    read_from(name, text.as_bytes(), &options).unwrap_or_else(|it| panic!("{name}: {it}"))
}

/// Everything in which the header of a history and our answers differ.
pub(crate) fn disagreements(name: &str, text: &str) -> Vec<String> {
    let reading = read(name, text);
    let expectations = reading.header.expectations.clone();
    let final_sessions = reading.header.final_sessions.clone();
    let mut found: Vec<String> =
        reading.defects.iter().map(|it| format!("{name}: has a defect: {}", it.message)).collect();
    let Ok(history) = reading.into_history() else { return found };
    if expectations.is_empty() {
        found.push(format!("{name}: expects nothing"));
    }
    let final_sessions = final_sessions.as_slice();
    for expected in &expectations {
        if expected.level == DURABLE {
            found.extend(durability(&history, final_sessions, expected).map(|it| format!("{name}: {it}")));
            continue;
        }
        found.extend(judge(&history, expected).into_iter().map(|it| format!("{name}: {}: {it}", expected.level)));
    }
    found.extend(disagreements_together(&history, &expectations).into_iter().map(|it| format!("{name}: {it}")));
    found
}

/// What headers call durability, which is no level.
const DURABLE: &str = "durable";

/// Whether acknowledged writes are gone, as the header expects.
fn durability(history: &History, final_sessions: &[String], expected: &Expectation) -> Option<String> {
    let lost = lost_writes(history, |it| final_sessions.iter().any(|name| name == history.session_name(it)));
    let is_named = expected.anomaly.as_deref() == Some("lost-acknowledged-write");
    match (expected.holds, lost.is_empty()) {
        (true, true) => None,
        (false, false) if is_named => None,
        (true, false) => Some(format!("expected to be durable, and {} writes are lost", lost.len())),
        (false, true) => Some("expected a lost write, and none is".to_owned()),
        (false, false) => Some("expected a loss under another name".to_owned()),
    }
}

/// One level at a time: the checker with its evidence, and the reference evaluator on the catalogue's definition.
fn judge(history: &History, expected: &Expectation) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(level) = Level::from_name(&expected.level) {
        let verdict = check(history, level, &Budget::unlimited());
        found.extend(compare(history, level, &verdict, expected));
    }
    if history.txns().count() <= REFERENCE_TXNS_MAX {
        found.extend(compare_with_definition(history, expected));
    }
    found
}

fn compare(history: &History, level: Level, verdict: &Verdict, expected: &Expectation) -> Vec<String> {
    let mut found = Vec::new();
    match verdict {
        Verdict::Allowed(_) if expected.holds => {}
        Verdict::Forbidden(refutation) if !expected.holds => {
            let names: Vec<&str> = refutation.anomalies.iter().map(|it| it.name()).collect();
            if let Some(anomaly) = expected.anomaly.as_deref().filter(|it| !names.contains(it)) {
                found.push(format!("expected {anomaly}, and the checker calls it {}", names.join(", ")));
            }
        }
        Verdict::Allowed(_) => found.push("expected a violation, and the checker allows it".to_owned()),
        Verdict::Forbidden(_) => found.push("expected to hold, and the checker forbids it".to_owned()),
        Verdict::Unknown(why) => found.push(format!("the checker does not know: {why}")),
    }
    if let Err(why) = certify(history, level, verdict) {
        found.push(format!("the evidence is refused: {why}"));
    }
    found
}

fn compare_with_definition(history: &History, expected: &Expectation) -> Option<String> {
    let spec = match Catalogue::builtin().find(&expected.level) {
        Ok(spec) => spec,
        Err(why) => return Some(why.to_string()),
    };
    let answer = evaluate(&Facts::new(history), spec, &mut Steps::new(REFERENCE_STEPS));
    match answer.is_allowed() {
        Some(is_allowed) if is_allowed == expected.holds => None,
        Some(true) => Some("expected a violation, and the definition allows it".to_owned()),
        Some(false) => Some("expected to hold, and the definition forbids it".to_owned()),
        None => Some(format!("the reference evaluator does not know: {answer:?}")),
    }
}

/// All levels at once, where one answer stands for others.
fn disagreements_together(history: &History, expectations: &[Expectation]) -> Vec<String> {
    let known = |it: &Expectation| Level::from_name(&it.level).map(|level| (level, it.holds));
    let expected: Vec<(Level, bool)> = expectations.iter().filter_map(known).collect();
    let levels: Vec<Level> = expected.iter().map(|it| it.0).collect();
    let answers = check_levels(&Facts::new(history), &levels, &Budget::unlimited(), &mut |_, _| {});
    let mut found = Vec::new();
    for (answer, (level, holds)) in answers.iter().zip(&expected) {
        if matches!(answer.verdict, Verdict::Allowed(_)) != *holds {
            found.push(format!("{level}: asked together with others, the answer is another one"));
        }
        if let Err(why) = certify(history, *level, &answer.verdict) {
            found.push(format!("{level}: asked together with others, the evidence is refused: {why}"));
        }
    }
    found
}

/// The anomalies that a header names and the field does not know.
pub(crate) fn unknown_names(name: &str, text: &str) -> Vec<String> {
    let expectations = read(name, text).header.expectations;
    let is_unknown = |it: &String| Anomaly::from_name(it).is_none();
    let anomalies = expectations.into_iter().filter_map(|it| it.anomaly).filter(is_unknown);
    anomalies.map(|it| format!("{name}: {it} is no anomaly")).collect()
}

/// Every file below a folder of the project with that extension, sorted.
pub(crate) fn files_below(folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![root().join(folder)];
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|it| it == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "{folder} has no {extension} files");
    found
}

/// A file's name as seen from the project's root.
pub(crate) fn short_name(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// The project's root.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}
