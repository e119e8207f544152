//! The simple path: saturation, then search, whatever the history.
//!
//! It decides what the other engines leave, and is what they are compared with in tests. A core is extracted by
//! following each edge of the known graph back to what it was derived from: those edges have smaller numbers.

use crate::core_extraction::{Before, Conclusion, CoreExtraction};
use crate::decision::Decision;
use crate::graph::{KnownEdge, Why};
use crate::known::{Known, Saturation, WhyNot};
use crate::problem::Problem;
use crate::rule::{Node, Rule, Visibility};
use crate::search::{Found, Solution, search};
use crate::weak::premise;
use crate::witness::{sources, witness};
use iso_evidence::{Budget, Note, Quantity, Stage, StopReason, Witness};
use iso_history::{Facts, TxnId};
use iso_spec::Level;
use std::collections::BTreeSet;

/// Decides a level by saturation and search.
pub(crate) fn decide_by_search(facts: &Facts<'_>, level: Level, budget: &Budget<'_>) -> Result<Decision, StopReason> {
    let rule = Rule::of(level);
    let problem = Problem::new(facts, rule.read_detail());
    budget.note(Note::Begins(Stage::Saturation));
    let mut known = Known::new(&problem, rule);
    let saturated = known.saturate(budget);
    budget.note(Note::Counted(Quantity::KnownEdges, known.graph.edges.len() as u64));
    budget.note(Note::Begins(Stage::Search));
    let saturated = saturated?;
    if let Some(core) = core_of_contradiction(&known, &saturated) {
        return Ok(Decision::Forbidden(core));
    }
    let Saturation::Stable(order) = saturated else { unreachable!("anything else is a contradiction") };
    Ok(match search(&known, order, budget)? {
        Found::Order(solution) => Decision::Allowed(witness_of(&known, &solution)),
        Found::Nothing(involved) => Decision::Forbidden(Reasons::new(&known).core_between(&involved)),
    })
}

/// The transactions on which it rests that saturation has found a contradiction; none if it has not.
pub(crate) fn core_of_contradiction(known: &Known<'_>, saturated: &Saturation) -> Option<Vec<TxnId>> {
    let reasons = Reasons::new(known);
    match saturated {
        Saturation::Cycle(cycle) => Some(reasons.core_of_edges(cycle)),
        Saturation::NoWriter(read) => Some(reasons.core_of_source(*read)),
        Saturation::Stable(_) => None,
    }
}

/// The transactions because of which saturation has left so few possible writers of reads.
pub(crate) fn core_of_sources(known: &Known<'_>, reads: impl IntoIterator<Item = usize>) -> Vec<TxnId> {
    let reasons = Reasons::new(known);
    let mut core = CoreExtraction::default();
    reads.into_iter().for_each(|it| reasons.follow_source(&mut core, it, Before::MAX));
    reasons.finish(core)
}

fn witness_of(known: &Known<'_>, solution: &Solution) -> Witness {
    let (problem, events) = (known.problem, known.rule.events);
    let n_events = events.n_nodes(problem.n_txns()) as Node;
    let takes_part = |it: &Node| *it < n_events && solution.takes_part[events.txn(*it).index()];
    let source_of = |read_idx: usize| solution.sources[problem.read_of_fact[read_idx] as usize];
    witness(events, solution.order.iter().copied().filter(takes_part), sources(problem.facts, source_of))
}

/// What edges and sources of the known graph rest on.
struct Reasons<'k> {
    known: &'k Known<'k>,
    /// Nodes from here on are the time axis.
    n_events: Node,
}

impl<'k> Reasons<'k> {
    fn new(known: &'k Known<'k>) -> Self {
        Self { known, n_events: known.rule.events.n_nodes(known.problem.n_txns()) as Node }
    }

    fn core_of_edges(&self, edges: &[u32]) -> Vec<TxnId> {
        let mut core = CoreExtraction::default();
        self.follow_edges(&mut core, edges);
        self.finish(core)
    }

    /// Why nobody can have written what a read saw.
    fn core_of_source(&self, read: usize) -> Vec<TxnId> {
        let mut core = CoreExtraction::default();
        self.follow_source(&mut core, read, Before::MAX);
        self.finish(core)
    }

    /// A set of transactions, and everything that was derived between them.
    fn core_between(&self, involved: &BTreeSet<TxnId>) -> Vec<TxnId> {
        let mut core = CoreExtraction::default();
        core.name(involved.iter().copied());
        let is_inside = |it: Node| self.txn(it).is_some_and(|it| involved.contains(&it));
        let is_derived = |it: &KnownEdge| it.why != Why::Session && is_inside(it.from) && is_inside(it.to);
        let edges = (0..).zip(&self.known.graph.edges).filter(|it| is_derived(it.1));
        self.follow_edges(&mut core, &edges.map(|it| it.0).collect::<Vec<u32>>());
        for (read_idx, read) in self.known.problem.reads.iter().enumerate() {
            if involved.contains(&read.reader) && !self.known.remaining[read_idx].is_empty() {
                self.follow_source(&mut core, read_idx, Before::MAX);
            }
        }
        self.finish(core)
    }

    fn finish(&self, mut core: CoreExtraction) -> Vec<TxnId> {
        core.run(|core, conclusion, before| match conclusion {
            Conclusion::Edge(edge_idx) => self.edge(core, &self.known.graph.edges[edge_idx as usize]),
            Conclusion::Source(read) => self.source(core, read as usize, before),
        });
        core.txns()
    }

    fn follow_edges(&self, core: &mut CoreExtraction, edges: &[u32]) {
        for edge_idx in edges {
            core.follow(Conclusion::Edge(*edge_idx), self.known.graph.edges[*edge_idx as usize].after);
        }
    }

    fn follow_source(&self, core: &mut CoreExtraction, read: usize, before: Before) {
        core.name([self.known.problem.reads[read].reader]);
        core.follow(Conclusion::Source(read as u32), before);
    }

    /// The transaction of a node that is no step of the time axis.
    fn txn(&self, node: Node) -> Option<TxnId> {
        (node < self.n_events).then(|| self.known.rule.events.txn(node))
    }

    fn edge(&self, core: &mut CoreExtraction, edge: &KnownEdge) {
        let (problem, events) = (self.known.problem, self.known.rule.events);
        core.name([edge.from, edge.to].into_iter().filter_map(|it| self.txn(it)));
        match edge.why {
            Why::Session | Why::RealTime => {}
            Why::ReadFrom { read } => self.follow_source(core, read, edge.after),
            Why::Recovered { recovered } => core.name(problem.recovered[recovered].who_shows(problem.facts)),
            Why::MustBeOlder { read, other } => {
                self.follow_source(core, read, edge.after);
                self.must_see(core, read, other, edge.after);
            }
            Why::NotSeen { read, other } => {
                self.follow_source(core, read, edge.after);
                for writer in self.known.left_before(read, edge.after) {
                    self.newer(core, other, writer, edge.after);
                }
            }
            Why::BeforeWriters { read } => {
                self.follow_source(core, read, edge.after);
                for writer in self.known.left_before(read, edge.after) {
                    self.path(core, (edge.from, events.commit(writer)), edge.after, |_| true);
                }
            }
            Why::FirstCommitter { earlier, later } => {
                self.path(core, (events.start(earlier), events.commit(later)), edge.after, |_| true);
            }
        }
    }

    /// Why a read has the source that it has, as far as known before.
    fn source(&self, core: &mut CoreExtraction, read: usize, before: Before) {
        let events = self.known.rule.events;
        let reader = self.known.problem.reads[read].reader;
        core.name(self.known.problem.candidates(read).iter().copied());
        for removal in self.known.removals_of(read).filter(|it| it.after <= before) {
            match removal.why {
                WhyNot::After => {
                    self.path(core, (events.start(reader), events.commit(removal.candidate)), removal.after, |_| true);
                }
                WhyNot::HiddenBy(other) => {
                    self.must_see(core, read, other, removal.after);
                    self.newer(core, other, removal.candidate, removal.after);
                }
            }
        }
    }

    /// Why one version is newer than another.
    fn newer(&self, core: &mut CoreExtraction, other: TxnId, source: TxnId, before: Before) {
        let events = self.known.rule.events;
        core.name([other, source]);
        if !source.is_initial() {
            self.path(core, (events.overwrite(source), events.commit(other)), before, |_| true);
        }
    }

    /// Why the reader of a read must see another writer.
    fn must_see(&self, core: &mut CoreExtraction, read: usize, other: TxnId, before: Before) {
        let (problem, rule) = (self.known.problem, self.known.rule);
        let reader = problem.reads[read].reader;
        core.name([other]);
        let edge = rule.events.visibility(other, reader);
        match rule.visibility {
            Visibility::Everything | Visibility::CausalAndConflicting => self.path(core, edge, before, |_| true),
            Visibility::Causal => {
                self.path(core, edge, before, |it| matches!(it.why, Why::Session | Why::ReadFrom { .. }));
            }
            _ => {
                let used = premise(problem, rule.visibility, &self.known.sources, read, other);
                let is_direct = !used.is_empty() || problem.is_session_ordered(other, reader);
                for used in used {
                    self.follow_source(core, used, before);
                }
                if rule.visibility == Visibility::DirectAndConflicting && !is_direct {
                    self.path(core, edge, before, |_| true);
                }
            }
        }
    }

    fn path(
        &self,
        core: &mut CoreExtraction,
        (from, to): (Node, Node),
        before: Before,
        admits: impl Fn(&KnownEdge) -> bool,
    ) {
        core.name([from, to].into_iter().filter_map(|it| self.txn(it)));
        if from != to
            && let Some(path) = self.known.graph.path(from, to, before, admits)
        {
            self.follow_edges(core, &path);
        }
    }
}
