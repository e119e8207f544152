//! A lattice for Graphviz: classes as boxes, the strongest at the top.

use super::quoted;
use crate::hasse::{class_name, class_names};
use crate::phrases::{anomalies, claim, lattice_headline, sizes};
use crate::search::{LatticeEdge, LatticeReport, Sureness};

/// The Hasse diagram.
pub(crate) fn lattice_dot(report: &LatticeReport) -> String {
    let mut out = "digraph \"lattice\" {\n".to_owned();
    let headline = quoted(&lattice_headline(report));
    out += &format!("  graph [rankdir=TB, labelloc=t, fontname=\"Helvetica\", label={headline}];\n");
    out += "  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"Courier\"];\n";
    out += "  edge [fontname=\"Helvetica\", fontsize=10, color=\"#6e7781\", fontcolor=\"#6e7781\"];\n";
    for (idx, class) in report.classes.iter().enumerate() {
        out += &format!("  class_{idx} [label={}];\n", quoted(&class_names(report, class).join("\n")));
    }
    for edge in &report.edges {
        out += &format!("  {}\n", line(report, edge));
    }
    if !report.implications.is_empty() {
        out += "  legend [shape=plaintext, style=\"\", fontname=\"Helvetica\", label=\"green: proved for every size\\norange, dashed: only up to the scope\"];\n";
    }
    out + "}\n"
}

fn line(report: &LatticeReport, edge: &LatticeEdge) -> String {
    let (stronger, weaker) = (class_name(report, edge.stronger), class_name(report, edge.weaker));
    let names = edge.found.refutations.iter().map(anomalies).find(|it| !it.is_empty()).unwrap_or_default();
    let (n_txns, n_keys) = sizes(&edge.found);
    format!(
        "class_{} -> class_{} [label={}, tooltip={}{}];",
        edge.stronger,
        edge.weaker,
        quoted(&format!("{n_txns},\n{n_keys}")),
        quoted(&format!("{}{names}\n{}", claim(&[weaker], &[stronger], "this"), edge.found.history.trim_end())),
        match report.sureness_of_edge(edge) {
            Sureness::Unasked => "",
            Sureness::Proved => ", color=\"#1a7f37\"",
            Sureness::Bounded => ", color=\"#bc4c00\", style=dashed",
        }
    )
}
