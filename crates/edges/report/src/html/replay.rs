//! The document of `replay` as a page: the steps with their answers, and what is forbidden about them.

use super::check::{Depth, Inside, sections};
use super::{Page, listing};
use crate::json::JsonLayout;
use crate::replay::{ReplayReport, ReplayStep};
use crate::words::prose;

/// The page of `replay`.
pub(crate) fn replay_html(report: &ReplayReport) -> Page {
    let title = format!("{} on {}", report.script, report.database);
    let mut body = format!("<p class=\"input\">{}</p>\n<h1>{}</h1>\n", prose(&title), prose(&report.headline()));
    for note in report.notes() {
        body += &format!("<p class=\"note\">{}</p>\n", prose(&note));
    }
    let rows: String = report.steps.iter().map(row).collect();
    body += &format!(
        "<h2>Steps</h2>\n<table class=\"numbers\">\n<thead><tr><th>step</th><th class=\"words\">session</th>\
         <th class=\"words\">what</th><th class=\"words\">answer</th><th class=\"words\">the script has</th></tr></thead>\n\
         <tbody>\n{rows}</tbody>\n</table>\n<p>{}</p>\n",
        prose(&report.compared())
    );
    if let Some(check) = &report.check {
        let inside = Inside {
            prefix: "shown-".to_owned(),
            number: String::new(),
            depth: Depth::Section,
            path: "check.".to_owned(),
        };
        body += &sections(check, &inside);
    }
    body += &format!("<h2>The history</h2>\n{}", listing(&report.history, "history"));
    Page { title, body, effort: format!("{:.2} s", report.seconds), json: report.to_json(JsonLayout::Compact) }
}

fn row(step: &ReplayStep) -> String {
    let class = if step.same == Some(false) { "unknown" } else { "holds" };
    let recorded = match (&step.recorded, step.same) {
        (Some(recorded), Some(false)) => prose(recorded),
        (Some(_), _) => "the same".to_owned(),
        (None, _) => String::new(),
    };
    format!(
        "<tr class=\"{class}\"><td>{}</td><td class=\"words\">{}</td><td class=\"words\">{}</td><td class=\"words\">{}</td>\
         <td class=\"words\">{recorded}</td></tr>\n",
        step.nth,
        prose(&step.session),
        prose(&step.step),
        prose(&step.said())
    )
}
