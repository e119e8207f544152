//! SVG, DOT and HTML: golden bytes, and well-formed whatever the names are.
#![allow(clippy::unwrap_used, reason = "helpers of tests are test code")]

mod common;

use common::search;
use common::xml::assert_well_formed;
use iso_report::{Frame, Report, dot, figure_svg, findings, svg};

#[test]
fn the_pictures_are_what_they_were() {
    for (name, report) in common::golden_cases() {
        common::golden(&format!("{name}.svg"), &svg(&report));
        common::golden(&format!("{name}.dot"), &dot(&report));
        common::golden(&format!("{name}.html"), &common::page(&report));
    }
}

/// Pages that only the browser looks at: names that want to run, a long cycle, and an allowed history.
#[test]
fn the_pages_for_the_browser_are_what_they_were() {
    common::golden("hostile.html", &common::page(&common::hostile()));
    common::golden("ring-40.html", &common::page(&common::ring(40, 8)));
    let history = common::history(
        "init x=0 y=0
         alice: { r(x,0) w(x,1) }
         bob: { r(x,1) w(y,2) append(log,1) }
         carol: { r(log,[1]) r(x,1) w(x,3) } { r(y,2) r(x,3) }",
    );
    let report = common::report(&history, &[(iso_spec::Level::Serializable, &common::allowed(&history))]);
    common::golden("allowed.html", &common::page(&report));
}

#[test]
fn the_pictures_of_searches_are_what_they_were() {
    for (name, report) in search::golden_cases() {
        common::golden(&format!("{name}.svg"), &report.svg());
        common::golden(&format!("{name}.dot"), &report.dot());
        common::golden(&format!("{name}.html"), &common::page_of(&report));
    }
}

#[test]
fn pictures_are_well_formed() {
    for (name, report) in search::gallery() {
        assert_well_formed(name, &report.svg());
    }
    for (name, report) in common::gallery() {
        assert_well_formed(name, &svg(&report));
        for finding in findings(&report) {
            assert_well_formed(name, &figure_svg(&finding, Frame::Bare));
        }
    }
    let history = common::history("s1: { w(x,1) }");
    let nothing = common::report(&history, &[(iso_spec::Level::Serializable, &common::allowed(&history))]);
    assert_well_formed("nothing to draw", &svg(&nothing));
    assert!(svg(&nothing).contains("ser: holds"));
}

#[test]
fn a_huge_cycle_is_drawn_in_a_moment() {
    assert_well_formed("huge", &svg(&common::ring(400, 20)));
}

#[test]
fn equal_documents_give_equal_bytes() {
    for ((name, one), (_, two)) in search::gallery().into_iter().zip(search::gallery()) {
        assert_eq!(
            (one.svg(), one.dot(), common::page_of(&one)),
            (two.svg(), two.dot(), common::page_of(&two)),
            "{name}"
        );
    }
    for ((name, one), (_, two)) in common::gallery().into_iter().zip(common::gallery()) {
        assert_eq!((svg(&one), dot(&one), common::page(&one)), (svg(&two), dot(&two), common::page(&two)), "{name}");
    }
}

#[test]
fn boxes_do_not_overlap_and_labels_keep_clear_of_them() {
    for (name, report) in common::gallery() {
        assert_clear(name, &svg(&report));
    }
    for name in ["separate-cc-pc", "separate-partial", "lattice", "large-lattice"] {
        assert_clear(name, &case(name).svg());
    }
}

/// Boxes have strokes, and labels are a little transparent. Panels side by side are looked at one by one.
fn assert_clear(name: &str, picture: &str) {
    for panel in picture.split("<g transform=\"translate(0 ").filter(|it| !it.is_empty()) {
        let rects = |wanted: &str| -> Vec<[f64; 4]> {
            let elements = panel.split('<').filter(|it| it.starts_with("rect x=") && it.contains(wanted));
            elements.map(|it| ["x", "y", "width", "height"].map(|name| number(it, name))).collect()
        };
        let (boxes, labels) = (rects("stroke-width"), rects("fill-opacity"));
        let overlap = |a: &[f64; 4], b: &[f64; 4]| {
            a[0] < b[0] + b[2] && b[0] < a[0] + a[2] && a[1] < b[1] + b[3] && b[1] < a[1] + a[3]
        };
        for (idx, one) in boxes.iter().enumerate() {
            assert!(boxes[..idx].iter().all(|it| !overlap(one, it)), "{name}: boxes overlap");
            assert!(labels.iter().all(|it| !overlap(one, it)), "{name}: a label covers a box");
        }
        for (idx, one) in labels.iter().enumerate() {
            assert!(labels[..idx].iter().all(|it| !overlap(one, it)), "{name}: labels overlap");
        }
    }
}

fn case(name: &str) -> Report {
    search::gallery().into_iter().find(|it| it.0 == name).unwrap().1
}

fn number(line: &str, attribute: &str) -> f64 {
    let rest = line.split(&format!(" {attribute}=\"")).nth(1).unwrap();
    rest.split('"').next().unwrap().parse().unwrap()
}

#[test]
fn a_page_holds_its_document_and_nothing_from_outside() {
    let checks = common::gallery().into_iter().map(|(name, report)| (name, Report::from(report)));
    for (name, report) in checks.chain(search::gallery()) {
        let page = common::page_of(&report);
        let start = page.find("<script type=\"application/json\" id=\"report\">").unwrap();
        let json = page[start..].split_once('>').unwrap().1.split_once("</script>").unwrap().0;
        assert_eq!(Report::from_json(json), Ok(report), "{name}");
        assert_eq!(page.matches("<script").count(), 2, "{name}");
        for outside in ["<link", "src=", "@import", "url("] {
            assert!(!page.contains(outside), "{name}: {outside}");
        }
        let markup = page.split_once("<main>").unwrap().1.split_once("</main>").unwrap().0;
        assert_well_formed(name, &format!("<main>{markup}</main>"));
    }
}

#[test]
fn pages_are_small_enough_to_be_attached() {
    for (name, report) in common::gallery() {
        let n_bytes = common::page(&report).len();
        assert!(n_bytes < 100_000, "{name}: {n_bytes}");
    }
    assert!(common::page(&common::ring(40, 8)).len() < 150_000);
}

#[test]
fn each_line_of_a_lattice_leads_to_its_section() {
    let page = common::page_of(&case("large-lattice"));
    let Report::Lattice(report) = case("large-lattice") else { unreachable!() };
    for number in 1..=report.edges.len() {
        assert_eq!(page.matches(&format!("<section id=\"edge-{number}\">")).count(), 1);
        assert_eq!(page.matches(&format!("<a href=\"#edge-{number}\"><title>")).count(), 1);
    }
}

#[test]
fn the_strongest_levels_stand_at_the_top() {
    let Report::Lattice(report) = case("large-lattice") else { unreachable!() };
    let picture = case("large-lattice").svg();
    let height = |class: usize| {
        let title = format!("<title>{}:", report.classes[class][0]);
        let before = picture.split_once(&title).unwrap().0;
        number(before.rsplit_once("<text").unwrap().1, "y")
    };
    for edge in &report.edges {
        assert!(height(edge.stronger) < height(edge.weaker));
    }
}
