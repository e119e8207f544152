//! What stands around the evidence: who is near, in which order, and that it stays small.
#![allow(clippy::unwrap_used, reason = "this is test code")]

mod common;

use iso_evidence::Anomaly;
use iso_report::{CheckReport, CourseUnit, JsonLayout, Nearby, Surroundings};
use iso_spec::Level;

/// Lost update between `a` and `b` in the middle of sessions that write other keys; `ops` is what each of them does.
fn lost_among(n_txns: usize, ops: impl Fn(usize) -> String) -> CheckReport {
    let middle = n_txns / 2;
    let line = |nth: usize| {
        let (session, ops) = match nth {
            it if it == middle => ("m", "r(x,0) w(x,1)".to_owned()),
            it if it == middle + 1 => ("n", "r(x,0) w(x,2)".to_owned()),
            it if it == middle + 40 => ("c", "w(x,3)".to_owned()),
            it if it == middle + 50 => ("c", "r(x,2)".to_owned()),
            _ => (["a", "b", "c"][nth % 3], ops(nth)),
        };
        format!("{session}: {{ {ops} }} @[{},{}]\n", nth * 10, nth * 10 + 5)
    };
    let text = format!("init x=0\n{}", (0..n_txns).map(line).collect::<Vec<_>>().concat());
    let history = common::history(&text);
    let verdict = common::cyclic(&history, Anomaly::LostUpdate, &["m.1 rw x n.1", "n.1 rw x m.1"]);
    common::report(&history, &[(Level::SnapshotIsolation, &verdict)])
}

fn surroundings(report: &CheckReport) -> &Surroundings {
    report.surroundings.as_deref().unwrap()
}

fn notes<'n>(near: &'n Nearby, id: &str) -> Vec<&'n str> {
    let found = near.transactions.iter().find(|it| it.transaction.id == id);
    found.unwrap_or_else(|| panic!("{id} is not near")).notes.iter().map(String::as_str).collect()
}

#[test]
fn neighbours_say_what_they_have_to_do_with_the_core() {
    let report = lost_among(2000, |nth| format!("w(k{nth},1)"));
    let surroundings = surroundings(&report);
    let [near] = surroundings.near.as_slice() else { panic!("one core has neighbours") };
    assert_eq!(near.levels, ["si"]);
    let highlight: Vec<&str> =
        near.transactions.iter().filter(|it| it.is_in_core).map(|it| it.transaction.id.as_str()).collect();
    assert_eq!(highlight, ["m.1", "n.1"]);
    let writer = near.transactions.iter().find(|it| it.transaction.ops[0].to_string() == "w(x,3)").unwrap();
    assert_eq!(writer.notes, ["the next to write x after n.1"]);
    assert_eq!(notes(near, "n.1"), ["the next to write x after m.1"]);
    let reader = near.transactions.iter().find(|it| it.transaction.ops[0].to_string() == "r(x,2)").unwrap();
    assert_eq!(reader.notes, ["read x=2, which n.1 wrote"]);
    assert_eq!((reader.position, reader.transaction.place.as_ref().unwrap().line), (1050, Some(1052)));
    assert!(near.transactions.is_sorted_by_key(|it| it.position));
}

#[test]
fn the_whole_history_is_counted() {
    let report = lost_among(2000, |nth| format!("w(k{},1)", nth % 50));
    let surroundings = surroundings(&report);
    let n_in_sessions: u64 = surroundings.sessions.iter().map(iso_report::SessionSummary::transactions).sum();
    assert_eq!((surroundings.sessions.len(), n_in_sessions), (5, 2000));
    let course = &surroundings.course;
    assert_eq!((course.by, course.from, course.to), (CourseUnit::Time, 0, 19_990));
    assert_eq!(course.committed.iter().sum::<u64>(), 2000);
    assert_eq!(course.marks, [("m.1".to_owned(), 60), ("n.1".to_owned(), 60)]);
    assert_eq!((surroundings.keys.len(), surroundings.omitted_keys), (20, 31));
    let x = surroundings.keys.iter().find(|it| it.key.to_string() == "x").unwrap();
    assert_eq!((x.reads, x.writes), (3, 3));
}

#[test]
fn a_history_of_a_few_hundred_transactions_is_there_as_a_whole() {
    let report = lost_among(300, |nth| format!("w(k{nth},1)"));
    assert_eq!(surroundings(&report).near[0].transactions.len(), 300);
    assert!(common::page(&report).contains("Around it: all 300 transactions"));
}

#[test]
fn nothing_stands_around_a_core_that_is_everything() {
    assert_eq!(common::lost_update().surroundings, None);
}

#[test]
fn a_page_stays_small_whatever_transactions_do() {
    let long = "long".repeat(40);
    let many = (0..400).map(|it| format!("w({long}{it},{long})")).collect::<Vec<_>>().join(" ");
    for report in [lost_among(400, |_| many.clone()), lost_among(3000, |nth| format!("r(x,0) w(k{nth},1) w(x,9)"))] {
        let page = common::page(&report);
        assert!(page.len() < 300_000, "{} bytes", page.len());
        assert!(page.contains(" more</code>") || !page.contains(&long[..20]), "operations are cut");
    }
}

#[test]
fn surroundings_read_back() {
    let report = lost_among(600, |nth| format!("w(k{nth},1)"));
    let back = CheckReport::from_json(&report.to_json(JsonLayout::Compact)).unwrap();
    assert_eq!(back, report);
    assert_eq!(common::page(&back), common::page(&report));
    let huge = report.to_json(JsonLayout::Compact).replace("\"position\":300", &format!("\"position\":{}", u64::MAX));
    let huge = huge.replace("\"committed\":[5", &format!("\"committed\":[{}", u64::MAX));
    assert!(common::page(&CheckReport::from_json(&huge).unwrap()).contains(&u64::MAX.to_string()));
    let wrong = report.to_json(JsonLayout::Compact).replace("\"by\":\"time\"", "\"by\":\"mood\"");
    assert!(CheckReport::from_json(&wrong).is_err());
}
