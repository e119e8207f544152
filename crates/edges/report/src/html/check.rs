//! The document of `check` as a page.

use super::{cycle, page};
use crate::document::{CheckReport, Evidence, Judgement, LevelReport};
use crate::findings::{Finding, any_holds, findings, strongest_that_hold};
use crate::json::JsonLayout;
use crate::notation::{Comments, notation};
use crate::svg::{Frame, figure_svg};
use crate::text::{defect_text, memory, size, witness};
use crate::words::xml;

/// The report as one self-contained page. The JSON of the document is inside, in the element `report`.
pub fn html(report: &CheckReport) -> String {
    let title = if report.inputs.is_empty() { "history".to_owned() } else { report.inputs.join(", ") };
    let mut body = format!("<h1>{}</h1>\n", xml(&title));
    body += &lead(report);
    body += &defects(report);
    let findings = findings(report);
    body += &table(report, &findings);
    for (idx, finding) in findings.iter().enumerate() {
        body += &section(idx, finding);
    }
    body += &witnesses(report);
    body += &footer(report);
    page(&title, &body, &report.to_json(JsonLayout::Compact))
}

/// What the page says in one or two lines.
fn lead(report: &CheckReport) -> String {
    let mut out = String::new();
    if let Some(counts) = &report.history {
        out += &format!("<p class=\"size\">{}</p>\n", xml(&size(counts)));
    }
    if report.levels.len() > 1 {
        let names: Vec<String> =
            strongest_that_hold(report).iter().map(|it| format!("<b>{}</b>", xml(&it.full))).collect();
        out += &match names.len() {
            0 if any_holds(report) => String::new(),
            0 => "<p class=\"lead\">None of these levels is known to hold.</p>\n".to_owned(),
            1 => format!("<p class=\"lead\">Strongest level that holds: {}</p>\n", names[0]),
            _ => format!("<p class=\"lead\">Strongest levels that hold: {}</p>\n", names.join(", ")),
        };
    }
    out
}

fn defects(report: &CheckReport) -> String {
    if report.defects.is_empty() {
        return String::new();
    }
    let mut out = "<h2>Defects of the input</h2>\n<ul class=\"defects\">\n".to_owned();
    for defect in &report.defects {
        let word = if defect.is_error { "error" } else { "warning" };
        out += &format!("<li class=\"{word}\"><b>{word}</b> {}</li>\n", xml(&defect_text(defect)));
    }
    out + "</ul>\n"
}

fn table(report: &CheckReport, findings: &[Finding<'_>]) -> String {
    if report.levels.is_empty() {
        return String::new();
    }
    let mut out = "<table>\n<thead><tr><th>level</th><th>verdict</th><th>why</th></tr></thead>\n<tbody>\n".to_owned();
    for level in &report.levels {
        let word = level.judgement.word();
        let names = format!("<b>{}</b> <span>{}</span>", xml(&level.level.short), xml(&level.level.full));
        out += &format!("<tr class=\"{word}\"><td>{names}</td><td class=\"verdict\">{word}</td>");
        out += &format!("<td>{}</td></tr>\n", why(level, findings));
    }
    out + "</tbody>\n</table>\n"
}

fn why(level: &LevelReport, findings: &[Finding<'_>]) -> String {
    let mut why = match &level.judgement {
        Judgement::Holds(_) => String::new(),
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
fn section(idx: usize, finding: &Finding<'_>) -> String {
    let part = finding.part;
    let mut out = format!("<section id=\"finding-{idx}\">\n<h2>{}</h2>\n", xml(finding.title()));
    out += &format!(
        "<p class=\"levels\">forbidden by {}</p>\n<p>{}</p>\n",
        xml(&finding.level_names()),
        xml(&part.summary)
    );
    if let Some(local) = &part.local {
        out += &format!("<p class=\"local\">{}.</p>\n", xml(&local.because));
    }
    out += &format!("<figure>\n{}</figure>\n", figure_svg(finding, Frame::Bare));
    out += &cycle(&part.cycle);
    let history: Vec<String> = notation(part, Comments::Names).lines().map(xml).collect();
    out + &format!("<p>This part of the history is enough:</p>\n<pre>{}</pre>\n</section>\n", history.join("\n"))
}

/// How the levels that hold may have happened.
fn witnesses(report: &CheckReport) -> String {
    let holding: Vec<(&LevelReport, &Evidence)> = report
        .levels
        .iter()
        .filter_map(|it| match &it.judgement {
            Judgement::Holds(evidence) => Some((it, evidence)),
            _ => None,
        })
        .collect();
    if holding.is_empty() {
        return String::new();
    }
    let mut out = "<details>\n<summary>Why the other levels hold</summary>\n<ul>\n".to_owned();
    for (level, evidence) in holding {
        let sentence = witness(&level.level.short, evidence).replace("--json has it", "the JSON in this page has it");
        let sentence = sentence.replace("are in the --json", "are in the JSON in this page");
        out += &format!("<li><b>{}</b> {}</li>\n", xml(&level.level.short), xml(&sentence));
    }
    out + "</ul>\n</details>\n"
}

fn footer(report: &CheckReport) -> String {
    let memory = report.peak_bytes.map(|it| format!(", {}", memory(it))).unwrap_or_default();
    format!("<footer>Isoscope, {:.2} s{memory}</footer>\n", report.seconds)
}
