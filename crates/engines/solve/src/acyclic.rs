//! The order solver: choose edges so that all clauses hold and the graph stays acyclic.
//!
//! A SAT solver chooses, the theory of acyclicity (`theory.rs`) objects and guides. Everything is kept between
//! calls: clauses learned, the order found, and the position of each node in it, so that a caller can solve, look
//! at the order, add what it violates, and solve again.

mod clauses;
mod theory;

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::Solver;
use crate::order::{Edge, IncrementalOrder};
use crate::sat::{Lit, SatResult, SatSolver, SatStatistics};
use crate::theory::Theory;
use theory::{AcyclicTheory, KnownCycle, Meaning};

/// The answer to one call of [`OrderSolver::solve`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrderResult {
    /// All clauses hold and the graph is acyclic: read [`OrderSolver::value`] and [`OrderSolver::order`].
    Acyclic,
    /// Every choice of edges violates a clause or closes a cycle. This is final.
    Cyclic {
        /// The nodes on the cycles met in the life of the solver, sorted. Empty if the clauses alone are at odds.
        touched: Vec<u32>,
    },
    /// The stop callback ended the search before an answer.
    Stopped,
}

/// How the next literal is chosen in search.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DecisionPolicy {
    /// Begin with [`DecisionPolicy::Repair`], and take turns with [`DecisionPolicy::Activity`] of growing length.
    #[default]
    Alternate,
    /// Take a clause that the current order violates, and of its literals the one that changes the order least.
    /// Best when the order nearly satisfies the clauses: it finds models.
    Repair,
    /// Leave the choice to the activity scores of the SAT solver.
    /// Best for many clauses over few nodes: it finds refutations.
    Activity,
}

/// Work done by an [`OrderSolver`] since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OrderStatistics {
    /// Work done by the SAT solver.
    pub sat: SatStatistics,
    /// Cycles met, each turned into a clause.
    pub n_cycles: u64,
    /// Calls of [`OrderSolver::solve`].
    pub n_solves: u64,
    /// Calls of [`OrderSolver::solve`] answered by the order as it was, without search.
    pub n_solves_without_search: u64,
}

/// An incremental solver for clauses over edges of a graph that must be acyclic.
pub struct OrderSolver {
    sat: Solver,
    /// Shared with the SAT solver, which borrows it in each of its callbacks. Never hold a borrow while calling `sat`.
    theory: Rc<RefCell<AcyclicTheory>>,
    edge_lits: FxHashMap<(u32, u32), Lit>,
    order_lits: FxHashMap<(u32, u32), Lit>,
    path_lits: FxHashMap<[u32; 3], Lit>,
    n_solves: u64,
    n_solves_without_search: u64,
}

impl OrderSolver {
    /// A graph of `n_nodes` nodes without edges, first ordered by number.
    pub fn new(n_nodes: u32) -> Self {
        Self::with_graph(IncrementalOrder::new(n_nodes))
    }

    /// A graph without edges, first ordered as in `order`, a permutation of `0..n`.
    ///
    /// The search repairs this order, so one that nearly fits makes it short.
    pub fn with_order(order: Vec<u32>) -> Self {
        Self::with_graph(IncrementalOrder::with_order(order))
    }

    /// A graph with known edges, none of them tagged, and its order.
    pub fn with_graph(order: IncrementalOrder) -> Self {
        let theory = Rc::new(RefCell::new(AcyclicTheory::new(order)));
        let sat = Solver::with_theory(Rc::clone(&theory));
        theory.borrow_mut().halt_with(sat.halt_flag());
        Self {
            sat,
            theory,
            edge_lits: FxHashMap::default(),
            order_lits: FxHashMap::default(),
            path_lits: FxHashMap::default(),
            n_solves: 0,
            n_solves_without_search: 0,
        }
    }

    /// Chooses how later searches decide.
    pub fn set_policy(&mut self, policy: DecisionPolicy) {
        self.theory.borrow_mut().set_policy(policy);
    }

    /// Says how bad it is to move a node in the order; 1 at first. The search prefers to move light nodes.
    pub fn set_weight(&mut self, node: u32, weight: u32) {
        self.theory.borrow_mut().set_weight(node, weight);
    }

    /// Starts the next search from another order of all nodes, if the edges that must be there agree with it.
    ///
    /// The last model's values stay as they are.
    pub fn try_order(&mut self, order: Vec<u32>) -> bool {
        self.theory.borrow_mut().try_order(order)
    }

    /// Keeps all cycles that searches meet from now on, for [`OrderSolver::take_cycles`].
    pub fn log_cycles(&mut self) {
        self.theory.borrow_mut().log_cycles();
    }

    /// The cycles kept so far: with the clauses that were added, they are all that an answer
    /// [`OrderResult::Cyclic`] rests on. Each edge starts where the one before ended.
    pub fn take_cycles(&mut self) -> Vec<Vec<Edge>> {
        self.theory.borrow_mut().take_cycles()
    }

    /// Makes a node, last in the current order, and returns its number.
    pub fn add_node(&mut self) -> u32 {
        self.theory.borrow_mut().add_node()
    }

    /// Adds an edge that holds whatever the literals say.
    ///
    /// If it closes a cycle of known edges, it is not added, and the cycle is returned, this edge first. If it closes
    /// a cycle with literals that are already forced, the next [`OrderSolver::solve`] says so.
    pub fn add_known_edge(&mut self, from: u32, to: u32) -> Result<(), Vec<(u32, u32)>> {
        let added = self.theory.borrow_mut().add_known_edge(from, to);
        match added {
            Ok(()) => Ok(()),
            Err(KnownCycle { edges, clause }) if clause.is_empty() => Err(edges),
            Err(KnownCycle { clause, .. }) => {
                self.add_clause(&clause);
                Ok(())
            }
        }
    }

    /// The literal of the edge: when true, the edge is in the graph; false says nothing.
    pub fn edge_lit(&mut self, from: u32, to: u32) -> Lit {
        if let Some(&lit) = self.edge_lits.get(&(from, to)) {
            return lit;
        }
        let lit = self.add_var(Meaning::Edge { ends: [from, to] });
        self.edge_lits.insert((from, to), lit);
        lit
    }

    /// The literal of a choice between two different nodes: true puts an edge from `first` to `second`, false one from
    /// `second` to `first`. Swapping the nodes negates the literal.
    pub fn order_lit(&mut self, first: u32, second: u32) -> Lit {
        assert_ne!(first, second, "a node is not before itself");
        let (from, to) = (first.min(second), first.max(second));
        let known = self.order_lits.get(&(from, to)).copied();
        let lit = known.unwrap_or_else(|| self.add_var(Meaning::Order { ends: [from, to] }));
        self.order_lits.insert((from, to), lit);
        if from == first { lit } else { !lit }
    }

    /// The literal of two edges: when true, `first` is before `second`, and that before `third`; false says nothing.
    pub fn path_lit(&mut self, first: u32, second: u32, third: u32) -> Lit {
        let nodes = [first, second, third];
        if let Some(&lit) = self.path_lits.get(&nodes) {
            return lit;
        }
        let lit = self.add_var(Meaning::Path { nodes });
        self.path_lits.insert(nodes, lit);
        lit
    }

    /// A literal that says nothing about the graph.
    pub fn new_lit(&mut self) -> Lit {
        self.add_var(Meaning::Plain)
    }

    /// Adds the disjunction of `clause` for good.
    pub fn add_clause(&mut self, clause: &[Lit]) {
        self.theory.borrow_mut().add_clause(clause);
        self.sat.add_clause(clause);
    }

    /// Looks for values of the literals under which all clauses hold and the graph is acyclic.
    ///
    /// `stop` is asked now and then; once it returns true, the search ends and can be taken up by a later call.
    pub fn solve(&mut self, stop: &mut dyn FnMut() -> bool) -> OrderResult {
        self.n_solves += 1;
        let is_model = self.theory.borrow_mut().try_order_as_model();
        if is_model {
            self.n_solves_without_search += 1;
            return OrderResult::Acyclic;
        }
        self.prefer_agreeing_literals();
        let result = self.sat.solve(&[], stop);
        let mut theory = self.theory.borrow_mut();
        // The SAT solver itself backtracks when it is next used, which then changes nothing for the theory.
        theory.backtrack(0);
        match result {
            _ if theory.has_model() => OrderResult::Acyclic,
            SatResult::Satisfiable => unreachable!("the theory accepts every model before it is reported"),
            SatResult::Unsatisfiable => OrderResult::Cyclic { touched: theory.touched() },
            SatResult::Stopped => OrderResult::Stopped,
        }
    }

    /// The value of `lit` after the last answer [`OrderResult::Acyclic`]. Variables made since then are false.
    pub fn value(&self, lit: Lit) -> bool {
        self.theory.borrow().model_value(lit)
    }

    /// All nodes in the current order. Right after [`OrderResult::Acyclic`] it agrees with the known edges and with the
    /// edges of the literals that are true.
    pub fn order(&self) -> Vec<u32> {
        self.theory.borrow().order().order().to_vec()
    }

    /// The place of `node` in [`OrderSolver::order`].
    pub fn position(&self, node: u32) -> u32 {
        self.theory.borrow().order().position(node)
    }

    /// The graph with its known edges, and with those of literals that are forced.
    pub fn into_graph(self) -> IncrementalOrder {
        self.theory.borrow().order().clone()
    }

    /// The number of nodes.
    pub fn n_nodes(&self) -> u32 {
        self.theory.borrow().order().n_nodes()
    }

    /// Work done so far.
    pub fn statistics(&self) -> OrderStatistics {
        OrderStatistics {
            sat: self.sat.statistics(),
            n_cycles: self.theory.borrow().n_cycles(),
            n_solves: self.n_solves,
            n_solves_without_search: self.n_solves_without_search,
        }
    }

    fn add_var(&mut self, meaning: Meaning) -> Lit {
        let var = self.sat.new_var();
        self.theory.borrow_mut().add_var(meaning);
        self.sat.observe(var);
        var.positive()
    }

    /// Tells the SAT solver which values agree with the order, where they changed since it was last told.
    fn prefer_agreeing_literals(&mut self) {
        let changed = self.theory.borrow_mut().changed_guesses();
        for lit in changed {
            self.sat.prefer(lit);
        }
    }
}

impl fmt::Debug for OrderSolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OrderSolver")
            .field("n_nodes", &self.n_nodes())
            .field("statistics", &self.statistics())
            .finish_non_exhaustive()
    }
}
