//! A lattice as boxes in layers, with lines from each class down to those that it implies directly.
//!
//! The usual four steps of Sugiyama, Tagawa and Toda (1981): layers by longest paths, invisible nodes where a line
//! crosses a layer, an order within layers by barycentres, and places by least squares. We differ in the last one: given
//! an order, the places that are nearest to where neighbours pull are found exactly, by pooling adjacent violators.

use super::geometry::{Path, Piece, Point, Rect};
use super::layout::Metrics;
use crate::hasse::{layers, pairs, short_name};
use crate::search::LatticeReport;
use crate::words::{harmless, shortened, width};

const MAX_NAME: usize = 32;
const LETTER: f64 = 7.3;
const LINE: f64 = 17.0;
const PADDING: f64 = 9.0;
/// Between boxes of a layer.
const BOX_GAP: f64 = 26.0;
/// Between a line that crosses a layer and its neighbours.
const LINE_GAP: f64 = 18.0;
const MIN_LAYER_GAP: f64 = 58.0;
/// Without labels on lines.
const PLAIN_LAYER_GAP: f64 = 20.0;
const N_SWEEPS: usize = 24;

/// Boxes and lines in their places.
pub(crate) struct Hasse {
    /// A box a class.
    pub(crate) boxes: Vec<ClassBox>,
    /// A line an edge.
    pub(crate) lines: Vec<HasseLine>,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// A class of levels.
pub(crate) struct ClassBox {
    /// Names as shown, and in full.
    pub(crate) names: Vec<(String, String)>,
    pub(crate) rect: Rect,
}

/// An edge.
pub(crate) struct HasseLine {
    pub(crate) path: Path,
    pub(crate) label: String,
    pub(crate) label_rect: Rect,
}

impl Hasse {
    /// A lattice whose lines say how small a history separates two classes.
    pub(crate) fn new(report: &LatticeReport) -> Self {
        let pairs = pairs(report);
        let sizes: Vec<String> = report.edges.iter().map(|it| size_label(it.found.size())).collect();
        let names = |class: &Vec<String>| class_box(class.iter().map(|it| (short_name(report, it), it.as_str())));
        let mut hasse = Self::placed(report.classes.iter().map(names).collect(), &pairs, &sizes, MIN_LAYER_GAP);
        place_labels(&hasse.boxes, &mut hasse.lines);
        hasse
    }

    /// A lattice whose lines say nothing. Pairs lead from a class to one that it implies directly.
    pub(crate) fn plain(classes: &[Vec<String>], pairs: &[(usize, usize)]) -> Self {
        let boxes = classes.iter().map(|it| class_box(it.iter().map(|it| (it.as_str(), it.as_str()))));
        Self::placed(boxes.collect(), pairs, &vec![String::new(); pairs.len()], PLAIN_LAYER_GAP)
    }

    fn placed(mut boxes: Vec<ClassBox>, pairs: &[(usize, usize)], labels: &[String], gap: f64) -> Self {
        let mut grid = Grid::new(&boxes, &tightened(layers(boxes.len(), pairs), pairs), pairs);
        grid.arrange();
        let places = grid.places();
        let tops = grid.tops(&boxes, &places, gap);
        for (node, class) in boxes.iter_mut().enumerate() {
            class.rect.x = places[node] - class.rect.width / 2.0;
            class.rect.y = tops[grid.layer[node]].0 + (tops[grid.layer[node]].1 - class.rect.height) / 2.0;
        }
        let lines = grid.lines(&boxes, &places, &tops, labels);
        let right = boxes.iter().map(|it| it.rect.right()).fold(0.0, f64::max);
        let right = grid.chains.iter().flatten().map(|it| places[*it] + LINE_GAP).fold(right, f64::max);
        let height = tops.last().map_or(0.0, |it| it.0 + it.1);
        Self { boxes, lines, width: right + Metrics::MARGIN, height }
    }
}

/// `4×2`: transactions and keys.
fn size_label((n_txns, n_keys): (usize, usize)) -> String {
    format!("{n_txns}×{n_keys}")
}

fn class_box<'n>(names: impl Iterator<Item = (&'n str, &'n str)>) -> ClassBox {
    let names: Vec<(String, String)> =
        names.map(|(shown, full)| (shortened(&harmless(shown), MAX_NAME), full.to_owned())).collect();
    let columns = names.iter().map(|it| width(&it.0)).max().unwrap_or(0).max(4);
    let size = (columns as f64 * LETTER + 2.0 * PADDING, names.len() as f64 * LINE + 2.0 * PADDING - 3.0);
    ClassBox { names, rect: Rect::new(0.0, 0.0, size.0, size.1) }
}

/// Pulls down what has more below than above it, so that lines are short.
fn tightened(mut layers: Vec<usize>, pairs: &[(usize, usize)]) -> Vec<usize> {
    let mut nodes: Vec<usize> = (0..layers.len()).collect();
    nodes.sort_by_key(|it| std::cmp::Reverse(layers[*it]));
    for node in nodes {
        let n_above = pairs.iter().filter(|it| it.1 == node).count();
        let below: Vec<usize> = pairs.iter().filter(|it| it.0 == node).map(|it| layers[it.1]).collect();
        if let Some(next) = below.iter().min().filter(|_| below.len() > n_above) {
            layers[node] = layers[node].max(next.saturating_sub(1));
        }
    }
    layers
}

/// Classes and the invisible nodes of lines that cross layers.
struct Grid {
    /// The layer of each node; classes come first.
    layer: Vec<usize>,
    /// The width of each node.
    widths: Vec<f64>,
    n_classes: usize,
    /// The nodes of each layer, from left to right.
    rows: Vec<Vec<usize>>,
    /// Neighbours above and below each node.
    above: Vec<Vec<usize>>,
    below: Vec<Vec<usize>>,
    /// The invisible nodes of each edge, from top to bottom.
    chains: Vec<Vec<usize>>,
    edges: Vec<(usize, usize)>,
}

impl Grid {
    fn new(boxes: &[ClassBox], layers: &[usize], edges: &[(usize, usize)]) -> Self {
        let n_classes = boxes.len();
        let mut grid = Self {
            layer: layers.to_vec(),
            widths: boxes.iter().map(|it| it.rect.width).collect(),
            n_classes,
            rows: vec![Vec::new(); layers.iter().max().map_or(0, |it| it + 1)],
            above: vec![Vec::new(); n_classes],
            below: vec![Vec::new(); n_classes],
            chains: Vec::new(),
            edges: edges.to_vec(),
        };
        for (node, layer) in layers.iter().enumerate() {
            grid.rows[*layer].push(node);
        }
        for (from, to) in edges {
            grid.add_edge(*from, *to);
        }
        grid
    }

    fn add_edge(&mut self, from: usize, to: usize) {
        let mut chain = Vec::new();
        let mut last = from;
        for layer in self.layer[from] + 1..self.layer[to] {
            let node = self.layer.len();
            self.layer.push(layer);
            self.widths.push(0.0);
            self.above.push(Vec::new());
            self.below.push(Vec::new());
            self.rows[layer].push(node);
            self.join(last, node);
            chain.push(node);
            last = node;
        }
        self.join(last, to);
        self.chains.push(chain);
    }

    fn join(&mut self, upper: usize, lower: usize) {
        self.below[upper].push(lower);
        self.above[lower].push(upper);
    }

    /// Orders each layer by where its neighbours stand; of all tries, keeps the one with the fewest crossings.
    fn arrange(&mut self) {
        let mut best = (self.n_crossings(), self.rows.clone());
        for sweep in 0..N_SWEEPS {
            let goes_down = sweep % 2 == 0;
            let mut order: Vec<usize> = (0..self.rows.len()).collect();
            if !goes_down {
                order.reverse();
            }
            for row in order {
                self.sort_row(row, goes_down);
            }
            let crossings = self.n_crossings();
            if crossings < best.0 {
                best = (crossings, self.rows.clone());
            }
        }
        self.rows = best.1;
    }

    fn sort_row(&mut self, row: usize, goes_down: bool) {
        let position = self.positions();
        let pull = |node: usize| {
            let neighbours = if goes_down { &self.above[node] } else { &self.below[node] };
            let sum: f64 = neighbours.iter().map(|it| position[*it]).sum();
            if neighbours.is_empty() { position[node] } else { sum / neighbours.len() as f64 }
        };
        let mut keyed: Vec<(f64, usize)> = self.rows[row].iter().map(|it| (pull(*it), *it)).collect();
        keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
        self.rows[row] = keyed.into_iter().map(|it| it.1).collect();
    }

    /// Where each node stands in its layer, from 0 to 1.
    fn positions(&self) -> Vec<f64> {
        let mut position = vec![0.0; self.layer.len()];
        for row in &self.rows {
            for (idx, node) in row.iter().enumerate() {
                position[*node] = (idx as f64 + 0.5) / row.len() as f64;
            }
        }
        position
    }

    fn n_crossings(&self) -> usize {
        let position = self.positions();
        let mut n_crossings = 0;
        for row in &self.rows {
            let steps: Vec<(f64, f64)> = row
                .iter()
                .flat_map(|upper| self.below[*upper].iter().map(|lower| (position[*upper], position[*lower])))
                .collect();
            for (idx, one) in steps.iter().enumerate() {
                let crosses = |other: &&(f64, f64)| (one.0 - other.0) * (one.1 - other.1) < 0.0;
                n_crossings += steps[..idx].iter().filter(crosses).count();
            }
        }
        n_crossings
    }

    /// The middle of each node: near its neighbours, and apart from the others of its layer.
    fn places(&self) -> Vec<f64> {
        let mut places = vec![0.0; self.layer.len()];
        for row in &self.rows {
            let wanted: Vec<f64> = vec![0.0; row.len()];
            self.place_row(row, &wanted, &mut places);
        }
        for round in 0..2 * N_SWEEPS {
            let mut order: Vec<usize> = (0..self.rows.len()).collect();
            if round % 2 == 1 {
                order.reverse();
            }
            for row in order {
                let wanted: Vec<f64> = self.rows[row].iter().map(|it| self.pull(*it, &places)).collect();
                self.place_row(&self.rows[row], &wanted, &mut places);
            }
        }
        let left = |node: usize| places[node] - self.widths[node] / 2.0;
        let leftmost = (0..places.len()).map(left).fold(f64::INFINITY, f64::min);
        places.iter().map(|it| it - leftmost + Metrics::MARGIN).collect()
    }

    /// Where neighbours above and below would like a node to be. Lines that cross layers want to be straight.
    fn pull(&self, node: usize, places: &[f64]) -> f64 {
        let weight = |other: usize| if node >= self.n_classes && other >= self.n_classes { 6.0 } else { 1.0 };
        let neighbours = || self.above[node].iter().chain(&self.below[node]);
        let total: f64 = neighbours().map(|it| weight(*it)).sum();
        let sum: f64 = neighbours().map(|it| weight(*it) * places[*it]).sum();
        if total > 0.0 { sum / total } else { places[node] }
    }

    /// The places of a layer that keep its order and its gaps and are nearest to the wanted ones.
    fn place_row(&self, row: &[usize], wanted: &[f64], places: &mut [f64]) {
        let mut offset = 0.0;
        let mut offsets = Vec::new();
        for (idx, node) in row.iter().enumerate() {
            if idx > 0 {
                offset += self.distance(row[idx - 1], *node);
            }
            offsets.push(offset);
        }
        let free: Vec<f64> = wanted.iter().zip(&offsets).map(|(wanted, offset)| wanted - offset).collect();
        for ((node, place), offset) in row.iter().zip(ascending(&free)).zip(offsets) {
            places[*node] = place + offset;
        }
    }

    /// How far the middles of two neighbours in a layer are apart at least.
    fn distance(&self, left: usize, right: usize) -> f64 {
        let is_line = |node: usize| node >= self.n_classes;
        let gap = if is_line(left) || is_line(right) { LINE_GAP } else { BOX_GAP };
        f64::midpoint(self.widths[left], self.widths[right]) + gap
    }

    /// The upper side and the height of each layer. Gaps are higher where lines go far to the side.
    fn tops(&self, boxes: &[ClassBox], places: &[f64], gap: f64) -> Vec<(f64, f64)> {
        let mut y = 0.0;
        let mut tops = Vec::new();
        for row in &self.rows {
            let classes = row.iter().filter(|it| **it < self.n_classes);
            let height = classes.map(|it| boxes[*it].rect.height).fold(0.0, f64::max);
            tops.push((y, height));
            let reach =
                |upper: usize| self.below[upper].iter().map(move |lower| (places[upper] - places[*lower]).abs());
            let widest = row.iter().flat_map(|it| reach(*it)).fold(0.0, f64::max);
            y += height + (gap + widest / 12.0).min(110.0);
        }
        tops
    }

    fn lines(&self, boxes: &[ClassBox], places: &[f64], tops: &[(f64, f64)], labels: &[String]) -> Vec<HasseLine> {
        let mut lines = Vec::new();
        for (edge, (from, to)) in self.edges.iter().enumerate() {
            let start = Point::new(self.port(edge, *from, boxes, places), boxes[*from].rect.bottom());
            let end = Point::new(self.port(edge, *to, boxes, places), boxes[*to].rect.y);
            let mut path = Path { start, pieces: Vec::new() };
            let mut at = start;
            for node in &self.chains[edge] {
                let (top, height) = tops[self.layer[*node]];
                at = step(&mut path, at, Point::new(places[*node], top));
                at = Point::new(at.x, top + height);
                path.pieces.push(Piece::Line(at));
            }
            step(&mut path, at, end);
            lines.push(HasseLine { path, label: labels[edge].clone(), label_rect: Rect::new(0.0, 0.0, 0.0, 0.0) });
        }
        lines
    }

    /// Where a line touches a box: the lines of one side are spread in the order of where they go.
    fn port(&self, edge: usize, node: usize, boxes: &[ClassBox], places: &[f64]) -> f64 {
        let is_above = self.edges[edge].0 == node;
        let is_same_side = |it: &usize| if is_above { self.edges[*it].0 == node } else { self.edges[*it].1 == node };
        let next = |it: usize| match (is_above, self.chains[it].first(), self.chains[it].last()) {
            (true, Some(node), _) | (false, _, Some(node)) => places[*node],
            (true, None, _) => places[self.edges[it].1],
            (false, _, None) => places[self.edges[it].0],
        };
        let mut side: Vec<usize> = (0..self.edges.len()).filter(is_same_side).collect();
        side.sort_by(|a, b| next(*a).total_cmp(&next(*b)));
        let nth = side.iter().position(|it| *it == edge).unwrap_or(0);
        let rect = boxes[node].rect;
        let spacing = (rect.width * 0.7 / side.len() as f64).min(22.0);
        rect.x + rect.width / 2.0 + (nth as f64 - (side.len() as f64 - 1.0) / 2.0) * spacing
    }
}

/// A curve that leaves and arrives vertically.
fn step(path: &mut Path, from: Point, to: Point) -> Point {
    let reach = (to.y - from.y) * 0.5;
    path.pieces.push(Piece::Curve(Point::new(from.x, from.y + reach), Point::new(to.x, to.y - reach), to));
    to
}

/// The ascending sequence that is nearest to the given one: neighbours in the wrong order share their mean.
fn ascending(wanted: &[f64]) -> Vec<f64> {
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for value in wanted {
        let mut pool = (*value, 1);
        while let Some(last) = pools.last().copied().filter(|it| it.0 / it.1 as f64 > pool.0 / pool.1 as f64) {
            pool = (pool.0 + last.0, pool.1 + last.1);
            pools.pop();
        }
        pools.push(pool);
    }
    pools.iter().flat_map(|(sum, n)| std::iter::repeat_n(sum / *n as f64, *n)).collect()
}

/// Puts each label on its line where it covers the least.
fn place_labels(boxes: &[ClassBox], lines: &mut [HasseLine]) {
    let samples: Vec<Vec<Point>> = lines.iter().map(|it| it.path.sampled(6.0)).collect();
    for idx in 0..lines.len() {
        let room = width(&lines[idx].label) as f64 * 6.4 + 6.0;
        let last = samples[idx].len() - 1;
        let cost = |rect: Rect, off_middle: f64| {
            let in_boxes = boxes.iter().filter(|it| it.rect.grown(2.0).overlaps(rect)).count();
            let on_labels = lines[..idx].iter().filter(|it| it.label_rect.grown(2.0).overlaps(rect)).count();
            let others = samples.iter().enumerate().filter(|it| it.0 != idx);
            let on_lines: usize = others.map(|it| it.1.iter().filter(|it| rect.contains(**it)).count()).sum();
            off_middle + in_boxes as f64 * 5_000.0 + on_labels as f64 * 3_000.0 + on_lines as f64 * 40.0
        };
        let candidates = (2..=18_usize).map(|step| {
            let rect = Rect::around(samples[idx][last * step / 20], room, 15.0);
            (cost(rect, step.abs_diff(10) as f64 * 4.0), rect)
        });
        if let Some((_, rect)) = candidates.min_by(|a, b| a.0.total_cmp(&b.0)) {
            lines[idx].label_rect = rect;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ascends_stays_and_the_rest_meets_in_the_middle() {
        let is_near = |found: &[f64], expected: &[f64]| found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(is_near(&ascending(&[1.0, 2.0, 3.0]), &[1.0, 2.0, 3.0]));
        assert!(is_near(&ascending(&[3.0, 1.0, 2.0, 7.0]), &[2.0, 2.0, 2.0, 7.0]));
        assert!(ascending(&[]).is_empty());
    }

    #[test]
    fn what_stands_alone_above_is_pulled_down() {
        assert_eq!(tightened(vec![0, 1, 2, 0], &[(0, 1), (1, 2), (3, 2)]), [0, 1, 2, 1]);
    }
}
