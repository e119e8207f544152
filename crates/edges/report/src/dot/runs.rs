//! The documents of `hunt` and `demo` for Graphviz: what `check` says about what they recorded.

use super::{dot, quoted};
use crate::collect::CollectReport;
use crate::collect_phrases;
use crate::demo::DemoReport;
use crate::hunt::HuntReport;
use crate::hunt_phrases;
use crate::replay::ReplayReport;
use crate::store::StoreReport;

/// A run over time is no graph: an empty one that says what ran.
pub(crate) fn collect_dot(report: &CollectReport) -> String {
    empty(&collect_phrases::headline(report))
}

/// What was found; an empty graph with the answer if that is nothing.
pub(crate) fn hunt_dot(report: &HuntReport) -> String {
    let graphs: Vec<String> = report.findings.iter().map(|it| dot(&it.check)).collect();
    if graphs.is_empty() { empty(&hunt_phrases::headline(report)) } else { graphs.join("\n") }
}

/// What was shown; an empty graph with the answer if that is nothing.
pub(crate) fn replay_dot(report: &ReplayReport) -> String {
    report.check.as_ref().map_or_else(|| empty(&report.headline()), |it| dot(it))
}

/// What is forbidden of what each database did.
pub(crate) fn demo_dot(report: &DemoReport) -> String {
    report.acts.iter().map(|it| dot(&it.check)).collect::<Vec<_>>().join("\n")
}

/// What an application did is no graph either.
pub(crate) fn store_dot(report: &StoreReport) -> String {
    empty(&report.headline())
}

fn empty(title: &str) -> String {
    format!("digraph {} {{\n}}\n", quoted(title))
}
