//! What `check` says of each database, below each other.

use super::figure::{FAINT, Figure, INK};
use super::{Frame, of_finding, verdict_line};
use crate::demo::DemoReport;
use crate::findings::findings;

pub(crate) fn demo_svg(report: &DemoReport) -> String {
    let mut figures: Vec<Figure> = Vec::new();
    for act in &report.acts {
        let drawn: Vec<Figure> = findings(&act.check).iter().map(|it| of_finding(it, Frame::Titled)).collect();
        let mut head = Figure::empty(drawn.iter().map(|it| it.width).fold(0.0, f64::max));
        head.paragraph(&act.title, 18.0, INK, "bold");
        head.paragraph(&act.ran, 13.0, FAINT, "normal");
        head.paragraph(&verdict_line(&act.check), 13.0, INK, "normal");
        figures.push(head);
        figures.extend(drawn);
    }
    if figures.is_empty() {
        figures.push(Figure::of_words(&report.title));
    }
    Figure::stacked(&figures).alone()
}
