//! Formulas and relations between two bounds: what surely is, and what may be.
//!
//! Every relation has a lower and an upper bit matrix, every formula is true, false or open (Kleene). A witness that
//! is completely known has equal bounds, and then nothing is open.

use crate::formula::{Given, Sort, WitnessKind};
use crate::program::{Ir, MAX_SLOTS, NodeOp, Program, Property, Query, QueryStep, Term};
use crate::world::World;

/// A truth value of Kleene's logic; the order is that of "or".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Truth {
    False,
    Open,
    True,
}

impl Truth {
    fn new(surely: bool, maybe: bool) -> Self {
        match (surely, maybe) {
            (true, _) => Self::True,
            (false, true) => Self::Open,
            (false, false) => Self::False,
        }
    }

    fn negate_if(self, negated: bool) -> Self {
        match self {
            Self::True if negated => Self::False,
            Self::False if negated => Self::True,
            other => other,
        }
    }
}

/// What is done with the assignments that a query finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sink {
    /// Is there one?
    Exists,
    /// All go into the matrix that starts there.
    Collect(usize),
    /// There must be none: what would complete one is ruled out.
    Refuse,
}

/// The bounds of every relation of a program in one world.
pub(crate) struct Bounds<'p, 'w> {
    pub(crate) program: &'p Program,
    pub(crate) world: &'w World,
    pub(crate) n_txns: usize,
    /// Lower and upper rows: the witness first, then families by key, then nodes.
    pub(crate) lower: Vec<u64>,
    pub(crate) upper: Vec<u64>,
    /// Where each witness starts; the last entry is the end of all.
    pub(crate) witness_starts: Vec<usize>,
    wr_at: usize,
    listed_at: usize,
    node_starts: Vec<usize>,
    /// The state in which a node was last computed.
    stamps: Vec<u32>,
    state: u32,
    slots: [u8; MAX_SLOTS],
    pub(crate) changed: bool,
    pub(crate) conflict: bool,
}

const CONSTANT: u32 = 1;

impl<'p, 'w> Bounds<'p, 'w> {
    /// Bounds of a witness about which nothing is known but what kind of thing it is.
    pub(crate) fn new(program: &'p Program, world: &'w World) -> Self {
        let (n_txns, n_keys) = (world.txns.len(), world.keys.len());
        let mut end = 0;
        let mut reserve = |n_rows: usize| {
            end += n_rows;
            end - n_rows
        };
        let rows_of = |kind: &WitnessKind| if *kind == WitnessKind::Versions { n_keys * n_txns } else { n_txns };
        let mut witness_starts: Vec<usize> = program.kinds.iter().map(|it| reserve(rows_of(it))).collect();
        witness_starts.push(reserve(0));
        let (wr_at, listed_at) = (reserve(n_keys * n_txns), reserve(n_keys * n_txns));
        let node_starts = program
            .nodes
            .iter()
            .map(|node| match node.op {
                NodeOp::Witness(idx) => witness_starts[idx],
                _ => reserve(node.rows.map_or(1, |it| world.size(it))),
            })
            .collect();
        let stamps = vec![0; program.nodes.len()];
        let mut bounds = Self {
            program,
            world,
            n_txns,
            lower: vec![0; end],
            upper: vec![0; end],
            witness_starts,
            wr_at,
            listed_at,
            node_starts,
            stamps,
            state: CONSTANT + 1,
            slots: [0; MAX_SLOTS],
            changed: false,
            conflict: false,
        };
        bounds.copy_in(wr_at, &world.wr_at);
        bounds.copy_in(listed_at, &world.listed_at);
        bounds.open_witness();
        bounds
    }

    fn copy_in(&mut self, start: usize, rows: &[u64]) {
        self.lower[start..start + rows.len()].copy_from_slice(rows);
        self.upper[start..start + rows.len()].copy_from_slice(rows);
    }

    fn open_witness(&mut self) {
        for (idx, kind) in self.program.kinds.iter().enumerate() {
            let start = self.witness_starts[idx];
            let everyone = all_bits(self.n_txns);
            match kind {
                WitnessKind::Relation => self.upper[start..start + self.n_txns].fill(everyone),
                WitnessKind::Order => self.open_order(start, everyone),
                WitnessKind::Versions => {
                    for key in 0..self.world.keys.len() {
                        self.open_order(start + key * self.n_txns, self.world.writers[key]);
                    }
                }
            }
        }
    }

    /// Any order of the members, the first transaction first.
    fn open_order(&mut self, start: usize, members: u64) {
        self.lower[start] = members & !1;
        self.upper[start] = members & !1;
        for row in bits(members & !1) {
            self.upper[start + row] = members & !(1 | 1 << row);
        }
    }

    /// Notes that the witness changed: relations made of it are computed anew.
    pub(crate) fn touch(&mut self) {
        self.state += 1;
    }

    fn size(&self, sort: Sort) -> usize {
        self.world.size(sort)
    }

    fn place(&self, term: Term) -> usize {
        match term {
            Term::Slot(slot) => usize::from(self.slots[usize::from(slot)]),
            Term::Initial | Term::TheRow => 0,
        }
    }

    /// Where the rows of a node start, once they are up to date.
    fn locate(&mut self, node_idx: usize) -> usize {
        match self.program.nodes[node_idx].op {
            NodeOp::Witness(_) => self.node_starts[node_idx],
            NodeOp::At(given, key) => self.family(given) + self.place(key) * self.n_txns,
            _ => {
                self.refresh(node_idx);
                self.node_starts[node_idx]
            }
        }
    }

    fn family(&self, given: Given) -> usize {
        match given {
            Given::Witness(idx) => self.witness_starts[idx],
            Given::WriteRead => self.wr_at,
            _ => self.listed_at,
        }
    }

    fn refresh(&mut self, node_idx: usize) {
        let node = &self.program.nodes[node_idx];
        if node.free == 0 {
            let stamp = if node.moving { self.state } else { CONSTANT };
            if self.stamps[node_idx] == stamp {
                return;
            }
            self.stamps[node_idx] = stamp;
        }
        let start = self.node_starts[node_idx];
        let n_rows = node.rows.map_or(1, |it| self.size(it));
        match node.op {
            NodeOp::Given(given) => {
                let world = self.world;
                self.copy_in(start, world.table(given));
            }
            NodeOp::InitialSet => self.copy_in(start, &[1]),
            NodeOp::Witness(_) | NodeOp::At(..) => {}
            NodeOp::AllVersions(idx) => self.unite_versions(start, idx),
            NodeOp::Union(a, b) => self.combine(start, n_rows, a, b, |a, b| (a.0 | b.0, a.1 | b.1)),
            NodeOp::Intersection(a, b) => self.combine(start, n_rows, a, b, |a, b| (a.0 & b.0, a.1 & b.1)),
            NodeOp::Difference(a, b) => self.combine(start, n_rows, a, b, |a, b| (a.0 & !b.1, a.1 & !b.0)),
            NodeOp::Composition(a, b) => self.compose(start, n_rows, a, b),
            NodeOp::Inverse(of) => self.invert(start, n_rows, of),
            NodeOp::Closure(of) => self.close(start, n_rows, of),
            NodeOp::Reflexive(of) => {
                let of = self.locate(of);
                for row in 0..n_rows {
                    self.lower[start + row] = self.lower[of + row] | 1 << row;
                    self.upper[start + row] = self.upper[of + row] | 1 << row;
                }
            }
            NodeOp::On(set) => {
                let set = self.locate(set);
                for row in 0..n_rows {
                    self.lower[start + row] = self.lower[set] & 1 << row;
                    self.upper[start + row] = self.upper[set] & 1 << row;
                }
            }
            NodeOp::Such(query) => self.collect(start, n_rows, query),
        }
    }

    fn unite_versions(&mut self, start: usize, witness: usize) {
        let family = self.witness_starts[witness];
        for row in 0..self.n_txns {
            let (mut lower, mut upper) = (0, 0);
            for key in 0..self.world.keys.len() {
                lower |= self.lower[family + key * self.n_txns + row];
                upper |= self.upper[family + key * self.n_txns + row];
            }
            (self.lower[start + row], self.upper[start + row]) = (lower, upper);
        }
    }

    #[inline]
    fn combine(
        &mut self,
        start: usize,
        n_rows: usize,
        a: usize,
        b: usize,
        of: impl Fn((u64, u64), (u64, u64)) -> (u64, u64),
    ) {
        let (a, b) = (self.locate(a), self.locate(b));
        for row in 0..n_rows {
            let left = (self.lower[a + row], self.upper[a + row]);
            let right = (self.lower[b + row], self.upper[b + row]);
            (self.lower[start + row], self.upper[start + row]) = of(left, right);
        }
    }

    fn compose(&mut self, start: usize, n_rows: usize, a: usize, b: usize) {
        let (a, b) = (self.locate(a), self.locate(b));
        for row in 0..n_rows {
            self.lower[start + row] = bits(self.lower[a + row]).fold(0, |all, it| all | self.lower[b + it]);
            self.upper[start + row] = bits(self.upper[a + row]).fold(0, |all, it| all | self.upper[b + it]);
        }
    }

    fn invert(&mut self, start: usize, n_rows: usize, of: usize) {
        let n_inner = self.program.nodes[of].rows.map_or(1, |it| self.size(it));
        let of = self.locate(of);
        self.lower[start..start + n_rows].fill(0);
        self.upper[start..start + n_rows].fill(0);
        for inner in 0..n_inner {
            for row in bits(self.lower[of + inner]) {
                self.lower[start + row] |= 1 << inner;
            }
            for row in bits(self.upper[of + inner]) {
                self.upper[start + row] |= 1 << inner;
            }
        }
    }

    fn close(&mut self, start: usize, n_rows: usize, of: usize) {
        let of = self.locate(of);
        for row in 0..n_rows {
            self.lower[start + row] = self.lower[of + row];
            self.upper[start + row] = self.upper[of + row];
        }
        close_rows(&mut self.lower[start..start + n_rows]);
        close_rows(&mut self.upper[start..start + n_rows]);
    }

    fn collect(&mut self, start: usize, n_rows: usize, query_idx: usize) {
        self.lower[start..start + n_rows].fill(0);
        self.upper[start..start + n_rows].fill(0);
        // The query may run in the middle of another one that uses the same slots.
        let slots = self.slots;
        let program = self.program;
        self.run(&program.queries[query_idx], 0, true, Sink::Collect(start));
        self.slots = slots;
    }

    /// The truth of a formula.
    pub(crate) fn truth(&mut self, ir: &'p Ir) -> Truth {
        match ir {
            Ir::Truth(truth) => Truth::new(*truth, *truth),
            Ir::Equal { left, right, negated } => {
                let same = (self.place(*left) == self.place(*right)) != *negated;
                Truth::new(same, same)
            }
            Ir::Atom { node, row, col, negated } => {
                let at = self.locate(*node) + self.place(*row);
                let bit = 1 << self.place(*col);
                Truth::new(self.lower[at] & bit != 0, self.upper[at] & bit != 0).negate_if(*negated)
            }
            Ir::And(parts) => {
                let mut all = Truth::True;
                for part in parts {
                    all = all.min(self.truth(part));
                    if all == Truth::False {
                        break;
                    }
                }
                all
            }
            Ir::Or(parts) => {
                let mut any = Truth::False;
                for part in parts {
                    any = any.max(self.truth(part));
                    if any == Truth::True {
                        break;
                    }
                }
                any
            }
            Ir::Exists { query, negated } => {
                let program = self.program;
                self.run(&program.queries[*query], 0, true, Sink::Exists).negate_if(*negated)
            }
            Ir::Within { left, right, negated } => self.within(*left, *right).negate_if(*negated),
            Ir::Property { property, node, negated } => self.property(*property, *node).negate_if(*negated),
        }
    }

    fn within(&mut self, left: usize, right: usize) -> Truth {
        let n_rows = self.program.nodes[left].rows.map_or(1, |it| self.size(it));
        let (left, right) = (self.locate(left), self.locate(right));
        let (mut surely, mut maybe) = (true, true);
        for row in 0..n_rows {
            surely &= self.upper[left + row] & !self.lower[right + row] == 0;
            maybe &= self.lower[left + row] & !self.upper[right + row] == 0;
        }
        Truth::new(surely, maybe)
    }

    fn property(&mut self, property: Property, node: usize) -> Truth {
        let n_rows = self.program.nodes[node].rows.map_or(1, |it| self.size(it));
        let start = self.locate(node);
        let holds = |rows: &[u64]| match property {
            Property::Irreflexive => rows.iter().enumerate().all(|(row, it)| it >> row & 1 == 0),
            Property::Empty => rows.iter().all(|it| *it == 0),
            Property::Total => {
                let related = |a: usize, b: usize| (rows[a] >> b | rows[b] >> a) & 1 == 1;
                (0..n_rows).all(|a| (0..a).all(|b| related(a, b)))
            }
        };
        let with_lower = holds(&self.lower[start..start + n_rows]);
        let with_upper = holds(&self.upper[start..start + n_rows]);
        // More pairs make a relation total, and fewer make it irreflexive or empty.
        Truth::new(with_lower && with_upper, with_lower || with_upper)
    }

    fn run(&mut self, query: &'p Query, step_idx: usize, surely: bool, sink: Sink) -> Truth {
        match query.steps.get(step_idx) {
            None => self.found(query, surely, sink),
            Some(QueryStep::Check(conjunct)) => match self.truth(&query.conjuncts[*conjunct]) {
                Truth::False => Truth::False,
                truth => self.run(query, step_idx + 1, surely && truth == Truth::True, sink),
            },
            Some(QueryStep::Bind { slot, sort, rows }) => {
                let everything = all_bits(self.size(*sort));
                let (mut lower, mut upper) = (everything, everything);
                for (node, row) in rows {
                    let at = self.locate(*node) + self.place(*row);
                    lower &= self.lower[at];
                    upper &= self.upper[at];
                }
                let mut any = Truth::False;
                for candidate in bits(upper) {
                    self.slots[usize::from(*slot)] = candidate as u8;
                    let is_sure = surely && lower >> candidate & 1 == 1;
                    any = any.max(self.run(query, step_idx + 1, is_sure, sink));
                    if any == Truth::True && !matches!(sink, Sink::Collect(_)) {
                        break;
                    }
                }
                any
            }
        }
    }

    fn found(&mut self, query: &'p Query, surely: bool, sink: Sink) -> Truth {
        match sink {
            Sink::Collect(start) => {
                let (row, col) = query.out.expect("the query collects");
                let (at, bit) = (start + self.place(row), 1 << self.place(col));
                self.upper[at] |= bit;
                if surely {
                    self.lower[at] |= bit;
                }
            }
            Sink::Refuse if !surely => self.rule_out(query),
            Sink::Refuse | Sink::Exists => {}
        }
        Truth::new(surely, true)
    }

    /// If a single open pair of the witness would complete the assignment, it must be the other way.
    fn rule_out(&mut self, query: &'p Query) {
        let mut open = None;
        for conjunct in &query.conjuncts {
            match self.truth(conjunct) {
                Truth::True => {}
                Truth::False => return,
                Truth::Open if open.is_some() => return,
                Truth::Open => open = Some(conjunct),
            }
        }
        let Some(Ir::Atom { node, row, col, negated }) = open else { return };
        let is_witness = matches!(self.program.nodes[*node].op, NodeOp::Witness(_) | NodeOp::At(Given::Witness(_), _));
        if is_witness {
            let (start, row, col) = (self.locate(*node), self.place(*row), self.place(*col));
            self.decide(start, row, col, *negated);
        }
    }

    /// The truth of something that must be true; decides pairs of the witness that it leaves no choice.
    pub(crate) fn assume(&mut self, ir: &'p Ir) -> Truth {
        match ir {
            Ir::Exists { query, negated: true } => {
                let program = self.program;
                self.run(&program.queries[*query], 0, true, Sink::Refuse).negate_if(true)
            }
            Ir::Within { left, right, negated: false } => {
                let truth = self.within(*left, *right);
                if truth == Truth::Open {
                    self.push_within(*left, *right);
                }
                truth
            }
            _ => self.truth(ir),
        }
    }

    /// Everything that is surely on the left is put on the right; what cannot be on the right is taken from the left.
    fn push_within(&mut self, left: usize, right: usize) {
        let nodes = &self.program.nodes;
        let (from, to) = (self.locate(left), self.locate(right));
        if let NodeOp::Witness(_) = nodes[right].op {
            for row in 0..self.n_txns {
                for col in bits(self.lower[from + row] & !self.lower[to + row]) {
                    self.decide(to, row, col, true);
                }
            }
        }
        if let NodeOp::Witness(_) = nodes[left].op {
            for row in 0..self.n_txns {
                for col in bits(self.upper[from + row] & !self.upper[to + row]) {
                    self.decide(from, row, col, false);
                }
            }
        }
    }

    /// Decides one pair of the witness matrix that starts at `start`.
    pub(crate) fn decide(&mut self, start: usize, row: usize, col: usize, is_in: bool) {
        let (bit, at) = (1u64 << col, start + row);
        if (self.lower[at] & bit != 0) != (self.upper[at] & bit != 0) {
            self.changed = true;
            match (self.is_order(start), is_in) {
                (true, true) => self.put_before(start, row, col),
                (true, false) => self.put_before(start, col, row),
                (false, true) => self.lower[at] |= bit,
                (false, false) => self.upper[at] &= !bit,
            }
        } else if (self.lower[at] & bit != 0) != is_in {
            self.conflict = true;
        }
    }

    fn is_order(&self, start: usize) -> bool {
        let witness = self.witness_starts.iter().rposition(|it| *it <= start).unwrap_or(0);
        self.program.kinds.get(witness).is_some_and(|it| *it != WitnessKind::Relation)
    }

    fn put_before(&mut self, start: usize, first: usize, second: usize) {
        let n_txns = self.n_txns;
        let before = (0..n_txns).filter(|it| *it == first || self.lower[start + it] >> first & 1 == 1);
        let before = before.fold(0u64, |all, it| all | 1 << it);
        let after = self.lower[start + second] | 1 << second;
        for row in bits(before) {
            self.lower[start + row] |= after;
        }
        for row in bits(after) {
            self.upper[start + row] &= !before;
        }
    }
}

/// The first `n` bits.
pub(crate) fn all_bits(n: usize) -> u64 {
    if n >= 64 { u64::MAX } else { (1 << n) - 1 }
}

/// The places of the bits that are set, ascending.
pub(crate) fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if word == 0 {
            return None;
        }
        let place = word.trailing_zeros() as usize;
        word &= word - 1;
        Some(place)
    })
}

/// Transitive closure (Warshall).
fn close_rows(rows: &mut [u64]) {
    for middle in 0..rows.len() {
        let reached = rows[middle];
        for row in rows.iter_mut() {
            if *row >> middle & 1 == 1 {
                *row |= reached;
            }
        }
    }
}
