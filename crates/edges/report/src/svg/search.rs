//! Found histories as pictures: a panel a level, side by side.

use super::Frame;
use super::figure::{FAINT, Figure, GREEN, INK, Overlay, RED};
use crate::found::Found;
use crate::panel::{Panel, Panels, Stance};
use crate::phrases::{claim, compare_headline, not_certified, scope_line, separate_headline, sizes};
use crate::picture::Layout;
use crate::search::{CompareReport, Scope, SeparateReport};

/// The histories of `separate`, below each other.
pub(crate) fn separate_svg(report: &SeparateReport) -> String {
    let mut parts: Vec<(String, &Found)> = Vec::new();
    for (idx, found) in report.found.iter().enumerate() {
        let (n_txns, n_keys) = sizes(found);
        let is_only = report.found.len() == 1;
        let title = if is_only { String::new() } else { format!("History {} ({n_txns}, {n_keys})", idx + 1) };
        parts.push((title, found));
    }
    whole(&separate_headline(report), &parts, &small_print(&report.scope, report.not_certified.as_ref()))
}

/// The histories of `compare`, below each other.
pub(crate) fn compare_svg(report: &CompareReport) -> String {
    let (left, right) = (report.left.name.as_str(), report.right.name.as_str());
    let sides = [(left, right, &report.left_only), (right, left, &report.right_only)];
    let parts: Vec<(String, &Found)> = sides
        .into_iter()
        .filter_map(|(allows, forbids, found)| Some((claim(&[allows], &[forbids], "this history"), found.as_deref()?)))
        .collect();
    whole(&compare_headline(report), &parts, &small_print(&report.scope, report.not_certified.as_ref()))
}

/// One panel as an SVG of its own.
pub(crate) fn panel_svg(panel: &Panel, panels: &Panels) -> String {
    of_panel(panel, &Layout::new(&panels.base), Frame::Bare).alone()
}

/// A headline, then each history with its panels below its title.
fn whole(headline: &str, parts: &[(String, &Found)], small_print: &[String]) -> String {
    let mut bodies: Vec<Figure> = Vec::new();
    for (title, found) in parts {
        let panels = of_found(found);
        if !title.is_empty() {
            bodies.push(words(title, 15.0, INK, panels.width));
        }
        bodies.push(panels);
    }
    let width = bodies.iter().map(|it| it.width).fold(0.0, f64::max);
    let mut figures = vec![words(headline, 16.0, INK, width)];
    figures.extend(bodies);
    figures.extend(small_print.iter().map(|it| words(it, 12.0, FAINT, width)));
    Figure::stacked(&figures).alone()
}

fn small_print(scope: &Scope, uncertified: Option<&String>) -> Vec<String> {
    [scope_line(scope)].into_iter().chain(not_certified(uncertified)).collect()
}

fn words(text: &str, size: f64, colour: &str, width: f64) -> Figure {
    let mut figure = Figure::empty(width);
    figure.paragraph(text, size, colour, if size > 14.0 { "bold" } else { "normal" });
    figure
}

fn of_found(found: &Found) -> Figure {
    let panels = Panels::new(found);
    let layout = Layout::new(&panels.base);
    let figures: Vec<Figure> = panels.panels.iter().map(|it| of_panel(it, &layout, Frame::Titled)).collect();
    Figure::flowing(&figures)
}

fn of_panel(panel: &Panel, layout: &Layout, frame: Frame) -> Figure {
    let mut figure = Figure::framed(layout.width, frame);
    if frame == Frame::Titled {
        let colour = if panel.stance == Stance::Allowed { GREEN } else { RED };
        figure.paragraph(&panel.heading, 15.0, colour, "bold");
        figure.height += 8.0;
    }
    if panel.is_drawn {
        let numbers = panel.order.as_ref().map(|it| (it.name.as_str(), it.order.as_slice()));
        let routes = figure.history(layout, &panel.excerpt, Overlay { thin: &panel.thin, numbers, marks: &[] });
        figure.legend(&routes, numbers);
    }
    if frame == Frame::Titled {
        for caption in &panel.captions {
            figure.paragraph(caption, 13.0, INK, "normal");
        }
    }
    figure.height += 8.0;
    figure
}
