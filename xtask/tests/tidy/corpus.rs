//! Every history of the corpus says what is expected of it, where it comes from, and its story.

use crate::{assert_none, project_files, read, root};
use iso_evidence::Anomaly;

#[test]
fn every_history_has_a_header() {
    let mut found = Vec::new();
    for file in project_files().into_iter().filter(|it| it.starts_with("corpus/") && it.ends_with(".history")) {
        let text = read(&file);
        let comments: Vec<&str> = text.lines().map_while(|it| it.strip_prefix("# ")).collect();
        let starts = |word: &str| comments.iter().any(|it| it.strip_prefix(word).is_some_and(|it| it.len() > 2));
        let is_story = |it: &&&str| !["expect:", "defect:", "source:"].iter().any(|word| it.starts_with(word));
        if !starts("expect:") && !starts("defect:") {
            found.push(format!("{file}: no `# expect:` line"));
        }
        if !starts("source:") {
            found.push(format!("{file}: no `# source:` line"));
        }
        if comments.iter().find(is_story).is_none() {
            found.push(format!("{file}: no line that tells its story"));
        }
    }
    assert_none(&found, "histories without a complete header");
}

#[test]
fn every_anomaly_has_a_history_that_shows_it() {
    for anomaly in Anomaly::ALL {
        let text = read(&format!("corpus/anomalies/{anomaly}.history"));
        let expectation = text.lines().find(|it| it.starts_with("# expect:")).unwrap();
        assert!(
            expectation.contains(&format!("({anomaly})")),
            "corpus/anomalies/{anomaly}.history expects another one"
        );
    }
}

#[test]
fn anomaly_files_are_named_for_anomalies() {
    for (folder, extension) in [("corpus/anomalies", "history"), ("docs/anomalies", "md")] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let is_index = extension == "md" && name == "README";
            assert!(is_index || Anomaly::from_name(&name).is_some(), "{} is no anomaly", path.display());
        }
    }
}
