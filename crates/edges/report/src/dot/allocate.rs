//! The document of `allocate` for Graphviz: transactions as nodes, and the dangerous structures between them.

use super::quoted;
use crate::allocate::AllocateReport;

pub(crate) fn allocate_dot(report: &AllocateReport) -> String {
    let mut out = format!("digraph {} {{\n", quoted(&report.headline()));
    for txn in &report.transactions {
        let level = txn.level.as_ref().map_or("none", |it| it.short.as_str());
        out += &format!("  {} [label={}];\n", quoted(&txn.name), quoted(&format!("{}\n{level}", txn.name)));
    }
    for (_, blocked) in report.shown() {
        for edge in &blocked.cycle {
            out += &format!(
                "  {} -> {} [color=red, label={}];\n",
                quoted(&edge.from),
                quoted(&edge.to),
                quoted(&edge.before.text)
            );
        }
    }
    out + "}\n"
}
