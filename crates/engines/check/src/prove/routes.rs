//! The cheapest way from every moment to every other one, along known dependencies. Cost: cubic in moments.

/// A moment: twice the transaction's number, and one more for its commit.
pub(super) type Moment = usize;

/// A dependency between moments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    pub(super) from: Moment,
    pub(super) to: Moment,
    pub(super) cost: u32,
    /// Which dependency it is.
    pub(super) edge: usize,
}

/// All cheapest ways.
#[derive(Debug)]
pub(super) struct Routes {
    n_moments: usize,
    /// From each moment to each other: what it costs, and the last dependency with where it starts. A step inside of a
    /// transaction costs nothing, and is none.
    ways: Vec<Option<Way>>,
}

#[derive(Clone, Copy, Debug)]
struct Way {
    cost: u32,
    last: Option<(Moment, Option<usize>)>,
}

impl Routes {
    pub(super) fn new(n_txns: usize, hops: &[Hop]) -> Self {
        let n_moments = 2 * n_txns;
        let mut routes = Self { n_moments, ways: vec![None; n_moments * n_moments] };
        let mut leaving: Vec<Vec<Hop>> = vec![Vec::new(); n_moments];
        for hop in hops {
            leaving[hop.from].push(*hop);
        }
        for from in 0..n_moments {
            routes.spread(from, &leaving);
        }
        routes
    }

    /// Everything that can be reached from a moment, nearest first.
    fn spread(&mut self, from: Moment, leaving: &[Vec<Hop>]) {
        let row = from * self.n_moments..(from + 1) * self.n_moments;
        let ways = &mut self.ways[row];
        ways[from] = Some(Way { cost: 0, last: None });
        let mut is_done = vec![false; ways.len()];
        loop {
            let open = (0..ways.len()).filter(|it| !is_done[*it]);
            let Some((cost, at)) = open.filter_map(|it| ways[it].map(|way| (way.cost, it))).min() else { return };
            is_done[at] = true;
            let mut reach = |to: Moment, cost: u32, edge: Option<usize>| {
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

    pub(super) fn cost(&self, from: Moment, to: Moment) -> Option<u32> {
        self.ways[from * self.n_moments + to].map(|it| it.cost)
    }

    /// The dependencies on the cheapest way.
    pub(super) fn path(&self, from: Moment, to: Moment) -> Vec<usize> {
        let mut path = Vec::new();
        let mut at = to;
        while let Some((before, edge)) = self.ways[from * self.n_moments + at].and_then(|it| it.last) {
            path.extend(edge);
            at = before;
        }
        path.reverse();
        path
    }
}
