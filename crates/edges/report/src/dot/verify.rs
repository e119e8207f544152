//! The document of `verify` for Graphviz: one graph for each shown run.

use super::{Extras, graph, quoted};
use crate::svg::visibility;
use crate::verify::VerifyReport;
use crate::verify_phrases::{faults, headline, titled};

/// The shown runs; an empty graph with the answer if there is none.
pub(crate) fn verify_dot(report: &VerifyReport) -> String {
    let mut graphs: Vec<String> = Vec::new();
    for (level, run) in report.shown() {
        let title = format!("Violated under {}", titled(level));
        let calls = run.transactions.iter().map(|it| format!("{}: {}", it.id, it.call));
        let lines: Vec<String> = [title.clone(), faults(run)].into_iter().chain(calls).collect();
        let order: Vec<String> = run.transactions.iter().map(|it| it.id.clone()).collect();
        let extras = Extras { thin: &visibility(run), order: Some(("order", &order)), marks: &[] };
        graphs.push(graph(&title, &lines.join("\n"), &run.excerpt, &extras));
    }
    if graphs.is_empty() { format!("digraph {} {{\n}}\n", quoted(&headline(report))) } else { graphs.join("\n") }
}
