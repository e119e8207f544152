//! The document of `allocate` for a terminal: a level for each transaction, then what is in the way of weaker ones.

use super::{Page, TextOptions, Tone, padded};
use crate::allocate::{AllocateReport, AllocatedTxn, BlockedLevel, NO_VALUES};
use crate::phrases::{effort_line, not_certified};
use crate::verify_phrases::titled;
use crate::words::{harmless, width};

pub(crate) fn allocate(report: &AllocateReport, options: TextOptions) -> String {
    let mut page = Page::new(options);
    page.tinted_sentence(Tone::Bold, &report.headline());
    page.gap();
    page.allocation(report);
    let robust: Vec<String> = report.levels.iter().filter_map(|it| robust_words(report, &it.short)).collect();
    if !robust.is_empty() {
        page.gap();
        page.sentence("", 0, &format!("All of them at one level: {}.", robust.join(", ")));
    }
    if let Some(words) = not_certified(report.not_certified.as_ref()) {
        page.sentence("", 0, &words);
    }
    for (txn, blocked) in report.shown() {
        page.blocked(txn, blocked);
    }
    page.gap();
    page.tinted_sentence(Tone::Faint, &effort_line(&report.inputs, &report.effort, None));
    page.out
}

fn robust_words(report: &AllocateReport, level: &str) -> Option<String> {
    let word = match report.robust.get(level)? {
        Some(true) => "robust",
        Some(false) => "not robust",
        None => "not known to be robust",
    };
    Some(format!("{level} {word}"))
}

impl Page {
    fn allocation(&mut self, report: &AllocateReport) {
        let columns = |of: &dyn Fn(&AllocatedTxn) -> String| {
            report.transactions.iter().map(|it| width(&harmless(&of(it)))).max().unwrap_or_default()
        };
        let level =
            |it: &AllocatedTxn| it.level.as_ref().map_or_else(|| "none is enough".to_owned(), |it| it.short.clone());
        let (names, levels) = (columns(&|it| it.name.clone()), columns(&level));
        for txn in &report.transactions {
            let tone = if txn.level.is_some() { Tone::Good } else { Tone::Bad };
            let word = self.tinted(tone, &padded(&level(txn), levels));
            let statement = txn.statement.as_deref().map(|it| format!("  {it}")).unwrap_or_default();
            self.line(format!("  {}  {word}{statement}", padded(&txn.name, names)).trim_end());
        }
    }

    fn blocked(&mut self, txn: &AllocatedTxn, blocked: &BlockedLevel) {
        self.gap();
        let level = harmless(&titled(&blocked.level));
        let title = format!("{} at {level} {}", harmless(&txn.name), blocked.finding());
        let title = self.tinted(Tone::Bad, &title);
        self.line(&title);
        self.sentence("  ", 2, &blocked.story());
        for edge in &blocked.cycle {
            self.sentence("  - ", 4, &BlockedLevel::edge_words(edge));
        }
        if let Some(cure) = blocked.cure() {
            self.sentence("  ", 2, &format!("{cure}."));
        }
        match &blocked.counterexample {
            Some(run) => self.run(&blocked.level, run),
            None => self.sentence("  ", 2, NO_VALUES),
        }
    }
}
