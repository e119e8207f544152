//! Documents for Graphviz.

mod allocate;
mod check;
mod lattice;
mod predict;
mod runs;
mod search;
mod verify;

pub(crate) use allocate::allocate_dot;
pub use check::dot;
pub(crate) use lattice::lattice_dot;
pub(crate) use predict::predict_dot;
pub(crate) use runs::{collect_dot, demo_dot, hunt_dot, replay_dot, store_dot};
pub(crate) use search::{compare_dot, separate_dot};
pub(crate) use verify::verify_dot;

use crate::arrow::{Arrow, ArrowKind};
use crate::document::{Excerpt, LinkKind, Transaction, TxnRef};
use crate::mark::{Mark, mark_on};
use crate::notation::{sessions, times};
use crate::value::held;
use crate::words::{harmless, shortened};

/// Longer operations, and more of them, are shortened.
const MAX_OP: usize = 60;
const MAX_OPS: usize = 24;

/// What a graph of a history shows besides its excerpt.
#[derive(Default)]
struct Extras<'a> {
    /// Arrows besides the excerpt's own.
    thin: &'a [Arrow],
    /// The name of an order, and the transactions in it, which are numbered.
    order: Option<(&'a str, &'a [String])>,
    /// Operations that stand out.
    marks: &'a [Mark],
}

/// A history as a graph: sessions as clusters, arrows for dependencies.
fn graph(title: &str, caption: &str, excerpt: &Excerpt, extras: &Extras<'_>) -> String {
    let mut out = format!("digraph {} {{\n", quoted(title));
    out += &format!("  graph [rankdir=LR, labelloc=t, fontname=\"Helvetica\", label={}];\n", quoted(caption));
    out += "  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"Courier\"];\n";
    out += "  edge [fontname=\"Courier\"];\n";
    for (idx, session) in sessions(excerpt).into_iter().enumerate() {
        out += &format!("  subgraph cluster_{idx} {{\n    label={};\n    color=\"#d0d7de\";\n", quoted(session));
        for txn in excerpt.transactions.iter().filter(|it| it.session == session) {
            out += &format!("    {}\n", node(txn, extras));
        }
        out += "  }\n";
    }
    let links = excerpt.cycle.iter().chain(excerpt.local.iter().flat_map(|it| &it.links));
    let strong: Vec<Arrow> = links.map(Arrow::from).collect();
    if strong.iter().chain(extras.thin).any(|it| it.from == TxnRef::Initial) {
        out += &initial(excerpt);
    }
    for arrow in &strong {
        out += &format!("  {}\n", edge(arrow, ""));
    }
    for arrow in extras.thin {
        out += &format!("  {}\n", edge(arrow, ", penwidth=0.7"));
    }
    out + "}\n"
}

fn node(txn: &Transaction, extras: &Extras<'_>) -> String {
    let place = txn.place.as_ref().and_then(crate::Place::position).map(|it| format!(" ({it})")).unwrap_or_default();
    let mark = txn.outcome.mark().map(|_| format!(" {}", txn.outcome.word())).unwrap_or_default();
    let mut lines = vec![format!("{}{place}{mark}{}", txn.id, number(txn, extras))];
    lines.extend(times(txn));
    for (idx, op) in txn.ops.iter().enumerate().take(MAX_OPS) {
        let mark = mark_on(extras.marks, &txn.id, idx).map(|it| format!("  {}", it.words())).unwrap_or_default();
        lines.push(shortened(&format!("{op}{mark}"), MAX_OP));
    }
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

fn initial(excerpt: &Excerpt) -> String {
    let mut lines = vec!["initial state".to_owned()];
    lines.extend(excerpt.initial.iter().map(|it| held(&it.key, &it.value.to_string())));
    format!("  \"init\" [label={}];\n", left_aligned(&lines))
}

fn edge(arrow: &Arrow, more: &str) -> String {
    let label = arrow.label(MAX_OP);
    let style = match arrow.kind {
        ArrowKind::Dependency(LinkKind::ReadFrom) => "color=\"#1a7f37\", fontcolor=\"#1a7f37\"",
        ArrowKind::Dependency(LinkKind::VersionOrder) => "color=\"#0969da\", fontcolor=\"#0969da\"",
        ArrowKind::Dependency(LinkKind::AntiDependency) => "color=\"#cf222e\", fontcolor=\"#cf222e\", style=dashed",
        ArrowKind::Dependency(LinkKind::RealTime) => "color=\"#6e7781\", fontcolor=\"#6e7781\", style=dotted",
        ArrowKind::Dependency(LinkKind::SessionOrder) => "color=\"#6e7781\", fontcolor=\"#6e7781\"",
        ArrowKind::Relation(_) => "color=\"#8250df\", fontcolor=\"#8250df\"",
    };
    let (from, to) = (quoted(arrow.from.name()), quoted(arrow.to.name()));
    format!("{from} -> {to} [label={}, tooltip={}, {style}{more}];", quoted(&label), quoted(&arrow.because))
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
