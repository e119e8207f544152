//! The document of `hunt` for a terminal: what was found, and the script that shows it.

use super::{Page, TextOptions, Tone, text};
use crate::check_phrases::titled;
use crate::hunt::{HuntFinding, HuntReport};
use crate::hunt_phrases::{ended_early, looked_at, notes, script_words, seen_each_time};
use crate::words::harmless;

pub(crate) fn hunt(report: &HuntReport, options: TextOptions) -> String {
    let mut page = Page::new(options);
    let level = titled(&report.expect);
    let (database, isolation) = (&report.database, &report.isolation);
    if report.findings.is_empty() && report.failure.is_some() {
        page.line(&page.tinted(Tone::Bad, &harmless(&ended_early(report))));
    } else if report.findings.is_empty() {
        let line = format!("Nothing found: all that {database} did under {isolation} is {level}.");
        page.line(&page.tinted(Tone::Bold, &harmless(&line)));
    } else {
        let names: Vec<String> = report.findings.iter().map(|it| it.anomalies.join(", ")).collect();
        let what = if report.findings.iter().all(HuntFinding::is_loss) {
            "does not keep what it acknowledged".to_owned()
        } else {
            format!("is not {level}")
        };
        let line = format!("FOUND: {database} under {isolation} {what}: {}.", names.join("; "));
        page.line(&page.tinted(Tone::Bad, &harmless(&line)));
    }
    page.line(&looked_at(report));
    for note in notes(report) {
        page.line(&harmless(&note));
    }
    for finding in &report.findings {
        page.gap();
        page.line(&harmless(&seen_each_time(finding)));
        page.gap();
        page.out += within(&text(&finding.check, options)).trim_end();
        page.out += "\n\n";
        page.sentence("", 0, &script_words(finding));
        if let Some(script) = &finding.script {
            page.gap();
            script.listing().lines().for_each(|it| page.line(&harmless(it)));
        }
    }
    page.out
}

/// The words of `check` inside those of another verb.
pub(crate) fn within(words: &str) -> String {
    words.lines().filter(|it| !it.starts_with("For a picture")).flat_map(|it| [it, "\n"]).collect()
}
