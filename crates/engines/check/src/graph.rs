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
    /// This other writer is newer than the source of this read, so the reader did not see it.
    NotSeen { read: usize, other: TxnId },
    /// Both write the same key and the other order is impossible.
    FirstCommitter { earlier: TxnId, later: TxnId },
}

#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) edges: Vec<KnownEdge>,
    out: Vec<Vec<u32>>,
}

impl Graph {
    pub(crate) fn new(n_nodes: usize) -> Self {
        Self { edges: Vec::new(), out: vec![Vec::new(); n_nodes] }
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

    /// The shortest cycle through one of some nodes that Kahn's algorithm could not order.
    fn short_cycle(&self, n_before: &[u32]) -> Vec<u32> {
        const MAX_STARTS: usize = 200;
        let stuck = (0..self.n_nodes() as Node).filter(|it| n_before[*it as usize] > 0);
        let mut best: Option<Vec<u32>> = None;
        let mut n_tried = 0;
        for node in stuck {
            if let Some(cycle) = self.path(node, node, u32::MAX, |_| true) {
                n_tried += 1;
                if best.as_ref().is_none_or(|it| cycle.len() < it.len()) {
                    best = Some(cycle);
                }
            }
            if n_tried == MAX_STARTS || best.as_ref().is_some_and(|it| it.len() == 2) {
                break;
            }
        }
        best.expect("a graph without a topological order has a cycle")
    }

    /// The edges of a shortest nonempty path, using only edges numbered below `before` that `admits` admits.
    pub(crate) fn path(
        &self,
        from: Node,
        to: Node,
        before: u32,
        admits: impl Fn(&KnownEdge) -> bool,
    ) -> Option<Vec<u32>> {
        let mut reached_by = vec![u32::MAX; self.n_nodes()];
        let mut pending = VecDeque::from([from]);
        while let Some(node) = pending.pop_front() {
            for edge_idx in self.out[node as usize].iter().filter(|it| **it < before) {
                let edge = &self.edges[*edge_idx as usize];
                if reached_by[edge.to as usize] != u32::MAX || !admits(edge) {
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
    /// The number of events of the initial transaction, which come first.
    n_initial: Node,
}

/// The chain of the initial transaction, which reaches everything, and of those that are out, which reach nothing.
const NO_CHAIN: u32 = u32::MAX;

impl Clocks {
    /// Cost: edges times sessions.
    pub(crate) fn new(problem: &Problem<'_>, events: Events, graph: &Graph, order: &[Node]) -> Self {
        let (chain, place, n_chains) = chains(problem, events, graph.n_nodes());
        let n_initial = events.commit(TxnId::INITIAL) + 1;
        let mut clocks = Self { n_chains, counts: vec![0; n_chains * graph.n_nodes()], chain, place, n_initial };
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
}

/// Sessions are chains; the nodes of the time axis, if there are any, are one more.
fn chains(problem: &Problem<'_>, events: Events, n_nodes: usize) -> (Vec<u32>, Vec<u32>, usize) {
    let (mut chain, mut place) = (vec![NO_CHAIN; n_nodes], vec![0; n_nodes]);
    let mut n_chains = 0;
    for session in problem.sessions.iter().filter(|it| !it.is_empty()) {
        let mut length = 0;
        for txn in session {
            for node in events.start(*txn)..=events.commit(*txn) {
                chain[node as usize] = n_chains;
                place[node as usize] = length;
                length += 1;
            }
        }
        n_chains += 1;
    }
    let first_time_node = events.n_nodes(problem.n_txns());
    for (nth, node) in (first_time_node..n_nodes).enumerate() {
        chain[node] = n_chains;
        place[node] = nth as u32;
    }
    let has_times = n_nodes > first_time_node;
    (chain, place, n_chains as usize + usize::from(has_times))
}
