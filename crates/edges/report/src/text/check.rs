//! The document of `check` for a terminal.

use super::{Page, TextOptions, Tone, padded};
use crate::check_phrases::{CORE_LEAD, DATABASES_LEAD, Medium, SAID_LEAD, certified, rule_of_statements, witness};
use crate::document::{CheckReport, Counts, Defect, Excerpt, Judgement, LevelReport, Severity};
use crate::findings::{Finding, any_holds, findings, strongest_that_hold};
use crate::notation::{Comments, notation};
use crate::promise::{PromiseReport, PromiseVerdict, beyond, on_one_server};
use crate::text::memory;
use crate::words::{counted, harmless, width};

/// The report for a terminal: the verdicts first, then one explanation for each distinct refutation.
pub fn text(report: &CheckReport, options: TextOptions) -> String {
    let mut page = Page::new(options);
    page.head(report);
    match (&report.promise, report.levels.as_slice()) {
        (_, []) => {}
        (Some(promise), _) => page.promise(report, promise),
        (None, [level]) => page.single(level),
        (None, levels) => page.table(report, levels),
    }
    let mut findings = findings(report);
    if let Some(promise) = &report.promise {
        // What nobody promised is no reason to be frightened.
        findings.retain(|it| it.levels.contains(&&promise.level));
    }
    for finding in &findings {
        page.finding(finding);
    }
    page.durability(report);
    page.foot(report, !findings.is_empty());
    options.spelled(page.out)
}

/// The beginning of [`text`], as far as it is known before all levels are decided: what was promised, or the first rows of the
/// table. Nothing if there is no such beginning.
pub fn text_so_far(report: &CheckReport, is_decided: impl Fn(&LevelReport) -> bool, options: TextOptions) -> String {
    let mut page = Page::new(options);
    page.head(report);
    match (&report.promise, report.levels.as_slice()) {
        (Some(promise), levels) if levels.iter().any(|it| it.level == promise.level && is_decided(it)) => {
            page.promised(report, promise);
        }
        (None, levels @ [first, _, ..]) if is_decided(first) => {
            page.rows(levels, levels.iter().take_while(|it| is_decided(it)).count());
        }
        _ => return String::new(),
    }
    options.spelled(page.out)
}

impl Page {
    /// Acknowledged writes that are gone.
    fn durability(&mut self, report: &CheckReport) {
        let Some(durability) = report.durability.as_ref().filter(|it| it.lost > 0) else { return };
        self.gap();
        for (nth, words) in durability.words().iter().enumerate() {
            let words = harmless(words);
            let words = if nth == 0 { self.tinted(Tone::Bad, &words) } else { format!("  {words}") };
            self.line(&words);
        }
    }

    fn head(&mut self, report: &CheckReport) {
        for defect in &report.defects {
            let tone = if defect.severity == Severity::Error { Tone::Bad } else { Tone::Unsure };
            let word = self.tinted(tone, defect.severity.word());
            self.line(&format!("{word}: {}", harmless(&defect_text(defect))));
        }
        self.gap();
    }

    /// Whether the promise was kept.
    fn promised(&mut self, report: &CheckReport, promise: &PromiseReport) {
        let tone = match promise.verdict {
            PromiseVerdict::Kept => Tone::Good,
            PromiseVerdict::Broken => Tone::Bad,
            PromiseVerdict::Unknown => Tone::Unsure,
        };
        let verdict = self.tinted(tone, promise.verdict.word());
        self.line(&format!("{}: {verdict}", self.tinted(Tone::Bold, &harmless(&promise.words()))));
        if let Some(level) = report.levels.iter().find(|it| it.level == promise.level) {
            match &level.judgement {
                Judgement::Holds { evidence } => {
                    self.sentence("  ", 2, &witness(&level.level, evidence, Medium::Terminal));
                }
                Judgement::Unknown { reason } => self.sentence("  ", 2, &format!("Unknown: {reason}.")),
                Judgement::Violated { .. } => {}
            }
        }
    }

    /// Whether the promise was kept, and then in short what else holds.
    fn promise(&mut self, report: &CheckReport, promise: &PromiseReport) {
        self.promised(report, promise);
        if let Some(more) = on_one_server(report) {
            self.sentence("  ", 2, &more);
        }
        let (holding, others) = beyond(report);
        if !holding.is_empty() || !others.is_empty() {
            self.gap();
            let is_kept = promise.verdict == PromiseVerdict::Kept;
            self.line(if is_kept { "Of the levels that nobody promised:" } else { "Of the other levels:" });
        }
        if !holding.is_empty() {
            let name = self.tinted(Tone::Good, "hold");
            self.sentence(&format!("  {name}      "), 12, &format!("{}.", holding.join(", ")));
        }
        if !others.is_empty() {
            self.sentence("  do not    ", 12, &format!("{}.", others.join(", ")));
            self.sentence("            ", 12, "For the reason, name one with --level.");
        }
    }

    fn single(&mut self, level: &LevelReport) {
        let verdict = self.verdict(&level.judgement);
        let mut line = format!("{}: {verdict}", self.tinted(Tone::Bold, &harmless(&level_title(level))));
        match &level.judgement {
            Judgement::Violated { anomalies, .. } if !anomalies.is_empty() => {
                line += &format!(" ({})", harmless(&anomalies.join(", ")));
            }
            Judgement::Unknown { reason } => line += &format!(" ({})", harmless(reason)),
            _ => {}
        }
        self.line(&line);
        if let Judgement::Holds { evidence } = &level.judgement {
            self.sentence("  ", 2, &witness(&level.level, evidence, Medium::Terminal));
        }
    }

    fn verdict(&self, judgement: &Judgement) -> String {
        let tone = match judgement {
            Judgement::Holds { .. } => Tone::Good,
            Judgement::Violated { .. } => Tone::Bad,
            Judgement::Unknown { .. } => Tone::Unsure,
        };
        self.tinted(tone, judgement.word())
    }

    fn table(&mut self, report: &CheckReport, levels: &[LevelReport]) {
        self.rows(levels, levels.len());
        self.gap();
        self.strongest(report);
    }

    /// The first rows of the table.
    fn rows(&mut self, levels: &[LevelReport], n_rows: usize) {
        let columns =
            |of: fn(&LevelReport) -> &str| levels.iter().map(|it| width(&harmless(of(it)))).max().unwrap_or(0);
        let (short, full) = (columns(|it| &it.level.short), columns(|it| &it.level.full));
        for (nth, level) in levels.iter().enumerate().take(n_rows) {
            if nth > 0 && level.level.is_of_databases() && !levels[nth - 1].level.is_of_databases() {
                self.gap();
                self.line(DATABASES_LEAD);
            }
            let verdict = self.verdict(&level.judgement);
            let note = match &level.judgement {
                Judgement::Unknown { reason } => harmless(reason),
                judgement => harmless(&judgement.anomalies().join(", ")),
            };
            let (name, full_name) = (padded(&level.level.short, short), padded(&level.level.full, full));
            let gap = " ".repeat("violated".len() - level.judgement.word().len());
            self.line(&format!("{}  {full_name}  {verdict}{gap}  {note}", self.tinted(Tone::Bold, &name)));
        }
    }

    fn strongest(&mut self, report: &CheckReport) {
        let names: Vec<String> =
            strongest_that_hold(report).iter().map(|it| harmless(&format!("{} ({})", it.full, it.short))).collect();
        match names.as_slice() {
            // A level that a user wrote has no place among the others.
            [] if any_holds(report) => {}
            [] => self.line("None of these levels is known to hold."),
            [one] => self.line(&format!("Strongest level that holds: {}", self.tinted(Tone::Good, one))),
            many => self.line(&format!("Strongest levels that hold: {}", self.tinted(Tone::Good, &many.join(", ")))),
        }
    }

    fn finding(&mut self, finding: &Finding<'_>) {
        self.gap();
        let title = self.tinted(Tone::Bad, &harmless(finding.title()));
        let comma = if finding.anomalies.is_empty() { "" } else { ", forbidden" };
        self.line(&format!("{title}{comma} by {}", harmless(&finding.level_names())));
        self.sentence("  ", 2, &finding.core.summary);
        if let Some(local) = &finding.core.local {
            self.sentence("  ", 2, &format!("{}.", local.because));
        } else if let Some(rule) = rule_of_statements(finding) {
            self.sentence("  ", 2, rule);
        }
        self.history(finding.core);
        self.said(finding.core);
        if !finding.core.cycle.is_empty() {
            self.gap();
            self.cycle(finding.core);
        }
        if !finding.core.cases.is_empty() {
            self.gap();
            self.cases(finding.core);
        }
    }

    fn history(&mut self, excerpt: &Excerpt) {
        self.gap();
        self.line(&format!("  {CORE_LEAD}"));
        self.named_history(excerpt);
    }

    /// What the application said when it did this.
    fn said(&mut self, excerpt: &Excerpt) {
        let said: Vec<(&str, &str)> = excerpt
            .transactions
            .iter()
            .flat_map(|txn| txn.statements.iter().map(|it| (txn.id.as_str(), it)))
            .filter(|it| !it.1.ops.is_empty() && !it.1.sql.is_empty())
            .map(|(id, it)| (id, it.sql.as_str()))
            .collect();
        if said.is_empty() {
            return;
        }
        self.gap();
        self.line(&format!("  {SAID_LEAD}"));
        let columns = said.iter().map(|it| width(it.0)).max().unwrap_or(0);
        for (id, sql) in said {
            let margin = format!("    {:columns$}  ", harmless(id));
            self.sentence(&margin, width(&margin), &harmless(sql));
        }
    }

    /// A history with the names and places of its transactions.
    pub(super) fn named_history(&mut self, excerpt: &Excerpt) {
        for line in notation(excerpt, Comments::Names).lines() {
            let (history, comment) = line.split_once("   # ").unwrap_or((line, ""));
            let comment = if comment.is_empty() { String::new() } else { format!("   # {}", harmless(comment)) };
            let comment = self.tinted(Tone::Faint, &comment);
            self.line(&format!("    {}{comment}", harmless(history)));
        }
    }

    fn foot(&mut self, report: &CheckReport, has_findings: bool) {
        self.gap();
        for level in &report.levels {
            if let Some(Err(why)) = &level.certified {
                let word = self.tinted(Tone::Bad, "NOT CERTIFIED");
                self.line(&format!("{word}: the evidence for {} is wrong: {}", level.level.short, harmless(why)));
            }
        }
        if has_findings {
            self.line("For a picture, add --report FILE.svg (or .html).");
        }
        let figures = figures(report);
        let figures = self.tinted(Tone::Faint, &figures);
        self.line(&figures);
    }
}

fn level_title(level: &LevelReport) -> String {
    if level.level.full == level.level.short {
        level.level.full.clone()
    } else {
        format!("{} ({})", level.level.full, level.level.short)
    }
}

/// A defect in one line, its place first.
pub(crate) fn defect_text(defect: &Defect) -> String {
    let place: Vec<String> = defect.place.file.clone().into_iter().chain(defect.place.position()).collect();
    if place.is_empty() { defect.message.clone() } else { format!("{}: {}", place.join(" "), defect.message) }
}

/// The size of the history and what the run cost, in one line.
fn figures(report: &CheckReport) -> String {
    let mut parts: Vec<String> = Vec::new();
    if !report.inputs.is_empty() {
        parts.push(harmless(&report.inputs.join(", ")));
    }
    parts.extend(report.history.as_ref().map(size));
    let mut cost = format!("{:.2} s", report.seconds);
    if let Some(bytes) = report.peak_bytes {
        cost += &format!(", {}", memory(bytes));
    }
    if let Some(certified) = certified(report) {
        cost += &format!(", {certified}");
    }
    format!("{} ({cost})", parts.join(": "))
}

/// `2 transactions (1 aborted) in 2 sessions, 6 operations on 2 keys`.
pub(crate) fn size(counts: &Counts) -> String {
    let outcomes = [(counts.aborted, "aborted"), (counts.unknown, "of unknown outcome")];
    let outcomes: Vec<String> =
        outcomes.iter().filter(|it| it.0 > 0).map(|(count, word)| format!("{count} {word}")).collect();
    let outcomes = if outcomes.is_empty() { String::new() } else { format!(" ({})", outcomes.join(", ")) };
    format!(
        "{}{outcomes} in {}, {} on {}",
        counted(counts.transactions, "transaction"),
        counted(counts.sessions, "session"),
        counted(counts.operations, "operation"),
        counted(counts.keys, "key")
    )
}
