//! Lanes, columns and boxes.
//!
//! Columns are the longest paths along session order and all dependencies but anti-dependencies, so that most arrows
//! point to the right. Anti-dependencies are left out: in an anomaly, they are the arrows that point back.

use super::geometry::Rect;
use crate::document::{Excerpt, Link, LinkKind, Outcome, TxnRef};
use crate::notation::{sessions, times};
use crate::value::{InitialValue, held};
use crate::words::{harmless, shortened, width};

/// Sizes in pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Metrics;

impl Metrics {
    /// The width of a letter in a box.
    pub(crate) const LETTER: f64 = 7.9;
    /// The height of a line in a box.
    pub(crate) const LINE: f64 = 18.0;
    pub(crate) const BOX_PADDING: f64 = 10.0;
    pub(crate) const LANE_PADDING: f64 = 14.0;
    pub(crate) const LANE_GAP: f64 = 30.0;
    pub(crate) const MARGIN: f64 = 24.0;
    /// Room for arrows at the outer sides of the columns.
    pub(crate) const SIDE: f64 = 44.0;
    /// The width of a letter of an arrow's label.
    pub(crate) const LABEL_LETTER: f64 = 7.3;
    pub(crate) const LABEL_HEIGHT: f64 = 18.0;
}

/// Longer operations are shortened; the full text is in the tooltip.
const MAX_OP: usize = 36;
const MAX_OPS: usize = 14;
/// More columns than this would make the picture too wide for a screen.
const MAX_COLUMNS: usize = 6;
const MAX_SESSION: usize = 16;
const MAX_TITLE: usize = 24;
/// The columns of a key on an arrow.
pub(super) const MAX_LABEL: usize = 22;

/// A transaction or the initial state, ready to be drawn.
#[derive(Clone, Debug)]
pub(crate) struct TxnBox {
    pub(crate) txn: TxnRef,
    pub(crate) title: String,
    /// Behind the title, in small letters: the place in the input.
    pub(crate) note: String,
    /// Below the title: times.
    pub(crate) times: Option<String>,
    pub(crate) outcome: Outcome,
    /// Lines as shown, and in full.
    pub(crate) ops: Vec<(String, String)>,
    /// The line that shows what is wrong.
    pub(crate) culprit: Option<usize>,
    pub(crate) rect: Rect,
    /// The lane; none for the initial state.
    pub(crate) lane: Option<usize>,
    pub(crate) column: usize,
}

/// A session.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    pub(crate) name: String,
    pub(crate) rect: Rect,
}

/// Boxes and lanes in their places.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) lanes: Vec<Lane>,
    pub(crate) boxes: Vec<TxnBox>,
    /// Where vertical arrows may run: the middles of the gaps between columns.
    pub(crate) corridors: Vec<f64>,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl Layout {
    pub(crate) fn new(excerpt: &Excerpt) -> Self {
        let links = links(excerpt);
        let order = lane_order(excerpt, &links);
        let columns = columns(excerpt, &links);
        let mut boxes: Vec<TxnBox> = excerpt.transactions.iter().map(|it| txn_box(excerpt, it)).collect();
        for (idx, txn) in excerpt.transactions.iter().enumerate() {
            boxes[idx].lane = order.iter().position(|it| *it == txn.session);
            boxes[idx].column = columns[idx];
        }
        let mut layout = Self { lanes: Vec::new(), boxes, corridors: Vec::new(), width: 0.0, height: 0.0 };
        layout.place_lanes(&order);
        let left = Metrics::MARGIN + layout.place_initial(excerpt, &links);
        layout.place_columns(left, column_gap(&links));
        layout
    }

    /// The same places for what another run of the same transactions did: boxes stay where they are, and shrink.
    pub(crate) fn showing(&self, excerpt: &Excerpt) -> Self {
        let mut layout = self.clone();
        layout.boxes.retain(|it| it.lane.is_none() || excerpt.transactions.iter().any(|txn| it.txn.is(&txn.id)));
        for shown in &mut layout.boxes {
            if let Some(txn) = excerpt.transactions.iter().find(|it| shown.txn.is(&it.id)) {
                let TxnBox { rect, lane, column, .. } = *shown;
                *shown = TxnBox { lane, column, ..txn_box(excerpt, txn) };
                shown.rect = Rect { height: shown.rect.height, ..rect };
            }
        }
        layout
    }

    /// The box of a transaction or of the initial state.
    pub(crate) fn position(&self, txn: &TxnRef) -> Option<usize> {
        self.boxes.iter().position(|it| it.txn == *txn)
    }

    /// The box of a transaction.
    pub(crate) fn named(&self, id: &str) -> Option<usize> {
        self.boxes.iter().position(|it| it.txn.is(id))
    }

    fn place_lanes(&mut self, names: &[&str]) {
        let mut y = 0.0;
        for (lane, name) in names.iter().enumerate() {
            let inside = self.boxes.iter().filter(|it| it.lane == Some(lane)).map(|it| it.rect.height);
            let height = inside.fold(Metrics::LINE, f64::max) + 2.0 * Metrics::LANE_PADDING;
            for inside in self.boxes.iter_mut().filter(|it| it.lane == Some(lane)) {
                inside.rect.y = y + (height - inside.rect.height) / 2.0;
            }
            let name = shortened(&harmless(name), MAX_SESSION);
            self.lanes.push(Lane { name, rect: Rect::new(0.0, y, 0.0, height) });
            y += height + Metrics::LANE_GAP;
        }
        self.height = (y - Metrics::LANE_GAP).max(0.0);
    }

    /// Places the initial state to the left of all lanes, if something refers to it; returns the room that it takes.
    fn place_initial(&mut self, excerpt: &Excerpt, links: &[&Link]) -> f64 {
        let Some(mut initial) = initial_box(excerpt, links) else { return 0.0 };
        initial.rect.x = Metrics::MARGIN;
        initial.rect.y = (self.height - initial.rect.height).max(0.0) / 2.0;
        self.height = self.height.max(initial.rect.height);
        let room = initial.rect.width + Metrics::SIDE;
        self.boxes.push(initial);
        room
    }

    fn place_columns(&mut self, left: f64, gap: f64) {
        let names = self.lanes.iter().map(|it| width(&it.name)).max().unwrap_or(0);
        let mut x = left + names as f64 * Metrics::LETTER + 24.0 + Metrics::SIDE;
        let n_columns = self.boxes.iter().map(|it| it.column + 1).max().unwrap_or(0);
        self.corridors.push(x - Metrics::SIDE / 2.0);
        for column in 0..n_columns {
            let is_inside = |it: &&mut TxnBox| it.lane.is_some() && it.column == column;
            let widest = self.boxes.iter_mut().filter(is_inside).map(|it| it.rect.width).fold(0.0, f64::max);
            for inside in self.boxes.iter_mut().filter(is_inside) {
                inside.rect.x = x + (widest - inside.rect.width) / 2.0;
            }
            x += widest;
            let is_last = column + 1 == n_columns;
            self.corridors.push(x + if is_last { Metrics::SIDE } else { gap } / 2.0);
            x += if is_last { Metrics::SIDE } else { gap };
        }
        for lane in &mut self.lanes {
            lane.rect.x = left;
            lane.rect.width = x - left;
        }
        self.width = x + Metrics::MARGIN;
    }
}

/// The arrows of an excerpt.
pub(crate) fn links(excerpt: &Excerpt) -> Vec<&Link> {
    excerpt.cycle.iter().chain(excerpt.local.iter().flat_map(|it| &it.links)).collect()
}

fn label_width(link: &Link) -> f64 {
    width(&link.label(MAX_LABEL)) as f64 * Metrics::LABEL_LETTER
}

/// Wide enough for labels between columns.
fn column_gap(links: &[&Link]) -> f64 {
    links.iter().map(|it| label_width(it) + 48.0).fold(72.0, f64::max).min(150.0)
}

/// Sessions in the order in which the cycle visits them, so that most arrows go to a neighbour.
///
/// Up to three are neighbours anyway: they keep the order of the input.
fn lane_order<'p>(excerpt: &'p Excerpt, links: &[&Link]) -> Vec<&'p str> {
    let in_input = sessions(excerpt);
    if in_input.len() <= 3 {
        return in_input;
    }
    let session = |of: &TxnRef| excerpt.transactions.iter().find(|it| of.is(&it.id)).map(|it| it.session.as_str());
    let mut order: Vec<&str> = Vec::new();
    let visited = links.iter().flat_map(|it| [session(&it.from), session(&it.to)]).flatten();
    for name in visited.chain(in_input) {
        if !order.contains(&name) {
            order.push(name);
        }
    }
    order
}

/// The column of each transaction: dependencies lead to a column further right, as long as there are few columns;
/// otherwise only within a session.
fn columns(excerpt: &Excerpt, links: &[&Link]) -> Vec<usize> {
    let n_txns = excerpt.transactions.len();
    let position = |of: &TxnRef| excerpt.transactions.iter().position(|it| of.is(&it.id));
    let mut order = Order { later: vec![Vec::new(); n_txns] };
    for (later, txn) in excerpt.transactions.iter().enumerate() {
        let earlier = excerpt.transactions[..later].iter().rposition(|it| it.session == txn.session);
        if let Some(earlier) = earlier {
            order.add(earlier, later);
        }
    }
    for link in links.iter().filter(|it| it.kind != LinkKind::AntiDependency) {
        if let (Some(from), Some(to)) = (position(&link.from), position(&link.to)) {
            order.add(from, to);
        }
    }
    for (from, to) in read_from(excerpt) {
        order.add(from, to);
    }
    let wide = order.depths(|_, _| 1);
    if wide.iter().all(|it| *it < MAX_COLUMNS) {
        return wide;
    }
    let session = |txn: usize| &excerpt.transactions[txn].session;
    order.depths(|from, to| usize::from(session(from) == session(to)))
}

/// Who wrote what another one read, as far as the operations say so by themselves.
pub(super) fn read_from(excerpt: &Excerpt) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (writer, txn) in excerpt.transactions.iter().enumerate() {
        for (reader, other) in excerpt.transactions.iter().enumerate() {
            if reader != writer && txn.ops.iter().any(|write| other.ops.iter().any(|read| read.returns(write))) {
                found.push((writer, reader));
            }
        }
    }
    found
}

/// An order without cycles.
struct Order {
    later: Vec<Vec<usize>>,
}

impl Order {
    /// Adds a pair, unless it would close a cycle.
    fn add(&mut self, from: usize, to: usize) {
        if from != to && !self.reaches(to, from) {
            self.later[from].push(to);
        }
    }

    fn reaches(&self, from: usize, to: usize) -> bool {
        let mut seen = vec![false; self.later.len()];
        let mut pending = vec![from];
        while let Some(at) = pending.pop() {
            if at == to {
                return true;
            }
            if !std::mem::replace(&mut seen[at], true) {
                pending.extend(&self.later[at]);
            }
        }
        false
    }

    /// The length of the longest path to each, where each pair has a length of its own.
    fn depths(&self, length: impl Fn(usize, usize) -> usize) -> Vec<usize> {
        let mut depths = vec![0; self.later.len()];
        for _ in 0..self.later.len() {
            for from in 0..self.later.len() {
                for to in &self.later[from] {
                    depths[*to] = depths[*to].max(depths[from] + length(from, *to));
                }
            }
        }
        depths
    }
}

fn txn_box(excerpt: &Excerpt, txn: &crate::Transaction) -> TxnBox {
    let culprit = excerpt.local.as_ref().filter(|it| it.transaction == txn.id).and_then(|it| it.op);
    let mut ops: Vec<(String, String)> = txn.ops.iter().map(|it| line(&it.to_string())).collect();
    if ops.len() > MAX_OPS {
        let rest = ops.split_off(MAX_OPS - 1);
        let all: Vec<String> = rest.iter().map(|it| it.1.clone()).collect();
        ops.push((format!("… {} more", rest.len()), all.join(" ")));
    }
    let mut found = TxnBox {
        txn: TxnRef::Txn(txn.id.clone()),
        title: shortened(&harmless(&txn.id), MAX_TITLE),
        note: txn.place.as_ref().and_then(crate::Place::position).unwrap_or_default(),
        times: times(txn),
        outcome: txn.outcome,
        ops,
        culprit: culprit.filter(|it| *it < MAX_OPS - 1),
        rect: Rect::new(0.0, 0.0, 0.0, 0.0),
        lane: None,
        column: 0,
    };
    found.size();
    found
}

fn line(op: &str) -> (String, String) {
    let op = harmless(op);
    (shortened(&op, MAX_OP), op)
}

/// The initial values that somebody read, each with its place among all of them.
pub(crate) fn shown_initial(excerpt: &Excerpt) -> impl Iterator<Item = (usize, &InitialValue)> {
    let is_read = |it: &InitialValue| excerpt.transactions.iter().flat_map(|it| &it.ops).any(|op| it.is_read_by(op));
    excerpt.initial.iter().enumerate().filter(move |it| is_read(it.1))
}

fn initial_box(excerpt: &Excerpt, links: &[&Link]) -> Option<TxnBox> {
    let mut shown: Vec<(String, String)> =
        shown_initial(excerpt).map(|it| line(&held(&it.1.key, &it.1.value.to_string()))).collect();
    if shown.is_empty() && !links.iter().any(|it| it.from == TxnRef::Initial) {
        return None;
    }
    if shown.len() > MAX_OPS {
        let n_more = shown.len() - (MAX_OPS - 1);
        shown.truncate(MAX_OPS - 1);
        shown.push((format!("… {n_more} more"), String::new()));
    }
    let mut found = TxnBox {
        txn: TxnRef::Initial,
        title: "initial state".to_owned(),
        note: String::new(),
        times: None,
        outcome: Outcome::Committed,
        ops: shown,
        culprit: None,
        rect: Rect::new(0.0, 0.0, 0.0, 0.0),
        lane: None,
        column: 0,
    };
    found.size();
    Some(found)
}

impl TxnBox {
    /// What stands behind the title: the outcome if it is special, and the place.
    pub(crate) fn small_print(&self) -> String {
        let words = self.outcome.mark().map(|_| self.outcome.word()).into_iter().chain(Some(self.note.as_str()));
        words.filter(|it| !it.is_empty()).collect::<Vec<_>>().join(" · ")
    }

    fn size(&mut self) {
        let small = width(&self.small_print());
        let head = width(&self.title) + if small > 0 { small + 2 } else { 0 };
        let ops = self.ops.iter().map(|it| width(&it.0)).max().unwrap_or(0);
        let columns = head.max(ops).max(self.times.as_deref().map_or(0, width)).max(9);
        let n_lines = 1 + usize::from(self.times.is_some()) + self.ops.len();
        self.rect.width = columns as f64 * Metrics::LETTER + 2.0 * Metrics::BOX_PADDING;
        self.rect.height = n_lines as f64 * Metrics::LINE + 2.0 * Metrics::BOX_PADDING - 2.0;
    }
}
