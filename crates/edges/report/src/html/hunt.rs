//! The document of `hunt` as a page: verdicts over time, and each finding beside the script that shows it.

use super::check::{Depth, Inside, durability, sections};
use super::{Page, chart, facts_table, listing};
use crate::amounts::{grouped, span};
use crate::hunt::{HuntReport, HuntRound};
use crate::hunt_phrases::{facts, headline, name, notes, script_words, seen};
use crate::json::JsonLayout;
use crate::svg::hunt_chart;
use crate::words::prose;

const CAPTION: &str = "A block for each round in turn: how fast it was, its verdict, and when it began.";

/// The page of `hunt`.
pub(crate) fn hunt_html(report: &HuntReport) -> Page {
    let title = format!("{}, {}", report.database, report.isolation);
    let mut body = format!("<p class=\"input\">{}</p>\n<h1>{}</h1>\n", prose(&title), prose(&headline(report)));
    for note in notes(report) {
        body += &format!("<p class=\"note\">{}</p>\n", prose(&note));
    }
    body += &chart(CAPTION, |room| hunt_chart(report, room));
    for idx in 0..report.findings.len() {
        body += &found(report, idx);
    }
    body += &format!("<h2>The hunt</h2>\n{}", facts_table(&facts(report)));
    body += &rounds(report);
    let effort = String::new();
    Page { title, body, effort, json: report.to_json(JsonLayout::Compact) }
}

/// A finding as `check` shows it, and the script.
fn found(report: &HuntReport, idx: usize) -> String {
    let finding = &report.findings[idx];
    let inside = Inside {
        prefix: format!("found-{idx}-"),
        number: format!("{}. ", idx + 1),
        depth: Depth::Section,
        path: format!("findings.{idx}.check."),
    };
    let mut out = format!("<div id=\"found-{idx}\">\n{}", sections(&finding.check, &inside));
    if finding.is_loss() {
        out += &format!("<h2>{}. {}</h2>\n{}", idx + 1, prose(&name(finding)), durability(&finding.check));
    }
    out += &format!("<p>{}</p>\n", prose(&seen(report, idx)));
    out += &format!("<h3>Script</h3>\n<p>{}</p>\n", prose(&script_words(finding)));
    out += &finding.script.as_ref().map(|it| listing(it.listing(), "script")).unwrap_or_default();
    out + "</div>\n"
}

/// The rounds of the chart.
fn rounds(report: &HuntReport) -> String {
    let rows: String = report.rounds.iter().map(row).collect();
    format!(
        "<details>\n<summary>All rounds</summary>\n<table class=\"numbers\">\n<thead><tr><th>began</th><th>took</th>\
         <th>committed</th><th>aborted</th><th>unknown</th><th>verdict</th><th class=\"words\">what</th></tr></thead>\n\
         <tbody>\n{rows}</tbody>\n</table>\n</details>\n"
    )
}

fn row(round: &HuntRound) -> String {
    let word = round.verdict.word();
    let [committed, aborted, unknown] = [round.committed, round.aborted, round.unknown].map(grouped);
    let verdict = match round.finding {
        Some(idx) => format!("<a href=\"#found-{idx}\">{word}</a>"),
        None => word.to_owned(),
    };
    format!(
        "<tr class=\"{word}\"><td>{}</td><td>{}</td><td>{committed}</td><td>{aborted}</td><td>{unknown}</td>\
         <td class=\"verdict\">{verdict}</td><td class=\"words\">{}</td></tr>\n",
        span(round.began),
        span(round.seconds),
        prose(&round.what)
    )
}
