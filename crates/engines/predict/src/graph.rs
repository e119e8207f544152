//! A graph whose edges say which literals they follow from, and its shortest cycles.

use iso_solve::Lit;
use std::collections::VecDeque;

/// A directed graph; each edge holds as long as its literals do.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    /// By node, its edges.
    out: Vec<Vec<u32>>,
    edges: Vec<Edge>,
    lits: Vec<Lit>,
}

#[derive(Clone, Copy, Debug)]
struct Edge {
    from: u32,
    to: u32,
    start: u32,
    end: u32,
}

/// Which strongly connected component each node is in. Components are numbered so that edges lead to smaller numbers.
#[derive(Clone, Debug)]
pub(crate) struct Components {
    of: Vec<u32>,
    sizes: Vec<u32>,
}

impl Graph {
    pub(crate) fn new(n_nodes: usize) -> Self {
        Self { out: vec![Vec::new(); n_nodes], edges: Vec::new(), lits: Vec::new() }
    }

    pub(crate) fn add(&mut self, from: u32, to: u32, because: &[Lit]) {
        let start = self.lits.len() as u32;
        self.lits.extend_from_slice(because);
        self.out[from as usize].push(self.edges.len() as u32);
        self.edges.push(Edge { from, to, start, end: self.lits.len() as u32 });
    }

    pub(crate) fn n_nodes(&self) -> usize {
        self.out.len()
    }

    fn successors(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        self.out[node as usize].iter().map(|it| self.edges[*it as usize].to)
    }

    /// The literals of the edges on a shortest path that leads from one node to the other, by at least one edge.
    pub(crate) fn path(&self, from: u32, to: u32, may_enter: impl Fn(u32) -> bool) -> Option<Vec<Lit>> {
        const NONE: u32 = u32::MAX;
        let mut came_by = vec![NONE; self.n_nodes()];
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            for edge in &self.out[node as usize] {
                let next = self.edges[*edge as usize].to;
                if came_by[next as usize] != NONE || !may_enter(next) {
                    continue;
                }
                came_by[next as usize] = *edge;
                if next == to {
                    return Some(self.literals_back(from, to, &came_by));
                }
                queue.push_back(next);
            }
        }
        None
    }

    fn literals_back(&self, from: u32, to: u32, came_by: &[u32]) -> Vec<Lit> {
        let mut lits = Vec::new();
        let mut node = to;
        loop {
            let edge = self.edges[came_by[node as usize] as usize];
            lits.extend_from_slice(&self.lits[edge.start as usize..edge.end as usize]);
            node = edge.from;
            if node == from {
                return lits;
            }
        }
    }

    /// The literals of a shortest cycle through each of these nodes that is on one.
    pub(crate) fn cycles(&self, through: impl Iterator<Item = u32>, limit: usize) -> Vec<Vec<Lit>> {
        let components = self.components();
        let mut cycles = Vec::new();
        for node in through.filter(|it| components.is_on_cycle(*it)) {
            let stays = |next: u32| components.are_together(node, next);
            cycles.extend(self.path(node, node, stays));
            if cycles.len() >= limit {
                break;
            }
        }
        cycles
    }

    /// Tarjan's algorithm (1972), without recursion. Edges from a node to itself do not count.
    pub(crate) fn components(&self) -> Components {
        const UNSEEN: u32 = u32::MAX;
        let n_nodes = self.n_nodes();
        let mut found = Components { of: vec![UNSEEN; n_nodes], sizes: Vec::new() };
        let (mut index, mut low, mut next_index) = (vec![UNSEEN; n_nodes], vec![0; n_nodes], 0);
        let (mut stack, mut calls) = (Vec::new(), Vec::new());
        for root in 0..n_nodes as u32 {
            if index[root as usize] != UNSEEN {
                continue;
            }
            calls.push((root, 0));
            while let Some((node, at)) = calls.pop() {
                let idx = node as usize;
                if at == 0 {
                    (index[idx], low[idx]) = (next_index, next_index);
                    next_index += 1;
                    stack.push(node);
                }
                if let Some(edge) = self.out[idx].get(at) {
                    calls.push((node, at + 1));
                    let next = self.edges[*edge as usize].to;
                    if index[next as usize] == UNSEEN {
                        calls.push((next, 0));
                    } else if found.of[next as usize] == UNSEEN {
                        low[idx] = low[idx].min(index[next as usize]);
                    }
                    continue;
                }
                if low[idx] == index[idx] {
                    found.close(&mut stack, node);
                }
                if let Some((caller, _)) = calls.last() {
                    low[*caller as usize] = low[*caller as usize].min(low[idx]);
                }
            }
        }
        found
    }
}

impl Components {
    fn close(&mut self, stack: &mut Vec<u32>, root: u32) {
        let number = self.sizes.len() as u32;
        let mut size = 0;
        while let Some(node) = stack.pop() {
            self.of[node as usize] = number;
            size += 1;
            if node == root {
                break;
            }
        }
        self.sizes.push(size);
    }

    pub(crate) fn is_on_cycle(&self, node: u32) -> bool {
        self.sizes[self.of[node as usize] as usize] > 1
    }

    pub(crate) fn are_together(&self, left: u32, right: u32) -> bool {
        self.of[left as usize] == self.of[right as usize]
    }

    pub(crate) fn is_acyclic(&self) -> bool {
        self.sizes.iter().all(|it| *it == 1)
    }

    /// All nodes, each after those that it leads to, if there is no cycle.
    fn sinks_first(&self) -> Vec<u32> {
        let mut nodes: Vec<u32> = (0..self.of.len() as u32).collect();
        nodes.sort_unstable_by_key(|it| self.of[*it as usize]);
        nodes
    }
}

/// Who can be reached from whom, by at least one edge, in a graph without cycles.
#[derive(Clone, Debug)]
pub(crate) struct Reachable {
    n_words: usize,
    bits: Vec<u64>,
}

impl Reachable {
    pub(crate) fn new(graph: &Graph, components: &Components) -> Self {
        let n_words = graph.n_nodes().div_ceil(64);
        let mut reachable = Self { n_words, bits: vec![0; n_words * graph.n_nodes()] };
        for node in components.sinks_first() {
            for next in graph.successors(node) {
                reachable.add(node as usize, next as usize);
            }
        }
        reachable
    }

    fn add(&mut self, node: usize, next: usize) {
        for word in 0..self.n_words {
            self.bits[node * self.n_words + word] |= self.bits[next * self.n_words + word];
        }
        self.bits[node * self.n_words + next / 64] |= 1 << (next % 64);
    }

    pub(crate) fn is_path(&self, from: u32, to: u32) -> bool {
        self.bits[from as usize * self.n_words + to as usize / 64] >> (to % 64) & 1 == 1
    }
}
