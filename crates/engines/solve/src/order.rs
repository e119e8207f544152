//! A topological order of a graph that gains edges one at a time and loses them last-in first-out.
//!
//! An edge that agrees with the order is free. Any other edge searches the stretch of the order between its ends,
//! forward from its head and backward from its tail, and reorders what it found; meeting the tail is a cycle.
//! Source: Pearce & Kelly 2006, "A Dynamic Topological Sort Algorithm for Directed Acyclic Graphs". We differ: the
//! forward search goes by layers, so that a cycle has the fewest tagged edges; edges are undone without touching
//! the order, which stays valid for fewer edges; in a stretch that is not too long only the lighter side moves, so that
//! the order keeps as much as possible of what it was.
//! Cost: per edge against the order, the edges inside the stretch plus sorting the nodes found, plus the stretch.

/// The tag of an edge that needs no explanation: cycles are made as short as possible in edges with other tags.
pub const UNTAGGED: u32 = u32::MAX;

/// A present edge; ids are reused after an undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EdgeId(u32);

/// A point in the history of added edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mark(u32);

/// The ends of an edge, and the caller's tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// The node before.
    pub from: u32,
    /// The node after.
    pub to: u32,
    /// Whatever the caller gave, or [`UNTAGGED`].
    pub tag: u32,
}

/// The answer to [`IncrementalOrder::find_path`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// The edges of a path.
    Path(Vec<EdgeId>),
    /// There is none.
    Nowhere,
    /// Not found out with so few edges.
    TooFar,
}

/// A directed acyclic multigraph with a topological order. See the module for the algorithm.
#[derive(Debug, Clone, Default)]
pub struct IncrementalOrder {
    position: Vec<u32>,
    node_at: Vec<u32>,
    weight: Vec<u32>,
    /// Heads of the lists of edges that leave or enter a node, newest first, so that undoing unlinks the head.
    first_out: Vec<u32>,
    first_in: Vec<u32>,
    edges: Vec<Edge>,
    links: Vec<Links>,
    scratch: Scratch,
}

impl IncrementalOrder {
    /// `n_nodes` nodes in the order of their numbers, without edges.
    pub fn new(n_nodes: u32) -> Self {
        Self::with_order((0..n_nodes).collect())
    }

    /// As many nodes as `order` has, in that order, which must be a permutation of `0..n`.
    ///
    /// An order close to what the edges will ask for makes adding them cheap.
    pub fn with_order(order: Vec<u32>) -> Self {
        let n_nodes = order.len();
        let mut position = vec![NONE; n_nodes];
        for (at, &node) in order.iter().enumerate() {
            assert_eq!(position[node as usize], NONE, "node {node} is twice in the order");
            position[node as usize] = at as u32;
        }
        Self {
            position,
            node_at: order,
            weight: vec![1; n_nodes],
            first_out: vec![NONE; n_nodes],
            first_in: vec![NONE; n_nodes],
            edges: Vec::new(),
            links: Vec::new(),
            scratch: Scratch::new(n_nodes),
        }
    }

    /// Makes a node, last in the order, and returns its number.
    pub fn add_node(&mut self) -> u32 {
        let node = self.n_nodes();
        self.position.push(node);
        self.node_at.push(node);
        self.weight.push(1);
        self.first_out.push(NONE);
        self.first_in.push(NONE);
        self.scratch.add_node();
        node
    }

    /// Says how bad it is to move a node; 1 at first.
    pub fn set_weight(&mut self, node: u32, weight: u32) {
        self.weight[node as usize] = weight;
    }

    /// How bad it is to move a node.
    pub fn weight(&self, node: u32) -> u32 {
        self.weight[node as usize]
    }

    /// The number of nodes.
    pub fn n_nodes(&self) -> u32 {
        self.position.len() as u32
    }

    /// Adds an edge, beside others with the same ends.
    ///
    /// If it would close a cycle, it is not added; the error is the path from `to` back to `from`, with as few tagged
    /// edges as possible, and empty when `from` is `to`.
    pub fn add_edge(&mut self, from: u32, to: u32, tag: u32) -> Result<EdgeId, Vec<EdgeId>> {
        self.scratch.moved.clear();
        if from == to {
            return Err(Vec::new());
        }
        if self.position[from as usize] > self.position[to as usize] {
            if self.search_forward(to, from) {
                return Err(self.path_to(from));
            }
            self.search_backward(from, to);
            self.reorder(self.position[to as usize], self.position[from as usize]);
        }
        Ok(self.link(Edge { from, to, tag }))
    }

    /// Looks for a path from `from` to `to`, forward and backward at once, and gives up after `max_edges` edges.
    pub fn find_path(&mut self, from: u32, to: u32, max_edges: u32) -> Reach {
        let (first, last) = (self.position[from as usize], self.position[to as usize]);
        if first >= last {
            return Reach::Nowhere;
        }
        self.scratch.begin();
        self.scratch.back_marks.resize(self.position.len(), 0);
        self.scratch.back_by.resize(self.position.len(), NONE);
        let scratch = &mut self.scratch;
        scratch.visit(from);
        scratch.reached_by[from as usize] = NONE;
        scratch.forward.push(from);
        scratch.visit_back(to);
        scratch.back_by[to as usize] = NONE;
        scratch.backward.push(to);
        let (mut head, mut tail, mut n_out, mut n_in) = (0, 0, 0, 0);
        while head < scratch.forward.len() && tail < scratch.backward.len() {
            if n_out + n_in > max_edges {
                return Reach::TooFar;
            }
            if n_out <= n_in {
                let mut id = self.first_out[scratch.forward[head] as usize];
                head += 1;
                while id != NONE {
                    n_out += 1;
                    let next = self.edges[id as usize].to;
                    if self.position[next as usize] <= last && scratch.visit(next) {
                        scratch.reached_by[next as usize] = id;
                        if scratch.is_visited_back(next) {
                            return Reach::Path(self.path_through(next));
                        }
                        scratch.forward.push(next);
                    }
                    id = self.links[id as usize].next_out;
                }
            } else {
                let mut id = self.first_in[scratch.backward[tail] as usize];
                tail += 1;
                while id != NONE {
                    n_in += 1;
                    let next = self.edges[id as usize].from;
                    if self.position[next as usize] >= first && scratch.visit_back(next) {
                        scratch.back_by[next as usize] = id;
                        if scratch.is_visited(next) {
                            return Reach::Path(self.path_through(next));
                        }
                        scratch.backward.push(next);
                    }
                    id = self.links[id as usize].next_in;
                }
            }
        }
        Reach::Nowhere
    }

    /// The path by which both searches came to `middle`.
    fn path_through(&self, middle: u32) -> Vec<EdgeId> {
        let mut path = self.path_to(middle);
        let mut id = self.scratch.back_by[middle as usize];
        while id != NONE {
            path.push(EdgeId(id));
            id = self.scratch.back_by[self.edges[id as usize].to as usize];
        }
        path
    }

    /// The number of edges present.
    pub fn n_edges(&self) -> u32 {
        self.edges.len() as u32
    }

    /// The edge with this id.
    pub fn edge(&self, id: EdgeId) -> Edge {
        self.edges[id.0 as usize]
    }

    /// The present, for a later [`IncrementalOrder::undo_to`].
    pub fn mark(&self) -> Mark {
        Mark(self.edges.len() as u32)
    }

    /// Removes all edges added since `mark`. The order stays as it is.
    pub fn undo_to(&mut self, mark: Mark) {
        while self.edges.len() > mark.0 as usize {
            if let (Some(edge), Some(links)) = (self.edges.pop(), self.links.pop()) {
                self.first_out[edge.from as usize] = links.next_out;
                self.first_in[edge.to as usize] = links.next_in;
            }
        }
    }

    /// The nodes that the last call of [`IncrementalOrder::add_edge`] moved.
    pub fn moved(&self) -> &[u32] {
        &self.scratch.moved
    }

    /// All nodes, each before those that its edges lead to.
    pub fn order(&self) -> &[u32] {
        &self.node_at
    }

    /// Takes over another order of the same nodes, unless an edge goes against it.
    pub fn try_order(&mut self, order: Vec<u32>) -> bool {
        assert_eq!(order.len(), self.node_at.len(), "an order has every node once");
        let mut position = vec![NONE; order.len()];
        for (at, &node) in order.iter().enumerate() {
            assert_eq!(position[node as usize], NONE, "node {node} is twice in the order");
            position[node as usize] = at as u32;
        }
        let is_valid = self.edges.iter().all(|edge| position[edge.from as usize] < position[edge.to as usize]);
        if is_valid {
            self.position = position;
            self.node_at = order;
        }
        is_valid
    }

    /// The place of `node` in the order.
    pub fn position(&self, node: u32) -> u32 {
        self.position[node as usize]
    }

    fn link(&mut self, edge: Edge) -> EdgeId {
        let id = self.edges.len() as u32;
        self.links.push(Links {
            next_out: std::mem::replace(&mut self.first_out[edge.from as usize], id),
            next_in: std::mem::replace(&mut self.first_in[edge.to as usize], id),
        });
        self.edges.push(edge);
        EdgeId(id)
    }

    /// Collects the nodes reachable from `start` that are not after `goal`, by number of tagged edges.
    /// Returns true as soon as `goal` is among them.
    fn search_forward(&mut self, start: u32, goal: u32) -> bool {
        let last = self.position[goal as usize];
        let scratch = &mut self.scratch;
        scratch.begin();
        scratch.layer.push((start, NONE));
        loop {
            let mut head = 0;
            while let Some(&(node, via)) = scratch.layer.get(head) {
                head += 1;
                if !scratch.visit(node) {
                    continue;
                }
                scratch.reached_by[node as usize] = via;
                if node == goal {
                    return true;
                }
                scratch.forward.push(node);
                let mut id = self.first_out[node as usize];
                while id != NONE {
                    let Edge { to, tag, .. } = self.edges[id as usize];
                    if self.position[to as usize] <= last && !scratch.is_visited(to) {
                        let layer = if tag == UNTAGGED { &mut scratch.layer } else { &mut scratch.next_layer };
                        layer.push((to, id));
                    }
                    id = self.links[id as usize].next_out;
                }
            }
            scratch.layer.clear();
            if scratch.next_layer.is_empty() {
                return false;
            }
            std::mem::swap(&mut scratch.layer, &mut scratch.next_layer);
        }
    }

    /// Collects the nodes that reach `start` and are not before `first`.
    fn search_backward(&mut self, start: u32, first: u32) {
        let first = self.position[first as usize];
        let scratch = &mut self.scratch;
        scratch.begin_epoch();
        scratch.visit(start);
        scratch.backward.push(start);
        let mut head = 0;
        while let Some(&node) = scratch.backward.get(head) {
            head += 1;
            let mut id = self.first_in[node as usize];
            while id != NONE {
                let from = self.edges[id as usize].from;
                if self.position[from as usize] >= first && scratch.visit(from) {
                    scratch.backward.push(from);
                }
                id = self.links[id as usize].next_in;
            }
        }
    }

    /// Moves the lighter of the two sets that were collected across the stretch from `first` to `last`: those behind
    /// the new edge to its start, or those ahead of it to its end. All other nodes keep their order.
    ///
    /// A long stretch is not moved as a whole: there the places of both sets are dealt out again among them.
    fn reorder(&mut self, first: u32, last: u32) {
        const MAX_STRETCH: u32 = 4_096;
        let position = &self.position;
        let Scratch { forward, backward, .. } = &mut self.scratch;
        forward.sort_unstable_by_key(|&node| position[node as usize]);
        backward.sort_unstable_by_key(|&node| position[node as usize]);
        if last - first > MAX_STRETCH {
            self.deal_out();
            return;
        }
        let weight = |nodes: &[u32]| nodes.iter().map(|&node| u64::from(self.weight[node as usize])).sum::<u64>();
        let is_forward_light = weight(&self.scratch.forward) <= weight(&self.scratch.backward);
        let Scratch { forward, backward, moved, places, .. } = &mut self.scratch;
        let light = if is_forward_light { forward } else { backward };
        moved.extend_from_slice(light);
        let stretch = &self.node_at[first as usize..=last as usize];
        places.clear();
        if !is_forward_light {
            places.extend_from_slice(light);
        }
        let mut next = light.iter().peekable();
        places.extend(stretch.iter().filter(|node| next.next_if_eq(node).is_none()));
        if is_forward_light {
            places.extend_from_slice(light);
        }
        for (place, &node) in (first..).zip(places.iter()) {
            self.position[node as usize] = place;
            self.node_at[place as usize] = node;
        }
    }

    /// Deals the places of all collected nodes out again: those behind the new edge first, then those ahead of it.
    fn deal_out(&mut self) {
        let Scratch { forward, backward, moved, places, .. } = &mut self.scratch;
        moved.extend_from_slice(backward);
        moved.extend_from_slice(forward);
        places.clear();
        places.extend(moved.iter().map(|&node| self.position[node as usize]));
        places.sort_unstable();
        for (&node, &place) in moved.iter().zip(places.iter()) {
            self.position[node as usize] = place;
            self.node_at[place as usize] = node;
        }
    }

    /// The edges by which the forward search reached `goal`, first edge first.
    fn path_to(&self, goal: u32) -> Vec<EdgeId> {
        let mut path = Vec::new();
        let mut id = self.scratch.reached_by[goal as usize];
        while id != NONE {
            path.push(EdgeId(id));
            let node = self.edges[id as usize].from;
            id = self.scratch.reached_by[node as usize];
        }
        path.reverse();
        path
    }
}

const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Links {
    next_out: u32,
    next_in: u32,
}

/// Scratch space of the searches.
///
/// A node is visited when its mark is the current epoch, and each search begins an epoch. So a search that ends
/// early, at a cycle, leaves no marks behind that could hide a later cycle.
#[derive(Debug, Clone, Default)]
struct Scratch {
    epoch: u32,
    marks: Vec<u32>,
    reached_by: Vec<u32>,
    /// As above, of searches that go backward at the same time.
    back_marks: Vec<u32>,
    back_by: Vec<u32>,
    layer: Vec<(u32, u32)>,
    next_layer: Vec<(u32, u32)>,
    forward: Vec<u32>,
    backward: Vec<u32>,
    places: Vec<u32>,
    moved: Vec<u32>,
}

impl Scratch {
    fn new(n_nodes: usize) -> Self {
        Self { marks: vec![0; n_nodes], reached_by: vec![NONE; n_nodes], ..Self::default() }
    }

    fn add_node(&mut self) {
        self.marks.push(0);
        self.reached_by.push(NONE);
    }

    fn begin(&mut self) {
        self.begin_epoch();
        self.layer.clear();
        self.next_layer.clear();
        self.forward.clear();
        self.backward.clear();
    }

    fn begin_epoch(&mut self) {
        if self.epoch == u32::MAX {
            self.marks.fill(0);
            self.back_marks.fill(0);
            self.epoch = 0;
        }
        self.epoch += 1;
    }

    /// Marks `node`; false if it was marked before.
    fn visit(&mut self, node: u32) -> bool {
        let mark = &mut self.marks[node as usize];
        let is_new = *mark != self.epoch;
        *mark = self.epoch;
        is_new
    }

    fn is_visited(&self, node: u32) -> bool {
        self.marks[node as usize] == self.epoch
    }

    fn visit_back(&mut self, node: u32) -> bool {
        let mark = &mut self.back_marks[node as usize];
        let is_new = *mark != self.epoch;
        *mark = self.epoch;
        is_new
    }

    fn is_visited_back(&self, node: u32) -> bool {
        self.back_marks[node as usize] == self.epoch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_cleared_when_the_epochs_run_out() {
        let mut order = IncrementalOrder::new(3);
        order.scratch.epoch = u32::MAX - 1;
        order.add_edge(2, 1, 0).unwrap();
        order.add_edge(1, 0, 1).unwrap();
        let path = order.add_edge(0, 2, 2).unwrap_err();
        let tags: Vec<u32> = path.iter().map(|&id| order.edge(id).tag).collect();
        assert_eq!(tags, [0, 1]);
        assert_eq!(order.order(), [2, 1, 0]);
    }

    #[test]
    fn a_cycle_has_as_few_tagged_edges_as_possible() {
        let mut order = IncrementalOrder::new(6);
        // From 0 to 5 through one tagged edge, or by a longer path with none.
        order.add_edge(0, 5, 7).unwrap();
        for from in 0..5 {
            order.add_edge(from, from + 1, UNTAGGED).unwrap();
        }
        let path = order.add_edge(5, 0, 8).unwrap_err();
        assert_eq!(path.len(), 5);
        assert!(path.iter().all(|&id| order.edge(id).tag == UNTAGGED));
    }

    #[test]
    fn parallel_edges_are_undone_one_by_one() {
        let mut order = IncrementalOrder::new(2);
        order.add_edge(0, 1, 0).unwrap();
        let mark = order.mark();
        order.add_edge(0, 1, 1).unwrap();
        order.undo_to(mark);
        assert!(order.add_edge(1, 0, 2).is_err());
        order.undo_to(Mark(0));
        assert!(order.add_edge(1, 0, 2).is_ok());
        assert_eq!(order.add_edge(0, 0, 3), Err(vec![]));
    }

    #[test]
    fn a_new_node_is_last() {
        let mut order = IncrementalOrder::with_order(vec![1, 0]);
        let node = order.add_node();
        assert_eq!((node, order.order()), (2, &[1, 0, 2][..]));
        order.add_edge(2, 1, 0).unwrap();
        assert!(order.position(2) < order.position(1));
        assert_eq!(order.moved(), [1]);
    }
}
