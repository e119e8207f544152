//! The known graph in a current order: what must come before what, with the reason for what was derived.
//!
//! Edges that a history shows at once (sessions, known sources, lists, real time) have no reason of their own: it can be
//! seen from their ends. A derived edge keeps the rule and the path that it was derived from.

use super::frame::Frame;
use super::sources;
use crate::core_extraction::{Before, Conclusion, CoreExtraction};
use crate::rule::{Events, Node};
use iso_history::TxnId;
use iso_solve::{Edge, EdgeId, IncrementalOrder, Reach, UNTAGGED};
use std::collections::BTreeSet;
use std::ops::Range;

/// A choice between two edges, at least one of which must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// The read's source is newer than `other`, or the reader does not see `other`.
    Read { read: u32, source: TxnId, other: TxnId },
    /// Both write a key: the one commits before the other's snapshot, or the other way round.
    Writers { one: TxnId, other: TxnId },
}

/// What the known graph says about a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outlook {
    /// Both are possible, as far as can be seen with little work.
    Open,
    /// One was impossible, and the other is known now.
    Settled,
}

/// Both edges of a choice are impossible: these transactions show it.
#[derive(Debug)]
pub(super) struct Conflict {
    pub(super) core: Vec<TxnId>,
}

#[derive(Debug)]
pub(super) struct Graph<'f> {
    frame: &'f Frame<'f>,
    pub(super) order: IncrementalOrder,
    /// In the order of their edges.
    derived: Vec<Derived>,
    /// The edges of the paths that edges were derived from.
    paths: Vec<EdgeId>,
    /// The time axis: ends and their nodes, ascending.
    axis: Vec<(i64, Node)>,
    /// Does it have edges that are not known, but tried?
    pub(super) has_guesses: bool,
}

#[derive(Debug)]
struct Derived {
    edge: EdgeId,
    choice: Choice,
    path: Range<u32>,
}

/// How many edges to look at before a path is given up.
const MAX_EDGES: u32 = 20_000;

impl<'f> Graph<'f> {
    /// The edges that the history shows, in the order of these commits and snapshots.
    pub(super) fn new(frame: &'f Frame<'f>, commits: &[TxnId], snapshots: &[u32]) -> Self {
        let axis = axis(frame, commits);
        let mut graph = Self {
            frame,
            order: IncrementalOrder::default(),
            derived: Vec::new(),
            paths: Vec::new(),
            axis,
            has_guesses: false,
        };
        graph.order = IncrementalOrder::with_order(graph.nodes(commits, snapshots));
        graph.add_shown(commits);
        graph
    }

    /// All nodes: those that take no part first, snapshots right after as many commits as they see.
    pub(super) fn nodes(&self, commits: &[TxnId], snapshots: &[u32]) -> Vec<Node> {
        let (frame, events) = (self.frame, self.frame.rule.events);
        let n_nodes = events.n_nodes(frame.n_txns()) + self.axis.len();
        let mut is_placed = vec![false; frame.n_txns()];
        for txn in commits {
            is_placed[txn.index()] = true;
        }
        let mut nodes = Vec::with_capacity(n_nodes);
        for txn in (0..frame.n_txns()).map(TxnId::from_index).filter(|it| !is_placed[it.index()]) {
            nodes.extend(events.start(txn)..=events.commit(txn));
        }
        let mut axis = self.axis_places(commits).into_iter().zip(&self.axis).peekable();
        let starts = Buckets::new(commits, snapshots);
        for n_commits in 0..=commits.len() {
            if n_commits > 0 {
                nodes.push(events.commit(commits[n_commits - 1]));
            }
            while let Some((_, (_, node))) = axis.next_if(|it| it.0 == n_commits as u32) {
                nodes.push(*node);
            }
            nodes.extend(starts.of(n_commits).iter().map(|it| events.start(*it)));
        }
        nodes
    }

    /// For each node of the time axis, after how many commits it comes.
    fn axis_places(&self, commits: &[TxnId]) -> Vec<u32> {
        let mut places = vec![0; self.axis.len()];
        for (nth, txn) in (1..).zip(commits) {
            if let (Some(end), false) = (self.frame.end(*txn), self.axis.is_empty()) {
                let idx = self.axis.partition_point(|it| it.0 < end);
                places[idx] = nth;
            }
        }
        let mut highest = 0;
        for place in &mut places {
            highest = highest.max(*place);
            *place = highest;
        }
        places
    }

    fn add_shown(&mut self, commits: &[TxnId]) {
        let (frame, events) = (self.frame, self.frame.rule.events);
        for txn in commits.iter().copied() {
            if events != Events::One {
                self.add_known((events.start(txn), events.commit(txn)));
            }
            let mut last = frame.previous[txn.index()];
            if !last.is_initial() {
                self.add_known(events.visibility(last, txn));
            }
            for source in frame.reads_of(txn).filter_map(|it| frame.source(it)) {
                // Reads of the same source often follow each other.
                if source != last && !source.is_initial() {
                    self.add_known(events.visibility(source, txn));
                    last = source;
                }
            }
            for recovered in frame.recovered_before(txn) {
                self.add_known(events.version_order(recovered.earlier, txn));
            }
        }
        for pair in 1..self.axis.len() {
            self.add_known((self.axis[pair - 1].1, self.axis[pair].1));
        }
        for txn in commits.iter().copied().filter(|_| frame.rule.real_time) {
            if let Some(end) = frame.end(txn) {
                let idx = self.axis.partition_point(|it| it.0 < end);
                self.add_known((events.commit(txn), self.axis[idx].1));
            }
            if let Some(begin) = frame.begin(txn)
                && let Some((_, node)) = self.axis[..self.axis.partition_point(|it| it.0 < begin)].last()
            {
                self.add_known((*node, events.start(txn)));
            }
        }
    }

    fn add_known(&mut self, (from, to): (Node, Node)) {
        let added = self.order.add_edge(from, to, UNTAGGED);
        debug_assert!(added.is_ok(), "the first order keeps what the history shows");
    }

    /// The commits in the current order.
    pub(super) fn commits_of(&self, order: &[Node]) -> Vec<TxnId> {
        commits_of(self.frame, order)
    }

    /// For each transaction the number of commits before its snapshot.
    pub(super) fn snapshots_of(&self, order: &[Node]) -> Vec<u32> {
        let events = self.frame.rule.events;
        let n_events = events.n_nodes(self.frame.n_txns()) as Node;
        let mut snapshots = vec![0; self.frame.n_txns()];
        let mut n_commits = 0;
        for node in order.iter().copied().filter(|it| *it < n_events) {
            let txn = events.txn(node);
            if !self.counts(txn) {
                continue;
            }
            if node == events.commit(txn) {
                n_commits += 1;
            } else {
                snapshots[txn.index()] = n_commits;
            }
        }
        snapshots
    }

    fn counts(&self, txn: TxnId) -> bool {
        counts(self.frame, txn)
    }

    /// Does the current order keep one edge of the choice?
    pub(super) fn is_kept(&self, choice: Choice) -> bool {
        let is_forward = |(from, to): (Node, Node)| self.order.position(from) < self.order.position(to);
        let (first, second) = self.edges_of(choice);
        is_forward(first) || is_forward(second)
    }

    /// The two edges of a choice.
    pub(super) fn edges_of(&self, choice: Choice) -> ((Node, Node), (Node, Node)) {
        let events = self.frame.rule.events;
        match choice {
            Choice::Read { read, source, other } => {
                (events.version_order(other, source), events.anti_dependency(self.frame.reader(read as usize), other))
            }
            Choice::Writers { one, other } => (events.version_order(one, other), events.version_order(other, one)),
        }
    }

    /// Adds one edge of the choice if the other is seen to be impossible.
    pub(super) fn settle(&mut self, choice: Choice) -> Result<Outlook, Conflict> {
        let (first, second) = self.edges_of(choice);
        let why_not_first = self.why_impossible(first);
        let why_not_second = self.why_impossible(second);
        match (why_not_first, why_not_second) {
            (Some(one), Some(other)) => Err(self.conflict(choice, &[one, other].concat())),
            (Some(path), None) => {
                self.derive(second, choice, &path);
                Ok(Outlook::Settled)
            }
            (None, Some(path)) => {
                self.derive(first, choice, &path);
                Ok(Outlook::Settled)
            }
            (None, None) => Ok(Outlook::Open),
        }
    }

    /// For a level at which the reader need not see everybody before it: if it is seen to see `other`, then that is older
    /// than the source. True if that is news.
    pub(super) fn settle_seen(&mut self, choice: Choice) -> Result<bool, Conflict> {
        let (older, (reader, other)) = self.edges_of(choice);
        if self.order.position(older.0) < self.order.position(older.1) {
            return Ok(false);
        }
        let Reach::Path(path) = self.order.find_path(other, reader, MAX_EDGES) else { return Ok(false) };
        if let Some(why_not) = self.why_impossible(older) {
            return Err(self.conflict(choice, &[path, why_not].concat()));
        }
        self.derive(older, choice, &path);
        Ok(true)
    }

    /// Adds an edge for which nothing speaks, if nothing speaks against it.
    pub(super) fn try_guess(&mut self, from: Node, to: Node) -> bool {
        let is_added =
            self.frame.rule.events.txn(to) != TxnId::INITIAL && self.order.add_edge(from, to, UNTAGGED).is_ok();
        self.has_guesses |= is_added;
        is_added
    }

    /// The path that makes an edge impossible, if it is found with little work.
    fn why_impossible(&mut self, (from, to): (Node, Node)) -> Option<Vec<EdgeId>> {
        // Nothing comes before the initial transaction.
        if self.frame.rule.events.txn(to) == TxnId::INITIAL {
            return Some(Vec::new());
        }
        match self.order.find_path(to, from, MAX_EDGES) {
            Reach::Path(path) => Some(path),
            Reach::Nowhere | Reach::TooFar => None,
        }
    }

    fn derive(&mut self, (from, to): (Node, Node), choice: Choice, path: &[EdgeId]) {
        let start = self.paths.len() as u32;
        self.paths.extend_from_slice(path);
        if let Ok(edge) = self.order.add_edge(from, to, UNTAGGED) {
            self.derived.push(Derived { edge, choice, path: start..self.paths.len() as u32 });
        }
    }

    fn conflict(&self, choice: Choice, edges: &[EdgeId]) -> Conflict {
        let mut core = CoreExtraction::default();
        name_choice(&mut core, choice);
        self.follow_edges(&mut core, edges);
        Conflict { core: self.finish(core) }
    }

    /// Some transactions, and everybody on whom edges between them rest.
    pub(super) fn core_between(&self, involved: &BTreeSet<TxnId>) -> Vec<TxnId> {
        let (frame, events) = (self.frame, self.frame.rule.events);
        let mut core = CoreExtraction::default();
        core.name(involved.iter().copied());
        for later in involved.iter().copied().filter(|it| !it.is_initial()) {
            let is_inside = |read: &usize| frame.source(*read).is_some_and(|it| involved.contains(&it));
            for read in frame.reads_of(later).filter(is_inside) {
                core.follow(Conclusion::Source(read as u32), Before::MAX);
            }
            for edge in frame.recovered_before(later).iter().filter(|it| involved.contains(&it.earlier)) {
                core.name(edge.who_shows(frame.facts));
            }
        }
        let is_inside = |it: &EdgeId| {
            let edge = self.order.edge(*it);
            involved.contains(&events.txn(edge.from)) && involved.contains(&events.txn(edge.to))
        };
        let inside: Vec<EdgeId> = self.derived.iter().map(|it| it.edge).filter(is_inside).collect();
        self.follow_edges(&mut core, &inside);
        self.finish(core)
    }

    fn finish(&self, mut core: CoreExtraction) -> Vec<TxnId> {
        let mut settled = Vec::new();
        core.run(|core, conclusion, before| match conclusion {
            Conclusion::Edge(derived_idx) => {
                let Derived { choice, path, .. } = &self.derived[derived_idx as usize];
                name_choice(core, *choice);
                self.follow_edges(core, &self.paths[path.start as usize..path.end as usize]);
            }
            Conclusion::Source(read) => sources::reasons(self.frame, core, &mut settled, read as usize, before),
        });
        sources::name_settled(self.frame, &mut core, &settled);
        core.txns()
    }

    /// A derived edge is followed back; of others, the history shows why they are there.
    fn follow_edges(&self, core: &mut CoreExtraction, edges: &[EdgeId]) {
        for edge_id in edges {
            match self.derived.binary_search_by_key(edge_id, |it| it.edge) {
                Ok(derived_idx) => core.follow(Conclusion::Edge(derived_idx as u32), Before::MAX),
                Err(_) => self.name_shown(core, self.order.edge(*edge_id)),
            }
        }
    }

    /// An edge that a read shows needs the read, and why it has its source; likewise one that a list shows. Those in the
    /// middle of a session only pass it on.
    fn name_shown(&self, core: &mut CoreExtraction, edge: Edge) {
        let (frame, events) = (self.frame, self.frame.rule.events);
        let n_events = events.n_nodes(frame.n_txns()) as Node;
        if edge.from >= n_events || edge.to >= n_events {
            let ends = [edge.from, edge.to].into_iter().filter(|it| *it < n_events);
            core.name(ends.map(|it| events.txn(it)));
            return;
        }
        let (earlier, later) = (events.txn(edge.from), events.txn(edge.to));
        if earlier == later || frame.previous[later.index()] == earlier {
            return;
        }
        core.name([earlier, later]);
        if let Some(read) = frame.reads_of(later).find(|it| frame.source(*it) == Some(earlier)) {
            core.follow(Conclusion::Source(read as u32), Before::MAX);
            return;
        }
        for edge in frame.recovered_before(later).iter().filter(|it| it.earlier == earlier) {
            core.name(edge.who_shows(frame.facts));
        }
    }
}

/// The commits of those that count, in the order of these nodes.
pub(super) fn commits_of(frame: &Frame<'_>, order: &[Node]) -> Vec<TxnId> {
    let events = frame.rule.events;
    let n_events = events.n_nodes(frame.n_txns()) as Node;
    let is_commit = |it: &&Node| **it < n_events && **it == events.commit(events.txn(**it));
    order.iter().filter(is_commit).map(|it| events.txn(*it)).filter(|it| counts(frame, *it)).collect()
}

fn counts(frame: &Frame<'_>, txn: TxnId) -> bool {
    !txn.is_initial() && frame.facts.standing(txn) != iso_history::Standing::Out
}

fn name_choice(core: &mut CoreExtraction, choice: Choice) {
    match choice {
        Choice::Read { read, source, other } => {
            core.follow(Conclusion::Source(read), Before::MAX);
            core.name([source, other]);
        }
        Choice::Writers { one, other } => core.name([one, other]),
    }
}

/// The distinct ends where real time counts, each with a node of its own.
fn axis(frame: &Frame<'_>, commits: &[TxnId]) -> Vec<(i64, Node)> {
    if !frame.rule.real_time {
        return Vec::new();
    }
    let mut ends: Vec<i64> = commits.iter().filter_map(|it| frame.end(*it)).collect();
    ends.sort_unstable();
    ends.dedup();
    let first = frame.rule.events.n_nodes(frame.n_txns()) as Node;
    ends.into_iter().zip(first..).collect()
}

/// The snapshots after each number of commits.
pub(super) struct Buckets {
    starts: Vec<u32>,
    txns: Vec<TxnId>,
}

impl Buckets {
    pub(super) fn new(commits: &[TxnId], snapshots: &[u32]) -> Self {
        let mut starts = vec![0; commits.len() + 2];
        let mut txns = Vec::new();
        if !snapshots.is_empty() {
            for txn in commits {
                starts[snapshots[txn.index()] as usize + 1] += 1;
            }
            for idx in 1..starts.len() {
                starts[idx] += starts[idx - 1];
            }
            let mut next = starts.clone();
            txns = vec![TxnId::INITIAL; commits.len()];
            for txn in commits {
                let slot = &mut next[snapshots[txn.index()] as usize];
                txns[*slot as usize] = *txn;
                *slot += 1;
            }
        }
        Self { starts, txns }
    }

    pub(super) fn of(&self, n_commits: usize) -> &[TxnId] {
        &self.txns[self.starts[n_commits] as usize..self.starts[n_commits + 1] as usize]
    }
}
