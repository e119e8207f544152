//! Elle's words and ours are the same in the data and in `docs/elle.md`, and lead both ways.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use iso_evidence::Anomaly;
use iso_report::Excerpt;
use iso_report::elle::{ANOMALIES, MODELS, anomalies_of_elle, elle_anomaly, elle_model, level_of_elle};
use iso_spec::Catalogue;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The words in backticks of the first two columns, row by row, of the table below a heading.
fn rows(heading: &str) -> Vec<(Vec<String>, Vec<String>)> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/elle.md");
    let page = fs::read_to_string(page).unwrap();
    let section = page.split(&format!("\n## {heading}\n")).nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let words = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<String>>();
    let table = section.lines().filter(|it| it.starts_with("| ") && !it.starts_with("| Elle"));
    let cells = |line: &str| line.split('|').map(str::to_owned).collect::<Vec<String>>();
    table.map(cells).map(|it| (words(&it[1]), words(&format!("{} {}", it[2], it[3])))).collect()
}

#[test]
fn every_anomaly_of_the_page_is_in_the_data_and_the_other_way_round() {
    let mut seen = BTreeSet::new();
    for (elle, ours) in rows("Anomalies") {
        for name in elle.iter().filter(|it| it.as_str() != "duplicate-elements") {
            let known = anomalies_of_elle(name);
            assert!(!known.is_empty(), "{name} is not in the data");
            assert!(known.iter().all(|it| ours.iter().any(|our| our == it)), "{name}: {known:?} and {ours:?}");
            seen.insert(name.clone());
        }
    }
    let all: BTreeSet<String> = ANOMALIES.iter().flat_map(|it| it.0).map(|it| (*it).to_owned()).collect();
    assert_eq!(seen, all);
}

#[test]
fn every_anomaly_of_ours_has_a_name_that_leads_back() {
    for anomaly in
        Anomaly::ALL.into_iter().filter(|it| ![Anomaly::ThinAirRead, Anomaly::LostAcknowledgedWrite].contains(it))
    {
        let theirs = elle_anomaly(anomaly.name(), &Excerpt::default());
        let back = anomalies_of_elle(&theirs);
        assert!(back.contains(&anomaly.name()), "{anomaly} is {theirs}, which is {back:?}");
    }
}

#[test]
fn every_model_of_the_page_is_in_the_data_and_leads_to_its_level() {
    for (elle, ours) in rows("Models") {
        for model in &elle {
            assert_eq!(level_of_elle(model), ours.first().map(String::as_str), "{model}");
            assert_eq!(level_of_elle(&format!(":{model}")), level_of_elle(model));
        }
    }
    for (models, level) in MODELS {
        assert_eq!(elle_model(level), models.first().copied());
        assert!(Catalogue::builtin().find(level).is_ok() || iso_spec::Level::from_name(level).is_some(), "{level}");
    }
}
