//! Every history of the corpus is what its header says, to the checker, to certify and to the reference evaluator.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::{disagreements, files_below, read, short_name, unknown_names};
use isoscope::engines::check::check;
use isoscope::evidence::{Budget, Verdict, certify};
use isoscope::history::Severity;
use isoscope::spec::Level;
use std::fs;

#[test]
fn every_history_is_what_its_header_says() {
    let mut found = Vec::new();
    for (name, text) in sound_files() {
        let wrong = [unknown_names(&name, &text), disagreements(&name, &text)].concat();
        found.extend(wrong);
    }
    assert!(found.is_empty(), "{} disagreements:\n{}", found.len(), found.join("\n"));
}

#[test]
fn every_anomaly_is_proved_at_every_level_that_it_breaks() {
    let mut n_proved = 0;
    for path in files_below("corpus/anomalies", "history") {
        let name = short_name(&path);
        let history = read(&name, &fs::read_to_string(&path).unwrap()).history.unwrap();
        // Pieces of transactions have no proof of their own.
        for level in Level::ALL.into_iter().filter(|it| it.snapshots().is_none()) {
            let verdict = check(&history, level, &Budget::unlimited());
            let Verdict::Forbidden(refutation) = &verdict else { continue };
            certify(&history, level, &verdict).unwrap_or_else(|why| panic!("{name}: {level}: {why}"));
            assert!(refutation.proof.is_some() != refutation.local.is_some(), "{name}: {level}: no proof");
            n_proved += usize::from(refutation.proof.is_some());
        }
    }
    assert!(n_proved > 80, "{n_proved}");
}

#[test]
fn a_broken_file_has_the_defect_that_its_header_names() {
    for path in files_below("corpus", "history") {
        let text = fs::read_to_string(&path).unwrap();
        let Some(expected) = header_line(&text, "# defect:") else { continue };
        let reading = read(&short_name(&path), &text);
        assert!(reading.history.is_none(), "{} must not be read as a history", path.display());
        let messages: Vec<&str> = reading.errors().map(|it| it.message.as_str()).collect();
        assert!(messages.iter().any(|it| it.contains(expected)), "{}: {messages:?}", path.display());
    }
}

#[test]
fn a_file_that_is_cut_inside_a_transaction_is_no_shorter_history() {
    for (name, text) in sound_files() {
        for (cut, _) in text.char_indices() {
            let is_inside = text[..cut].rfind('{') > text[..cut].rfind('}');
            let last_line = text[..cut].rsplit('\n').next().unwrap_or_default();
            if is_inside && !last_line.starts_with('#') {
                assert!(read(&name, &text[..cut]).history.is_none(), "{name} cut at byte {cut} is read as a history");
            }
        }
    }
}

#[test]
fn a_file_whose_last_line_end_is_missing_is_read_with_a_warning() {
    let text = "init x=0\ns1: { w(x,1) }\ns2: { r(x,1) }";
    let reading = read("cut between transactions", text);
    assert!(reading.history.is_some());
    assert!(reading.defects.iter().any(|it| it.severity == Severity::Warning));
}

fn sound_files() -> Vec<(String, String)> {
    let read = |path: std::path::PathBuf| (short_name(&path), fs::read_to_string(&path).unwrap());
    let is_sound = |it: &(String, String)| header_line(&it.1, "# defect:").is_none();
    files_below("corpus", "history").into_iter().map(read).filter(is_sound).collect()
}

fn header_line<'t>(text: &'t str, start: &str) -> Option<&'t str> {
    text.lines().find_map(|it| it.strip_prefix(start)).map(str::trim)
}
