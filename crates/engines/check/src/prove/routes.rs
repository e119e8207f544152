//! The cheapest way from every event to every other one, along known dependencies. Cost: cubic in events.

/// An event: twice the transaction's number, and one more for its commit.
pub(super) type EventNode = usize;

/// A dependency between events.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    pub(super) from: EventNode,
    pub(super) to: EventNode,
    pub(super) cost: u32,
    /// Which dependency it is.
    pub(super) edge: usize,
}

/// All cheapest ways.
#[derive(Debug)]
pub(super) struct Routes {
    n_events: usize,
    /// From each event to each other: what it costs, and the last dependency with where it starts. A step inside of a
    /// transaction costs nothing, and is none.
    ways: Vec<Option<Way>>,
}

#[derive(Clone, Copy, Debug)]
struct Way {
    cost: u32,
    last: Option<(EventNode, Option<usize>)>,
}

impl Routes {
    pub(super) fn new(n_txns: usize, hops: &[Hop]) -> Self {
        let n_events = 2 * n_txns;
        let mut routes = Self { n_events, ways: vec![None; n_events * n_events] };
        let mut leaving: Vec<Vec<Hop>> = vec![Vec::new(); n_events];
        for hop in hops {
            leaving[hop.from].push(*hop);
        }
        for from in 0..n_events {
            routes.spread(from, &leaving);
        }
        routes
    }

    /// Everything that can be reached from an event, nearest first.
    fn spread(&mut self, from: EventNode, leaving: &[Vec<Hop>]) {
        let row = from * self.n_events..(from + 1) * self.n_events;
        let ways = &mut self.ways[row];
        ways[from] = Some(Way { cost: 0, last: None });
        let mut is_done = vec![false; ways.len()];
        loop {
            let open = (0..ways.len()).filter(|it| !is_done[*it]);
            let Some((cost, at)) = open.filter_map(|it| ways[it].map(|way| (way.cost, it))).min() else { return };
            is_done[at] = true;
            let mut reach = |to: EventNode, cost: u32, edge: Option<usize>| {
                if ways[to].is_none_or(|it| cost < it.cost) {
                    ways[to] = Some(Way { cost, last: Some((at, edge)) });
                }
            };
            if at % 2 == 0 {
                reach(at + 1, cost, None);
            }
            for hop in &leaving[at] {
                reach(hop.to, cost + hop.cost, Some(hop.edge));
            }
        }
    }

    pub(super) fn cost(&self, from: EventNode, to: EventNode) -> Option<u32> {
        self.ways[from * self.n_events + to].map(|it| it.cost)
    }

    /// The dependencies on the cheapest way.
    pub(super) fn path(&self, from: EventNode, to: EventNode) -> Vec<usize> {
        let mut path = Vec::new();
        let mut at = to;
        while let Some((before, edge)) = self.ways[from * self.n_events + at].and_then(|it| it.last) {
            path.extend(edge);
            at = before;
        }
        path.reverse();
        path
    }
}
