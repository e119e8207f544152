//! The document of `collect` for a terminal.

use super::{Page, TextOptions, Tone};
use crate::amounts::{grouped, many};
use crate::collect::{Asserted, CollectReport};
use crate::collect_phrases::{by_itself, ended_early, next_command, nodes_in_words};
use crate::durability::FaultMark;
use crate::text::sparkline::sparkline;
use crate::words::harmless;

/// Shorter runs are over before there is something to see.
const MIN_SECONDS: f64 = 1.0;
/// The width of a line of blocks.
const COLUMNS: usize = 60;

pub(crate) fn collect(report: &CollectReport, options: TextOptions) -> String {
    let mut page = Page::new(options);
    let (outcomes, sessions) = (&report.outcomes, many(report.parameters.sessions, "session"));
    page.line(&harmless(&format!(
        "{} on {} under {}: {sessions}, seed {}.",
        report.workload, report.database, report.isolation, report.seed
    )));
    page.line(&format!(
        "{} in {:.2} s, {:.2} MiB: {} committed ({:.0} a second), {} aborted by the database, {} {}, {} unknown.",
        many(outcomes.transactions(), "transaction"),
        report.seconds,
        mebibytes(report.bytes),
        grouped(outcomes.committed),
        report.throughput,
        grouped(outcomes.conflicts),
        grouped(outcomes.aborted),
        by_itself(report),
        grouped(outcomes.unknown),
    ));
    let causes = outcomes.aborts.in_words();
    if !causes.is_empty() {
        page.line(&format!("Aborts by cause: {causes}."));
    }
    if outcomes.reconnects > 0 {
        page.line(&format!("Lost connections: {}; each goes on as another session.", outcomes.reconnects));
    }
    if !report.nodes.is_empty() {
        page.line(&harmless(&format!("Nodes: {}.", nodes_in_words(report))));
    }
    if !report.faults.is_empty() {
        page.line(&harmless(&format!("Faults: {}.", FaultMark::in_words(&report.faults))));
    }
    if report.seconds >= MIN_SECONDS {
        let joined = report.series.joined(COLUMNS, report.seconds);
        let rates: Vec<f64> =
            joined.iter().map(|(begin, end, it)| crate::amounts::a_second(it.committed, end - begin)).collect();
        page.line(&sparkline(&rates, options));
    }
    if let Some(line) = ended_early(report) {
        page.line(&line);
    }
    page.assertions(&report.assertions);
    page.gap();
    match (&report.output, next_command(report)) {
        (Some(path), Some(command)) => {
            page.line(&format!("The history is in {}. Next:", harmless(path)));
            page.line(&format!("  {}", harmless(&command)));
        }
        _ => page.line("The history is on standard output."),
    }
    page.out
}

impl Page {
    /// What must hold, and what of it does.
    pub(super) fn assertions(&mut self, assertions: &[Asserted]) {
        if !assertions.is_empty() {
            self.gap();
        }
        for it in assertions {
            let line = if it.holds {
                format!("  {}      {}", self.tinted(Tone::Good, "ok"), harmless(&it.name))
            } else {
                format!("  {}  {}", self.tinted(Tone::Bad, "FAILED"), harmless(&format!("{}: {}", it.name, it.detail)))
            };
            self.line(&line);
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "a size for people needs a few digits")]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
