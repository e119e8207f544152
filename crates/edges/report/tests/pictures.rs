//! SVG, DOT and HTML: golden bytes, and well-formed whatever the names are.
#![allow(clippy::unwrap_used, reason = "helpers of tests are test code")]

mod common;

use iso_report::{Frame, dot, figure_svg, findings, html, svg};

#[test]
fn the_pictures_are_what_they_were() {
    for (name, report) in common::golden_cases() {
        common::golden(&format!("{name}.svg"), &svg(&report));
        common::golden(&format!("{name}.dot"), &dot(&report));
        common::golden(&format!("{name}.html"), &html(&report));
    }
}

#[test]
fn pictures_are_well_formed() {
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
    for ((name, one), (_, two)) in common::gallery().into_iter().zip(common::gallery()) {
        assert_eq!((svg(&one), dot(&one), html(&one)), (svg(&two), dot(&two), html(&two)), "{name}");
    }
}

#[test]
fn boxes_do_not_overlap_and_labels_keep_clear_of_them() {
    for (name, report) in common::gallery() {
        let picture = svg(&report);
        let rects = |wanted: &str| -> Vec<[f64; 4]> {
            let lines = picture.lines().filter(|it| it.starts_with("<rect x=") && it.contains(wanted));
            lines.map(|it| ["x", "y", "width", "height"].map(|name| number(it, name))).collect()
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

fn number(line: &str, attribute: &str) -> f64 {
    let rest = line.split(&format!(" {attribute}=\"")).nth(1).unwrap();
    rest.split('"').next().unwrap().parse().unwrap()
}

#[test]
fn a_page_holds_its_document_and_nothing_from_outside() {
    for (name, report) in common::gallery() {
        let page = html(&report);
        let start = page.find("<script type=\"application/json\" id=\"report\">").unwrap();
        let json = page[start..].split_once('>').unwrap().1.split_once("</script>").unwrap().0;
        assert_eq!(iso_report::CheckReport::from_json(json), Ok(report), "{name}");
        assert_eq!(page.matches("<script").count(), 1, "{name}");
        for outside in ["<link", "src=", "@import", "url("] {
            assert!(!page.contains(outside), "{name}: {outside}");
        }
        let markup = page.split_once("<main>").unwrap().1.split_once("</main>").unwrap().0;
        assert_well_formed(name, &format!("<main>{markup}</main>"));
    }
}

/// A small XML reader: nested tags, quoted attributes that occur once, known entities, allowed characters.
fn assert_well_formed(name: &str, xml: &str) {
    let allowed = |it: char| it == '\n' || (it >= ' ' && it != '\u{fffe}' && it != '\u{ffff}');
    assert!(xml.chars().all(allowed), "{name}: a character that XML has no room for");
    let mut open: Vec<&str> = Vec::new();
    let mut rest = xml;
    while let Some((before, after)) = rest.split_once('<') {
        assert_text(name, before);
        let end = after.find('>').unwrap_or_else(|| panic!("{name}: a tag has no end"));
        let tag = &after[..end];
        rest = &after[end + 1..];
        if let Some(closed) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closed), "{name}");
        } else {
            let (element, attributes) = tag.trim_end_matches('/').split_once(' ').unwrap_or((tag, ""));
            assert_attributes(name, attributes);
            if !tag.ends_with('/') {
                open.push(element);
            }
        }
    }
    assert_text(name, rest);
    assert!(open.is_empty(), "{name}: {open:?} is not closed");
}

fn assert_text(name: &str, text: &str) {
    assert!(!text.contains('>'), "{name}: {text}");
    for after in text.split('&').skip(1) {
        let entity = after.split(';').next().unwrap();
        assert!(["amp", "lt", "gt", "quot", "#39"].contains(&entity), "{name}: &{entity}");
    }
}

fn assert_attributes(name: &str, attributes: &str) {
    let mut seen: Vec<&str> = Vec::new();
    let mut rest = attributes.trim();
    while !rest.is_empty() {
        let (attribute, after) = rest.split_once("=\"").unwrap_or_else(|| panic!("{name}: {rest}"));
        let (value, after) = after.split_once('"').unwrap_or_else(|| panic!("{name}: {rest}"));
        assert!(!seen.contains(&attribute), "{name}: {attribute} stands twice");
        assert_text(name, value);
        seen.push(attribute);
        rest = after.trim_start();
    }
}
