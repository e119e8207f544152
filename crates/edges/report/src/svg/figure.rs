//! A drawing under construction: words, lanes, boxes and arrows, put one below the other.

use super::Frame;
use crate::arrow::{Arrow, ArrowKind};
use crate::document::{Excerpt, LinkKind, Outcome};
use crate::highlight::Owner;
use crate::mark::{Mark, Sign, mark_on};
use crate::picture::{Emphasis, Layout, Metrics, Path, Piece, Point, Route, TxnBox, routes, shown_initial};
use crate::words::{harmless, picture_text, width, wrapped, xml};

pub(super) const MONO: &str = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace";
const SANS: &str = "system-ui, 'DejaVu Sans', 'Segoe UI', Helvetica, Arial, sans-serif";
pub(super) const INK: &str = "#1f2328";
pub(super) const FAINT: &str = "#656d76";
pub(super) const RED: &str = "#cf222e";
pub(super) const GREEN: &str = "#1a7f37";
const AMBER: &str = "#ffdf7e";
const FADED: &str = "#8c959f";
/// The width of a letter of a caption, on average.
const CAPTION_LETTER: f64 = 6.9;
const MIN_WIDTH: f64 = 460.0;
const MIN_BARE: f64 = 300.0;
/// Pictures stand side by side as long as they are not wider than this together.
const MAX_ROW: f64 = 1240.0;

/// A drawing and its size.
pub(super) struct Figure {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) body: String,
}

/// Transactions with their numbers in an order, and the order's name.
pub(super) type Numbers<'a> = Option<(&'a str, &'a [String])>;

/// What a picture of a history shows besides the history.
#[derive(Clone, Copy, Default)]
pub(super) struct Overlay<'a> {
    /// Arrows besides those of the excerpt.
    pub(super) thin: &'a [Arrow],
    pub(super) numbers: Numbers<'a>,
    /// Operations that stand out.
    pub(super) marks: &'a [Mark],
}

impl Figure {
    /// An empty drawing of at least the usual width.
    pub(super) fn empty(width: f64) -> Self {
        Self { width: width.max(MIN_WIDTH), height: Metrics::MARGIN, body: String::new() }
    }

    /// An empty drawing for a history: as wide as it is, if nothing else stands in it.
    pub(super) fn framed(width: f64, frame: Frame) -> Self {
        match frame {
            Frame::Titled => Self::empty(width),
            Frame::Bare => Self { width: width.max(MIN_BARE), ..Self::empty(width) },
        }
    }

    /// Words and nothing else.
    pub(super) fn of_words(words: &str) -> Self {
        let mut figure = Self::empty(MIN_WIDTH);
        figure.paragraph(words, 14.0, INK, "normal");
        figure.height += 12.0;
        figure
    }

    /// Drawings below each other.
    pub(super) fn stacked(figures: &[Self]) -> Self {
        let mut all = Self { width: 0.0, height: 0.0, body: String::new() };
        for figure in figures {
            all.body += &figure.moved(0.0, all.height);
            all.height += figure.height;
            all.width = all.width.max(figure.width);
        }
        all
    }

    /// Drawings side by side, in as many rows as it takes.
    pub(super) fn flowing(figures: &[Self]) -> Self {
        let mut rows: Vec<Self> = Vec::new();
        for figure in figures {
            match rows.last_mut() {
                Some(row) if row.width + figure.width <= MAX_ROW => {
                    row.body += &figure.moved(row.width, 0.0);
                    row.width += figure.width;
                    row.height = row.height.max(figure.height);
                }
                _ => rows.push(Self { width: figure.width, height: figure.height, body: figure.moved(0.0, 0.0) }),
            }
        }
        Self::stacked(&rows)
    }

    fn moved(&self, x: f64, y: f64) -> String {
        format!("<g transform=\"translate({} {})\">\n{}</g>\n", n(x), n(y), self.body)
    }

    /// Draws a history with its arrows; returns them.
    pub(super) fn history(&mut self, layout: &Layout, excerpt: &Excerpt, overlay: Overlay<'_>) -> Vec<Route> {
        let routes = routes(excerpt, overlay.thin, layout);
        let top = routes.iter().flat_map(|it| &it.samples).map(|it| it.y).fold(0.0, f64::min);
        let bottom = routes.iter().flat_map(|it| &it.samples).map(|it| it.y).fold(layout.height, f64::max);
        self.height -= top;
        self.body += &format!("<g transform=\"translate(0 {})\">\n", n(self.height));
        self.lanes(layout);
        for route in &routes {
            self.arrow(route);
        }
        for txn in &layout.boxes {
            let is_culprit = excerpt.local.as_ref().is_some_and(|it| txn.txn.is(&it.transaction));
            self.txn(excerpt, txn, if is_culprit { txn.culprit } else { None }, overlay.marks);
        }
        for route in routes.iter().filter(|it| !it.label.is_empty()) {
            self.label(route);
        }
        for (nth, txn) in overlay.numbers.iter().flat_map(|it| it.1).enumerate() {
            self.badge(layout, txn, nth + 1);
        }
        self.body += "</g>\n";
        self.height += bottom + 26.0;
        routes
    }

    /// The place of a transaction in an order, at the corner of its box.
    fn badge(&mut self, layout: &Layout, txn: &str, number: usize) {
        let Some(idx) = layout.named(txn) else { return };
        let rect = layout.boxes[idx].rect;
        self.numbered_dot(Point::new(rect.right() - 3.0, rect.y + 3.0), &number.to_string());
    }

    fn numbered_dot(&mut self, at: Point, number: &str) {
        self.body += &format!(
            "<circle cx=\"{0}\" cy=\"{1}\" r=\"10\" fill=\"{GREEN}\" stroke=\"#ffffff\" stroke-width=\"1.5\"/>\n\
             <text x=\"{0}\" y=\"{2}\" font-size=\"11\" font-weight=\"bold\" text-anchor=\"middle\" \
             fill=\"#ffffff\">{number}</text>\n",
            n(at.x),
            n(at.y),
            n(at.y + 4.0)
        );
    }

    /// The figure as a file of its own.
    pub(super) fn alone(&self) -> String {
        let (width, height) = (n(self.width), n(self.height));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" font-family=\"{SANS}\" font-size=\"13\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{}</svg>\n",
            self.body
        )
    }

    pub(super) fn paragraph(&mut self, text: &str, size: f64, colour: &str, weight: &str) {
        let columns = (self.width - 2.0 * Metrics::MARGIN) / (CAPTION_LETTER * size / 13.0);
        for line in wrapped(&harmless(text), columns as usize) {
            self.height += size;
            self.body += &format!(
                "<text x=\"{}\" y=\"{}\" font-size=\"{}\" font-weight=\"{weight}\" fill=\"{colour}\">{}</text>\n",
                n(Metrics::MARGIN),
                n(self.height),
                n(size),
                picture_text(&line)
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
                picture_text(&lane.name)
            );
        }
    }

    fn txn(&mut self, excerpt: &Excerpt, txn: &TxnBox, culprit: Option<usize>, marks: &[Mark]) {
        let dashes = if txn.outcome == Outcome::Committed { "" } else { " stroke-dasharray=\"5 3\"" };
        let (fill, stroke) = match (txn.lane, txn.outcome) {
            (None, _) => ("#fffbea", "#9a8a4a"),
            (_, Outcome::Aborted) => ("#fff5f5", RED),
            _ => ("#ffffff", "#57606a"),
        };
        let rect = txn.rect;
        let owner = Owner::of(excerpt, &txn.txn).map(Owner::token).unwrap_or_default();
        self.body += &format!(
            "<g class=\"txn\" data-txn=\"{owner}\" font-family=\"{MONO}\">\n<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"8\" fill=\"{fill}\" \
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
            picture_text(&txn.title)
        );
        self.small_print(txn, rect.right() - Metrics::BOX_PADDING, y);
        if let Some(times) = &txn.times {
            y += Metrics::LINE;
            self.body += &format!("<text x=\"{}\" y=\"{}\" fill=\"{FAINT}\">{}</text>\n", n(x), n(y), xml(times));
        }
        for (idx, (short, full)) in txn.ops.iter().enumerate() {
            y += Metrics::LINE;
            self.body += &format!("<g class=\"op\" data-op=\"{owner}.{}\">", op_number(excerpt, txn, idx));
            match mark_on(marks, txn.txn.name(), idx) {
                Some(sign) => self.marked_op(Point::new(x, y), (short, full), sign),
                None => self.op(Point::new(x, y), (short, full), culprit == Some(idx)),
            }
            self.body += "</g>\n";
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
            "<text x=\"{}\" y=\"{}\" fill=\"{colour}\"{weight}>{tooltip}{}</text>",
            n(at.x),
            n(at.y),
            picture_text(short)
        );
    }

    /// An operation that the other run has not, or has otherwise.
    fn marked_op(&mut self, at: Point, (short, full): (&str, &str), sign: &Sign) {
        let (x, y) = (n(at.x), n(at.y));
        let title = xml(&format!("{full}, {}", sign.words()));
        self.body += &match sign {
            Sign::Changed(_) => format!(
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"17\" rx=\"4\" fill=\"{AMBER}\"/>\n\
                 <text x=\"{x}\" y=\"{y}\" fill=\"{INK}\" font-weight=\"bold\"><title>{title}</title>{}</text>",
                n(at.x - 4.0),
                n(at.y - 13.0),
                n(width(short) as f64 * Metrics::LETTER + 8.0),
                picture_text(short)
            ),
            Sign::Dropped => format!(
                "<text x=\"{x}\" y=\"{y}\" fill=\"{FADED}\" text-decoration=\"line-through\"><title>{title}</title>{}</text>",
                picture_text(short)
            ),
        };
    }

    /// What marks mean, in a line of their own.
    pub(super) fn mark_legend(&mut self, marks: &[Mark]) {
        let mut x = Metrics::MARGIN;
        if marks.iter().any(|it| matches!(it.sign, Sign::Changed(_))) {
            x = self.legend_entry(x, "read with another writer", |figure, x| {
                figure.body += &format!(
                    "<rect x=\"{}\" y=\"{}\" width=\"26\" height=\"14\" rx=\"4\" fill=\"{AMBER}\"/>\n",
                    n(x),
                    n(figure.height - 11.0)
                );
            });
        }
        if marks.iter().any(|it| it.sign == Sign::Dropped) {
            x = self.legend_entry(x, "left out of the prediction", |figure, x| {
                figure.body += &format!(
                    "<path d=\"M{} {}h26\" stroke=\"{FADED}\" stroke-width=\"1.5\"/>\n",
                    n(x),
                    n(figure.height - 4.0)
                );
            });
        }
        if x > Metrics::MARGIN {
            self.height += 20.0;
        }
    }

    fn arrow(&mut self, route: &Route) {
        let (colour, dashes) = style(&route.kind);
        let (path, head) = with_head(route);
        let (stroke, opacity, title) = match route.emphasis {
            Emphasis::Strong => ("1.8", "", format!("<title>{}</title>", xml(&route.because))),
            Emphasis::Thin => ("1.2", "", format!("<title>{}</title>", xml(&thin_title(route)))),
            Emphasis::Faint => ("1.2", " opacity=\"0.45\"", String::new()),
        };
        self.body += &format!(
            "<g class=\"edge\"{}{opacity}>{title}<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{stroke}\"\
             {dashes}/><path d=\"{head}\" fill=\"{colour}\"/></g>\n",
            numbered(route)
        );
    }

    fn label(&mut self, route: &Route) {
        let (colour, _) = style(&route.kind);
        let rect = route.label_rect;
        self.body += &format!(
            "<g class=\"label\"{}><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"5\" fill=\"#ffffff\" \
             fill-opacity=\"0.92\"/>\n",
            numbered(route),
            n(rect.x),
            n(rect.y),
            n(rect.width),
            n(rect.height)
        );
        self.body += &format!(
            "<text x=\"{}\" y=\"{}\" font-family=\"{MONO}\" font-size=\"12\" text-anchor=\"middle\" \
             fill=\"{colour}\">{}</text></g>\n",
            n(rect.x + rect.width / 2.0),
            n(rect.y + rect.height - 5.0),
            picture_text(&route.label)
        );
    }

    /// What arrows and numbers mean.
    pub(super) fn legend(&mut self, routes: &[Route], numbers: Numbers<'_>) {
        let mut x = Metrics::MARGIN;
        if let Some((name, _)) = numbers {
            x = self.legend_entry(x, &format!("place in {}", harmless(name)), |figure, x| {
                figure.numbered_dot(Point::new(x + 13.0, figure.height - 4.0), "n");
            });
        }
        for kind in kinds(routes) {
            let text = format!("{}: {}", harmless(kind.word()), meaning(kind));
            x = self.legend_entry(x, &text, |figure, x| {
                let (colour, dashes) = style(kind);
                figure.body += &format!(
                    "<path d=\"M{} {}h26\" stroke=\"{colour}\" stroke-width=\"1.8\"{dashes}/>\n",
                    n(x),
                    n(figure.height - 4.0)
                );
            });
        }
        if x > Metrics::MARGIN {
            self.height += 14.0;
        }
    }

    /// A sign with its meaning; returns where the next one may stand.
    fn legend_entry(&mut self, mut x: f64, text: &str, sign: impl Fn(&mut Self, f64)) -> f64 {
        let room = 34.0 + width(text) as f64 * 6.6 + 20.0;
        if x > Metrics::MARGIN && x + room > self.width - Metrics::MARGIN {
            x = Metrics::MARGIN;
            self.height += 20.0;
        }
        sign(self, x);
        self.body += &format!(
            "<text x=\"{}\" y=\"{}\" font-size=\"12\" fill=\"{FAINT}\">{}</text>\n",
            n(x + 34.0),
            n(self.height),
            picture_text(text)
        );
        x + room
    }
}

/// The place of an operation in its transaction, or of an initial value among all of them.
fn op_number(excerpt: &Excerpt, txn: &TxnBox, line: usize) -> usize {
    match txn.lane {
        Some(_) => line,
        None => shown_initial(excerpt).nth(line).map_or(line, |it| it.0),
    }
}

/// The place of an arrow among those that a page explains, as an attribute.
fn numbered(route: &Route) -> String {
    route.number.map(|it| format!(" data-link=\"{it}\"")).unwrap_or_default()
}

/// The kinds of arrows that a picture has, dependencies first and in a fixed order.
fn kinds(routes: &[Route]) -> Vec<&ArrowKind> {
    let mut kinds: Vec<&ArrowKind> = Vec::new();
    for route in routes {
        if !kinds.contains(&&route.kind) {
            kinds.push(&route.kind);
        }
    }
    kinds.sort_by_key(|it| match it {
        ArrowKind::Dependency(kind) => (0, Some(*kind)),
        ArrowKind::Relation(_) => (1, None),
    });
    kinds
}

/// What an arrow from one transaction to another means.
fn meaning(kind: &ArrowKind) -> &'static str {
    match kind {
        ArrowKind::Dependency(LinkKind::SessionOrder) => "earlier in the session",
        ArrowKind::Dependency(LinkKind::RealTime) => "ended before it began",
        ArrowKind::Dependency(LinkKind::ReadFrom) => "was read by",
        ArrowKind::Dependency(LinkKind::VersionOrder) => "was overwritten by",
        ArrowKind::Dependency(LinkKind::AntiDependency) => "read what it overwrote",
        ArrowKind::Relation(name) => match name.as_str() {
            "vis" => "was seen by",
            "start" => "committed before it started",
            _ => "stands before",
        },
    }
}

/// What the tooltip of a thin arrow says.
fn thin_title(route: &Route) -> String {
    if route.because.is_empty() {
        format!("{}: {}", route.kind.word(), meaning(&route.kind))
    } else {
        route.because.clone()
    }
}

fn style(kind: &ArrowKind) -> (&'static str, &'static str) {
    match kind {
        ArrowKind::Dependency(LinkKind::ReadFrom) => ("#1a7f37", ""),
        ArrowKind::Dependency(LinkKind::VersionOrder) => ("#0969da", ""),
        ArrowKind::Dependency(LinkKind::AntiDependency) => (RED, " stroke-dasharray=\"6 4\""),
        ArrowKind::Dependency(LinkKind::RealTime) => ("#6e7781", " stroke-dasharray=\"2 4\""),
        ArrowKind::Dependency(LinkKind::SessionOrder) => ("#6e7781", ""),
        ArrowKind::Relation(_) => ("#8250df", ""),
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
    (line_to(&route.path, tip.plus(along, -7.0)), head)
}

/// A path as it is.
pub(super) fn line(path: &Path) -> String {
    let end = match path.pieces.last() {
        Some(Piece::Line(end) | Piece::Curve(_, _, end)) => *end,
        None => path.start,
    };
    line_to(path, end)
}

/// A path that ends elsewhere.
fn line_to(path: &Path, end: Point) -> String {
    let mut out = format!("M{}", point(path.start));
    let last = path.pieces.len().saturating_sub(1);
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
pub(super) fn n(number: f64) -> String {
    let rounded = (number * 10.0).round() / 10.0;
    // Adding zero turns a negative zero into a positive one.
    format!("{}", rounded + 0.0)
}
