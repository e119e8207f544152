//! A lattice as a picture: the strongest levels at the top, a line down to each that is implied directly.

use super::figure::{FAINT, Figure, GREEN, INK, MONO, line, n};
use crate::hasse::class_name;
use crate::phrases::{anomalies, claim, lattice_headline, not_certified, scope_line};
use crate::picture::{ClassBox, Hasse, HasseLine, Metrics};
use crate::search::{LatticeReport, Sureness};
use crate::words::xml;

/// Where lines of a diagram lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Links {
    /// Nowhere: the picture stands by itself.
    None,
    /// To the section `edge-1` of the page around it, and so on.
    Sections,
}

/// The lattice as one SVG.
pub(crate) fn lattice_svg(report: &LatticeReport) -> String {
    let diagram = diagram(report, Links::None);
    let mut headline = Figure::empty(diagram.width);
    headline.paragraph(&lattice_headline(report), 16.0, INK, "bold");
    let mut scope = Figure::empty(diagram.width);
    scope.height = 0.0;
    scope.paragraph(&scope_line(&report.scope), 12.0, FAINT, "normal");
    if let Some(line) = not_certified(report.not_certified.as_ref()) {
        scope.paragraph(&line, 12.0, FAINT, "normal");
    }
    scope.height += 8.0;
    Figure::stacked(&[headline, diagram, scope]).alone()
}

/// The diagram without words around it, each line a link to its section.
pub(crate) fn linked_diagram(report: &LatticeReport) -> String {
    diagram(report, Links::Sections).alone()
}

fn diagram(report: &LatticeReport, links: Links) -> Figure {
    let hasse = Hasse::new(report);
    let mut figure = Figure::empty(hasse.width);
    // A narrow diagram stands in the middle.
    let shift = (figure.width - hasse.width) / 2.0;
    figure.body += &format!("<g transform=\"translate({} {})\">\n", n(shift), n(figure.height));
    for (idx, drawn) in hasse.lines.iter().enumerate() {
        // Line by line, since a line break inside of a text is shown as what it is.
        let lines: Vec<String> = title(report, idx).lines().map(xml).collect();
        let title = format!("<title>{}</title>", lines.join("&#10;"));
        let sureness = report.sureness_of_edge(&report.edges[idx]);
        let inside = format!("{title}{}", line_body(drawn, sureness));
        figure.body += &match links {
            Links::None => format!("<g>{inside}</g>\n"),
            Links::Sections => format!("<a href=\"#edge-{}\">{inside}</a>\n", idx + 1),
        };
    }
    for class in &hasse.boxes {
        figure.body += &class_body(report, class);
    }
    figure.body += "</g>\n";
    figure.height += hasse.height + 24.0;
    if !hasse.lines.is_empty() {
        let words = "A line leads down to what is implied directly. n×m: the smallest history that only the weaker level \
                     allows has n transactions and m keys.";
        figure.paragraph(words, 12.0, FAINT, "normal");
    }
    if !report.implications.is_empty() {
        legend(&mut figure);
    }
    figure.height += Metrics::BOX_PADDING;
    figure
}

/// How a line or a border is drawn that is so sure: its colour, its width, and dashes.
fn stroke(sureness: Sureness) -> (&'static str, &'static str, &'static str) {
    match sureness {
        Sureness::Unasked => ("#8c959f", "1.4", ""),
        Sureness::Proved => (GREEN, "1.8", ""),
        Sureness::Bounded => (ORANGE, "1.8", " stroke-dasharray=\"6 4\""),
    }
}

/// What is not proved is not green.
const ORANGE: &str = "#bc4c00";

/// What the kinds of lines mean.
fn legend(figure: &mut Figure) {
    for (sureness, words) in [
        (Sureness::Proved, "proved for every size, and certified"),
        (Sureness::Bounded, "only up to the scope: no proof, and no history against it"),
    ] {
        let (colour, width, dashes) = stroke(sureness);
        let y = figure.height + 10.0;
        figure.body += &format!(
            "<path d=\"M 24 {0} L 64 {0}\" stroke=\"{colour}\" stroke-width=\"{width}\"{dashes}/>\
             <text x=\"74\" y=\"{1}\" font-size=\"12\" fill=\"{FAINT}\">{words}</text>\n",
            n(y),
            n(y + 4.0)
        );
        figure.height += 20.0;
    }
}

/// What the tooltip of a line says.
fn title(report: &LatticeReport, idx: usize) -> String {
    let edge = &report.edges[idx];
    let (stronger, weaker) = (class_name(report, edge.stronger), class_name(report, edge.weaker));
    let names = edge.found.refutations.iter().map(anomalies).find(|it| !it.is_empty()).unwrap_or_default();
    format!("{}{names}\n{}", claim(&[weaker], &[stronger], "this"), edge.found.history.trim_end())
}

/// A line with its label, and an invisible broad one that is easy to hit.
fn line_body(drawn: &HasseLine, sureness: Sureness) -> String {
    let (colour, width, dashes) = stroke(sureness);
    let path = line(&drawn.path);
    let rect = drawn.label_rect;
    format!(
        "<path d=\"{path}\" fill=\"none\" stroke=\"#ffffff\" stroke-opacity=\"0\" stroke-width=\"12\"/>\
         <path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"{dashes}/>\
         <rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\" fill=\"#ffffff\" fill-opacity=\"0.92\"/>\
         <text x=\"{}\" y=\"{}\" font-size=\"10.5\" text-anchor=\"middle\" fill=\"{FAINT}\">{}</text>",
        n(rect.x),
        n(rect.y),
        n(rect.width),
        n(rect.height),
        n(rect.x + rect.width / 2.0),
        n(rect.bottom() - 3.5),
        xml(&drawn.label)
    )
}

fn class_body(report: &LatticeReport, class: &ClassBox) -> String {
    let names: Vec<String> = class.names.iter().map(|it| it.1.clone()).collect();
    let (fill, stroke) = match report.sureness_of_class(&names) {
        _ if names.len() == 1 => ("#ffffff", "#57606a"),
        Sureness::Bounded => ("#fff8f0", ORANGE),
        Sureness::Unasked | Sureness::Proved => ("#f0fff4", GREEN),
    };
    let rect = class.rect;
    let mut body = format!(
        "<g font-family=\"{MONO}\" font-size=\"12\" text-anchor=\"middle\">\n<rect x=\"{}\" y=\"{}\" width=\"{}\" \
         height=\"{}\" rx=\"8\" fill=\"{fill}\" stroke=\"{stroke}\" stroke-width=\"1.2\"/>\n",
        n(rect.x),
        n(rect.y),
        n(rect.width),
        n(rect.height)
    );
    for (nth, (shown, full)) in class.names.iter().enumerate() {
        let summary = report.levels.iter().find(|it| it.name == *full).map_or("", |it| it.summary.as_str());
        let weight = if nth == 0 { " font-weight=\"bold\"" } else { "" };
        body += &format!(
            "<text x=\"{}\" y=\"{}\"{weight} fill=\"{INK}\"><title>{}</title>{}</text>\n",
            n(rect.x + rect.width / 2.0),
            n(rect.y + 20.0 + nth as f64 * 17.0),
            xml(&format!("{full}: {summary}")),
            xml(shown)
        );
    }
    body + "</g>\n"
}
