//! The documents of `separate` and `compare` for a terminal.

use super::{Page, TextOptions, Tone};
use crate::document::Excerpt;
use crate::found::{Found, SpecRefutation, SpecWitness};
use crate::phrases::{
    anomalies, certified_words, claim, compare_headline, effort_line, failures_lead, not_certified, proof_lines,
    relation_words, scope_line, separate_headline, sizes,
};
use crate::search::{CompareReport, Effort, Scope, SeparateReport};
use crate::words::harmless;

/// The document of `separate`: the answer, then each history with its evidence.
pub(crate) fn separate(report: &SeparateReport, options: TextOptions) -> String {
    let mut page = Page::new(options);
    page.tinted_sentence(Tone::Bold, &separate_headline(report));
    for (idx, found) in report.found.iter().enumerate() {
        if report.found.len() > 1 {
            page.gap();
            let (n_txns, n_keys) = sizes(found);
            page.tinted_sentence(Tone::Bold, &format!("History {} ({n_txns}, {n_keys}):", idx + 1));
        }
        page.found(found);
    }
    page.not_certified(report.not_certified.as_ref());
    page.search_foot(&report.inputs, Some(&report.scope), &report.effort, &report.found.iter().collect::<Vec<_>>());
    page.out
}

/// The document of `compare`: the answer, then a history for each direction that fails.
pub(crate) fn compare(report: &CompareReport, options: TextOptions) -> String {
    let mut page = Page::new(options);
    page.tinted_sentence(Tone::Bold, &compare_headline(report));
    let (left, right) = (report.left.name.as_str(), report.right.name.as_str());
    let sides = [(left, right, &report.left_only), (right, left, &report.right_only)];
    for (allows, forbids, found) in sides {
        let Some(found) = found else { continue };
        page.gap();
        let (n_txns, n_keys) = sizes(found);
        let claim = claim(&[allows], &[forbids], "this history");
        page.tinted_sentence(Tone::Bold, &format!("{claim} ({n_txns}, {n_keys}):"));
        page.found(found);
    }
    let directions = [(left, right, &report.left_implies_right), (right, left, &report.right_implies_left)];
    for (stronger, weaker, direction) in directions {
        let Some(proof) = direction.as_ref().and_then(|it| it.proof.as_ref()) else { continue };
        page.gap();
        for line in proof_lines(stronger, weaker, proof) {
            page.sentence("", 4, &line);
        }
        if let Some(only) = direction.as_ref().and_then(|it| it.only.as_ref()) {
            page.sentence("", 4, only);
        }
    }
    let found: Vec<&Found> = sides.iter().filter_map(|it| it.2.as_deref()).collect();
    page.not_certified(report.not_certified.as_ref());
    // Where nothing is bounded, there is no scope.
    let scope = (!report.is_settled()).then_some(&report.scope);
    page.search_foot(&report.inputs, scope, &report.effort, &found);
    page.out
}

impl Page {
    /// A history with its evidence.
    fn found(&mut self, found: &Found) {
        self.gap();
        for line in found.history.lines() {
            self.line(&format!("    {}", harmless(line)));
        }
        for witness in &found.witnesses {
            self.spec_witness(found, witness);
        }
        for refutation in &found.refutations {
            self.spec_refutation(found, refutation);
        }
    }

    fn spec_witness(&mut self, found: &Found, witness: &SpecWitness) {
        self.gap();
        let allowed = self.tinted(Tone::Good, "Allowed");
        self.line(&format!("{allowed} by {}:", harmless(&witness.level)));
        let txns = found.txns();
        for relation in &witness.relations {
            self.sentence("  ", 4, &relation_words(relation, &txns));
        }
    }

    fn spec_refutation(&mut self, found: &Found, refutation: &SpecRefutation) {
        self.gap();
        let forbidden = self.tinted(Tone::Bad, "Forbidden");
        let names = anomalies(refutation);
        self.line(&format!("{forbidden} by {}{}:", harmless(&refutation.level), harmless(&names)));
        self.sentence("  ", 2, &refutation.summary);
        if let Some(local) = &refutation.local {
            self.sentence("  ", 2, &format!("{}.", local.because));
        }
        if !refutation.cycle.is_empty() {
            self.cycle(&Excerpt { cycle: refutation.cycle.clone(), ..found.as_excerpt() });
        }
        if !refutation.failures.is_empty() {
            self.line(&format!("  {}", failures_lead(refutation)));
            let failures = refutation.failures.iter().map(|it| (harmless(&it.witness), it.because.as_str()));
            self.beside(&failures.collect::<Vec<_>>());
        }
        if refutation.omitted > 0 {
            self.line(&format!("    and {} more", refutation.omitted));
        }
    }

    /// That a part of the answer has no certificate by nature.
    pub(super) fn not_certified(&mut self, clause: Option<&String>) {
        if let Some(words) = not_certified(clause) {
            self.gap();
            self.sentence("", 0, &words);
        }
    }

    /// Where was looked, what it took, and whether the evidence was checked.
    pub(super) fn search_foot(&mut self, inputs: &[String], scope: Option<&Scope>, effort: &Effort, found: &[&Found]) {
        self.gap();
        for (level, certified) in found.iter().flat_map(|it| it.certificates()) {
            if let Some(Err(why)) = certified {
                let word = self.tinted(Tone::Bad, "NOT CERTIFIED");
                self.line(&format!("{word}: the evidence for {} is wrong: {}", harmless(level), harmless(why)));
            }
        }
        if let Some(scope) = scope {
            self.tinted_sentence(Tone::Faint, &scope_line(scope));
        }
        let certified = certified_words(found.iter().copied());
        self.tinted_sentence(Tone::Faint, &effort_line(inputs, effort, certified.as_deref()));
    }
}
