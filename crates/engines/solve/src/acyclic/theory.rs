//! The theory of acyclicity: edges that literals bring into a graph must not close a cycle.
//!
//! True literals add their edges to an [`IncrementalOrder`]; a cycle becomes the clause that one of its literals is
//! false. The order is also the guide of the search: it gives every undecided literal a value, the one that agrees
//! with it. Only a clause that these values leave open needs a decision, and when none is left open, the order is
//! itself a model, and the search ends without assigning the rest.
//!
//! Source: the decision rule is ours; acyclicity by incremental order as in Gebser, Janhunen & Rintanen 2014, "SAT
//! Modulo Graphs: Acyclicity". Cost: that of the order, plus the literals at nodes that moved since the last decision.

use std::cell::Cell;
use std::rc::Rc;

use super::DecisionPolicy;
use super::clauses::Clauses;
use crate::order::{Edge, IncrementalOrder, Mark, UNTAGGED};
use crate::sat::{Lit, Var};
use crate::theory::Theory;

/// What the values of a variable mean for the graph.
#[derive(Debug, Clone, Copy)]
pub(super) enum Meaning {
    /// Nothing.
    Plain,
    /// True brings the edge into the graph.
    Edge { ends: [u32; 2] },
    /// True brings the edge into the graph, false brings the reverse edge.
    Order { ends: [u32; 2] },
    /// True brings both edges into the graph, from the first node to the second and from there to the third.
    Path { nodes: [u32; 3] },
}

impl Meaning {
    fn nodes(&self) -> &[u32] {
        match self {
            Self::Plain => &[],
            Self::Edge { ends } | Self::Order { ends } => ends,
            Self::Path { nodes } => nodes,
        }
    }
}

/// The state of the theory during and between searches.
#[derive(Debug)]
pub(super) struct AcyclicTheory {
    order: IncrementalOrder,
    policy: DecisionPolicy,
    turns: Turns,
    clauses: Clauses,
    meanings: Vec<Meaning>,
    values: Vec<Option<bool>>,
    /// The last value of each variable; guides undecided plain variables.
    last_values: Vec<bool>,
    /// The guesses that the SAT solver was last told.
    told_guesses: Vec<Option<bool>>,
    trail: Vec<Lit>,
    /// The length of the trail at the start of each level above the root.
    levels: Vec<usize>,
    /// For each literal of the trail whose edge is in the graph, the edges before it. Literals after a cycle wait
    /// here until the search has backtracked over it.
    applied: Vec<Mark>,
    incidence: Incidence,
    /// Nodes that moved since the clauses were last brought up to date.
    stale: NodeSet,
    touched: NodeSet,
    n_cycles: u64,
    /// Every cycle met, if somebody wants to know.
    log: Option<Vec<Vec<Edge>>>,
    model: Vec<bool>,
    has_model: bool,
    halt: Rc<Cell<bool>>,
}

impl AcyclicTheory {
    pub(super) fn new(order: IncrementalOrder) -> Self {
        let n_nodes = order.n_nodes() as usize;
        Self {
            order,
            policy: DecisionPolicy::default(),
            turns: Turns::default(),
            clauses: Clauses::default(),
            meanings: Vec::new(),
            values: Vec::new(),
            last_values: Vec::new(),
            told_guesses: Vec::new(),
            trail: Vec::new(),
            levels: Vec::new(),
            applied: Vec::new(),
            incidence: Incidence { first: vec![NONE; n_nodes], entries: Vec::new() },
            stale: NodeSet::new(n_nodes),
            touched: NodeSet::new(n_nodes),
            n_cycles: 0,
            log: None,
            model: Vec::new(),
            has_model: false,
            halt: Rc::default(),
        }
    }

    /// Sets the flag by which this theory ends a search.
    pub(super) fn halt_with(&mut self, halt: Rc<Cell<bool>>) {
        self.halt = halt;
    }

    pub(super) fn set_policy(&mut self, policy: DecisionPolicy) {
        self.policy = policy;
    }

    pub(super) fn set_weight(&mut self, node: u32, weight: u32) {
        self.order.set_weight(node, weight);
    }

    /// Takes over another order, unless an edge goes against it. Must be called on the root level.
    pub(super) fn try_order(&mut self, order: Vec<u32>) -> bool {
        assert!(self.levels.is_empty(), "an order is taken over between searches");
        let is_taken = self.order.try_order(order);
        if is_taken {
            for node in 0..self.order.n_nodes() {
                self.stale.insert(node);
            }
        }
        is_taken
    }

    pub(super) fn add_node(&mut self) -> u32 {
        self.incidence.first.push(NONE);
        self.stale.add_node();
        self.touched.add_node();
        self.order.add_node()
    }

    /// Registers the next variable of the solver.
    pub(super) fn add_var(&mut self, meaning: Meaning) {
        let var_idx = self.meanings.len() as u32;
        for node in meaning.nodes() {
            self.incidence.add(*node, var_idx);
        }
        self.meanings.push(meaning);
        self.values.push(None);
        self.last_values.push(false);
        self.told_guesses.push(None);
        self.clauses.add_var();
    }

    pub(super) fn add_clause(&mut self, clause: &[Lit]) {
        self.clauses.add(clause);
    }

    /// Adds an edge that holds whatever the literals say. Must be called on the root level.
    ///
    /// A cycle with it is returned as edges, and as the clause of its literals, empty if the cycle needs none.
    pub(super) fn add_known_edge(&mut self, from: u32, to: u32) -> Result<(), KnownCycle> {
        assert!(self.levels.is_empty(), "known edges are added between searches");
        match self.order.add_edge(from, to, UNTAGGED) {
            Ok(_) => {
                self.note_moved();
                Ok(())
            }
            Err(path) => {
                let mut cycle = vec![Edge { from, to, tag: UNTAGGED }];
                cycle.extend(path.iter().map(|id| self.order.edge(*id)));
                let mut clause = Vec::new();
                self.explain(&cycle, &mut clause);
                Err(KnownCycle { edges: cycle.iter().map(|it| (it.from, it.to)).collect(), clause })
            }
        }
    }

    /// Whether the current order, without further search, satisfies all clauses. If so, it becomes the model.
    pub(super) fn try_order_as_model(&mut self) -> bool {
        self.has_model = false;
        self.turns = Turns::default();
        if self.apply_trail().is_ok() && self.advice() == Advice::Finish {
            self.accept();
        }
        self.has_model
    }

    pub(super) fn has_model(&self) -> bool {
        self.has_model
    }

    pub(super) fn model_value(&self, lit: Lit) -> bool {
        self.model.get(lit.var().index()).copied().unwrap_or(false) != lit.is_negative()
    }

    pub(super) fn order(&self) -> &IncrementalOrder {
        &self.order
    }

    pub(super) fn touched(&self) -> Vec<u32> {
        let mut nodes = self.touched.nodes.clone();
        nodes.sort_unstable();
        nodes
    }

    /// Keeps all cycles met from now on.
    pub(super) fn log_cycles(&mut self) {
        self.log = Some(Vec::new());
    }

    /// The cycles kept so far.
    pub(super) fn take_cycles(&mut self) -> Vec<Vec<Edge>> {
        self.log.as_mut().map(std::mem::take).unwrap_or_default()
    }

    pub(super) fn n_cycles(&self) -> u64 {
        self.n_cycles
    }

    /// The literals with edges that agree with the order and did not when this was last called.
    pub(super) fn changed_guesses(&mut self) -> Vec<Lit> {
        let mut changed = Vec::new();
        for var_idx in 0..self.meanings.len() {
            let guess = self.guess(var_idx);
            let is_plain = matches!(self.meanings[var_idx], Meaning::Plain);
            if !is_plain && self.told_guesses[var_idx].replace(guess) != Some(guess) {
                changed.push(Var::new(var_idx).literal(guess));
            }
        }
        changed
    }

    /// The edges that `lit` brings into the graph when true.
    fn edges_of(&self, lit: Lit) -> [Option<(u32, u32)>; 2] {
        match (self.meanings[lit.var().index()], lit.is_negative()) {
            (Meaning::Edge { ends: [from, to] } | Meaning::Order { ends: [from, to] }, false) => {
                [Some((from, to)), None]
            }
            (Meaning::Order { ends: [from, to] }, true) => [Some((to, from)), None],
            (Meaning::Path { nodes: [first, second, third] }, false) => [Some((first, second)), Some((second, third))],
            (Meaning::Plain, _) | (Meaning::Edge { .. } | Meaning::Path { .. }, true) => [None, None],
        }
    }

    /// The value that the order suggests for a variable without one.
    fn guess(&self, var_idx: usize) -> bool {
        match self.meanings[var_idx] {
            Meaning::Plain => self.last_values[var_idx],
            meaning => {
                let is_forward = |pair: &[u32]| self.order.position(pair[0]) < self.order.position(pair[1]);
                meaning.nodes().windows(2).all(is_forward)
            }
        }
    }

    fn current_value(&self, var_idx: usize) -> bool {
        self.values[var_idx].unwrap_or_else(|| self.guess(var_idx))
    }

    /// Brings the edges of the trail into the graph, up to the first that would close a cycle.
    ///
    /// Then the cycle is returned, that edge first, and none of its literal's edges is in the graph.
    fn apply_trail(&mut self) -> Result<(), Vec<Edge>> {
        while let Some(&lit) = self.trail.get(self.applied.len()) {
            let mark = self.order.mark();
            for (from, to) in self.edges_of(lit).into_iter().flatten() {
                if let Err(path) = self.order.add_edge(from, to, lit.tag()) {
                    let mut cycle = vec![Edge { from, to, tag: lit.tag() }];
                    cycle.extend(path.iter().map(|id| self.order.edge(*id)));
                    self.order.undo_to(mark);
                    return Err(cycle);
                }
                self.note_moved();
            }
            self.applied.push(mark);
        }
        Ok(())
    }

    fn note_moved(&mut self) {
        for &node in self.order.moved() {
            self.stale.insert(node);
        }
    }

    /// Adds the negations of the literals on a cycle to `clause`, each once, and counts the cycle.
    fn explain(&mut self, cycle: &[Edge], clause: &mut Vec<Lit>) {
        self.n_cycles += 1;
        self.log.iter_mut().for_each(|log| log.push(cycle.to_vec()));
        for edge in cycle {
            self.touch(edge.from);
            self.touch(edge.to);
            let lit = (edge.tag != UNTAGGED).then(|| !Lit::from_tag(edge.tag));
            clause.extend(lit.filter(|it| !clause.contains(it)));
        }
    }

    fn touch(&mut self, node: u32) {
        self.touched.insert(node);
    }

    /// What the clauses that the current values leave open ask for.
    ///
    /// An open clause is false under the current values, so each of its undecided literals goes against the order; the
    /// one that asks for the least change is taken.
    fn advice(&mut self) -> Advice {
        self.refresh_clauses();
        let mut clauses = std::mem::take(&mut self.clauses);
        let is_true = |lit: Lit| self.current_value(lit.var().index()) != lit.is_negative();
        let advice = clauses.find_open(is_true).map_or(Advice::Finish, |clause| {
            let is_undecided = |lit: &Lit| self.values[lit.var().index()].is_none();
            let undecided = clause.iter().copied().filter(is_undecided);
            undecided.min_by_key(|&lit| self.detour(lit)).map_or(Advice::Wait, Advice::Decide)
        });
        self.clauses = clauses;
        advice
    }

    /// Releases the clauses that hang on literals which no longer agree with the order.
    fn refresh_clauses(&mut self) {
        while let Some(node) = self.stale.pop() {
            let mut entry_idx = self.incidence.first[node as usize];
            while entry_idx != NONE {
                let (var_idx, next) = self.incidence.entries[entry_idx as usize];
                let var_idx = var_idx as usize;
                if self.values[var_idx].is_none() {
                    let disagreeing = Var::new(var_idx).literal(!self.guess(var_idx));
                    self.clauses.release(disagreeing);
                }
                entry_idx = next;
            }
        }
    }

    /// How far apart in the order the ends of the edges of `lit` are that go against it; nothing without such an edge.
    ///
    /// Short detours move few nodes, and so leave most clauses that hold as they are. Choosing what last held, as
    /// solvers do with their phases, is many times slower.
    fn detour(&self, lit: Lit) -> u32 {
        let detour = |(from, to): (u32, u32)| {
            let distance = self.order.position(from).saturating_sub(self.order.position(to));
            distance.saturating_mul(self.order.weight(from).min(self.order.weight(to)))
        };
        self.edges_of(lit).into_iter().flatten().map(detour).fold(0, u32::saturating_add)
    }
}

impl Theory for AcyclicTheory {
    fn assign(&mut self, lit: Lit) {
        let var_idx = lit.var().index();
        if self.values[var_idx].is_some() {
            return;
        }
        self.values[var_idx] = Some(!lit.is_negative());
        self.trail.push(lit);
        self.clauses.release(!lit);
    }

    fn open_level(&mut self) {
        self.levels.push(self.trail.len());
    }

    /// Does nothing if the theory is already at `level` or below it.
    fn backtrack(&mut self, level: usize) {
        let Some(&n_kept) = self.levels.get(level) else { return };
        self.turns.count_backtrack();
        self.levels.truncate(level);
        if let Some(&mark) = self.applied.get(n_kept) {
            self.order.undo_to(mark);
            self.applied.truncate(n_kept);
        }
        for lit in self.trail.split_off(n_kept) {
            let var_idx = lit.var().index();
            self.values[var_idx] = None;
            self.last_values[var_idx] = !lit.is_negative();
            if self.guess(var_idx) == lit.is_negative() {
                self.clauses.release(lit);
            }
        }
    }

    fn conflict(&mut self, clause: &mut Vec<Lit>) -> bool {
        let Err(cycle) = self.apply_trail() else { return false };
        clause.clear();
        self.explain(&cycle, clause);
        true
    }

    fn decide(&mut self) -> Option<Lit> {
        if self.apply_trail().is_err() {
            return None;
        }
        match self.advice() {
            Advice::Decide(lit) if self.turns.is_repair(self.policy) => Some(lit),
            Advice::Decide(_) | Advice::Wait => None,
            Advice::Finish => {
                self.accept();
                self.halt.set(true);
                None
            }
        }
    }

    fn accept(&mut self) {
        self.has_model = true;
        self.model = (0..self.values.len()).map(|idx| self.current_value(idx)).collect();
    }
}

/// What to do next in search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Advice {
    /// Make this literal true, for the sake of a clause that is open.
    Decide(Lit),
    /// A clause has only false literals, and the SAT solver will see it.
    Wait,
    /// No clause is open: the current values are a model.
    Finish,
}

/// Whose turn it is to decide under [`DecisionPolicy::Alternate`], measured in backtracks of this search.
#[derive(Debug)]
struct Turns {
    is_activity: bool,
    n_left: u64,
    length: u64,
}

impl Turns {
    fn is_repair(&self, policy: DecisionPolicy) -> bool {
        match policy {
            DecisionPolicy::Repair => true,
            DecisionPolicy::Activity => false,
            DecisionPolicy::Alternate => !self.is_activity,
        }
    }

    fn count_backtrack(&mut self) {
        self.n_left -= 1;
        if self.n_left == 0 {
            self.is_activity = !self.is_activity;
            self.length *= 2;
            self.n_left = self.length;
        }
    }
}

impl Default for Turns {
    fn default() -> Self {
        Self { is_activity: false, n_left: 1_000, length: 1_000 }
    }
}

/// A cycle that a known edge would close.
#[derive(Debug)]
pub(super) struct KnownCycle {
    pub(super) edges: Vec<(u32, u32)>,
    pub(super) clause: Vec<Lit>,
}

const NONE: u32 = u32::MAX;

/// For each node, the variables whose edges begin or end there, as linked lists in one table.
#[derive(Debug)]
struct Incidence {
    first: Vec<u32>,
    entries: Vec<(u32, u32)>,
}

impl Incidence {
    fn add(&mut self, node: u32, var_idx: u32) {
        let entry_idx = self.entries.len() as u32;
        let next = std::mem::replace(&mut self.first[node as usize], entry_idx);
        self.entries.push((var_idx, next));
    }
}

/// A set of nodes that remembers the order of insertion.
#[derive(Debug)]
struct NodeSet {
    nodes: Vec<u32>,
    is_member: Vec<bool>,
}

impl NodeSet {
    fn new(n_nodes: usize) -> Self {
        Self { nodes: Vec::new(), is_member: vec![false; n_nodes] }
    }

    fn add_node(&mut self) {
        self.is_member.push(false);
    }

    fn insert(&mut self, node: u32) {
        if !std::mem::replace(&mut self.is_member[node as usize], true) {
            self.nodes.push(node);
        }
    }

    fn pop(&mut self) -> Option<u32> {
        let node = self.nodes.pop()?;
        self.is_member[node as usize] = false;
        Some(node)
    }
}
