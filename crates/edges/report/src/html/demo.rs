//! The document of `demo` as a page: a database after the other.

use super::Page;
use super::check::{Depth, Inside, lead, sections};
use crate::demo::DemoReport;
use crate::json::JsonLayout;
use crate::words::prose;

/// The page of `demo`.
pub(crate) fn demo_html(report: &DemoReport) -> Page {
    let mut body = format!("<p class=\"input\">isoscope demo</p>\n<h1>{}</h1>\n", prose(&report.title));
    for paragraph in report.lead.split("\n\n") {
        body += &format!("<p>{}</p>\n", flowing(paragraph));
    }
    for (idx, act) in report.acts.iter().enumerate() {
        let inside = Inside {
            prefix: format!("act-{idx}-"),
            number: String::new(),
            depth: Depth::Subsection,
            path: format!("acts.{idx}.check."),
        };
        body += &format!(
            "<h2>{}. {}</h2>\n<p>{}</p>\n<p>{}</p>\n{}{}<p>{}</p>\n",
            idx + 1,
            prose(&act.title),
            flowing(&act.before),
            prose(&act.ran),
            lead(&act.check),
            sections(&act.check, &inside),
            flowing(&act.after)
        );
    }
    let effort = String::new();
    Page { title: report.title.clone(), body, effort, json: report.to_json(JsonLayout::Compact) }
}

/// Lines of a terminal as one paragraph.
fn flowing(text: &str) -> String {
    prose(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}
