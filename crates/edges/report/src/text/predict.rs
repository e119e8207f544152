//! The document of `predict` for a terminal: the verdicts, then what would be different and why that is forbidden.

use super::{Page, TextOptions, Tone, defect_text, padded};
use crate::check_phrases::Medium;
use crate::document::LevelName;
use crate::phrases::{effort_line, not_certified};
use crate::predict::{PredictReport, PredictVerdict, PredictedLevel, PredictedRun, Validation, ValidationVerdict};
use crate::predict_phrases::{
    boundary_words, certified_words, change_words, changed_lead, conflict_hint, ended_words, headline, history_lead,
    left_out, names, note, observed_size, question, read_name, renamed_words, risk, schedule_words, strongest_line,
    title, validation_words, whole_size,
};
use crate::words::{harmless, width};

/// The document: verdicts, the strongest levels, what was asked, runs.
pub(crate) fn predict(report: &PredictReport, options: TextOptions) -> String {
    let mut page = Page::new(options);
    for defect in &report.defects {
        page.sentence("warning: ", 2, &defect_text(defect));
    }
    page.tinted_sentence(Tone::Bold, &headline(report));
    page.gap();
    if report.levels.len() > 1 {
        page.predicted_levels(&report.levels);
        page.gap();
    }
    if let Some(line) = strongest_line(report) {
        page.tinted_sentence(Tone::Bold, &line);
    }
    page.sentence("", 0, &question(report));
    for note in report.notes.iter().cloned().chain(not_certified(report.not_certified.as_ref())) {
        page.sentence("", 0, &note);
    }
    for level in report.shown() {
        page.predictions(report, level);
    }
    page.gap();
    if let Some(line) = observed_size(report) {
        page.tinted_sentence(Tone::Faint, &line);
    }
    page.tinted_sentence(Tone::Faint, &effort_line(&report.inputs, &report.effort, certified_words(report).as_deref()));
    page.out
}

impl Page {
    fn predicted_levels(&mut self, levels: &[PredictedLevel]) {
        let columns = |of: fn(&LevelName) -> &str| levels.iter().map(|it| width(&harmless(of(&it.level)))).max();
        let (short, full) = (columns(|it| &it.short).unwrap_or(0), columns(|it| &it.full).unwrap_or(0));
        for level in levels {
            let tone = match &level.verdict {
                PredictVerdict::None => Tone::Good,
                PredictVerdict::Predicted { .. } => Tone::Bad,
                PredictVerdict::Unknown { .. } => Tone::Unsure,
            };
            let (word, note) = (level.verdict.word(), note(level));
            let verdict = self.tinted(tone, word);
            let name = self.tinted(Tone::Bold, &padded(&level.level.short, short));
            let gap = " ".repeat("predicted".len() - word.len());
            let lead = format!("{name}  {}  {verdict}{gap}  ", padded(&level.level.full, full));
            if note.is_empty() {
                self.line(&lead);
            } else {
                self.sentence(&lead, short + full + "predicted".len() + 6, &note);
            }
        }
    }

    fn predictions(&mut self, report: &PredictReport, level: &PredictedLevel) {
        let runs = level.verdict.runs();
        for (idx, run) in runs.iter().enumerate() {
            let number = (runs.len() > 1).then_some(idx + 1);
            self.gap();
            self.tinted_sentence(Tone::Bad, &title(&level.level, run, number));
            self.predicted_run(report, &level.level, run);
        }
        if let Some(words) = ended_words(&level.verdict) {
            self.gap();
            self.sentence("", 0, &words);
        }
    }

    fn predicted_run(&mut self, report: &PredictReport, level: &LevelName, run: &PredictedRun) {
        if !run.changed.is_empty() {
            self.line(&format!("  {}", changed_lead(run)));
            let changes: Vec<(String, String)> =
                run.changed.iter().map(|it| (harmless(&read_name(it)), change_words(it))).collect();
            self.beside(&changes.iter().map(|(name, words)| (name.clone(), words.as_str())).collect::<Vec<_>>());
        }
        let risk = risk(run, report.boundary_of(level));
        for words in boundary_words(report, level, run).into_iter().chain(risk).chain(conflict_hint(level, run)) {
            self.sentence("  ", 2, &words);
        }
        self.gap();
        self.sentence("  ", 2, &history_lead(report, level, run));
        self.gap();
        self.named_history(run.predicted());
        self.gap();
        for words in whole_size(run).into_iter().chain(left_out(run)).chain(renamed_words(run)) {
            self.sentence("  ", 2, &words);
        }
        self.gap();
        let allowed = self.tinted(Tone::Good, "Allowed");
        self.line(&format!("  {allowed} by {}:", harmless(&level.short)));
        self.sentence("    ", 4, &schedule_words(level, run, Medium::Terminal));
        self.gap();
        let forbidden = self.tinted(Tone::Bad, "Forbidden");
        self.line(&format!("  {forbidden} by {}{}:", harmless(&report.target.short), harmless(&names(run))));
        self.sentence("    ", 4, &run.predicted().summary);
        if let Some(local) = &run.predicted().local {
            self.sentence("    ", 4, &format!("{}.", local.because));
        }
        if !run.predicted().cycle.is_empty() {
            self.cycle(run.predicted());
        }
        if let Some(validation) = &run.validation {
            self.validation(report, level, validation);
            for (name, call) in run.calls() {
                self.sentence("  ", 4, &format!("{name} is {call}"));
            }
        }
        for (what, certified) in run.certificates() {
            if let Some(Err(why)) = certified {
                let word = self.tinted(Tone::Bad, "NOT CERTIFIED");
                self.line(&format!("  {word}: the evidence {what} is wrong: {}", harmless(why)));
            }
        }
    }

    fn validation(&mut self, report: &PredictReport, level: &LevelName, validation: &Validation) {
        self.gap();
        let tone = match validation.verdict {
            ValidationVerdict::Validated => Tone::Bad,
            ValidationVerdict::NotValidated { .. } => Tone::Unsure,
        };
        self.tinted_sentence(tone, &validation_words(level, &report.target, validation));
        for words in &validation.divergences {
            self.sentence("  diverged: ", 4, words);
        }
        for words in &validation.failed {
            self.sentence("  assertion failed: ", 4, words);
        }
    }
}
