//! The document of `check` for Graphviz: one graph for each distinct refutation.

use super::{Extras, graph};
use crate::document::CheckReport;
use crate::findings::{Finding, findings};

/// The refutations of a report as DOT, a graph behind the other; an empty graph if there is none.
pub fn dot(report: &CheckReport) -> String {
    let graphs: Vec<String> = findings(report).iter().map(of_finding).collect();
    if graphs.is_empty() { "digraph \"nothing is forbidden\" {\n}\n".to_owned() } else { graphs.join("\n") }
}

fn of_finding(finding: &Finding<'_>) -> String {
    let caption = format!("{}, forbidden by {}\n{}", finding.title(), finding.level_names(), finding.core.summary);
    graph(finding.title(), &caption, finding.core, &Extras::default())
}
