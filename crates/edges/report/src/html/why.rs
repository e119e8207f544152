//! What a step follows from, folded below it, and case distinctions step by step. Reads without the script, too.

use super::of_link;
use crate::document::{Case, Link, Part, Premises};
use crate::lit::Lit;
use crate::proof_phrases::{NOTHING_LEFT, case_lead, cycle_end};
use crate::words::{prose, xml};

/// What a dependency follows from, to be opened; nothing if it is plain from the history.
pub(super) fn why(premises: &Premises, part: &Part) -> String {
    if premises.is_empty() {
        return String::new();
    }
    let claim = premises.claim.as_ref().map(|it| format!("<p>{}:</p>", prose(it))).unwrap_or_default();
    let links: String = premises.links.iter().map(|it| nested(it, part)).collect();
    let links = if links.is_empty() { links } else { format!("<ol>\n{links}</ol>\n") };
    let cases: String = premises.cases.iter().map(|it| excluded(it, part)).collect();
    let cases = if cases.is_empty() { cases } else { format!("<ul>\n{cases}</ul>\n") };
    format!("<details class=\"why\"><summary>Why?</summary>{claim}{links}{cases}</details>")
}

fn attributes(link: &Link, part: &Part) -> String {
    let lit = Lit::of_link(link, part);
    format!("data-links=\"\" data-lit=\"{}\" data-txns=\"{}\"", lit.ops(), lit.txns())
}

/// A dependency inside of a derivation.
fn nested(link: &Link, part: &Part) -> String {
    let key = link.key.as_ref().map(|it| format!(" {it}")).unwrap_or_default();
    format!(
        "<li {}><code class=\"{}\">{}</code> {}.{}</li>\n",
        attributes(link, part),
        xml(&link.kind),
        prose(&format!("{}{key}", link.kind)),
        prose(&link.because),
        why(&link.premises, part)
    )
}

/// A possible writer that was none, and why.
fn excluded(case: &Case, part: &Part) -> String {
    let mut inner: String = case.links.iter().map(|it| nested(it, part)).collect();
    if !case.links.is_empty() {
        inner += &format!("<li class=\"end\">{}</li>\n", prose(&cycle_end(&case.links)));
    }
    inner += &case.cases.iter().map(|it| excluded(it, part)).collect::<String>();
    format!(
        "<li {}>Suppose instead that {}.\n<ol>\n{inner}</ol>\nSo it is not so.</li>\n",
        attributes(&case.supposed, part),
        prose(&case.supposed.because)
    )
}

/// The steps of a case distinction, one after the other.
pub(super) fn case_steps(part: &Part) -> Vec<String> {
    let mut items = Vec::new();
    add_cases(&part.cases, part, 0, &mut items);
    if !items.is_empty() {
        items.push(format!(
            "<li class=\"contradiction\" data-links=\"\" data-lit=\"\" data-txns=\"\">{NOTHING_LEFT}</li>\n"
        ));
    }
    items
}

fn add_cases(cases: &[Case], part: &Part, depth: usize, items: &mut Vec<String>) {
    for (idx, case) in cases.iter().enumerate() {
        let lead = case_lead(case, idx, cases.len());
        let attributes = attributes(&case.supposed, part);
        items.push(format!("<li class=\"suppose depth-{}\" {attributes}>{}</li>\n", depth.min(4), prose(&lead)));
        let inner = format!("depth-{}", (depth + 1).min(4));
        items.extend(case.links.iter().map(|it| of_link("", it, part, true, &inner)));
        if !case.links.is_empty() {
            let end = prose(&cycle_end(&case.links));
            let txns = Lit::of_cycle(&case.links, part).txns();
            items.push(format!(
                "<li class=\"end {inner}\" data-links=\"\" data-lit=\"\" data-txns=\"{txns}\">{end}</li>\n"
            ));
        }
        add_cases(&case.cases, part, depth + 1, items);
    }
}
