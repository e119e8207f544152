//! The document of `predict`: what it says, and what it looks like.
#![allow(clippy::unwrap_used, reason = "helpers of tests are test code")]

mod common;

use common::{history, made_up, read, search, txn};
use iso_evidence::{Anomaly, Event, Schedule, Verdict, Witness};
use iso_history::{History, TxnId};
use iso_report::{
    Boundary, Colour, Counts, JsonLayout, Precision, PredictReport, PredictVerdict, Predicted, PredictedLevel,
    PredictedRun, Report, Rewired, TextOptions, Validation, ValidationVerdict, Value, shape,
};
use iso_spec::Level;

/// A deposit, a withdrawal, and another deposit that sees both.
const ACCOUNT: &str = "init x=0
    s1: { r(x,0) w(x,60) }
    s2: { r(x,60) w(x,10) }
    s3: { r(x,10) w(x,15) }";

/// Two doctors go home, and the second one looks too late, and writes down that nobody is left.
const DOCTORS: &str = "init alice=on bob=on
    s1: { r(alice,on) r(bob,on) w(alice,off) }
    s2: { r(bob,on) w(bob,off) r(alice,off) w(left,nobody) } { r(left,nobody) }";

/// A prediction, in words.
struct Told<'a> {
    observed: &'a str,
    predicted: &'a str,
    /// Reader, key, observed writer and predicted one.
    changed: &'a [[&'a str; 4]],
    anomaly: Anomaly,
    cycle: &'a [&'a str],
}

impl Told<'_> {
    fn run(&self) -> PredictedRun {
        let (observed, predicted) = (history(self.observed), made_up(self.predicted));
        let twin = |it: TxnId| txn(&observed, &predicted.label(it));
        let txns: Vec<TxnId> = [TxnId::INITIAL].into_iter().chain(predicted.txns().map(twin)).collect();
        let rewired = |[reader, key, from, to]: &[&str; 4]| Rewired {
            op: read(&predicted, reader, key),
            observed_op: read(&observed, reader, key),
            from: txn(&observed, from),
            to: txn(&observed, to),
        };
        let Verdict::Forbidden(refutation) = common::cyclic(&predicted, self.anomaly, self.cycle) else {
            unreachable!()
        };
        PredictedRun::new(&Predicted {
            observed: &observed,
            history: &predicted,
            txns: &txns,
            changed: self.changed.iter().map(rewired).collect(),
            cuts: self.changed.iter().map(|it| txn(&predicted, it[0])).collect(),
            witness: &witness(&predicted),
            refutation: &refutation,
            allowed: Some(Ok(())),
            forbidden: Some(Ok(())),
        })
    }
}

fn witness(history: &History) -> Witness {
    let events = history.txns().map(Event::Snapshot).chain(history.txns().map(Event::Commit));
    Witness { schedule: Schedule::Events(events.collect()), sources: std::sync::Arc::default() }
}

fn lost_update() -> PredictedRun {
    Told {
        observed: ACCOUNT,
        predicted: "init x=0\ns1: { r(x,0) w(x,60) }\ns2: { r(x,0) w(x,10) }",
        changed: &[["s2.1", "x", "s1.1", "init"]],
        anomaly: Anomaly::LostUpdate,
        cycle: &["s1.1 rw x s2.1", "s2.1 rw x s1.1"],
    }
    .run()
}

fn write_skew() -> PredictedRun {
    Told {
        observed: DOCTORS,
        predicted: "init alice=on bob=on\ns1: { r(alice,on) r(bob,on) w(alice,off) }\n\
            s2: { r(bob,on) w(bob,off) r(alice,on) }",
        changed: &[["s2.1", "alice", "s1.1", "init"]],
        anomaly: Anomaly::WriteSkew,
        cycle: &["s2.1 rw alice s1.1", "s1.1 rw bob s2.1"],
    }
    .run()
}

fn report(observed: &str, levels: Vec<(Level, PredictVerdict)>) -> PredictReport {
    let levels =
        levels.into_iter().map(|(level, verdict)| PredictedLevel { level: level.into(), verdict, boundary: None });
    PredictReport {
        inputs: vec!["run.history".to_owned()],
        defects: Vec::new(),
        observed: Some(Counts::of(&history(observed))),
        target: Level::Serializable.into(),
        boundary: Boundary::Strict,
        precision: Precision::Exact,
        levels: levels.collect(),
        strongest: None,
        notes: Vec::new(),
        not_certified: None,
        effort: search::effort(),
    }
}

fn predicted(runs: Vec<PredictedRun>) -> PredictVerdict {
    PredictVerdict::Predicted { runs, ended: None }
}

fn relaxed() -> PredictReport {
    let levels = vec![(Level::CausalConsistency, predicted(vec![lost_update()]))];
    PredictReport { boundary: Boundary::Relaxed, ..report(ACCOUNT, levels) }
}

/// All levels: the strongest one with a prediction is shown.
fn ladder() -> PredictReport {
    let levels = vec![
        (Level::CausalConsistency, predicted(vec![write_skew()])),
        (Level::SnapshotIsolation, predicted(vec![write_skew()])),
    ];
    PredictReport { strongest: Some(vec!["si".to_owned()]), ..report(DOCTORS, levels) }
}

fn none() -> PredictReport {
    report(ACCOUNT, vec![(Level::CausalConsistency, PredictVerdict::None)])
}

fn validation(verdict: ValidationVerdict) -> Validation {
    Validation {
        application: "smallbank".to_owned(),
        calls: vec![("s2.1".to_owned(), "Withdraw(50)".to_owned()), ("s9.9".to_owned(), "Other()".to_owned())],
        verdict,
        divergences: vec!["s2.1 read y, and x was predicted".to_owned()],
        failed: vec!["money is conserved".to_owned()],
        history: "init x=0\ns1: { r(x,0) }\n".to_owned(),
    }
}

fn validated(verdict: ValidationVerdict) -> PredictReport {
    let run = PredictedRun { validation: Some(validation(verdict)), ..lost_update() };
    report(ACCOUNT, vec![(Level::CausalConsistency, predicted(vec![run]))])
}

/// Everything that has a name has a hostile one.
fn hostile() -> PredictReport {
    let name = |nth: usize| common::HOSTILE[nth % common::HOSTILE.len()].to_owned();
    let mut run = lost_update();
    run.forbidden.anomalies = vec![name(0)];
    run.forbidden.shape = name(1);
    run.changed[0].transaction = name(2);
    run.changed[0].key = Value::Text(name(3));
    run.changed[0].observed.value = Value::Text(name(0));
    run.changed[0].predicted.writer = name(1).into();
    run.cuts[0].transaction = name(2);
    run.cuts[0].session = name(4);
    run.renamed = vec![(name(2), name(3))];
    run.forbidden.evidence.transactions[0].id = name(4);
    run.observed.transactions[1].ops[0].value = Value::Text(name(1));
    run.validation = Some(Validation {
        application: name(0),
        calls: vec![(name(2), name(1))],
        divergences: vec![name(1)],
        failed: vec![name(2)],
        history: name(3),
        verdict: ValidationVerdict::NotValidated { reason: name(4) },
    });
    let mut report = report(ACCOUNT, vec![(Level::CausalConsistency, predicted(vec![run]))]);
    report.inputs = vec![name(0)];
    report.notes = vec![name(1)];
    report.levels[0].level.short = name(3);
    report
}

/// Too large to be shown as a whole: a lost update among many others.
fn large() -> PredictReport {
    let others: Vec<String> = (1..30).map(|it| format!("\ns3: {{ r(y,{}) w(y,{it}) }}", it - 1)).collect();
    let others = others.concat();
    let run = Told {
        observed: &format!("init x=0 y=0\ns1: {{ r(x,0) w(x,60) }}\ns2: {{ r(x,60) w(x,10) }}{others}"),
        predicted: &format!("init x=0 y=0\ns1: {{ r(x,0) w(x,60) }}\ns2: {{ r(x,0) w(x,10) }}{others}"),
        changed: &[["s2.1", "x", "s1.1", "init"]],
        anomaly: Anomaly::LostUpdate,
        cycle: &["s1.1 rw x s2.1", "s2.1 rw x s1.1"],
    };
    report(ACCOUNT, vec![(Level::CausalConsistency, predicted(vec![run.run()]))])
}

fn gallery() -> Vec<(&'static str, Report)> {
    let unknown = || PredictVerdict::Unknown { reason: "the time limit was reached".to_owned() };
    let cc = Level::CausalConsistency;
    let ended = Some("the last 20 had a shape that was there before".to_owned());
    let all = PredictVerdict::Predicted { runs: vec![lost_update(), write_skew()], ended };
    let approximate = PredictReport { precision: Precision::Approximate, ..report(ACCOUNT, vec![(cc, unknown())]) };
    let observed = Told { observed: DOCTORS, changed: &[], ..skew_itself() }.run();
    let not = ValidationVerdict::NotValidated { reason: "its run is serializable".to_owned() };
    vec![
        ("relaxed", relaxed().into()),
        ("ladder", ladder().into()),
        ("none", none().into()),
        ("all", report(ACCOUNT, vec![(cc, all)]).into()),
        ("unknown", approximate.into()),
        ("partly", report(ACCOUNT, vec![(cc, PredictVerdict::None), (Level::SnapshotIsolation, unknown())]).into()),
        ("nothing", report(ACCOUNT, Vec::new()).into()),
        ("observed", report(DOCTORS, vec![(Level::SnapshotIsolation, predicted(vec![observed]))]).into()),
        ("validated", validated(ValidationVerdict::Validated).into()),
        ("not validated", validated(not).into()),
        ("large", large().into()),
        ("hostile", hostile().into()),
    ]
}

fn skew_itself() -> Told<'static> {
    const SKEW: &str = "init x=0 y=0\ns1: { r(x,0) w(y,1) }\ns2: { r(y,0) w(x,1) }";
    Told {
        observed: SKEW,
        predicted: SKEW,
        changed: &[],
        anomaly: Anomaly::WriteSkew,
        cycle: &["s1.1 rw x s2.1", "s2.1 rw y s1.1"],
    }
}

fn plain(report: &Report) -> String {
    report.text(TextOptions { colour: Colour::None, columns: Some(100), ..TextOptions::default() })
}

#[test]
fn the_boundary_that_gave_a_run_is_said_where_two_were_tried() {
    let with = |boundary: Boundary| {
        let mut report = PredictReport { boundary: Boundary::Either, ..relaxed() };
        report.levels[0].boundary = Some(boundary);
        report.not_certified = Some("\"none\" rests on the search itself".to_owned());
        Report::from(report)
    };
    let (strict, relaxed) = (with(Boundary::Strict), with(Boundary::Relaxed));
    let says = |report: &Report, words: &str| {
        let text = report.text(TextOptions { columns: None, ..TextOptions::default() });
        assert!(
            text.contains(words) && common::page_of(report).contains(&words.replace('"', "&quot;")),
            "{words}: {text}"
        );
        assert_eq!(Report::from_json(&report.to_json(JsonLayout::Compact)).as_ref(), Ok(report));
    };
    says(&strict, "Found with the strict boundary.");
    says(&relaxed, "Found with the relaxed boundary; the strict one has none.");
    says(&relaxed, "the rest of s2.1 kept as observed");
    says(&relaxed, "Not certified: \"none\" rests on the search itself.");
}

#[test]
fn the_renderings_are_what_they_were() {
    for (name, report) in [("lost-update", relaxed()), ("write-skew", ladder()), ("none", none())] {
        let report = Report::from(report);
        common::golden(&format!("predict-{name}.txt"), &plain(&report));
        common::golden(&format!("predict-{name}.json"), &(report.to_json(JsonLayout::Pretty) + "\n"));
        common::golden(&format!("predict-{name}.svg"), &report.svg());
        common::golden(&format!("predict-{name}.html"), &common::page_of(&report));
        common::golden(&format!("predict-{name}.dot"), &report.dot());
        let is_kept = common::says_the_same_in_version_1(&format!("predict-{name}"), &report);
        assert_eq!(is_kept, name != "none");
    }
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
        assert!(report.to_json(JsonLayout::Compact).starts_with("{\"isoscope\":2,\"verb\":\"predict\""), "{name}");
    }
}

#[test]
fn the_first_line_is_the_answer() {
    let cases = [
        (
            "relaxed",
            "Predicted: a run that causal-consistency (cc) allows and serializable (ser) forbids (lost-update).",
        ),
        ("ladder", "Predicted: under 2 of these 2 levels a run could have happened that serializable (ser) forbids."),
        ("unknown", "Unknown: the time limit was reached."),
        ("nothing", "No level was asked."),
    ];
    for (name, expected) in cases {
        let report = gallery().into_iter().find(|it| it.0 == name).unwrap().1;
        assert_eq!(plain(&report).lines().next(), Some(expected), "{name}");
    }
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
fn changed_reads_are_marked_in_both_runs() {
    let page = common::page_of(&Report::from(relaxed()));
    assert!(page.contains("<mark title=\"becomes r(x,0)\">r(x,60)</mark>"), "{page}");
    assert!(page.contains("<mark title=\"was r(x,60)\">r(x,0)</mark>"), "{page}");
    assert!(page.contains("<s>r(x,10)</s> <s>w(x,15)</s>"), "{page}");
}

#[test]
fn a_validation_says_what_the_transactions_are_and_what_failed() {
    let text = plain(&validated(ValidationVerdict::Validated).into());
    assert!(text.contains("Validated: smallbank ran along the prediction"), "{text}");
    assert!(text.contains("  s2.1 is Withdraw(50)\n") && !text.contains("Other()"), "{text}");
    assert!(text.contains("  diverged: s2.1 read y") && text.contains("  assertion failed: money"), "{text}");
}

#[test]
fn of_a_large_history_only_what_matters_is_shown() {
    let text = plain(&large().into());
    assert!(
        text.contains("What matters of the predicted history") && text.contains("In all: 31 transactions"),
        "{text}"
    );
    assert!(!text.contains("r(y,0)"), "{text}");
}

#[test]
fn a_strict_boundary_warns_of_hidden_write_conflicts() {
    let words = "A strict boundary drops the later writes of s2.1, and here si forbids the run with them";
    let told = |hides_conflict| {
        let run = PredictedRun { hides_conflict, ..write_skew() };
        let verdict = PredictVerdict::Predicted { runs: vec![run], ended: None };
        let report: Report = report(DOCTORS, vec![(Level::SnapshotIsolation, verdict)]).into();
        let again = Report::from_json(&report.to_json(JsonLayout::Pretty)).expect("it reads its own words");
        assert_eq!(again, report);
        plain(&report).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(told(true).contains(words), "{}", told(true));
    assert!(!told(false).contains("A strict boundary drops"));
}

#[test]
fn where_a_cycle_begins_makes_no_difference_to_its_shape() {
    let skew = made_up(skew_itself().predicted);
    let edges = |of: &[&str]| of.iter().map(|it| common::edge(&skew, it)).collect::<Vec<_>>();
    let one = shape(&edges(&["s1.1 rw x s2.1", "s2.1 so s1.1", "s1.1 rw x s2.1"]));
    let other = shape(&edges(&["s2.1 so s1.1", "s1.1 rw x s2.1", "s1.1 rw x s2.1"]));
    assert_eq!((one.as_str(), other.as_str()), ("rw-rw-so", "rw-rw-so"));
}
