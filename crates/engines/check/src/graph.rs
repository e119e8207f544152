//! The known graph: what must come before what, with the reason for each edge.
//!
//! Edges are only ever added, and numbered in that order. An edge that was derived from a path needs only edges with
//! smaller numbers, so the path can be found again when somebody asks why.

use crate::problem::Problem;
use crate::rule::{Events, Node};
use iso_history::TxnId;
use std::collections::VecDeque;

/// An edge of the known graph.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownEdge {
    pub(crate) from: Node,
    pub(crate) to: Node,
    pub(crate) why: Why,
    /// Derived from edges with numbers below this one.
    pub(crate) after: u32,
}

/// Why an edge is in the known graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// Session order, the initial transaction, or a transaction's snapshot before its commit.
    Session,
    /// A step along the time axis.
    RealTime,
    /// The reader of this read can have read from nobody else.
    ReadFrom { read: usize },
    /// A list read shows the version order.
    Recovered { recovered: usize },
    /// The reader of this read must see this other writer of the key, so that one is older than the source.
    MustBeOlder { read: usize, other: TxnId },
    /// This other writer is newer than each possible source of this read, so the reader did not see it.
    NotSeen { read: usize, other: TxnId },
    /// This comes before whoever may have written what this read saw, and so before the reader.
    BeforeWriters { read: usize },
    /// Both write the same key and the other order is impossible.
    FirstCommitter { earlier: TxnId, later: TxnId },
}

/// Where a short cycle is looked for: so many nodes to begin with, and so many edges to look at, more or less.
const MIN_STARTS: usize = 4;
const MAX_STARTS: usize = 200;
const MAX_EDGES: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) edges: Vec<KnownEdge>,
    out: Vec<Vec<u32>>,
    /// The place of each node in an order that so many edges keep.
    place: Vec<u32>,
    n_kept: u32,
}

impl Graph {
    pub(crate) fn new(n_nodes: usize) -> Self {
        Self { edges: Vec::new(), out: vec![Vec::new(); n_nodes], place: Vec::new(), n_kept: 0 }
    }

    pub(crate) fn n_nodes(&self) -> usize {
        self.out.len()
    }

    pub(crate) fn add_node(&mut self) -> Node {
        self.out.push(Vec::new());
        self.out.len() as Node - 1
    }

    pub(crate) fn add(&mut self, (from, to): (Node, Node), why: Why, after: u32) {
        self.out[from as usize].push(self.edges.len() as u32);
        self.edges.push(KnownEdge { from, to, why, after });
    }

    /// A topological order that prefers nodes with a small `rank`, or a shortest cycle that was found.
    pub(crate) fn topological_order(&self, rank: &[i64]) -> Result<Vec<Node>, Vec<u32>> {
        let mut n_before = vec![0u32; self.n_nodes()];
        for edge in &self.edges {
            n_before[edge.to as usize] += 1;
        }
        let mut ready: std::collections::BinaryHeap<_> = (0..self.n_nodes() as Node)
            .filter(|it| n_before[*it as usize] == 0)
            .map(|it| std::cmp::Reverse((rank[it as usize], it)))
            .collect();
        let mut order = Vec::with_capacity(self.n_nodes());
        while let Some(std::cmp::Reverse((_, node))) = ready.pop() {
            order.push(node);
            for edge in &self.out[node as usize] {
                let to = self.edges[*edge as usize].to;
                n_before[to as usize] -= 1;
                if n_before[to as usize] == 0 {
                    ready.push(std::cmp::Reverse((rank[to as usize], to)));
                }
            }
        }
        if order.len() == self.n_nodes() { Ok(order) } else { Err(self.short_cycle(&n_before)) }
    }

    /// Notes an order that all edges keep: paths of these edges are found in the stretch between their ends.
    pub(crate) fn note_order(&mut self, order: &[Node]) {
        self.place.resize(order.len(), 0);
        for (place, node) in (0..).zip(order) {
            self.place[*node as usize] = place;
        }
        self.n_kept = self.edges.len() as u32;
    }

    /// The shortest cycle through one of some nodes that Kahn's algorithm could not order.
    fn short_cycle(&self, n_before: &[u32]) -> Vec<u32> {
        // In a large graph, each start takes a while.
        let max_starts = (MAX_EDGES / (1 + self.edges.len())).clamp(MIN_STARTS, MAX_STARTS);
        let mut best: Option<Vec<u32>> = None;
        for (nth, node) in self.between_cycles(n_before).into_iter().enumerate() {
            if (nth >= max_starts && best.is_some()) || best.as_ref().is_some_and(|it| it.len() == 2) {
                break;
            }
            if let Some(cycle) = self.path(node, node, u32::MAX, |_| true)
                && best.as_ref().is_none_or(|it| cycle.len() < it.len())
            {
                best = Some(cycle);
            }
        }
        best.expect("a graph without a topological order has a cycle")
    }

    /// Of the nodes that could not be ordered, those from which a cycle can be reached: others only come after one.
    fn between_cycles(&self, n_before: &[u32]) -> Vec<Node> {
        let mut is_stuck: Vec<bool> = n_before.iter().map(|it| *it > 0).collect();
        let mut n_after = vec![0u32; self.n_nodes()];
        let mut before = vec![Vec::new(); self.n_nodes()];
        for edge in self.edges.iter().filter(|it| is_stuck[it.from as usize] && is_stuck[it.to as usize]) {
            n_after[edge.from as usize] += 1;
            before[edge.to as usize].push(edge.from);
        }
        let mut ends: Vec<Node> =
            (0..self.n_nodes() as Node).filter(|it| is_stuck[*it as usize] && n_after[*it as usize] == 0).collect();
        while let Some(end) = ends.pop() {
            is_stuck[end as usize] = false;
            for node in &before[end as usize] {
                n_after[*node as usize] -= 1;
                if n_after[*node as usize] == 0 {
                    ends.push(*node);
                }
            }
        }
        (0..self.n_nodes() as Node).filter(|it| is_stuck[*it as usize]).collect()
    }

    /// The edges of a shortest nonempty path, using only edges numbered below `before` that `admits` admits.
    pub(crate) fn path(
        &self,
        from: Node,
        to: Node,
        before: u32,
        admits: impl Fn(&KnownEdge) -> bool,
    ) -> Option<Vec<u32>> {
        let last = if before <= self.n_kept { self.place[to as usize] } else { u32::MAX };
        let mut reached_by = vec![u32::MAX; self.n_nodes()];
        let mut pending = VecDeque::from([from]);
        while let Some(node) = pending.pop_front() {
            for edge_idx in self.out[node as usize].iter().filter(|it| **it < before) {
                let edge = &self.edges[*edge_idx as usize];
                let is_past = last != u32::MAX && self.place[edge.to as usize] > last;
                if is_past || reached_by[edge.to as usize] != u32::MAX || !admits(edge) {
                    continue;
                }
                reached_by[edge.to as usize] = *edge_idx;
                if edge.to == to {
                    return Some(self.walk_back(from, to, &reached_by));
                }
                pending.push_back(edge.to);
            }
        }
        None
    }

    fn walk_back(&self, from: Node, to: Node, reached_by: &[u32]) -> Vec<u32> {
        let mut path = vec![reached_by[to as usize]];
        loop {
            let node = self.edges[path[path.len() - 1] as usize].from;
            if node == from {
                path.reverse();
                return path;
            }
            path.push(reached_by[node as usize]);
        }
    }
}

/// Who reaches whom, as one counter per session and node (a vector clock).
#[derive(Debug)]
pub(crate) struct Clocks {
    n_chains: usize,
    /// For each node and chain, how many of the chain's nodes reach it.
    counts: Vec<u32>,
    chain: Vec<u32>,
    place: Vec<u32>,
    /// The events of each session, which are the first chains.
    sessions: Vec<Vec<Node>>,
    /// The number of events of the initial transaction, which come first.
    n_initial: Node,
}

/// The chain of the initial transaction, which reaches everything, and of those that are out, which reach nothing.
const NO_CHAIN: u32 = u32::MAX;

impl Clocks {
    /// Cost: edges times sessions.
    pub(crate) fn new(problem: &Problem<'_>, events: Events, graph: &Graph, order: &[Node]) -> Self {
        let sessions = events_by_session(problem, events);
        let (chain, place, n_chains) = chains(&sessions, events.n_nodes(problem.n_txns()), graph.n_nodes());
        let n_initial = events.commit(TxnId::INITIAL) + 1;
        let counts = vec![0; n_chains * graph.n_nodes()];
        let mut clocks = Self { n_chains, counts, chain, place, sessions, n_initial };
        for node in order {
            for edge in &graph.out[*node as usize] {
                clocks.merge(*node, graph.edges[*edge as usize].to);
            }
        }
        clocks
    }

    fn merge(&mut self, from: Node, to: Node) {
        let (from_row, to_row) = (from as usize * self.n_chains, to as usize * self.n_chains);
        for chain in 0..self.n_chains {
            self.counts[to_row + chain] = self.counts[to_row + chain].max(self.counts[from_row + chain]);
        }
        let chain = self.chain[from as usize];
        if chain != NO_CHAIN {
            let count = &mut self.counts[to_row + chain as usize];
            *count = (*count).max(self.place[from as usize] + 1);
        }
    }

    /// Is there a nonempty path?
    pub(crate) fn reaches(&self, from: Node, to: Node) -> bool {
        let chain = self.chain[from as usize];
        if chain == NO_CHAIN {
            return from < self.n_initial && from < to;
        }
        self.chain[to as usize] != NO_CHAIN
            && self.counts[to as usize * self.n_chains + chain as usize] > self.place[from as usize]
    }

    /// Do these clocks say more about a node than those of the same history before?
    pub(crate) fn is_changed(&self, before: &Self, node: Node) -> bool {
        let row = node as usize * self.n_chains..(node as usize + 1) * self.n_chains;
        self.counts[row.clone()] != before.counts[row]
    }

    /// The events of each session that has any.
    pub(crate) fn sessions(&self) -> &[Vec<Node>] {
        &self.sessions
    }

    /// How many events of a session reach a node.
    pub(crate) fn n_before(&self, node: Node, session: usize) -> u32 {
        self.counts[node as usize * self.n_chains + session]
    }

    /// How many events of a session reach a node, or are it.
    pub(crate) fn n_until(&self, node: Node, session: usize) -> u32 {
        let n_before = self.n_before(node, session);
        if self.chain[node as usize] == session as u32 { n_before.max(self.place[node as usize] + 1) } else { n_before }
    }
}

/// The events of sessions, of those that have any.
fn events_by_session(problem: &Problem<'_>, events: Events) -> Vec<Vec<Node>> {
    let events_of = |it: &Vec<TxnId>| it.iter().flat_map(|it| events.start(*it)..=events.commit(*it)).collect();
    problem.sessions.iter().filter(|it| !it.is_empty()).map(events_of).collect()
}

/// Sessions are chains; the nodes of the time axis, if there are any, are one more.
fn chains(sessions: &[Vec<Node>], first_time_node: usize, n_nodes: usize) -> (Vec<u32>, Vec<u32>, usize) {
    let (mut chain, mut place) = (vec![NO_CHAIN; n_nodes], vec![0; n_nodes]);
    let times: Vec<Node> = (first_time_node as Node..n_nodes as Node).collect();
    let times = Some(&times).filter(|it| !it.is_empty());
    for (nth_chain, nodes) in (0..).zip(sessions.iter().chain(times)) {
        for (nth, node) in (0..).zip(nodes) {
            chain[*node as usize] = nth_chain;
            place[*node as usize] = nth;
        }
    }
    (chain, place, sessions.len() + usize::from(times.is_some()))
}
