//! The document of `verify` as a page: the program beside the run that breaks it.

use super::{copies, linked_figure, page, steps as contradiction};
use crate::document::LevelName;
use crate::json::JsonLayout;
use crate::phrases::effort_line;
use crate::svg::run_svg;
use crate::verify::{Access, BadRun, RepairReport, VerifyReport, VerifyVerdict};
use crate::verify_phrases::{
    access_words, bounds, change_words, faults, headline, history_lead, role, titled, weakest_line,
};
use crate::words::{prose, xml};

/// The page of `verify`.
pub(crate) fn verify_html(report: &VerifyReport) -> String {
    let title = if report.inputs.is_empty() { "program".to_owned() } else { report.inputs.join(", ") };
    let mut body = format!("<p class=\"input\">{}</p>\n<h1>{}</h1>\n", xml(&title), xml(&headline(report)));
    body += &format!("<p class=\"size\">{}</p>\n", xml(&bounds(&report.program)));
    if let Some(line) = weakest_line(report) {
        body += &format!("<p class=\"lead\"><b>{}</b></p>\n", xml(&line));
    }
    body += &table(report);
    body += &repairs(&report.repairs);
    let shown = report.shown();
    for (idx, (level, run)) in shown.iter().enumerate() {
        let listing = if idx == 0 { listing(report) } else { String::new() };
        let nth = report.levels.iter().position(|it| it.level == **level).unwrap_or(0);
        body += &section(level, run, &listing, &format!("levels.{nth}.counterexample.history"));
    }
    if shown.is_empty() {
        body += &format!("<h2>Program</h2>\n{}", listing(report));
    }
    let effort = effort_line(&report.inputs, &report.effort, None);
    body += &format!("<footer>Isoscope, {}</footer>\n", xml(&effort));
    page(&title, &body, &report.to_json(JsonLayout::Compact))
}

fn table(report: &VerifyReport) -> String {
    let mut out = "<table>\n<thead><tr><th>level</th><th>verdict</th><th>why</th></tr></thead>\n<tbody>\n".to_owned();
    let shown = report.shown();
    for level in &report.levels {
        let word = level.verdict.word();
        let why = match &level.verdict {
            VerifyVerdict::Holds => String::new(),
            VerifyVerdict::Unknown { reason } => xml(reason),
            VerifyVerdict::Violated(run) if shown.iter().any(|it| *it.0 == level.level) => {
                format!("<a href=\"#run-{}\">{}</a>", xml(&level.level.short), xml(&faults(run)))
            }
            VerifyVerdict::Violated(run) => xml(&faults(run)),
        };
        let names = format!("<b>{}</b> <span>{}</span>", xml(&level.level.short), xml(&level.level.full));
        out += &format!("<tr class=\"{word}\"><td>{names}</td><td class=\"verdict\">{word}</td><td>{why}</td></tr>\n");
    }
    out + "</tbody>\n</table>\n"
}

fn section(level: &LevelName, run: &BadRun, listing: &str, path: &str) -> String {
    let mut out = format!("<section id=\"run-{}\" class=\"case\">\n", xml(&level.short));
    out += &format!("<h2>Counterexample under {}</h2>\n", xml(&titled(level)));
    for fault in &run.wrong {
        let words = format!("{} (line {})", fault.words, fault.place.line);
        out += &format!("<p class=\"local\">{}</p>\n", xml(&words));
    }
    out += "<div class=\"panels\">\n";
    if !listing.is_empty() {
        out += &format!("<div class=\"panel\">\n<h3>Program</h3>\n{listing}</div>\n");
    }
    out += &format!("<div class=\"panel\">\n<h3>Run</h3>\n{}</div>\n</div>\n", steps(run));
    out += &linked_figure(&run_svg(level, run));
    if !run.part.summary.is_empty() {
        out += &format!("<p>{}</p>\n", xml(&run.part.summary));
    }
    out += &contradiction(&run.part);
    let history: Vec<String> = run.part.history.lines().map(prose).collect();
    out += &format!("<p>{}</p>\n<pre>{}</pre>\n", xml(&history_lead(level, run)), history.join("\n"));
    out + &copies(path, None) + "</section>\n"
}

/// The program with line numbers; lines where something is wrong are marked.
fn listing(report: &VerifyReport) -> String {
    let faulty = report.faulty_lines();
    let mut out = "<pre class=\"program\">".to_owned();
    for (idx, line) in report.program.text.lines().enumerate() {
        let number = idx as u64 + 1;
        let code = xml(&line.replace('\t', "    "));
        let code = if faulty.contains(&number) { format!("<mark>{code}</mark>") } else { code };
        out += &format!("<span class=\"number\">{number:>3}</span> {code}\n");
    }
    out + "</pre>\n"
}

/// What happened, step by step.
fn steps(run: &BadRun) -> String {
    let mut out = values("Open values", &run.open_values) + &values("Initial state", &run.initial);
    out += "<ol class=\"run\">\n";
    for txn in &run.transactions {
        out += &format!("<li><b>{}</b> <code>{}</code> {}\n<ul>\n", xml(&txn.name), xml(&txn.id), xml(&role(txn)));
        out += &reads(&txn.reads);
        for (unit, value) in &txn.writes {
            out += &format!("<li>writes <code>{}</code> = {}</li>\n", xml(unit), xml(value));
        }
        out += "</ul>\n</li>\n";
    }
    out += "</ol>\n";
    if let Some(seen) = &run.observer {
        out += &format!("<p>An observer, who only looks:</p>\n<ul>\n{}</ul>\n", reads(seen));
    }
    out + &values("Last state", &run.last_state)
}

fn reads(reads: &[Access]) -> String {
    let each =
        reads.iter().map(|it| format!("<li>reads <code>{}</code> = {}</li>\n", xml(&it.unit), xml(&access_words(it))));
    each.collect()
}

fn values(lead: &str, values: &[(String, String)]) -> String {
    if values.is_empty() {
        return String::new();
    }
    let each: Vec<String> =
        values.iter().map(|(name, value)| format!("<code>{}</code> = {}", xml(name), xml(value))).collect();
    format!("<p>{lead}: {}</p>\n", each.join(", "))
}

fn repairs(repairs: &[RepairReport]) -> String {
    let mut out = String::new();
    for repair in repairs {
        let more = match (repair.changes.as_slice(), &repair.stopped) {
            (_, Some(reason)) => format!("unknown, {reason}"),
            ([], None) => "no small change is enough".to_owned(),
            (_, None) => "each enough by itself".to_owned(),
        };
        out += &format!("<p>Repairs under {}: {}</p>\n<ul>\n", xml(&titled(&repair.level)), xml(&more));
        for change in &repair.changes {
            out += &format!("<li>{}</li>\n", xml(&change_words(change)));
        }
        out += "</ul>\n";
    }
    out
}
