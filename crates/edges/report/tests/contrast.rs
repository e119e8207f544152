//! Colours of pages: whatever is written can be read, by day and by night (WCAG 2.1, level AA).
#![allow(clippy::unwrap_used, reason = "this is test code")]

use std::collections::BTreeMap;

const STYLE: &str = include_str!("../src/page.css");

/// What is written, and on what.
const WRITTEN: [(&str, &str); 21] = [
    ("ink", "paper"),
    ("ink", "card"),
    ("ink", "figure"),
    ("ink", "lit"),
    ("faint", "paper"),
    ("faint", "card"),
    ("faint", "figure"),
    ("link", "paper"),
    ("link", "figure"),
    ("good", "paper"),
    ("good", "good-card"),
    ("good", "figure"),
    ("bad", "paper"),
    ("bad", "card"),
    ("bad", "bad-card"),
    ("bad", "figure"),
    ("unsure", "paper"),
    ("unsure", "unsure-card"),
    ("ink", "good-card"),
    ("ink", "bad-card"),
    ("ink", "unsure-card"),
];

/// The colours that a block of the style gives names to.
fn colours(block: &str) -> BTreeMap<&str, [f64; 3]> {
    let mut colours = BTreeMap::new();
    for (name, rest) in block.split("--").skip(1).filter_map(|it| it.split_once(": #")) {
        let excerpt = |at: usize| f64::from(u8::from_str_radix(&rest[at..at + 2], 16).unwrap()) / 255.0;
        colours.insert(name, [excerpt(0), excerpt(2), excerpt(4)]);
    }
    colours
}

fn luminance(colour: [f64; 3]) -> f64 {
    let linear = colour.map(|it| if it <= 0.03928 { it / 12.92 } else { ((it + 0.055) / 1.055).powf(2.4) });
    0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
}

fn contrast(one: [f64; 3], two: [f64; 3]) -> f64 {
    let (one, two) = (luminance(one), luminance(two));
    (one.max(two) + 0.05) / (one.min(two) + 0.05)
}

#[test]
fn what_is_written_can_be_read() {
    let mut blocks = STYLE.split(":root {").skip(1).map(|it| it.split('}').next().unwrap());
    let themes = [("day", blocks.next().unwrap()), ("night", blocks.next().unwrap())];
    for (theme, block) in themes {
        let colours = colours(block);
        for (ink, paper) in WRITTEN {
            let ratio = contrast(colours[ink], colours[paper]);
            assert!(ratio >= 4.5, "by {theme}, {ink} on {paper} has a contrast of {ratio:.2}");
        }
    }
}

#[test]
fn black_on_white_has_the_highest_contrast() {
    assert!((contrast([0.0; 3], [1.0; 3]) - 21.0).abs() < 1e-9);
}
