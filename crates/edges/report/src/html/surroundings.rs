//! What stands around the evidence: the neighbours of a core in lanes, and the whole history in numbers.

use crate::document::{CheckReport, Excerpt, Outcome, Place};
use crate::findings::{Finding, findings};
use crate::notation::{sessions, times};
use crate::surroundings::{CourseUnit, KeySummary, Nearby, Neighbour, SessionSummary, Surroundings};
use crate::svg::course_svg;
use crate::value::Value;
use crate::words::{counted, harmless, prose, shortened, xml};
use std::collections::BTreeSet;

/// With more sessions than this, a lane each would be too narrow.
const MAX_LANES: usize = 5;
const MAX_NAME: usize = 24;
/// Up to so many transactions say more than numbers about them.
const MAX_PLAIN: u64 = 40;

/// The neighbours of a core; nothing if the document does not have them.
pub(super) fn around(report: &CheckReport, finding: &Finding<'_>) -> String {
    let is_meant = |it: &&Nearby| finding.levels.iter().any(|level| it.levels.contains(&level.short));
    let Some(surroundings) = &report.surroundings else { return String::new() };
    let Some(near) = surroundings.near.iter().find(is_meant) else { return String::new() };
    let n_all = report.history.map_or(0, |it| it.transactions);
    let n_shown = near.transactions.len() as u64;
    let title = if n_shown == n_all {
        format!("all {}", counted(n_all, "transaction"))
    } else {
        format!("{n_shown} of {}", counted(n_all, "transaction"))
    };
    let order = match surroundings.course.by {
        CourseUnit::Time => "in the order in which they began",
        CourseUnit::Position => "in the order of the input",
    };
    let lanes = Lanes::new(finding.core);
    format!(
        "<details class=\"around\">\n<summary>Around it: {title}</summary>\n<p>The core and its neighbours, {order}. \
         Open one to see more of it.</p>\n<p class=\"filter\" hidden=\"\"><label>Filter by session, key or \
         value <input type=\"search\"/></label> <output aria-live=\"polite\"></output></p>\n\
         <ol class=\"lanes\" style=\"--lanes:{}\">\n{}{}</ol>\n</details>\n",
        lanes.count(),
        lanes.head(),
        rows(near, &lanes, n_all)
    )
}

/// A lane for each session of a core, and one for all others.
struct Lanes<'p> {
    /// Nothing if they would be too narrow.
    names: Vec<&'p str>,
}

impl<'p> Lanes<'p> {
    fn new(excerpt: &'p Excerpt) -> Self {
        let names = sessions(excerpt);
        Self { names: if names.len() <= MAX_LANES { names } else { Vec::new() } }
    }

    fn count(&self) -> usize {
        self.names.len() + 1
    }

    /// The lane of a session, from 1.
    fn lane(&self, session: &str) -> usize {
        self.names.iter().position(|it| *it == session).unwrap_or(self.names.len()) + 1
    }

    fn head(&self) -> String {
        if self.names.is_empty() {
            return String::new();
        }
        let name = |it: &&str| format!("<b>{}</b>", prose(&shortened(&harmless(it), MAX_NAME)));
        let names: Vec<String> = self.names.iter().map(name).collect();
        format!("<li class=\"head\" aria-hidden=\"true\"><span></span>{}<b>others</b></li>\n", names.concat())
    }
}

fn rows(near: &Nearby, lanes: &Lanes<'_>, n_all: u64) -> String {
    let mut out = String::new();
    let mut expected = 0;
    for neighbour in &near.transactions {
        out += &gap(neighbour.position.saturating_sub(expected));
        out += &row(neighbour, lanes);
        expected = neighbour.position.saturating_add(1);
    }
    out + &gap(usize::try_from(n_all).unwrap_or(0).saturating_sub(expected))
}

fn gap(n_between: usize) -> String {
    if n_between == 0 {
        return String::new();
    }
    format!("<li class=\"gap\">⋮ {}</li>\n", counted(n_between as u64, "other"))
}

fn row(neighbour: &Neighbour, lanes: &Lanes<'_>) -> String {
    let txn = &neighbour.transaction;
    let place = txn.place.as_ref().and_then(Place::position).unwrap_or_default();
    let lit = if neighbour.is_in_core { " class=\"lit\"" } else { "" };
    let ops: Vec<String> = txn.ops.iter().map(|it| prose(&it.to_string())).collect();
    let more = if neighbour.omitted_ops > 0 { format!(" … {} more", neighbour.omitted_ops) } else { String::new() };
    let mut words: Vec<String> = neighbour.notes.clone();
    words.extend((txn.outcome != Outcome::Committed).then(|| txn.outcome.word().to_owned()));
    words.extend(times(txn).map(|it| format!("times {it}")));
    words.extend((!place.is_empty()).then(|| place.clone()));
    let mark = txn.outcome.mark().map(|it| format!(" <i>{it}</i>")).unwrap_or_default();
    format!(
        "<li{lit} style=\"--lane:{}\"><span>{}</span><details><summary><b>{}</b>{mark} <code>{}{more}</code></summary>\
         {}</details></li>\n",
        lanes.lane(&txn.session),
        xml(&place),
        prose(&txn.id),
        ops.join(" "),
        prose(&words.join("; "))
    )
}

/// The whole history in numbers; nothing if the document does not have them, or if every transaction is shown.
pub(super) fn summary(report: &CheckReport) -> String {
    let Some(surroundings) = &report.surroundings else { return String::new() };
    let n_all = report.history.map_or(0, |it| it.transactions);
    if n_all <= MAX_PLAIN && surroundings.near.iter().any(|it| it.transactions.len() as u64 == n_all) {
        return String::new();
    }
    let cores: Vec<&Excerpt> = findings(report).iter().map(|it| it.core).collect();
    format!(
        "<section id=\"history\" class=\"history\">\n<h2>Whole history</h2>\n<figure class=\"course\">\n{}</figure>\n\
         <details>\n<summary>Sessions and keys</summary>\n<div class=\"panels\">\n{}{}</div>\n</details>\n</section>\n",
        course_svg(&surroundings.course),
        session_table(surroundings, &cores),
        key_table(surroundings, &cores)
    )
}

fn session_table(surroundings: &Surroundings, cores: &[&Excerpt]) -> String {
    let lit: BTreeSet<&str> = cores.iter().flat_map(|it| &it.transactions).map(|it| it.session.as_str()).collect();
    let mut out = "<table>\n<thead><tr><th>session</th><th>transactions</th><th>operations</th><th>where</th></tr>\
                   </thead>\n<tbody>\n"
        .to_owned();
    for session in &surroundings.sessions {
        let class = if lit.contains(session.name.as_str()) { " class=\"lit\"" } else { "" };
        out += &format!(
            "<tr{class}><td><b>{}</b></td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
            prose(&shortened(&harmless(&session.name), MAX_NAME)),
            outcomes(session),
            session.operations,
            xml(&stretch(session))
        );
    }
    out += &more(surroundings.omitted_sessions, "session", 4);
    format!("<div class=\"panel\">\n{out}</tbody>\n</table>\n</div>\n")
}

/// `20, 3 of them aborted`.
fn outcomes(session: &SessionSummary) -> String {
    let others = [(session.aborted, "aborted"), (session.unknown, "unknown")];
    let others: Vec<String> = others.iter().filter(|it| it.0 > 0).map(|(n, word)| format!(", {n} {word}")).collect();
    format!("{}{}", session.transactions(), others.concat())
}

/// `line 1 to line 99`.
fn stretch(session: &SessionSummary) -> String {
    let position = |it: &Option<Place>| it.as_ref().and_then(Place::position);
    match (position(&session.first), position(&session.last)) {
        (Some(first), Some(last)) if first == last => first,
        (Some(first), Some(last)) => format!("{first} to {}", last.trim_start_matches("line ")),
        _ => String::new(),
    }
}

fn key_table(surroundings: &Surroundings, cores: &[&Excerpt]) -> String {
    let lit: BTreeSet<&Value> = cores.iter().flat_map(|it| &it.initial).map(|it| &it.key).collect();
    let mut out = "<table>\n<thead><tr><th>key</th><th>reads</th><th>writes</th></tr></thead>\n<tbody>\n".to_owned();
    for KeySummary { key, reads, writes } in &surroundings.keys {
        let class = if lit.contains(key) { " class=\"lit\"" } else { "" };
        out +=
            &format!("<tr{class}><td><b>{}</b></td><td>{reads}</td><td>{writes}</td></tr>\n", prose(&key.to_string()));
    }
    out += &more(surroundings.omitted_keys, "key", 3);
    format!("<div class=\"panel\">\n{out}</tbody>\n</table>\n</div>\n")
}

fn more(n_omitted: usize, noun: &str, n_columns: usize) -> String {
    if n_omitted == 0 {
        return String::new();
    }
    format!("<tr><td colspan=\"{n_columns}\">… {} more</td></tr>\n", counted(n_omitted as u64, noun))
}
