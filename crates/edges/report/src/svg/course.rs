//! All transactions of a history from the first to the last, as a strip that shows where the evidence lies.

use super::figure::{FAINT, Figure, RED, n};
use crate::surroundings::{Course, CourseUnit};
use crate::words::{counted, xml};

const WIDTH: f64 = 920.0;
const MARGIN: f64 = 16.0;
const HEIGHT: f64 = 56.0;
/// Room for the marks above the bars.
const TOP: f64 = 26.0;

/// The strip as an SVG of its own.
pub(crate) fn course_svg(course: &Course) -> String {
    let mut figure = Figure { width: WIDTH, height: TOP + HEIGHT + 46.0, body: String::new() };
    let highest =
        course.committed.iter().zip(&course.others).map(|it| it.0.saturating_add(*it.1)).max().unwrap_or(0).max(1);
    for stretch in 0..course.committed.len() {
        figure.body += &bar(course, stretch, highest);
    }
    figure.body += &format!(
        "<path d=\"M{} {1}H{2}\" stroke=\"#8c959f\" stroke-width=\"1\"/>\n",
        n(MARGIN),
        n(TOP + HEIGHT),
        n(WIDTH - MARGIN)
    );
    figure.body += &marks(course);
    figure.body += &words(course);
    figure.alone()
}

/// Where a stretch begins and how wide it is.
fn place(course: &Course, stretch: usize) -> (f64, f64) {
    let width = (WIDTH - 2.0 * MARGIN) / course.committed.len().max(1) as f64;
    (MARGIN + stretch as f64 * width, width)
}

/// What committed, and what did not on top of it.
fn bar(course: &Course, stretch: usize, highest: u64) -> String {
    let (x, width) = place(course, stretch);
    let (committed, others) = (course.committed[stretch], course.others.get(stretch).copied().unwrap_or(0));
    let share = |count: u64| count as f64 / highest as f64 * HEIGHT;
    let title = format!("{committed} committed, {others} not");
    let rect = |y: f64, height: f64, fill: &str| {
        format!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{fill}\"/>",
            n(x + width * 0.08),
            n(y),
            n(width * 0.84),
            n(height)
        )
    };
    let base = TOP + HEIGHT - share(committed);
    let mut inside = rect(base, share(committed), "#8c959f");
    if others > 0 {
        inside += &rect(base - share(others), share(others), "#ffdf7e");
    }
    format!("<g><title>{}</title>{inside}</g>\n", xml(&title))
}

/// A triangle above each stretch that has evidence.
fn marks(course: &Course) -> String {
    let mut out = String::new();
    for stretch in 0..course.committed.len() {
        let here: Vec<&str> = course.marks.iter().filter(|it| it.1 == stretch).map(|it| it.0.as_str()).collect();
        if here.is_empty() {
            continue;
        }
        let (x, width) = place(course, stretch);
        let (x, top, bottom) = (n(x + width / 2.0), n(TOP - 4.0), n(TOP + HEIGHT));
        out += &format!(
            "<g><title>{}</title><path d=\"M{x} {top}l-6 -10h12z\" fill=\"{RED}\"/>\
             <path d=\"M{x} {top}V{bottom}\" stroke=\"{RED}\" stroke-width=\"1.5\"/></g>\n",
            xml(&here.join(", "))
        );
    }
    out
}

/// What the strip shows, and its two ends.
fn words(course: &Course) -> String {
    let n_txns = course.committed.iter().chain(&course.others).fold(0u64, |all, it| all.saturating_add(*it));
    let (first, last) = match course.by {
        CourseUnit::Time => (format!("time {}", course.from), course.to.to_string()),
        CourseUnit::Position => ("first of the input".to_owned(), "last".to_owned()),
    };
    let y = TOP + HEIGHT + 16.0;
    let text = |x: f64, y: f64, anchor: &str, words: &str| {
        format!(
            "<text x=\"{}\" y=\"{}\" font-size=\"12\" text-anchor=\"{anchor}\" fill=\"{FAINT}\">{}</text>\n",
            n(x),
            n(y),
            xml(words)
        )
    };
    let has_others = course.others.iter().any(|it| *it > 0);
    let others = if has_others { " Light: what did not commit." } else { "" };
    let evidence = if course.marks.is_empty() { "" } else { " Red: where the evidence is." };
    let about = format!("{}, from the first to the last.{others}{evidence}", counted(n_txns, "transaction"));
    text(MARGIN, y, "start", &first) + &text(WIDTH - MARGIN, y, "end", &last) + &text(MARGIN, y + 20.0, "start", &about)
}
