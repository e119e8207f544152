//! The document of `lattice` as a page: the diagram, and a section for each of its lines.

use super::Page;
use super::search::{effort_words, found_html, head};
use crate::found::Found;
use crate::hasse::class_name;
use crate::json::JsonLayout;
use crate::phrases::{claim, lattice_headline, sizes};
use crate::search::{LatticeEdge, LatticeReport};
use crate::svg::linked_diagram;
use crate::words::{counted, xml};

/// The page of `lattice`.
pub(crate) fn lattice_html(report: &LatticeReport) -> Page {
    let title = format!("Lattice of {}", counted(report.levels.len() as u64, "level"));
    let mut body = head(&title, &lattice_headline(report), &report.scope, report.not_certified.as_ref());
    // With a script, a line opens its history in the sheet; without one, it leads to the section below.
    body += &format!(
        "<div class=\"browser\">\n<figure class=\"diagram\">\n{}</figure>\n<div class=\"sheet\" hidden=\"\">\
         <button type=\"button\">← Back to the diagram</button></div>\n</div>\n",
        linked_diagram(report)
    );
    body += &unknown(report);
    body += &classes(report);
    for (idx, edge) in report.edges.iter().enumerate() {
        body += &section(report, idx, edge);
    }
    let found: Vec<&Found> = report.edges.iter().map(|it| &it.found).collect();
    let effort = effort_words(&report.inputs, &report.effort, &found);
    Page { title, body, effort, json: report.to_json(JsonLayout::Compact) }
}

fn unknown(report: &LatticeReport) -> String {
    if report.unknown.is_empty() {
        return String::new();
    }
    let mut out = "<h2>Unknown</h2>\n<ul class=\"defects\">\n".to_owned();
    for pair in &report.unknown {
        let names = format!("{} and {}", pair.left, pair.right);
        out += &format!("<li class=\"warning\"><b>{}</b> {}</li>\n", xml(&names), xml(&pair.reason));
    }
    out + "</ul>\n"
}

/// Every level by class, with what it is about and where its lines lead.
fn classes(report: &LatticeReport) -> String {
    let mut out = "<h2>Levels</h2>\n<table>\n<thead><tr><th>equivalent definitions</th><th>about</th>\
                   <th>implies directly</th></tr></thead>\n<tbody>\n"
        .to_owned();
    for (idx, class) in report.classes.iter().enumerate() {
        let names: Vec<String> = class.iter().map(|it| format!("<b>{}</b>", xml(it))).collect();
        let summary = report.levels.iter().find(|it| Some(&it.name) == class.first());
        let summary = summary.map_or("", |it| it.summary.as_str());
        out += &format!("<tr><td>{}</td><td>{}</td>", names.join(" = "), xml(summary));
        out += &format!("<td>{}</td></tr>\n", implied(report, idx));
    }
    out + "</tbody>\n</table>\n"
}

fn implied(report: &LatticeReport, class: usize) -> String {
    let below = crate::hasse::below(report, class);
    let links =
        below.map(|(idx, edge)| format!("<a href=\"#edge-{}\">{}</a>", idx + 1, xml(class_name(report, edge.weaker))));
    links.collect::<Vec<_>>().join(", ")
}

/// What separates two neighbours.
fn section(report: &LatticeReport, idx: usize, edge: &LatticeEdge) -> String {
    let (stronger, weaker) = (class_name(report, edge.stronger), class_name(report, edge.weaker));
    let (n_txns, n_keys) = sizes(&edge.found);
    format!(
        "<section id=\"edge-{0}\">\n<h2>#{0} {1}</h2>\n<p class=\"levels\">{n_txns}, {n_keys}</p>\n{2}</section>\n",
        idx + 1,
        xml(&claim(&[weaker], &[stronger], "this history")),
        found_html(&edge.found, &format!("edges.{idx}.found"))
    )
}
