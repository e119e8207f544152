//! An order of the events in a window: new ones come to its end, old ones leave at its front, and an edge against it moves
//! as few as it must.
//!
//! Source: Bender, Fineman, Gilbert & Tarjan 2016 for the search from both ends of an edge, of which the side that is done first
//! moves. We differ: the graph is not stored here but asked for neighbours, and edges that the order does not satisfy yet
//! are not followed, so that a change of several edges is made one edge at a time. Real time is no set of edges: a search
//! passes over the stretch between two positions, with the latest begin that it has reached so far.
//! Cost: per edge against the order, twice what the smaller side of the search finds, or at levels with real time the stretch.

use super::sequence::{Sequence, Target};

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
    events: Sequence,
    forward: Side,
    backward: Side,
    neighbours: Vec<u32>,
    /// How often an edge was against the order.
    pub(super) n_searches: u64,
}

/// One side of a search: what was reached from its start.
#[derive(Clone, Debug, Default)]
struct Side {
    /// Events that were reached have the number of the search.
    marks: Vec<u32>,
    mark: u32,
    parents: Vec<u32>,
    stack: Vec<u32>,
    found: Vec<u32>,
    /// How many neighbours were looked at.
    n_seen: usize,
}

/// Why an edge cannot be: events, each before the next one, from its head to its tail. Empty if the head has left.
pub(super) type Cycle = Vec<u32>;

impl Side {
    fn begin(&mut self, start: u32) {
        self.mark = self.mark.wrapping_add(1);
        if self.mark == 0 {
            self.marks.fill(0);
            self.mark = 1;
        }
        self.stack.clear();
        self.found.clear();
        self.n_seen = 0;
        self.marks[start as usize] = self.mark;
        self.stack.push(start);
    }

    #[inline]
    fn has(&self, node: u32) -> bool {
        self.marks[node as usize] == self.mark
    }

    #[inline]
    fn reach(&mut self, node: u32, from: u32) {
        self.marks[node as usize] = self.mark;
        self.parents[node as usize] = from;
    }

    /// Goes on from an event to those of its neighbours that are between both ends of the edge. If the other side has been at
    /// one of them, that one.
    #[inline]
    fn spread(&mut self, other: &Self, node: u32, neighbours: &[u32], is_between: impl Fn(u32) -> bool) -> Option<u32> {
        self.found.push(node);
        self.n_seen += 1 + neighbours.len();
        for next in neighbours {
            if is_between(*next) && !self.has(*next) {
                self.reach(*next, node);
                if other.has(*next) {
                    return Some(*next);
                }
                self.stack.push(*next);
            }
        }
        None
    }

    /// How a search came from its start to an event, which comes first.
    fn way_back(&self, start: u32, mut node: u32) -> Vec<u32> {
        let mut way = vec![node];
        while node != start {
            node = self.parents[node as usize];
            way.push(node);
        }
        way
    }
}

impl Order {
    pub(super) fn new(real_time: RealTime) -> Self {
        Self {
            real_time,
            events: Sequence::new(),
            forward: Side::default(),
            backward: Side::default(),
            neighbours: Vec::new(),
            n_searches: 0,
        }
    }

    /// Puts an event at the end.
    pub(super) fn push(&mut self, node: u32) {
        self.events.push(node);
        for side in [&mut self.forward, &mut self.backward] {
            if node as usize >= side.marks.len() {
                side.marks.resize(node as usize + 1, 0);
                side.parents.resize(node as usize + 1, 0);
            }
        }
    }

    /// The first event.
    pub(super) fn first(&self) -> Option<u32> {
        self.events.first()
    }

    /// The first event leaves.
    pub(super) fn pop(&mut self) {
        if let Some(node) = self.events.first() {
            self.events.remove(node);
        }
    }

    /// All events, in order.
    pub(super) fn nodes(&self) -> impl Iterator<Item = u32> + '_ {
        self.events.iter()
    }

    /// A number that is larger for later events; 0 if it is not in the window.
    #[inline]
    pub(super) fn position(&self, node: u32) -> u64 {
        self.events.label(node)
    }

    /// The events before an event, from the last to the first.
    pub(super) fn back_from(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.events.previous(node), |it| self.events.previous(*it))
    }

    /// Events come right before another one, as whoever asks for it knows that they can.
    pub(super) fn move_before(&mut self, nodes: &[u32], to: u32) {
        self.events.place(nodes, Target::Before(to));
    }

    /// Takes another order of the last events.
    pub(super) fn reorder(&mut self, nodes: &[u32]) {
        for node in nodes {
            self.events.remove(*node);
        }
        for node in nodes {
            self.events.push(*node);
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
        if from == to {
            return Err(vec![to]);
        }
        match self.real_time {
            RealTime::Ignored => self.search_both_ways(graph, from, to),
            RealTime::Counts => {
                self.pass_backward(graph, from, to)?;
                self.move_back(to);
                Ok(())
            }
        }
    }

    /// Looks for what must come after `to` and for what must come before `from`, in turns, until one of them is known.
    fn search_both_ways(&mut self, graph: &impl Graph, from: u32, to: u32) -> Result<(), Cycle> {
        self.forward.begin(to);
        self.backward.begin(from);
        let (low, high) = (self.position(to), self.position(from));
        loop {
            self.neighbours.clear();
            let (events, neighbours) = (&self.events, &mut self.neighbours);
            let met = if self.backward.n_seen <= self.forward.n_seen {
                let Some(node) = self.backward.stack.pop() else {
                    self.move_back(to);
                    return Ok(());
                };
                graph.predecessors(node, neighbours);
                let range = low..events.label(node);
                self.backward.spread(&self.forward, node, neighbours, |it| range.contains(&events.label(it)))
            } else {
                let Some(node) = self.forward.stack.pop() else {
                    self.move_on(from);
                    return Ok(());
                };
                graph.successors(node, neighbours);
                let range = events.label(node) + 1..=high;
                self.forward.spread(&self.backward, node, neighbours, |it| range.contains(&events.label(it)))
            };
            if let Some(at) = met {
                return Err(self.cycle((to, from), at));
            }
        }
    }

    /// Both sides of a search have met.
    fn cycle(&self, (to, from): (u32, u32), at: u32) -> Cycle {
        let mut cycle = self.forward.way_back(to, at);
        cycle.reverse();
        cycle.extend_from_slice(&self.backward.way_back(from, at)[1..]);
        cycle
    }

    /// Everybody who must come before an event, among those behind `to`; real time counts: whoever ended before the latest
    /// begin so far is one of them.
    fn pass_backward(&mut self, graph: &impl Graph, from: u32, to: u32) -> Result<(), Cycle> {
        let low = self.position(to);
        let side = &mut self.backward;
        side.begin(from);
        let mut latest: Option<(i64, u32)> = None;
        let mut event = Some(from);
        while let Some(node) = event {
            event = self.events.previous(node).filter(|_| node != to);
            let (begin, end) = graph.times(node);
            if !side.has(node) {
                let Some((_, by)) = latest.filter(|it| end.is_some_and(|end| end < it.0)) else { continue };
                side.reach(node, by);
            }
            if node == to {
                return Err(side.way_back(from, to));
            }
            side.found.push(node);
            if let Some(begin) = begin
                && latest.is_none_or(|it| begin > it.0)
            {
                latest = Some((begin, node));
            }
            let position = self.events.label(node);
            self.neighbours.clear();
            graph.predecessors(node, &mut self.neighbours);
            for next in &self.neighbours {
                let at = self.events.label(*next);
                if at < position && at >= low && !side.has(*next) {
                    side.reach(*next, node);
                }
            }
        }
        Ok(())
    }

    /// What must come before comes right before `to`.
    fn move_back(&mut self, to: u32) {
        let events = &self.events;
        self.backward.found.sort_unstable_by_key(|it| events.label(*it));
        self.events.place(&self.backward.found, Target::Before(to));
    }

    /// What must come after comes right after `from`.
    fn move_on(&mut self, from: u32) {
        let events = &self.events;
        self.forward.found.sort_unstable_by_key(|it| events.label(*it));
        self.events.place(&self.forward.found, Target::After(from));
    }
}
