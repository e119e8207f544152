//! The document of `verify` as a page: the program beside the run that breaks it.

use super::{Page, copies, linked_figure, stepped, steps as contradiction};
use crate::document::LevelName;
use crate::highlight::Owner;
use crate::json::JsonLayout;
use crate::origin::source;
use crate::phrases::{effort_line, not_certified};
use crate::svg::{run_svg, values_svg};
use crate::value::Operation;
use crate::verify::{Access, Alike, BadRun, Executed, RepairReport, ServerRuns, VerifiedLevel, VerifyReport};
use crate::verify_phrases::{
    access_words, bounds, change_words, faults, headline, history_lead, role, step_lines, titled, weakest_line,
};
use crate::words::{prose, xml};

/// The page of `verify`.
pub(crate) fn verify_html(report: &VerifyReport) -> Page {
    let title = if report.inputs.is_empty() { "program".to_owned() } else { report.inputs.join(", ") };
    let mut body = format!("<p class=\"input\">{}</p>\n<h1>{}</h1>\n", xml(&title), xml(&headline(report)));
    body += &format!("<p class=\"size\">{}</p>\n", xml(&bounds(report)));
    for line in step_lines(report) {
        body += &format!("<p class=\"size\">{}</p>\n", xml(&line));
    }
    if let Some(words) = not_certified(report.not_certified.as_ref()) {
        body += &format!("<p class=\"size\">{}</p>\n", xml(&words));
    }
    if let Some(covers) = &report.covers {
        body += &format!("<p class=\"size\">{}</p>\n", xml(covers));
    }
    if let Some(line) = weakest_line(report) {
        body += &format!("<p class=\"lead\"><b>{}</b></p>\n", xml(&line));
    }
    body += &table(report);
    body += &repairs(&report.repairs);
    body += &single_steps(report);
    body += &report.server.as_ref().map(server).unwrap_or_default();
    let shown = report.shown();
    for (level, run) in &shown {
        let nth = report.levels.iter().position(|it| it.level == **level).unwrap_or(0);
        body += &section(level, run, &listing(report), &format!("levels.{nth}.counterexample.history"));
    }
    if shown.is_empty() {
        body += &format!("<h2>Program</h2>\n{}", listing(report));
    }
    let effort = effort_line(&report.inputs, &report.effort, None);
    Page { title, body, effort, json: report.to_json(JsonLayout::Compact) }
}

/// States from which a transaction breaks what is claimed, if any number was asked about.
fn single_steps(report: &VerifyReport) -> String {
    let mut out = String::new();
    for step in report.any_number.iter().flat_map(|it| &it.steps) {
        let (Some(run), Some(name)) = (&step.counterexample, &step.transaction) else { continue };
        out += &format!("<h2>{} is not enough by itself</h2>\n", xml(name));
        out +=
            &format!("<p>{}</p>\n", xml(&format!("{}. The state need not be one that is ever reached.", faults(run))));
        out += &(values("Open values", &run.open_values) + &values("Initial state", &run.initial));
        out += &values("Last state", &run.last_state);
    }
    out
}

/// What a real database did.
fn server(server: &ServerRuns) -> String {
    let mut out = format!("<h2>On a server</h2>\n<p>{}</p>\n", xml(&server.headline()));
    if let Some(first) = &server.first {
        out += &format!("<p class=\"local\">{}</p>\n", xml(&first.wrong.join(", ")));
        out += &values("Open values", &first.open_values);
        out += "<ol>\n";
        for step in &first.steps {
            let waited = if step.waited { " (after it waited for a lock)" } else { "" };
            out += &format!("<li>{}</li>\n", xml(&format!("{}: {}{waited}", step.transaction, step.words)));
        }
        out += "</ol>\n";
        out += &values("Last state", &first.last_state);
    }
    out
}

/// A row for the levels that have the same verdict, for the same reason.
fn table(report: &VerifyReport) -> String {
    let mut out = "<table>\n<thead><tr><th>verdict</th><th>levels</th><th>why</th></tr></thead>\n<tbody>\n".to_owned();
    for Alike { levels, note } in report.alike() {
        let word = levels[0].verdict.word();
        let names: Vec<String> = levels.iter().map(|it| level_name(report, it)).collect();
        let (names, why) = (names.join(", "), xml(&note));
        out += &format!("<tr class=\"{word}\"><td class=\"verdict\">{word}</td><td>{names}</td><td>{why}</td></tr>\n");
    }
    out + "</tbody>\n</table>\n"
}

/// A level that leads to its run, if that is shown.
fn level_name(report: &VerifyReport, level: &VerifiedLevel) -> String {
    let (short, full) = (xml(&level.level.short), xml(&level.level.full));
    if report.shown().iter().any(|it| *it.0 == level.level) {
        return format!("<a href=\"#run-{short}\" title=\"{full}\">{short}</a>");
    }
    format!("<span title=\"{full}\">{short}</span>")
}

/// A run without the program beside it.
pub(super) fn run_section(level: &LevelName, run: &BadRun, path: &str) -> String {
    let mut out = values("Open values", &run.open_values) + &values("Initial state", &run.initial);
    out += "<div class=\"case\">\n";
    if run.excerpt.local.is_some() || !run.excerpt.cycle.is_empty() {
        out += &format!("<h3>Why no serial order explains it</h3>\n<p>{}</p>\n", xml(&run.excerpt.summary));
        out += &linked_figure(&run_svg(level, run));
        out += &contradiction(&run.excerpt);
    }
    let history: Vec<String> = run.excerpt.history.lines().map(prose).collect();
    out += &format!("<p>{}</p>\n<pre>{}</pre>\n", xml(&history_lead(level, run)), history.join("\n"));
    out + &copies(path, None) + "</div>\n"
}

fn section(level: &LevelName, run: &BadRun, listing: &str, path: &str) -> String {
    let mut out = format!("<section id=\"run-{}\">\n", xml(&level.short));
    out += &format!("<h2>Counterexample under {}</h2>\n", xml(&titled(level)));
    for fault in &run.wrong {
        let words = format!("{} (line {})", fault.words, fault.place.line);
        out += &format!("<p class=\"local\">{}</p>\n", xml(&words));
    }
    out += &values("Open values", &run.open_values);
    out += &values("Initial state", &run.initial);
    out += "<div class=\"panels runs case\">\n";
    out += &format!("<div class=\"panel\">\n<h3>Program</h3>\n{listing}</div>\n");
    out += &format!(
        "<div class=\"panel\">\n<h3>Run</h3>\n{}{}</div>\n</div>\n",
        linked_figure(&values_svg(run)),
        stepped(&steps(run))
    );
    out += "<div class=\"case\">\n";
    if run.excerpt.local.is_some() || !run.excerpt.cycle.is_empty() {
        out += &format!("<h3>Why no serial order explains it</h3>\n<p>{}</p>\n", xml(&run.excerpt.summary));
        out += &linked_figure(&run_svg(level, run));
        out += &contradiction(&run.excerpt);
    }
    let history: Vec<String> = run.excerpt.history.lines().map(prose).collect();
    out += &format!("<p>{}</p>\n<pre>{}</pre>\n", xml(&history_lead(level, run)), history.join("\n"));
    out + &copies(path, None) + "</div>\n</section>\n"
}

/// The program with line numbers; lines where something is wrong are marked.
fn listing(report: &VerifyReport) -> String {
    let faulty = report.faulty_lines();
    let mut out = "<pre class=\"program\">".to_owned();
    for (idx, line) in report.program.text.lines().enumerate() {
        let number = idx as u64 + 1;
        let code = xml(&line.replace('\t', "    "));
        let code = if faulty.contains(&number) { format!("<mark>{code}</mark>") } else { code };
        out += &format!(
            "<span class=\"line\" data-line=\"{number}\"><span class=\"number\">{number:>3}</span> {code}\n</span>"
        );
    }
    out + "</pre>\n"
}

/// What happened, step by step: each read and write, and the state that is left.
fn steps(run: &BadRun) -> Vec<String> {
    let mut items = Vec::new();
    for txn in &run.transactions {
        items.extend(steps_of(run, txn));
    }
    if let Some(seen) = &run.observer {
        let observer = run.excerpt.transactions.iter().position(|it| it.session == "observer");
        let words = |it: &Access| format!("An observer, who only looks, reads {}", read_words(it));
        let nth = |it: usize| (it, seen.len());
        items.extend(seen.iter().enumerate().map(|(idx, it)| of_read(run, observer, nth(idx), it, &words(it))));
    }
    let last: Vec<String> = run.last_state.iter().map(held).collect();
    let lines: Vec<String> = run.faulty_lines().iter().map(ToString::to_string).collect();
    items.push(format!(
        "<li class=\"contradiction\" data-links=\"\" data-lit=\"\" data-txns=\"\" data-lines=\"{}\">In the end, {}: {}.</li>\n",
        lines.join(" "),
        last.join(", "),
        xml(&faults(run))
    ));
    items
}

fn steps_of(run: &BadRun, txn: &Executed) -> Vec<String> {
    let place = run.excerpt.transactions.iter().position(|it| it.id == txn.id);
    let mut lead = format!("<b>{}</b> (<code>{}</code>, {}) ", xml(&txn.name), xml(&txn.id), xml(&role(txn)));
    let name = format!("<b>{}</b> ", xml(&txn.name));
    let mut items = Vec::new();
    for (nth, read) in txn.reads.iter().enumerate() {
        let words = format!("{}reads {}", std::mem::replace(&mut lead, name.clone()), read_words(read));
        items.push(of_read(run, place, (nth, txn.reads.len()), read, &words));
    }
    for (nth, write) in txn.writes.iter().enumerate() {
        let value = held(&(write.unit.clone(), write.value.clone()));
        let line = write.line.map(|it| format!(" (line {it})")).unwrap_or_default();
        let words = format!("{}writes {value}{line}", std::mem::replace(&mut lead, name.clone()));
        let op = place.and_then(|it| nth_op(run, it, (nth, txn.writes.len()), |op| !op.is_read()));
        items.push(item(place, op, None, write.line, &words));
    }
    if items.is_empty() {
        items.push(item(place, None, None, None, lead.trim_end()));
    }
    items
}

/// The `nth` of so many reads of a transaction of the history.
fn of_read(run: &BadRun, reader: Option<usize>, nth: (usize, usize), read: &Access, words: &str) -> String {
    let op = reader.and_then(|it| nth_op(run, it, nth, Operation::is_read));
    let writer = match &read.from {
        None => Some(Owner::Initial),
        Some(name) => {
            let id = run.transactions.iter().find(|it| it.name == *name).map(|it| it.id.as_str());
            id.and_then(|it| Owner::named(&run.excerpt, it))
        }
    };
    let write = op.zip(writer).and_then(|((txn, op), writer)| {
        source(&run.excerpt, writer, txn, op).map(|write| format!("{}.{write}", writer.token()))
    });
    item(reader, op, write.as_deref(), read.line, words)
}

/// The place of the `nth` of all operations of a kind in the history, if the history has as many as the run.
fn nth_op(
    run: &BadRun,
    txn: usize,
    (nth, n_all): (usize, usize),
    is_kind: impl Fn(&Operation) -> bool,
) -> Option<(usize, usize)> {
    let ops = run.excerpt.transactions[txn].ops.iter().enumerate();
    let ops: Vec<usize> = ops.filter(|it| is_kind(it.1)).map(|it| it.0).collect();
    ops.get(nth).filter(|_| ops.len() == n_all).map(|it| (txn, *it))
}

/// A step: the operation that it lights, the write whose value it reads, and the line of the program.
fn item(txn: Option<usize>, op: Option<(usize, usize)>, write: Option<&str>, line: Option<u64>, words: &str) -> String {
    let op = op.map(|(txn, op)| format!("{txn}.{op}"));
    let flow = write.zip(op.as_ref()).map(|(write, op)| format!("{write}-{op}")).unwrap_or_default();
    let highlight: Vec<String> = op.into_iter().chain(write.map(str::to_owned)).collect();
    let owner = write.and_then(|it| it.split('.').next()).map(str::to_owned);
    let txns: Vec<String> = txn.map(|it| it.to_string()).into_iter().chain(owner).collect();
    format!(
        "<li data-links=\"\" data-lit=\"{}\" data-txns=\"{}\" data-flows=\"{flow}\" data-lines=\"{}\">{words}</li>\n",
        highlight.join(" "),
        txns.join(" "),
        line.map(|it| it.to_string()).unwrap_or_default()
    )
}

fn read_words(read: &Access) -> String {
    format!("<code>{}</code> = {}", xml(&read.unit), xml(&access_words(read)))
}

fn held((name, value): &(String, String)) -> String {
    format!("<code>{}</code> = {}", xml(name), xml(value))
}

fn values(lead: &str, values: &[(String, String)]) -> String {
    if values.is_empty() {
        return String::new();
    }
    let each: Vec<String> = values.iter().map(held).collect();
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
            out += &format!("<li>{}</li>\n", with_code(&change_words(change)));
        }
        out += "</ul>\n";
    }
    out
}

/// Words in which what stands between backticks is code.
fn with_code(words: &str) -> String {
    let pieces = words.split('`').enumerate();
    let marked = pieces.map(|(idx, it)| if idx % 2 == 1 { format!("<code>{}</code>", xml(it)) } else { xml(it) });
    marked.collect()
}
