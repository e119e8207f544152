//! Search: take an order, see what it violates, forbid just that, and repair the order until nothing is violated.
//!
//! The order is the model. A clause is made only for what the current order violates, and says how any order can avoid
//! it: for a read of x by S that finds L's version, which nobody with the right value has overwritten, S comes before
//! L, or one of the possible writers comes between L and S. The order solver then changes the order, and the replay
//! starts again. Cost: rounds times the replay; the solver sees only what was violated at least once.

mod causal;
mod local;
mod replay;
mod snapshots;

use crate::known::Known;
use crate::rule::{Events, Node, Visibility};
use iso_evidence::{Budget, Note, Quantity, StopReason};
use iso_history::TxnId;
use iso_solve::{Lit, OrderResult, OrderSolver, OrderStatistics};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// How a search ended.
#[derive(Debug)]
pub(crate) enum Found {
    /// An order that nothing violates.
    Order(Solution),
    /// There is none; these transactions took part in the conflicts.
    Nothing(BTreeSet<TxnId>),
}

/// An order of the nodes, with who takes part and who read from whom.
#[derive(Debug)]
pub(crate) struct Solution {
    pub(crate) order: Vec<Node>,
    position: Vec<u32>,
    pub(crate) takes_part: Vec<bool>,
    pub(crate) sources: Vec<Option<TxnId>>,
}

/// Looks for an order of what is known that nothing violates, starting from `order`.
///
/// With several possible writers of reads, a first try lets only the nearest of them come into question: what it finds
/// is right, and what it does not find is looked for again among all.
pub(crate) fn search(known: &Known<'_>, order: Vec<Node>, budget: &Budget<'_>) -> Result<Found, StopReason> {
    const NEAREST: usize = 4;
    let is_ambiguous =
        known.rule.visibility == Visibility::Everything && known.remaining.iter().any(|it| it.len() > NEAREST);
    let order = if is_ambiguous && known.rule.events != Events::One {
        snapshots::fit_commits(known, &order, budget)?
    } else {
        order
    };
    if is_ambiguous && let Found::Order(solution) = OrderSearch::new(known, order.clone(), NEAREST).run(budget)? {
        return Ok(Found::Order(solution));
    }
    OrderSearch::new(known, order, usize::MAX).run(budget)
}

/// Tells what a call of the solver took.
pub(crate) fn note_work(budget: &Budget<'_>, before: OrderStatistics, after: OrderStatistics) {
    budget.note(Note::Counted(Quantity::Variables, after.sat.n_variables - before.sat.n_variables));
    budget.note(Note::Counted(Quantity::Conflicts, after.n_cycles - before.n_cycles));
}

struct OrderSearch<'k> {
    known: &'k Known<'k>,
    solver: OrderSolver,
    /// How many possible writers of a read come into question.
    nearest: usize,
    /// For each read whose source is a choice of its own: one literal per remaining writer.
    choices: FxHashMap<usize, Vec<(TxnId, Lit)>>,
    takes_part: FxHashMap<TxnId, Lit>,
    learned: bool,
    involved: BTreeSet<TxnId>,
}

/// Moving a write changes what others read, moving a snapshot does not.
const WRITE_WEIGHT: u32 = 16;

impl<'k> OrderSearch<'k> {
    fn run(mut self, budget: &Budget<'_>) -> Result<Found, StopReason> {
        let search = &mut self;
        loop {
            budget.check()?;
            let before = search.solver.statistics();
            search.fit_snapshots();
            let solution = search.solution();
            let solution = search.forbid_violations(solution);
            if !search.learned {
                return Ok(Found::Order(solution));
            }
            search.learned = false;
            let mut stopped = None;
            let result = search.solver.solve(&mut || {
                stopped = budget.check().err();
                stopped.is_some()
            });
            note_work(budget, before, search.solver.statistics());
            match result {
                OrderResult::Acyclic => {}
                OrderResult::Cyclic { touched } => return Ok(Found::Nothing(search.involved(&touched))),
                OrderResult::Stopped => return Err(stopped.unwrap_or(StopReason::Steps)),
            }
        }
    }

    fn new(known: &'k Known<'k>, order: Vec<Node>, nearest: usize) -> Self {
        let mut solver = OrderSolver::with_order(order);
        if known.rule.events != Events::One {
            for txn in known.problem.txns() {
                let n_writes = known.problem.writes_of(txn).len() as u32;
                solver.set_weight(known.rule.events.commit(txn), 1 + WRITE_WEIGHT * n_writes);
            }
        }
        for edge in &known.graph.edges {
            solver.add_known_edge(edge.from, edge.to).expect("the known graph is acyclic after saturation");
        }
        Self {
            known,
            solver,
            nearest,
            choices: FxHashMap::default(),
            takes_part: FxHashMap::default(),
            learned: false,
            involved: BTreeSet::new(),
        }
    }

    /// Moves snapshots to where their reads fit, which asks for no search.
    fn fit_snapshots(&mut self) {
        if self.known.rule.events != Events::One {
            let fitted = snapshots::fit_snapshots(self.known, &self.solver.order(), &self.who_takes_part());
            // Where edges forbid it, the search goes on from the order as it was.
            let _is_taken = self.solver.try_order(fitted);
        }
    }

    fn who_takes_part(&self) -> Vec<bool> {
        let problem = self.known.problem;
        let joins = |it: TxnId| self.takes_part.get(&it).is_some_and(|lit| self.solver.value(*lit));
        (0..problem.n_txns()).map(TxnId::from_index).map(|it| problem.counts(it) || joins(it)).collect()
    }

    /// What the solver's order and choices mean. A source that is neither known nor chosen is the latest possible one.
    fn solution(&self) -> Solution {
        let problem = self.known.problem;
        let order = self.solver.order();
        let mut position = vec![0; order.len()];
        for (place, node) in order.iter().enumerate() {
            position[*node as usize] = place as u32;
        }
        let takes_part = self.who_takes_part();
        let mut solution = Solution { order, position, takes_part, sources: Vec::new() };
        solution.sources = (0..problem.reads.len())
            .map(|read| {
                let reader = problem.reads[read].reader;
                if solution.takes_part[reader.index()] { self.source(read, &solution) } else { None }
            })
            .collect();
        solution
    }

    fn source(&self, read: usize, solution: &Solution) -> Option<TxnId> {
        if let Some(source) = self.known.sources[read] {
            return Some(source);
        }
        if let Some(choices) = self.choices.get(&read) {
            return choices.iter().find(|it| self.solver.value(it.1)).map(|it| it.0);
        }
        let place = |txn: &TxnId| self.commit_place(solution, *txn);
        self.known.remaining[read].iter().copied().filter(|it| self.is_before(solution, *it, read)).max_by_key(place)
    }

    fn commit_place(&self, solution: &Solution, txn: TxnId) -> u32 {
        solution.position[self.known.rule.events.commit(txn) as usize]
    }

    /// Does a writer that takes part commit before the read?
    fn is_before(&self, solution: &Solution, writer: TxnId, read: usize) -> bool {
        let start = self.known.rule.events.start(self.known.problem.reads[read].reader);
        solution.takes_part[writer.index()] && self.commit_place(solution, writer) < solution.position[start as usize]
    }

    /// Who may have written what the read saw, as far as known.
    fn possible_writers(&self, read: usize) -> Vec<TxnId> {
        match self.known.sources[read] {
            Some(source) => vec![source],
            None => self.known.remaining[read].clone(),
        }
    }

    /// Makes clauses for what the solution violates, and returns it with the sources that were settled on.
    fn forbid_violations(&mut self, mut solution: Solution) -> Solution {
        match self.known.rule.visibility {
            Visibility::Nothing => {}
            Visibility::Everything => self.replay(&solution),
            Visibility::ReadEarlier | Visibility::Session | Visibility::Direct => self.settle_sources(&mut solution),
            Visibility::CausalAndConflicting => {
                self.choose_missing(&solution);
                self.forbid_hidden_causes(&solution);
            }
            _ => {
                self.choose_missing(&solution);
                self.forbid_unmet_inferred(&solution);
            }
        }
        solution
    }

    fn clause(&mut self, clause: &[Lit]) {
        self.learned = true;
        self.solver.add_clause(clause);
    }

    fn edge(&mut self, (from, to): (Node, Node)) -> Lit {
        self.solver.edge_lit(from, to)
    }

    /// `older`'s version is older than `newer`'s, which commits before `read`.
    fn between(&mut self, older: TxnId, newer: TxnId, read: usize) -> Lit {
        let events = self.known.rule.events;
        if self.known.sources[read] == Some(newer) {
            return self.edge(events.version_order(older, newer));
        }
        let start = events.start(self.known.problem.reads[read].reader);
        let path = if older.is_initial() {
            self.solver.edge_lit(events.commit(newer), start)
        } else {
            self.solver.path_lit(events.commit(older), events.commit(newer), start)
        };
        if !self.known.problem.is_optional(newer) {
            return path;
        }
        let both = self.solver.new_lit();
        let part = self.part_lit(newer);
        self.clause(&[!both, path]);
        self.clause(&[!both, part]);
        both
    }

    /// Whether an indeterminate transaction takes part.
    fn part_lit(&mut self, txn: TxnId) -> Lit {
        if let Some(lit) = self.takes_part.get(&txn) {
            return *lit;
        }
        let lit = self.solver.new_lit();
        self.takes_part.insert(txn, lit);
        self.involved.insert(txn);
        let events = self.known.rule.events;
        if let Some(ended) = self.known.ended_before(txn) {
            let edge = self.edge((ended, events.start(txn)));
            self.clause(&[!lit, edge]);
        }
        for recovered in &self.known.problem.recovered {
            if recovered.earlier == txn || recovered.later == txn {
                let edge = self.edge(events.version_order(recovered.earlier, recovered.later));
                let mut clause = vec![!lit, edge];
                let other = if recovered.earlier == txn { recovered.later } else { recovered.earlier };
                self.unless_part(other, &mut clause);
                self.clause(&clause);
            }
        }
        lit
    }

    /// Pushes "this transaction does not take part", where that is a choice.
    fn unless_part(&mut self, txn: TxnId, clause: &mut Vec<Lit>) {
        self.involved.insert(txn);
        if self.known.problem.is_optional(txn) {
            clause.push(!self.part_lit(txn));
        }
    }

    fn involve_read(&mut self, read: usize) {
        self.involved.insert(self.known.problem.reads[read].reader);
        self.involved.extend(self.known.problem.candidates(read));
    }

    /// Everybody whose operations the refutation may rest on.
    fn involved(&mut self, touched: &[Node]) -> BTreeSet<TxnId> {
        let events = self.known.rule.events;
        let n_events = events.n_nodes(self.known.problem.n_txns()) as Node;
        let on_cycles = touched.iter().filter(|it| **it < n_events).map(|it| events.txn(*it));
        self.involved.extend(on_cycles);
        std::mem::take(&mut self.involved)
    }
}
