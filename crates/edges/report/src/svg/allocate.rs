//! Levels of transactions as a picture: who comes before whom in the runs that are in the way of weaker levels.

use super::figure::{FAINT, Figure, INK, RED};
use crate::allocate::{AllocateReport, BlockedLevel};
use crate::verify_phrases::titled;

const WIDTH: f64 = 760.0;

/// The answer, the levels, and each dangerous structure.
pub(crate) fn allocate_svg(report: &AllocateReport) -> String {
    let mut figure = Figure::empty(WIDTH);
    figure.paragraph(&report.headline(), 16.0, INK, "bold");
    for txn in &report.transactions {
        let level = txn.level.as_ref().map_or_else(|| "none is enough".to_owned(), titled);
        figure.paragraph(&format!("{}: {level}", txn.name), 13.0, INK, "normal");
    }
    for (txn, blocked) in report.shown() {
        let title = format!("{} at {} {}", txn.name, titled(&blocked.level), blocked.finding());
        figure.paragraph(&title, 13.0, RED, "bold");
        let names = blocked.members.join(" → ");
        let first = blocked.members.first().map(String::as_str).unwrap_or_default();
        figure.paragraph(&format!("{names} → {first}"), 13.0, RED, "normal");
        for edge in &blocked.cycle {
            figure.paragraph(&BlockedLevel::edge_words(edge), 12.0, FAINT, "normal");
        }
    }
    figure.height += 8.0;
    figure.alone()
}
