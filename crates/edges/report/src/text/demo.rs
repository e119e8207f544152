//! The document of `demo` for a terminal.

use super::within;
use super::{Page, TextOptions, text};
use crate::demo::DemoReport;
use crate::words::{harmless, width};

/// Headings are lines of this width.
const COLUMNS: usize = 100;

pub(crate) fn demo(report: &DemoReport, options: TextOptions) -> String {
    let mut page = Page::new(options);
    report.lead.lines().for_each(|it| page.line(&harmless(it)));
    for (idx, act) in report.acts.iter().enumerate() {
        page.gap();
        let rule = "-".repeat(COLUMNS.saturating_sub(width(&act.title) + 4));
        page.line(&harmless(&format!("{}. {} {rule}", idx + 1, act.title)));
        page.gap();
        act.before.lines().for_each(|it| page.line(&harmless(it)));
        page.line(&harmless(&act.ran));
        page.gap();
        page.out += within(&text(&act.check, options)).trim_end();
        page.out += "\n\n";
        act.after.lines().for_each(|it| page.line(&harmless(it)));
    }
    page.out
}
