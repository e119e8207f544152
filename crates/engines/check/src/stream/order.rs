//! An order of the events in a window: new ones come to its end, old ones leave at its front, and an edge against it moves
//! as few as it must.
//!
//! Source: Pearce & Kelly 2006. We differ: the graph is not stored here but asked for neighbours, and edges that the order
//! does not satisfy yet are not followed, so that a change of several edges is made one edge at a time. Real time is no
//! set of edges: a search passes over the stretch between two positions, with the earliest end that it has reached so far.
//! Cost: per edge against the order, what the search finds, or at levels with real time the stretch.

use std::collections::VecDeque;

/// Who must come before whom, as far as it is no matter of real time.
pub(super) trait Graph {
    /// Adds everybody who comes right after an event.
    fn successors(&self, node: u32, found: &mut Vec<u32>);
    /// Adds everybody who comes right before an event.
    fn predecessors(&self, node: u32, found: &mut Vec<u32>);
    /// When the transaction of an event began and ended: the begin if the event is its snapshot, the end if it is its commit.
    fn times(&self, node: u32) -> (Option<i64>, Option<i64>);
}

/// Does real time order events?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RealTime {
    Ignored,
    Counts,
}

/// The events in the window, from first to last.
#[derive(Clone, Debug)]
pub(super) struct Order {
    real_time: RealTime,
    nodes: VecDeque<u32>,
    /// The position of the first one.
    front: u64,
    /// By event; 0 if it is not in the window.
    positions: Vec<u64>,
    marks: Vec<u32>,
    mark: u32,
    parents: Vec<u32>,
    stack: Vec<u32>,
    neighbours: Vec<u32>,
    after: Vec<u32>,
    before: Vec<u32>,
    slots: Vec<u64>,
    /// How often an edge was against the order.
    pub(super) n_searches: u64,
}

/// Why an edge cannot be: events, each before the next one, from its head to its tail. Empty if the head has left.
pub(super) type Cycle = Vec<u32>;

impl Order {
    pub(super) fn new(real_time: RealTime) -> Self {
        Self {
            real_time,
            nodes: VecDeque::new(),
            front: 1,
            positions: Vec::new(),
            marks: Vec::new(),
            mark: 0,
            parents: Vec::new(),
            stack: Vec::new(),
            neighbours: Vec::new(),
            after: Vec::new(),
            before: Vec::new(),
            slots: Vec::new(),
            n_searches: 0,
        }
    }

    /// Puts an event at the end.
    pub(super) fn push(&mut self, node: u32) {
        let idx = node as usize;
        if idx >= self.positions.len() {
            self.positions.resize(idx + 1, 0);
            self.marks.resize(idx + 1, 0);
            self.parents.resize(idx + 1, 0);
        }
        self.positions[idx] = self.front + self.nodes.len() as u64;
        self.nodes.push_back(node);
    }

    /// The first event.
    pub(super) fn first(&self) -> Option<u32> {
        self.nodes.front().copied()
    }

    /// The first event leaves.
    pub(super) fn pop(&mut self) {
        if let Some(node) = self.nodes.pop_front() {
            self.positions[node as usize] = 0;
            self.front += 1;
        }
    }

    /// All events, in order.
    pub(super) fn nodes(&self) -> impl Iterator<Item = u32> + '_ {
        self.nodes.iter().copied()
    }

    /// The position of an event; 0 if it is not in the window.
    #[inline]
    pub(super) fn position(&self, node: u32) -> u64 {
        self.positions.get(node as usize).copied().unwrap_or(0)
    }

    /// Takes another order of the same events.
    pub(super) fn reorder(&mut self, nodes: &[u32]) {
        debug_assert_eq!(nodes.len(), self.nodes.len());
        for (slot, node) in nodes.iter().enumerate() {
            self.nodes[slot] = *node;
            self.positions[*node as usize] = self.front + slot as u64;
        }
    }

    /// Makes one event come before another one; what left the window came before all. A cycle, if it cannot.
    #[inline]
    pub(super) fn ensure(&mut self, graph: &impl Graph, from: u32, to: u32) -> Result<(), Cycle> {
        let (low, high) = (self.position(to), self.position(from));
        if high < low || high == 0 {
            return Ok(());
        }
        if low == 0 {
            return Err(Cycle::new());
        }
        self.search(graph, from, to)
    }

    fn search(&mut self, graph: &impl Graph, from: u32, to: u32) -> Result<(), Cycle> {
        self.n_searches += 1;
        let (low, high) = (self.position(to), self.position(from));
        match self.real_time {
            RealTime::Ignored => self.walk_forward(graph, to, high),
            RealTime::Counts => self.pass_forward(graph, to, high),
        }
        if from == to || self.after.contains(&from) {
            return Err(self.path(to, from));
        }
        match self.real_time {
            RealTime::Ignored => self.walk_backward(graph, from, low),
            RealTime::Counts => self.pass_backward(graph, from, low),
        }
        self.exchange();
        Ok(())
    }

    /// From an event's parents back to where the search began.
    fn path(&self, start: u32, end: u32) -> Cycle {
        let mut path = vec![end];
        let mut node = end;
        while node != start {
            node = self.parents[node as usize];
            path.push(node);
        }
        path.reverse();
        path
    }

    fn next_mark(&mut self) {
        self.mark = self.mark.wrapping_add(1);
        if self.mark == 0 {
            self.marks.fill(0);
            self.mark = 1;
        }
    }

    fn walk_forward(&mut self, graph: &impl Graph, start: u32, high: u64) {
        self.next_mark();
        self.after.clear();
        self.marks[start as usize] = self.mark;
        self.stack.push(start);
        while let Some(node) = self.stack.pop() {
            self.after.push(node);
            let position = self.positions[node as usize];
            self.neighbours.clear();
            graph.successors(node, &mut self.neighbours);
            for next in &self.neighbours {
                let at = self.positions[*next as usize];
                if at > position && at <= high && self.marks[*next as usize] != self.mark {
                    self.marks[*next as usize] = self.mark;
                    self.parents[*next as usize] = node;
                    self.stack.push(*next);
                }
            }
        }
    }

    fn walk_backward(&mut self, graph: &impl Graph, start: u32, low: u64) {
        self.next_mark();
        self.before.clear();
        self.marks[start as usize] = self.mark;
        self.stack.push(start);
        while let Some(node) = self.stack.pop() {
            self.before.push(node);
            let position = self.positions[node as usize];
            self.neighbours.clear();
            graph.predecessors(node, &mut self.neighbours);
            for next in &self.neighbours {
                let at = self.positions[*next as usize];
                if at < position && at >= low && self.marks[*next as usize] != self.mark {
                    self.marks[*next as usize] = self.mark;
                    self.stack.push(*next);
                }
            }
        }
    }

    /// As [`Self::walk_forward`], with real time: whoever begins after the earliest end so far is reached, too.
    fn pass_forward(&mut self, graph: &impl Graph, start: u32, high: u64) {
        self.next_mark();
        self.after.clear();
        self.marks[start as usize] = self.mark;
        let mut earliest: Option<(i64, u32)> = None;
        for position in self.positions[start as usize]..=high {
            let node = self.nodes[(position - self.front) as usize];
            let (begin, end) = graph.times(node);
            if self.marks[node as usize] != self.mark {
                let Some((_, by)) = earliest.filter(|it| begin.is_some_and(|begin| begin > it.0)) else { continue };
                self.marks[node as usize] = self.mark;
                self.parents[node as usize] = by;
            }
            self.after.push(node);
            if let Some(end) = end
                && earliest.is_none_or(|it| end < it.0)
            {
                earliest = Some((end, node));
            }
            self.neighbours.clear();
            graph.successors(node, &mut self.neighbours);
            for next in &self.neighbours {
                let at = self.positions[*next as usize];
                if at > position && at <= high && self.marks[*next as usize] != self.mark {
                    self.marks[*next as usize] = self.mark;
                    self.parents[*next as usize] = node;
                }
            }
        }
    }

    fn pass_backward(&mut self, graph: &impl Graph, start: u32, low: u64) {
        self.next_mark();
        self.before.clear();
        self.marks[start as usize] = self.mark;
        let mut latest: Option<i64> = None;
        for position in (low..=self.positions[start as usize]).rev() {
            let node = self.nodes[(position - self.front) as usize];
            let (begin, end) = graph.times(node);
            if self.marks[node as usize] != self.mark {
                if latest.is_none_or(|latest| end.is_none_or(|end| end >= latest)) {
                    continue;
                }
                self.marks[node as usize] = self.mark;
            }
            self.before.push(node);
            latest = latest.max(begin);
            self.neighbours.clear();
            graph.predecessors(node, &mut self.neighbours);
            for next in &self.neighbours {
                let at = self.positions[*next as usize];
                if at < position && at >= low {
                    self.marks[*next as usize] = self.mark;
                }
            }
        }
    }

    /// What must come before takes the first of all places that were found, what must come after the last ones.
    fn exchange(&mut self) {
        let positions = &self.positions;
        self.before.sort_unstable_by_key(|it| positions[*it as usize]);
        self.after.sort_unstable_by_key(|it| positions[*it as usize]);
        self.slots.clear();
        self.slots.extend(self.before.iter().chain(&self.after).map(|it| positions[*it as usize]));
        self.slots.sort_unstable();
        for (node, slot) in self.before.iter().chain(&self.after).zip(&self.slots) {
            self.positions[*node as usize] = *slot;
            self.nodes[(*slot - self.front) as usize] = *node;
        }
    }
}
