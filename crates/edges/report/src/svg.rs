//! Documents as pictures, drawn without help from outside.
#![allow(clippy::cast_precision_loss, clippy::cast_sign_loss, reason = "pictures are small and have no negative sizes")]

mod allocate;
mod chart;
mod collect;
mod course;
mod demo;
mod figure;
mod hunt;
mod lattice;
mod levels;
mod over_time;
mod predict;
mod replay;
mod search;
mod store;
mod verify;

pub(crate) use allocate::allocate_svg;
pub(crate) use chart::Room;
pub(crate) use collect::{collect_chart, collect_svg};
pub(crate) use course::course_svg;
pub(crate) use demo::demo_svg;
pub(crate) use hunt::{hunt_chart, hunt_svg};
pub(crate) use lattice::{lattice_svg, linked_diagram};
pub(crate) use levels::levels_svg;
pub(crate) use over_time::over_time_chart;
pub(crate) use predict::{RunPictures, predict_svg, run_pictures};
pub(crate) use replay::replay_svg;
pub(crate) use search::{compare_svg, panel_svg, separate_svg};
pub(crate) use store::store_svg;
pub(crate) use verify::{run_svg, values_svg, verify_svg, visibility};

use crate::document::{CheckReport, Excerpt};
use crate::findings::{Finding, findings};
use crate::picture::Layout;
use figure::{FAINT, Figure, INK, Overlay, RED};

/// The report as one SVG: a figure below the other, or a line with the verdicts if there is nothing to draw.
pub fn svg(report: &CheckReport) -> String {
    let figures: Vec<Figure> = findings(report).iter().map(|it| of_finding(it, Frame::Titled)).collect();
    if figures.is_empty() {
        return Figure::of_words(&verdict_line(report)).alone();
    }
    Figure::stacked(&figures).alone()
}

/// The picture of one refutation as an SVG of its own.
pub fn figure_svg(finding: &Finding<'_>, frame: Frame) -> String {
    of_finding(finding, frame).alone()
}

/// Does a picture stand by itself?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// With title and caption.
    Titled,
    /// Without them: the page around it says the same.
    Bare,
}

/// A history with its transactions numbered in an order, and arrows from writers to readers.
pub(crate) fn schedule_svg(excerpt: &Excerpt, order: &[usize], level: &str) -> String {
    let layout = Layout::new(excerpt);
    let mut figure = Figure::framed(layout.width, Frame::Bare);
    let order: Vec<String> = order.iter().map(|it| excerpt.transactions[*it].id.clone()).collect();
    let name = format!("the commit order of {level}");
    let numbers = Some((name.as_str(), order.as_slice()));
    let routes = figure.history(&layout, excerpt, Overlay { numbers, ..Overlay::default() });
    figure.legend(&routes, numbers);
    figure.height += 8.0;
    figure.alone()
}

fn verdict_line(report: &CheckReport) -> String {
    let verdicts: Vec<String> =
        report.levels.iter().map(|it| format!("{}: {}", it.level.short, it.judgement.word())).collect();
    if verdicts.is_empty() { "nothing was checked".to_owned() } else { verdicts.join(", ") }
}

fn of_finding(finding: &Finding<'_>, frame: Frame) -> Figure {
    let layout = Layout::new(finding.core);
    let mut figure = Figure::framed(layout.width, frame);
    if frame == Frame::Titled {
        figure.paragraph(finding.title(), 17.0, INK, "bold");
        let names: Vec<String> = finding.levels.iter().map(|it| it.full.clone()).collect();
        figure.paragraph(&format!("forbidden by {}", names.join(", ")), 13.0, FAINT, "normal");
        figure.height += 10.0;
    }
    let routes = figure.history(&layout, finding.core, Overlay::default());
    figure.legend(&routes, None);
    if frame == Frame::Titled {
        figure.paragraph(&finding.core.summary, 13.0, INK, "normal");
        if let Some(local) = &finding.core.local {
            figure.paragraph(&format!("{}.", local.because), 13.0, RED, "normal");
        }
    }
    figure.height += 8.0;
    figure
}
