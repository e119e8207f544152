//! A hunt as a chart: a block for each round in turn, as high as it was fast and in the colour of its verdict.
//!
//! Rounds have equal widths, because a probe takes a millisecond and a run a second, and both say as much.

use super::chart::{AMBER, PURPLE, Plot, Room, named, sides, signs, unit};
use super::figure::{FAINT, Figure, GREEN, INK, RED, n};
use super::{Frame, of_finding};
use crate::amounts::{a_second, moment, span};
use crate::findings::findings;
use crate::hunt::{HuntReport, HuntRound, RoundVerdict};
use crate::hunt_phrases::{headline, looked_at, name, notes, round_words};
use crate::words::xml;

const HEIGHT: f64 = 130.0;
/// The row of verdicts.
const STRIP: f64 = 18.0;
/// With fewer rounds there is nothing to see.
const MIN_ROUNDS: usize = 3;
/// Narrower blocks are drawn as one with their neighbours.
const NARROWEST: f64 = 3.0;
const WIDEST: f64 = 36.0;
/// Numbers of findings stand so far apart.
const NUMBER: f64 = 20.0;

/// The hunt and what was found, below each other.
pub(crate) fn hunt_svg(report: &HuntReport) -> String {
    let mut found: Vec<Figure> = Vec::new();
    for finding in &report.findings {
        found.extend(findings(&finding.check).iter().map(|it| of_finding(it, Frame::Titled)));
    }
    let mut head = Figure::empty(found.iter().map(|it| it.width).fold(Room::Desk.width(), f64::max));
    head.paragraph(&headline(report), 16.0, INK, "bold");
    head.paragraph(&looked_at(report), 12.0, FAINT, "normal");
    for note in notes(report) {
        head.paragraph(&note, 12.0, FAINT, "normal");
    }
    head.height += 8.0;
    if is_drawn(report) {
        draw(&mut head, report, Room::Desk, Leads::Nowhere);
    }
    head.height += 12.0;
    let figures: Vec<Figure> = std::iter::once(head).chain(found).collect();
    named(&Figure::stacked(&figures), &headline(report), &described(report))
}

/// The chart alone, whose findings lead to their sections; none if there was next to nothing to hunt for.
pub(crate) fn hunt_chart(report: &HuntReport, room: Room) -> Option<String> {
    if !is_drawn(report) {
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

fn is_drawn(report: &HuntReport) -> bool {
    report.rounds.len() >= MIN_ROUNDS
}

fn described(report: &HuntReport) -> String {
    let found = report.findings.iter().enumerate().filter_map(|(idx, it)| {
        let round = report.first_round(idx)?;
        Some(format!("{} after {}", name(it), span(round.end())))
    });
    let found: Vec<String> = found.collect();
    let found = if found.is_empty() { "nothing forbidden".to_owned() } else { found.join(", ") };
    format!("{} In {}: {found}.", looked_at(report), span(report.seconds))
}

/// Rounds that are drawn as one.
struct Block<'r> {
    rounds: &'r [HuntRound],
    left: f64,
    width: f64,
}

impl Block<'_> {
    fn colour(&self) -> &'static str {
        match self.rounds.iter().map(|it| it.verdict).max() {
            Some(RoundVerdict::Violated) => RED,
            Some(RoundVerdict::Unknown) => AMBER,
            Some(RoundVerdict::Holds) | None => GREEN,
        }
    }

    /// All transactions a second, and those of them that did not abort.
    fn rates(&self) -> (f64, f64) {
        let seconds: f64 = self.rounds.iter().map(|it| it.seconds).sum();
        let sum = |count: fn(&HuntRound) -> u64| self.rounds.iter().map(count).sum::<u64>();
        let (all, aborted) = (sum(HuntRound::transactions), sum(|it| it.aborted));
        (a_second(all, seconds), a_second(all - aborted, seconds))
    }

    fn middle(&self) -> f64 {
        self.left + self.width / 2.0
    }

    fn title(&self) -> String {
        match self.rounds {
            [only] => round_words(only),
            all => {
                let n_rounds: u64 = all.iter().map(|it| it.rounds).sum();
                let worst = all.iter().max_by_key(|it| it.verdict).map(round_words).unwrap_or_default();
                format!("{n_rounds} rounds, among them {worst}")
            }
        }
    }
}

/// Rounds side by side between two places.
fn blocks(rounds: &[HuntRound], left: f64, right: f64) -> Vec<Block<'_>> {
    let at_most = ((right - left) / NARROWEST).floor().max(1.0) as usize;
    let size = rounds.len().div_ceil(at_most).max(1);
    let width = ((right - left) / rounds.len().div_ceil(size) as f64).min(WIDEST);
    let block = |(nth, rounds)| Block { rounds, left: left + nth as f64 * width, width };
    rounds.chunks(size).enumerate().map(block).collect()
}

fn draw(figure: &mut Figure, report: &HuntReport, room: Room, leads: Leads) {
    legend(figure, report);
    unit(figure);
    if !report.findings.is_empty() {
        figure.height += 30.0;
    }
    let (left, right) = sides(figure.width);
    let blocks = blocks(&report.rounds, left, right);
    let most = blocks.iter().map(|it| it.rates().0).fold(0.0, f64::max);
    let plot = Plot::below(figure, HEIGHT, most);
    plot.rates(figure);
    figure.height += 6.0;
    for block in &blocks {
        bar(figure, block, &plot, room);
    }
    numbers(figure, report, &blocks, &plot, leads);
    figure.height += STRIP + 4.0;
    faults(figure, report, &blocks);
    plot.moments(figure, &times(report, &blocks, &plot, room));
}

fn legend(figure: &mut Figure, report: &HuntReport) {
    let sign =
        |colour: &str, more: &str| format!("<rect width=\"16\" height=\"10\" rx=\"2\" fill=\"{colour}\"{more}/>");
    let (green, red, amber, light) =
        (sign(GREEN, ""), sign(RED, ""), sign(AMBER, ""), sign("#6e7781", " fill-opacity=\"0.35\""));
    let has = |verdict: RoundVerdict| report.rounds.iter().any(|it| it.verdict == verdict);
    let has_aborted = report.rounds.iter().any(|it| it.aborted > 0);
    let mut entries = Vec::new();
    entries.extend(has(RoundVerdict::Holds).then(|| (green.as_str(), format!("{} holds", report.expect.short))));
    entries.extend(has(RoundVerdict::Violated).then(|| (red.as_str(), format!("{} violated", report.expect.short))));
    entries.extend(has(RoundVerdict::Unknown).then(|| (amber.as_str(), "not decided".to_owned())));
    entries.extend(has_aborted.then(|| (light.as_str(), "lighter: aborted".to_owned())));
    let sign = format!("<g transform=\"translate(8 5)\">{}</g>", bolt());
    entries.extend((!report.faults.is_empty()).then(|| (sign.as_str(), "faults".to_owned())));
    signs(figure, &entries);
}

/// What was done to nodes, below the round in which it was.
fn faults(figure: &mut Figure, report: &HuntReport, blocks: &[Block<'_>]) {
    if report.faults.is_empty() {
        return;
    }
    let is_in = |block: &&Block<'_>, at: f64| block.rounds.iter().any(|it| it.began <= at && at <= it.end());
    let y = figure.height + 6.0;
    for block in blocks {
        let marks: Vec<String> =
            report.faults.iter().filter(|it| is_in(&block, it.at)).map(crate::FaultMark::words).collect();
        if !marks.is_empty() {
            figure.body += &format!(
                "<g class=\"fault\" transform=\"translate({} {})\"><title>{}</title>{}</g>\n",
                n(block.middle()),
                n(y),
                xml(&marks.join(", ")),
                bolt()
            );
        }
    }
    figure.height += 16.0;
}

/// The sign of a fault.
pub(super) fn bolt() -> String {
    format!("<path d=\"M0 -6L5 4H-5Z\" fill=\"{PURPLE}\"/>")
}

/// How fast, and the verdict below it.
fn bar(figure: &mut Figure, block: &Block<'_>, plot: &Plot, room: Room) {
    // A gap tells neighbours apart.
    let width = if block.width > 2.0 * NARROWEST { block.width - 1.0 } else { block.width };
    let (all, committed) = block.rates();
    let (colour, x, w) = (block.colour(), n(block.left), n(width));
    let (top, middle, strip) = (plot.y(all), plot.y(committed), figure.height);
    // On a phone nobody points at anything without clicking it.
    let title = if room == Room::Desk { format!("<title>{}</title>", xml(&block.title())) } else { String::new() };
    figure.body += &format!("<g class=\"round\" fill=\"{colour}\">{title}");
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

/// When the rounds above began.
fn times(report: &HuntReport, blocks: &[Block<'_>], plot: &Plot, room: Room) -> Vec<(f64, String)> {
    let share = |x: f64| (x - plot.left) / (plot.right - plot.left);
    let step = blocks.len().div_ceil(room.n_moments() as usize).max(1);
    // Nobody looks for hundredths of many seconds.
    let digits = if report.seconds >= 5.0 { 10.0 } else { 100.0 };
    let rounded = |seconds: f64| (seconds * digits).round() / digits;
    let began = |it: &Block<'_>| (share(it.left), moment(rounded(it.rounds[0].began), report.seconds.max(0.5)));
    let mut times: Vec<(f64, String)> = blocks.iter().step_by(step).map(began).collect();
    times.dedup_by(|later, earlier| later.1 == earlier.1);
    times
}

/// The numbers of the findings, above where they were seen first.
fn numbers(figure: &mut Figure, report: &HuntReport, blocks: &[Block<'_>], plot: &Plot, leads: Leads) {
    let first = |idx: usize| blocks.iter().find(|it| it.rounds.iter().any(|round| round.finding == Some(idx)));
    let mut seen: Vec<(usize, f64)> =
        (0..report.findings.len()).filter_map(|idx| Some((idx, first(idx)?.middle()))).collect();
    seen.sort_by(|one, two| one.1.total_cmp(&two.1));
    let n_seen = seen.len();
    let mut free = plot.left + NUMBER / 2.0;
    for (nth, (idx, x)) in seen.into_iter().enumerate() {
        // Those to the right need room, too.
        let last = plot.right - NUMBER * (n_seen - nth) as f64 + NUMBER / 2.0;
        let place = x.min(last).max(free);
        free = place + NUMBER;
        number(figure, report, idx, (place, x), plot, leads);
    }
}

/// A number at one place, for a round at another one.
fn number(figure: &mut Figure, report: &HuntReport, idx: usize, (x, round): (f64, f64), plot: &Plot, leads: Leads) {
    let when = report.first_round(idx).map(|it| format!(", {} after the start", span(it.end()))).unwrap_or_default();
    let y = plot.top - 32.0;
    let drawn = format!(
        "<title>{}</title><path d=\"M{} {}L{} {}V{}\" fill=\"none\" stroke=\"{RED}\" stroke-width=\"1\"/>\
         <rect x=\"{}\" y=\"{}\" width=\"18\" height=\"18\" rx=\"9\" fill=\"{RED}\"/>\
         <text x=\"{}\" y=\"{}\" font-size=\"11\" font-weight=\"bold\" text-anchor=\"middle\" fill=\"#ffffff\">{}</text>",
        xml(&format!("{}{when}", name(&report.findings[idx]))),
        n(x),
        n(y + 18.0),
        n(round),
        n(y + 28.0),
        n(plot.top),
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
