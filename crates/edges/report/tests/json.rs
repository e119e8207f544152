//! The JSON document, and the way back.
#![allow(clippy::unwrap_used, reason = "helpers of tests are test code")]

mod common;

use iso_evidence::{Event, Schedule, Verdict, Witness};
use iso_report::{Answer, CheckReport, JsonLayout, Judgement, Limits, ReadError, Report, Run, TextOptions, svg, text};
use iso_spec::{Execution, Level, NamedOrder};

#[test]
fn the_documents_are_what_they_were() {
    for (name, report) in common::golden_cases() {
        common::golden(&format!("{name}.json"), &(report.to_json(JsonLayout::Pretty) + "\n"));
    }
}

#[test]
fn what_was_written_reads_back_and_renders_the_same() {
    for (name, report) in common::gallery() {
        for layout in [JsonLayout::Compact, JsonLayout::Pretty] {
            let back = CheckReport::from_json(&report.to_json(layout));
            assert_eq!(back, Ok(report.clone()), "{name}");
        }
        let back = CheckReport::from_json(&report.to_json(JsonLayout::Compact)).unwrap();
        let options = TextOptions::default();
        assert_eq!(text(&back, options), text(&report, options), "{name}");
        assert_eq!((svg(&back), common::page(&back)), (svg(&report), common::page(&report)), "{name}");
    }
}

#[test]
fn documents_of_version_1_say_the_same() {
    // What the checker finds may change; what was written by hand may not.
    let cases: Vec<_> = common::gallery().into_iter().take(5).collect();
    let kept = cases.iter().filter(|it| common::says_the_same_in_version_1(it.0, &Report::from(it.1.clone())));
    assert!(kept.count() >= 3);
    assert!(common::proved().iter().all(|it| common::of_version_1(it.0).is_some()));
}

fn witnessed(schedule: Schedule, limits: Limits) -> CheckReport {
    let history = common::history("s1: { w(x,1) } { r(x,1) }\ns2: { r(x,-) }");
    let verdict = Verdict::Allowed(Witness { schedule, sources: std::sync::Arc::default() });
    let answer = Answer { level: Level::SnapshotIsolation.into(), verdict: &verdict, certified: None };
    CheckReport::new(&history, Run::default(), &[answer], limits)
}

#[test]
fn every_kind_of_witness_reads_back() {
    let history = common::history("s1: { w(x,1) } { r(x,1) }\ns2: { r(x,-) }");
    let txns: Vec<_> = history.txns().collect();
    let events = txns.iter().flat_map(|it| [Event::Snapshot(*it), Event::Commit(*it)]).collect();
    let execution = Execution::new(txns.clone(), Vec::new());
    let execution = execution.with_relation("co", [(txns[0], txns[1])]).with_relation("vis", []);
    let mut large = Execution::new(txns.clone(), Vec::new());
    large.orders.push(NamedOrder { name: "co".to_owned(), key: None, first_to_last: txns.clone() });
    let cases = [
        (Schedule::Order(txns.clone()), "{\"order\":[\"s1.1\",\"s1.2\"],\"order_omitted\":1}"),
        (Schedule::Events(events), "{\"events\":[[\"snapshot\",\"s1.1\"],[\"commit\",\"s1.1\"]],\"events_omitted\":4}"),
        (
            Schedule::Execution(execution),
            "{\"relations\":[{\"name\":\"co\",\"pairs\":[[\"s1.1\",\"s1.2\"]]},{\"name\":\"vis\",\"pairs\":[]}]}",
        ),
        (
            Schedule::Execution(large),
            "{\"relations\":[{\"name\":\"co\",\"order\":[\"s1.1\",\"s1.2\"],\"order_omitted\":1}]}",
        ),
    ];
    for (schedule, expected) in cases {
        let report = witnessed(schedule, Limits { max_order: Some(2) });
        let json = report.to_json(JsonLayout::Compact);
        assert!(json.contains(&format!("\"evidence\":{expected}")), "{json}");
        assert_eq!(CheckReport::from_json(&json), Ok(report));
    }
}

#[test]
fn what_is_no_report_is_refused() {
    assert!(matches!(CheckReport::from_json("{"), Err(ReadError::NotJson { .. })));
    assert!(matches!(CheckReport::from_json("[1]"), Err(ReadError::Version { .. })));
    for version in ["0", "3", "\"2\"", "null"] {
        let json = format!("{{\"isoscope\":{version},\"verb\":\"check\"}}");
        assert!(matches!(CheckReport::from_json(&json), Err(ReadError::Version { .. })), "{version}");
    }
    for version in [1, 2] {
        let error = |rest: &str| CheckReport::from_json(&format!("{{\"isoscope\":{version},{rest}}}")).unwrap_err();
        assert!(matches!(error("\"verb\":\"predict\""), ReadError::Verb { .. }));
        let message = error("\"verb\":\"check\",\"inputs\":[]").to_string();
        assert!(message.starts_with("this report is damaged: missing field `defects`"), "{message}");
    }
}

#[test]
fn operations_keys_and_values_are_data() {
    let json: serde_json::Value = serde_json::from_str(&common::list_anomaly().to_json(JsonLayout::Compact)).unwrap();
    let evidence = &json["levels"][0]["evidence"];
    assert_eq!(
        evidence["transactions"][2]["ops"][0],
        serde_json::json!({ "kind": "read", "key": "x", "value": [1, 2, 3] })
    );
    assert_eq!(evidence["transactions"][0]["nth"], 1);
    assert_eq!(evidence["cycle"][0]["kind"], "ww");
    assert_eq!(evidence["cycle"][0]["key"], "x");
}

#[test]
fn the_document_keeps_whose_write_each_read_saw() {
    // Two transactions write x=1, and only the witness knows from whom s3 read.
    let report = common::judged(
        "init x=0
         s1: { w(x,1) }
         s2: { w(x,1) w(y,1) }
         s3: { r(y,1) r(x,1) }",
        Level::SnapshotIsolation,
    );
    let Judgement::Holds { evidence } = &report.levels[0].judgement else { panic!("{report:?}") };
    assert_eq!(evidence.sources.len(), 2, "{evidence:?}");
    let page = common::page(&report);
    assert!(!page.contains("which several wrote"), "the page has forgotten what the witness knows");
    assert!(page.contains(&format!("<code>r(x,1)</code> from {}", evidence.sources[1].writer)));
}
