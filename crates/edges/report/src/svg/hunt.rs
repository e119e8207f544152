//! A hunt as a chart: a block for each round, as high as it was fast and in the colour of its verdict.

use super::chart::{AMBER, Plot, Room, named, place, signs, small};
use super::figure::{FAINT, Figure, GREEN, INK, RED, n};
use super::{Frame, of_finding};
use crate::amounts::{a_second, span};
use crate::findings::findings;
use crate::hunt::{HuntReport, HuntRound, RoundVerdict};
use crate::hunt_phrases::{headline, looked_at, name, notes, round_words};
use crate::words::xml;

const HEIGHT: f64 = 130.0;
/// The row of verdicts.
const STRIP: f64 = 18.0;
/// Narrower blocks are joined with their neighbours.
const NARROWEST: f64 = 3.0;
/// Words of a pause need so much room.
const WORDS: f64 = 130.0;

/// The hunt and what was found, below each other.
pub(crate) fn hunt_svg(report: &HuntReport) -> String {
    let found: Vec<Figure> = report
        .findings
        .iter()
        .flat_map(|it| findings(&it.check).iter().map(|it| of_finding(it, Frame::Titled)).collect::<Vec<_>>())
        .collect();
    let mut head = Figure::empty(found.iter().map(|it| it.width).fold(Room::Desk.width(), f64::max));
    head.paragraph(&headline(report), 16.0, INK, "bold");
    head.paragraph(&looked_at(report), 12.0, FAINT, "normal");
    for note in notes(report) {
        head.paragraph(&note, 12.0, FAINT, "normal");
    }
    head.height += 8.0;
    draw(&mut head, report, Room::Desk, Leads::Nowhere);
    head.height += 12.0;
    let figures: Vec<Figure> = std::iter::once(head).chain(found).collect();
    named(&Figure::stacked(&figures), &headline(report), &described(report))
}

/// The chart alone, whose findings lead to their sections; none if nothing ran.
pub(crate) fn hunt_chart(report: &HuntReport, room: Room) -> Option<String> {
    if report.rounds.is_empty() {
        return None;
    }
    let mut figure = Figure { width: room.width(), height: 4.0, body: String::new() };
    draw(&mut figure, report, room, Leads::ToSections);
    figure.height += 4.0;
    Some(named(&figure, "Verdicts over time", &described(report)))
}

/// Where the numbers of findings lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leads {
    ToSections,
    Nowhere,
}

fn described(report: &HuntReport) -> String {
    let found = report.findings.iter().enumerate().filter_map(|(idx, it)| {
        let round = report.first_round(idx)?;
        Some(format!("{} after {}", name(it), span(round.end())))
    });
    let found: Vec<String> = found.collect();
    let found = if found.is_empty() { "nothing forbidden".to_owned() } else { found.join(", ") };
    format!("{} Over {}: {found}.", looked_at(report), span(report.seconds))
}

/// Rounds that are drawn as one.
struct Block<'r> {
    rounds: Vec<&'r HuntRound>,
    left: f64,
    right: f64,
}

impl Block<'_> {
    fn verdict(&self) -> RoundVerdict {
        self.rounds.iter().map(|it| it.verdict).max().unwrap_or(RoundVerdict::Holds)
    }

    fn colour(&self) -> &'static str {
        match self.verdict() {
            RoundVerdict::Holds => GREEN,
            RoundVerdict::Unknown => AMBER,
            RoundVerdict::Violated => RED,
        }
    }

    /// All transactions a second, and those of them that did not abort.
    fn rates(&self) -> (f64, f64) {
        let seconds: f64 = self.rounds.iter().map(|it| it.seconds).sum();
        let sum = |count: fn(&HuntRound) -> u64| self.rounds.iter().map(|it| count(it)).sum::<u64>();
        let (all, aborted) = (sum(HuntRound::transactions), sum(|it| it.aborted));
        (a_second(all, seconds), a_second(all - aborted, seconds))
    }

    fn title(&self) -> String {
        match self.rounds[..] {
            [only] => round_words(only),
            [first, ..] => {
                let n_rounds: u64 = self.rounds.iter().map(|it| it.rounds).sum();
                format!("{n_rounds} rounds, the first one {}", round_words(first))
            }
            [] => String::new(),
        }
    }
}

/// Rounds at their places, those that are too narrow together with their neighbours.
fn blocks<'r>(report: &'r HuntReport, x: impl Fn(f64) -> f64) -> Vec<Block<'r>> {
    let mut blocks: Vec<Block<'r>> = Vec::new();
    for round in &report.rounds {
        let (left, right) = (x(round.began), x(round.end()));
        match blocks.last_mut().filter(|it| right - it.left < NARROWEST || left - it.left < NARROWEST) {
            Some(block) => {
                block.rounds.push(round);
                block.right = block.right.max(right);
            }
            None => blocks.push(Block { rounds: vec![round], left, right }),
        }
    }
    blocks
}

fn draw(figure: &mut Figure, report: &HuntReport, room: Room, leads: Leads) {
    legend(figure, report);
    let room_width = figure.width;
    let blocks = blocks(report, |it| place(room_width, it, report.seconds));
    let most = blocks.iter().map(|it| it.rates().0).fold(0.0, f64::max);
    // The numbers of findings stand above the field.
    figure.height += if report.findings.is_empty() { 12.0 } else { 26.0 };
    let plot = Plot::below(figure, HEIGHT, report.seconds, most);
    plot.rates(figure);
    figure.height += 6.0;
    let strip = figure.height;
    pauses(figure, report, &plot);
    for block in &blocks {
        bar(figure, block, &plot, strip);
    }
    for (idx, _) in report.findings.iter().enumerate() {
        number(figure, report, idx, &plot, leads);
    }
    figure.height = strip + STRIP + 4.0;
    plot.moments(figure, room);
}

fn legend(figure: &mut Figure, report: &HuntReport) {
    let sign =
        |colour: &str, opacity: &str| format!("<rect width=\"16\" height=\"10\" rx=\"2\" fill=\"{colour}\"{opacity}/>");
    let (green, red, amber, light) =
        (sign(GREEN, ""), sign(RED, ""), sign(AMBER, ""), sign("#6e7781", " fill-opacity=\"0.35\""));
    let has = |verdict: RoundVerdict| report.rounds.iter().any(|it| it.verdict == verdict);
    let mut entries = Vec::new();
    entries.extend(has(RoundVerdict::Holds).then(|| (green.as_str(), format!("{} holds", report.expect.short))));
    entries.extend(has(RoundVerdict::Violated).then(|| (red.as_str(), format!("{} violated", report.expect.short))));
    entries.extend(has(RoundVerdict::Unknown).then(|| (amber.as_str(), "not decided".to_owned())));
    entries
        .extend(report.rounds.iter().any(|it| it.aborted > 0).then(|| (light.as_str(), "lighter: aborted".to_owned())));
    signs(figure, &entries);
}

/// How fast, and the verdict below it.
fn bar(figure: &mut Figure, block: &Block<'_>, plot: &Plot, strip: f64) {
    let width = (block.right - block.left).max(NARROWEST);
    // A gap tells neighbours apart.
    let width = if width > 2.0 * NARROWEST { width - 1.0 } else { width };
    let left = block.left.min(plot.right - width);
    let (all, committed) = block.rates();
    let (colour, x, w) = (block.colour(), n(left), n(width));
    let (top, middle) = (plot.y(all), plot.y(committed));
    figure.body += &format!("<g class=\"round\" fill=\"{colour}\"><title>{}</title>", xml(&block.title()));
    let mut rect = |y: f64, height: f64, more: &str| {
        if height > 0.05 {
            figure.body += &format!("<rect x=\"{x}\" y=\"{}\" width=\"{w}\" height=\"{}\"{more}/>", n(y), n(height));
        }
    };
    rect(top, middle - top, " fill-opacity=\"0.35\"");
    rect(middle, plot.bottom - middle, " fill-opacity=\"0.8\"");
    rect(strip, STRIP, "");
    figure.body += "</g>\n";
}

/// After something new was found, a script is made of it, during which no round runs.
fn pauses(figure: &mut Figure, report: &HuntReport, plot: &Plot) {
    for idx in 0..report.findings.len() {
        let Some(place) = report.rounds.iter().position(|it| it.finding == Some(idx)) else { continue };
        let end = report.rounds.get(place + 1).map_or(report.seconds, |it| it.began);
        let (left, right) = (plot.x(report.rounds[place].end()), plot.x(end));
        if right - left < 2.0 * NARROWEST {
            continue;
        }
        figure.body += &format!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#f3f5f8\"><title>making a script of what was found, {}</title></rect>\n",
            n(left),
            n(plot.top),
            n(right - left),
            n(plot.bottom - plot.top + 6.0 + STRIP),
            span(end - report.rounds[place].end())
        );
        if right - left > WORDS {
            let middle = f64::midpoint(plot.top, plot.bottom);
            figure.body += &small(f64::midpoint(left, right), middle, "middle", "making a script");
        }
    }
}

/// The number of a finding, above where it was seen first.
fn number(figure: &mut Figure, report: &HuntReport, idx: usize, plot: &Plot, leads: Leads) {
    let Some(round) = report.first_round(idx) else { return };
    let x = f64::midpoint(plot.x(round.began), plot.x(round.end())).clamp(plot.left + 9.0, plot.right - 9.0);
    let y = plot.top - 24.0;
    let drawn = format!(
        "<title>{}, {} after the start</title><rect x=\"{}\" y=\"{}\" width=\"18\" height=\"18\" rx=\"9\" fill=\"{RED}\"/>\
         <text x=\"{}\" y=\"{}\" font-size=\"11\" font-weight=\"bold\" text-anchor=\"middle\" fill=\"#ffffff\">{}</text>",
        xml(&name(&report.findings[idx])),
        span(round.end()),
        n(x - 9.0),
        n(y),
        n(x),
        n(y + 13.0),
        idx + 1
    );
    figure.body += &match leads {
        Leads::ToSections => format!("<a href=\"#found-{idx}\">{drawn}</a>\n"),
        Leads::Nowhere => format!("<g>{drawn}</g>\n"),
    };
}
