//! Turns a core into a cycle of dependencies that a person can follow.

use crate::graph::{KnownEdge, Why};
use crate::known::{Known, Saturation};
use crate::pieces::explain_pieces;
use crate::problem::Problem;
use crate::rule::{Node, Rule, Visibility};
use iso_evidence::{Budget, Edge, Reason};
use iso_history::{Facts, KeyId, Projection, TxnId};
use iso_spec::Level;

/// A cycle in the core, in the numbers of the whole history. Empty if the core needs a case split, or time ran out.
pub(crate) fn explain(core: &Projection, level: Level, budget: &Budget<'_>) -> Vec<Edge> {
    let facts = Facts::new(&core.history);
    if facts.ambiguous_list().is_some() {
        return Vec::new();
    }
    if level == Level::RowSnapshots && core.history.makes_rows() {
        return Vec::new();
    }
    if let Some(snapshots) = level.snapshots() {
        return explain_pieces(core, snapshots, budget);
    }
    let rule = Rule::of(level);
    let problem = Problem::new(&facts, rule.read_detail());
    let mut known = Known::new(&problem, rule);
    let Ok(Saturation::Cycle(cycle)) = known.saturate(budget) else { return Vec::new() };
    let explanation = Explanation { known: &known, core };
    let cycle = explanation.natural(&cycle);
    let cycle = explanation.expand_first_committers(cycle);
    explanation.edges(&cycle)
}

/// A step of the cycle between two events, before it is a dependency between transactions.
#[derive(Clone, Copy, Debug)]
struct EventEdge {
    from: Node,
    to: Node,
    /// None: they write a common key, and the known order is theirs.
    why: Option<Why>,
    after: u32,
}

impl EventEdge {
    fn of(edge: &KnownEdge) -> Self {
        Self { from: edge.from, to: edge.to, why: Some(edge.why), after: edge.after }
    }
}

struct Explanation<'a> {
    known: &'a Known<'a>,
    core: &'a Projection,
}

impl Explanation<'_> {
    /// The last "must be older" step of the cycle leads from L to T, because S must see L but read T's version, and the
    /// rest of the cycle shows that T's version is the older one: say instead that S depends on L, and did not see it.
    fn natural(&self, cycle: &[u32]) -> Vec<EventEdge> {
        let edges: Vec<KnownEdge> = cycle.iter().map(|it| self.known.graph.edges[*it as usize]).collect();
        let plain = || edges.iter().map(EventEdge::of).collect();
        let is_older = |it: &&u32| matches!(self.known.graph.edges[**it as usize].why, Why::MustBeOlder { .. });
        let Some(last) = cycle.iter().filter(is_older).max() else { return plain() };
        let last = self.known.graph.edges[*last as usize];
        let Why::MustBeOlder { read, other } = last.why else { return plain() };
        let events = self.known.rule.events;
        let reader = self.known.problem.reads[read].reader;
        let Some(path) = self.how_seen(other, reader, last.after) else { return plain() };
        let (from, to) = events.anti_dependency(reader, other);
        let mut steps: Vec<EventEdge> = path;
        steps.push(EventEdge { from, to, why: Some(Why::NotSeen { read, other }), after: last.after });
        steps
    }

    /// "The first committer wins" needs to be said only once: where a cycle says it more often, say instead why the
    /// one did not see the other, as long as the cycle stays one.
    fn expand_first_committers(&self, mut steps: Vec<EventEdge>) -> Vec<EventEdge> {
        let events = self.known.rule.events;
        let is_first_committer = |it: &EventEdge| matches!(it.why, Some(Why::FirstCommitter { .. }));
        while steps.iter().filter(|it| is_first_committer(it)).count() > 1 {
            let can_expand = |idx: &usize| {
                let Some(Why::FirstCommitter { earlier, later }) = steps[*idx].why else { return false };
                let before = steps[(idx + steps.len() - 1) % steps.len()];
                let next = steps[(idx + 1) % steps.len()];
                // The path leads from a snapshot to a commit, so the steps around it must meet it there.
                let starts_early = before.from == events.start(earlier) || before.to == events.start(earlier);
                let ends_late = next.from == events.commit(later) || next.to == events.commit(later);
                starts_early && ends_late
            };
            let Some(idx) = (0..steps.len()).find(can_expand) else { return steps };
            let Some(Why::FirstCommitter { earlier, later }) = steps[idx].why else { return steps };
            let (from, to) = events.anti_dependency(earlier, later);
            let Some(path) = self.known.graph.path(from, to, steps[idx].after, |_| true) else { return steps };
            let path: Vec<EventEdge> =
                path.iter().map(|it| EventEdge::of(&self.known.graph.edges[*it as usize])).collect();
            steps.splice(idx..=idx, path);
        }
        self.turn_first_committer(steps)
    }

    /// If a cycle says in few steps that A did not see B, and concludes from many others that B did not see A and so
    /// must be older: show the many and conclude from the few.
    fn turn_first_committer(&self, steps: Vec<EventEdge>) -> Vec<EventEdge> {
        let events = self.known.rule.events;
        let Some(idx) = steps.iter().position(|it| matches!(it.why, Some(Why::FirstCommitter { .. }))) else {
            return steps;
        };
        let Some(Why::FirstCommitter { earlier, later }) = steps[idx].why else { return steps };
        let others: Vec<EventEdge> = steps[idx + 1..].iter().chain(&steps[..idx]).copied().collect();
        let (from, to) = events.anti_dependency(earlier, later);
        let path = self.known.graph.path(from, to, steps[idx].after, |_| true).unwrap_or_default();
        let is_turnable = others.first().is_some_and(|it| it.from == events.start(later))
            && others.last().is_some_and(|it| it.to == events.commit(earlier) || it.from == events.commit(earlier));
        if !is_turnable || path.len() <= others.len() {
            return steps;
        }
        let mut turned: Vec<EventEdge> =
            path.iter().map(|it| EventEdge::of(&self.known.graph.edges[*it as usize])).collect();
        let (from, to) = events.version_order(later, earlier);
        let why = Some(Why::FirstCommitter { earlier: later, later: earlier });
        turned.push(EventEdge { from, to, why, after: steps[idx].after });
        turned
    }

    /// How a reader came to see another transaction.
    fn how_seen(&self, other: TxnId, reader: TxnId, after: u32) -> Option<Vec<EventEdge>> {
        let (from, to) = self.known.rule.events.visibility(other, reader);
        let is_causal = |it: &KnownEdge| matches!(it.why, Why::Session | Why::ReadFrom { .. });
        let path = match self.known.rule.visibility {
            Visibility::Everything | Visibility::CausalAndConflicting => {
                self.known.graph.path(from, to, after, |_| true)
            }
            // What one sees directly is not seen by the next; writers of a key see each other however they are ordered.
            Visibility::DirectAndConflicting => {
                let path = self.known.graph.path(from, to, after, is_causal).filter(|it| it.len() == 1);
                if path.is_none() && self.common_key(other, reader).is_some() {
                    return Some(vec![EventEdge { from, to, why: None, after }]);
                }
                path
            }
            _ => self.known.graph.path(from, to, after, is_causal),
        }?;
        let edges = path.iter().map(|it| self.known.graph.edges[*it as usize]);
        Some(edges.map(|it| EventEdge::of(&it)).collect())
    }

    fn edges(&self, steps: &[EventEdge]) -> Vec<Edge> {
        let mut edges: Vec<Edge> = Vec::new();
        for (from, to, why) in self.between_txns(steps) {
            let edge = Edge { from: self.id(from), to: self.id(to), because: self.reason(from, to, why) };
            match edges.last_mut() {
                // Steps along a session, or along the time axis, are one step.
                Some(last)
                    if last.because == edge.because && matches!(edge.because, Reason::Session | Reason::RealTime) =>
                {
                    last.to = edge.to;
                }
                _ => edges.push(edge),
            }
        }
        join_ends(&mut edges);
        edges
    }

    /// Leaves out steps inside a transaction, and joins the steps along the time axis.
    fn between_txns(&self, steps: &[EventEdge]) -> Vec<(TxnId, TxnId, Option<Why>)> {
        let events = self.known.rule.events;
        let n_events = events.n_nodes(self.known.problem.n_txns()) as Node;
        let first = steps.iter().position(|it| it.from < n_events).unwrap_or(0);
        let mut joined = Vec::new();
        let mut since: Option<TxnId> = None;
        for step in steps[first..].iter().chain(&steps[..first]) {
            let from = since.take().unwrap_or_else(|| events.txn(step.from));
            if step.to >= n_events {
                since = Some(from);
            } else if from != events.txn(step.to) {
                joined.push((from, events.txn(step.to), step.why));
            }
        }
        joined
    }

    fn id(&self, txn: TxnId) -> TxnId {
        self.core.txns[txn.index()]
    }

    fn reason(&self, from: TxnId, to: TxnId, why: Option<Why>) -> Reason {
        let problem = self.known.problem;
        let op = |read: usize| self.core.ops[problem.reads[read].op.index()];
        let key = |read: usize| problem.reads[read].key;
        let Some(why) = why else {
            let common = self.common_key(from, to).expect("rivals write a common key");
            return Reason::VersionOrder { key: self.key(common), shown_by: None };
        };
        match why {
            Why::Session => Reason::Session,
            Why::RealTime => Reason::RealTime,
            Why::ReadFrom { read } => Reason::ReadFrom { read: op(read) },
            Why::Recovered { recovered } => {
                let recovered = problem.recovered[recovered];
                let shown_by = Some(self.core.ops[recovered.shown_by.index()]);
                Reason::VersionOrder { key: self.key(recovered.key), shown_by }
            }
            Why::MustBeOlder { read, .. } => {
                let shown_by = (!to.is_initial()).then(|| op(read));
                Reason::VersionOrder { key: self.key(key(read)), shown_by }
            }
            Why::BeforeWriters { .. } => unreachable!("cycles of cases are not explained"),
            Why::NotSeen { read, .. } => Reason::AntiDependency { key: self.key(key(read)), read: op(read) },
            Why::FirstCommitter { .. } => {
                let common = self.common_key(from, to).expect("first committers write a common key");
                Reason::FirstCommitter { key: self.key(common) }
            }
        }
    }

    fn common_key(&self, left: TxnId, right: TxnId) -> Option<KeyId> {
        let problem = self.known.problem;
        problem.writes_of(left).find(|it| problem.writes(right, *it))
    }

    /// A key of the core in the numbers of the whole history.
    fn key(&self, key: KeyId) -> KeyId {
        self.core.keys[key.index()]
    }
}

/// The cycle may start in the middle of a session or of the time axis.
fn join_ends(edges: &mut Vec<Edge>) {
    if edges.len() < 3 {
        return;
    }
    let (first, last) = (edges[0], edges[edges.len() - 1]);
    if first.because == last.because && matches!(first.because, Reason::Session | Reason::RealTime) {
        edges[0].from = last.from;
        edges.pop();
    }
}
