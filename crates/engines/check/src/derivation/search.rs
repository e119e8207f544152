//! Looks for clauses and cycles that are contradictory together: the search of a verdict once more, written down.
//!
//! As in `search.rs` of the verdict, the order is the model, and clauses are made only for what it violates. Each clause
//! is an axiom here, and each cycle that the order solver meets is kept.

mod replay;
mod weak;

use super::atoms::Atoms;
use super::clauses::{clause_of_axiom, clause_of_cycle};
use super::facts::{Fact, Reasons};
use super::hops::{Hop, Kind, Link, events_of, hops, turned};
use crate::known::Known;
use crate::rule::{Node, Visibility};
use iso_evidence::{Axiom, Budget, Follows, Inference, Literal};
use iso_history::TxnId;
use iso_solve::{Edge, Lit, OrderResult, OrderSolver, UNTAGGED};
use rustc_hash::{FxHashMap, FxHashSet};

/// Clauses without a model, and what they speak of.
pub(super) struct Clauses {
    pub(super) atoms: Atoms,
    pub(super) inputs: Vec<Input>,
}

/// A clause with why it holds.
pub(super) struct Input {
    pub(super) clause: Vec<Literal>,
    pub(super) origin: Origin,
}

/// Why a clause holds.
pub(super) enum Origin {
    /// It is an axiom, or a cycle.
    Inference(Inference),
    /// It is known for good.
    Fact(Fact),
}

/// Collects clauses that have no model; none if time runs out.
pub(super) fn refute<'k>(known: &'k Known<'k>, order: Vec<Node>, budget: &'k Budget<'k>) -> Option<Clauses> {
    let mut search = Search::new(known, order, budget);
    search.begin();
    for round in 0.. {
        budget.check().ok()?;
        let n_inputs = search.inputs.len();
        search.forbid_violations();
        if search.inputs.len() == n_inputs && round > 0 {
            break;
        }
        match search.solver.solve(&mut || budget.check().is_err()) {
            OrderResult::Acyclic => {}
            OrderResult::Cyclic { .. } => return Some(search.clauses()),
            OrderResult::Stopped => return None,
        }
    }
    None
}

struct Search<'k> {
    known: &'k Known<'k>,
    budget: &'k Budget<'k>,
    reasons: Reasons<'k>,
    solver: OrderSolver,
    atoms: Atoms,
    inputs: Vec<Input>,
    facts: FxHashSet<Fact>,
    edges: FxHashMap<(Node, Node), u32>,
    ordered: FxHashSet<(TxnId, TxnId)>,
    between: FxHashSet<[TxnId; 3]>,
    parts: FxHashMap<TxnId, Lit>,
    /// For each read whose source is open, a literal for each possible writer.
    choices: FxHashMap<usize, Vec<(TxnId, Lit)>>,
}

/// What the order and the literals of the solver say.
struct Model {
    order: Vec<Node>,
    position: Vec<u32>,
    takes_part: Vec<bool>,
}

impl<'k> Search<'k> {
    fn new(known: &'k Known<'k>, order: Vec<Node>, budget: &'k Budget<'k>) -> Self {
        let mut solver = OrderSolver::with_order(order);
        solver.log_cycles();
        let mut edges = FxHashMap::default();
        for (edge_idx, edge) in (0..).zip(&known.graph.edges) {
            let added = solver.add_known_edge(edge.from, edge.to);
            debug_assert!(added.is_ok(), "the known graph is acyclic after saturation");
            edges.entry((edge.from, edge.to)).or_insert(edge_idx);
        }
        Self {
            known,
            budget,
            reasons: Reasons::new(known),
            solver,
            atoms: Atoms::default(),
            inputs: Vec::new(),
            facts: FxHashSet::default(),
            edges,
            ordered: FxHashSet::default(),
            between: FxHashSet::default(),
            parts: FxHashMap::default(),
            choices: FxHashMap::default(),
        }
    }

    fn begin(&mut self) {
        for recovered in &self.known.problem.recovered {
            let (older, newer) = (recovered.earlier, recovered.later);
            if self.known.problem.is_optional(older) || self.known.problem.is_optional(newer) {
                let edge = self.edge(self.known.rule.events.version_order(older, newer));
                self.add(Axiom::VersionOrder { key: recovered.key, older, newer }, &[older, newer], vec![edge]);
            }
        }
    }

    fn forbid_violations(&mut self) {
        let model = self.model();
        match self.known.rule.visibility {
            Visibility::Nothing => {}
            Visibility::Everything => self.replay(&model),
            _ => self.forbid_hidden(&model),
        }
    }

    fn model(&self) -> Model {
        let order = self.solver.order();
        let mut position = vec![0; order.len()];
        for (place, node) in order.iter().enumerate() {
            position[*node as usize] = place as u32;
        }
        let joins = |it: TxnId| self.parts.get(&it).is_some_and(|lit| self.solver.value(*lit));
        let problem = self.known.problem;
        let txns = (0..problem.n_txns()).map(TxnId::from_index);
        Model { order, position, takes_part: txns.map(|it| problem.counts(it) || joins(it)).collect() }
    }

    /// Adds an axiom: what it says to the solver, if these transactions take part.
    fn add(&mut self, axiom: Axiom, if_present: &[TxnId], mut lits: Vec<Lit>) {
        for txn in if_present.iter().copied().filter(|it| self.known.problem.is_optional(*it)) {
            lits.push(!self.part(txn));
        }
        self.solver.add_clause(&lits);
        self.input(axiom);
    }

    fn input(&mut self, axiom: Axiom) {
        let clause = clause_of_axiom(self.known, &mut self.atoms, &axiom);
        self.inputs.push(Input { clause, origin: Origin::Inference(Inference::Axiom(axiom)) });
    }

    /// Adds something that the solver takes for known.
    fn fact(&mut self, fact: Fact) {
        if self.facts.insert(fact)
            && let Some(literal) = self.reasons.literal(fact, &mut self.atoms)
        {
            self.inputs.push(Input { clause: vec![literal], origin: Origin::Fact(fact) });
        }
    }

    fn edge(&mut self, (from, to): (Node, Node)) -> Lit {
        self.solver.edge_lit(from, to)
    }

    /// `newer` takes part, and commits after `older` and before `reader` reads.
    fn between(&mut self, older: TxnId, newer: TxnId, reader: TxnId) -> Lit {
        let events = self.known.rule.events;
        let lit = self.solver.path_lit(events.commit(older), events.commit(newer), events.start(reader));
        if self.between.insert([older, newer, reader]) {
            if !older.is_initial() {
                self.input(Axiom::Between { older, newer, reader, so: Follows::AfterOlder });
            }
            self.input(Axiom::Between { older, newer, reader, so: Follows::BeforeReader });
            if self.known.problem.is_optional(newer) {
                let part = self.part(newer);
                self.add(Axiom::Between { older, newer, reader, so: Follows::TakesPart }, &[], vec![!lit, part]);
            }
        }
        lit
    }

    /// Whether an indeterminate transaction takes part. If so, it starts after whoever had ended before.
    fn part(&mut self, txn: TxnId) -> Lit {
        if let Some(lit) = self.parts.get(&txn) {
            return *lit;
        }
        let lit = self.solver.new_lit();
        self.parts.insert(txn, lit);
        if let Some(ended) = self.known.ended_before(txn) {
            let edge = self.edge((ended, self.known.rule.events.start(txn)));
            self.solver.add_clause(&[!lit, edge]);
        }
        lit
    }

    /// All that the answer "there is no order" rests on.
    fn clauses(mut self) -> Clauses {
        for cycle in self.solver.take_cycles() {
            self.add_cycle(&cycle);
        }
        Clauses { atoms: self.atoms, inputs: self.inputs }
    }

    fn add_cycle(&mut self, cycle: &[Edge]) {
        let links = cycle.iter().map(|it| self.link(it)).collect();
        let hops = hops(self.known, &turned(links));
        for hop in &hops {
            match hop.why {
                Kind::Other(Some(edge_idx)) => self.fact(Fact::Edge(edge_idx)),
                Kind::Other(None) => {}
                Kind::Session | Kind::RealTime => self.add_order(hop),
            }
        }
        let events = super::assemble::round(events_of(&hops));
        let clause = clause_of_cycle(&mut self.atoms, &events);
        self.inputs.push(Input { clause, origin: Origin::Inference(Inference::Acyclic(events)) });
    }

    fn add_order(&mut self, hop: &Hop<Option<u32>>) {
        let ends = (super::hops::txn_of(hop.from), super::hops::txn_of(hop.to));
        if self.ordered.insert(ends)
            && let Some(axiom) = hop.axiom()
        {
            self.input(axiom);
        }
    }

    /// An edge of a cycle: known, along the time axis, or chosen.
    fn link(&self, edge: &Edge) -> Link<Option<u32>> {
        use crate::graph::Why;
        let n_events = self.known.rule.events.n_nodes(self.known.problem.n_txns()) as Node;
        let known = self.edges.get(&(edge.from, edge.to)).filter(|_| edge.tag == UNTAGGED).copied();
        let kind = match known.map(|it| self.known.graph.edges[it as usize].why) {
            _ if edge.from >= n_events || edge.to >= n_events => Kind::RealTime,
            Some(Why::Session) => Kind::Session,
            _ => Kind::Other(known),
        };
        Link { from: edge.from, to: edge.to, kind }
    }

    fn commit_place(&self, model: &Model, txn: TxnId) -> u32 {
        model.position[self.known.rule.events.commit(txn) as usize]
    }

    /// Who may have written what a read saw, as far as known, but its own transaction.
    fn possible_writers(&self, read: usize) -> Vec<TxnId> {
        let reader = self.known.problem.reads[read].reader;
        let writers = match self.known.sources[read] {
            Some(source) => vec![source],
            None => self.known.remaining[read].clone(),
        };
        writers.into_iter().filter(|it| *it != reader).collect()
    }
}
