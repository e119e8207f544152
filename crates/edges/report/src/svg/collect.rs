//! A run of `collect` as a chart: how many transactions committed and aborted a second, and what nobody knows.

use super::chart::{AMBER, BLUE, PURPLE, Plot, Room, clock, named, signs, unit};
use super::figure::{FAINT, Figure, INK, RED, n};
use crate::amounts::{a_second, grouped, rate, span};
use crate::collect::CollectReport;
use crate::collect_phrases::{described, ended_early, facts, headline};
use crate::series::Sample;

/// With fewer intervals there is nothing to see.
const MIN_SAMPLES: usize = 3;
/// What a pointer tells apart.
const MAX_STRIPES: usize = 100;
/// Neighbours closer than this run into each other.
const PIXELS: f64 = 9.0;
const HEIGHT: f64 = 230.0;

/// The run as a picture of its own.
pub(crate) fn collect_svg(report: &CollectReport) -> String {
    let mut figure = Figure::empty(Room::Desk.width());
    figure.paragraph(&headline(report), 16.0, INK, "bold");
    for (name, fact) in facts(report).into_iter().filter(|it| it.0 == "workload" || it.0 == "aborted") {
        figure.paragraph(&format!("{name}: {fact}"), 12.0, FAINT, "normal");
    }
    for it in report.failed() {
        figure.paragraph(&format!("FAILED: {}: {}", it.name, it.detail), 13.0, RED, "normal");
    }
    if let Some(line) = ended_early(report) {
        figure.paragraph(&line, 13.0, RED, "normal");
    }
    figure.height += 8.0;
    if is_drawn(report) {
        draw(&mut figure, report, Room::Desk);
    }
    figure.height += 8.0;
    named(&figure, &headline(report), &described(report))
}

/// The chart alone; none if the run was too short for one.
pub(crate) fn collect_chart(report: &CollectReport, room: Room) -> Option<String> {
    if !is_drawn(report) {
        return None;
    }
    let mut figure = Figure { width: room.width(), height: 4.0, body: String::new() };
    draw(&mut figure, report, room);
    figure.height += 4.0;
    Some(named(&figure, "Transactions over time", &described(report)))
}

fn is_drawn(report: &CollectReport) -> bool {
    report.series.samples.len() >= MIN_SAMPLES
}

/// What happened between two moments.
type Interval = (f64, f64, Sample);
/// The place of a moment.
type When<'w> = dyn Fn(f64) -> f64 + 'w;

fn draw(figure: &mut Figure, report: &CollectReport, room: Room) {
    #[allow(clippy::cast_possible_truncation, reason = "a chart is a few hundred pixels wide")]
    let at_most = (room.width() / PIXELS) as usize;
    let intervals = report.series.joined(at_most, report.seconds);
    legend(figure, &intervals);
    let fastest = |count: fn(&Sample) -> u64| rates(&intervals, count).map(|it| it.1).fold(0.0, f64::max);
    let most = fastest(|it| it.committed).max(fastest(Sample::all_aborted));
    unit(figure);
    let plot = Plot::below(figure, HEIGHT, most);
    let when = |second: f64| plot.x(second / report.seconds.max(1e-6));
    plot.rates(figure);
    area(figure, &plot, &intervals, &when, |it| it.committed, BLUE);
    if intervals.iter().any(|it| it.2.all_aborted() > 0) {
        area(figure, &plot, &intervals, &when, Sample::all_aborted, RED);
    }
    marks(figure, &when, &intervals, |it| it.unknown, &diamond(), "unknown");
    marks(figure, &when, &intervals, |it| it.reconnects, &cross(), "lost connections");
    for mark in &report.faults {
        let (x, title) = (n(when(mark.at.min(report.seconds))), crate::words::xml(&mark.words()));
        figure.body += &format!(
            "<g class=\"fault\"><title>{title}</title><path d=\"M{x} {}V{}\" stroke=\"{PURPLE}\" stroke-dasharray=\"3 3\"/></g>\n",
            n(plot.y(most)),
            n(plot.bottom)
        );
    }
    if room == Room::Desk {
        stripes(figure, &plot, report, &when);
    }
    plot.moments(figure, &clock(report.seconds, room));
}

fn legend(figure: &mut Figure, intervals: &[Interval]) {
    let line = |colour: &str| format!("<path d=\"M0 5h16\" stroke=\"{colour}\" stroke-width=\"2.5\"/>");
    let (blue, red, unknown, lost) = (line(BLUE), line(RED), moved(&diamond()), moved(&cross()));
    let has = |count: fn(&Sample) -> u64| intervals.iter().any(|it| count(&it.2) > 0);
    let mut entries = vec![(blue.as_str(), "committed".to_owned()), (red.as_str(), "aborted".to_owned())];
    entries.extend(has(|it| it.unknown).then(|| (unknown.as_str(), "unknown".to_owned())));
    entries.extend(has(|it| it.reconnects).then(|| (lost.as_str(), "lost connections".to_owned())));
    signs(figure, &entries);
}

fn moved(sign: &str) -> String {
    format!("<g transform=\"translate(8 5)\">{sign}</g>")
}

fn diamond() -> String {
    format!("<path d=\"M0 -5L5 0L0 5L-5 0Z\" fill=\"{AMBER}\"/>")
}

fn cross() -> String {
    format!("<path d=\"M-4 -4L4 4M-4 4L4 -4\" stroke=\"{PURPLE}\" stroke-width=\"2\"/>")
}

/// The middle of each interval, with its rate.
fn rates(intervals: &[Interval], count: fn(&Sample) -> u64) -> impl Iterator<Item = (f64, f64)> {
    intervals.iter().map(move |(begin, end, it)| (f64::midpoint(*begin, *end), a_second(count(it), end - begin)))
}

/// A line of rates, and a light field below it.
fn area(
    figure: &mut Figure,
    plot: &Plot,
    intervals: &[Interval],
    x: &When<'_>,
    count: fn(&Sample) -> u64,
    colour: &str,
) {
    let mut points: Vec<(f64, f64)> = rates(intervals, count).map(|(when, it)| (x(when), plot.y(it))).collect();
    let (Some(first), Some(last)) = (points.first().copied(), points.last().copied()) else { return };
    points.insert(0, (plot.left, first.1));
    points.push((plot.right, last.1));
    let line: Vec<String> = points.iter().map(|(x, y)| format!("{} {}", n(*x), n(*y))).collect();
    let line = line.join("L");
    let (left, right, bottom) = (n(plot.left), n(plot.right), n(plot.bottom));
    figure.body += &format!(
        "<path d=\"M{left} {bottom}L{line}L{right} {bottom}Z\" fill=\"{colour}\" fill-opacity=\"0.14\"/>\n\
         <path d=\"M{line}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\" stroke-linejoin=\"round\"/>\n"
    );
}

/// A row of signs below the field, where there is something to say; nothing otherwise.
fn marks(figure: &mut Figure, x: &When<'_>, intervals: &[Interval], count: fn(&Sample) -> u64, sign: &str, what: &str) {
    if intervals.iter().all(|it| count(&it.2) == 0) {
        return;
    }
    figure.height += 15.0;
    for (begin, end, sample) in intervals.iter().filter(|it| count(&it.2) > 0) {
        figure.body += &format!(
            "<g transform=\"translate({} {})\"><title>{} {what} after {}</title>{sign}</g>\n",
            n(x(f64::midpoint(*begin, *end))),
            n(figure.height - 6.0),
            grouped(count(sample)),
            span(*begin)
        );
    }
    figure.height += 4.0;
}

/// Invisible stripes that say what happened there.
fn stripes(figure: &mut Figure, plot: &Plot, report: &CollectReport, x: &When<'_>) {
    figure.body += "<g class=\"stripes\" fill=\"transparent\">\n";
    for (begin, end, sample) in report.series.joined(MAX_STRIPES, report.seconds) {
        let (left, right) = (x(begin), x(end));
        let a_second = |count: u64| rate(a_second(count, end - begin));
        figure.body += &format!(
            "<path d=\"M{} {}H{}V{}H{}Z\"><title>after {}: {} committed and {} aborted a second</title></path>\n",
            n(left),
            n(plot.top),
            n(right),
            n(plot.bottom),
            n(left),
            span(begin),
            a_second(sample.committed),
            a_second(sample.all_aborted())
        );
    }
    figure.body += "</g>\n";
}
