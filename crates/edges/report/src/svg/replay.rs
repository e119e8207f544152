//! What a script showed, as a picture: the answer, and what is forbidden.

use super::figure::{FAINT, Figure, INK};
use super::{Frame, of_finding};
use crate::findings::findings;
use crate::replay::ReplayReport;

const WIDTH: f64 = 760.0;

pub(crate) fn replay_svg(report: &ReplayReport) -> String {
    let found: Vec<Figure> = match &report.check {
        Some(check) => findings(check).iter().map(|it| of_finding(it, Frame::Titled)).collect(),
        None => Vec::new(),
    };
    let mut head = Figure::empty(found.iter().map(|it| it.width).fold(WIDTH, f64::max));
    head.paragraph(&report.headline(), 16.0, INK, "bold");
    for note in report.notes() {
        head.paragraph(&note, 12.0, FAINT, "normal");
    }
    for step in &report.steps {
        let words = format!("{}. {} {}: {}", step.nth, step.session, step.step, step.said());
        head.paragraph(&words, 12.0, INK, "normal");
    }
    head.paragraph(&report.compared(), 12.0, FAINT, "normal");
    head.height += 12.0;
    let figures: Vec<Figure> = std::iter::once(head).chain(found).collect();
    Figure::stacked(&figures).alone()
}
