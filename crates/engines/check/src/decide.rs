//! Decides one level: saturation, then search; an order that explains the history, or a core.

use crate::allowed_by_stronger;
use crate::counted::with_readers;
use crate::graph::{KnownEdge, Why};
use crate::known::{Known, Removal, Saturation, WhyNot};
use crate::order::decide_by_order;
use crate::problem::Problem;
use crate::rule::{Events, Node, Rule, Visibility};
use crate::search::{Found, Solution, search};
use crate::settled::decide_settled;
use crate::weak::premise;
use iso_evidence::{Budget, Event, Note, Quantity, Schedule, Source, Stage, StopReason, Witness};
use iso_history::{Facts, TxnId};
use iso_spec::Level;
use std::collections::BTreeSet;

/// What an engine found out, before it is explained.
#[derive(Debug)]
pub(crate) enum Decision {
    /// Allowed, and this is how it may have happened.
    Allowed(Witness),
    /// Forbidden; the part with these transactions (ascending) probably shows it by itself.
    Forbidden(Vec<TxnId>),
}

/// Decides a level for a history whose reads all have possible writers.
pub(crate) fn decide(facts: &Facts<'_>, level: Level, budget: &Budget<'_>) -> Result<Decision, StopReason> {
    Ok(match decide_quickly(facts, level, budget)? {
        Decision::Forbidden(core) => Decision::Forbidden(with_readers(facts, core)),
        allowed @ Decision::Allowed(_) => allowed,
    })
}

/// By the first engine that has an answer.
fn decide_quickly(facts: &Facts<'_>, level: Level, budget: &Budget<'_>) -> Result<Decision, StopReason> {
    budget.note(Note::Begins(Stage::Inference));
    if let Some(decision) = decide_settled(facts, level, budget)? {
        return Ok(decision);
    }
    budget.note(Note::Begins(Stage::Order));
    if let Some(decision) = decide_by_order(facts, Rule::of(level), budget)? {
        return Ok(decision);
    }
    if let Some(witness) = allowed_by_stronger(facts, level, budget) {
        return Ok(Decision::Allowed(witness));
    }
    decide_by_search(facts, level, budget)
}

/// As [`decide`], by saturation and search whatever the history.
pub(crate) fn decide_by_search(facts: &Facts<'_>, level: Level, budget: &Budget<'_>) -> Result<Decision, StopReason> {
    let rule = Rule::of(level);
    let problem = Problem::new(facts, rule.read_detail());
    budget.note(Note::Begins(Stage::Saturation));
    let mut known = Known::new(&problem, rule);
    let saturated = known.saturate(budget);
    budget.note(Note::Counted(Quantity::KnownEdges, known.graph.edges.len() as u64));
    budget.note(Note::Begins(Stage::Search));
    match saturated? {
        Saturation::Cycle(cycle) => {
            let mut extraction = CoreExtraction::new(&known);
            extraction.edges(&cycle);
            Ok(Decision::Forbidden(extraction.txns()))
        }
        Saturation::NoWriter(read) => {
            let mut extraction = CoreExtraction::new(&known);
            extraction.source(read, u32::MAX);
            Ok(Decision::Forbidden(extraction.txns()))
        }
        Saturation::Stable(order) => match search(&known, order, budget)? {
            Found::Order(solution) => Ok(Decision::Allowed(witness(&known, &solution))),
            Found::Nothing(involved) => {
                let mut extraction = CoreExtraction::new(&known);
                extraction.everything_between(&involved);
                Ok(Decision::Forbidden(extraction.txns()))
            }
        },
    }
}

fn witness(known: &Known<'_>, solution: &Solution) -> Witness {
    let problem = known.problem;
    let events = known.rule.events;
    let n_events = events.n_nodes(problem.n_txns()) as Node;
    let counts = |node: &&Node| {
        **node < n_events && !events.txn(**node).is_initial() && solution.takes_part[events.txn(**node).index()]
    };
    let nodes = solution.order.iter().filter(counts).copied();
    let txn = |node: Node| events.txn(node);
    let schedule = if events == Events::One {
        Schedule::Order(nodes.map(txn).collect())
    } else {
        let event = |it: Node| {
            if it == events.start(txn(it)) { Event::Snapshot(txn(it)) } else { Event::Commit(txn(it)) }
        };
        Schedule::Events(nodes.map(event).collect())
    };
    let reads = problem.facts.reads().iter().zip(&problem.read_of_fact);
    let sources = reads
        .filter_map(|(fact, read)| {
            let writer = solution.sources[*read as usize]?;
            Some(Source { read: fact.op, writer })
        })
        .collect();
    Witness { schedule, sources }
}

/// Collects the transactions that a conclusion rests on, by following each edge back to what it was derived from.
pub(crate) struct CoreExtraction<'k> {
    known: &'k Known<'k>,
    core: BTreeSet<TxnId>,
    seen_edges: BTreeSet<u32>,
    seen_reads: BTreeSet<usize>,
    pending: Vec<u32>,
}

impl<'k> CoreExtraction<'k> {
    pub(crate) fn new(known: &'k Known<'k>) -> Self {
        Self {
            known,
            core: BTreeSet::new(),
            seen_edges: BTreeSet::new(),
            seen_reads: BTreeSet::new(),
            pending: Vec::new(),
        }
    }

    /// The transactions found so far.
    pub(crate) fn txns(mut self) -> Vec<TxnId> {
        self.edges(&[]);
        self.core.into_iter().filter(|it| !it.is_initial()).collect()
    }

    /// Follows these edges back.
    pub(crate) fn edges(&mut self, edges: &[u32]) {
        self.pending.extend(edges);
        while let Some(edge_idx) = self.pending.pop() {
            if self.seen_edges.insert(edge_idx) {
                self.edge(self.known.graph.edges[edge_idx as usize]);
            }
        }
    }

    /// Follows back everything that was derived between transactions of a set.
    fn everything_between(&mut self, involved: &BTreeSet<TxnId>) {
        self.core.extend(involved);
        let events = self.known.rule.events;
        let n_events = events.n_nodes(self.known.problem.n_txns()) as Node;
        let is_inside = |node: Node| node < n_events && involved.contains(&events.txn(node));
        let inside: Vec<u32> = (0..self.known.graph.edges.len() as u32)
            .filter(|it| {
                let edge = self.known.graph.edges[*it as usize];
                edge.why != Why::Session && is_inside(edge.from) && is_inside(edge.to)
            })
            .collect();
        self.edges(&inside);
        for read in 0..self.known.problem.reads.len() {
            if involved.contains(&self.known.problem.reads[read].reader) && !self.known.remaining[read].is_empty() {
                self.source(read, u32::MAX);
            }
        }
    }

    fn edge(&mut self, edge: KnownEdge) {
        let events = self.known.rule.events;
        let n_events = events.n_nodes(self.known.problem.n_txns()) as Node;
        for node in [edge.from, edge.to].into_iter().filter(|it| *it < n_events) {
            self.core.insert(events.txn(node));
        }
        match edge.why {
            Why::Session | Why::RealTime => {}
            Why::ReadFrom { read } => self.source(read, edge.after),
            Why::Recovered { recovered } => {
                let facts = self.known.problem.facts;
                let shown_by = self.known.problem.recovered[recovered].shown_by;
                if let Ok(fact) = facts.reads().binary_search_by_key(&shown_by, |it| it.op) {
                    self.source(self.known.problem.read_of_fact[fact] as usize, edge.after);
                }
            }
            Why::MustBeOlder { read, other } => {
                self.source(read, edge.after);
                self.must_see(read, other, edge.after);
            }
            Why::NotSeen { read, other } => {
                self.source(read, edge.after);
                let source = self.known.sources[read].unwrap_or(TxnId::INITIAL);
                self.newer(other, source, edge.after);
            }
            Why::FirstCommitter { earlier, later } => {
                self.path(events.start(earlier), events.commit(later), edge.after, |_| true);
            }
        }
    }

    /// Why a read has the source that it has, as far as known before `after`.
    pub(crate) fn source(&mut self, read: usize, after: u32) {
        if !self.seen_reads.insert(read) {
            return;
        }
        let problem = self.known.problem;
        self.core.insert(problem.reads[read].reader);
        self.core.extend(problem.candidates(read));
        let removals: Vec<Removal> =
            self.known.removals.iter().filter(|it| it.read == read && it.after <= after).copied().collect();
        for removal in removals {
            let events = self.known.rule.events;
            let reader = problem.reads[read].reader;
            match removal.why {
                WhyNot::After => {
                    self.path(events.start(reader), events.commit(removal.candidate), removal.after, |_| true);
                }
                WhyNot::HiddenBy(other) => {
                    self.must_see(read, other, removal.after);
                    self.newer(other, removal.candidate, removal.after);
                }
            }
        }
    }

    fn newer(&mut self, other: TxnId, source: TxnId, after: u32) {
        let events = self.known.rule.events;
        self.core.extend([other, source]);
        if !source.is_initial() {
            self.path(events.overwrite(source), events.commit(other), after, |_| true);
        }
    }

    fn must_see(&mut self, read: usize, other: TxnId, after: u32) {
        let (problem, rule) = (self.known.problem, self.known.rule);
        let reader = problem.reads[read].reader;
        self.core.insert(other);
        let (from, to) = rule.events.visibility(other, reader);
        match rule.visibility {
            Visibility::Everything | Visibility::CausalAndConflicting => self.path(from, to, after, |_| true),
            Visibility::Causal => {
                self.path(from, to, after, |it| matches!(it.why, Why::Session | Why::ReadFrom { .. }))
            }
            _ => {
                let used = premise(problem, rule.visibility, &self.known.sources, read, other);
                let is_direct = !used.is_empty() || problem.is_session_ordered(other, reader);
                for used in used {
                    self.source(used, after);
                }
                if rule.visibility == Visibility::DirectAndConflicting && !is_direct {
                    self.path(from, to, after, |_| true);
                }
            }
        }
    }

    fn path(&mut self, from: Node, to: Node, after: u32, admits: impl Fn(&KnownEdge) -> bool) {
        let events = self.known.rule.events;
        let n_events = events.n_nodes(self.known.problem.n_txns()) as Node;
        self.core.extend([from, to].into_iter().filter(|it| *it < n_events).map(|it| events.txn(it)));
        if from != to
            && let Some(path) = self.known.graph.path(from, to, after, admits)
        {
            self.pending.extend(path);
        }
    }
}
