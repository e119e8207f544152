//! The document of `verify`: what it says, and what it looks like.
#![allow(clippy::unwrap_used, reason = "helpers of tests are test code")]

mod common;

use common::{made_up, search};
use iso_evidence::{Anomaly, Verdict};
use iso_history::Outcome;
use iso_report::{
    Access, BadRun, Change, CodePlace, Colour, Excerpt, Executed, Fault, JsonLayout, ProgramScope, RepairReport,
    Report, TextOptions, VerifiedLevel, VerifyReport, VerifyVerdict, Written,
};
use iso_spec::Level;

const TEXT: &str = "var x: int = 60\nvar y: int = 60\ntxn take(n) {\n    if x + y > n { x -= n }\n}\n\
    txn give(n) {\n    if x + y > n { y -= n }\n}\nrun take(any int in 0..100) || give(100)\ninvariant x + y > 0\n";

fn pairs(values: &[(&str, &str)]) -> Vec<(String, String)> {
    values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn access(unit: &str, value: &str, from: Option<&str>, line: Option<u64>) -> Access {
    Access { unit: unit.to_owned(), value: value.to_owned(), from: from.map(str::to_owned), line }
}

fn executed(name: &str, id: &str, line: u64, written: &str) -> Executed {
    Executed {
        name: name.to_owned(),
        call: format!("{name}(100)"),
        id: id.to_owned(),
        outcome: Outcome::Committed.into(),
        sees: Some(Vec::new()),
        reads: vec![access("x", "60", None, Some(line)), access("y", "60", None, Some(line))],
        writes: vec![Written { unit: written.to_owned(), value: "-40".to_owned(), line: Some(line) }],
    }
}

/// Each transaction looks at both and changes one.
fn write_skew() -> BadRun {
    let history = made_up("init x=60 y=60\ns1: { r(x,60) r(y,60) w(x,-40) }\ns2: { r(x,60) r(y,60) w(y,-40) }");
    let edges = ["s1.1 rw y s2.1", "s2.1 rw x s1.1"];
    let Verdict::Forbidden(refutation) = common::cyclic(&history, Anomaly::WriteSkew, &edges) else { unreachable!() };
    BadRun {
        chosen: None,
        setup: None,
        wrong: vec![Fault {
            words: "invariant is false".to_owned(),
            place: CodePlace { line: 10, column: 11, text: "x + y > 0".to_owned() },
        }],
        open_values: pairs(&[("take.n", "100")]),
        initial: pairs(&[("x", "60"), ("y", "60")]),
        transactions: vec![executed("take", "s1.1", 4, "x"), executed("give", "s2.1", 7, "y")],
        observer: None,
        last_state: pairs(&[("x", "-40"), ("y", "-40")]),
        excerpt: Excerpt::whole(&history, Some(&refutation)),
        anomalies: vec!["write-skew".to_owned()],
        forbidden_by: vec!["ser".to_owned()],
    }
}

/// A serial run, in which the program itself is wrong.
fn serial() -> BadRun {
    let history = made_up("init x=0\ns1: { w(x,1) }\ns2: { r(x,1) } abort\nobserver: { r(x,1) }");
    let mut reader = executed("look", "s2.1", 2, "x");
    reader.outcome = Outcome::Aborted.into();
    reader.sees = Some(vec!["take".to_owned()]);
    reader.writes.clear();
    BadRun {
        excerpt: Excerpt::whole(&history, None),
        transactions: vec![executed("take", "s1.1", 2, "x"), reader],
        observer: Some(vec![access("x", "1", Some("take"), None)]),
        anomalies: Vec::new(),
        forbidden_by: Vec::new(),
        ..write_skew()
    }
}

fn report(levels: Vec<(Level, VerifyVerdict)>) -> VerifyReport {
    let levels = levels.into_iter().map(|(level, verdict)| VerifiedLevel { level: level.into(), verdict });
    VerifyReport {
        inputs: vec!["bank.txn".to_owned()],
        program: ProgramScope {
            text: TEXT.to_owned(),
            transactions: vec!["take(any int in 0..100)".to_owned(), "give(100)".to_owned()],
            sessions: 2,
            int_bits: 16,
            open_values: vec!["take.n".to_owned()],
        },
        levels: levels.collect(),
        weakest: None,
        any_number: None,
        server: None,
        hint: None,
        repairs: Vec::new(),
        not_certified: None,
        covers: None,
        effort: search::effort(),
    }
}

fn bank() -> VerifyReport {
    let violated = |run: BadRun| VerifyVerdict::Violated { counterexample: Box::new(run) };
    let levels = vec![
        (Level::CausalConsistency, violated(serial())),
        (Level::SnapshotIsolation, violated(write_skew())),
        (Level::Serializable, VerifyVerdict::Holds),
    ];
    let place = |line| CodePlace { line, column: 8, text: "x".to_owned() };
    VerifyReport {
        weakest: Some(vec!["ser".to_owned()]),
        repairs: vec![
            RepairReport {
                level: Level::SnapshotIsolation.into(),
                changes: vec![
                    Change::Lock(vec![place(4), place(7)]),
                    Change::Raise(vec!["take".to_owned(), "give".to_owned()]),
                ],
                stopped: None,
            },
            RepairReport { level: Level::CausalConsistency.into(), changes: Vec::new(), stopped: None },
        ],
        ..report(levels)
    }
}

/// Everything that has a name has a hostile one.
fn hostile() -> VerifyReport {
    let name = |nth: usize| common::HOSTILE[nth % common::HOSTILE.len()].to_owned();
    let mut run = write_skew();
    run.wrong[0].words = name(0);
    run.wrong[0].place.text = name(1);
    run.open_values = vec![(name(2), name(3))];
    run.transactions[0].name = name(0);
    run.transactions[0].call = name(1);
    run.transactions[0].sees = Some(vec![name(2)]);
    run.transactions[0].reads[0] = access(&name(1), &name(2), Some(&name(3)), None);
    run.anomalies = vec![name(0)];
    run.forbidden_by = vec![name(1), name(2)];
    run.excerpt.transactions[0].id = name(4);
    let mut report =
        report(vec![(Level::SnapshotIsolation, VerifyVerdict::Violated { counterexample: Box::new(run) })]);
    report.inputs = vec![name(0)];
    report.program.text = name(0) + "\n" + &name(1);
    report.levels[0].level.short = name(3);
    report
}

fn gallery() -> Vec<(&'static str, Report)> {
    let unknown = || VerifyVerdict::Unknown { reason: "the time limit was reached".to_owned() };
    let mut partly = bank();
    partly.levels[2].verdict = unknown();
    partly.weakest = Some(Vec::new());
    partly.repairs[0].stopped = Some("the time limit was reached".to_owned());
    vec![
        ("verify-bank", bank().into()),
        ("each", VerifyReport { weakest: None, ..bank() }.into()),
        ("partly", partly.into()),
        ("holds", report(vec![(Level::SnapshotIsolation, VerifyVerdict::Holds)]).into()),
        ("unknown", report(vec![(Level::SnapshotIsolation, unknown())]).into()),
        ("nothing", report(Vec::new()).into()),
        ("hostile", hostile().into()),
    ]
}

fn plain(report: &Report) -> String {
    report.text(TextOptions { colour: Colour::None, columns: Some(100), ..TextOptions::default() })
}

#[test]
fn the_renderings_are_what_they_were() {
    let report = Report::from(bank());
    common::golden("verify-bank.txt", &plain(&report));
    common::golden("verify-bank.json", &(report.to_json(JsonLayout::Pretty) + "\n"));
    common::golden("verify-bank.svg", &report.svg());
    common::golden("verify-bank.html", &common::page_of(&report));
    common::golden("verify-bank.dot", &report.dot());
    assert!(common::says_the_same_in_version_1("verify-bank", &report));
}

#[test]
fn a_broken_invariant_is_said_once_for_all_levels() {
    let report = Report::from(bank());
    let fault = "invariant is false (line 10)";
    let text = plain(&report);
    assert_eq!(text.split_once("Counterexample").unwrap().0.matches(fault).count(), 1, "{text}");
    assert!(text.contains("violated  cc, si\n          invariant is false (line 10)\nholds     ser\n"), "{text}");
    let page = common::page_of(&report);
    assert_eq!(page.split_once("</table>").unwrap().0.matches(fault).count(), 1);
}

#[test]
fn what_was_written_reads_back_and_renders_the_same() {
    for (name, report) in gallery() {
        for layout in [JsonLayout::Compact, JsonLayout::Pretty] {
            let back = Report::from_json(&report.to_json(layout)).unwrap();
            assert_eq!(back, report, "{name}");
            assert_eq!(
                (back.svg(), common::page_of(&back), back.dot()),
                (report.svg(), common::page_of(&report), report.dot()),
                "{name}"
            );
        }
        assert!(report.to_json(JsonLayout::Compact).starts_with("{\"isoscope\":2,\"verb\":\"verify\""), "{name}");
    }
}

#[test]
fn the_first_line_is_the_answer() {
    let cases = [
        ("verify-bank", "Violated under 2 of these 3 levels."),
        ("holds", "Holds under snapshot-isolation (si)."),
        ("unknown", "Unknown."),
        ("nothing", "No level was verified."),
    ];
    for (name, expected) in cases {
        let report = gallery().into_iter().find(|it| it.0 == name).unwrap().1;
        assert_eq!(plain(&report).lines().next(), Some(expected), "{name}");
    }
}

#[test]
fn of_all_levels_the_run_of_the_strongest_violated_one_is_shown() {
    let text = plain(&bank().into());
    assert!(
        text.contains("Counterexample under snapshot-isolation") && !text.contains("under causal-consistency (cc)\n")
    );
    let each = plain(&VerifyReport { weakest: None, ..bank() }.into());
    assert_eq!(each.matches("Counterexample under").count(), 2);
}

#[test]
fn pictures_and_pages_are_well_formed_whatever_the_names() {
    for (name, report) in gallery() {
        common::xml::assert_well_formed(name, &report.svg());
        let page = common::page_of(&report);
        assert!(!page.contains("<script>alert"), "{name}");
        assert!(!plain(&report).contains('\u{1b}'), "{name}");
    }
}

#[test]
fn the_page_marks_the_line_that_is_false() {
    let page = common::page_of(&Report::from(bank()));
    assert!(page.contains("<span class=\"number\"> 10</span> <mark>invariant x + y &gt; 0</mark>"), "{page}");
}
