//! The document of `store run` as a page.

use super::collect::{failed, held};
use super::{Page, facts_table, listing};
use crate::json::JsonLayout;
use crate::store::{StoreReport, StoreStep};
use crate::words::prose;

/// More transactions are only counted.
const MAX_STEPS: usize = 500;

/// The page of `store run`.
pub(crate) fn store_html(report: &StoreReport) -> Page {
    let title = report.output.clone().filter(|it| it != "-").unwrap_or_else(|| report.application.clone());
    let mut body = format!("<p class=\"input\">{}</p>\n<h1>{}</h1>\n", prose(&title), prose(&report.headline()));
    body += &failed(&report.assertions);
    body += &held(&report.assertions);
    body += &facts_table(&report.facts());
    if !report.next.is_empty() {
        let lead = "Which levels does the run satisfy, and what could have happened besides?";
        body += &format!("<h2>Next</h2>\n<p>{lead}</p>\n{}", listing(&report.next.join("\n"), "commands"));
    }
    body += &transactions(report);
    let effort = String::new();
    let shown = report.transactions.iter().take(MAX_STEPS).cloned().collect();
    let embedded = StoreReport { transactions: shown, ..report.clone() };
    Page { title, body, effort, json: embedded.to_json(JsonLayout::Compact) }
}

fn transactions(report: &StoreReport) -> String {
    if report.transactions.is_empty() {
        return String::new();
    }
    let shown = report.transactions.iter().take(MAX_STEPS);
    let rows: String = shown.map(row).collect();
    let more = match report.transactions.len().saturating_sub(MAX_STEPS) {
        0 => String::new(),
        more => format!("<p>… and {more} more</p>\n"),
    };
    format!(
        "<h2>Transactions</h2>\n<details open=\"\">\n<summary>In the order in which they ran</summary>\n<table>\n\
         <thead><tr><th>transaction</th><th>call</th><th>ending</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n\
         {more}</details>\n"
    )
}

fn row(step: &StoreStep) -> String {
    let reason = step.reason.as_ref().map(|it| format!(": {}", prose(it))).unwrap_or_default();
    format!(
        "<tr><td><b>{}</b></td><td><code>{}</code></td><td>{}{reason}</td></tr>\n",
        prose(&step.txn),
        prose(&step.call),
        step.ending.word()
    )
}
