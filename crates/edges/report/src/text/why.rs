//! What dependencies follow from, in a few lines below each; and case splits.

use super::{Page, Tone, arrow};
use crate::document::{Case, Excerpt, Link, Premises};
use crate::proof_phrases::{NOTHING_LEFT, case_lead, cycle_end, excluded_lead};
use crate::words::width;

/// Below a dependency, more sentences than this are left to the page.
const MAX_BELOW: usize = 6;
/// Case splits with more sentences are left to the page.
const MAX_CASES: usize = 40;

impl Page {
    /// Dependencies, each with its reason, and what that follows from.
    pub(super) fn links(&mut self, links: &[Link], indent: usize) {
        let names: Vec<String> = links.iter().map(arrow).collect();
        let columns = names.iter().map(|it| width(it)).max().unwrap_or(0);
        for (name, link) in names.iter().zip(links) {
            self.reasoned(indent, columns, name, &link.because);
            let sentences = below(&link.premises, 0);
            self.tell(&sentences, indent + 4, MAX_BELOW);
        }
    }

    /// What may be the case, and why each cannot be.
    pub(super) fn cases(&mut self, excerpt: &Excerpt) {
        self.line("  No single cycle says it. A case split does:");
        let mut sentences = Vec::new();
        add_cases(&excerpt.cases, 0, &mut sentences);
        sentences.push((0, NOTHING_LEFT.to_owned()));
        self.tell(&sentences, 4, MAX_CASES);
    }

    /// Sentences, each as deep as it is.
    fn tell(&mut self, sentences: &[(usize, String)], indent: usize, max: usize) {
        for (depth, sentence) in sentences.iter().take(max) {
            let margin = indent + 2 * depth;
            let hanging = margin + if sentence.starts_with("- ") { 2 } else { 0 };
            self.sentence(&" ".repeat(margin), hanging, sentence);
        }
        if sentences.len() > max {
            let more = self.tinted(Tone::Faint, "… and so on; --report FILE.html shows it all");
            self.line(&format!("{}{more}", " ".repeat(indent)));
        }
    }
}

/// What a dependency follows from: sentences with their depth.
fn below(premises: &Premises, depth: usize) -> Vec<(usize, String)> {
    let claim = premises.claim.iter().map(|it| (depth, format!("{it}:")));
    let mut sentences: Vec<(usize, String)> = claim.collect();
    let depth_of_links = depth + sentences.len();
    for link in &premises.links {
        sentences.push((depth_of_links, format!("- {}", link.because)));
        sentences.extend(below(&link.premises, depth_of_links + 1));
    }
    for case in &premises.cases {
        add_case(case, excluded_lead(case), depth, &mut sentences);
    }
    sentences
}

fn add_cases(cases: &[Case], depth: usize, sentences: &mut Vec<(usize, String)>) {
    for (idx, case) in cases.iter().enumerate() {
        add_case(case, case_lead(case, idx, cases.len()), depth, sentences);
    }
}

fn add_case(case: &Case, lead: String, depth: usize, sentences: &mut Vec<(usize, String)>) {
    sentences.push((depth, lead));
    for link in &case.links {
        sentences.push((depth + 1, format!("- {}: {}", arrow(link), link.because)));
        sentences.extend(below(&link.premises, depth + 2));
    }
    if !case.links.is_empty() {
        sentences.push((depth + 1, cycle_end(&case.links)));
    }
    add_cases(&case.cases, depth + 1, sentences);
}
