//! The document for Graphviz: one graph for each distinct refutation.

use crate::document::{CheckReport, Link, Part, Transaction};
use crate::findings::{Finding, findings};
use crate::notation::{sessions, times};
use crate::words::{harmless, shortened};

/// Longer operations, and more of them, are shortened.
const MAX_OP: usize = 60;
const MAX_OPS: usize = 24;

/// The refutations of a report as DOT, a graph behind the other; an empty graph if there is none.
pub fn dot(report: &CheckReport) -> String {
    let graphs: Vec<String> = findings(report).iter().map(graph).collect();
    if graphs.is_empty() { "digraph \"nothing is forbidden\" {\n}\n".to_owned() } else { graphs.join("\n") }
}

fn graph(finding: &Finding<'_>) -> String {
    let part = finding.part;
    let mut out = format!("digraph {} {{\n", quoted(finding.title()));
    let caption = format!("{}, forbidden by {}\n{}", finding.title(), finding.level_names(), part.summary);
    out += &format!("  graph [rankdir=LR, labelloc=t, fontname=\"Helvetica\", label={}];\n", quoted(&caption));
    out += "  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"Courier\"];\n";
    out += "  edge [fontname=\"Courier\"];\n";
    for (idx, session) in sessions(part).into_iter().enumerate() {
        out += &format!("  subgraph cluster_{idx} {{\n    label={};\n    color=\"#d0d7de\";\n", quoted(session));
        for txn in part.transactions.iter().filter(|it| it.session == session) {
            out += &format!("    {}\n", node(txn));
        }
        out += "  }\n";
    }
    let links = || part.cycle.iter().chain(part.local.iter().flat_map(|it| &it.links));
    if links().any(|it| it.from == "init") {
        out += &initial(part);
    }
    for link in links() {
        out += &format!("  {}\n", edge(link));
    }
    out + "}\n"
}

fn node(txn: &Transaction) -> String {
    let place = txn.place.as_ref().and_then(crate::Place::position).map(|it| format!(" ({it})")).unwrap_or_default();
    let mark = txn.outcome.mark().map(|_| format!(" {}", txn.outcome.word())).unwrap_or_default();
    let mut lines = vec![format!("{}{place}{mark}", txn.id)];
    lines.extend(times(txn));
    lines.extend(txn.ops.iter().take(MAX_OPS).map(|it| shortened(it, MAX_OP)));
    if txn.ops.len() > MAX_OPS {
        lines.push(format!("… {} more", txn.ops.len() - MAX_OPS));
    }
    let style = if mark.is_empty() { "" } else { ", style=\"rounded,filled,dashed\"" };
    format!("{} [label={}{style}];", quoted(&txn.id), left_aligned(&lines))
}

fn initial(part: &Part) -> String {
    let mut lines = vec!["initial state".to_owned()];
    lines.extend(part.initial.iter().map(|(key, value)| format!("{key}={value}")));
    format!("  \"init\" [label={}];\n", left_aligned(&lines))
}

fn edge(link: &Link) -> String {
    let label = match &link.key {
        Some(key) => format!("{} {key}", link.kind),
        None => link.kind.clone(),
    };
    let style = match link.kind.as_str() {
        "wr" => "color=\"#1a7f37\", fontcolor=\"#1a7f37\"",
        "ww" => "color=\"#0969da\", fontcolor=\"#0969da\"",
        "rw" => "color=\"#cf222e\", fontcolor=\"#cf222e\", style=dashed",
        "rt" => "color=\"#6e7781\", fontcolor=\"#6e7781\", style=dotted",
        _ => "color=\"#6e7781\", fontcolor=\"#6e7781\"",
    };
    let (from, to) = (quoted(&link.from), quoted(&link.to));
    format!("{from} -> {to} [label={}, tooltip={}, {style}];", quoted(&label), quoted(&link.because))
}

/// A string of DOT. Lines of the text stay lines.
fn quoted(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(escaped).collect();
    format!("\"{}\"", lines.join("\\n"))
}

/// A label whose lines start at the left.
fn left_aligned(lines: &[String]) -> String {
    let lines: Vec<String> = lines.iter().map(|it| escaped(it)).collect();
    format!("\"{}\\l\"", lines.join("\\l"))
}

fn escaped(text: &str) -> String {
    harmless(text).replace('\\', "\\\\").replace('"', "\\\"")
}
