//! [`IncrementalOrder`] against a graph that is searched afresh for each question.

use crate::random::Random;
use iso_solve::{EdgeId, IncrementalOrder, Mark, Reach, UNTAGGED};

/// A list of edges `(from, to, tag)`, each question answered by a search over all of them.
#[derive(Default)]
struct Oracle {
    edges: Vec<(u32, u32, u32)>,
}

impl Oracle {
    /// The least number of tagged edges on a path, found by relaxing all edges until nothing changes.
    fn distance(&self, n_nodes: u32, start: u32, goal: u32) -> Option<u32> {
        let mut distance = vec![u32::MAX; n_nodes as usize];
        distance[start as usize] = 0;
        let mut is_stable = false;
        while !is_stable {
            is_stable = true;
            for &(from, to, tag) in &self.edges {
                let through = distance[from as usize].saturating_add(u32::from(tag != UNTAGGED));
                if through < distance[to as usize] {
                    distance[to as usize] = through;
                    is_stable = false;
                }
            }
        }
        Some(distance[goal as usize]).filter(|&distance| distance != u32::MAX)
    }
}

#[test]
fn conflicts_paths_and_undo_agree_with_a_naive_search() {
    let mut n_cycles = 0;
    for seed in 0..120 {
        n_cycles += run(seed, 4 + (seed as u32 % 12), 400);
    }
    assert!(n_cycles > 10_000, "only {n_cycles} cycles were met");
}

#[test]
fn hundreds_of_conflicts_in_one_run_leave_no_marks_behind() {
    let n_cycles = run(1, 30, 6_000);
    assert!(n_cycles > 500, "only {n_cycles} cycles were met");
}

/// Paths are looked for between additions and undoing, which share the marks of visited nodes.
#[test]
fn paths_that_are_looked_for_agree_with_a_naive_search() {
    let (mut n_paths, mut n_nowhere, mut n_given_up) = (0, 0, 0);
    for seed in 0..200 {
        let mut random = Random::new(1_000 + seed);
        let mut order = IncrementalOrder::new(2 + seed as u32 % 30);
        let mut oracle = Oracle::default();
        let mut marks = vec![order.mark()];
        for step in 0..150 {
            if random.one_in(40) {
                order.add_node();
            } else if random.one_in(30) {
                marks.truncate(1 + random.below(marks.len() as u32) as usize);
                order.undo_to(marks[marks.len() - 1]);
                oracle.edges.truncate(order.n_edges() as usize);
            }
            let (from, to) = random.two_below(order.n_nodes());
            if add_and_compare(&mut order, &mut oracle, (from, to, step)) {
                marks.push(order.mark());
            }
            let (from, to) = random.two_below(order.n_nodes());
            let is_there = oracle.distance(order.n_nodes(), from, to).is_some();
            // Both directions may come by each edge once.
            for max_edges in [u32::MAX, 2 * order.n_edges(), random.below(20)] {
                match order.find_path(from, to, max_edges) {
                    Reach::Path(path) => {
                        assert_is_path(&order, &oracle, &path, (from, to));
                        n_paths += 1;
                    }
                    Reach::Nowhere => {
                        assert!(!is_there, "seed {seed}: there is a path from {from} to {to}");
                        n_nowhere += 1;
                    }
                    Reach::TooFar => {
                        assert!(max_edges < 2 * order.n_edges(), "seed {seed}: gives up after {max_edges} edges");
                        n_given_up += 1;
                    }
                }
            }
        }
    }
    assert!(n_paths > 5_000 && n_nowhere > 5_000 && n_given_up > 500, "{n_paths} {n_nowhere} {n_given_up}");
}

/// Adds random edges and undoes some, checking each answer; returns the number of cycles met.
fn run(seed: u64, n_nodes: u32, n_steps: u32) -> u32 {
    let mut random = Random::new(seed);
    let mut order = IncrementalOrder::new(n_nodes);
    let mut oracle = Oracle::default();
    let mut marks: Vec<(Mark, usize)> = Vec::new();
    let mut n_cycles = 0;
    for step in 0..n_steps {
        if random.one_in(8) {
            marks.push((order.mark(), oracle.edges.len()));
        } else if random.one_in(10) && !marks.is_empty() {
            let depth = random.below(marks.len() as u32) as usize;
            let (mark, n_edges) = marks[depth];
            marks.truncate(depth);
            order.undo_to(mark);
            oracle.edges.truncate(n_edges);
        } else {
            let (from, to) = random.two_below(n_nodes);
            let tag = if random.one_in(3) { UNTAGGED } else { step };
            let is_added = add_and_compare(&mut order, &mut oracle, (from, to, tag));
            n_cycles += u32::from(!is_added);
        }
        assert_is_topological(&order, &oracle);
    }
    n_cycles
}

/// Adds the edge to both; false if it would close a cycle.
fn add_and_compare(order: &mut IncrementalOrder, oracle: &mut Oracle, edge: (u32, u32, u32)) -> bool {
    let (from, to, tag) = edge;
    let expected = oracle.distance(order.n_nodes(), to, from);
    match order.add_edge(from, to, tag) {
        Ok(_) => {
            assert_eq!(expected, None, "a cycle was missed");
            oracle.edges.push(edge);
            true
        }
        Err(path) => {
            let n_tagged = path.iter().filter(|&&id| order.edge(id).tag != UNTAGGED).count();
            assert_eq!(expected, Some(n_tagged as u32), "no such cycle, or not the shortest");
            assert_is_path(order, oracle, &path, (to, from));
            false
        }
    }
}

fn assert_is_path(order: &IncrementalOrder, oracle: &Oracle, path: &[EdgeId], ends: (u32, u32)) {
    let mut node = ends.0;
    for &id in path {
        let edge = order.edge(id);
        assert_eq!(edge.from, node);
        assert!(oracle.edges.contains(&(edge.from, edge.to, edge.tag)));
        node = edge.to;
    }
    assert_eq!(node, ends.1);
}

fn assert_is_topological(order: &IncrementalOrder, oracle: &Oracle) {
    for &(from, to, _) in &oracle.edges {
        assert!(order.position(from) < order.position(to));
    }
    for (place, &node) in order.order().iter().enumerate() {
        assert_eq!(order.position(node), place as u32);
    }
}
