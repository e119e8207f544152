//! Found histories for Graphviz: one graph for each level that has something to say.

use super::{Extras, graph, quoted};
use crate::found::Found;
use crate::panel::{Panel, Panels};
use crate::phrases::{compare_headline, separate_headline};
use crate::search::{CompareReport, SeparateReport};

/// The histories of `separate`.
pub(crate) fn separate_dot(report: &SeparateReport) -> String {
    whole(&separate_headline(report), report.found.iter())
}

/// The histories of `compare`.
pub(crate) fn compare_dot(report: &CompareReport) -> String {
    let found = report.left_only.iter().chain(&report.right_only);
    whole(&compare_headline(report), found.map(|it| &**it))
}

/// A graph behind the other; an empty one with the answer if there is no history.
fn whole<'f>(headline: &str, found: impl Iterator<Item = &'f Found>) -> String {
    let graphs: Vec<String> = found.flat_map(|it| Panels::new(it).panels).map(|it| of_panel(&it)).collect();
    if graphs.is_empty() { format!("digraph {} {{\n}}\n", quoted(headline)) } else { graphs.join("\n") }
}

fn of_panel(panel: &Panel) -> String {
    let lines: Vec<String> = [panel.heading.clone()].into_iter().chain(panel.captions.iter().cloned()).collect();
    let order = panel.order.as_ref().map(|it| (it.name.as_str(), it.order.as_slice()));
    graph(&panel.heading, &lines.join("\n"), &panel.excerpt, &Extras { thin: &panel.thin, order, marks: &[] })
}
