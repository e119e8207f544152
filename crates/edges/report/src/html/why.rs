//! What a step follows from, folded below it, and case splits step by step. Reads without the script, too.

use super::{MAX_LABEL, of_link};
use crate::document::{Case, Excerpt, Link, Premises};
use crate::highlight::Highlight;
use crate::proof_phrases::{NOTHING_LEFT, case_lead, cycle_end, excluded_lead};
use crate::words::prose;

/// What a dependency follows from, to be opened; nothing if it is plain from the history.
pub(super) fn why(premises: &Premises, excerpt: &Excerpt) -> String {
    if premises.is_empty() {
        return String::new();
    }
    let claim = premises.claim.as_ref().map(|it| format!("<p>{}:</p>", prose(it))).unwrap_or_default();
    let links: String = premises.links.iter().map(|it| nested(it, excerpt)).collect();
    let links = if links.is_empty() { links } else { format!("<ol>\n{links}</ol>\n") };
    let cases: String = premises.cases.iter().map(|it| excluded(it, excerpt)).collect();
    let cases = if cases.is_empty() { cases } else { format!("<ul>\n{cases}</ul>\n") };
    format!("<details class=\"why\"><summary>Why?</summary>{claim}{links}{cases}</details>")
}

fn attributes(link: &Link, excerpt: &Excerpt) -> String {
    let highlight = Highlight::of_link(link, excerpt);
    format!("data-links=\"\" data-lit=\"{}\" data-txns=\"{}\"", highlight.ops(), highlight.txns())
}

/// A dependency inside of a derivation.
fn nested(link: &Link, excerpt: &Excerpt) -> String {
    format!(
        "<li {}><code class=\"{}\">{}</code> {}.{}</li>\n",
        attributes(link, excerpt),
        link.kind.word(),
        prose(&link.label(MAX_LABEL)),
        prose(&link.because),
        why(&link.premises, excerpt)
    )
}

/// A possible writer that was none, and why.
fn excluded(case: &Case, excerpt: &Excerpt) -> String {
    let mut inner: String = case.links.iter().map(|it| nested(it, excerpt)).collect();
    if !case.links.is_empty() {
        inner += &format!("<li class=\"end\">{}</li>\n", prose(&cycle_end(&case.links)));
    }
    inner += &case.cases.iter().map(|it| excluded(it, excerpt)).collect::<String>();
    format!(
        "<li {}>{}\n<ol>\n{inner}</ol>\nSo this case is impossible.</li>\n",
        attributes(&case.supposed, excerpt),
        prose(&excluded_lead(case))
    )
}

/// The steps of a case split, one after the other.
pub(super) fn case_steps(excerpt: &Excerpt) -> Vec<String> {
    let mut items = Vec::new();
    add_cases(&excerpt.cases, excerpt, 0, &mut items);
    if !items.is_empty() {
        items.push(format!(
            "<li class=\"contradiction\" data-links=\"\" data-lit=\"\" data-txns=\"\">{NOTHING_LEFT}</li>\n"
        ));
    }
    items
}

fn add_cases(cases: &[Case], excerpt: &Excerpt, depth: usize, items: &mut Vec<String>) {
    for (idx, case) in cases.iter().enumerate() {
        let lead = case_lead(case, idx, cases.len());
        let attributes = attributes(&case.supposed, excerpt);
        items.push(format!("<li class=\"suppose depth-{}\" {attributes}>{}</li>\n", depth.min(4), prose(&lead)));
        let inner = format!("depth-{}", (depth + 1).min(4));
        items.extend(case.links.iter().map(|it| of_link("", it, excerpt, true, &inner)));
        if !case.links.is_empty() {
            let end = prose(&cycle_end(&case.links));
            let txns = Highlight::of_cycle(&case.links, excerpt).txns();
            items.push(format!(
                "<li class=\"end {inner}\" data-links=\"\" data-lit=\"\" data-txns=\"{txns}\">{end}</li>\n"
            ));
        }
        add_cases(&case.cases, excerpt, depth + 1, items);
    }
}
