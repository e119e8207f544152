//! The documents of `separate` and `compare` as pages: witnesses beside the refutation.

use super::{Page, copies, linked_figure, steps};
use crate::document::{Certified, Excerpt};
use crate::found::{Found, SpecRefutation};
use crate::json::JsonLayout;
use crate::panel::{Panel, Panels, Stance};
use crate::phrases::{
    certified_words, claim, compare_headline, effort_line, failures_lead, not_certified, scope_line, separate_headline,
    sizes,
};
use crate::search::{CompareReport, Effort, Scope, SeparateReport, SpecName};
use crate::svg::panel_svg;
use crate::words::{prose, xml};

/// The page of `separate`.
pub(crate) fn separate_html(report: &SeparateReport) -> Page {
    let title = title(report);
    let mut body = head(&title, &separate_headline(report), &report.scope, report.not_certified.as_ref());
    for (idx, found) in report.found.iter().enumerate() {
        let (n_txns, n_keys) = sizes(found);
        let heading = if report.found.len() == 1 { "History".to_owned() } else { format!("History {}", idx + 1) };
        body += &format!("<section id=\"history-{}\">\n<h2>{heading}</h2>\n", idx + 1);
        body += &format!(
            "<p class=\"levels\">{n_txns}, {n_keys}</p>\n{}</section>\n",
            found_html(found, &format!("found.{idx}"))
        );
    }
    let levels: Vec<&SpecName> = report.allowed.iter().chain(&report.forbidden).collect();
    body += &definitions(&levels);
    let effort = effort_words(&report.inputs, &report.effort, &report.found.iter().collect::<Vec<_>>());
    Page { title, body, effort, json: report.to_json(JsonLayout::Compact) }
}

/// The page of `compare`.
pub(crate) fn compare_html(report: &CompareReport) -> Page {
    let (left, right) = (report.left.name.as_str(), report.right.name.as_str());
    let title = format!("{left} and {right}");
    let mut body = head(&title, &compare_headline(report), &report.scope, report.not_certified.as_ref());
    let sides = [(left, right, &report.left_only), (right, left, &report.right_only)];
    for (idx, (allows, forbids, found)) in sides.iter().enumerate() {
        let Some(found) = found else { continue };
        let (n_txns, n_keys) = sizes(found);
        body += &format!("<section id=\"history-{}\">\n", idx + 1);
        body += &format!("<h2>{}</h2>\n", xml(&claim(&[allows], &[forbids], "this history")));
        body += &format!(
            "<p class=\"levels\">{n_txns}, {n_keys}</p>\n{}</section>\n",
            found_html(found, ["left_only", "right_only"][idx])
        );
    }
    body += &definitions(&[&report.left, &report.right]);
    let found: Vec<&Found> = sides.iter().filter_map(|it| it.2.as_deref()).collect();
    let effort = effort_words(&report.inputs, &report.effort, &found);
    Page { title, body, effort, json: report.to_json(JsonLayout::Compact) }
}

/// `biswas.cc, not biswas.pc`.
fn title(report: &SeparateReport) -> String {
    let forbidden: Vec<String> = report.forbidden.iter().map(|it| format!("not {}", it.name)).collect();
    let allowed = report.allowed.iter().map(|it| it.name.clone());
    allowed.chain(forbidden).collect::<Vec<_>>().join(", ")
}

/// The title, where was looked, and the answer.
pub(super) fn head(title: &str, headline: &str, scope: &Scope, uncertified: Option<&String>) -> String {
    let title = format!("<p class=\"input\">{}</p>\n<h1>{}</h1>\n", xml(title), xml(headline));
    let lines = [scope_line(scope)].into_iter().chain(not_certified(uncertified));
    let add = |out: String, line: String| out + &format!("<p class=\"size\">{}</p>\n", xml(&line));
    lines.fold(title, add)
}

/// A history and what each level says about it.
///
/// `path` is where the JSON of the page has it.
pub(super) fn found_html(found: &Found, path: &str) -> String {
    let history: Vec<String> = found.history.lines().map(prose).collect();
    let copies = copies(&format!("{path}.history"), None);
    let mut out = format!("<div class=\"case\">\n<pre>{}</pre>\n{copies}</div>\n", history.join("\n"));
    let panels = Panels::new(found);
    let (allowed, forbidden) = panels.panels.split_at(found.witnesses.len());
    let mut sides = [String::new(), String::new()];
    for (panel, witness) in allowed.iter().zip(&found.witnesses) {
        let relations: Vec<String> =
            panel.captions.iter().map(|it| format!("<li><code>{}</code></li>\n", xml(it))).collect();
        let words = format!(
            "<p>This witness explains every read:</p>\n<ul class=\"relations\">\n{}</ul>\n",
            relations.concat()
        );
        sides[0] += &panel_html(panel, &panels, &words, &witness.certified);
    }
    for (panel, refutation) in forbidden.iter().zip(&found.refutations) {
        sides[1] += &panel_html(panel, &panels, &refutation_words(refutation, &panel.excerpt), &refutation.certified);
    }
    out += "<div class=\"panels\">\n";
    for side in sides.iter().filter(|it| !it.is_empty()) {
        out += &format!("<div class=\"side\">\n{side}</div>\n");
    }
    out + "</div>\n"
}

fn panel_html(panel: &Panel, panels: &Panels, words: &str, certified: &Certified) -> String {
    let class = if panel.stance == Stance::Allowed { "allowed" } else { "forbidden" };
    let mut out = format!("<div class=\"panel case {class}\">\n<h3>{}</h3>\n", xml(&panel.heading));
    if panel.is_drawn {
        out += &linked_figure(&panel_svg(panel, panels));
    }
    out += words;
    if let Some(Err(why)) = certified {
        out += &format!("<p><strong class=\"uncertified\">not certified: {}</strong></p>\n", xml(why));
    }
    out + "</div>\n"
}

fn refutation_words(refutation: &SpecRefutation, excerpt: &Excerpt) -> String {
    let mut out = String::new();
    if !refutation.summary.is_empty() {
        out += &format!("<p>{}</p>\n", xml(&refutation.summary));
    }
    out += &steps(excerpt);
    if refutation.failures.is_empty() {
        return out;
    }
    out += &format!("<p>{}</p>\n<ul class=\"failures\">\n", failures_lead(refutation));
    for failure in &refutation.failures {
        out += &format!("<li><code>{}</code> {}</li>\n", xml(&failure.witness), xml(&failure.because));
    }
    if refutation.omitted > 0 {
        out += &format!("<li>and {} more</li>\n", refutation.omitted);
    }
    out + "</ul>\n"
}

/// What the levels are about, as a table.
fn definitions(levels: &[&SpecName]) -> String {
    let mut out = "<h2>Levels</h2>\n<table>\n<tbody>\n".to_owned();
    for level in levels {
        out += &format!("<tr><td><b>{}</b></td><td>{}</td></tr>\n", xml(&level.name), xml(&level.summary));
    }
    out + "</tbody>\n</table>\n"
}

/// What the search took, and that its evidence is certified.
pub(super) fn effort_words(inputs: &[String], effort: &Effort, found: &[&Found]) -> String {
    effort_line(inputs, effort, certified_words(found.iter().copied()).as_deref())
}
