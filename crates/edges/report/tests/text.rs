//! The terminal rendering, word by word.

mod common;

use iso_evidence::Anomaly;
use iso_history::{Defect, PlaceUnit, Severity};
use iso_report::{Answer, CheckReport, Colour, LevelName, Limits, Run, Symbols, TextOptions, text, text_so_far};
use iso_spec::Level;

fn plain(report: &CheckReport) -> String {
    text(report, TextOptions { colour: Colour::None, columns: Some(100), ..TextOptions::default() })
}

#[test]
fn the_renderings_are_what_they_were() {
    for (name, report) in common::golden_cases() {
        common::golden(&format!("{name}.txt"), &plain(&report));
    }
}

#[test]
fn a_single_level_starts_with_its_verdict() {
    assert!(plain(&common::lost_update()).starts_with("snapshot-isolation (si): violated (lost-update)\n"));
    let history = common::history("s1: { w(x,1) } { r(x,1) }");
    let report = common::report(&history, &[(Level::Serializable, &common::allowed(&history))]);
    let expected = "serializable (ser): holds\n  A serial order that explains it: s1.1, s1.2.\n";
    assert!(plain(&report).starts_with(expected), "{}", plain(&report));
    let report = common::report(&history, &[(Level::Serializable, &common::unknown())]);
    assert!(plain(&report).starts_with("serializable (ser): unknown (the time limit was reached)\n"));
}

/// What is printed before all levels are decided must not change when the others are.
#[test]
fn what_is_known_early_is_how_the_text_begins() {
    let options = TextOptions { colour: Colour::Ansi, columns: Some(100), ..TextOptions::default() };
    let mut n_rows = 0;
    for (name, report) in common::golden_cases().into_iter().chain(common::gallery()) {
        let whole = text(&report, options);
        for n_decided in 0..=report.levels.len() {
            let decided: Vec<_> = report.levels[..n_decided].iter().map(|it| it.level.clone()).collect();
            let early = text_so_far(&report, |it| decided.contains(&it.level), options);
            assert!(whole.starts_with(&early), "{name}: {early}");
            assert!(n_decided > 0 || early.is_empty(), "{name}: {early}");
            n_rows += early.lines().count();
        }
    }
    assert!(n_rows > 100, "{n_rows} lines are known early");
}

#[test]
fn a_long_witness_is_only_counted() {
    let history = common::history(&"s1: { w(x,1) }\n".repeat(1000));
    let report = common::report(&history, &[(Level::Serializable, &common::allowed(&history))]);
    assert!(plain(&report).contains("A serial order of 1000 transactions explains it; --json has it."));
}

#[test]
fn colours_appear_only_where_they_are_asked_for() {
    for (name, report) in common::gallery() {
        assert!(!plain(&report).contains('\u{1b}'), "{name}");
        let coloured = text(&report, TextOptions { colour: Colour::Ansi, columns: None, ..TextOptions::default() });
        assert!(coloured.contains("\u{1b}[1;31m"), "{name}");
    }
}

#[test]
fn sentences_keep_to_the_width() {
    let narrow =
        text(&common::write_skew(), TextOptions { colour: Colour::None, columns: Some(72), ..TextOptions::default() });
    assert!(narrow.lines().filter(|it| it.contains("line")).all(|it| it.chars().count() <= 72), "{narrow}");
}

#[test]
fn defects_and_failed_certificates_are_loud() {
    let history = common::history("s1: { w(x,1) }");
    let (verdict, defect) = (common::allowed(&history), |severity| Defect {
        severity,
        source: "a.log".to_owned(),
        at: Some((7, PlaceUnit::Line)),
        message: "expected a number".to_owned(),
    });
    let run = Run { defects: vec![defect(Severity::Warning)], ..Run::default() };
    let level = LevelName { short: "mine".to_owned(), full: "mine".to_owned() };
    let answer = Answer { level, verdict: &verdict, certified: Some(Err("s1.1 is missing".to_owned())) };
    let found = plain(&CheckReport::new(&history, run, &[answer], Limits::default()));
    assert!(found.starts_with("warning: a.log line 7: expected a number\n\nmine: holds\n"), "{found}");
    assert!(found.contains("NOT CERTIFIED: the evidence for mine is wrong: s1.1 is missing\n"), "{found}");
    let run = Run { defects: vec![defect(Severity::Error)], ..Run::default() };
    assert!(plain(&CheckReport::of_unreadable(run)).starts_with("error: a.log line 7: expected a number\n"));
}

#[test]
fn equal_refutations_are_told_once_and_different_ones_each() {
    let history = common::history("init x=0 y=0\ns1: { r(x,0) w(y,1) }\ns2: { r(y,0) w(x,1) }\ns3: { r(x,0) }");
    let skew = common::cyclic(&history, Anomaly::WriteSkew, &["s1.1 rw x s2.1", "s2.1 rw y s1.1"]);
    let other = common::cyclic(&history, Anomaly::G2Item, &["s1.1 rw x s2.1", "s2.1 rw y s1.1"]);
    let levels = [(Level::SnapshotIsolation, &other), (Level::Serializable, &skew), (Level::StrictSerializable, &skew)];
    let found = plain(&common::report(&history, &levels));
    assert_eq!(found.matches("forbidden by").count(), 2, "{found}");
    assert!(found.contains("write-skew, forbidden by ser, sser\n"), "{found}");
    assert!(found.contains("None of these levels is known to hold.\n"), "{found}");
}

#[test]
fn ascii_is_all_there_is_where_nothing_else_is_shown() {
    let options = TextOptions { symbols: Symbols::Ascii, columns: Some(100), ..TextOptions::default() };
    for (name, report) in common::gallery() {
        let found = text(&report, options);
        assert!(found.is_ascii(), "{name}: {found}");
    }
    assert!(text(&common::write_skew(), options).contains("s1.1 <--rw x--- s2.1"));
}

#[test]
fn a_cycle_is_drawn_between_lanes_where_it_fits() {
    let drawn = |columns| {
        let found = text(&common::long_fork(), TextOptions { columns: Some(columns), ..TextOptions::default() });
        found.lines().filter(|it| it.contains('▶') || it.contains('◀')).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(drawn(100).len(), 4);
    assert!(drawn(100).iter().all(|it| it.chars().count() <= 100));
    assert!(drawn(40).is_empty());
}
