//! The document of `predict` as a page: the observed run beside the predicted one.

use super::{Page, copies, linked_figure, steps};
use crate::check_phrases::Medium;
use crate::document::{Excerpt, LevelName};
use crate::json::JsonLayout;
use crate::mark::{Mark, Sign, mark_on};
use crate::notation::{sessions, times};
use crate::phrases::{effort_line, not_certified};
use crate::predict::{PredictReport, PredictedLevel, PredictedRun, Validation, ValidationVerdict};
use crate::predict_phrases::{
    boundary_words, certified_words, change_words, changed_lead, conflict_hint, ended_words, headline, left_out, names,
    note, observed_size, question, read_name, renamed_words, risk, schedule_words, strongest_line, title,
    validation_words, whole_size,
};
use crate::svg::{RunPictures, run_pictures};
use crate::text::defect_text;
use crate::words::xml;

/// The page of `predict`.
pub(crate) fn predict_html(report: &PredictReport) -> Page {
    let title = if report.inputs.is_empty() { "history".to_owned() } else { report.inputs.join(", ") };
    let mut body = format!("<p class=\"input\">{}</p>\n<h1>{}</h1>\n", xml(&title), xml(&headline(report)));
    if let Some(size) = observed_size(report) {
        body += &format!("<p class=\"size\">{}</p>\n", xml(&size));
    }
    if let Some(line) = strongest_line(report) {
        body += &format!("<p class=\"lead\"><b>{}</b></p>\n", xml(&line));
    }
    body += &format!("<p>{}</p>\n", xml(&question(report)));
    let notes = report.notes.iter().cloned().chain(not_certified(report.not_certified.as_ref()));
    for words in notes.chain(report.defects.iter().map(defect_text)) {
        body += &format!("<p class=\"note\">{}</p>\n", xml(&words));
    }
    if report.levels.len() > 1 {
        body += &table(report);
    }
    for level in report.shown() {
        body += &sections(report, level);
    }
    let effort = effort_line(&report.inputs, &report.effort, certified_words(report).as_deref());
    Page { title, body, effort, json: report.to_json(JsonLayout::Compact) }
}

fn table(report: &PredictReport) -> String {
    let mut out = "<table>\n<thead><tr><th>level</th><th>verdict</th><th>what</th></tr></thead>\n<tbody>\n".to_owned();
    let shown = report.shown();
    for level in &report.levels {
        let word = level.verdict.word();
        let mut what = xml(&note(level));
        if shown.iter().any(|it| it.level == level.level) {
            what = format!("<a href=\"#run-{}-1\">{what}</a>", xml(&level.level.short));
        }
        let names = format!("<b>{}</b> <span>{}</span>", xml(&level.level.short), xml(&level.level.full));
        out += &format!("<tr class=\"{word}\"><td>{names}</td><td class=\"verdict\">{word}</td><td>{what}</td></tr>\n");
    }
    out + "</tbody>\n</table>\n"
}

fn sections(report: &PredictReport, level: &PredictedLevel) -> String {
    let runs = level.verdict.runs();
    let mut out = String::new();
    for (idx, run) in runs.iter().enumerate() {
        let number = (runs.len() > 1).then_some(idx + 1);
        out += &format!("<section id=\"run-{}-{}\" class=\"case\">\n", xml(&level.level.short), idx + 1);
        out += &format!("<h2>{}</h2>\n", xml(&title(&level.level, run, number)));
        out += &section(report, &level.level, run);
        let nth = report.levels.iter().position(|it| it.level == level.level).unwrap_or(0);
        out += &copies(&format!("levels.{nth}.predictions.{idx}.history"), None);
        out += "</section>\n";
    }
    ended_words(&level.verdict).map_or(out.clone(), |it| out + &format!("<p>{}</p>\n", xml(&it)))
}

fn section(report: &PredictReport, level: &LevelName, run: &PredictedRun) -> String {
    let mut out = changes(run);
    let risk = risk(run, report.boundary_of(level));
    for words in boundary_words(report, level, run).into_iter().chain(risk).chain(conflict_hint(level, run)) {
        out += &format!("<p class=\"note\">{}</p>\n", xml(&words));
    }
    let RunPictures { observed, predicted, width } = run_pictures(report, level, run);
    // They stand side by side where both can be read.
    out += &format!("<div class=\"panels runs\" style=\"--least:{:.0}px\">\n", width * 0.72);
    if let Some(observed) = observed {
        let history = marked(&run.observed, &run.observed_marks());
        out += &panel("allowed", "Observed", &format!("<figure>\n{observed}</figure>\n<pre>{history}</pre>\n"));
    }
    let history = marked(run.predicted(), &run.predicted_marks());
    let what = if run.changed.is_empty() { "Observed" } else { "Predicted" };
    let heading = format!("{what}: {} allows it, {} forbids it", level.short, report.target.short);
    let predicted = format!("{}<pre>{history}</pre>\n", linked_figure(&predicted));
    out += &panel("forbidden", &heading, &predicted);
    out += "</div>\n";
    for words in whole_size(run).into_iter().chain(left_out(run)).chain(renamed_words(run)) {
        out += &format!("<p>{}</p>\n", xml(&words));
    }
    out += "<div class=\"panels\">\n";
    let allowed = format!("<p>{}</p>\n", xml(&schedule_words(level, run, Medium::Page)));
    out +=
        &panel("allowed", &format!("Why {} allows it", level.short), &(allowed + &uncertified(&run.allowed.certified)));
    let why = format!("Why {} forbids it{}", report.target.short, names(run));
    out += &panel("forbidden", &why, &(refutation(run.predicted()) + &uncertified(&run.forbidden.certified)));
    out += "</div>\n";
    if let Some(validation) = &run.validation {
        let calls: Vec<String> = run.calls().iter().map(|(name, call)| format!("{name} is {call}")).collect();
        out += &validated(report, level, validation, &calls);
    }
    out
}

fn panel(class: &str, heading: &str, inside: &str) -> String {
    format!("<div class=\"panel {class}\">\n<h3>{}</h3>\n{inside}</div>\n", xml(heading))
}

fn changes(run: &PredictedRun) -> String {
    if run.changed.is_empty() {
        return String::new();
    }
    let mut out = format!("<p>{}</p>\n<ul class=\"relations\">\n", xml(&changed_lead(run)));
    for read in &run.changed {
        out += &format!("<li><code>{}</code> {}</li>\n", xml(&read_name(read)), xml(&change_words(read)));
    }
    out + "</ul>\n"
}

fn refutation(excerpt: &Excerpt) -> String {
    let mut out = format!("<p>{}</p>\n", xml(&excerpt.summary));
    out += &steps(excerpt);
    out
}

fn uncertified(certified: &crate::Certified) -> String {
    match certified {
        Some(Err(why)) => format!("<p><strong class=\"uncertified\">not certified: {}</strong></p>\n", xml(why)),
        _ => String::new(),
    }
}

/// A history, one transaction a line, with its marks.
fn marked(excerpt: &Excerpt, marks: &[Mark]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let known = excerpt.initial.iter().filter(|it| it.is_given());
    let initial: Vec<String> = known.map(|it| format!("{}={}", it.key, it.value)).collect();
    if !initial.is_empty() {
        lines.push(xml(&format!("init {}", initial.join(" "))));
    }
    for session in sessions(excerpt) {
        for txn in excerpt.transactions.iter().filter(|it| it.session == session) {
            let ops = txn.ops.iter().enumerate().map(|(idx, op)| match mark_on(marks, &txn.id, idx) {
                Some(sign @ Sign::Changed(_)) => {
                    format!("<mark title=\"{}\">{}</mark>", xml(sign.words()), xml(&op.to_string()))
                }
                Some(Sign::Dropped) => format!("<s>{}</s>", xml(&op.to_string())),
                None => xml(&op.to_string()),
            });
            let ops: Vec<String> = ops.collect();
            let after: Vec<String> = txn.outcome.mark().map(str::to_owned).into_iter().chain(times(txn)).collect();
            let after = if after.is_empty() { String::new() } else { format!(" {}", xml(&after.join(" "))) };
            lines.push(format!("{}: {{ {} }}{after}", xml(&txn.id), ops.join(" ")));
        }
    }
    lines.join("\n")
}

fn validated(report: &PredictReport, level: &LevelName, validation: &Validation, calls: &[String]) -> String {
    let class = match validation.verdict {
        ValidationVerdict::Validated => "local",
        ValidationVerdict::NotValidated { .. } => "note",
    };
    let words = validation_words(level, &report.target, validation);
    let mut out = format!("<h3>Validation</h3>\n<p class=\"{class}\">{}</p>\n", xml(&words));
    let lists = [
        ("What the transactions are:", calls),
        ("Where it diverged:", &validation.divergences),
        ("Assertions that failed:", &validation.failed),
    ];
    for (lead, items) in lists.into_iter().filter(|it| !it.1.is_empty()) {
        let items: Vec<String> = items.iter().map(|it| format!("<li>{}</li>\n", xml(it))).collect();
        out += &format!("<p>{lead}</p>\n<ul>\n{}</ul>\n", items.concat());
    }
    if !validation.history.is_empty() {
        let history: Vec<String> = validation.history.lines().map(xml).collect();
        out += &format!(
            "<details>\n<summary>The history of that run</summary>\n<pre>{}</pre>\n</details>\n",
            history.join("\n")
        );
    }
    out
}
