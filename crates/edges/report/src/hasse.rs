//! The shape of a lattice: which class of levels stands in which layer.

use crate::search::{LatticeEdge, LatticeReport, SpecName};

/// The layer of each class: the longest way down to it from a strongest one.
pub(crate) fn layers(n_classes: usize, pairs: &[(usize, usize)]) -> Vec<usize> {
    let mut layers = vec![0; n_classes];
    // In an order without cycles, no way is longer than there are classes.
    for _ in 0..n_classes {
        for (stronger, weaker) in pairs.iter().filter(|it| it.0 != it.1) {
            layers[*weaker] = layers[*weaker].max((layers[*stronger] + 1).min(n_classes));
        }
    }
    layers
}

/// Each edge as its stronger and its weaker class.
pub(crate) fn pairs(report: &LatticeReport) -> Vec<(usize, usize)> {
    report.edges.iter().map(|it| (it.stronger, it.weaker)).collect()
}

/// The edges that lead down from a class, each with its index.
pub(crate) fn below(report: &LatticeReport, class: usize) -> impl Iterator<Item = (usize, &LatticeEdge)> {
    report.edges.iter().enumerate().filter(move |it| it.1.stronger == class)
}

/// The name that stands for a class: its first.
pub(crate) fn class_name(report: &LatticeReport, class: usize) -> &str {
    report.classes[class].first().map_or("", |it| short_name(report, it))
}

/// `si` for `biswas.si`, unless another level of the lattice is called so, too.
pub(crate) fn short_name<'n>(report: &LatticeReport, name: &'n str) -> &'n str {
    let short = name.rsplit('.').next().unwrap_or(name);
    let is_meant = |it: &SpecName| it.name.rsplit('.').next() == Some(short);
    if short.is_empty() || report.levels.iter().filter(|it| is_meant(it)).count() > 1 { name } else { short }
}

/// The names of a class, each as short as it may be.
pub(crate) fn class_names<'r>(report: &'r LatticeReport, class: &'r [String]) -> Vec<&'r str> {
    class.iter().map(|it| short_name(report, it)).collect()
}
