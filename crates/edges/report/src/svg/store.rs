//! What an application did on the weak store, as a card.

use super::figure::{FAINT, Figure, INK, RED};
use crate::store::StoreReport;

const WIDTH: f64 = 760.0;

pub(crate) fn store_svg(report: &StoreReport) -> String {
    let mut figure = Figure::empty(WIDTH);
    figure.paragraph(&report.headline(), 16.0, INK, "bold");
    for it in &report.assertions {
        let (words, colour) = if it.holds {
            (format!("ok: {}", it.name), INK)
        } else {
            (format!("FAILED: {}: {}", it.name, it.detail), RED)
        };
        figure.paragraph(&words, 13.0, colour, "normal");
    }
    for (name, fact) in report.facts() {
        figure.paragraph(&format!("{name}: {fact}"), 12.0, FAINT, "normal");
    }
    figure.height += 8.0;
    figure.alone()
}
