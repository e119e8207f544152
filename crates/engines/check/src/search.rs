//! Search: take an order, see what it violates, forbid just that, and repair the order until nothing is violated.
//!
//! The order is the model. A clause is made only for a violation of the current order: a read S of x from T with
//! another writer L that it should have seen (L older than T, or not seen by S); two overlapping writers; a read with
//! several possible writers. The order solver then changes the order, and the replay starts again.
//! Cost: rounds times the replay; the solver sees only what was violated at least once.

use crate::known::Known;
use crate::problem::{INITIAL, Txn};
use crate::rule::{Moments, Node, Sees};
use crate::weak::{CausalPast, obligations, premise};
use iso_evidence::{Budget, StopReason};
use iso_history::KeyId;
use iso_solve::{Lit, OrderResult, OrderSolver};
use rustc_hash::FxHashMap;
use std::collections::{BTreeSet, VecDeque};

/// How a search ended.
#[derive(Debug)]
pub(crate) enum Found {
    /// An order that nothing violates.
    Order(Solution),
    /// There is none; these transactions took part in the conflicts.
    Nothing(BTreeSet<Txn>),
}

/// An order of the nodes, with who takes part and who read from whom.
#[derive(Debug)]
pub(crate) struct Solution {
    pub(crate) order: Vec<Node>,
    pub(crate) takes_part: Vec<bool>,
    pub(crate) sources: Vec<Option<Txn>>,
}

/// Looks for an order of what is known that nothing violates, starting from `order`.
pub(crate) fn search(known: &Known<'_>, order: Vec<Node>, budget: &Budget<'_>) -> Result<Found, StopReason> {
    let mut search = Search::new(known, order);
    loop {
        budget.check()?;
        let solution = search.solution();
        search.forbid_violations(&solution);
        if !search.learned {
            return Ok(Found::Order(solution));
        }
        search.learned = false;
        let mut stopped = None;
        let result = search.solver.solve(&mut || {
            stopped = budget.check().err();
            stopped.is_some()
        });
        match result {
            OrderResult::Acyclic => {}
            OrderResult::Cyclic { touched } => return Ok(Found::Nothing(search.involved(&touched))),
            OrderResult::Stopped => return Err(stopped.unwrap_or(StopReason::Steps)),
        }
    }
}

struct Search<'k> {
    known: &'k Known<'k>,
    solver: OrderSolver,
    /// For each read whose source is a choice: one literal per remaining writer.
    choices: FxHashMap<usize, Vec<(Txn, Lit)>>,
    takes_part: FxHashMap<Txn, Lit>,
    learned: bool,
    involved: BTreeSet<Txn>,
}

/// Clauses made for one read in one round, at most: more of them say little more.
const MAX_CLAUSES_PER_READ: usize = 16;

impl<'k> Search<'k> {
    fn new(known: &'k Known<'k>, order: Vec<Node>) -> Self {
        let mut solver = OrderSolver::with_order(order);
        for edge in &known.graph.edges {
            solver.add_known_edge(edge.from, edge.to).expect("the known graph is acyclic after saturation");
        }
        Self {
            known,
            solver,
            choices: FxHashMap::default(),
            takes_part: FxHashMap::default(),
            learned: false,
            involved: BTreeSet::new(),
        }
    }

    /// What the solver's order and choices mean.
    fn solution(&self) -> Solution {
        let problem = self.known.problem;
        let order = self.solver.order();
        let takes_part: Vec<bool> = (0..problem.n_txns() as Txn)
            .map(|it| {
                !problem.is_optional[it as usize] || self.takes_part.get(&it).is_some_and(|lit| self.solver.value(*lit))
            })
            .collect();
        let sources = (0..problem.reads.len())
            .map(|read| {
                let reader = problem.reads[read].reader;
                if takes_part[reader as usize] { self.source(read, &takes_part) } else { None }
            })
            .collect();
        Solution { order, takes_part, sources }
    }

    /// The known or chosen source, or else the latest possible one before the reader.
    fn source(&self, read: usize, takes_part: &[bool]) -> Option<Txn> {
        if let Some(source) = self.known.sources[read] {
            return Some(source);
        }
        if let Some(choices) = self.choices.get(&read) {
            let chosen = choices.iter().find(|it| self.solver.value(it.1));
            return chosen.map(|it| it.0);
        }
        let moments = self.known.rule.moments;
        let start = self.solver.position(moments.start(self.known.problem.reads[read].reader));
        self.known.remaining[read]
            .iter()
            .copied()
            .filter(|it| takes_part[*it as usize])
            .filter(|it| self.solver.position(moments.commit(*it)) < start)
            .max_by_key(|it| self.solver.position(moments.commit(*it)))
    }

    fn forbid_violations(&mut self, solution: &Solution) {
        let n_reads = self.known.problem.reads.len();
        for read in 0..n_reads {
            let reader = self.known.problem.reads[read].reader;
            if solution.takes_part[reader as usize] && solution.sources[read].is_none() {
                self.choose(read);
            }
        }
        match self.known.rule.sees {
            Sees::Everything => self.replay(solution),
            Sees::DirectAndConflicting => {
                self.forbid_unmet_obligations(solution, None);
                self.forbid_hidden_conflicts(solution);
            }
            Sees::Causal => {
                let past = self.causal_past(solution, None);
                self.forbid_unmet_obligations(solution, Some(&past));
            }
            Sees::CausalAndConflicting => {
                let versions = self.version_orders(solution);
                let past = self.causal_past(solution, Some(&versions));
                self.forbid_hidden_causes(solution, &versions, &past);
            }
            _ => self.forbid_unmet_obligations(solution, None),
        }
    }

    fn clause(&mut self, clause: &[Lit]) {
        self.learned = true;
        self.solver.add_clause(clause);
    }

    fn edge(&mut self, (from, to): (Node, Node)) -> Lit {
        self.solver.edge_lit(from, to)
    }

    /// Makes the source of a read a choice of the solver.
    fn choose(&mut self, read: usize) {
        if self.choices.contains_key(&read) {
            return;
        }
        let at = self.known.problem.reads[read];
        let writers = self.known.remaining[read].clone();
        let mut one_of: Vec<Lit> = Vec::new();
        if self.known.problem.is_optional[at.reader as usize] {
            one_of.push(!self.part_lit(at.reader));
        }
        let mut choices = Vec::new();
        for writer in writers {
            let lit = self.solver.new_lit();
            choices.push((writer, lit));
            one_of.push(lit);
            if writer != INITIAL {
                let edge = self.edge(self.known.rule.moments.sees(writer, at.reader));
                self.clause(&[!lit, edge]);
            }
        }
        self.clause(&one_of);
        self.choices.insert(read, choices.clone());
        self.involve_read(read);
        for (writer, lit) in choices {
            if self.known.problem.is_optional[writer as usize] {
                let part = self.part_lit(writer);
                self.clause(&[!lit, part]);
            }
        }
    }

    /// Whether a transaction of unknown outcome takes part. If it does, its reads need sources.
    fn part_lit(&mut self, txn: Txn) -> Lit {
        if let Some(lit) = self.takes_part.get(&txn) {
            return *lit;
        }
        let lit = self.solver.new_lit();
        self.takes_part.insert(txn, lit);
        self.involved.insert(txn);
        let moments = self.known.rule.moments;
        if let Some(ended) = self.known.ended_before(txn) {
            let edge = self.edge((ended, moments.start(txn)));
            self.clause(&[!lit, edge]);
        }
        for listed in &self.known.problem.listed {
            if listed.earlier == txn || listed.later == txn {
                let edge = self.edge(moments.version_order(listed.earlier, listed.later));
                let mut clause = vec![!lit, edge];
                let other = if listed.earlier == txn { listed.later } else { listed.earlier };
                if self.known.problem.is_optional[other as usize] {
                    clause.push(!self.part_lit(other));
                }
                self.clause(&clause);
            }
        }
        for read in self.known.problem.reads_of(txn) {
            self.choose(read);
        }
        lit
    }

    /// Pushes the negation of "this read's source is this" and of "this transaction takes part", where they are choices.
    fn unless_source(&mut self, read: usize, source: Txn, clause: &mut Vec<Lit>) {
        self.involve_read(read);
        if self.known.sources[read].is_some() {
            return;
        }
        self.choose(read);
        let lit = self.choices[&read].iter().find(|it| it.0 == source).map(|it| it.1);
        clause.push(!lit.expect("a source is one of the choices"));
    }

    fn unless_part(&mut self, txn: Txn, clause: &mut Vec<Lit>) {
        self.involved.insert(txn);
        if self.known.problem.is_optional[txn as usize] {
            clause.push(!self.part_lit(txn));
        }
    }

    fn involve_read(&mut self, read: usize) {
        self.involved.insert(self.known.problem.reads[read].reader);
        self.involved.extend(self.known.problem.candidates(read));
    }

    /// `other` is older than the source of `read`, or the premises in `clause` fail, or it is not seen if it `may_be_unseen`.
    fn forbid_hidden(&mut self, read: usize, source: Txn, other: Txn, may_be_unseen: bool, mut clause: Vec<Lit>) {
        let moments = self.known.rule.moments;
        let reader = self.known.problem.reads[read].reader;
        self.unless_source(read, source, &mut clause);
        self.unless_part(other, &mut clause);
        if source != INITIAL {
            clause.push(self.edge(moments.version_order(other, source)));
        }
        if may_be_unseen {
            clause.push(self.edge(moments.anti_dependency(reader, other)));
        }
        self.clause(&clause);
    }

    /// Prefix consistency and above: run the order and compare what each read sees.
    fn replay(&mut self, solution: &Solution) {
        let known = self.known;
        let (problem, moments) = (known.problem, known.rule.moments);
        let mut committed: Vec<Vec<Txn>> = vec![Vec::new(); problem.facts.history().n_keys()];
        let position = positions(&solution.order);
        let n_moments = moments.n_nodes(problem.n_txns()) as Node;
        for node in solution.order.iter().copied().filter(|it| *it < n_moments) {
            let txn = moments.txn(node);
            if txn == INITIAL || !solution.takes_part[txn as usize] {
                continue;
            }
            if node == moments.start(txn) {
                for read in problem.reads_of(txn) {
                    self.replay_read(read, solution, &committed[problem.reads[read].key.index()]);
                }
            }
            if node == moments.commit(txn) {
                for key in problem.writes_of(txn) {
                    self.replay_write(txn, *key, &position, &committed[key.index()]);
                    committed[key.index()].push(txn);
                }
            }
        }
    }

    fn replay_read(&mut self, read: usize, solution: &Solution, committed: &[Txn]) {
        let Some(source) = solution.sources[read] else { return };
        let newer = committed.iter().rev().take_while(|it| **it != source).take(MAX_CLAUSES_PER_READ);
        for other in newer.copied().collect::<Vec<_>>() {
            self.forbid_hidden(read, source, other, true, Vec::new());
        }
    }

    fn replay_write(&mut self, txn: Txn, key: KeyId, position: &[u32], committed: &[Txn]) {
        let moments = self.known.rule.moments;
        if moments != Moments::FirstCommitterWins {
            return;
        }
        let since = position[moments.start(txn) as usize];
        let overlapping = committed.iter().rev().take_while(|it| position[moments.commit(**it) as usize] > since);
        for other in overlapping.take(MAX_CLAUSES_PER_READ).copied().collect::<Vec<_>>() {
            let mut clause =
                vec![self.edge(moments.version_order(txn, other)), self.edge(moments.version_order(other, txn))];
            self.unless_part(txn, &mut clause);
            self.unless_part(other, &mut clause);
            self.clause(&clause);
        }
        debug_assert!(self.known.problem.writes(txn, key));
    }

    /// Levels where only session order and reads decide whom a reader sees.
    fn forbid_unmet_obligations(&mut self, solution: &Solution, past: Option<&CausalPast>) {
        let (problem, sees) = (self.known.problem, self.known.rule.sees);
        let position = positions(&solution.order);
        let mut unmet = Vec::new();
        let takes_part = |it: Txn| solution.takes_part[it as usize];
        obligations(problem, sees, &solution.sources, &takes_part, past, &mut |read, other| {
            let source = solution.sources[read].unwrap_or(INITIAL);
            if position[other as usize] > position[source as usize] {
                unmet.push((read, source, other));
            }
        });
        for (read, source, other) in unmet {
            let mut clause = Vec::new();
            let used = if past.is_some() {
                self.causal_path(solution, None, other, problem.reads[read].reader).0
            } else {
                premise(problem, sees, &solution.sources, read, other)
            };
            for used in used {
                let writer = solution.sources[used].expect("premises have sources");
                self.unless_source(used, writer, &mut clause);
            }
            self.forbid_hidden(read, source, other, false, clause);
        }
    }

    /// Update atomic: an earlier writer of a key that the reader writes is seen.
    fn forbid_hidden_conflicts(&mut self, solution: &Solution) {
        let problem = self.known.problem;
        let position = positions(&solution.order);
        for (read, at) in problem.reads.iter().enumerate() {
            let Some(source) = solution.sources[read] else { continue };
            let is_between = |it: &&Txn| {
                let place = position[**it as usize];
                place > position[source as usize] && place < position[at.reader as usize]
            };
            let hidden: Vec<Txn> = problem
                .writers_of(at.key)
                .iter()
                .filter(is_between)
                .filter(|it| solution.takes_part[**it as usize] && problem.conflict(**it, at.reader))
                .copied()
                .collect();
            for other in hidden {
                self.forbid_hidden(read, source, other, true, Vec::new());
            }
        }
    }

    /// The writers of each key that take part, in order.
    fn version_orders(&self, solution: &Solution) -> Vec<Vec<Txn>> {
        let position = positions(&solution.order);
        self.known
            .problem
            .keys()
            .map(|key| {
                let writers = self.known.problem.writers_of(key).iter().copied();
                let mut writers: Vec<Txn> = writers.filter(|it| solution.takes_part[*it as usize]).collect();
                writers.sort_unstable_by_key(|it| position[*it as usize]);
                writers
            })
            .collect()
    }

    fn causal_past(&self, solution: &Solution, versions: Option<&Vec<Vec<Txn>>>) -> CausalPast {
        let mut overwritten: FxHashMap<Txn, Vec<Txn>> = FxHashMap::default();
        for writers in versions.into_iter().flatten() {
            for pair in writers.windows(2) {
                overwritten.entry(pair[1]).or_default().push(pair[0]);
            }
        }
        CausalPast::new(
            self.known.problem,
            &solution.order,
            &solution.sources,
            &|txn| overwritten.get(&txn).cloned().unwrap_or_default(),
            &|txn| solution.takes_part[txn as usize],
        )
    }

    /// Parallel snapshot isolation: the next version after what was read is not in the reader's past.
    fn forbid_hidden_causes(&mut self, solution: &Solution, versions: &[Vec<Txn>], past: &CausalPast) {
        let problem = self.known.problem;
        for (read, at) in problem.reads.iter().enumerate() {
            let Some(source) = solution.sources[read] else { continue };
            let writers = &versions[at.key.index()];
            let next = writers.iter().position(|it| *it == source).map_or(0, |it| it + 1);
            let Some(other) = writers.get(next).copied() else { continue };
            if other == at.reader || !past.contains(problem, other, at.reader) {
                continue;
            }
            let (used, overwrites) = self.causal_path(solution, Some(versions), other, at.reader);
            let mut clause = Vec::new();
            for used in used {
                let writer = solution.sources[used].expect("a path follows sources");
                self.unless_source(used, writer, &mut clause);
            }
            for (older, newer) in overwrites {
                clause.push(self.edge((newer, older)));
                self.unless_part(older, &mut clause);
                self.unless_part(newer, &mut clause);
            }
            self.forbid_hidden(read, source, other, false, clause);
        }
    }

    /// A shortest path from `from` to `to` by session order, sources and version orders: the reads and overwrites on it.
    fn causal_path(
        &mut self,
        solution: &Solution,
        versions: Option<&[Vec<Txn>]>,
        from: Txn,
        to: Txn,
    ) -> (Vec<usize>, Vec<(Txn, Txn)>) {
        let problem = self.known.problem;
        let mut reached: FxHashMap<Txn, (Txn, Step)> = FxHashMap::default();
        let mut pending = VecDeque::from([to]);
        while let Some(txn) = pending.pop_front() {
            for (earlier, step) in steps_back(self.known, solution, versions, txn) {
                if earlier != to && !reached.contains_key(&earlier) {
                    reached.insert(earlier, (txn, step));
                    pending.push_back(earlier);
                }
            }
            if reached.contains_key(&from) {
                break;
            }
        }
        let (mut reads, mut overwrites) = (Vec::new(), Vec::new());
        let mut txn = from;
        while txn != to {
            self.involved.insert(txn);
            let (next, step) = reached[&txn];
            match step {
                Step::Session => {}
                Step::Read(read) => reads.push(read),
                Step::Overwrite => overwrites.push((txn, next)),
            }
            txn = next;
        }
        debug_assert!(problem.n_txns() > to as usize);
        (reads, overwrites)
    }

    /// Everybody whose operations the refutation may rest on.
    fn involved(&mut self, touched: &[Node]) -> BTreeSet<Txn> {
        let moments = self.known.rule.moments;
        let n_moments = moments.n_nodes(self.known.problem.n_txns()) as Node;
        let on_cycles = touched.iter().filter(|it| **it < n_moments).map(|it| moments.txn(*it));
        self.involved.extend(on_cycles);
        std::mem::take(&mut self.involved)
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Session,
    Read(usize),
    Overwrite,
}

fn steps_back(known: &Known<'_>, solution: &Solution, versions: Option<&[Vec<Txn>]>, txn: Txn) -> Vec<(Txn, Step)> {
    let problem = known.problem;
    let mut steps = Vec::new();
    if txn == INITIAL {
        return steps;
    }
    let session = &problem.sessions[problem.session_of[txn as usize] as usize];
    steps.extend(session[..problem.nth[txn as usize] as usize].iter().map(|it| (*it, Step::Session)));
    for read in problem.reads_of(txn) {
        steps.extend(solution.sources[read].map(|it| (it, Step::Read(read))));
    }
    if let Some(versions) = versions {
        for key in problem.writes_of(txn) {
            let older = versions[key.index()].iter().take_while(|it| **it != txn);
            steps.extend(older.map(|it| (*it, Step::Overwrite)));
        }
    }
    steps
}

fn positions(order: &[Node]) -> Vec<u32> {
    let mut position = vec![0; order.len()];
    for (place, node) in order.iter().enumerate() {
        position[*node as usize] = place as u32;
    }
    position
}
