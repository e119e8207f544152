//! The JSON document, and the way back.
#![allow(clippy::unwrap_used, reason = "helpers of tests are test code")]

mod common;

use iso_evidence::{Event, Schedule, Verdict, Witness};
use iso_report::{Answer, CheckReport, JsonLayout, Limits, ReadError, Run, TextOptions, html, svg, text};
use iso_spec::{Execution, Level};

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
        assert_eq!((svg(&back), html(&back)), (svg(&report), html(&report)), "{name}");
    }
}

fn witnessed(schedule: Schedule, limits: Limits) -> CheckReport {
    let history = common::history("s1: { w(x,1) } { r(x,1) }\ns2: { r(x,-) }");
    let verdict = Verdict::Allowed(Witness { schedule, sources: [].into() });
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
    let cases = [
        (Schedule::Order(txns.clone()), "{\"order\":[\"s1.1\",\"s1.2\"],\"order_omitted\":1}"),
        (Schedule::Events(events), "{\"events\":[[\"snapshot\",\"s1.1\"],[\"commit\",\"s1.1\"]],\"events_omitted\":4}"),
        (Schedule::Execution(execution), "{\"relations\":{\"co\":[[\"s1.1\",\"s1.2\"]],\"vis\":[]}}"),
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
    assert!(matches!(CheckReport::from_json("{\"isoscope\":2,\"verb\":\"check\"}"), Err(ReadError::Version { .. })));
    assert!(matches!(CheckReport::from_json("{\"isoscope\":1,\"verb\":\"predict\"}"), Err(ReadError::Verb { .. })));
    let error = CheckReport::from_json("{\"isoscope\":1,\"verb\":\"check\",\"inputs\":[]}").unwrap_err();
    assert_eq!(error.to_string(), "member \"defects\" of the report should be an array");
}
