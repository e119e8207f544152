//! The document of `replay` for a terminal: the answer, the steps, and what `check` says.

use super::hunt::within;
use super::{Page, TextOptions, Tone, padded, text};
use crate::replay::ReplayReport;
use crate::words::{harmless, width};

pub(crate) fn replay(report: &ReplayReport, options: TextOptions) -> String {
    let mut page = Page::new(options);
    let tone = if report.shown > 0 { Tone::Bad } else { Tone::Bold };
    page.tinted_sentence(tone, &report.headline());
    for note in report.notes() {
        page.sentence("", 0, &note);
    }
    page.gap();
    let columns = |of: &dyn Fn(usize) -> String| {
        (0..report.steps.len()).map(|it| width(&harmless(&of(it)))).max().unwrap_or_default()
    };
    let number = columns(&|it| report.steps[it].nth.to_string());
    let session = columns(&|it| report.steps[it].session.clone());
    let what = columns(&|it| report.steps[it].step.clone());
    for step in &report.steps {
        let nth = format!("{:>number$}", step.nth);
        let (session, what) = (padded(&step.session, session), padded(&step.step, what));
        let first = format!("  {nth}  {session}  {what}  ");
        let hanging = width(&first);
        page.sentence(&first, hanging, &step.said());
        if let Some(difference) = step.difference() {
            let mark = page.tinted(Tone::Unsure, "!");
            page.sentence(&format!("{}{mark} ", " ".repeat(hanging)), hanging + 2, &difference);
        }
    }
    page.gap();
    page.line(&report.compared());
    if let Some(check) = &report.check {
        page.gap();
        page.out += within(&text(check, options)).trim_end();
        page.out.push('\n');
    }
    if let Some(output) = &report.output {
        page.gap();
        page.line(&harmless(&format!("The history is in {output}; isoscope check reads it.")));
    }
    page.out
}
