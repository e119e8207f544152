//! The document of `collect` as a page.

use super::{Page, chart, facts_table, listing};
use crate::amounts::{grouped, moment};
use crate::collect::{Asserted, CollectReport};
use crate::collect_phrases::{ended_early, facts, headline, next_command, nodes_in_words};
use crate::durability::FaultMark;
use crate::json::JsonLayout;
use crate::svg::{collect_chart, over_time_chart};
use crate::words::{prose, xml};

const CAPTION: &str = "What sessions did over time, without the final read.";
const CHECK_CAPTION: &str = "The check beside it.";

/// The page of `collect`.
pub(crate) fn collect_html(report: &CollectReport) -> Page {
    let title = report.output.clone().unwrap_or_else(|| report.workload.clone());
    let mut body = format!("<p class=\"input\">{}</p>\n<h1>{}</h1>\n", prose(&title), prose(&headline(report)));
    body += &problems(report);
    body += &chart(CAPTION, |room| collect_chart(report, room));
    if let Some(check) = &report.check {
        body += &chart(CHECK_CAPTION, |room| over_time_chart(check, room));
    }
    body += &held(&report.assertions);
    body += &facts_table(&facts(report));
    if !report.nodes.is_empty() {
        body += &format!("<p>Nodes: {}.</p>\n", prose(&nodes_in_words(report)));
    }
    if !report.faults.is_empty() {
        body += &format!("<p>Faults: {}.</p>\n", prose(&FaultMark::in_words(&report.faults)));
    }
    body += &next(report);
    body += &numbers(report);
    let effort = String::new();
    Page { title, body, effort, json: report.to_json(JsonLayout::Compact) }
}

/// What must not be overlooked.
fn problems(report: &CollectReport) -> String {
    let mut out = failed(&report.assertions);
    if let Some(line) = ended_early(report) {
        let class = if report.failure.is_some() { "failed" } else { "note" };
        out += &format!("<p class=\"{class}\">{}</p>\n", prose(&line));
    }
    out
}

pub(super) fn failed(assertions: &[Asserted]) -> String {
    let line =
        |it: &Asserted| format!("<p class=\"failed\"><b>FAILED</b> {}: {}</p>\n", prose(&it.name), prose(&it.detail));
    assertions.iter().filter(|it| !it.holds).map(line).collect()
}

pub(super) fn held(assertions: &[Asserted]) -> String {
    let names: Vec<String> = assertions.iter().filter(|it| it.holds).map(|it| prose(&it.name)).collect();
    if names.is_empty() {
        return String::new();
    }
    format!("<p class=\"held\">✓ {}</p>\n", names.join("<br/>✓ "))
}

fn next(report: &CollectReport) -> String {
    match next_command(report) {
        Some(command) => {
            format!(
                "<h2>Next</h2>\n<p>Does the database keep its promise? This checks what was recorded:</p>\n{}",
                listing(&command, "command")
            )
        }
        None => String::new(),
    }
}

/// The numbers of the chart.
fn numbers(report: &CollectReport) -> String {
    let mut rows = String::new();
    for (nth, it) in report.series.samples.iter().enumerate() {
        let (begin, _) = report.series.interval(nth, report.seconds);
        let [committed, conflicts, aborted, unknown, lost] =
            [it.committed, it.conflicts, it.aborted, it.unknown, it.reconnects].map(grouped);
        rows += &format!(
            "<tr><td>{}</td><td>{committed}</td><td>{conflicts}</td><td>{aborted}</td><td>{unknown}</td><td>{lost}</td></tr>\n",
            xml(&moment(begin, report.seconds))
        );
    }
    format!(
        "<details>\n<summary>The numbers, every {}</summary>\n<table class=\"numbers\">\n<thead><tr><th>from</th><th>committed</th>\
         <th>aborted by the database</th><th>otherwise</th><th>unknown</th><th>lost connections</th></tr></thead>\n\
         <tbody>\n{rows}</tbody>\n</table>\n</details>\n",
        xml(&crate::amounts::span(report.series.step))
    )
}
