//! Arrows between boxes: of many possible curves, the one that disturbs least.
//!
//! A curve costs its length, its bends and whatever it runs through. Plain curves are tried first; where every one of
//! them runs through something, so are detours through the gaps between lanes and columns, which are always free.

use super::crowd::Crowd;
use super::geometry::{Path, Piece, Point, Rect, length};
use super::layout::{Layout, MAX_LABEL, Metrics, links, read_from};
use crate::arrow::{Arrow, ArrowKind};
use crate::document::{Excerpt, LinkKind};
use crate::words::width;

/// An arrow with its label.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub(crate) kind: ArrowKind,
    /// The place of a strong arrow among those of the excerpt.
    pub(crate) number: Option<usize>,
    pub(crate) because: String,
    pub(crate) path: Path,
    pub(crate) samples: Vec<Point>,
    pub(crate) label: String,
    pub(crate) label_rect: Rect,
    pub(crate) emphasis: Emphasis,
}

/// Does an arrow carry the explanation, belong to a witness, or only say where a value came from?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Emphasis {
    Strong,
    Thin,
    Faint,
}

/// An arrow that is still without a way.
struct Wanted {
    from: usize,
    to: usize,
    /// The dependency; none for a faint arrow.
    arrow: Option<Arrow>,
    number: Option<usize>,
    emphasis: Emphasis,
}

/// Points along a curve are so far apart.
const SPACING: f64 = 7.0;
const THROUGH_BOX: f64 = 4_000.0;
/// Arrows touch a box so far apart, if they can.
const PORT_ROOM: f64 = 44.0;
const CROWDED_PORT: f64 = 2.5;
const NEAR_ARROW: f64 = 120.0;
const BEND: f64 = 50.0;
const DETOUR: f64 = 110.0;
const CORNER: f64 = 16.0;
/// With more arrows than this, nobody can follow them anyway: each takes its shortest way.
const MAX_CAREFUL: usize = 80;

/// The arrows of an excerpt, in its order, then thin ones, and faint ones for reads that are not among either.
pub(crate) fn routes(excerpt: &Excerpt, thin: &[Arrow], layout: &Layout) -> Vec<Route> {
    let wanted = wanted(excerpt, thin, layout);
    if wanted.len() > MAX_CAREFUL {
        return hasty(layout, &wanted);
    }
    let mut drawn: Vec<Option<(Path, Vec<Point>)>> = vec![None; wanted.len()];
    // The second round knows where the arrows behind it go.
    for _ in 0..2 {
        for (idx, Wanted { from, to, .. }) in wanted.iter().enumerate() {
            drawn[idx] = None;
            let others: Vec<&[Point]> = drawn.iter().flatten().map(|it| it.1.as_slice()).collect();
            drawn[idx] = best(layout, *from, *to, &Crowd::new(&others));
        }
    }
    let mut routes: Vec<Route> = Vec::new();
    for (wanted, path) in wanted.iter().zip(drawn) {
        let Some((path, samples)) = path else { continue };
        routes.push(route(wanted, path, samples));
    }
    place_labels(layout, &mut routes);
    routes
}

/// Arrows that look neither left nor right.
fn hasty(layout: &Layout, wanted: &[Wanted]) -> Vec<Route> {
    let empty = Layout { lanes: Vec::new(), boxes: Vec::new(), corridors: Vec::new(), ..*layout };
    let nobody = Crowd::new(&[]);
    let strong = wanted.iter().filter(|it| it.arrow.is_some());
    let mut routes: Vec<Route> = strong
        .filter_map(|it| {
            let (path, samples) = curves(&empty, layout.boxes[it.from].rect, layout.boxes[it.to].rect, &nobody).best?.1;
            Some(route(it, path, samples))
        })
        .collect();
    for route in &mut routes {
        let nearest = label_rects(route).into_iter().min_by(|a, b| a.1.total_cmp(&b.1));
        route.label_rect = nearest.map_or(route.label_rect, |it| it.0);
    }
    routes
}

fn wanted(excerpt: &Excerpt, thin: &[Arrow], layout: &Layout) -> Vec<Wanted> {
    let mut wanted: Vec<Wanted> = Vec::new();
    let strong = links(excerpt).into_iter().enumerate().map(|(number, it)| (it.into(), Some(number), Emphasis::Strong));
    for (arrow, number, emphasis) in strong.chain(thin.iter().map(|it| (it.clone(), None, Emphasis::Thin))) {
        let is_there = |it: &Wanted| it.arrow.as_ref().is_some_and(|it| it.kind == arrow.kind && it.key == arrow.key);
        if let (Some(from), Some(to)) = (layout.position(&arrow.from), layout.position(&arrow.to))
            && !wanted.iter().any(|it| (it.from, it.to) == (from, to) && is_there(it))
        {
            wanted.push(Wanted { from, to, arrow: Some(arrow), number, emphasis });
        }
    }
    for (writer, reader) in read_from(excerpt) {
        let id = |idx: usize| layout.named(&excerpt.transactions[idx].id);
        if let (Some(from), Some(to)) = (id(writer), id(reader))
            && !wanted.iter().any(|it| (it.from, it.to) == (from, to))
        {
            wanted.push(Wanted { from, to, arrow: None, number: None, emphasis: Emphasis::Faint });
        }
    }
    wanted
}

fn route(wanted: &Wanted, path: Path, samples: Vec<Point>) -> Route {
    let Wanted { arrow, number, emphasis, .. } = wanted;
    let (arrow, number, emphasis) = (arrow.as_ref(), *number, *emphasis);
    // Thin arrows of one kind are all alike, but for their keys.
    let labelled = arrow.filter(|it| emphasis == Emphasis::Strong || it.key.is_some());
    Route {
        kind: arrow.map_or(ArrowKind::Dependency(LinkKind::ReadFrom), |it| it.kind.clone()),
        number,
        because: arrow.map(|it| it.because.clone()).unwrap_or_default(),
        path,
        samples,
        label: labelled.map(|it| it.label(MAX_LABEL)).unwrap_or_default(),
        label_rect: Rect::new(0.0, 0.0, 0.0, 0.0),
        emphasis,
    }
}

fn best(layout: &Layout, from: usize, to: usize, others: &Crowd<'_>) -> Option<(Path, Vec<Point>)> {
    let mut search = curves(layout, layout.boxes[from].rect, layout.boxes[to].rect, others);
    if search.is_disturbing() {
        for points in detours(layout, from, to) {
            // They come by length, and round corners save a little of it.
            if search.is_hopeless(length(&points) - 4.0 * CORNER + DETOUR) {
                break;
            }
            search.offer(Path::rounded(&points, CORNER), DETOUR);
        }
    }
    search.best.map(|it| it.1)
}

/// The best of all plain curves between two boxes.
fn curves<'a>(layout: &'a Layout, from: Rect, to: Rect, others: &'a Crowd<'a>) -> Search<'a> {
    let mut search = Search { layout, others, best: None };
    for (start, start_out) in ports(from) {
        for (end, end_out) in ports(to) {
            let reach = (start.distance(end) * 0.4).clamp(22.0, 130.0);
            let (one, two) = (start.plus(start_out, reach), end.plus(end_out, reach));
            search.offer(Path { start, pieces: vec![Piece::Curve(one, two, end)] }, bend(start_out, end_out));
        }
    }
    search
}

/// Leaving to one side and arriving from the opposite one is a straight way; everything else bends.
fn bend(start_out: Point, end_out: Point) -> f64 {
    let along = start_out.x * end_out.x + start_out.y * end_out.y;
    BEND * (1.0 + along)
}

struct Search<'a> {
    layout: &'a Layout,
    others: &'a Crowd<'a>,
    best: Option<(f64, (Path, Vec<Point>))>,
}

impl Search<'_> {
    fn offer(&mut self, path: Path, bends: f64) {
        let samples = path.sampled(SPACING);
        let cheapest = length(&samples) + bends;
        if self.is_hopeless(cheapest) {
            return;
        }
        let cost = cheapest + self.obstacles(&samples);
        if self.is_hopeless(cost) {
            return;
        }
        let cost = cost + self.company(&samples);
        if !self.is_hopeless(cost) {
            self.best = Some((cost, (path, samples)));
        }
    }

    /// Is the best way so far at least as good?
    fn is_hopeless(&self, cost: f64) -> bool {
        self.best.as_ref().is_some_and(|it| it.0 <= cost)
    }

    /// Does the best way so far run through or near something?
    fn is_disturbing(&self) -> bool {
        self.best.as_ref().is_none_or(|(cost, (_, samples))| *cost > length(samples) + 2.0 * BEND + 2.0 * NEAR_ARROW)
    }

    fn obstacles(&self, samples: &[Point]) -> f64 {
        let inner = &samples[1..samples.len() - 1];
        let near_end = |it: Point| it.distance(samples[0]) < 12.0 || it.distance(samples[samples.len() - 1]) < 12.0;
        let boxes = self.layout.boxes.iter().map(|it| it.rect.grown(7.0));
        let in_boxes = boxes.map(|rect| inner.iter().filter(|it| rect.contains(**it) && !near_end(**it)).count());
        let names = self.layout.lanes.iter().map(|it| name_rect(&it.name, it.rect));
        let in_names = names.map(|rect| inner.iter().filter(|it| rect.contains(**it)).count());
        let outside = inner.iter().filter(|it| it.x < 8.0 || it.x > self.layout.width - 8.0).count();
        let outside = outside + inner.iter().filter(|it| it.y < -24.0 || it.y > self.layout.height + 24.0).count();
        in_boxes.sum::<usize>() as f64 * THROUGH_BOX + (in_names.sum::<usize>() + outside) as f64 * 400.0
    }

    fn company(&self, samples: &[Point]) -> f64 {
        let (start, end) = (samples[0], samples[samples.len() - 1]);
        let mut cost = 0.0;
        for other in self.others.arrows() {
            for mine in [start, end] {
                for theirs in [other[0], other[other.len() - 1]] {
                    cost += (PORT_ROOM - theirs.distance(mine)).max(0.0) * CROWDED_PORT;
                }
            }
        }
        let near: usize = samples.iter().map(|it| self.others.n_near(*it)).sum();
        cost + near as f64 * NEAR_ARROW
    }
}

/// Where a session's name stands.
pub(crate) fn name_rect(name: &str, lane: Rect) -> Rect {
    Rect::new(lane.x, lane.y, width(name) as f64 * Metrics::LETTER + 20.0, 30.0)
}

/// Where arrows may touch a box, with the direction that points away from it.
fn ports(rect: Rect) -> Vec<(Point, Point)> {
    let (up, down) = (Point::new(0.0, -1.0), Point::new(0.0, 1.0));
    let (left, right) = (Point::new(-1.0, 0.0), Point::new(1.0, 0.0));
    let mut ports = Vec::new();
    for share in [0.5, 0.28, 0.72] {
        let (x, y) = (rect.x + rect.width * share, rect.y + rect.height * share);
        ports.push((Point::new(rect.right(), y), right));
        ports.push((Point::new(rect.x, y), left));
        ports.push((Point::new(x, rect.y), up));
        ports.push((Point::new(x, rect.bottom()), down));
    }
    ports
}

/// Ways from box to box through the gaps between lanes and columns, as corners.
fn detours(layout: &Layout, from: usize, to: usize) -> Vec<Vec<Point>> {
    let corridors: Vec<f64> = layout.corridors.iter().flat_map(|x| [0.0, -11.0, 11.0].map(|it| x + it)).collect();
    let (from, to) = (ports(layout.boxes[from].rect), ports(layout.boxes[to].rect));
    let mut ways = Vec::new();
    for x in corridors {
        for start in &from {
            ways.extend(to.iter().filter_map(|end| detour(layout, x, *start, *end)));
        }
    }
    ways.sort_by(|a, b| length(a).total_cmp(&length(b)));
    ways
}

/// One way that changes lanes at `x`.
fn detour(layout: &Layout, x: f64, from: (Point, Point), to: (Point, Point)) -> Option<Vec<Point>> {
    let mut points = vec![from.0];
    points.extend(gap_point(layout, from, x)?);
    let mut back: Vec<Point> = vec![to.0];
    back.extend(gap_point(layout, to, x)?);
    points.extend(back.into_iter().rev());
    Some(points)
}

/// The corners from a port to the corridor at `x`: along its side, or through the gap above or below its lane.
fn gap_point(layout: &Layout, (port, out): (Point, Point), x: f64) -> Option<Vec<Point>> {
    if out.y == 0.0 {
        let is_ahead = (x - port.x) * out.x > 20.0;
        return is_ahead.then(|| vec![Point::new(x, port.y)]);
    }
    let lane = layout.lanes.iter().find(|it| it.rect.y <= port.y && port.y <= it.rect.bottom())?;
    let half_gap = Metrics::LANE_GAP / 2.0;
    let y = if out.y < 0.0 { lane.rect.y - half_gap } else { lane.rect.bottom() + half_gap };
    Some(vec![Point::new(port.x, y), Point::new(x, y)])
}

/// Puts each label on its arrow, as near to the middle as nothing is in the way.
fn place_labels(layout: &Layout, routes: &mut [Route]) {
    for idx in (0..routes.len()).filter(|it| !routes[*it].label.is_empty()).collect::<Vec<_>>() {
        let (placed, rest) = routes.split_at(idx);
        let candidates = label_rects(&rest[0]);
        let cost = |rect: Rect, from_middle: f64| {
            let in_boxes = layout.boxes.iter().filter(|it| it.rect.grown(3.0).overlaps(rect)).count();
            let on_labels = placed.iter().filter(|it| it.label_rect.grown(3.0).overlaps(rect)).count();
            let others = placed.iter().chain(&rest[1..]);
            let on_arrows: usize =
                others.map(|other| other.samples.iter().filter(|it| rect.grown(2.0).contains(**it)).count()).sum();
            from_middle + in_boxes as f64 * 5_000.0 + on_labels as f64 * 3_000.0 + on_arrows as f64 * 60.0
        };
        let best = candidates
            .into_iter()
            .map(|(rect, from_middle)| (cost(rect, from_middle), rect))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((_, rect)) = best {
            routes[idx].label_rect = rect;
        }
    }
}

/// Places for a label, each with how far it is from where one looks for it.
fn label_rects(route: &Route) -> Vec<(Rect, f64)> {
    let label_width = width(&route.label) as f64 * Metrics::LABEL_LETTER + 10.0;
    let last = route.samples.len() - 1;
    let mut rects = Vec::new();
    for step in 2..=18_usize {
        let at = route.samples[last * step / 20];
        let off_middle = step.abs_diff(10) as f64 * 8.0;
        for (dx, dy, price) in
            [(0.0, 0.0, 0.0), (0.5, 0.0, 25.0), (-0.5, 0.0, 25.0), (0.0, 0.8, 30.0), (0.0, -0.8, 30.0)]
        {
            let shift = (dx * (label_width + 6.0), dy * (Metrics::LABEL_HEIGHT + 4.0));
            let center = Point::new(at.x + shift.0, at.y + shift.1);
            rects.push((Rect::around(center, label_width, Metrics::LABEL_HEIGHT), off_middle + price));
        }
    }
    rects
}
