//! Documents as pages that need nothing else: no fonts, styles or scripts to load, and nobody to ask.
//!
//! A page reads without its script, too. The script adds what takes a hand: stepping through a contradiction, lighting
//! up what a dependency is about, and copying. It never makes markup out of words; names only ever become text.

mod allocate;
mod check;
mod collect;
mod demo;
mod hash;
mod hunt;
mod lattice;
mod predict;
mod replay;
mod schedule;
mod search;
mod store;
mod surroundings;
mod verify;
mod why;

pub(crate) use allocate::allocate_html;
pub(crate) use check::check_html;
pub(crate) use collect::collect_html;
pub(crate) use demo::demo_html;
pub(crate) use hunt::hunt_html;
pub(crate) use lattice::lattice_html;
pub(crate) use predict::predict_html;
pub(crate) use replay::replay_html;
pub(crate) use search::{compare_html, separate_html};
pub(crate) use store::store_html;
pub(crate) use verify::verify_html;

use crate::document::{Excerpt, Link, LocalRead};
use crate::highlight::Highlight;
use crate::proof_phrases::{round, spoken};
use crate::svg::Room;
use crate::words::{prose, xml};
use why::{case_steps, why};

/// Longer keys of a dependency are shortened; the sentence beside them has them in full.
const MAX_LABEL: usize = 40;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What a page says about its making. Whoever makes it has a clock; without a date, equal documents give equal pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imprint {
    /// The day: `2026-11-17`.
    pub date: Option<String>,
}

/// A page before it is put together.
pub(crate) struct Page {
    title: String,
    body: String,
    /// What the run took, if that is known.
    effort: String,
    /// The document.
    json: String,
}

impl Page {
    /// The page. The JSON of the document is inside, in the element `report`.
    pub(crate) fn html(&self, imprint: &Imprint) -> String {
        let body = format!("{}{}", self.body, footer(&self.effort, imprint));
        framed(&self.title, &body, &self.json)
    }
}

/// Version, date, what the run took, and where to read more.
fn footer(effort: &str, imprint: &Imprint) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let made = [format!("Isoscope {version}"), imprint.date.clone().unwrap_or_default(), effort.to_owned()];
    let made: Vec<String> = made.iter().filter(|it| !it.is_empty()).map(|it| xml(it)).collect();
    format!("<footer>{}. <a href=\"https://docs.rs/isoscope/{version}\">Documentation</a></footer>\n", made.join(", "))
}

/// A page around its body.
///
/// Its policy lets a browser run our script and no other, and load nothing.
fn framed(title: &str, body: &str, json: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'sha256-{}'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Isoscope: {}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{body}</main>\n\
         <script type=\"application/json\" id=\"report\">\n{}\n</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n",
        hash::hash(SCRIPT),
        xml(title),
        // A script element ends at the first `</`, wherever that stands, so no `<` may be in the JSON.
        json.replace('<', "\\u003c")
    )
}

/// A picture whose arrows the steps beside it explain.
fn linked_figure(svg: &str) -> String {
    format!("<figure class=\"linked\" tabindex=\"-1\">\n{svg}</figure>\n")
}

/// Why an excerpt is forbidden, step by step, with the buttons that go through them; nothing if no steps say it.
fn steps(excerpt: &Excerpt) -> String {
    let mut items: Vec<String> = Vec::new();
    if let Some(local) = &excerpt.local {
        items.push(of_read(local, excerpt));
    }
    let n_cycle = excerpt.cycle.len();
    let links = excerpt.cycle.iter().chain(excerpt.local.iter().flat_map(|it| &it.links));
    items.extend(links.enumerate().map(|(number, it)| of_link(&number.to_string(), it, excerpt, number < n_cycle, "")));
    if !excerpt.cycle.is_empty() {
        items.push(contradiction(&excerpt.cycle));
    }
    items.extend(case_steps(excerpt));
    stepped(&items)
}

/// Steps with the buttons that go through them.
fn stepped(items: &[String]) -> String {
    if items.is_empty() {
        return String::new();
    }
    let buttons = "<button type=\"button\" class=\"back\">← Back</button>\
                   <button type=\"button\" class=\"next\">Next →</button>";
    format!(
        "<div class=\"stepper\" hidden=\"\">{buttons}<output aria-live=\"polite\"></output></div>\n\
         <ol class=\"steps\">\n{}</ol>\n",
        items.concat()
    )
}

fn of_read(local: &LocalRead, excerpt: &Excerpt) -> String {
    let highlight = Highlight::of_read(local, excerpt);
    format!(
        "<li class=\"local\" data-links=\"\" data-lit=\"{}\" data-txns=\"{}\">{}.</li>\n",
        highlight.ops(),
        highlight.txns(),
        prose(&local.because)
    )
}

fn of_link(number: &str, link: &Link, excerpt: &Excerpt, is_in_cycle: bool, class: &str) -> String {
    let highlight = Highlight::of_link(link, excerpt);
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    let claim = if is_in_cycle {
        format!("<b>{}</b> must come before <b>{}</b>: ", prose(&spoken(&link.from)), prose(&spoken(&link.to)))
    } else {
        String::new()
    };
    format!(
        "<li{class} data-links=\"{number}\" data-lit=\"{}\" data-txns=\"{}\"><code class=\"{}\">{}</code> {claim}{}.{}</li>\n",
        highlight.ops(),
        highlight.txns(),
        link.kind.word(),
        prose(&link.label(MAX_LABEL)),
        prose(&link.because),
        why(&link.premises, excerpt)
    )
}

fn contradiction(cycle: &[Link]) -> String {
    let numbers: Vec<String> = (0..cycle.len()).map(|it| it.to_string()).collect();
    let first = cycle.first().map(|it| spoken(&it.from)).unwrap_or_default();
    format!(
        "<li class=\"contradiction\" data-links=\"{}\" data-highlight=\"\" data-txns=\"\">But then <b>{}</b> would have to come \
         before itself: {}. That is impossible.</li>\n",
        numbers.join(" "),
        prose(&first),
        prose(&round(cycle))
    )
}

/// Buttons that copy a history, a command that checks it, and the picture beside them.
///
/// `path` is where the JSON of the page has the history: `levels.0.evidence.history`.
fn copies(path: &str, level: Option<&str>) -> String {
    let level = level.map(|it| format!(" data-level=\"{}\"", xml(it))).unwrap_or_default();
    format!(
        "<div class=\"copies\" data-history=\"{}\"{level} hidden=\"\">\
         <button type=\"button\" data-copy=\"history\">Copy history</button>\
         <button type=\"button\" data-copy=\"command\">Copy command</button>\
         <button type=\"button\" data-copy=\"svg\">Copy picture (SVG)</button></div>\n",
        xml(path)
    )
}

/// A listing with a button that copies it.
fn listing(text: &str, what: &str) -> String {
    let lines: Vec<String> = text.trim_end().lines().map(prose).collect();
    format!(
        "<div class=\"listing\">\n<pre>{}</pre>\n<button type=\"button\" hidden=\"\">Copy {what}</button>\n</div>\n",
        lines.join("\n")
    )
}

/// Facts with their names, in a table.
fn facts_table(facts: &[(&str, String)]) -> String {
    let rows =
        facts.iter().map(|(name, fact)| format!("<tr><th scope=\"row\">{name}</th><td>{}</td></tr>\n", prose(fact)));
    format!("<table class=\"facts\">\n<tbody>\n{}</tbody>\n</table>\n", rows.collect::<String>())
}

/// A chart, drawn once for screens and paper and once for phones, above what it is.
fn chart(caption: &str, draw: impl Fn(Room) -> Option<String>) -> String {
    let figure = |class: &str, svg: &str| {
        format!("<figure class=\"chart {class}\">\n{svg}<figcaption>{}</figcaption>\n</figure>\n", xml(caption))
    };
    match (draw(Room::Desk), draw(Room::Phone)) {
        (Some(desk), Some(phone)) => figure("desk", &desk) + &figure("phone", &phone),
        _ => String::new(),
    }
}
