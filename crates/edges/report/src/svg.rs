//! The document as a picture: one figure for each distinct refutation, drawn without help from outside.
#![allow(clippy::cast_precision_loss, clippy::cast_sign_loss, reason = "pictures are small and have no negative sizes")]

use crate::document::{CheckReport, Outcome};
use crate::findings::{Finding, findings};
use crate::picture::{Emphasis, Layout, Metrics, Path, Piece, Point, Route, TxnBox, routes};
use crate::words::{harmless, width, wrapped, xml};

const MONO: &str = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace";
const SANS: &str = "system-ui, 'DejaVu Sans', 'Segoe UI', Helvetica, Arial, sans-serif";
const INK: &str = "#1f2328";
const FAINT: &str = "#656d76";
const RED: &str = "#cf222e";
/// The width of a letter of a caption, on average.
const CAPTION_LETTER: f64 = 6.9;
const MIN_WIDTH: f64 = 460.0;

/// The report as one SVG: a figure below the other, or a line with the verdicts if there is nothing to draw.
pub fn svg(report: &CheckReport) -> String {
    let figures: Vec<Figure> = findings(report).iter().map(|it| Figure::new(it, Frame::Titled)).collect();
    if figures.is_empty() {
        return Figure::of_words(&verdict_line(report)).alone();
    }
    let width = figures.iter().map(|it| it.width).fold(0.0, f64::max);
    let mut body = String::new();
    let mut y = 0.0;
    for figure in &figures {
        body += &format!("<g transform=\"translate(0 {})\">\n{}</g>\n", n(y), figure.body);
        y += figure.height;
    }
    Figure { width, height: y, body }.alone()
}

/// The picture of one refutation as an SVG of its own.
pub fn figure_svg(finding: &Finding<'_>, frame: Frame) -> String {
    Figure::new(finding, frame).alone()
}

/// Does a picture stand by itself?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// With title and caption.
    Titled,
    /// Without them: the page around it says the same.
    Bare,
}

fn verdict_line(report: &CheckReport) -> String {
    let verdicts: Vec<String> =
        report.levels.iter().map(|it| format!("{}: {}", it.level.short, it.judgement.word())).collect();
    if verdicts.is_empty() { "nothing was checked".to_owned() } else { verdicts.join(", ") }
}

struct Figure {
    width: f64,
    height: f64,
    body: String,
}

impl Figure {
    fn new(finding: &Finding<'_>, frame: Frame) -> Self {
        let layout = Layout::new(finding.part);
        let routes = routes(finding.part, &layout);
        let top = routes.iter().flat_map(|it| &it.samples).map(|it| it.y).fold(0.0, f64::min);
        let bottom = routes.iter().flat_map(|it| &it.samples).map(|it| it.y).fold(layout.height, f64::max);
        let mut figure = Self { width: layout.width.max(MIN_WIDTH), height: 0.0, body: String::new() };
        figure.height += Metrics::MARGIN;
        if frame == Frame::Titled {
            figure.heading(finding);
            figure.height += 10.0;
        }
        figure.height -= top;
        figure.body += &format!("<g transform=\"translate(0 {})\">\n", n(figure.height));
        figure.lanes(&layout);
        for route in &routes {
            figure.arrow(route);
        }
        for txn in &layout.boxes {
            figure.txn(txn);
        }
        for route in routes.iter().filter(|it| it.emphasis == Emphasis::Strong) {
            figure.label(route);
        }
        figure.body += "</g>\n";
        figure.height += bottom + 26.0;
        figure.legend(&routes);
        if frame == Frame::Titled {
            figure.caption(finding);
        }
        figure.height += 8.0;
        figure
    }

    fn of_words(words: &str) -> Self {
        let mut figure = Self { width: MIN_WIDTH, height: Metrics::MARGIN, body: String::new() };
        figure.paragraph(words, 14.0, INK, "normal");
        figure.height += 12.0;
        figure
    }

    /// The figure as a file of its own.
    fn alone(&self) -> String {
        let (width, height) = (n(self.width), n(self.height));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" font-family=\"{SANS}\" font-size=\"13\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{}</svg>\n",
            self.body
        )
    }

    fn heading(&mut self, finding: &Finding<'_>) {
        self.paragraph(finding.title(), 17.0, INK, "bold");
        let names: Vec<String> = finding.levels.iter().map(|it| it.full.clone()).collect();
        self.paragraph(&format!("forbidden by {}", names.join(", ")), 13.0, FAINT, "normal");
    }

    fn paragraph(&mut self, text: &str, size: f64, colour: &str, weight: &str) {
        let columns = (self.width - 2.0 * Metrics::MARGIN) / (CAPTION_LETTER * size / 13.0);
        for line in wrapped(&harmless(text), columns as usize) {
            self.height += size;
            self.body += &format!(
                "<text x=\"{}\" y=\"{}\" font-size=\"{}\" font-weight=\"{weight}\" fill=\"{colour}\">{}</text>\n",
                n(Metrics::MARGIN),
                n(self.height),
                n(size),
                xml(&line)
            );
            self.height += 6.0;
        }
    }

    fn lanes(&mut self, layout: &Layout) {
        for lane in &layout.lanes {
            self.body += &format!(
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"10\" fill=\"#f3f5f8\"/>\n",
                n(lane.rect.x),
                n(lane.rect.y),
                n(lane.rect.width),
                n(lane.rect.height)
            );
            self.body += &format!(
                "<text x=\"{}\" y=\"{}\" font-family=\"{MONO}\" font-weight=\"bold\" fill=\"{FAINT}\">{}</text>\n",
                n(lane.rect.x + 12.0),
                n(lane.rect.y + 22.0),
                xml(&lane.name)
            );
        }
    }

    fn txn(&mut self, txn: &TxnBox) {
        let dashes = if txn.outcome == Outcome::Committed { "" } else { " stroke-dasharray=\"5 3\"" };
        let (fill, stroke) = match (txn.lane, txn.outcome) {
            (None, _) => ("#fffbea", "#9a8a4a"),
            (_, Outcome::Aborted) => ("#fff5f5", RED),
            _ => ("#ffffff", "#57606a"),
        };
        let rect = txn.rect;
        self.body += &format!(
            "<g font-family=\"{MONO}\">\n<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"8\" fill=\"{fill}\" \
             stroke=\"{stroke}\" stroke-width=\"1.3\"{dashes}/>\n",
            n(rect.x),
            n(rect.y),
            n(rect.width),
            n(rect.height)
        );
        let x = rect.x + Metrics::BOX_PADDING;
        let mut y = rect.y + Metrics::BOX_PADDING + 11.0;
        self.body += &format!(
            "<text x=\"{}\" y=\"{}\" font-weight=\"bold\" fill=\"{INK}\">{}</text>\n",
            n(x),
            n(y),
            xml(&txn.title)
        );
        self.small_print(txn, rect.right() - Metrics::BOX_PADDING, y);
        if let Some(times) = &txn.times {
            y += Metrics::LINE;
            self.body += &format!("<text x=\"{}\" y=\"{}\" fill=\"{FAINT}\">{}</text>\n", n(x), n(y), xml(times));
        }
        for (idx, (short, full)) in txn.ops.iter().enumerate() {
            y += Metrics::LINE;
            self.op(Point::new(x, y), (short, full), txn.culprit == Some(idx));
        }
        self.body += "</g>\n";
    }

    fn small_print(&mut self, txn: &TxnBox, right: f64, y: f64) {
        let small = txn.small_print();
        if !small.is_empty() {
            let colour = if txn.outcome == Outcome::Aborted { RED } else { FAINT };
            self.body += &format!(
                "<text x=\"{}\" y=\"{}\" font-size=\"11\" text-anchor=\"end\" fill=\"{colour}\">{}</text>\n",
                n(right),
                n(y),
                xml(&small)
            );
        }
    }

    fn op(&mut self, at: Point, (short, full): (&str, &str), is_culprit: bool) {
        let (colour, weight) = if is_culprit { (RED, " font-weight=\"bold\"") } else { (INK, "") };
        let tooltip = if short == full { String::new() } else { format!("<title>{}</title>", xml(full)) };
        self.body += &format!(
            "<text x=\"{}\" y=\"{}\" fill=\"{colour}\"{weight}>{tooltip}{}</text>\n",
            n(at.x),
            n(at.y),
            xml(short)
        );
    }

    fn arrow(&mut self, route: &Route) {
        let (colour, dashes) = style(&route.kind);
        let (path, head) = with_head(route);
        let (stroke, opacity, title) = match route.emphasis {
            Emphasis::Strong => ("1.8", "", format!("<title>{}</title>", xml(&route.because))),
            Emphasis::Faint => ("1.2", " opacity=\"0.45\"", String::new()),
        };
        self.body += &format!(
            "<g{opacity}>{title}<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{stroke}\"\
             {dashes}/><path d=\"{head}\" fill=\"{colour}\"/></g>\n"
        );
    }

    fn label(&mut self, route: &Route) {
        let (colour, _) = style(&route.kind);
        let rect = route.label_rect;
        self.body += &format!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"5\" fill=\"#ffffff\" fill-opacity=\"0.92\"/>\n",
            n(rect.x),
            n(rect.y),
            n(rect.width),
            n(rect.height)
        );
        self.body += &format!(
            "<text x=\"{}\" y=\"{}\" font-family=\"{MONO}\" font-size=\"12\" text-anchor=\"middle\" \
             fill=\"{colour}\">{}</text>\n",
            n(rect.x + rect.width / 2.0),
            n(rect.y + rect.height - 5.0),
            xml(&route.label)
        );
    }

    fn legend(&mut self, routes: &[Route]) {
        let used: Vec<&(&str, &str)> =
            KINDS.iter().filter(|it| routes.iter().any(|route| route.kind == it.0)).collect();
        let mut x = Metrics::MARGIN;
        for (kind, meaning) in used {
            let text = format!("{kind}: {meaning}");
            let room = 34.0 + width(&text) as f64 * 6.6 + 20.0;
            if x > Metrics::MARGIN && x + room > self.width - Metrics::MARGIN {
                x = Metrics::MARGIN;
                self.height += 20.0;
            }
            let (colour, dashes) = style(kind);
            let y = n(self.height - 4.0);
            self.body += &format!(
                "<path d=\"M{} {y}h26\" stroke=\"{colour}\" stroke-width=\"1.8\"{dashes}/>\n\
                 <text x=\"{}\" y=\"{}\" font-size=\"12\" fill=\"{FAINT}\">{}</text>\n",
                n(x),
                n(x + 34.0),
                n(self.height),
                xml(&text)
            );
            x += room;
        }
        if x > Metrics::MARGIN {
            self.height += 14.0;
        }
    }

    fn caption(&mut self, finding: &Finding<'_>) {
        self.paragraph(&finding.part.summary, 13.0, INK, "normal");
        if let Some(local) = &finding.part.local {
            self.paragraph(&format!("{}.", local.because), 13.0, RED, "normal");
        }
    }
}

/// Kinds of dependencies, and what an arrow from one transaction to another means.
const KINDS: [(&str, &str); 5] = [
    ("so", "earlier in the session"),
    ("rt", "ended before it began"),
    ("wr", "was read by"),
    ("ww", "was overwritten by"),
    ("rw", "read what it overwrote"),
];

fn style(kind: &str) -> (&'static str, &'static str) {
    match kind {
        "wr" => ("#1a7f37", ""),
        "ww" => ("#0969da", ""),
        "rw" => (RED, " stroke-dasharray=\"6 4\""),
        "rt" => ("#6e7781", " stroke-dasharray=\"2 4\""),
        _ => ("#6e7781", ""),
    }
}

/// The line of an arrow, which ends in its head, and the head.
fn with_head(route: &Route) -> (String, String) {
    let samples = &route.samples;
    let tip = samples[samples.len() - 1];
    let from = samples.iter().rev().copied().find(|it| it.distance(tip) >= 9.0).unwrap_or(samples[0]);
    let reach = from.distance(tip).max(1.0);
    let along = Point::new((tip.x - from.x) / reach, (tip.y - from.y) / reach);
    let across = Point::new(-along.y, along.x);
    let base = tip.plus(along, -10.0);
    let (left, right) = (base.plus(across, 4.5), base.plus(across, -4.5));
    let head = format!("M{} L{} L{} Z", point(tip), point(left), point(right));
    (line(&route.path, tip.plus(along, -7.0)), head)
}

fn line(path: &Path, end: Point) -> String {
    let mut out = format!("M{}", point(path.start));
    let last = path.pieces.len() - 1;
    for (idx, piece) in path.pieces.iter().enumerate() {
        let to = |it: Point| if idx == last { end } else { it };
        match *piece {
            Piece::Line(it) => out += &format!(" L{}", point(to(it))),
            Piece::Curve(one, two, it) => out += &format!(" C{} {} {}", point(one), point(two), point(to(it))),
        }
    }
    out
}

fn point(point: Point) -> String {
    format!("{} {}", n(point.x), n(point.y))
}

/// A number with at most one digit after the point, so that equal pictures have equal bytes.
fn n(number: f64) -> String {
    let rounded = (number * 10.0).round() / 10.0;
    // Adding zero turns a negative zero into a positive one.
    format!("{}", rounded + 0.0)
}
