//! The documents of `separate`, `compare` and `lattice`: what they say, and what they look like.
#![allow(clippy::unwrap_used, reason = "helpers of tests are test code")]

mod common;

use common::search;
use iso_report::{Colour, Found, JsonLayout, Report, TextOptions};

fn plain(report: &Report) -> String {
    report.text(TextOptions { colour: Colour::None, columns: Some(100), ..TextOptions::default() })
}

fn case(name: &str) -> Report {
    search::gallery().into_iter().find(|it| it.0 == name).unwrap().1
}

#[test]
fn the_renderings_are_what_they_were() {
    for (name, report) in search::golden_cases() {
        common::golden(&format!("{name}.txt"), &plain(&report));
        common::golden(&format!("{name}.json"), &(report.to_json(JsonLayout::Pretty) + "\n"));
    }
}

#[test]
fn what_was_written_reads_back() {
    for (name, report) in search::gallery() {
        for layout in [JsonLayout::Compact, JsonLayout::Pretty] {
            assert_eq!(Report::from_json(&report.to_json(layout)).as_ref(), Ok(&report), "{name}");
        }
        let start = format!("{{\"isoscope\":2,\"verb\":\"{}\"", report.verb());
        assert!(report.to_json(JsonLayout::Compact).starts_with(&start), "{name}");
    }
}

#[test]
fn documents_of_version_1_say_the_same() {
    let cases = search::golden_cases();
    let kept = cases.iter().filter(|it| common::says_the_same_in_version_1(it.0, &it.1));
    assert!(kept.count() >= 3);
}

#[test]
fn the_first_line_is_the_answer() {
    let cases = [
        (
            "separate-cc-pc",
            "biswas.cc allows and biswas.pc forbids this history (4 transactions, 2 keys); none smaller does.",
        ),
        (
            "separate-si-ser",
            "cerone.si, crooks.si and adya.si_so allow, and crooks.ser and biswas.ser forbid this history \
             (2 transactions, 2 keys); none smaller does.",
        ),
        (
            "all",
            "biswas.cc allows and biswas.pc forbids these 2 histories; up to names, every other one in the scope \
             contains one of them.",
        ),
        (
            "none",
            "None up to 4 transactions, 3 keys: every history that biswas.si allows is allowed by cerone.si, too.",
        ),
        ("unknown", "Unknown: the time limit was reached."),
        ("equivalent", "Equivalent up to 3 transactions, 2 keys: biswas.si and cerone.si allow the same histories."),
        (
            "stronger",
            "biswas.pc is stronger than biswas.cc: biswas.cc allows a history that biswas.pc forbids, and none was found \
             the other way around up to 3 transactions, 2 keys.",
        ),
        (
            "half-unknown",
            "Unknown: the time limit was reached. biswas.cc does not imply biswas.pc, but the other direction is open.",
        ),
        (
            "lattice",
            "12 levels fall into 5 classes of equivalent levels up to 4 transactions, 3 keys. 1 pair could not be compared.",
        ),
    ];
    for (name, expected) in cases {
        let found = case(name).text(TextOptions::default());
        assert_eq!(found.lines().next(), Some(expected), "{name}");
    }
    let sentence = |it: &str| case(it).text(TextOptions::default()).lines().next().unwrap().to_owned();
    assert_eq!(sentence("weaker"), sentence("stronger"));
}

#[test]
fn names_of_a_lattice_are_short_where_no_other_level_is_called_so() {
    let text = plain(&case("lattice"));
    for words in
        ["  biswas.si = cerone.si = session_si\n", "    -> psi        #3", "#3  psi allows and biswas.si forbids"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    let json = case("lattice").to_json(JsonLayout::Compact);
    assert!(json.contains("\"crooks.session_si\"") && json.contains("\"cerone.psi\""));
}

#[test]
fn a_session_order_that_is_no_chains_is_written_as_comments() {
    let Found { history, session_order, .. } = search::diamond();
    let comments: Vec<&str> = history.lines().filter(|it| it.starts_with('#')).collect();
    let expected = ["s1.1 < s2.1", "s1.1 < s3.1", "s2.1 < s4.1", "s3.1 < s4.1"];
    assert_eq!(comments, expected.map(|it| format!("# session order: {it}")));
    assert_eq!(session_order.len(), comments.len());
    assert!(!search::long_fork().history.contains('#'));
}

#[test]
fn colours_appear_only_where_they_are_asked_for() {
    for (name, report) in search::gallery() {
        assert!(!plain(&report).contains('\u{1b}'), "{name}");
        assert!(
            report
                .text(TextOptions { colour: Colour::Ansi, columns: None, ..TextOptions::default() })
                .contains("\u{1b}["),
            "{name}"
        );
    }
}

#[test]
fn sentences_keep_to_the_width() {
    for (name, report) in search::golden_cases() {
        let narrow = report.text(TextOptions { colour: Colour::None, columns: Some(60), ..TextOptions::default() });
        let too_long: Vec<&str> = narrow.lines().filter(|it| it.chars().count() > 60).collect();
        assert!(too_long.is_empty(), "{name}: {too_long:#?}");
    }
}

#[test]
fn what_rests_on_the_search_is_said_in_text_and_on_the_page() {
    let clause = Some("which levels coincide rests on the search itself".to_owned());
    let report = Report::from(iso_report::LatticeReport { not_certified: clause, ..search::lattice() });
    let words = "Not certified: which levels coincide rests on the search itself.";
    assert!(plain(&report).contains(words) && common::page_of(&report).contains(words), "{}", plain(&report));
}

#[test]
fn failed_certificates_are_loud() {
    let text = plain(&case("hostile"));
    assert!(text.contains("NOT CERTIFIED: the evidence for <script>alert(1)</script> is wrong"), "{text}");
}

#[test]
fn what_is_no_report_is_refused() {
    let error = Report::from_json("{\"isoscope\":1,\"verb\":\"bake\"}").unwrap_err();
    let expected = "this is a report of \"bake\", and only those of \"check\", \"separate\", \"compare\", \
                    \"lattice\", \"verify\", \"allocate\", \"predict\", \"collect\", \"hunt\", \"replay\", \"demo\" \
                    and \"store\" are read here";
    assert_eq!(error.to_string(), expected);
    let json = case("lattice").to_json(JsonLayout::Compact).replace("\"stronger\":0", "\"stronger\":5");
    let error = Report::from_json(&json).unwrap_err();
    assert_eq!(error.to_string(), "this report is damaged: \"stronger\" and \"weaker\" should be places of classes");
}

#[test]
fn documents_that_make_no_sense_are_rendered_all_the_same() {
    let Report::Lattice(lattice) = case("lattice") else { unreachable!() };
    let mut circular = lattice.clone();
    circular.edges[4].stronger = 4;
    circular.edges[4].weaker = 0;
    circular.edges[3].stronger = 4;
    let mut empty = lattice.clone();
    empty.classes.clear();
    empty.edges.clear();
    let mut strangers = lattice;
    strangers.edges.iter_mut().for_each(|it| it.found.transactions.clear());
    strangers.edges[0].found = Found::default();
    for report in [circular, empty, strangers] {
        let report = Report::from(report);
        assert_eq!(Report::from_json(&report.to_json(JsonLayout::Compact)).as_ref(), Ok(&report));
        let renderings = [plain(&report), report.svg(), common::page_of(&report), report.dot()];
        assert!(renderings.iter().all(|it| !it.is_empty()));
    }
}
