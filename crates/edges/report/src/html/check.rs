//! The document of `check` as a page.

use super::schedule::schedule;
use super::surroundings::{around, summary};
use super::{Page, chart, copies, linked_figure, steps};
use crate::check_phrases::{
    CORE_LEAD, DATABASES_LEAD, MAX_EMBEDDED, Medium, SAID_LEAD, anomaly_words, certified, check_headline,
    rule_of_statements, witness,
};
use crate::document::{CheckReport, Evidence, Excerpt, Judgement, LevelReport, SqlStatement};
use crate::findings::{Finding, findings};
use crate::json::JsonLayout;
use crate::notation::{Comments, notation};
use crate::promise::{PromiseVerdict, beyond, on_one_server};
use crate::svg::{Frame, figure_svg, levels_svg, over_time_chart};
use crate::text::{defect_text, memory, size};
use crate::words::{prose, xml};
use iso_spec::Level;

/// The page of `check`.
pub(crate) fn check_html(report: &CheckReport) -> Page {
    let title = if report.inputs.is_empty() { "history".to_owned() } else { report.inputs.join(", ") };
    let mut body = format!("<p class=\"input\">{}</p>\n<h1>{}</h1>\n", xml(&title), xml(&check_headline(report)));
    body += &lead(report);
    body += &durability(report);
    body += &defects(report);
    let findings = findings(report);
    for (idx, finding) in findings.iter().enumerate() {
        body += &section(report, idx, finding, &Inside::default());
    }
    body += &schedule(report);
    body += &levels(report, &findings);
    body += &summary(report);
    body += &over_time(report);
    body += &run(report);
    body += &witnesses(report);
    let effort = effort(report);
    Page { title, body, effort, json: embedded(report).to_json(JsonLayout::Compact) }
}

/// How the check of a recording went while it was read.
fn over_time(report: &CheckReport) -> String {
    let Some(over_time) = &report.over_time else { return String::new() };
    chart("The check over time", |room| over_time_chart(over_time, room))
}

/// Acknowledged writes that are gone.
pub(super) fn durability(report: &CheckReport) -> String {
    match report.durability.as_ref().filter(|it| it.lost > 0) {
        Some(durability) => {
            let lines: Vec<String> = durability.words().iter().map(|it| prose(it)).collect();
            format!("<p class=\"failed\"><b>LOST</b> {}</p>\n", lines.join("<br/>"))
        }
        None => String::new(),
    }
}

/// The document with the beginnings of its schedules: whoever wants all of a long one does not look into a page.
fn embedded(report: &CheckReport) -> CheckReport {
    let levels = report.levels.iter().map(|it| LevelReport {
        level: it.level.clone(),
        judgement: match &it.judgement {
            Judgement::Holds { evidence } => Judgement::Holds { evidence: evidence.beginning(MAX_EMBEDDED) },
            other => other.clone(),
        },
        certified: it.certified.clone(),
    });
    CheckReport {
        inputs: report.inputs.clone(),
        defects: report.defects.clone(),
        seconds: report.seconds,
        peak_bytes: report.peak_bytes,
        history: report.history,
        promise: report.promise.clone(),
        durability: report.durability.clone(),
        levels: levels.collect(),
        whole: report.whole.clone(),
        surroundings: report.surroundings.clone(),
        over_time: report.over_time.clone(),
    }
}

/// Where a document of `check` stands in the page of another one.
#[derive(Default)]
pub(super) struct Inside {
    /// What the names of its sections begin with.
    pub(super) prefix: String,
    /// What its headings begin with: `1. `.
    pub(super) number: String,
    /// How deep they are.
    pub(super) depth: Depth,
    /// Where the JSON of the page has it: `findings.0.check.`.
    pub(super) path: String,
}

/// How deep a heading is.
#[derive(Clone, Copy, Default)]
pub(super) enum Depth {
    #[default]
    Section,
    Subsection,
}

impl Depth {
    fn element(self) -> &'static str {
        match self {
            Self::Section => "h2",
            Self::Subsection => "h3",
        }
    }
}

/// What is forbidden, one section each, inside another page.
pub(super) fn sections(report: &CheckReport, inside: &Inside) -> String {
    findings(report).iter().enumerate().map(|(idx, it)| section(report, idx, it, inside)).collect()
}

/// What the page says in one or two lines.
pub(super) fn lead(report: &CheckReport) -> String {
    let mut out = String::new();
    if let Some(promise) = &report.promise {
        let mut words = format!("Source: {}.", promise.source);
        if let Some(more) = on_one_server(report) {
            words = format!("{more} {words}");
        }
        let has_others = promise.verdict != PromiseVerdict::Broken && !beyond(report).1.is_empty();
        words += if has_others { " Levels that are violated below were promised by nobody." } else { "" };
        out += &format!("<p class=\"note\">{}</p>\n", prose(&words));
    }
    if let Some(counts) = &report.history {
        out += &format!("<p class=\"size\">{}</p>\n", xml(&size(counts)));
    }
    out + &format!("<p class=\"chips\">{}</p>\n", report.levels.iter().map(chip).collect::<Vec<_>>().join(" "))
}

fn defects(report: &CheckReport) -> String {
    if report.defects.is_empty() {
        return String::new();
    }
    let mut out = "<h2>Defects of the input</h2>\n<ul class=\"defects\">\n".to_owned();
    for defect in &report.defects {
        let word = defect.severity.word();
        out += &format!("<li class=\"{word}\"><b>{word}</b> {}</li>\n", xml(&defect_text(defect)));
    }
    out + "</ul>\n"
}

/// A level and its verdict, in a word each.
fn chip(level: &LevelReport) -> String {
    let word = level.judgement.word();
    let (name, title) = (xml(&level.level.short), xml(&level.level.full));
    format!("<span class=\"chip {word}\" title=\"{title}: {word}\"><b>{name}</b> {word}</span>")
}

/// Every level with its verdict, and how levels imply each other.
fn levels(report: &CheckReport, findings: &[Finding<'_>]) -> String {
    let target = |level: &LevelReport| {
        let finding = findings.iter().position(|it| it.levels.contains(&&level.level));
        finding.map(|idx| format!("finding-{idx}"))
    };
    let table = table(report, findings);
    match levels_svg(report, target) {
        Some(lattice) => format!(
            "<h2>Levels</h2>\n<div class=\"levels-and-lattice\">\n{table}<figure class=\"lattice\">\n{lattice}\
             <figcaption>A line leads down to what a level implies.</figcaption>\n</figure>\n</div>\n"
        ),
        None => table,
    }
}

fn table(report: &CheckReport, findings: &[Finding<'_>]) -> String {
    if report.levels.is_empty() {
        return String::new();
    }
    let mut out = "<table>\n<thead><tr><th>level</th><th>verdict</th><th>why</th></tr></thead>\n<tbody>\n".to_owned();
    for (nth, level) in report.levels.iter().enumerate() {
        if nth > 0 && level.level.is_of_databases() && !report.levels[nth - 1].level.is_of_databases() {
            out += &format!("<tr class=\"group\"><td colspan=\"3\">{DATABASES_LEAD}</td></tr>\n");
        }
        let word = level.judgement.word();
        let names = format!("<b>{}</b> <span>{}</span>", xml(&level.level.short), xml(&level.level.full));
        out += &format!("<tr class=\"{word}\"><td>{names}</td><td class=\"verdict\">{word}</td>");
        out += &format!("<td>{}</td></tr>\n", why(level, findings));
    }
    out + "</tbody>\n</table>\n"
}

fn why(level: &LevelReport, findings: &[Finding<'_>]) -> String {
    let mut why = match &level.judgement {
        Judgement::Holds { .. } => String::new(),
        Judgement::Unknown { reason } => xml(reason),
        Judgement::Violated { anomalies, .. } => {
            let names = if anomalies.is_empty() { "forbidden".to_owned() } else { anomalies.join(", ") };
            match findings.iter().position(|it| it.levels.contains(&&level.level)) {
                Some(idx) => format!("<a href=\"#finding-{idx}\">{}</a>", xml(&names)),
                None => xml(&names),
            }
        }
    };
    if let Some(Err(problem)) = &level.certified {
        why += &format!(" <strong class=\"uncertified\">not certified: {}</strong>", xml(problem));
    }
    why
}

/// One refutation: its picture, its sentences and its history.
fn section(report: &CheckReport, idx: usize, finding: &Finding<'_>, inside: &Inside) -> String {
    let core = finding.core;
    let id = format!("{}finding-{idx}", inside.prefix);
    let h = inside.depth.element();
    let heading = format!("{}{}", inside.number, anomaly_words(finding.title()));
    let mut out = format!("<section id=\"{id}\" class=\"case\">\n<{h}>{}</{h}>\n", xml(&heading));
    out += &format!(
        "<p class=\"levels\">forbidden by {}</p>\n<p>{}</p>\n",
        xml(&finding.level_names()),
        xml(&core.summary)
    );
    if let Some(rule) = rule_of_statements(finding).filter(|_| core.local.is_none()) {
        out += &format!("<p>{}</p>\n", xml(rule));
    }
    out += &linked_figure(&figure_svg(finding, Frame::Bare));
    out += &steps(core);
    let history: Vec<String> = notation(core, Comments::Names).lines().map(prose).collect();
    out += &format!("<p>{CORE_LEAD}</p>\n<pre>{}</pre>\n", history.join("\n"));
    out += &said(core, Which::Told);
    let first = report.levels.iter().position(|it| finding.levels.first() == Some(&&it.level)).unwrap_or(0);
    let level = finding.levels.first().filter(|it| Level::from_name(&it.short).is_some());
    out += &copies(&format!("{}levels.{first}.evidence.history", inside.path), level.map(|it| it.short.as_str()));
    out += &around(report, finding);
    out + "</section>\n"
}

/// Which statements of transactions are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    /// Those that operations of the excerpt came of.
    Told,
    All,
}

/// What the application said, beside what came of it.
fn said(excerpt: &Excerpt, which: Which) -> String {
    let mut rows = String::new();
    for txn in &excerpt.transactions {
        let is_shown = |it: &&SqlStatement| !it.sql.is_empty() && (which == Which::All || !it.ops.is_empty());
        for (nth, statement) in txn.statements.iter().filter(is_shown).enumerate() {
            let name = if nth == 0 { txn.id.as_str() } else { "" };
            let ops: Vec<String> =
                statement.ops.iter().filter_map(|it| txn.ops.get(*it)).map(ToString::to_string).collect();
            let ops: Vec<String> = ops.iter().map(|it| prose(it)).collect();
            rows += &format!(
                "<tr><td>{}</td><td><code>{}</code></td><td><code>{}</code></td></tr>\n",
                xml(name),
                xml(&statement.sql),
                ops.join("<br>")
            );
        }
    }
    if rows.is_empty() {
        return rows;
    }
    format!(
        "<p>{SAID_LEAD}</p>\n<table class=\"said\">\n<thead><tr><th>transaction</th><th>statement</th><th>recorded as</th></tr>\
         </thead>\n<tbody>\n{rows}</tbody>\n</table>\n"
    )
}

/// A small run as a whole, statement by statement.
fn run(report: &CheckReport) -> String {
    let table = report.whole.as_ref().map(|it| said(it, Which::All)).unwrap_or_default();
    if table.is_empty() {
        return table;
    }
    format!("<details>\n<summary>The whole run, statement by statement</summary>\n{table}</details>\n")
}

/// How the levels that hold may have happened.
fn witnesses(report: &CheckReport) -> String {
    let holding: Vec<(&LevelReport, &Evidence)> = report
        .levels
        .iter()
        .filter_map(|it| match &it.judgement {
            Judgement::Holds { evidence } => Some((it, evidence)),
            _ => None,
        })
        .collect();
    if holding.is_empty() {
        return String::new();
    }
    let which = if holding.len() < report.levels.len() { "the other levels hold" } else { "it holds" };
    let mut out = format!("<details>\n<summary>Why {which}</summary>\n<ul>\n");
    for (level, evidence) in holding {
        let sentence = witness(&level.level, evidence, Medium::Page);
        out += &format!("<li><b>{}</b> {}</li>\n", xml(&level.level.short), xml(&sentence));
    }
    out + "</ul>\n</details>\n"
}

/// What it took, and that its evidence is certified.
fn effort(report: &CheckReport) -> String {
    let seconds = format!("{:.2} s", report.seconds);
    let words = [Some(seconds), report.peak_bytes.map(memory), certified(report)];
    words.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
