//! Runs of programs as pictures: the lanes of the history, numbered in the order that decides between writes.

use super::Frame;
use super::figure::{FAINT, Figure, INK, Overlay, RED};
use crate::arrow::{Arrow, ArrowKind};
use crate::document::{Excerpt, LevelName, TxnRef};
use crate::phrases::not_certified;
use crate::picture::Layout;
use crate::verify::{BadRun, VerifyReport};
use crate::verify_phrases::{bounds, faults, headline, history_lead, titled, weakest_line};

/// The shown runs, below each other.
pub(crate) fn verify_svg(report: &VerifyReport) -> String {
    let bodies: Vec<Figure> = report.shown().iter().map(|(level, run)| of_run(level, run, Frame::Titled)).collect();
    let mut head = Figure::empty(bodies.iter().map(|it| it.width).fold(0.0, f64::max));
    head.paragraph(&headline(report), 16.0, INK, "bold");
    if let Some(line) = weakest_line(report) {
        head.paragraph(&line, 13.0, INK, "normal");
    }
    head.paragraph(&bounds(report), 12.0, FAINT, "normal");
    if let Some(line) = not_certified(report.not_certified.as_ref()) {
        head.paragraph(&line, 12.0, FAINT, "normal");
    }
    head.height += 8.0;
    let figures: Vec<Figure> = [head].into_iter().chain(bodies).collect();
    Figure::stacked(&figures).alone()
}

/// One run as an SVG of its own.
pub(crate) fn run_svg(level: &LevelName, run: &BadRun) -> String {
    of_run(level, run, Frame::Bare).alone()
}

/// The run as an SVG of its own, with values and without anything that is wrong with it.
pub(crate) fn values_svg(run: &BadRun) -> String {
    let layout = Layout::new(&run.excerpt);
    let excerpt = Excerpt { cycle: Vec::new(), local: None, ..run.excerpt.clone() };
    let mut figure = Figure::framed(layout.width, Frame::Bare);
    let order: Vec<String> = run.transactions.iter().map(|it| it.id.clone()).collect();
    let numbers = Some(("the order of writes", order.as_slice()));
    let overlay = Overlay { thin: &visibility(run), numbers, marks: &[] };
    let routes = figure.history(&layout, &excerpt, overlay);
    figure.legend(&routes, numbers);
    figure.height += 8.0;
    figure.alone()
}

fn of_run(level: &LevelName, run: &BadRun, frame: Frame) -> Figure {
    let layout = Layout::new(&run.excerpt);
    let mut figure = Figure::framed(layout.width, frame);
    if frame == Frame::Titled {
        figure.paragraph(&format!("Violated under {}", titled(level)), 15.0, RED, "bold");
        figure.paragraph(&faults(run), 13.0, RED, "normal");
        figure.paragraph(&history_lead(level, run), 13.0, FAINT, "normal");
        figure.height += 8.0;
    }
    let order: Vec<String> = run.transactions.iter().map(|it| it.id.clone()).collect();
    let numbers = Some(("the order of writes", order.as_slice()));
    let overlay = Overlay { thin: &visibility(run), numbers, marks: &[] };
    let routes = figure.history(&layout, &run.excerpt, overlay);
    figure.legend(&routes, numbers);
    if frame == Frame::Titled {
        for txn in &run.transactions {
            figure.paragraph(&format!("{}: {}", txn.id, txn.call), 13.0, INK, "normal");
        }
        figure.paragraph(&run.excerpt.summary, 13.0, INK, "normal");
    }
    figure.height += 8.0;
    figure
}

/// Who sees whom, as thin arrows; a cycle says more, and needs the room.
pub(crate) fn visibility(run: &BadRun) -> Vec<Arrow> {
    if !run.excerpt.cycle.is_empty() {
        return Vec::new();
    }
    let id_of = |name: &String| run.transactions.iter().find(|it| it.name == *name).map(|it| it.id.clone());
    let mut arrows = Vec::new();
    for viewer in &run.transactions {
        for seen in viewer.sees.iter().flatten().filter_map(id_of) {
            let because = format!("{} sees {seen}", viewer.id);
            let (from, to) = (TxnRef::Txn(seen), TxnRef::Txn(viewer.id.clone()));
            arrows.push(Arrow { kind: ArrowKind::Relation("vis".to_owned()), because, ..Arrow::new(from, to, None) });
        }
    }
    arrows
}
