//! The document of `store run` for a terminal.

use super::{Page, TextOptions};
use crate::amounts::many;
use crate::store::{Ending, StoreReport, StoreStep};
use crate::words::{harmless, width};

/// Are the transactions listed, too?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    /// They are.
    Yes,
    /// They are not.
    No,
}

/// The document for a terminal.
pub fn store_text(report: &StoreReport, options: TextOptions, listing: Listing) -> String {
    let mut page = Page::new(options);
    page.line(&harmless(&format!(
        "{} under {}, {} reads: {} of {}, seed {}.",
        report.application,
        crate::check_phrases::titled(&report.level),
        report.policy,
        many(report.sessions, "session"),
        many(report.txns, "transaction"),
        report.seed
    )));
    page.line(&format!(
        "{} committed, {} aborted by the application, {} by the store.",
        report.committed, report.aborted, report.conflicts
    ));
    if listing == Listing::Yes {
        page.gap();
        let columns = report.transactions.iter().map(|it| width(&it.call)).max().unwrap_or(0);
        for step in &report.transactions {
            page.line(listed(step, columns).trim_end());
        }
    }
    page.assertions(&report.assertions);
    page.gap();
    match &report.output {
        Some(path) if path == "-" => page.line("The history is on standard output."),
        Some(path) => page.line(&format!("The history is in {}. Next:", harmless(path))),
        None => page.line("The history is not saved; with -o run.jsonl it is."),
    }
    for command in &report.next {
        page.line(&format!("  {}", harmless(command)));
    }
    options.spelled(page.out)
}

fn listed(step: &StoreStep, columns: usize) -> String {
    let reason = step.reason.as_ref().filter(|_| step.ending != Ending::Committed);
    let why = reason.map(|it| format!("{}: {it}", step.ending.word())).unwrap_or_default();
    let gap = " ".repeat(columns.saturating_sub(width(&step.call)));
    harmless(&format!("  {:<6} {}{gap}  {why}", step.txn, step.call))
}
