//! Levels where whom a reader sees depends on what others read: sources are choices of the solver.

use super::{OrderSearch, Solution};
use crate::known::Known;
use crate::rule::Visibility;
use crate::weak::{CausalPast, inferred, premise};
use iso_history::TxnId;
use iso_solve::Lit;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

impl OrderSearch<'_> {
    /// A read for which the order has no possible writer before it gets a choice.
    pub(super) fn choose_missing(&mut self, solution: &Solution) {
        for read in 0..self.known.problem.reads.len() {
            let reader = self.known.problem.reads[read].reader;
            if solution.takes_part[reader.index()] && solution.sources[read].is_none() {
                self.choose(read, solution);
            }
        }
    }

    /// Makes the source of a read a choice of the solver, which first takes the latest possible writer.
    fn choose(&mut self, read: usize, solution: &Solution) {
        if self.choices.contains_key(&read) {
            return;
        }
        let at = self.known.problem.reads[read];
        let mut writers = self.known.remaining[read].clone();
        writers.sort_by_key(|it| (!self.is_before(solution, *it, read), u32::MAX - self.commit_place(solution, *it)));
        let mut one_of: Vec<Lit> = Vec::new();
        self.unless_part(at.reader, &mut one_of);
        let mut choices = Vec::new();
        for writer in writers {
            let lit = self.solver.new_lit();
            choices.push((writer, lit));
            one_of.push(lit);
        }
        self.clause(&one_of);
        self.choices.insert(read, choices.clone());
        self.involve_read(read);
        for (writer, lit) in choices {
            if !writer.is_initial() {
                let edge = self.edge(self.known.rule.events.visibility(writer, at.reader));
                self.clause(&[!lit, edge]);
            }
            if self.known.problem.is_optional(writer) {
                let part = self.part_lit(writer);
                self.clause(&[!lit, part]);
            }
        }
    }

    /// Pushes "the source of this read is another one", where that is a choice.
    fn unless_source(&mut self, read: usize, source: TxnId, clause: &mut Vec<Lit>, solution: &Solution) {
        self.involve_read(read);
        if self.known.sources[read].is_some() {
            return;
        }
        self.choose(read, solution);
        let lit = self.choices[&read].iter().find(|it| it.0 == source).map(|it| it.1);
        clause.push(!lit.expect("a source is one of the choices"));
    }

    /// `other` is older than the source of `read`, or the premises in `clause` fail.
    fn forbid_hiding(&mut self, read: usize, other: TxnId, mut clause: Vec<Lit>, solution: &Solution) {
        let source = solution.sources[read].expect("only a read with a source hides something");
        self.unless_source(read, source, &mut clause, solution);
        self.unless_part(other, &mut clause);
        if !source.is_initial() {
            clause.push(self.edge(self.known.rule.events.version_order(other, source)));
        }
        self.clause(&clause);
    }

    pub(super) fn forbid_unmet_inferred(&mut self, solution: &Solution) {
        let (problem, visibility) = (self.known.problem, self.known.rule.visibility);
        let past = (visibility == Visibility::Causal).then(|| self.causal_past(solution, &[]));
        let mut unmet = Vec::new();
        let takes_part = |it: TxnId| solution.takes_part[it.index()];
        inferred(problem, visibility, &solution.sources, &takes_part, past.as_ref(), &mut |read, other| {
            let source = solution.sources[read].unwrap_or(TxnId::INITIAL);
            if self.commit_place(solution, other) > self.commit_place(solution, source) {
                unmet.push((read, other));
            }
        });
        for (read, other) in unmet {
            let used = if past.is_some() {
                self.causal_path(solution, &[], other, problem.reads[read].reader).0
            } else {
                premise(problem, visibility, &solution.sources, read, other)
            };
            let mut clause = Vec::new();
            for used in used {
                let writer = solution.sources[used].expect("premises have sources");
                self.unless_source(used, writer, &mut clause, solution);
            }
            self.forbid_hiding(read, other, clause, solution);
        }
        if visibility == Visibility::DirectAndConflicting {
            self.forbid_hidden_conflicts(solution);
        }
    }

    /// Update atomic: an earlier writer of a key that the reader writes is seen.
    fn forbid_hidden_conflicts(&mut self, solution: &Solution) {
        let problem = self.known.problem;
        for (read, at) in problem.reads.iter().enumerate() {
            let Some(source) = solution.sources[read] else { continue };
            let place = |txn: TxnId| self.commit_place(solution, txn);
            let is_between = |it: &&TxnId| place(**it) > place(source) && place(**it) < place(at.reader);
            let writers = problem.writers_of(at.key).iter().filter(is_between);
            let hidden: Vec<TxnId> = writers
                .filter(|it| solution.takes_part[it.index()] && problem.conflict(**it, at.reader))
                .copied()
                .collect();
            for other in hidden {
                let unseen = self.edge(self.known.rule.events.anti_dependency(at.reader, other));
                self.forbid_hiding(read, other, vec![unseen], solution);
            }
        }
    }

    /// Parallel snapshot isolation: the next version after what was read is not in the reader's past.
    pub(super) fn forbid_hidden_causes(&mut self, solution: &Solution) {
        let problem = self.known.problem;
        let versions = self.version_orders(solution);
        let past = self.causal_past(solution, &versions);
        for (read, at) in problem.reads.iter().enumerate() {
            let Some(source) = solution.sources[read] else { continue };
            let writers = &versions[at.key.index()];
            let next = writers.iter().position(|it| *it == source).map_or(0, |it| it + 1);
            let Some(other) = writers.get(next).copied() else { continue };
            if other == at.reader || !past.contains(problem, other, at.reader) {
                continue;
            }
            let (used, overwrites) = self.causal_path(solution, &versions, other, at.reader);
            let mut clause = Vec::new();
            for used in used {
                let writer = solution.sources[used].expect("a path follows sources");
                self.unless_source(used, writer, &mut clause, solution);
            }
            for (older, newer) in overwrites {
                clause.push(self.edge(self.known.rule.events.version_order(newer, older)));
                self.unless_part(older, &mut clause);
                self.unless_part(newer, &mut clause);
            }
            self.forbid_hiding(read, other, clause, solution);
        }
    }

    /// The writers of each key that take part, in order.
    fn version_orders(&self, solution: &Solution) -> Vec<Vec<TxnId>> {
        let problem = self.known.problem;
        let in_order = |key| {
            let writers = problem.writers_of(key).iter().copied();
            let mut writers: Vec<TxnId> = writers.filter(|it| solution.takes_part[it.index()]).collect();
            writers.sort_unstable_by_key(|it| self.commit_place(solution, *it));
            writers
        };
        problem.keys().map(in_order).collect()
    }

    /// The causal past by session order, sources and `versions`.
    fn causal_past(&self, solution: &Solution, versions: &[Vec<TxnId>]) -> CausalPast {
        let mut overwritten: FxHashMap<TxnId, Vec<TxnId>> = FxHashMap::default();
        for pair in versions.iter().flat_map(|it| it.windows(2)) {
            overwritten.entry(pair[1]).or_default().push(pair[0]);
        }
        let events = self.known.rule.events;
        let order: Vec<TxnId> = solution.order.iter().map(|it| events.txn(*it)).collect();
        CausalPast::new(
            self.known.problem,
            &order,
            &solution.sources,
            &|txn| overwritten.get(&txn).cloned().unwrap_or_default(),
            &|txn| solution.takes_part[txn.index()],
        )
    }

    /// A shortest path from `from` to `to` by session order, sources and version orders: the reads and overwrites on it.
    fn causal_path(
        &mut self,
        solution: &Solution,
        versions: &[Vec<TxnId>],
        from: TxnId,
        to: TxnId,
    ) -> (Vec<usize>, Vec<(TxnId, TxnId)>) {
        let mut reached: FxHashMap<TxnId, (TxnId, Cause)> = FxHashMap::default();
        let mut pending = VecDeque::from([to]);
        while let Some(txn) = pending.pop_front() {
            for (earlier, step) in causes_of(self.known, solution, versions, txn) {
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
                Cause::Session => {}
                Cause::Read(read) => reads.push(read),
                Cause::Overwrite => overwrites.push((txn, next)),
            }
            txn = next;
        }
        (reads, overwrites)
    }
}

#[derive(Clone, Copy, Debug)]
enum Cause {
    Session,
    Read(usize),
    Overwrite,
}

fn causes_of(known: &Known<'_>, solution: &Solution, versions: &[Vec<TxnId>], txn: TxnId) -> Vec<(TxnId, Cause)> {
    let problem = known.problem;
    let mut steps = Vec::new();
    if txn.is_initial() {
        return steps;
    }
    let takes_part = |it: &&TxnId| solution.takes_part[it.index()];
    steps.extend(problem.session_before(txn).iter().filter(takes_part).map(|it| (*it, Cause::Session)));
    for read in problem.reads_of(txn) {
        steps.extend(solution.sources[read].map(|it| (it, Cause::Read(read))));
    }
    if !versions.is_empty() {
        for key in problem.writes_of(txn) {
            let older = versions[key.index()].iter().take_while(|it| **it != txn);
            steps.extend(older.map(|it| (*it, Cause::Overwrite)));
        }
    }
    steps
}
