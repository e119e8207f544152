//! Repairs an order: settles what is forced, and searches for the rest.

use super::exchange::exchange;
use super::frame::Frame;
use super::graph::{Choice, Graph, Outlook};
use super::place::{Fit, Misfit, Placement, judge, place};
use super::sources;
use crate::rule::Events;
use crate::search::note_work;
use iso_evidence::{Budget, Note, Quantity, Stage, StopReason};
use iso_history::TxnId;
use iso_solve::{IncrementalOrder, Lit, OrderResult, OrderSolver};
use std::collections::BTreeSet;

/// How a repair ended.
#[derive(Debug)]
pub(super) enum Repaired {
    /// In this order everything fits.
    Order(Vec<TxnId>, Placement),
    /// There is no such order; these transactions probably show it.
    Conflict(Vec<TxnId>),
    /// Not found out.
    Nothing,
}

/// What a search may look at before it gives up.
#[derive(Clone, Copy, Debug)]
struct Scope {
    /// So many possible writers of a read.
    nearest: usize,
    /// So much that does not fit.
    max_misfits: usize,
}

/// Writers between the source of a read and the read that are looked at from either end, at most: more of them say
/// little more.
const MAX_BETWEEN: usize = 8;

/// How many possible writers of a read come into question in a first search.
const NEAREST: usize = 4;

/// A search with so many cycles does not find its way: what must hold in every order may have to be derived first.
const MAX_CYCLES: u64 = 100_000;

/// As often may the solver ask whether to go on in one round.
const MAX_QUESTIONS: u32 = 200_000;

/// Conflicts to choose from, and transactions of which no fewer are looked for.
const MAX_CONFLICTS: usize = 64;
const FEW: usize = 6;

/// Moving a write changes what others read, moving a snapshot does not.
const WRITE_WEIGHT: u32 = 16;

pub(super) struct Repair<'f> {
    frame: &'f Frame<'f>,
    graph: Graph<'f>,
    commits: Vec<TxnId>,
    placement: Placement,
}

/// A read with several possible writers that finds another one.
#[derive(Clone, Copy, Debug)]
struct Lost {
    read: u32,
    found: TxnId,
}

impl<'f> Repair<'f> {
    pub(super) fn new(frame: &'f Frame<'f>, commits: Vec<TxnId>, placement: Placement) -> Self {
        Self { frame, graph: Graph::new(frame, &commits, &placement.snapshots), commits, placement }
    }

    pub(super) fn run(mut self, budget: &Budget<'_>) -> Result<Repaired, StopReason> {
        budget.note(Note::Begins(Stage::Repair));
        let repaired = self.settle(budget)?;
        budget.note(Note::Counted(Quantity::KnownEdges, u64::from(self.graph.order.n_edges())));
        match repaired {
            Some(core) => Ok(Repaired::Conflict(core)),
            None if self.placement.misfits.is_empty() => Ok(Repaired::Order(self.commits, self.placement)),
            None => {
                budget.note(Note::Begins(Stage::Search));
                budget.note(Note::Counted(Quantity::PairsLeft, self.placement.misfits.len() as u64));
                self.search(budget)
            }
        }
    }

    /// Settles what is forced until everything fits or nothing more is forced; a core if that is impossible.
    fn settle(&mut self, budget: &Budget<'_>) -> Result<Option<Vec<TxnId>>, StopReason> {
        loop {
            budget.check()?;
            if self.placement.misfits.is_empty() {
                return Ok(None);
            }
            match self.settle_misfits(budget)? {
                Ok(0) => return Ok(None),
                Ok(_) => {}
                Err(core) => return Ok(Some(core)),
            }
            let nodes = self.graph.order.order().to_vec();
            self.run_order(&nodes);
        }
    }

    /// Runs the commits of an order, and moves snapshots to where they fit.
    fn run_order(&mut self, nodes: &[u32]) {
        self.commits = self.graph.commits_of(nodes);
        self.placement = place(self.frame, &self.commits);
    }

    /// Settles what is forced among the choices that the order violates; the number of those settled.
    fn settle_misfits(&mut self, budget: &Budget<'_>) -> Result<Result<usize, Vec<TxnId>>, StopReason> {
        if self.frame.rule.events != Events::One {
            let nodes = self.graph.nodes(&self.commits, &self.placement.snapshots);
            let _is_taken = self.graph.order.try_order(nodes);
        }
        let (choices, _) = violated(self.frame, &self.commits, &self.placement);
        let (mut n_settled, mut conflicts) = (0, Vec::new());
        for (nth, choice) in choices.into_iter().enumerate() {
            if nth % 64 == 0 {
                budget.check()?;
            }
            if self.graph.is_kept(choice) {
                continue;
            }
            match self.graph.settle(choice) {
                Ok(Outlook::Settled) => n_settled += 1,
                Ok(Outlook::Open) => {}
                Err(conflict) => conflicts.push(conflict.core),
            }
            // Of several conflicts, the one with the fewest transactions is the easiest to explain.
            if conflicts.len() == MAX_CONFLICTS || conflicts.last().is_some_and(|it| it.len() <= FEW) {
                break;
            }
        }
        let fewest = conflicts.into_iter().min_by_key(Vec::len);
        Ok(fewest.map_or(Ok(n_settled), Err))
    }

    /// With several possible writers of reads, a first try lets only the nearest of them come into question: what it
    /// finds is right, and what it does not find is looked for again among all.
    fn search(mut self, budget: &Budget<'_>) -> Result<Repaired, StopReason> {
        if self.frame.sources.is_open() {
            let order = self.graph.order.clone();
            let max_misfits = 2 * self.placement.misfits.len() + 20;
            if let Some(found) = self.search_among(Scope { nearest: NEAREST, max_misfits }, budget)? {
                return Ok(found);
            }
            self.begin_again(order);
            if self.exchange_commits(budget)? {
                let order = self.graph.order.clone();
                let scope = Scope { nearest: NEAREST, max_misfits: usize::MAX };
                if let Some(found) = self.search_among(scope, budget)? {
                    return Ok(found);
                }
                self.begin_again(order);
            }
        }
        let scope = Scope { nearest: usize::MAX, max_misfits: usize::MAX };
        Ok(self.search_among(scope, budget)?.unwrap_or(Repaired::Nothing))
    }

    fn begin_again(&mut self, order: IncrementalOrder) {
        let nodes = order.order().to_vec();
        self.graph.order = order;
        self.run_order(&nodes);
    }

    /// With snapshots, tries what small moves of commits do; false if they do nothing. Moving them across the time axis
    /// would need the axis moved, too.
    fn exchange_commits(&mut self, budget: &Budget<'_>) -> Result<bool, StopReason> {
        if self.frame.rule.events == Events::One || self.frame.rule.real_time {
            return Ok(false);
        }
        let n_misfits = self.placement.misfits.len();
        exchange(self.frame, &mut self.commits, &mut self.placement, budget)?;
        // Where something derived forbids the order, the search goes on from the one before.
        if !self.graph.order.try_order(self.graph.nodes(&self.commits, &self.placement.snapshots))
            && !self.placement.misfits.is_empty()
        {
            let nodes = self.graph.order.order().to_vec();
            self.run_order(&nodes);
        }
        Ok(self.placement.misfits.len() < n_misfits)
    }

    /// Moves snapshots to where they fit. Those that fit nowhere stay where the search has put them: what they violate
    /// there is new to it. If what it has found out forbids the others to move, all stay.
    fn fit_snapshots(&mut self, solver: &mut OrderSolver) {
        if self.frame.rule.events == Events::One || self.placement.misfits.is_empty() {
            return;
        }
        let found = self.graph.snapshots_of(&solver.order());
        for misfit in &self.placement.misfits {
            if let Misfit::Snapshot(txn) = *misfit {
                self.placement.snapshots[txn.index()] = found[txn.index()];
            }
        }
        let is_taken = solver.try_order(self.graph.nodes(&self.commits, &self.placement.snapshots));
        if !is_taken {
            self.placement = judge(self.frame, &self.commits, found);
        }
    }

    /// Nothing if the search failed, but had not looked at everything, or went astray.
    fn search_among(&mut self, scope: Scope, budget: &Budget<'_>) -> Result<Option<Repaired>, StopReason> {
        let Scope { nearest, max_misfits } = scope;
        let order = std::mem::take(&mut self.graph.order);
        let solver = OrderSolver::with_graph(order);
        let mut search = RepairSearch { frame: self.frame, solver, nearest, reads: Vec::new(), involved: Vec::new() };
        search.set_weights();
        loop {
            budget.check()?;
            let before = search.solver.statistics();
            self.fit_snapshots(&mut search.solver);
            let (choices, lost) = violated(self.frame, &self.commits, &self.placement);
            if self.placement.misfits.len() > max_misfits || search.solver.statistics().n_cycles > MAX_CYCLES {
                return Ok(None);
            }
            if choices.is_empty() && lost.is_empty() {
                return Ok(Some(Repaired::Order(
                    std::mem::take(&mut self.commits),
                    std::mem::take(&mut self.placement),
                )));
            }
            for choice in choices {
                search.choose(self.graph.edges_of(choice), choice);
            }
            let fit = Fit::new(self.frame, &self.commits);
            for lost in lost {
                search.find_writer(lost, &fit);
            }
            let (mut stopped, mut n_asked) = (None, 0);
            let result = search.solver.solve(&mut || {
                n_asked += 1;
                stopped = budget.check().err();
                stopped.is_some() || n_asked > MAX_QUESTIONS
            });
            note_work(budget, before, search.solver.statistics());
            match result {
                OrderResult::Acyclic => {}
                OrderResult::Cyclic { .. } if nearest != usize::MAX => return Ok(None),
                OrderResult::Cyclic { touched } => {
                    let involved = search.involved(&touched);
                    self.graph.order = search.solver.into_graph();
                    return Ok(Some(Repaired::Conflict(self.graph.core_between(&involved))));
                }
                OrderResult::Stopped => return stopped.map_or(Ok(None), Err),
            }
            self.run_order(&search.solver.order());
        }
    }
}

/// What an order violates: choices between two edges, and reads that must find another writer.
fn violated(frame: &Frame<'_>, commits: &[TxnId], placement: &Placement) -> (Vec<Choice>, Vec<Lost>) {
    let mut violated = Violated { frame, fit: Fit::new(frame, commits), choices: Vec::new(), lost: Vec::new() };
    for misfit in &placement.misfits {
        match *misfit {
            Misfit::Read(read) => violated.read(read, violated.fit.place[frame.reader(read as usize).index()] - 1),
            Misfit::Snapshot(txn) => violated.snapshot(txn, placement.snapshots[txn.index()]),
        }
    }
    (violated.choices, violated.lost)
}

struct Violated<'f> {
    frame: &'f Frame<'f>,
    fit: Fit<'f>,
    choices: Vec<Choice>,
    lost: Vec<Lost>,
}

impl Violated<'_> {
    fn snapshot(&mut self, txn: TxnId, place: u32) {
        for read in self.frame.reads_of(txn) {
            self.read(read as u32, place);
        }
        let conflicting = self.fit.last_conflicting(txn);
        if conflicting > 0 {
            self.choices.push(Choice::Writers { one: self.fit.at(conflicting), other: txn });
        }
    }

    /// What a read violates that happens after so many commits.
    fn read(&mut self, read: u32, place: u32) {
        let committed = self.fit.committed(self.frame.key(read as usize), place);
        let Some(source) = self.frame.source(read as usize) else {
            let found = committed.last().map_or(TxnId::INITIAL, |it| self.fit.at(*it));
            if !self.frame.is_possible(read as usize, found) {
                self.lost.push(Lost { read, found });
            }
            return;
        };
        let since = self.fit.place[source.index()];
        let reader = self.frame.reader(read as usize);
        let between: Vec<TxnId> = committed[committed.partition_point(|it| *it <= since)..]
            .iter()
            .map(|it| self.fit.at(*it))
            .filter(|it| self.frame.is_seen_if_before(reader, *it))
            .collect();
        let n_first = between.len().min(MAX_BETWEEN);
        let n_last = (between.len() - n_first).min(MAX_BETWEEN);
        let others = between[..n_first].iter().chain(&between[between.len() - n_last..]);
        self.choices.extend(others.map(|other| Choice::Read { read, source, other: *other }));
    }
}

struct RepairSearch<'f> {
    frame: &'f Frame<'f>,
    solver: OrderSolver,
    nearest: usize,
    /// The reads and other transactions of all clauses.
    reads: Vec<u32>,
    involved: Vec<TxnId>,
}

impl RepairSearch<'_> {
    fn set_weights(&mut self) {
        let (frame, events) = (self.frame, self.frame.rule.events);
        if events != Events::One {
            for txn in frame.facts.txns() {
                let n_writes = frame.facts.written_keys(txn).len() as u32;
                self.solver.set_weight(events.commit(txn), 1 + WRITE_WEIGHT * n_writes);
            }
        }
    }

    fn choose(&mut self, (first, second): ((u32, u32), (u32, u32)), choice: Choice) {
        let mut clause = Vec::with_capacity(2);
        for (from, to) in [first, second] {
            if self.frame.rule.events.txn(to) != TxnId::INITIAL {
                clause.push(self.solver.edge_lit(from, to));
            }
        }
        match choice {
            Choice::Read { read, other, .. } => {
                self.involved.push(other);
                self.reads.push(read);
            }
            Choice::Writers { one, other } => self.involved.extend([one, other]),
        }
        self.solver.add_clause(&clause);
    }

    /// The read does not find what it found: it comes before that, or a possible writer comes between them.
    fn find_writer(&mut self, Lost { read, found }: Lost, fit: &Fit<'_>) {
        let events = self.frame.rule.events;
        let reader = self.frame.reader(read as usize);
        let candidates = self.frame.sources.left(read as usize);
        self.involved.push(found);
        self.reads.push(read);
        let mut clause: Vec<Lit> = Vec::new();
        if !found.is_initial() {
            let (from, to) = events.anti_dependency(reader, found);
            clause.push(self.solver.edge_lit(from, to));
        }
        let mut writers: Vec<TxnId> = candidates.iter().copied().filter(|it| !it.is_initial()).collect();
        if writers.len() > self.nearest {
            let (start, place) = (fit.place[reader.index()], |it: TxnId| fit.place[it.index()]);
            let distance = |it: &TxnId| place(found).saturating_sub(place(*it)) + place(*it).saturating_sub(start);
            writers.sort_by_key(distance);
            writers.truncate(self.nearest);
        }
        for writer in writers {
            let start = events.start(reader);
            clause.push(if found.is_initial() {
                self.solver.edge_lit(events.commit(writer), start)
            } else {
                self.solver.path_lit(events.commit(found), events.commit(writer), start)
            });
        }
        self.solver.add_clause(&clause);
    }

    /// Everybody whose operations the refutation may rest on.
    fn involved(&mut self, touched: &[u32]) -> BTreeSet<TxnId> {
        let events = self.frame.rule.events;
        let n_events = events.n_nodes(self.frame.n_txns()) as u32;
        let on_cycles = touched.iter().filter(|it| **it < n_events).map(|it| events.txn(*it));
        let mut involved: BTreeSet<TxnId> = on_cycles.chain(self.involved.iter().copied()).collect();
        self.reads.sort_unstable();
        self.reads.dedup();
        involved.extend(sources::core_of_reads(self.frame, self.reads.iter().copied()));
        involved
    }
}
