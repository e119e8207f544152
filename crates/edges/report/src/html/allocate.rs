//! The document of `allocate` as a page: a level for each transaction, and the runs that are in the way of weaker ones.

use super::verify::run_section;
use super::{Page, listing};
use crate::allocate::{AllocateReport, AllocatedTxn, BlockedLevel, NO_VALUES};
use crate::json::JsonLayout;
use crate::phrases::{effort_line, not_certified};
use crate::svg::allocate_svg;
use crate::verify_phrases::titled;
use crate::words::{prose, xml};

/// The page of `allocate`.
pub(crate) fn allocate_html(report: &AllocateReport) -> Page {
    let title = if report.inputs.is_empty() { "program".to_owned() } else { report.inputs.join(", ") };
    let mut body = format!("<p class=\"input\">{}</p>\n<h1>{}</h1>\n", xml(&title), xml(&report.headline()));
    if let Some(words) = not_certified(report.not_certified.as_ref()) {
        body += &format!("<p class=\"size\">{}</p>\n", xml(&words));
    }
    body += &table(report);
    body += &format!("<div class=\"figure\">{}</div>\n", allocate_svg(report));
    for (txn, blocked) in report.shown() {
        body += &section(report, txn, blocked);
    }
    body += &format!("<h2>Program</h2>\n{}", listing(&report.program, "program"));
    let effort = effort_line(&report.inputs, &report.effort, None);
    Page { title, body, effort, json: report.to_json(JsonLayout::Compact) }
}

fn table(report: &AllocateReport) -> String {
    let mut out =
        "<table>\n<thead><tr><th>transaction</th><th>level</th><th>say before it</th></tr></thead>\n<tbody>\n"
            .to_owned();
    for txn in &report.transactions {
        let class = if txn.level.is_some() { "holds" } else { "violated" };
        let level = txn.level.as_ref().map_or_else(|| "none is enough".to_owned(), titled);
        let statement = txn.statement.as_deref().map(|it| format!("<code>{}</code>", xml(it))).unwrap_or_default();
        out += &format!(
            "<tr class=\"{class}\"><td>{}</td><td class=\"verdict\">{}</td><td>{statement}</td></tr>\n",
            xml(&txn.name),
            xml(&level)
        );
    }
    out + "</tbody>\n</table>\n"
}

fn section(report: &AllocateReport, txn: &AllocatedTxn, blocked: &BlockedLevel) -> String {
    let (level, finding) = (titled(&blocked.level), blocked.finding());
    let mut out = format!("<h2>{} at {} {finding}</h2>\n", xml(&txn.name), xml(&level));
    out += &format!("<p>{}</p>\n<ul>\n", xml(&blocked.story()));
    for edge in &blocked.cycle {
        out += &format!("<li>{}</li>\n", prose(&BlockedLevel::edge_words(edge)));
    }
    out += "</ul>\n";
    if let Some(cure) = blocked.cure() {
        out += &format!("<p class=\"lead\">{}.</p>\n", prose(&cure));
    }
    match &blocked.counterexample {
        Some(run) => {
            let place = |it: &[AllocatedTxn]| it.iter().position(|it| it == txn).unwrap_or(0);
            let nth = txn.blocked.len() - 1;
            let path = format!("transactions.{}.blocked.{nth}.counterexample.history", place(&report.transactions));
            out += &run_section(&blocked.level, run, &path);
        }
        None => out += &format!("<p>{NO_VALUES}</p>\n"),
    }
    out
}
