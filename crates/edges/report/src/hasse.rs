//! The shape of a lattice: which class of levels stands in which layer.

use crate::search::{LatticeEdge, LatticeReport};

/// The layer of each class: the longest way down to it from a strongest one.
pub(crate) fn layers(report: &LatticeReport) -> Vec<usize> {
    let mut layers = vec![0; report.classes.len()];
    // In an order without circles, no way is longer than there are classes.
    for _ in 0..layers.len() {
        for edge in report.edges.iter().filter(|it| it.stronger != it.weaker) {
            layers[edge.weaker] = layers[edge.weaker].max((layers[edge.stronger] + 1).min(report.classes.len()));
        }
    }
    layers
}

/// The edges that lead down from a class, each with its index.
pub(crate) fn below(report: &LatticeReport, class: usize) -> impl Iterator<Item = (usize, &LatticeEdge)> {
    report.edges.iter().enumerate().filter(move |it| it.1.stronger == class)
}

/// The name that stands for a class: its first.
pub(crate) fn class_name(report: &LatticeReport, class: usize) -> &str {
    report.classes[class].first().map_or("", String::as_str)
}
