//! What services that run tests read: JUnit XML, SARIF, annotations and EDN.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use iso_report::{ClaimVerdict, Report, annotations, claims, junit, sarif};
use serde_json::Value;
use std::fs;
use std::path::Path;

fn golden(name: &str) -> Report {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.json"));
    Report::from_json(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn each_level_that_was_asked_is_a_claim() {
    let report = golden("write-skew");
    let Report::Check(check) = &report else { panic!("a check") };
    let claims = claims(&report);
    assert_eq!(claims.len(), check.levels.len());
    let broken: Vec<&str> =
        claims.iter().filter(|it| matches!(it.verdict, ClaimVerdict::Broken(_))).map(|it| it.name.as_str()).collect();
    assert!(broken.contains(&"serializable (ser)"), "{broken:?}");
}

#[test]
fn junit_counts_what_it_has() {
    for name in ["write-skew", "verify-bank", "hunt", "hunt-none", "predict-lost-update", "collect-broken", "replay"] {
        let text = junit(&[&golden(name)]);
        let n = |what: &str| text.matches(what).count();
        let said = |what: &str| -> usize {
            text.split(&format!(" {what}=\"")).nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
        };
        assert_eq!((said("tests"), said("failures")), (n("<testcase "), n("<failure ")), "{name}");
        assert_eq!(n("<testcase "), n("</testcase>") + n("\"/>\n    <testcase") + n("\"/>\n  </testsuite>"), "{name}");
        assert!(said("tests") > 0, "{name} says nothing");
    }
}

#[test]
fn names_of_users_stay_text() {
    let text = junit(&[&golden("write-skew")]);
    assert!(!text.contains("--><script"), "markup");
    let Report::Check(mut check) = golden("write-skew") else { panic!("a check") };
    check.inputs = vec!["<script>\"&'".to_owned()];
    let text = junit(&[&check.into()]);
    assert!(text.contains("&lt;script&gt;&quot;&amp;&#39;") && !text.contains("<script"));
}

#[test]
fn lines_stay_lines_in_junit() {
    let text = junit(&[&golden("write-skew")]);
    assert!(text.contains("\nwrite-skew, forbidden by ") && text.contains("\n  The cycle:\n"), "{text}");
    assert!(!text.contains("\\u{a}") && !text.contains("For a picture"), "{text}");
    let Report::Check(mut check) = golden("write-skew") else { panic!("a check") };
    check.inputs = vec!["two\nlines\u{7}".to_owned()];
    assert!(junit(&[&check.into()]).contains("classname=\"two&#10;lines\\u{7}\""));
}

#[test]
fn sarif_names_files_as_references() {
    let Report::Check(mut check) = golden("write-skew") else { panic!("a check") };
    let cores = check.levels.iter_mut().filter_map(|it| match &mut it.judgement {
        iso_report::Judgement::Violated { core, .. } => Some(core),
        _ => None,
    });
    for place in cores.flat_map(|it| &mut it.transactions).filter_map(|it| it.place.as_mut()) {
        place.file = Some("größe/a b%.history".to_owned());
    }
    let text = sarif(&[&check.into()]);
    assert!(text.contains("\"uri\": \"gr%C3%B6%C3%9Fe/a%20b%25.history\""), "{text}");
}

#[test]
fn sarif_has_the_lines_of_the_core() {
    let sarif: Value = serde_json::from_str(&sarif(&[&golden("write-skew")])).unwrap();
    assert_eq!(sarif["version"], "2.1.0");
    let run = &sarif["runs"][0];
    let result = run["results"].as_array().unwrap().iter().find(|it| it["ruleId"] == "write-skew").unwrap();
    assert_eq!(result["locations"][0]["physicalLocation"]["region"]["startLine"], 2);
    assert_eq!(result["relatedLocations"][0]["physicalLocation"]["region"]["startLine"], 3);
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    for result in run["results"].as_array().unwrap() {
        assert!(rules.iter().any(|it| it["id"] == result["ruleId"]), "{}", result["ruleId"]);
    }
}

#[test]
fn what_is_not_known_does_not_pass() {
    let Report::Check(mut check) = golden("write-skew") else { panic!("a check") };
    for level in &mut check.levels {
        level.judgement = iso_report::Judgement::Unknown { reason: "time ran out".to_owned() };
    }
    let report = Report::from(check);
    assert!(junit(&[&report]).contains("<error message=\"not known: time ran out\""));
    assert!(sarif(&[&report]).contains("\"warning\""));
    assert!(annotations(&[&report]).starts_with("::warning "));
    assert!(report.edn().unwrap().starts_with("{:valid? :unknown,"));
}

#[test]
fn annotations_are_one_line_each() {
    let text = annotations(&[&golden("write-skew")]);
    assert!(text.lines().all(|it| it.starts_with("::error file=")), "{text}");
    assert!(text.contains(",line=2,title=") && text.contains("%0A"), "{text}");
}

#[test]
fn edn_has_the_words_of_elle() {
    let text = golden("write-skew").edn().unwrap();
    assert!(text.starts_with("{:valid? false, :anomaly-types [:G2-item], :anomalies {:G2-item [{"), "{text}");
    assert!(text.contains(":not #{") && text.contains(":strong-session-serializable"), "{text}");
    assert!(text.contains("{:type :rw, :from \"s1.1\", :to \"s2.1\", :key \"y\""), "{text}");
    let brackets = |open: char, close: char| text.matches(open).count() == text.matches(close).count();
    assert!(brackets('[', ']') && text.ends_with("}\n"));
    assert_eq!(golden("compare").edn(), None);
}
