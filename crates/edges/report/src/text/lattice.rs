//! The document of `lattice` for a terminal: layers from the strongest levels to the weakest, then the histories
//! between them.

use super::{Page, TextOptions, Tone, padded};
use crate::found::Found;
use crate::hasse::{below, class_name, class_names, layers, pairs, short_name};
use crate::phrases::{anomalies, claim, lattice_headline, lattice_proof_lines, sizes};
use crate::search::{LatticeEdge, LatticeReport};
use crate::words::{harmless, width};

/// Longer lists of open pairs say little more.
const MAX_UNKNOWN: usize = 10;

/// The document of `lattice`.
pub(crate) fn lattice(report: &LatticeReport, options: TextOptions) -> String {
    let mut page = Page::new(options);
    page.tinted_sentence(Tone::Bold, &lattice_headline(report));
    page.drawing(report);
    page.coinciding(report);
    page.unknown_pairs(report);
    for (idx, edge) in report.edges.iter().enumerate() {
        page.edge(report, idx, edge);
    }
    let found: Vec<&Found> = report.edges.iter().map(|it| &it.found).collect();
    let proofs = lattice_proof_lines(report);
    if !proofs.is_empty() {
        page.gap();
        for line in &proofs {
            page.sentence("", 2, line);
        }
    }
    page.not_certified(report.not_certified.as_ref());
    // Where nothing is bounded, there is no scope.
    let scope = (!report.is_settled()).then_some(&report.scope);
    page.search_foot(&report.inputs, scope, &report.effort, &found);
    page.out
}

impl Page {
    /// A block a layer; below each class what it implies directly.
    fn drawing(&mut self, report: &LatticeReport) {
        self.gap();
        self.sentence("", 0, "Strongest first. An arrow points to what is implied directly:");
        let layers = layers(report.classes.len(), &pairs(report));
        let names = report.edges.iter().map(|it| width(&harmless(class_name(report, it.weaker))));
        let columns = names.max().unwrap_or(0);
        for layer in 0..layers.iter().max().map_or(0, |it| it + 1) {
            self.gap();
            for class in (0..layers.len()).filter(|it| layers[*it] == layer) {
                self.sentence("  ", 6, &class_names(report, &report.classes[class]).join(" = "));
                for (idx, edge) in below(report, class) {
                    let name = padded(class_name(report, edge.weaker), columns);
                    self.line(&format!("    -> {name}  #{}: {}", idx + 1, size(&edge.found)));
                }
            }
        }
    }

    fn coinciding(&mut self, report: &LatticeReport) {
        let shared: Vec<&Vec<String>> = report.classes.iter().filter(|it| it.len() > 1).collect();
        if shared.is_empty() {
            return;
        }
        self.gap();
        self.line("These definitions are equivalent:");
        for class in shared {
            self.sentence("  ", 6, &class_names(report, class).join(" = "));
        }
    }

    fn unknown_pairs(&mut self, report: &LatticeReport) {
        if report.unknown.is_empty() {
            return;
        }
        self.gap();
        let word = self.tinted(Tone::Unsure, "Unknown");
        self.line(&format!("{word} how these relate:"));
        for pair in report.unknown.iter().take(MAX_UNKNOWN) {
            let (left, right) = (short_name(report, &pair.left), short_name(report, &pair.right));
            self.sentence("  ", 4, &format!("{left} and {right}: {}", pair.reason));
        }
        if report.unknown.len() > MAX_UNKNOWN {
            self.line(&format!("  and {} more pairs", report.unknown.len() - MAX_UNKNOWN));
        }
    }

    /// What separates two neighbours.
    fn edge(&mut self, report: &LatticeReport, idx: usize, edge: &LatticeEdge) {
        self.gap();
        let (stronger, weaker) = (class_name(report, edge.stronger), class_name(report, edge.weaker));
        let names = edge.found.refutations.iter().map(anomalies).find(|it| !it.is_empty()).unwrap_or_default();
        let columns = format!("#{}", report.edges.len()).len();
        let number = self.tinted(Tone::Bold, &format!("{:<columns$}", format!("#{}", idx + 1)));
        let indent = columns + 2;
        self.sentence(&format!("{number}  "), indent, &format!("{}{names}:", claim(&[weaker], &[stronger], "this")));
        self.flowing_history(&edge.found, indent);
    }

    /// A history on few lines: as many sessions on each as there is room for.
    fn flowing_history(&mut self, found: &Found, indent: usize) {
        let room = self.options.columns.unwrap_or(100).max(24);
        let mut line = String::new();
        for piece in found.history.lines().map(harmless) {
            if !line.is_empty() && indent + width(&line) + 3 + width(&piece) > room {
                self.line(&format!("{:indent$}{line}", ""));
                line.clear();
            }
            let gap = if line.is_empty() { "" } else { "   " };
            line += &format!("{gap}{piece}");
        }
        self.line(&format!("{:indent$}{line}", ""));
    }
}

/// `2 transactions, 2 keys`.
fn size(found: &Found) -> String {
    let (n_txns, n_keys) = sizes(found);
    format!("{n_txns}, {n_keys}")
}
