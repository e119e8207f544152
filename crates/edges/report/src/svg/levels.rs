//! The levels that were asked for as a lattice, each in the colour of its verdict.

use super::figure::{Figure, GREEN, INK, MONO, RED, line, n};
use crate::document::{CheckReport, Judgement, LevelReport};
use crate::picture::{ClassBox, Hasse};
use crate::words::xml;
use iso_spec::Level;

const AMBER: &str = "#9a6700";
/// With fewer levels, the table says it all.
const MIN_LEVELS: usize = 3;

/// The lattice; boxes lead to where `target` says. Levels that a user wrote are left out.
pub(crate) fn levels_svg(report: &CheckReport, target: impl Fn(&LevelReport) -> Option<String>) -> Option<String> {
    let known: Vec<(&LevelReport, Level)> =
        report.levels.iter().filter_map(|it| Some((it, Level::from_name(&it.level.short)?))).collect();
    if known.len() < MIN_LEVELS {
        return None;
    }
    let levels: Vec<Level> = known.iter().map(|it| it.1).collect();
    let names: Vec<Vec<String>> = known.iter().map(|it| vec![shown(it.0)]).collect();
    let hasse = Hasse::plain(&names, &covers(&levels));
    let mut figure = Figure { width: hasse.width, height: hasse.height + 16.0, body: String::new() };
    figure.body += "<g transform=\"translate(0 8)\">\n";
    for drawn in &hasse.lines {
        let path = line(&drawn.path);
        figure.body += &format!("<path d=\"{path}\" fill=\"none\" stroke=\"#8c959f\" stroke-width=\"1.2\"/>\n");
    }
    for ((level, _), class) in known.iter().zip(&hasse.boxes) {
        let inside = level_box(level, class);
        figure.body += &match target(level) {
            Some(target) => format!("<a href=\"#{}\">{inside}</a>\n", xml(&target)),
            None => format!("<g>{inside}</g>\n"),
        };
    }
    figure.body += "</g>\n";
    Some(figure.alone())
}

/// `✗ ser`.
fn shown(level: &LevelReport) -> String {
    let mark = match level.judgement {
        Judgement::Holds { .. } => "✓",
        Judgement::Violated { .. } => "✗",
        Judgement::Unknown { .. } => "?",
    };
    format!("{mark} {}", level.level.short)
}

/// Pairs of a level and one that it implies with none between.
fn covers(levels: &[Level]) -> Vec<(usize, usize)> {
    let is_above = |one: usize, two: usize| one != two && levels[one].implies(levels[two]);
    let mut pairs = Vec::new();
    for stronger in 0..levels.len() {
        for weaker in (0..levels.len()).filter(|it| is_above(stronger, *it)) {
            if !(0..levels.len()).any(|it| is_above(stronger, it) && is_above(it, weaker)) {
                pairs.push((stronger, weaker));
            }
        }
    }
    pairs
}

fn level_box(level: &LevelReport, class: &ClassBox) -> String {
    let (fill, stroke) = match level.judgement {
        Judgement::Holds { .. } => ("#f0fff4", GREEN),
        Judgement::Violated { .. } => ("#fff5f5", RED),
        Judgement::Unknown { .. } => ("#fffbea", AMBER),
    };
    let rect = class.rect;
    format!(
        "<title>{}</title><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"8\" fill=\"{fill}\" \
         stroke=\"{stroke}\" stroke-width=\"1.3\"/>\
         <text x=\"{}\" y=\"{}\" font-family=\"{MONO}\" font-size=\"12\" text-anchor=\"middle\" fill=\"{INK}\">{}</text>",
        xml(&format!("{}: {}", level.level.full, level.judgement.word())),
        n(rect.x),
        n(rect.y),
        n(rect.width),
        n(rect.height),
        n(rect.x + rect.width / 2.0),
        n(rect.y + 20.0),
        xml(&class.names[0].0)
    )
}
