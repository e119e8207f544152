//! The document of `verify` for a terminal: the verdicts, then a run in which something is wrong.

use super::{Page, TextOptions, Tone};
use crate::document::LevelName;
use crate::phrases::{effort_line, not_certified};
use crate::verify::{Alike, BadRun, RepairReport, ServerRuns, StepReport, VerifyReport, VerifyVerdict};
use crate::verify_phrases::{
    access_words, bounds, change_words, headline, history_lead, place_words, role, step_lines, titled, weakest_line,
    written_words,
};
use crate::words::harmless;

/// The document: verdicts, the weakest levels, what it means, runs, repairs.
pub(crate) fn verify(report: &VerifyReport, options: TextOptions) -> String {
    let mut page = Page::new(options);
    page.tinted_sentence(Tone::Bold, &headline(report));
    page.gap();
    page.verdicts(report);
    page.gap();
    if let Some(line) = weakest_line(report) {
        page.tinted_sentence(Tone::Bold, &line);
    }
    page.sentence("", 0, &bounds(report));
    for line in step_lines(report) {
        page.sentence("", 0, &line);
    }
    if let Some(words) = not_certified(report.not_certified.as_ref()) {
        page.sentence("", 0, &words);
    }
    if let Some(covers) = &report.covers {
        page.sentence("", 0, covers);
    }
    if let Some(hint) = &report.hint {
        page.sentence("", 0, hint);
    }
    for (level, run) in report.shown() {
        page.bad_run(level, run);
    }
    for step in report.any_number.iter().flat_map(|it| &it.steps) {
        page.step(step);
    }
    for repair in &report.repairs {
        page.repair(repair);
    }
    if let Some(server) = &report.server {
        page.server(server);
    }
    page.gap();
    page.tinted_sentence(Tone::Faint, &effort_line(&report.inputs, &report.effort, None));
    page.out
}

impl Page {
    /// A line for the levels that have the same verdict, and below it why.
    fn verdicts(&mut self, report: &VerifyReport) {
        for Alike { levels, note } in report.alike() {
            let verdict = &levels[0].verdict;
            let tone = match verdict {
                VerifyVerdict::Holds => Tone::Good,
                VerifyVerdict::Violated { .. } => Tone::Bad,
                VerifyVerdict::Unknown { .. } => Tone::Unsure,
            };
            let word = self.tinted(tone, verdict.word());
            let gap = " ".repeat("violated".len() - verdict.word().len());
            let names: Vec<&str> = levels.iter().map(|it| it.level.short.as_str()).collect();
            let hanging = "violated".len() + 2;
            self.sentence(&format!("{word}{gap}  "), hanging, &names.join(", "));
            if !note.is_empty() {
                self.sentence(&" ".repeat(hanging), hanging, &note);
            }
        }
    }

    /// A state from which a transaction breaks what is claimed.
    fn step(&mut self, step: &StepReport) {
        let (Some(run), Some(name)) = (&step.counterexample, &step.transaction) else { return };
        self.gap();
        let title = self.tinted(Tone::Unsure, "Not enough by itself");
        self.line(&format!("{title}: {}, from a state that need not be one that is ever reached", harmless(name)));
        for fault in &run.wrong {
            self.sentence("  ", 4, &format!("{}, {}", fault.words, place_words(&fault.place)));
        }
        self.values("Open values:", &run.open_values);
        self.values("Initial state:", &run.initial);
        self.values("Last state:", &run.last_state);
    }

    fn bad_run(&mut self, level: &LevelName, run: &BadRun) {
        self.gap();
        let title = self.tinted(Tone::Bad, "Counterexample");
        self.line(&format!("{title} under {}", harmless(&titled(level))));
        for fault in &run.wrong {
            self.sentence("  ", 4, &format!("{}, {}", fault.words, place_words(&fault.place)));
        }
        self.run(level, run);
    }

    /// What happened, and why no serial order explains it.
    pub(super) fn run(&mut self, level: &LevelName, run: &BadRun) {
        self.values("Open values:", &run.open_values);
        self.values("Initial state:", &run.initial);
        self.executed(run);
        self.values("Last state:", &run.last_state);
        self.gap();
        self.sentence("  ", 2, &history_lead(level, run));
        self.gap();
        for line in run.excerpt.history.lines() {
            self.line(&format!("    {}", harmless(line)));
        }
        if !run.excerpt.summary.is_empty() {
            self.gap();
            self.sentence("  ", 2, &run.excerpt.summary);
        }
        if let Some(local) = &run.excerpt.local {
            self.sentence("  ", 2, &format!("{}.", local.because));
        }
        if !run.excerpt.cycle.is_empty() {
            self.cycle(&run.excerpt);
        }
    }

    fn values(&mut self, lead: &str, values: &[(String, String)]) {
        if values.is_empty() {
            return;
        }
        let words: Vec<String> = values.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        self.sentence(&format!("  {lead} "), 4, &words.join(", "));
    }

    fn executed(&mut self, run: &BadRun) {
        self.gap();
        self.sentence("  ", 2, "The transactions, in the order of their writes:");
        for (idx, txn) in run.transactions.iter().enumerate() {
            let name = self.tinted(Tone::Bold, &harmless(&txn.name));
            let id = format!("{} of the history", txn.id);
            self.sentence(&format!("  {}. {name}: ", idx + 1), 6, &format!("{}; {id}", role(txn)));
            for read in &txn.reads {
                self.sentence("      reads  ", 14, &format!("{} = {}", read.unit, access_words(read)));
            }
            for write in &txn.writes {
                self.sentence("      writes ", 14, &written_words(write));
            }
        }
        if let Some(reads) = &run.observer {
            self.line("  An observer, who only looks:");
            for read in reads {
                self.sentence("      reads  ", 14, &format!("{} = {}", read.unit, access_words(read)));
            }
        }
    }

    /// What a real database did.
    fn server(&mut self, server: &ServerRuns) {
        self.gap();
        self.tinted_sentence(Tone::Bold, &server.headline());
        let Some(first) = &server.first else { return };
        self.sentence("  ", 2, &format!("The first of them: {}.", first.wrong.join(", ")));
        self.values("Open values:", &first.open_values);
        for step in &first.steps {
            let waited = if step.waited { " (after it waited for a lock)" } else { "" };
            self.sentence("      ", 8, &format!("{}: {}{waited}", step.transaction, step.words));
        }
        self.values("Last state:", &first.last_state);
    }

    fn repair(&mut self, repair: &RepairReport) {
        self.gap();
        let title = self.tinted(Tone::Good, "Repairs");
        let level = harmless(&titled(&repair.level));
        match (repair.changes.as_slice(), &repair.stopped) {
            (_, Some(reason)) => self.line(&format!("{title} under {level}: unknown, {}", harmless(reason))),
            ([], None) => self.line(&format!("{title} under {level}: no small change is enough")),
            (_, None) => self.line(&format!("{title} under {level}, each enough by itself:")),
        }
        for change in &repair.changes {
            self.sentence("  - ", 4, &change_words(change));
        }
    }
}
