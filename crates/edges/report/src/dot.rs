//! Documents for Graphviz.

mod check;
mod lattice;
mod predict;
mod runs;
mod search;
mod verify;

pub use check::dot;
pub(crate) use lattice::lattice_dot;
pub(crate) use predict::predict_dot;
pub(crate) use runs::{collect_dot, demo_dot, hunt_dot, store_dot};
pub(crate) use search::{compare_dot, separate_dot};
pub(crate) use verify::verify_dot;

use crate::document::{Link, Part, Transaction};
use crate::notation::{sessions, times};
use crate::words::{harmless, shortened};

/// Longer operations, and more of them, are shortened.
const MAX_OP: usize = 60;
const MAX_OPS: usize = 24;

/// What a graph of a history shows besides its part.
#[derive(Default)]
struct Extras<'a> {
    /// Arrows besides the part's own.
    thin: &'a [Link],
    /// The name of an order, and the transactions in it, which are numbered.
    order: Option<(&'a str, &'a [String])>,
}

/// A history as a graph: sessions as clusters, arrows for dependencies.
fn graph(title: &str, caption: &str, part: &Part, extras: &Extras<'_>) -> String {
    let mut out = format!("digraph {} {{\n", quoted(title));
    out += &format!("  graph [rankdir=LR, labelloc=t, fontname=\"Helvetica\", label={}];\n", quoted(caption));
    out += "  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"Courier\"];\n";
    out += "  edge [fontname=\"Courier\"];\n";
    for (idx, session) in sessions(part).into_iter().enumerate() {
        out += &format!("  subgraph cluster_{idx} {{\n    label={};\n    color=\"#d0d7de\";\n", quoted(session));
        for txn in part.transactions.iter().filter(|it| it.session == session) {
            out += &format!("    {}\n", node(txn, extras));
        }
        out += "  }\n";
    }
    let links = || part.cycle.iter().chain(part.local.iter().flat_map(|it| &it.links));
    if links().chain(extras.thin).any(|it| it.from == "init") {
        out += &initial(part);
    }
    for link in links() {
        out += &format!("  {}\n", edge(link, ""));
    }
    for link in extras.thin {
        out += &format!("  {}\n", edge(link, ", penwidth=0.7"));
    }
    out + "}\n"
}

fn node(txn: &Transaction, extras: &Extras<'_>) -> String {
    let place = txn.place.as_ref().and_then(crate::Place::position).map(|it| format!(" ({it})")).unwrap_or_default();
    let mark = txn.outcome.mark().map(|_| format!(" {}", txn.outcome.word())).unwrap_or_default();
    let mut lines = vec![format!("{}{place}{mark}{}", txn.id, number(txn, extras))];
    lines.extend(times(txn));
    lines.extend(txn.ops.iter().take(MAX_OPS).map(|it| shortened(it, MAX_OP)));
    if txn.ops.len() > MAX_OPS {
        lines.push(format!("… {} more", txn.ops.len() - MAX_OPS));
    }
    let style = if mark.is_empty() { "" } else { ", style=\"rounded,filled,dashed\"" };
    format!("{} [label={}{style}];", quoted(&txn.id), left_aligned(&lines))
}

/// The place of a transaction in the order, behind its name.
fn number(txn: &Transaction, extras: &Extras<'_>) -> String {
    let Some((name, order)) = extras.order else { return String::new() };
    order.iter().position(|it| *it == txn.id).map(|it| format!(" ({name} {})", it + 1)).unwrap_or_default()
}

fn initial(part: &Part) -> String {
    let mut lines = vec!["initial state".to_owned()];
    lines.extend(part.initial.iter().map(|(key, value)| format!("{key}={value}")));
    format!("  \"init\" [label={}];\n", left_aligned(&lines))
}

fn edge(link: &Link, more: &str) -> String {
    let label = match &link.key {
        Some(key) => format!("{} {key}", link.kind),
        None => link.kind.clone(),
    };
    let style = match link.kind.as_str() {
        "wr" => "color=\"#1a7f37\", fontcolor=\"#1a7f37\"",
        "ww" => "color=\"#0969da\", fontcolor=\"#0969da\"",
        "rw" => "color=\"#cf222e\", fontcolor=\"#cf222e\", style=dashed",
        "rt" => "color=\"#6e7781\", fontcolor=\"#6e7781\", style=dotted",
        "so" => "color=\"#6e7781\", fontcolor=\"#6e7781\"",
        _ => "color=\"#8250df\", fontcolor=\"#8250df\"",
    };
    let (from, to) = (quoted(&link.from), quoted(&link.to));
    format!("{from} -> {to} [label={}, tooltip={}, {style}{more}];", quoted(&label), quoted(&link.because))
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
