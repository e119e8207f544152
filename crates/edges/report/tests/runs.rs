//! The documents of `collect`, `hunt` and `demo`: what they say, and what they look like.
#![allow(clippy::unwrap_used, reason = "helpers of tests are test code")]

mod common;

use common::runs;
use common::xml::assert_well_formed;
use iso_report::{JsonLayout, Report, Sample, Series, Symbols, TextOptions};

const WRAPPED: TextOptions =
    TextOptions { columns: Some(100), colour: iso_report::Colour::None, symbols: Symbols::Unicode };

#[test]
fn the_documents_are_what_they_were() {
    for (name, report) in runs::golden_cases() {
        common::golden(&format!("{name}.json"), &(report.to_json(JsonLayout::Pretty) + "\n"));
        common::golden(&format!("{name}.txt"), &report.text(WRAPPED));
        common::golden(&format!("{name}.svg"), &report.svg());
        common::golden(&format!("{name}.html"), &common::page_of(&report));
    }
    for (name, report) in runs::hostile() {
        common::golden(&format!("{name}.html"), &common::page_of(&report));
    }
}

#[test]
fn documents_read_back_as_they_were_written() {
    for (name, report) in runs::gallery() {
        for layout in [JsonLayout::Compact, JsonLayout::Pretty] {
            let read = Report::from_json(&report.to_json(layout));
            assert!(read.as_ref() == Ok(&report), "{name} is not what it was");
        }
    }
}

#[test]
fn documents_of_version_1_say_the_same() {
    let cases = runs::golden_cases();
    let kept = cases.iter().filter(|it| common::says_the_same_in_version_1(it.0, &it.1));
    assert!(kept.count() >= 3);
}

#[test]
fn pages_and_pictures_are_well_formed_and_hold_their_document() {
    for (name, report) in runs::gallery() {
        assert_well_formed(name, &report.svg());
        let page = common::page_of(&report);
        let markup = page.split_once("<main>").unwrap().1.split_once("</main>").unwrap().0;
        assert_well_formed(name, &format!("<main>{markup}</main>"));
        assert_eq!(page.matches("<script").count(), 2, "{name}");
        let start = page.find("<script type=\"application/json\" id=\"report\">").unwrap();
        let json = page[start..].split_once('>').unwrap().1.split_once("</script>").unwrap().0;
        assert!(Report::from_json(json).as_ref() == Ok(&report), "{name}: the page has another document");
        for outside in ["<link", "src=", "@import", "url("] {
            assert!(!page.contains(outside), "{name}: {outside}");
        }
        assert!(page.len() < 200_000, "{name}: {}", page.len());
    }
}

#[test]
fn pages_say_version_and_date_and_where_to_read_more() {
    let dated = iso_report::Imprint { date: Some("2026-11-17".to_owned()) };
    for (name, report) in runs::gallery() {
        let page = report.html(&dated);
        let footer = page.split_once("<footer>").unwrap().1.split_once("</footer>").unwrap().0;
        assert!(
            footer.starts_with(concat!("Isoscope ", env!("CARGO_PKG_VERSION"), ", 2026-11-17")),
            "{name}: {footer}"
        );
        assert!(footer.contains("<a href=\"https://docs.rs/isoscope/"), "{name}: {footer}");
        assert_eq!(page.replacen(", 2026-11-17", "", 1), common::page_of(&report), "{name}");
    }
}

#[test]
fn terminals_get_no_escape_sequences_from_names_and_ascii_if_they_want_it() {
    let ascii = TextOptions { symbols: Symbols::Ascii, ..WRAPPED };
    for (name, report) in runs::gallery() {
        let text = report.text(WRAPPED);
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{name}: {text}");
        assert!(report.text(ascii).is_ascii(), "{name}");
    }
}

#[test]
fn names_of_sections_occur_once() {
    for (name, report) in runs::gallery() {
        let page = common::page_of(&report);
        let mut ids: Vec<&str> = page.split(" id=\"").skip(1).filter_map(|it| it.split('"').next()).collect();
        let n_ids = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), n_ids, "{name}: {ids:?}");
        let links = page.split(" href=\"#").skip(1).filter_map(|it| it.split('"').next());
        links.for_each(|it| assert!(ids.contains(&it), "{name}: there is no {it}"));
    }
}

#[test]
fn headlines_say_it_in_a_sentence() {
    let headline = |report: &Report| {
        let page = common::page_of(report);
        page.split_once("<h1>").unwrap().1.split_once("</h1>").unwrap().0.to_owned()
    };
    let cases: [(Report, &str); 7] = [
        (
            runs::collect().into(),
            "31,282 transactions committed on PostgreSQL 15.14 at localhost:5432/test under serializable in 10 s, 4.7 % \
             aborted.",
        ),
        (
            runs::broken().into(),
            "22,981 transactions committed on MariaDB 10.11.11 at localhost:3306/test under \
             read-committed:0.5,serializable:0.5 in 30 s, 5.2 % aborted; 1 of 2 assertions failed.",
        ),
        (
            runs::short().into(),
            "101 transactions committed on the weak store at level ser, policy random, seed 1 under serializable in 8 ms, \
             none aborted.",
        ),
        (
            runs::hunt().into(),
            "MariaDB 10.11.11 at localhost:3306/test under repeatable-read breaks snapshot-isolation (si): lost update, \
             write skew; the first found after 4 ms in the probe lost-update, and shown by three transactions.",
        ),
        (
            runs::found_at_once().into(),
            "MariaDB 10.11.11 at localhost:3306/test under repeatable-read breaks snapshot-isolation (si): lost update, \
             found after 4 ms in the probe lost-update, and shown by three transactions.",
        ),
        (
            runs::nothing_found().into(),
            "Nothing found: all that PostgreSQL 15.14 at localhost:5432/test did under serializable in 16 s is \
             serializable (ser).",
        ),
        (runs::demo().into(), "Six clients, two databases"),
    ];
    for (report, expected) in cases {
        assert_eq!(headline(&report), expected);
    }
}

#[test]
fn a_run_that_is_too_short_for_a_chart_has_none() {
    assert!(!common::page_of(&Report::from(runs::short())).contains("<svg"));
    assert!(!common::page_of(&Report::from(runs::found_at_once())).contains("class=\"chart"));
    assert!(common::page_of(&Report::from(runs::collect())).contains("class=\"chart phone\""));
}

#[test]
fn damaged_documents_are_refused_with_the_member_that_is_wrong() {
    let collect = Report::from(runs::collect()).to_json(JsonLayout::Compact);
    let hunt = Report::from(runs::hunt()).to_json(JsonLayout::Compact);
    let cases = [
        (collect.replace("\"step\":0.05", "\"step\":0.0"), "step"),
        (collect.replace("\"unknown\":[0,", "\"unknown\":["), "series"),
        (collect.replace("\"ops\":[1,8]", "\"ops\":[1]"), "invalid length 1"),
        (collect.replacen("\"conflicts\":", "\"conflicts\":9", 1), "conflicts"),
        (hunt.replace("\"finding\":1", "\"finding\":7"), "finding"),
        (hunt.replace("\"verdict\":\"holds\"", "\"verdict\":\"fine\""), "fine"),
    ];
    for (json, member) in cases {
        let error = Report::from_json(&json).unwrap_err().to_string();
        assert!(error.contains(member), "{member}: {error}");
    }
}

#[test]
fn a_series_of_any_numbers_is_drawn() {
    let huge = Sample { committed: u64::MAX / 1000, conflicts: 1, ..Sample::default() };
    for samples in [vec![Sample::default(); 5], vec![huge; 3], vec![huge; 240]] {
        for (step, seconds) in [(1e-9, 1e-9), (0.02, 0.0), (5.0, 1200.0), (3600.0, 1e9)] {
            let series = Series { step, samples: samples.clone() };
            let report = Report::from(iso_report::CollectReport { seconds, series, ..runs::collect() });
            let page = common::page_of(&report);
            assert!(!page.contains("NaN") && !page.contains("inf "), "{seconds}");
            assert_well_formed("a series", &report.svg());
            assert!(page.len() < 200_000, "{}", page.len());
        }
    }
}
