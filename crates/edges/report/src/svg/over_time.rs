//! A recording that was checked while it was read, as small charts below each other: verdicts, speed, lag, window, memory.
#![allow(clippy::cast_precision_loss, reason = "counts of a run are far below the limits of a float")]

use super::chart::{AMBER, BLUE, PURPLE, Plot, Room, clock, named, sides, small};
use super::figure::{Figure, RED, n};
use crate::amounts::{grouped, span};
use crate::over_time::{OverTime, StandingChange, StreamStanding};
use crate::words::xml;

const GREEN: &str = "#1a7f37";
const HEIGHT: f64 = 56.0;
const BAR: f64 = 12.0;

/// The charts; none if the run was too short for them.
pub(crate) fn over_time_chart(over_time: &OverTime, room: Room) -> Option<String> {
    if !over_time.is_drawn() {
        return None;
    }
    let mut figure = Figure { width: room.width(), height: 4.0, body: String::new() };
    for level in over_time.levels() {
        bar(&mut figure, over_time, level);
    }
    let seconds = &over_time.seconds;
    let read: Vec<f64> = over_time.transactions.iter().map(|it| *it as f64).collect();
    let mut plot = line(&mut figure, "transactions a second", seconds, &rates(seconds, &read), BLUE);
    if !over_time.lag.is_empty() {
        plot = line(&mut figure, "seconds behind the writer", seconds, &over_time.lag, RED);
    }
    let window: Vec<f64> = over_time.window.iter().map(|it| *it as f64).collect();
    plot = line(&mut figure, "transactions in the window", seconds, &window, PURPLE).or(plot);
    let memory: Vec<f64> = over_time.memory.iter().map(|it| *it as f64 / 1e6).collect();
    plot = line(&mut figure, "megabytes of memory", seconds, &memory, AMBER).or(plot);
    plot?.moments(&mut figure, &clock(over_time.end(), room));
    figure.height += 4.0;
    Some(named(&figure, "The check over time", &described(over_time)))
}

/// The same in words.
pub(crate) fn described(over_time: &OverTime) -> String {
    let changes = over_time.changes.iter().filter(|it| it.standing != StreamStanding::Holds).map(words);
    let mut lines: Vec<String> = changes.collect();
    if lines.is_empty() {
        lines.push("Nothing changed while it was read.".to_owned());
    }
    lines.join(" ")
}

fn words(change: &StandingChange) -> String {
    let StandingChange { seconds, level, standing, line } = change;
    let stands = match standing {
        StreamStanding::Holds => "holds",
        StreamStanding::Suspects => "has suspects",
        StreamStanding::Violated => "is violated",
    };
    format!("{level} {stands} after {}, at line {}.", span(*seconds), grouped(*line))
}

/// A level: green while it holds, red from when it is violated.
fn bar(figure: &mut Figure, over_time: &OverTime, level: &str) {
    let (left, right) = sides(figure.width);
    let x = |seconds: f64| left + (right - left) * (seconds / over_time.end().max(1e-6)).clamp(0.0, 1.0);
    let changes: Vec<&StandingChange> = over_time.changes.iter().filter(|it| it.level == level).collect();
    let top = figure.height + 4.0;
    figure.body += &small(left - 8.0, top + BAR - 2.0, "end", level);
    for (nth, change) in changes.iter().enumerate() {
        let begin = if nth == 0 { left } else { x(change.seconds) };
        let end = changes.get(nth + 1).map_or(right, |it| x(it.seconds));
        let colour = match change.standing {
            StreamStanding::Holds => GREEN,
            StreamStanding::Suspects => AMBER,
            StreamStanding::Violated => RED,
        };
        figure.body += &format!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{BAR}\" fill=\"{colour}\"><title>{}</title></rect>\n",
            n(begin),
            n(top),
            n((end - begin).max(2.0)),
            xml(&words(change))
        );
    }
    figure.height = top + BAR + 4.0;
}

/// A line of numbers with a light field below it, under its name; nothing if there are no numbers.
fn line(figure: &mut Figure, name: &str, seconds: &[f64], numbers: &[f64], colour: &str) -> Option<Plot> {
    if numbers.is_empty() {
        return None;
    }
    figure.height += 18.0;
    figure.body += &small(sides(figure.width).0, figure.height, "start", name);
    let most = numbers.iter().copied().fold(0.0, f64::max);
    let plot = Plot::below(figure, HEIGHT, if most > 0.0 { most } else { 1.0 });
    plot.ends(figure);
    let end = seconds.last().copied().unwrap_or(0.0).max(1e-6);
    let points: Vec<String> = seconds
        .iter()
        .zip(numbers)
        .map(|(second, number)| format!("{} {}", n(plot.x(second / end)), n(plot.y(*number))))
        .collect();
    let (points, bottom) = (points.join("L"), n(plot.bottom));
    let first = n(plot.x(seconds.first().copied().unwrap_or(0.0) / end));
    figure.body += &format!(
        "<path d=\"M{first} {bottom}L{points}L{} {bottom}Z\" fill=\"{colour}\" fill-opacity=\"0.14\"/>\n\
         <path d=\"M{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\" stroke-linejoin=\"round\"/>\n",
        n(plot.right)
    );
    Some(plot)
}

/// What a count grew by in each second.
fn rates(seconds: &[f64], counts: &[f64]) -> Vec<f64> {
    let mut rates: Vec<f64> = seconds
        .windows(2)
        .zip(counts.windows(2))
        .map(|(when, count)| (count[1] - count[0]) / (when[1] - when[0]).max(1e-6))
        .collect();
    if let Some(first) = rates.first().copied() {
        rates.insert(0, first);
    }
    rates
}
