//! Each dependency and each inexplicable read as a sentence.
#![allow(clippy::unwrap_used, reason = "helpers of tests are test code")]

mod common;

use iso_evidence::Anomaly;
use iso_report::{CheckReport, Excerpt, Judgement};
use iso_spec::Level;

fn core(report: &CheckReport) -> Excerpt {
    let mut cores = report.levels.iter().filter_map(|it| match &it.judgement {
        Judgement::Violated { core, .. } => Some((**core).clone()),
        _ => None,
    });
    cores.next().unwrap()
}

fn edge(text: &str, edge: &str) -> String {
    let history = common::history(text);
    let verdict = common::cyclic(&history, Anomaly::G2Item, &[edge]);
    core(&common::report(&history, &[(Level::Serializable, &verdict)])).cycle.remove(0).because
}

fn local(text: &str) -> String {
    let history = common::history(text);
    let labels: Vec<String> = history.txns().map(|it| history.label(it)).collect();
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    let verdict = common::local(&history, Anomaly::Internal, &labels);
    core(&common::report(&history, &[(Level::Serializable, &verdict)])).local.unwrap().because
}

#[test]
fn dependencies_of_registers() {
    let registers = "init x=0\ns1: { w(x,1) } { r(x,1) }\ns2: { r(x,0) w(x,2) }\ns3: { r(x,2) }";
    let cases = [
        ("s1.1 so s1.2", "s1.1 (line 2) comes before s1.2 (line 2) in session s1"),
        ("init so s1.2", "the initial state comes before s1.2 (line 2)"),
        ("s1.1 wr x s1.2", "s1.2 (line 2) read x=1 from s1.1 (line 2)"),
        ("init wr x s2.1", "s2.1 (line 3) read x=0 from the initial state"),
        ("s2.1 rw x s1.1", "s2.1 (line 3) read x=0 from the initial state, which s1.1 (line 2) overwrote with x=1"),
        ("s1.2 rw x s2.1", "s1.2 (line 2) read x=1 from s1.1 (line 2), which s2.1 (line 3) overwrote with x=2"),
        ("init ww x s1.1", "x=1 of s1.1 (line 2) is newer than the initial x=0"),
        (
            "s1.1 ww x s2.1",
            "x=1 of s1.1 (line 2) is older than x=2 of s2.1 (line 3), because the opposite order is impossible",
        ),
        (
            "s1.1 ww x s2.1 by s3.1",
            "x=1 of s1.1 (line 2) is older than x=2 of s2.1 (line 3), \
             because s3.1 (line 4) comes after s1.1 and still read x=2",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(edge(registers, text), expected);
    }
}

#[test]
fn a_writer_that_read_its_predecessor_shows_the_order() {
    let found = edge("s1: { w(x,1) }\ns2: { r(x,1) w(x,2) }", "s1.1 ww x s2.1 by s2.1");
    assert_eq!(found, "x=1 of s1.1 (line 1) is older than x=2 of s2.1 (line 2), because s2.1 had read x=1 before");
}

#[test]
fn dependencies_of_lists() {
    let lists = "s1: { append(x,1) append(x,2) }\ns2: { append(x,3) }\ns3: { r(x,[1,2,3]) }\ns4: { r(x,[1,2]) }";
    let cases = [
        ("s1.1 wr x s4.1", "s4.1 (line 4) read x=[1,2], where 2 is from s1.1 (line 1)"),
        ("s4.1 rw x s2.1", "s4.1 (line 4) read x=[1,2] without 3, which s2.1 (line 2) appended"),
        ("init ww x s2.1", "s2.1 (line 2) appended 3 to x, which was empty at first"),
        (
            "s1.1 ww x s2.1 by s3.1",
            "s1.1 (line 1) appended 1, 2 to x before s2.1 (line 2) appended 3, because s3.1 (line 3) read x=[1,2,3]",
        ),
        (
            "s1.1 ww x s2.1 by s4.1",
            "s1.1 (line 1) appended 1, 2 to x before s2.1 (line 2) appended 3, \
             because s4.1 (line 4) read x=[1,2] without 3",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(edge(lists, text), expected);
    }
}

#[test]
fn real_time_names_both_moments() {
    let timed = "s1: { w(x,1) } @[10,25]\ns2: { r(x,-) } @[30,40]\ns3: { r(x,-) } @[50,]";
    assert_eq!(edge(timed, "s1.1 rt s2.1"), "s1.1 (line 1) ended at 25, before s2.1 (line 2) began at 30");
    assert_eq!(edge(timed, "init rt s2.1"), "the initial state comes before s2.1 (line 2)");
}

#[test]
fn reads_of_registers_that_nothing_explains() {
    let cases = [
        ("s1: { w(x,1) r(x,7) }", "s1.1 (line 1) wrote x=1 and then read x=7"),
        ("s1: { r(x,7) }", "s1.1 (line 1) read x=7, but nobody ever wrote 7 to x"),
        ("init x=0\ns1: { r(x,-) }", "s1.1 (line 2) found no x, but x exists from the start and nobody removed it"),
        ("s1: { r(x,7) w(x,7) }", "s1.1 (line 1) read x=7, which it wrote only later"),
        ("s1: { w(x,7) } abort\ns2: { r(x,7) }", "s2.1 (line 2) read x=7 from s1.1 (line 1), which aborted"),
        (
            "s1: { w(x,1) w(x,2) }\ns2: { r(x,1) }",
            "s2.1 (line 2) read x=1, which s1.1 (line 1) overwrote with x=2 before it committed",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(local(text), expected);
    }
}

#[test]
fn reads_of_lists_that_nothing_explains() {
    let cases = [
        (
            "s1: { append(x,3) r(x,[]) }",
            "s1.1 (line 1) appended 3 to x and then read x=[], which does not end with what it appended",
        ),
        ("s1: { r(x,[7]) }", "s1.1 (line 1) read x=[7], but nobody ever appended 7 to x"),
        ("s1: { r(x,[7]) append(x,7) }", "s1.1 (line 1) read x=[7], but appended 7 only later"),
        (
            "s1: { append(x,7) } abort\ns2: { r(x,[7]) }",
            "s2.1 (line 2) read x=[7], where 7 is from s1.1 (line 1), which aborted",
        ),
        (
            "s1: { append(x,1) append(x,2) }\ns2: { r(x,[1]) }",
            "s2.1 (line 2) read x=[1], but s1.1 (line 1) appended 1, 2 before it committed",
        ),
        (
            "s1: { append(x,1) append(x,3) }\ns2: { append(x,2) }\ns3: { r(x,[1,2,3]) }",
            "s3.1 (line 3) read x=[1,2,3], where 2 of s2.1 (line 2) stands between 1, 3 of s1.1 (line 1)",
        ),
        (
            "s1: { append(x,1) }\ns2: { append(x,2) }\ns3: { r(x,[1,2]) }\ns4: { r(x,[2,1]) }",
            "s4.1 (line 4) read x=[2,1] and s3.1 (line 3) read x=[1,2]: neither list extends the other",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(local(text), expected);
    }
}

#[test]
fn commas_inside_of_values_stay_as_they_are() {
    let mut builder = iso_history::HistoryBuilder::new();
    let (key, values) = (builder.key("l".into()), ["a,b", "c"].map(iso_history::Datum::text));
    let values = values.map(|it| builder.value(it));
    for value in values {
        let session = builder.session("s");
        builder.begin(session, iso_history::Place::default());
        builder.append(key, value);
        builder.end(iso_history::Outcome::Committed);
    }
    let history = builder.finish().unwrap();
    let verdict = common::cyclic(&history, Anomaly::G2Item, &["s.1 ww l s.2"]);
    let report = common::report(&history, &[(Level::Serializable, &verdict)]);
    assert_eq!(
        core(&report).cycle[0].because,
        "s.1 appended \"a,b\" to l before s.2 appended c, because the opposite order is impossible"
    );
}

#[test]
fn integer_keys_do_not_look_like_values() {
    let registers = "init 2=0\ns1: { w(2,2) } { r(2,2) }\ns2: { r(2,0) }";
    let cases = [
        ("s1.1 wr 2 s1.2", "s1.2 (line 2) read key 2 = 2 from s1.1 (line 2)"),
        (
            "s2.1 rw 2 s1.1",
            "s2.1 (line 3) read key 2 = 0 from the initial state, which s1.1 (line 2) overwrote with key 2 = 2",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(edge(registers, text), expected);
    }
    assert_eq!(
        edge("s1: { append(2,1) }\ns2: { r(2,[]) }", "s2.1 rw 2 s1.1"),
        "s2.1 (line 2) read key 2 = [] without 1, which s1.1 (line 1) appended"
    );
}

#[test]
fn long_lists_show_what_matters() {
    let elements: Vec<String> = (1..=40).map(|it| it.to_string()).collect();
    let appends: Vec<String> = elements.iter().map(|it| format!("s1: {{ append(x,{it}) }}")).collect();
    let text = format!("{}\ns2: {{ r(x,[{}]) }}", appends.join("\n"), elements.join(","));
    assert_eq!(
        edge(&text, "s1.20 ww x s1.30 by s2.1"),
        "s1.20 (line 20) appended 20 to x before s1.30 (line 30) appended 30, \
         because s2.1 (line 41) read x=[1,2,…,20,…,30,…,39,40]"
    );
}

#[test]
fn the_core_leaves_out_what_does_not_matter() {
    let core = core(&common::stale_read());
    assert_eq!(core.history, "init x=0\ns1: { w(x,1) } @[10,25]\ns2: { r(x,0) } @[30,40]\n");
    let ids: Vec<&str> = core.transactions.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(ids, ["s1.2", "s2.1"]);
}

#[test]
fn an_update_that_was_lost_without_being_read_is_not_said_to_be_read() {
    let summary = |text: &str, cycle: [&str; 2]| {
        let history = common::history(text);
        let verdict = common::cyclic(&history, Anomaly::LostUpdate, &cycle);
        core(&common::report(&history, &[(Level::SnapshotIsolation, &verdict)])).summary
    };
    let blind = "init x=0 y=0 z=0\ns1: { r(x,0) w(y,1) w(z,1) }\ns2: { r(y,0) w(x,1) w(z,2) }";
    let found = summary(blind, ["s1.1 rw x s2.1", "s2.1 rw y s1.1"]);
    assert_eq!(found, "Transactions write z without seeing each other.");
    let read = "init x=0\ns1: { r(x,0) w(x,1) }\ns2: { r(x,0) w(x,2) }";
    let found = summary(read, ["s1.1 rw x s2.1", "s2.1 rw x s1.1"]);
    assert_eq!(found, "Two transactions read the same version and both overwrite it, so one update is lost.");
}
