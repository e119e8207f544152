//! Reads that help if they lock their rows.

use crate::danger::{Edges, danger};
use iso_evidence::{Budget, StopReason};
use iso_program::{RowKey, Span, Templates, TxnLevel};

/// Reads of a template which, with `for update`, leave no split run in which it is split at this level. Nothing if no
/// such reads are enough; rows that a scan did not find cannot be locked.
pub fn promotions(
    templates: &Templates,
    template: usize,
    level: TxnLevel,
    budget: &Budget<'_>,
) -> Result<Option<Vec<Span>>, StopReason> {
    let levels = vec![level; templates.templates().len()];
    let blocking = |spans: &[Span]| danger(&templates.locking(spans), &levels, template, Edges::AndLocks, budget);
    let mut spans: Vec<Span> = Vec::new();
    while let Some(found) = blocking(&spans)? {
        let way = &templates.templates()[template].ways[found.members[0].way];
        let access = &way.accesses[found.read];
        if !access.is_plain_read() || access.key == RowKey::All || spans.contains(&access.span) {
            return Ok(None);
        }
        spans.push(access.span);
    }
    // What was locked first may not be needed any more.
    for span in spans.clone() {
        let fewer: Vec<Span> = spans.iter().copied().filter(|it| *it != span).collect();
        if blocking(&fewer)?.is_none() {
            spans = fewer;
        }
    }
    spans.sort_unstable();
    Ok(Some(spans))
}
